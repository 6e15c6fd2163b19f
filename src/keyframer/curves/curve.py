"""Curve: one compiled track, called with times."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from keyframer.arrays import Floats

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
