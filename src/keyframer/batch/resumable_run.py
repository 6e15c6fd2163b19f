"""A run over many files: plans outputs, skips finished files, executes the others and updates the ledger."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from typing import Any

from keyframer.batch import output_names, storage
from keyframer.batch.base_run import InputFile, Run
from keyframer.batch.job import DONE, LEDGER, Job, Result, options_hash
from keyframer.batch.ledger import Ledger, LedgerError, identity_of, removed_meanwhile
from keyframer.batch.ledger_rows import Row
from keyframer.batch.operation_table import OPERATIONS
from keyframer.batch.shards import Shard
from keyframer.catalogue import IO_MANIFEST_MISMATCH, RUN_OUTPUT_REFUSED
from keyframer.errors import FormatError
from keyframer.files import sweep
from keyframer.formats import COMPANION_ENDINGS

_COLLISION = "RUN_OUTPUT_COLLISION"
_ROWS = 500
"""rows read from the ledger at once"""


class ResumableRun(Run):
    """A run of one operation with its options on many files, with one output folder."""

    def __init__(
        self,
        operation: str,
        options: Mapping[str, Any],
        out: str,
        ledger: Ledger,
        *,
        retry: bool = False,
        verify: bool = False,
        force: bool = False,
        shard: Shard | None = None,
        expected: Mapping[str, str] | None = None,
        folder: str = "",
    ) -> None:
        """``retry`` processes failed files again, ``verify`` compares hashes instead of times, ``force`` lets outputs
        replace files that no earlier run wrote, and only files of the ``shard`` are processed. ``expected`` has the
        hash of each source or archive; a file without one, or with another, fails. It is used only after `plan`.
        ``folder`` is the subfolder of ``out`` that gets the outputs.
        """
        super().__init__(operation, options, retry=retry, verify=verify)
        self.operation = OPERATIONS[operation]
        self.out = out.rstrip("/" + os.sep) if len(out) > 1 else out
        self.ledger = ledger
        self._force = force
        self._shard = shard
        self._expected = expected
        self._archive_hashes: dict[str, str] = {}
        self._prefix = f"{folder}/" if folder else ""
        without_salvage = {name: value for name, value in self.options.items() if name != "salvage"}
        self._other_hash = options_hash(
            operation, without_salvage if "salvage" in self.options else {**without_salvage, "salvage": True}
        )
        """hash of the same options with the opposite choice of salvage"""
        self._files: list[InputFile] = []
        self._outputs: list[str] = []
        self._existing_sizes: dict[str, int | None] = {}
        self._links: dict[str, bool] = {}
        self._is_url = storage.is_url(self.out)
        self._out_identity = None if self._is_url else identity_of(self.out)
        self._writer = hashlib.sha256(os.fsencode(os.path.abspath(ledger.path))).hexdigest()[:8]

    def plan(self, inputs: Iterable[InputFile]) -> None:
        """Register all files of the shard and assign their outputs. A file that is given twice is registered once;
        outputs of earlier runs are left out.
        """
        name, suffix = self.operation.name, self.operation.suffix(self.options)
        seen: set[str] = set()
        unreadable = self.ledger.unreadable_sources(name)
        parents: set[str] = set()
        folders_elsewhere: set[str] = set()
        for file in inputs:
            if unreadable:
                folder = os.path.dirname(file.source)
                while folder not in parents:
                    parents.add(folder)
                    folder = os.path.dirname(folder)
            if self._shard is not None and not self._shard.has(file.relative):
                folders_elsewhere.update(output_names.folders_with_suffix(self._prefix + file.relative, suffix))
            elif file.key not in seen and not self.ledger.is_output(file.source):
                seen.add(file.key)
                self._files.append(file)
        for source in unreadable:  # a folder that could not be read or had no files, but has files now
            if source not in seen and source in parents:
                self.ledger.forget(name, source)
        earlier = self.ledger.outputs_of(name)
        linked = {source: output for source, output in earlier.items() if self._link_problem(output)}
        unlinked = {
            source: output
            for source, output in earlier.items()
            if source not in linked and output.startswith(self._prefix)
        }
        owners = {output_names.key_of(output): source for source, output in unlinked.items()}
        self._outputs, self.summary.renamed = output_names.assign(
            [output_names.OutputRequest(file.key, self._prefix + file.relative) for file in self._files],
            suffix,
            replace=self.operation.replaces_extension,
            reserved=(
                *(f"{LEDGER}{part}" for part in ("", "-wal", "-shm", ".lock")),
                *self._sources_below(),
                *folders_elsewhere,
            ),
            earlier_output=unlinked.get,
            owner=owners.get,
        )
        for file, output in zip(self._files, self._outputs, strict=True):
            if (earlier_output := linked.get(file.key, output)) != output:
                self.ledger.refuse(name, file.key, self._link_problem(earlier_output))
        self.ledger.forget_refused()
        self.ledger.record_renamed(name, self.summary.renamed)
        self.summary.total = len(self._files)
        if self._is_url:
            self._existing_sizes = storage.list_sizes(self.out)

    def _link_problem(self, output: str) -> str:
        """Return why an output may not be written: a folder in its path, below the output folder, is a link. Empty if
        there is no such link."""
        folder = "" if self._is_url else output.rpartition("/")[0]
        while folder:
            if folder not in self._links:
                self._links[folder] = os.path.islink(self._path(folder))
            if self._links[folder]:
                return f"its output {output} leads through a link ({folder})"
            folder = folder.rpartition("/")[0]
        return ""

    def _sources_below(self) -> Iterator[str]:
        """Yield the paths of inputs below the output folder, also through links: no output may replace them."""
        if self._is_url:
            beginning = self._path("")
            yield from (
                file.source.removeprefix(beginning) for file in self._files if file.source.startswith(beginning)
            )
            return
        out, real = os.path.realpath(self.out), dict[str, str]()
        beginning = out.rstrip(os.sep) + os.sep
        for file in self._files:
            folder, name = os.path.split(file.source)
            if folder not in real:
                real[folder] = os.path.realpath(folder)
            source = os.path.join(real[folder], name)
            if source.startswith(beginning):
                yield source.removeprefix(beginning).replace(os.sep, "/")

    @property
    def sources(self) -> list[str]:
        """The keys of all files of the run."""
        return [file.key for file in self._files]

    def sweep(self, *, older_than: float = 0.0) -> int:
        """Remove the temporary files of killed writers in the folders of the outputs; returns their number. Those of
        other runs are kept for ``older_than`` seconds."""
        if self._is_url:
            return 0
        folders = {output.rpartition("/")[0] for output in self._outputs}
        return sum(sweep(self._path(folder), older_than=older_than, writer=self._writer) for folder in folders)

    def _end(self, stopped: bool) -> None:
        self._check_in_place()

    def _check_in_place(self) -> None:
        """Raise `LedgerError` if the ledger or the output folder was removed during the run: outputs would be lost."""
        self.ledger.check_in_place()
        if not self._is_url:
            found = identity_of(self.out)
            if self._out_identity not in (None, found):
                raise LedgerError(removed_meanwhile(f"the output folder {self.out}"))
            self._out_identity = found

    def _store(self, result: Result) -> None:
        self._check_in_place()
        self.ledger.record(result)

    def _refuse(self, job: Job, error: FormatError) -> Result:
        result = super()._refuse(job, error)
        self._note_unknown_dependencies(result)
        self._store(result)
        return result

    def _jobs(self, stop: Callable[[], bool], skipped: Callable[[], None]) -> Iterator[Job]:
        name = self.operation.name
        for begin in range(0, len(self._files), _ROWS):
            files = self._files[begin : begin + _ROWS]
            rows = self.ledger.find(name, [file.key for file in files])
            for file, output in zip(files, self._outputs[begin : begin + _ROWS], strict=True):
                if stop():
                    return
                row = rows.get(file.key)
                path = self._path(output)
                is_own_output = row is not None and row.output == output and row.code != _COLLISION
                replaces = self._force or (is_own_output and not os.path.islink(path))
                expected, error = self._expectation(file)
                job = Job(
                    *(name, file.source, path, self.options, file.occurrence, file.stamp, replaces),
                    *(expected, self._writer, self.out),
                )
                problem = self._link_problem(output)
                error = RUN_OUTPUT_REFUSED.failure(0, "/", reason=problem) if problem else file.error or error
                if error is not None:
                    self._refuse(job, error)
                    continue
                if row is not None and self._is_done(row, job, output):
                    self._skip(row.status, row.code, row.issues, skipped)
                    continue
                source = self._replaced_source(path) if job.replaces else None
                if source is not None:
                    reason = f"{source} is an input of this run and is never replaced"
                    self._refuse(job, RUN_OUTPUT_REFUSED.failure(0, "/", reason=reason))
                    continue
                yield job

    def _expectation(self, file: InputFile) -> tuple[str, FormatError | None]:
        """Return the hash that a file must have, empty if any, and why it fails before it is read."""
        if self._expected is None or file.error is not None:
            return "", None
        member = storage.split_member(file.source)
        expected = self._expected.get(file.source if member is None else member[0], "")
        if not expected:
            return "", IO_MANIFEST_MISMATCH.failure(0, "/", reason="the manifest does not list it")
        if member is None:
            return expected, None
        if member[0] not in self._archive_hashes:
            self._archive_hashes[member[0]] = _sha256(member[0]) or "unknown"
        found = self._archive_hashes[member[0]]
        if found == expected:
            return "", None
        reason = f"the sha256 of its archive is {found}, the manifest says {expected}"
        return "", IO_MANIFEST_MISMATCH.failure(0, "/", reason=reason)

    def _replaced_source(self, path: str) -> str | None:
        """Return the path of a source that writing this output would replace, through a link or as the other file of a
        pair; None if there is none.

        Planning ensures that outputs never have the names of sources below the output folder.
        """
        stem, ending = os.path.splitext(path)
        pair = [stem + other for other in COMPANION_ENDINGS if ending in COMPANION_ENDINGS and other != ending]
        for written in () if self._is_url else (path, *pair):
            try:
                status = os.lstat(written)
                if written == path and status.st_nlink == 1 and not stat.S_ISLNK(status.st_mode):
                    continue
                status = os.stat(written)
            except OSError:
                continue
            if (status.st_dev, status.st_ino) in self._identities:
                return written
        return None

    @cached_property
    def _identities(self) -> set[tuple[int, int]]:
        """Devices and inodes of all local sources; for members, those of their archives."""
        identities = set()
        for file in self._files:
            with suppress(OSError, ValueError):
                status = os.stat(storage.file_on_disk(file.source))
                identities.add((status.st_dev, status.st_ino))
        return identities

    def _path(self, output: str) -> str:
        if self._is_url or os.sep == "/":
            return f"{self.out}/{output}" if self.out != "/" else f"/{output}"
        return os.path.join(self.out, *output.split("/"))

    def _is_done(self, row: Row, job: Job, output: str) -> bool:
        """Return whether an earlier run finished the same job and nothing has changed since."""
        # if nothing had to be left out, salvage makes no difference
        if row.options != self._hash and not (row.options == self._other_hash and row.status == DONE):
            return False
        if job.sha256 not in ("", row.sha256) or output != row.output:
            return False
        if not (self._outputs_unchanged(row, job.output) and self._is_unchanged(row, job)):
            return False
        if job.stamp and job.stamp != row.stamp:
            self.ledger.touch(self.operation.name, job.key, job.stamp)
        return True

    def _outputs_unchanged(self, row: Row, path: str) -> bool:
        for output in row.outputs:
            if self._is_url:
                below = output["path"].removeprefix(self.out).lstrip("/")
                if self._existing_sizes.get(below, -1) != output["size"]:
                    return False
                continue
            if output["path"] != path:  # the output folder was moved, or this file is next to the output
                path = os.path.join(os.path.dirname(path), os.path.basename(output["path"]))
            try:
                status = os.stat(path)
            except OSError:
                return False
            if status.st_size != output["size"] or not stat.S_ISREG(status.st_mode):
                return False
            needs_hash = self._verify or status.st_mtime_ns != output["mtime_ns"]
            if needs_hash and _sha256(path) != output["sha256"]:
                return False
        return True


def _sha256(path: str) -> str | None:
    try:
        return storage.sha256_of(path)
    except OSError:
        return None
