"""Placing linear keys: within the tolerance for any player, on frames if possible, jumps kept, ends exact."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from keyframer.curves.cubic_fit import Functions
from keyframer.curves.linear_fit import ROTATIONS, VECTORS, LinearKeys, place_keys


def fit_one(
    function: Any, breaks: list[float], tolerance: float, jumps: list[bool] | None = None, **given_options: Any
) -> LinearKeys:
    options = {"frame": 1.0, "shortest": 1e-3, "most_keys": 10_000, **given_options}
    measure = options.pop("measure", VECTORS)
    flags = np.zeros(len(breaks), bool) if jumps is None else np.array(jumps)
    functions = Functions.one(function, np.array(breaks), flags, tolerance, options.pop("shortest"))
    (lines,) = place_keys(functions, measure, **options)
    return lines


def sample(lines: LinearKeys, times: np.ndarray) -> np.ndarray:
    return np.stack([np.interp(times, lines.times, column) for column in lines.values.T], axis=1)


def wave(times: np.ndarray) -> np.ndarray:
    return np.stack([np.sin(times / 4), np.exp(-times / 9)], axis=1)


def slow_turn(times: np.ndarray) -> np.ndarray:
    """A rotation about z of 25 degrees per frame."""
    half = np.radians(12.5) * times
    return np.stack([0 * half, 0 * half, np.sin(half), np.cos(half)], axis=1)


@pytest.mark.parametrize("tolerance", [1e-1, 1e-2, 1e-3, 1e-4, 1e-5])
def test_the_tolerance_is_met_with_few_keys(tolerance: float) -> None:
    lines = fit_one(wave, [0.0, 40.0], tolerance)
    times = np.linspace(0, 40, 20_001)
    off = np.linalg.norm(sample(lines, times) - wave(times), axis=1)
    assert off.max() <= 1.05 * tolerance
    widest = np.sqrt(8 * tolerance * 16)  # the error of a line is h^2 / 8 times the second derivative, at most 1/16
    assert len(lines.times) < 2.2 * 40 / widest + 3
    np.testing.assert_array_equal(lines.values[[0, -1]], wave(np.array([0.0, 40.0])))


def test_keys_are_on_frames_if_that_is_precise_enough() -> None:
    coarse = fit_one(wave, [0.0, 7.5, 40.0], 1e-2)
    assert set(coarse.times.tolist()) <= {*map(float, range(41)), 7.5}
    fine = fit_one(wave, [0.0, 7.5, 40.0], 1e-4)
    assert {*map(float, range(41)), 7.5} <= set(fine.times.tolist())
    halves = fit_one(wave, [0.0, 40.0], 0.06, frame=2.5)
    assert set((halves.times / 2.5).tolist()) <= set(map(float, range(17)))


def test_motion_that_no_keys_can_follow_is_too_fast() -> None:
    """A million degrees per frame is too fast; a slow rotation and two close breaks are not."""
    assert fit_one(lambda times: slow_turn(4e4 * times), [0.0, 1.0], 0.01, measure=ROTATIONS).too_fast
    assert not fit_one(slow_turn, [0.0, 1.0], 0.01, measure=ROTATIONS).too_fast
    bent = fit_one(lambda times: np.abs(times[:, None] - 2.0) ** 0.1, [0.0, 1.9995, 2.0005, 4.0], 0.3)
    assert not bent.too_fast


def test_a_straight_line_needs_no_additional_keys() -> None:
    lines = fit_one(lambda times: times[:, None] * (1.0, -3.0), [0.0, 4.0, 40.0], 1e-9)
    assert lines.times.tolist() == [0.0, 4.0, 40.0]


def test_a_short_peak_in_a_long_range_is_noticed() -> None:
    lines = fit_one(lambda times: np.exp(-((times[:, None] - 617.0) ** 2) * 4), [0.0, 1000.0], 1e-3)
    times = np.linspace(600, 630, 3001)
    assert np.abs(sample(lines, times)[:, 0] - np.exp(-((times - 617.0) ** 2) * 4)).max() <= 1.05e-3


def test_rotations_stay_within_the_tolerance_for_slerp_and_for_lerp() -> None:
    lines = fit_one(slow_turn, [0.0, 30.0], 0.01, measure=ROTATIONS)
    times = np.linspace(0, 30, 9001)
    mixed = sample(lines, times)
    angle = 2 * np.unwrap(np.arctan2(mixed[:, 2], mixed[:, 3]))
    assert np.abs(np.degrees(angle) - 25 * times).max() <= 0.0101
    # slerp alone would do with a key for every 170 degrees, components with one for every 20
    assert 30 * 25 / 21 < len(lines.times) < 30 * 25 / 8


def test_a_jump_takes_exactly_the_shortest_time() -> None:
    def saw(times: np.ndarray) -> np.ndarray:
        return (times - np.floor(times))[:, None]

    lines = fit_one(saw, [0.0, 1.0, 2.0, 3.0], 1e-6, [True, True, True, True], shortest=0.125)
    np.testing.assert_allclose(lines.times, [-0.125, 0, 0.875, 1, 1.875, 2, 2.875, 3])
    np.testing.assert_allclose(lines.values[:, 0], [1, 0, 0.875, 0, 0.875, 0, 0.875, 0], atol=1e-6)


def test_number_and_distance_of_keys_are_limited() -> None:
    wild = fit_one(lambda times: np.sin(1e4 * times)[:, None], [0.0, 4.0], 1e-6, shortest=0.01)
    assert np.diff(wild.times).min() >= 0.01 - 1e-12
    few = fit_one(lambda times: np.sin(1e4 * times)[:, None], [0.0, 4.0], 1e-6, most_keys=100)
    assert len(few.times) <= 100
    sick = fit_one(lambda times: np.full((len(times), 1), np.nan), [0.0, 4.0], 1e-6)
    assert sick.times.tolist() == [0.0, 4.0]
    assert fit_one(wave, [3.0], 1e-6).times.tolist() == [3.0]


def example(number: int) -> tuple[Any, list[float], list[bool], float]:
    """One of several functions that differ in shape, breaks, jumps and allowed error."""
    breaks, jumps = [0.0, 4.0 + number % 3, 12.0 + 3 * number], [False, number % 2 == 1, number % 5 == 2]
    return (
        lambda times: np.stack([np.sin(times / (1 + number)), np.floor((times - breaks[1]) / 1e6)], axis=1),
        breaks,
        jumps,
        10.0 ** -(1 + number % 4),
    )


def fit_examples(numbers: range, most_keys: int = 10_000, most_in_all: int = 10_000) -> list[LinearKeys]:
    chosen = [example(number) for number in numbers]

    def at(owner: np.ndarray, times: np.ndarray) -> np.ndarray:
        out = np.empty((len(times), 2))
        for place, (function, *_) in enumerate(chosen):
            out[owner == place] = function(times[owner == place])
        return out

    functions = Functions(
        at,
        np.concatenate([breaks for _, breaks, _, _ in chosen]),
        np.concatenate([jumps for _, _, jumps, _ in chosen]),
        np.array([len(breaks) for _, breaks, _, _ in chosen]),
        np.array([tolerance for *_, tolerance in chosen]),
        np.full(len(chosen), 1e-3),
    )
    return place_keys(functions, VECTORS, frame=1.0, most_keys=most_keys, most_in_all=most_in_all)


def test_functions_fitted_together_get_the_same_keys_as_alone() -> None:
    for number, lines in enumerate(fit_examples(range(12))):
        function, breaks, jumps, tolerance = example(number)
        alone = fit_one(function, breaks, tolerance, jumps)
        np.testing.assert_array_equal(lines.times, alone.times)
        np.testing.assert_array_equal(lines.values, alone.values)


def test_the_limit_of_keys_is_shared_in_the_order_of_the_functions() -> None:
    free = fit_examples(range(12))
    wanted = [len(lines.times) for lines in free]
    short = fit_examples(range(12), most_in_all=sum(wanted) // 2)
    assert sum(len(lines.times) for lines in short) <= sum(wanted) // 2
    assert [lines.complete for lines in short].count(False) in range(1, 12)
    for lines, whole in zip(short, free, strict=True):
        assert lines.complete == (len(lines.times) == len(whole.times))
    few = fit_examples(range(12), most_keys=20)
    assert [lines.complete for lines in few] == [count <= 20 for count in wanted]


def test_the_number_of_calls_does_not_grow_with_the_number_of_functions() -> None:
    def calls(count: int) -> int:
        seen = []

        def at(owner: np.ndarray, times: np.ndarray) -> np.ndarray:
            seen.append(len(times))
            return np.sin(times / 3)[:, None]

        ends = np.tile([0.0, 60.0], count)
        numbers = np.full(count, 2), np.full(count, 1e-4), np.full(count, 1e-3)
        place_keys(Functions(at, ends, ends < 0, *numbers), VECTORS, frame=1.0, most_keys=10**6)
        return len(seen)

    assert calls(300) == calls(1)
