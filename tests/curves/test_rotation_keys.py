"""Rotation keys: many turns about one axis follow the scalar spline of the angle."""

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


@pytest.mark.parametrize("degrees", [200, 240, 300, 359.9, 360, 361, 540, 720, 999, 1000, -540, -1000])
@pytest.mark.parametrize("where", [2, 3])
def test_many_turns_equal_the_scalar_spline(degrees: float, where: int) -> None:
    increments = [25.0, 60.0, -40.0, 80.0, 30.0]
    increments[where] = degrees
    rotation = compile_track(turning(increments, TIMES, **SHAPE))
    angle = compile_track(
        Track("roll", TIMES, np.cumsum(np.radians(increments)), interpolation=Interpolation.TCB, **SHAPE)
    )
    # interior segments: the ends of vectors and of rotations have different rules
    times = np.linspace(TIMES[1], TIMES[3], 4000)
    angles = angle_about_axis(rotation(times))
    expected = angle(times)
    np.testing.assert_allclose(angles - angles[0], expected - expected[0], rtol=0, atol=1e-9)


@pytest.mark.parametrize("degrees", [200, 360, 540, 720, 1000, -720])
@pytest.mark.parametrize("tension", [0.0, 0.5, -1.0, 1.0])
def test_end_segments_use_their_only_difference_twice(degrees: float, tension: float) -> None:
    track = turning([10, degrees], np.array([0.0, 10.0]), tension=[tension, 0], continuity=[0.5, 0], bias=[0.4, 0])
    u = np.linspace(0, 0.999, 3000)
    angles = angle_about_axis(compile_track(track)(10 * u))
    whole = np.radians(degrees)
    start, end = (1 - tension) * (1 + 0.5 * 0.4) * whole, whole
    cubic = start * u + (3 * whole - 2 * start - end) * u**2 + (start + end - 2 * whole) * u**3
    np.testing.assert_allclose(angles, np.radians(10) + cubic, rtol=0, atol=1e-9)


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
