"""Clips as frames, and keys between frames: their number, their error, and what the report says."""

from __future__ import annotations

import math
import struct
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

import keyframer
from keyframer.curves import Interpolation, Track
from keyframer.errors import FormatError
from keyframer.formats.kit.frame_times import at_whole_frames, frame_count, rate_of_keys, rate_of_times
from keyframer.formats.kit.rigid_joints import report_frames, sample_joints
from keyframer.formats.kit.scene_writing import CannotMerge
from keyframer.scene import Channel, Clip, Node, Scene
from keyframer.scene.loss_report import LossReport, Outcome
from tests.building.scenes import one_node
from tests.hostile.attacks import gltf


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
    assert [loss.args for loss in report if loss.type.key == "KEYS_LEFT_OUT:too late"] == [{"last": 10_000_000}]


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
    assert [loss.args for loss in report] == [{"frames": 1, "joints": "1 joint"}]


Floats = npt.NDArray[np.float64]

WALK = np.arange(49) / 24, 30 * np.sin(np.arange(49) / 24 * 2 * math.pi)
"""a pendulum of 30 degrees, 24 keys per second"""
WHEEL = np.arange(5) * 0.25, 90.0 * np.arange(5)
"""a turn in quarters of a second, which are 7.5 frames"""
ODD = np.array([0.0, 0.1234, 0.377, 0.601, 1.0371]), np.array([0.0, 40, -30, 80, 0])
"""no frame rate has frames at these times"""


def glb(times: Floats, degrees: Floats, interpolation: str = "LINEAR") -> bytes:
    """A node that turns about Z, with a child."""
    half = np.radians(degrees) / 2
    rotations = np.column_stack([0 * half, 0 * half, np.sin(half), np.cos(half)])
    binary = times.astype("<f4").tobytes() + rotations.astype("<f4").tobytes()
    count, end = len(times), struct.unpack("<f", struct.pack("<f", times[-1]))[0]
    content = {
        "scene": 0,
        "scenes": [{"nodes": [0]}],
        "nodes": [{"name": "arm", "children": [1]}, {"name": "hand", "translation": [0, 1, 0]}],
        "bufferViews": [
            {"buffer": 0, "byteLength": 4 * count},
            {"buffer": 0, "byteOffset": 4 * count, "byteLength": 16 * count},
        ],
        "accessors": [
            {"bufferView": 0, "componentType": 5126, "count": count, "type": "SCALAR", "min": [0], "max": [end]},
            {"bufferView": 1, "componentType": 5126, "count": count, "type": "VEC4"},
        ],
        "animations": [
            {
                "samplers": [{"input": 0, "output": 1, "interpolation": interpolation}],
                "channels": [{"sampler": 0, "target": {"node": 0, "path": "rotation"}}],
            }
        ],
    }
    return gltf(content, binary)


def converted(data: bytes, format: str, folder: Path) -> tuple[Scene, LossReport]:
    ending = {"3ds": ".3ds", "uto3d": ".u3d", "nodeanim": ".nanim", "ase": ".ase"}.get(format, ".anim")
    report = keyframer.save(keyframer.load(data), folder / f"made{ending}", format=format)
    return keyframer.load(folder / f"made{ending}"), report


def turned(scene: Scene, seconds: Floats) -> Floats:
    """Degrees from 0 to 180 between the node at time 0 and at other times."""
    number = next(i for i, node in enumerate(scene.nodes) if node.name.lower() == "arm")
    frames = np.append(0.0, seconds) * scene.clips[0].frames_per_second
    rotations = keyframer.pose(scene, frames=frames).world[:, number, :3, :3]
    cosines = (np.einsum("ij,tij->t", rotations[0], rotations[1:]) - 1) / 2
    return np.degrees(np.arccos(np.clip(cosines, -1, 1)))


def largest_error(scene: Scene, keys: tuple[Floats, Floats]) -> float:
    times, degrees = keys
    seconds = np.unique(np.concatenate([times, np.linspace(0, times[-1], 400)]))
    expected = np.interp(seconds, times, degrees) - degrees[0]
    expected = np.abs((expected + 180) % 360 - 180)
    return float(np.abs(turned(scene, seconds) - expected).max())


@pytest.mark.parametrize(
    ("keys", "allowed"),
    [
        # a frame of the pendulum turns by up to 6.3 degrees, and rounding would shift it by up to half a frame
        (WALK, {"3ds": 0.6, "midtown": 0.6, "hale3d": 0.01, "ase": 0.01, "uto3d": 0.01, "nodeanim": 0.01}),
        (WHEEL, {"3ds": 0.05, "midtown": 0.05, "hale3d": 0.05, "ase": 0.05, "uto3d": 0.05, "nodeanim": 0.05}),
        (ODD, {"3ds": 5.0, "midtown": 5.6, "hale3d": 5.6, "ase": 5.6, "uto3d": 0.1, "nodeanim": 0.01}),
    ],
    ids=["walk", "wheel", "odd"],
)
def test_keys_between_frames_are_not_simply_rounded(
    keys: tuple[Floats, Floats], allowed: dict[str, float], tmp_path: Path
) -> None:
    for format, most in allowed.items():
        (tmp_path / format).mkdir()
        scene, report = converted(glb(*keys), format, tmp_path / format)
        error = largest_error(scene, keys)
        assert error <= most, (format, error)
        told = max((loss.error or 0.0 for loss in report if loss.unit == "degree"), default=0.0)
        assert told >= 0.9 * error - 0.02, (format, error, told)
        if error > 0.1:
            assert any(loss.outcome is Outcome.APPROXIMATED and loss.error for loss in report), format


