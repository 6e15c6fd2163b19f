"""4x4 affine matrices for column vectors: compose, decompose, invert, apply, look at.

A matrix maps a point as m · (x, y, z, 1). If `child` maps to the space of its parent and `parent` to the world,
`multiply(parent, child)` maps from the child to the world.

Sums are written out: the last bits of `@`, `np.einsum` and `np.linalg` depend on the processor and on the build of
numpy, and files must have the same bytes everywhere.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from keyframer.arrays import Floats
from keyframer.maths.trigonometry import sine_and_cosine

from . import quat


def compose(
    translation: ArrayLike,
    rotation_xyzw: ArrayLike,
    scale: ArrayLike,
    scale_axes_xyzw: ArrayLike | None = None,
) -> Floats:
    """Return the matrices T · R · S; with scale axes Q the scale acts along rotated axes, S = Q diag(s) Q^-1."""
    t = np.asarray(translation, dtype=np.float64)
    s = np.asarray(scale, dtype=np.float64)
    q = np.asarray(rotation_xyzw, dtype=np.float64)
    shapes = {t.shape[:-1], q.shape[:-1], s.shape[:-1]}
    if scale_axes_xyzw is not None:
        axes = quat.to_matrix3(scale_axes_xyzw)
        linear = multiply(multiply(quat.to_matrix3(q), axes * s[..., None, :]), np.swapaxes(axes, -1, -2))
        shapes.add(linear.shape[:-2])
    out = np.zeros((*(shapes.pop() if len(shapes) == 1 else np.broadcast_shapes(*shapes)), 4, 4))
    if scale_axes_xyzw is None:
        quat.write_matrix3(q, s, out)
    else:
        out[..., :3, :3] = linear
    out[..., :3, 3] = t
    out[..., 3, 3] = 1.0
    return out


def decompose(matrix: ArrayLike) -> tuple[Floats, Floats, Floats]:
    """Return translation, rotation_xyzw and scale of T · R · S, without shear (`decompose_sheared` keeps it).

    The axes are made orthogonal in the order x, y, z. A mirrored matrix gets a negative x scale. An axis that is
    zero, or depends linearly on the axes before it, gets scale 0 and a direction that completes the frame.
    """
    m = np.asarray(matrix, dtype=np.float64)
    frame, scale = _frame(m[..., :3, :3])
    return m[..., :3, 3].copy(), quat.from_matrix3(frame), scale


def _frame(linear: Floats) -> tuple[Floats, Floats]:
    """Return rotation matrix and scale of matrices (..., 3, 3), as `decompose` describes them."""
    a, b, c = linear[..., 0], linear[..., 1], linear[..., 2]
    x = _first_direction(a, cross(b, c), _perpendicular(b), _perpendicular(c), np.array((1.0, 0.0, 0.0)))
    across_x = b - _dot(b, x) * x
    across_x = np.where(
        _norm(across_x) <= 1e-12 * _norm(b), 0.0, across_x
    )  # b parallel to x: only rounding errors left
    y = _first_direction(across_x, cross(c, x), _perpendicular(x))
    z = cross(x, y)
    z_length = _dot(c, z)
    mirrored = z_length < 0  # x and z are negated together, so that y = z × x stays the same
    sign = np.where(mirrored, -1.0, 1.0)
    rotation = np.stack([x * sign, y, z * sign], axis=-1)
    return rotation, np.concatenate([_norm(a) * sign, _norm(across_x), np.abs(z_length)], axis=-1)


def decompose_sheared(matrix: ArrayLike) -> tuple[Floats, Floats, Floats, Floats]:
    """Return translation, rotation_xyzw, scale and scale_axes_xyzw of T · R · Q diag(s) Q^-1, a form that every
    affine matrix has.

    R comes from the polar decomposition. A mirrored matrix gets three negative scales.
    """
    m = np.asarray(matrix, dtype=np.float64)
    sized, axes = _orthogonal_columns(m[..., :3, :3])
    frame, scale = _frame(sized)
    sign = np.where(scale[..., :1] < 0, -1.0, 1.0)  # -1 for a mirrored matrix, whose frame has x mirrored
    frame[..., 1:] *= sign[..., None]
    rotation = multiply(frame, np.swapaxes(axes, -1, -2))
    return m[..., :3, 3].copy(), quat.from_matrix3(rotation), np.abs(scale) * sign, quat.from_matrix3(axes)


def _orthogonal_columns(matrix: Floats) -> tuple[Floats, Floats]:
    """Return m · V and V for matrices m (..., 3, 3), with the rotation V that makes the columns of m · V orthogonal.

    This is the one-sided method of Jacobi: pairs of columns are turned until all are orthogonal.
    """
    columns = [matrix[..., i].copy() for i in range(3)]
    axes = [np.broadcast_to(axis, columns[0].shape).copy() for axis in np.eye(3)]
    for _ in range(_MOST_SWEEPS):
        turned = False
        for i, j in ((0, 1), (0, 2), (1, 2)):
            a, b = columns[i], columns[j]
            aa, bb, ab = _dot(a, a), _dot(b, b), _dot(a, b)
            oblique = np.abs(ab) > 1e-15 * np.sqrt(aa * bb)
            if not oblique.any():
                continue
            turned = True
            ratio = (bb - aa) / np.where(oblique, 2 * ab, 1.0)
            tangent = np.where(ratio < 0, -1.0, 1.0) / (np.abs(ratio) + np.sqrt(1 + ratio * ratio))
            tangent = np.where(oblique, tangent, 0.0)
            cosine = 1 / np.sqrt(1 + tangent * tangent)
            sine = tangent * cosine
            for vectors in (columns, axes):
                a, b = vectors[i], vectors[j]
                vectors[i], vectors[j] = cosine * a - sine * b, sine * a + cosine * b
        if not turned:
            break
    return np.stack(columns, axis=-1), np.stack(axes, axis=-1)


_MOST_SWEEPS = 30
"""of the columns of a matrix; four to six are usual"""


def decompose_with_axes(
    matrix: ArrayLike, rounding: float = 1e-6, smallest: float = 0.0
) -> tuple[Floats, Floats, Floats, Floats, NDArray[np.bool_]]:
    """Return translation, rotation_xyzw, scale, scale_axes_xyzw, and which matrices (...,) need scale axes.

    The result is that of `decompose`, with identity axes, or that of `decompose_sheared` if the matrix has shear.
    Deviations up to `rounding` times the largest absolute entry of the 3x3 part, or times `smallest` if that is larger,
    are not treated as shear.
    """
    m = np.asarray(matrix, dtype=np.float64)
    position, rotation, scale = decompose(m)
    linear = m[..., :3, :3]
    error = np.abs(compose(position, rotation, scale)[..., :3, :3] - linear).max(axis=(-1, -2), initial=0.0)
    sheared = error > rounding * np.abs(linear).max(axis=(-1, -2), initial=smallest)
    axes = np.broadcast_to(quat.IDENTITY_XYZW, rotation.shape).copy()
    if sheared.any():
        _, rotation[sheared], scale[sheared], axes[sheared] = decompose_sheared(m[sheared])
    return position, rotation, scale, axes, sheared


def multiply(parent: ArrayLike, child: ArrayLike) -> Floats:
    """Return the products parent · child of matrices (..., n, m) and (..., m, k)."""
    a, b = np.asarray(parent, np.float64), np.asarray(child, np.float64)
    dimensions = max(a.ndim, b.ndim)
    a, b = (m.reshape((1,) * (dimensions - m.ndim) + m.shape) for m in (a, b))
    if max(a.size, b.size) < _MANY:  # entries first: numpy is slow on short last axes
        entries_first = dimensions - 2, dimensions - 1, *range(dimensions - 2)
        a, b = a.transpose(entries_first).copy(), b.transpose(entries_first).copy()
        product: Floats = a[:, 0, None] * b[None, 0]
        for k in range(1, len(b)):
            product += a[:, k, None] * b[None, k]
        return product.transpose(*range(2, dimensions), 0, 1).copy()
    # one contiguous array for each entry, which stays in the cache
    rows = [[np.ascontiguousarray(a[..., i, k]) for k in range(a.shape[-1])] for i in range(a.shape[-2])]
    out = np.empty((*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), a.shape[-2], b.shape[-1]))
    for j in range(b.shape[-1]):
        column = [np.ascontiguousarray(b[..., k, j]) for k in range(b.shape[-2])]
        for i, row in enumerate(rows):
            total = row[0] * column[0]
            for left, right in zip(row[1:], column[1:], strict=True):
                total += left * right
            out[..., i, j] = total
    return out


_MANY = 50_000
"""numbers, from which on one product of all entries exceeds the cache"""


def determinant(matrix: ArrayLike) -> Floats:
    """Return the determinants of the 3x3 parts of matrices."""
    m = np.asarray(matrix, dtype=np.float64)
    return _dot(m[..., 0, :3], cross(m[..., 1, :3], m[..., 2, :3]))[..., 0]


def inverse(matrix: ArrayLike) -> Floats:
    """Return the inverse of an affine matrix; for a singular one (a flattened object) the 3x3 part is zero."""
    m = np.asarray(matrix, dtype=np.float64)
    a, b, c = m[..., 0, :3], m[..., 1, :3], m[..., 2, :3]
    cofactors = np.empty((*m.shape[:-2], 3, 3))
    for column, (left, right) in enumerate(((b, c), (c, a), (a, b))):
        cofactors[..., column] = cross(left, right)
    size = _dot(a, cofactors[..., :, 0])[..., None]
    usable = size != 0
    linear = np.where(usable, cofactors / np.where(usable, size, 1.0), 0.0)
    out = np.zeros(m.shape)
    out[..., :3, :3] = linear
    out[..., :3, 3] = -multiply(linear, m[..., :3, 3:])[..., 0]
    out[..., 3, 3] = 1.0
    return out


def transform_points(matrix: ArrayLike, points: ArrayLike) -> Floats:
    """Return points (..., n, 3) transformed by matrices (..., 4, 4)."""
    return _transform(matrix, points, 4)


def transform_vectors(matrix: ArrayLike, vectors: ArrayLike) -> Floats:
    """Return directions (..., n, 3) rotated and scaled by matrices (..., 4, 4), without translation."""
    return _transform(matrix, vectors, 3)


def _transform(matrix: ArrayLike, vectors: ArrayLike, column_count: int) -> Floats:
    m, v = np.asarray(matrix, dtype=np.float64), np.asarray(vectors, np.float64)
    m = m.reshape((1,) * (v.ndim - m.ndim) + m.shape)
    # components first: numpy is slow on a last axis of length 3
    columns = m.transpose(m.ndim - 1, m.ndim - 2, *range(m.ndim - 2))[:column_count, :3, ..., None]
    x, y, z = v.transpose(v.ndim - 1, *range(v.ndim - 1)).copy()
    out: Floats = columns[0] * x
    out += columns[1] * y
    out += columns[2] * z
    if column_count > 3:
        out += columns[3]
    return out.transpose(*range(1, out.ndim), 0).copy()


def transform_each(matrices: Floats, points: Floats) -> Floats:
    """Return points (n, 3), each transformed by its own matrix (n, 4, 4)."""
    return transform_points(matrices, points[:, None])[:, 0]


def look_at(
    position: ArrayLike,
    target: ArrayLike,
    up: ArrayLike = (0.0, 0.0, 1.0),
    roll: ArrayLike = 0.0,
    fallback_up: ArrayLike = (0.0, 1.0, 0.0),
) -> Floats:
    """Return the frame of a camera: X right, Y up, viewing along -Z from position to target.

    `fallback_up` is used if the line of sight is parallel to `up`. A positive roll turns the camera
    right-handed about its own Z, so the picture turns clockwise. Without a line of sight (position =
    target) the camera looks along -`up`, as if from above.
    """
    eye = np.asarray(position, dtype=np.float64)
    main_up, other_up = np.asarray(up, dtype=np.float64), np.asarray(fallback_up, dtype=np.float64)
    back = _first_direction(eye - np.asarray(target, dtype=np.float64), main_up)
    across = cross(main_up, back)
    # 1e-9 of the lengths involved: closer to parallel than float32 positions can express
    parallel = _norm(across) <= 1e-9 * _norm(main_up)
    right = _first_direction(np.where(parallel, cross(other_up, back), across), _perpendicular(back))
    top = cross(back, right)
    angle = np.asarray(roll, dtype=np.float64)[..., None]
    sine, cosine = sine_and_cosine(angle)
    x, y = cosine * right + sine * top, cosine * top - sine * right
    columns = np.stack(np.broadcast_arrays(x, y, back), axis=-1)
    out = np.zeros((*np.broadcast_shapes(columns.shape[:-2], eye.shape[:-1]), 4, 4))
    out[..., :3, :3] = columns
    out[..., :3, 3] = eye
    out[..., 3, 3] = 1.0
    return out


def cross(a: ArrayLike, b: ArrayLike) -> Floats:
    """Return the cross products of vectors (..., 3), with the bits of `np.cross`, which is nine times as slow for a few
    vectors."""
    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    (ax, ay, az), (bx, by, bz) = ((v[..., 0], v[..., 1], v[..., 2]) for v in (a, b))
    out = np.empty(np.broadcast_shapes(a.shape, b.shape))
    out[..., 0] = ay * bz - az * by
    out[..., 1] = az * bx - ax * bz
    out[..., 2] = ax * by - ay * bx
    return out


def _dot(a: Floats, b: Floats) -> Floats:
    return np.asarray(np.sum(a * b, axis=-1, keepdims=True))


def _norm(v: Floats) -> Floats:
    return np.sqrt(_dot(v, v))


def _first_direction(*candidates: Floats) -> Floats:
    """Return unit vectors along the first candidate that is not zero; the last must not be zero."""
    chosen = candidates[-1]
    for candidate in reversed(candidates[:-1]):
        chosen = np.where(_norm(candidate) > 0, candidate, chosen)
    return np.asarray(chosen / _norm(chosen))


def _perpendicular(v: Floats) -> Floats:
    """Return a vector perpendicular to v and to the coordinate axis that v is farthest from; zero if v is zero."""
    axis = np.eye(3)[np.argmin(np.abs(v), axis=-1)]
    return np.asarray(cross(v, axis))
