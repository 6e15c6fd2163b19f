"""Writes shows and fixtures again, with the same models or with models in glTF.

Copied members of the zip archive keep their compressed bytes, dates, order and comments; the description of a show gets
the new file names.
"""

from __future__ import annotations

import os
import re
import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipInfo

from keyframer.catalogue import IO_READ_FAILED, STRUCT_SYNTAX
from keyframer.errors import FormatError
from keyframer.exchange.gltf.write import export
from keyframer.exchange.gltf.write.asset import glb_parts
from keyframer.exchange.gltf.write.options import GltfOptions
from keyframer.exchange.stage import MODELS
from keyframer.exchange.stage.archives import Archive, ArchiveSource
from keyframer.exchange.stage.assembly import embed_archive_images, load_model
from keyframer.exchange.stage.shows import DEFAULT_EXTENSION, METRES_PER_UNIT, Show, model_name
from keyframer.files import check_output, write_bytes
from keyframer.limits import Limits
from keyframer.scene import Scene
from keyframer.scene.loss_report import LossReport, Outcome
from keyframer.scene.losses import MODEL_NOT_CONVERTED, MOTION_UNSUPPORTED, PART_WRITTEN
from keyframer.wire.xml_tree import Element

_LOCAL = struct.Struct("<4s5H3L2H")
_CENTRAL = struct.Struct("<4s6H3L5H2L")
_END = struct.Struct("<4s4H2LH")
_LOCAL_MARK, _CENTRAL_MARK, _END_MARK = b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06"
_UTF8_FLAG, _DESCRIPTOR_FLAG = 0x800, 0x8
_MOST_BYTES = 0xFFFFFFFF
_ZIP_VERSION = 20


@dataclass(frozen=True)
class NewMember:
    """A new member: name and content. Compression and date are those of an old member."""

    name: str
    data: bytes


Change = Sequence[NewMember | None]
"""the members written in place of an old one; None stands for the old one itself"""


def repack(data: bytes, members: Sequence[ZipInfo], changes: Mapping[str, Change]) -> list[bytes]:
    """Return the parts of an archive with some members replaced.

    ``changes`` has the replacements by name; all other members are copied. ``members`` are those of the old archive in
    the order of its directory.
    """
    writer = _Writer(data)
    for member in members:
        for replacement in changes.get(member.filename, (None,)):
            if replacement is None:
                writer.copy(member)
            else:
                writer.add(replacement, member)
    return writer.finish()


