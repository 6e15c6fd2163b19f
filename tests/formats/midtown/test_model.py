"""Models (``.mod``) and skeletons (``.skel``) as files, and the bodies that clips move."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import keyframer
from keyframer.formats.midtown.model import read_model
from tests.building.midtown import BODY, FIGURE, TRIANGLES, model_text, retail, skeleton_text, walk
from tests.growth import assert_linear
from tests.oracles import midtown as evaluator

WALK = walk(5, 3)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "man.anim").write_bytes(retail(WALK))
    (tmp_path / "man.skel").write_bytes(skeleton_text())
    (tmp_path / "man.mod").write_bytes(model_text())
    return tmp_path


def body_of(scene: keyframer.Scene) -> keyframer.Mesh:
    node = scene.nodes[scene.find("body")]
    assert node.mesh is not None
    return scene.meshes[node.mesh]


def placed(scene: keyframer.Scene, frames: list[float]) -> np.ndarray:
    """The corners of all triangles in the world, at each frame."""
    number = scene.find("body")
    points: np.ndarray = keyframer.pose(scene, frames=frames).vertices(number)
    return points[:, body_of(scene).corners]


@pytest.mark.parametrize("packets", [True, False])
def test_a_body_follows_its_bones(folder: Path, packets: bool) -> None:
    (folder / "man.mod").write_bytes(model_text(packets=packets))
    scene = keyframer.load(folder / "man.anim")
    assert not list(scene.issues)
    skeleton, model = skeleton_text().decode(), model_text(packets=packets).decode()
    for frame, row in enumerate(WALK):
        points = np.array(evaluator.vertices(model, evaluator.worlds(skeleton, row)))
        np.testing.assert_allclose(placed(scene, [float(frame)])[0], points[np.array(TRIANGLES)], atol=1e-6)
    rest = np.array(evaluator.vertices(model, evaluator.worlds(skeleton)))
    mesh = body_of(scene)
    np.testing.assert_allclose(mesh.positions[mesh.corners], rest[np.array(TRIANGLES)], atol=1e-12)


@pytest.mark.parametrize("packets", [True, False])
def test_the_rest_of_a_model(packets: bool) -> None:
    scene = keyframer.load(model_text(packets=packets))
    mesh = body_of(scene)
    assert mesh.normals is not None
    assert mesh.uv is not None
    normals = [[0, 0, 1], [0, 0, 1], [0, 1, 0], [0, 1, 0], [1, 0, 0], [1, 0, 0]]
    vertices = np.array(TRIANGLES)
    assert np.array_equal(mesh.normals[mesh.normal_corners], np.array(normals)[vertices])
    assert np.array_equal(mesh.uv[mesh.uv_corners], np.array([[0.25, 0.75], [1, 0]])[vertices % 2])
    assert mesh.colors is None  # the game ignores a single colour
    assert mesh.face_materials is not None
    assert mesh.face_materials.tolist() == [0, 0, 1, 1]
    coat, skin = scene.materials
    assert (coat.name, coat.diffuse, coat.self_illumination, coat.maps) == ("Man1:COAT", (0.75, 0.5, 0.0), 0.0, {})
    assert (skin.name, skin.diffuse, skin.self_illumination) == ("Man1:SKIN", (0.75, 0.5, 0.25), 1.0)
    assert skin.maps["texture1"].file_name == "FACE"
    assert not scene.space.v_up


def test_several_colours_are_those_of_corners() -> None:
    text = model_text(colors_="colors: 2").replace(b"c\t0.5 0.25 0.125 1", b"c\t1 0 0 0.5\nc\t0 1 0 1")
    mesh = body_of(keyframer.load(text.replace(b"adj\t2 2 0", b"adj\t2 2 1")))
    assert mesh.colors is not None
    assert mesh.color_corners is not None
    expected = [[0, 1, 0] if vertex == 2 else [1, 0, 0] for triangle in TRIANGLES for vertex in triangle]
    assert mesh.colors[mesh.color_corners].reshape(-1, 3).tolist() == expected


def test_a_skeleton_alone_is_at_rest() -> None:
    scene = keyframer.load(skeleton_text())
    assert [(node.name, node.parent) for node in scene.nodes] == [("root", None), ("spine", 0), ("arm", 1)]
    assert [node.position.tolist() for node in scene.nodes] == [list(offset) for _, _, offset in FIGURE]
    assert not scene.clips
    assert not scene.meshes


def test_a_model_without_a_skeleton_stands_on_the_default_rig() -> None:
    scene = keyframer.load(model_text())
    assert [issue.code for issue in scene.issues] == ["SCENE_DEFAULT_RIG"]
    assert len(scene.nodes) == 4


def test_companions_are_found_by_name(folder: Path) -> None:
    for name in ("man.anim", "man.skel", "man.mod"):
        scene = keyframer.load(folder / name)
        assert [node.name for node in scene.nodes] == ["root", "spine", "arm", "body"]
        assert bool(scene.clips) == (name == "man.anim")
        assert not list(scene.issues)


def test_clips_of_the_game_find_their_figure(tmp_path: Path) -> None:
    (tmp_path / "pedanim_womrun.anim").write_bytes(retail(WALK))
    (tmp_path / "pedmodel_woman.skel").write_bytes(skeleton_text())
    (tmp_path / "pedmodel_woman.mod").write_bytes(model_text())
    assert keyframer.load(tmp_path / "pedanim_womrun.anim").find("body") == 3


def test_a_given_model(folder: Path) -> None:
    (folder / "man.mod").rename(folder / "other.mod")
    (folder / "man.skel").rename(folder / "other.skel")
    scene = keyframer.load(folder / "man.anim", model=folder / "other.mod", skeleton=folder / "other.skel")
    assert len(placed(scene, [0.0, 2.0])) == 2
    with pytest.raises(ValueError, match="this file is the model itself"):
        keyframer.load(folder / "other.mod", model=folder / "other.mod")
    with pytest.raises(ValueError, match="this file is the skeleton itself"):
        keyframer.load(folder / "other.skel", skeleton=folder / "other.skel")


def test_a_model_with_other_bones_is_not_used(folder: Path) -> None:
    (folder / "man.anim").write_bytes(retail(walk(2, 2)))
    (folder / "man.skel").unlink()
    scene = keyframer.load(folder / "man.anim")
    assert not scene.meshes
    (mismatch,) = [issue for issue in scene.issues if issue.code == "LINK_SKELETON_MISMATCH"]
    assert mismatch.severity.label == "warning"
    assert "the model is for 3 bones, the figure has 2" in mismatch.message
    with pytest.raises(keyframer.FormatError, match="the model is for 3 bones"):
        keyframer.load(folder / "man.anim", model=folder / "man.mod")


def test_a_damaged_model_beside_a_clip_is_reported(folder: Path) -> None:
    (folder / "man.mod").write_bytes(model_text()[:150])
    scene = keyframer.load(folder / "man.anim")
    assert not scene.meshes
    (problem,) = [issue for issue in scene.issues if issue.code == "LINK_SKELETON_MISMATCH"]
    assert problem.severity.label == "warning"
    assert "the model cannot be read: STRUCT_SYNTAX" in problem.message


def test_other_files_with_the_extension_are_no_models(folder: Path) -> None:
    """Music modules and Go's files have it, too."""
    for data in (b"my song".ljust(1080, b"\0") + b"M.K." + bytes(1024), b"module example.com/x\n"):
        (folder / "man.mod").write_bytes(data)
        scene = keyframer.load(folder / "man.anim")
        assert not scene.meshes
        assert not list(scene.issues)
        with pytest.raises(keyframer.FormatError, match="the model: a model begins with version"):
            keyframer.load(folder / "man.anim", model=folder / "man.mod")


