"""Fitting cubic keys: within the tolerance, few keys, jumps kept, ends exact."""

from __future__ import annotations

import numpy as np
import pytest

from keyframer.curves.cubic_fit import Fit, Function, fit_cubic
from keyframer.curves.key_reduction import turn_degrees, vector_distance
from keyframer.curves.vector_curves import Hermite


def sample(keys: Hermite, times: np.ndarray) -> np.ndarray:
    """Evaluate the Hermite spline by the textbook formula."""
    place = np.clip(np.searchsorted(keys.times, times, side="right") - 1, 0, len(keys.times) - 2)
    span = keys.times[place + 1] - keys.times[place]
    u = ((times - keys.times[place]) / np.where(span > 0, span, 1))[:, None]
    span = span[:, None]
    return (
        (2 * u**3 - 3 * u**2 + 1) * keys.values[place]
        + (u**3 - 2 * u**2 + u) * span * keys.tangents_out[place]
        + (3 * u**2 - 2 * u**3) * keys.values[place + 1]
        + (u**3 - u**2) * span * keys.tangents_in[place + 1]
    )


def fit_one(
    function: Function,
    breaks: np.ndarray,
    jumps: np.ndarray,
    tolerance: float,
    shortest: float = 0.0,
    most_keys: int = 1_000_000,
) -> Fit:
    limits = {"tolerance": tolerance, "shortest": shortest}
    return fit_cubic(function, breaks, jumps, vector_distance, **limits, most_keys=most_keys)


def wave(times: np.ndarray) -> np.ndarray:
    return np.stack([np.sin(3 * times), np.exp(-times)], axis=1)


@pytest.mark.parametrize("tolerance", [1e-2, 1e-4, 1e-6])
def test_the_tolerance_is_met_with_few_keys(tolerance: float) -> None:
    fit = fit_one(wave, np.array([0.0, 10.0]), np.zeros(2, bool), tolerance)
    times = np.linspace(0, 10, 5001)
    assert vector_distance(sample(fit.keys, times), wave(times)).max() <= 1.1 * tolerance
    assert fit.error <= tolerance
    widest = (384 * tolerance / 81) ** 0.25  # the error of such a cubic is h^4 / 384 times the fourth derivative, 3^4
    assert len(fit.keys.times) < 2 * 10 / widest + 2  # halving may overshoot by half
    np.testing.assert_array_equal(fit.keys.values[[0, -1]], wave(np.array([0.0, 10.0])))


def test_a_cubic_needs_no_additional_keys() -> None:
    def cubic(times: np.ndarray) -> np.ndarray:
        return (times**3 - 2 * times)[:, None]

    fit = fit_one(cubic, np.array([0.0, 1.0, 4.0]), np.zeros(3, bool), 1e-6)
    assert fit.keys.times.tolist() == [0.0, 1.0, 4.0]
    assert fit.keys.tangents_out[1, 0] == pytest.approx(1.0, abs=1e-5)


def test_jumps_are_kept() -> None:
    def saw(times: np.ndarray) -> np.ndarray:
        return (times - np.floor(times))[:, None]

    breaks = np.arange(4.0)
    fit = fit_one(saw, breaks, np.array([False, True, True, True]), 1e-6)
    assert fit.keys.times.tolist() == [0, 1, 1, 2, 2, 3, 3]
    np.testing.assert_allclose(fit.keys.values[:, 0], [0, 1, 0, 1, 0, 1, 0], atol=1e-6)
    fit = fit_one(saw, breaks[:2], np.ones(2, bool), 1e-6)
    assert fit.keys.times.tolist() == [0, 0, 1, 1]
    np.testing.assert_allclose(fit.keys.values[:, 0], [1, 0, 1, 0], atol=1e-6)


def test_rotation_error_is_measured_in_degrees() -> None:
    half = np.radians(15.0)
    a, b = np.array([0, 0, 0, 2.0]), np.array([0, 0, np.sin(half), np.cos(half)])
    assert turn_degrees(a, b) == pytest.approx(30.0)
    assert turn_degrees(a, -b) == pytest.approx(30.0)
    assert turn_degrees(a, -a) == 0


def test_number_and_distance_of_keys_are_limited() -> None:
    def noise(times: np.ndarray) -> np.ndarray:
        return np.sin(1e6 * times)[:, None]

    breaks, jumps = np.array([0.0, 1.0]), np.zeros(2, bool)
    assert len(fit_one(noise, breaks, jumps, 1e-9, most_keys=100).keys.times) <= 100
    fit = fit_one(noise, breaks, jumps, 1e-9, shortest=0.01)
    assert np.diff(fit.keys.times).min() >= 0.01
    assert fit.error > 0.1  # and says so


def test_a_single_break_gives_a_single_key() -> None:
    fit = fit_one(wave, np.array([2.0]), np.zeros(1, bool), 1e-3)
    assert fit.keys.times.tolist() == [2.0]
