"""Writing 3D Studio documents from scenes, following the notes on the format; edited originals."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import keyframer
from keyframer.curves import Interpolation, RotationForm, Track
from keyframer.formats.document import Document
from keyframer.formats.threeds import FORMAT
from keyframer.formats.threeds import records as r
from keyframer.scene import (
    Camera,
    Channel,
    Clip,
    Light,
    LightType,
    Material,
    Mesh,
    Morph,
    Node,
    NodeKind,
    Scene,
    TextureMap,
)
from keyframer.scene.loss_report import LossReport, Outcome
from keyframer.scene.losses import MESH_SPLIT
from tests.building.scenes import TRIANGLE, one_node, triangle

WINDMILL = Path(__file__).parents[2] / "samples/3ds/windmill.3ds"


def moving(node: int, kind: str = "position", **parts: object) -> Channel:
    values = np.array([[1.0, 2, 3], [4, 5, 6]])
    return Channel(node, Track(kind, np.array([0.0, 10.0]), values, Interpolation.TCB, **parts))  # type: ignore[arg-type]


def write(scene: Scene, **options: object) -> tuple[Document, LossReport]:
    written = FORMAT.from_scene(scene, options)
    return written.document, written.report


def save_and_reload(document: Document, tmp_path: Path) -> Scene:
    path = tmp_path / "written.3ds"
    path.write_bytes(keyframer.encode(document))
    return keyframer.load(path)


def renamed(report: LossReport) -> list[str]:
    return [loss.path for loss in report if loss.type.key == "NAME_CHANGED:rule"]


# --- from nothing ---------------------------------------------------------------------------------------------------


def test_names_are_short_and_unique_and_renames_are_reported() -> None:
    """Names that fit are kept: those that are cut give way."""
    names = ["A long name of a node", "A long name of another", "a long nam", "Box"]
    meshes = [triangle() for _ in names]
    scene = Scene(nodes=[Node(name, mesh=number) for number, name in enumerate(names)], meshes=meshes)
    document, report = write(scene)
    stored = [thing.name for thing in document.find(r.NamedObject)]
    assert stored == [b"A long na2", b"A long na3", b"a long nam", b"Box"]
    assert len({name.lower() for name in stored}) == 4
    assert renamed(report) == [f"/nodes/{name}" for name in names[:2]]
    assert [header.name for header in document.find(r.NodeHeader)] == stored


def test_nodes_that_share_a_mesh_are_instances_of_one_object() -> None:
    """In place, and in another place, turned and scaled; a node with a name that is too long gives way."""
    mesh = Mesh("Wheel", [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 2)], [(0, 1, 2), (0, 2, 3)])
    nodes = [
        Node("WheelFrontLeft", mesh=0, position=[1, 0, 0]),
        Node("Right", mesh=0, position=[3, 0, 0], rotation_xyzw=[0, 0, 0.6, 0.8]),
        Node("WheelFront", mesh=0, position=[0, 5, 0], scale=[2, 2, 2]),
        Node("Other", mesh=1),
    ]
    scene = Scene(nodes=nodes, meshes=[mesh, replace(mesh, name="Other")])
    document, report = write(scene)
    assert [thing.name for thing in document.find(r.NamedObject)] == [b"WheelFron2", b"Other"]
    assert [record.name for record in document.find(r.InstanceName)] == [b"Right", b"WheelFront"]
    assert renamed(report) == ["/nodes/WheelFrontLeft"]
    loaded = keyframer.load(keyframer.encode(document))
    assert [node.name for node in loaded.nodes] == ["WheelFron2", "WheelFron2.Right", "WheelFron2.WheelFront", "Other"]
    assert [node.mesh for node in loaded.nodes] == [0, 0, 0, 1]
    ours, theirs = keyframer.pose(scene, frames=[0]), keyframer.pose(loaded, frames=[0])
    for number in range(4):
        assert np.allclose(theirs.vertices(number), ours.vertices(number), atol=1e-5)


def test_names_of_materials_and_maps_are_shortened() -> None:
    paint = Material("a material with a long name", maps={"texture1": TextureMap("textures/Some Picture.jpeg")})
    twin = Material("a material with a long name too", maps={"texture1": TextureMap("other/some picture.jpeg")})
    document, report = write(Scene(materials=[paint, twin]))
    assert [record.name for record in document.find(r.MaterialName)] == [b"a material with ", b"a material with2"]
    assert [record.name for record in document.find(r.MapName)] == [b"SOME_PIC.JPE", b"SOME_PI2.JPE"]
    assert len(renamed(report)) == 4


def test_the_order_of_chunks() -> None:
    scene = Scene(nodes=[Node("child", parent=1, mesh=0), Node("parent", mesh=0)], meshes=[triangle()])
    scene.materials = [Material("paint")]
    document, _ = write(scene)
    editor, keyframer_ = document.first(r.Editor), document.first(r.Keyframer)
    kinds = [type(child) for child in editor.children]
    assert kinds.index(r.Material) < kinds.index(r.NamedObject)
    assert [type(child) for child in keyframer_.children[:3]] == [r.KeyframerHeader, r.Frames, r.CurrentTime]
    nodes = [child for child in keyframer_.children if isinstance(child, r.Node)]
    for number, node in enumerate(nodes):
        first, second = node.children[:2]
        assert isinstance(first, r.NodeId)
        assert isinstance(second, r.NodeHeader)
        assert first.id_ == number
        assert second.parent < number
        assert {r.PositionTrack, r.RotationTrack, r.ScaleTrack} <= {type(child) for child in node.children}
    assert [next(document.find(kind)) is not None for kind in (r.Version, r.MeshVersion, r.MasterScale)]
    version, scale = document.first(r.Version), document.first(r.MasterScale)
    assert (version.version, scale.scale) == (3, 1.0)


def test_stored_vertices_and_keyframer_agree(tmp_path: Path) -> None:
    """A child of a rotated, stretched parent, with a pivot: the stored vertices are those of the scene at frame 0."""
    turn = np.array([0.0, 0.6, 0.0, 0.8])
    parent = Node("parent", NodeKind.DUMMY, position=np.array([5.0, 1, 0]), rotation_xyzw=turn)
    parent.scale = np.array([2.0, 1.0, 0.5])
    child = Node("child", parent=0, mesh=0, pivot=np.array([0.5, 0.5, 0.0]))
    scene = Scene(nodes=[parent, child], meshes=[triangle()], clips=[Clip(channels=[moving(1)], end=10.0)])
    document, report = write(scene)
    points = document.first(r.PointArray)
    posed = keyframer.pose(scene, frames=[0.0, 4.0, 10.0])
    assert np.allclose(points.points, posed.vertices(1)[0], atol=1e-5)
    matrix = document.first(r.MeshMatrix)
    axes = np.array([matrix.x_axis, matrix.y_axis, matrix.z_axis, matrix.origin]).T
    assert np.allclose(axes, posed.world[0, 1, :3], atol=1e-5)
    loaded = save_and_reload(document, tmp_path)
    assert not [issue for issue in loaded.issues if issue.code == "SCENE_REST_POSE"]
    number = next(i for i, node in enumerate(loaded.nodes) if node.name == "child")
    assert np.allclose(keyframer.pose(loaded, frames=[0.0, 4.0, 10.0]).vertices(number), posed.vertices(1), atol=1e-4)
    assert any(loss.path == "/nodes/child/pivot" and loss.outcome is Outcome.BAKED for loss in report)


def test_rotation_keys_are_clockwise_increments_about_unit_axes() -> None:
    values = np.array([[0, 0, 2.0, 0.5], [0, 3.0, 0, -1.0], [0, 0, 0, 1.0]])
    form = RotationForm.AXIS_ANGLE_RELATIVE
    track = Track("rotation", np.array([0.0, 5, 9]), values, Interpolation.TCB, form=form)
    scene = one_node(track, end=9)
    document, _ = write(scene)
    chunk = document.first(r.RotationTrack)
    assert np.allclose(chunk.keys.value, [[0.5, 0, 0, -1], [1.0, 0, 1, 0], [0.0, 0, 0, 1]])
    assert (chunk.time_min, chunk.time_max) == (0, 0)


@pytest.mark.parametrize("count", [70_000, 131_000])
def test_large_meshes_are_split(count: int, tmp_path: Path) -> None:
    grid = np.arange(count, dtype=np.float64)
    points = np.column_stack([grid, np.sin(grid), np.cos(grid)])
    corners = np.column_stack([np.arange(count - 2), np.arange(1, count - 1), np.arange(2, count)])
    owners = np.arange(count - 2) % 2
    big = Mesh("big", points, corners, uv=points[:, :2] % 1, face_materials=owners)
    scene = Scene(nodes=[Node("big", mesh=0)], meshes=[big], materials=[Material("a"), Material("b")])
    scene.clips = [Clip(channels=[moving(0)], end=10.0)]
    document, report = write(scene)
    arrays = [record.points for record in document.find(r.PointArray)]
    assert max(map(len, arrays)) <= 65_535
    assert sum(len(record.faces) for record in document.find(r.FaceArray)) == count - 2
    assert MESH_SPLIT["pieces"] in [loss.type for loss in report]
    loaded = save_and_reload(document, tmp_path)
    posed = keyframer.pose(loaded, frames=[10.0])
    whole = keyframer.pose(scene, frames=[10.0]).vertices(0)[0]
    parts = np.concatenate([posed.vertices(number)[0] for number, node in enumerate(loaded.nodes)])
    assert np.allclose(parts.min(axis=0), whole.min(axis=0), atol=0.02)
    assert np.allclose(parts.max(axis=0), whole.max(axis=0), atol=0.02)
    assert sum(int((mesh.face_materials == 1).sum()) for mesh in loaded.meshes) == owners.sum()


def test_texture_seams_duplicate_vertices(tmp_path: Path) -> None:
    square = Mesh("square", np.array([[0.0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]]), np.array([[0, 1, 2], [0, 2, 3]]))
    square.uv = np.array([[0.0, 0], [1, 0], [1, 1], [0, 1], [0.5, 0.5]])
    square.uv_corners = np.array([[0, 1, 2], [4, 2, 3]])
    document, report = write(Scene(nodes=[Node("square", mesh=0)], meshes=[square]))
    mesh = save_and_reload(document, tmp_path).meshes[0]
    assert len(mesh.positions) == 5
    assert np.allclose(mesh.uv[mesh.corners], square.uv[square.uv_corners])
    assert np.allclose(mesh.positions[mesh.corners], square.positions[square.corners])
    assert MESH_SPLIT["seams"] in [loss.type for loss in report]


def test_cameras_lights_and_targets(tmp_path: Path) -> None:
    nodes = [
        Node("eye", NodeKind.CAMERA, camera=0, target=1, position=np.array([0.0, -9, 3])),
        Node("eye.target", NodeKind.TARGET, position=np.array([0.0, 0, 1])),
        Node("bulb", NodeKind.LIGHT, light=0, position=np.array([1.0, 2, 3])),
        Node("torch", NodeKind.LIGHT, light=1, position=np.array([4.0, 5, 6])),
    ]
    scene = Scene(nodes=nodes, cameras=[Camera("eye", 60.0, 10.0)])
    spot = Light("torch", LightType.SPOT, (0.5, 0.25, 1.0), 2.0, target=(1.0, 1.0, 1.0))
    spot.hotspot_degrees, spot.falloff_degrees = 20.0, 30.0
    scene.lights = [Light("bulb"), spot]
    scene.clips = [Clip(channels=[moving(1)], end=10.0)]
    document, report = write(scene)
    loaded = save_and_reload(document, tmp_path)
    posed, ours = keyframer.pose(loaded, frames=[0.0, 7.0]), keyframer.pose(scene, frames=[0.0, 7.0])
    numbers = {node.name: number for number, node in enumerate(loaded.nodes)}
    for name in ("eye", "bulb", "torch"):
        mine = next(i for i, node in enumerate(nodes) if node.name == name)
        assert np.allclose(posed.world[:, numbers[name]], ours.world[:, mine], atol=1e-5), name
    assert posed.camera_fov_degrees.tolist() == [[60.0], [60.0]]
    torch = loaded.lights[loaded.nodes[numbers["torch"]].light or 0]
    assert (torch.hotspot_degrees, torch.falloff_degrees, torch.multiplier) == (20.0, 30.0, 2.0)
    assert "/nodes/torch/target" in [loss.path for loss in report.of(Outcome.BAKED)]


def test_a_free_camera_gets_a_target_and_a_roll(tmp_path: Path) -> None:
    turn = Track(
        "rotation",
        np.array([0.0, 20.0]),
        np.array([[1.0, 0, 0, 1.2], [0, 0, 1, 1.0]]),
        Interpolation.LINEAR,
        form=RotationForm.AXIS_ANGLE_RELATIVE,
    )
    node = Node("eye", NodeKind.CAMERA, camera=0, position=np.array([3.0, -9, 3]))
    scene = Scene(nodes=[node], cameras=[Camera("eye")], clips=[Clip(channels=[Channel(0, turn)], end=20.0)])
    loaded = save_and_reload(write(scene)[0], tmp_path)
    frames = [0.0, 5.0, 20.0]
    mine, theirs = keyframer.pose(scene, frames=frames).world[:, 0], keyframer.pose(loaded, frames=frames).world[:, 0]
    assert np.allclose(mine, theirs, atol=2e-3)


def test_visibility(tmp_path: Path) -> None:
    track = Track("visible", np.array([0.0, 5, 6, 9]), np.array([0.0, 1, 1, 0]), Interpolation.STEP)
    scene = Scene(nodes=[Node("box", mesh=0)], meshes=[triangle()], clips=[Clip(channels=[Channel(0, track)], end=12)])
    loaded = save_and_reload(write(scene)[0], tmp_path)
    frames = np.arange(12.0)
    assert (keyframer.pose(loaded, frames=frames).visible == keyframer.pose(scene, frames=frames).visible).all()


def test_rates(tmp_path: Path) -> None:
    clip = Clip(channels=[moving(0)], end=10.0, rate=24.0)
    scene = Scene(nodes=[Node("box", NodeKind.DUMMY)], clips=[clip])
    written = FORMAT.from_scene(scene, {"fps": 24.0})
    assert written.reader_options == {"fps": 24.0}
    assert written.document.first(r.PositionTrack).keys.time.tolist() == [0, 10]
    usual = write(scene)[0].first(r.PositionTrack)
    assert usual.keys.time.tolist() == [0, 12, 13]  # 10 / 24 seconds are 12.5 frames: frame 12 is on the way


# --- edited originals ------------------------------------------------------------------------------------------------


def test_a_scene_in_other_axes_is_converted_back() -> None:
    from keyframer.formats.kit.coordinates import in_space
    from keyframer.scene import Space

    scene = in_space(keyframer.load(WINDMILL), Space("y"))
    data = keyframer.encode(write(scene)[0])
    assert len(data) == WINDMILL.stat().st_size


def test_writing_does_not_change_the_scene() -> None:
    scene = replace(keyframer.load(WINDMILL), origin=None)
    before = keyframer.encode(write(scene)[0])
    assert keyframer.encode(write(scene)[0]) == before
    assert math.isclose(scene.clips[0].end, 100.0)


def test_constant_morph_weights_are_baked(tmp_path: Path) -> None:
    """As in glTF: blended shapes without an animation of the weights."""
    above = TRIANGLE + np.array([0, 0, 4])
    shapes = [TRIANGLE, above, TRIANGLE * 3]
    nodes = [Node("one", mesh=0, morph=Morph(["", "up", "large"], shapes)), Node("other", mesh=0)]
    weights = np.array([[0.25, 0.5, 0.25]])
    still = Channel(0, Track("morph", np.zeros(1), weights, Interpolation.LINEAR))
    scene = Scene(nodes=nodes, meshes=[triangle()], clips=[Clip(channels=[still], rate=30.0)])
    document, report = write(scene)
    back = save_and_reload(document, tmp_path)
    wanted = [0.25 * TRIANGLE + 0.5 * above + 0.75 * TRIANGLE, TRIANGLE]
    for number in range(2):
        np.testing.assert_allclose(keyframer.pose(back, [0.0]).vertices(number)[0], wanted[number], atol=1e-6)
    (loss,) = (loss for loss in report if loss.path == "/nodes/one/morph")
    assert (loss.outcome, loss.type.key) == (Outcome.BAKED, "MORPH_CONVERTED:applied")
    for format in ("hale3d", "uto3d"):
        keyframer.save(scene, tmp_path / f"x.{format}", format=format)
        kind = {"format": format}
        loaded = keyframer.load(tmp_path / f"x.{format}", **kind)  # type: ignore[arg-type]
        positions = np.concatenate([np.asarray(mesh.positions) for mesh in loaded.meshes])
        assert float(np.abs(positions).max()) == pytest.approx(float(np.abs(wanted[0]).max()), rel=1e-4), format


def test_the_cone_of_a_directional_light_is_not_overridden_by_its_tracks(tmp_path: Path) -> None:
    nodes = [Node("sun", NodeKind.LIGHT, light=0, position=np.array([0.0, 0, 9])), Node("box", mesh=0)]
    scene = Scene(nodes=nodes, meshes=[triangle()], lights=[Light("sun", LightType.DIRECTIONAL)])
    document, _ = write(scene)
    pose = keyframer.pose(save_and_reload(document, tmp_path), [0.0])
    assert (pose.light_hotspot_degrees[0, 0], pose.light_falloff_degrees[0, 0]) == (80.0, 90.0)
    scene.lights[0] = Light("spot", LightType.SPOT)
    document, _ = write(scene)
    pose = keyframer.pose(save_and_reload(document, tmp_path), [0.0])
    assert (pose.light_hotspot_degrees[0, 0], pose.light_falloff_degrees[0, 0]) == (44.0, 45.0)


def test_names_of_objects_and_files_are_cut_at_characters(tmp_path: Path) -> None:
    name = "\u041a\u043e\u0440\u043e\u0431\u043a\u0430"
    material = Material(name + name, maps={"texture1": TextureMap(f"{name}.png")})
    scene = Scene(nodes=[Node(name, mesh=0)], meshes=[triangle()], materials=[material])
    back = save_and_reload(write(scene)[0], tmp_path)
    assert back.nodes[0].name == name[:5]
    assert back.materials[0].name == (name + name)[:8]
    assert back.materials[0].maps["texture1"].file_name == f"{name.upper()[:4]}.PNG"


def test_rounded_visibility_times_are_reported() -> None:
    blink = Track("visible", np.array([0.0, 5.4]), np.array([1.0, 0.0]), Interpolation.STEP)
    scene = Scene(
        nodes=[Node("box", mesh=0)], meshes=[triangle()], clips=[Clip(channels=[Channel(0, blink)], rate=30.0)]
    )
    (loss,) = (channel for channel in write(scene)[1] if channel.path == "/nodes/box/visible")
    assert (loss.outcome, loss.unit) == (Outcome.APPROXIMATED, "second")
    assert loss.error == pytest.approx(0.4 / 30)
