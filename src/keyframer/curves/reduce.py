"""From one value a frame to few keys: those that a curve needs to stay within a tolerance at every frame.

Keys are put where the curve through the keys so far is farthest off, one in every stretch between two keys that needs
it, until no frame is off by more than the tolerance. That is tried with smooth keys and with straight ones; the fewer
keys win, straight ones where both need as many.

Smooth keys have the slope of the parabola through each key and its neighbours. Plain TCB keys have that only where they
stand evenly: else their slope is that of the chord, and many more are needed. With r the ratio of the spans behind and
before a key, tension 1 - (r + 1/r)/2 and bias (r - 1/r)/(r + 1/r) give the parabola's, up to r = 3.7.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .curve import compile_track
from .fit import Distance
from .track import Floats, Interpolation, RotationForm, Track

Indices = NDArray[np.intp]

_STRIDES = (16, 8, 6, 4, 3, 2)
"""frames between the keys that smooth curves begin with: keys that stand evenly do with fewer"""
_WIDEST = 2 + 3**0.5
_WIDEST_INVERSE = 2 - 3**0.5
"""the ratio at which the tension is -1"""


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
    best = straight
    for stride in (len(times), *_STRIDES):
        some = np.union1d(first, np.arange(0, len(times), stride))
        if len(some) < len(best[0].times):
            smooth = _insert(kind, times, values, form, Interpolation.TCB, tolerance, distance, some)
            if len(smooth[0].times) < len(best[0].times):
                best = smooth
    return best


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
        shape: dict[str, Any] = _parabolic(times[chosen]) if interpolation is Interpolation.TCB else {}
        track = Track(kind, times[chosen], values[chosen], interpolation, form=form, **shape)
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


def _parabolic(times: Floats) -> dict[str, Any]:
    """Tension and bias of keys at these times; none where they stand evenly."""
    spans = np.diff(times)
    if len(spans) < 2 or np.ptp(spans) == 0:
        return {}
    ratio = np.clip(spans[1:] / spans[:-1], _WIDEST_INVERSE, _WIDEST)
    total = ratio + 1 / ratio
    tension, bias = np.zeros(len(times)), np.zeros(len(times))
    tension[1:-1] = 1 - total / 2
    bias[1:-1] = (ratio - 1 / ratio) / total
    return {"tension": tension, "bias": bias}
