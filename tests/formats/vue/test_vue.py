"""VUE files: lines and bytes, poses by the manual, and the frames that 3D Studio itself computed."""

from __future__ import annotations

import csv
import math
from pathlib import Path

import numpy as np
import pytest

import keyframer
from keyframer import NodeKind
from keyframer.checking import check
from keyframer.formats.vue.document import Command, Frame, Line
from keyframer.scene.loss_report import CannotWrite
from tests.corpus import CORPUS, needs_corpus
from tests.exchange.truth import assert_valid
from tests.oracles import vue as oracle
from tests.samples.vue.make import odd, turning

FILES = sorted(path for path in (CORPUS / "vue").glob("*") if path.suffix.lower() == ".vue")
STUDIO = Path(__file__).parents[2] / "truth" / "secondreality"


def assert_poses_match(data: bytes) -> None:
    scene = keyframer.load(data)
    frames = oracle.frames_of(data)
    for number, commands in frames.items():
        pose = keyframer.pose(scene, frames=[number])
        for words in commands:
            if words[0] == "transform":
                expected, node = oracle.matrix_of(words), scene.find(words[1])
                assert np.abs(pose.world[0, node] - expected).max() <= 1e-6 * max(np.abs(expected).max(), 1.0)
                assert pose.visible[0, node]
            elif words[0] in ("camera", "light", "spotlight"):
                at = 1 if words[0] == "camera" else 2
                node = scene.find("camera" if words[0] == "camera" else words[1])
                position = [float(word) for word in words[at : at + 3]]
                assert np.allclose(pose.world[0, node, :3, 3], position, atol=1e-3)


def test_a_scene_of_objects_lights_and_a_camera() -> None:
    scene = keyframer.load(turning())
    assert [(node.name, node.kind) for node in scene.nodes] == [
        ("Box", NodeKind.DUMMY),
        ("Big Plate", NodeKind.DUMMY),
        ("Omni", NodeKind.LIGHT),
        ("Spot", NodeKind.LIGHT),
        ("Spot.target", NodeKind.TARGET),
        ("camera", NodeKind.CAMERA),
        ("camera.target", NodeKind.TARGET),
    ]
    clip = scene.clips[0]
    assert (clip.start, clip.end, clip.rate, len(scene.issues)) == (0.0, 2.0, 30.0, 0)
    assert_poses_match(turning())
    pose = keyframer.pose(scene, frames=[0, 1, 2])
    assert pose.visible[:, 1].tolist() == [True, False, True]
    assert pose.camera_fov_degrees.tolist() == [[48.0]] * 3
    assert scene.lights[1].hotspot_degrees == 30.0
    assert keyframer.load(turning(), fps=25).clips[0].rate == 25.0
    rolled = {channel.track.kind: channel.track.values.tolist() for channel in clip.channels}["roll"]
    assert rolled == [0.0, 5.0, 10.0]


def test_odd_lines_stay_and_are_reported() -> None:
    document = keyframer.decode(odd())
    assert [(frame.number, len(frame.children)) for frame in document.find(Frame)] == [(10, 5), (12, 3)]
    assert len(list(document.find(Line))) == 3
    assert [(issue.code, issue.offset) for issue in document.issues] == [
        ("STRUCT_SYNTAX", odd().index(b";")),
        ("STRUCT_SYNTAX", odd().index(b'transform "b"')),
        ("STRUCT_SYNTAX", odd().index(b"frame twelve")),
    ]
    scene = keyframer.load(odd())
    assert [node.name for node in scene.nodes] == ["a", "a.2", "face"]
    assert scene.nodes[1].position.tolist() == [5, 0, 0]
    assert scene.nodes[2].position.tolist() == [0, 0, 7]
    assert scene.clips[0].extras["vue"]["view"] == "top"


