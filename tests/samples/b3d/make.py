"""Writes the Blitz3D samples from the specification: ``python -m tests.samples.b3d.make``."""

from __future__ import annotations

import struct
from pathlib import Path

HERE = Path(__file__).parent


def chunk(tag: str, *content: bytes) -> bytes:
    data = b"".join(content)
    return tag.encode() + struct.pack("<I", len(data)) + data


def text(value: str) -> bytes:
    return value.encode("cp1252") + b"\0"


def ints(*values: int) -> bytes:
    return struct.pack(f"<{len(values)}i", *values)


def floats(*values: float) -> bytes:
    return struct.pack(f"<{len(values)}f", *values)


def node(name: str, *inside: bytes, position: tuple[float, ...] = (0, 0, 0), scale: float = 1.0) -> bytes:
    return chunk("NODE", text(name), floats(*position), floats(scale, scale, scale), floats(1, 0, 0, 0), *inside)


def file(*inside: bytes) -> bytes:
    return chunk("BB3D", ints(1), *inside)


def texture(name: str, flags: int = 1, blend: int = 2, placement: tuple[float, ...] = (0, 0, 1, 1, 0)) -> bytes:
    return text(name) + ints(flags, blend) + floats(*placement)


def brush(name: str, color: tuple[float, ...], blend: int, fx: int, *textures: int, shininess: float = 0.0) -> bytes:
    return text(name) + floats(*color, shininess) + ints(blend, fx, *textures)


HALF = 0.70710677


def swaying() -> bytes:
    """Return a strip of two triangles with two bones: the tip turns by a quarter about Z, the foot moves up."""
    rows = [  # position, normal (towards -Z, as the faces are seen), coordinates
        floats(0, 0, 0, 0, 0, -1, 0, 1),
        floats(1, 0, 0, 0, 0, -1, 1, 1),
        floats(0, 2, 0, 0, 0, -1, 0, 0),
        floats(1, 2, 0, 0, 0, -1, 1, 0),
    ]
    mesh = chunk("MESH", ints(-1), chunk("VRTS", ints(1, 1, 2), *rows), chunk("TRIS", ints(0), ints(0, 2, 1, 1, 2, 3)))
    turn = [ints(0) + floats(1, 0, 0, 0), ints(10) + floats(HALF, 0, 0, HALF)]
    tip = node(
        "tip",
        chunk("BONE", ints(2) + floats(1), ints(3) + floats(0.75)),
        chunk("KEYS", ints(4), *turn),
        position=(0, 1, 0),
    )
    lift = [ints(0) + floats(0, 0, 0) + floats(1, 1, 1), ints(10) + floats(0, 1, 0) + floats(1, 1, 1)]
    foot = node(
        "foot",
        chunk("BONE", ints(0) + floats(1), ints(1) + floats(1), ints(3) + floats(0.25)),
        chunk("KEYS", ints(3), *lift),
        tip,
    )
    return file(
        chunk("TEXS", texture("strip.png", 1 | 8)),
        chunk("BRUS", ints(1), brush("strip", (1, 0.5, 0.25, 1), 1, 0, 0, shininess=0.5)),
        node(
            "strip",
            mesh,
            foot,
            chunk("SEQS", text("up"), ints(0, 5, 0)),
            chunk("SEQS", text("down"), ints(5, 10, 0)),
            chunk("ANIM", ints(0, 10), floats(0)),
        ),
    )


def layered() -> bytes:
    """Return two still meshes: colours, two sets of coordinates, several brushes, a chunk of another program."""
    rows = [
        floats(x, y, 0, 0, 0, -1, x, y, 0.5, 1 - x / 2, x, 1 - y, x / 2, y / 2) for x, y in ((0, 0), (1, 0), (0, 1))
    ]
    sheet = chunk("MESH", ints(1), chunk("VRTS", ints(3, 2, 2), *rows), chunk("TRIS", ints(-1), ints(0, 2, 1)))
    plain = [floats(*point) for point in ((0, 0, 0), (0, 0, 1), (0, 1, 0), (0, 1, 1))]
    wall = chunk(
        "MESH",
        ints(-1),
        chunk("VRTS", ints(0, 0, 2), *plain),
        chunk("TRIS", ints(0), ints(0, 1, 2)),
        chunk("TRIS", ints(2), ints(1, 3, 2)),
    )
    return file(
        chunk(
            "TEXS",
            texture("base.png", 1 | 2 | 16 | 32),
            texture("light.png", 1 | 65536, 3, (0.25, 0.5, 2, 4, 0.5)),
            texture("sky.bmp", 1 | 64),
        ),
        chunk("BRUS", ints(1), brush("plain", (0.5, 0.5, 0.5, 0.5), 1, 1 | 8 | 16, -1)),
        chunk(
            "BRUS",
            ints(3),
            brush("layers", (1, 1, 1, 1), 1, 2 | 32, 0, 1, 2),
            brush("glow", (1, 1, 0, 1), 3, 4, -1, 1, -1),
        ),
        node(
            "group", chunk("INFO", b"by hand"), node("sheet", sheet), node("wall", wall, position=(0, 0, 3), scale=2.0)
        ),
    )


def odd() -> bytes:
    """Return a file with what real files get wrong: keys out of order, a chunk that is cut off, weights below one."""
    rows = [floats(*point) for point in ((0, 0, 0), (1, 0, 0), (0, 1, 0))]
    keys = [ints(frame) + floats(frame, 0, 0) for frame in (8, 2, 5)]
    mesh = chunk("MESH", ints(7), chunk("VRTS", ints(0, 0, 0), *rows), chunk("TRIS", ints(-1), ints(0, 1, 2, 0, 1, 9)))
    bone = node("bone", chunk("BONE", ints(0) + floats(0.5), ints(1) + floats(0.5)), chunk("KEYS", ints(1), *keys))
    return file(node("top", mesh, bone, chunk("KEYS", ints(2), ints(0), floats(1, 1)), chunk("ANIM", ints(0, 8))))


SAMPLES = {"swaying": swaying, "layered": layered, "odd": odd}

if __name__ == "__main__":
    for name, make in SAMPLES.items():
        (HERE / f"{name}.b3d").write_bytes(make())
