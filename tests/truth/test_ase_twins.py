"""Scenes that 3ds Max exported both as ASE and as 3DS play the same, as far as the two formats can store them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

import keyframer
from keyframer.scene import Scene
from tests.corpus import CORPUS, needs_corpus

Floats = npt.NDArray[np.float64]

pytestmark = needs_corpus


def twins(name: str) -> tuple[Scene, Scene]:
    def only(folder: str) -> Path:
        (path,) = (path for path in (CORPUS / folder).iterdir() if path.stem.endswith(f"__{name}"))
        return path

    return keyframer.load(only("ase")), keyframer.load(only("3ds"))


def test_the_cube_rotates_the_same_in_every_frame() -> None:
    """Within four decimals, accumulated over 181 samples."""
    ase, threeds = twins("RotatingCube")
    (track,) = (channel.track for channel in ase.clips[0].channels)
    frames = track.times / 160
    assert frames.tolist() == list(range(181))
    played = keyframer.pose(ase, frames=frames).world[:, 0]
    expected = keyframer.pose(threeds, frames=frames).world[:, 0]
    assert np.abs(np.diff(expected[:, 0, 0])).max() > 0.01  # it does rotate
    np.testing.assert_allclose(played, expected, atol=7e-4)


def camera_of(scene: Scene, frames: Floats) -> tuple[Floats, Floats, float]:
    """World matrices of the camera, positions of its target, and its field of view."""
    (number,) = (at for at, node in enumerate(scene.nodes) if node.camera is not None)
    node = scene.nodes[number]
    assert node.target is not None
    assert node.camera is not None
    world = keyframer.pose(scene, frames=frames).world
    return world[:, number], world[:, node.target, :3, 3], scene.cameras[node.camera].fov_degrees


@pytest.mark.parametrize(
    ("name", "rolls", "off"),
    [
        ("CameraRollAnim", [0, 120], 0.02),
        ("CameraRollAnimWithChildObject", [0, 120], 0.03),  # at 120 the rounding of 120 angles has added up to 0.028
        ("TargetCameraAnim", [0, 30, 60, 90], 0.02),
    ],
)
def test_cameras_agree_at_the_keys_of_the_3ds_file(name: str, rolls: list[int], off: float) -> None:
    ase, threeds = twins(name)
    (camera,) = (at for at, node in enumerate(threeds.nodes) if node.camera is not None)
    owners = {camera, threeds.nodes[camera].target}
    tracks = [channel.track for channel in threeds.clips[0].channels if channel.node in owners]
    moving = [track.times for track in tracks if track.kind == "position" and len(track.times) > 1]
    keys = np.unique(np.concatenate([*moving, [0.0]]))
    (one, goal, fov), (other, other_goal, other_fov) = camera_of(ase, keys), camera_of(threeds, keys)
    np.testing.assert_allclose(one[:, :3, 3], other[:, :3, 3], atol=1e-3)
    np.testing.assert_allclose(goal, other_goal, atol=1e-3)
    aims = np.clip((one[:, :3, 2] * other[:, :3, 2]).sum(axis=1), -1, 1)
    assert np.degrees(np.arccos(aims)).max() < 0.02
    assert fov == pytest.approx(other_fov, abs=0.02)
    frames = np.array(rolls, float)
    (one, _, _), (other, _, _) = camera_of(ase, frames), camera_of(threeds, frames)
    turned = np.matmul(np.swapaxes(one[:, :3, :3], 1, 2), other[:, :3, :3])
    assert np.abs(np.degrees(np.arctan2(turned[:, 1, 0], turned[:, 0, 0]))).max() < off


def test_the_camera_does_roll() -> None:
    ase, _ = twins("CameraRollAnim")
    (roll,) = (channel.track for channel in ase.clips[0].channels if channel.track.kind == "roll")
    assert roll.values[-1] == pytest.approx(-77.3, abs=0.1)


def test_between_keys_the_ase_samples_differ_from_the_3ds_curve() -> None:
    ase, threeds = twins("TargetCameraAnim")
    frames = np.arange(91.0)
    ase_positions, threeds_positions = camera_of(ase, frames)[0][:, :3, 3], camera_of(threeds, frames)[0][:, :3, 3]
    apart = np.linalg.norm(ase_positions - threeds_positions, axis=1)
    assert 20 < apart.max() < 30
    assert apart[[0, 30, 60, 90]].max() < 1e-3


def test_a_child_of_a_camera_is_at_its_sampled_position() -> None:
    """Box02 is a child of the rolling camera: its samples are relative, its matrix is in world space."""
    ase, _ = twins("CameraRollAnimWithChildObject")
    number = [node.name for node in ase.nodes].index("Box02")
    world = keyframer.pose(ase, frames=[0.0]).world[0, number]
    np.testing.assert_allclose(world[:3, 3], [-15.3872, -72.2765, 2.4662], atol=6e-3)  # TM_ROW3
    np.testing.assert_allclose(world[:3, 0], [0.9998, 0.0, 0.0195], atol=2e-4)  # TM_ROW0
