"""keyframer.pose: seconds and frames, clips, rest values, deep trees, and scenes posed in blocks."""

from __future__ import annotations

import numpy as np
import pytest

import keyframer
from keyframer.curves import Interpolation, RotationForm, Track
from keyframer.posing import Rig
from keyframer.posing import rig as rig_module
from keyframer.scene import Camera, Channel, Clip, Handedness, Light, LightType, Node, NodeKind, Scene, Space
from tests.building.scenes import as_read_from_a_file
from tests.growth import assert_linear
from tests.posing import plain
from tests.slow import SLOW


def sliding(node: int = 0, end: float = 10.0, size: float = 10.0) -> Channel:
    return Channel(node, Track("position", [0, end], [[0, 0, 0], [size, 0, 0]], Interpolation.LINEAR))


def test_seconds_and_frames_are_the_same_moments() -> None:
    scene = Scene(nodes=[Node("a")], clips=[Clip(channels=[sliding()], end=10, rate=25)])
    by_frames = keyframer.pose(scene, frames=[0, 2.5, 10])
    by_seconds = keyframer.pose(scene, [0, 0.1, 0.4])
    assert by_frames.world.tobytes() == by_seconds.world.tobytes()
    assert by_frames.times_seconds.tolist() == [0, 0.1, 0.4]
    assert by_seconds.frames.tolist() == [0, 2.5, 10]
    assert by_frames.world.shape == by_frames.local.shape == (3, 1, 4, 4)


def test_seconds_of_a_whole_frame_give_exactly_that_frame() -> None:
    """A jump at frame n is visible at n / 30 seconds, for every n."""
    numbers = np.arange(100_000) / 30
    assert np.array_equal(keyframer.pose(Scene(clips=[Clip()]), numbers).frames, np.arange(100_000))


def test_ticks_and_seconds_as_units() -> None:
    ticks = Clip(channels=[sliding(end=1600)], rate=4800, unit="tick", units_per_frame=160)
    seconds = Clip(channels=[sliding(end=10 / 30)], rate=1, unit="second", units_per_frame=1 / 30)
    for clip in (ticks, seconds):
        posed = keyframer.pose(Scene(nodes=[Node("a")], clips=[clip]), frames=[0, 5, 10])
        np.testing.assert_allclose(posed.world[:, 0, 0, 3], [0, 5, 10])
        np.testing.assert_allclose(posed.times_seconds, [0, 5 / 30, 10 / 30])


def test_exactly_one_of_times_and_frames() -> None:
    scene = Scene(nodes=[Node("a")])
    for given in ({}, {"times": [0], "frames": [0]}):
        with pytest.raises(ValueError, match="either times"):
            keyframer.pose(scene, **given)


@pytest.mark.parametrize(("rate", "units"), [(0.0, 1.0), (-1.0, 1.0), (float("nan"), 1.0), (30.0, 0.0)])
def test_a_clip_without_a_usable_rate_is_posed_by_frames(rate: float, units: float) -> None:
    clip = Clip(channels=[sliding()])
    clip.rate, clip.units_per_frame = rate, units
    scene = Scene(nodes=[Node("a")], clips=[clip])
    posed = keyframer.pose(scene, frames=[5])
    assert np.isnan(posed.times_seconds).all()
    assert np.isfinite(posed.world).all()
    with pytest.raises(ValueError, match="no valid frame rate"):
        keyframer.pose(scene, [0.5])


def test_scenes_without_nodes_clips_or_times() -> None:
    assert keyframer.pose(Scene(), frames=[0, 1]).world.shape == (2, 0, 4, 4)
    assert keyframer.pose(Scene(nodes=[Node("a")]), frames=[]).world.shape == (0, 1, 4, 4)
    assert keyframer.pose(Scene(nodes=[Node("a")]), 0.5).world.shape == (1, 1, 4, 4)


def test_one_of_several_clips() -> None:
    scene = Scene(nodes=[Node("a")], clips=[Clip(channels=[sliding()]), Clip(channels=[sliding(size=-4)])])
    assert keyframer.pose(scene, frames=[10]).world[0, 0, 0, 3] == 10
    assert keyframer.pose(scene, frames=[10], clip=1).world[0, 0, 0, 3] == -4


def test_rest_values_are_used_without_a_channel() -> None:
    turn = np.array([0.0, 0.0, 2.0, 2.0])  # not of length 1: normalised
    node = Node("a", position=np.array([1, 2, 3]), rotation_xyzw=turn, scale=np.array([1, 2, 4]))
    scene = Scene(nodes=[node], clips=[Clip(channels=[Channel(0, Track("scale", [0], [[5, 5, 5]]))])])
    expected = plain.product(plain.translation([1, 2, 3]), plain.turn([0, 0, 1], np.pi / 2))
    posed = keyframer.pose(scene, frames=[0, 7])
    for index in range(2):
        np.testing.assert_allclose(posed.world[index, 0], plain.product(expected, plain.scaling([5, 5, 5])), atol=1e-12)
    assert np.array_equal(posed.local, posed.world)


