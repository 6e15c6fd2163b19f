"""Sine, cosine and arc tangent with the same bits on every machine, within two units in the last place.

Those of numpy are functions of the C library or of the processor, and their last bits differ. These consist of sums,
products and quotients, which are the same everywhere: a table brings an angle near zero, where a few terms of the
Taylor series are enough.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from keyframer.arrays import Floats

# sin(k pi / 16) for k = 0 to 8
_EIGHTH = (
    *(0.0, 0.19509032201612828, 0.3826834323650898, 0.5555702330196022, 0.7071067811865476),
    *(0.8314696123025452, 0.9238795325112867, 0.9807852804032304, 1.0),
)
_HALF = np.array([*_EIGHTH, *_EIGHTH[7:0:-1]])
_SINES = np.concatenate([_HALF, 0.0 - _HALF])
_COSINES = np.roll(_SINES, -8)
# pi / 16 as a sum; k times the first two is exact below 2**23
_STEP = (0.19634954072535038, 1.2401169739544027e-10, 6.462728727242631e-20)
_LARGEST_ANGLE = 1e6

# arctan(k / 8) for k = 0 to 8
_ARC_TANGENTS = np.array(
    [
        *(0.0, 0.12435499454676144, 0.24497866312686414, 0.35877067027057225, 0.4636476090008061),
        *(0.5585993153435624, 0.6435011087932844, 0.7188299996216245, 0.7853981633974483),
    ]
)


def sine_and_cosine(angles: ArrayLike) -> tuple[Floats, Floats]:
    """Return the sines and cosines of angles in radians; NaN if an angle is not finite."""
    x = np.asarray(angles, np.float64)
    with np.errstate(invalid="ignore"):
        if not np.abs(x).max(initial=0.0) <= _LARGEST_ANGLE:
            x = np.where(np.abs(x) <= _LARGEST_ANGLE, x, np.fmod(x, 2 * np.pi))
        steps = np.rint(x * (16 / np.pi))
        place = steps.astype(np.int64) & 31
    r = x - steps * _STEP[0] - steps * _STEP[1] - steps * _STEP[2]
    s = r * r
    sine = r + r * s * (-1 / 6 + s * (1 / 120 + s * (-1 / 5040 + s * (1 / 362880))))
    less_than_one = s * (-1 / 2 + s * (1 / 24 + s * (-1 / 720 + s * (1 / 40320 + s * (-1 / 3628800)))))
    a, b = _SINES.take(place), _COSINES.take(place)
    return a + (a * less_than_one + b * sine), b + (b * less_than_one - a * sine)


def arctan2(y: ArrayLike, x: ArrayLike) -> Floats:
    """Return the angles of points (x, y) in -pi..pi, like `np.arctan2`."""
    y, x = np.asarray(y, np.float64), np.asarray(x, np.float64)
    height, width = np.abs(y), np.abs(x)
    larger = np.maximum(height, width)
    with np.errstate(invalid="ignore"):
        ratio = np.minimum(height, width) / np.where(larger > 0, larger, 1.0)
        steps = np.rint(8 * ratio)
        place = steps.astype(np.int64) & 15
    near = 0.125 * steps
    r = (ratio - near) / (1 + ratio * near)
    s = r * r
    series = -1 / 3 + s * (1 / 5 + s * (-1 / 7 + s * (1 / 9 + s * (-1 / 11 + s * (1 / 13 + s * (-1 / 15))))))
    angle = _ARC_TANGENTS.take(place, mode="clip") + (r + r * s * series)
    angle = np.where(height > width, np.pi / 2 - angle, angle)
    return np.asarray(np.copysign(np.where(np.signbit(x), np.pi - angle, angle), y))
