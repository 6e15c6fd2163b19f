"""Numbering of distinct values in arrays with many repeated ones."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from keyframer.arrays import Array, Indices, Singles

SPARSE = 8
"""largest ratio of table length to number of keys; above it sorting is faster"""


def dense_ranks(keys: Indices) -> tuple[Indices, int, Indices]:
    """Return the rank of each key among the distinct keys, their number, and a position at which each of them occurs.

    Keys are not negative.
    """
    if not len(keys):
        return np.empty(0, np.int64), 0, np.empty(0, np.int64)
    bound = int(keys.max()) + 1
    if bound > max(SPARSE * len(keys), 1 << 16):
        values, rank = np.unique(keys, return_inverse=True)
        rank, count = rank.reshape(-1), len(values)
    else:
        used = np.zeros(bound, np.bool_)
        used[keys] = True
        ranks = np.cumsum(used) - 1
        rank, count = ranks[keys], int(ranks[-1]) + 1
    place = np.empty(count, np.int64)
    place[rank] = np.arange(len(keys))
    return rank, count, place


def starts(counts: Indices) -> Indices:
    """Return the start of each part in a concatenation of parts with these lengths."""
    return np.cumsum(counts) - counts


def joined(arrays: Sequence[Array]) -> Array:
    """Return the concatenated arrays; a single array is returned as it is."""
    return np.asarray(arrays[0]) if len(arrays) == 1 else np.concatenate(arrays)


FEW = 16
"""number of values that are searched one by one before sorting"""


def distinct(values: Indices) -> tuple[Indices, Indices]:
    """Return the distinct values in ascending order, and for each entry the index of its value; fast for few values."""
    firsts: list[int] = []
    remaining = values
    while len(remaining) and len(firsts) <= FEW:
        firsts.append(int(remaining[0]))
        remaining = remaining[remaining != firsts[-1]]
    if len(remaining):
        kinds, rank = np.unique(values, return_inverse=True)
        return kinds, rank.reshape(-1)
    firsts.sort()
    number = np.zeros(len(values), np.int64)
    for place, value in enumerate(firsts[1:], 1):
        number[values == value] = place
    return np.array(firsts, np.int64), number


def distinct_rows(rows: Singles) -> tuple[Indices, Indices]:
    """Return the index of the first occurrence of each distinct row, and for each row its number among these.

    Rows are equal if all bits are. They are compared by a checksum, which is ten times faster than sorting; if two
    different rows have the same checksum, all rows are sorted.
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
