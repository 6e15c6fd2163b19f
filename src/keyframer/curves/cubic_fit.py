"""Fits cubic keys to any function; keys are added only where they are needed.

Between two keys the cubic has the values and slopes of the function at both ends; its error falls with the fourth power
of the length of the interval. An interval with too large an error is halved.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from keyframer.arrays import Flags, Floats

from .key_columns import Indices
from .key_reduction import BEFORE_JUMP, Distance
from .vector_curves import Hermite

Function = Callable[[Floats], Floats]
"""times (T,) to values (T, k)"""

# Where the error is measured: unevenly spaced, so that no periodic error is missed.
_PROBES = np.array((0.09, 0.22, 0.37, 0.5, 0.66, 0.81, 0.93))
_STEP = 1e-4  # fraction of an interval: distance of the samples from which slopes are computed
HALVINGS = 24


@dataclass(eq=False, repr=False, frozen=True)
class Fit:
    """The keys found, and the largest error at the probes."""

    keys: Hermite
    error: float
    complete: bool = True
    """false if the limit on the number of keys refused some"""


def fit_cubic(
    function: Function,
    breaks: Floats,
    jumps: Flags,
    distance: Distance,
    *,
    tolerance: float,
    shortest: float,
    most_keys: int,
) -> Fit:
    """Return cubic keys of a function, within the tolerance as measured at the probes if the limits permit it.
    Quaternions must have continuous signs.

    ``breaks`` (B,) are ascending times that get a key each: authored keys, and possible breaks of the slope; ``jumps``
    (B,) says whether the function jumps there. ``shortest`` is the shortest interval between added keys; breaks may be
    closer.
    """
    if len(breaks) == 1:
        value = function(breaks)
        return Fit(Hermite(breaks, value, np.zeros_like(value), np.zeros_like(value)), 0.0)
    count = len(breaks) + int(np.count_nonzero(jumps))
    complete, error = True, 0.0
    done: list[_Intervals] = []
    open_, wanted = _first_intervals(function, breaks, jumps)
    for halving in range(HALVINGS + 1):
        difference = distance(open_.at(_PROBES), wanted).max(axis=1, initial=0.0)
        wrong = (difference > tolerance) & (open_.end - open_.begin > 2 * shortest) & (halving < HALVINGS)
        count += int(np.count_nonzero(wrong))
        if count > most_keys and wrong.any():
            complete = False
            wrong[:] = False
        done.append(open_.select(~wrong))
        error = max(error, float(difference[~wrong].max(initial=0.0)))
        if not wrong.any():
            break
        open_, wanted = _halved(function, open_.select(wrong))
    return Fit(_with_ends(_keys(done), function, breaks, jumps), error, complete)


class _Intervals(NamedTuple):
    """Cubics given by their ends: times (n,), values and slopes (n, k)."""

    begin: Floats
    end: Floats
    first: Floats
    last: Floats
    leaving: Floats
    arriving: Floats

    def select(self, chosen: Flags | Indices) -> _Intervals:
        return _Intervals._make(column[chosen] for column in self)

    def at(self, u: Floats) -> Floats:
        """Return (n, m, k) values at fractions u (m,) of each interval."""
        span = (self.end - self.begin)[:, None, None]
        x = u[None, :, None]
        y = 1.0 - x
        return np.asarray(
            self.first[:, None] * ((1 + 2 * x) * y**2)
            + self.last[:, None] * ((3 - 2 * x) * x**2)
            + (span * self.leaving[:, None]) * (x * y**2)
            - (span * self.arriving[:, None]) * (x**2 * y)
        )


def _first_intervals(function: Function, breaks: Floats, jumps: Flags) -> tuple[_Intervals, Floats]:
    """Return the intervals between breaks, and the exact values at their probes."""
    begin, end = breaks[:-1], breaks[1:]
    span = end - begin
    step = _STEP * span
    stop = np.where(jumps[1:], end - BEFORE_JUMP * span, end)
    ends = [begin, begin + step, begin + 2 * step, stop, stop - step, stop - 2 * step]
    values = _values(function, [*ends, *_probes(begin, end)])
    leaving = (4 * values[1] - 3 * values[0] - values[2]) / (2 * step)[:, None]
    arriving = (3 * values[3] - 4 * values[4] + values[5]) / (2 * step)[:, None]
    return _Intervals(begin, end, values[0], values[3], leaving, arriving), np.stack(values[6:], axis=1)


def _halved(function: Function, intervals: _Intervals) -> tuple[_Intervals, Floats]:
    """Return both halves of each interval, and the exact values at their probes."""
    middle = 0.5 * (intervals.begin + intervals.end)
    step = _STEP * (intervals.end - intervals.begin)
    times = [middle, middle - step, middle + step, *_probes(intervals.begin, middle), *_probes(middle, intervals.end)]
    at_middle, before, after, *probes = _values(function, times)
    slope = (after - before) / (2 * step)[:, None]
    halves = _Intervals(
        np.concatenate([intervals.begin, middle]),
        np.concatenate([middle, intervals.end]),
        np.concatenate([intervals.first, at_middle]),
        np.concatenate([at_middle, intervals.last]),
        np.concatenate([intervals.leaving, slope]),
        np.concatenate([slope, intervals.arriving]),
    )
    left, right = probes[: len(_PROBES)], probes[len(_PROBES) :]
    return halves, np.concatenate([np.stack(left, axis=1), np.stack(right, axis=1)])


def _probes(begin: Floats, end: Floats) -> list[Floats]:
    return [begin + (end - begin) * fraction for fraction in _PROBES]


def _values(function: Function, times: list[Floats]) -> list[Floats]:
    """Return (I, k) values at each of several lists of times (I,), in one call."""
    return np.split(function(np.concatenate(times)), len(times))


def _keys(parts: list[_Intervals]) -> Hermite:
    """Return the intervals as keys; at a jump the time occurs twice."""
    joined = _Intervals._make(np.concatenate(column) for column in zip(*parts, strict=True))
    joined = joined.select(np.argsort(joined.begin, kind="stable"))
    # BEFORE_JUMP changes values by a billionth of their change in the interval; a jump is larger.
    change = np.abs(joined.last - joined.first).max(axis=1) + 1e-300
    change += np.abs(joined.arriving).max(axis=1) * (joined.end - joined.begin)
    limit = 1e-6 * np.maximum(change[:-1], change[1:])[:, None]
    apart = np.any(np.abs(joined.first[1:] - joined.last[:-1]) > limit, axis=1)
    count = len(joined.begin)
    place = np.arange(count)  # row of the first key of each interval
    place[1:] += np.cumsum(apart)
    total = count + int(np.count_nonzero(apart)) + 1
    width = joined.first.shape[1]
    times, values = np.empty(total), np.empty((total, width))
    into, out = np.zeros((total, width)), np.zeros((total, width))
    times[place + 1], values[place + 1], into[place + 1] = joined.end, joined.last, joined.arriving
    times[place], values[place], out[place] = joined.begin, joined.first, joined.leaving
    return Hermite(times, values, into, out)


def _with_ends(keys: Hermite, function: Function, breaks: Floats, jumps: Flags) -> Hermite:
    """Add keys for jumps at the first and last break."""
    if jumps[0]:
        before = breaks[:1] - BEFORE_JUMP * (breaks[1] - breaks[0])
        keys = _with_still_key(keys, keys.times[0], function(before), 0)
    if jumps[-1]:
        keys = _with_still_key(keys, keys.times[-1], function(breaks[-1:]), len(keys.times))
    return keys


def _with_still_key(keys: Hermite, time: float, value: Floats, place: int) -> Hermite:
    """Insert a key with zero slopes before the key ``place``."""
    zeros = np.zeros_like(value)
    return Hermite(
        np.insert(keys.times, place, time),
        np.insert(keys.values, place, value, axis=0),
        np.insert(keys.tangents_in, place, zeros, axis=0),
        np.insert(keys.tangents_out, place, zeros, axis=0),
    )
