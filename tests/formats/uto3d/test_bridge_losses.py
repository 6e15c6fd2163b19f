"""Writing scenes as U3D: everything that cannot be stored is reported, everything else is read back."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
import pytest

import keyframer
from keyframer.curves import Interpolation, RotationForm, Track
from keyframer.formats.uto3d import records as r
from keyframer.scene import (
    Camera,
    Channel,
    Clip,
    Light,
    LightType,
    Node,
    NodeKind,
    Scene,
    Skin,
)
from keyframer.scene.loss_report import Outcome
from tests.building.editing import losses_of
from tests.building.editing import write as write_as
from tests.building.scenes import TRIANGLE, as_read_from_a_file, triangle

FRAMES = [0.0, 4.0, 10.0, 30.0]

write = partial(write_as, "uto3d")


def named(scene: Scene, name: str) -> Node:
    return next(node for node in scene.nodes if node.name == name)


def lit(light: Light, **parts: Any) -> Scene:
    return Scene([Node("lamp", NodeKind.LIGHT, light=0, position=np.array([0.0, 0, 9]), **parts)], lights=[light])


def track_of(scene: Scene, kind: str) -> Track:
    (track,) = [channel.track for channel in scene.clips[0].channels if channel.track.kind == kind]
    return track


# --- things ----------------------------------------------------------------------------------------------------------


def test_a_pivot_is_applied_to_the_vertices() -> None:
    scene = Scene([Node("box", mesh=0, pivot=np.array([1.0, 2, 3]))], [triangle()])
    document, report, _ = write(scene)
    assert losses_of(report, Outcome.BAKED) == {"/nodes/box/pivot": ("TRANSFORM_APPLIED:pivot", {})}
    assert document.first(r.Mesh).vertices.tolist() == (TRIANGLE - [1, 2, 3])[:, [0, 2, 1]].tolist()


@pytest.mark.parametrize("kind", [NodeKind.DUMMY, NodeKind.BONE])
def test_dummies_become_bones_and_bones_stay_bones(kind: NodeKind) -> None:
    _, report, scene = write(Scene([Node("joint", kind)]))
    assert scene.nodes[0].kind is NodeKind.BONE
    became = ("KIND_CHANGED:reason", {"kind": "a bone", "reason": "U3D (UTO!) has no dummies"})
    assert losses_of(report, Outcome.BAKED) == ({"/nodes/joint": became} if kind is NodeKind.DUMMY else {})


@pytest.mark.parametrize(
    ("node", "reason"),
    [
        (Node("joint", NodeKind.CAMERA), "no camera belongs to this node"),
        (Node("joint", NodeKind.LIGHT), "no light belongs to this node"),
        (Node("joint", NodeKind.LIGHT, light=0), "U3D (UTO!) has no ambient lights"),
    ],
)
def test_nodes_without_their_camera_or_light_become_bones(node: Node, reason: str) -> None:
    _, report, _ = write(Scene([node], lights=[Light("all", LightType.AMBIENT)]))
    assert losses_of(report, Outcome.BAKED)["/nodes/joint"] == (
        "KIND_CHANGED:reason",
        {"kind": "a bone", "reason": reason},
    )


# --- cameras and lights ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dialect", "kept", "lost"),
    [("A", "ranges", "clip planes"), ("B", "clip", "atmosphere ranges"), ("literal", "clip", "atmosphere ranges")],
)
def test_cameras_store_ranges_or_clip_planes_depending_on_the_dialect(dialect: str, kept: str, lost: str) -> None:
    eye = Camera("eye", 50.0, ranges=(1.0, 20.0), clip=(0.5, 900.0))
    # Without lights, only a mesh without texture distinguishes the dialects.
    scene = Scene([Node("eye", NodeKind.CAMERA, camera=0), Node("box", mesh=0)], [triangle()], cameras=[eye])
    document, report, _ = write(scene, dialect=dialect)
    assert losses_of(report, Outcome.DROPPED) == {"/nodes/eye/camera": ("FIELD_UNSUPPORTED:dialect", {"what": lost})}
    record = document.first(r.Camera)
    assert (record.near, record.far) == getattr(eye, kept)


@pytest.mark.parametrize("dialect", ["A", "B", "literal"])
def test_light_settings_that_are_stored(dialect: str) -> None:
    light = Light("lamp", LightType.OMNI, (1.0, 0.5, 0.25), 2.5, attenuated=True, inner_range=3.0, outer_range=7.0)
    _, report, scene = write(lit(light), dialect=dialect)
    loaded_light = scene.lights[0]
    assert (loaded_light.type, loaded_light.color, loaded_light.multiplier) == (LightType.OMNI, (1.0, 0.5, 0.25), 2.5)
    assert (loaded_light.attenuated, loaded_light.inner_range, loaded_light.outer_range) == (True, 3.0, 7.0)
    assert len(report) == 0


@pytest.mark.parametrize(
    ("type", "target", "stored"),
    [
        (LightType.SPOT, None, 3),
        (LightType.SPOT, (0.0, 0.0, 0.0), 1),
        (LightType.DIRECTIONAL, None, 2),
        (LightType.DIRECTIONAL, (0.0, 0.0, 0.0), 4),
    ],
)
def test_the_flexporter_dialect_stores_free_lights(type: LightType, target: Any, stored: int) -> None:
    light = Light("lamp", type, target=target, falloff_degrees=40.0)
    document, report, scene = write(lit(light), dialect="A")
    assert document.first(r.FlexporterLight).type == stored
    assert losses_of(report, Outcome.DROPPED) == {
        "/nodes/lamp/cone": ("FIELD_UNSUPPORTED:dialect", {"what": "the angles of spot lights"})
    }
    skin = named(scene, "lamp")
    if target is None:
        assert (skin.target, len(scene.nodes)) == (None, 1)
    else:
        assert skin.target is not None
        assert scene.nodes[skin.target].name == "lamp.Target"
        assert scene.nodes[skin.target].position.tolist() == [0, 0, 0]
        assert losses_of(report, Outcome.BAKED) == {"/nodes/lamp/target": ("NODE_ADDED:stored target", {})}


@as_read_from_a_file()
def test_targets_in_the_flexporter_dialect_have_the_name_of_their_light() -> None:
    scene = lit(Light("lamp", LightType.SPOT), target=1)
    scene.nodes.append(Node("goal", NodeKind.TARGET, position=np.array([1.0, 2, 3])))
    _, report, loaded = write(scene, dialect="A")
    goal = named(loaded, "lamp").target
    assert goal is not None
    assert (loaded.nodes[goal].name, loaded.nodes[goal].position.tolist()) == ("lamp.Target", [1, 3, 2])
    assert losses_of(report, Outcome.BAKED) == {}


@pytest.mark.parametrize("type", [LightType.SPOT, LightType.DIRECTIONAL])
def test_a_free_light_gets_a_target_point(type: LightType) -> None:
    """From height 9 straight down by one unit: (0, 0, 8) of the scene is 0, 8, 0 in the file."""
    document, report, _ = write(lit(Light("lamp", type)))
    record = document.first(r.Light)
    assert record.target_id == -1
    assert record.target_position == pytest.approx((0, 8, 0))
    assert losses_of(report, Outcome.BAKED) == {"/nodes/lamp/target": ("NODE_ADDED:target at rest", {})}


def test_the_target_point_of_a_light_is_kept() -> None:
    document, report, scene = write(lit(Light("lamp", LightType.SPOT, target=(1.0, 2.0, 3.0), hotspot_degrees=20.0)))
    assert scene.lights[0].target == (1, 3, 2)
    assert (scene.lights[0].falloff_degrees, scene.lights[0].hotspot_degrees) == (45, 20)
    assert losses_of(report, Outcome.BAKED) == {}
    assert len(list(document.find(r.CameraTarget))) == 0


def test_the_target_point_of_a_camera_becomes_a_node() -> None:
    scene = Scene([Node("eye", NodeKind.CAMERA, camera=0)], cameras=[Camera("eye", 50.0, target=(1.0, 2.0, 3.0))])
    _, report, loaded = write(scene)
    goal = named(loaded, "eye").target
    assert goal is not None
    assert loaded.nodes[goal].position.tolist() == [1, 3, 2]
    assert losses_of(report, Outcome.BAKED) == {"/nodes/eye/target": ("NODE_ADDED:stored target", {})}


@as_read_from_a_file()
def test_an_omni_light_loses_its_target() -> None:
    scene = lit(Light("lamp"), target=1)
    scene.nodes.append(Node("goal", NodeKind.TARGET))
    _, _, loaded = write(scene)
    assert named(loaded, "lamp").target is None


# --- tracks ----------------------------------------------------------------------------------------------------------


def moved(*tracks: Track, **node: Any) -> Scene:
    node.setdefault("mesh", 0)
    return Scene([Node("box", **node)], [triangle()], clips=[Clip(channels=[Channel(0, t) for t in tracks], end=30.0)])


def turns(*angles: float, how: Interpolation = Interpolation.LINEAR) -> Track:
    values = np.array([[0.0, 0.0, 1.0, angle] for angle in angles])
    times = 10.0 * np.arange(len(angles))
    return Track("rotation", times, values, how, form=RotationForm.AXIS_ANGLE_RELATIVE)


def axes(*times: float) -> Track:
    values = np.array([[0.6, 0.0, 0.0, 0.8]] * len(times))
    return Track("scale_axes", np.array(times), values, form=RotationForm.QUATERNION_ABSOLUTE)


def sizes(*times: float, **fields: Any) -> Track:
    return Track("scale", np.array(times), np.array([[1.0, 2 + index, 3] for index in range(len(times))]), **fields)


def assert_same_poses(scene: Scene, loaded: Scene, tolerance: float = 1e-5) -> None:
    ours, theirs = keyframer.pose(scene, frames=FRAMES), keyframer.pose(loaded, frames=FRAMES)
    assert np.allclose(theirs.vertices(0)[..., [0, 2, 1]], ours.vertices(0), atol=tolerance)


@pytest.mark.parametrize(
    ("tracks", "rest"),
    [
        ([sizes(0.0, 30.0), axes(0.0, 30.0)], None),
        ([axes(0.0, 30.0)], None),
        ([sizes(0.0, 30.0)], [0.6, 0.0, 0.0, 0.8]),
        ([], [0.6, 0.0, 0.0, 0.8]),
    ],
    ids=["both", "axes only", "axes at rest", "no animation"],
)
def test_rotated_scale_axes(tracks: list[Track], rest: list[float] | None) -> None:
    scene = moved(*tracks, scale=np.array([1.0, 2.0, 3.0]))
    if rest is not None:
        scene.nodes[0].scale_axes_xyzw = np.array(rest)
    _, report, loaded = write(scene)
    assert losses_of(report, Outcome.DROPPED) == {}
    assert_same_poses(scene, loaded)


def test_scale_axes_with_other_key_times_are_dropped() -> None:
    _, report, scene = write(moved(sizes(0.0, 30.0), axes(0.0, 10.0)))
    assert losses_of(report, Outcome.DROPPED) == {"/nodes/box/scale_axes": ("SCALE_AXES_UNSUPPORTED:times", {})}
    assert [channel.track.kind for channel in scene.clips[0].channels] == ["scale"]


def test_linear_rotations_on_the_short_way_stay_linear() -> None:
    scene = moved(turns(0.0, 1.0, 2.0))
    _, _, loaded = write(scene)
    track = track_of(loaded, "rotation")
    assert (track.interpolation, track.form) == (Interpolation.LINEAR, RotationForm.QUATERNION_ABSOLUTE)
    assert_same_poses(scene, loaded)


def test_linear_rotations_on_the_long_way_become_increments() -> None:
    """Absolute quaternions always take the shortest way: 200 degrees would become 160 backwards."""
    scene = moved(turns(0.0, math.radians(200), 0.5))
    _, _, loaded = write(scene)
    track = track_of(loaded, "rotation")
    assert (track.interpolation, track.form) == (Interpolation.TCB, RotationForm.QUATERNION_RELATIVE)
    assert_same_poses(scene, loaded)


def test_eased_linear_keys_become_tcb_keys() -> None:
    scene = moved(sizes(0.0, 30.0, ease_to=np.array([0.0, 0.5])))
    _, _, loaded = write(scene)
    assert track_of(loaded, "scale").interpolation is Interpolation.TCB
    assert_same_poses(scene, loaded)


def camera_scene(*tracks: Track, roll: float = 0.0) -> Scene:
    channels = [Channel(0, track) for track in tracks]
    camera = Camera("eye", 50.0, roll_degrees=roll)
    return Scene([Node("eye", NodeKind.CAMERA, camera=0)], cameras=[camera], clips=[Clip(channels=channels, end=30.0)])


def test_a_roll_at_rest_becomes_a_controller_with_one_key() -> None:
    document, _, scene = write(camera_scene(roll=30.0))
    (controller,) = document.find(r.Controller)
    assert controller.type == r.ROLL
    assert controller.keys.value.tolist() == [[pytest.approx(-math.radians(30))]]  # 3ds Max's own sign
    assert track_of(scene, "roll").values.tolist() == pytest.approx([30])


def test_roll_keys_replace_the_roll_at_rest() -> None:
    keys = Track("roll", np.array([0.0, 30.0]), np.array([5.0, 10.0]), Interpolation.TCB)
    _, _, scene = write(camera_scene(keys, roll=30.0))
    assert track_of(scene, "roll").values.tolist() == pytest.approx([5, 10])


@pytest.mark.parametrize(
    ("degrees", "scheme"), [((40.0, 50.0), r.LINEAR), ((1.0, 2.0), r.TCB)], ids=["usual", "would be radians"]
)
def test_small_fields_of_view_are_not_read_as_radians(degrees: tuple[float, float], scheme: int) -> None:
    keys = Track("fov", np.array([0.0, 30.0]), np.array(degrees), Interpolation.LINEAR)
    document, _, scene = write(camera_scene(keys))
    (controller,) = document.find(r.Controller)
    assert controller.scheme == scheme
    assert track_of(scene, "fov").values.tolist() == pytest.approx(degrees)


# --- skins -----------------------------------------------------------------------------------------------------------


def skinned_figure(**skin: Any) -> Scene:
    """A triangle on two bones whose rest pose is not the bind pose, and a bone that is a child of one of them."""
    bones = [
        Node("hip", NodeKind.BONE, position=np.array([1.0, 0, 0])),
        Node("knee", NodeKind.BONE, 0, position=np.array([0.0, 0, 2])),
        Node("toe", NodeKind.BONE, 1, position=np.array([0.0, 1, 0])),
    ]
    inverse = np.stack([np.eye(4), np.eye(4)])
    inverse[0, :3, 3] = (0.0, -1.0, 0.0)
    inverse[1, :3, 3] = (0.0, -1.0, -3.0)
    stored = Skin(
        "cloth", [0, 1], inverse, np.array([0, 1, 1, 2]), np.array([0, 0, 1, 1]), np.array([1, 0.25, 0.75, 1])
    )
    for name, value in skin.items():
        setattr(stored, name, value)
    values = np.array([[1.0, 0, 0, 0], [1, 0, 0, 1.2]])
    relative = RotationForm.AXIS_ANGLE_RELATIVE
    bend = Track("rotation", np.array([0.0, 30.0]), values, Interpolation.TCB, form=relative)
    clip = Clip(channels=[Channel(1, bend)], end=30.0)
    return Scene([*bones, Node("cloth", mesh=0, skin=0)], [triangle()], skins=[stored], clips=[clip])


def test_bones_are_written_in_the_bind_pose_with_keys_for_the_rest_pose() -> None:
    scene = skinned_figure()
    document, report, loaded = write(scene)
    assert losses_of(report, Outcome.APPROXIMATED) == {}
    hip, knee, toe = document.find(r.Bone)
    assert hip.position == pytest.approx((0, 0, 1))  # bound at 0, 1, 0 of the scene
    assert knee.position == pytest.approx((0, 3, 0))  # 3 above it
    assert len({record.owner_id for record in document.find(r.Controller)} & {hip.id, knee.id, toe.id}) == 3
    ours, theirs = keyframer.pose(scene, frames=FRAMES), keyframer.pose(loaded, frames=FRAMES)
    numbers = {node.name: number for number, node in enumerate(loaded.nodes)}
    assert np.allclose(theirs.vertices(numbers["cloth"])[..., [0, 2, 1]], ours.vertices(3), atol=1e-5)
    for number, name in enumerate(("hip", "knee", "toe")):
        places = theirs.world[:, numbers[name], :3, 3][:, [0, 2, 1]]
        assert np.allclose(places, ours.world[:, number, :3, 3], atol=1e-5), name


def test_a_weighted_skin_keeps_its_weights() -> None:
    _, _, scene = write(skinned_figure())
    skin = scene.skins[0]
    assert (skin.rigid, skin.vertex_indices.tolist(), skin.weights.tolist()) == (
        False,
        [0, 1, 1, 2],
        [1, 0.25, 0.75, 1],
    )


def test_a_rigid_skin_with_stored_offsets() -> None:
    """The offsets are written as they are, not computed from the mesh."""
    offsets = np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 1]])
    rigid = {"vertex_indices": np.arange(3), "joint_indices": np.array([0, 1, 1]), "weights": np.ones(3), "rigid": True}
    document, _, _ = write(skinned_figure(positions=offsets, **rigid))
    record = document.first(r.Mesh)
    assert record.skin_type == r.SIMPLE_SKIN
    assert record.vertices.tolist() == offsets[:, [0, 2, 1]].tolist()


def test_influences_that_disagree_are_reported() -> None:
    """The second vertex is at 2, 0, 0; its first influence places it 5 units farther along X."""
    scene = skinned_figure()
    bound = np.linalg.inv(scene.skins[0].inverse_bind)
    skin = scene.skins[0]
    local = np.einsum(
        "nij,nj->ni",
        skin.inverse_bind[skin.joint_indices],
        np.column_stack([TRIANGLE[skin.vertex_indices], np.ones(4)]),
    )[:, :3]
    local[1] += bound[0, :3, :3].T @ [5.0, 0, 0]
    skin.positions = local
    (loss,) = write(scene)[1].of(Outcome.APPROXIMATED)
    assert (loss.path, loss.unit) == ("/nodes/cloth/skin", "scene unit")
    assert loss.error == pytest.approx(5.0)


def test_influences_that_agree_are_not_reported() -> None:
    scene = skinned_figure()
    skin = scene.skins[0]
    points = np.column_stack([TRIANGLE[skin.vertex_indices], np.ones(4)])
    skin.positions = np.einsum("nij,nj->ni", skin.inverse_bind[skin.joint_indices], points)[:, :3]
    assert losses_of(write(scene)[1], Outcome.APPROXIMATED) == {}


def test_a_skin_without_bones_moves_nothing() -> None:
    nothing = np.empty(0, int)
    parts = {"joints": [], "inverse_bind": np.empty((0, 4, 4)), "vertex_indices": nothing, "joint_indices": nothing}
    document, _, scene = write(skinned_figure(weights=np.empty(0), **parts))
    assert next(bone.position for bone in document.find(r.Bone)) == pytest.approx((1, 0, 0))
    assert scene.skins == []
