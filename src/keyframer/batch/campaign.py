"""A run over many files: plan, skip what is done, do the rest, keep the ledger."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import Any

from keyframer._version import __version__
from keyframer.batch import naming, stores, sweeping
from keyframer.batch.defaults import FAILED, LEDGER, STATUSES
from keyframer.batch.job import Job, Result, fail_with, new_result, options_hash
from keyframer.batch.ledger import Ledger
from keyframer.batch.operations import OPERATIONS
from keyframer.batch.performing import perform_all
from keyframer.batch.running import run
from keyframer.errors import FormatError

_PASSING = ("IO_READ_FAILED", "IO_CHANGED_DURING_READ", "RUN_OUTPUT_REFUSED", "RUN_INTERNAL_ERROR")
"""failures that are not the file's: the next run tries again"""


@dataclass(frozen=True, slots=True)
class Found:
    """An input: its name, its place below the output folder, and what tells whether it changed."""

    source: str
    relative: str
    stamp: str = ""
    occurrence: int = 0
    error: FormatError | None = None
    """why there is nothing to read"""

    @property
    def key(self) -> str:
        return self.source if not self.occurrence else f"{self.source}!#{self.occurrence}"


@dataclass
class Summary:
    """What became of a run so far."""

    total: int = 0
    skipped: int = 0
    """done by an earlier run, and unchanged"""
    counts: Counter[str] = field(default_factory=Counter)
    """by status, those skipped included"""
    codes: Counter[str] = field(default_factory=Counter)
    renamed: list[naming.Renamed] = field(default_factory=list)

    @property
    def finished(self) -> int:
        return sum(self.counts[status] for status in STATUSES)

    @property
    def worked(self) -> int:
        return self.finished - self.skipped


class Campaign:
    """One operation with its options over many files into one folder."""

    def __init__(
        self,
        operation: str,
        options: Mapping[str, Any],
        out: str,
        ledger: Ledger,
        *,
        retry: bool = False,
        verify: bool = False,
    ) -> None:
        self.operation = OPERATIONS[operation]
        self.options = dict(options)
        self.out = out.rstrip("/" + os.sep) if len(out) > 1 else out
        self.ledger = ledger
        self.summary = Summary()
        self._retry = retry
        self._verify = verify
        self._hash = options_hash(operation, self.options)
        self._files: list[Found] = []
        self._outputs: list[str] = []
        self._there: dict[str, int | None] = {}

    def plan(self, found: Iterable[Found]) -> None:
        """Take in all files and settle the names of their outputs; a file that is named twice is taken once."""
        seen: set[str] = set()
        for file in found:
            if file.key not in seen and not self.ledger.is_output(file.source):
                seen.add(file.key)
                self._files.append(file)
        name = self.operation.name
        self._outputs, self.summary.renamed = naming.assign(
            [naming.Wanted(file.key, file.relative) for file in self._files],
            self.operation.suffix(self.options),
            replace=self.operation.replaces_extension,
            reserved=(LEDGER, *(f"{LEDGER}{part}" for part in ("-wal", "-shm", ".lock"))),
            kept=lambda source: self.ledger.output_of(name, source),
            owner=lambda key: self.ledger.owner_of(name, key),
        )
        self.ledger.note_renamed(name, self.summary.renamed)
        self.summary.total = len(self._files)
        if stores.is_url(self.out):
            self._there = stores.list_sizes(self.out)

    def sweep(self, *, older_than: float = 0.0) -> int:
        """Remove what killed writers left behind in the folders of the outputs."""
        if stores.is_url(self.out):
            return 0
        folders = {output.rpartition("/")[0] for output in self._outputs}
        return sweeping.sweep(map(self._path, folders), older_than=older_than)

    def carry_out(
        self,
        executor: Executor,
        *,
        stop: Callable[[], bool] = lambda: False,
        skipped: Callable[[], None] = lambda: None,
        task: Callable[..., list[Result]] = perform_all,
        files_per_task: int | None = None,
    ) -> Iterator[Result]:
        """Do what is not done; results as they finish, each already in the ledger. Skipped files have none, but
        ``skipped()`` is called for each."""
        failed: list[Result] = []
        for result in run(
            self._jobs(failed, stop, skipped), executor, stop=stop, task=task, files_per_task=files_per_task
        ):
            yield self._record(result)
            while failed:
                yield self._record(failed.pop())
        while failed:
            yield self._record(failed.pop())

    def _record(self, result: Result) -> Result:
        self.ledger.record(result)
        self._count(result["status"], (result["error"] or {}).get("code"))
        return result

    def _count(self, status: str, code: str | None) -> None:
        self.summary.counts[status] += 1
        if code is not None:
            self.summary.codes[code] += 1

    def _jobs(self, failed: list[Result], stop: Callable[[], bool], skipped: Callable[[], None]) -> Iterator[Job]:
        """What is to be done; inputs that lead nowhere fail at once."""
        for file, output in zip(self._files, self._outputs, strict=True):
            if stop():
                return
            job = Job(self.operation.name, file.source, self._path(output), self.options, file.occurrence, file.stamp)
            if file.error is not None:
                failed.append(fail_with(new_result(job), file.error))
                continue
            row = self.ledger.find(self.operation.name, file.key)
            if row is not None and self._is_done(row, job):
                self.summary.skipped += 1
                self._count(row["status"], row["code"])
                skipped()
                continue
            yield job

    def _path(self, output: str) -> str:
        if stores.is_url(self.out):
            return f"{self.out}/{output}"
        return os.path.join(self.out, *output.split("/"))

    def _is_done(self, row: dict[str, Any], job: Job) -> bool:
        """Whether an earlier run did this very job and everything is still as it was."""
        if row["options"] != self._hash or row["version"] != __version__:
            return False
        if row["status"] == FAILED and (self._retry or row["code"] in _PASSING):
            return False
        if job.output != self._path(row["output"]):
            return False
        return self._outputs_stand(row) and self._others_stand(row) and self._source_stands(row, job)

    def _outputs_stand(self, row: dict[str, Any]) -> bool:
        for output in row["outputs"]:
            if stores.is_url(self.out):
                below = output["path"].removeprefix(self.out).lstrip("/")
                if self._there.get(below, -1) != output["size"]:
                    return False
                continue
            path = os.path.join(os.path.dirname(self._path(row["output"])), os.path.basename(output["path"]))
            try:
                status = os.stat(path)
            except OSError:
                return False
            if status.st_size != output["size"]:
                return False
            same_time = status.st_mtime_ns == output["mtime_ns"] and not self._verify
            if not same_time and _sha256(path) != output["sha256"]:
                return False
        return True

    @staticmethod
    def _others_stand(row: dict[str, Any]) -> bool:
        """Companions and images: size and time are all that is compared."""
        for path, size, time in row["also"]:
            try:
                status = os.stat(path)
            except OSError:
                return False
            if (status.st_size, status.st_mtime_ns) != (size, time):
                return False
        return True

    def _source_stands(self, row: dict[str, Any], job: Job) -> bool:
        if job.stamp and job.stamp == row["stamp"] and not self._verify:
            return True
        if row["sha256"] is None:  # it killed its reader: nobody knows its hash, so only its time can speak for it
            return bool(job.stamp) and job.stamp == row["stamp"]
        try:
            data = stores.read(job.source, job.occurrence)
        except (OSError, FormatError):
            return False
        if hashlib.sha256(data).hexdigest() != row["sha256"]:
            return False
        if job.stamp:
            self.ledger.touch(self.operation.name, job.key, job.stamp)
        return True


def _sha256(path: str) -> str | None:
    try:
        with open(path, "rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError:
        return None