@pytest.mark.parametrize(("keys", "rate"), [(WALK, 24), (ODD, 30)], ids=["walk", "odd"])
@pytest.mark.parametrize("format", ["hale3d", "ase"])
def test_a_format_with_a_frame_rate_gets_one_that_fits(
    format: str, keys: tuple[Floats, Floats], rate: int, tmp_path: Path
) -> None:
    scene, _ = converted(glb(*keys), format, tmp_path)
    assert scene.clips[0].frames_per_second == rate


def test_the_report_of_a_format_without_a_frame_rate_names_one_that_fits(tmp_path: Path) -> None:
    _, report = converted(glb(*WALK), "3ds", tmp_path)
    assert "fps=24 would store them exactly" in {loss.advice for loss in report}
    keyframer.save(keyframer.load(glb(*WALK)), tmp_path / "24.3ds", fps=24)
    assert largest_error(keyframer.load(tmp_path / "24.3ds", fps=24), WALK) < 0.01


@pytest.mark.parametrize("format", ["3ds", "hale3d", "midtown", "ase", "uto3d", "nodeanim"])
def test_steps_show_their_values_at_all_frames_and_are_clean(format: str, tmp_path: Path) -> None:
    """At 30 frames per second; two keys on one frame are a jump and no problem."""
    times, degrees = np.array([0.0, 0.11, 0.25, 0.6, 1.0]), np.array([0.0, 40, 100, 20, 60])
    scene, _ = converted(glb(times, degrees, "STEP"), format, tmp_path)
    seconds = (np.arange(31) + 1e-3) / 30
    shown = degrees[np.searchsorted(times, seconds, side="right") - 1]
    whole = seconds[np.abs(seconds[:, None] - times).min(axis=1) > 2e-3]  # ticks may be a moment late
    np.testing.assert_allclose(
        turned(scene, np.floor(whole * 30) / 30), np.abs(shown[np.isin(seconds, whole)]), atol=0.01
    )
    (path,) = (file for file in tmp_path.iterdir() if file.suffix != ".skel")
    assert [str(issue) for issue in keyframer.check(path).issues if "KEYS" in issue.code] == []


def test_three_keys_on_one_frame_and_equal_ones_are_still_reported(tmp_path: Path) -> None:
    scene = keyframer.load(glb(*WHEEL))
    for values, found in (([0, 1, 2, 3], True), ([0, 1, 1, 3], True), ([0, 1, 2, 2], False)):
        times = np.array([0.0, 5, 5, 5 if values[-1] == 3 and values[2] == 2 else 9])
        places = np.column_stack([values, np.zeros(4), np.zeros(4)]).astype(float)
        scene.clips = [Clip(channels=[Channel(0, Track("position", times, places, Interpolation.TCB))], end=9.0)]
        keyframer.save(scene, tmp_path / "made.3ds", overwrite=True)
        codes = {issue.code for issue in keyframer.check(tmp_path / "made.3ds").issues}
        assert ("DATA_KEYS_NOT_INCREASING" in codes) is found, values


@pytest.mark.parametrize(
    ("seconds", "rate"),
    [
        ([0, 0.5, 1.0], 2),
        ([0, 0.0417, 0.0833, 0.125], 24),  # four decimals of 1/24
        ([0, 1 / 120], 120),
        ([0, 1 / 121], None),
        ([0, 0.1234, 0.377, 0.601], None),
    ],
)
def test_rates_of_times(seconds: list[float], rate: int | None) -> None:
    assert rate_of_times(np.array(seconds)) == rate


def test_curves_get_no_lower_rate_than_their_own() -> None:
    """The format is straight between frames: fewer frames would be worse."""
    times, places = np.array([0.0, 2 / 7, 3 / 7]), np.eye(3)
    for interpolation, rate in ((Interpolation.LINEAR, 28), (Interpolation.TCB, 35)):
        channel = Channel(0, Track("position", times, places, interpolation))
        clip = Clip(channels=[channel], rate=1.0, unit="second", units_per_frame=1 / 30)
        assert rate_of_keys(clip) == rate
        in_frames = Clip(channels=[Channel(0, Track("position", 30 * times, places, interpolation))])
        assert rate_of_keys(in_frames) == 30  # that is its own rate, or the one that the user chose
