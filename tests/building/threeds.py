"""3D Studio chunks inside the containers that they need, and what was read of them."""

from __future__ import annotations

import keyframer
from tests.building.files import chunk

# The parent of each container, and the fields it needs before its sub-chunks: from the tree in the specification.
_PARENTS: dict[int, tuple[int | None, bytes]] = {
    0x4D4D: (None, b""),
    0xC23D: (None, b""),
    0x3DAA: (None, b""),
    0x2D2D: (None, b""),
    0x2D3D: (None, b""),
    0x3D3D: (0x4D4D, b""),
    0xB000: (0x4D4D, b""),
    0x1200: (0x3D3D, b""),
    0x1300: (0x3D3D, bytes(4)),
    0x2100: (0x3D3D, b""),
    0x2200: (0x3D3D, bytes(16)),
    0x2300: (0x3D3D, bytes(16)),
    0x2302: (0x3D3D, bytes(16)),
    0x3000: (0x3D3D, b""),
    0x7000: (0x3D3D, bytes(14)),
    0x7001: (0x3D3D, bytes(14)),
    0x4000: (0x3D3D, b"Box\0"),
    0x4100: (0x4000, b""),
    0x4120: (0x4100, bytes(2)),
    0x4600: (0x4000, bytes(12)),
    0x4610: (0x4600, bytes(20)),
    0x4700: (0x4000, bytes(32)),
    0x4F00: (0x4000, bytes(2)),
    0x8000: (0x3D3D, b""),
    0xAFFF: (0x3D3D, b""),
    **dict.fromkeys((0xA010, 0xA020, 0xA030, 0xA040, 0xA041, 0xA042, 0xA050, 0xA052, 0xA053, 0xA084), (0xAFFF, b"")),
    **dict.fromkeys((0xA200, 0xA204, 0xA210, 0xA220, 0xA230, 0xA33A, 0xA33C, 0xA33D), (0xAFFF, b"")),
    **dict.fromkeys((0xA33E, 0xA340, 0xA342, 0xA344, 0xA346, 0xA348, 0xA34A, 0xA34C), (0xAFFF, b"")),
    **dict.fromkeys(range(0xB001, 0xB008), (0xB000, b"")),
    0xB010: (0xB002, b"Box\0" + bytes(6)),
    0x6000: (0x2D3D, bytes(4)),
    **dict.fromkeys((0x6020, 0x6040, 0x6050), (0x2D3D, bytes(2))),
    **dict.fromkeys((0x6030, 0x6060), (0x2D3D, b"")),
    0x6070: (0x6020, bytes(2)),
    0x6080: (0x6020, bytes(2)),
}


def chain(home: int | None) -> list[int]:
    """The containers down to ``home``, outermost first."""
    containers: list[int] = []
    while home is not None:
        containers.insert(0, home)
        home = _PARENTS[home][0]
    return containers


def in_container(home: int | None, *inside: bytes) -> bytes:
    """A file with these chunks inside the container ``home`` and its parents, and nothing else."""
    data = b"".join(inside)
    for parent in reversed(chain(home)):
        data = chunk(parent, _PARENTS[parent][1], data)
    return data


def decoded(data: bytes) -> keyframer.Document:
    """The document of the data, which must encode to the same bytes."""
    document = keyframer.decode(data, format="3ds")
    assert keyframer.encode(document) == data
    return document


def innermost(document: keyframer.Document, home: int | None) -> list[object]:
    """The records inside the innermost container of `in_container`."""
    records = list(document.records)
    for _ in chain(home):
        records = list(records[0].children)
    return list(records)


def paths(document: keyframer.Document) -> list[str]:
    return [str(place) for place, _ in document.walk()]


def reports(document: keyframer.Document) -> list[tuple[str, str, int]]:
    return [(issue.code, issue.path, issue.offset) for issue in document.issues]
