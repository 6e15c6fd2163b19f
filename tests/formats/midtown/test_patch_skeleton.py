"""Edited Midtown clips with a skeleton: added and removed frames and bones; unknown words are kept."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import keyframer
from keyframer.curves import RotationForm, Track
from keyframer.editing import cut
from keyframer.scene import Channel, Node, NodeKind, Scene
from tests.building import midtown as w

SKELETON = b"""NumBones 3
bone hips {
    offset   0.0 1.10 0
    mass 12  // a word that nobody knows
    BONE  back { Offset 0 .25 0.5
        bone head{ offset 0 0.125 0 }}
}
"""


@pytest.fixture
def clip(tmp_path: Path) -> Path:
    path = tmp_path / "walk.anim"
    path.write_bytes(w.retail(rows()))
    path.with_suffix(".skel").write_bytes(SKELETON)
    return path


def rows() -> list[list[float]]:
    return w.walk(frames=6, bones=3)


def save(scene: Scene, folder: Path) -> tuple[bytes, bytes]:
    """Save clip and skeleton, check that saving them again changes nothing, and return their bytes."""
    path = folder / "out.anim"
    report = keyframer.save(scene, path, format="midtown", overwrite=True)
    assert not [loss for loss in report if loss.code == "ORIGINAL_REWRITTEN"], [str(loss) for loss in report]
    assert sorted(Path(name).name for name in report.written) == ["out.anim", "out.skel"]
    saved = path.read_bytes(), path.with_suffix(".skel").read_bytes()
    keyframer.save(keyframer.load(path, format="midtown"), path, format="midtown", overwrite=True)
    assert (path.read_bytes(), path.with_suffix(".skel").read_bytes()) == saved
    return saved


def words(text: bytes) -> list[object]:
    """The words of a skeleton, with numbers as numbers, regardless of case and white space."""
    found = re.findall(rb"[{}]|[^\s{}]+", text.lower())
    return [float(word) if re.fullmatch(rb"[-+.\d]+", word) else word for word in found]


def test_unchanged_files_are_kept(clip: Path, tmp_path: Path) -> None:
    assert save(keyframer.load(clip, format="midtown"), tmp_path) == (clip.read_bytes(), SKELETON)


def test_names_and_offsets_change_only_their_own_words(clip: Path, tmp_path: Path) -> None:
    scene = keyframer.load(clip, format="midtown")
    scene.node("head").name = "skull"
    scene.node("back").position = np.array([0.0, 0.375, 0.5])
    report = keyframer.save(scene, tmp_path / "told.anim", format="midtown")
    assert {(loss.path, loss.type.key) for loss in report if loss.path.startswith("/nodes")} == {
        ("/nodes/1/position", "EDIT_WRITTEN:changed"),
        ("/nodes/2/name", "EDIT_WRITTEN:changed"),
    }
    data, text = save(scene, tmp_path)
    assert data == clip.read_bytes()
    assert words(text) == words(SKELETON.replace(b"bone head", b"bone skull").replace(b"0 .25 0.5", b"0 0.375 0.5"))
    loaded = keyframer.load(tmp_path / "out.anim", format="midtown")
    assert [node.name for node in loaded.nodes] == ["hips", "back", "skull"]


def test_a_new_parent_keeps_the_words_of_the_bones(clip: Path, tmp_path: Path) -> None:
    scene = keyframer.load(clip, format="midtown")
    scene.node("head").parent = 0
    _, text = save(scene, tmp_path)
    loaded = keyframer.load(tmp_path / "out.anim", format="midtown")
    assert [node.parent for node in loaded.nodes] == [None, 0, 0]
    assert b"mass 12 // a word that nobody knows" in text


def test_renaming_a_bone_writes_a_skeleton_if_there_was_none(tmp_path: Path) -> None:
    (tmp_path / "bare.anim").write_bytes(w.retail(rows()))
    scene = keyframer.load(tmp_path / "bare.anim", format="midtown")
    old = [node.name for node in scene.nodes]
    scene.nodes[1].name = "other"
    data, _ = save(scene, tmp_path)
    assert data == w.retail(rows())
    loaded = keyframer.load(tmp_path / "out.anim", format="midtown")
    assert [node.name for node in loaded.nodes] == [old[0], "other", old[2]]


@pytest.mark.parametrize("count", [4, 9])
def test_added_and_removed_frames(count: int, clip: Path, tmp_path: Path) -> None:
    """Remaining frames keep their values; new frames follow them."""
    scene = keyframer.load(clip, format="midtown")
    channels = []
    for channel in scene.clips[0].channels:
        values = channel.track.values[np.minimum(np.arange(count), 5)]
        form = RotationForm.QUATERNION_ABSOLUTE if channel.track.is_rotation else RotationForm.NONE
        channels.append(Channel(channel.node, Track.sampled(channel.track.kind, values, form=form)))
    scene.clips = [replace(scene.clips[0], channels=channels, end=count - 1.0)]
    data, text = save(scene, tmp_path)
    assert text == SKELETON
    assert data[:4] + data[8:17] == clip.read_bytes()[:4] + clip.read_bytes()[8:17]
    table = np.frombuffer(data[17:], "<f4").reshape(count, 12)  # 12 floats a frame
    for row, wanted in zip(table, [*rows()[:6], *[rows()[5]] * count], strict=False):
        assert np.allclose(row[:3], wanted[:3], atol=1e-6)
        assert np.allclose(np.cos(row[3:] - np.array(wanted[3:])), 1.0, atol=1e-6)
    assert math.isclose(keyframer.load(tmp_path / "out.anim", format="midtown").clips[0].end, count - 1)


def without(scene: Scene, names: set[str]) -> Scene:
    remaining = [number for number, node in enumerate(scene.nodes) if node.name not in names]
    place = {number: new for new, number in enumerate(remaining)}
    nodes = [scene.nodes[number] for number in remaining]
    clip = scene.clips[0]
    channels = [Channel(place[channel.node], channel.track) for channel in clip.channels if channel.node in place]
    return replace(
        scene,
        nodes=[replace(node, parent=None if node.parent is None else place.get(node.parent, 0)) for node in nodes],
        clips=[replace(clip, channels=channels)],
    )


def test_a_removed_bone_loses_its_block_and_its_angles(clip: Path, tmp_path: Path) -> None:
    scene = keyframer.load(clip, format="midtown")
    data, text = save(without(scene, {"head"}), tmp_path)
    assert data == w.retail([row[:9] for row in rows()])
    wanted = SKELETON.replace(b"NumBones 3", b"NumBones 2").replace(b"bone head{ offset 0 0.125 0 }", b"")
    assert words(text) == words(wanted)


def test_removing_a_bone_in_the_middle_keeps_the_angles_of_its_children(clip: Path, tmp_path: Path) -> None:
    scene = keyframer.load(clip, format="midtown")
    data, text = save(without(scene, {"back"}), tmp_path)
    assert data == w.retail([[*row[:6], *row[9:]] for row in rows()])
    loaded = keyframer.load(tmp_path / "out.anim", format="midtown")
    assert [(node.name, node.parent) for node in loaded.nodes] == [("hips", None), ("head", 0)]
    assert b"mass 12 // a word that nobody knows" in text


def test_a_new_bone_is_the_last_child_of_its_parent(clip: Path, tmp_path: Path) -> None:
    """The angles of both new bones, which never rotate, follow those of the head."""
    scene = keyframer.load(clip, format="midtown")
    scene.nodes.append(Node("tail end", NodeKind.BONE, 0, position=np.array([0.0, 0.0, 0.5])))
    scene.nodes.append(Node("ear", NodeKind.BONE, 2, position=np.array([0.25, 0.0, 0.0])))
    data, text = save(scene, tmp_path)
    loaded = keyframer.load(tmp_path / "out.anim", format="midtown")
    assert [(node.name, node.parent) for node in loaded.nodes] == [
        ("hips", None),
        ("back", 0),
        ("head", 1),
        ("ear", 2),
        ("tail_end", 0),
    ]
    assert data == w.retail([[*row, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0] for row in rows()])
    ear, tail = b"bone ear { offset 0.25 0 0 }", b"bone tail_end { offset 0 0 0.5 }"
    wanted = SKELETON.replace(b"NumBones 3", b"NumBones 5").replace(b"0 }}\n}", b"0 " + ear + b"}}" + tail + b"}")
    assert words(text) == words(wanted)


def test_bones_added_and_frames_removed_at_once(clip: Path, tmp_path: Path) -> None:
    scene = keyframer.load(clip, format="midtown")
    scene.nodes.append(Node("tail", NodeKind.BONE, 0))
    data, _ = save(cut(scene, 2, 4), tmp_path)
    wanted = w.retail([[*row, 0.0, 0.0, 0.0] for row in rows()[2:5]])
    assert data[:17] == wanted[:17]
    assert np.allclose(np.frombuffer(data[17:], "<f4"), np.frombuffer(wanted[17:], "<f4"), atol=1e-6)


def test_swapping_parent_and_child_reorders_their_angles(clip: Path, tmp_path: Path) -> None:
    """The head becomes a child of the hips, and the back a child of the head."""
    scene = keyframer.load(clip, format="midtown")
    scene.node("back").parent = 2
    scene.node("head").parent = 0
    data, _ = save(scene, tmp_path)
    assert data == w.retail([[*row[:6], *row[9:12], *row[6:9]] for row in rows()])
    loaded = keyframer.load(tmp_path / "out.anim", format="midtown")
    assert [(node.name, node.parent) for node in loaded.nodes] == [("hips", None), ("head", 0), ("back", 1)]


@pytest.mark.parametrize(
    ("name", "word"),
    [("my head", b"my_head"), ("a{b}", b"a_b_"), ("", b"bone"), ("\t", b"_"), ("Hips", b"Hips.2")],
)
def test_an_invalid_bone_name_is_replaced_by_a_unique_word(clip: Path, tmp_path: Path, name: str, word: bytes) -> None:
    scene = keyframer.load(clip, format="midtown")
    scene.node("head").name = name
    report = keyframer.save(scene, tmp_path / "told.anim", format="midtown")
    assert [loss.args["name"] for loss in report if loss.code == "NAME_CHANGED"] == [word.decode()]
    data, text = save(scene, tmp_path)
    assert (data, words(text)) == (clip.read_bytes(), words(SKELETON.replace(b"bone head{", b"bone " + word + b"{")))


def test_the_name_of_a_new_bone_is_made_valid_and_reported_once(clip: Path, tmp_path: Path) -> None:
    scene = keyframer.load(clip, format="midtown")
    scene.nodes.append(Node("left ear", NodeKind.BONE, 2))
    report = keyframer.save(scene, tmp_path / "told.anim", format="midtown")
    assert [loss.args["name"] for loss in report if loss.code == "NAME_CHANGED"] == ["left_ear"]
    assert b"bone left_ear {" in save(scene, tmp_path)[1]


@pytest.mark.parametrize("odd", [math.nan, math.inf])
def test_a_non_finite_offset_is_not_written(clip: Path, tmp_path: Path, odd: float) -> None:
    scene = keyframer.load(clip, format="midtown")
    scene.node("head").position = np.array([0.0, odd, 0.0])
    report = keyframer.save(scene, tmp_path / "out.anim", format="midtown")
    assert [
        "a bone has a non-finite offset" in str(loss.args) for loss in report if loss.code == "ORIGINAL_REWRITTEN"
    ] == [True]
    assert len(keyframer.load(tmp_path / "out.anim", format="midtown").nodes) == 3
