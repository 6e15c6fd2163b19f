"""The same motion written as 3D Studio, U3D and node animation keys gives the same poses.

The motion is right-handed and Z up, with counter-clockwise rotations, each relative to the key before. 3D Studio stores
clockwise rotations. U3D stores x, z, y, which is left-handed, so that its rotations are also reversed. Node animations
have no hierarchy and store radians before the axis.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import keyframer
from keyframer.formats.kit.scene_reading import scene_of
from keyframer.inspecting.samples import Sample
from tests.building import nodeanim, uto3d
from tests.building.threeds import chunk

FRAMES = np.arange(-1, 46, 0.5)
SWAP = np.array([[1, 0, 0, 0], [0, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 1]], float)
SHAPES = [(0, 0, 0, 0, 0), (0.5, -0.25, 0.25, 0.25, 0.5), (-0.5, 0.5, -0.75, 0, 0.25), (0, 0, 1, 0.5, 0)]
Rows = list[tuple[float, ...]]


@dataclass
class Motion:
    """Keys at the same frames for position, rotation (axis and angle) and scale."""

    name: bytes
    frames: list[int]
    places: Rows
    turns: Rows
    sizes: Rows
    shapes: list[tuple[float, ...]]
    parent: int = -1


BODY = Motion(
    b"body",
    [0, 10, 25, 40],
    [(0, 0, 1), (4, 0, 1), (4, 3, 2), (-2, 1, 0.5)],
    [(0, 0, 1, 0.25), (0, 0, 1, 2.5), (1, 0.5, 0, 1.25), (0.25, -1, 0.5, 2.0)],
    [(1, 1, 1), (1, 2, 1), (0.5, 1, 1.5), (1, 1, 1)],
    SHAPES,
)
ARM = Motion(
    b"arm",
    [0, 5, 20, 44],
    [(1, 0, 0), (1, 0, 0.5), (1.5, 0, 0), (1, -1, 0)],
    [(0, 1, 0, 0.5), (0, 1, 0, 1.5), (0, 1, 0, 1.5), (1, 1, 1, -2.0)],
    [(1, 1, 1), (1, 1, 1), (2, 1, 1), (1, 1, 3)],
    SHAPES[::-1],
    0,
)
MOTIONS = [BODY, ARM]


def track(number: int, frames: list[int], rows: Rows, shapes: list[tuple[float, ...]]) -> bytes:
    keys = b""
    for frame, row, shape in zip(frames, rows, shapes, strict=True):
        keys += struct.pack("<IH5f", frame, 31, *shape) + struct.pack(f"<{len(row)}f", *row)
    return chunk(number, bytes(10), struct.pack("<I", len(frames)), keys)


def as_3ds() -> keyframer.Scene:
    nodes = []
    for number, motion in enumerate(MOTIONS):
        clockwise = [(angle, -x, -y, -z) for x, y, z, angle in motion.turns]
        nodes.append(
            chunk(
                0xB002,
                chunk(0xB030, struct.pack("<h", number)),
                chunk(0xB010, b"$$$DUMMY\0" + struct.pack("<HHh", 0x4000, 0, motion.parent)),
                chunk(0xB011, motion.name + b"\0"),
                track(0xB020, motion.frames, motion.places, motion.shapes),
                track(0xB021, motion.frames, clockwise, motion.shapes),
                track(0xB022, motion.frames, motion.sizes, motion.shapes),
            )
        )
    header = chunk(0xB00A, struct.pack("<H", 5), b"\0", struct.pack("<I", 100))
    data = chunk(0x4D4D, chunk(2, struct.pack("<I", 3)), chunk(0x3D3D), chunk(0xB000, header, *nodes))
    return scene(data, "3ds")


def as_uto3d() -> keyframer.Scene:
    ids = [50, 51]
    loaded = uto3d.Scene(frames=(0, 100, 30, 160))
    for number, motion in enumerate(MOTIONS):
        parent = -1 if motion.parent < 0 else ids[motion.parent]
        loaded.bones.append(uto3d.node(motion.name, ids[number], parent))
        values = [
            (0, [(x, z, y) for x, y, z in motion.places]),
            (1, [quaternion((x, z, y), -angle) for x, y, z, angle in motion.turns]),
            (2, [(x, z, y, 0, 0, 0, 0) for x, y, z in motion.sizes]),
        ]
        for kind, rows in values:
            keys = [
                (160 * frame, list(row), 31, list(shape))
                for frame, row, shape in zip(motion.frames, rows, motion.shapes, strict=True)
            ]
            loaded.controllers.append({"type": kind, "id": 0, "owner": ids[number], "scheme": 1, "keys": keys})
    return scene(uto3d.write(loaded, uto3d.B), "uto3d")


def quaternion(axis: tuple[float, ...], angle: float) -> tuple[float, ...]:
    length = math.hypot(*axis)
    return (*(x / length * math.sin(angle / 2) for x in axis), math.cos(angle / 2))


def as_nodeanim() -> keyframer.Scene:
    bones = []
    for motion in MOTIONS:
        turns = [(angle, x, y, z) for x, y, z, angle in motion.turns]
        keys = [
            tuple(
                nodeanim.Key(0, float(frame), tuple(row), shape)
                for frame, row, shape in zip(motion.frames, rows, motion.shapes, strict=True)
            )
            for rows in (motion.places, turns, motion.sizes)
        ]
        bones.append(nodeanim.Bone(motion.name, nodeanim.TCB, *keys))
    data = nodeanim.write(nodeanim.Clip(tuple(bones)), nodeanim.Framing())
    return scene(data, "nodeanim", time_unit="frames", rotation_keys="relative")


def scene(data: bytes, name: str, **options: Any) -> keyframer.Scene:
    loaded = scene_of(keyframer.decode(data, format=name), options)
    assert [node.name for node in loaded.nodes] == ["body", "arm"]
    assert loaded.clips[0].frames_per_second == 30
    return loaded


def test_the_three_formats_give_the_same_poses() -> None:
    studio, fantasy, bare = (keyframer.pose(scene, frames=FRAMES) for scene in (as_3ds(), as_uto3d(), as_nodeanim()))
    np.testing.assert_allclose(studio.local, bare.local, rtol=0, atol=2e-6)
    np.testing.assert_allclose(studio.local, SWAP @ fantasy.local @ SWAP, rtol=0, atol=2e-6)
    np.testing.assert_allclose(studio.world, SWAP @ fantasy.world @ SWAP, rtol=0, atol=5e-6)
    np.testing.assert_allclose(studio.world[:, 0], bare.world[:, 0], rtol=0, atol=2e-6)
    moved = np.abs(np.diff(studio.world, axis=0)).max(axis=(1, 2, 3))
    assert (moved[2:-3] > 1e-3).all()  # there was something to compare


def test_the_poses_at_the_keys_are_those_of_the_motion() -> None:
    """Computed by hand: two rotations about Z in sequence, counter-clockwise seen from above."""
    for scene in (as_3ds(), as_nodeanim()):
        world = keyframer.pose(scene, frames=[0, 10]).world[:, 0]
        for at, angle in enumerate((0.25, 2.75)):
            size = (1, 2, 1) if at else (1, 1, 1)
            turn = np.array([[math.cos(angle), -math.sin(angle), 0], [math.sin(angle), math.cos(angle), 0], [0, 0, 1]])
            np.testing.assert_allclose(world[at, :3, :3], turn * size, atol=1e-6)


@pytest.mark.parametrize("node", [0, 1])
def test_in_common_axes_the_positions_are_the_same(node: int) -> None:
    studio, fantasy = (
        Sample(scene, frames=[0, 12.5, 40], times=None, axes="y-up").world(node) for scene in (as_3ds(), as_uto3d())
    )
    np.testing.assert_allclose(studio[:, :3, 3], fantasy[:, :3, 3], atol=5e-6)
    assert (np.linalg.det(fantasy[:, :3, :3]) > 0).all()
