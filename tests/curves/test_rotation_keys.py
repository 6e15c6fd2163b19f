"""Rotation keys: about one axis, the rules for rotations are formulas for the angle."""

from __future__ import annotations

import numpy as np
import pytest

from keyframer.curves import Interpolation, RotationForm, Track, Wrap, compile_track
from keyframer.maths import quat

AXIS = np.array([2.0, -1.0, 2.0]) / 3
TIMES = np.array([0.0, 7.0, 25.0, 40.0, 52.0])
SHAPE = {
    "tension": [0.1, 0.2, -0.4, 0.3, 0],
    "continuity": [0, 0.3, -0.2, 0, 0],
    "bias": [0, -0.5, 0.4, 0, 0],
}


def angle_about_axis(rotation_xyzw: np.ndarray) -> np.ndarray:
    """The angle of rotations about AXIS, unwrapped over full turns."""
    half = np.arctan2(rotation_xyzw[:, :3] @ AXIS, rotation_xyzw[:, 3])
    return 2 * np.unwrap(half, period=2 * np.pi)


def turning(degrees: list[float], times: np.ndarray, **columns: object) -> Track:
    values = np.column_stack([np.tile(AXIS * 4, (len(degrees), 1)), np.radians(degrees)])
    return Track(
        "rotation",
        times,
        values,
        interpolation=columns.pop("interpolation", Interpolation.TCB),  # type: ignore[arg-type]
        form=RotationForm.AXIS_ANGLE_RELATIVE,
        **columns,  # type: ignore[arg-type]
    )


def short_way(turn: float) -> float:
    """The turn as tangents see it."""
    if abs(turn) >= 2 * np.pi - 2e-5:
        return float(np.sign(turn) * np.pi)
    return float(turn - np.sign(turn) * 2 * np.pi) if abs(turn) > np.pi + 1e-6 else turn


def tangent_exponents(j: int, turns: list[float]) -> tuple[float, float]:
    """b and a of key j: how far the control points before and after it are from the key."""
    p, t, n = TIMES[j - 1 : j + 2]
    tension, continuity, bias = SHAPE["tension"][j], SHAPE["continuity"][j], SHAPE["bias"][j]
    h, c, m = (n - p) / 2, abs(continuity), (1 - tension) / 2
    fp, fn = (t - p) / h, (n - t) / h
    fp, fn = fp + c - c * fp, fn + c - c * fn
    back, ahead = short_way(turns[j]), short_way(turns[j + 1])
    kdm, kdp = m * (1 + continuity) * (1 + bias) * fn, m * (1 - continuity) * (1 - bias) * fn - 1
    ksm, ksp = 1 - m * (1 - continuity) * (1 + bias) * fp, -m * (1 + continuity) * (1 - bias) * fp
    return (ksm * back + ksp * ahead) / 2, (kdm * back + kdp * ahead) / 2


def coaxial_squad(turn: float, a: float, b: float, u: np.ndarray) -> np.ndarray:
    """The angle in a segment: of rotations about one axis the logarithms are sums."""
    return u * turn + 2 * u * (1 - u) * (a + u * (b - a))


def segment_angle(turn: float, a: float, b: float, u: np.ndarray) -> np.ndarray:
    if abs(turn) < 2 * np.pi - 2e-5:
        return coaxial_squad(turn, a, b, u)
    half = float(np.sign(turn) * np.pi)
    s = u * turn / half
    v = s + 1 - turn / half
    first, last = coaxial_squad(half, a, 0, s), turn - half + coaxial_squad(half, 0, b, v)
    return np.where(v > 0, last, np.where(s < 1, first, u * turn))


@pytest.mark.parametrize("degrees", [179, 180, 181, 200, 271, 300, 359.9, 360, 361, 540, 720, 999, 60000, -271, -540])
@pytest.mark.parametrize("where", [1, 2, 3])
def test_long_turns_keep_their_way_and_tangents_take_the_short_way(degrees: float, where: int) -> None:
    increments = [25.0, 60.0, -40.0, 80.0, 30.0]
    increments[where] = degrees
    rotation = compile_track(turning(increments, TIMES, **SHAPE))
    turns = np.radians(increments).tolist()
    u = np.linspace(0, 1, 30_000, endpoint=False)  # angles must be unwrapped
    for j in (1, 2):  # interior segments; ends are tested below
        expected = segment_angle(turns[j + 1], tangent_exponents(j, turns)[1], tangent_exponents(j + 1, turns)[0], u)
        angles = angle_about_axis(rotation(TIMES[j] + u * (TIMES[j + 1] - TIMES[j])))
        np.testing.assert_allclose(angles - angles[0], expected, rtol=0, atol=1e-9)


def test_a_half_turn_in_single_precision_is_no_long_way() -> None:
    """Real files have many: the number is 8.7e-8 above pi."""
    single = np.degrees(np.float64(np.float32(np.pi)))
    exact, stored = (turning([0, 180, 30], TIMES[:3]), turning([0, single, 30], TIMES[:3]))
    times = np.linspace(0, TIMES[2], 100)
    np.testing.assert_allclose(compile_track(stored)(times), compile_track(exact)(times), rtol=0, atol=1e-6)


