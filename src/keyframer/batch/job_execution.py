"""Executes jobs in worker processes. A job never raises: its result describes success or failure."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from keyframer import checking
from keyframer.batch import dependencies, storage
from keyframer.batch.job import FINDINGS, Job, Result, fail, fail_with, new_result
from keyframer.batch.operations import prepare_conversion, summarise
from keyframer.batch.store_images import StoreFinder
from keyframer.catalogue import IO_MANIFEST_MISMATCH, IO_UNRECOGNISED, RUN_OUTPUT_COLLISION, RUN_OUTPUT_REFUSED
from keyframer.errors import FormatError, reason_of
from keyframer.exchange import DEFAULT_EXPORTER, Importer, exporter_for
from keyframer.exchange.opening import OpenedFile
from keyframer.files import OutputExists, OutputRefused, PathLike, running, write_bytes
from keyframer.formats.contract import HEAD_SIZE
from keyframer.inspecting import identity
from keyframer.inspecting.listing import json_file
from keyframer.limits import Budget, limits_of
from keyframer.scene.loss_report import Outcome
from keyframer.textures import TextureFinder, TextureSource

if TYPE_CHECKING:
    from keyframer.scene import Scene


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
    operation = _FUNCTIONS.get(job.operation)
    if operation is None:
        raise ValueError(f"unknown operation {job.operation!r} (known: {', '.join(_FUNCTIONS)})")

    def depend_on(path: PathLike) -> None:
        result["also"].append(dependencies.file_entry(path))

    budget = Budget(limits_of(job.options.get("limit", {})))
    with running(is_job=True, writer=job.writer, depend_on=depend_on) as run, budget.opened():
        running_job = _RunningJob(job, result)
        try:
            operation(running_job, result)
        finally:
            result["format"] = result["format"] or running_job.format_name
            if result["format"] is None and (stranger := running_job.opened.detection.stranger):
                result["details"] = {**result["details"], "stranger": stranger}
            result["outputs"] += [_file_entry(path, sha256) for path, sha256 in run.written]


def _file_entry(path: str, sha256: str) -> dict[str, Any]:
    """Return what the ledger stores about a written file."""
    status = os.stat(path)
    return {"path": path, "size": status.st_size, "mtime_ns": status.st_mtime_ns, "sha256": sha256}


class _RunningJob:
    """A job with its opened file, its images and companions, and its result."""

    def __init__(self, job: Job, result: Result) -> None:
        self.job = job
        self.options = job.options
        self.result = result
        self.opened = OpenedFile(
            storage.read(job.source, job.occurrence, job.stamp),
            name=job.source,
            path=None if storage.is_url(job.source) else job.source,
            format=self.options.get("from"),
            options=self.options.get("scene"),
        )
        self.data = self.opened.data
        result["sha256"] = self.opened.sha256
        result["size"] = len(self.data)
        if job.sha256 and job.sha256 != result["sha256"]:
            reason = f"its sha256 is {result['sha256']}, the manifest says {job.sha256}"
            raise IO_MANIFEST_MISMATCH.failure(0, "/", reason=reason)

    @property
    def format_name(self) -> str | None:
        """The id of the format; None if it is not known yet."""
        reader = self.opened.known_reader
        return None if reader is None else reader.name

    def scene(self) -> Scene:
        """Return the scene; other files that were read or searched for are recorded in the result."""
        self.note_companions()
        salvage = bool(self.options.get("salvage"))
        scene = self.opened.scene(salvage=salvage)
        if salvage and scene.issues.unsafe_counts():
            self.result["status"] = FINDINGS
        self.note_issues(scene.issues)
        return scene

    def note_issues(self, issues: Any) -> None:
        """Record the counts of an `IssueLog`."""
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
            also += dependencies.companion_entries(self.job.source)

    def finder(self) -> TextureFinder | None:
        """Return a finder for the folder of the file and those of ``texture_path``; None with ``no_textures``."""
        if self.options.get("no_textures"):
            return None
        folder = self.opened.folder
        if storage.is_url(self.job.source):
            url = self.job.source.rpartition("/")[0]
            recursive = bool(self.options.get("texture_recursive"))
            texture_path = self.options.get("texture_path") or ()
            return StoreFinder(url, texture_path, storage.recent_listing, recursive=recursive)
        folders = [*([folder] if folder is not None else []), *(self.options.get("texture_path") or ())]
        return TextureFinder(folders, recursive=bool(self.options.get("texture_recursive")))

    def note_images(self, finder: TextureFinder | None) -> None:
        """Record which images were searched for, and which were found."""
        if finder is not None:
            self.result["also"] += dependencies.image_entries(finder)

    def write(self, data: bytes, path: str = "") -> None:
        """Write a file or upload an object, by default the output of the job."""
        path = path or self.job.output
        with self.writing():
            if storage.is_url(path):
                entry = {**storage.write(path, data), "sha256": hashlib.sha256(data).hexdigest()}
                self.result["outputs"].append(entry)
            else:
                write_bytes(path, data, overwrite=self.job.replaces)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Make the folder of the output. If an output cannot be written, raise a `FormatError` that names the output,
        not the source, as the cause."""
        path = self.job.output
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


