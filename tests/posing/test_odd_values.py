"""Non-finite or absurd keys and rest values: posing never raises or warns, and only the affected node is wrong."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import keyframer
from keyframer.curves import Interpolation, RotationForm, Track, Wrap
from keyframer.scene import Camera, Channel, Clip, Light, LightType, Mesh, Morph, Node, NodeKind, Scene
from tests.building.scenes import as_read_from_a_file
from tests.slow import SLOW

NAN, INF = float("nan"), float("inf")
FRAMES = [-1e300, -1.0, 0.0, 0.5, 5.0, 1e9, NAN, INF, -INF]


def scene_with(*channels: Channel) -> Scene:
    """A broken node (0), its child and grandchild, a camera aimed at it, and an independent node."""
    return Scene(
        nodes=[
            Node("broken", position=np.array([1.0, 2.0, 3.0])),
            Node("child", parent=0, position=np.array([0.0, 1.0, 0.0])),
            Node("grandchild", parent=1),
            Node("camera", NodeKind.CAMERA, camera=0, target=0, position=np.array([9.0, 9.0, 9.0])),
            Node("other", position=np.array([4.0, 5.0, 6.0])),
        ],
        cameras=[Camera("camera")],
        clips=[Clip(channels=list(channels))],
    )


def posed_world(scene: Scene) -> np.ndarray:
    posed = keyframer.pose(scene, frames=FRAMES)
    assert np.isfinite(posed.world).all()
    assert np.isfinite(posed.local).all()
    np.testing.assert_array_equal(posed.world[:, 4, :3, 3], [[4, 5, 6]] * len(FRAMES))
    return posed.world


@pytest.mark.parametrize("bad", [NAN, INF, -INF, 1e200])
@pytest.mark.parametrize("kind", ["position", "scale"])
def test_a_channel_without_a_usable_key_leaves_the_node_at_rest(kind: str, bad: float) -> None:
    world = posed_world(scene_with(Channel(0, Track(kind, [0, 5], [[bad, 0, 0], [0, bad, 0]], Interpolation.TCB))))
    np.testing.assert_array_equal(world[:, 0, :3, 3], [[1, 2, 3]] * len(FRAMES))
    np.testing.assert_array_equal(world[:, 1, :3, 3], [[1, 3, 3]] * len(FRAMES))


@pytest.mark.parametrize("bad", [NAN, INF, 1e200])
@as_read_from_a_file()
def test_one_bad_key_is_ignored(bad: float) -> None:
    values = [[0, 0, 0], [bad, 7, 7], [10, 0, 0]]
    world = posed_world(scene_with(Channel(0, Track("position", [0, 1, 10], values, Interpolation.LINEAR))))
    assert world[4, 0, 0, 3] == 5  # frame 5: as if the key were not there
    times = posed_world(scene_with(Channel(0, Track("position", [0, bad, 10], [[0, 0, 0], [3, 3, 3], [10, 0, 0]]))))
    assert times[4, 0, 0, 3] == 5


@pytest.mark.parametrize("form", list(RotationForm)[1:], ids=lambda form: form.value)
def test_invalid_rotations(form: RotationForm) -> None:
    rows = [[0, 0, 0, 0], [NAN, 0, 0, 1], [0, 0, 0, 1e38], [0, INF, 0, 1], [3, 4, 0, 1e30]]
    world = posed_world(scene_with(Channel(0, Track("rotation", range(5), rows, Interpolation.TCB, form=form))))
    lengths = np.linalg.norm(world[:, 0, :3, :3], axis=1)
    np.testing.assert_allclose(lengths, 1, atol=1e-9)


def test_invalid_rest_values_are_replaced_by_the_identity() -> None:
    scene = scene_with()
    scene.nodes[0].position = np.array([NAN, 0, 0])
    scene.nodes[0].rotation_xyzw = np.array([0, INF, 0, 1])
    scene.nodes[0].scale = np.array([1, 1e300, 1])
    world = posed_world(scene)
    np.testing.assert_array_equal(world[:, 0], [np.eye(4)] * len(FRAMES))
    scene.nodes[1].rotation_xyzw = np.zeros(4)
    np.testing.assert_array_equal(posed_world(scene)[0, 1, :3, 3], [0, 1, 0])


def test_overflow_affects_only_the_node() -> None:
    """1e120 times 1e120 times 1e120 exceeds a double: the node is placed as if it had no parent."""
    nodes = [Node(str(i), parent=i - 1 if i else None, scale=np.full(3, 1e120)) for i in range(6)]
    nodes.append(Node("other"))
    posed = keyframer.pose(Scene(nodes=nodes), frames=[0, 1])
    assert np.isfinite(posed.world).all()
    moving = Channel(0, Track("scale", [0, 1], [[1e120] * 3, [1e149] * 3], Interpolation.TCB))
    assert np.isfinite(
        keyframer.pose(Scene(nodes=nodes, clips=[Clip(channels=[moving])]), frames=[0, 0.5, 1]).world
    ).all()


def test_a_scale_of_zero() -> None:
    world = posed_world(scene_with(Channel(0, Track("scale", [0, 10], [[1, 1, 1], [0, 0, 0]], Interpolation.LINEAR))))
    np.testing.assert_array_equal(world[5, 2, :3, :3], np.zeros((3, 3)))


def test_cameras_and_lights_aimed_at_nothing_or_at_themselves() -> None:
    scene = Scene(
        nodes=[
            Node("self", NodeKind.CAMERA, camera=0, target=0),
            Node("nan", NodeKind.CAMERA, camera=1),
            Node("spot", NodeKind.LIGHT, light=0, target=0),
        ],
        cameras=[Camera("a"), Camera("b", roll_degrees=NAN, target=(NAN, INF, 0))],
        lights=[Light("s", LightType.SPOT, roll_degrees=INF, target=(0, 0, 0))],
    )
    assert np.isfinite(keyframer.pose(scene, frames=[0, 1]).world).all()


def test_a_morph_channel_without_usable_keys_leaves_the_mesh_unchanged() -> None:
    points = np.arange(9.0).reshape(3, 3)
    node = Node("a", mesh=0, morph=Morph(["x"], [points + 5]))
    channel = Channel(0, Track("morph", [0, 1], [[NAN], [NAN]]))
    scene = Scene(nodes=[node], meshes=[Mesh("m", points, np.array([[0, 1, 2]]))], clips=[Clip(channels=[channel])])
    posed = keyframer.pose(scene, frames=[0])
    assert posed.morph_weights == {}
    np.testing.assert_array_equal(posed.vertices(0)[0], points)


numbers = st.one_of(st.floats(width=32), st.floats(-10, 10), st.sampled_from([NAN, INF, -INF, 0.0, 3.4e38, 1e-45]))


@settings(max_examples=150 if SLOW else 50)
@given(st.data())
@as_read_from_a_file()
def test_any_numbers(data: st.DataObject) -> None:
    channels = []
    for kind in ("position", "rotation", "scale", "roll", "visible", "fov"):
        width = {"rotation": 4, "position": 3, "scale": 3}.get(kind, 1)
        count = data.draw(st.integers(0, 4))
        rows = data.draw(st.lists(st.lists(numbers, min_size=width, max_size=width), min_size=count, max_size=count))
        column = st.one_of(st.none(), st.lists(numbers, min_size=count, max_size=count))
        shape = {name: data.draw(column) for name in ("tension", "continuity", "bias", "ease_to", "ease_from")}
        values = np.array(rows, float).reshape((count, width) if width > 1 else (count,))
        form = RotationForm.AXIS_ANGLE_RELATIVE if kind == "rotation" else RotationForm.NONE
        times = data.draw(st.lists(numbers, min_size=count, max_size=count))
        wrap = data.draw(st.sampled_from(Wrap))
        track = Track(kind, times, values, Interpolation.TCB, wrap, form, **shape)
        channels.append(Channel(3 if kind in ("roll", "fov") else 0, track))
    posed_world(scene_with(*channels))


@pytest.mark.parametrize("rate", [5e-324, 1e308])
def test_absurd_rates(rate: float) -> None:
    scene = scene_with()
    scene.clips[0].rate = rate
    for posed in (keyframer.pose(scene, frames=[0.0, 1e300]), keyframer.pose(scene, [0.0, 1e300])):
        assert np.isfinite(posed.world).all()
