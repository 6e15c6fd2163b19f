"""Curve evaluation: vectors, wrap modes and non-finite numbers, checked on small examples by hand."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keyframer.curves import CurveBank, Interpolation, RotationForm, Track, Wrap, compile_track
from keyframer.curves.key_columns import gather
from keyframer.curves.vector_curves import hermite_columns
from tests.building.scenes import as_read_from_a_file
from tests.slow import SLOW

any_float = st.floats(allow_nan=True, allow_infinity=True)
numbers = st.one_of(st.integers(-20, 20).map(float), any_float)


def test_shapes_of_results() -> None:
    scalar = compile_track(Track("fov", [0, 1], [1, 2]))
    vector = compile_track(Track("position", [0, 1], [[1, 2, 3], [2, 3, 4]]))
    assert scalar([0, 0.5, 1]).shape == (3,)
    assert vector([0, 0.5, 1]).shape == (3, 3)
    assert scalar.at(0.5) == 1.5
    np.testing.assert_array_equal(vector.at(0.5), [1.5, 2.5, 3.5])
    assert scalar([]).shape == (0,)


def test_defaults() -> None:
    empty = Track("scale", [], np.empty((0, 3)))
    np.testing.assert_array_equal(compile_track(empty, default=(1, 2, 3)).at(5), [1, 2, 3])
    np.testing.assert_array_equal(compile_track(empty, default=1).at(5), [1, 1, 1])
    np.testing.assert_array_equal(compile_track(empty).at(5), [0, 0, 0])
    turn = Track("rotation", [np.nan], [[0, 0, 1, 1]], form=RotationForm.AXIS_ANGLE_ABSOLUTE)
    np.testing.assert_array_equal(compile_track(turn).at(5), [0, 0, 0, 1])
    with pytest.raises(ValueError, match=r"one entry for each track \(2\), not 1"):
        CurveBank([empty, empty], [None])


def test_tcb_by_hand() -> None:
    # interior key, even spacing: tangent (4 - 0)/2 = 2; ends (3 D - 2)/2: 0.5 and 3.5
    curve = compile_track(Track("fov", [0, 1, 2], [0, 1, 4], interpolation=Interpolation.TCB))
    assert curve.at(0.5) == pytest.approx(0.5 + (0.5 - 2) / 8)
    assert curve.at(1.5) == pytest.approx(2.5 + (2 - 3.5) / 8)


@pytest.mark.parametrize("interpolation", [Interpolation.TCB, Interpolation.BEZIER, Interpolation.LINEAR])
@pytest.mark.parametrize("wrap", [Wrap.SINGLE, Wrap.LOOP])
@as_read_from_a_file()
def test_cubic_keys_give_the_same_curve(interpolation: Interpolation, wrap: Wrap) -> None:
    rng = np.random.default_rng(3)
    times = np.array([3.0, 1, 4, 9, 9, 12, np.nan])
    track = Track(
        "position",
        times,
        rng.normal(size=(7, 3)),
        interpolation,
        wrap,
        tension=rng.uniform(-1, 1, 7),
        bias=rng.uniform(-1, 1, 7),
        continuity=rng.uniform(-1, 1, 7),
    )
    curve = compile_track(track)
    keys = hermite_columns(gather([track], 3))
    cubic_curve = compile_track(
        Track(
            "position",
            keys.times,
            keys.values,
            Interpolation.CUBIC,
            wrap,
            tangents_in=keys.tangents_in,
            tangents_out=keys.tangents_out,
        )
    )
    sampled = np.linspace(-2, 14, 500)
    np.testing.assert_allclose(cubic_curve(sampled), curve(sampled), rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("times", "values", "at", "wanted"),
    [
        ([0, 10], [0, 10], [-1, 9, 10, 11, 25, -25], [9, 9, 0, 1, 5, 5]),
        ([-10, 10], [-10, 10], [-99, -10, -5, 5, 10, 15], [-10, -10, -5, 5, 0, 5]),
        ([4, 10], [4, 10], [0, 3, 12, 15], [4, 4, 4, 5]),
    ],
    ids=["in both directions", "keys before zero are played once", "a late first key is held before its time"],
)
def test_repeat(times: list[float], values: list[float], at: list[float], wanted: list[float]) -> None:
    np.testing.assert_allclose(compile_track(Track("fov", times, values, wrap=Wrap.REPEAT))(at), wanted)


@settings(max_examples=150 if SLOW else 80)
@given(
    st.lists(st.integers(0, 50), min_size=2, max_size=6),
    st.sampled_from([Wrap.REPEAT, Wrap.LOOP]),
    st.sampled_from([RotationForm.NONE, RotationForm.AXIS_ANGLE_RELATIVE]),
    st.floats(0, 50),
    st.integers(-4, 4),
)
def test_wrapped_tracks_are_periodic(frames: list[int], wrap: Wrap, form: RotationForm, t: float, periods: int) -> None:
    values = np.random.default_rng(sum(frames)).normal(size=(len(frames), 4))
    curve = compile_track(Track("morph", sorted(frames), values, Interpolation.TCB, wrap, form))
    period = max(frames) or 1.0
    t = float(np.round(t * 64)) / 64  # so that adding periods is exact
    if max(frames) > 0:
        np.testing.assert_array_equal(curve.at(t + periods * period), curve.at(t))
    else:
        np.testing.assert_array_equal(curve.at(t), curve.at(0.0))


def test_at_equal_times_the_later_key_is_used() -> None:
    curve = compile_track(Track("fov", [0, 10, 10, 20], [0, 10, 50, 60]))
    np.testing.assert_allclose(curve([10 - 1e-9, 10, 15]), [10, 50, 55], atol=1e-8)


@settings(max_examples=250 if SLOW else 80)
@given(
    st.lists(st.tuples(numbers, *[numbers] * 9), max_size=6),
    st.sampled_from(Interpolation),
    st.sampled_from(Wrap),
    st.sampled_from(RotationForm),
    st.lists(numbers, min_size=1, max_size=6),
)
@as_read_from_a_file()
def test_non_finite_numbers_neither_raise_nor_spread(
    rows: list[tuple[float, ...]],
    interpolation: Interpolation,
    wrap: Wrap,
    form: RotationForm,
    times: list[float],
) -> None:
    table = np.array(rows, dtype=float).reshape(-1, 10)
    if interpolation is Interpolation.CUBIC:
        form = RotationForm.QUATERNION_ABSOLUTE if form is not RotationForm.NONE else form
        shape = {"tangents_in": table[:, 4:8], "tangents_out": table[:, 1:5]}
    else:
        names = ("tension", "continuity", "bias", "ease_to", "ease_from")
        shape = {name: table[:, 5 + i] for i, name in enumerate(names)}
    odd = Track("morph", table[:, 0], table[:, 1:5], interpolation, wrap, form, **shape)
    good_values = [[1, 0, 0, 1.0], [0, 1, 0, 2.0], [0, 0, 1, 1.5]]
    good = Track("morph", [0, 4, 9], good_values, Interpolation.TCB, Wrap.LOOP, odd.form)
    if odd.form is RotationForm.NONE and interpolation is Interpolation.LINEAR:
        good.interpolation = Interpolation.LINEAR
    alone = compile_track(good)(times)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bank = CurveBank([odd, good, odd])
        sampled = bank.evaluate(times)
    values = [sampled[place.family][:, place.slot] for place in bank.places]
    np.testing.assert_array_equal(values[1], alone)
    np.testing.assert_array_equal(values[0], values[2])
    assert np.isfinite(values[0]).all()


def test_frames_beyond_31_bits() -> None:
    curve = compile_track(Track("fov", [0, 2.0**31, 2.0**33], [0, 1, 5]))
    np.testing.assert_allclose(curve([2.0**30, 2.0**32]), [0.5, 1 + 4 / 3])
