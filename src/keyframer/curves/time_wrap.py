"""Time inside a track: held at the ends, or taken modulo the last key's time.

Repeat and loop run from time 0 to the last key, both ways in time: -1 is one before the last key. A track
whose first key lies before 0 has a lead-in instead: times below 0 are played as authored, and the cycle
starts at 0. At a whole number of periods the cycle begins again, so the last key's own value is reached but
never shown (as with two keys at one time, the later one holds).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from .key_columns import Indices, KeyColumns
from .track import Floats

# Stands for infinity: beyond any usable key (1e150), and differences with it stay finite.
FAR = 1e300


def clean_times(times: ArrayLike) -> Floats:
    """Times (T,) fit for arithmetic: NaN counts as long before the first key."""
    given = np.atleast_1d(np.asarray(times, dtype=np.float64))
    return np.clip(np.where(np.isnan(given), -FAR, given), -FAR, FAR)  # np.nan_to_num takes ten times as long


class TimeWrap:
    """The wrap of n tracks."""

    def __init__(self, columns: KeyColumns) -> None:
        starts, periodic = columns.starts, columns.periodic
        self._tracks = np.flatnonzero(periodic)
        self._count = len(periodic)
        self._periods = columns.times[(starts + columns.counts - 1)[periodic]]
        self._lead_in = columns.times[starts[periodic]] < 0

    def local(self, times: Floats) -> Floats:
        """Clean times (T,) as each track sees them: (T, n), or (T, 1) if all tracks see the same."""
        if not len(self._tracks):
            return times[:, None]
        column = times[:, None]
        straight = (self._lead_in & (column < 0)) | (np.abs(column) >= FAR)
        out = np.repeat(column, self._count, axis=1)
        out[:, self._tracks] = np.where(straight, column, np.mod(column, self._periods))
        return out

    def local_pairs(self, tracks: Indices, times: Floats) -> Floats:
        """(P,) one clean time each as one track (P,) each sees it."""
        if not len(self._tracks):
            return times
        place = np.searchsorted(self._tracks, tracks)
        place[place == len(self._tracks)] = 0
        straight = (self._tracks[place] != tracks) | (np.abs(times) >= FAR) | (self._lead_in[place] & (times < 0))
        return np.where(straight, times, np.mod(times, self._periods[place]))
