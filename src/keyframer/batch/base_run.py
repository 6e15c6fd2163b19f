"""What runs with a ledger and with a catalogue have in common: inputs, what changed since the last run, progress."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from keyframer import __version__
from keyframer.batch import storage
from keyframer.batch.dependencies import Dependencies, file_entry
from keyframer.batch.job import FAILED, FINDINGS, Job, Result, fail_with, new_result, options_hash
from keyframer.batch.job_submission import perform_all, run
from keyframer.errors import FormatError

if TYPE_CHECKING:
    from keyframer.batch.file_catalogue import KnownFile
    from keyframer.batch.ledger_rows import Row
    from keyframer.batch.output_names import Renamed

_TEMPORARY_FAILURES = (
    "IO_READ_FAILED",
    "IO_MANIFEST_MISMATCH",
    "IO_CHANGED_DURING_READ",
    "RUN_OUTPUT_REFUSED",
    "RUN_OUTPUT_COLLISION",
    "RUN_INTERNAL_ERROR",
)
"""failures that the file did not cause: the next run processes the file again"""


class InputFile(NamedTuple):
    """An input: its name, its path below the folder or archive that it comes from, and a stamp that shows changes."""

    source: str
    relative: str
    stamp: str = ""
    occurrence: int = 0
    """index among the members of the archive that have the same name"""
    error: FormatError | None = None
    """why the input cannot be read"""

    @property
    def key(self) -> str:
        return self.source if not self.occurrence else f"{self.source}!#{self.occurrence}"


@dataclass
class Summary:
    """The progress of a run."""

    total: int = 0
    skipped: int = 0
    """files that an earlier run finished and that are unchanged"""
    counts: Counter[str] = field(default_factory=Counter)
    """number of files by status, including skipped ones"""
    codes: Counter[str] = field(default_factory=Counter)
    """number of failures by code"""
    findings: Counter[str] = field(default_factory=Counter)
    """number of files with issues of each code, among those with status ``findings``"""
    renamed: list[Renamed] = field(default_factory=list)
    finished: int = 0
    """files processed by this run, and skipped ones"""

    @property
    def processed(self) -> int:
        """Number of files that this run has processed."""
        return self.finished - self.skipped

    def count(self, status: str, code: str | None, issues: Mapping[str, int]) -> None:
        """Count a finished file."""
        self.finished += 1
        self.counts[status] += 1
        if code is not None:
            self.codes[code] += 1
        if status == FINDINGS:
            self.findings.update(issues.keys())


class Run:
    """A run of one operation with its options on many files; subclasses remember what is done."""

    def __init__(self, operation: str, options: Mapping[str, Any], *, retry: bool, verify: bool) -> None:
        """``retry`` processes failed files again, ``verify`` compares hashes instead of times."""
        self.options = dict(options)
        self.summary = Summary()
        self._hash = options_hash(operation, self.options)
        self._retry = retry
        self._verify = verify
        self._dependencies = Dependencies()
        self._refused: list[Result] = []

    def execute(
        self,
        executor: Executor,
        *,
        stop: Callable[[], bool] = lambda: False,
        skipped: Callable[[], None] = lambda: None,
        task: Callable[..., list[Result]] = perform_all,
        files_per_task: int | None = None,
    ) -> Iterator[Result]:
        """Execute the jobs of files that are not done; yields their results as they finish.

        Skipped files have no result; ``skipped()`` is called for each.
        """
        jobs = self._jobs(stop, skipped)
        try:
            for result in run(jobs, executor, stop=stop, task=task, files_per_task=files_per_task):
                self._note_unknown_dependencies(result)
                self._store(result)
                yield self._counted(result)
                yield from self._refusals()
            yield from self._refusals()
        finally:
            self._flush()
        self._end(stop())

    def _jobs(self, stop: Callable[[], bool], skipped: Callable[[], None]) -> Iterator[Job]:
        """Yield the jobs of files that are not done, until ``stop()``."""
        raise NotImplementedError

    def _store(self, result: Result) -> None:
        """Remember a result for later runs."""
        raise NotImplementedError

    def _flush(self) -> None:
        """Write what is not yet remembered, also after a failure."""

    def _end(self, stopped: bool) -> None:
        """Do what is left when all jobs have finished, or the run was stopped."""

    def _refuse(self, job: Job, error: FormatError) -> Result:
        """Count a file as failed without executing its job."""
        result = fail_with(new_result(job), error)
        self._refused.append(result)
        return result

    def _refusals(self) -> Iterator[Result]:
        while self._refused:
            yield self._counted(self._refused.pop())

    def _counted(self, result: Result) -> Result:
        self.summary.count(result["status"], (result["error"] or {}).get("code"), result["issues"])
        return result

    def _skip(self, status: str, code: str | None, issues: Mapping[str, int], skipped: Callable[[], None]) -> None:
        """Count a file that an earlier run has done."""
        self.summary.skipped += 1
        self.summary.count(status, code, issues)
        skipped()

    def _is_unchanged(self, row: Row | KnownFile, job: Job) -> bool:
        """Return whether a job would give the same as what is known: this program ended it, and nothing has changed."""
        if row.version != __version__:
            return False
        # it failed, and the file was not the cause, or a retry is wanted
        if row.status == FAILED and (self._retry or row.code in _TEMPORARY_FAILURES):
            return False
        if _ended_without_hash(row.status, row.code, row.sha256) and not row.also:  # unknown what the result depends on
            return False
        return self._dependencies.are_unchanged(row.also, job.source) and self._source_is_unchanged(row, job)

    def _source_is_unchanged(self, row: Row | KnownFile, job: Job) -> bool:
        """Return whether the source still has this stamp or, if it has another or to ``verify``, this hash."""
        if job.stamp and job.stamp == row.stamp and not self._verify:
            return True
        if row.sha256 is None:  # the hash of the source is unknown, so only its stamp counts
            return bool(job.stamp) and job.stamp == row.stamp
        try:
            return storage.sha256_of(job.source, job.occurrence) == row.sha256
        except (OSError, FormatError):
            return False

    def _note_unknown_dependencies(self, result: Result) -> None:
        """If a job ended before its dependencies were known, record everything that it might depend on."""
        if not _ended_without_hash(result["status"], (result["error"] or {}).get("code"), result["sha256"]):
            return
        folders = [] if storage.is_url(result["source"]) else [os.path.dirname(result["source"])]
        result["also"] = self._dependencies.entries_if_unknown([*folders, *(self.options.get("texture_path") or ())])
        scene_options = self.options.get("scene", {}).values()  # some are paths of companions
        result["also"] += [file_entry(value) for value in scene_options if isinstance(value, str)]


def _ended_without_hash(status: str, code: str | None, sha256: str | None) -> bool:
    """Return whether a failed job has no hash of its source: the file killed its worker, took too long or exceeded a
    limit of reading. Its dependencies are unknown.
    """
    return status == FAILED and sha256 is None and code not in _TEMPORARY_FAILURES
