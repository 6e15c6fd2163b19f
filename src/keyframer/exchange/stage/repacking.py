"""Zip archives written again: members that did not change keep their compressed bytes, dates, order and comments."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipInfo

from keyframer.catalogue import IO_READ_FAILED
from keyframer.errors import FormatError

_LOCAL = struct.Struct("<4s5H3L2H")
_CENTRAL = struct.Struct("<4s6H3L5H2L")
_END = struct.Struct("<4s4H2LH")
_LOCAL_MARK, _CENTRAL_MARK, _END_MARK = b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06"
_UTF8, _DESCRIPTOR = 0x800, 0x8
_LARGEST = 0xFFFFFFFF
_VERSION = 20


@dataclass(frozen=True)
class NewMember:
    """A new member: name and content. Compression and date are those of an old member."""

    name: str
    data: bytes


Change = Sequence[NewMember | None]
"""what stands in the place of an old member; None is that member itself"""


def repack(data: bytes, members: Sequence[ZipInfo], changes: Mapping[str, Change]) -> list[bytes]:
    """The pieces of an archive in which some members are replaced by others.

    ``changes`` has those by name. All others are copied as they are. ``members`` are those of the old archive in the
    order of its directory.
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
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._parts: list[bytes] = []
        self._position = 0
        self._directory: list[bytes] = []

    def _append(self, *parts: bytes) -> None:
        self._parts += parts
        self._position += sum(map(len, parts))
        if self._position > _LARGEST:
            raise ValueError("the archive would be larger than 4 GiB")

    def copy(self, member: ZipInfo) -> None:
        """Copy the local header and the compressed content of a member."""
        start = member.header_offset
        header = self._data[start : start + _LOCAL.size]
        if len(header) < _LOCAL.size or header[:4] != _LOCAL_MARK:
            raise self._damaged(member)
        fields = _LOCAL.unpack(header)
        end = start + _LOCAL.size + fields[9] + fields[10] + member.compress_size
        if member.flag_bits & _DESCRIPTOR:
            end += 16 if self._data[end : end + 4] == b"PK\x07\x08" else 12
        if end > len(self._data) or member.compress_size >= _LARGEST:
            raise self._damaged(member)
        name = self._data[start + _LOCAL.size : start + _LOCAL.size + fields[9]]
        listed = member.orig_filename.encode("utf-8" if member.flag_bits & _UTF8 else "cp437")
        if name != listed or fields[3] != member.compress_type:  # the directory says something else than the header
            raise self._damaged(member)
        numbers = member.CRC, member.compress_size, member.file_size
        self._list(member, name, *numbers, member.flag_bits, member.extra, member.compress_type)
        self._append(self._data[start:end])

    def add(self, new: NewMember, like: ZipInfo) -> None:
        """Write a new member with the compression and date of an old one."""
        packed = new.data
        if like.compress_type == ZIP_DEFLATED:
            squeeze = zlib.compressobj(zlib.Z_DEFAULT_COMPRESSION, zlib.DEFLATED, -zlib.MAX_WBITS)
            packed = squeeze.compress(new.data) + squeeze.flush()
        name = new.name.encode()
        flags = 0 if name.isascii() else _UTF8
        checksum = zlib.crc32(new.data)
        method, time, day = _packing(like)
        numbers = (checksum, len(packed), len(new.data), len(name), 0)
        self._list(like, name, checksum, len(packed), len(new.data), flags, b"", method)
        self._append(_LOCAL.pack(_LOCAL_MARK, _VERSION, flags, method, time, day, *numbers), name, packed)

    def _list(
        self, member: ZipInfo, name: bytes, checksum: int, packed: int, size: int, flags: int, extra: bytes, method: int
    ) -> None:
        _, time, day = _packing(member)
        numbers = (checksum, packed, size, len(name), len(extra), len(member.comment), 0, member.internal_attr)
        made_by = member.create_version | member.create_system << 8
        version = max(member.extract_version, _VERSION)
        place = (member.external_attr, self._position)
        header = _CENTRAL.pack(_CENTRAL_MARK, made_by, version, flags, method, time, day, *numbers, *place)
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
