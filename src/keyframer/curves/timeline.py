"""Where a time falls: for n tracks at once, the key before it and the way u to the next one, eased.

Key times are replaced by their rank among all key times of the group. Files keep keys on few distinct
frames, so one table (rank x track -> key) usually answers with a row copy; where it would be too big, one
searchsorted over (track, rank) pairs does. Either costs a few numpy calls for all tracks and times
together.
"""

from __future__ import annotations

import numpy as np

from .ease import segment_ease, warp
from .key_columns import Indices, KeyColumns
from .segments import Segments
from .time_wrap import TimeWrap
from .track import Floats

# 1 M entries are 8 MB; beyond that a table may not outgrow the keys it indexes by much.
SMALL_TABLE = 1_000_000
ENTRIES_PER_KEY = 4


class Timeline:
    """The time side of n tracks with at least one key each."""

    def __init__(self, columns: KeyColumns, segments: Segments) -> None:
        self._wrap = TimeWrap(columns)
        self._key_times = columns.times
        self._lengths = np.where(segments.lasting, segments.lengths, np.inf)  # u stays 0 where no segment starts
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
        """The keys at or before clean times (T,), and u in 0..1 from there to the next key, both (T, n)."""
        local = self._wrap.local(times)
        rank = np.searchsorted(self._ranks, local, side="right")
        if self._table is None:
            found = np.searchsorted(self._pairs, self._offsets + rank, side="right") - 1
            rows = np.maximum(found, self._starts)
        elif rank.shape[1] == 1:
            rows = self._table[rank[:, 0]]
        else:
            rows = self._table[rank, np.arange(len(self._starts))]
        return rows, self._shares(local, rows)

    def locate_pairs(self, tracks: Indices, times: Floats) -> tuple[Indices, Floats]:
        """As `locate`, for one track (P,) and one clean time (P,) each; both results are (P,)."""
        local = self._wrap.local_pairs(tracks, times)
        rank = np.searchsorted(self._ranks, local, side="right")
        if self._table is None:
            found = np.searchsorted(self._pairs, self._offsets[tracks] + rank, side="right") - 1
            rows = np.maximum(found, self._starts[tracks])
        else:
            rows = self._table[rank, tracks]
        return rows, self._shares(local, rows)

    def _shares(self, local: Floats, rows: Indices) -> Floats:
        """The eased way u from the keys ``rows`` to the next ones at local times."""
        u = local - self._key_times[rows]
        u /= self._lengths[rows]
        np.clip(u, 0.0, 1.0, out=u)
        return u if self._ease is None else warp(u, self._ease[0][rows], self._ease[1][rows])
