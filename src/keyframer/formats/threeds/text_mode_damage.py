"""Recognise files that lost bytes in a text-mode transfer.

Such a transfer replaces CR LF by LF, also in binary files. The chunk lengths then no longer lead from one chunk to the
next; in a file that was only truncated they do.
"""

from __future__ import annotations

import struct

from keyframer.text import counted

_HEADER = struct.Struct("<HI")

# Ids that are valid directly inside the top chunk of a scene and inside the editor and keyframer chunks.
_CHILD_IDS = {
    0x4D4D: {0x0000, 0x0002, 0x0005, 0x3D3D, 0xB000, 0xFFFF},
    0x3D3D: {
        *(0x0000, 0x0001, 0x0100, 0x3D3E, 0x1100, 0x1101, 0x1200, 0x1201, 0x1300, 0x1301, 0x1400, 0x1410, 0x1420),
        *(0x1430, 0x1440, 0x1450, 0x1460, 0x1470, 0x1500, 0x2100, 0x2200, 0x2201, 0x2210, 0x2300, 0x2301, 0x2302),
        *(0x2303, 0x2310, 0x3000, 0x4000, 0x5000, 0x6000, 0x7000, 0x7001, 0x7010, 0x7011, 0x7012, 0x7020, 0x7030),
        *(0x8000, 0xAFFF, 0xFFFF),
    },
    0xB000: {0x0000, 0x0005, 0x3000, 0x7000, 0x7001, 0x7010, 0x7030, *range(0xB001, 0xB00B), 0xFFFF},
}


def diagnose(data: bytes) -> str | None:
    """Describe the damage from a text-mode transfer; None if no sign of it was found."""
    if len(data) < 6:
        return None
    missing = _HEADER.unpack_from(data)[1] - len(data)
    lines = data.count(b"\n")
    if 0 < missing <= lines and b"\r\n" not in data and (offset := find_invalid_chunk(data)) is not None:
        return (
            f"damaged by a transfer in text mode: {counted(missing, 'byte')} missing, {lines} LF and not one CR LF, "
            f"and an invalid chunk at {offset:#x}"
        )
    return None


def find_invalid_chunk(data: bytes) -> int | None:
    """Return the offset of an invalid chunk directly inside a scene, its editor or keyframer; None without one."""
    top = _HEADER.unpack_from(data)[0]
    stack = [(top, 6)] if top in _CHILD_IDS else []
    size = len(data)
    while stack:
        parent, at = stack.pop()
        while at + 6 <= size:
            chunk_id, length = _HEADER.unpack_from(data, at)
            if chunk_id not in _CHILD_IDS[parent] or length < 6:
                if parent != 0x4D4D and chunk_id in _CHILD_IDS[0x4D4D]:  # after the end of the parent
                    break
                return at
            if chunk_id in _CHILD_IDS:
                stack.append((chunk_id, at + 6))
            at += length
    return None
