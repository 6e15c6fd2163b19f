"""Hale3D animations and models from scenes: frames, boxes, weights, edited originals."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import keyframer
from keyframer.curves import RotationForm, Track
from keyframer.formats.hale3d import FORMAT
from keyframer.formats.hale3d.document import decode
from keyframer.formats.hale3d.records import Animation, Frames, Joint
from keyframer.formats.hale3d.records import Mesh as MeshRecord
from keyframer.scene import Channel, Clip, Material, Mesh, Node, NodeKind, Scene, TextureMap
from keyframer.scene.loss_report import CannotWrite, Outcome
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
    assert top is not None
    assert (top.frame_rate, top.frame_count, top.component_count) == (24, 3, 2)
    path = tmp_path / "arm.anim"
    path.write_bytes(keyframer.encode(document))
    assert max(largest_difference(arm(), keyframer.load(path, format="hale3d"), np.array([0.0, 1.25, 2.5]))) < 1e-3


def test_boxes_contain_joints_or_vertices() -> None:
    frames = FORMAT.from_scene(arm()).document.first(Frames)
    assert frames is not None
    assert frames.bounds.tolist() == [[[0, 0, z], [0, 3, z]] for z in (0, 1, 2)]
    scene = with_mesh()
    frames = FORMAT.from_scene(scene).document.first(Frames)
    assert frames is not None
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
    assert frames is not None
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


def test_edits_are_merged(tmp_path: Path) -> None:
    path = SAMPLES / "wave-nul-ended.anim"
    scene = keyframer.load(path)
    channel = next(channel for channel in scene.clips[0].channels if channel.track.kind == "position")
    values = channel.track.values.copy()
    moving = next(axis for axis in range(3) if np.ptp(values[:, axis]) > 0)
    values[1, moving] += 0.5
    channel.track.values = values
    written = FORMAT.from_scene(scene)
    assert not [loss for loss in written.report if "a new file was written" in loss.detail], list(written.report)
    encoded, data = keyframer.encode(written.document), path.read_bytes()
    assert len(encoded) == len(data)
    assert 1 <= sum(a != b for a, b in zip(encoded, data, strict=True)) <= 4


@needs_corpus
def test_both_files_of_a_pair_are_saved(tmp_path: Path) -> None:
    source = CORPUS / "hale3d/bob_lamp_update.anim"
    report = keyframer.save(keyframer.load(source), tmp_path / "bob.anim", format="hale3d")
    assert (tmp_path / "bob.anim").read_bytes() == source.read_bytes()
    assert (tmp_path / "bob.mdl").read_bytes() == source.with_suffix(".mdl").read_bytes()
    assert len(report.written) == 2
