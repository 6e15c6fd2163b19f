"""Random tracks: keyframer.curves equals the slow evaluator for any keys."""

from __future__ import annotations

import itertools
import math

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from keyframer.curves import compile_track
from tests.slow import SLOW

from .convert import to_track
from .curves import default_of
from .slow import Margin, SlowTrack, evaluate

FORMS = ["NONE", "AXIS_ANGLE_RELATIVE", "AXIS_ANGLE_ABSOLUTE", "QUATERNION_RELATIVE", "QUATERNION_ABSOLUTE"]
# quarters: sums and products of the TCB formulas stay short, so failures are readable
shape_numbers = st.sampled_from([-1.5, -1.0, -0.5, 0.0, 0.25, 1.0, 2.0, math.nan])
ease_numbers = st.sampled_from([-1.0, 0.0, 0.25, 0.5, 0.75, 1.0, 3.0, math.nan])
frames = st.one_of(st.integers(-40, 120).map(float), st.floats(-40, 120, width=32))
components = st.one_of(st.integers(-9, 9).map(float), st.floats(-50, 50, width=16))


@st.composite
def slow_tracks(draw: st.DrawFn, forms: list[str] = FORMS) -> SlowTrack:
    form = draw(st.sampled_from(forms))
    count = draw(st.integers(1, 7))
    width = 4 if form != "NONE" else draw(st.integers(1, 3))
    interpolations = ["STEP", "LINEAR", "TCB", "BEZIER", "SAMPLED"]
    if form in ("NONE", "QUATERNION_ABSOLUTE"):
        interpolations.append("CUBIC")
    interpolation = draw(st.sampled_from(interpolations))

    def column(numbers: st.SearchStrategy[float]) -> list[float]:
        return draw(st.one_of(st.just([]), st.lists(numbers, min_size=count, max_size=count)))

    def rows() -> list[list[float]]:
        row = st.lists(components, min_size=width, max_size=width)
        return draw(st.lists(row, min_size=count, max_size=count))

    times = draw(st.lists(frames, min_size=count, max_size=count))
    if draw(st.booleans()):
        times.sort()
    return SlowTrack(
        times=times,
        values=rows(),
        interpolation=interpolation,
        wrap=draw(st.sampled_from(["SINGLE", "REPEAT", "LOOP"])),
        form=form,
        tension=column(shape_numbers),
        continuity=column(shape_numbers),
        bias=column(shape_numbers),
        ease_to=column(ease_numbers),
        ease_from=column(ease_numbers),
        tangents_in=rows() if interpolation == "CUBIC" else [],
        tangents_out=rows() if interpolation == "CUBIC" else [],
    )


def times_around(track: SlowTrack, draw_times: list[float]) -> list[float]:
    ordered = sorted(track.times)
    middles = [(a + b) / 2 for a, b in itertools.pairwise(ordered)]
    last = ordered[-1]
    return [*ordered, *middles, *draw_times, last + 1.5, 2 * last, -3.25, 0.0, math.nan, math.inf, -math.inf]


def compare(track: SlowTrack, times: list[float]) -> None:
    margin = Margin()
    expected = np.array([evaluate(track, t, default_of(track), margin) for t in times])
    # On the edge between two branches (or two signs) rounding decides; such draws prove nothing.
    assume(margin.smallest > 1e-7)
    actual = compile_track(to_track(track), default=default_of(track))(times).reshape(expected.shape)
    scale = max(1.0, float(np.abs(expected).max()))
    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-9 * scale)


@settings(max_examples=400 if SLOW else 200)
@given(slow_tracks(["NONE"]), st.lists(frames, max_size=8))
def test_vectors(track: SlowTrack, extra_times: list[float]) -> None:
    compare(track, times_around(track, extra_times))


@settings(max_examples=500 if SLOW else 250)
@given(slow_tracks(FORMS[1:]), st.lists(frames, max_size=8))
def test_rotations(track: SlowTrack, extra_times: list[float]) -> None:
    compare(track, times_around(track, extra_times))
