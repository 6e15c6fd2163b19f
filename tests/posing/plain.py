"""Poses in plain Python: lists of floats, one node and one time after the other, written from the formulas alone.

Nothing of keyframer.posing, keyframer.maths or numpy is used; curves come from the slow evaluator of reference curves.
"""

from __future__ import annotations

import math

from tests.reference_curves.slow import Quaternion, SlowTrack, Vector, evaluate

Matrix = list[list[float]]

NO_TURN = [0.0, 0.0, 0.0, 1.0]


def identity() -> Matrix:
    return [[float(i == j) for j in range(4)] for i in range(4)]


def product(a: Matrix, b: Matrix) -> Matrix:
    return [[sum(a[i][k] * b[k][j] for k in range(4)) for j in range(4)] for i in range(4)]


def translation(v: Vector) -> Matrix:
    out = identity()
    for i in range(3):
        out[i][3] = v[i]
    return out


def scaling(v: Vector) -> Matrix:
    out = identity()
    for i in range(3):
        out[i][i] = v[i]
    return out


def rotation(q: Quaternion) -> Matrix:
    x, y, z, w = q
    out = identity()
    out[0][:3] = [w * w + x * x - y * y - z * z, 2 * (x * y - w * z), 2 * (x * z + w * y)]
    out[1][:3] = [2 * (x * y + w * z), w * w - x * x + y * y - z * z, 2 * (y * z - w * x)]
    out[2][:3] = [2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z]
    return out


def turn(axis: Vector, angle: float) -> Matrix:
    length = math.sqrt(sum(x * x for x in axis))
    s = math.sin(angle / 2) / length
    return rotation([axis[0] * s, axis[1] * s, axis[2] * s, math.cos(angle / 2)])


def local(
    frame: float,
    position: SlowTrack | None = None,
    turning: SlowTrack | None = None,
    scale: SlowTrack | None = None,
) -> Matrix:
    """T . R . S of the tracks at a frame; a missing track is the identity."""
    place = [0.0, 0.0, 0.0] if position is None else evaluate(position, frame, [0.0, 0.0, 0.0])
    q = NO_TURN if turning is None else evaluate(turning, frame, NO_TURN)
    size = [1.0, 1.0, 1.0] if scale is None else evaluate(scale, frame, [1.0, 1.0, 1.0])
    return product(product(translation(place), rotation(q)), scaling(size))


def transform_point(matrix: Matrix, point: Vector) -> Vector:
    return [sum(matrix[i][k] * point[k] for k in range(3)) + matrix[i][3] for i in range(3)]


def inverse(matrix: Matrix) -> Matrix:
    """Gauss-Jordan elimination."""
    rows = [list(row) + identity()[i] for i, row in enumerate(matrix)]
    for i in range(4):
        best = max(range(i, 4), key=lambda k: abs(rows[k][i]))
        rows[i], rows[best] = rows[best], rows[i]
        rows[i] = [x / rows[i][i] for x in rows[i]]
        for k in range(4):
            if k != i:
                rows[k] = [x - rows[k][i] * y for x, y in zip(rows[k], rows[i], strict=True)]
    return [row[4:] for row in rows]


def cross(a: Vector, b: Vector) -> Vector:
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def unit(v: Vector) -> Vector:
    length = math.sqrt(sum(x * x for x in v))
    return [x / length for x in v]


def look_at(eye: Vector, goal: Vector, roll_degrees: float) -> Matrix:
    """X right, Y up, along -Z from eye to goal, Z is up in the world (Y where the line of sight is vertical).

    Then a roll: about Z, which points backwards, by the degrees with their sign changed.
    """
    back = unit([a - b for a, b in zip(eye, goal, strict=True)])
    up = [0.0, 0.0, 1.0] if abs(back[0]) + abs(back[1]) > 1e-9 else [0.0, 1.0, 0.0]
    right = unit(cross(up, back))
    columns = [right, cross(back, right), back]
    frame = identity()
    for j in range(3):
        for i in range(3):
            frame[i][j] = columns[j][i]
    about_z = turn([0.0, 0.0, 1.0], math.radians(-roll_degrees))
    return product(product(translation(eye), frame), about_z)
