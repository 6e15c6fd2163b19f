"""Poses of MD5 files: a slow and obvious computation after the public source of the engine.

It reads words from the text and uses none of our code. Numbers are rounded to singles, as the engine does.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Matrix = Any


def words_of(text: bytes) -> list[str]:
    plain = re.sub(r'("[^"\n]*")|//[^\n]*|/\*(?s:.*?)\*/', lambda match: match[1] or "", text.decode("latin-1"))
    return re.findall(r'"[^"\n]*"|[{}()]|[^\s{}()"]+', plain)


def single(word: str) -> float:
    return float(np.float32(word))


def turn_of(x: float, y: float, z: float) -> Matrix:
    """Return the matrix of a quaternion whose w is not positive."""
    w = -math.sqrt(max(0.0, 1 - x * x - y * y - z * z))
    length = math.sqrt(x * x + y * y + z * z + w * w)
    x, y, z, w = x / length, y / length, z / length, w / length
    return np.array([
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w), 0],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w), 0],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y), 0],
        [0, 0, 0, 1],
    ])  # fmt: skip


def matrix_of(numbers: list[float]) -> Matrix:
    """Return the matrix of a position and three numbers of a quaternion."""
    place = np.eye(4)
    place[:3, 3] = numbers[:3]
    return place @ turn_of(*numbers[3:])


@dataclass
class Animation:
    """An animation."""

    joints: list[tuple[str, int, int, int]] = field(default_factory=list)
    base: list[list[float]] = field(default_factory=list)
    frames: list[list[float]] = field(default_factory=list)
    rate: int = 0


def animation(text: bytes) -> Animation:
    words, found, at = words_of(text), Animation(), 0
    while at < len(words):
        word, at = words[at], at + 1
        if word == "frameRate":
            found.rate = int(words[at])
        if word not in ("hierarchy", "baseframe", "frame"):
            continue
        begin = words.index("{", at) + 1
        at = words.index("}", begin)
        inside = [inner for inner in words[begin:at] if inner not in "()"]
        if word == "hierarchy":
            rows = [inside[row : row + 4] for row in range(0, len(inside), 4)]
            found.joints = [(name.strip('"'), *map(int, rest)) for name, *rest in rows]  # type: ignore[misc]
        elif word == "baseframe":
            found.base = [[single(one) for one in inside[row : row + 6]] for row in range(0, len(inside), 6)]
        else:
            found.frames.append([single(one) for one in inside])
    return found


def world_matrices(moving: Animation, frame: int) -> list[Matrix]:
    found: list[Matrix] = []
    for (_, parent, flags, first), base in zip(moving.joints, moving.base, strict=True):
        numbers, at = list(base), first
        for bit in range(6):
            if flags >> bit & 1:
                numbers[bit], at = moving.frames[frame][at], at + 1
        local = matrix_of(numbers)
        found.append(local if parent < 0 else found[parent] @ local)
    return found


@dataclass
class Mesh:
    """A mesh of a model."""

    shader: str = ""
    vertices: list[tuple[float, float, int, int]] = field(default_factory=list)
    triangles: list[list[int]] = field(default_factory=list)
    weights: list[tuple[int, float, list[float]]] = field(default_factory=list)


def model(text: bytes) -> tuple[list[tuple[str, int, list[float]]], list[Mesh]]:
    """Return joints (name, parent, six numbers) and meshes."""
    words = [word for word in words_of(text) if word not in "()"]
    joints, meshes, at = [], [], 0
    while at < len(words):
        word, at = words[at], at + 1
        if word == "joints":
            at += 1
            while words[at] != "}":
                joints.append(
                    (words[at].strip('"'), int(words[at + 1]), [single(one) for one in words[at + 2 : at + 8]])
                )
                at += 8
        elif word == "mesh":
            meshes.append(Mesh())
        elif word == "shader":
            meshes[-1].shader = words[at].strip('"')
        elif word == "vert":
            s, t = map(single, words[at + 1 : at + 3])
            meshes[-1].vertices.append((s, t, int(words[at + 3]), int(words[at + 4])))
        elif word == "tri":
            meshes[-1].triangles.append([int(one) for one in words[at + 1 : at + 4]])
        elif word == "weight":
            position = [single(one) for one in words[at + 3 : at + 6]]
            meshes[-1].weights.append((int(words[at + 1]), single(words[at + 2]), position))
    return joints, meshes


def vertices(mesh: Mesh, joints: list[Matrix]) -> Any:
    """Return the places of the vertices of a mesh, with the world matrices of its joints."""
    rows = []
    for _, _, first, count in mesh.vertices:
        place = np.zeros(3)
        for joint, bias, position in mesh.weights[first : first + count]:
            place += bias * (joints[joint] @ [*position, 1.0])[:3]
        total = sum(bias for _, bias, _ in mesh.weights[first : first + count])
        rows.append(place / total if total else place)
    return np.array(rows).reshape(-1, 3)


@dataclass
class Camera:
    """A camera: the numbers of the last frames of shots, and rows of position, orientation and field of view."""

    cuts: list[int] = field(default_factory=list)
    frames: list[list[float]] = field(default_factory=list)
    rate: int = 0


def camera(text: bytes) -> Camera:
    words, found, at = words_of(text), Camera(), 0
    found.rate = int(words[words.index("frameRate") + 1])
    at = words.index("cuts") + 2
    while words[at] != "}":
        if words[at] in ("pos", "rot", "rotA"):
            at = words.index(")", at) + 1
            continue
        found.cuts.append(int(words[at]))
        at += 1
    numbers = [single(word) for word in words[words.index("camera") + 2 : -1] if word not in "()"]
    found.frames = [numbers[at : at + 7] for at in range(0, len(numbers), 7)]
    return found


def view(shot: Camera, time: float) -> tuple[Matrix, float]:
    """Return the matrix of a camera (right, up, back) and its field of view at a time in frames, as the engine shows
    it: it counts frames from the start, skips one for each cut that the count has reached, and mixes two frames."""
    frame, share = math.floor(time), time - math.floor(time)
    for cut in shot.cuts:
        if frame < cut:
            break
        frame += 1
    if frame > len(shot.frames) - 2:
        frame, share = len(shot.frames) - 1, 0.0
    one, two = shot.frames[frame], shot.frames[min(frame + 1, len(shot.frames) - 1)]
    numbers = [a * (1 - share) + b * share for a, b in zip(one, two, strict=True)]
    first, last = turn_of(*one[3:6])[:3, :3], turn_of(*two[3:6])[:3, :3]
    angle = math.acos(min(1.0, max(-1.0, (np.trace(first.T @ last) - 1) / 2)))
    turned = first
    if angle > 1e-9:
        generator = (first.T @ last - last.T @ first) / (2 * math.sin(angle))
        part = share * angle
        turned = first @ (np.eye(3) + math.sin(part) * generator + (1 - math.cos(part)) * generator @ generator)
    forward, left, up = turned.T
    matrix = np.eye(4)
    matrix[:3, 0], matrix[:3, 1], matrix[:3, 2], matrix[:3, 3] = -left, up, -forward, numbers[:3]
    return matrix, numbers[6]
