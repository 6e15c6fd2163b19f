"""Roll, pitch and heading in all orders, against scipy's intrinsic rotations."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from keyframer.formats.midtown.bridge.scene import angles_of, quaternions_of
from keyframer.maths import quat

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
