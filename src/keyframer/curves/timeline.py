"""Locates times in n tracks at once: the key before each time and the eased fraction u to the next key.

If only a few times are requested, each is compared with all keys. For more, key times are replaced by their rank among
all key times of the group.
Files have keys on few distinct frames, so one table (rank x track -> key) usually suffices; if it would be too large,
one searchsorted over (track, rank) pairs is used. Both take a few numpy calls for all tracks and times together.
`even_times` has the times at which tracks are sampled again.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from keyframer.arrays import Flags, Floats
from keyframer.limits import ensure_budget

from .key_columns import Indices, KeyColumns
from .track import Wrap

# Represents infinity: beyond any usable key (1e150), with finite differences.
FAR = 1e300


def clean_times(times: ArrayLike) -> Floats:
    """Return times (T,) that are safe for arithmetic: NaN becomes a time long before the first key."""
    given = np.atleast_1d(np.asarray(times, dtype=np.float64))
    return np.fmin(np.fmax(given, -FAR), FAR)  # both prefer a number to NaN


class TimeWrap:
    """The wrap of n tracks: time is unchanged, or taken modulo the time of the last key.

    Repeat and loop run from time 0 to the last key, also before 0: time -1 is 1 before the last key. A track whose
    first key lies before 0 has a lead-in instead: times below 0 are played as authored, and the cycle starts at 0. At a
    whole number of periods the cycle begins again, so the value at the time of the last key is that at time 0.
    """

    def __init__(self, columns: KeyColumns) -> None:
        periodic = columns.periodic
        self._tracks = periodic.nonzero()[0]
        self._count = len(periodic)
        self._periods = columns.times[columns.lasts[periodic]]
        self._lead_in = columns.times[columns.starts[periodic]] < 0

    def local(self, times: Floats) -> Floats:
        """Return clean times (T,) as seen by each track: (T, n), or (T, 1) if they are the same for all tracks."""
        if not len(self._tracks):
            return times[:, None]
        column = times[:, None]
        unwrapped = (self._lead_in & (column < 0)) | (np.abs(column) >= FAR)
        out = np.repeat(column, self._count, axis=1)
        out[:, self._tracks] = np.where(unwrapped, column, np.mod(column, self._periods))
        return out

    def local_pairs(self, tracks: Indices, times: Floats) -> Floats:
        """Return (P,): each clean time as seen by the track at the same index of ``tracks``."""
        if not len(self._tracks):
            return times
        place = np.searchsorted(self._tracks, tracks)
        place[place == len(self._tracks)] = 0
        unwrapped = (self._tracks[place] != tracks) | (np.abs(times) >= FAR) | (self._lead_in[place] & (times < 0))
        return np.where(unwrapped, times, np.mod(times, self._periods[place]))


@dataclass(eq=False, repr=False)
class Segments:
    """The segments, from one key to the next, that meet at each of K keys.

    A segment is identified by its first key and exists only if it has a duration: two keys at one time are a jump,
    which ends a piece of the curve. In a loop the last segment comes before the first key, and the first segment after
    the last key.
    """

    lengths: Floats  # (K,) time to the next key; 0 where no segment starts
    exists: Flags  # (K,) true if a segment starts here
    before: Indices  # (K,) the segment before this key, -1 for none
    after: Indices  # (K,) the segment after this key, -1 for none

    @cached_property
    def interior(self) -> Flags:
        """(K,) true if a key has segments on both sides, possibly across the seam."""
        return np.asarray((self.before >= 0) & (self.after >= 0))


def find_segments(columns: KeyColumns) -> Segments:
    """Return the segments of all tracks."""
    count = len(columns.times)
    lengths = np.zeros(count)
    np.subtract(columns.times[1:], columns.times[:-1], out=lengths[:-1])
    lengths[columns.lasts[columns.counts > 0]] = 0.0
    exists = lengths > 0
    after = np.where(exists, np.arange(count), -1)
    before = np.empty(count, dtype=np.intp)
    before[:1] = -1
    before[1:] = after[:-1]
    if Wrap.LOOP in columns.wraps:
        loops = np.array([wrap is Wrap.LOOP for wrap in columns.wraps], dtype=np.bool_)
        loops &= columns.periodic & (columns.counts > 1)
        seam_first, seam_last = columns.starts[loops], columns.lasts[loops]
        before[seam_first] = np.where(exists[seam_last - 1], seam_last - 1, -1)
        after[seam_last] = np.where(exists[seam_first], seam_first, -1)
    return Segments(lengths, exists, before, after)


def segment_ease(columns: KeyColumns, segments: Segments) -> tuple[Floats, Floats] | None:
    """Return ease out of the left and into the right key of every segment, together at most 1; None without ease."""
    if not columns.has_ease:
        return None
    leaving = np.where(segments.exists, columns.ease_from, 0.0)
    arriving = np.zeros(len(leaving))
    arriving[:-1] = columns.ease_to[1:]
    arriving = np.where(segments.exists, arriving, 0.0)
    total = np.maximum(leaving + arriving, 1.0)
    return leaving / total, arriving / total


def warp(u: Floats, leaving: Floats, arriving: Floats) -> Floats:
    """Return the eased u: a slow start over the fraction `leaving` and a slow stop over the fraction `arriving`."""
    speed = 1 / (2 - leaving - arriving)
    start = speed * u * u / np.where(leaving > 0, leaving, 1.0)
    stop = 1 - speed * (1 - u) ** 2 / np.where(arriving > 0, arriving, 1.0)
    cruise = speed * (2 * u - leaving)
    return np.where(u < leaving, start, np.where(u <= 1 - arriving, cruise, stop))


# A table of 1 M entries takes 8 MB; larger tables are limited by the number of their keys.
SMALL_TABLE = 1_000_000
ENTRIES_PER_KEY = 4
# Up to this number of times x keys, comparing all takes less time than making the table.
FEW_PAIRS = 4_096


class Timeline:
    """The key times of n tracks with at least one key each."""

    def __init__(self, columns: KeyColumns, segments: Segments) -> None:
        self._wrap = TimeWrap(columns)
        self._key_times = columns.times
        self._lengths = np.where(segments.exists, segments.lengths, np.inf)  # u stays 0 if no segment starts
        self._ease = segment_ease(columns, segments)
        self._starts = columns.starts
        self._track = columns.track

    def locate(self, times: Floats) -> tuple[Indices, Floats]:
        """Return the key at or before each clean time (T,), and the fraction u in 0..1 from it to the next key.

        Both results are (T, n). Before the first key of a track, they are that key and 0.
        """
        local = self._wrap.local(times)
        if len(times) * len(self._key_times) <= FEW_PAIRS:
            local_by_key = local if local.shape[1] == 1 else local[:, self._track]
            passed = np.add.reduceat(local_by_key >= self._key_times, self._starts, axis=1, dtype=np.intp)
            rows = self._starts + np.maximum(passed - 1, 0)
        else:
            rows = self._ranked.rows(local)
        return rows, self._fractions(local, rows)

    def locate_pairs(self, tracks: Indices, times: Floats) -> tuple[Indices, Floats]:
        """Return the same as `locate` for pairs of a track and a clean time; arguments and results are (P,)."""
        local = self._wrap.local_pairs(tracks, times)
        rows = self._ranked.rows_of_pairs(tracks, local)
        return rows, self._fractions(local, rows)

    @cached_property
    def _ranked(self) -> _RankedKeys:
        return _RankedKeys(self._key_times, self._track, self._starts)

    def _fractions(self, local: Floats, rows: Indices) -> Floats:
        """Return the eased fraction u from the keys ``rows`` to the next ones at local times."""
        u = local - self._key_times[rows]
        u /= self._lengths[rows]
        np.maximum(u, 0.0, out=u)
        np.minimum(u, 1.0, out=u)
        return u if self._ease is None else warp(u, self._ease[0][rows], self._ease[1][rows])


class _RankedKeys:
    """The keys of n tracks by the rank of their times, for many times."""

    def __init__(self, key_times: Floats, track: Indices, starts: Indices) -> None:
        self._starts = starts
        count = len(starts)
        self._ranks, inverse = np.unique(key_times, return_inverse=True)
        rank = inverse.reshape(-1) + 1  # rank r: r of the distinct times are at or before this key
        height = len(self._ranks) + 1
        self._table: Indices | None = None
        if height * count <= max(SMALL_TABLE, ENTRIES_PER_KEY * len(rank)):
            passed = np.bincount(rank * count + track, minlength=height * count)
            passed = np.cumsum(passed.reshape(height, count), axis=0)
            self._table = starts + np.maximum(passed - 1, 0)
        else:
            self._pairs = track * height + rank
            self._offsets = np.arange(count) * height

    def rows(self, local: Floats) -> Indices:
        """Return (T, n) the keys at or before local times: (T, n), or (T, 1) if they are the same for all tracks."""
        rank = np.searchsorted(self._ranks, local, side="right")
        if self._table is None:
            return np.maximum(np.searchsorted(self._pairs, self._offsets + rank, side="right") - 1, self._starts)
        if rank.shape[1] == 1:
            return self._table[rank[:, 0]]
        return self._table[rank, np.arange(len(self._starts))]

    def rows_of_pairs(self, tracks: Indices, local: Floats) -> Indices:
        """Return (P,) the key at or before the local time, for each pair of a track and a time."""
        rank = np.searchsorted(self._ranks, local, side="right")
        if self._table is None:
            rows = np.searchsorted(self._pairs, self._offsets[tracks] + rank, side="right") - 1
            return np.maximum(rows, self._starts[tracks])
        return self._table[rank, tracks]


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
