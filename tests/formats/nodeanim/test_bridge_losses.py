"""Writing scenes as node animations: units, rotation forms and framings on request, and the loss report."""

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
from tests.building.editing import write as write_as
from tests.building.random_scenes import largest_difference

PLAIN = "little text:nul chunk:u16+u32 size:all"
FRAMES = np.linspace(0.0, 30.0, 31)

write = partial(write_as, "nodeanim")


def slide(
    node: int = 0, times: tuple[float, ...] = (0.0, 10.0, 30.0), kind: str = "position", **fields: Any
) -> Channel:
    values = np.array([[1.0 + index, 2.0, 3.0 - index] for index in range(len(times))])
    return Channel(node, Track(kind, np.array(times), values, **fields))


def turn(*angles: float, how: Interpolation = Interpolation.TCB, node: int = 0) -> Channel:
    values = np.array([[0.0, 0.6, 0.8, angle] for angle in angles])
    form = RotationForm.AXIS_ANGLE_RELATIVE
    return Channel(node, Track("rotation", 10.0 * np.arange(len(angles)), values, how, form=form))


def moved(*channels: Channel, **clip: Any) -> Scene:
    return Scene([Node("box", NodeKind.BONE)], clips=[Clip(channels=list(channels), end=30.0, **clip)])


def reading_options(report: LossReport) -> list[str]:
    """Options that readers need, as name=value."""
    return [loss.detail.split()[4].rstrip(",") for loss in report if loss.path == "/reading"]


def record(document: Document) -> Record:
    first_record = document.first(Record)
    assert first_record is not None
    return first_record


# --- time ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("unit", "times", "words"),
    [
        ("seconds", [0.0, 0.5, 1.0], []),
        ("ticks", [0.0, 2400.0, 4800.0], []),
        ("frames", [0.0, 15.0, 30.0], ["time_unit=frames", "fps=30.0"]),
    ],
)
def test_the_time_unit_is_an_option(unit: str, times: list[float], words: list[str]) -> None:
    """Thirty frames look like seconds: readers need an option."""
    scene = moved(slide(times=(0.0, 15.0, 30.0)))
    document, report, loaded = write(scene, time_unit=unit)
    assert record(document).translation_keys.time.tolist() == times
    assert reading_options(report) == words
    assert largest_difference(scene, loaded, FRAMES)[0] < 1e-6


def test_times_that_no_unit_stores_exactly_are_written_in_seconds_and_reported() -> None:
    scene = moved(slide(times=(0.0, 10 / 3, 30.0)))
    document, report, loaded = write(scene)
    stored = record(document).translation_keys.time
    assert stored.tolist() == pytest.approx([0, 1 / 9, 1], abs=1e-7)
    (loss,) = [loss for loss in report if "32-bit" in loss.detail]
    assert (loss.path, loss.outcome, loss.unit) == ("/nodes/box/position", Outcome.APPROXIMATED, "second")
    assert loss.error == pytest.approx(abs(float(np.float32(1 / 9)) - 1 / 9), rel=1e-6)
    assert largest_difference(scene, loaded, FRAMES)[0] < 1e-5


