"""Scenes converted to other axes: positions, directions and lengths, compared as poses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import keyframer
from keyframer.curves import Interpolation, RotationForm, Track
from keyframer.curves.rotation_forms import with_form
from keyframer.formats.kit.coordinates import in_space
from keyframer.scene import (
    Camera,
    Channel,
    Clip,
    Environment,
    Fog,
    Handedness,
    LayeredFog,
    Light,
    LightType,
    Mesh,
    Morph,
    Node,
    NodeKind,
    Scene,
    Skin,
    Space,
)
from tests.building.scenes import one_node

FRAMES = [0.0, 7.0, 10.0, 26.0, 30.0]
# Where each axis of a Z-up, right-handed scene goes, written down by hand: X stays to the right, Z goes up.
SPACES = {
    "y right": (Space("y"), np.array([[1.0, 0, 0], [0, 0, 1], [0, -1, 0]])),
    "y left": (Space("y", Handedness.LEFT), np.array([[1.0, 0, 0], [0, 0, 1], [0, 1, 0]])),
    "z left": (Space("z", Handedness.LEFT), np.array([[1.0, 0, 0], [0, -1, 0], [0, 0, 1]])),
    "x right": (Space("x"), np.array([[0.0, 0, 1], [-1, 0, 0], [0, -1, 0]])),
}
FORMS = [form for form in RotationForm if form is not RotationForm.NONE]


def turning(form: RotationForm) -> Track:
    """Three arbitrary rotation keys."""
    axes = np.array([[0.6, 0.0, 0.8], [0.0, 1.0, 0.0], [0.48, 0.6, 0.64]])
    values = np.column_stack([axes, [0.9, 1.1, -0.7]])
    relative = RotationForm.AXIS_ANGLE_RELATIVE
    return with_form(Track("rotation", np.array([0.0, 10.0, 30.0]), values, Interpolation.LINEAR, form=relative), form)


def camera_scene(form: RotationForm) -> Scene:
    """A free camera that rotates, a light below it, and a mesh below both."""
    mesh = Mesh("flag", np.array([[0.0, 0, 0], [2, 0, 0], [0, 3, 1]]), np.array([[0, 1, 2]]))
    nodes = [
        Node("eye", NodeKind.CAMERA, camera=0, position=np.array([1.0, 2, 3])),
        Node("lamp", NodeKind.LIGHT, 0, light=0, position=np.array([0.5, 0, 0])),
        Node("flag", NodeKind.OBJECT, 1, mesh=0, position=np.array([0.0, 0, -4]), scale=np.array([1.0, 2, 3])),
        Node("post", NodeKind.OBJECT, mesh=0, rotation_xyzw=np.array([0.0, 0.6, 0, 0.8])),
    ]
    slide = Track("position", np.array([0.0, 30.0]), np.array([[1.0, 2, 3], [5, -1, 2]]), Interpolation.LINEAR)
    clip = Clip(channels=[Channel(0, turning(form)), Channel(0, slide), Channel(3, turning(form))], end=30.0)
    return Scene(nodes, [mesh], [], [Camera("eye")], [Light("lamp", LightType.SPOT)], clips=[clip])


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.value)
@pytest.mark.parametrize("home", SPACES)
def test_poses_are_the_same_in_other_axes(home: str, form: RotationForm) -> None:
    """Vertices are at the converted positions, and cameras have the converted direction and up vector."""
    space, change = SPACES[home]
    scene = camera_scene(form)
    ours, theirs = keyframer.pose(scene, frames=FRAMES), keyframer.pose(in_space(scene, space), frames=FRAMES)
    for number in (2, 3):
        assert np.allclose(theirs.vertices(number), ours.vertices(number) @ change.T, atol=1e-9), number
    along = 1.0 if space.handedness is Handedness.LEFT else -1.0
    for number in (0, 1):
        mine, others = ours.world[:, number], theirs.world[:, number]
        assert np.allclose(others[:, :3, 3], mine[:, :3, 3] @ change.T, atol=1e-9)
        assert np.allclose(along * others[:, :3, 2], -mine[:, :3, 2] @ change.T, atol=1e-9), "looks elsewhere"
        assert np.allclose(others[:, :3, 1], mine[:, :3, 1] @ change.T, atol=1e-9), "another side is up"


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.value)
def test_keys_keep_their_form(form: RotationForm) -> None:
    converted = in_space(camera_scene(form), Space("y", Handedness.LEFT))
    for channel in converted.clips[0].channels:
        if channel.track.kind == "rotation":
            assert channel.track.form is form
            assert channel.track.times.tolist() == [0.0, 10.0, 30.0]


def test_relative_keys_start_from_the_first_usable_key() -> None:
    """Non-finite keys are skipped."""
    scene = camera_scene(RotationForm.AXIS_ANGLE_RELATIVE)
    whole = in_space(scene, Space("y"))
    track = scene.clips[0].channels[0].track
    row = np.array([[np.nan, 0.0, 0.0, 1.0]])
    scene.clips[0].channels[0].track = replace(
        track, times=np.array([-5.0, *track.times]), values=np.concatenate([row, track.values])
    )
    converted_track = in_space(scene, Space("y")).clips[0].channels[0].track
    assert np.isnan(converted_track.values[0, :3]).any()
    assert np.allclose(converted_track.values[1:], whole.clips[0].channels[0].track.values)


def test_an_invalid_axis_is_refused() -> None:
    with pytest.raises(ValueError, match="up must be 'x', 'y' or 'z', not 'w'"):
        in_space(Scene(), Space("w"))


def test_scenes_in_the_right_axes_are_not_copied() -> None:
    scene = camera_scene(RotationForm.AXIS_ANGLE_RELATIVE)
    converted = in_space(scene, replace(scene.space, metres_per_unit=0.5))
    assert converted.space.metres_per_unit == 0.5
    assert converted.nodes is scene.nodes
    assert in_space(scene, scene.space) is scene


def test_scaling_changes_only_lengths() -> None:
    """Twice the unit: distances double; angles, weights, scales and texture coordinates stay."""
    mesh = Mesh("box", np.array([[0.0, 0, 0], [2, 0, 0], [0, 3, 1]]), np.array([[0, 1, 2]]))
    mesh.uv = np.array([[0.0, 0.25], [1, 0], [1, 1]])
    mesh.bounding_sphere = (np.array([1.0, 0, 0]), 4.0)
    mesh.axes = np.array([[0.0, -1, 0, 7], [1, 0, 0, 8], [0, 0, 1, 9], [0, 0, 0, 1]])
    skin = Skin("box", [1], np.eye(4)[None].copy(), np.arange(3), np.zeros(3, int), np.ones(3))
    skin.inverse_bind[0, :3, 3] = (1.0, 2.0, 3.0)
    skin.positions = np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 1]])
    node = Node("box", mesh=0, skin=0, pivot=np.array([1.0, 1, 1]), scale=np.array([1.0, 2, 3]))
    node.bounding_box = (np.array([-1.0, 0, 0]), np.array([1.0, 2, 3]))
    node.morph = Morph(["flat"], [np.array([[1.0, 1, 1]] * 3)])
    node.scale_axes_xyzw = np.array([0.6, 0.0, 0.0, 0.8])
    camera = Camera("eye", 40.0, target=(1.0, 2.0, 3.0), ranges=(1.0, 9.0), clip=(0.5, 90.0))
    light = Light("lamp", attenuated=True, inner_range=2.0, outer_range=3.0, target=(0.0, 0.0, 1.0))
    clip = Clip(bounds=np.array([[[-1.0, -2, -3], [1, 2, 3]]]))
    absolute = RotationForm.QUATERNION_ABSOLUTE
    axes = Track("scale_axes", np.zeros(1), np.array([[0.0, 0.6, 0.0, 0.8]]), Interpolation.LINEAR, form=absolute)
    sizes = Track("scale", np.zeros(1), np.array([[1.0, 2, 3]]), Interpolation.LINEAR)
    clip.channels = [Channel(0, replace(axes, form=RotationForm.QUATERNION_ABSOLUTE)), Channel(0, sizes)]
    clip.channels.append(Channel(0, Track("visible", np.zeros(1), np.ones(1), Interpolation.STEP)))
    fog = Fog(1.0, 0.25, 10.0, 0.5)
    around = Environment(fog=fog, distance_cue=fog, layered_fog=LayeredFog(2.0, 5.0, 0.75))
    scene = Scene([node, Node("bone", NodeKind.BONE)], [mesh], [], [camera], [light], [skin], [clip], around)
    converted = in_space(scene, replace(scene.space, v_up=False), 2.0)

    thing = converted.nodes[0]
    assert thing.pivot.tolist() == [2, 2, 2]
    assert thing.scale.tolist() == [1, 2, 3]
    assert thing.scale_axes_xyzw.tolist() == [0.6, 0, 0, 0.8]
    assert thing.bounding_box is not None
    assert [corner.tolist() for corner in thing.bounding_box] == [[-2, 0, 0], [2, 4, 6]]
    assert thing.morph.positions[0].tolist() == [[2, 2, 2]] * 3
    surface = converted.meshes[0]
    assert surface.positions.tolist() == [[0, 0, 0], [4, 0, 0], [0, 6, 2]]
    assert surface.uv.tolist() == [[0, 0.75], [1, 1], [1, 0]]  # V runs the other way now
    assert (surface.bounding_sphere[0].tolist(), surface.bounding_sphere[1]) == ([2, 0, 0], 8)
    assert surface.axes.tolist() == [[0, -1, 0, 14], [1, 0, 0, 16], [0, 0, 1, 18], [0, 0, 0, 1]]
    assert converted.skins[0].inverse_bind[0, :3, 3].tolist() == [2, 4, 6]
    assert converted.skins[0].positions.tolist() == [[2, 0, 0], [0, 2, 0], [0, 0, 2]]
    eye, lamp = converted.cameras[0], converted.lights[0]
    assert (eye.fov_degrees, eye.target, eye.ranges, eye.clip) == (40, (2, 4, 6), (2, 18), (1, 180))
    assert (lamp.inner_range, lamp.outer_range, lamp.target) == (4, 6, (0, 0, 2))
    assert converted.clips[0].bounds.tolist() == [[[-2, -4, -6], [2, 4, 6]]]
    values = {channel.track.kind: channel.track.values.tolist() for channel in converted.clips[0].channels}
    assert values == {"scale_axes": [[0, 0.6, 0, 0.8]], "scale": [[1, 2, 3]], "visible": [1]}
    for mist in (converted.environment.fog, converted.environment.distance_cue):
        assert (mist.near, mist.near_density, mist.far, mist.far_density) == (2, 0.25, 20, 0.5)
    layers = converted.environment.layered_fog
    assert (layers.z_min, layers.z_max, layers.density) == (4, 10, 0.75)
    assert scene.environment.layered_fog.z_max == 5.0, "the given scene is not touched"


def test_an_environment_without_distances_can_be_scaled() -> None:
    converted = in_space(Scene(environment=Environment(background_color=(0.1, 0.2, 0.3))), Space("z"), 3.0)
    assert (converted.environment.fog, converted.environment.layered_fog) == (None, None)
    assert converted.environment.background_color == (0.1, 0.2, 0.3)


def test_tangents_are_converted_with_their_keys() -> None:
    """Cubic keys as in glTF."""
    track = Track(
        "position",
        np.array([0.0, 10.0]),
        np.array([[0.0, 0, 0], [1, 2, 3]]),
        Interpolation.CUBIC,
        tangents_in=np.array([[0.0, 0, 0], [4, 5, 6]]),
        tangents_out=np.array([[7.0, 8, 9], [0, 0, 0]]),
    )
    scene = one_node(track, end=10.0)
    converted_track = in_space(scene, Space("y")).clips[0].channels[0].track
    assert converted_track.values.tolist() == [[0, 0, 0], [1, 3, -2]]
    assert converted_track.tangents_in[1].tolist() == [4, 6, -5]
    assert converted_track.tangents_out[0].tolist() == [7, 9, -8]
