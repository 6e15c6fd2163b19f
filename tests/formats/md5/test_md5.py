"""MD5 files: fields, bytes that stay, poses compared with an evaluator that does not use our code, and the twin."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

import keyframer
from keyframer import NodeKind
from keyframer.checking import check
from keyframer.formats.md5.camera import CameraFrames, CameraPath, Cut
from keyframer.formats.md5.document import Animation, Frames, Joint, Mesh, Model, ModelJoint
from keyframer.inspecting.text_build import build_bytes
from tests.building.editing import dump_text
from tests.corpus import CORPUS, needs_corpus
from tests.exchange.truth import assert_valid
from tests.oracles import md5 as oracle
from tests.samples.md5.make import body, headset, odd, shots, wave

FILES = sorted([*(CORPUS / "md5").glob("*.md5*"), *(CORPUS / "hale3d").glob("*.md5*")])
BROKEN = ("InvalidBoneIndex", "Overflowing")
WHOLE = [path for path in FILES if not any(word in path.name for word in BROKEN)]
needs_files = pytest.mark.skipif(not FILES, reason="the corpus has no MD5 files")


def assert_poses_match(path: Path) -> None:
    data = path.read_bytes()
    scene = keyframer.load(path)
    if path.suffix == ".md5mesh":
        joints, meshes = oracle.model(data)
        worlds = {0: [oracle.matrix_of(numbers) for _, _, numbers in joints]}
        scene = keyframer.load(data)
    else:
        moving, meshes = oracle.animation(data), []
        last = len(moving.frames) - 1
        worlds = {frame: oracle.world_matrices(moving, frame) for frame in {0, 1, last // 2, last}}
        if scene.meshes:
            meshes = oracle.model(path.with_suffix(".md5mesh").read_bytes())[1]
    for frame, world in worlds.items():
        pose = keyframer.pose(scene, frames=[frame])
        if path.suffix == ".md5anim":
            largest = max(float(np.abs(world).max()), 1.0)
            assert np.abs(pose.world[0, : len(world)] - world).max() <= 1e-6 * largest
        for number, mesh in enumerate(meshes):
            places = oracle.vertices(mesh, world)
            found = pose.vertices(len(world) + number)[0]
            assert np.abs(found - places).max(initial=0) <= 1e-6 * max(np.abs(places).max(initial=0), 1.0)


def test_a_pair_plays_and_gives_a_valid_glb(tmp_path: Path) -> None:
    (tmp_path / "a.md5mesh").write_bytes(body())
    (tmp_path / "a.md5anim").write_bytes(wave())
    assert_poses_match(tmp_path / "a.md5anim")
    scene = keyframer.load(tmp_path / "a.md5anim")
    assert [(node.name, node.kind, node.parent) for node in scene.nodes[:3]] == [
        ("origin", NodeKind.BONE, None),
        ("arm", NodeKind.BONE, 0),
        ("hand", NodeKind.BONE, 1),
    ]
    assert (scene.clips[0].rate, scene.clips[0].end, len(scene.issues)) == (24.0, 3.0, 0)
    assert [material.name for material in scene.materials] == ["models/body/sleeve", "palm.tga"]
    keyframer.save(scene, tmp_path / "a.glb")
    (tmp_path / "b.md5anim").write_bytes(wave())
    keyframer.save(keyframer.load(tmp_path / "b.md5anim", model=tmp_path / "a.md5mesh"), tmp_path / "b.glb")
    assert_valid([tmp_path / "a.glb", tmp_path / "b.glb"])


def test_fields() -> None:
    document = keyframer.decode(wave())
    top, frames, joints = document.first(Animation), document.first(Frames), list(document.find(Joint))
    assert top is not None
    assert frames is not None
    assert (top.version, top.frame_count, top.frame_rate, top.joint_count, top.component_count) == (10, 4, 24, 3, 3)
    assert [(joint.name, joint.parent, joint.flags, joint.start_index) for joint in joints] == [
        (b"origin", -1, 0, 0),
        (b"arm", 0, 16, 0),
        (b"hand", 1, 5, 1),
    ]
    assert frames.bounds[0].tolist() == [[-1, -1, -1], [3, 1, 2.5]]
    assert frames.components[2].tolist() == [np.float32(-np.sin(np.radians(65))), 0.25, -0.5]
    assert joints[1].orientation[3] == pytest.approx(-np.sqrt(0.5))
    model = keyframer.decode(body())
    meshes, bound = list(model.find(Mesh)), list(model.find(ModelJoint))
    assert [(mesh.material, len(mesh.vertices), len(mesh.weights), len(mesh.triangles)) for mesh in meshes] == [
        (b"models/body/sleeve", 4, 6, 2),
        (b"palm.tga", 3, 3, 1),
    ]
    assert meshes[0].weights["bias"].tolist() == [1, 1, 0.5, 0.5, 0.25, 0.75]
    assert (bound[2].name, bound[2].parent, bound[2].position) == (b"hand", 1, (2.0, 0.0, 1.0))


def test_only_what_changes_is_written_anew() -> None:
    document = keyframer.decode(wave())
    joint, frames = list(document.find(Joint))[2], document.first(Frames)
    assert frames is not None
    joint.parent = 0
    rows = frames.rows.copy()
    rows[1, 7] = 0.75
    frames.rows = rows
    before, after = wave().split(b"\r\n"), keyframer.encode(document).split(b"\r\n")
    changed = [number for number, pair in enumerate(zip(before, after, strict=False)) if pair[0] != pair[1]]
    assert after[changed[0]] == b'\t"hand" 0 5 1\t// arm ( Tx Tz )'
    (frame,) = {number for number in range(len(after)) if after[number].startswith(b"\t -0.819152")}
    assert after[frame] == b"\t -0.819152057 0.75 -0.25"
    assert keyframer.decode(keyframer.encode(document)).first(Frames).rows[1, 7] == 0.75

    model = keyframer.decode(body())
    mesh = list(model.find(Mesh))[1]
    mesh.material = b"glove.tga"
    assert keyframer.encode(model) == body().replace(b"palm.tga", b"glove.tga")
    mesh.triangles = mesh.triangles[:, ::-1]
    assert keyframer.encode(model) == body().replace(b"palm.tga", b"glove.tga").replace(b"tri 0 0 1 2", b"tri 0 2 1 0")
    top = model.first(Model)
    assert top is not None
    top.command_line = b"by hand"
    assert b'commandline "by hand"\n\nnumJoints 3' in keyframer.encode(model)


def test_a_text_with_another_number_of_joints_is_written_anew() -> None:
    document = keyframer.decode(body())
    document.records[0].children.insert(3, ModelJoint(2, (1.0, 2.0, 3.0), (0.0, 0.0, 0.0), b"ring"))
    again = keyframer.decode(keyframer.encode(document))
    assert [joint.name for joint in again.find(ModelJoint)] == [b"origin", b"arm", b"hand", b"ring"]
    assert len(again.issues) == 0
    document.records[0].children[0].name = b'a"b'  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match="quote"):
        keyframer.encode(document)


def test_odd_texts_are_read_as_by_the_engine() -> None:
    """Rows have the order of the text, whatever their numbers; counts are those of the rows."""
    scene, report = keyframer.load(odd()), check(odd())
    assert [node.name for node in scene.nodes] == ["a//b", "loose", "mesh0"]
    assert [(issue.code, issue.path) for issue in report.issues if issue.code.startswith(("DATA_OUT", "LINK"))] == [
        ("LINK_COUNT_MISMATCH", "/model/mesh[0]/numverts"),
        ("DATA_OUT_OF_RANGE", "/model/mesh[0]"),
    ]


@pytest.mark.parametrize(
    ("old", "new", "path"),
    [
        (b"numJoints 3", b"numJoints x", "/"),
        (b"( 2 0 1 )", b"( 2 0 )", "/joint[2]"),
        (b"vert 1 ( 1 1 )", b"vert 1 ( 1 )", "/mesh[0]"),
        (b"( 0 1 0 )\n}\n", b"( 0 1 0 )\n", "/mesh[1]"),
        (b"tri 0 0 2 1", b"tri 0 0 2 x", "/mesh[0]"),
        (b"joints {", b"joints", "/"),
    ],
)
def test_errors_are_located(old: bytes, new: bytes, path: str) -> None:
    data = body().replace(old, new, 1) if old != b"( 0 1 0 )\n}\n" else body()[:-2]
    document = keyframer.decode(data)
    (issue,) = document.issues
    assert (issue.code, issue.path) == ("STRUCT_SYNTAX", path)
    assert keyframer.encode(document) == data


def test_whole_frames_of_a_cut_file_are_kept() -> None:
    cut = wave()[:-9]
    with pytest.raises(keyframer.FormatError, match="the end of the text"):
        keyframer.load(cut)
    scene = keyframer.load(cut, salvage=True)
    assert (len(scene.nodes), scene.clips[0].end) == (3, 2.0)
    assert len(keyframer.load(body()[:-80], salvage=True).meshes) == 1


def test_scenes_are_written_as_pairs(tmp_path: Path) -> None:
    """A scene of another format arrives in the same pose, with its text in the layout of id's exporter."""
    source = keyframer.load(Path(__file__).parents[2] / "samples" / "b3d" / "swaying.b3d")
    keyframer.save(source, tmp_path / "swaying.md5anim")
    loaded = keyframer.load(tmp_path / "swaying.md5anim")
    assert (loaded.source_format, len(loaded.issues)) == ("md5", 0)
    assert_poses_match(tmp_path / "swaying.md5anim")
    model = (tmp_path / "swaying.md5mesh").read_bytes()
    assert model.startswith(b'MD5Version 10\ncommandline ""\n\nnumJoints ')
    assert keyframer.encode(keyframer.decode(model)) == model
    frames = [0, 5, 10]
    there, here = (keyframer.pose(scene, frames=frames) for scene in (loaded, source))
    turned = here.vertices(0)[..., [0, 2, 1]]  # left-handed with Y up to right-handed with Z up
    number = next(at for at, node in enumerate(loaded.nodes) if node.mesh == 0)
    mirrored = np.array([[row[order] for order in np.lexsort(row.T)] for row in np.round(turned, 4)])
    found = np.array([[row[order] for order in np.lexsort(row.T)] for row in np.round(there.vertices(number), 4)])
    assert np.abs(mirrored - found).max() < 1e-3


