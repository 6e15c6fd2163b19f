"""The registry of exporters and importers: which of them writes or reads a file.

Exchange formats have no documents: files are read directly into scenes, and writing reports its losses. A new one is a
package with a subclass of `Exporter` or `Importer` (`keyframer.exchange.contract`), and a line in `_BUILT_IN_EXPORTERS`
or `_BUILT_IN_IMPORTERS`. Other packages use the entry point groups ``keyframer.exporters`` and ``keyframer.importers``.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from keyframer.exchange import bvh, gltf, stage, usd
from keyframer.exchange.contract import Exporter, Importer, WriteOption
from keyframer.exchange.native import NativeExporter
from keyframer.formats import BUILT_IN, FORMATS, Format
from keyframer.plugins import call_plugin, load_plugins

if TYPE_CHECKING:
    from keyframer.files import PathLike

DEFAULT_EXPORTER: Exporter = gltf.EXPORTER
"""what is written if neither a name nor an option chooses a format"""
_OF_TODAY: tuple[Exporter, ...] = (gltf.EXPORTER, usd.EXPORTER, bvh.EXPORTER)
"""the exporters of formats that have no documents"""
_BUILT_IN_EXPORTERS = (*_OF_TODAY, *(NativeExporter(format) for format in FORMATS), *stage.EXPORTERS)
_BUILT_IN_IMPORTERS = (gltf.IMPORTER, *stage.IMPORTERS)
_BUILT_IN_IDS = {format.name for format in BUILT_IN} | {exporter.name for exporter in _OF_TODAY}
_BUILT_IN_IDS |= {importer.name for importer in _BUILT_IN_IMPORTERS}
EXPORTERS: tuple[Exporter, ...] = (
    *_BUILT_IN_EXPORTERS,
    *load_plugins("keyframer.exporters", Exporter, {exporter.name for exporter in _BUILT_IN_EXPORTERS}),
)
IMPORTERS: tuple[Importer, ...] = (
    *_BUILT_IN_IMPORTERS,
    *load_plugins("keyframer.importers", Importer, _BUILT_IN_IDS | {format.name for format in FORMATS}),
)


def importer_for(head: bytes, name: str = "") -> Importer | None:
    """Return the importer that recognises the start of a file, or the whole file; None if there is none."""
    recognised = (importer for importer in IMPORTERS if call_plugin(importer, importer.sniff, head, name) is not None)
    return next(recognised, None)


def reader_by_name(name: str) -> Format | Importer:
    """Return the format or importer with this id; for an unknown id, raises ValueError with the known ones."""
    readers: dict[str, Format | Importer] = {format.name: format for format in FORMATS}
    readers |= {importer.name: importer for importer in IMPORTERS}
    if name not in readers:
        raise ValueError(f"unknown format {name!r} (known: {', '.join(readers)})")
    return readers[name]


class SharedExtension(ValueError):
    """Several formats have the extension of an output, and none is that of the source."""


def exporter_for(path: PathLike, format: str | None = None, source_format: str | None = None) -> Exporter:
    """Return the exporter with the id ``format`` or, without one, for the extension of a path.

    Built-in exporters have priority over those of other packages, then the one with the id ``source_format``. Raises
    ValueError unless exactly one is left, `SharedExtension` if there are several.
    """
    extension = os.path.splitext(os.fspath(path))[1].lower()
    candidates = [
        exporter
        for exporter in EXPORTERS
        if exporter.name == format or (format is None and extension in exporter.extensions)
    ]
    candidates = [exporter for exporter in candidates if exporter.name in _BUILT_IN_IDS] or candidates
    candidates = [exporter for exporter in candidates if exporter.name == source_format] or candidates
    if len(candidates) == 1:
        return candidates[0]
    if candidates:
        names = " or ".join(exporter.name for exporter in candidates)
        raise SharedExtension(f"several formats have the extension {extension!r}: {names}")
    if format is not None:
        raise ValueError(f"cannot write {format!r} (known: {', '.join(exporter.name for exporter in EXPORTERS)})")
    extensions = ", ".join(dict.fromkeys(extension for exporter in EXPORTERS for extension in exporter.extensions))
    raise ValueError(f"no format has the extension {extension!r} (known: {extensions})")


__all__ = [
    "DEFAULT_EXPORTER",
    "EXPORTERS",
    "IMPORTERS",
    "Exporter",
    "Importer",
    "NativeExporter",
    "SharedExtension",
    "WriteOption",
    "exporter_for",
    "importer_for",
    "reader_by_name",
]
