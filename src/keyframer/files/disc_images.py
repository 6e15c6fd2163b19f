"""Images of CD-ROMs: ISO 9660 with the long names of Rock Ridge or Joliet, also as raw sectors of 2,352 bytes.

Files are found by their places on the disc, so that reading one of 2,000 takes no longer than reading the only one.
"""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Iterator
from itertools import islice
from typing import IO, NamedTuple

from keyframer.catalogue import IO_READ_FAILED
from keyframer.errors import FormatError
from keyframer.files.byte_sources import ByteSource, Ranges, damaged_image
from keyframer.files.container_contract import Container, date_text, too_many_members
from keyframer.files.member_names import decoded_name
from keyframer.limits import DEFAULT_LIMITS, MOST_ENTRIES, Limits

_SECTOR = 2048
_RAW_SECTOR = 2352
_RAW_HEADERS = (16, 24)
"""bytes before the data of a raw sector, in mode 1 and 2"""
_FIRST_DESCRIPTOR, _MOST_DESCRIPTORS = 16, 64
_PRIMARY, _SUPPLEMENTARY, _LAST = 1, 2, 255
_JOLIET_ESCAPES = (b"%/@", b"%/C", b"%/E")
_IS_FOLDER, _IS_CONTINUED = 2, 0x80
MOST_DEPTH = 64
"""levels of folders; ISO 9660 allows 8, Rock Ridge more"""
MOST_DAMAGE = 100
"""folders that cannot be read, after which the whole image is given up"""
_MOST_CONTINUATIONS = 16
_CHUNK = 32 * _SECTOR
"""bytes of a folder that are read at once"""


class DiscFile(NamedTuple):
    """A file on a disc; a large one may have several ranges of bytes."""

    filename: str
    ranges: Ranges
    date: str
    is_link: bool = False

    @property
    def file_size(self) -> int:
        return sum(size for _, size in self.ranges)

    def is_dir(self) -> bool:
        return False


class _Record(NamedTuple):
    """A record of a folder."""

    name: str
    is_folder: bool
    is_continued: bool
    range: tuple[int, int]
    date: str
    is_link: bool