def test_counts_that_do_not_agree_are_reported() -> None:
    stated = {
        "verts_": "verts: 7",
        "adjuncts_": "adjuncts: 99",
        "primitives_": "primitives: 5",
        "matrices_": "matrices: 3",
    }
    scene = keyframer.load(model_text(**stated))
    found = {issue.path: issue.message for issue in scene.issues if issue.code == "LINK_COUNT_MISMATCH"}
    assert found == {
        "/model/verts": "verts: expected 7, found 6",
        "/model/adjuncts": "adjuncts: expected 99, found 6",
        "/model/primitives": "primitives: expected 5, found 4",
    }


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        (b"\ttri\t0 2 3", b"\ttri\t0 2 44", "corner 44"),
        (b"adj\t3 3 0 1 0 1", b"adj\t33 3 0 1 0 1", "vertex 33"),
        (b"adj\t3 3 0 1 0 1", b"adj\t3 33 0 1 0 1", "normal 33"),
        (b"adj\t3 3 0 1 0 1", b"adj\t3 3 0 7 0 1", "texture coordinate 7"),
        (b"mtx\t0 1", b"mtx\t0 9", "bone 9"),
    ],
)
def test_faces_with_missing_parts_are_left_out(old: bytes, new: bytes, kind: str) -> None:
    text = model_text()
    assert old in text
    with pytest.raises(keyframer.FormatError, match=kind):
        keyframer.load(text.replace(old, new, 1))
    scene = keyframer.load(text.replace(old, new, 1), salvage=True)
    assert 2 <= len(body_of(scene).corners) <= 3