@pytest.mark.parametrize("wrong", [{"time_unit": "years"}, {"rotation_keys": "both"}, {"up": "w"}, {"handedness": "?"}])
def test_unknown_options_are_refused(wrong: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        FORMAT.from_scene(moved(slide()), wrong)


# --- rest places -----------------------------------------------------------------------------------------------------


def test_rest_transforms_become_single_keys() -> None:
    scene = moved(slide())
    other = Node("lid", NodeKind.BONE, position=np.array([1.0, 2, 3]), rotation_xyzw=np.array([0.0, 0, 0.6, 0.8]))
    other.scale = np.array([1.0, 2.0, 1.0])
    scene.nodes.append(other)
    document, _, loaded = write(scene)
    _, lid = document.find(Record)
    assert (lid.flags, lid.translation_key_count, lid.rotation_key_count, lid.scale_key_count) == (LINEAR, 1, 1, 1)
    assert lid.scale_keys.value.tolist() == [[1, 2, 1]]
    assert max(largest_difference(scene, loaded, FRAMES)) < 1e-5


def test_ambient_light_is_not_written_as_a_node() -> None:
    scene = moved(slide())
    scene.nodes.append(Node("all", NodeKind.AMBIENT, light=0))
    scene.lights = [Light("all", LightType.AMBIENT)]
    document, report, _ = write(scene)
    assert [record.name for record in document.find(Record)] == [b"box"]
    assert "/lights" in [loss.path for loss in report.of(Outcome.DROPPED)]


def test_only_the_first_track_of_a_kind_is_written() -> None:
    scene = moved(slide(), slide(times=(0.0, 5.0)))
    document, _, _ = write(scene)
    assert record(document).translation_key_count == 3


# --- rotations -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["relative", "absolute"])
def test_the_rotation_form_is_an_option(form: str) -> None:
    scene = moved(turn(0.3, 0.5, 0.7, -0.2))
    document, _, loaded = write(scene, rotation_keys=form)
    angles = record(document).rotation_keys.value[:, 0]
    # increments that could be taken for absolute keys begin with a full turn
    wanted = [0.3 + math.tau, 0.5, 0.7, -0.2] if form == "relative" else [0.3, 0.8, 1.5, 1.3]
    assert np.abs(angles).tolist() == pytest.approx(np.abs(wanted), abs=1e-6)
    assert largest_difference(scene, loaded, np.array([0.0, 10.0, 20.0, 30.0]))[1] < 1e-3


def test_absolute_keys_that_take_the_shorter_way_are_reported() -> None:
    _, report, _ = write(moved(turn(0.0, 4.0, 0.1)), rotation_keys="absolute")
    (loss,) = [loss for loss in report if "shortest" in loss.detail]
    assert (loss.path, loss.outcome) == ("/nodes/box/rotation", Outcome.APPROXIMATED)


def test_long_rotations_are_written_as_increments() -> None:
    scene = moved(turn(0.0, 4.0, 0.1, how=Interpolation.LINEAR))
    document, report, loaded = write(scene)
    angles = np.abs(record(document).rotation_keys.value[:, 0])
    assert angles.tolist() == pytest.approx([math.tau, 4, 0.1], abs=1e-6)
    assert reading_options(report) == []
    assert largest_difference(scene, loaded, FRAMES)[1] < 1e-3


# --- framings, axes, flags -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("how", "flag"), [(Interpolation.TCB, TCB), (Interpolation.LINEAR, 0)])
def test_key_flags_for_tcb_values(how: Interpolation, flag: int) -> None:
    scene = moved(slide(interpolation=how))
    document, _, loaded = write(scene, dialect=f"{PLAIN} tcb:key")
    assert record(document).translation_keys.flags.tolist() == [flag] * 3
    assert largest_difference(scene, loaded, FRAMES)[0] < 1e-6


def test_key_flags_of_such_a_file_are_kept() -> None:
    scene = moved(slide(flags=np.array([0x100, 0, 0x300])))
    scene.source_format = "nodeanim"
    assert record(write(scene)[0]).translation_keys.flags.tolist() == [0x100, 0, 0x300]
    scene.source_format = "3ds"  # the same number means something else there
    assert record(write(scene)[0]).translation_keys.flags.tolist() == [0, 0, 0]


@pytest.mark.parametrize(("up", "hand"), [("y", "right"), ("z", "left"), ("y", "left")])
def test_other_axes_need_a_reading_option(up: str, hand: str) -> None:
    scene = moved(slide(), turn(0.0, 0.5, 0.8))
    _, report, loaded = write(scene, up=up, handedness=hand)
    assert reading_options(report)[-2:] == [f"up={up}", f"handedness={hand}"]
    assert (loaded.space.up, loaded.space.handedness.value) == (up, hand)
    assert max(largest_difference(scene, loaded, FRAMES)) < 1e-3


def test_repeat_tracks_are_unrolled() -> None:
    scene = moved(slide(times=(0.0, 10.0), wrap=Wrap.REPEAT))
    _, report, loaded = write(scene)
    assert any(
        loss.detail.startswith("tracks with the wrap 'repeat' cannot be stored in this format")
        for loss in report.of(Outcome.APPROXIMATED)
    )
    assert largest_difference(scene, loaded, np.array([0.0, 3.0, 9.0, 14.0, 26.0]))[0] < 1e-3


def test_eased_linear_keys_become_tcb_keys() -> None:
    scene = moved(slide(ease_to=np.array([0.0, 0.5, 0.0])))
    document, _, loaded = write(scene)
    assert record(document).flags == TCB
    assert largest_difference(scene, loaded, FRAMES)[0] < 1e-5


def test_non_finite_keys_are_left_out() -> None:
    channel = slide()
    channel.track.times = np.array([0.0, math.nan, 30.0])
    document, report, _ = write(moved(channel))
    assert record(document).translation_key_count == 2
    assert [loss.detail for loss in report.of(Outcome.DROPPED)] == ["non-finite numbers in 1 of 3 keys"]


def test_scale_axes_are_reported() -> None:
    axes = Track("scale_axes", np.zeros(1), np.array([[0.6, 0.0, 0.0, 0.8]]), form=RotationForm.QUATERNION_ABSOLUTE)
    scene = moved(slide(kind="scale", times=(0.0, 30.0)), Channel(0, axes))
    assert [loss.path for loss in write(scene)[1].of(Outcome.DROPPED)] == ["/channels/scale_axes"]
    scene = moved(slide(kind="scale", times=(0.0, 30.0)))
    scene.nodes[0].scale_axes_xyzw = np.array([0.6, 0.0, 0.0, 0.8])
    assert [loss.detail for loss in write(scene)[1] if loss.path == "/scale_axes"] == [
        "this format cannot store scale axes (1 node)"
    ]
