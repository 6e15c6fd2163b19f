"""Midtown clips in which one thing is edited: the bytes are those that a writer of our own makes of the edit."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import keyframer
from keyframer.formats.kit.scene_reading import scene_of
from keyframer.formats.kit.scene_writing import Written
from keyframer.formats.midtown import FORMAT
from keyframer.operating import change_rate, cut, reverse
from keyframer.scene import Scene
from tests.formats.editing import why_anew
from tests.formats.midtown import writer as w

LAYOUTS: dict[str, Callable[[w.Rows], bytes]] = {
    "retail": w.retail,
    "old": w.old,
    "beta": lambda rows: w.beta(len(rows), w.channel(rows), w.channel([[1.0, 2.0]] * len(rows), type=7)),
}


def rows() -> list[list[float]]:
    return [[float(np.float32(number)) for number in row] for row in w.walk(frames=5, bones=2)]


def loaded(data: bytes, **options: object) -> Scene:
    return scene_of(keyframer.decode(data, format="midtown"), options)


def edited(layout: str, edit: Callable[[Scene], object], **options: object) -> Written:
    scene = loaded(LAYOUTS[layout](rows()), **options)
    edit(scene)
    return FORMAT.from_scene(scene)


def step(scene: Scene) -> None:
    track = next(channel.track for channel in scene.clips[0].channels if channel.track.kind == "position")
    values = track.values.copy()
    values[2] += (1.0, 0.0, 0.5)
    track.values = values


@pytest.mark.parametrize("in_place", [False, True])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_one_step_of_the_root(layout: str, in_place: bool) -> None:
    """What ``in_place`` adds when it reads is taken off again."""
    written = edited(layout, step, in_place=in_place)
    assert why_anew(written) == []
    wanted = rows()
    found = loaded(keyframer.encode(written.document)).clips[0].channels[0].track.values
    assert np.allclose(found[2], np.add(wanted[2][:3], (1.0, 0.0, 0.5)), atol=1e-6)
    data = keyframer.encode(written.document)
    original = LAYOUTS[layout](rows())
    assert len(data) == len(original)
    assert sum(a != b for a, b in zip(data, original, strict=True)) <= 12


def fewer(scene: Scene) -> None:
    for channel in scene.clips[0].channels:
        channel.track.times, channel.track.values = channel.track.times[:3], channel.track.values[:3]
    scene.clips[0].end = 2.0


def apart(scene: Scene) -> None:
    for channel in scene.clips[0].channels:
        channel.track.times = channel.track.times * 2.0


REFUSED: dict[str, tuple[str, Callable[[Scene], object], str]] = {
    "scale": (
        "retail",
        lambda scene: setattr(scene.nodes[1], "scale", np.array([2.0, 2.0, 2.0])),
        "scale of joints",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_place_is_said_and_all_written_anew(name: str) -> None:
    layout, edit, words = REFUSED[name]
    written = edited(layout, edit)
    (why,) = why_anew(written)
    assert f"({words})" in why


def test_frames_at_the_end_go_where_the_clip_is_alone() -> None:
    written = edited("retail", fewer)
    assert why_anew(written) == []
    assert keyframer.encode(written.document) == w.retail(rows()[:3])


def test_frames_that_stand_apart_are_filled() -> None:
    """Every second frame is one that was there, with all its bits; those between are half way."""
    written = edited("retail", apart)
    assert why_anew(written) == []
    table = np.frombuffer(keyframer.encode(written.document)[17:], "<f4").reshape(9, 9)
    before = np.array(rows(), "<f4")
    assert np.array_equal(table[::2], before)
    assert np.allclose(table[1::2, :3], (before[1:, :3] + before[:-1, :3]) / 2, atol=1e-6)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_cut_keeps_the_bits_of_the_frames(layout: str) -> None:
    """Angles of more than a turn, which no quaternion knows, stay what they are; other channels are cut, too."""
    wide = [[*row[:5], row[5] + 20.0, *row[6:]] for row in rows()]
    written = FORMAT.from_scene(cut(loaded(LAYOUTS[layout](wide)), 1, 3))
    assert why_anew(written) == []
    assert keyframer.encode(written.document) == LAYOUTS[layout](wide[1:4])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_backwards_is_the_same_frames_backwards(layout: str) -> None:
    written = FORMAT.from_scene(reverse(loaded(LAYOUTS[layout](rows()))))
    assert why_anew(written) == []
    assert keyframer.encode(written.document) == LAYOUTS[layout](rows()[::-1])


def test_another_rate_leaves_out_the_channels_that_nobody_knows() -> None:
    """The clip is counted in 30 frames a second whatever the scene has: frames are those that there were."""
    written = FORMAT.from_scene(change_rate(loaded(LAYOUTS["beta"](rows())), 60.0))
    assert why_anew(written) == []
    assert keyframer.encode(written.document) == w.beta(5, w.channel(rows()))


def test_a_bone_without_keys_rests() -> None:
    def rest(scene: Scene) -> None:
        scene.clips[0].channels = [channel for channel in scene.clips[0].channels if channel.node != 1]

    written = edited("retail", rest)
    assert why_anew(written) == []
    assert keyframer.encode(written.document) == w.retail([[*row[:6], 0.0, 0.0, 0.0] for row in rows()])


def test_a_channel_of_more_frames_is_as_long_as_the_clip() -> None:
    """Two frames went from the figure: those of the other channel go, too, and that is said."""
    written = edited("beta", fewer)
    assert why_anew(written) == []
    assert keyframer.encode(written.document) == LAYOUTS["beta"](rows()[:3])
    assert "5 frames became 3, as many as the clip has" in "".join(loss.detail for loss in written.report)