def test_corners_without_a_bone_follow_the_root() -> None:
    text = b"\n".join(
        b"mtxv 2 0 0" if line.startswith(b"mtxv") else line for line in model_text(packets=False).splitlines()
    )
    scene = keyframer.load(text)
    assert set(scene.skins[0].joint_indices.tolist()) == {0}


def test_a_model_without_bones_is_one_mesh() -> None:
    text = model_text(packets=False).replace(b"matrices: 3", b"matrices: 0")
    scene = keyframer.load(text[: text.index(b"mtxv")])
    assert [node.name for node in scene.nodes] == ["body"]
    assert not scene.skins
    mesh = body_of(scene)
    assert mesh.positions[mesh.corners].tolist() == [[list(BODY[v][1]) for v in triangle] for triangle in TRIANGLES]


def test_strips_turn_every_second_triangle() -> None:
    text = model_text(packets=False)
    first, rest = text[: text.index(b"tri\t")], text[text.index(b"mtxv") :]
    triangles = read_model(first + b"str 5 0 1 2 3 4\nstp 4 4 5 6 7\n" + rest).triangles
    assert triangles.tolist() == [[0, 1, 2], [2, 1, 3], [2, 3, 4], [5, 4, 6], [5, 6, 7]]


@pytest.mark.parametrize(
    ("old", "new", "wanted"),
    [
        (b"v\t0.125 0.0 0.0", b"v\t0.125 zero 0.0", "3 numbers after v"),
        (b"n\t0 2 0", b"n\t0 2", "3 numbers after n"),
        (b"tri\t0 2 3", b"tri\t0 2 2.5", "3 whole numbers after tri"),
        (b"adj\t2 2 0 0 0 1", b"adj\t2 2 0", "5 whole numbers after adj"),
        (b"packet 4 2 2 {", b"parcel 4 2 2 {", "a statement of a model"),
        (b"mtl Man1:SKIN {", b"mtl Man1:SKIN", "mtl, a name and {"),
        (b"\tillum: diffuse", b"\tillum diffuse", "a setting of a material"),
        (b"\tmtx\t0 1", b"\tbone\t0 1", "adj, tri, mtx or }"),
    ],
)
def test_errors_say_where(old: bytes, new: bytes, wanted: str) -> None:
    text = model_text().replace(old, new, 1)
    (issue,) = keyframer.decode(text).issues
    line = text.rindex(b"\n", 0, text.index(new)) + 1
    assert (issue.code, issue.offset) == ("STRUCT_SYNTAX", line)
    assert wanted in issue.message
    assert keyframer.encode(keyframer.decode(text)) == text


