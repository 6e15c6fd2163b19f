"""Cubic keys for functions that no cubic holds exactly: keys are added where they are needed and nowhere else.

Between two keys stands the cubic with the function's own values and slopes at both ends, whose error falls with the
fourth power of the distance; where it is still too large the interval is halved. All intervals that need it are
sampled together, so the number of calls is that of the halvings.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .columns import Flags
from .track import Floats
from .vector import Hermite

Function = Callable[[Floats], Floats]
"""times (T,) to values (T, k)"""
Distance = Callable[[Floats, Floats], Floats]
"""two arrays (..., k) to differences (...)"""

# Where the error is looked for: uneven, so that nothing periodic hides between.
_PROBES = np.array((0.09, 0.22, 0.37, 0.5, 0.66, 0.81, 0.93))
_STEP = 1e-4  # of an interval, for slopes
BEFORE = 1e-9  # of an interval: just before a jump
HALVINGS = 24
MOST_KEYS = 1_000_000


@dataclass(frozen=True, eq=False)
class Fit:
    """The keys found, and the largest error that the probes met."""

    keys: Hermite
    error: float
    complete: bool = True
    """whether more keys than were allowed would not have been closer"""


def largest_difference(a: Floats, b: Floats) -> Floats:
    """The distance of vectors."""
    return np.asarray(np.sqrt(np.sum((a - b) ** 2, axis=-1)))


def turn_degrees(a_xyzw: Floats, b_xyzw: Floats) -> Floats:
    """The angle between rotations; neither needs unit length, and the sign of a quaternion does not matter."""
    a = a_xyzw / _length(a_xyzw)
    b = b_xyzw / _length(b_xyzw)
    near, far = _length(a - b)[..., 0], _length(a + b)[..., 0]
    return np.asarray(np.degrees(4.0 * np.arctan2(np.minimum(near, far), np.maximum(near, far))))


def fit_cubic(
    function: Function,
    breaks: Floats,
    jumps: Flags,
    tolerance: float,
    distance: Distance,
    *,
    shortest: float = 0.0,
    most_keys: int = MOST_KEYS,
) -> Fit:
    """Keys of a cubic spline that is nowhere farther than ``tolerance`` from the function, as the probes see it.

    ``breaks`` (n,) are rising times that get a key each: where authored keys stand, where slopes may break. ``jumps``
    (n,) marks those where the function has another value just before than at them. No interval becomes shorter than
    ``shortest``. Quaternions must come with continuous signs.
    """
    if len(breaks) < 2:
        values = function(breaks)
        return Fit(Hermite(breaks, values, np.zeros_like(values), np.zeros_like(values)), 0.0)
    done: list[_Intervals] = []
    open_, wanted = _first_intervals(function, breaks, jumps)
    error, kept, complete = 0.0, 0, True
    for halving in range(HALVINGS + 1):
        difference = distance(open_.at(_PROBES), wanted).max(axis=1)
        wrong = difference > tolerance
        wrong &= open_.end - open_.begin > 2 * shortest
        if kept + len(open_.begin) + np.count_nonzero(wrong) > most_keys:
            complete = not wrong.any()
            wrong[:] = False
        elif halving == HALVINGS:
            wrong[:] = False
        done.append(open_.select(~wrong))
        kept += len(done[-1].begin)
        error = max(error, float(difference[~wrong].max(initial=0.0)))
        if not wrong.any():
            break
        open_, wanted = _halved(function, open_.select(wrong))
    keys = _keys(done)
    if jumps[0]:
        keys = _with_still_key(keys, function(breaks[:1] - BEFORE * (breaks[1] - breaks[0])), 0)
    if jumps[-1]:
        keys = _with_still_key(keys, function(breaks[-1:]), len(keys.times))
    return Fit(keys, error, complete)


@dataclass(eq=False)
class _Intervals:
    """Cubics by their ends: times (n,), values and slopes (n, k)."""

    begin: Floats
    end: Floats
    first: Floats
    last: Floats
    leaving: Floats
    arriving: Floats

    def select(self, which: NDArray[np.bool_]) -> _Intervals:
        return _Intervals(
            self.begin[which],
            self.end[which],
            self.first[which],
            self.last[which],
            self.leaving[which],
            self.arriving[which],
        )

    def at(self, u: Floats) -> Floats:
        """(n, m, k) values at shares u (m,) of each interval."""
        span = (self.end - self.begin)[:, None, None]
        x = u[None, :, None]
        rest = 1.0 - x
        return np.asarray(
            self.first[:, None] * (1 + 2 * x) * rest**2
            + self.last[:, None] * (3 - 2 * x) * x**2
            + span * (self.leaving[:, None] * x * rest**2 - self.arriving[:, None] * x**2 * rest)
        )


def _first_intervals(function: Function, breaks: Floats, jumps: Flags) -> tuple[_Intervals, Floats]:
    """One interval from break to break, and the function at the probes of each."""
    begin, end = breaks[:-1], breaks[1:]
    span = end - begin
    step = _STEP * span
    stop = np.where(jumps[1:], end - BEFORE * span, end)
    ends = [begin, begin + step, begin + 2 * step, stop, stop - step, stop - 2 * step]
    values, wanted = _values(function, ends, begin, end)
    step = step[:, None]
    leaving = (4 * values[1] - 3 * values[0] - values[2]) / (2 * step)
    arriving = (3 * values[3] - 4 * values[4] + values[5]) / (2 * step)
    return _Intervals(begin, end, values[0], values[3], leaving, arriving), wanted


def _halved(function: Function, intervals: _Intervals) -> tuple[_Intervals, Floats]:
    """Two intervals for each, and the function at their probes."""
    middle = 0.5 * (intervals.begin + intervals.end)
    step = _STEP * (intervals.end - intervals.begin)
    begin, end = np.concatenate([intervals.begin, middle]), np.concatenate([middle, intervals.end])
    values, wanted = _values(function, [middle, middle - step, middle + step], begin, end)
    slope = (values[2] - values[1]) / (2 * step)[:, None]
    halves = _Intervals(
        begin,
        end,
        np.concatenate([intervals.first, values[0]]),
        np.concatenate([values[0], intervals.last]),
        np.concatenate([intervals.leaving, slope]),
        np.concatenate([slope, intervals.arriving]),
    )
    return halves, wanted


def _values(function: Function, ends: list[Floats], begin: Floats, end: Floats) -> tuple[Floats, Floats]:
    """The function at some times of each interval and at the probes of those it becomes, in one call: a call costs
    more than the points of a short track."""
    probes = begin[:, None] + (end - begin)[:, None] * _PROBES
    values = function(np.concatenate([*ends, probes.reshape(-1)]))
    at_ends = len(ends) * len(ends[0])
    return values[:at_ends].reshape(len(ends), len(ends[0]), -1), values[at_ends:].reshape(*probes.shape, -1)


def _keys(parts: list[_Intervals]) -> Hermite:
    """Intervals in order as keys; where one ends and the next begins with different values, the time stands twice."""
    begin = np.concatenate([part.begin for part in parts])
    order = np.argsort(begin)

    def column(name: str) -> Floats:
        return np.concatenate([getattr(part, name) for part in parts])[order]

    begin, end, first, last = column("begin"), column("end"), column("first"), column("last")
    leaving, arriving = column("leaving"), column("arriving")
    # BEFORE moves values by a billionth of what they change in the interval; a jump is more than that.
    change = np.abs(last - first).max(axis=1) + np.abs(arriving).max(axis=1) * (end - begin) + 1e-300
    jump = np.any(np.abs(first[1:] - last[:-1]) > 1e-6 * np.maximum(change[:-1], change[1:])[:, None], axis=1)
    count = len(begin)
    place = np.arange(count)  # of the key that each interval begins with
    place[1:] += np.cumsum(jump)
    total = count + int(np.count_nonzero(jump)) + 1
    width = first.shape[1]
    times, values = np.empty(total), np.empty((total, width))
    into, out = np.zeros((total, width)), np.zeros((total, width))
    times[place + 1], values[place + 1], into[place + 1] = end, last, arriving
    times[place], values[place], out[place] = begin, first, leaving
    return Hermite(times, values, into, out)


def _with_still_key(keys: Hermite, value: Floats, place: int) -> Hermite:
    """A key at an end for a jump there: before the first or behind the last one, at its time."""
    time = keys.times[0 if place == 0 else -1]
    nothing = np.zeros_like(value)
    return Hermite(
        np.insert(keys.times, place, time),
        np.insert(keys.values, place, value, axis=0),
        np.insert(keys.tangents_in, place, nothing, axis=0),
        np.insert(keys.tangents_out, place, nothing, axis=0),
    )


def _length(values: Floats) -> Floats:
    return np.asarray(np.sqrt(np.sum(values * values, axis=-1, keepdims=True)))