class _Writer:
    """Writes a zip archive from copied and new members."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._parts: list[bytes] = []
        self._position = 0
        self._directory: list[bytes] = []

    def _append(self, *parts: bytes) -> None:
        self._parts += parts
        self._position += sum(map(len, parts))
        if self._position > _MOST_BYTES:
            raise ValueError("the archive would be larger than 4 GiB")

    def copy(self, member: ZipInfo) -> None:
        """Copy the local header and the compressed content of a member."""
        start = member.header_offset
        header = self._data[start : start + _LOCAL.size]
        if len(header) < _LOCAL.size or header[:4] != _LOCAL_MARK:
            raise self._damaged(member)
        fields = _LOCAL.unpack(header)
        end = start + _LOCAL.size + fields[9] + fields[10] + member.compress_size
        if member.flag_bits & _DESCRIPTOR_FLAG:
            end += 16 if self._data[end : end + 4] == b"PK\x07\x08" else 12
        if end > len(self._data) or member.compress_size >= _MOST_BYTES:
            raise self._damaged(member)
        name = self._data[start + _LOCAL.size : start + _LOCAL.size + fields[9]]
        directory_name = member.orig_filename.encode("utf-8" if member.flag_bits & _UTF8_FLAG else "cp437")
        if name != directory_name or fields[3] != member.compress_type:  # the directory differs from the header
            raise self._damaged(member)
        numbers = member.CRC, member.compress_size, member.file_size
        self._add_to_directory(member, name, *numbers, member.flag_bits, member.extra, member.compress_type)
        self._append(self._data[start:end])

    def add(self, new: NewMember, old: ZipInfo) -> None:
        """Write a new member with the compression and date of an old one."""
        packed = new.data
        if old.compress_type == ZIP_DEFLATED:
            compressor = zlib.compressobj(zlib.Z_DEFAULT_COMPRESSION, zlib.DEFLATED, -zlib.MAX_WBITS)
            packed = compressor.compress(new.data) + compressor.flush()
        name = new.name.encode()
        flags = 0 if name.isascii() else _UTF8_FLAG
        checksum = zlib.crc32(new.data)
        method, time, day = _packing(old)
        numbers = (checksum, len(packed), len(new.data), len(name), 0)
        self._add_to_directory(old, name, checksum, len(packed), len(new.data), flags, b"", method)
        self._append(_LOCAL.pack(_LOCAL_MARK, _ZIP_VERSION, flags, method, time, day, *numbers), name, packed)

    def _add_to_directory(
        self,
        member: ZipInfo,
        name: bytes,
        checksum: int,
        packed_size: int,
        size: int,
        flags: int,
        extra: bytes,
        method: int,
    ) -> None:
        _, time, day = _packing(member)
        numbers = (checksum, packed_size, size, len(name), len(extra), len(member.comment), 0, member.internal_attr)
        made_by = member.create_version | member.create_system << 8
        version = max(member.extract_version, _ZIP_VERSION)
        attributes_and_offset = (member.external_attr, self._position)
        header = _CENTRAL.pack(
            _CENTRAL_MARK, made_by, version, flags, method, time, day, *numbers, *attributes_and_offset
        )
        self._directory.append(header + name + extra + member.comment)

    def finish(self) -> list[bytes]:
        if len(self._directory) > 0xFFFF:
            raise ValueError("the archive would have more than 65,535 members")
        start, size = self._position, sum(map(len, self._directory))
        count = len(self._directory)
        self._append(*self._directory, _END.pack(_END_MARK, 0, 0, count, count, size, start, 0))
        return self._parts

    def _damaged(self, member: ZipInfo) -> FormatError:
        reason = "the header of this member cannot be copied"
        return IO_READ_FAILED.failure(member.header_offset, member.filename, reason=reason)


def _packing(member: ZipInfo) -> tuple[int, int, int]:
    """Return compression method, time and date as in a zip header."""
    method = member.compress_type if member.compress_type in (ZIP_STORED, ZIP_DEFLATED) else ZIP_STORED
    year, month, day, hour, minute, second = member.date_time
    return method, hour << 11 | minute << 5 | second // 2, (year - 1980) << 9 | month << 5 | day


_GLB = ".glb"
_LEGACY_MODEL_FOLDER = re.compile(r"models/(?!gltf)\w+?(_low|_high)?/", re.IGNORECASE)
_ATTRIBUTE = re.compile(rb"\s+([^\s=]+)\s*=\s*(\"[^\"]*\"|'[^']*')")


def save(scene: Scene, path: Path, dialect: str | None, overwrite: bool, options: dict[str, Any]) -> LossReport:
    """Write the archive that a scene was read from, with ``models`` unchanged (``keep``) or in glTF (``gltf``). A
    fixture keeps its old models unless ``replace`` is set. Raises ValueError for a scene that was not read from such an
    archive, or whose nodes were changed since: an archive has much more content than its scene. Other changes to the
    scene are ignored.
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
    if path.suffix.lower() != source.extension:
        raise ValueError(f"the output name must end with {source.extension}")
    check_output(path, overwrite=overwrite)
    report = LossReport(scene.source_format or "")
    archive = Archive(source.data, source.limits)
    changes: dict[str, Change] = {}
    if models == "gltf":
        converter = _Converter(archive, source.limits, report, for_fixture=not source.is_show)
        if source.is_show:
            changes = _show_changes(Show(archive, source.limits), converter)
        else:
            changes = _fixture_changes(archive, converter, replace_old=bool(options.get("replace")))
    write_bytes(path, repack(source.data, archive.all_members, changes), overwrite=overwrite)
    report.written = [str(path)]
    copied = sum(None in changes.get(member.filename, (None,)) for member in archive.members)
    report.add(PART_WRITTEN["members"], "/members", count=copied)
    return report


