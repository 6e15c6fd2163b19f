"""Hale3D animations and models from scenes: frames, boxes, skins, options, and what cannot be stored."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import keyframer
from keyframer.curves import Interpolation, RotationForm, Track
from keyframer.formats.hale3d import FORMAT
from keyframer.formats.hale3d.document import decode
from keyframer.formats.hale3d.records import Animation, Frames, Joint, ModelJoint
from keyframer.formats.hale3d.records import Mesh as MeshRecord
from keyframer.formats.kit.scene_reading import scene_of
from keyframer.formats.kit.scene_writing import Written
from keyframer.scene import (
    Camera,
    Channel,
    Clip,
    Environment,
    Light,
    LightType,
    Material,
    Mesh,
    Morph,
    Node,
    NodeKind,
    RawChannel,
    Scene,
    Skin,
    TextureMap,
)
from keyframer.scene.loss_report import CannotWrite, Outcome
from tests.building.editing import losses_of
from tests.building.random_scenes import largest_difference
from tests.corpus import CORPUS, needs_corpus

SAMPLES = Path(__file__).parents[2] / "samples/hale3d"


def arm() -> Scene:
    turns = np.array([[0.0, 0, 0, 1], [0, 0.6, 0, 0.8], [0, 0.8, 0, 0.6]])
    tracks = [
        Channel(0, Track.sampled("position", np.array([[0.0, 0, 0], [0, 0, 1], [0, 0, 2]]))),
        Channel(1, Track.sampled("rotation", turns, form=RotationForm.QUATERNION_ABSOLUTE)),
    ]
    nodes = [Node("upper", NodeKind.BONE), Node("lower", NodeKind.BONE, 0, position=np.array([0.0, 3, 0]))]
    return Scene(nodes=nodes, clips=[Clip(channels=tracks, end=2.0, rate=24.0)])


def with_mesh() -> Scene:
    scene = arm()
    points = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    mesh = Mesh("glove", points, np.array([[0, 1, 2], [0, 2, 3]]), face_materials=np.array([0, 1]))
    mesh.uv = np.array([[0.0, 0.25], [1, 0], [0, 1], [0.5, 0.5]])
    skinned = Node("glove", mesh=0, parent=1, pivot=np.array([0.0, 0, 0.5]))
    materials = [Material("a", maps={"texture1": TextureMap("skin.tga")}), Material("b")]
    return replace(scene, nodes=[*scene.nodes, skinned], meshes=[mesh], materials=materials)


def test_only_animated_components_are_stored(tmp_path: Path) -> None:
    document = FORMAT.from_scene(arm()).document
    upper, lower = document.find(Joint)
    assert (upper.flags, upper.start_index, upper.parent) == (0b000100, 0, -1)
    assert (lower.flags, lower.start_index, lower.parent) == (0b010000, 1, 0)
    top = document.first(Animation)
    assert (top.frame_rate, top.frame_count, top.component_count) == (24, 3, 2)
    path = tmp_path / "arm.anim"
    path.write_bytes(keyframer.encode(document))
    assert max(largest_difference(arm(), keyframer.load(path, format="hale3d"), np.array([0.0, 1.25, 2.5]))) < 1e-3


def test_boxes_contain_joints_or_vertices() -> None:
    frames = FORMAT.from_scene(arm()).document.first(Frames)
    assert frames.bounds.tolist() == [[[0, 0, z], [0, 3, z]] for z in (0, 1, 2)]
    scene = with_mesh()
    frames = FORMAT.from_scene(scene).document.first(Frames)
    posed = keyframer.pose(scene, frames=[0.0, 1.0, 2.0]).vertices(2)
    assert np.allclose(frames.bounds[:, 0], posed.min(axis=1), atol=1e-6)
    assert np.allclose(frames.bounds[:, 1], posed.max(axis=1), atol=1e-6)


def test_the_model_is_written_with_the_animation(tmp_path: Path) -> None:
    scene = with_mesh()
    report = keyframer.save(scene, tmp_path / "arm.anim", format="hale3d")
    assert [Path(name).name for name in report.written] == ["arm.anim", "arm.mdl"]
    records = list(decode((tmp_path / "arm.mdl").read_bytes()).find(MeshRecord))
    assert [record.material for record in records] == [b"skin.tga", b"b"]
    assert records[0].triangles.tolist() == [[0, 2, 1]]  # clockwise
    assert records[0].vertices["st"][0].tolist() == [0.0, 0.75]  # t runs down
    loaded = keyframer.load(tmp_path / "arm.anim", format="hale3d")
    frames = [0.0, 1.0, 2.0]
    ours = keyframer.pose(scene, frames=frames).vertices(2)
    posed = keyframer.pose(loaded, frames=frames)
    theirs = [posed.vertices(number) for number, node in enumerate(loaded.nodes) if node.mesh is not None]
    together = np.concatenate(theirs, axis=1)
    assert np.allclose(together.min(axis=1), ours.min(axis=1), atol=1e-5)
    assert np.allclose(together.max(axis=1), ours.max(axis=1), atol=1e-5)
    assert [issue for issue in keyframer.check(tmp_path / "arm.mdl").issues if issue.severity.name == "ERROR"] == []


def test_a_model_can_be_the_main_file(tmp_path: Path) -> None:
    report = keyframer.save(with_mesh(), tmp_path / "arm.mdl")
    assert [Path(name).name for name in report.written] == ["arm.mdl", "arm.anim"]
    with pytest.raises(CannotWrite, match="meshes"):
        keyframer.save(arm(), tmp_path / "none.mdl")


def test_existing_files_are_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "arm.mdl").write_bytes(b"mine")
    with pytest.raises(FileExistsError, match=r"arm\.mdl"):
        keyframer.save(with_mesh(), tmp_path / "arm.anim", format="hale3d")
    assert not (tmp_path / "arm.anim").exists()


def test_scale_is_removed_and_reported() -> None:
    scene = with_mesh()
    scene.nodes[0].scale = np.array([2.0, 2.0, 2.0])
    written = FORMAT.from_scene(scene)
    assert "/nodes/upper/scale" in [loss.path for loss in written.report.of(Outcome.BAKED)]
    frames = written.document.first(Frames)
    posed = keyframer.pose(scene, frames=[0.0, 1.0, 2.0])
    assert np.allclose(frames.bounds[:, 1], posed.vertices(2).max(axis=1), atol=1e-5)


@pytest.mark.parametrize("dialect", ["nul-ended", "length-with-nul", "length"])
def test_dialects(dialect: str, tmp_path: Path) -> None:
    keyframer.save(arm(), tmp_path / "arm.anim", format="hale3d", dialect=dialect)
    assert str(keyframer.read(tmp_path / "arm.anim").dialect) == dialect


@needs_corpus
def test_the_real_figure_written_as_new_files(tmp_path: Path) -> None:
    figure = replace(keyframer.load(CORPUS / "hale3d/bob_lamp_update.anim"), origin=None)
    keyframer.save(figure, tmp_path / "bob.anim", format="hale3d")
    scene = keyframer.load(tmp_path / "bob.anim", format="hale3d")
    frames = [0.0, 17.0, 99.0, 140.0]
    ours, theirs = keyframer.pose(figure, frames=frames), keyframer.pose(scene, frames=frames)
    for number, node in enumerate(figure.nodes):
        if node.mesh is not None:
            assert np.abs(theirs.vertices(number) - ours.vertices(number)).max() < 2e-3


POINTS = np.array([[0.0, 0, 1], [2, 0, 1], [0, 3, 2], [5, 5, 5]])


def write(scene: Scene, **options: object) -> Written:
    return FORMAT.from_scene(scene, options)


def read_again(written: Written) -> Scene:
    """The scene of the written pair."""
    ((_, content),) = written.companions
    document = keyframer.decode(keyframer.encode(written.document), format="hale3d")
    return scene_of(document, {"model": decode(content)})


def bend(node: int) -> Channel:
    turns = np.array([[0.0, 0, 0, 1], [0, 0.6, 0, 0.8], [0, 0.8, 0, 0.6]])
    return Channel(node, Track.sampled("rotation", turns, form=RotationForm.QUATERNION_ABSOLUTE))


def figure(offsets: bool = False, bound: int = 4) -> Scene:
    """A mesh of four vertices on two bones, one of them scaled; only ``bound`` vertices have a bone."""
    nodes = [
        Node("hip", NodeKind.BONE, position=np.array([0.0, 0, 1])),
        Node("knee", NodeKind.BONE, 0, position=np.array([1.0, 0, 0]), scale=np.array([1.0, 2.0, 1.0])),
        Node("cloth", mesh=0, skin=0),
    ]
    inverse = np.stack([np.eye(4), np.eye(4)])
    inverse[0, :3, 3], inverse[1, :3, 3] = (0.0, 0.0, -1.0), (-1.0, 0.0, -1.0)
    vertices, joints = np.array([0, 1, 1, 2, 3]), np.array([0, 0, 1, 1, 1])
    weights = np.array([1.0, 0.25, 0.75, 1.0, 1.0])
    kept = vertices < bound
    skin = Skin("cloth", [0, 1], inverse, vertices[kept], joints[kept], weights[kept])
    if offsets:
        placed = np.column_stack([POINTS[skin.vertex_indices], np.ones(len(skin.vertex_indices))])
        skin.positions = np.einsum("nij,nj->ni", inverse[skin.joint_indices], placed)[:, :3]
    mesh = Mesh("cloth", POINTS.copy(), np.array([[0, 1, 2], [0, 2, 3]]))
    return Scene(nodes, [mesh], skins=[skin], clips=[Clip(channels=[bend(1)], end=2.0)])


@pytest.mark.parametrize("offsets", [False, True])
@pytest.mark.parametrize("bound", [4, 3], ids=["all bound", "one vertex without a bone"])
def test_a_skin_keeps_its_motion(offsets: bool, bound: int) -> None:
    scene = figure(offsets, bound)
    written = write(scene)
    loaded = read_again(written)
    frames = [0.0, 1.0, 2.0]
    ours = keyframer.pose(scene, frames=frames).vertices(2)
    number = next(i for i, node in enumerate(loaded.nodes) if node.mesh is not None)
    assert np.allclose(keyframer.pose(loaded, frames=frames).vertices(number), ours, atol=1e-4)
    names = [record.name for record in written.document.find(Joint)]
    assert names == ([b"hip", b"knee"] if bound == 4 else [b"hip", b"knee", b"anchor"])
    if bound == 3:
        assert np.allclose(ours[:, 3], POINTS[3]), "it stands still"


def test_a_skinned_mesh_gets_no_joint() -> None:
    scene = figure()
    assert [record.name for record in write(scene).document.find(Joint)] == [b"hip", b"knee"]
    scene.nodes.append(Node("pin", NodeKind.DUMMY, 2))  # but a child of its node needs one
    assert [record.name for record in write(scene).document.find(Joint)] == [b"hip", b"knee", b"cloth", b"pin"]


def test_joints_are_written_after_their_parents() -> None:
    scene = Scene([Node("tip", NodeKind.BONE, 1, position=np.array([1.0, 0, 0])), Node("base", NodeKind.BONE)])
    scene.clips = [Clip(channels=[bend(1)], end=2.0)]
    joints = list(write(scene).document.find(Joint))
    assert [(joint.name, joint.parent) for joint in joints] == [(b"base", -1), (b"tip", 0)]


# --- options ---------------------------------------------------------------------------------------------------------


def test_the_frame_rate_is_rounded_to_an_integer() -> None:
    scene = figure()
    scene.clips[0].rate = 23.976
    written = write(scene)
    assert written.document.first(Animation).frame_rate == 24
    rate = ("RATE_CHANGED:sampled", {"fps": 24, "clip_fps": 23.976})
    assert losses_of(written.report, Outcome.APPROXIMATED)["/clips/rate"] == rate
    faster = write(scene, fps=48).document.first(Animation)
    assert (faster.frame_rate, faster.frame_count) == (
        48,
        6,
    )  # 2 / 23.976 seconds are 4.004 frames: the fifth covers them


def test_the_model_can_be_left_out() -> None:
    written = write(figure(), companion=False)
    assert written.companions == ()
    assert losses_of(written.report, Outcome.DROPPED)["/meshes"] == ("MESHES_UNSUPPORTED:not requested", {})
    model = write(figure(), file="model", companion=False)
    assert model.companions == ()
    assert model.document.first(MeshRecord) is not None


def test_a_static_scene_can_be_written_as_a_model() -> None:
    scene = replace(figure(), clips=[])
    written = write(scene, file="model")
    assert written.companions == ()
    assert [record.name for record in written.document.find(ModelJoint)] == [b"hip", b"knee"]


def test_a_scene_with_only_lights_is_refused() -> None:
    scene = Scene([Node("lamp", NodeKind.LIGHT, light=0)], lights=[Light("lamp")])
    with pytest.raises(CannotWrite, match="no joints and no meshes"):
        write(scene)


# --- losses ----------------------------------------------------------------------------------------------------------


def test_materials_are_stored_as_texture_paths() -> None:
    scene = figure()
    scene.materials = [Material("paint")]
    scene.meshes[0].face_materials = np.array([0, -1])
    written = write(scene)
    assert losses_of(written.report, Outcome.DROPPED)["/materials/paint"][0] == "MATERIALS_UNSUPPORTED:without texture"
    split = ("MESH_SPLIT:pieces", {"pieces": 2, "reason": "one for each material"})
    assert losses_of(written.report, Outcome.BAKED)["/nodes/cloth/mesh"] == split
    ((_, content),) = written.companions
    assert sorted(record.material for record in decode(content).find(MeshRecord)) == [b"", b"paint"]


def test_bounding_boxes_are_recomputed() -> None:
    scene = figure()
    scene.clips[0].bounds = np.zeros((3, 2, 3))
    assert losses_of(write(scene).report, Outcome.BAKED)["/clips/bounds"] == ("BOUNDS_RECOMPUTED", {})


def test_a_mesh_without_faces_is_written() -> None:
    scene = figure()
    scene.meshes[0].corners = np.empty((0, 3), np.int64)
    ((_, content),) = write(scene).companions
    (record,) = decode(content).find(MeshRecord)
    assert (record.vertex_count, record.triangle_count) == (4, 0)


def test_the_first_frame_is_the_first_key() -> None:
    """Keys before time 0 shift all times."""
    scene = figure()
    values = np.array([[1.0, 0, 0], [2, 0, 0]])
    scene.clips = [Clip(channels=[Channel(0, Track("position", np.array([-10.0, 5.0]), values))], end=5.0)]
    written = write(scene)
    moved = ("CLIP_RANGE_CHANGED:start", {"seconds": pytest.approx(1 / 3)})
    assert losses_of(written.report, Outcome.APPROXIMATED)["/clips/start"] == moved
    assert written.document.first(Animation).frame_count == 16


def test_animated_scale_is_dropped_and_reported() -> None:
    scene = figure()
    track = Track("scale", np.array([0.0, 2.0]), np.array([[1.0, 1, 1], [3, 1, 1]]), Interpolation.LINEAR)
    scene.clips[0].channels.append(Channel(0, track))
    (loss,) = [each for each in write(scene).report.of(Outcome.DROPPED) if each.path == "/nodes/hip/scale"]
    assert loss.type.key == "MOTION_UNSUPPORTED:scale"
    assert loss.error == pytest.approx(2.0)


def test_too_many_frames_are_refused() -> None:
    scene = figure()
    scene.clips[0].end = 9.9e6
    with pytest.raises(keyframer.FormatError, match="LIMIT_SAMPLES"):
        write(scene, fps=300)


def everything() -> Scene:
    """A scene with one of every part that a Hale3D pair cannot store."""
    scene = figure()
    scene.nodes += [
        Node("eye", NodeKind.CAMERA, camera=0, target=5),
        Node("lamp", NodeKind.LIGHT, light=0),
        Node("goal", NodeKind.TARGET),
    ]
    scene.cameras, scene.lights = [Camera("eye")], [Light("lamp", LightType.OMNI)]
    scene.nodes[2].hidden = True
    scene.nodes[2].morph = Morph(["large"], [POINTS * 2])
    mesh = scene.meshes[0]
    mesh.smoothing, mesh.colors = np.array([1, 2]), np.zeros((4, 3))
    scene.environment = Environment(background_color=(1.0, 0.0, 0.0), uses={"background_color"})
    scene.author = "somebody"
    clip = scene.clips[0]
    clip.raw_channels = [RawChannel("channel 1", np.zeros((3, 2)))]
    clip.channels.append(Channel(3, Track("fov", np.zeros(1), np.array([50.0]))))
    scene.clips.append(Clip("second"))
    return scene


DROPPED = {
    "/cameras": "CAMERAS_UNSUPPORTED:cameras",
    "/lights": "LIGHTS_UNSUPPORTED:lights",
    "/morphs": "MORPHS_UNSUPPORTED:morphs",
    "/hidden_nodes": "NODES_UNSUPPORTED:hidden nodes",
    "/smoothing": "VERTEX_DATA_UNSUPPORTED:smoothing",
    "/vertex_colours": "VERTEX_DATA_UNSUPPORTED:vertex colours",
    "/environment": "ENVIRONMENT_UNSUPPORTED:environment",
    "/author": "METADATA_UNSUPPORTED:author",
    "/raw_channels": "MOTION_UNSUPPORTED:raw channels",
    "/channels/fov": "MOTION_UNSUPPORTED:tracks",
    "/clips/second": "CLIPS_UNSUPPORTED:second",
    "/nodes/eye": "NODES_UNSUPPORTED:kind",
    "/nodes/lamp": "NODES_UNSUPPORTED:kind",
    "/nodes/goal": "NODES_UNSUPPORTED:kind",
    "/nodes/cloth": "NODES_UNSUPPORTED:kind",
    "/meshes/name": "NAMES_UNSUPPORTED:parts",
    "/skins/name": "NAMES_UNSUPPORTED:parts",
}


def test_everything_that_cannot_be_stored_is_reported_once() -> None:
    losses: list[Any] = write(everything()).report.of(Outcome.DROPPED)
    assert {loss.path: loss.type.key for loss in losses} == DROPPED
    assert len(losses) == len(DROPPED)


def test_what_readers_give_to_every_file_is_not_reported() -> None:
    """Surfaces are read as smooth and white, and meshes have numbers: such a scene loses nothing."""
    scene = figure()
    scene.meshes[0].smoothing = np.ones(len(scene.meshes[0].corners), np.uint32)
    scene.meshes[0].name = "mesh0"
    scene.materials = [Material("cloth", diffuse=(1.0, 1.0, 1.0))]
    paths = {loss.path for loss in write(scene).report.of(Outcome.DROPPED)}
    assert paths.isdisjoint({"/smoothing", "/materials/diffuse", "/meshes/name"})
    scene.materials[0].diffuse = (1.0, 0.5, 1.0)
    scene.meshes[0].name = "coat"
    paths = {loss.path for loss in write(scene).report.of(Outcome.DROPPED)}
    assert {"/materials/diffuse", "/meshes/name"} <= paths
