"""Rotations as curves that people can read: the turn about each axis in degrees, without jumps."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from keyframer.maths import quat

Floats = npt.NDArray[np.float64]

_TURN = 2 * math.pi


def turn_vectors(rotation_xyzw: npt.ArrayLike, before_degrees: npt.ArrayLike | None = None) -> Floats:
    """(n, 3) axis times angle in degrees for rotations that follow each other.

    A turn of 720 degrees about x climbs to 720: of all vectors that mean the same rotation, the one nearest to that
    before is taken. ``before_degrees`` is the vector before the first rotation.
    """
    halves = quat.log(quat.normalise(rotation_xyzw))
    out = np.empty((len(halves), 3))
    before = None if before_degrees is None else np.radians(np.asarray(before_degrees, np.float64))
    for number, half in enumerate(halves):
        full = 2 * half
        angle = math.sqrt(float(full @ full))
        if before is None:
            before = full if angle <= math.pi else full - full / angle * _TURN  # the shorter way to start with
        elif angle > 1e-9:
            axis = full / angle
            before = full + axis * (_TURN * round(float((before - full) @ axis) / _TURN))
        else:  # no turn, or whole turns: about the axis of before
            size = math.sqrt(float(before @ before))
            before = before / size * (_TURN * round(size / _TURN)) if size > 1e-9 else full
        out[number] = before
    return np.degrees(out)
