"""Rotations as readable curves: the angle about each axis in degrees, without jumps."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from keyframer.maths import quat

Floats = npt.NDArray[np.float64]

_TURN = 2 * math.pi


def rotation_vectors_degrees(rotation_xyzw: npt.ArrayLike, before_degrees: npt.ArrayLike | None = None) -> Floats:
    """Return axis times angle in degrees, (n, 3), for consecutive rotations.

    Two full turns about x rise to 720: of all vectors for the same rotation, the one nearest to the previous vector is
    used. ``before_degrees`` is the vector before the first rotation.
    """
    halves = quat.log(quat.normalise(rotation_xyzw))
    out = np.empty((len(halves), 3))
    before = None if before_degrees is None else np.radians(np.asarray(before_degrees, np.float64))
    for number, half in enumerate(halves):
        full = 2 * half
        angle = math.sqrt(float(full @ full))
        if before is None:
            before = full if angle <= math.pi else full - full / angle * _TURN  # start with the shorter rotation
        elif angle > 1e-9:
            axis = full / angle
            before = full + axis * (_TURN * round(float((before - full) @ axis) / _TURN))
        else:  # no rotation or full turns: keep the previous axis
            size = math.sqrt(float(before @ before))
            before = before / size * (_TURN * round(size / _TURN)) if size > 1e-9 else full
        out[number] = before
    return np.degrees(out)
