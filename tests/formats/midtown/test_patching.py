"""Midtown clips with one edit: the bytes equal those of an independent writer."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

import keyframer
from keyframer.editing import change_rate, cut, reverse
from keyframer.formats.kit.scene_writing import Written
from keyframer.formats.midtown import FORMAT
from keyframer.scene import Scene
from tests.building import editing
from tests.building import midtown as w
from tests.building.editing import Edit, NewFile, merged, set_fields

LAYOUTS: dict[str, Callable[[w.Rows], bytes]] = {
    "retail": w.retail,
    "old": w.old,
    "beta": lambda rows: w.beta(len(rows), w.channel(rows), w.channel([[1.0, 2.0]] * len(rows), type=7)),
}


def rows() -> list[list[float]]:
    return [[float(np.float32(number)) for number in row] for row in w.walk(frames=5, bones=2)]


load = partial(editing.load, "midtown")


def save_edited(layout: str, edit: Edit, **reading: object) -> Written:
    return editing.save_edited("midtown", LAYOUTS[layout](rows()), edit, **reading)


def move_root(scene: Scene) -> None:
    track = next(channel.track for channel in scene.clips[0].channels if channel.track.kind == "position")
    values = track.values.copy()
    values[2] += (1.0, 0.0, 0.5)
    track.values = values


@pytest.mark.parametrize("in_place", [False, True])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_moving_the_root_changes_one_frame(layout: str, in_place: bool) -> None:
    """The motion that ``in_place`` adds on reading is removed again."""
    written = save_edited(layout, move_root, in_place=in_place)
    wanted = rows()
    positions = load(merged(written)).clips[0].channels[0].track.values
    assert np.allclose(positions[2], np.add(wanted[2][:3], (1.0, 0.0, 0.5)), atol=1e-6)
    data = keyframer.encode(written.document)
    original = LAYOUTS[layout](rows())
    assert len(data) == len(original)
    assert sum(a != b for a, b in zip(data, original, strict=True)) <= 12


def remove_frames(scene: Scene) -> None:
    for channel in scene.clips[0].channels:
        channel.track.times, channel.track.values = channel.track.times[:3], channel.track.values[:3]
    scene.clips[0].end = 2.0


def spread_frames(scene: Scene) -> None:
    for channel in scene.clips[0].channels:
        channel.track.times = channel.track.times * 2.0


NEW_FILES = {
    "scale": NewFile(
        w.retail(rows()), set_fields(lambda scene: scene.nodes[1], scale=np.array([2.0, 2, 2])), "a joint is scaled"
    )
}


def test_removing_frames_at_the_end() -> None:
    assert merged(save_edited("retail", remove_frames)) == w.retail(rows()[:3])


def test_frames_that_are_spread_are_interpolated() -> None:
    """Every second frame is an original one with all its bits; those between are interpolated."""
    table = np.frombuffer(merged(save_edited("retail", spread_frames))[17:], "<f4").reshape(9, 9)
    before = np.array(rows(), "<f4")
    assert np.array_equal(table[::2], before)
    assert np.allclose(table[1::2, :3], (before[1:, :3] + before[:-1, :3]) / 2, atol=1e-6)


def assert_same_poses(data: bytes, wanted: bytes) -> None:
    """Check that two clips have the same raw channels and poses: angles may differ by full turns."""
    assert len(data) == len(wanted)
    scenes = [load(each) for each in (data, wanted)]
    frames = list(range(int(scenes[1].clips[0].end) + 1))
    assert np.allclose(*(keyframer.pose(scene, frames=frames).world for scene in scenes), atol=1e-5)
    for raw, wanted_raw in zip(*(scene.clips[0].raw_channels for scene in scenes), strict=True):
        assert np.array_equal(raw.values, wanted_raw.values)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_cut_writes_its_frames(layout: str) -> None:
    """Raw channels are cut, too."""
    wide = [[*row[:5], row[5] + 20.0, *row[6:]] for row in rows()]
    assert_same_poses(merged(FORMAT.from_scene(cut(load(LAYOUTS[layout](wide)), 1, 3))), LAYOUTS[layout](wide[1:4]))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_reversing_reverses_the_frames(layout: str) -> None:
    written = FORMAT.from_scene(reverse(load(LAYOUTS[layout](rows()))))
    assert_same_poses(merged(written), LAYOUTS[layout](rows()[::-1]))


def test_a_new_rate_drops_raw_channels() -> None:
    """The clip always has 30 frames per second: the frames stay the same."""
    assert merged(FORMAT.from_scene(change_rate(load(LAYOUTS["beta"](rows())), 60.0))) == w.beta(5, w.channel(rows()))


def test_a_bone_without_keys_is_at_rest() -> None:
    def rest(scene: Scene) -> None:
        scene.clips[0].channels = [channel for channel in scene.clips[0].channels if channel.node != 1]

    assert merged(save_edited("retail", rest)) == w.retail([[*row[:6], 0.0, 0.0, 0.0] for row in rows()])


def test_a_longer_raw_channel_is_cut_to_the_length_of_the_clip() -> None:
    """Two frames were removed from the figure: those of the raw channel are removed too, and reported."""
    written = save_edited("beta", remove_frames)
    assert merged(written) == LAYOUTS["beta"](rows()[:3])
    assert [loss.args for loss in written.report if loss.code == "RAW_CHANNEL_LENGTH"] == [{"count": 5, "frames": 3}]
