"""From one value a frame to few keys: those that a curve needs to stay within a tolerance at every frame.

Keys are put where the curve through the keys so far is farthest off, one in every stretch between two keys that needs
it, until no frame is off by more than the tolerance. That is tried with smooth keys (Catmull-Rom, which is TCB with
zeros) and with straight ones; the fewer keys win, straight ones where both need as many.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .curve import compile_track
from .fit import Distance
from .track import Floats, Interpolation, RotationForm, Track

Indices = NDArray[np.intp]


def fewest_keys(
    kind: str,
    times: Floats,
    values: Floats,
    form: RotationForm,
    tolerance: float,
    distance: Distance,
    widest: float = np.inf,
) -> tuple[Track, float]:
    """A track through some of the frames, and how far it is off at the others.

    ``times`` (n,) rise; ``values`` (n,) or (n, k); rotations are absolute quaternions. From one key to the next the way
    is not longer than ``widest``, frames permitting.
    """
    frames = values.reshape(len(times), -1)
    if len(times) < 2 or float(distance(frames, frames[:1]).max()) <= tolerance:
        error = float(distance(frames, frames[:1]).max(initial=0.0))
        return Track(kind, times[:1], values[:1], Interpolation.LINEAR, form=form), error
    way = np.concatenate([[0.0], np.cumsum(distance(frames[1:], frames[:-1]))])
    legs = np.floor(way / widest) if np.isfinite(widest) else np.zeros(len(way))
    first = np.unique(np.concatenate([[0], np.flatnonzero(np.diff(legs)), [len(times) - 1]]))
    straight = _insert(kind, times, values, form, Interpolation.LINEAR, tolerance, distance, first)
    smooth = _insert(kind, times, values, form, Interpolation.TCB, tolerance, distance, first)
    return smooth if len(smooth[0].times) < len(straight[0].times) else straight


def _insert(
    kind: str,
    times: Floats,
    values: Floats,
    form: RotationForm,
    interpolation: Interpolation,
    tolerance: float,
    distance: Distance,
    chosen: Indices,
) -> tuple[Track, float]:
    wanted = values.reshape(len(times), -1)
    while True:
        track = Track(kind, times[chosen], values[chosen], interpolation, form=form)
        found = compile_track(track)(times).reshape(len(times), -1)
        error = distance(found, wanted)
        error[chosen] = 0.0
        starts = chosen[:-1]
        worst = np.maximum.reduceat(error[:-1], starts)
        bad = worst > tolerance
        if not bad.any():
            return track, float(error.max())
        added = [
            begin + int(np.argmax(error[begin:end]))
            for begin, end, wrong in zip(starts.tolist(), chosen[1:].tolist(), bad.tolist(), strict=True)
            if wrong
        ]
        chosen = np.unique(np.concatenate([chosen, np.array(added, np.intp)]))
