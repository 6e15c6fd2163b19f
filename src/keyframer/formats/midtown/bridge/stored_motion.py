"""Convert the numbers in frames: angles to quaternions and the stored path of the root to its positions, and back."""

from __future__ import annotations

import numpy as np

from keyframer.arrays import Floats
from keyframer.maths import euler

_TURNS_PER_BLOCK = 8_192
"""number of rotations that are converted at once: they fit into the processor's cache"""


def quaternions_of(rph: Floats, order: str) -> Floats:
    """Return (N, 4) quaternions of roll (about X), pitch (about Y) and heading (about Z), multiplied in ``order``."""
    columns = ["XYZ".index(axis) for axis in order]
    quaternions = np.empty((len(rph), 4))
    with np.errstate(all="ignore"):
        for begin in range(0, len(rph), _TURNS_PER_BLOCK):
            block = slice(begin, begin + _TURNS_PER_BLOCK)
            quaternions[block] = euler.to_quaternion(rph[block, columns], order)
    return quaternions


def angles_of(turns_xyzw: Floats, order: str) -> Floats:
    """Return (..., 3) roll, pitch and heading of quaternions."""
    by_order = euler.from_quaternion(turns_xyzw, order)
    return np.asarray(by_order[..., [order.index(axis) for axis in "XYZ"]], np.float64) + 0.0  # normalises -0.0


def root_path(stored: Floats, distance: float, in_place: bool) -> Floats:
    """Return the positions of the root from those in the file.

    With ``in_place``, ``i * distance / frames`` is added to z of frame i, as in the game: a walk then stays in place. A
    non-finite distance is ignored.
    """
    if not in_place or not np.isfinite(distance):
        return stored
    path = stored.copy()
    path[:, 2] += np.arange(len(path)) * distance / len(path)
    return path


def stored_path(path: Floats, distance: float, in_place: bool) -> Floats:
    """Return the positions of the root as the file stores them: the inverse of `root_path`."""
    return root_path(path, -distance, in_place)
