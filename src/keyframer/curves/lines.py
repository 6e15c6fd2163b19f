"""Straight keys for any function: on whole frames first, and between frames where that is not enough.

Every interval between two keys is probed. One that is too far off is cut into as many pieces as its error asks for
(the error of a line falls with the square of its length). All intervals are cut and probed together, so the number of
calls is that of the rounds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..maths import quat
from .columns import Flags
from .fit import BEFORE, Distance, Function, largest_difference, turn_degrees
from .track import Floats

Between = Callable[[Floats, Floats, Floats], Floats]
"""what a player shows at u (n,) on the way from values (n, k) to values (n, k)"""

# Where the error is looked for: the middle, where a bend is farthest off, and uneven places around it.
_PROBES = np.array((0.11, 0.29, 0.5, 0.73, 0.91))
_MOST_PIECES = 4  # of an interval in one round: its pieces may differ in what they need
_ROUNDS = 40
_FRAMES_PROBED = 20_000


@dataclass(frozen=True)
class Measure:
    """How far values of one kind are apart, and what players make of two straight keys: the worst of them counts."""

    distance: Distance
    between: tuple[Between, ...]

    def error(self, first: Floats, last: Floats, u: Floats, wanted: Floats) -> Floats:
        """(n,) the largest error of any player."""
        found = [self.distance(show(first, last, u), wanted) for show in self.between]
        return np.asarray(np.nan_to_num(np.maximum.reduce(found)))


def straight(first: Floats, last: Floats, u: Floats) -> Floats:
    return np.asarray(first + u[:, None] * (last - first))


def straight_components(first_xyzw: Floats, last_xyzw: Floats, u: Floats) -> Floats:
    """Blender's way: every component of a quaternion by itself, the shorter way around, made a unit at the end."""
    sign = np.where(np.sum(first_xyzw * last_xyzw, axis=1) < 0, -1.0, 1.0)[:, None]
    return quat.normalise(straight(first_xyzw, sign * last_xyzw, u))


VECTORS = Measure(largest_difference, (straight,))
ROTATIONS = Measure(turn_degrees, (quat.slerp, straight_components))
"""in degrees"""


class Lines(NamedTuple):
    """Rising times (n,) and values (n, k) of keys."""

    times: Floats
    values: Floats
    complete: bool = True
    """whether more keys than were allowed would not have been closer"""


def place_keys(
    function: Function,
    breaks: Floats,
    jumps: Flags,
    tolerance: float,
    measure: Measure,
    *,
    frame: float,
    shortest: float,
    most_keys: int,
) -> Lines:
    """Keys between which straight lines are nowhere farther than ``tolerance`` from the function.

    ``breaks`` (n,) are rising times that get a key each, ``jumps`` (n,) marks those where the function has another
    value just before than at them. Keys stand on multiples of ``frame`` as long as that is enough. Cutting leaves no
    interval below ``shortest``, which is also what a jump takes, and ends with ``most_keys``.
    """
    if len(breaks) < 2:
        return Lines(breaks, function(breaks))
    frames = _at_frames(function, breaks, frame)
    open_, wanted = _first_intervals(function, breaks, jumps, shortest)
    done: list[_Intervals] = []
    count = len(breaks)
    complete = True
    for _ in range(_ROUNDS):
        error = open_.errors(measure, wanted, frames)
        most = np.minimum((open_.end - open_.begin) / shortest, _MOST_PIECES)
        wrong = (error > tolerance) & (most >= 2)
        pieces = np.minimum(np.ceil(np.sqrt(error[wrong] / tolerance)), most[wrong]).astype(np.intp)
        if count + int(pieces.sum()) > most_keys:
            complete = not wrong.any()
            wrong[:] = False
        done.append(open_.select(~wrong))
        if not wrong.any():
            break
        open_, wanted = _cut(function, open_.select(wrong), pieces, frame)
        count += len(open_.begin) - len(pieces)
    else:
        done.append(open_)
    return _joined(function, done, breaks, jumps, shortest)._replace(complete=complete)


class _Probes(NamedTuple):
    owner: NDArray[np.intp]
    u: Floats
    values: Floats


