"""Node animations that gain and lose nodes: the bytes are those that a writer of our own makes of the edited data."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import keyframer
from keyframer.curves import Interpolation, RotationForm, Track
from keyframer.formats.kit.scene_reading import scene_of
from keyframer.formats.nodeanim import FORMAT
from keyframer.formats.nodeanim.dialect import Dialect
from keyframer.formats.nodeanim.records import Animations, Header, NodeKeys
from keyframer.formats.nodeanim.records import Node as Bare
from keyframer.operating import choose_nodes
from keyframer.scene import Channel, Node, NodeKind, Scene
from keyframer.scene.loss_report import LossReport, Outcome
from keyframer.wire.record import Record
from tests.formats.editing import why_anew
from tests.formats.nodeanim.writer import TCB, Bone, Clip, How, Key, chunk, clips, write

HOWS = {
    "default": How(),
    "big": How(">", "u16", "u32+u32"),
    "inside": How("<", "u8", "u16+u32", False),
    "none": How("<", "nul", "none"),
}
BEFORE, BEHIND = b"what is this", b"\0\xffnobody knows"


def original(how: How) -> tuple[Clip, bytes]:
    return clips()["mixed"], framed(clips()["mixed"], how)


def framed(clip: Clip, how: How) -> bytes:
    """With chunks that nobody knows before and behind, where chunks have sizes."""
    if "+" not in how.header:
        return write(clip, how)
    return chunk(9, BEFORE, how) + write(clip, how) + chunk(12, BEHIND, how)


def save(scene: Scene, path: Path) -> tuple[bytes, LossReport]:
    report = keyframer.save(scene, path, overwrite=True)
    assert not [loss for loss in report if "a new file was written" in loss.detail], [str(loss) for loss in report]
    data = path.read_bytes()
    keyframer.save(keyframer.load(path), path, overwrite=True)
    assert path.read_bytes() == data
    return data, report


@pytest.mark.parametrize("name", HOWS)
def test_a_new_node_stands_behind_the_others(name: str, tmp_path: Path) -> None:
    how = HOWS[name]
    clip, data = original(how)
    (tmp_path / "clip.nanim").write_bytes(data)
    scene = keyframer.load(tmp_path / "clip.nanim")
    scene.nodes.append(Node("Tail", NodeKind.BONE))
    keys = Track("position", np.array([0.0, 0.5]), np.array([[1.0, 2, 3], [4, 5, 6]]), Interpolation.TCB)
    keys.tension = np.array([0.5, 0.25])
    scene.clips[0].channels.append(Channel(len(scene.nodes) - 1, keys))
    made, report = save(scene, tmp_path / "new.nanim")
    shapes = [(0.5, 0.0, 0.0, 0.0, 0.0), (0.25, 0.0, 0.0, 0.0, 0.0)]
    rows = (Key(0, 0.0, (1.0, 2.0, 3.0), shapes[0]), Key(0, 0.5, (4.0, 5.0, 6.0), shapes[1]))
    assert made == framed(replace(clip, bones=(*clip.bones, Bone(b"Tail", TCB, rows))), how)
    assert [loss.path for loss in report if "added to the original" in loss.detail] == ["/nodes/Tail"]


@pytest.mark.parametrize("name", HOWS)
def test_a_removed_node_takes_only_itself_along(name: str, tmp_path: Path) -> None:
    how = HOWS[name]
    clip, data = original(how)
    (tmp_path / "clip.nanim").write_bytes(data)
    scene = choose_nodes(keyframer.load(tmp_path / "clip.nanim"), ["Bip01", "Bip01 Spine", "Bip01 L Hand"])
    made, report = save(scene, tmp_path / "less.nanim")
    assert made == framed(replace(clip, bones=(*clip.bones[:2], clip.bones[3])), how)
    assert [loss.path for loss in report if "removed from the original" in loss.detail] == ["/nodes/Bip01 Head"]


def test_the_end_is_where_the_last_key_is_and_that_is_said(tmp_path: Path) -> None:
    (tmp_path / "clip.nanim").write_bytes(original(How())[1])
    scene = keyframer.load(tmp_path / "clip.nanim")
    scene.clips[0].end += 5.0
    made, report = save(scene, tmp_path / "end.nanim")
    assert made == original(How())[1]
    words = "dropped: /clips/0/end: the format cannot store it, or other parts of the scene override it"
    assert [str(loss) for loss in report.of(Outcome.DROPPED)] == [words]


def test_what_cannot_be_merged_is_written_anew_and_all_that_is_lost_is_said(tmp_path: Path) -> None:
    (tmp_path / "clip.nanim").write_bytes(original(How())[1])
    scene = keyframer.load(tmp_path / "clip.nanim")
    report = keyframer.save(scene, tmp_path / "other.nanim", dialect=str(HOWS["big"]))
    assert [loss.detail for loss in report if "a new file was written" in loss.detail] == [
        "the original could not be edited in place (a different layout was requested): a new file was written"
    ]
    lost = [loss for loss in report.of(Outcome.DROPPED) if "unknown bytes of the original" in loss.detail]
    assert [int(loss.detail.split()[1]) for loss in lost] == [len(BEFORE), len(BEHIND)]


def made_by_hand(*records: Record) -> Scene:
    """Files without one of the chunks are not loaded; documents that somebody makes are."""
    return scene_of(keyframer.Document(FORMAT, list(records), dialect=Dialect()))


def test_new_nodes_get_a_chunk_to_stand_in() -> None:
    scene = made_by_hand(Header(name=b"walk"))
    scene.nodes.append(Node("Tail", NodeKind.BONE))
    scene.clips[0].channels.append(Channel(0, Track("position", np.zeros(1), np.ones((1, 3)), Interpolation.TCB)))
    written = FORMAT.from_scene(scene)
    assert why_anew(written) == []
    assert [type(record) for record in written.document.records] == [Header, Animations]
    assert [record.name for record in written.document.find(Bare)] == [b"Tail"]


def test_a_new_name_gets_a_header_to_stand_in() -> None:
    keys = NodeKeys.make([0.0, 1.0], [[0.0, 0, 0], [1, 2, 3]])
    scene = made_by_hand(Animations(children=[Bare(b"Tail", TCB, translation_keys=keys)]))
    scene.title = scene.clips[0].name = "run"
    written = FORMAT.from_scene(scene)
    assert why_anew(written) == []
    assert [type(record) for record in written.document.records] == [Header, Animations]
    assert [record.name for record in written.document.find(Header)] == [b"run"]


def test_new_keys_that_readers_would_misunderstand(tmp_path: Path) -> None:
    """The file was read as one of absolute keys because somebody said so; new ones would look like increments."""
    (tmp_path / "clip.nanim").write_bytes(original(How())[1])
    scene = keyframer.load(tmp_path / "clip.nanim", rotation_keys="absolute")
    scene.nodes.append(Node("Tail", NodeKind.BONE))
    half = np.array([0.1, -0.1, 0.1, -0.1])  # to and fro about z
    turns = np.column_stack([np.zeros(4), np.zeros(4), np.sin(half), np.cos(half)])
    form = RotationForm.QUATERNION_ABSOLUTE
    track = Track("rotation", np.arange(4) / 4, turns, Interpolation.LINEAR, form=form)
    scene.clips[0].channels.append(Channel(len(scene.nodes) - 1, track))
    report = keyframer.save(scene, tmp_path / "new.nanim")
    (why,) = [loss.detail for loss in report if "a new file was written" in loss.detail]
    assert "(readers would need options for the new keys)" in why


def test_a_copyright_stands_in_the_name_of_the_author_or_nowhere() -> None:
    scene = scene_of(keyframer.decode(write(clips()["mixed"], How())))
    scene.copyright = "(C) somebody else"
    written = FORMAT.from_scene(scene)
    assert why_anew(written) == []
    assert keyframer.encode(written.document) == write(clips()["mixed"], How())
    assert "/copyright" in [loss.path for loss in written.report.of(Outcome.DROPPED)]


def test_tangents_cannot_become_curves_of_another_kind() -> None:
    scene = scene_of(keyframer.decode(write(clips()["bezier"], How(tangents=True)), format="nodeanim"))
    track = next(channel.track for channel in scene.clips[0].channels if channel.track.kind == "rotation")
    track.interpolation = Interpolation.TCB
    (why,) = why_anew(FORMAT.from_scene(scene))
    assert "tangents cannot be stored in this dialect" in why
