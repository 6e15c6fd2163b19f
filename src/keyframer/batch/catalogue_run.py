"""A run that makes a catalogue or brings it up to date: only files that changed, came or went are touched.

Files are listed, compared and stored some hundred at a time, so that the memory does not grow with their number.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from keyframer import __version__
from keyframer.batch import storage
from keyframer.batch.catalogue_schema import COLUMNS, LISTS, NOTHING
from keyframer.batch.dependencies import Dependencies
from keyframer.batch.file_catalogue import Catalogue, FileRow, KnownFile, Rows, path_of_text, path_text
from keyframer.batch.job import DONE, FAILED, Job, Result, fail_with, new_result, options_hash
from keyframer.batch.job_submission import perform_all, run
from keyframer.batch.ledger import LOCK
from keyframer.batch.resumable_run import (
    InputFile,
    Summary,
    is_repeated,
    note_unknown_dependencies,
    source_is_unchanged,
)
from keyframer.catalogue import IO_READ_FAILED
from keyframer.errors import FormatError
from keyframer.files.member_names import member_name

_FILES = 500
"""files that are compared with the catalogue at once, and stored in one transaction"""
_SECONDS = 1.0
"""seconds after which finished files are stored, even if they are fewer"""


@dataclass
class Coverage:
    """Where a run looks for files: rows of other places stay, even if their files are gone."""

    places: list[str] = field(default_factory=list)
    """files, folders, archives and URLs"""
    merged: list[str] = field(default_factory=list)
    """catalogues: all files that were copied from them"""
    unreadable: list[str] = field(default_factory=list)
    """folders and files that could not be read: nothing below them is gone"""

    def is_gone(self, path: str, merged_from: str | None) -> bool:
        """Return whether a file is gone that the run did not find. The run may have left it out, as one of another
        shard, so each file is looked for."""
        if merged_from is not None:
            return merged_from in self.merged
        if _is_below(path, self.unreadable) or not _is_below(path, self.places):
            return False
        return storage.is_gone(path) and storage.is_gone(path_of_text(path))


def _is_below(path: str, places: Sequence[str]) -> bool:
    beginnings = (beginning for place in places for beginning in (f"{place.rstrip('/')}/", member_name(place, "")))
    return path in places or path.startswith(tuple(beginnings))


def _missing(file: InputFile) -> FormatError | None:
    """Return the failure of an input that does not exist: it is no file, so it gets no row."""
    if file.stamp or storage.is_url(file.source) or not storage.is_gone(file.source):
        return None
    return IO_READ_FAILED.failure(0, "/", reason=os.strerror(errno.ENOENT))


def _failed_rows(result: Result) -> Rows:
    """Return the rows of a file for which a job failed: the reason is its only issue."""
    file = {**NOTHING, "format": result["format"], "verdict": "not readable", "errors": 1, "warnings": 0}
    issue = {**result["error"], "severity": "error"}
    rows: Rows = {"file": file, **{name: [] for name in LISTS}, "search": ["", ""], "fingerprint": None}
    rows["issues"] = [[issue[name] for name in COLUMNS["issues"][2:]]]
    return rows


class CatalogueRun:
    """A run over many files with one catalogue."""

    def __init__(
        self,
        catalogue: Catalogue,
        inputs: Iterable[InputFile],
        options: Mapping[str, Any],
        coverage: Coverage,
        *,
        retry: bool = False,
        verify: bool = False,
    ) -> None:
        """``inputs`` are listed while the run is executed. ``retry`` processes failed files again, ``verify`` compares
        hashes instead of times."""
        self.catalogue = catalogue
        self.options = dict(options)
        self.summary = Summary()
        self.removed = 0
        self._inputs = inputs
        self._coverage = coverage
        self._retry = retry
        self._verify = verify
        self._hash = options_hash("catalogue", self.options)
        self._dependencies = Dependencies()
        self._finished: list[Result] = []
        self._unchanged: list[tuple[str, int, str]] = []
        """key, id in the catalogue, and stamp"""
        self._in_progress: set[str] = set()
        self._stored = time.monotonic()
        self._own_files = [os.path.abspath(catalogue.path) + ending for ending in ("", LOCK, "-journal")]

    def execute(
        self,
        executor: Executor,
        *,
        stop: Callable[[], bool] = lambda: False,
        skipped: Callable[[], None] = lambda: None,
        task: Callable[..., list[Result]] = perform_all,
        files_per_task: int | None = None,
    ) -> Iterator[Result]:
        """Execute the jobs of new and changed files; yields their results. Afterwards, unless it was stopped, files
        that are gone are removed.

        Skipped files have no result; ``skipped()`` is called for each.
        """
        refused: list[Result] = []
        jobs = self._jobs(refused, stop, skipped)
        try:
            for result in run(jobs, executor, stop=stop, task=task, files_per_task=files_per_task):
                yield self._count(result)
                self._finished.append(result)
                if len(self._finished) >= _FILES or time.monotonic() - self._stored > _SECONDS:
                    self._store()
                while refused:
                    yield self._count(refused.pop())
            while refused:
                yield self._count(refused.pop())
        finally:
            self._store()
        self.catalogue.check_in_place()
        if not stop():
            self.removed = self.catalogue.remove_gone(self._coverage.is_gone)

    def _count(self, result: Result) -> Result:
        self.summary.count(result["status"], (result["error"] or {}).get("code"), {})
        return result

    def _store(self) -> None:
        """Store what is finished, in one transaction."""
        results, self._finished = self._finished, []
        unchanged, self._unchanged = self._unchanged, []
        if results or unchanged:
            with self.catalogue.transaction():
                for result in results:
                    self.catalogue.store(self._file_row(result))
                self.catalogue.note_unchanged((number, stamp) for _, number, stamp in unchanged)
        self._in_progress.difference_update([result["source"] for result in results], [key for key, _, _ in unchanged])
        self._stored = time.monotonic()

    def _file_row(self, result: Result) -> FileRow:
        note_unknown_dependencies(result, self.options, self._dependencies)
        rows = result["details"].get("rows") if result["status"] == DONE else None
        return FileRow(
            result["source"],
            result["size"],
            result["sha256"],
            result["stamp"],
            self._hash,
            (result["error"] or {}).get("code"),
            result["also"],
            rows or _failed_rows(result),
        )

    def _jobs(self, refused: list[Result], stop: Callable[[], bool], skipped: Callable[[], None]) -> Iterator[Job]:
        """Yield the jobs of files that are not up to date; adds the results of unreadable inputs to ``refused``."""
        inputs = iter(self._inputs)
        while files := list(islice(inputs, _FILES)):
            known = self.catalogue.find([file.key for file in files])
            for file in files:
                if stop():
                    return
                if file.source in self._own_files:
                    continue
                job = Job("catalogue", file.source, "", self.options, file.occurrence, file.stamp)
                error = file.error or _missing(file)
                if error is not None:
                    self._coverage.unreadable.append(path_text(file.key))
                    refused.append(fail_with(new_result(job), error))
                    continue
                row = known.get(path_text(file.key))
                if file.key in self._in_progress or (row is not None and row.run == self.catalogue.run):
                    continue  # the file was given twice
                self._in_progress.add(file.key)
                if row is not None and self._is_done(row, job):
                    self._unchanged.append((file.key, row.id, job.stamp))
                    if len(self._unchanged) >= _FILES:
                        self._store()
                    self.summary.skipped += 1
                    self.summary.count(DONE if row.code is None else FAILED, row.code, {})
                    skipped()
                    continue
                yield job

    def _is_done(self, row: KnownFile, job: Job) -> bool:
        """Return whether the rows of a file are those that a job would give."""
        if row.options != self._hash or row.program != __version__:
            return False
        status = DONE if row.code is None else FAILED
        if is_repeated(status, row.code, row.sha256, row.also, retry=self._retry):
            return False
        return self._dependencies.are_unchanged(row.also, job.source) and source_is_unchanged(
            job, row.stamp, row.sha256, verify=self._verify
        )
