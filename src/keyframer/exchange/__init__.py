"""Exporters for exchange formats such as glTF and for the formats of `formats`; importers for exchange formats.

Exchange formats have no documents: files are read directly into scenes, and writing reports its losses. A new one is a
package, a subclass of `Exporter` or `Importer`, and a line in `_BUILT_IN_EXPORTERS` or `_BUILT_IN_IMPORTERS`. Other
packages use the entry point groups ``keyframer.exporters`` and ``keyframer.importers``.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from keyframer.formats import BUILT_IN, FORMATS, Format
from keyframer.formats.contract import options_from_text, refuse_unknown
from keyframer.plugins import PluginErrorBoundary, call_plugin, load_plugins

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from typing import Any, Protocol

    from keyframer.files import PathLike
    from keyframer.formats.kit.summary_tables import Table
    from keyframer.limits import Limits
    from keyframer.scene import Scene
    from keyframer.scene.loss_report import LossReport

    class SceneSaver(Protocol):
        """Writes scenes to files of one exchange format."""

        def save(
            self, scene: Scene, path: Path, dialect: str | None, overwrite: bool, options: dict[str, Any]
        ) -> LossReport: ...

    class SceneLoader(Protocol):
        """Reads and checks files of one exchange format."""

        def load(
            self, data: bytes, folder: Path | None, limits: Limits, options: Mapping[str, Any], *, salvage: bool = False
        ) -> Scene:
            """Return the scene of a file; ``folder`` has the files that belong to it, None if there is none."""

        def check(self, data: bytes, scene: Scene, limits: Limits) -> None:
            """Add the issues that loading does not find to those of the scene."""


class Exporter:
    """A format that scenes are written to. Subclasses set its properties and override `writer` or `save`."""

    name: str
    title: str
    extensions: tuple[str, ...]
    axes: tuple[str, str]
    """up axis and handedness of its files"""
    dialects: tuple[str, ...] = ()
    """variants; unless `extension` is overridden, one for each of ``extensions``"""
    takes_any_scene: bool = True
    """whether any scene can be written, or only scenes that were read from such a file"""
    text_options: Mapping[str, str] = {}
    """options that can be given as text (``--write NAME=VALUE``), with their types"""

    def writer(self) -> SceneSaver:
        """Return the object that writes files, usually a module, which is imported here: on first use."""
        raise NotImplementedError

    def check_dialect(self, dialect: str) -> None:
        """Raise ValueError for a dialect that cannot be written."""
        if dialect not in self.dialects:
            known = f"it has: {', '.join(self.dialects)}" if self.dialects else "it has none"
            raise ValueError(f"{self.name} has no dialect {dialect!r} ({known})")

    def extension(self, dialect: str | None) -> str:
        """Return the extension of new files; raises ValueError for a dialect that cannot be written."""
        if dialect is None:
            return self.extensions[0]
        self.check_dialect(dialect)
        return self.extensions[self.dialects.index(dialect)]

    def option_types(self) -> Mapping[str, str]:
        return self.text_options

    def options_from_text(self, given: dict[str, object]) -> dict[str, object]:
        """Parse options of `save`; raises ValueError for an unknown name or an invalid value."""
        if not given:
            return {}
        types = self.option_types()
        refuse_unknown(self.name, types, given)
        return options_from_text(types, given)

    def save(
        self, scene: Scene, path: Path, *, dialect: str | None, overwrite: bool, options: dict[str, object]
    ) -> LossReport:
        if dialect is not None:
            self.check_dialect(dialect)
        with PluginErrorBoundary(self, OSError, ValueError):
            return self.writer().save(scene, path, dialect, overwrite, options)

    def __repr__(self) -> str:
        return f"<Exporter {self.name}: {self.title}>"


class NativeExporter(Exporter):
    """A format of `keyframer.formats`, written by its bridge."""

    def __init__(self, format: Format) -> None:
        self.name, self.title, self.extensions = format.name, format.title, format.extensions
        self.dialects, self.axes = format.dialects, format.axes
        self.format = format

    def check_dialect(self, dialect: str) -> None:
        self.format.check_dialect(dialect)

    def extension(self, dialect: str | None) -> str:
        if dialect is not None:
            self.check_dialect(dialect)
        return self.extensions[0]

    def option_types(self) -> dict[str, str]:
        return self.format.write_option_types()

    def save(
        self, scene: Scene, path: Path, *, dialect: str | None, overwrite: bool, options: dict[str, object]
    ) -> LossReport:
        from keyframer.exchange.saving import save_in_format

        return save_in_format(self.format, scene, path, dialect, overwrite, options)


class GltfExporter(Exporter):
    """Writes ``.glb`` and ``.gltf`` files."""

    name = "gltf"
    title = "glTF 2.0"
    extensions = (".glb", ".gltf")
    axes = ("y", "right")
    dialects = ("binary", "text")
    text_options: Mapping[str, str] = {
        "core_only": "bool",
        "embed_source": "bool",
        "fps": "float",
        "keys": "str",
        "max_error": "float",
        "smooth": "bool",
    }

    def writer(self) -> SceneSaver:
        from keyframer.exchange.gltf import write

        return write


GLTF = GltfExporter()


class StageExporter(Exporter):
    """Writes an archive of stage lighting that was read before, unchanged or with its models in glTF."""

    axes = ("z", "right")
    takes_any_scene = False
    text_options: Mapping[str, str] = {"models": "str", "replace": "bool"}

    def __init__(self, name: str, title: str, extension: str) -> None:
        self.name, self.title, self.extensions = name, title, (extension,)

    def writer(self) -> SceneSaver:
        from keyframer.exchange.stage import saving

        return saving


_BUILT_IN_EXPORTERS = (
    GLTF,
    *(NativeExporter(format) for format in FORMATS),
    StageExporter("mvr", "MVR show", ".mvr"),
    StageExporter("gdtf", "GDTF fixture", ".gdtf"),
)


class Importer:
    """An exchange format that scenes are read from. Subclasses set its properties and override `sniff` and `loader`."""

    name: str
    title: str
    extensions: tuple[str, ...]
    tables: tuple[str, ...] = ()
    """names of the tables of `summarise`"""
    description: bytes = b""
    """name of the member that tells files from other zip archives, if they are such"""
    holds_json: bool = False
    """whether its files have the JSON and buffers of glTF, which are compared value by value"""

    def loader(self) -> SceneLoader:
        """Return the object that reads files, usually a module, which is imported here: on first use."""
        raise NotImplementedError

    def sniff(self, head: bytes, name: str = "") -> str | None:
        """Return in a few words why a file that starts with ``head`` (or is ``head``) has this format; else None."""
        raise NotImplementedError

    def option_types(self) -> dict[str, str]:
        """Return the types of those options of `load` that are not text, like `Format.option_types`."""
        return {}

    def load(
        self,
        data: bytes,
        folder: Path | None,
        limits: Limits,
        options: Mapping[str, object],
        *,
        salvage: bool,
    ) -> Scene:
        from keyframer.formats.guard import guarded
        from keyframer.limits import budgeted

        with guarded(self, ValueError), budgeted(limits, len(data)):
            return self.loader().load(data, folder, limits, options, salvage=salvage)

    def check(self, data: bytes, scene: Scene, limits: Limits) -> None:
        """Add the issues that loading does not find to those of the scene."""
        from keyframer.formats.guard import guarded

        with guarded(self):
            self.loader().check(data, scene, limits)

    def summarise(self, scene: Scene) -> list[Table]:
        """Return tables that only this format has, for a scene that it loaded."""
        return []

    def subjects(self, scene: Scene) -> list[int]:
        """Return the nodes that a picture of a scene must show, with their descendants, whatever stands before them."""
        return []

    def __repr__(self) -> str:
        return f"<Importer {self.name}: {self.title}>"


class GltfImporter(Importer):
    """Reads ``.glb`` and ``.gltf`` files."""

    name = GLTF.name
    title = GLTF.title
    extensions = GLTF.extensions
    holds_json = True

    def loader(self) -> SceneLoader:
        from keyframer.exchange.gltf import read

        return read

    def sniff(self, head: bytes, name: str = "") -> str | None:
        if head[:4] == b"glTF":
            return "binary glTF by its first bytes"
        text = head.lstrip(b"\xef\xbb\xbf \t\r\n")
        if text[:1] == b"{" and (b'"asset"' in head or os.path.splitext(name)[1].lower() == ".gltf"):
            return "a JSON object with an asset" if b'"asset"' in head else "a JSON object, and the extension"
        return None

    def option_types(self) -> dict[str, str]:
        return {"fps": "float"}


class StageImporter(Importer):
    """Reads zip archives of stage lighting, recognised by extension or by their description."""

    tables = ("fixtures", "modes")

    def __init__(self, name: str, title: str, extension: str, description: bytes) -> None:
        self.name, self.title, self.extensions = name, title, (extension,)
        self.description = description

    def loader(self) -> SceneLoader:
        from keyframer.exchange import stage

        return stage

    def summarise(self, scene: Scene) -> list[Table]:
        from keyframer.exchange import stage

        return stage.summarise(scene)

    def subjects(self, scene: Scene) -> list[int]:
        from keyframer.exchange import stage

        return stage.fixtures_of(scene)

    def sniff(self, head: bytes, name: str = "") -> str | None:
        if head[:4] != b"PK\x03\x04":
            return None
        if os.path.splitext(name)[1].lower() in self.extensions:
            return "a zip archive, and the extension"
        return "a zip archive with a description" if self._has_description(head) else None

    def _has_description(self, data: bytes) -> bool:
        """Return whether the header of the first member, or the directory at the end, names the description."""
        position = -1
        while (position := data.find(self.description, position + 1)) >= 0:
            if position == 30 or data[max(position - 46, 0) : position - 42] == b"PK\x01\x02":
                return True
        return False


_BUILT_IN_IMPORTERS = (
    GltfImporter(),
    StageImporter("mvr", "MVR show", ".mvr", b"GeneralSceneDescription.xml"),
    StageImporter("gdtf", "GDTF fixture", ".gdtf", b"description.xml"),
)
_BUILT_IN_IDS = {format.name for format in BUILT_IN} | {importer.name for importer in _BUILT_IN_IMPORTERS}
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
    "EXPORTERS",
    "IMPORTERS",
    "Exporter",
    "Importer",
    "NativeExporter",
    "SharedExtension",
    "exporter_for",
    "importer_for",
    "reader_by_name",
]