@needs_corpus
@needs_files
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_real_files_are_lossless(path: Path) -> None:
    data = path.read_bytes()
    assert keyframer.encode(keyframer.decode(data)) == data
    assert (check(path).verdict == "clean") == (path in WHOLE)


@needs_corpus
@needs_files
@pytest.mark.parametrize("path", WHOLE, ids=lambda path: path.name)
def test_real_files_pose_as_the_evaluator_says(path: Path) -> None:
    assert_poses_match(path)


@needs_corpus
@needs_files
def test_real_files_are_valid_as_gltf(tmp_path: Path) -> None:
    for path in WHOLE:
        keyframer.save(keyframer.load(path), tmp_path / f"{path.name}.glb")
    assert_valid([tmp_path / f"{path.name}.glb" for path in WHOLE])


@needs_corpus
@needs_files
def test_the_text_is_the_twin_of_the_real_binary_animation(tmp_path: Path) -> None:
    """Bob.md5anim has the motion of the Hale3D file in another scale (0.1), without its last frame."""
    for name in ("Bob.md5anim", "Bob.md5mesh", "bob_lamp_update.anim", "bob_lamp_update.mdl"):
        shutil.copy(CORPUS / "hale3d" / name, tmp_path / name)
    text, binary = keyframer.load(tmp_path / "Bob.md5anim"), keyframer.load(tmp_path / "bob_lamp_update.anim")
    frames = [0, 35, 139]
    origins = [keyframer.pose(scene, frames=frames).world[:, :33, :3, 3] for scene in (text, binary)]
    assert [node.name for node in text.nodes[:33]] == [node.name for node in binary.nodes[:33]]
    assert np.abs(origins[0] * 0.1 - origins[1]).max() < 6e-4 or np.abs(origins[0] - origins[1] * 0.1).max() < 6e-4


