"""JPEG files as glTF wants them: pixels as they are stored, which no camera's note turns round."""

from __future__ import annotations

import struct

_ORIENTATION = 0x0112
_UPRIGHT = 1


def upright_jpeg(data: bytes) -> bytes:
    """The same file with the Exif orientation 1; the very same bytes where it says nothing else.

    The programs that made the old files knew no Exif, and neither does glTF, but browsers turn images by it.
    """
    place = _orientation_at(data)
    if place is None:
        return data
    at, order = place
    return data[:at] + struct.pack(f"{order}H", _UPRIGHT) + data[at + 2 :]


def _orientation_at(data: bytes) -> tuple[int, str] | None:
    """Where the orientation stands, and the order of its bytes; None where there is none to change."""
    at = 2
    while at + 4 <= len(data) and data[at] == 0xFF and 0xE0 <= data[at + 1] <= 0xEF:
        size = int.from_bytes(data[at + 2 : at + 4], "big")
        if data[at + 1] == 0xE1 and data[at + 4 : at + 10] == b"Exif\0\0":
            return _in_tags(data, at + 10, min(at + 2 + size, len(data)))
        at += 2 + size
    return None


def _in_tags(data: bytes, begin: int, end: int) -> tuple[int, str] | None:
    order = {b"II": "<", b"MM": ">"}.get(data[begin : begin + 2])
    if order is None or begin + 8 > end:
        return None
    table = begin + struct.unpack_from(f"{order}I", data, begin + 4)[0]
    if table + 2 > end:
        return None
    count = struct.unpack_from(f"{order}H", data, table)[0]
    for entry in range(table + 2, min(table + 2 + 12 * count, end - 11), 12):
        tag, kind, numbers = struct.unpack_from(f"{order}HHI", data, entry)
        if (tag, kind, numbers) == (_ORIENTATION, 3, 1):
            stated = struct.unpack_from(f"{order}H", data, entry + 8)[0]
            return None if stated == _UPRIGHT else (entry + 8, order)
    return None