class Archive(Container[DiscFile]):
    """An open disc image."""

    def __init__(
        self, stream: IO[bytes], size: int, limits: Limits = DEFAULT_LIMITS, packed: int | None = None
    ) -> None:
        super().__init__(limits)
        self._bytes = ByteSource(stream, size)
        if self._bytes.at(0, 12) == b"\0" + b"\xff" * 10 + b"\0":  # the beginning of a raw sector
            signature = b"".join(self._bytes.at(_FIRST_DESCRIPTOR * _RAW_SECTOR + at + 1, 5) for at in _RAW_HEADERS)
            self._bytes.use_sectors(_RAW_SECTOR, _RAW_HEADERS[0 if signature[:5] == b"CD001" else 1], _SECTOR)
        self._skipped: int | None = None
        """number of bytes before Rock Ridge's fields in each record; None if the disc has none"""
        self._is_joliet, self._block, root = self._volume()
        self.set_members(list(self._files(root)), size if packed is None else packed)

    def close(self) -> None:
        self._bytes.close()

    def head(self, member: DiscFile, size: int) -> bytes:
        offset, length = member.ranges[0] if member.ranges else (0, 0)
        return self._bytes.at(offset, min(size, length))

    def _content(self, member: DiscFile) -> bytes:
        if member.is_link:
            raise IO_READ_FAILED.failure(0, "/", reason="it is a link, which is not followed")
        return self._bytes.content(member.ranges)

    def stream(self, member: DiscFile) -> IO[bytes]:
        return self._bytes.stream(member.ranges)

    def modified(self, member: DiscFile) -> str:
        return member.date

    def _volume(self) -> tuple[bool, int, tuple[int, int]]:
        """Return whether names are Joliet's, the size of a block, and the range of the folder at the top. The long
        names of Rock Ridge are preferred: they are those of the original files."""
        found: dict[int, bytes] = {}
        for sector in range(_FIRST_DESCRIPTOR, _FIRST_DESCRIPTOR + _MOST_DESCRIPTORS):
            data = self._bytes.at(sector * _SECTOR, _SECTOR)
            if data[1:6] != b"CD001" or data[0] == _LAST:
                break
            if data[0] == _PRIMARY or (data[0] == _SUPPLEMENTARY and data[88:91] in _JOLIET_ESCAPES):
                found.setdefault(data[0], data)
        if not found:
            raise damaged_image(_FIRST_DESCRIPTOR * _SECTOR, "it has no volume descriptor")
        block = struct.unpack_from("<H", next(iter(found.values())), 128)[0] or _SECTOR
        if _PRIMARY in found:
            offset, size = _range(found[_PRIMARY][156:190], block)
            own = self._bytes.at(offset, min(size, 255))
            if b"SP\x07\x01\xbe\xef" in own[: own[0]] if own else False:
                self._skipped = own[own.index(b"SP\x07\x01\xbe\xef") + 6]
                return False, block, (offset, size)
        kind = max(found)
        return kind == _SUPPLEMENTARY, block, _range(found[kind][156:190], block)

    def _files(self, root: tuple[int, int]) -> Iterator[DiscFile]:
        """Yield all files. Each folder is read once, whatever links to it, and folders do not overlap."""
        waiting, seen = deque([("", root, 0)]), set[int]()
        left, count = self._bytes.size, 0
        while waiting:
            path, (offset, size), depth = waiting.popleft()
            if offset in seen:
                continue
            seen.add(offset)
            left -= size
            if left < 0 or len(self.damage) > MOST_DAMAGE:
                raise damaged_image(offset, "its folders overlap, or many of them are damaged")
            try:
                if depth > MOST_DEPTH:
                    raise damaged_image(offset, "its folders are too deep")
                records = list(islice(self._records(offset, size), MOST_ENTRIES + 1 - count))
            except FormatError as error:
                self.damage.append((path.rstrip("/"), error))
                continue
            count += len(records)
            if count > MOST_ENTRIES:
                raise too_many_members()
            parts: list[tuple[int, int]] = []
            for record in records:
                if record.is_folder:
                    waiting.append((f"{path}{record.name}/", record.range, depth + 1))
                    continue
                parts.append(record.range)
                if not record.is_continued:
                    yield DiscFile(path + record.name, tuple(parts), record.date, record.is_link)
                    parts = []

    def _records(self, offset: int, size: int) -> Iterator[_Record]:
        """Yield the records in a folder, except for those of the folder itself and of the one above."""
        for start in range(offset, offset + size, _CHUNK):
            yield from self._some_records(self._bytes.at(start, min(_CHUNK, offset + size - start)), start)

    def _some_records(self, data: bytes, start: int) -> Iterator[_Record]:
        at = 0
        while at < len(data):
            length = data[at]
            if not length:  # records do not cross sectors
                at += _SECTOR - at % _SECTOR
                continue
            record = data[at : at + length]
            if len(record) < 34 or 33 + record[32] > len(record):
                raise damaged_image(start + at, "a record of a folder is truncated")
            at += length
            raw = record[33 : 33 + record[32]]
            if raw in (b"\0", b"\1"):
                continue
            name = raw.decode("utf-16-be", "replace") if self._is_joliet else decoded_name(raw)
            name = name.rpartition(";")[0] if ";" in name else name
            year, month, day, hour, minute, second = record[18:24]
            date = date_text(1900 + year, month, day, hour, minute, second)
            is_folder, is_link, place = bool(record[25] & _IS_FOLDER), False, _range(record, self._block)
            if self._skipped is not None:
                long_name, is_link, moved, is_moved = self._rock_ridge(record, 33 + (len(raw) | 1) + self._skipped)
                if is_moved:  # the folder is also listed where it belongs
                    continue
                name = long_name or name
                if moved is not None:
                    own = self._bytes.at(moved * self._block, 34)
                    is_folder, place = True, _range(own, self._block)
            name = name.removesuffix(".") if not self._is_joliet and self._skipped is None else name
            yield _Record(name.replace("/", "_"), is_folder, bool(record[25] & _IS_CONTINUED), place, date, is_link)

    def _rock_ridge(self, record: bytes, at: int) -> tuple[str, bool, int | None, bool]:
        """Return the long name, whether this is a link, the block of a folder that was moved, and whether this is
        where it was moved to."""
        name, is_link, moved, is_moved = b"", False, None, False
        area = record[at:]
        for _ in range(_MOST_CONTINUATIONS):
            continued = None
            while len(area) >= 4 and 4 <= area[2] <= len(area):
                field, kind, area = area[: area[2]], area[:2], area[area[2] :]
                if kind == b"NM" and not field[4] & 6:
                    name += field[5:]
                elif kind == b"SL":
                    is_link = True
                elif kind == b"RE":
                    is_moved = True
                elif kind == b"CL" and len(field) >= 12:
                    moved = struct.unpack_from("<I", field, 4)[0]
                elif kind == b"CE" and len(field) >= 28:
                    continued = struct.unpack("<I4xI4xI4x", field[4:28])
            if continued is None:
                break
            area = self._bytes.at(continued[0] * self._block + continued[1], min(continued[2], _SECTOR))
        return decoded_name(name), is_link, moved, is_moved


def _range(record: bytes, block: int) -> tuple[int, int]:
    """Return offset and size of what a record describes; attributes may precede it."""
    first, size = struct.unpack_from("<I4xI", record, 2)
    return (first + record[1]) * block, size
