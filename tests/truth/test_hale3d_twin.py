"""The only real Hale3D animation, compared with its original MD5 file, frame by frame.

A small parser and player in plain Python reads the MD5 file, from the MD5 conventions alone.
Bob.md5anim has 140 frames; the Hale3D file repeats frame 0 as its frame 140, at a scale of 0.1.
"""

from __future__ import annotations

import math
import re
from functools import cache

import numpy as np
import pytest

import keyframer
from tests.corpus import CORPUS, needs_corpus
from tests.reference_curves.slow import product

pytestmark = needs_corpus

FOLDER = CORPUS / "hale3d"
SCALE = 0.1
Quaternion = tuple[float, float, float, float]
Vector = tuple[float, float, float]


class Twin:
    """A parsed ``.md5anim`` file: names, parents, and the world transform of every joint at a frame."""

    def __init__(self, text: str) -> None:
        joints = re.findall(r'^\s*"([^"]*)"\s+(-?\d+)\s+(\d+)\s+(\d+)', section(text, "hierarchy"), re.M)
        self.names = [name for name, *_ in joints]
        self.links = [(int(parent), int(flags), int(start)) for _, parent, flags, start in joints]
        rows = re.findall(r"\(([^)]*)\)\s*\(([^)]*)\)", section(text, "baseframe"))
        self.base = [[*map(float, place.split()), *map(float, turn.split())] for place, turn in rows]
        bodies = re.findall(r"^frame \d+ \{([^}]*)\}", text, re.M)
        self.frames = [[float(word) for word in body.split()] for body in bodies]
        self.rate = int(re.search(r"frameRate (\d+)", text).group(1))  # type: ignore[union-attr]

    def world(self, frame: int) -> list[tuple[Vector, Quaternion]]:
        placed: list[tuple[Vector, Quaternion]] = []
        for (parent, flags, start), base in zip(self.links, self.base, strict=True):
            values = list(base)
            for bit in range(6):
                if flags >> bit & 1:
                    values[bit] = self.frames[frame][start]
                    start += 1
            x, y, z = values[3:]
            turn = (x, y, z, -math.sqrt(max(0.0, 1 - x * x - y * y - z * z)))
            place = (values[0], values[1], values[2])
            if parent >= 0:
                above, around = placed[parent]
                moved = turned(around, place)
                place = (above[0] + moved[0], above[1] + moved[1], above[2] + moved[2])
                turn = product(around, turn)
            placed.append((place, turn))
        return placed


def section(text: str, name: str) -> str:
    match = re.search(name + r" \{([^}]*)\}", text)
    return match.group(1)


def turned(q: Quaternion, v: Vector) -> Vector:
    x, y, z, _ = product(product(q, (*v, 0.0)), (-q[0], -q[1], -q[2], q[3]))
    return x, y, z


def matrix(q: Quaternion) -> list[list[float]]:
    columns = [turned(q, axis) for axis in ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))]
    return [[column[row] for column in columns] for row in range(3)]


@cache
def twin() -> Twin:
    return Twin((FOLDER / "Bob.md5anim").read_text("latin-1"))


@cache
def scene() -> keyframer.Scene:
    return keyframer.load(FOLDER / "bob_lamp_update.anim")


def test_names_parents_and_rate() -> None:
    bones = [node for node in scene().nodes if node.kind.value == "bone"]
    assert [node.name for node in bones] == twin().names
    assert [-1 if node.parent is None else node.parent for node in bones] == [parent for parent, *_ in twin().links]
    assert scene().clips[0].frames_per_second == twin().rate == 24
    assert len(twin().frames) == 140


def test_every_joint_at_every_frame() -> None:
    pose = keyframer.pose(scene(), frames=range(141))
    for frame in range(140):
        truth = twin().world(frame)
        places = np.array([place for place, _ in truth]) * SCALE
        assert np.abs(pose.world[frame, :33, :3, 3] - places).max() < 1e-3
        turns = np.array([matrix(turn) for _, turn in truth])
        assert np.abs(pose.world[frame, :33, :3, :3] - turns).max() < 1e-3  # w is computed from xyz with six digits
    np.testing.assert_allclose(pose.world[140], pose.world[0], atol=1e-9)


def test_between_frames_positions_are_lerped_and_rotations_slerped() -> None:
    rig = keyframer.pose(scene(), frames=[10, 10.25, 11]).local[:, :33]
    for joint in range(33):
        np.testing.assert_allclose(
            rig[1, joint, :3, 3], 0.75 * rig[0, joint, :3, 3] + 0.25 * rig[2, joint, :3, 3], atol=1e-9
        )
        full_rotation = rig[0, joint, :3, :3].T @ rig[2, joint, :3, :3]
        quarter_rotation = rig[0, joint, :3, :3].T @ rig[1, joint, :3, :3]
        assert angle(quarter_rotation) == pytest.approx(angle(full_rotation) / 4, abs=2e-6)


def angle(turn: np.ndarray) -> float:
    """The angle of a small rotation, without the arc cosine, which is imprecise near 0."""
    odd = [turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]]
    return math.atan2(math.hypot(*odd), float(np.trace(turn)) - 1)


def test_the_model_matches_the_md5_mesh_in_the_bind_pose() -> None:
    """The ``.md5mesh`` has the same joints and nearly the same mesh (494 instead of 489 vertices in the body)."""
    text = (FOLDER / "Bob.md5mesh").read_text("latin-1")
    rows = re.findall(r'^\s*"([^"]*)"\s+(-?\d+)\s+\(([^)]*)\)\s*\(([^)]*)\)', section(text, "joints"), re.M)
    model = keyframer.load(FOLDER / "bob_lamp_update.mdl", animation=None)
    rest = keyframer.pose(model, frames=[0])
    bound = np.linalg.inv(model.skins[0].inverse_bind)
    for number, (name, parent, place, turn) in enumerate(rows):
        assert model.nodes[number].name == name
        assert (-1 if model.nodes[number].parent is None else model.nodes[number].parent) == int(parent)
        origin = np.array([float(word) for word in place.split()]) * SCALE
        x, y, z = (float(word) for word in turn.split())
        frame = matrix((x, y, z, -math.sqrt(max(0.0, 1 - x * x - y * y - z * z))))
        assert np.abs(bound[number, :3, 3] - origin).max() < 1e-3
        assert np.abs(bound[number, :3, :3] - frame).max() < 1e-3
        assert np.abs(rest.world[0, number] - bound[number]).max() < 1e-5


def test_in_the_bind_pose_the_skin_does_not_move_the_vertices() -> None:
    model = keyframer.load(FOLDER / "bob_lamp_update.mdl", animation=None)
    rest = keyframer.pose(model, frames=[0])
    for number, node in enumerate(model.nodes):
        if node.mesh is not None:
            stored = model.meshes[node.mesh].positions
            assert len(stored) > 0
            np.testing.assert_allclose(rest.vertices(number)[0], stored, atol=1e-5)


def test_boxes_and_parts_of_the_pair() -> None:
    pair = scene()
    assert pair.clips[0].bounds.shape == (141, 2, 3)
    assert len(pair.meshes) == len(pair.skins) == len(pair.materials) == 6
    assert pair.materials[0].maps["texture1"].file_name == "Resources/Materials/bob_body.mat"
    assert pair.nodes[0].raw_name == b'"origin"'
    assert pair.nodes[5].raw_name == b'"origin"'
    assert not list(pair.issues)
    assert pair.space.up == "z"
    assert not pair.space.v_up