def test_fields_of_a_camera() -> None:
    document = keyframer.decode(headset())
    path, frames = document.first(CameraPath), document.first(CameraFrames)
    assert path is not None
    assert frames is not None
    assert (path.version, path.frame_count, path.frame_rate, path.cut_count) == (10, 3, 30, 2)
    assert [(cut.frame, cut.headset) for cut in document.find(Cut)] == [
        (0, b"pos ( 1 2 3 ) rot ( 0 0 .5 )"),
        (7, b"pos(0 0 0) rotA (0 90 -0)"),
    ]
    assert frames.rows.tolist() == [[0, 0, 0, 0, 0, 0, 80], [1, 0, 0, 0, 0, 0, 80], [2, 0, 0, 0, 0, 0.5, 75.5]]
    assert [issue.path for issue in check(headset()).issues if issue.code == "DATA_OUT_OF_RANGE"] == [
        *("/camera/cut[0]/frame", "/camera/cut[1]/frame"),
    ]


def test_cameras_play_with_cuts(tmp_path: Path) -> None:
    """Eight frames with two cuts last five frames. The field of view is linear in a shot, and jumps at a cut."""
    scene = keyframer.load(shots())
    assert [(node.name, node.kind) for node in scene.nodes] == [("camera", NodeKind.CAMERA)]
    assert (scene.clips[0].rate, scene.clips[0].end, len(scene.issues)) == (24.0, 5.0, 0)
    times = [0, 2.5, 2.999, 3, 3.5, 4, 4.25, 5]
    posed = keyframer.pose(scene, frames=times)
    assert posed.camera_fov_degrees[:, 0].tolist() == pytest.approx([90, 90, 90, 40, 37.5, 35, 33.75, 30])
    for camera in (shots(), headset()):
        scene = keyframer.load(camera)
        times = np.linspace(0, scene.clips[0].end - 1e-6, 50).tolist()
        posed = keyframer.pose(scene, frames=times)
        for number, time in enumerate(times):
            matrix, fov = oracle.view(oracle.camera(camera), time)
            assert np.abs(posed.world[number, 0] - matrix).max() < 1e-6 * 50
            assert posed.camera_fov_degrees[number, 0] == pytest.approx(fov)
    keyframer.save(scene, tmp_path / "a.glb")
    assert_valid([tmp_path / "a.glb"])