def test_a_cut_model_says_so() -> None:
    text = model_text()
    (issue,) = keyframer.decode(text[: text.index(b"\tmtx")]).issues
    assert "expected }" in issue.message


def test_salvage_keeps_what_is_before_the_damage() -> None:
    text = model_text()
    second = text.rindex(b"packet")
    for damaged in (text[: second + 40], text.replace(b"tri\t1 3 2", b"tri\t1 ? 2")):
        clean = keyframer.salvage(damaged).data
        assert clean == text[:second]
        assert len(body_of(keyframer.load(clean)).corners) == 2


def test_huge_counts_cost_nothing() -> None:
    """A vertex count of a bone, and a number of bones, is a claim."""
    text = model_text(packets=False, matrices_="matrices: 999999999")
    text = text[: text.index(b"mtxv")] + b"mtxv" + b" 999999999" * 2_000 + b"\n"
    assert set(read_model(text).bones.tolist()) == {0}
    assert keyframer.load(text, salvage=True).meshes


def test_reading_takes_linear_time() -> None:
    text = model_text(packets=False)
    line = b"tri\t0 1 2\r\n"
    small, large = (text.replace(line, line * count) for count in (2_000, 16_000))
    assert_linear(read_model, small, large, 8)


def test_binary_models_are_named() -> None:
    match = keyframer.detect(b"version: 2.00\0" + bytes(60))
    assert match.format is None
    assert "a binary model of a later game of Angel Studios" in match.reason


def test_an_edited_skeleton_keeps_its_other_bones(tmp_path: Path) -> None:
    path = tmp_path / "man.skel"
    path.write_bytes(skeleton_text())
    scene = keyframer.load(path)
    assert keyframer.save(scene, tmp_path / "same.skel").losses
    assert (tmp_path / "same.skel").read_bytes() == skeleton_text()
    scene.nodes[2].position = np.array([0.5, 0.0, 0.25])
    scene.nodes[1].name = "back"
    keyframer.save(scene, tmp_path / "new.skel")
    again = keyframer.load(tmp_path / "new.skel")
    assert [node.name for node in again.nodes] == ["root", "back", "arm"]
    assert again.nodes[2].position.tolist() == [0.5, 0.0, 0.25]
    assert again.nodes[1].position.tolist() == list(FIGURE[1][2])


def test_a_clip_with_a_body_is_edited_as_without_one(folder: Path, tmp_path: Path) -> None:
    scene = keyframer.load(folder / "man.anim")
    scene.nodes[1].name = "back"
    scene.nodes[1].position = np.array([0.0, 0.75, 0.0])
    keyframer.save(scene, folder / "new.anim")
    assert (folder / "new.anim").read_bytes() == (folder / "man.anim").read_bytes()
    assert (folder / "new.mod").read_bytes() == model_text()
    again = keyframer.load(folder / "new.anim")
    assert [node.name for node in again.nodes] == ["root", "back", "arm", "body"]
    assert again.nodes[1].position.tolist() == [0.0, 0.75, 0.0]


def test_models_are_not_written(folder: Path) -> None:
    scene = keyframer.load(folder / "man.mod")
    keyframer.save(scene, folder / "same.mod")
    assert (folder / "same.mod").read_bytes() == model_text()
    scene.nodes[1].name = "back"
    with pytest.raises(ValueError, match="models of Midtown Madness 2 cannot be written"):
        keyframer.save(scene, folder / "new.mod")
    scene = keyframer.load(folder / "man.anim")
    keyframer.save(scene, folder / "alone.skel")
    assert (folder / "alone.anim").is_file()
    assert [node.name for node in keyframer.load(folder / "alone.skel").nodes] == ["root", "spine", "arm"]
