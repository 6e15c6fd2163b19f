"""Euler angles, in radians about X, Y and Z. The order ``ZXY`` is the product Z · X · Y for column vectors."""

from __future__ import annotations

import math

import numpy as np

from keyframer.arrays import Floats
from keyframer.maths import quat
from keyframer.maths.trigonometry import arctan2

_GIMBAL_LOCK = 1e-9
"""cosine of the middle angle below which the other two rotate about the same line"""


def angles_of(rotations_xyzw: Floats, order: str) -> Floats:
    """Return (..., 3) angles about X, Y and Z of quaternions.

    The middle angle of the order is in -pi/2..pi/2. At its ends the other two rotate about the same line; the last one
    is then 0.
    """
    m = quat.to_matrix3(rotations_xyzw)
    i, j, k = ("XYZ".index(axis) for axis in order)
    sign = 1.0 if order in ("XYZ", "YZX", "ZXY") else -1.0
    cosine = np.sqrt(m[..., i, i] ** 2 + m[..., i, j] ** 2)
    locked = cosine < _GIMBAL_LOCK
    alone = arctan2(sign * m[..., k, j], m[..., j, j])
    angles = np.empty((*m.shape[:-2], 3))
    angles[..., i] = np.where(locked, alone, arctan2(-sign * m[..., j, k], m[..., k, k]))
    angles[..., j] = arctan2(sign * m[..., i, k], cosine)
    angles[..., k] = np.where(locked, 0.0, arctan2(-sign * m[..., i, j], m[..., i, i]))
    return angles + 0.0  # normalises -0.0


def continuous_angles_of(rotations_xyzw: Floats, order: str) -> Floats:
    """Return (T, ..., 3) angles like `angles_of`, but each set is the one nearest to that of the time before.

    Two sets of angles, and full turns, give the same rotation. Where two axes coincide, the last one keeps its angle.
    """
    angles = angles_of(rotations_xyzw, order)
    i, j, k = ("XYZ".index(axis) for axis in order)
    sign = 1.0 if order in ("XYZ", "YZX", "ZXY") else -1.0
    locked = np.abs(np.cos(angles[..., j])) < _GIMBAL_LOCK
    others = angles + math.pi
    others[..., j] = math.pi - angles[..., j]
    for time in range(1, len(angles)):
        before = angles[time - 1]
        # at the ends of the middle angle only the sum or the difference of the other two matters
        kept = np.where(locked[time], before[..., k], angles[time, ..., k])
        turned = sign * np.sin(angles[time, ..., j]) * (angles[time, ..., k] - kept)
        one = angles[time].copy()
        one[..., i], one[..., k] = one[..., i] + turned, kept
        one, other = (each + math.tau * np.round((before - each) / math.tau) for each in (one, others[time]))
        nearer = np.abs(other - before).sum(axis=-1) < np.abs(one - before).sum(axis=-1)
        angles[time] = np.where(nearer[..., None], other, one)
    return angles
