"""Detect 3D Studio files from the first bytes and the size."""

from __future__ import annotations

from keyframer.formats.contract import Match
from keyframer.text import counted

_TOPS = {0x4D4D: "scene", 0xC23D: "project", 0x3DAA: "material library", 0x3D3D: "bare editor data"}

# Valid first sub-chunks (`sniff` has those of projects); the top id is not enough, as TIFF files may begin with "MM".
_FIRST_INSIDE = {
    0x4D4D: {0x0002, 0x0005, 0x3D3D, 0xB000, 0x0000, 0xFFFF},
    0x3DAA: {0xAFFF, 0x0002},
    0x3D3D: {
        *(
            0x0001,
            0x3D3E,
            0x0100,
            0x1100,
            0x1200,
            0x1300,
            0x1400,
            0x1410,
            0x1420,
            0x1430,
            0x1440,
            0x1450,
            0x1460,
        ),
        *(0x1500, 0x2100, 0x2200, 0x2300, 0x2302, 0x3000, 0x4000, 0x7001, 0xAFFF),
    },
}


def sniff(head: bytes, size: int) -> Match | None:
    """Return a match, scored by the top chunk's length; None if the top chunk or its first sub-chunk is invalid."""
    if len(head) < 6:
        return None
    top, length = _number(head, 0, 2), _number(head, 2, 4)
    if top not in _TOPS:
        return None
    file_type = _TOPS[top]
    if length == size == 6:
        return Match(0.6, f"an empty {file_type}") if top != 0x3D3D else None
    if len(head) < 12:
        return None
    first, first_length = _number(head, 6, 2), _number(head, 8, 4)
    known = 0xC000 <= first < 0xE000 or first in (0x0002, 0x3D3D) if top == 0xC23D else first in _FIRST_INSIDE[top]
    if not known or first_length < 6:
        return None
    version = None
    if first == 0x0002 and len(head) >= 16:
        version = str(_number(head, 12, 4))
    reason = f"{file_type}: begins with {top:04x} and {first:04x}"
    if length == size:
        return Match(1.0, f"{reason}, length matches the file", version)
    if first_length > size:
        return None
    if length < size:
        return (
            Match(0.9, f"{reason}, {counted(size - length, 'byte')} after the end", version) if length >= 12 else None
        )
    return Match(0.7, f"{reason}, {counted(length - size, 'byte')} missing at the end", version)


def _number(head: bytes, at: int, size: int) -> int:
    """Read an unsigned number without `struct`, whose import takes longer than detection."""
    return int.from_bytes(head[at : at + size], "little")
