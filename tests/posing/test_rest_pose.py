"""Node matrices at one moment, computed in blocks, equal those of a rig of the whole scene."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import keyframer
from keyframer.curves import Interpolation, RotationForm, Track
from keyframer.posing import Rig
from keyframer.posing import channels as channels_module
from keyframer.posing import local_matrices as locals_module
from keyframer.posing.rest_pose import RestTransforms, world_at
from keyframer.scene import Camera, Channel, Clip, Node, NodeKind, Scene
from tests.building.scenes import as_read_from_a_file
from tests.posing import plain
from tests.samples import all_samples

FRAMES = (-3.0, 0.0, 2.5, 7.0, 40.0)


def slide(node: int, *places: tuple[float, float, float]) -> Channel:
    return Channel(node, Track("position", [4.0 * i for i in range(len(places))], places, Interpolation.LINEAR))


@as_read_from_a_file()
def family() -> Scene:
    """A tower that moves and rotates, a camera on it aimed at a target below another moving node, rotated scale axes,
    a node with two channels of one kind and one with a channel without usable keys.
    """
    turn = Track("rotation", [0, 8], [[0, 0, 1, 0], [0, 0, 1, 2]], form=RotationForm.AXIS_ANGLE_RELATIVE)
    grow = Track("scale", [0, 8], [[1, 1, 1], [3, 2, 1]], Interpolation.LINEAR)
    axes = Track("scale_axes", [0], [[0, 0, 0.6, 0.8]], form=RotationForm.QUATERNION_ABSOLUTE)
    return Scene(
        nodes=[
            Node("target", NodeKind.TARGET, parent=5, position=np.array([0.0, 3.0, 0.0])),
            Node("camera", NodeKind.CAMERA, parent=2, camera=0, target=0, position=np.array([0.0, 0.0, 9.0])),
            Node("tower", position=np.array([1.0, 2.0, 3.0])),
            Node("carried", parent=1, position=np.array([1.0, 0.0, 0.0])),
            Node("twice"),
            Node("cart"),
            Node("lost"),
            Node("sized", parent=4, scale_axes_xyzw=np.array([0.0, 0.6, 0.0, 0.8])),
        ],
        cameras=[Camera("camera")],
        clips=[
            Clip(
                channels=[
                    slide(2, (0, 0, 0), (8, 0, 0)),
                    Channel(2, turn),
                    slide(4, (1, 1, 1), (2, 2, 2)),
                    slide(5, (0, 0, 0), (0, 8, 0), (5, 5, 5)),
                    slide(4, (0, 0, 0), (0, 0, 9)),
                    slide(6, (float("nan"), 0, 0)),
                    Channel(7, grow),
                    Channel(7, axes),
                    Channel(1, Track("roll", [0, 8], [0, 90], Interpolation.LINEAR)),
                    slide(99, (1, 1, 1)),
                ]
            )
        ],
    )


@pytest.mark.parametrize("block", [1, 2, 3, 100])
def test_block_size_does_not_change_the_matrices(monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    monkeypatch.setattr(channels_module, "CHANNELS_PER_BLOCK", block)
    monkeypatch.setattr(locals_module, "_NODES_PER_BLOCK", block)
    scene = family()
    rig = Rig(scene)
    rig_worlds = rig.world(rig.sample(FRAMES), len(FRAMES))
    for number, frame in enumerate(FRAMES):
        np.testing.assert_allclose(world_at(scene, scene.clips[0], frame), rig_worlds[number], rtol=0, atol=1e-12)


def test_positions_computed_by_hand() -> None:
    world = world_at(family(), family().clips[0], 2.0)
    tower = plain.product(plain.translation([4, 0, 0]), plain.turn([0, 0, 1], 0.5))
    np.testing.assert_allclose(world[2], tower, atol=1e-12)
    np.testing.assert_allclose(
        world[0, :3, 3], [0, 4 + 3, 0], atol=1e-12
    )  # half of the cart's way, and the position of the target
    np.testing.assert_allclose(world[4, :3, 3], [0, 0, 4.5])  # the later channel of two
    np.testing.assert_allclose(world[6], np.eye(4))
    np.testing.assert_allclose(world[1, :3, 3], [4, 0, 9], atol=1e-12)
    sight = np.array([0, 7, 0]) - np.array([4, 0, 9])
    np.testing.assert_allclose(-world[1, :3, 2], sight / np.linalg.norm(sight), atol=1e-12)


@pytest.mark.parametrize(("name", "sample"), all_samples(), ids=lambda each: getattr(each, "name", each))
def test_samples(name: str, sample: Path) -> None:
    scene = keyframer.load(sample, format=name, salvage=True)
    rig = Rig(scene)
    for clip in scene.clips[:1]:
        moments = [clip.start or 0.0, 3.5]
        rig_worlds = rig.world(rig.sample(moments), 2)
        for number, moment in enumerate(moments):
            np.testing.assert_allclose(world_at(scene, clip, moment), rig_worlds[number], rtol=1e-12, atol=1e-9)


def test_rest_transforms_equal_the_rest_pose() -> None:
    """For every sample, node by node; aimed nodes and nodes below them have no rest transform."""
    asked = 0
    for name, sample in all_samples():
        scene = keyframer.load(sample, format=name, salvage=True)
        exact = world_at(scene, Clip(), 0.0)
        rough = RestTransforms(scene.nodes, {1})
        assert len(scene.nodes) <= 1 or rough.world(1) is None
        for number in range(len(scene.nodes)):
            place = rough.world(number)
            if place is not None:
                np.testing.assert_allclose(place, exact[number, :3], atol=1e-9 * max(1.0, np.abs(exact[number]).max()))
                asked += 1
    assert asked > 50


def test_nodes_with_scale_axes_have_no_rest_transform() -> None:
    node = Node("a", scale=np.array([1.0, 2.0, 3.0]), scale_axes_xyzw=np.array([0.0, 0.0, 0.6, 0.8]))
    assert RestTransforms([node], set()).world(0) is None