@pytest.mark.parametrize("degrees", [100, 200, 360, 540, 720, 1000, -720])
@pytest.mark.parametrize("tension", [0.0, 0.5, -1.0, 1.0])
def test_end_segments_use_their_only_difference_twice(degrees: float, tension: float) -> None:
    track = turning([10, degrees], np.array([0.0, 10.0]), tension=[tension, 0], continuity=[0.5, 0], bias=[0.4, 0])
    u = np.linspace(0, 0.999, 3000)
    angles = angle_about_axis(compile_track(track)(10 * u))
    whole = float(np.radians(degrees))
    # 1.2 = 1 + 0.5 x 0.4: the sum of the two weights; tangents of the last key are the difference itself
    a = ((1 - tension) * 1.2 - 1) / 2 * short_way(whole)
    np.testing.assert_allclose(angles, np.radians(10) + segment_angle(whole, a, 0, u), rtol=0, atol=1e-9)


@pytest.mark.parametrize("degrees", [90, 180, 270, 360, 540, 3600, -3600])
def test_linear_rotations_have_constant_speed(degrees: float) -> None:
    track = turning([0, degrees], np.array([0.0, 1.0]), interpolation=Interpolation.LINEAR)
    u = np.linspace(0, 0.9999, 5000)
    angles = angle_about_axis(compile_track(track)(u))
    np.testing.assert_allclose(angles, np.radians(degrees) * u, rtol=0, atol=1e-9)


def test_increments_are_multiplied_on_the_left() -> None:
    quarter = np.pi / 2
    track = Track(
        "rotation",
        [0, 1],
        [[0, 0, 1, quarter], [1, 0, 0, quarter]],
        form=RotationForm.AXIS_ANGLE_RELATIVE,
    )
    # Z first turns x to y, then X turns y to z
    np.testing.assert_allclose(quat.rotate(compile_track(track).at(1), [1.0, 0, 0]), [0, 0, 1], atol=1e-15)


def test_smooth_between_small_turns() -> None:
    """Successive rotations of less than 180 degrees: no branch may flip, and the speed stays bounded."""
    rng = np.random.default_rng(7)
    for _ in range(20):
        values = np.column_stack([rng.normal(size=(8, 3)), rng.uniform(-np.pi, np.pi, 8)])
        track = Track(
            "rotation",
            np.arange(8.0),
            values,
            interpolation=Interpolation.TCB,
            form=RotationForm.AXIS_ANGLE_RELATIVE,
        )
        samples = compile_track(track)(np.linspace(0, 7, 7001))
        steps = np.abs(np.diff(samples, axis=0)).max()
        assert steps < 0.02


def test_absolute_quaternions_take_the_shortest_way() -> None:
    keys = quat.from_axis_angle([0.0, 0, 1], np.radians([0, 170, 340]))
    track = Track("rotation", [0, 1, 2], keys * [[1], [-1], [1]], form=RotationForm.QUATERNION_ABSOLUTE)
    _, angles = quat.to_axis_angle(compile_track(track)([0.5, 1.5]))
    np.testing.assert_allclose(np.degrees(angles), [85, 360 - 105], atol=1e-9)


def test_relative_quaternions_keep_their_angle() -> None:
    track = Track(
        "rotation",
        [0, 1],
        quat.from_axis_angle([0.0, 0, 1], np.radians([0, 300])),
        form=RotationForm.QUATERNION_RELATIVE,
    )
    axis, angle = quat.to_axis_angle(compile_track(track).at(0.5))
    np.testing.assert_allclose(axis, [0, 0, 1], atol=1e-12)
    assert np.degrees(angle) == pytest.approx(150)


def test_a_closed_loop_is_smooth_at_the_seam() -> None:
    values = np.array([[0, 0, 1, 0.0], [0, 0, 1, 2.0], [1, 1, 0, 1.5], [0, 0, 0, 0]])
    rotations = compile_track(Track("rotation", [0, 1, 2, 3], values, form=RotationForm.AXIS_ANGLE_RELATIVE))(
        np.array([0.0, 1, 2])
    )
    # the last increment leads back to the first key
    axis, angle = quat.to_axis_angle(quat.multiply(rotations[0], quat.conjugate(rotations[2])))
    values[3] = [*axis, angle]
    curve = compile_track(
        Track(
            "rotation",
            [0, 1, 2, 3],
            values,
            interpolation=Interpolation.TCB,
            wrap=Wrap.LOOP,
            form=RotationForm.AXIS_ANGLE_RELATIVE,
        )
    )
    h = 1e-6
    before, at, after = quat.to_matrix3(curve(np.array([3 - h, 3.0, 3 + h])))
    np.testing.assert_allclose((at - before) / h, (after - at) / h, atol=1e-4)


def test_ten_thousand_small_rotations_stay_normalised_and_end_right() -> None:
    track = turning([0.1] * 10_000, np.arange(10_000.0), interpolation=Interpolation.LINEAR)
    last = compile_track(track).at(1e9)
    np.testing.assert_allclose(last, quat.from_axis_angle(AXIS, np.radians(1000.0)), atol=1e-11)
