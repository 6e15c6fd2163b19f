"""Shows and fixtures written again with their models in glTF. Everything else in the archive stays as it was."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape
from zipfile import ZipInfo

from keyframer.catalogue import STRUCT_SYNTAX
from keyframer.errors import FormatError
from keyframer.exchange.gltf.write.asset import glb_parts
from keyframer.exchange.gltf.write.exporting import export
from keyframer.exchange.gltf.write.options import GltfOptions
from keyframer.exchange.stage.archives import Archive, ArchiveSource
from keyframer.exchange.stage.assembly import embed_archive_images, load_model
from keyframer.exchange.stage.repacking import Change, NewMember, repack
from keyframer.exchange.stage.shows import DEFAULT_ENDING, METRES_PER_UNIT, Show, model_name
from keyframer.exchange.stage.xmltree import Element
from keyframer.files import check_output, write_bytes
from keyframer.limits import Limits
from keyframer.scene import Scene
from keyframer.scene.loss_report import LossReport, Outcome
from keyframer.text import counted

MODELS = ("keep", "gltf")
_GLB = ".glb"
_OLD_FOLDER = re.compile(r"models/(?!gltf)\w+?(_low|_high)?/", re.IGNORECASE)
_ATTRIBUTE = re.compile(rb"\s+([^\s=]+)\s*=\s*(\"[^\"]*\"|'[^']*')")


def save(scene: Scene, path: Path, dialect: str | None, overwrite: bool, options: dict[str, Any]) -> LossReport:
    """Write the archive that a scene was read from, with ``models`` as they are (``keep``) or in glTF (``gltf``).

    A fixture keeps its old models beside the new ones unless ``replace`` is set. ValueError for a scene that was not
    read from such an archive, or that was changed since: an archive holds far more than its scene.
    """
    unknown = sorted(set(options) - {"models", "replace", "source"})
    if unknown:
        raise ValueError(f"stage archives have no option {unknown[0]!r} (they have: models, replace)")
    models = str(options.get("models", MODELS[0]))
    if models not in MODELS:
        raise ValueError(f"models must be one of {', '.join(MODELS)}, not {models!r}")
    source = scene.sources
    if not isinstance(source, ArchiveSource):
        raise ValueError("only a show or fixture that was read from an archive can be written as one")
    if not source.describes(scene):
        raise ValueError(
            "the scene was changed: an archive can be written again with other models, not with other nodes"
        )
    if path.suffix.lower() != source.ending:
        raise ValueError(f"the output name must end with {source.ending}")
    check_output(path, overwrite=overwrite)
    report = LossReport(scene.source_format or "")
    archive = Archive(source.data, source.limits)
    changes: dict[str, Change] = {}
    if models == "gltf":
        converter = _Converter(archive, source.limits, report, for_fixture=not source.is_show)
        if source.is_show:
            changes = _show_changes(Show(archive, source.limits), converter)
        else:
            changes = _fixture_changes(archive, converter, replaced=bool(options.get("replace")))
    write_bytes(path, repack(source.data, archive.all_members, changes), overwrite=overwrite)
    report.written = [str(path)]
    kept = len(archive.members) - len(changes)
    report.add(Outcome.EXACT, "/members", f"{counted(kept, 'member')} copied unchanged")
    return report


class _Converter:
    """Models of one archive as binary glTF, without anything that such an archive must not hold."""

    def __init__(self, archive: Archive, limits: Limits, report: LossReport, *, for_fixture: bool) -> None:
        self._archive = archive
        self._limits = limits
        self._report = report
        self._still = for_fixture
        """whether animation is forbidden"""

    def convert(self, member: ZipInfo) -> bytes | None:
        """The model in a member as a ``.glb``; None where it is glTF already, or cannot be read, which is reported."""
        name = member.filename
        try:
            scene = load_model(self._archive, member, self._limits, salvage=False)
        except FormatError as error:
            self._report.add(Outcome.DROPPED, f"/models/{name}", f"kept as it is: {error.code}: {error.message}")
            return None
        if scene.origin is None:
            return None
        embed_archive_images(scene, self._archive)
        scene.space = replace(scene.space, metres_per_unit=METRES_PER_UNIT)
        if self._still and scene.clips:
            moving = any(len(channel.track.times) > 1 for clip in scene.clips for channel in clip.channels)
            if moving:
                self._report.add(Outcome.DROPPED, f"/models/{name}/clips", "glTF in a fixture has no animation")
            scene.clips = []
        asset, losses = export(scene, GltfOptions(core_only=True, unit="file"))
        for loss in losses:
            self._report.losses.append(replace(loss, path=f"/models/{name}{loss.path}"))
        if not any(loss.outcome is not Outcome.EXACT for loss in losses):
            self._report.add(Outcome.EXACT, f"/models/{name}", "written as glTF")
        return b"".join(bytes(part) for part in glb_parts(asset))


def _show_changes(show: Show, converter: _Converter) -> dict[str, Change]:
    archive = show.archive
    taken = {member.filename.lower() for member in archive.members}
    new_names: dict[str, str] = {}
    changes: dict[str, Change] = {}
    renamed: list[tuple[Element, str]] = []
    for element in show.description.walk():
        if element.tag != "Geometry3D":
            continue
        member = archive.find(model_name(element))
        if member is None:
            continue
        name = member.filename
        if name not in changes and name not in new_names:
            data = converter.convert(member)
            if data is None:
                new_names[name] = ""
                continue
            new_names[name] = _free_name(os.path.splitext(name)[0], taken)
            changes[name] = [NewMember(new_names[name], data)]
        if new_names[name]:
            renamed.append((element, new_names[name]))
    if renamed:
        description = archive.member(show.description.path.partition("/")[0])
        text = _rename(archive.read(description), renamed)
        changes[description.filename] = [NewMember(description.filename, text)]
    return changes


def _fixture_changes(archive: Archive, converter: _Converter, *, replaced: bool) -> dict[str, Change]:
    changes: dict[str, Change] = {}
    for member in archive.members:
        match = _OLD_FOLDER.match(member.filename)
        if match is None or os.path.splitext(member.filename)[1].lower() not in (DEFAULT_ENDING,):
            continue
        stem = os.path.splitext(os.path.basename(member.filename))[0]
        name = f"models/gltf{match.group(1) or ''}/{stem}{_GLB}"
        data = None if archive.find(name) is not None else converter.convert(member)
        if data is not None:
            new = NewMember(name, data)
            changes[member.filename] = [new] if replaced else [None, new]
    return changes


def _free_name(stem: str, taken: set[str]) -> str:
    name, number = f"{stem}{_GLB}", 2
    while name.lower() in taken:
        name, number = f"{stem}-{number}{_GLB}", number + 1
    taken.add(name.lower())
    return name


def _rename(text: bytes, renamed: list[tuple[Element, str]]) -> bytes:
    """The XML text with other file names in the start tags of these elements; no other byte changes."""
    if text[:2] in (b"\xff\xfe", b"\xfe\xff"):
        path = renamed[0][0].path
        raise STRUCT_SYNTAX.failure(0, path, wanted="XML in UTF-8, as the specification says", found="UTF-16")
    return b"".join(_renamed_parts(text, renamed))


def _renamed_parts(text: bytes, renamed: list[tuple[Element, str]]) -> Iterator[bytes]:
    position = 0
    for element, name in sorted(renamed, key=lambda item: item[0].offset):
        start, end = _value_of(text, element, b"fileName")
        yield text[position:start]
        yield b'"' + escape(name, {'"': "&quot;"}).encode("ascii", "xmlcharrefreplace") + b'"'
        position = end
    yield text[position:]


def _value_of(text: bytes, element: Element, name: bytes) -> tuple[int, int]:
    """Where the quoted value of an attribute stands, which the parser found in the start tag of an element."""
    position = element.offset + 1 + len(element.tag)
    while (match := _ATTRIBUTE.match(text, position)) is not None:
        if match.group(1) == name:
            return match.span(2)
        position = match.end()
    raise STRUCT_SYNTAX.failure(position, element.path, wanted="an attribute fileName", found="something else")
