"""Numbering: many keys, few of them different."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Indices = npt.NDArray[np.int64]

SPARSE = 8
"""a table may be so many times longer than the keys it numbers; beyond that sorting is cheaper"""


def dense(keys: Indices) -> tuple[Indices, int, Indices]:
    """For each key (not negative) the rank of its value among the values there are, how many there are, and for each
    value the place of one key that has it."""
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
    """Where parts of so many entries begin that stand one after the other."""
    return np.cumsum(counts) - counts


def joined(arrays: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Arrays one after the other; a single one as it is."""
    return np.asarray(arrays[0]) if len(arrays) == 1 else np.concatenate(arrays)


FEW = 16
"""values that are looked for one by one before sorting is thought of"""


def distinct(values: Indices) -> tuple[Indices, Indices]:
    """The different values in rising order, and for each entry the number of its value. Fast where there are few."""
    firsts: list[int] = []
    left = values
    while len(left) and len(firsts) <= FEW:
        firsts.append(int(left[0]))
        left = left[left != firsts[-1]]
    if len(left):
        kinds, rank = np.unique(values, return_inverse=True)
        return kinds, rank.reshape(-1)
    firsts.sort()
    number = np.zeros(len(values), np.int64)
    for place, value in enumerate(firsts[1:], 1):
        number[values == value] = place
    return np.array(firsts, np.int64), number


def distinct_rows(rows: npt.NDArray[np.float32]) -> tuple[Indices, Indices]:
    """For each different row (bit for bit) the place of the first that has it, and for each row the number of its kind.

    Rows are told apart by a sum of their bits, ten times faster than by sorting them; where two that differ have the
    same sum, which chance does not bring about, they are sorted after all.
    """
    bits = np.ascontiguousarray(rows).view(np.uint32)
    factors = np.random.default_rng(len(bits)).integers(1, 1 << 63, bits.shape[1], np.uint64) * np.uint64(2)
    sums = (bits * (factors + np.uint64(1))).sum(axis=1, dtype=np.uint64)
    _, first, number = np.unique(sums, return_index=True, return_inverse=True)
    number = number.reshape(-1)
    if not np.array_equal(bits[first][number], bits):
        whole = bits.view(np.dtype((np.void, bits.dtype.itemsize * bits.shape[1]))).reshape(-1)
        _, first, number = np.unique(whole, return_index=True, return_inverse=True)
    return first, number.reshape(-1)


def unique_values(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The different values in rising order: `np.unique` without what it loads (`numpy.ma`) at its first call."""
    ordered = np.sort(values, axis=None)
    if len(ordered) < 2:
        return ordered
    new = ordered[1:] != ordered[:-1]
    if ordered.dtype.kind == "f":  # NaNs are last, and all alike
        new &= ordered[:-1] == ordered[:-1]
    different: npt.NDArray[Any] = ordered[np.concatenate([[True], new])]
    return different
