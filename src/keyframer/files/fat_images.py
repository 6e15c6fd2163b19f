"""Images of floppy disks and other disks without partitions: FAT12, FAT16 and FAT32, with long names."""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Iterator
from typing import IO, NamedTuple

from keyframer.errors import FormatError
from keyframer.files.byte_sources import ByteSource, Ranges, damaged_image
from keyframer.files.container_contract import Container, date_text, too_many_members
from keyframer.files.disc_images import MOST_DAMAGE, MOST_DEPTH
from keyframer.limits import DEFAULT_LIMITS, MOST_ENTRIES, Limits

_ENTRY = 32
_VOLUME, _FOLDER, _LONG_NAME = 8, 16, 15
"""attributes of entries"""
_END, _DELETED = 0, 0xE5


class DiskFile(NamedTuple):
    """A file on a disk; the other clusters follow from the first."""

    filename: str
    file_size: int
    cluster: int
    date: str

    def is_dir(self) -> bool:
        return False


class Archive(Container[DiskFile]):
    """An open image of a disk."""

    def __init__(
        self, stream: IO[bytes], size: int, limits: Limits = DEFAULT_LIMITS, packed: int | None = None
    ) -> None:
        super().__init__(limits)
        self._bytes = ByteSource(stream, size)
        boot = self._bytes.at(0, 512)
        sector, per_cluster, reserved, tables, entries, small = struct.unpack_from("<HBHBHH", boot, 11)
        per_table, large = struct.unpack_from("<H", boot, 22)[0], struct.unpack_from("<I", boot, 32)[0]
        per_table = per_table or struct.unpack_from("<I", boot, 36)[0]
        if not (sector and per_cluster and tables and per_table):
            raise damaged_image(11, "its first sector does not describe a disk")
        root = sector * (reserved + tables * per_table)
        self._data = root + -(-_ENTRY * entries // sector) * sector
        self._cluster = sector * per_cluster
        clusters = max(0, ((small or large) * sector - self._data) // self._cluster)
        self._bits = 12 if clusters < 4085 else 16 if clusters < 65525 else 32
        self._most = min(clusters, sector * per_table * 8 // self._bits - 2, size // self._cluster + 1)
        self._table = self._bytes.at(sector * reserved, min(sector * per_table, (self._most + 2) * self._bits // 8 + 1))
        self._top = ((root, _ENTRY * entries),)
        top = struct.unpack_from("<I", boot, 44)[0] if self._bits == 32 else 0
        self.set_members(list(self._files(top)), size if packed is None else packed)

    def close(self) -> None:
        self._bytes.close()

    def head(self, member: DiskFile, size: int) -> bytes:
        return self.stream(member).read(size)

    def _content(self, member: DiskFile) -> bytes:
        return self._bytes.content(self._ranges(member.cluster, member.file_size))

    def stream(self, member: DiskFile) -> IO[bytes]:
        return self._bytes.stream(self._ranges(member.cluster, member.file_size))

    def modified(self, member: DiskFile) -> str:
        return member.date

    def _next(self, cluster: int) -> int:
        """Return the cluster after a cluster; one out of range ends a file."""
        if self._bits == 12:
            pair = int.from_bytes(self._table[cluster * 3 // 2 :][:2], "little")
            return pair >> 4 if cluster & 1 else pair & 0xFFF
        width = self._bits // 8
        return int.from_bytes(self._table[cluster * width :][:width], "little") & 0xFFFFFFF

    def _ranges(self, cluster: int, size: int | None) -> Ranges:
        """Return the ranges of a file of this size; of a folder without a size, all up to its last cluster."""
        wanted = self._most if size is None else -(-size // self._cluster)
        ranges: list[tuple[int, int]] = []
        count, left = 0, size
        while count < wanted and 2 <= cluster < self._most + 2:
            offset = self._data + (cluster - 2) * self._cluster
            length = self._cluster if left is None else min(left, self._cluster)
            if ranges and sum(ranges[-1]) == offset:
                ranges[-1] = ranges[-1][0], ranges[-1][1] + length
            else:
                ranges.append((offset, length))
            count, left = count + 1, None if left is None else left - length
            cluster = self._next(cluster)
        if size is not None and count < wanted:  # reading the part that is missing fails
            ranges.append((self._bytes.size, size - count * self._cluster))
        return tuple(ranges)

    def _files(self, top: int) -> Iterator[DiskFile]:
        """Yield all files; ``top`` is the first cluster of the folder at the top, 0 if it is before all clusters."""
        waiting, seen = deque([("", top, 0)]), set[int]()
        left, count = self._bytes.size, 0
        while waiting:
            path, first, depth = waiting.popleft()
            if first in seen:
                continue
            seen.add(first)
            ranges = self._ranges(first, None) if first else self._top
            left -= sum(size for _, size in ranges)
            if left < 0 or len(self.damage) > MOST_DAMAGE:
                raise damaged_image(0, "its folders overlap, or many of them are damaged")
            try:
                if depth > MOST_DEPTH:
                    raise damaged_image(0, "its folders are too deep")
                data = self._bytes.content(ranges)
            except FormatError as error:
                self.damage.append((path.rstrip("/"), error))
                continue
            for name, entry in _entries(data):
                count += 1
                if count > MOST_ENTRIES:
                    raise too_many_members()
                high, clock, day, low, size = struct.unpack_from("<HHHHI", entry, 20)
                cluster = low | (high << 16 if self._bits == 32 else 0)
                if not entry[11] & _FOLDER:
                    yield DiskFile(path + name, size, cluster, _date(day, clock))
                elif cluster:
                    waiting.append((f"{path}{name}/", cluster, depth + 1))


def _entries(data: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield name and entry of each file and folder."""
    long_parts: list[bytes] = []
    for at in range(0, len(data) - _ENTRY + 1, _ENTRY):
        entry = data[at : at + _ENTRY]
        if entry[0] == _END:
            return
        if entry[0] == _DELETED:
            long_parts = []
        elif entry[11] & 0x3F == _LONG_NAME:
            long_parts.insert(0, entry[1:11] + entry[14:26] + entry[28:32])
        elif entry[11] & _VOLUME or entry[:1] == b".":
            long_parts = []
        else:
            long_name = b"".join(long_parts).decode("utf-16-le", "replace").partition("\0")[0]
            long_parts = []
            raw = (b"\xe5" if entry[0] == 5 else entry[:1]) + entry[1:11]
            stem, extension = raw[:8].decode("cp437").rstrip(), raw[8:].decode("cp437").rstrip()
            yield (long_name or (f"{stem}.{extension}" if extension else stem)).replace("/", "_"), entry


def _date(day: int, clock: int) -> str:
    return date_text(1980 + (day >> 9), day >> 5 & 15, day & 31, clock >> 11, clock >> 5 & 63, 2 * (clock & 31))
