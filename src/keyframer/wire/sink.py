"""Where records are written to: parts in order, and blocks whose size is filled in when they are complete."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt


class Sink:
    """Bytes to come. Arrays are not copied until `getvalue` joins the parts."""

    def __init__(self) -> None:
        self._parts: list[bytes | memoryview] = []
        self.size = 0

    def write(self, part: bytes) -> None:
        self._parts.append(part)
        self.size += len(part)

    def write_array(self, array: npt.NDArray[Any]) -> None:
        """An array as it lies in memory (the caller has given it its wire dtype)."""
        if array.nbytes == 0:
            return
        flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        self._parts.append(flat.data.toreadonly())
        self.size += array.nbytes

    def open_block(self, header_size: int) -> tuple[int, int]:
        """Leave room for a header; give what comes back to `close_block`."""
        mark = (len(self._parts), self.size)
        self.write(bytes(header_size))
        return mark

    def close_block(self, mark: tuple[int, int], header: Callable[[int], bytes]) -> None:
        """Fill in the header, made by ``header(size of the block, header included)``."""
        index, start = mark
        self._parts[index] = header(self.size - start)

    def getvalue(self) -> bytes:
        return b"".join(self._parts)
