"""Scenes as U3D: what has no place is said with its path, what has one is there when the file is read again."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
import pytest

import keyframer
from keyframer.curves import Interpolation, RotationForm, Track, Wrap
from keyframer.formats.uto3d import FORMAT
from keyframer.formats.uto3d import records as r
from keyframer.formats.uto3d.sections import Main
from keyframer.scene import (
    Camera,
    Channel,
    Clip,
    Light,
    LightType,
    Material,
    Mesh,
    Node,
    NodeKind,
    Scene,
    Skin,
    TextureMap,
)
from keyframer.scene.loss_report import Outcome
from tests.formats.telling import said
from tests.formats.telling import write as write_as

POINTS = np.array([[0.0, 0, 0], [2, 0, 0], [0, 3, 1]])
FRAMES = [0.0, 4.0, 10.0, 30.0]

write = partial(write_as, "uto3d")


def mesh(**parts: Any) -> Mesh:
    return Mesh("box", POINTS.copy(), np.array([[0, 1, 2]]), **parts)


def named(scene: Scene, name: str) -> Node:
    return next(node for node in scene.nodes if node.name == name)


def lit(light: Light, **parts: Any) -> Scene:
    return Scene([Node("lamp", NodeKind.LIGHT, light=0, position=np.array([0.0, 0, 9]), **parts)], lights=[light])


def track_of(scene: Scene, kind: str) -> Track:
    (found,) = [channel.track for channel in scene.clips[0].channels if channel.track.kind == kind]
    return found


# --- things ----------------------------------------------------------------------------------------------------------


def test_a_dialect_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ValueError, match="dialect must be one of A, B, literal, not 'C'"):
        FORMAT.from_scene(Scene([Node("box")]), {"dialect": "C"})


def test_ambient_light_has_no_place() -> None:
    scene = Scene([Node("all", NodeKind.AMBIENT, light=0), Node("box", mesh=0)], [mesh()])
    scene.lights = [Light("all", LightType.AMBIENT)]
    _, report, found = write(scene)
    assert said(report, Outcome.DROPPED)["/lights/ambient"] == "the format has no ambient light"
    assert [node.name for node in found.nodes] == ["box"]


@pytest.mark.parametrize(
    ("material", "lost"),
    [
        (Material("paint", diffuse=(1.0, 0, 0)), {"/materials/diffuse": "diffuse of 1 material"}),
        (Material("paint", two_sided=True), {"/materials/two_sided": "two sided of 1 material"}),
        (Material("paint", maps={"texture1": TextureMap("a.png")}), {"/textures": "1 material with maps"}),
    ],
)
def test_materials_are_names(material: Material, lost: dict[str, str]) -> None:
    scene = Scene([Node("box", mesh=0)], [mesh(face_materials=np.array([1]))], [Material("first"), material])
    document, report, found = write(scene)
    words = {path: f"this format cannot store {what}" for path, what in lost.items()}
    assert said(report, Outcome.DROPPED) == words
    assert [(record.name, record.id) for record in document.find(r.Material)] == [(b"first", 1), (b"paint", 2)]
    assert found.meshes[0].face_materials is not None
    assert found.meshes[0].face_materials.tolist() == [1]


def test_a_pivot_moves_the_vertices_instead() -> None:
    scene = Scene([Node("box", mesh=0, pivot=np.array([1.0, 2, 3]))], [mesh()])
    document, report, _ = write(scene)
    assert said(report, Outcome.BAKED) == {"/nodes/box/pivot": "applied to the vertices"}
    record = document.first(r.Mesh)
    assert record is not None
    assert record.vertices.tolist() == (POINTS - [1, 2, 3])[:, [0, 2, 1]].tolist()


@pytest.mark.parametrize("kind", [NodeKind.DUMMY, NodeKind.BONE])
def test_dummies_become_bones_and_bones_stay_bones(kind: NodeKind) -> None:
    _, report, found = write(Scene([Node("joint", kind)]))
    assert found.nodes[0].kind is NodeKind.BONE
    words = {"/nodes/joint": "written as a bone: U3D (UTO!) has no dummies"} if kind is NodeKind.DUMMY else {}
    assert said(report, Outcome.BAKED) == words


def test_a_surface_keeps_colours_edges_sphere_and_flags() -> None:
    surface = mesh(colors=np.array([[1.0, 0.5, 0.25], [0, 0, 0], [0, 0, 1]]), edges=np.array([5]), dynamic=True)
    surface.bounding_sphere = (np.array([1.0, 2.0, 3.0]), 4.0)
    surface.casts_shadows = False
    _, _, found = write(Scene([Node("box", mesh=0)], [surface]))
    made = found.meshes[0]
    assert made.colors is not None
    assert made.colors.tolist() == surface.colors.tolist()  # type: ignore[union-attr]
    assert made.color_corners is not None
    assert made.color_corners.tolist() == [[0, 1, 2]]
    assert made.edges is not None
    assert made.edges.tolist() == [5]
    assert (made.dynamic, made.casts_shadows) == (True, False)
    assert made.bounding_sphere is not None
    assert (made.bounding_sphere[0].tolist(), made.bounding_sphere[1]) == ([1, 3, 2], 4)


def test_colours_with_corners_of_their_own() -> None:
    surface = mesh(colors=np.array([[1.0, 0, 0]]), color_corners=np.array([[0, 0, 0]]))
    made = write(Scene([Node("box", mesh=0)], [surface]))[2].meshes[0]
    assert made.color_corners is not None
    assert made.color_corners.tolist() == [[0, 0, 0]]


# --- cameras and lights ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dialect", "kept", "lost"),
    [("A", "ranges", "clip planes"), ("B", "clip", "atmosphere ranges"), ("literal", "clip", "atmosphere ranges")],
)
def test_cameras_keep_one_of_two_pairs(dialect: str, kept: str, lost: str) -> None:
    eye = Camera("eye", 50.0, ranges=(1.0, 20.0), clip=(0.5, 900.0))
    # A mesh without texture is what tells the dialects of files without lights apart.
    scene = Scene([Node("eye", NodeKind.CAMERA, camera=0), Node("box", mesh=0)], [mesh()], cameras=[eye])
    document, report, _ = write(scene, dialect=dialect)
    assert said(report, Outcome.DROPPED) == {"/nodes/eye/camera": f"this dialect cannot store {lost}"}
    record = document.first(r.Camera)
    assert record is not None
    assert (record.near, record.far) == getattr(eye, kept)


def test_a_camera_without_either_says_nothing() -> None:
    scene = Scene([Node("eye", NodeKind.CAMERA, camera=0)], cameras=[Camera("eye", 50.0)])
    assert said(write(scene)[1], Outcome.DROPPED) == {}


def test_what_lights_cannot_say() -> None:
    light = Light("lamp", on=False, casts_shadows=True, projector="a.png", excludes=["box"], rectangular=True)
    names = ("on", "casts_shadows", "projector", "excludes", "rectangular")
    words = {f"/lights/{name}": f"this format cannot store {name.replace('_', ' ')} of 1 light" for name in names}
    assert said(write(lit(light))[1], Outcome.DROPPED) == words


@pytest.mark.parametrize("dialect", ["A", "B", "literal"])
def test_what_lights_can_say(dialect: str) -> None:
    light = Light("lamp", LightType.OMNI, (1.0, 0.5, 0.25), 2.5, attenuated=True, inner_range=3.0, outer_range=7.0)
    _, report, found = write(lit(light), dialect=dialect)
    made = found.lights[0]
    assert (made.type, made.color, made.multiplier) == (LightType.OMNI, (1.0, 0.5, 0.25), 2.5)
    assert (made.attenuated, made.inner_range, made.outer_range) == (True, 3.0, 7.0)
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
def test_the_flexporter_knows_free_lights(type: LightType, target: Any, stored: int) -> None:
    light = Light("lamp", type, target=target, falloff_degrees=40.0)
    document, report, found = write(lit(light), dialect="A")
    record = document.first(r.FlexporterLight)
    assert record is not None
    assert record.type == stored
    assert said(report, Outcome.DROPPED) == {"/nodes/lamp/cone": "this dialect cannot store the angles of spot lights"}
    made = named(found, "lamp")
    if target is None:
        assert (made.target, len(found.nodes)) == (None, 1)
    else:
        assert made.target is not None
        assert found.nodes[made.target].name == "lamp.Target"
        assert found.nodes[made.target].position.tolist() == [0, 0, 0]
        assert said(report, Outcome.BAKED) == {"/nodes/lamp/target": "the stored target became a node"}


def test_target_nodes_of_the_flexporter_are_called_as_their_light() -> None:
    scene = lit(Light("lamp", LightType.SPOT), target=1)
    scene.nodes.append(Node("goal", NodeKind.TARGET, position=np.array([1.0, 2, 3])))
    _, report, found = write(scene, dialect="A")
    goal = named(found, "lamp").target
    assert goal is not None
    assert (found.nodes[goal].name, found.nodes[goal].position.tolist()) == ("lamp.Target", [1, 3, 2])
    assert said(report, Outcome.BAKED) == {}


@pytest.mark.parametrize("type", [LightType.SPOT, LightType.DIRECTIONAL])
def test_a_free_light_gets_a_point_to_shine_at(type: LightType) -> None:
    """From 9 up straight down, one unit: (0, 0, 8) of the scene is 0, 8, 0 in the file."""
    document, report, _ = write(lit(Light("lamp", type)))
    record = document.first(r.Light)
    assert record is not None
    assert record.target_id == -1
    assert record.target_position == pytest.approx((0, 8, 0))
    assert said(report, Outcome.BAKED) == {"/nodes/lamp/target": "its direction at rest became a target"}


def test_a_stored_target_is_kept_as_a_point() -> None:
    document, report, found = write(lit(Light("lamp", LightType.SPOT, target=(1.0, 2.0, 3.0), hotspot_degrees=20.0)))
    assert found.lights[0].target == (1, 3, 2)
    assert (found.lights[0].falloff_degrees, found.lights[0].hotspot_degrees) == (45, 20)
    assert said(report, Outcome.BAKED) == {}
    assert len(list(document.find(r.CameraTarget))) == 0


def test_a_stored_target_of_a_camera_becomes_a_node() -> None:
    scene = Scene([Node("eye", NodeKind.CAMERA, camera=0)], cameras=[Camera("eye", 50.0, target=(1.0, 2.0, 3.0))])
    _, report, found = write(scene)
    goal = named(found, "eye").target
    assert goal is not None
    assert found.nodes[goal].position.tolist() == [1, 3, 2]
    assert said(report, Outcome.BAKED) == {"/nodes/eye/target": "the stored target became a node"}


def test_an_omni_light_that_looks_somewhere_does_not() -> None:
    scene = lit(Light("lamp"), target=1)
    scene.nodes.append(Node("goal", NodeKind.TARGET))
    _, _, found = write(scene)
    assert named(found, "lamp").target is None


# --- tracks ----------------------------------------------------------------------------------------------------------


def moved(*tracks: Track, **node: Any) -> Scene:
    node.setdefault("mesh", 0)
    return Scene([Node("box", **node)], [mesh()], clips=[Clip(channels=[Channel(0, t) for t in tracks], end=30.0)])


def turns(*angles: float, how: Interpolation = Interpolation.LINEAR) -> Track:
    values = np.array([[0.0, 0.0, 1.0, angle] for angle in angles])
    times = 10.0 * np.arange(len(angles))
    return Track("rotation", times, values, how, form=RotationForm.AXIS_ANGLE_RELATIVE)


def axes(*times: float) -> Track:
    values = np.array([[0.6, 0.0, 0.0, 0.8]] * len(times))
    return Track("scale_axes", np.array(times), values, form=RotationForm.QUATERNION_ABSOLUTE)


def sizes(*times: float, **more: Any) -> Track:
    return Track("scale", np.array(times), np.array([[1.0, 2 + index, 3] for index in range(len(times))]), **more)


def same_picture(scene: Scene, found: Scene, tolerance: float = 1e-5) -> None:
    ours, theirs = keyframer.pose(scene, frames=FRAMES), keyframer.pose(found, frames=FRAMES)
    assert np.allclose(theirs.vertices(0)[..., [0, 2, 1]], ours.vertices(0), atol=tolerance)


@pytest.mark.parametrize(
    ("tracks", "rest"),
    [
        ([sizes(0.0, 30.0), axes(0.0, 30.0)], None),
        ([axes(0.0, 30.0)], None),
        ([sizes(0.0, 30.0)], [0.6, 0.0, 0.0, 0.8]),
        ([], [0.6, 0.0, 0.0, 0.8]),
    ],
    ids=["both", "only axes", "axes at rest", "nothing moves"],
)
def test_turned_scale_axes(tracks: list[Track], rest: list[float] | None) -> None:
    scene = moved(*tracks, scale=np.array([1.0, 2.0, 3.0]))
    if rest is not None:
        scene.nodes[0].scale_axes_xyzw = np.array(rest)
    _, report, found = write(scene)
    assert said(report, Outcome.DROPPED) == {}
    same_picture(scene, found)


def test_scale_axes_at_other_times_have_no_place() -> None:
    _, report, found = write(moved(sizes(0.0, 30.0), axes(0.0, 10.0)))
    assert said(report, Outcome.DROPPED) == {"/nodes/box/scale_axes": "its keys are not at the times of the scale keys"}
    assert [channel.track.kind for channel in found.clips[0].channels] == ["scale"]


def test_linear_turns_stay_linear_where_they_go_the_short_way() -> None:
    scene = moved(turns(0.0, 1.0, 2.0))
    _, _, found = write(scene)
    track = track_of(found, "rotation")
    assert (track.interpolation, track.form) == (Interpolation.LINEAR, RotationForm.QUATERNION_ABSOLUTE)
    same_picture(scene, found)


def test_linear_turns_that_go_the_long_way_become_increments() -> None:
    """Absolute quaternions always go the short way: 200 degrees would be 160 backwards."""
    scene = moved(turns(0.0, math.radians(200), 0.5))
    _, _, found = write(scene)
    track = track_of(found, "rotation")
    assert (track.interpolation, track.form) == (Interpolation.TCB, RotationForm.QUATERNION_RELATIVE)
    same_picture(scene, found)


def test_eased_lines_become_tcb() -> None:
    scene = moved(sizes(0.0, 30.0, ease_to=np.array([0.0, 0.5])))
    _, _, found = write(scene)
    assert track_of(found, "scale").interpolation is Interpolation.TCB
    same_picture(scene, found)


def filmed(*tracks: Track, roll: float = 0.0) -> Scene:
    channels = [Channel(0, track) for track in tracks]
    camera = Camera("eye", 50.0, roll_degrees=roll)
    return Scene([Node("eye", NodeKind.CAMERA, camera=0)], cameras=[camera], clips=[Clip(channels=channels, end=30.0)])


def test_a_roll_at_rest_is_a_controller_of_one_key() -> None:
    document, _, found = write(filmed(roll=30.0))
    (controller,) = document.find(r.Controller)
    assert controller.type == r.ROLL
    assert controller.keys.value.tolist() == [[pytest.approx(-math.radians(30))]]  # 3ds Max's own sign
    assert track_of(found, "roll").values.tolist() == pytest.approx([30])


def test_a_roll_with_keys_needs_none_at_rest() -> None:
    keys = Track("roll", np.array([0.0, 30.0]), np.array([5.0, 10.0]), Interpolation.TCB)
    _, _, found = write(filmed(keys, roll=30.0))
    assert track_of(found, "roll").values.tolist() == pytest.approx([5, 10])


@pytest.mark.parametrize(
    ("degrees", "scheme"), [((40.0, 50.0), r.LINEAR), ((1.0, 2.0), r.TCB)], ids=["usual", "would be radians"]
)
def test_small_fields_of_view_are_not_taken_for_radians(degrees: tuple[float, float], scheme: int) -> None:
    keys = Track("fov", np.array([0.0, 30.0]), np.array(degrees), Interpolation.LINEAR)
    document, _, found = write(filmed(keys))
    (controller,) = document.find(r.Controller)
    assert controller.scheme == scheme
    assert track_of(found, "fov").values.tolist() == pytest.approx(degrees)


def test_channels_that_the_format_does_not_know_are_said() -> None:
    shown = Track("visible", np.array([0.0, 10.0]), np.array([1.0, 0.0]), Interpolation.STEP)
    _, report, found = write(moved(shown))
    assert said(report, Outcome.DROPPED) == {"/channels/visible": "this format cannot store 1 visible track"}
    assert found.clips[0].channels == []


def test_a_track_without_usable_keys_is_no_controller() -> None:
    lost = Track("position", np.array([math.nan]), np.zeros((1, 3)))
    empty = Track("scale", np.empty(0), np.empty((0, 3)))
    document, report, _ = write(moved(lost, empty))
    assert list(document.find(r.Controller)) == []
    assert said(report, Outcome.DROPPED) == {"/nodes/box/position": "1 of 1 key with non-finite numbers"}


# --- the active segment ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("start", "end", "stored", "words"),
    [
        (0.0, 30.0, (0, 4800), None),
        (5.0, 30.0, (5 * 160, 4800), None),
        (0.0, 10.5, (0, 10), "the active segment became 0 to 10"),
        (0.0, 0.4, (0, 160), "the active segment became 0 to 160"),
    ],
)
def test_the_segment(start: float, end: float, stored: tuple[int, int], words: str | None) -> None:
    scene = Scene([Node("box", mesh=0)], [mesh()], clips=[Clip(start=start, end=end)])
    document, report, found = write(scene)
    main = document.first(Main)
    assert main is not None
    frames = {stored, (stored[0] // 160, stored[1] // 160)}  # ticks and frames say the same where both are whole
    assert (main.first_frame, main.last_frame) in frames
    assert said(report, Outcome.APPROXIMATED).get("/clips/segment") == words
    if words is None:
        assert (found.clips[0].start, found.clips[0].end) == stored


# --- skins -----------------------------------------------------------------------------------------------------------


def figure(**skin: Any) -> Scene:
    """A triangle on two bones that do not rest where they were bound, and a bone that hangs on them."""
    bones = [
        Node("hip", NodeKind.BONE, position=np.array([1.0, 0, 0])),
        Node("knee", NodeKind.BONE, 0, position=np.array([0.0, 0, 2])),
        Node("toe", NodeKind.BONE, 1, position=np.array([0.0, 1, 0])),
    ]
    inverse = np.stack([np.eye(4), np.eye(4)])
    inverse[0, :3, 3] = (0.0, -1.0, 0.0)
    inverse[1, :3, 3] = (0.0, -1.0, -3.0)
    made = Skin("cloth", [0, 1], inverse, np.array([0, 1, 1, 2]), np.array([0, 0, 1, 1]), np.array([1, 0.25, 0.75, 1]))
    for name, value in skin.items():
        setattr(made, name, value)
    values = np.array([[1.0, 0, 0, 0], [1, 0, 0, 1.2]])
    relative = RotationForm.AXIS_ANGLE_RELATIVE
    bend = Track("rotation", np.array([0.0, 30.0]), values, Interpolation.TCB, form=relative)
    clip = Clip(channels=[Channel(1, bend)], end=30.0)
    return Scene([*bones, Node("cloth", mesh=0, skin=0)], [mesh()], skins=[made], clips=[clip])


def test_bones_rest_where_they_were_bound_and_keys_say_where_they_are() -> None:
    scene = figure()
    document, report, found = write(scene)
    assert said(report, Outcome.APPROXIMATED) == {}
    hip, knee, toe = document.find(r.Bone)
    assert hip.position == pytest.approx((0, 0, 1))  # bound at 0, 1, 0 of the scene
    assert knee.position == pytest.approx((0, 3, 0))  # 3 above it
    assert len({record.owner_id for record in document.find(r.Controller)} & {hip.id, knee.id, toe.id}) == 3
    ours, theirs = keyframer.pose(scene, frames=FRAMES), keyframer.pose(found, frames=FRAMES)
    numbers = {node.name: number for number, node in enumerate(found.nodes)}
    assert np.allclose(theirs.vertices(numbers["cloth"])[..., [0, 2, 1]], ours.vertices(3), atol=1e-5)
    for number, name in enumerate(("hip", "knee", "toe")):
        places = theirs.world[:, numbers[name], :3, 3][:, [0, 2, 1]]
        assert np.allclose(places, ours.world[:, number, :3, 3], atol=1e-5), name


def test_a_weighted_skin_keeps_its_weights() -> None:
    _, _, found = write(figure())
    skin = found.skins[0]
    assert (skin.rigid, skin.vertices.tolist(), skin.weights.tolist()) == (False, [0, 1, 1, 2], [1, 0.25, 0.75, 1])


def test_a_rigid_skin_with_offsets_of_its_own() -> None:
    """The offsets are what the file has: they are written, not computed from the mesh."""
    offsets = np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 1]])
    rigid = {"vertices": np.arange(3), "influences": np.array([0, 1, 1]), "weights": np.ones(3), "rigid": True}
    document, _, _ = write(figure(positions=offsets, **rigid))
    record = document.first(r.Mesh)
    assert record is not None
    assert record.skin_type == r.SIMPLE_SKIN
    assert record.vertices.tolist() == offsets[:, [0, 2, 1]].tolist()


def test_influences_that_stand_apart_are_said() -> None:
    """The second vertex lies at 2, 0, 0; its first influence says 5 farther along X."""
    scene = figure()
    bound = np.linalg.inv(scene.skins[0].inverse_bind)
    skin = scene.skins[0]
    local = np.einsum(
        "nij,nj->ni", skin.inverse_bind[skin.influences], np.column_stack([POINTS[skin.vertices], np.ones(4)])
    )[:, :3]
    local[1] += bound[0, :3, :3].T @ [5.0, 0, 0]
    skin.positions = local
    (loss,) = write(scene)[1].of(Outcome.APPROXIMATED)
    assert (loss.path, loss.unit) == ("/nodes/cloth/skin", "scene unit")
    assert loss.error == pytest.approx(5.0)


def test_influences_that_agree_are_not_worth_a_word() -> None:
    scene = figure()
    skin = scene.skins[0]
    points = np.column_stack([POINTS[skin.vertices], np.ones(4)])
    skin.positions = np.einsum("nij,nj->ni", skin.inverse_bind[skin.influences], points)[:, :3]
    assert said(write(scene)[1], Outcome.APPROXIMATED) == {}


def test_a_skin_without_bones_moves_nothing() -> None:
    nothing = np.empty(0, int)
    parts = {"joints": [], "inverse_bind": np.empty((0, 4, 4)), "vertices": nothing, "influences": nothing}
    document, _, found = write(figure(weights=np.empty(0), **parts))
    assert next(bone.position for bone in document.find(r.Bone)) == pytest.approx((1, 0, 0))
    assert found.skins == []


def test_rounds_are_played_out() -> None:
    """Nothing here repeats: a track that does is written for as long as the clip runs."""
    loop = Track("position", np.array([0.0, 10.0]), np.array([[0.0, 0, 0], [4, 0, 0]]), wrap=Wrap.REPEAT)
    scene = moved(loop)
    _, report, found = write(scene)
    assert said(report, Outcome.APPROXIMATED)["/nodes/box/position"].startswith("the format cannot store repeat tracks")
    frames = [2.0, 9.0, 13.0, 28.0]
    ours, theirs = keyframer.pose(scene, frames=frames), keyframer.pose(found, frames=frames)
    assert np.allclose(theirs.vertices(0)[..., [0, 2, 1]], ours.vertices(0), atol=1e-3)