def test_only_the_cuts_and_frames_that_change_are_written_anew() -> None:
    document = keyframer.decode(shots())
    cut, frames = document.first(Cut), document.first(CameraFrames)
    assert cut is not None
    assert frames is not None
    cut.frame = 2
    rows = frames.rows.copy()
    rows[1] = (1.5, 2, 3, 0, 0, 0, 50)
    frames.rows = rows
    before, after = shots().split(b"\r\n"), keyframer.encode(document).split(b"\r\n")
    changed = {number: line for number, line in enumerate(after) if line != before[number]}
    assert list(changed.values()) == [b"\t2", b"\t( 1.5 2 3 ) ( 0 0 0 ) 50"]
    path = document.first(CameraPath)
    assert path is not None
    path.children.insert(1, Cut(5, b"pos ( 1 2 3 )"))
    again = keyframer.decode(keyframer.encode(document))
    assert [(cut.frame, cut.headset) for cut in again.find(Cut)] == [(2, b""), (5, b"pos ( 1 2 3 )"), (4, b"")]
    assert len(again.issues) == 0


@pytest.mark.parametrize(
    "data", [b"MD5Version 10 numCuts 0 cuts{}camera{}", b"MD5Version 10 numCuts 0", b"MD5Version 10"]
)
def test_empty_texts_survive_dump_and_build(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.md5camera").write_bytes(data)
    document = keyframer.read(tmp_path / "a.md5camera", format="md5")
    assert build_bytes(dump_text(document))[1] == data
    assert keyframer.load(data, format="md5").nodes == []


def test_cameras_are_written_unchanged_or_not_at_all(tmp_path: Path) -> None:
    (tmp_path / "a.md5camera").write_bytes(shots())
    (tmp_path / "a.md5anim").write_bytes(wave())  # no companion of the camera, though it has the same name
    scene = keyframer.load(tmp_path / "a.md5camera")
    keyframer.save(scene, tmp_path / "b.md5camera")
    assert (tmp_path / "b.md5camera").read_bytes() == shots()
    scene.nodes[0].name = "lens"
    for changed in (scene, keyframer.load(wave())):
        with pytest.raises(keyframer.scene.loss_report.CannotWrite, match="cameras are only read"):
            keyframer.save(changed, tmp_path / "c.md5camera")
    with pytest.raises(ValueError, match="this file is a camera"):
        keyframer.load(tmp_path / "a.md5camera", model=tmp_path / "a.md5anim")


def test_whole_frames_of_a_cut_camera_are_kept() -> None:
    cut = shots()[:-60]
    with pytest.raises(keyframer.FormatError):
        keyframer.load(cut)
    scene = keyframer.load(cut, salvage=True)
    assert scene.clips[0].channels[0].track.times.tolist() == [0, 1, 2, 3, 3]


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        (b"90", b"ninety", "STRUCT_SYNTAX"),
        (b"\t3\r", b"\t3.5\r", "STRUCT_SYNTAX"),
        (b"\t3\r", b"\t99999999999\r", "STRUCT_SYNTAX"),
        (b"numFrames 8", b"numFrames 9", "LINK_COUNT_MISMATCH"),
        (b"frameRate 24", b"frameRate 0", "DATA_RATE_INVALID"),
        (b"frameRate 24", b"frameRate 2400000", "DATA_RATE_INVALID"),
        (b"MD5Version 10", b"MD5Version 11", "SEM_UNKNOWN_VERSION"),
        (b"( 50 0 5 )", b"( 50 nan 5 )", "DATA_NON_FINITE"),
        (b"( 0.5 -0.5 0.5 )", b"( 1.5 -0.5 0.5 )", "DATA_QUATERNION_INVALID"),
    ],
)
def test_problems_of_cameras_are_found(old: bytes, new: bytes, code: str) -> None:
    assert old in shots()
    data = shots().replace(old, new, 1)
    assert code in {issue.code for issue in check(data).issues}
    assert keyframer.encode(keyframer.decode(data)) == data
