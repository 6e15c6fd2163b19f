"""The operations that commands and batches share: names of outputs, what is saved, summaries."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.machinery import PathFinder
from typing import TYPE_CHECKING

from keyframer.batch.output_names import usual_name
from keyframer.exchange import DEFAULT_EXPORTER, exporter_for
from keyframer.formats import FORMATS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from keyframer.checking import Report
    from keyframer.exchange import Exporter
    from keyframer.exchange.opening import OpenedFile
    from keyframer.formats.kit.summary_tables import Table
    from keyframer.inspecting.document_tables import Summary
    from keyframer.scene import Scene
    from keyframer.scene.loss_report import Loss
    from keyframer.textures import TextureFinder


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation; `keyframer.batch.job_execution` has its code."""

    name: str
    description: str
    """description for the help text"""
    suffix: Callable[[Mapping[str, Any]], str]
    """returns the suffix of output names for the options; raises ValueError for invalid options"""
    loads: tuple[str, ...]
    """modules that most files need: the fork server loads them while files are still being listed"""
    replaces_extension: bool = False
    """whether ``a.3ds`` becomes ``a.glb``; otherwise the suffix is added: ``a.3ds.check.json``"""

    def naming(self, options: Mapping[str, Any]) -> Callable[[str], str]:
        """Return a function from the name of a file to the usual name of its output."""
        suffix = self.suffix(options)
        return lambda name: usual_name(name, suffix, self.replaces_extension)


def _export_suffix(options: Mapping[str, Any]) -> str:
    """Return the suffix without loading the code of the format; raises ValueError for invalid options."""
    exporter, dialect = exporter_for("", options.get("to", DEFAULT_EXPORTER.name)), options.get("dialect")
    extension = exporter.extension(None if dialect is None else str(dialect))
    exporter.options_from_text(options.get("write") or {})
    return extension


def prepare_conversion(
    scene: Scene, exporter: Exporter, options: Mapping[str, Any]
) -> tuple[Scene, dict[str, Any], list[Loss]]:
    """Return the scene after the operations of ``options["steps"]``, the options of `exchange.conversion.save_opened`,
    and what the operations did: the beginning of its loss report.

    Raises ValueError for an option that the format does not have, and for an operation that is impossible.
    """
    steps, fps, max_error = options.get("steps") or {}, options.get("fps"), options.get("max_error")
    save_options = {"dialect": options.get("dialect"), "max_error": max_error}
    save_options |= exporter.options_from_text(options.get("write") or {})
    if exporter.takes_images and fps is not None:
        save_options["fps"], fps = fps, None
    if not steps and fps is None:
        return scene, save_options, []
    from keyframer.editing import apply_edits
    from keyframer.scene.loss_report import LossReport

    changes = LossReport(exporter.name)
    scene = apply_edits(scene, {**steps, "max_error": max_error}, fps, exporter.axes, changes)
    return scene, save_options, changes.losses


def summarise(
    opened: OpenedFile, encoding: str | None, finder: TextureFinder | None
) -> tuple[Summary, list[Table], Report]:
    """Return the summary of a file, all its tables, and the report of its check."""
    from keyframer.checking import check_opened
    from keyframer.inspecting import document_tables

    document_tables.use_encoding(opened, encoding)
    checked = check_opened(opened)
    tables = [*document_tables.file_tables(opened, checked.verdict, checked.issues, finder)]
    return document_tables.summary_of(opened, tables, checked.verdict, checked.issues), tables, checked


def _picture_suffix(options: Mapping[str, Any]) -> str:
    from keyframer.rendering.renderer import picture_options

    return f".{picture_options(options)[1].kind}"


_EXECUTION = ("keyframer.batch.job_execution",)
_READING = (
    *_EXECUTION,
    "keyframer.formats.recovery",
    *(module for known in FORMATS for module in known.preload),
)
_WRITING = (*DEFAULT_EXPORTER.preload, "keyframer.exchange.conversion")
_RENDERING = ("keyframer.rendering.renderer", "keyframer.editing", "PIL.ImageDraw", "PIL.ImageFont")

_ALL = (
    Operation(
        "convert",
        "convert every file to glTF 2.0 or another format",
        _export_suffix,
        (*_READING, *_WRITING),
        replaces_extension=True,
    ),
    Operation("check", "check every file and write its report as JSON", lambda options: ".check.json", _READING),
    Operation(
        "info",
        "write the summary and the tables of every file as JSON",
        lambda options: ".info.json",
        (*_READING, "keyframer.inspecting.document_tables"),
    ),
    Operation("identify", "identify every file and write JSON", lambda options: ".identify.json", _EXECUTION),
    Operation("thumbnail", "render a picture of every file", _picture_suffix, (*_READING, *_RENDERING)),
    Operation(
        "gallery",
        "make web pages that show, filter and play all files",
        lambda options: "/index.html",
        (*_READING, *_RENDERING, *_WRITING, "keyframer.batch.gallery_page"),
    ),
)

CATALOGUE_LOADS = (*_READING, "keyframer.batch.catalogue_rows", "keyframer.textures")
"""modules that the workers of a catalogue need; a catalogue is no operation: it writes no file for each input"""

OPERATIONS = {
    operation.name: operation
    for operation in _ALL
    if operation.name not in ("thumbnail", "gallery") or PathFinder.find_spec("PIL") is not None
}
"""all operations by name; pictures need Pillow"""
