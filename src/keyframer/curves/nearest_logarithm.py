"""Logarithms of quaternions on the branch nearest a prediction, so that whole turns are not lost.

A quaternion's logarithm is known up to 2 pi k along its axis. The spline formulas predict what it must be
near; that picks k. Where the quaternion is almost 1 or -1 its axis is noise and the predicted axis serves.
"""

from __future__ import annotations

import numpy as np

from .key_columns import Indices
from .track import Floats

Parts = tuple[Floats, Floats, Floats]

# Vector parts shorter than this have directions worse than 1e-10, which 2 pi k would multiply into the
# result.
_VANISHED = 1e-6


def log_near(v: Parts, w: Floats, predicted: Parts) -> tuple[Parts, Floats]:
    """Unit axis and half angle of quaternions (v, w), components apart, nearest the predicted vectors."""
    length = np.sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2])
    vanished = np.flatnonzero(length <= _VANISHED)
    angle = np.arctan2(length, w)
    if len(vanished):
        length[vanished] = 1.0
    axis = (v[0] / length, v[1] / length, v[2] / length)
    aim = axis[0] * predicted[0] + axis[1] * predicted[1] + axis[2] * predicted[2]
    angle += 2 * np.pi * np.rint((aim - angle) * (0.5 / np.pi))
    if len(vanished):
        _use_prediction(vanished, v, w, predicted, axis, angle)
    return axis, angle


def _use_prediction(rows: Indices, v: Parts, w: Floats, predicted: Parts, axis: Parts, angle: Floats) -> None:
    """Overwrite axis and angle in the rows whose vector part vanishes."""
    short = np.stack([part[rows] for part in v])
    wanted = np.stack([part[rows] for part in predicted])
    front = w[rows] > 0
    expected = np.sqrt(np.sum(wanted * wanted, axis=0))
    known = expected > 0
    direction = np.where(known, wanted / np.where(known, expected, 1.0), 0.0)
    along = np.sum(direction * short, axis=0)
    base = np.where(front, along, np.pi - along)
    whole = np.rint((expected - base) * (0.5 / np.pi))
    turned = base + 2 * np.pi * whole
    # No whole turn, or nothing to go by: the vector part is the logarithm (of -q, if q is near -1).
    plain = (front & (whole == 0)) | ~known
    length = np.sqrt(np.sum(short * short, axis=0))
    own = short / np.where(length > 0, length, 1.0) * np.where(front, 1.0, -1.0)
    for i in range(3):
        axis[i][rows] = np.where(plain, own[i], direction[i])
    angle[rows] = np.where(plain, length, turned)
