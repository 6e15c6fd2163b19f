"""Node animations in which one thing is edited: the bytes are those that a writer of our own makes of the edit."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

import keyframer
from keyframer.curves import Interpolation, Track, compile_track
from keyframer.formats.kit.scene_reading import scene_of
from keyframer.formats.kit.scene_writing import Written
from keyframer.formats.nodeanim import FORMAT
from keyframer.operating import change_rate
from keyframer.scene import Channel, Scene
from keyframer.scene.loss_report import Outcome
from tests.formats.editing import why_anew
from tests.formats.nodeanim.writer import BEZIER, LINEAR, TCB, Bone, Clip, How, Key, write

TIMES = (0.0, 0.25, 0.5)


def clip(flags: int = LINEAR) -> Clip:
    """A bone with all three kinds of keys, and one without any; all numbers are exact in 32 bits."""
    places = tuple(Key(0, time, (time, 2.5, -time)) for time in TIMES)
    turns = tuple(Key(0, time, (0.5 * time, 0.0, 0.0, 1.0)) for time in TIMES)
    sizes = tuple(Key(0, time, (1.0, 1.0 + time, 1.0)) for time in TIMES)
    return Clip((Bone(b"Spine", flags, places, turns, sizes), Bone(b"Tail", LINEAR)), b"walk", b"(C) nobody")


def loaded(data: bytes, **options: object) -> Scene:
    return scene_of(keyframer.decode(data, format="nodeanim"), options)


def edited(edit: Callable[[Scene], object], flags: int = LINEAR, how: How | None = None, **reading: object) -> Written:
    scene = loaded(write(clip(flags), how or How()), **reading)
    made = edit(scene)
    return FORMAT.from_scene(made if isinstance(made, Scene) else scene)


def track(scene: Scene, kind: str) -> Track:
    return next(channel.track for channel in scene.clips[0].channels if channel.track.kind == kind)


def put(kind: str, row: int, numbers: object) -> Callable[[Scene], None]:
    def edit(scene: Scene) -> None:
        values = track(scene, kind).values.copy()
        values[row] = numbers
        track(scene, kind).values = values

    return edit


def spine(**parts: object) -> Callable[[Clip], Clip]:
    return lambda given: replace(given, bones=(replace(given.bones[0], **parts), *given.bones[1:]))  # type: ignore[arg-type]


def keys(kind: str, row: int, value: tuple[float, ...]) -> Callable[[Clip], Clip]:
    def edit(given: Clip) -> Clip:
        rows = list(getattr(given.bones[0], kind))
        rows[row] = replace(rows[row], value=value)
        return spine(**{kind: tuple(rows)})(given)

    return edit


def rename(scene: Scene) -> None:
    scene.nodes[1].name = "Schw\u00e4nzchen"


def no_scales(scene: Scene) -> None:
    scene.clips[0].channels = [channel for channel in scene.clips[0].channels if channel.track.kind != "scale"]


def titled(scene: Scene) -> None:
    scene.title = scene.clips[0].name = "run"
    scene.author = "me"
    scene.copyright = ""


def tailed(given: Clip) -> Clip:
    """The format has no rest: a key at the beginning says it."""
    tail = replace(given.bones[1], translations=(Key(0, 0.0, (1.0, 2.0, 3.0)),))
    return replace(given, bones=(given.bones[0], tail))


MERGED: dict[str, tuple[Callable[[Scene], object], Callable[[Clip], Clip]]] = {
    "nothing": (lambda scene: None, lambda given: given),
    "place": (put("position", 1, [7.0, 8.0, 9.0]), keys("translations", 1, (7.0, 8.0, 9.0))),
    "size": (put("scale", 2, [2.0, 2.0, 2.0]), keys("scales", 2, (2.0, 2.0, 2.0))),
    "turn": (put("rotation", 1, [0.0, 0.0, 1.0, 0.1875]), keys("rotations", 1, (0.1875, 0.0, 0.0, 1.0))),
    "name": (
        rename,
        lambda given: replace(given, bones=(given.bones[0], replace(given.bones[1], name=b"Schw\xe4nzchen"))),
    ),
    "no scales": (no_scales, spine(scales=())),
    "words": (titled, lambda given: replace(given, name=b"run", author=b"me")),
    "title": (lambda scene: setattr(scene, "title", "run"), lambda given: replace(given, name=b"run")),
    "clip's name": (lambda scene: setattr(scene.clips[0], "name", "run"), lambda given: replace(given, name=b"run")),
    "end": (lambda scene: setattr(scene.clips[0], "end", 99.0), lambda given: given),
    "frames": (lambda scene: setattr(scene.clips[0], "units_per_frame", 2.0), lambda given: given),
    "place at rest": (lambda scene: setattr(scene.nodes[1], "position", np.array([1.0, 2, 3])), tailed),
    "place with keys": (lambda scene: setattr(scene.nodes[0], "position", np.array([1.0, 2, 3])), lambda given: given),
    "hidden": (lambda scene: setattr(scene.nodes[0], "hidden", True), lambda given: given),
    "another rate": (lambda scene: change_rate(scene, 25.0), lambda given: given),
}
HOWS = {
    "default": How(),
    "big": How(">", "u16", "u32+u32"),
    "axis": How(axis=True),
    "tcb by key": How(tcb_by_key=True),
}
CASES = [(how, flags, name) for how in HOWS for flags in (LINEAR, TCB) for name in MERGED]
# Without scale keys nothing in a file tells that they would have an axis.
CASES = [case for case in CASES if case[::2] != ("axis", "no scales")]


@pytest.mark.parametrize(("how", "flags", "name"), CASES)
def test_one_edit_is_one_change_of_the_bytes(how: str, flags: int, name: str) -> None:
    edit, same = MERGED[name]
    written = edited(edit, flags, HOWS[how])
    assert why_anew(written) == []
    assert keyframer.encode(written.document) == write(same(clip(flags)), HOWS[how])


def test_tangents_stay_with_their_keys() -> None:
    how = How(tangents=True)
    written = edited(put("position", 1, [7.0, 8.0, 9.0]), BEZIER, how)
    assert why_anew(written) == []
    assert keyframer.encode(written.document) == write(keys("translations", 1, (7.0, 8.0, 9.0))(clip(BEZIER)), how)


def test_angles_in_degrees_stay_degrees() -> None:
    written = edited(put("rotation", 1, [0.0, 0.0, 1.0, math.radians(0.25)]), angle_unit="degrees")
    assert why_anew(written) == []
    data = keyframer.encode(written.document)
    assert data == write(keys("rotations", 1, (0.25, 0.0, 0.0, 1.0))(clip()), How())


def more(how: Interpolation = Interpolation.LINEAR, **shape: object) -> Callable[[Scene], None]:
    """The first track of a bone that had none."""

    def edit(scene: Scene) -> None:
        values = np.array([[1.0, 2, 3], [4, 5, 6]])
        scene.clips[0].channels.append(Channel(1, Track("position", np.array([0.0, 0.5]), values, how, **shape)))  # type: ignore[arg-type]

    return edit


@pytest.mark.parametrize(
    ("how", "flags"), [(Interpolation.LINEAR, LINEAR), (Interpolation.TCB, TCB), (Interpolation.BEZIER, BEZIER)]
)
def test_the_first_keys_of_a_bone_decide_how_it_moves(how: Interpolation, flags: int) -> None:
    none = (0.0,) * 5
    rows = (Key(0, 0.0, (1.0, 2.0, 3.0), none), Key(0, 0.5, (4.0, 5.0, 6.0), none))
    written = edited(more(how))
    assert why_anew(written) == []
    wanted = clip()
    wanted = replace(wanted, bones=(wanted.bones[0], Bone(b"Tail", flags, rows)))
    assert keyframer.encode(written.document) == write(wanted, How())


def test_all_keys_of_a_bone_can_become_tcb() -> None:
    def edit(scene: Scene) -> None:
        for channel in scene.clips[0].channels:
            channel.track.interpolation = Interpolation.TCB
            channel.track.tension = np.array([0.5, 0.0, 0.0])

    written = edited(edit)
    assert why_anew(written) == []
    found = loaded(keyframer.encode(written.document))
    for channel in found.clips[0].channels:
        assert channel.track.interpolation is Interpolation.TCB
        assert channel.track.tension is not None
        assert channel.track.tension.tolist() == [0.5, 0, 0]


def one_curve_of_another_kind(scene: Scene) -> None:
    track(scene, "scale").interpolation = Interpolation.TCB


def fewer(scene: Scene) -> None:
    found = track(scene, "position")
    found.times, found.values, found.flags = found.times[:2], found.values[:2], None


def test_keys_that_stay_keep_their_tangents() -> None:
    written = edited(fewer, BEZIER, How(tangents=True))
    assert why_anew(written) == []
    given = clip(BEZIER)
    wanted = spine(translations=given.bones[0].translations[:2])(given)
    assert keyframer.encode(written.document) == write(wanted, How(tangents=True))


def test_new_keys_where_keys_have_tangents_are_said_and_all_written_anew() -> None:
    def more_keys(scene: Scene) -> None:
        found = track(scene, "position")
        found.times = np.append(found.times, 1.0)
        found.values, found.flags = np.vstack([found.values, [[1.0, 2, 3]]]), None

    written = edited(more_keys, BEZIER, How(tangents=True))
    (why,) = why_anew(written)
    assert "(new keys without tangents)" in why
    assert len(loaded(keyframer.encode(written.document), **written.reading).nodes) == 2


def test_axes_of_scales_without_scales_keep_a_key_and_are_told() -> None:
    """Without scale keys readers would see another layout."""
    written = edited(no_scales, LINEAR, How(axis=True))
    assert why_anew(written) == []
    assert "/nodes/Spine/scale_axes" in [loss.path for loss in written.report.of(Outcome.DROPPED)]
    found = loaded(keyframer.encode(written.document))
    assert track(found, "scale").values.tolist() == [[1.0, 1.0, 1.0]]


def test_curves_of_different_kinds_become_one_and_other_nodes_stay() -> None:
    """Scales are smooth now: all keys of the node are, those of straight tracks with corners; the tail is as it was."""
    written = edited(one_curve_of_another_kind)
    assert why_anew(written) == []
    data = keyframer.encode(written.document)
    assert data.endswith(write(clip(), How())[-20:])
    found = loaded(data)
    assert {channel.track.interpolation for channel in found.clips[0].channels} == {Interpolation.TCB}
    for kind in ("position", "rotation"):
        one, other = (
            compile_track(track(scene, kind))(np.linspace(0, 0.5, 21))
            for scene in (loaded(write(clip(), How())), found)
        )
        assert np.allclose(one, other, atol=1e-6)


def test_eased_keys_where_none_were() -> None:
    written = edited(more(ease_to=np.array([0.5, 0.5])))
    assert why_anew(written) == []
    found = loaded(keyframer.encode(written.document))
    assert Interpolation.TCB in {channel.track.interpolation for channel in found.clips[0].channels}
