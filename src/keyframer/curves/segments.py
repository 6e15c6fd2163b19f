"""Which segments meet at a key: pieces between jumps, and the seam of a loop.

A segment is named by the key it starts at and exists only if it lasts: two keys at one time are a jump that
ends a piece. In a loop the last segment comes before the first key and the first one after the last key.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .key_columns import Flags, Indices, KeyColumns
from .track import Floats, Wrap


@dataclass(eq=False, repr=False)
class Segments:
    """What surrounds each of K keys."""

    lengths: Floats  # (K,) time to the next key; 0 where no segment starts
    before: Indices  # (K,) the segment that ends here, -1 for none
    after: Indices  # (K,) the segment that starts here, -1 for none

    @property
    def lasting(self) -> Flags:
        """(K,) true where a segment starts."""
        return np.asarray(self.lengths > 0)

    @property
    def interior(self) -> Flags:
        """(K,) true where a key has segments on both sides, perhaps across the seam."""
        return np.asarray((self.before >= 0) & (self.after >= 0))


def find_segments(columns: KeyColumns) -> Segments:
    """The segments of all tracks."""
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