def test_scale_along_rotated_axes() -> None:
    """S = Q diag(s) Q^-1, at rest and animated."""
    q = [0.0, 0.0, float(np.sin(0.3)), float(np.cos(0.3))]
    about = plain.rotation(q)
    nodes = [Node("rest", scale=np.array([2, 1, 1]), scale_axes_xyzw=np.array(q)), Node("moved"), Node("plain")]
    channels = [
        Channel(1, Track("scale", [0, 10], [[1, 1, 1], [3, 1, 1]], Interpolation.LINEAR)),
        Channel(1, Track("scale_axes", [0], [q], form=RotationForm.QUATERNION_ABSOLUTE)),
        Channel(2, Track("scale", [0, 10], [[1, 1, 1], [3, 1, 1]], Interpolation.LINEAR)),
    ]
    posed = keyframer.pose(Scene(nodes=nodes, clips=[Clip(channels=channels)]), frames=[0, 5, 10])
    for index, size in enumerate((1.0, 2.0, 3.0)):
        for node, amount, axes in ((0, 2.0, about), (1, size, about), (2, size, plain.identity())):
            expected = plain.product(plain.product(axes, plain.scaling([amount, 1, 1])), plain.inverse(axes))
            np.testing.assert_allclose(posed.world[index, node], expected, atol=1e-12)


@as_read_from_a_file()
def test_the_later_of_two_channels_is_used_and_unknown_nodes_are_ignored() -> None:
    channels = [sliding(), sliding(size=3), sliding(node=77), sliding(node=-1)]
    posed = keyframer.pose(Scene(nodes=[Node("a")], clips=[Clip(channels=channels)]), frames=[10])
    assert posed.world[0, 0, 0, 3] == 3


@pytest.mark.parametrize("up", ["x", "y", "z"])
@pytest.mark.parametrize("hand", Handedness)
def test_aimed_nodes_are_upright_in_every_space(up: str, hand: Handedness) -> None:
    axis = np.eye(3)["xyz".index(up)]
    eye, goal = np.array([3.0, -2.0, 1.5]), np.array([-1.0, 4.0, 2.0])
    scene = Scene(
        nodes=[Node("cam", NodeKind.CAMERA, camera=0, position=eye, target=1), Node("at", position=goal)],
        cameras=[Camera("cam")],
        space=Space(up, hand),
    )
    world = keyframer.pose(scene, frames=[0]).world[0, 0]
    sight = (goal - eye) / np.linalg.norm(goal - eye)
    np.testing.assert_allclose(world[:3, 2], sight if hand is Handedness.LEFT else -sight, atol=1e-12)
    assert world[:3, 1] @ axis > 0  # the picture's top is up
    assert abs(world[:3, 0] @ axis) < 1e-12  # and its side level
    assert np.linalg.det(world[:3, :3]) == pytest.approx(1)


def test_omni_lights_do_not_rotate_and_directional_lights_do() -> None:
    kinds = [LightType.OMNI, LightType.DIRECTIONAL, LightType.SPOT]
    scene = Scene(
        nodes=[Node(str(i), NodeKind.LIGHT, light=i, position=np.array([0, 0, 5.0])) for i in range(3)],
        lights=[Light(str(i), kind, target=(1, 0, 5)) for i, kind in enumerate(kinds)],
    )
    world = keyframer.pose(scene, frames=[0]).world[0]
    np.testing.assert_allclose(world[0, :3, :3], np.eye(3))
    for light in (1, 2):
        np.testing.assert_allclose(world[light, :3, 2], [-1, 0, 0], atol=1e-12)


def test_blocks_and_single_times_give_the_same_matrices(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    nodes = [Node(str(i), parent=None if i < 3 else int(rng.integers(0, i))) for i in range(40)]
    channels = []
    for i in rng.choice(40, 15, replace=False).tolist():
        times = np.sort(rng.choice(50, 5, replace=False))
        channels.append(Channel(i, Track("position", times, rng.normal(size=(5, 3)), Interpolation.TCB)))
        turning = np.column_stack([rng.normal(size=(5, 3)), rng.uniform(-3, 3, 5)])
        relative = RotationForm.AXIS_ANGLE_RELATIVE
        channels.append(Channel(i, Track("rotation", times, turning, Interpolation.TCB, form=relative)))
    scene = Scene(nodes=nodes, clips=[Clip(channels=channels)])
    frames = np.linspace(-3, 60, 37)
    whole = keyframer.pose(scene, frames=frames)
    rig = Rig(scene)
    for index, frame in enumerate(frames):
        np.testing.assert_allclose(
            keyframer.pose(scene, frames=[frame], rig=rig).world[0], whole.world[index], atol=1e-12
        )
    monkeypatch.setattr(rig_module, "MATRICES_PER_BLOCK", 120)
    monkeypatch.setattr(rig_module, "MATRICES_PER_LEVEL", 1)
    np.testing.assert_allclose(keyframer.pose(scene, frames=frames).world, whole.world, atol=1e-12)
    for node, one in enumerate(nodes):  # and each is its parent's matrix times its own
        above = np.eye(4) if one.parent is None else whole.world[:, one.parent]
        np.testing.assert_allclose(whole.world[:, node], above @ whole.local[:, node], atol=1e-9)


def chain(count: int) -> Scene:
    nodes = [Node(str(i), parent=i - 1 if i else None, position=np.array([1.0, 0.0, 0.0])) for i in range(count)]
    return Scene(nodes=nodes, clips=[Clip(channels=[sliding()])])


def test_deep_hierarchies() -> None:
    deep = 100_000 if SLOW else 20_000
    posed = keyframer.pose(chain(deep), frames=[0, 10])
    assert posed.world[:, -1, 0, 3].tolist() == [deep - 1, deep + 9]


def test_deep_hierarchies_take_linear_time() -> None:
    assert_linear(lambda scene: keyframer.pose(scene, frames=[0]), chain(2_500), chain(20_000), times=8)
    assert_linear(lambda scene: keyframer.pose(scene, frames=range(20)), chain(1_000), chain(8_000), times=8)
