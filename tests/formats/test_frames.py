"""Clips as sampled frames: their number, and which frames of the original they correspond to."""

from __future__ import annotations

import numpy as np
import pytest

from keyframer.curves import Interpolation, Track
from keyframer.errors import FormatError
from keyframer.formats.kit.frame_times import at_whole_frames, frame_count
from keyframer.formats.kit.rigid_joints import report_frames, sample_joints
from keyframer.formats.kit.scene_writing import CannotMerge
from keyframer.scene import Channel, Clip, Node, Scene
from keyframer.scene.loss_report import LossReport
from tests.building.scenes import one_node


def places(*numbers: float) -> Track:
    return Track.sampled("position", np.array([[number, 0.0, 0.0] for number in numbers]))


@pytest.mark.parametrize(("end", "count"), [(0.0, 1), (9.0, 10), (9.25, 11), (9.0 + 1e-9, 10)])
def test_a_clip_has_frames_at_its_start_and_its_end(end: float, count: int) -> None:
    assert frame_count(Clip(end=end)) == count


def clip_with_late_key(time: float) -> Clip:
    """A clip with a key far after its end, which counts as part of the clip."""
    track = Track("position", np.array([0.0, time]), np.zeros((2, 3)), Interpolation.LINEAR)
    return Clip(channels=[Channel(0, track)], end=9.0)


@pytest.mark.parametrize(
    ("clip", "why"),
    [(Clip(start=-5.0, end=9.0), "the clip starts before frame 0"), (clip_with_late_key(9.9e6), "LIMIT_SAMPLES")],
)
def test_clips_that_cannot_be_sampled(clip: Clip, why: str) -> None:
    with pytest.raises((CannotMerge, FormatError), match=why):
        frame_count(clip)


def test_keys_after_the_last_possible_frame_are_reported() -> None:
    report = LossReport("hale3d")
    at_whole_frames(Scene([Node("a")], clips=[clip_with_late_key(1e9)]), 30.0, report)
    assert "keys after frame 10,000,000 are ignored" in [loss.detail for loss in report]


def test_a_scene_without_clips_has_no_frames() -> None:
    scene = Scene([Node("a")])
    assert at_whole_frames(scene, 30.0, LossReport("hale3d")) is scene


def test_keys_become_a_value_for_every_frame() -> None:
    track = Track("position", np.array([0.0, 4.0]), np.array([[0.0, 0, 0], [8, 0, 0]]), Interpolation.LINEAR)
    scene = one_node(track, node=Node("a"), end=4.0, rate=30.0)
    report = LossReport("hale3d")
    (channel,) = at_whole_frames(scene, 30.0, report).clips[0].channels
    assert channel.track.values[:, 0].tolist() == [0, 2, 4, 6, 8]
    assert [loss.path for loss in report] == ["/nodes/a/position"]


@pytest.mark.parametrize(("factor", "reported"), [(2.0, []), (0.5, ["/nodes/a/position"])])
def test_values_between_frames_are_reported(factor: float, reported: list[str]) -> None:
    track = places(0, 1, 2, 3, 4)
    track.times = track.times * factor
    scene = one_node(track, node=Node("a"), end=4.0 * factor, rate=30.0)
    report = LossReport("hale3d")
    at_whole_frames(scene, 30.0, report)
    assert [loss.path for loss in report] == reported


@pytest.mark.parametrize(("end", "reported"), [(4.0, []), (3.5, []), (2.0, ["/clips/end"])])
def test_a_clip_that_ends_before_its_frames_is_reported(end: float, reported: list[str]) -> None:
    scene = one_node(places(0, 1, 2, 3, 4), end=end, rate=30.0)
    report = LossReport("hale3d")
    assert at_whole_frames(scene, 30.0, report).clips[0].end == 4.0
    assert [loss.path for loss in report] == reported


def test_one_frame_is_reported_in_the_singular() -> None:
    report = LossReport("any")
    scene = Scene([Node("a")])
    joints = sample_joints(scene, Clip("still"), 30.0, report, depth_first=False)
    report_frames(scene, Clip("still"), 30.0, joints, "joint", report)
    assert [loss.detail for loss in report] == ["1 frame of 1 joint"]
