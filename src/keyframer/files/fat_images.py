"""Images of floppy disks and other disks without partitions: FAT12, FAT16 and FAT32, with long names."""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Iterator
from typing import IO

from keyframer.errors import FormatError
from keyframer.files.byte_sources import ByteSource, Ranges, damaged_image
from keyframer.files.container_contract import Container, date_text, too_many_members
from keyframer.files.disc_images import DiscFile
from keyframer.limits import DEFAULT_LIMITS, MOST_ENTRIES, Limits

_ENTRY = 32
_VOLUME, _FOLDER, _LONG_NAME = 8, 16, 15
"""attributes of entries"""
_END, _DELETED = 0, 0xE5
_MOST_DEPTH = 64


class Archive(Container[DiscFile]):
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
        top: Ranges = ((root, _ENTRY * entries),)
        if self._bits == 32:
            top = self._ranges(struct.unpack_from("<I", boot, 44)[0], None)
        self.set_members(list(self._files(top)), size if packed is None else packed)

    def close(self) -> None:
        self._bytes.close()

    def head(self, member: DiscFile, size: int) -> bytes:
        return self.stream(member).read(size)

    def _content(self, member: DiscFile) -> bytes:
        return self._bytes.content(member.ranges)

    def stream(self, member: DiscFile) -> IO[bytes]:
        return self._bytes.stream(member.ranges)

    def modified(self, member: DiscFile) -> str:
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

    def _files(self, top: Ranges) -> Iterator[DiscFile]:
        waiting, seen = deque([("", top, 0)]), set[Ranges]()
        left, count = self._bytes.size, 0
        while waiting:
            path, ranges, depth = waiting.popleft()
            if ranges[:1] in seen:
                continue
            seen.add(ranges[:1])
            left -= sum(size for _, size in ranges)
            try:
                if left < 0 or depth > _MOST_DEPTH:
                    raise damaged_image(0, "its folders overlap or are too deep")
                data = self._bytes.content(ranges)
            except FormatError as error:
                self.damage.append((path.rstrip("/"), error))
                continue
            for name, entry in _entries(data):
                count += 1
                if count > MOST_ENTRIES:
                    raise too_many_members()
                high, clock, day, low, size = struct.unpack_from("<H", entry, 20) + struct.unpack_from(
                    "<HHHI", entry, 22
                )
                cluster = low | (high << 16 if self._bits == 32 else 0)
                if entry[11] & _FOLDER:
                    waiting.append((f"{path}{name}/", self._ranges(cluster, None), depth + 1))
                else:
                    yield DiscFile(path + name, self._ranges(cluster, size), _date(day, clock))


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
