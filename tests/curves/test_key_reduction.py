"""Reducing samples to few keys; the error is measured with the slow evaluator, also between frames.

Between frames, positions are interpolated linearly and rotations along the shortest arc.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keyframer.curves import Interpolation, RotationForm, Track, compile_track, key_reduction
from keyframer.curves.curve_bank import CurveBank
from keyframer.curves.key_reduction import turn_degrees, vector_distance
from keyframer.limits import Budget
from tests.reference_curves import slow

PARTS = 8
"""of a frame: more than the package looks at"""


def slow_track(track: Track) -> slow.SlowTrack:
    def column(name: str) -> list[float]:
        column_values = getattr(track, name)
        return [] if column_values is None else [float(each) for each in column_values]

    shapes = {name: column(name) for name in ("tension", "continuity", "bias")}
    values = [[float(part) for part in row] for row in track.values.reshape(len(track.times), -1)]
    names = {Interpolation.TCB: "TCB", Interpolation.LINEAR: "LINEAR"}
    form = "QUATERNION_ABSOLUTE" if track.is_rotation else "NONE"
    return slow.SlowTrack(track.times.tolist(), values, names[track.interpolation], form=form, **shapes)


def lerp_frames(frames: list[list[float]], t: float) -> list[float]:
    at = min(int(t), len(frames) - 2)
    part = t - at
    return [a + part * (b - a) for a, b in zip(frames[at], frames[at + 1], strict=True)]


def slerp_frames(frames: list[list[float]], t: float) -> list[float]:
    at = min(int(t), len(frames) - 2)
    p, q = frames[at], frames[at + 1]
    dot = sum(a * b for a, b in zip(p, q, strict=True))
    q = [-value for value in q] if dot < 0 else q
    turn = math.acos(min(abs(dot), 1.0))
    if turn < 1e-9:
        return p
    a, b = math.sin((1 - (t - at)) * turn) / math.sin(turn), math.sin((t - at) * turn) / math.sin(turn)
    return [a * x + b * y for x, y in zip(p, q, strict=True)]


def distance(a: list[float], b: list[float]) -> float:
    return math.dist(a, b)


def degrees_apart(a: list[float], b: list[float]) -> float:
    return float(turn_degrees(np.array([a]), np.array([b]))[0])


def largest_error(
    track: Track, frames: list[list[float]], meant: Callable[..., list[float]], off: Callable[..., float]
) -> float:
    plain = slow_track(track)
    times = [place / PARTS for place in range((len(frames) - 1) * PARTS + 1)]
    return max(off(slow.evaluate(plain, t, frames[0]), meant(frames, t)) for t in times)


def fewest_keys(*given: Any, between: Callable[[np.ndarray], np.ndarray] | None = None) -> tuple[Track, float]:
    """Reduce one track alone; ``between`` gives the intended values between frames."""

    def meant(times: np.ndarray) -> key_reduction.Sampling[np.ndarray]:
        assert between is not None
        return between(times)
        yield

    options = {} if between is None else {"between": meant}
    (result,) = key_reduction.sample_together([key_reduction.fewest_keys(*given, **options)])
    return result


def test_tracks_reduced_together_get_the_same_keys_as_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tracks of one, three and four columns, of different lengths, so that some finish before others."""
    monkeypatch.setattr(key_reduction, "MOST_POINTS", 600)
    tasks: list[tuple[Any, ...]] = []
    for number in range(12):
        values, times = np.array(swings(20 + 5 * number, 0.1 + 0.05 * number)), np.arange(20.0 + 5 * number)
        tasks.append(("position", times, values, RotationForm.NONE, 1e-3, vector_distance))
        tasks.append(("roll", times, values[:, 0], RotationForm.NONE, 1e-2, vector_distance))
        turns = np.column_stack([0.3 * values, np.ones(len(values))])
        turns /= np.linalg.norm(turns, axis=1)[:, None]
        tasks.append(("rotation", times, turns, RotationForm.QUATERNION_ABSOLUTE, 0.2, turn_degrees, 90.0))
    together = key_reduction.sample_together(key_reduction.fewest_keys(*task) for task in tasks)
    assert len(together) == len(tasks)
    for task, (track, error) in zip(tasks, together, strict=True):
        alone, alone_error = fewest_keys(*task)
        assert (track.kind, track.interpolation) == (alone.kind, alone.interpolation)
        np.testing.assert_array_equal(track.times, alone.times)
        np.testing.assert_array_equal(track.values, alone.values)
        assert error == pytest.approx(alone_error, rel=1e-9, abs=1e-12)


