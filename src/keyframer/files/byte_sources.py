"""Reads bytes anywhere in a file or stream: the ground of disc images, whose files are ranges of bytes."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Sequence
from io import BufferedReader, FileIO, RawIOBase
from itertools import accumulate
from threading import Lock
from typing import IO

from keyframer.catalogue import IO_READ_FAILED
from keyframer.errors import FormatError

Ranges = Sequence[tuple[int, int]]
"""offset and size of each part of a file"""


class ByteSource:
    """A stream, and the sectors in it: each has ``data`` bytes after ``skipped`` others."""

    def __init__(self, stream: IO[bytes], size: int) -> None:
        self._stream = stream
        self._lock = Lock()
        self._sector, self._skipped, self._data = 0, 0, 0
        self.size = size
        """number of bytes of all sectors"""

    def use_sectors(self, sector: int, skipped: int, data: int) -> None:
        """Read only the data of sectors of this size: images of raw discs have more in them."""
        self._sector, self._skipped, self._data = sector, skipped, data
        self.size = self.size // sector * data

    def at(self, offset: int, size: int) -> bytes:
        """Return exactly ``size`` bytes; raises `FormatError` if they are not all inside."""
        if offset < 0 or size < 0 or offset + size > self.size:
            raise damaged_image(offset, "a part of it is outside of the image")
        if self._sector:
            first, last = offset // self._data, -(-(offset + size) // self._data)
            raw = self._read(first * self._sector, (last - first) * self._sector)
            starts = range(self._skipped, len(raw), self._sector)
            data = b"".join(raw[start : start + self._data] for start in starts)
            return data[offset - first * self._data :][:size]
        return self._read(offset, size)

    def _read(self, offset: int, size: int) -> bytes:
        with self._lock:
            self._stream.seek(offset)
            data = self._stream.read(size)
        if len(data) < size:
            raise damaged_image(offset + len(data), "the image is truncated")
        return data

    def content(self, ranges: Ranges) -> bytes:
        return b"".join(self.at(offset, size) for offset, size in ranges)

    def stream(self, ranges: Ranges) -> IO[bytes]:
        """Return a stream of ranges that can seek; nothing is kept in memory."""
        return BufferedReader(_RangeStream(self, ranges))

    def close(self) -> None:
        self._stream.close()


class _RawFile(FileIO):
    def __del__(self) -> None:
        self.close()


class _File(BufferedReader):
    """A file that is closed when nothing reads from it any more: containers are not closed while others use them."""

    def __del__(self) -> None:
        self.close()


def open_stream(path: str) -> IO[bytes]:
    return _File(_RawFile(path))


class _RangeStream(RawIOBase):
    def __init__(self, source: ByteSource, ranges: Ranges) -> None:
        self._source, self._position = source, 0
        self._ranges = [given for given in ranges if given[1]]
        self._ends = list(accumulate(size for _, size in self._ranges))
        self._size = self._ends[-1] if self._ends else 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self._size}[whence]
        self._position = max(0, start + offset)
        return self._position

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        at = bisect_right(self._ends, self._position)
        if at == len(self._ends):
            return 0
        left = self._ends[at] - self._position
        data = self._source.at(sum(self._ranges[at]) - left, min(len(buffer), left))
        buffer[: len(data)] = data
        self._position += len(data)
        return len(data)


def damaged_image(offset: int, reason: str) -> FormatError:
    return IO_READ_FAILED.failure(offset, "/", reason=f"cannot be read from the disc image: {reason}")
