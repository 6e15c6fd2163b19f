"""Executes jobs in worker processes. A job never raises: its result describes success or failure."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from keyframer.batch import dependencies, storage
from keyframer.batch.job import FINDINGS, Job, Result, fail, fail_with, new_result
from keyframer.batch.operation_table import ALL, CATALOGUE
from keyframer.batch.store_images import StoreFinder
from keyframer.catalogue import IO_MANIFEST_MISMATCH, RUN_OUTPUT_COLLISION, RUN_OUTPUT_REFUSED
from keyframer.errors import FormatError, reason_of
from keyframer.exchange import Importer
from keyframer.exchange.opening import OpenedFile
from keyframer.files import OutputExists, OutputRefused, PathLike, running, write_bytes
from keyframer.limits import Budget, limits_of
from keyframer.operations import WorkFile
from keyframer.textures import TextureFinder

if TYPE_CHECKING:
    from keyframer.exchange import Exporter
    from keyframer.issues import IssueLog
    from keyframer.scene import Scene
    from keyframer.scene.loss_report import LossReport


def perform(job: Job) -> Result:
    """Execute one job; returns a plain dict."""
    result = new_result(job)
    start = time.perf_counter()
    try:
        _perform(job, result)
    except FormatError as error:
        fail_with(result, error)
    except MemoryError:
        fail(result, "LIMIT_MEMORY", "processing the file needs more memory than is available")
    except OSError as error:
        fail(result, "IO_READ_FAILED", reason_of(error, str(result["source"])))
    except ValueError as error:
        fail(result, "RUN_REFUSED", str(error))
    except Exception as error:
        fail(result, "RUN_INTERNAL_ERROR", f"{type(error).__name__}: {error} (please report it)")
    result["seconds"] = round(time.perf_counter() - start, 6)
    return result


def _perform(job: Job, result: Result) -> None:
    operation = {**ALL, CATALOGUE.name: CATALOGUE}.get(job.operation)
    if operation is None:
        raise ValueError(f"unknown operation {job.operation!r} (known: {', '.join((*ALL, CATALOGUE.name))})")

    def depend_on(path: PathLike) -> None:
        result["also"].append(dependencies.file_entry(path))

    budget = Budget(limits_of(job.options.get("limit", {})))
    with running(is_job=True, writer=job.writer, depend_on=depend_on) as run, budget.opened():
        file = _RunningJob(job, result)
        try:
            if operation.reads_companions:
                with suppress(FormatError):  # the format is unknown: reported by the work
                    file.note_companions()
            operation.perform(file)
            file.note_images()
        finally:
            file.finish()
            result["outputs"] += [_file_entry(path, sha256) for path, sha256 in run.written]


def _file_entry(path: str, sha256: str) -> dict[str, Any]:
    """Return what the ledger stores about a written file."""
    status = os.stat(path)
    return {"path": path, "size": status.st_size, "mtime_ns": status.st_mtime_ns, "sha256": sha256}


class _RunningJob(WorkFile):
    """A job with its opened file; everything that it reads, finds and writes is in its result."""

    def __init__(self, job: Job, result: Result) -> None:
        self.job = job
        self.values = job.options
        self.result = result
        self.name, self.occurrence, self.output, self.out = job.source, job.occurrence, job.output, job.out
        self._finder: TextureFinder | None = None
        self.opened = OpenedFile(
            storage.read(job.source, job.occurrence, job.stamp),
            name=job.source,
            path=None if storage.is_url(job.source) else job.source,
            format=self.values.get("from"),
            options=self.values.get("scene"),
        )
        result["sha256"] = self.opened.sha256
        result["size"] = len(self.opened.data)
        if job.sha256 and job.sha256 != result["sha256"]:
            reason = f"its sha256 is {result['sha256']}, the manifest says {job.sha256}"
            raise IO_MANIFEST_MISMATCH.failure(0, "/", reason=reason)

    def finish(self) -> None:
        """Complete the result, also of a job that failed."""
        reader = self.opened.known_reader
        self.result["format"] = self.format or (None if reader is None else reader.name)
        self.result["details"] = dict(self.details)
        if self.result["format"] is None and (stranger := self.opened.detection.stranger):
            self.result["details"]["stranger"] = stranger
        if self.has_findings:
            self.result["status"] = FINDINGS

    def scene(self) -> Scene:
        _ = self.opened.reader  # an unknown format is reported as such, whatever the ending of the name
        salvage = bool(self.values.get("salvage"))
        scene = self.opened.scene(salvage=salvage)
        self.has_findings = salvage and bool(scene.issues.unsafe_counts())
        self.note_issues(scene.issues)
        if self.values.get("clip") is not None:
            from keyframer.editing import keep_clip

            keep_clip(scene, self.values["clip"])
        return scene

    def note_issues(self, issues: IssueLog) -> None:
        """Record the counts of the issues."""
        worst = issues.worst()
        self.result["issues"] = dict(sorted(issues.counts.items()))
        self.result["worst"] = None if worst is None else worst.label

    def note_companions(self) -> None:
        """Record the companions of the input; the files that it names are recorded when they are opened."""
        also, reader, folder = self.result["also"], self.opened.reader, self.opened.folder
        if isinstance(reader, Importer):
            return
        values = (self.opened.given_options.get(companion.option) for companion in reader.companions)
        also += [dependencies.file_entry(value) for value in values if isinstance(value, (str, Path))]
        if folder is not None and reader.companions:
            also += dependencies.companion_entries(self.name)

    def depend_on(self, path: str) -> None:
        self.result["also"].append(dependencies.file_entry(path))

    def finder(self) -> TextureFinder | None:
        if self.values.get("no_textures"):
            return None
        texture_path = self.values.get("texture_path") or ()
        recursive = bool(self.values.get("texture_recursive"))
        if storage.is_url(self.name):
            url = self.name.rpartition("/")[0]
            self._finder = StoreFinder(url, texture_path, storage.recent_listing, recursive=recursive)
        else:
            folder = self.opened.folder
            folders = [*([folder] if folder is not None else []), *texture_path]
            self._finder = TextureFinder(folders, recursive=recursive)
        return self._finder

    def note_images(self) -> None:
        """Record which images were searched for, and which were found."""
        if self._finder is not None:
            self.result["also"] += dependencies.image_entries(self._finder)

    def write(self, data: bytes, path: str = "") -> None:
        """Write a file or upload an object."""
        path = path or self.output
        with self.writing():
            if storage.is_url(path):
                entry = {**storage.write(path, data), "sha256": hashlib.sha256(data).hexdigest()}
                self.result["outputs"].append(entry)
            else:
                write_bytes(path, data, overwrite=self.job.replaces)

    def save(self, scene: Scene, exporter: Exporter, **options: Any) -> LossReport:
        from keyframer.exchange.conversion import save_opened

        options["name"] = os.path.basename(self.name)
        if not storage.is_url(self.output):
            with self.writing():
                return save_opened(self.opened, scene, self.output, exporter, overwrite=self.job.replaces, **options)
        parent, _, name = self.output.rpartition("/")
        # a path in a folder that cannot exist: nothing is found next to the output
        with running(is_job=True, upload=lambda file_name, data: self.write(data, f"{parent}/{file_name}")):
            report = save_opened(self.opened, scene, os.path.join(os.devnull, name), exporter, **options)
        self.result["outputs"].reverse()
        return report

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Make the folder of the output. If an output cannot be written, raise a `FormatError` that names the output,
        not the source, as the cause."""
        path = self.output
        try:
            folder = os.path.dirname(path)
            if folder and not storage.is_url(path) and not os.path.isdir(folder):
                os.makedirs(folder, exist_ok=True)
            yield
        except OutputExists as error:
            reason = f"{error.target} exists and was not written by an earlier run (--force replaces it)"
            raise RUN_OUTPUT_COLLISION.failure(0, "/", reason=reason) from None
        except OutputRefused as error:
            raise RUN_OUTPUT_REFUSED.failure(0, "/", reason=str(error)) from None
        except OSError as error:
            reason = f"{path} cannot be written: {error.strerror or error}"
            raise RUN_OUTPUT_REFUSED.failure(0, "/", reason=reason) from None
