"""An independent writer of Midtown Madness 2 clips: `struct` and the specification, no code of the reader."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence

Rows = Sequence[Sequence[float]]


def rows_bytes(rows: Rows) -> bytes:
    return b"".join(struct.pack(f"<{len(row)}f", *row) for row in rows)


def channel(rows: Rows, distance: float = 1.5, type: int = 1) -> bytes:
    return struct.pack("<IfB", len(rows[0]), distance, type) + rows_bytes(rows)


def retail(rows: Rows, distance: float = 1.5) -> bytes:
    return struct.pack("<II", 0, len(rows)) + channel(rows, distance)


def beta(frames: int, *channels: bytes) -> bytes:
    return struct.pack("<II", len(channels), frames) + b"".join(channels)


def old(rows: Rows, distance: float = 1.5) -> bytes:
    bones = len(rows[0]) // 3 - 1
    return struct.pack("<IIfB", len(rows), bones, distance, 1) + rows_bytes(rows)


def walk(frames: int = 4, bones: int = 19) -> list[list[float]]:
    """A figure about a metre high that swings every bone a little."""
    rows = []
    for number in range(frames):
        turn = 2 * math.pi * number / frames
        row = [0.01 * math.sin(turn), 0.95, -1.5 * number / frames]
        for bone in range(bones):
            row += [0.3 * math.sin(turn + bone), 0.05 * bone, -0.1 * math.cos(turn)]
        rows.append(row)
    return rows


Point = tuple[float, float, float]
FIGURE = (("root", -1, (0.0, 1.0, 0.0)), ("spine", 0, (0.0, 0.5, 0.125)), ("arm", 1, (0.25, 0.375, 0.0)))
"""name, parent and offset of three bones"""
BODY = (
    (0, (0.125, 0.0, 0.0)),
    (0, (-0.125, 0.0, 0.0)),
    (1, (0.0, 0.25, 0.0)),
    (1, (0.0, 0.0, -0.25)),
    (2, (0.5, 0.0, 0.0)),
    (2, (0.25, -0.125, 0.0625)),
)
"""bone and place of the vertices of a body, in the space of the bone"""
TRIANGLES = ((0, 1, 2), (0, 2, 3), (2, 4, 5), (3, 5, 4))


def skeleton_text(bones: Sequence[tuple[str, int, Point]] = FIGURE) -> bytes:
    """The text of a skeleton, with tabs and CR LF as in the game."""
    lines = [f"NumBones {len(bones)}"]
    opened: list[int] = []
    for number, (name, parent, offset) in enumerate(bones):
        while opened and opened[-1] != parent:
            opened.pop()
            lines.append("\t" * len(opened) + "}")
        lines.append("\t" * len(opened) + f"bone {name} {{")
        opened.append(number)
        lines.append("\t" * len(opened) + "offset " + " ".join(f"{value:.6f}" for value in offset))
    lines += ["\t" * (len(opened) - 1 - number) + "}" for number in range(len(opened))]
    return "\r\n".join([*lines, ""]).encode()


def model_text(*, packets: bool = True, version: str = "1.09", **changes: str) -> bytes:
    """The text of a model in one of the two layouts of the game: two materials, of two triangles each.

    ``changes`` replace lines: the text before the first space (with _ for :) by another line.
    """
    bones = [bone for bone, _ in BODY]
    lines = [f"version: {version}", f"verts: {len(BODY)}", f"normals: {len(BODY)}", "colors: 1", "tex1s: 2", "tex2s: 0"]
    corners = 9 if packets else 12
    lines += ["tangents: 0", "materials: 2", f"adjuncts: {len(BODY) if packets else corners}"]
    lines += [f"primitives: {len(TRIANGLES)}", "matrices: 3", ""]
    lines += [f"v\t{x} {y} {z}" for _, (x, y, z) in BODY]
    lines += ["n\t0 0 1", "n\t0 0 1", "n\t0 2 0", "n\t0 1 0", "n\t1 0 0", "n\t1 0 0"]
    lines += ["c\t0.5 0.25 0.125 1", "t1\t0.25 0.75", "t1\t1 0", ""]
    for number, name in enumerate(("Man1:COAT", "Man1:SKIN")):
        count = "packets:\t1" if packets else "adjuncts:\t6"
        lines += [f"mtl {name} {{", f"\t{count}", "\tprimitives:\t2", f"\ttextures:\t{number}"]
        lines += ["\ttexture:\t1 FACE"] * number + ["\tillum: " + ("emit" if number else "diffuse")]
        lines += ["\tambient:\t0.25 0.25 0.25", f"\tdiffuse:\t0.75 0.5 {0.25 * number}", "\tspecular:\t0 0 0", "}", ""]
    for half in (TRIANGLES[:2], TRIANGLES[2:]):
        used = sorted({corner for triangle in half for corner in triangle}) if packets else [c for t in half for c in t]
        if packets:
            own = sorted({bones[vertex] for vertex in used})
            lines += [f"packet {len(used)} {len(half)} {len(own)} {{"]
            lines += [f"\tadj\t{vertex} {vertex} 0 {vertex % 2} 0 {own.index(bones[vertex])}" for vertex in used]
            lines += ["\ttri\t" + " ".join(str(used.index(corner)) for corner in triangle) for triangle in half]
            lines += ["\tmtx\t" + " ".join(map(str, own)), "}"]
    if not packets:
        every = [corner for triangle in TRIANGLES for corner in triangle]
        lines += [f"adj\t{vertex} {vertex} 0 {vertex % 2} 0" for vertex in every]
        lines += [f"tri\t{3 * number} {3 * number + 1} {3 * number + 2}" for number in range(len(TRIANGLES))]
    counts = " ".join(str(bones.count(bone)) for bone in range(3))
    lines += [f"mtxv {counts}", f"mtxn {counts}", ""]
    new = {old.replace("_", ":"): line for old, line in changes.items()}
    return "\r\n".join(new.get(line.split(" ")[0].strip(), line) for line in lines).encode()
