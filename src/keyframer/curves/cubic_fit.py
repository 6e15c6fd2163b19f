"""Fits cubic keys to any functions; keys are added only where they are needed.

Between two keys the cubic has the values and slopes of the function at both ends; its error falls with the fourth power
of the length of the interval. An interval with too large an error is halved. The intervals of all functions are sampled
together, with one call for each halving.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from keyframer.arrays import Flags, Floats
from keyframer.maths.trigonometry import arctan2

from ..maths import quat
from .key_columns import Indices
from .vector_curves import Hermite

Function = Callable[[Floats], Floats]
"""times (T,) to values (T, k)"""
Distance = Callable[[Floats, Floats], Floats]
"""two arrays (..., k) to differences (...)"""

# Where the error is measured: unevenly spaced, so that no periodic error is missed.
_PROBES = np.array((0.09, 0.22, 0.37, 0.5, 0.66, 0.81, 0.93))
_STEP = 1e-4  # fraction of an interval: distance of the samples from which slopes are computed
BEFORE_JUMP = 1e-9  # fraction of an interval: distance of a sample just before a jump
HALVINGS = 24
MOST_KEYS = 1_000_000


@dataclass(eq=False, repr=False, frozen=True)
class Functions:
    """n functions of time that get keys together; their breaks are concatenated in columns."""

    at: Callable[[Indices, Floats], Floats]
    """function indices (P,) and a time for each (P,) to values (P, k)"""
    breaks: Floats
    """(B,) times that get a key each: authored keys, and possible breaks of the slope; ascending in each function"""
    jumps: Flags
    """(B,) whether the function jumps at the break"""
    counts: Indices
    """(n,) number of breaks of each function, at least one"""
    tolerances: Floats
    """(n,) allowed error of the curve through the keys"""
    shortest: Floats
    """(n,) shortest allowed interval between added keys; breaks may be closer"""

    @classmethod
    def one(cls, function: Function, breaks: Floats, jumps: Flags, tolerance: float, shortest: float) -> Functions:
        """Return a single function."""
        numbers = np.array([tolerance]), np.array([shortest])
        return cls(lambda _, times: function(times), breaks, jumps, np.array([len(breaks)]), *numbers)

    @property
    def owner(self) -> Indices:
        """(B,) the function of each break."""
        return np.repeat(np.arange(len(self.counts)), self.counts)

    def intervals(self) -> tuple[Indices, Floats, Floats, Flags]:
        """Return the intervals between breaks: function, start, end, and whether there is a jump at the end, all
        (I,)."""
        owner = self.owner
        same_owner = owner[1:] == owner[:-1]
        starts, ends, jumps = self.breaks[:-1], self.breaks[1:], self.jumps[1:]
        return owner[1:][same_owner], starts[same_owner], ends[same_owner], jumps[same_owner]

    def values(self, owner: Indices, times: list[Floats]) -> list[Floats]:
        """Return (I, k) values for each of several lists of times (I,) of the functions ``owner`` (I,), in one call,
        because a call costs more than sampling a short track.
        """
        if not len(owner):
            return [self.at(np.zeros(1, np.intp), self.breaks[:1])[:0]] * len(times)
        return np.split(self.at(np.tile(owner, len(times)), np.concatenate(times)), len(times))

    def ends(self) -> tuple[Indices, Indices]:
        """(n,) first and last break of each function."""
        stop = np.cumsum(self.counts)
        return stop - self.counts, stop - 1


class Allowance:
    """Limits on the number of keys: of each function, and of all together. A function that would exceed them gets no
    more keys."""

    def __init__(self, functions: Functions, most_keys: int, most_in_all: int) -> None:
        count = len(functions.counts)
        self._counts = functions.counts + np.bincount(functions.owner[functions.jumps], minlength=count)
        self._most_keys = most_keys
        self._most_in_all = most_in_all
        self.complete = np.ones(count, np.bool_)
        """(n,) false for functions that were refused keys"""

    def grants(self, owner: Indices, keys: Indices) -> Flags:
        """Return (I,) whether each interval, of the functions ``owner`` (I,), may get ``keys`` (I,) more keys."""
        wanted = np.bincount(owner, keys, len(self._counts)).astype(np.intp)
        refused = (self._counts + wanted > self._most_keys) | ~self.complete
        total = np.cumsum(np.where(refused, 0, wanted))
        refused |= int(self._counts.sum()) + total > self._most_in_all
        refused &= wanted > 0
        self.complete &= ~refused
        self._counts += np.where(refused, 0, wanted)
        return np.asarray(~refused[owner])


@dataclass(eq=False, repr=False, frozen=True)
class Fit:
    """The keys found, and the largest error at the probes."""

    keys: Hermite
    error: float
    complete: bool = True
    """false if a limit on the number of keys refused some"""


def vector_distance(a: Floats, b: Floats) -> Floats:
    """Return the Euclidean distance between vectors."""
    return quat.length_of(a - b)


def turn_degrees(a_xyzw: Floats, b_xyzw: Floats) -> Floats:
    """Return the angle between rotations; they need not have unit length, and the sign of a quaternion is ignored."""
    a = a_xyzw / quat.length_of(a_xyzw)[..., None]
    b = b_xyzw / quat.length_of(b_xyzw)[..., None]
    near, far = quat.length_of(a - b), quat.length_of(a + b)
    return np.asarray(np.degrees(4.0 * arctan2(np.minimum(near, far), np.maximum(near, far))))


def fit_cubic(
    functions: Functions, distance: Distance, *, most_keys: int = MOST_KEYS, most_in_all: int = MOST_KEYS
) -> list[Fit]:
    """Return keys of cubic splines within the tolerances of the functions, as measured at the probes, if limits permit.

    Keys are added up to ``most_keys`` of a function and ``most_in_all`` of all together. Quaternions must have
    continuous signs.
    """
    count = len(functions.counts)
    allowance = Allowance(functions, most_keys, most_in_all)
    done: list[_Intervals] = []
    open_, wanted = _first_intervals(functions)
    error = np.zeros(count)
    for halving in range(HALVINGS + 1):
        difference = distance(open_.at(_PROBES), wanted).max(axis=1, initial=0.0)
        wrong = difference > functions.tolerances[open_.owner]
        wrong &= open_.end - open_.begin > 2 * functions.shortest[open_.owner]
        if halving == HALVINGS:
            wrong[:] = False
        cut = np.flatnonzero(wrong)
        wrong[cut] = allowance.grants(open_.owner[cut], np.ones(len(cut), np.intp))
        done.append(open_.select(~wrong))
        np.maximum.at(error, done[-1].owner, difference[~wrong])
        if not wrong.any():
            break
        open_, wanted = _halved(functions, open_.select(wrong))
    solutions = _keys_by_function(done, functions)
    return [Fit(*fields) for fields in zip(solutions, error.tolist(), allowance.complete.tolist(), strict=True)]


class _Intervals(NamedTuple):
    """Cubics given by their ends: function (n,), times (n,), values and slopes (n, k)."""

    owner: Indices
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


def _first_intervals(functions: Functions) -> tuple[_Intervals, Floats]:
    """Return the intervals between breaks, and the exact values at their probes."""
    owner, begin, end, jump = functions.intervals()
    span = end - begin
    step = _STEP * span
    stop = np.where(jump, end - BEFORE_JUMP * span, end)
    ends = [begin, begin + step, begin + 2 * step, stop, stop - step, stop - 2 * step]
    values = functions.values(owner, [*ends, *_probes(begin, end)])
    leaving = (4 * values[1] - 3 * values[0] - values[2]) / (2 * step)[:, None]
    arriving = (3 * values[3] - 4 * values[4] + values[5]) / (2 * step)[:, None]
    return _Intervals(owner, begin, end, values[0], values[3], leaving, arriving), np.stack(values[6:], axis=1)


def _halved(functions: Functions, intervals: _Intervals) -> tuple[_Intervals, Floats]:
    """Return both halves of each interval, and the exact values at their probes."""
    middle = 0.5 * (intervals.begin + intervals.end)
    step = _STEP * (intervals.end - intervals.begin)
    times = [middle, middle - step, middle + step, *_probes(intervals.begin, middle), *_probes(middle, intervals.end)]
    at_middle, before, after, *probes = functions.values(intervals.owner, times)
    slope = (after - before) / (2 * step)[:, None]
    halves = _Intervals(
        np.concatenate([intervals.owner, intervals.owner]),
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


def _keys_by_function(parts: list[_Intervals], functions: Functions) -> list[Hermite]:
    """Return the intervals of each function as keys; at a jump the time occurs twice."""
    owner, begin, end, first, last, leaving, arriving = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.lexsort((begin, owner))
    joined = _Intervals(owner, begin, end, first, last, leaving, arriving).select(order)
    # BEFORE_JUMP changes values by a billionth of their change in the interval; a jump is larger.
    change = np.abs(joined.last - joined.first).max(axis=1) + 1e-300
    change += np.abs(joined.arriving).max(axis=1) * (joined.end - joined.begin)
    limit = 1e-6 * np.maximum(change[:-1], change[1:])[:, None]
    apart = np.any(np.abs(joined.first[1:] - joined.last[:-1]) > limit, axis=1)
    apart |= joined.owner[1:] != joined.owner[:-1]
    count = len(joined.begin)
    place = np.arange(count)  # row of the first key of each interval
    place[1:] += np.cumsum(apart)
    total = count + int(np.count_nonzero(apart)) + 1 if count else 0
    width = joined.first.shape[1]
    times, values = np.empty(total), np.empty((total, width))
    into, out = np.zeros((total, width)), np.zeros((total, width))
    times[place + 1], values[place + 1], into[place + 1] = joined.end, joined.last, joined.arriving
    times[place], values[place], out[place] = joined.begin, joined.first, joined.leaving
    numbers = np.arange(len(functions.counts))
    begins, ends = np.searchsorted(joined.owner, numbers), np.searchsorted(joined.owner, numbers, side="right")
    curves: list[Hermite] = []
    for begin_row, end_row in zip(begins.tolist(), ends.tolist(), strict=True):
        rows = slice(place[begin_row], place[end_row - 1] + 2) if end_row > begin_row else slice(0, 0)
        curves.append(Hermite(times[rows], values[rows], into[rows], out[rows]))
    _add_ends(curves, functions)
    return curves


def _add_ends(curves: list[Hermite], functions: Functions) -> None:
    """Add the key of each function that has only one break, and keys for jumps at first and last breaks."""
    firsts, lasts = functions.ends()
    breaks = functions.breaks

    def add(number: int, sample_time: float, place: int) -> None:
        keys = curves[number]
        time = keys.times[0 if place == 0 else -1] if len(keys.times) else sample_time
        value = functions.at(np.array([number]), np.array([sample_time]))
        curves[number] = _with_still_key(keys, time, value, place)

    for number in np.flatnonzero(functions.counts == 1).tolist():
        add(number, breaks[firsts[number]], 0)
    for number in np.flatnonzero(functions.jumps[firsts] & (functions.counts > 1)).tolist():
        first = firsts[number]
        add(number, breaks[first] - BEFORE_JUMP * (breaks[first + 1] - breaks[first]), 0)
    for number in np.flatnonzero(functions.jumps[lasts] & (functions.counts > 1)).tolist():
        add(number, breaks[lasts[number]], len(curves[number].times))


def _with_still_key(keys: Hermite, time: float, value: Floats, place: int) -> Hermite:
    """Insert a key with zero slopes before the key ``place``."""
    zeros = np.zeros_like(value)
    return Hermite(
        np.insert(keys.times, place, time),
        np.insert(keys.values, place, value, axis=0),
        np.insert(keys.tangents_in, place, zeros, axis=0),
        np.insert(keys.tangents_out, place, zeros, axis=0),
    )
