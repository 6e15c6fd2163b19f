"""Euler angles in all twelve orders, against scipy's intrinsic rotations."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from keyframer.maths import euler, quat

ORDERS = ["XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX", "XYX", "XZX", "YXY", "YZY", "ZXZ", "ZYZ"]
ANGLES = np.random.default_rng(5).uniform(-np.pi, np.pi, (300, 3))


@pytest.mark.parametrize("order", ORDERS)
def test_matrices_and_quaternions(order: str) -> None:
    expected = Rotation.from_euler(order, ANGLES).as_matrix()
    np.testing.assert_allclose(euler.to_matrix3(ANGLES, order), expected, atol=1e-12)
    np.testing.assert_allclose(quat.to_matrix3(euler.to_quaternion(ANGLES, order)), expected, atol=1e-12)


@pytest.mark.parametrize("order", ORDERS)
def test_angles_back(order: str) -> None:
    rotation = Rotation.from_euler(order, ANGLES)
    expected = rotation.as_euler(order)
    np.testing.assert_allclose(euler.from_matrix3(rotation.as_matrix(), order), expected, atol=1e-9)
    np.testing.assert_allclose(euler.from_quaternion(rotation.as_quat(), order), expected, atol=1e-9)


@pytest.mark.parametrize("order", ORDERS)
def test_angles_at_gimbal_lock_still_give_the_rotation(order: str) -> None:
    middles = [0, np.pi] if order[0] == order[2] else [np.pi / 2, -np.pi / 2]
    for middle in middles:
        matrix = euler.to_matrix3([0.7, middle, -1.9], order)
        angles = euler.from_matrix3(matrix, order)
        assert angles[2] == 0
        np.testing.assert_allclose(euler.to_matrix3(angles, order), matrix, atol=1e-9)


def test_an_order_is_the_product_left_to_right() -> None:
    turns = ((1, 0.3), (2, 0.5), (0, 0.9))
    y, z, x = (quat.to_matrix3(quat.from_axis_angle(np.eye(3)[axis], angle)) for axis, angle in turns)
    np.testing.assert_allclose(euler.to_matrix3([0.3, 0.5, 0.9], "YZX"), y @ z @ x, atol=1e-15)


@pytest.mark.parametrize("order", ["XY", "XXY", "XYW", "xyz", "XYZX", "XYY"])
def test_invalid_orders_are_refused(order: str) -> None:
    with pytest.raises(ValueError, match="not an order of three axes"):
        euler.to_matrix3([0, 0, 0], order)
