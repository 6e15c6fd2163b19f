"""A run that makes a catalogue or brings it up to date: only files that changed, came or went are touched.

Files are listed, compared and stored some hundred at a time, so that the memory does not grow with their number.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from keyframer.batch import storage
from keyframer.batch.base_run import InputFile, Run
from keyframer.batch.catalogue_schema import COLUMNS, LISTS, NOTHING
from keyframer.batch.file_catalogue import Catalogue, FileRow, Rows, path_of_text, path_text
from keyframer.batch.job import DONE, Job, Result
from keyframer.batch.ledger import LOCK
from keyframer.batch.operation_table import CATALOGUE
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


class CatalogueRun(Run):
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
        """``inputs`` are listed while the run is executed."""
        super().__init__(CATALOGUE.name, options, retry=retry, verify=verify)
        self.catalogue = catalogue
        self.removed = 0
        self._inputs = inputs
        self._coverage = coverage
        self._finished: list[Result] = []
        self._unchanged: list[tuple[str, int, str]] = []
        """key, id in the catalogue, and stamp"""
        self._in_progress: set[str] = set()
        self._stored = time.monotonic()
        self._own_files = [os.path.abspath(catalogue.path) + ending for ending in ("", LOCK, "-journal")]

    def _end(self, stopped: bool) -> None:
        """Remove the files that are gone, unless the run was stopped."""
        self.catalogue.check_in_place()
        if not stopped:
            self.removed = self.catalogue.remove_gone(self._coverage.is_gone)

    def _store(self, result: Result) -> None:
        self._finished.append(result)
        if len(self._finished) >= _FILES or time.monotonic() - self._stored > _SECONDS:
            self._flush()

    def _flush(self) -> None:
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

    def _jobs(self, stop: Callable[[], bool], skipped: Callable[[], None]) -> Iterator[Job]:
        inputs = iter(self._inputs)
        while files := list(islice(inputs, _FILES)):
            known = self.catalogue.find([file.key for file in files])
            for file in files:
                if stop():
                    return
                if file.source in self._own_files:
                    continue
                job = Job(CATALOGUE.name, file.source, "", self.options, file.occurrence, file.stamp)
                error = file.error or _missing(file)
                if error is not None:
                    self._coverage.unreadable.append(path_text(file.key))
                    self._refuse(job, error)
                    continue
                row = known.get(path_text(file.key))
                if file.key in self._in_progress or (row is not None and row.run == self.catalogue.run):
                    continue  # the file was given twice
                self._in_progress.add(file.key)
                if row is not None and row.options == self._hash and self._is_unchanged(row, job):
                    self._unchanged.append((file.key, row.id, job.stamp))
                    if len(self._unchanged) >= _FILES:
                        self._flush()
                    self._skip(row.status, row.code, {}, skipped)
                    continue
                yield job
