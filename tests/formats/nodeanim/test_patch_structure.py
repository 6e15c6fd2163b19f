"""Adding and removing nodes in node animations: the bytes equal those of an independent writer."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import keyframer
from keyframer.curves import Interpolation, RotationForm, Track
from keyframer.formats.kit.scene_reading import scene_of
from keyframer.formats.nodeanim import FORMAT
from keyframer.formats.nodeanim.dialect import Dialect
from keyframer.formats.nodeanim.records import Animations, Header, NodeKeys
from keyframer.formats.nodeanim.records import Node as Bare
from keyframer.scene import Channel, Node, NodeKind, Scene
from keyframer.scene.loss_report import Outcome
from keyframer.wire.record import Record
from tests.building.editing import rewrite_reasons, save_in_place
from tests.building.nodeanim import TCB, Clip, Framing, chunk, clips, write

HOWS = {
    "default": Framing(),
    "big": Framing(">", "u16", "u32+u32"),
    "inside": Framing("<", "u8", "u16+u32", False),
    "none": Framing("<", "nul", "none"),
}
BEFORE, AFTER = b"what is this", b"\0\xffnobody knows"


def original(how: Framing) -> tuple[Clip, bytes]:
    return clips()["mixed"], with_unknown_chunks(clips()["mixed"], how)


def with_unknown_chunks(clip: Clip, how: Framing) -> bytes:
    """The clip between unknown chunks, if chunks have sizes."""
    if "+" not in how.header:
        return write(clip, how)
    return chunk(9, BEFORE, how) + write(clip, how) + chunk(12, AFTER, how)


def test_the_end_of_a_clip_is_that_of_the_last_key(tmp_path: Path) -> None:
    (tmp_path / "clip.nanim").write_bytes(original(Framing())[1])
    scene = keyframer.load(tmp_path / "clip.nanim")
    scene.clips[0].end += 5.0
    data, report = save_in_place(scene, tmp_path / "end.nanim")
    assert data == original(Framing())[1]
    words = "dropped: /clips/0/end: the format cannot store it, or other parts of the scene override it"
    assert [str(loss) for loss in report.of(Outcome.DROPPED)] == [words]


def test_edits_that_cannot_be_merged_cause_a_new_file_and_losses_are_reported(tmp_path: Path) -> None:
    (tmp_path / "clip.nanim").write_bytes(original(Framing())[1])
    scene = keyframer.load(tmp_path / "clip.nanim")
    report = keyframer.save(scene, tmp_path / "other.nanim", dialect=str(HOWS["big"]))
    assert [loss.detail for loss in report if "a new file was written" in loss.detail] == [
        "the original could not be edited in place (a different layout was requested): a new file was written"
    ]
    lost = [loss for loss in report.of(Outcome.DROPPED) if "unknown bytes of the original" in loss.detail]
    assert [int(loss.detail.split()[0]) for loss in lost] == [len(BEFORE), len(AFTER)]


def scene_of_records(*records: Record) -> Scene:
    """A scene of a document with these records; files in which a chunk is missing would be refused."""
    return scene_of(keyframer.Document(FORMAT, list(records), dialect=Dialect()))


def test_a_new_node_gets_a_chunk_if_there_is_none() -> None:
    scene = scene_of_records(Header(name=b"walk"))
    scene.nodes.append(Node("Tail", NodeKind.BONE))
    scene.clips[0].channels.append(Channel(0, Track("position", np.zeros(1), np.ones((1, 3)), Interpolation.TCB)))
    written = FORMAT.from_scene(scene)
    assert rewrite_reasons(written) == []
    assert [type(record) for record in written.document.records] == [Header, Animations]
    assert [record.name for record in written.document.find(Bare)] == [b"Tail"]


def test_a_new_title_gets_a_header_if_there_is_none() -> None:
    keys = NodeKeys.make([0.0, 1.0], [[0.0, 0, 0], [1, 2, 3]])
    scene = scene_of_records(Animations(children=[Bare(b"Tail", TCB, translation_keys=keys)]))
    scene.title = scene.clips[0].name = "run"
    written = FORMAT.from_scene(scene)
    assert rewrite_reasons(written) == []
    assert [type(record) for record in written.document.records] == [Header, Animations]
    assert [record.name for record in written.document.find(Header)] == [b"run"]


def test_new_keys_that_readers_would_misunderstand_cause_a_new_file(tmp_path: Path) -> None:
    """The file was read with an option for absolute keys; without it the new keys would look like increments."""
    (tmp_path / "clip.nanim").write_bytes(original(Framing())[1])
    scene = keyframer.load(tmp_path / "clip.nanim", rotation_keys="absolute")
    scene.nodes.append(Node("Tail", NodeKind.BONE))
    half = np.array([0.1, -0.1, 0.1, -0.1])  # to and fro about z
    turns = np.column_stack([np.zeros(4), np.zeros(4), np.sin(half), np.cos(half)])
    form = RotationForm.QUATERNION_ABSOLUTE
    track = Track("rotation", np.arange(4) / 4, turns, Interpolation.LINEAR, form=form)
    scene.clips[0].channels.append(Channel(len(scene.nodes) - 1, track))
    report = keyframer.save(scene, tmp_path / "new.nanim")
    (why,) = [loss.detail for loss in report if "a new file was written" in loss.detail]
    assert "(the new rotation keys could be read only with the option rotation_keys)" in why


def test_a_copyright_that_cannot_be_stored_is_dropped() -> None:
    scene = scene_of(keyframer.decode(write(clips()["mixed"], Framing())))
    scene.copyright = "(C) somebody else"
    written = FORMAT.from_scene(scene)
    assert rewrite_reasons(written) == []
    assert keyframer.encode(written.document) == write(clips()["mixed"], Framing())
    assert "/copyright" in [loss.path for loss in written.report.of(Outcome.DROPPED)]
