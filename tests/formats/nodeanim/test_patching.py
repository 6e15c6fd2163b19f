"""Edited node animations: the bytes equal those of an independent writer."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import keyframer
from keyframer.curves import Interpolation, RotationForm, Track, compile_track
from keyframer.editing import change_rate
from keyframer.formats.kit.scene_reading import scene_of
from keyframer.formats.kit.scene_writing import Written
from keyframer.formats.nodeanim import FORMAT
from keyframer.formats.nodeanim.dialect import Dialect
from keyframer.formats.nodeanim.records import Animations, Header, NodeKeys
from keyframer.formats.nodeanim.records import Node as Bare
from keyframer.scene import Channel, Node, NodeKind, Scene
from keyframer.scene.loss_report import Outcome
from keyframer.wire.record import Record
from tests.building import editing
from tests.building.editing import Edit, Merge, merged, rewrite_reasons, save_in_place
from tests.building.nodeanim import BEZIER, LINEAR, TCB, Bone, Clip, Framing, Key, chunk, clips, write

TIMES = (0.0, 0.25, 0.5)


def clip(flags: int = LINEAR) -> Clip:
    """A bone with all three kinds of keys, and one without keys; all numbers are exact in 32 bits."""
    places = tuple(Key(0, time, (time, 2.5, -time)) for time in TIMES)
    turns = tuple(Key(0, time, (0.5 * time, 0.0, 0.0, 1.0)) for time in TIMES)
    sizes = tuple(Key(0, time, (1.0, 1.0 + time, 1.0)) for time in TIMES)
    return Clip((Bone(b"Spine", flags, places, turns, sizes), Bone(b"Tail", LINEAR)), b"walk", b"(C) nobody")


load = partial(editing.load, "nodeanim")


def save_edited(edit: Edit, flags: int = LINEAR, how: Framing | None = None, **reading: object) -> Written:
    return editing.save_edited("nodeanim", write(clip(flags), how or Framing()), edit, **reading)


def track(scene: Scene, kind: str) -> Track:
    return next(channel.track for channel in scene.clips[0].channels if channel.track.kind == kind)


def set_values(kind: str, row: int, numbers: object) -> Callable[[Scene], None]:
    def edit(scene: Scene) -> None:
        values = track(scene, kind).values.copy()
        values[row] = numbers
        track(scene, kind).values = values

    return edit


def replace_spine(**parts: object) -> Callable[[Clip], Clip]:
    return lambda given: replace(given, bones=(replace(given.bones[0], **parts), *given.bones[1:]))  # type: ignore[arg-type]


def replace_keys(kind: str, row: int, value: tuple[float, ...]) -> Callable[[Clip], Clip]:
    def edit(given: Clip) -> Clip:
        rows = list(getattr(given.bones[0], kind))
        rows[row] = replace(rows[row], value=value)
        return replace_spine(**{kind: tuple(rows)})(given)

    return edit


def remove_scales(scene: Scene) -> None:
    scene.clips[0].channels = [channel for channel in scene.clips[0].channels if channel.track.kind != "scale"]


def set_title(scene: Scene) -> None:
    scene.title = scene.clips[0].name = "run"
    scene.author = "me"
    scene.copyright = ""


def add_tail_key(given: Clip) -> Clip:
    """The format has no rest transforms: a key at time 0 replaces them."""
    tail = replace(given.bones[1], translations=(Key(0, 0.0, (1.0, 2.0, 3.0)),))
    return replace(given, bones=(given.bones[0], tail))


EDITS: dict[str, tuple[Edit, Callable[[Clip], Clip]]] = {
    "nothing": (lambda scene: None, lambda given: given),
    "place": (set_values("position", 1, [7.0, 8.0, 9.0]), replace_keys("translations", 1, (7.0, 8.0, 9.0))),
    "size": (set_values("scale", 2, [2.0, 2.0, 2.0]), replace_keys("scales", 2, (2.0, 2.0, 2.0))),
    "turn": (set_values("rotation", 1, [0.0, 0.0, 1.0, 0.1875]), replace_keys("rotations", 1, (0.1875, 0.0, 0.0, 1.0))),
    "no scales": (remove_scales, replace_spine(scales=())),
    "words": (set_title, lambda given: replace(given, name=b"run", author=b"me")),
    "rest position": (lambda scene: setattr(scene.nodes[1], "position", np.array([1.0, 2, 3])), add_tail_key),
    "rest position with keys": (
        lambda scene: setattr(scene.nodes[0], "position", np.array([1.0, 2, 3])),
        lambda given: given,
    ),
    "another rate": (lambda scene: change_rate(scene, 25.0), lambda given: given),
}
HOWS = {
    "default": Framing(),
    "big": Framing(">", "u16", "u32+u32"),
    "tcb by key": Framing(tcb_by_key=True),
}
MERGED = {
    f"{name}, {framing}, {flags}": Merge(write(clip(flags), how), edit, write(clip_edit(clip(flags)), how))
    for framing, how in HOWS.items()
    for flags in (LINEAR, TCB)
    for name, (edit, clip_edit) in EDITS.items()
    # a changed table is rewritten: all keys get tension … easeOut
    if (framing, flags) != ("tcb by key", TCB) or name not in ("place", "size", "turn")
}


def test_angles_in_degrees_stay_in_degrees() -> None:
    data = merged(save_edited(set_values("rotation", 1, [0.0, 0.0, 1.0, math.radians(0.25)]), angle_unit="degrees"))
    assert data == write(replace_keys("rotations", 1, (0.25, 0.0, 0.0, 1.0))(clip()), Framing())


def add_first_track(how: Interpolation = Interpolation.LINEAR, **shape: object) -> Callable[[Scene], None]:
    """Adds the first track of a bone."""

    def edit(scene: Scene) -> None:
        values = np.array([[1.0, 2, 3], [4, 5, 6]])
        scene.clips[0].channels.append(Channel(1, Track("position", np.array([0.0, 0.5]), values, how, **shape)))  # type: ignore[arg-type]

    return edit


@pytest.mark.parametrize(
    ("how", "flags"), [(Interpolation.LINEAR, LINEAR), (Interpolation.TCB, TCB), (Interpolation.BEZIER, BEZIER)]
)
def test_the_first_keys_of_a_bone_determine_its_interpolation(how: Interpolation, flags: int) -> None:
    none = (0.0,) * 5
    rows = (Key(0, 0.0, (1.0, 2.0, 3.0), none), Key(0, 0.5, (4.0, 5.0, 6.0), none))
    written = save_edited(add_first_track(how))
    wanted = clip()
    wanted = replace(wanted, bones=(wanted.bones[0], Bone(b"Tail", flags, rows)))
    assert merged(written) == write(wanted, Framing())


def test_all_keys_of_a_bone_can_become_tcb() -> None:
    def edit(scene: Scene) -> None:
        for channel in scene.clips[0].channels:
            channel.track.interpolation = Interpolation.TCB
            channel.track.tension = np.array([0.5, 0.0, 0.0])

    loaded = load(merged(save_edited(edit)))
    for channel in loaded.clips[0].channels:
        assert channel.track.interpolation is Interpolation.TCB
        assert channel.track.tension.tolist() == [0.5, 0, 0]


def make_scale_tcb(scene: Scene) -> None:
    track(scene, "scale").interpolation = Interpolation.TCB


def test_different_interpolations_of_a_node_become_one() -> None:
    """The scale keys become TCB, so all keys of the node do; those of linear tracks keep their corners.
    The tail is unchanged.
    """
    data = merged(save_edited(make_scale_tcb))
    assert data.endswith(write(clip(), Framing())[-20:])
    loaded = load(data)
    assert {channel.track.interpolation for channel in loaded.clips[0].channels} == {Interpolation.TCB}
    for kind in ("position", "rotation"):
        one, other = (
            compile_track(track(scene, kind))(np.linspace(0, 0.5, 21))
            for scene in (load(write(clip(), Framing())), loaded)
        )
        assert np.allclose(one, other, atol=1e-6)


def test_ease_added_to_keys_without_ease() -> None:
    scene = load(merged(save_edited(add_first_track(ease_to=np.array([0.5, 0.5])))))
    assert Interpolation.TCB in {channel.track.interpolation for channel in scene.clips[0].channels}


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
    dropped = [(loss.path, loss.type.key) for loss in report.of(Outcome.DROPPED)]
    assert dropped == [("/clips/0/end", "EDIT_NOT_STORED:unsupported")]


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
    (why,) = [loss.args["reason"] for loss in report if loss.code == "ORIGINAL_REWRITTEN"]
    assert why == "the new rotation keys could be read only with the option rotation_keys"


def test_a_copyright_that_cannot_be_stored_is_dropped() -> None:
    scene = scene_of(keyframer.decode(write(clips()["mixed"], Framing())))
    scene.copyright = "(C) somebody else"
    written = FORMAT.from_scene(scene)
    assert merged(written) == write(clips()["mixed"], Framing())
    assert "/copyright" in [loss.path for loss in written.report.of(Outcome.DROPPED)]
