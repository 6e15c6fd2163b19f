"""Reading Hale3D scenes: frames computed as in MD5, and animation and model together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import keyframer
from keyframer.scene import NodeKind
from tests.building import editing
from tests.building.files import single
from tests.building.hale3d import arm, frame, header, joint, mesh, model, model_joint, wave
from tests.posing.plain import Matrix, identity, product, rotation, transform_point, translation

load = partial(editing.load, "hale3d")


def document(data: bytes) -> keyframer.Document:
    return keyframer.decode(data, format="hale3d")


def md5_worlds(parents: Sequence[int], joints: Sequence[Sequence[float]]) -> list[Matrix]:
    """World matrices of joints given by position and xyz of the rotation; w is the negative root."""
    worlds: list[Matrix] = []
    for parent, values in zip(parents, joints, strict=True):
        px, py, pz, x, y, z = map(single, values)
        w = -math.sqrt(max(0.0, 1 - x * x - y * y - z * z))
        local = product(translation([px, py, pz]), rotation([x, y, z, w]))
        worlds.append(local if parent < 0 else product(worlds[parent], local))
    return worlds


def test_frames_are_computed_as_in_md5() -> None:
    """`wave`: bits Ty Tz of the root, Qz of the arm, Qx of the hand; other components are those of the base frame."""
    pose = keyframer.pose(load(wave()), frames=range(5))
    for number in range(5):
        joints = [
            (0, 0.25 * number, 2.0, 0, 0, 0),
            (0.5, 0, 0, 0, 0, 0.1 * number - 0.2),
            (1.5, 0, 0, 0.125, 0, 0),
        ]
        worlds = md5_worlds([-1, 0, 1], joints)
        worlds[0] = product(translation([0, 0.25 * number, 2.0]), identity())
        np.testing.assert_allclose(pose.world[number], worlds, atol=1e-7)


def test_the_base_rotation_is_used_as_stored() -> None:
    """Without a Q bit, w is not recomputed, so base and frame quaternions may have opposite signs."""
    still = header(2, 1, 1) + joint(b"a", -1, 1, 0, (0, 0, 0), (0, 0, 0.6, 0.8)) + frame((0,) * 6, (1.0,)) * 2
    scene = load(still)
    assert scene.nodes[0].rotation_xyzw.tolist() == pytest.approx([0, 0, 0.6, 0.8])
    np.testing.assert_allclose(keyframer.pose(scene, frames=[1]).world[0, 0, 0], [0.28, -0.96, 0, 1], atol=1e-6)


def test_all_six_bits_are_read_in_order() -> None:
    values = (1.0, 2.0, 3.0, 0.1, 0.2, 0.3)
    data = header(1, 1, 8) + joint(b"a", -1, 63, 2) + frame((0,) * 6, (9.0, 9.0, *values))
    np.testing.assert_allclose(keyframer.pose(load(data), frames=[0]).world[0], md5_worlds([-1], [values]), atol=1e-7)


def test_between_frames_rotations_take_the_shortest_way() -> None:
    half = math.sin(math.radians(80) / 2)
    data = header(2, 1, 1) + joint(b"a", -1, 32, 0) + frame((0,) * 6, (half,)) + frame((0,) * 6, (-half,))
    worlds = keyframer.pose(load(data), frames=[0, 0.25, 1]).world[:, 0]
    turned = np.degrees(np.arctan2(worlds[:, 1, 0], worlds[:, 0, 0]))
    np.testing.assert_allclose(turned, [-80, -40, 80], atol=1e-4)  # w is negative: z = +0.64 rotates backwards


def test_time_boxes_and_extras() -> None:
    scene = load(wave())
    clip = scene.clips[0]
    assert (clip.unit, clip.start, clip.end, clip.frames_per_second) == ("frame", 0, 4, 24)
    np.testing.assert_array_equal(clip.bounds[:, 1, 2], [1, 2, 3, 4, 5])
    np.testing.assert_array_equal(clip.bounds[:, 0], -np.ones((5, 3)))
    assert clip.extras["hale3d"] == {"version": 1}
    assert (scene.space.up, scene.space.handedness.value, scene.space.v_up) == ("z", "right", False)
    assert [node.extras["hale3d"]["flags"] for node in scene.nodes] == [6, 32, 8]


def test_names_are_unique_and_unquoted() -> None:
    scene = load(wave(names=(b'"origin"',) * 3))
    assert [node.name for node in scene.nodes] == ["origin", "origin.2", "origin.3"]
    assert {node.raw_name for node in scene.nodes} == {b'"origin"'}
    together = load(wave(names=(b'"origin"',) * 3), model=document(arm()))
    assert [node.name for node in together.nodes] == ["root", "arm", "hand", "mesh0", "mesh1"]


BIND = [(0, 1, 2, 0, 0, 0), (0.5, 1, 2, 0, 0, 0.5), (2, 1, 2, 0.25, 0, 0)]
"""the joints of `arm`, in model space"""


def bind_worlds() -> list[Matrix]:
    return [md5_worlds([-1], [values])[0] for values in BIND]


def carried(worlds: list[Matrix]) -> list[list[float]]:
    """The vertices of the first mesh of `arm`, computed by hand."""
    half = [transform_point(worlds[1], [1, 1, 0]), transform_point(worlds[2], [0, 1, 0])]
    middle = [(a + b) / 2 for a, b in zip(*half, strict=True)]
    return [
        transform_point(worlds[0], [0, 0, 0]),
        transform_point(worlds[1], [1, 0, 0]),
        middle,
        transform_point(worlds[0], [0, 1, 0]),
    ]


def test_a_model_alone_is_in_its_bind_pose() -> None:
    scene = load(arm())
    assert [node.name for node in scene.nodes] == ["root", "arm", "hand", "mesh0", "mesh1"]
    assert [node.parent for node in scene.nodes] == [None, 0, 1, None, None]
    assert not scene.clips
    pose = keyframer.pose(scene, frames=[0])
    np.testing.assert_allclose(pose.world[0, :3], bind_worlds(), atol=1e-6)
    np.testing.assert_allclose(scene.meshes[0].positions, carried(bind_worlds()), atol=1e-6)
    for number in (3, 4):
        np.testing.assert_allclose(pose.vertices(number)[0], scene.meshes[number - 3].positions, atol=1e-6)
    np.testing.assert_allclose(np.linalg.inv(scene.skins[0].inverse_bind), bind_worlds(), atol=1e-6)


def test_animation_and_model_together_are_skinned_textured_and_animated() -> None:
    scene = load(wave(), model=document(arm()))
    assert [node.kind for node in scene.nodes] == [NodeKind.BONE] * 3 + [NodeKind.OBJECT] * 2
    assert [material.maps["texture1"].file_name for material in scene.materials] == [
        "materials/sleeve.mat",
        "materials/glove.mat",
    ]
    assert scene.meshes[0].uv is not None
    np.testing.assert_array_equal(scene.meshes[0].uv, [(0, 0), (1, 0), (1, 1), (0, 1)])
    assert scene.meshes[0].corners.tolist() == [[0, 2, 1], [0, 3, 2]]  # the file has them clockwise
    assert scene.meshes[1].face_materials.tolist() == [1]
    pose = keyframer.pose(scene, frames=range(5))
    for number in range(5):
        worlds = [matrix.tolist() for matrix in pose.world[number, :3]]
        np.testing.assert_allclose(pose.vertices(3)[number], carried(worlds), atol=1e-7)


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    (tmp_path / "x.anim").write_bytes(wave())
    (tmp_path / "y.mdl").write_bytes(arm())
    return tmp_path / "x.anim", tmp_path / "y.mdl"


def test_the_companion_can_be_given_as_an_option(pair: tuple[Path, Path]) -> None:
    animation, surface = pair
    for scene in (
        keyframer.load(animation, model=surface),
        keyframer.load(str(animation), model=str(surface)),
        keyframer.load(surface, animation=animation),
    ):
        assert len(scene.meshes) == 2
        assert len(scene.clips[0].channels) == 3
        assert not list(scene.issues)
    assert not keyframer.load(animation).meshes
    assert not keyframer.load(surface).clips


@pytest.mark.parametrize("spelling", ["x.mdl", "X.MDL", "x.MDL"])
def test_a_companion_with_the_same_stem_is_found(tmp_path: Path, spelling: str) -> None:
    (tmp_path / "x.anim").write_bytes(wave())
    (tmp_path / spelling).write_bytes(arm())
    assert len(keyframer.load(tmp_path / "x.anim").meshes) == 2
    if spelling == "x.mdl":
        assert len(keyframer.load(tmp_path / "x.mdl").clips) == 1
    alone = keyframer.load(tmp_path / "x.anim", model=None)
    assert not alone.meshes
    with open(tmp_path / "x.anim", "rb") as stream:
        assert not keyframer.load(stream).meshes  # a stream has no folder in which to find a companion


def test_unrelated_files_are_not_used_as_companions(tmp_path: Path) -> None:
    (tmp_path / "x.anim").write_bytes(wave())
    (tmp_path / "x.mdl").write_bytes(b"IDST a model of another engine altogether")
    scene = keyframer.load(tmp_path / "x.anim")
    assert not scene.meshes
    assert not list(scene.issues)
    (tmp_path / "x.mdl").write_bytes(wave())  # an animation under the name of a model
    assert not keyframer.load(tmp_path / "x.anim").meshes
    (tmp_path / "x.mdl").unlink()
    (tmp_path / "x.mdl").mkdir()
    assert not keyframer.load(tmp_path / "x.anim").meshes


def short_model(parents: Sequence[int]) -> bytes:
    return model([], [model_joint(b'"j%d"' % n, parent, (0, 0, 0)) for n, parent in enumerate(parents)])


MISMATCHES = {
    "another parent": (short_model([-1, 0, 0]), "joint 2 ('j2') has parent 1 in the animation and 0 in the model"),
    "too few": (
        short_model([-1, 0]),
        "the animation has 3 joints, the model 2; joint 2 ('hand') is only in the animation",
    ),
    "too many": (
        short_model([-1, 0, 1, 2]),
        "the animation has 3 joints, the model 4; joint 3 ('j3') is only in the model",
    ),
    "no model": (wave(), "the file given as the model is not a Hale3D model"),
}


@pytest.mark.parametrize("kind", MISMATCHES)
def test_a_mismatched_companion_given_as_an_option_is_an_error(kind: str) -> None:
    data, why = MISMATCHES[kind]
    with pytest.raises(keyframer.FormatError) as caught:
        load(wave(), model=document(data))
    assert caught.value.code == "LINK_SKELETON_MISMATCH"
    assert caught.value.message == f"the skeletons do not match: {why}"
    kept = load(wave(), model=document(data), salvage=True)
    assert len(kept.nodes) == 3
    assert len(kept.clips[0].channels) == 3


@pytest.mark.parametrize("kind", ["another parent", "too few", "too many"])
def test_a_mismatched_companion_that_was_found_is_a_warning(tmp_path: Path, kind: str) -> None:
    data, why = MISMATCHES[kind]
    (tmp_path / "x.anim").write_bytes(wave())
    (tmp_path / "x.mdl").write_bytes(data)
    scene = keyframer.load(tmp_path / "x.anim")
    assert [(issue.severity.label, issue.args["reason"]) for issue in scene.issues] == [("warning", why)]
    assert [node.name for node in scene.nodes] == ["root", "arm", "hand"]
    other = keyframer.load(tmp_path / "x.mdl")
    assert [issue.code for issue in other.issues] == ["LINK_SKELETON_MISMATCH"]
    assert not other.clips


def test_a_damaged_companion(tmp_path: Path) -> None:
    (tmp_path / "x.anim").write_bytes(wave())
    (tmp_path / "x.mdl").write_bytes(arm()[:-9])
    scene = keyframer.load(tmp_path / "x.anim")
    assert [issue.severity.label for issue in scene.issues] == ["warning"]
    assert "damaged (STRUCT_" in str(scene.issues[0])
    with pytest.raises(keyframer.FormatError) as caught:
        keyframer.load(tmp_path / "x.anim", model=tmp_path / "x.mdl")
    assert caught.value.code.startswith("STRUCT_")
    assert caught.value.path.startswith("/companion/x.mdl/model")
    (tmp_path / "x.mdl").write_bytes(b"rubbish")
    with pytest.raises(keyframer.FormatError, match="IO_UNRECOGNISED at 0x0 in /companion/: the model: "):
        keyframer.load(tmp_path / "x.anim", model=tmp_path / "x.mdl")
    with pytest.raises(OSError):
        keyframer.load(tmp_path / "x.anim", model=tmp_path / "none.mdl")


def test_issues_of_a_companion_have_its_name_in_their_path(tmp_path: Path) -> None:
    """`check` of one file must tell which of the two files an offset belongs to."""
    (tmp_path / "x.anim").write_bytes(wave()[:-4] + b"\0\0\xc0\x7f")  # the last value of the last frame is NaN
    (tmp_path / "x.mdl").write_bytes(arm())
    (alone,) = keyframer.check(tmp_path / "x.anim").issues
    (beside,) = keyframer.check(tmp_path / "x.mdl").issues
    assert alone.path.startswith("/animation/joint")
    assert (beside.code, beside.path, beside.offset) == (alone.code, f"/companion/x.anim{alone.path}", alone.offset)


def test_a_wrong_companion_option_is_refused(pair: tuple[Path, Path]) -> None:
    with pytest.raises(ValueError, match="a model itself: the option for its companion is 'animation'"):
        keyframer.load(pair[1], model=pair[1])
    with pytest.raises(ValueError, match="an animation itself: the option for its companion is 'model'"):
        keyframer.load(pair[0], animation=pair[0])
    with pytest.raises(ValueError, match="a path or a document"):
        keyframer.load(pair[0], model=7)
    with pytest.raises(ValueError, match=r"hale3d has no option 'fps' \(it has: model, animation\)"):
        keyframer.load(pair[0], fps=24)


def test_a_missing_component_is_an_error() -> None:
    data = header(1, 1, 2) + joint(b"a", -1, 7, 0) + frame((0,) * 6, (1.0, 2.0))
    with pytest.raises(keyframer.FormatError, match=r"LINK_INDEX_OUT_OF_RANGE.*component 2, which does not exist"):
        load(data)
    assert not load(data, salvage=True).clips[0].channels


@pytest.mark.parametrize(
    ("number", "field", "index"), [(1, "position", 1), (3, "orientation", 0), (6, "orientation", 3)]
)
def test_a_non_finite_number_of_a_joint_is_located(number: int, field: str, index: int) -> None:
    base = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]
    base[number] = float("nan")
    data = header(1, 1, 0) + joint(b"a", position=base[:3], orientation=base[3:]) + frame((0,) * 6, ())
    (issue,) = (issue for issue in load(data).issues if issue.code == "DATA_NON_FINITE")
    assert issue.path.endswith(field)
    assert issue.message == f"1 non-finite or too large number, the first at entry {index}"


def test_invalid_models_are_reported() -> None:
    nan = float("nan")
    rows = [(0, 0, 0, 1), (nan, 0, 1, 1), (0, 0, 2, 9)]
    weights = [(0.5, 0, 0, 0, 0), (1, 1, nan, 0, 0), (1, 7, 0, 0, 0)]
    joints = [model_joint(b"a", -1, (0, nan, 0)), model_joint(b"b", 0, (1, 0, 0), (1, 1, 0))]
    data = model([mesh(b"m", rows, weights, [(0, 1, 2), (0, 1, 3)])], joints)
    with pytest.raises(keyframer.FormatError, match="LINK_INDEX_OUT_OF_RANGE"):
        load(data)
    scene = load(data, salvage=True)
    counts = scene.issues.counts
    assert counts["LINK_INDEX_OUT_OF_RANGE"] == 3  # a weight, a joint, a corner
    assert counts["DATA_NON_FINITE"] == 3  # a joint, a weight's position, a texture coordinate
    assert counts["DATA_QUATERNION_INVALID"] == counts["DATA_WEIGHT_SUM"] == 1
    assert any("not finite in the bind pose: w" in issue.message for issue in scene.issues)
    assert scene.meshes[0].corners.tolist() == [[0, 2, 1]]
    pose = keyframer.pose(scene, frames=[0])
    assert np.isfinite(pose.world).all()
    assert np.isfinite(pose.vertices(2)).all()


def test_a_truncated_header_is_refused_or_gives_an_empty_scene() -> None:
    with pytest.raises(keyframer.FormatError):
        load(b"H3DA\1\0\0")
    assert not load(b"H3DA\1\0\0", salvage=True).nodes


def test_non_finite_numbers_are_reported() -> None:
    nan = float("nan")
    data = header(2, 2, 2, rate=0) + joint(b"a", -1, 0b100001 | 64, 0) + joint(b"b", 0)
    data += frame((0,) * 6, (nan, 0.5)) + frame((0,) * 6, (1.0, 1.5))
    scene = load(data)
    messages = {issue.code: issue.message for issue in scene.issues}
    assert messages.keys() == {
        "DATA_RATE_INVALID",
        "DATA_NON_FINITE",
        "DATA_QUATERNION_INVALID",
        "SEM_UNKNOWN_FLAG_BITS",
    }
    assert messages["DATA_RATE_INVALID"] == "invalid frame rate: 0"
    assert "not finite in frame 1: w" in messages["DATA_QUATERNION_INVALID"]
    assert np.isfinite(keyframer.pose(scene, frames=[0, 0.5, 1]).world).all()
