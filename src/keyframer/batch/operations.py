"""The registry of batch operations. Thumbnails need Pillow."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING

from keyframer.exchange import exporter_for
from keyframer.formats import FORMATS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any


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


def _export_suffix(options: Mapping[str, Any]) -> str:
    """Return the suffix without loading the code of the format; raises ValueError for invalid options."""
    exporter, dialect = exporter_for("", options.get("to", "gltf")), options.get("dialect")
    extension = exporter.extension(None if dialect is None else str(dialect))
    exporter.options_from_text(options.get("write") or {})
    if exporter.name != "gltf" and any(options.get(name) for name in ("core_only", "embed_source", "unit", "keys")):
        raise ValueError("--core-only, --embed-source, --unit and --keys need glTF as the output format")
    return extension


def _picture_suffix(options: Mapping[str, Any]) -> str:
    from keyframer.rendering.presentation import picture_options

    return f".{picture_options(options)[1].kind}"


_EXECUTION = ("keyframer.batch.job_execution",)
_READING = (
    *_EXECUTION,
    "keyframer.formats.guard",
    *(module for known in FORMATS for module in known.preload),
)
_WRITING = ("keyframer.exchange.gltf.write", "keyframer.operating.conversion")
_RENDERING = ("keyframer.rendering.presentation", "keyframer.inspecting.clip_choice", "PIL.ImageDraw", "PIL.ImageFont")

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
)

OPERATIONS = {
    operation.name: operation for operation in _ALL if operation.name != "thumbnail" or find_spec("PIL") is not None
}