def test_only_a_line_that_changes_is_written_anew() -> None:
    document = keyframer.decode(turning())
    light = next(command for command in document.find(Command) if command.keyword == b"light")
    values = light.values.copy()
    values[1] = -2.25
    light.values = values
    assert keyframer.encode(document) == turning().replace(b'"Omni" 0 0 100', b'"Omni" 0 -2.25 100', 1)
    morph = next(command for command in keyframer.decode(odd()).find(Command) if command.keyword == b"morph")
    document.records.append(Frame(3, children=[morph]))
    morph.values = morph.values + 1
    with pytest.raises(ValueError, match="morph command"):
        keyframer.encode(document)


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    scene = keyframer.load(turning())
    scene.nodes[0].name = "Crate"  # so that it is written anew
    keyframer.save(scene, tmp_path / "a.vue")
    again = keyframer.load(tmp_path / "a.vue")
    frames = [0, 1, 2]
    for before, after in zip(scene.nodes, again.nodes, strict=True):
        assert (before.kind, before.camera, before.light) == (after.kind, after.camera, after.light)
    one, two = (keyframer.pose(each, frames=frames) for each in (scene, again))
    shown = one.visible
    assert np.abs(one.world - two.world)[shown].max() < 1e-3
    assert (one.visible == two.visible).all()
    with pytest.raises(CannotWrite, match="no objects"):
        keyframer.save(keyframer.Scene(), tmp_path / "empty.vue")


def frames_of_a_file(path: Path) -> dict[tuple[int, str, str], list[list[float]]]:
    found: dict[tuple[int, str, str], list[list[float]]] = {}
    for number, commands in oracle.frames_of(path.read_bytes()).items():
        for words in commands:
            name = "" if words[0] == "camera" else words[1]
            numbers = [float(word) for word in words[1 if words[0] == "camera" else 2 :]]
            found.setdefault((number, words[0], name), []).append(numbers)
    return found


def test_converted_scenes_have_the_frames_of_3d_studio(tmp_path: Path) -> None:
    """``keyframer convert scene.3ds scene.vue`` writes what the original's own VUE renderer wrote."""
    folder = STUDIO
    with open(folder / "TRUTH.tsv", newline="", encoding="utf-8") as stream:
        table = list(csv.DictReader(stream, delimiter="\t"))
    compared = 0
    for file in sorted({row["file"] for row in table}):
        scene = keyframer.load(folder / file)
        keyframer.save(scene, tmp_path / f"{file}.vue")
        found = frames_of_a_file(tmp_path / f"{file}.vue")
        names = {node.file_id: (node.raw_name or b"").decode("latin-1") for node in scene.nodes}
        for row in (each for each in table if each["file"] == file):
            expected = [float(row[name]) for name in list(row)[5:] if row[name]]
            compared += 1
            if row["instance"] == "camera":
                ((x, y, z, *rest),) = found[int(row["frame"]), "camera", ""]
                looks = np.array(rest[:3]) - (x, y, z)
                cosine = looks @ expected[3:] / np.linalg.norm(looks) / np.linalg.norm(expected[3:])
                assert math.dist((x, y, z), expected[:3]) <= 1.6
                assert math.degrees(math.acos(min(1.0, cosine))) <= 0.15
                continue
            rows = found[int(row["frame"]), "transform", names[int(row["id"])]]
            wanted = np.reshape(expected, (3, 4))
            off = [np.abs(np.reshape(numbers, (4, 3)).T - wanted) for numbers in rows]  # instances have one name
            assert any((each[:, :3] <= 2.5 / 16384).all() and (each[:, 3] <= 0.1001).all() for each in off), row
    assert compared > 100


def test_decimals_of_3d_studio(tmp_path: Path) -> None:
    scene = keyframer.load(STUDIO.parents[1] / "samples" / "3ds" / "windmill.3ds")
    keyframer.save(scene, tmp_path / "a.vue", decimals=4)
    words = (tmp_path / "a.vue").read_bytes().split()
    assert max(len(word.partition(b".")[2]) for word in words if not word.startswith(b'"')) == 4


@needs_corpus
@pytest.mark.skipif(not FILES, reason="the corpus has no VUE files")
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_real_files(path: Path, tmp_path: Path) -> None:
    data = path.read_bytes()
    assert keyframer.encode(keyframer.decode(data)) == data
    assert check(path).verdict == "clean"
    assert_poses_match(data)
    keyframer.save(keyframer.load(path), tmp_path / "a.glb")
    keyframer.save(keyframer.load(turning()), tmp_path / "b.glb")
    assert_valid([tmp_path / "a.glb", tmp_path / "b.glb"])