class _Intervals(NamedTuple):
    """Lines by their ends: times (n,), values (n, k)."""

    begin: Floats
    end: Floats
    first: Floats
    last: Floats

    def select(self, which: Flags) -> _Intervals:
        return _Intervals(*(column[which] for column in self))

    def _probes_of(self, known: Lines) -> _Probes:
        """Those of rising times whose values are known that lie in some interval."""
        owner = np.maximum(np.searchsorted(self.begin, known.times, side="right") - 1, 0)
        inside = (known.times > self.begin[owner]) & (known.times < self.end[owner])
        owner = owner[inside]
        u = (known.times[inside] - self.begin[owner]) / (self.end - self.begin)[owner]
        return _Probes(owner, u, known.values[inside])

    def errors(self, measure: Measure, wanted: _Probes, frames: Lines) -> Floats:
        """(n,) the largest error at the probes, and at the frames inside."""
        found = np.zeros(len(self.begin))
        if len(frames.times):
            known = self._probes_of(frames)
            wanted = _Probes(
                np.concatenate([wanted.owner, known.owner]),
                np.concatenate([wanted.u, known.u]),
                np.concatenate([wanted.values, known.values]),
            )
        first, last = self.first[wanted.owner], self.last[wanted.owner]
        np.maximum.at(found, wanted.owner, measure.error(first, last, wanted.u, wanted.values))
        return found


def _evaluated(function: Function, begin: Floats, end: Floats, ends: list[Floats]) -> tuple[list[Floats], _Probes]:
    """The function at ``ends`` and at the probes of intervals, in one call: a call costs more than the points of a
    short track."""
    times = begin[:, None] + (end - begin)[:, None] * _PROBES
    parts = np.split(function(np.concatenate([*ends, times.reshape(-1)])), np.cumsum([len(each) for each in ends]))
    owner, u = np.repeat(np.arange(len(begin)), len(_PROBES)), np.tile(_PROBES, len(begin))
    return parts[:-1], _Probes(owner, u, parts[-1])


def _at_frames(function: Function, breaks: Floats, frame: float) -> Lines:
    """The function at every frame of a long stretch, so that nothing hides between its probes."""
    if np.diff(breaks).max() <= len(_PROBES) * frame:
        return Lines(breaks[:0], function(breaks[:1])[:0])
    frames = whole_frames(breaks[0], breaks[-1], frame, _FRAMES_PROBED)
    return Lines(frames, function(frames) if len(frames) else function(breaks[:1])[:0])


def _first_intervals(function: Function, breaks: Floats, jumps: Flags, shortest: float) -> tuple[_Intervals, _Probes]:
    """One interval from break to break, or to a jump's beginning."""
    begin, end = breaks[:-1], breaks[1:]
    end = np.where(jumps[1:], end - np.minimum(shortest, 0.25 * (end - begin)), end)
    (first, last), probes = _evaluated(function, begin, end, [begin, end])
    return _Intervals(begin, end, first, last), probes


def whole_frames(begin: float, end: float, frame: float, most: int) -> Floats:
    """The multiples of ``frame`` between two times; none if there are more than ``most``."""
    first, last = np.floor(begin / frame) + 1, np.ceil(end / frame) - 1
    return np.arange(first, last + 1) * frame if 0 <= last - first < most else np.empty(0)


def _cut(
    function: Function, intervals: _Intervals, pieces: NDArray[np.intp], frame: float
) -> tuple[_Intervals, _Probes]:
    """Intervals in pieces, at whole frames where there are any inside; what is meant at the probes of the pieces."""
    begin, end = intervals.begin, intervals.end
    before = np.floor(begin / frame)
    inside = np.maximum(np.ceil(end / frame) - 1 - before, 0)  # frames
    cuts = np.where(inside > 0, np.minimum(pieces - 1, inside), pieces - 1).astype(np.intp)
    owner = np.repeat(np.arange(len(begin)), cuts)
    share = (np.arange(len(owner)) - np.repeat(np.cumsum(cuts) - cuts, cuts) + 1) / (cuts[owner] + 1)
    on_frames = (before[owner] + np.rint(share * (inside[owner] + 1))) * frame
    times = np.where(inside[owner] > 0, on_frames, begin[owner] + share * (end - begin)[owner])
    begins, ends = np.concatenate([begin, times]), np.concatenate([end, times])
    order, order_of_ends = np.argsort(begins, kind="stable"), np.argsort(ends, kind="stable")
    begins, ends = begins[order], ends[order_of_ends]
    (values,), probes = _evaluated(function, begins, ends, [times])
    first = np.concatenate([intervals.first, values])[order]
    last = np.concatenate([intervals.last, values])[order_of_ends]
    return _Intervals(begins, ends, first, last), probes


def _joined(function: Function, parts: list[_Intervals], breaks: Floats, jumps: Flags, shortest: float) -> Lines:
    """Intervals in order as keys: their ends, each once."""
    begin, end, first, last = (np.concatenate(column) for column in zip(*parts, strict=True))
    times, values = [begin, end], [first, last]
    if jumps[0]:
        times.append(breaks[:1] - shortest)
        values.append(function(breaks[:1] - BEFORE * (breaks[1] - breaks[0])))
    if jumps[-1]:
        times.append(breaks[-1:])
        values.append(function(breaks[-1:]))
    found, chosen = np.unique(np.concatenate(times), return_index=True)
    return Lines(found, np.concatenate(values)[chosen])