def _convert(job: _RunningJob, result: Result) -> None:
    """Write a file in another format and report losses."""
    from keyframer.exchange.conversion import save_opened

    options, output = job.options, job.job.output
    exporter = exporter_for("", options.get("to", DEFAULT_EXPORTER.name))
    scene = job.scene()
    if "merge" in options.get("steps", {}):
        result["also"].append(dependencies.file_entry(options["steps"]["merge"]))
    finder = job.finder()
    scene, save_options, changes = prepare_conversion(scene, exporter, options)
    save_options |= {
        "textures": None if finder is None else TextureSource(finder),
        "name": os.path.basename(job.job.source),
    }
    if not storage.is_url(output):
        with job.writing():
            report = save_opened(job.opened, scene, output, exporter, overwrite=job.job.replaces, **save_options)
    else:
        parent, _, name = output.rpartition("/")
        # a path in a folder that cannot exist: nothing is found next to the output
        with running(is_job=True, upload=lambda file_name, data: job.write(data, f"{parent}/{file_name}")):
            report = save_opened(job.opened, scene, os.path.join(os.devnull, name), exporter, **save_options)
        result["outputs"].reverse()
    report.losses[:0] = changes
    job.note_images(finder)
    losses = {outcome.value: report.count(outcome) for outcome in Outcome}
    result["details"] = {"losses": losses, "loss_codes": report.counts(), "measured": dict(report.measured)}


def _check(job: _RunningJob, result: Result) -> None:
    """Report the issues of a file."""
    with suppress(FormatError):  # the format is unknown: the report says so
        job.note_companions()
    report = checking.check_opened(job.opened).restricted(
        job.options.get("only") or (), job.options.get("ignore") or ()
    )
    record = checking.report_record(report, job.job.source)
    job.write(json_file(checking.SCHEMA, checking.SCHEMA_VERSION, record))
    job.note_issues(report.issues)
    result["format"] = None if report.format is None else report.format.name
    result["details"] = {"verdict": report.verdict}
    if report.fails(job.options.get("fail_on") or "error"):
        result["status"] = FINDINGS


def _info(job: _RunningJob, result: Result) -> None:
    """Write the summary and the tables of a file."""
    from keyframer.inspecting import document_tables

    encoding, wanted = job.options.get("encoding"), job.options.get("table")
    finder = job.finder()
    job.note_companions()
    summary, tables, checked = summarise(job.opened, encoding, finder)
    job.note_issues(checked.issues)
    result["details"] = {"verdict": checked.verdict}
    job.note_images(finder)
    shown = [table for table in tables if not wanted or table.name in wanted]
    record = document_tables.info_record(job.job.source, summary, shown, encoding)
    job.write(json_file(document_tables.SCHEMA, document_tables.SCHEMA_VERSION, record))


def _identify(job: _RunningJob, result: Result) -> None:
    """Recognise the format of a file."""
    identified = identity.identify(job.data[:HEAD_SIZE], len(job.data), job.job.source, lambda: job.data)
    job.write(json_file(identity.SCHEMA, identity.SCHEMA_VERSION, identified.record()))
    result["format"] = identified.format
    result["details"] = {name: getattr(identified, name) for name in ("certainty", "pronom", "version")}
    if identified.format is None:  # the record is written, too, as `keyframer identify` prints it
        raise IO_UNRECOGNISED.failure(0, "/", reason=str(identified))


def _catalogue(job: _RunningJob, result: Result) -> None:
    """Return the rows of a file in a catalogue; a file that cannot be read has rows, too. Nothing is written."""
    from keyframer.batch.catalogue_rows import file_rows
    from keyframer.batch.file_catalogue import path_text

    with suppress(FormatError):  # the format is unknown: the rows say so
        job.note_companions()
    finder = job.finder()
    rows, issues = file_rows(job.opened, finder)
    container = storage.file_on_disk(job.job.source)
    rows["file"]["container"] = None if container == job.job.source else path_text(container)
    rows["file"]["modified"] = storage.modified(job.job.source, job.job.occurrence) or None
    job.note_issues(issues)
    job.note_images(finder)
    result["details"] = {"rows": rows}


def _gallery(job: _RunningJob, result: Result) -> None:
    """Write the folder of a file in a gallery; a file that cannot be read has one, too."""
    from keyframer.batch.gallery_page import make_folder

    with suppress(FormatError):  # the format is unknown: the page says so
        job.note_companions()
    finder = job.finder()
    folder = os.path.dirname(job.job.output)
    below = folder.removeprefix(job.job.out or folder).replace(os.sep, "/").strip("/")
    date = storage.modified(job.job.source, job.job.occurrence)
    files, entry, issues = make_folder(
        job.opened, result["sha256"], finder, below, date, is_quick=bool(job.options.get("quick"))
    )
    for name, data in files.items():
        job.write(data, os.path.join(folder, name))
    job.note_issues(issues)
    job.note_images(finder)
    result["details"] = entry


def _thumbnail(job: _RunningJob, result: Result) -> None:
    """Render a picture of a file."""
    from keyframer.editing import keep_clip
    from keyframer.rendering import Renderer
    from keyframer.rendering.renderer import picture_options

    settings, presentation = picture_options(job.options)
    scene = job.scene()
    if job.options.get("clip") is not None:
        keep_clip(scene, job.options["clip"])
    finder = job.finder()
    source = None if finder is None else TextureSource(finder)
    renderer = Renderer(scene, settings, textures=source)
    try:
        data = presentation.data(renderer)
    except LookupError as error:  # not every file has a camera of this name
        raise ValueError(str(error.args[0] if error.args else error)) from None
    job.write(data)
    job.note_images(finder)
    images = {str(opening.match): opening.texture is not None for opening in (source.opened if source else ())}
    result["details"] = {"frames": len(renderer.frames or ()), "images": images, "complete": renderer.complete}


_FUNCTIONS: Mapping[str, Callable[[_RunningJob, Result], None]] = {
    "convert": _convert,
    "check": _check,
    "info": _info,
    "identify": _identify,
    "catalogue": _catalogue,
    "thumbnail": _thumbnail,
    "gallery": _gallery,
}
