"""Poses of Blitz3D files: a slow and obvious computation from the specification and the behaviour of the engine.

It reads the bytes with `struct`, uses none of our code and no numpy, and stays in the axes of the file. Matrices are
lists of four rows.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass, field
from typing import Any

Matrix = list[list[float]]
Numbers = tuple[float, ...]


@dataclass
class Part:
    """A node of the file."""

    name: bytes
    parent: Part | None
    position: Numbers
    scale: Numbers
    rotation: Numbers
    vertices: list[Numbers] | None = None
    weights: list[tuple[int, float]] = field(default_factory=list)
    is_bone: bool = False
    keys: dict[str, dict[int, Numbers]] = field(default_factory=lambda: {"position": {}, "scale": {}, "rotation": {}})


def parts_of(data: bytes) -> list[Part]:
    """Return the nodes of a file, parents before children, in file order."""
    parts: list[Part] = []
    _read(data, 8 + 4, 8 + struct.unpack_from("<I", data, 4)[0], None, parts)
    return parts


def _read(data: bytes, at: int, end: int, owner: Part | None, parts: list[Part]) -> None:
    while at + 8 <= end:
        tag, length = struct.unpack_from("<4sI", data, at)
        begin, at = at + 8, at + 8 + length
        if tag == b"NODE":
            name_end = data.index(b"\0", begin)
            numbers = struct.unpack_from("<10f", data, name_end + 1)
            node = Part(data[begin:name_end], owner, numbers[:3], numbers[3:6], numbers[6:])
            parts.append(node)
            _read(data, name_end + 41, at, node, parts)
        elif tag == b"MESH":
            _read(data, begin + 4, at, owner, parts)
        elif owner is not None and tag == b"VRTS":
            flags, sets, size = struct.unpack_from("<3i", data, begin)
            width = 4 * (3 + 3 * (flags & 1) + 2 * (flags & 2) + sets * size)
            owner.vertices = [struct.unpack_from("<3f", data, row) for row in range(begin + 12, at, width)]
        elif owner is not None and tag == b"BONE":
            owner.is_bone = True
            owner.weights += [struct.unpack_from("<if", data, row) for row in range(begin, at, 8)]
        elif owner is not None and tag == b"KEYS":
            flags = struct.unpack_from("<i", data, begin)[0]
            kinds = [("position", 3, 1), ("scale", 3, 2), ("rotation", 4, 4)]
            kinds = [kind for kind in kinds if flags & kind[2]]
            row = begin + 4
            while row < at:
                frame = struct.unpack_from("<i", data, row)[0]
                row += 4
                for kind, count, _ in kinds:
                    owner.keys[kind][frame] = struct.unpack_from(f"<{count}f", data, row)  # the last at a frame counts
                    row += 4 * count


def _value(keys: dict[int, Numbers], rest: Numbers, time: float, rotation: bool) -> Numbers:
    if not keys:
        return rest
    frames = sorted(keys)
    if time <= frames[0]:
        return keys[frames[0]]
    if time >= frames[-1]:
        return keys[frames[-1]]
    after = next(frame for frame in frames if frame > time)
    before = max(frame for frame in frames if frame <= time)
    u = (time - before) / (after - before)
    a, b = keys[before], keys[after]
    if rotation:
        return _slerp(_unit(a), _unit(b), u)
    return tuple(x + (y - x) * u for x, y in zip(a, b, strict=True))


def _unit(q: Numbers) -> Numbers:
    length = math.sqrt(sum(x * x for x in q))
    return tuple(x / length for x in q) if length else (1.0, 0.0, 0.0, 0.0)


def _slerp(a: Numbers, b: Numbers, u: float) -> Numbers:
    dot = sum(x * y for x, y in zip(a, b, strict=True))
    if dot < 0:  # the short way
        b, dot = tuple(-x for x in b), -dot
    half = math.sqrt(sum((y - x) ** 2 for x, y in zip(a, b, strict=True))) / 2
    angle = 2 * math.asin(min(half, 1.0))
    if angle < 1e-9:
        return b
    near, far = math.sin((1 - u) * angle) / math.sin(angle), math.sin(u * angle) / math.sin(angle)
    return tuple(near * x + far * y for x, y in zip(a, b, strict=True))


def _local(position: Numbers, scale: Numbers, rotation: Numbers) -> Matrix:
    w, x, y, z = _unit(rotation)
    # The images of the axes: Blitz3D turns the other way round from the usual matrix of a quaternion.
    turned = [
        (1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)),
        (2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)),
        (2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)),
    ]
    rows = [[turned[axis][row] * scale[axis] for axis in range(3)] + [position[row]] for row in range(3)]
    return [*rows, [0.0, 0.0, 0.0, 1.0]]


def _times(a: Matrix, b: Matrix) -> Matrix:
    return [[sum(a[i][k] * b[k][j] for k in range(4)) for j in range(4)] for i in range(4)]


def _inverse(m: Matrix) -> Matrix:
    """Return the inverse, by elimination."""
    rows = [[*row, *(float(i == j) for j in range(4))] for i, row in enumerate(m)]
    for column in range(4):
        best = max(range(column, 4), key=lambda row: abs(rows[row][column]))
        rows[column], rows[best] = rows[best], rows[column]
        rows[column] = [number / rows[column][column] for number in rows[column]]
        for other in range(4):
            if other != column:
                factor = rows[other][column]
                rows[other] = [x - factor * y for x, y in zip(rows[other], rows[column], strict=True)]
    return [row[4:] for row in rows]


def _place(m: Matrix, point: Numbers) -> Numbers:
    return tuple(sum(m[i][k] * point[k] for k in range(3)) + m[i][3] for i in range(3))


def world_matrices(parts: list[Part], time: float | None) -> list[Matrix]:
    """Return the world matrix of each node; without a time as stored, without keys."""
    worlds: dict[int, Matrix] = {}
    for part in parts:
        stored: dict[str, Any] = {"position": part.position, "scale": part.scale, "rotation": part.rotation}
        if time is not None:
            for kind, keys in part.keys.items():
                stored[kind] = _value(keys, stored[kind], time, kind == "rotation")
        local = _local(stored["position"], stored["scale"], stored["rotation"])
        worlds[id(part)] = local if part.parent is None else _times(worlds[id(part.parent)], local)
    return [worlds[id(part)] for part in parts]


def vertices(parts: list[Part], time: float) -> dict[int, list[Numbers]]:
    """Return the vertices of each mesh in the space of the file, by the number of its node.

    A vertex follows its bones as they moved from their stored pose, by weights that are divided by their sum. A vertex
    without weights follows the node of the mesh.
    """
    rest, now = world_matrices(parts, None), world_matrices(parts, time)
    numbers = {id(part): number for number, part in enumerate(parts)}
    influences: dict[int, dict[int, list[tuple[int, float]]]] = {}
    for number, part in enumerate(parts):
        above = part.parent
        while above is not None and above.vertices is None:
            above = above.parent
        if part.is_bone and above is not None:
            of_mesh = influences.setdefault(numbers[id(above)], {})
            for vertex, weight in part.weights:
                of_mesh.setdefault(vertex, []).append((number, weight))
    placed: dict[int, list[Numbers]] = {}
    for number, part in enumerate(parts):
        if part.vertices is None:
            continue
        of_vertices = influences.get(number, {})
        moved = {
            bone: _times(now[bone], _times(_inverse(rest[bone]), rest[number]))
            for bone in {bone for bones in of_vertices.values() for bone, _ in bones}
        }
        placed[number] = []
        for index, vertex in enumerate(part.vertices):
            bones = of_vertices.get(index, [])
            total = sum(weight for _, weight in bones)
            if not total:
                placed[number].append(_place(now[number], vertex))
                continue
            points = [(_place(moved[bone], vertex), weight / total) for bone, weight in bones]
            placed[number].append(tuple(sum(point[i] * share for point, share in points) for i in range(3)))
    return placed
