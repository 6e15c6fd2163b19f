"""The output of records: one buffer, and blocks whose size is filled in when they are complete."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from keyframer.arrays import Array


class Sink:
    """A growing output buffer; a file of a million small chunks does not need an object for each."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    @property
    def size(self) -> int:
        return len(self._buffer)

    def write(self, part: bytes) -> None:
        self._buffer += part

    def write_array(self, array: Array) -> None:
        """Append an array as stored in memory (the caller has converted it to its wire dtype)."""
        if array.nbytes:
            self._buffer += np.ascontiguousarray(array).reshape(-1).view(np.uint8).data

    def open_block(self, header_size: int) -> int:
        """Reserve space for a header; returns the mark for `close_block`."""
        mark = len(self._buffer)
        self._buffer += bytes(header_size)
        return mark

    def close_block(self, mark: int, header: Callable[[int], bytes]) -> None:
        """Fill in the header, made by ``header(size of the block, header included)``."""
        header_bytes = header(len(self._buffer) - mark)
        self._buffer[mark : mark + len(header_bytes)] = header_bytes

    def getvalue(self) -> bytes:
        return bytes(self._buffer)