def test_tracks_reduced_together_are_compiled_together(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []

    def counting(tracks: list[Track]) -> CurveBank:
        sizes.append(len(tracks))
        return CurveBank(tracks)

    monkeypatch.setattr(key_reduction, "CurveBank", counting)
    values, times = np.array(swings(40, 0.4)), np.arange(40.0)
    task = ("position", times, values, RotationForm.NONE, 1e-3, vector_distance)
    fewest_keys(*task)
    alone, sizes[:] = len(sizes), []
    key_reduction.sample_together(key_reduction.fewest_keys(*task) for _ in range(50))
    assert sizes == [50] * alone


def test_every_sample_is_charged_to_the_budget() -> None:
    """Hundreds of short tracks cost as much as a long one."""
    values = np.array(swings(8, 0.9))
    task = ("position", np.arange(8.0), values, RotationForm.NONE, 1e-6, vector_distance)
    spent = []
    for count in (1, 100):
        with Budget().opened() as budget:
            key_reduction.sample_together(key_reduction.fewest_keys(*task) for _ in range(count))
        spent.append(budget.spent["samples"])
    assert spent[1] > 20 * spent[0]


def swings(count: int, speed: float) -> list[list[float]]:
    return [[math.sin(n * speed), 0.25 * n * speed, math.cos(1.7 * n * speed)] for n in range(count)]


@pytest.mark.parametrize("tolerance", [0.03, 3e-3, 3e-4])
@pytest.mark.parametrize("speed", [0.02, 0.1, 0.7])
def test_positions_stay_within_the_tolerance_everywhere(speed: float, tolerance: float) -> None:
    frames = swings(61, speed)
    values = np.array(frames)
    curve = compile_track(Track.sampled("position", values))
    reduced, error = fewest_keys(
        "position", np.arange(61.0), values, RotationForm.NONE, tolerance, vector_distance, between=curve
    )
    reached = largest_error(reduced, frames, lerp_frames, distance)
    assert reached <= tolerance * 1.02  # more places are looked at here
    assert error == pytest.approx(reached, rel=0.05, abs=1e-12)
    assert len(reduced.times) <= 61


@settings(max_examples=25)
@given(st.lists(st.tuples(*[st.floats(-3, 3)] * 3), min_size=2, max_size=9), st.sampled_from([0.5, 0.05, 1e-3]))
def test_any_positions_stay_within_the_tolerance(points: list[tuple[float, float, float]], tolerance: float) -> None:
    frames = [list(point) for point in points]
    values = np.array(frames)
    curve = compile_track(Track.sampled("position", values))
    times = np.arange(float(len(frames)))
    reduced, _ = fewest_keys("position", times, values, RotationForm.NONE, tolerance, vector_distance, between=curve)
    assert largest_error(reduced, frames, lerp_frames, distance) <= tolerance * 1.05 + 1e-9


@pytest.mark.parametrize("tolerance", [2.0, 0.2, 0.01])
@pytest.mark.parametrize("speed", [0.01, 0.08])
def test_rotations_stay_within_the_tolerance_everywhere(speed: float, tolerance: float) -> None:
    frames = []
    for n in range(41):
        angle = 0.9 * math.sin(3 * n * speed)
        axis = slow.unit([math.sin(n * speed), 0.3, math.cos(2 * n * speed), 0.0])[:3]
        frames.append([part * math.sin(angle / 2) for part in axis] + [math.cos(angle / 2)])
    values = np.array(frames)
    form = RotationForm.QUATERNION_ABSOLUTE
    curve = compile_track(Track.sampled("rotation", values, form=form))
    reduced, _ = fewest_keys("rotation", np.arange(41.0), values, form, tolerance, turn_degrees, 90.0, between=curve)
    assert largest_error(reduced, frames, slerp_frames, degrees_apart) <= tolerance * 1.05 + 1e-6


def test_smooth_motion_between_frames_needs_fewer_keys_than_straight_lines() -> None:
    frames = swings(61, 0.1)
    values = np.array(frames)
    times = np.arange(61.0)

    def smooth(moments: np.ndarray) -> np.ndarray:
        return np.column_stack([np.sin(moments * 0.1), 0.025 * moments, np.cos(moments * 0.17)])

    straight = compile_track(Track.sampled("position", values))
    form, tolerance = RotationForm.NONE, 1e-3
    few, error = fewest_keys("position", times, values, form, tolerance, vector_distance, between=smooth)
    many, _ = fewest_keys("position", times, values, form, tolerance, vector_distance, between=straight)
    blind, _ = fewest_keys("position", times, values, form, tolerance, vector_distance)
    assert len(blind.times) <= len(few.times) < len(many.times)
    plain = slow_track(few)
    moments = [place / PARTS for place in range(60 * PARTS + 1)]
    off = [distance(slow.evaluate(plain, t, frames[0]), smooth(np.array([t]))[0].tolist()) for t in moments]
    assert max(off) <= 1.15 * max(tolerance, error)  # three places in a frame are looked at; those who ask leave room
