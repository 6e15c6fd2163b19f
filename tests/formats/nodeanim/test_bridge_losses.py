"""Scenes as node animations: units, forms and framings on request, and what the report says of the rest."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
import pytest

from keyframer.curves import Interpolation, RotationForm, Track, Wrap
from keyframer.formats.document import Document
from keyframer.formats.nodeanim import FORMAT
from keyframer.formats.nodeanim.records import LINEAR, TCB
from keyframer.formats.nodeanim.records import Node as Record
from keyframer.scene import Channel, Clip, Light, LightType, Node, NodeKind, Scene
from keyframer.scene.loss_report import LossReport, Outcome
from tests.formats.made_scenes import apart
from tests.formats.telling import write as write_as

PLAIN = "little text:nul chunk:u16+u32 size:all"
FRAMES = np.linspace(0.0, 30.0, 31)

write = partial(write_as, "nodeanim")


def slide(node: int = 0, times: tuple[float, ...] = (0.0, 10.0, 30.0), kind: str = "position", **more: Any) -> Channel:
    values = np.array([[1.0 + index, 2.0, 3.0 - index] for index in range(len(times))])
    return Channel(node, Track(kind, np.array(times), values, **more))


def turn(*angles: float, how: Interpolation = Interpolation.TCB, node: int = 0) -> Channel:
    values = np.array([[0.0, 0.6, 0.8, angle] for angle in angles])
    form = RotationForm.AXIS_ANGLE_RELATIVE
    return Channel(node, Track("rotation", 10.0 * np.arange(len(angles)), values, how, form=form))


def axes(*times: float) -> Channel:
    values = np.array([[0.6, 0.0, 0.0, 0.8]] * len(times))
    return Channel(0, Track("scale_axes", np.array(times), values, form=RotationForm.QUATERNION_ABSOLUTE))


def moved(*channels: Channel, **clip: Any) -> Scene:
    return Scene([Node("box", NodeKind.BONE)], clips=[Clip(channels=list(channels), end=30.0, **clip)])


def told(report: LossReport) -> list[str]:
    """Options that readers need, as name=value."""
    return [loss.detail.split()[4].rstrip(",") for loss in report if loss.path == "/reading"]


def record(document: Document) -> Record:
    found = document.first(Record)
    assert found is not None
    return found


# --- time ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("unit", "times", "words"),
    [
        ("seconds", [0.0, 0.5, 1.0], []),
        ("ticks", [0.0, 2400.0, 4800.0], []),
        ("frames", [0.0, 15.0, 30.0], ["time_unit=frames", "fps=30.0"]),
    ],
)
def test_times_in_the_unit_that_is_asked_for(unit: str, times: list[float], words: list[str]) -> None:
    """Thirty frames are too few to be told from seconds: a reader has to be told."""
    scene = moved(slide(times=(0.0, 15.0, 30.0)))
    document, report, found = write(scene, time_unit=unit)
    assert record(document).translation_keys.time.tolist() == times
    assert told(report) == words
    assert apart(scene, found, FRAMES)[0] < 1e-6


def test_times_that_no_unit_holds_exactly_are_seconds_with_a_word_about_it() -> None:
    scene = moved(slide(times=(0.0, 10 / 3, 30.0)))
    document, report, found = write(scene)
    stored = record(document).translation_keys.time
    assert stored.tolist() == pytest.approx([0, 1 / 9, 1], abs=1e-7)
    (loss,) = [loss for loss in report if "32-bit" in loss.detail]
    assert (loss.path, loss.outcome, loss.unit) == ("/nodes/box/position", Outcome.APPROXIMATED, "second")
    assert loss.error == pytest.approx(abs(float(np.float32(1 / 9)) - 1 / 9), rel=1e-6)
    assert apart(scene, found, FRAMES)[0] < 1e-5


@pytest.mark.parametrize("wrong", [{"time_unit": "years"}, {"rotation_keys": "both"}, {"up": "w"}, {"handedness": "?"}])
def test_options_that_do_not_exist_are_refused(wrong: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        FORMAT.from_scene(moved(slide()), wrong)


# --- rest places -----------------------------------------------------------------------------------------------------


def test_rest_places_become_single_keys() -> None:
    scene = moved(slide())
    other = Node("lid", NodeKind.BONE, position=np.array([1.0, 2, 3]), rotation_xyzw=np.array([0.0, 0, 0.6, 0.8]))
    other.scale = np.array([1.0, 2.0, 1.0])
    scene.nodes.append(other)
    document, _, found = write(scene)
    _, lid = document.find(Record)
    assert (lid.flags, lid.translation_key_count, lid.rotation_key_count, lid.scale_key_count) == (LINEAR, 1, 1, 1)
    assert lid.scale_keys.value.tolist() == [[1, 2, 1]]
    assert max(apart(scene, found, FRAMES)) < 1e-5


def test_ambient_light_is_no_node() -> None:
    scene = moved(slide())
    scene.nodes.append(Node("all", NodeKind.AMBIENT, light=0))
    scene.lights = [Light("all", LightType.AMBIENT)]
    document, report, _ = write(scene)
    assert [record.name for record in document.find(Record)] == [b"box"]
    assert "/lights" in [loss.path for loss in report.of(Outcome.DROPPED)]


def test_the_second_track_of_a_kind_is_not_written() -> None:
    scene = moved(slide(), slide(times=(0.0, 5.0)))
    document, _, _ = write(scene)
    assert record(document).translation_key_count == 3


# --- rotations -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["relative", "absolute"])
def test_rotations_in_the_form_that_is_asked_for(form: str) -> None:
    scene = moved(turn(0.3, 0.5, 0.7, -0.2))
    document, _, found = write(scene, rotation_keys=form)
    angles = record(document).rotation_keys.value[:, 0]
    # increments that could be taken for absolute keys begin with a full turn
    wanted = [0.3 + math.tau, 0.5, 0.7, -0.2] if form == "relative" else [0.3, 0.8, 1.5, 1.3]
    assert np.abs(angles).tolist() == pytest.approx(np.abs(wanted), abs=1e-6)
    assert apart(scene, found, np.array([0.0, 10.0, 20.0, 30.0]))[1] < 1e-3


def test_absolute_keys_that_lose_the_long_way_say_so() -> None:
    _, report, _ = write(moved(turn(0.0, 4.0, 0.1)), rotation_keys="absolute")
    (loss,) = [loss for loss in report if "shortest" in loss.detail]
    assert (loss.path, loss.outcome) == ("/nodes/box/rotation", Outcome.APPROXIMATED)


def test_long_turns_are_increments() -> None:
    scene = moved(turn(0.0, 4.0, 0.1, how=Interpolation.LINEAR))
    document, report, found = write(scene)
    angles = np.abs(record(document).rotation_keys.value[:, 0])
    assert angles.tolist() == pytest.approx([math.tau, 4, 0.1], abs=1e-6)
    assert told(report) == []
    assert apart(scene, found, FRAMES)[1] < 1e-3


# --- scale axes ------------------------------------------------------------------------------------------------------


def test_scale_axes_where_the_framing_has_them() -> None:
    scene = moved(slide(kind="scale", times=(0.0, 30.0)), axes(0.0, 30.0))
    document, report, _ = write(scene, dialect=f"{PLAIN} scale:axis")
    keys = record(document).scale_keys
    assert keys.column("axis").tolist() == [pytest.approx([0.6, 0, 0, 0.8])] * 2
    assert report.of(Outcome.DROPPED) == []


def test_scale_axes_where_it_has_none() -> None:
    scene = moved(slide(kind="scale", times=(0.0, 30.0)), axes(0.0, 30.0))
    document, report, _ = write(scene)
    assert not record(document).scale_keys.has("axis")
    assert [loss.path for loss in report.of(Outcome.DROPPED)] == ["/channels/scale_axes"]


def test_scales_without_axes_have_straight_ones() -> None:
    scene = moved(slide(kind="scale", times=(0.0, 30.0)))
    document, _, _ = write(scene, dialect=f"{PLAIN} scale:axis")
    assert record(document).scale_keys.column("axis").tolist() == [[0, 0, 0, 1]] * 2


# --- framings, axes, flags -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("how", "flag"), [(Interpolation.TCB, TCB), (Interpolation.LINEAR, 0)])
def test_keys_that_announce_their_own_tcb(how: Interpolation, flag: int) -> None:
    scene = moved(slide(interpolation=how))
    document, _, found = write(scene, dialect=f"{PLAIN} tcb:key")
    assert record(document).translation_keys.flags.tolist() == [flag] * 3
    assert apart(scene, found, FRAMES)[0] < 1e-6


def test_flags_of_keys_from_such_a_file_are_kept() -> None:
    scene = moved(slide(flags=np.array([0x100, 0, 0x300])))
    scene.source_format = "nodeanim"
    assert record(write(scene)[0]).translation_keys.flags.tolist() == [0x100, 0, 0x300]
    scene.source_format = "3ds"  # the same number means something else there
    assert record(write(scene)[0]).translation_keys.flags.tolist() == [0, 0, 0]


@pytest.mark.parametrize(("up", "hand"), [("y", "right"), ("z", "left"), ("y", "left")])
def test_other_axes_must_be_told(up: str, hand: str) -> None:
    scene = moved(slide(), turn(0.0, 0.5, 0.8))
    _, report, found = write(scene, up=up, handedness=hand)
    assert told(report)[-2:] == [f"up={up}", f"handedness={hand}"]
    assert (found.space.up, found.space.handedness.value) == (up, hand)
    assert max(apart(scene, found, FRAMES)) < 1e-3


def test_rounds_are_played_out() -> None:
    scene = moved(slide(times=(0.0, 10.0), wrap=Wrap.REPEAT))
    _, report, found = write(scene)
    assert any(
        loss.detail.startswith("the format cannot store repeat tracks") for loss in report.of(Outcome.APPROXIMATED)
    )
    assert apart(scene, found, np.array([0.0, 3.0, 9.0, 14.0, 26.0]))[0] < 1e-3


def test_eased_lines_are_tcb() -> None:
    scene = moved(slide(ease_to=np.array([0.0, 0.5, 0.0])))
    document, _, found = write(scene)
    assert record(document).flags == TCB
    assert apart(scene, found, FRAMES)[0] < 1e-5


def test_keys_that_are_no_numbers_are_left_out() -> None:
    channel = slide()
    channel.track.times = np.array([0.0, math.nan, 30.0])
    document, report, _ = write(moved(channel))
    assert record(document).translation_key_count == 2
    assert [loss.detail for loss in report.of(Outcome.DROPPED)] == ["1 of 3 keys with non-finite numbers"]


def test_scale_axes_at_other_times_are_reported() -> None:
    scene = moved(slide(kind="scale", times=(0.0, 30.0)), axes(0.0, 10.0))
    document, report, _ = write(scene, dialect=f"{PLAIN} scale:axis")
    assert np.array_equal(record(document).scale_keys.column("axis"), [[0, 0, 0, 1]] * 2)
    assert [(loss.outcome, loss.path) for loss in report if "scale_axes" in loss.path] == [
        (Outcome.DROPPED, "/nodes/box/scale_axes")
    ]


def test_scale_axes_at_rest_go_to_every_key_or_are_reported() -> None:
    scene = moved(slide(kind="scale", times=(0.0, 30.0)))
    scene.nodes[0].scale_axes_xyzw = np.array([0.6, 0.0, 0.0, 0.8])
    document, report, _ = write(scene, dialect=f"{PLAIN} scale:axis")
    assert np.allclose(record(document).scale_keys.column("axis"), [[0.6, 0, 0, 0.8]] * 2)
    assert not [loss for loss in report if "scale" in loss.path and loss.outcome is Outcome.DROPPED]
    _, report, _ = write(scene, dialect=PLAIN)
    assert [loss.detail for loss in report if loss.path == "/scale_axes"] == [
        "this format cannot store 1 node with scale axes"
    ]
