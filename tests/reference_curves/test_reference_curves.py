"""Every named curve: keyframer.curves against the slow evaluator and against its baseline; the files are up to date."""

from __future__ import annotations

import math
import re
from itertools import pairwise

import numpy as np
import pytest

from keyframer.curves import CurveBank, compile_track

from .baseline import BASELINES, PICTURES, read_text, write_text
from .convert import to_track
from .curves import CURVES, default_of, sample_times
from .picture import svg
from .slow import evaluate

TOLERANCE = 1e-9
NAMES = sorted(CURVES)


def values_of(name: str, times: list[float]) -> np.ndarray:
    track = CURVES[name]
    values = compile_track(to_track(track), default=default_of(track))(times)
    return values.reshape(len(times), -1)


def dense_times(name: str) -> list[float]:
    """The sample times, ten times between every two of them, times very close to keys, and distant times."""
    coarse = sample_times(CURVES[name])
    fine = [a + (b - a) * i / 11 for a, b in pairwise(coarse) for i in range(11)]
    keys = [t for t in CURVES[name].times if math.isfinite(t)]
    close = [t + sign * 1e-9 * (1 + abs(t)) for t in keys for sign in (-1, 1)]
    return [*fine, *coarse, *close, -1e9, 1e9, math.inf, -math.inf, math.nan]


@pytest.mark.parametrize("name", NAMES)
def test_keyframer_equals_the_slow_evaluator(name: str) -> None:
    times = dense_times(name)
    expected = [evaluate(CURVES[name], t, default_of(CURVES[name])) for t in times]
    np.testing.assert_allclose(values_of(name, times), expected, rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("name", NAMES)
def test_keyframer_equals_the_baseline(name: str) -> None:
    times, expected = read_text((BASELINES / f"{name}.txt").read_text(encoding="utf-8"))
    np.testing.assert_allclose(values_of(name, times), expected, rtol=0, atol=1e-8)


@pytest.mark.parametrize("name", NAMES)
def test_the_slow_evaluator_equals_the_baseline(name: str) -> None:
    times, expected = read_text((BASELINES / f"{name}.txt").read_text(encoding="utf-8"))
    again_times, values_again = read_text(write_text(CURVES[name]))
    assert times == again_times
    np.testing.assert_allclose(values_again, expected, rtol=0, atol=1e-10)


def test_every_curve_has_one_baseline_and_one_picture() -> None:
    assert sorted(path.stem for path in BASELINES.iterdir()) == NAMES
    assert sorted(path.stem for path in PICTURES.iterdir()) == NAMES
    assert len(NAMES) >= 40


def numbers(text: str) -> list[float]:
    return [float(word) for word in re.findall(r"-?\d+\.\d", text)]


@pytest.mark.parametrize("name", NAMES)
def test_picture_is_current(name: str) -> None:
    stored = (PICTURES / f"{name}.svg").read_text(encoding="utf-8")
    # coordinates are rounded to a tenth of a pixel, and another machine may round the other way
    np.testing.assert_allclose(numbers(stored), numbers(svg(name, CURVES[name])), rtol=0, atol=0.11)


def test_all_curves_in_one_bank() -> None:
    tracks = [to_track(CURVES[name]) for name in NAMES]
    bank = CurveBank(tracks, [default_of(CURVES[name]) for name in NAMES])
    times = [-50.0, -7.3, -1.0, 0.0, 4.0, 10.0, 13.3, 29.999, 30.0, 44.0, 1e6, math.nan, math.inf]
    sampled = bank.evaluate(times)
    for name, place in zip(NAMES, bank.places, strict=True):
        np.testing.assert_allclose(
            sampled[place.family][:, place.slot], values_of(name, times), rtol=0, atol=1e-12, err_msg=name
        )
