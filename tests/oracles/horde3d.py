"""Poses of Horde3D models: a slow and obvious computation after the public source of the engine.

It reads the bytes with `struct` and the scene file with `xml.etree`, and uses none of our code. Matrices are for column
vectors. The engine shows whole frames; a compressed entity has one for all times. It does not divide weights by their
sum, of which its converter cuts up to four 255ths off: this computation does, as everything that shows glTF.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass, field
from typing import Any
from xml.etree import ElementTree

import numpy as np

Matrix = Any
Frame = tuple[float, ...]


def animation(data: bytes) -> dict[bytes, list[Frame]]:
    """Return the frames of each entity: rotation x y z w, position, scale."""
    magic, version, entities, frames = struct.unpack_from("<4s3I", data)
    assert magic == b"H3DA"
    assert version in (2, 3)
    at, found = 16, {}
    for _ in range(entities):
        name, at = data[at : at + 256].split(b"\0")[0], at + 256
        count = frames
        if version == 3:
            count, at = 1 if data[at] else frames, at + 1
        found.setdefault(name, [struct.unpack_from("<10f", data, at + 40 * frame) for frame in range(count)])
        at += 40 * count
    assert at == len(data)
    return found


@dataclass
class Geometry:
    """The arrays of a geometry file."""

    inverse_bind: Any
    streams: dict[int, Any]
    corners: Any
    targets: dict[bytes, tuple[Any, Any]] = field(default_factory=dict)
    """vertices and differences of position of each morph target"""


_TYPES = {0: ("<f4", 3), 1: ("<i2", 3), 4: ("<u1", 4), 5: ("<u1", 4), 6: ("<f4", 2), 7: ("<f4", 2)}


def geometry(data: bytes) -> Geometry:
    magic, version, joints = struct.unpack_from("<4s2I", data)
    assert (magic, version) == (b"H3DG", 5)
    bind = np.frombuffer(data, "<f4", 16 * joints, 12).reshape(-1, 4, 4).transpose(0, 2, 1)
    at = 12 + 64 * joints
    count, vertices = struct.unpack_from("<2I", data, at)
    at, streams = at + 8, {}
    for _ in range(count):
        kind, size = struct.unpack_from("<2I", data, at)
        at += 8
        if kind in _TYPES:
            dtype, width = _TYPES[kind]
            streams[kind] = np.frombuffer(data, dtype, vertices * width, at).reshape(-1, width)
        at += size * vertices
    (corners,) = struct.unpack_from("<I", data, at)
    found = Geometry(bind, streams, np.frombuffer(data, "<u4", corners, at + 4))
    at += 4 + 4 * corners
    (targets,) = struct.unpack_from("<I", data, at)
    at += 4
    for _ in range(targets):
        name, (moved,) = data[at : at + 256].split(b"\0")[0], struct.unpack_from("<I", data, at + 256)
        numbers = np.frombuffer(data, "<u4", moved, at + 260)
        at += 260 + 4 * moved
        (count,) = struct.unpack_from("<I", data, at)
        at += 4
        for _ in range(count):
            kind, size = struct.unpack_from("<2I", data, at)
            if kind == 0:
                found.targets[name] = numbers, np.frombuffer(data, "<f4", 3 * moved, at + 8).reshape(-1, 3)
            at += 8 + size * moved
    assert at == len(data)
    return found


@dataclass
class Part:
    """An element of a scene file."""

    tag: str
    name: str
    parent: Part | None
    attributes: dict[str, str]

    def number(self, name: str, default: float = 0.0) -> float:
        return float(self.attributes.get(name, default))


def parts_of(text: bytes) -> list[Part]:
    """Return the elements of a scene file, parents before children, in file order."""
    parts: list[Part] = []

    def add(element: Any, parent: Part | None) -> None:
        part = Part(element.tag, element.get("name", ""), parent, dict(element.attrib))
        parts.append(part)
        for child in element:
            if child.tag != "Attachment":
                add(child, part)

    add(ElementTree.fromstring(text), None)
    return parts


def _turn(axis: int, degrees: float) -> Matrix:
    sine, cosine = math.sin(math.radians(degrees)), math.cos(math.radians(degrees))
    matrix = np.eye(4)
    first, second = (axis + 1) % 3, (axis + 2) % 3
    matrix[first, first] = matrix[second, second] = cosine
    matrix[first, second], matrix[second, first] = -sine, sine
    return matrix


def _of_quaternion(x: float, y: float, z: float, w: float) -> Matrix:
    length = math.sqrt(x * x + y * y + z * z + w * w)
    x, y, z, w = x / length, y / length, z / length, w / length
    matrix = np.eye(4)
    matrix[:3, :3] = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]
    return matrix


def of_frame(frame: Frame) -> Matrix:
    place, size = np.eye(4), np.diag([*frame[7:10], 1.0])
    place[:3, 3] = frame[4:7]
    return place @ _of_quaternion(*frame[:4]) @ size


def local(part: Part, frames: dict[bytes, list[Frame]], frame: int) -> Matrix:
    """Return the matrix of an element relative to its parent: T Ry Rx Rz S, or that of the animation."""
    moving = frames.get(part.name.encode()) if part.tag in ("Joint", "Mesh") else None
    if moving:
        return of_frame(moving[min(frame, len(moving) - 1)])
    place = np.eye(4)
    place[:3, 3] = [part.number(f"t{axis}") for axis in "xyz"]
    size = np.diag([*(part.number(f"s{axis}", 1.0) for axis in "xyz"), 1.0])
    return place @ _turn(1, part.number("ry")) @ _turn(0, part.number("rx")) @ _turn(2, part.number("rz")) @ size


def world_matrices(parts: list[Part], frames: dict[bytes, list[Frame]], frame: int) -> list[Matrix]:
    found: dict[int, Matrix] = {}
    for part in parts:
        above = np.eye(4) if part.parent is None else found[id(part.parent)]
        found[id(part)] = above @ local(part, frames, frame)
    return [found[id(part)] for part in parts]


def vertices(
    parts: list[Part], model: Geometry, frames: dict[bytes, list[Frame]], frame: int
) -> dict[int, tuple[Any, Any]]:
    """Return for each mesh, by its number among the parts, the vertices that it uses and their places in the world."""
    world = world_matrices(parts, frames, frame)
    in_model: dict[int, Matrix] = {}
    skin = {number: np.eye(4) for number in range(len(model.inverse_bind))}
    for part in parts:
        if part.tag == "Joint":
            above = in_model.get(id(part.parent), np.eye(4))
            in_model[id(part)] = above @ local(part, frames, frame)
            joint = int(part.number("jointIndex"))
            if joint in skin:
                skin[joint] = in_model[id(part)] @ model.inverse_bind[joint].astype(float)
    found = {}
    for number, part in enumerate(parts):
        if part.tag != "Mesh":
            continue
        first = int(part.number("batchStart"))
        used = np.unique(model.corners[first : first + int(part.number("batchCount"))])
        rows = []
        for vertex in used.tolist():
            place = np.append(model.streams[0][vertex].astype(float), 1.0)
            if 4 in model.streams and 5 in model.streams and model.streams[5][vertex].any():
                weights = model.streams[5][vertex] / 255
                matrices = [skin[joint] for joint in model.streams[4][vertex].tolist()]
                place = sum(w * (m @ place) for w, m in zip(weights / weights.sum(), matrices, strict=True))
            rows.append((world[number] @ place)[:3])
        found[number] = used, np.array(rows).reshape(-1, 3)
    return found
