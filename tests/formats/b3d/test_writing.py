"""Scenes written as Blitz3D files, and edits written into originals."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import keyframer
from keyframer import Channel, Clip, Interpolation, Mesh, Node, NodeKind, RotationForm, Scene, Skin, Track
from keyframer.formats import format_by_name
from keyframer.formats.b3d import document as d
from keyframer.formats.kit.coordinates import in_space
from keyframer.scene.loss_report import CannotWrite
from tests.building import editing
from tests.formats.b3d import evaluator
from tests.samples.b3d.make import chunk, file, floats, ints, layered, swaying, texture

WINDMILL = Path(__file__).parents[3] / "examples/windmill.3ds"


def written(scene: Scene, **options: object) -> tuple[bytes, keyframer.LossReport]:
    result = format_by_name("b3d").from_scene(scene, options)
    return keyframer.encode(result.document), result.report


def test_motion_of_the_windmill_is_right_within_the_report() -> None:
    """All nodes, aimed cameras among them, are where the scene has them."""
    scene = keyframer.load(WINDMILL)
    data, report = written(scene)
    lengths = [loss.error for loss in report if loss.unit == "scene unit" and loss.error is not None]
    degrees = [loss.error for loss in report if loss.unit == "degree" and loss.error is not None]
    back = keyframer.load(io.BytesIO(data))
    scene = in_space(scene, back.space)
    frames = np.arange(0.0, 100.5, 0.5)
    posed, again = keyframer.pose(scene, frames=frames).world, keyframer.pose(back, frames=frames).world
    for number, part in enumerate(scene.nodes):
        place = back.find(part.name)
        assert np.abs(posed[:, number, :3, 3] - again[:, place, :3, 3]).max() <= max(lengths) + 1e-3
        difference = np.abs(posed[:, number, :3, :3] - again[:, place, :3, :3]).max()
        assert difference <= 2 * np.radians(max(degrees)) + 1e-3
    assert not np.allclose(posed[0], posed[30])


def test_keys_are_linear_absolute_and_on_whole_frames() -> None:
    turn = Track(
        "rotation",
        np.array([0.0, 20.0]),
        np.array([(0, 0, 1, 0.0), (0, 0, 1, 4.5)]),
        Interpolation.LINEAR,
        form=RotationForm.AXIS_ANGLE_RELATIVE,
    )
    swing = Track("position", [0.0, 10.0, 20.0], [[0, 0, 0], [5, 0, 0], [0, 0, 0.0]], Interpolation.TCB)
    scene = Scene([Node("a")], clips=[Clip(channels=[Channel(0, turn), Channel(0, swing)], end=20.0, rate=25.0)])
    data, report = written(scene)
    part = evaluator.parts_of(data)[0]
    assert len(part.keys["rotation"]) > 2  # 4.5 radians are more than half a turn
    back = keyframer.load(io.BytesIO(data))
    assert back.clips[0].rate == 25.0
    frames = np.linspace(0, 20, 81)
    expected = keyframer.pose(in_space(scene, back.space), frames=frames).world
    difference = np.abs(keyframer.pose(back, frames=frames).world - expected)
    stated = max(loss.error or 0.0 for loss in report)
    assert difference[..., :3, 3].max() <= stated + 1e-6
    assert difference[..., :3, :3].max() < 0.01


def skinned_scene(vertices: int = 3, joints: int = 2) -> Scene:
    """Return a mesh with bones beside it, as glTF and 3ds Max have them, whose rest pose is not the bind pose."""
    mesh = Mesh("cloth", np.eye(3)[:vertices], [[0, 1, 2]])
    bones = [Node(f"bone{number}", NodeKind.BONE, position=[0, 0, 1.0 + number]) for number in range(joints)]
    nodes = [Node("cloth", mesh=0, skin=0, position=[7, 0, 0]), *bones]
    bind = np.tile(np.eye(4), (joints, 1, 1))
    bind[:, 2, 3] = -np.arange(joints)  # bound one unit lower
    owners = np.repeat(np.arange(vertices), joints)
    weights = np.tile(np.arange(joints, 0, -1) / (joints * (joints + 1) / 2), vertices)
    skin = Skin("cloth", list(range(1, joints + 1)), bind, owners, np.tile(np.arange(joints), vertices), weights)
    turn = Track("rotation", [0.0, 8.0], [[0, 0, 0, 1], [0, 0.6, 0, 0.8]], form=RotationForm.QUATERNION_ABSOLUTE)
    return Scene(nodes, [mesh], skins=[skin], clips=[Clip(channels=[Channel(1, turn)], end=8.0)])


@pytest.mark.parametrize("frame", [0.0, 3.0, 8.0])
def test_skins_whose_bones_are_elsewhere(frame: float) -> None:
    scene = skinned_scene()
    data, report = written(scene)
    assert "TRANSFORM_APPLIED:mesh at root" in {loss.type.key for loss in report}
    parts = evaluator.parts_of(data)
    (vertices,) = evaluator.vertices(parts, frame).values()
    back = keyframer.load(io.BytesIO(data))
    expected = keyframer.pose(in_space(scene, back.space), frames=[frame]).vertices(0)[0]
    assert np.allclose(sorted(map(tuple, np.round(vertices, 5))), sorted(map(tuple, np.round(expected, 5))), atol=2e-5)


def test_a_vertex_has_at_most_four_weights() -> None:
    data, report = written(skinned_scene(joints=6))
    counts = np.zeros(3, int)
    for bone in keyframer.decode(data).find(d.Bone):
        np.add.at(counts, bone.weights["vertex"], 1)
    assert counts.tolist() == [4, 4, 4]
    assert [loss.args for loss in report if loss.type.key == "SKIN_CHANGED:weights"] == [{"count": 6, "most": 4}]


def test_corners_with_different_values_become_vertices() -> None:
    mesh = Mesh("roof", [[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 1]], [[0, 1, 2], [2, 1, 3]], smoothing=[1, 2])
    data, _ = written(Scene([Node("roof", mesh=0)], [mesh]))
    vertices = keyframer.decode(data).first(d.Vertices)
    assert vertices is not None
    assert len(vertices.vertices) == 6  # the crease between smoothing groups splits two vertices
    back = in_space(keyframer.load(io.BytesIO(data)), Scene().space).meshes[0]
    a, b, c = (back.positions[back.corners[:, corner]] for corner in range(3))
    across = np.cross(b - a, c - a)
    across /= np.linalg.norm(across, axis=1)[:, None]
    assert back.normals is not None
    assert np.allclose(back.normals[back.corners[:, 0]], across, atol=1e-6)


def test_a_new_file_of_what_was_read_is_the_same_scene() -> None:
    for data in (swaying(), layered()):
        scene = replace(keyframer.load(data), origin=None)
        again = keyframer.load(io.BytesIO(written(scene)[0]))
        for one, other in zip(scene.meshes, again.meshes, strict=True):
            for name in ("positions", "corners", "uv", "uv2", "colors", "color_alpha", "face_materials"):
                first, second = getattr(one, name), getattr(other, name)
                assert (first is None) == (second is None), name
                assert first is None or np.allclose(first, second, atol=1e-6), name
        for one, other in zip(scene.materials, again.materials, strict=True):
            for name in ("diffuse", "transparency", "self_illumination", "two_sided", "additive", "shading"):
                assert getattr(one, name) == getattr(other, name), name
            assert one.maps.keys() == other.maps.keys()
            for slot, map in one.maps.items():
                assert np.allclose(map.offset, other.maps[slot].offset, atol=1e-6)
                assert map.second_coordinates == other.maps[slot].second_coordinates
        assert [node.name for node in scene.nodes] == [node.name for node in again.nodes]


def edit_position(scene: Scene) -> None:
    scene.nodes[1].position = np.array([0.0, 0, 5])


def edit_key(scene: Scene) -> None:
    channel = next(channel for channel in scene.clips[0].channels if channel.track.kind == "rotation")
    channel.track = replace(channel.track, values=np.array([[0, 0, 0, 1.0], [0, 0, 0, 1.0]]))


def edit_texture(scene: Scene) -> None:
    map = scene.materials[0].maps["texture1"]
    map.file_name, map.raw_file_name = "other.png", b""


def edit_name(scene: Scene) -> None:
    scene.nodes[0].name = "wall"


def edit_color(scene: Scene) -> None:
    scene.materials[2].diffuse = (0.0, 0.0, 1.0)


def edit_vertices(scene: Scene) -> None:
    scene.meshes[1].positions = scene.meshes[1].positions + np.array((0, 0, 1))


EDITS: dict[str, tuple[bytes, Callable[[Scene], None], Callable[[bytes], bytes]]] = {
    "a position": (
        layered(),
        edit_position,
        lambda data: data.replace(b"sheet\0" + floats(0, 0, 0), b"sheet\0" + floats(0, 0, 5)),
    ),
    "a key": (
        swaying(),
        edit_key,
        lambda data: data.replace(ints(10) + floats(0.70710677, 0, 0, 0.70710677), ints(10) + floats(1, 0, 0, 0)),
    ),
    "a texture": (
        swaying(),
        edit_texture,
        lambda data: file(chunk("TEXS", texture("other.png", 1 | 8)), data[12 + 8 + len(texture("strip.png", 9)) :]),
    ),
    "a colour": (
        layered(),
        edit_color,
        lambda data: data.replace(b"glow\0" + floats(1, 1, 0, 1), b"glow\0" + floats(0, 0, 1, 1)),
    ),
    "vertices": (
        layered(),
        edit_vertices,
        lambda data: data.replace(
            floats(0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 1, 1), floats(0, 0, 1, 0, 0, 2, 0, 1, 1, 0, 1, 2)
        ),
    ),
}


@pytest.mark.parametrize("name", EDITS)
def test_edits_change_only_their_bytes(name: str) -> None:
    data, edit, expected = EDITS[name]
    result = editing.save_edited("b3d", data, edit)
    assert editing.merged(result) == expected(data)
    assert expected(data) != data


def test_renaming_keeps_everything_else() -> None:
    data = swaying()
    at = data.index(b"NODE")
    expected = file(data[12:at], chunk("NODE", data[at + 8 :].replace(b"strip\0", b"wall\0", 1)))
    assert editing.merged(editing.save_edited("b3d", data, edit_name)) == expected


def test_columns_that_scenes_do_not_model_stay_when_vertices_move() -> None:
    """Colours that no brush uses keep their values."""
    data = layered().replace(ints(1, 2 | 32, 0, 1, 2), ints(1, 0, 0, 1, 2))

    def move(scene: Scene) -> None:
        scene.meshes[0].positions = scene.meshes[0].positions + np.array((0, 0, 1))

    document = keyframer.decode(editing.merged(editing.save_edited("b3d", data, move)))
    before, after = keyframer.decode(data).first(d.Vertices), document.first(d.Vertices)
    assert before is not None
    assert after is not None
    assert after.vertices["color"].tolist() == before.vertices["color"].tolist()
    assert after.vertices["position"][:, 2].tolist() == [1, 1, 1]


def test_new_nodes_and_keys() -> None:
    def add(scene: Scene) -> None:
        scene.nodes.append(Node("flag", parent=2, position=[0, 1, 0]))
        lift = Track("position", [0.0, 10.0], [[0, 1, 0], [0, 2, 0.0]])
        scene.clips[0].channels.append(Channel(3, lift))

    data = editing.merged(editing.save_edited("b3d", swaying(), add))
    parts = {part.name: part for part in evaluator.parts_of(data)}
    assert parts[b"flag"].parent is parts[b"tip"]
    assert parts[b"flag"].keys["position"] == {0: (0, 1, 0), 10: (0, 2, 0)}
    assert data.count(b"SEQS") == 2


def test_a_file_without_nodes_cannot_be_written() -> None:
    with pytest.raises(CannotWrite, match="the scene has no nodes"):
        written(Scene())


def test_one_root() -> None:
    data, report = written(Scene([Node("a"), Node("b")]))
    assert [part.name for part in evaluator.parts_of(data)] == [b"root", b"a", b"b"]
    assert any(loss.type.key == "NODE_ADDED:root" for loss in report)
    assert [part.name for part in evaluator.parts_of(written(Scene([Node("a")]))[0])] == [b"a"]
