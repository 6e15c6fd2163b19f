"""Distinct values of arrays, and for each entry the index of its value; helpers for concatenated arrays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from keyframer.arrays import Array, Indices, Singles

TABLE_RATIO = 8
"""a table may have this many entries per key, or 65,536 in total; sorting is faster than a longer table"""


def dense_ranks(keys: Indices) -> tuple[Indices, int, Indices]:
    """Return the rank of each key among the distinct keys, the number of distinct keys, and for each distinct key a
    position at which it occurs.

    Keys must not be negative.
    """
    if not len(keys):
        return np.empty(0, np.int64), 0, np.empty(0, np.int64)
    bound = int(keys.max()) + 1
    if bound > max(TABLE_RATIO * len(keys), 1 << 16):
        values, rank = np.unique(keys, return_inverse=True)
        rank, count = rank.reshape(-1), len(values)
    else:
        used = np.zeros(bound, np.bool_)
        used[keys] = True
        ranks = np.cumsum(used) - 1
        rank, count = ranks[keys], int(ranks[-1]) + 1
    position = np.empty(count, np.int64)
    position[rank] = np.arange(len(keys))
    return rank.astype(np.int64, copy=False), count, position


def starts(counts: Indices) -> Indices:
    """Return the start of each part in a concatenation of parts with these lengths."""
    return np.cumsum(counts) - counts


def joined(arrays: Sequence[Array]) -> Array:
    """Return the concatenated arrays; a single array is returned as it is."""
    return np.asarray(arrays[0]) if len(arrays) == 1 else np.concatenate(arrays)


MOST_SEARCHED = 16
"""maximum number of distinct values that are searched for one by one; arrays with more are sorted"""


def distinct(values: Indices) -> tuple[Indices, Indices]:
    """Return the ascending distinct values, and for each entry the index of its value; fast for few distinct values."""
    distinct_values: list[int] = []
    remaining = values
    while len(remaining) and len(distinct_values) < MOST_SEARCHED:
        distinct_values.append(int(remaining[0]))
        remaining = remaining[remaining != distinct_values[-1]]
    if len(remaining):
        sorted_values, indices = np.unique(values, return_inverse=True)
        return sorted_values, indices.reshape(-1)
    distinct_values.sort()
    indices = np.zeros(len(values), np.int64)
    for index, value in enumerate(distinct_values[1:], 1):
        indices[values == value] = index
    return np.array(distinct_values, np.int64), indices


def distinct_rows(rows: Singles) -> tuple[Indices, Indices]:
    """Return the index of the first occurrence of each distinct row, in any order, and for each row the number of its
    distinct row.

    Rows are equal if all bits are. They are compared by checksums, which is ten times faster than sorting the rows; if
    two different rows have the same checksum, the rows are sorted.
    """
    bits = np.ascontiguousarray(rows).view(np.uint32)
    factors = np.random.default_rng(len(bits)).integers(1, 1 << 63, bits.shape[1], np.uint64) * np.uint64(2)
    sums = (bits * (factors + np.uint64(1))).sum(axis=1, dtype=np.uint64)
    _, first, number = np.unique(sums, return_index=True, return_inverse=True)
    number = number.reshape(-1)
    if not np.array_equal(bits[first][number], bits):
        row_bytes = bits.view(np.dtype((np.void, bits.dtype.itemsize * bits.shape[1]))).reshape(-1)
        _, first, number = np.unique(row_bytes, return_index=True, return_inverse=True)
    return first, number.reshape(-1)


def unique_values(values: Array) -> Array:
    """Return the distinct values in ascending order: `np.unique` without the modules that its first call loads
    (`numpy.ma`).
    """
    ordered = np.sort(values, axis=None)
    if len(ordered) < 2:
        return ordered
    new = ordered[1:] != ordered[:-1]
    if ordered.dtype.kind == "f":  # NaNs come last; all are the same value here
        new &= ordered[:-1] == ordered[:-1]
    different: Array = ordered[np.concatenate([[True], new])]
    return different
