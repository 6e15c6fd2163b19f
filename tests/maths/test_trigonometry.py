"""Sine, cosine and arc tangent, compared with those of Python."""

from __future__ import annotations

import math

import numpy as np
import pytest

from keyframer.maths.trigonometry import arctan2, sine_and_cosine

ANGLES = np.concatenate([np.random.default_rng(3).normal(size=4000) * 20, np.arange(-64, 65) * np.pi / 16, [1e5, -9e5]])


def test_sines_and_cosines_are_right_to_the_last_bits() -> None:
    sines, cosines = sine_and_cosine(ANGLES)
    expected = np.array([(math.sin(angle), math.cos(angle)) for angle in ANGLES.tolist()])
    np.testing.assert_allclose(np.stack([sines, cosines], axis=1), expected, rtol=4.5e-16, atol=1e-26)


def test_angles_are_right_to_the_last_bits() -> None:
    x, y = np.random.default_rng(4).normal(size=(2, 4000)) * 10.0 ** np.random.default_rng(5).integers(-9, 9, (2, 4000))
    expected = [math.atan2(height, width) for height, width in zip(y.tolist(), x.tolist(), strict=True)]
    np.testing.assert_allclose(arctan2(y, x), expected, rtol=4.5e-16)


@pytest.mark.parametrize(
    ("y", "x"), [(0.0, 1.0), (0.0, -1.0), (-0.0, -1.0), (1.0, 0.0), (-1.0, 0.0), (0.0, 0.0), (-2.0, 2.0)]
)
def test_angles_of_axes_are_exact(y: float, x: float) -> None:
    assert float(arctan2(y, x)) == math.atan2(y, x)
    assert math.copysign(1.0, float(arctan2(y, x))) == math.copysign(1.0, math.atan2(y, x))


def test_extreme_angles_stay_on_the_circle_or_are_not_numbers() -> None:
    sines, cosines = sine_and_cosine(np.array([1e7, -1e300, np.inf, np.nan]))
    np.testing.assert_allclose(sines[:2] ** 2 + cosines[:2] ** 2, 1.0, rtol=1e-12)
    assert np.isnan([sines[2:], cosines[2:]]).all()
