"""Writing scenes as 3D Studio files: the file reads back as the scene, and the report lists everything else."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
import pytest

import keyframer
from keyframer.curves import Interpolation, RotationForm, Track
from keyframer.formats.threeds import FORMAT
from keyframer.formats.threeds import records as r
from keyframer.scene import (
    Camera,
    Channel,
    Clip,
    Light,
    LightType,
    Material,
    Morph,
    Node,
    NodeKind,
    Scene,
    Skin,
    Space,
    TextureMap,
)
from keyframer.scene.loss_report import CannotWrite, Outcome
from tests.building.editing import losses_of
from tests.building.editing import write as write_as
from tests.building.scenes import TRIANGLE, as_read_from_a_file, triangle

FRAMES = [0.0, 3.0, 10.0]

write = partial(write_as, "3ds")


def numbers(scene: Scene) -> dict[str, int]:
    """Return the nodes by name; an instance of a mesh by its own name, which comes after that of the mesh."""
    return {node.name.rpartition(".")[2]: number for number, node in enumerate(scene.nodes)}


def one_clip(*channels: Channel, end: float = 10.0) -> list[Clip]:
    return [Clip(channels=list(channels), end=end)]


def slide(node: int, kind: str = "position", first: Any = (1.0, 2.0, 3.0), last: Any = (4.0, 5.0, 6.0)) -> Channel:
    values = np.array([first, last], np.float64)
    return Channel(node, Track(kind, np.array([0.0, 10.0]), values, Interpolation.TCB))


def turn(node: int, *angles: float) -> Channel:
    values = np.array([[0.6, 0.0, 0.8, angle] for angle in angles])
    times = np.linspace(0.0, 10.0, len(angles))
    form = RotationForm.AXIS_ANGLE_RELATIVE
    return Channel(node, Track("rotation", times, values, Interpolation.TCB, form=form))


def assert_same_vertices(scene: Scene, loaded: Scene, *names: str) -> None:
    ours, theirs = keyframer.pose(scene, frames=FRAMES), keyframer.pose(loaded, frames=FRAMES)
    mine, others = numbers(scene), numbers(loaded)
    for name in names:
        assert np.allclose(theirs.vertices(others[name]), ours.vertices(mine[name]), atol=1e-4), name


# --- the whole -------------------------------------------------------------------------------------------------------


def test_more_nodes_than_a_file_can_have_are_refused() -> None:
    message = "32001 nodes are too many for a 3D Studio file: at most 32000 can be written"
    with pytest.raises(CannotWrite, match=message):
        FORMAT.from_scene(Scene([Node("")] * 32_001))


def test_a_scene_without_nodes_is_written_without_a_keyframer() -> None:
    document, _, scene = write(Scene(materials=[Material("paint")]))
    assert document.first(r.Keyframer) is None
    assert [material.name for material in scene.materials] == ["paint"]


@pytest.mark.parametrize(
    ("metres", "source_format", "scale"),
    [
        (None, None, 1.0),
        (0.0254, None, 1.0),
        (0.001, None, 0.03937008),
        (1.0, None, 1.0),
        (1.0, "gltf", 1.0),
        (1.0, "3ds", 39.37008),
    ],
)
def test_the_unit_that_a_source_states_is_stored_as_master_scale_in_inches(
    metres: float | None, source_format: str | None, scale: float
) -> None:
    """The fixed metre of other formats says nothing about their numbers: such files get master scale 1."""
    scene = Scene([Node("box", NodeKind.DUMMY, position=[39.5, -2.0, 0.25])], source_format=source_format)
    scene.space = Space(metres_per_unit=metres)
    document, report, _ = write(scene)
    chunk, track = document.first(r.MasterScale), document.first(r.PositionTrack)
    assert chunk.scale == pytest.approx(scale, rel=1e-7)
    assert track.keys.value.tolist() == [[39.5, -2.0, 0.25]]
    kept = ("LENGTHS_CONVERTED:not scaled", {"reason": "they are metres, and master scale 1 means inches"})
    assert losses_of(report, Outcome.BAKED) == ({"/space": kept} if (metres, scale) == (1.0, 1.0) else {})


# --- materials and surroundings --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("value", "kind"), [(0.33, r.PercentInt), (0.3333, r.PercentFloat)])
def test_whole_percentages_are_stored_as_integers(value: float, kind: type) -> None:
    document, _, scene = write(Scene(materials=[Material("paint", shininess=value)]))
    parent = document.first(r.MaterialShininess)
    assert [type(child) for child in parent.children] == [kind]
    assert scene.materials[0].shininess == pytest.approx(value)


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        ("box.png", b"BOX.PNG"),
        ("a/long picture.targa", b"LONG_PIC.TAR"),
        ("C:\\x\\Y.TGA", b"Y.TGA"),
        (".", b"."),
        ("", b""),
    ],
)
def test_file_names_are_shortened_to_dos_names(given: str, stored: bytes) -> None:
    material = Material("paint", maps={"texture1": TextureMap(given)})
    document, report, _ = write(Scene(materials=[material]))
    assert document.first(r.MapName).name == stored
    renamed = losses_of(report, Outcome.BAKED)
    told = ("NAME_CHANGED:rule", {"name": stored.decode(), "rule": ""})
    assert renamed == ({} if stored.decode() == given else {f"/maps/{given}": told})


# --- cameras and lights ----------------------------------------------------------------------------------------------


def aimed_light(light: Light) -> Scene:
    nodes = [Node("lamp", NodeKind.LIGHT, light=0, target=1, position=np.array([0.0, 0, 9]))]
    return Scene([*nodes, Node("lamp.target", NodeKind.TARGET)], lights=[light])


def test_a_spot_without_angles_gets_default_angles() -> None:
    light = write(aimed_light(Light("lamp", LightType.SPOT)))[2].lights[0]
    assert (light.hotspot_degrees, light.falloff_degrees) == (44, 45)


def test_a_directional_light_becomes_a_wide_spot() -> None:
    light = Light("sun", LightType.DIRECTIONAL)
    _, report, scene = write(aimed_light(light))
    assert losses_of(report, Outcome.BAKED) == {"/lights/sun": ("KIND_CHANGED:light", {"lights": "directional"})}
    assert (scene.lights[0].type, scene.lights[0].hotspot_degrees) == (LightType.SPOT, 80)


@pytest.mark.parametrize(
    ("node", "case"),
    [
        (Node("lamp", NodeKind.LIGHT, light=0), "target"),
        (Node("eye", NodeKind.CAMERA, camera=0), "target and roll"),
    ],
    ids=["light", "camera"],
)
def test_a_node_without_a_target_gets_one(node: Node, case: str) -> None:
    """Only cameras get a roll track from their rotation."""
    _, report, _ = write(Scene([node], cameras=[Camera("eye")], lights=[Light("lamp", LightType.SPOT)]))
    assert losses_of(report, Outcome.BAKED)[f"/nodes/{node.name}/target"] == (f"AIM_CONVERTED:{case}", {})


def test_ambient_light_becomes_a_node() -> None:
    scene = Scene([Node("all", NodeKind.AMBIENT, light=0)], lights=[Light("all", LightType.AMBIENT, (0.5, 0.25, 1.0))])
    scene.clips = one_clip(slide(0, "color", (0.5, 0.25, 1.0), (1.0, 1.0, 0.0)))
    document, _, loaded = write(scene)
    node = document.first(r.AmbientNode)
    assert [child.id_ for child in node.children if isinstance(child, r.NodeId)] == [-1]
    track = next(channel.track for channel in loaded.clips[0].channels if channel.track.kind == "color")
    assert track.values.tolist() == [[0.5, 0.25, 1], [1, 1, 0]]


def test_cameras_keep_cone_ranges_and_lens() -> None:
    eye = Camera("eye", 50.0, 12.0, ranges=(1.0, 20.0), clip=(0.5, 900.0), shows_cone=True)
    eye.extras["3ds"] = {"lens": 48.0}  # 2400 / 48 is exactly 50; the file's own number is kept
    scene = Scene([Node("eye", NodeKind.CAMERA, camera=0, target=1), Node("goal", NodeKind.TARGET)], cameras=[eye])
    scene.nodes[1].position = np.array([0.0, 5, 0])
    document, report, loaded = write(scene)
    assert losses_of(report, Outcome.DROPPED) == {
        "/cameras/eye/clip": ("FIELD_UNSUPPORTED:value", {"what": "clip planes"})
    }
    body = document.first(r.Camera)
    assert (body.lens, body.bank) == (48.0, 12.0)
    assert (loaded.cameras[0].ranges, loaded.cameras[0].shows_cone) == ((1, 20), True)


def test_a_lens_that_contradicts_the_field_of_view_is_replaced() -> None:
    eye = Camera("eye", 60.0)
    eye.extras["3ds"] = {"lens": 48.0}
    scene = Scene([Node("eye", NodeKind.CAMERA, camera=0, target=1), Node("goal", NodeKind.TARGET)], cameras=[eye])
    assert write(scene)[0].first(r.Camera).lens == pytest.approx(40.0)


@pytest.mark.parametrize("what", ["an object", "a target of another camera"])
def test_a_shared_or_non_target_goal_gets_a_separate_target(what: str) -> None:
    """A target belongs to one camera: the second camera gets a copy that moves with the first."""
    kind = NodeKind.OBJECT if what == "an object" else NodeKind.TARGET
    goal = Node("goal", kind, mesh=0 if kind is NodeKind.OBJECT else None)
    scene = Scene(
        [goal, Node("eye", NodeKind.CAMERA, camera=0, target=0, position=np.array([0.0, -9, 0]))], [triangle()]
    )
    scene.nodes.append(Node("other", NodeKind.CAMERA, camera=1, target=0, position=np.array([9.0, 0, 0])))
    scene.cameras = [Camera("eye"), Camera("other")]
    scene.clips = one_clip(slide(0))
    _, report, loaded = write(scene)
    separate = ["/nodes/eye/target", "/nodes/other/target"] if kind is NodeKind.OBJECT else ["/nodes/other/target"]
    added = {path: kind for path, (kind, _) in losses_of(report, Outcome.BAKED).items() if "target" in path}
    assert added == dict.fromkeys(separate, "NODE_ADDED:target")
    ours, theirs = keyframer.pose(scene, frames=FRAMES), keyframer.pose(loaded, frames=FRAMES)
    for name in ("eye", "other"):
        assert np.allclose(theirs.world[:, numbers(loaded)[name]], ours.world[:, numbers(scene)[name]], atol=1e-5)


# --- nodes that have no equal ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [NodeKind.DUMMY, NodeKind.BONE, NodeKind.OBJECT, NodeKind.TARGET])
def test_nodes_without_content_become_dummies(kind: NodeKind) -> None:
    node = Node("joint", kind, position=np.array([1.0, 2, 3]))
    node.bounding_box = (np.array([-1.0, -1, -1]), np.array([1.0, 1, 1]))
    _, report, scene = write(Scene([node]))
    loaded_node = scene.nodes[0]
    assert (loaded_node.name, loaded_node.kind, loaded_node.position.tolist()) == ("joint", NodeKind.DUMMY, [1, 2, 3])
    assert loaded_node.bounding_box is not None
    assert [corner.tolist() for corner in loaded_node.bounding_box] == [[-1, -1, -1], [1, 1, 1]]
    reason = "no mesh, camera or light belongs to this node"
    became = ("KIND_CHANGED:reason", {"kind": "a dummy", "reason": reason})
    assert losses_of(report, Outcome.BAKED) == ({} if kind is NodeKind.DUMMY else {"/nodes/joint": became})


def skinned(*children: Node) -> Scene:
    bones = [Node("hip", NodeKind.DUMMY, position=np.array([0.0, 0, 5]))]
    inverse = np.eye(4)[None].copy()
    skin = Skin("cloth", [0], inverse, np.arange(3), np.zeros(3, int), np.ones(3))
    scene = Scene(
        [*bones, Node("cloth", mesh=0, skin=0, position=np.array([7.0, 0, 0])), *children], [triangle()], skins=[skin]
    )
    scene.clips = one_clip(slide(0, first=(0, 0, 5), last=(0, 0, 9)))
    return scene


def test_a_mesh_with_a_single_joint_becomes_its_child() -> None:
    scene = skinned()
    _, report, loaded = write(scene)
    assert losses_of(report, Outcome.BAKED) == {"/nodes/cloth/skin": ("MESH_SPLIT:one joint", {"count": 1})}
    cloth = numbers(loaded)["cloth"]
    assert loaded.nodes[cloth].parent == numbers(loaded)["hip"]
    ours = keyframer.pose(scene, frames=FRAMES).vertices(1)
    assert np.ptp(ours, axis=0).max() > 1  # it moves
    assert np.allclose(keyframer.pose(loaded, frames=FRAMES).vertices(cloth), ours, atol=1e-5)


def test_children_of_a_skinned_mesh_become_children_of_a_dummy() -> None:
    """The mesh follows its bones, but its node and their children do not."""
    scene = skinned(Node("child", NodeKind.DUMMY, 1, position=np.array([1.0, 0, 0])))
    _, _, loaded = write(scene)
    ours, theirs = keyframer.pose(scene, frames=FRAMES), keyframer.pose(loaded, frames=FRAMES)
    child = numbers(loaded)["child"]
    assert np.allclose(theirs.world[:, child, :3, 3], ours.world[:, 2, :3, 3], atol=1e-5)
    parent = loaded.nodes[child].parent
    assert parent is not None
    assert loaded.nodes[parent].kind is NodeKind.DUMMY


# --- morphs, hiding --------------------------------------------------------------------------------------------------


def morphing(weights: Any, how: Interpolation = Interpolation.TCB, **node: Any) -> Scene:
    shapes = Morph(["box", "large"], [TRIANGLE, TRIANGLE * 2])
    track = Track("morph", np.array([0.0, 10.0]), np.array(weights, np.float64), how)
    return Scene([Node("box", mesh=0, morph=shapes, **node)], [triangle()], clips=one_clip(Channel(0, track)))


@pytest.mark.parametrize(
    ("weights", "how"),
    [([[1.0, 0.0], [0.5, 0.5]], Interpolation.TCB), ([[1.0, 0.0], [0.0, 1.0]], Interpolation.LINEAR)],
    ids=["mixed", "linear"],
)
def test_morph_keys_that_blend_shapes_are_dropped(weights: Any, how: Interpolation) -> None:
    _, report, scene = write(morphing(weights, how))
    assert losses_of(report, Outcome.DROPPED) == {"/nodes/box/morph": ("MORPHS_UNSUPPORTED:blended", {})}
    assert [channel.track.kind for channel in scene.clips[0].channels if channel.track.kind == "morph"] == []


def test_shapes_of_a_mirrored_mesh_are_mirrored() -> None:
    scene = morphing([[1.0, 0.0], [0.0, 1.0]], scale=np.array([-1.0, 1.0, 1.0]), pivot=np.array([0.5, 0, 0]))
    _, _, loaded = write(scene)
    assert_same_vertices(scene, loaded, "box")


def test_a_morph_without_keys_keeps_its_mesh() -> None:
    scene = morphing([[1.0, 0.0], [0.0, 1.0]])
    scene.clips = []
    _, report, loaded = write(scene)
    assert losses_of(report, Outcome.DROPPED) == {"/nodes/box/morph": ("MORPHS_UNSUPPORTED:unused", {})}
    assert loaded.nodes[0].morph is None
    assert len(loaded.meshes) == 1


@pytest.mark.parametrize("hidden", [False, True])
@pytest.mark.parametrize(
    ("times", "values", "seen"),
    [
        ([], [], None),
        ([math.nan], [1.0], None),
        ([0.0, 5.0], [0.0, 0.0], [False, False, False]),
        ([0.0, 5.0], [1.0, 1.0], [True, True, True]),
        ([0.0, 5.0, 5.0], [1.0, 1.0, 0.0], [True, True, False]),  # of two keys at one frame the last holds
    ],
    ids=["no keys", "non-finite values", "always hidden", "always shown", "two at once"],
)
def test_visibility_tracks(times: list[float], values: list[float], seen: list[bool] | None, hidden: bool) -> None:
    track = Track("visible", np.array(times), np.array(values), Interpolation.STEP)
    scene = Scene([Node("box", mesh=0, hidden=hidden)], [triangle()], clips=one_clip(Channel(0, track)))
    _, _, loaded = write(scene)
    wanted = [not hidden] * 3 if seen is None else seen
    assert keyframer.pose(loaded, frames=FRAMES).visible[:, numbers(loaded)["box"]].tolist() == wanted


# --- mirrors and flattened nodes -------------------------------------------------------------------------------------


def test_an_animated_mirrored_node_keeps_its_vertices() -> None:
    """Keys of position, rotation and scale below a mirrored node, and of the mirrored scale itself."""
    nodes = [
        Node("mirror", mesh=0, position=np.array([1.0, 2, 3]), rotation_xyzw=np.array([0.0, 0.6, 0, 0.8])),
        Node("below", parent=0, mesh=0, pivot=np.array([0.5, 0.25, 0])),
        Node("twice", parent=1, mesh=0, scale=np.array([1.0, -1.0, 2.0])),
    ]
    nodes.append(Node("aside", mesh=0, position=np.array([9.0, 0, 0])))
    scene = Scene(nodes, [triangle(edges=np.array([5]))])
    scene.clips = one_clip(
        slide(0, "scale", (-1.0, 1.0, 1.0), (-2.0, 1.0, 1.0)),
        slide(1),
        turn(1, 0.5, 0.8, -0.4),
        slide(1, "scale", (1.0, 2.0, 3.0), (2.0, 2.0, 1.0)),
        slide(2),
    )
    document, report, loaded = write(scene)
    assert_same_vertices(scene, loaded, "mirror", "below", "twice", "aside")
    for matrix in document.find(r.MeshMatrix):
        assert np.linalg.det(np.array([matrix.x_axis, matrix.y_axis, matrix.z_axis])) > 0
    assert losses_of(report, Outcome.BAKED)["/nodes/mirror/scale"] == ("TRANSFORM_APPLIED:mirror", {})


def test_a_mirrored_node_with_scale_axes_keeps_its_vertices() -> None:
    node = Node("mirror", mesh=0, scale=np.array([-1.0, 2, 1]), scale_axes_xyzw=np.array([0.0, 0.0, 0.6, 0.8]))
    scene = Scene([node], [triangle()])
    assert_same_vertices(scene, write(scene)[2], "mirror")


def test_a_child_of_a_camera_below_a_mirrored_node_keeps_its_vertices() -> None:
    """Cameras are never mirrored, so their children stay mirrored, as seen at frame 0."""
    nodes = [
        Node("mirror", NodeKind.DUMMY, scale=np.array([-1.0, 1.0, 1.0])),
        Node("eye", NodeKind.CAMERA, 0, camera=0, position=np.array([1.0, 2, 3]), target=3),
        Node("flag", NodeKind.OBJECT, 1, mesh=0),
        Node("goal", NodeKind.TARGET, position=np.array([0.0, 9, 0])),
    ]
    scene = Scene(nodes, [triangle()], cameras=[Camera("eye")])
    _, _, loaded = write(scene)
    ours, theirs = keyframer.pose(scene, frames=[0.0]), keyframer.pose(loaded, frames=[0.0])
    assert np.allclose(theirs.vertices(numbers(loaded)["flag"]), ours.vertices(2), atol=1e-4)


def test_edge_flags_of_a_mirrored_face_stay_with_their_corners() -> None:
    """Only the edge from the second corner to the third is visible, whichever way the face is wound."""
    for scale in (1.0, -1.0):
        node = Node("box", mesh=0, scale=np.array([scale, 1.0, 1.0]))
        scene = Scene([node], [triangle(edges=np.array([0b010]))])
        loaded_mesh = write(scene)[2].meshes[0]
        corners, seen = loaded_mesh.corners[0], int(loaded_mesh.edges[0])
        sides = [(corners[0], corners[1]), (corners[1], corners[2]), (corners[2], corners[0])]
        assert [set(side) for bit, side in enumerate(sides) if seen >> bit & 1] == [{1, 2}]


def test_a_temporarily_negative_scale_is_kept_as_keys() -> None:
    scene = Scene([Node("box", mesh=0)], [triangle()])
    scene.clips = one_clip(slide(0, "scale", (1.0, 1.0, 1.0), (-1.0, 1.0, 1.0)))
    _, report, loaded = write(scene)
    assert "/nodes/box/scale" not in losses_of(report, Outcome.BAKED)
    assert_same_vertices(scene, loaded, "box")


@pytest.mark.parametrize("mirrored", [False, True])
def test_a_node_that_is_flat_at_frame_0_keeps_its_vertices(mirrored: bool) -> None:
    """Flat at frame 0, normal at frame 10: its matrix at frame 0 has no inverse, so the vertices are stored
    untransformed.
    """
    side = -1.0 if mirrored else 1.0
    scene = Scene([Node("box", mesh=0, pivot=np.array([0.5, 0, 0])), Node("above", NodeKind.DUMMY)], [triangle()])
    scene.nodes[0].parent = 1
    scene.nodes[1].scale = np.array([side, 1.0, 1.0])
    scene.clips = one_clip(slide(0, "scale", (1.0, 1.0, 0.0), (1.0, 1.0, 1.0)))
    _, _, loaded = write(scene)
    assert_same_vertices(scene, loaded, "box")


def test_smoothing_groups_and_missing_materials() -> None:
    """A face with a material that the scene does not have gets none."""
    surface = triangle(smoothing=np.array([5]), face_materials=np.array([3]))
    with as_read_from_a_file():
        damaged = Scene([Node("box", mesh=0)], [surface], [Material("paint")])
    document, _, scene = write(damaged)
    assert scene.meshes[0].smoothing.tolist() == [5]
    assert document.first(r.MaterialGroup) is None
