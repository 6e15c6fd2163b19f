"""Euler angles in any order of three axes, to and from matrices and quaternions.

An order such as "YZX" is the product read left to right for column vectors, R = Ry(angle 0) · Rz(angle 1) ·
Rx(angle 2): the X turn happens first, and `angles[..., i]` belongs to `order[i]`. An invalid order raises ValueError.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from keyframer.arrays import Floats

from . import quat

# Gimbal lock: below this cosine (or sine) of the middle angle, the first and last angle rotate about the same line. The
# last angle is then set to zero.
_LOCKED = 1e-9


def to_quaternion(angles: ArrayLike, order: str) -> Floats:
    """Return rotation_xyzw of angles (..., 3) in radians."""
    first, middle, last = _axes(order)
    values = np.asarray(angles, dtype=np.float64)
    unit = np.eye(3)
    turns = [quat.from_axis_angle(unit[axis], values[..., i]) for i, axis in enumerate((first, middle, last))]
    return quat.multiply(quat.multiply(turns[0], turns[1]), turns[2])


def to_matrix3(angles: ArrayLike, order: str) -> Floats:
    """Return 3x3 matrices of angles (..., 3) in radians."""
    return quat.to_matrix3(to_quaternion(angles, order))


def from_quaternion(rotation_xyzw: ArrayLike, order: str) -> Floats:
    """Return angles (..., 3) in radians of unit quaternions; see `from_matrix3`."""
    return from_matrix3(quat.to_matrix3(rotation_xyzw), order)


def from_matrix3(matrix: ArrayLike, order: str) -> Floats:
    """Return angles (..., 3) in radians of rotation matrices.

    The middle angle is in -pi/2..pi/2 (0..pi if the first and last axis are the same, as in "ZXZ"), the outer ones in
    -pi..pi.
    """
    i, j, k = _axes(order)
    m = np.asarray(matrix, dtype=np.float64)
    out = np.empty((*m.shape[:-2], 3))
    if i == k:
        k = 3 - i - j
        sign = _parity(i, j, k)
        sine = np.hypot(m[..., j, i], m[..., k, i])
        out[..., 0] = np.arctan2(m[..., j, i], -sign * m[..., k, i])
        out[..., 1] = np.arctan2(sine, m[..., i, i])
        out[..., 2] = np.arctan2(m[..., i, j], sign * m[..., i, k])
        locked = sine < _LOCKED
    else:
        sign = _parity(i, j, k)
        cosine = np.hypot(m[..., i, i], m[..., i, j])
        out[..., 0] = np.arctan2(-sign * m[..., j, k], m[..., k, k])
        out[..., 1] = np.arctan2(sign * m[..., i, k], cosine)
        out[..., 2] = np.arctan2(-sign * m[..., i, j], m[..., i, i])
        locked = cosine < _LOCKED
    alone = np.arctan2(sign * m[..., k, j], m[..., j, j])  # the first angle if the last is zero
    out[..., 0] = np.where(locked, alone, out[..., 0])
    out[..., 2] = np.where(locked, 0.0, out[..., 2])
    return out


def _axes(order: str) -> tuple[int, int, int]:
    axes = tuple("XYZ".find(letter) for letter in order)
    if len(axes) != 3 or -1 in axes or axes[0] == axes[1] or axes[1] == axes[2]:
        raise ValueError(f"not an order of three axes: {order!r}; expected an order such as 'YZX' or 'ZXZ'")
    return axes[0], axes[1], axes[2]


def _parity(i: int, j: int, k: int) -> float:
    return 1.0 if (i, j, k) in ((0, 1, 2), (1, 2, 0), (2, 0, 1)) else -1.0
