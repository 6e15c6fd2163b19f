"""Unit quaternions x, y, z, w on the last axis: products, exponentials, matrices, slerp.

`multiply(a, b)` rotates by b first, then by a, like the product of their matrices for column vectors.
Logarithms and exponentials use the half angle: exp(v) rotates by 2|v| about v, so exp and log keep the sign
of a quaternion.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from keyframer.arrays import Floats
from keyframer.maths.trigonometry import arctan2, sine_and_cosine

IDENTITY_XYZW = (0.0, 0.0, 0.0, 1.0)


def multiply(a_xyzw: ArrayLike, b_xyzw: ArrayLike) -> Floats:
    """Return the product a b: first the rotation b, then the rotation a."""
    a, b = _floats(a_xyzw), _floats(b_xyzw)
    ax, ay, az, aw = _parts(a)
    bx, by, bz, bw = _parts(b)
    columns = np.empty((4, *_common_shape(a, b)))
    out = columns.transpose(*range(1, columns.ndim), 0)  # a faster `np.moveaxis`
    out[..., 0] = aw * bx + ax * bw + ay * bz - az * by
    out[..., 1] = aw * by - ax * bz + ay * bw + az * bx
    out[..., 2] = aw * bz + ax * by - ay * bx + az * bw
    out[..., 3] = aw * bw - ax * bx - ay * by - az * bz
    return out


def conjugate(rotation_xyzw: ArrayLike) -> Floats:
    """Return the inverse of a unit quaternion."""
    return np.asarray(_floats(rotation_xyzw) * np.array((-1.0, -1.0, -1.0, 1.0)))


def normalise(rotation_xyzw: ArrayLike) -> Floats:
    """Return unit quaternions of the same direction; zero and NaN become the identity."""
    q = _floats(rotation_xyzw)
    length = length_of(q)[..., None]
    usable = length > 0
    if usable.all():
        return np.asarray(q / length)
    return np.where(usable, q / np.where(usable, length, 1.0), IDENTITY_XYZW)


def continuous(rotations_xyzw: Floats) -> Floats:
    """Return each quaternion of a series (T, 4), or its negative, whichever is nearer to the one before."""
    flips = np.where(np.sum(rotations_xyzw[1:] * rotations_xyzw[:-1], axis=1) < 0, -1.0, 1.0)
    return np.asarray(rotations_xyzw * np.concatenate([[1.0], np.cumprod(flips)])[:, None])


def exp(half_angle_vectors: ArrayLike) -> Floats:
    """Return the quaternion that rotates by 2|v| about v, for vectors v of three components."""
    v = _floats(half_angle_vectors)
    angle = length_of(v)
    sine, cosine = sine_and_cosine(angle)
    factor = np.divide(sine, angle, out=np.ones(angle.shape), where=angle > 0)
    out = np.empty((*v.shape[:-1], 4))
    for i in range(3):
        out[..., i] = v[..., i] * factor
    out[..., 3] = cosine
    return out


def log(rotation_xyzw: ArrayLike) -> Floats:
    """Return the half-angle vector of a unit quaternion, of length 0..pi; zero for (0, 0, 0, -1), which has no axis."""
    q = _floats(rotation_xyzw)
    v = q[..., :3]
    length = length_of(v)
    angle = arctan2(length, q[..., 3])
    factor = np.divide(angle, length, out=np.zeros(length.shape), where=length > 0)
    return np.asarray(v * factor[..., None])


def from_axis_angle(axis: ArrayLike, angle: ArrayLike) -> Floats:
    """Return the rotation by `angle` about `axis`, which may have any length; a zero axis gives the identity."""
    return exp(half_angle_vector(axis, angle))


def half_angle_vector(axis: ArrayLike, angle: ArrayLike) -> Floats:
    """Return half the angle times the unit axis; zero for a zero axis. Unlike `log`, this keeps full turns."""
    v, angles = _floats(axis), _floats(angle)
    length = length_of(v)[..., None]
    unit = np.divide(v, length, out=np.zeros(v.shape), where=length > 0)
    return np.asarray(unit * (0.5 * angles[..., None]))


def to_axis_angle(rotation_xyzw: ArrayLike) -> tuple[Floats, Floats]:
    """Return unit axis and angle in 0..2 pi; the identity gets the axis (0, 0, 1)."""
    half = log(normalise(rotation_xyzw))
    length = np.sqrt(np.sum(half * half, axis=-1))
    usable = (length > 0)[..., None]
    axis = np.where(usable, half / np.where(usable, length[..., None], 1.0), (0.0, 0.0, 1.0))
    return axis, 2.0 * length


def to_matrix3(rotation_xyzw: ArrayLike) -> Floats:
    """Return the 3x3 rotation matrices of unit quaternions, for column vectors."""
    q = _floats(rotation_xyzw)
    out = np.empty((*q.shape[:-1], 3, 3))
    write_matrix3(q, None, out)
    return out


def write_matrix3(rotation_xyzw: Floats, scale: Floats | None, out: Floats) -> None:
    """Write R · S into the upper left of matrices (..., 3 or 4, 3 or 4); S is diag(scale), the identity for None.

    Entries are written one by one, because numpy is slow on axes of length 3.
    """
    x, y, z, w = _parts(rotation_xyzw)
    x2, y2, z2 = x + x, y + y, z + z
    xx, yy, zz = x * x2, y * y2, z * z2
    xy, xz, yz = x * y2, x * z2, y * z2
    wx, wy, wz = w * x2, w * y2, w * z2
    rows = ((1 - (yy + zz), xy - wz, xz + wy), (xy + wz, 1 - (xx + zz), yz - wx), (xz - wy, yz + wx, 1 - (xx + yy)))
    for i, row in enumerate(rows):
        for j, entry in enumerate(row):
            out[..., i, j] = entry if scale is None else entry * scale[..., j]


def from_matrix3(matrix: ArrayLike) -> Floats:
    """Return unit quaternions of rotation matrices, with w >= 0.

    The four rows of 4 q q^T are built from the matrix and the longest is normalised: no division by a small
    number.
    """
    m = _floats(matrix)
    xx, yy, zz = m[..., 0, 0], m[..., 1, 1], m[..., 2, 2]
    xy, yz, zx = m[..., 0, 1] + m[..., 1, 0], m[..., 1, 2] + m[..., 2, 1], m[..., 2, 0] + m[..., 0, 2]
    xw, yw, zw = m[..., 2, 1] - m[..., 1, 2], m[..., 0, 2] - m[..., 2, 0], m[..., 1, 0] - m[..., 0, 1]
    rows = np.stack(
        [
            np.stack([1 + xx - yy - zz, xy, zx, xw], axis=-1),
            np.stack([xy, 1 - xx + yy - zz, yz, yw], axis=-1),
            np.stack([zx, yz, 1 - xx - yy + zz, zw], axis=-1),
            np.stack([xw, yw, zw, 1 + xx + yy + zz], axis=-1),
        ],
        axis=-2,
    )
    best = np.argmax(np.diagonal(rows, axis1=-2, axis2=-1), axis=-1)
    q = np.take_along_axis(rows, best[..., None, None], axis=-2)[..., 0, :]
    return normalise(np.where(q[..., 3:] < 0, -q, q))


def slerp(a_xyzw: ArrayLike, b_xyzw: ArrayLike, u: ArrayLike, shortest: bool = True) -> Floats:
    """Return the rotation at constant speed from a (u = 0) to b (u = 1).

    With `shortest` the nearer of b and -b is used; without it b itself, which may be up to a full turn away.
    """
    a, b = _floats(a_xyzw), _floats(b_xyzw)
    relative = multiply(conjugate(a), b)
    if shortest:
        relative = np.where(relative[..., 3:] < 0, -relative, relative)
    return multiply(a, exp(log(relative) * _floats(u)[..., None]))


def rotate(rotation_xyzw: ArrayLike, vectors: ArrayLike) -> Floats:
    """Return the vectors rotated by the unit quaternions."""
    q, v = _floats(rotation_xyzw), _floats(vectors)
    x, y, z, w = _parts(q)
    vx, vy, vz = v[..., 0], v[..., 1], v[..., 2]
    # v + 2 w (n × v) + 2 n × (n × v) with n = (x, y, z), written out: three times faster than np.cross
    cx, cy, cz = 2 * (y * vz - z * vy), 2 * (z * vx - x * vz), 2 * (x * vy - y * vx)
    out = np.empty((*_common_shape(q, v), 3))
    out[..., 0] = vx + w * cx + y * cz - z * cy
    out[..., 1] = vy + w * cy + z * cx - x * cz
    out[..., 2] = vz + w * cz + x * cy - y * cx
    return out


def _floats(values: ArrayLike) -> Floats:
    return np.asarray(values, dtype=np.float64)


def length_of(v: Floats) -> Floats:
    """Return the lengths of vectors (..., k); numpy sums a short axis much slower than columns."""
    total = v[..., 0] * v[..., 0]
    for i in range(1, v.shape[-1]):
        total = total + v[..., i] * v[..., i]
    return np.asarray(np.sqrt(total))


def _common_shape(a: Floats, b: Floats) -> tuple[int, ...]:
    """Return the shape of results without the last axis; `np.broadcast_shapes` takes as long as ten products."""
    return a.shape[:-1] if a.shape[:-1] == b.shape[:-1] else np.broadcast_shapes(a.shape[:-1], b.shape[:-1])


def _parts(q: Floats) -> tuple[Any, Any, Any, Any]:
    return q[..., 0], q[..., 1], q[..., 2], q[..., 3]