class _Converter:
    """Converts the models of one archive to binary glTF; those of a fixture must not be animated."""

    def __init__(self, archive: Archive, limits: Limits, report: LossReport, *, for_fixture: bool) -> None:
        self._archive = archive
        self._limits = limits
        self._report = report
        self._forbids_animation = for_fixture

    def convert(self, member: ZipInfo) -> bytes | None:
        """Return the model in a member as ``.glb``; None if it is glTF already, or cannot be read, which is
        reported."""
        name = member.filename
        try:
            scene = load_model(self._archive, member, self._limits, salvage=False)
        except FormatError as error:
            self._report.add(MODEL_NOT_CONVERTED, f"/models/{name}", problem=f"{error.code}: {error.message}")
            return None
        if scene.origin is None:
            return None
        embed_archive_images(scene, self._archive)
        scene.space = replace(scene.space, metres_per_unit=METRES_PER_UNIT)
        if self._forbids_animation and scene.clips:
            moving = any(len(channel.track.times) > 1 for clip in scene.clips for channel in clip.channels)
            if moving:
                self._report.add(MOTION_UNSUPPORTED["model"], f"/models/{name}/clips")
            scene.clips = []
        asset, losses = export(scene, GltfOptions(core_only=True, unit="file"))
        for loss in losses:
            self._report.losses.append(replace(loss, path=f"/models/{name}{loss.path}"))
        if not any(loss.outcome is not Outcome.EXACT for loss in losses):
            self._report.add(PART_WRITTEN["model"], f"/models/{name}")
        return b"".join(bytes(part) for part in glb_parts(asset))


def _show_changes(show: Show, converter: _Converter) -> dict[str, Change]:
    """Return the changes for a show: models in glTF, and a description with their new file names."""
    archive = show.archive
    used_names = {member.filename.lower() for member in archive.members}
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
            new_names[name] = _free_name(os.path.splitext(name)[0], used_names)
            changes[name] = [NewMember(new_names[name], data)]
        if new_names[name]:
            renamed.append((element, new_names[name]))
    if renamed:
        description = archive.member(show.description.path.partition("/")[0])
        text = _rename(archive.read(description), renamed)
        changes[description.filename] = [NewMember(description.filename, text)]
    return changes


def _fixture_changes(archive: Archive, converter: _Converter, *, replace_old: bool) -> dict[str, Change]:
    """Return the changes for a fixture: each 3DS model without a glTF version is also, or instead, written as glTF."""
    changes: dict[str, Change] = {}
    for member in archive.members:
        match = _LEGACY_MODEL_FOLDER.match(member.filename)
        if match is None or os.path.splitext(member.filename)[1].lower() != DEFAULT_EXTENSION:
            continue
        stem = os.path.splitext(os.path.basename(member.filename))[0]
        name = f"models/gltf{match.group(1) or ''}/{stem}{_GLB}"
        data = None if archive.find(name) is not None else converter.convert(member)
        if data is not None:
            new = NewMember(name, data)
            changes[member.filename] = [new] if replace_old else [None, new]
    return changes


def _free_name(stem: str, used_names: set[str]) -> str:
    name, number = f"{stem}{_GLB}", 2
    while name.lower() in used_names:
        name, number = f"{stem}-{number}{_GLB}", number + 1
    used_names.add(name.lower())
    return name


def _rename(text: bytes, renamed: list[tuple[Element, str]]) -> bytes:
    """Return the XML text with other file names in the start tags of these elements; all other bytes are unchanged."""
    if text[:2] in (b"\xff\xfe", b"\xfe\xff"):
        path = renamed[0][0].path
        raise STRUCT_SYNTAX.failure(0, path, wanted="XML in UTF-8, as the specification says", found="UTF-16")
    return b"".join(_renamed_parts(text, renamed))


def _renamed_parts(text: bytes, renamed: list[tuple[Element, str]]) -> Iterator[bytes]:
    position = 0
    for element, name in sorted(renamed, key=lambda item: item[0].offset):
        start, end = _file_name_value(text, element)
        yield text[position:start]
        yield b'"' + escape(name, {'"': "&quot;"}).encode("ascii", "xmlcharrefreplace") + b'"'
        position = end
    yield text[position:]


def _file_name_value(text: bytes, element: Element) -> tuple[int, int]:
    """Return the range of the quoted value of ``fileName`` in the start tag of an element."""
    position = element.offset + 1 + len(element.tag)
    while (match := _ATTRIBUTE.match(text, position)) is not None:
        if match.group(1) == b"fileName":
            return match.span(2)
        position = match.end()
    raise STRUCT_SYNTAX.failure(position, element.path, wanted="an attribute fileName", found="something else")
