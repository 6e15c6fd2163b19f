"""The registry of batch operations. Thumbnails need Pillow."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

from keyframer.exchange import exporter_for
from keyframer.formats import FORMATS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from keyframer.batch.job import Result
    from keyframer.batch.operations.job_input import JobInput


class Operation:
    """An operation. The module with its name has ``execute(job_input, result)``, which fills the result and may
    raise."""

    __slots__ = ("description", "loads", "module", "name", "replaces_extension", "suffix")

    def __init__(
        self,
        name: str,
        description: str,
        suffix: Callable[[Mapping[str, Any]], str],
        loads: tuple[str, ...] = (),
        *,
        replaces_extension: bool = False,
    ) -> None:
        self.name = name
        self.description = description
        """description for the help text"""
        self.suffix = suffix
        """returns the suffix of output names for the options; raises ValueError for invalid options"""
        self.module = f"{__name__}.{name}"
        self.loads = (f"{__name__}.job_input", self.module, *loads)
        """modules that most files need: the fork server loads them while files are still being listed"""
        self.replaces_extension = replaces_extension
        """whether ``a.3ds`` becomes ``a.glb``; otherwise the suffix is added: ``a.3ds.check.json``"""

    def function(self) -> Callable[[JobInput, Result], None]:
        function: Callable[[JobInput, Result], None] = import_module(self.module).execute
        return function


def _export_suffix(options: Mapping[str, Any]) -> str:
    """Return the suffix without loading the code of the format; raises ValueError for invalid options."""
    exporter, dialect = exporter_for("", options.get("to", "gltf")), options.get("dialect")
    extension = exporter.extension(None if dialect is None else str(dialect))
    exporter.options_from_text(options.get("write") or {})
    if exporter.name != "gltf" and any(options.get(name) for name in ("core_only", "embed_source", "unit", "keys")):
        raise ValueError("--core-only, --embed-source, --unit and --keys need glTF as the output format")
    return extension


def _picture_suffix(options: Mapping[str, Any]) -> str:
    from keyframer.batch.operations.thumbnail import suffix

    return suffix(options)


_READING = (
    "keyframer.exchange.opening",
    "keyframer.formats.guard",
    *(module for known in FORMATS for module in known.preload),
)
_WRITING = ("keyframer.exchange.gltf.write", "keyframer.exchange.saving")

_ALL = (
    Operation(
        "convert",
        "convert every file to glTF 2.0 or another format",
        _export_suffix,
        (*_READING, *_WRITING),
        replaces_extension=True,
    ),
    Operation("check", "check every file and write its report as JSON", lambda options: ".check.json", _READING),
    Operation("info", "write the summary and the tables of every file as JSON", lambda options: ".info.json", _READING),
    Operation("identify", "identify every file and write JSON", lambda options: ".identify.json"),
    Operation(
        "thumbnail", "render a picture of every file", _picture_suffix, (*_READING, "PIL.ImageDraw", "PIL.ImageFont")
    ),
)

OPERATIONS = {
    operation.name: operation for operation in _ALL if operation.name != "thumbnail" or find_spec("PIL") is not None
}
