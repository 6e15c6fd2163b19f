"""Locates times in n tracks at once: the key before each time and the eased fraction u to the next key.

Key times are replaced by their rank among all key times of the group. Files have keys on few distinct frames, so one
table (rank x track -> key) usually suffices; if it would be too large, one searchsorted over (track, rank) pairs is
used. Either costs a few numpy calls for all tracks and times together.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from keyframer.fields import dataclass

from .key_columns import Flags, Indices, KeyColumns
from .track import Floats, Wrap

# Represents infinity: beyond any usable key (1e150), with finite differences.
FAR = 1e300


def clean_times(times: ArrayLike) -> Floats:
    """Return times (T,) that are safe for arithmetic: NaN is treated as long before the first key."""
    given = np.atleast_1d(np.asarray(times, dtype=np.float64))
    return np.clip(np.where(np.isnan(given), -FAR, given), -FAR, FAR)  # np.nan_to_num takes ten times as long


class TimeWrap:
    """The wrap of n tracks: time is clamped to the ends, or taken modulo the time of the last key.

    Repeat and loop run from time 0 to the last key, both ways in time: -1 is one before the last key. A track whose
    first key lies before 0 has a lead-in instead: times below 0 are played as authored, and the cycle starts at 0. At a
    whole number of periods the cycle begins again, so the last key's own value is reached but never shown (as with two
    keys at one time, the later one holds).
    """

    def __init__(self, columns: KeyColumns) -> None:
        starts, periodic = columns.starts, columns.periodic
        self._tracks = np.flatnonzero(periodic)
        self._count = len(periodic)
        self._periods = columns.times[(starts + columns.counts - 1)[periodic]]
        self._lead_in = columns.times[starts[periodic]] < 0

    def local(self, times: Floats) -> Floats:
        """Return clean times (T,) as seen by each track: (T, n), or (T, 1) if all tracks see the same."""
        if not len(self._tracks):
            return times[:, None]
        column = times[:, None]
        straight = (self._lead_in & (column < 0)) | (np.abs(column) >= FAR)
        out = np.repeat(column, self._count, axis=1)
        out[:, self._tracks] = np.where(straight, column, np.mod(column, self._periods))
        return out

    def local_pairs(self, tracks: Indices, times: Floats) -> Floats:
        """Return (P,) one clean time each, as seen by one track (P,) each."""
        if not len(self._tracks):
            return times
        place = np.searchsorted(self._tracks, tracks)
        place[place == len(self._tracks)] = 0
        straight = (self._tracks[place] != tracks) | (np.abs(times) >= FAR) | (self._lead_in[place] & (times < 0))
        return np.where(straight, times, np.mod(times, self._periods[place]))


@dataclass(eq=False, repr=False)
class Segments:
    """The segments that meet at each of K keys: pieces between jumps, and the seam of a loop.

    A segment is identified by its first key and exists only if it has a duration: two keys at one time are a jump that
    ends a piece. In a loop the last segment comes before the first key and the first one after the last key.
    """

    lengths: Floats  # (K,) time to the next key; 0 where no segment starts
    before: Indices  # (K,) the segment that ends here, -1 for none
    after: Indices  # (K,) the segment that starts here, -1 for none

    @property
    def lasting(self) -> Flags:
        """(K,) true if a segment starts here."""
        return np.asarray(self.lengths > 0)

    @property
    def interior(self) -> Flags:
        """(K,) true if a key has segments on both sides, possibly across the seam."""
        return np.asarray((self.before >= 0) & (self.after >= 0))


def find_segments(columns: KeyColumns) -> Segments:
    """Return the segments of all tracks."""
    count = len(columns.times)
    keys = np.arange(count)
    lengths = np.zeros(count)
    lengths[:-1] = np.diff(columns.times)
    filled = columns.counts > 0
    first, last = columns.starts, columns.starts + columns.counts - 1
    lengths[last[filled]] = 0.0
    lasting = lengths > 0
    after = np.where(lasting, keys, -1)
    before = np.full(count, -1, dtype=np.intp)
    before[1:] = after[:-1]
    loops = np.array([wrap is Wrap.LOOP for wrap in columns.wraps], dtype=np.bool_)
    loops &= columns.periodic & (columns.counts > 1)
    seam_first, seam_last = first[loops], last[loops]
    before[seam_first] = np.where(lasting[seam_last - 1], seam_last - 1, -1)
    after[seam_last] = np.where(lasting[seam_first], seam_first, -1)
    return Segments(lengths, before, after)


def segment_ease(columns: KeyColumns, segments: Segments) -> tuple[Floats, Floats] | None:
    """Return ease out of the left and into the right key of every segment, together at most 1; None if all are 0."""
    leaving = np.where(segments.lasting, columns.ease_from, 0.0)
    arriving = np.zeros(len(leaving))
    arriving[:-1] = columns.ease_to[1:]
    arriving = np.where(segments.lasting, arriving, 0.0)
    if not (leaving.any() or arriving.any()):
        return None
    total = np.maximum(leaving + arriving, 1.0)
    return leaving / total, arriving / total


def warp(u: Floats, leaving: Floats, arriving: Floats) -> Floats:
    """Return u before interpolation, with a slow start of the fraction `leaving` and a slow stop of the fraction
    `arriving`.
    """
    speed = 1 / (2 - leaving - arriving)
    start = speed * u * u / np.where(leaving > 0, leaving, 1.0)
    stop = 1 - speed * (1 - u) ** 2 / np.where(arriving > 0, arriving, 1.0)
    cruise = speed * (2 * u - leaving)
    return np.where(u < leaving, start, np.where(u <= 1 - arriving, cruise, stop))


# 1 M entries are 8 MB; a larger table may not be much larger than the keys it indexes.
SMALL_TABLE = 1_000_000
ENTRIES_PER_KEY = 4


class Timeline:
    """The key times of n tracks with at least one key each."""

    def __init__(self, columns: KeyColumns, segments: Segments) -> None:
        self._wrap = TimeWrap(columns)
        self._key_times = columns.times
        self._lengths = np.where(segments.lasting, segments.lengths, np.inf)  # u stays 0 if no segment starts
        self._ease = segment_ease(columns, segments)
        self._starts = columns.starts
        count = len(self._starts)
        self._ranks, inverse = np.unique(columns.times, return_inverse=True)
        rank = inverse.reshape(-1) + 1  # rank r: r of the distinct times are at or before this key
        height = len(self._ranks) + 1
        self._table: Indices | None = None
        if height * count <= max(SMALL_TABLE, ENTRIES_PER_KEY * len(rank)):
            passed = np.bincount(rank * count + columns.track, minlength=height * count)
            passed = np.cumsum(passed.reshape(height, count), axis=0)
            self._table = self._starts + np.maximum(passed - 1, 0)
        else:
            self._pairs = columns.track * height + rank
            self._offsets = np.arange(count) * height

    def locate(self, times: Floats) -> tuple[Indices, Floats]:
        """Return the keys at or before clean times (T,), and u in 0..1 from there to the next key, both (T, n)."""
        local = self._wrap.local(times)
        rank = np.searchsorted(self._ranks, local, side="right")
        if self._table is None:
            segments = np.searchsorted(self._pairs, self._offsets + rank, side="right") - 1
            rows = np.maximum(segments, self._starts)
        elif rank.shape[1] == 1:
            rows = self._table[rank[:, 0]]
        else:
            rows = self._table[rank, np.arange(len(self._starts))]
        return rows, self._shares(local, rows)

    def locate_pairs(self, tracks: Indices, times: Floats) -> tuple[Indices, Floats]:
        """Return the same as `locate`, for one track (P,) and one clean time (P,) each; both results are (P,)."""
        local = self._wrap.local_pairs(tracks, times)
        rank = np.searchsorted(self._ranks, local, side="right")
        if self._table is None:
            segments = np.searchsorted(self._pairs, self._offsets[tracks] + rank, side="right") - 1
            rows = np.maximum(segments, self._starts[tracks])
        else:
            rows = self._table[rank, tracks]
        return rows, self._shares(local, rows)

    def _shares(self, local: Floats, rows: Indices) -> Floats:
        """Return the eased fraction u from the keys ``rows`` to the next ones at local times."""
        u = local - self._key_times[rows]
        u /= self._lengths[rows]
        np.clip(u, 0.0, 1.0, out=u)
        return u if self._ease is None else warp(u, self._ease[0][rows], self._ease[1][rows])
