"""Detect 3D Studio files from the first bytes and the size, and those that a text-mode transfer damaged."""

from __future__ import annotations

from keyframer.formats.contract import Match, Signature
from keyframer.text import counted

_EXTENSIONS = {0xC23D: ".prj", 0x3DAA: ".mli", 0x2D2D: ".shp", 0x2D3D: ".lft"}
_PRONOM = {0x4D4D: "x-fmt/19", 0xC23D: "fmt/1831", 0x2D2D: "x-fmt/102", 0x2D3D: "fmt/1830"}
_TOPS = {
    0x4D4D: "scene",
    0xC23D: "project",
    0x3DAA: "material library",
    0x3D3D: "bare editor data",
    0x2D2D: "shapes",
    0x2D3D: "loft",
}

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

# Valid first sub-chunks (`sniff` has those of projects); the top id is not enough, as TIFF files may begin with "MM".
_FIRST_INSIDE = {
    0x4D4D: _CHILD_IDS[0x4D4D],
    0x3DAA: {0xAFFF, 0x0002},
    0x3D3D: {
        *(0x0001, 0x3D3E, 0x0100, 0x1100, 0x1200, 0x1300, 0x1400, 0x1410, 0x1420, 0x1430, 0x1440, 0x1450, 0x1460),
        *(0x1500, 0x2100, 0x2200, 0x2300, 0x2302, 0x3000, 0x4000, 0x7001, 0xAFFF),
    },
    0x2D2D: {0x0100, 0x7001, 0x5000, 0x5010, 0x5011, 0x5020},
    0x2D3D: {0x0100, 0x7001, 0x6000, 0x6010, 0x6090},
}


def _signature(top: int, inside: tuple[int, tuple[bytes, ...]]) -> Signature:
    sequences = ((0, (top.to_bytes(2, "little"),)), inside)
    extension, pronom = _EXTENSIONS.get(top, ".3ds"), _PRONOM.get(top)
    return Signature(f"3D Studio {_TOPS[top]}", sequences, extensions=(extension,), pronom=pronom)


def _ids(*ids: int) -> tuple[int, tuple[bytes, ...]]:
    return 6, tuple(chunk_id.to_bytes(2, "little") for chunk_id in sorted(ids))


SIGNATURES = (
    *(_signature(top, _ids(*inside)) for top, inside in _FIRST_INSIDE.items()),
    _signature(0xC23D, _ids(0x0002, 0x3D3D)),
    _signature(0xC23D, (7, tuple(bytes([high]) for high in range(0xC0, 0xE0)))),  # settings, C000 to DFFF
)


def sniff(head: bytes, size: int) -> Match | None:
    """Return a match, scored by the top chunk's length; None if the top chunk or its first sub-chunk is invalid.

    The first sub-chunk of a scene may have a damaged id if the length is that of the file and its second one is valid.
    """
    if len(head) < 6:
        return None
    top, length = _header(head, 0)
    if top not in _TOPS:
        return None
    file_type = _TOPS[top]
    if length == size == 6:
        return Match(0.6, f"an empty {file_type}") if top != 0x3D3D else None
    if len(head) < 12:
        return None
    first, first_length = _header(head, 6)
    known = 0xC000 <= first < 0xE000 or first in (0x0002, 0x3D3D) if top == 0xC23D else first in _FIRST_INSIDE[top]
    if first_length < 6:
        return None
    if not known:
        following = _header(head, 6 + first_length)[0] if 12 + first_length <= len(head) else None
        whole = top == 0x4D4D and length == size and following in (0x3D3D, 0xB000)
        return Match(0.7, f"{file_type}: 4d4d with the length of the file, and {following:04x}") if whole else None
    version = None
    if first == 0x0002 and first_length >= 10 and len(head) >= 16:
        version = str(int.from_bytes(head[12:16], "little"))
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


def _header(data: bytes, at: int) -> tuple[int, int]:
    """Return id and length of the chunk at ``at``, without `struct`, whose import takes longer than detection."""
    return int.from_bytes(data[at : at + 2], "little"), int.from_bytes(data[at + 2 : at + 6], "little")


def diagnose(data: bytes) -> str | None:
    """Describe the damage from a text-mode transfer; None if no sign of it was found.

    Such a transfer replaces CR LF by LF, also in binary files. The chunk lengths then no longer lead from one chunk to
    the next; in a file that was only truncated they do.
    """
    if len(data) < 6:
        return None
    missing = _header(data, 0)[1] - len(data)
    lines = data.count(b"\n")
    if 0 < missing <= lines and b"\r\n" not in data and (offset := find_invalid_chunk(data)) is not None:
        return (
            f"damaged by a transfer in text mode: {counted(missing, 'byte')} missing, {lines} LF and not one CR LF, "
            f"and an invalid chunk at {offset:#x}"
        )
    return None


def find_invalid_chunk(data: bytes) -> int | None:
    """Return the offset of an invalid chunk directly inside a scene, its editor or keyframer; None without one."""
    top = _header(data, 0)[0]
    stack = [(top, 6)] if top in _CHILD_IDS else []
    while stack:
        parent, at = stack.pop()
        while at + 6 <= len(data):
            chunk_id, length = _header(data, at)
            if chunk_id not in _CHILD_IDS[parent] or length < 6:
                if parent != 0x4D4D and chunk_id in _CHILD_IDS[0x4D4D]:  # after the end of the parent
                    break
                return at
            if chunk_id in _CHILD_IDS:
                stack.append((chunk_id, at + 6))
            at += length
    return None
