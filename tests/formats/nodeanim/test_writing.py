"""Node animations from scenes: in any framing, with units that readers recognise; edited originals."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import keyframer
from keyframer.curves import Interpolation, RotationForm, Track
from keyframer.formats._scene_differences import Comparison
from keyframer.formats.nodeanim import FORMAT
from keyframer.formats.nodeanim.dialect import DIALECTS, Dialect
from keyframer.formats.nodeanim.records import BEZIER, LINEAR, TCB
from keyframer.formats.nodeanim.records import Node as Record
from keyframer.scene import Channel, Clip, Node, NodeKind, Scene
from tests.building.random_scenes import keys_of, largest_difference, save_and_load, spinning

SAMPLES = Path(__file__).parents[2] / "samples/nodeanim"
STILL = {"default_empty_clip", "other_chunks"}
MOVED = sorted(path for path in SAMPLES.glob("*.nanim") if path.stem not in STILL)


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
    assert scene.origin is not None
    assert scene.origin.document.dialect == dialect
    assert largest_difference(figure(), scene)[0] < 1e-6


def test_the_default_framing() -> None:
    written = FORMAT.from_scene(figure())
    assert written.document.dialect == Dialect()
    assert [record.flags for record in written.document.find(Record)] == [TCB, LINEAR]
    assert (figure().title, figure().author) == ("run", "somebody")


def test_an_invalid_dialect_is_refused() -> None:
    with pytest.raises(ValueError, match="is not a dialect"):
        FORMAT.from_scene(figure(), {"dialect": "middle endian"})


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


@pytest.mark.parametrize("path", MOVED, ids=lambda path: path.stem)
def test_edits_are_merged(path: Path, tmp_path: Path) -> None:
    scene = keyframer.load(path)
    positions = [channel for channel in scene.clips[0].channels if channel.track.kind == "position"]
    values = positions[0].track.values.copy()
    values[0] += 0.5
    positions[0].track.values = values
    written = FORMAT.from_scene(scene)
    assert not [loss for loss in written.report if "a new file was written" in loss.detail], list(written.report)
    encoded = keyframer.encode(written.document)
    data = path.read_bytes()
    target = tmp_path / path.name
    target.write_bytes(encoded)
    loaded = keyframer.load(target)
    if "tcb_by_key" in path.stem:  # the new table stores tension … easeOut of all keys, also of linear ones
        track = next(iter(loaded.channels_of(positions[0].node))).track
        assert np.allclose(track.values, values, atol=1e-6)
        return
    assert len(encoded) == len(data)
    assert sum(a != b for a, b in zip(encoded, data, strict=True)) <= 12
    assert Comparison(1e-6).scenes(scene, loaded) == []
