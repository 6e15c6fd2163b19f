"""Curve: one compiled track, called with times; and the times at which tracks are sampled again."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from keyframer.arrays import Floats
from keyframer.limits import ensure_budget

from .curve_bank import CurveBank
from .track import Track
from .vector_curves import Hermite, hermite_keys


class Curve:
    """A track compiled for sampling: a CurveBank of one."""

    def __init__(self, track: Track, default: ArrayLike | None = None) -> None:
        self.track = track
        self._bank = CurveBank([track], [default])
        self._is_scalar = track.values.ndim == 1

    def __call__(self, times: ArrayLike) -> Floats:
        """Return values at times (T,): (T,) for scalars, (T, k) for vectors, rotation_xyzw (T, 4) for rotations.

        Quaternions of relative rotations are continuous: their sign changes with every full turn.
        """
        values = self._bank.evaluate(times)[self._bank.places[0].family][:, 0]
        return values[:, 0] if self._is_scalar else values

    def at(self, time: float) -> Floats:
        """Return the value at one time: () for scalars, else (k,)."""
        return np.asarray(self(time)[0])

    def hermite(self) -> Hermite | None:
        """Return the usable keys with exact tangents, or None if no cubic is exact (steps, ease, rotations)."""
        return hermite_keys(self.track)


def compile_track(track: Track, default: ArrayLike | None = None) -> Curve:
    """Return the track as a function of time; `default` is its value without usable keys (None: zeros, or no
    rotation).
    """
    return Curve(track, default)


NUMBERS_PER_TIME = 8
"""least number of samples for each time at which a track is sampled and fitted"""
_ROUNDING = 1e-6
"""a time this close to the last one, in steps, is the last one"""
_MOST_STEPS = 1 << 53
"""more than any budget"""


def even_times(first: float, last: float, step: float = 1.0, *, numbers: int = NUMBERS_PER_TIME) -> Floats:
    """Return the times from ``first`` in steps to the first one at or after ``last``.

    Everything that samples motion at regular times gets them here, because the budget is asked before anything is
    allocated: raises `FormatError` (LIMIT_SAMPLES) if it does not allow ``numbers`` samples for each time.
    """
    steps = (last - first) / step - _ROUNDING
    count = max(math.ceil(steps if steps < _MOST_STEPS else _MOST_STEPS), 0) + 1  # steps may be infinite or NaN
    ensure_budget("samples", count * numbers)
    return np.asarray(first + step * np.arange(count), np.float64)
