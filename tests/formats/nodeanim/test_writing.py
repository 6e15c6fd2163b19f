"""Node animations from scenes: in any framing, with units that readers recognise; options and losses."""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import keyframer
from keyframer.curves import Interpolation, RotationForm, Track
from keyframer.formats.document import Document
from keyframer.formats.nodeanim import FORMAT
from keyframer.formats.nodeanim.dialect import DIALECTS, Dialect
from keyframer.formats.nodeanim.records import BEZIER, LINEAR, TCB
from keyframer.formats.nodeanim.records import Node as Record
from keyframer.scene import Channel, Clip, Light, LightType, Node, NodeKind, Scene
from keyframer.scene.loss_report import LossReport, Outcome
from keyframer.scene.losses import TIMES_ROUNDED
from tests.building.editing import write as write_as
from tests.building.random_scenes import keys_of, largest_difference, save_and_load, spinning


def figure(**clip: object) -> Scene:
    keys = Track("position", np.array([0.0, 15.0, 30.0]), np.arange(9.0).reshape(3, 3), Interpolation.TCB)
    keys.bias = np.array([0.0, -0.25, 0.0])
    turns = Track(
        "rotation",
        np.array([0.0, 30.0]),
        np.array([[0.0, 0, 1, 0.5], [0, 1, 0, 2.0]]),
        Interpolation.TCB,
        form=RotationForm.AXIS_ANGLE_RELATIVE,
    )
    straight = Track("scale", np.array([0.0, 10.0, 30.0]), np.array([[1.0, 1, 1], [2, 2, 2], [1, 3, 1]]))
    nodes = [Node("hip", NodeKind.BONE), Node("knee", NodeKind.BONE, parent=0, position=np.array([0.0, 0, 2]))]
    channels = [Channel(0, keys), Channel(0, turns), Channel(1, straight)]
    return Scene(nodes=nodes, title="run", author="somebody", clips=[Clip(channels=channels, end=30.0, **clip)])  # type: ignore[arg-type]


@pytest.mark.parametrize("dialect", DIALECTS[::7], ids=str)
def test_every_framing_can_be_written(dialect: Dialect, tmp_path: Path) -> None:
    path = tmp_path / "made.nanim"
    keyframer.save(figure(), path, dialect=str(dialect))
    scene = keyframer.load(path, format="nodeanim")
    assert scene.origin.document.dialect == dialect
    assert largest_difference(figure(), scene)[0] < 1e-6


def test_the_default_framing() -> None:
    written = FORMAT.from_scene(figure())
    assert written.document.dialect == Dialect()
    assert [record.flags for record in written.document.find(Record)] == [TCB, LINEAR]
    assert (figure().title, figure().author) == ("run", "somebody")


@pytest.mark.parametrize(
    ("rate", "unit", "per_frame"), [(30.0, "frame", 1.0), (4800.0, "tick", 160.0), (1.0, "second", 1 / 30)]
)
def test_times_are_exact_and_recognised(rate: float, unit: str, per_frame: float, tmp_path: Path) -> None:
    scene = figure(rate=rate, unit=unit, units_per_frame=per_frame)
    for channel in scene.clips[0].channels:
        channel.track.times = channel.track.times * rate / 30
    scene.clips[0].end = rate
    loaded = save_and_load(scene, "nodeanim", tmp_path)
    mine, theirs = keys_of(scene), keys_of(loaded)
    for name, track in mine.items():
        assert np.array_equal(track.times / rate, theirs[name].times / loaded.clips[0].rate)


def test_many_turns_are_recognised(tmp_path: Path) -> None:
    """More than four turns in radians look like degrees, so degrees are written."""
    scene = save_and_load(spinning(40.0), "nodeanim", tmp_path)
    assert np.allclose(np.abs(keys_of(scene)["spinner", "rotation"].values[1:, 3]), 40.0)


def test_different_interpolations_of_one_node_become_tcb(tmp_path: Path) -> None:
    scene = figure()
    line = np.array([[0.0, 0, 0], [1, 0, 0], [1, 1, 0]])
    scene.clips[0].channels[0] = Channel(0, Track("position", np.array([0.0, 10, 30]), line, Interpolation.LINEAR))
    loaded = save_and_load(scene, "nodeanim", tmp_path)
    assert largest_difference(scene, loaded, np.linspace(0, 30, 91))[0] < 1e-6


def test_bezier_stays_bezier() -> None:
    scene = figure()
    scene.clips[0].channels = [scene.clips[0].channels[2]]
    scene.clips[0].channels[0].track.interpolation = Interpolation.BEZIER
    assert [record.flags for record in FORMAT.from_scene(scene).document.find(Record)][1] == BEZIER


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
    return [f"{loss.args['name']}={loss.args['value']}" for loss in report if loss.code == "READER_OPTION_NEEDED"]


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
    (loss,) = [loss for loss in report if loss.type is TIMES_ROUNDED["keys"]]
    assert (loss.path, loss.outcome, loss.unit) == ("/nodes/box/position", Outcome.APPROXIMATED, "second")
    assert loss.error == pytest.approx(abs(float(np.float32(1 / 9)) - 1 / 9), rel=1e-6)
    assert largest_difference(scene, loaded, FRAMES)[0] < 1e-5


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


def test_absolute_keys_turn_the_long_way_in_parts() -> None:
    scene = moved(turn(0.0, 4.0, 0.1))
    _, report, loaded = write(scene, rotation_keys="absolute")
    (loss,) = [loss for loss in report if loss.path == "/nodes/box/rotation" and loss.unit == "degree"]
    assert loss.type.key == "KEYS_CONVERTED:half turns"
    assert largest_difference(scene, loaded, FRAMES)[1] < 0.02


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


def test_eased_linear_keys_become_tcb_keys() -> None:
    scene = moved(slide(ease_to=np.array([0.0, 0.5, 0.0])))
    document, _, loaded = write(scene)
    assert record(document).flags == TCB
    assert largest_difference(scene, loaded, FRAMES)[0] < 1e-5
