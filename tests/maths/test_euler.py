"""Euler angles in all orders, against scipy's intrinsic rotations."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from keyframer.formats.midtown.bridge.scene import quaternions_of
from keyframer.maths import quat
from keyframer.maths.euler import angles_of, continuous_angles_of

RPH = np.random.default_rng(5).uniform(-np.pi, np.pi, (300, 3))

pytestmark = pytest.mark.parametrize("order", ["XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX"])


def in_order(rph: np.ndarray, order: str) -> np.ndarray:
    return rph[..., ["XYZ".index(axis) for axis in order]]


def test_quaternions(order: str) -> None:
    expected = Rotation.from_euler(order, in_order(RPH, order)).as_matrix()
    np.testing.assert_allclose(quat.to_matrix3(quaternions_of(RPH, order)), expected, atol=1e-12)


def test_angles(order: str) -> None:
    rotation = Rotation.from_euler(order, in_order(RPH, order))
    np.testing.assert_allclose(
        in_order(angles_of(rotation.as_quat(), order), order), rotation.as_euler(order), atol=1e-9
    )


@pytest.mark.parametrize("middle", [np.pi / 2, -np.pi / 2])
def test_angles_at_gimbal_lock_still_give_the_rotation(order: str, middle: float) -> None:
    turn = Rotation.from_euler(order, [0.7, middle, -1.9])
    angles = angles_of(turn.as_quat(), order)
    assert in_order(angles, order)[2] == 0
    np.testing.assert_allclose(quat.to_matrix3(quaternions_of(angles[None], order)[0]), turn.as_matrix(), atol=1e-9)


def test_series_of_angles_have_no_jumps(order: str) -> None:
    """The middle angle turns around many times, past the ends of its range, and so do the others."""
    times = np.linspace(0, 20, 1500)
    wanted = np.stack([0.3 + times, 1.7 * times, 2.0 - 0.4 * times], axis=-1)
    turns = Rotation.from_euler(order, wanted)
    angles = in_order(continuous_angles_of(turns.as_quat(), order), order)
    np.testing.assert_allclose(Rotation.from_euler(order, angles).as_matrix(), turns.as_matrix(), atol=1e-9)
    np.testing.assert_allclose(np.diff(angles, axis=0), np.diff(wanted, axis=0), atol=1e-6)


def test_series_through_gimbal_lock_keep_the_last_angle(order: str) -> None:
    """At exactly a quarter turn the last angle says nothing: it stays, and the first one makes up for it."""
    middle = np.concatenate([np.linspace(1.2, np.pi / 2, 9), [np.pi / 2] * 3, np.linspace(np.pi / 2, 2.0, 9)])
    for signs in (1.0, -1.0):
        wanted = signs * np.stack([np.full(21, 0.7), middle, np.full(21, -1.9)], axis=-1)
        series = Rotation.from_euler(order, wanted)
        angles = in_order(continuous_angles_of(series.as_quat(), order), order)
        np.testing.assert_allclose(Rotation.from_euler(order, angles).as_matrix(), series.as_matrix(), atol=1e-8)
        np.testing.assert_allclose(angles[:, 2], signs * -1.9, atol=1e-6)
