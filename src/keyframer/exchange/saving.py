"""Saves scenes in any format, and converts files: `save` and `convert`.

The formats of `formats` refer to images by name: embedded images become files next to the output.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import IO

from keyframer.errors import wrong_type
from keyframer.exchange import EXPORTERS, exporter_for
from keyframer.exchange.kit.images import OPACITY, alpha_use, role_of
from keyframer.exchange.kit.surfaces import GltfMap
from keyframer.exchange.opening import load, size_in_memory
from keyframer.files import PathLike, check_writable, running, write_set
from keyframer.formats import Format
from keyframer.formats.contract import ImageNames
from keyframer.formats.document import encode
from keyframer.limits import Limits, budgeted
from keyframer.posing.bounds_and_duration import measured_once
from keyframer.scene import Material, Scene, TextureMap
from keyframer.scene.loss_report import LossReport, Outcome
from keyframer.scene.losses import (
    AXES_TURNED,
    EXTRAS_KEPT,
    EXTRAS_UNSUPPORTED,
    IMAGE_WRITTEN,
    IMAGES_UNSUPPORTED,
    READING_LEFT_OUT,
    SCENE_EMPTY,
)
from keyframer.scene.moving import warn_of_overridden
from keyframer.scene.scene import check_consistency
from keyframer.text import counted, safe_text
from keyframer.textures import ImageRefused, Texture, TextureFinder, TextureSource
from keyframer.textures.file_names import split_name
from keyframer.textures.image_files import as_png
from keyframer.textures.texture_finder import HOW_FOUND


def save(
    scene: Scene,
    path: PathLike | IO[bytes],
    *,
    format: str | None = None,
    dialect: str | None = None,
    max_error: float | None = None,
    overwrite: bool = False,
    limits: Limits | None = None,
    **options: object,
) -> LossReport:
    """Write a scene in the format of the extension (or ``format``); returns a loss report.

    If several formats share the extension, the format from which the scene was loaded is written.
    Instead of a path, a stream that is open for binary writing can be given, with the id of a ``format``. It gets one
    file: a scene that becomes several files raises ValueError.

    ``max_error`` is the allowed error of motion that the format cannot store exactly, as a fraction of the scene's size
    (default 1e-4, and 0.01 degree for rotations). ``options`` are those of the format: for the formats of
    `keyframer.formats` the `WriteOptions` of their bridge, for the others those below. If a scene was loaded from a
    file of the same format, what did not change keeps its records byte for byte. Companion files (the model of a Hale3D
    animation, the skeleton of a Midtown clip) are written, too. Files are written atomically; existing ones are
    replaced only with ``overwrite``. Motion that exceeds ``limits`` is cut short or less exact, and the report says
    so; other excess raises `FormatError`. Raises ValueError if the format can store nothing of the scene, or if a scene
    built by hand is inconsistent.
    """
    if not isinstance(scene, Scene):
        raise wrong_type(scene, "a scene (keyframer.load returns one)")
    check_consistency(scene)
    warn_of_overridden(scene, stacklevel=2)
    if max_error is not None:
        options["max_error"] = max_error
    with budgeted(limits, scene.stored_bytes), measured_once():
        if isinstance(path, (str, os.PathLike)):
            exporter = exporter_for(path, format, scene.source_format)
            report = exporter.save(scene, Path(path), dialect=dialect, overwrite=overwrite, options=options)
        else:
            report = _save_to_stream(scene, path, format, dialect, options)
    if len(scene.issues):
        if scene.origin is None:
            _report_unimported(scene, report)
        if scene.issues.first_unsafe() is not None:
            _report_salvaged(scene, report)
    if not (scene.nodes or scene.materials):
        _report_empty(report)
    return report


def _option_lines() -> str:
    """Return the options that exporters declare, for ``help(save)``."""
    lines = []
    for exporter in EXPORTERS:
        if exporter.options:
            lines += ["", f"    Options of {exporter.name}:"]
            lines += [f"        {option.name} ({option.type}): {option.meaning}" for option in exporter.options]
    return "\n".join([*lines, "    "])


if save.__doc__ is not None:  # python -OO has none
    save.__doc__ = save.__doc__.rstrip() + "\n" + _option_lines()


def _save_to_stream(
    scene: Scene, stream: IO[bytes], format: str | None, dialect: str | None, options: dict[str, object]
) -> LossReport:
    check_writable(stream)
    if format is None:
        raise ValueError("a stream has no extension: give the id of a format, such as format='gltf'")
    import tempfile  # rarely needed

    exporter = exporter_for("", format)
    with tempfile.TemporaryDirectory(prefix="keyframer-") as folder:
        path = Path(folder, f"scene{exporter.extension(dialect)}")
        report = exporter.save(scene, path, dialect=dialect, overwrite=False, options=options)
        others = sorted(file.name for file in Path(folder).iterdir() if file != path)
        if others:
            raise ValueError(f"this scene becomes several files in the format {format}: give a path ({others[0]}, …)")
        stream.write(path.read_bytes())
    report.written = []
    return report


_LEFT_OUT = {"SEM_UNKNOWN_ENUM": "/{value}", "SEM_EXTENSION_UNKNOWN": "/{name}", "LINK_NOT_SHOWN": "/nodes"}
"""codes of issues about content that an importer left out, and its path in the report, with arguments of the issue"""


def _report_unimported(scene: Scene, report: LossReport) -> None:
    """Add an entry for each kind of content of an imported file that is not in the scene: points, lines, instances,
    animated colours, a second set of texture coordinates …
    """
    counts: Counter[tuple[str, str]] = Counter()
    for issue in scene.issues:
        if issue.code in _LEFT_OUT and not issue.unsafe:
            counts[_LEFT_OUT[issue.code].format_map(issue.args), issue.message] += 1
    for (path, message), count in counts.items():
        problem = f"{message}, {count} times" if count > 1 else message
        report.add(READING_LEFT_OUT["problem"], path, problem=problem)


def _report_salvaged(scene: Scene, report: LossReport) -> None:
    """Add an entry for each part that salvage left out, and one for each code with more issues than are listed."""
    unlisted = scene.issues.unsafe_counts()
    for issue in scene.issues:
        if issue.unsafe:
            unlisted[issue.code] -= 1
            place = {"issue": {"path": issue.path, "offset": issue.offset}}
            report.add(READING_LEFT_OUT["salvage"], "/", extras=place, problem=f"{issue.code}: {issue.message}")
    for code, count in unlisted.items():
        if count > 0:
            report.add(READING_LEFT_OUT["salvage"], "/", problem=f"{code}, {counted(count, 'more time')}")


def _report_empty(report: LossReport) -> None:
    """Add an entry if all that a file has are notes of its format: the curves of a shaper, for example."""
    codes = {EXTRAS_KEPT["part"].code, EXTRAS_UNSUPPORTED.code}
    notes = next((loss for loss in report.losses if loss.type.code in codes), None)
    if notes is not None:
        report.add(SCENE_EMPTY, "/scene", outcome=notes.outcome)


def convert(
    source: PathLike | IO[bytes] | bytes,
    target: PathLike,
    *,
    format: str | None = None,
    dialect: str | None = None,
    max_error: float | None = None,
    overwrite: bool = False,
    salvage: bool = False,
    limits: Limits | None = None,
    reader_options: dict[str, object] | None = None,
    **options: object,
) -> LossReport:
    """Convert a file to the format of the target's extension (or ``format``): `load` and `save` in one call.

    ``options`` are those of the written format, ``reader_options`` those of the read format. The target must not be the
    source, even with ``overwrite``. Returns a loss report.
    """
    with running(), budgeted(limits, size_in_memory(source)):
        scene = load(source, salvage=salvage, limits=limits, **(reader_options or {}))  # type: ignore[arg-type]
        return save(
            scene,
            target,
            format=format,
            dialect=dialect,
            max_error=max_error,
            overwrite=overwrite,
            limits=limits,
            **options,
        )


def save_in_format(
    format: Format, scene: Scene, path: Path, dialect: str | None, overwrite: bool, options: dict[str, object]
) -> LossReport:
    """Write the document, its companions and its images: all of them, or none if an existing file must not be replaced.

    Existing images are never replaced: an image with other content gets the next free name.
    """
    if dialect is not None:
        options = {**options, "dialect": dialect}
    options = {**format.scene_writer().options_for(path.suffix.lower()), **options}
    unpacked = UnpackedImages(format.image_names, scene, path.parent)
    written = format.from_scene(unpacked.scene, options)
    unpacked.report(written.report)
    _report_axes(format, scene, written.report)
    main = (path, encode(written.document) if written.data is None else written.data)
    pair = [(path.with_suffix(suffix), content) for suffix, content in written.companions]
    if any(companion == path for companion, _ in pair):
        raise ValueError(f"{path.name} is also the name of the companion: use another extension for the output")
    images = [(path.parent / name, content) for name, content in unpacked.files.items()]
    write_set(main, pair=pair, shared=images, overwrite=overwrite)
    written.report.written = [str(file) for file, _ in (main, *pair, *images)]
    return written.report


def _report_axes(format: Format, scene: Scene, report: LossReport) -> None:
    """Report that the axes of all nodes were turned, unless the scene has those of the format."""
    given, written = (scene.space.up, scene.space.handedness.value), format.axes
    if given != written and scene.nodes and (scene.origin is None or scene.origin.document.format is not format):
        names = [f"{up.upper()} up, {handedness}-handed" for up, handedness in (given, written)]
        report.add(AXES_TURNED, "/space", given=names[0], written=names[1])


_EXTENSIONS = {b"\x89PNG": "png", b"\xff\xd8\xff": "jpg", b"RIFF": "webp"}
_LEGACY_ROLES = ("color", "alpha", "emission")
"""roles of glTF images that legacy formats have maps for"""


class UnpackedImages:
    """A scene with file names for its images, which were embedded or referenced by glTF, and the files to write."""

    def __init__(self, image_names: ImageNames | None, scene: Scene, folder: Path) -> None:
        self.files: dict[str, bytes] = {}
        """content by file name"""
        self._losses = LossReport("")
        """what became of the images"""
        self._image_names = image_names
        self._folder = folder
        self._names: dict[tuple[int, str], str] = {}
        self._alphas: dict[bytes, bytes] = {}
        """PNGs of the alpha of images, by the content of these"""
        self._source = TextureSource(TextureFinder([] if scene.folder is None else [scene.folder]))
        self.scene = scene
        maps = [map for material in scene.materials for map in material.maps.values()]
        if any(map.embedded is not None or role_of(map) is not None for map in maps):
            self.scene = replace(scene, materials=[self._material(material) for material in scene.materials])

    def report(self, report: LossReport) -> None:
        report.losses += self._losses

    def _material(self, material: Material) -> Material:
        maps = {slot: self._map(material, slot, texture) for slot, texture in material.maps.items()}
        return replace(material, maps={slot: map for slot, map in maps.items() if map is not None})

    def _map(self, material: Material, slot: str, map: TextureMap) -> TextureMap | None:
        """Return the map with the name of its image file, or without an image if that cannot be written; None for a map
        that only glTF has."""
        role = role_of(map)
        if role is None and map.embedded is None:
            return map
        path = f"/materials/{material.name}/maps/{slot}"
        try:
            if self._image_names is None or slot not in (self._image_names.slots or (slot,)):
                raise ImageRefused("the format cannot refer to this image")
            data, extension, note = self._content(map, role or "color")
            is_clear = role == "color" and alpha_use(map) == OPACITY and self._texture(map).has_alpha
        except ImageRefused as refused:
            self._losses.add(IMAGES_UNSUPPORTED["refused"], path, image=_location(map), reason=refused.reason)
            # in files that Keyframer exported, the image was made from a map with a file name, which is kept
            is_only_in_gltf = role is not None and role not in _LEGACY_ROLES and GltfMap.of(map) is not None
            return None if is_only_in_gltf else replace(map, embedded=None)
        name = self._name(self._image_names, map, role or "color", data, extension)
        self.files[name] = data
        outcome = Outcome.APPROXIMATED if note else Outcome.EXACT
        self._losses.add(IMAGE_WRITTEN["file"], path, outcome=outcome, file=name, change=note)
        # pixels that Keyframer exported are already inverted
        negative = map.negative and (role is None or GltfMap.of(map) is not None)
        alpha_source = map.alpha_source or is_clear
        return replace(
            map, file_name=name, raw_file_name=b"", embedded=None, negative=negative, alpha_source=alpha_source
        )

    def _content(self, map: TextureMap, role: str) -> tuple[bytes, str, str]:
        """Return content and extension of the file, and a note on what differs (empty if nothing does)."""
        if role == "normal":
            raise ImageRefused("a normal map cannot be used as a height map")
        if role not in _LEGACY_ROLES:
            raise ImageRefused(f"the format has no {role.replace('_', ' ')} map")
        if role == "alpha":
            texture = self._texture(map)
            if texture.data not in self._alphas:
                self._alphas[texture.data] = as_png(texture.image.convert("RGBA").getchannel("A"))
            return self._alphas[texture.data], "png", ", with its alpha as grey"
        data = map.embedded.data if map.embedded is not None else self._texture(map).data
        extension = next((extension for head, extension in _EXTENSIONS.items() if data.startswith(head)), None)
        if extension is None:
            raise ImageRefused("not an image of a known type")
        return data, extension, ", as self-illumination" if role == "emission" else ""

    def _texture(self, map: TextureMap) -> Texture:
        opened = self._source.open_map(map)
        if opened.texture is None:
            raise ImageRefused(opened.reason or HOW_FOUND[opened.match.how])
        return opened.texture

    def _name(self, rules: ImageNames, map: TextureMap, role: str, data: bytes, extension: str) -> str:
        """Return a file name within the limits of the format, safe on every system, and not used for other content,
        neither here nor in the folder.
        """
        key = (id(data if map.embedded is None else map.embedded.data), role)
        if key not in self._names:
            stored_name = map.file_name or (map.embedded.name if map.embedded is not None else "")
            stem, stored_extension = os.path.splitext(re.split(r"[\\/]", stored_name)[-1])
            if stored_extension.lower() in (".jpg", ".jpeg") and extension == "jpg":
                extension = stored_extension[1:4]
            stem = re.sub(r"[^A-Za-z0-9_-]+", "_", stem).strip("_") or "image"
            name, number = _file_name(rules, stem[: rules.longest], extension), 2
            while not (split_name(name).parts and self._is_free(name, data)):
                suffix = str(number)
                name = _file_name(rules, stem[: rules.longest - len(suffix)] + suffix, extension)
                number += 1
            self._names[key] = name
        return self._names[key]

    def _is_free(self, name: str, data: bytes) -> bool:
        """Return whether a file name is unused, or used for the same content."""
        if self.files.get(name, data) != data:
            return False
        path = self._folder / name
        if not os.path.lexists(path):
            return True
        try:
            return path.is_file() and path.stat().st_size == len(data) and path.read_bytes() == data
        except OSError:
            return False


def _file_name(rules: ImageNames, stem: str, extension: str) -> str:
    name = f"{stem}.{extension}"
    return name.upper() if rules.upper else name


def _location(map: TextureMap) -> str:
    return "inside the file" if map.embedded is not None else f"{safe_text(map.file_name)[:200]!r} next to the file"
