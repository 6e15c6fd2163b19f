"""Fits linear keys to any functions: on whole frames first, and between frames if that is not enough.

Every interval between two keys is probed. If its error is too large, it is cut into the pieces that the error requires,
at most four at a time (the error of a line falls with the square of its length). The intervals of all functions are
processed together, with one call for each round.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from keyframer.arrays import Flags, Floats

from ..maths import quat
from .cubic_fit import BEFORE_JUMP, Allowance, Distance, Functions, turn_degrees, vector_distance
from .key_columns import Indices

Interpolate = Callable[[Floats, Floats, Floats], Floats]
"""interpolation of a player at u (n,) from first values (n, k) to last values (n, k)"""

# Where the error is measured: the middle, where a curve deviates most, and uneven places around it.
_PROBES = np.array((0.11, 0.29, 0.5, 0.73, 0.91))
_MOST_PIECES = 4  # pieces of an interval in one round: some of them may need further cuts, others none
_ROUNDS = 40
FRAMES_PROBED = 20_000  # functions with more whole frames are not tested at whole frames
_PROBED_AT_ONCE = 8_192  # temporaries of the comparison stay in the cache of the processor


@dataclass(frozen=True)
class Measure:
    """How the error between linear keys is measured: the largest for any of the ways in which players interpolate."""

    distance: Distance
    interpolations: tuple[Interpolate, ...]

    def error(self, first: Floats, last: Floats, u: Floats, wanted: Floats) -> Floats:
        """Return (n,) the largest error of any player."""
        distances = [self.distance(interpolate(first, last, u), wanted) for interpolate in self.interpolations]
        return np.asarray(np.nan_to_num(np.maximum.reduce(distances)))


def lerp(first: Floats, last: Floats, u: Floats) -> Floats:
    """Interpolate linearly at u (n,) between values (n, k)."""
    return np.asarray(first + u[:, None] * (last - first))


def nlerp(first_xyzw: Floats, last_xyzw: Floats, u: Floats) -> Floats:
    """Interpolate as Blender does: each component of a quaternion separately, the shorter way, normalised at the
    end."""
    sign = np.where(np.sum(first_xyzw * last_xyzw, axis=1) < 0, -1.0, 1.0)[:, None]
    return quat.normalise(lerp(first_xyzw, sign * last_xyzw, u))


VECTORS = Measure(vector_distance, (lerp,))
ROTATIONS = Measure(turn_degrees, (quat.slerp, nlerp))
"""in degrees"""


class LinearKeys(NamedTuple):
    """Ascending times (n,) and values (n, k) of keys."""

    times: Floats
    values: Floats
    complete: bool = True
    """whether the function got all the keys it needed"""
    too_fast: bool = False
    """whether some keys are as close as allowed, and the error is still too large"""


def place_keys(
    functions: Functions, measure: Measure, *, frame: float, most_keys: int, most_in_all: int | None = None
) -> list[LinearKeys]:
    """Return keys such that linear interpolation is within the tolerances of the functions, if limits permit.

    Keys between breaks are on multiples of ``frame`` if that is enough. A jump takes at most the shortest allowed
    interval of its function. Keys are added up to ``most_keys`` of a function and ``most_in_all`` (else ``most_keys``)
    of all together.
    """
    allowance = Allowance(functions, most_keys, most_keys if most_in_all is None else most_in_all)
    frames = _at_frames(functions, frame)
    open_, wanted = _first_intervals(functions)
    done: list[_Intervals] = []
    too_fast = np.zeros(len(functions.counts), np.bool_)
    for number in range(_ROUNDS):
        holder = open_.holders(frames)
        error = open_.errors(measure, wanted, frames, holder)
        tolerance = functions.tolerances[open_.owner]
        most = np.minimum((open_.end - open_.begin) / functions.shortest[open_.owner], _MOST_PIECES)
        wrong = error > tolerance
        if number:  # the first intervals are those between breaks, which may be shorter than allowed
            too_fast[open_.owner[wrong & (most < 2)]] = True
        wrong &= most >= 2
        pieces = np.minimum(np.ceil(np.sqrt(error[wrong] / tolerance[wrong])), most[wrong]).astype(np.intp)
        cuts = _Cuts.of(open_.select(wrong), pieces, frame)
        granted = allowance.grants(open_.owner[wrong], cuts.counts)
        wrong[wrong] = granted
        done.append(open_.select(~wrong))
        if not wrong.any():
            break
        frames = frames.select(wrong[holder] & (holder >= 0))
        open_, wanted = _cut(functions, open_.select(wrong), cuts.select(granted), frame)
    else:
        done.append(open_)
    return _keys_by_function(functions, done, allowance.complete, too_fast)


class _Points(NamedTuple):
    """The functions ``owner`` (n,) at times (n,)."""

    owner: Indices
    times: Floats
    values: Floats

    def select(self, chosen: Flags) -> _Points:
        return _Points._make(column[chosen] for column in self)


class _Intervals(NamedTuple):
    """Lines given by their ends: function (n,), times (n,), values (n, k); those of a function are sorted by time."""

    owner: Indices
    begin: Floats
    end: Floats
    first: Floats
    last: Floats

    def select(self, chosen: Flags) -> _Intervals:
        return _Intervals._make(column[chosen] for column in self)

    def holders(self, points: _Points) -> Indices:
        """Return (m,) the interval that contains each point, -1 for none."""
        if not len(points.times):
            return np.empty(0, np.intp)
        ranks, rank = np.unique(points.times, return_inverse=True)
        height = len(ranks) + 1
        begins = self.owner * height + np.searchsorted(ranks, self.begin)
        intervals = np.maximum(np.searchsorted(begins, points.owner * height + rank, side="right") - 1, 0)
        inside = (self.owner[intervals] == points.owner) & (points.times > self.begin[intervals])
        return np.where(inside & (points.times < self.end[intervals]), intervals, -1)

    def errors(self, measure: Measure, wanted: Floats, frames: _Points, holder: Indices) -> Floats:
        """Return (n,) the largest error at the probes, whose exact values are ``wanted`` (n, probes, k), and at the
        frames inside.
        """
        largest = np.zeros(len(self.begin))
        step = max(1, _PROBED_AT_ONCE // len(_PROBES))
        for begin in range(0, len(largest), step):
            block = slice(begin, begin + step)
            count = len(largest[block])
            first, last = (np.repeat(column[block], len(_PROBES), axis=0) for column in (self.first, self.last))
            exact = wanted[block].reshape(len(first), -1)
            errors = measure.error(first, last, np.tile(_PROBES, count), exact)
            largest[block] = errors.reshape(count, -1).max(axis=1)
        inside = np.flatnonzero(holder >= 0)
        for begin in range(0, len(inside), _PROBED_AT_ONCE):
            chosen = inside[begin : begin + _PROBED_AT_ONCE]
            intervals = holder[chosen]
            u = (frames.times[chosen] - self.begin[intervals]) / (self.end - self.begin)[intervals]
            errors = measure.error(self.first[intervals], self.last[intervals], u, frames.values[chosen])
            np.maximum.at(largest, intervals, errors)
        return largest


def _at_frames(functions: Functions, frame: float) -> _Points:
    """Sample functions with a long interval at whole frames, so that nothing between probes is missed."""
    owner, begin, end, _ = functions.intervals()
    long = np.zeros(len(functions.counts), np.bool_)
    long[owner[end - begin > len(_PROBES) * frame]] = True
    firsts, lasts = (functions.breaks[place] for place in functions.ends())
    numbers = np.flatnonzero(long).tolist()
    frames = [whole_frames(firsts[number], lasts[number], frame, FRAMES_PROBED) for number in numbers]
    owners = np.repeat(np.array(numbers, np.intp), [len(frame) for frame in frames])
    if not len(owners):
        return _Points(owners, np.empty(0), functions.at(np.zeros(1, np.intp), functions.breaks[:1])[:0])
    times = np.concatenate(frames)
    return _Points(owners, times, functions.at(owners, times))


def _first_intervals(functions: Functions) -> tuple[_Intervals, Floats]:
    """Return the intervals between breaks, ending at the start of a jump, and the exact values at their probes."""
    owner, begin, end, jump = functions.intervals()
    end = np.where(jump, end - np.minimum(functions.shortest[owner], 0.25 * (end - begin)), end)
    first, last, *probes = functions.values(owner, [begin, end, *_probes(begin, end)])
    return _Intervals(owner, begin, end, first, last), np.stack(probes, axis=1)


def _probes(begin: Floats, end: Floats) -> list[Floats]:
    return [begin + (end - begin) * fraction for fraction in _PROBES]


def whole_frames(begin: float, end: float, frame: float, most: int) -> Floats:
    """Return the multiples of ``frame`` between two times; none if there are more than ``most``."""
    first, last = np.floor(begin / frame) + 1, np.ceil(end / frame) - 1
    return np.arange(first, last + 1) * frame if 0 <= last - first < most else np.empty(0)


class _Cuts(NamedTuple):
    """Where intervals (n,) are cut: number of cuts, last frame at or before the start, number of frames inside."""

    counts: Indices
    before: Floats
    inside: Floats

    @classmethod
    def of(cls, intervals: _Intervals, pieces: Indices, frame: float) -> _Cuts:
        before = np.floor(intervals.begin / frame)
        inside = np.maximum(np.ceil(intervals.end / frame) - 1 - before, 0)
        counts = np.where(inside > 0, np.minimum(pieces - 1, inside), pieces - 1).astype(np.intp)
        return cls(counts, before, inside)

    def select(self, chosen: Flags) -> _Cuts:
        return _Cuts._make(column[chosen] for column in self)


def _cut(functions: Functions, intervals: _Intervals, cuts: _Cuts, frame: float) -> tuple[_Intervals, Floats]:
    """Return the pieces of intervals, cut at whole frames inside if there are any, and the exact values at their
    probes."""
    interval = np.repeat(np.arange(len(intervals.begin)), cuts.counts)
    number = np.arange(len(interval)) - np.repeat(np.cumsum(cuts.counts) - cuts.counts, cuts.counts) + 1
    fraction = number / (cuts.counts[interval] + 1)
    on_frames = (cuts.before[interval] + np.rint(fraction * (cuts.inside[interval] + 1))) * frame
    between = intervals.begin[interval] + fraction * (intervals.end - intervals.begin)[interval]
    times = np.where(cuts.inside[interval] > 0, on_frames, between)
    # piece j of interval i is at i + the cuts before it + j
    head = np.arange(len(intervals.begin)) + np.cumsum(cuts.counts) - cuts.counts
    following = head[interval] + number
    owner = np.repeat(intervals.owner, cuts.counts + 1)
    begin, end = np.empty(len(owner)), np.empty(len(owner))
    begin[head], begin[following] = intervals.begin, times
    end[head + cuts.counts], end[following - 1] = intervals.end, times
    count = len(owner)
    probes = _probes(begin, end)
    samples = functions.at(np.concatenate([owner[following], *[owner] * len(probes)]), np.concatenate([times, *probes]))
    values = samples[: len(times)]
    first, last = np.empty((count, samples.shape[1])), np.empty((count, samples.shape[1]))
    first[head], first[following] = intervals.first, values
    last[head + cuts.counts], last[following - 1] = intervals.last, values
    wanted = samples[len(times) :].reshape(len(probes), count, -1).swapaxes(0, 1)
    return _Intervals(owner, begin, end, first, last), wanted


def _keys_by_function(
    functions: Functions, parts: list[_Intervals], complete: Flags, too_fast: Flags
) -> list[LinearKeys]:
    """Return the intervals of each function as keys: their ends, each once."""
    owner, begin, end, first, last = (np.concatenate(column) for column in zip(*parts, strict=True))
    owners, times, values = [owner, owner], [begin, end], [first, last]
    firsts, lasts = functions.ends()
    breaks, several = functions.breaks, functions.counts > 1
    single = np.flatnonzero(~several)
    jump_first = np.flatnonzero(functions.jumps[firsts] & several)
    jump_last = np.flatnonzero(functions.jumps[lasts] & several)
    at_first, at_last = firsts[jump_first], lasts[jump_last]
    for numbers, key_times, sampled in (
        (single, breaks[firsts[single]], breaks[firsts[single]]),
        (
            jump_first,
            breaks[at_first] - functions.shortest[jump_first],
            breaks[at_first] - BEFORE_JUMP * (breaks[at_first + 1] - breaks[at_first]),
        ),
        (jump_last, breaks[at_last], breaks[at_last]),
    ):
        if len(numbers):
            owners.append(numbers)
            times.append(key_times)
            values.append(functions.at(numbers, sampled))
    all_owners, all_times = np.concatenate(owners), np.concatenate(times)
    order = np.lexsort((all_times, all_owners))
    all_owners, all_times = all_owners[order], all_times[order]
    is_new = np.ones(len(order), np.bool_)
    is_new[1:] = (all_owners[1:] != all_owners[:-1]) | (all_times[1:] != all_times[:-1])
    kept_times, kept_values = all_times[is_new], np.concatenate(values)[order[is_new]]
    stops = np.searchsorted(all_owners[is_new], np.arange(len(complete)), side="right").tolist()
    joined: list[LinearKeys] = []
    start = 0
    for stop, is_complete, is_too_fast in zip(stops, complete.tolist(), too_fast.tolist(), strict=True):
        joined.append(LinearKeys(kept_times[start:stop], kept_values[start:stop], is_complete, is_too_fast))
        start = stop
    return joined
