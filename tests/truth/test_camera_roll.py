"""The roll of cameras, compared with ASCII exports by 3ds Max of the scenes that two 3DS files were made from.

The exports have a sampled rotation for every frame, left-handed and relative to the frame before. Between the keys of
the 3DS files 3ds Max played other curves, so only the frames of keys are compared.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

import keyframer
from tests.corpus import CORPUS, needs_corpus

Matrix = npt.NDArray[np.float64]


def played_rotations(path: Path) -> dict[int, Matrix]:
    """Frame → world rotation of the camera, from the text alone: the product of the samples, in double precision."""
    text = path.read_text("ascii").split("*CAMERAOBJECT")[1]
    total, rotations = np.eye(3), {}
    for line in re.findall(r"\*CONTROL_ROT_SAMPLE\s+(.*)", text):
        ticks, *axis, angle = map(float, line.split())
        x, y, z = np.array(axis) / np.linalg.norm(axis)
        cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
        total = (np.eye(3) - np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross) @ total
        rotations[round(ticks / 160)] = total
    return rotations


@needs_corpus
@pytest.mark.parametrize("name", ["CameraRollAnim", "CameraRollAnimWithChildObject"])
def test_cameras_roll_as_3ds_max_played_them(name: str) -> None:
    played = played_rotations(CORPUS / "ase" / f"assimp__{name}.ase")
    scene = keyframer.load(CORPUS / "3ds" / f"assimp__assimp__{name}.3ds")
    (camera,) = (number for number, node in enumerate(scene.nodes) if node.camera is not None)
    (roll,) = (channel.track for channel in scene.clips[0].channels if channel.track.kind == "roll")
    frames = [int(time) for time in roll.times]
    assert max(frames) == 120
    assert min(roll.values) == pytest.approx(-77.3, abs=0.1)
    for frame, world in zip(frames, keyframer.pose(scene, frames=frames).world[:, camera, :3, :3], strict=True):
        cosine = (np.trace(world.T @ played[frame]) - 1) / 2
        assert np.degrees(np.arccos(min(cosine, 1.0))) < 0.05, frame
