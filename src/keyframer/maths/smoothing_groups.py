"""Which corners of faces share a normal, as smoothing groups say.

At a shared vertex, faces whose masks share a bit are smooth, and so is what they reach through others there; mask 0 is
flat.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from keyframer.maths.distinct_values import dense, distinct

Indices = npt.NDArray[np.int64]


def smooth_clusters(
    corners: Indices, masks: npt.NDArray[Any] | None, vertices: int, smooth: bool
) -> tuple[Indices, int]:
    """For each of 3 F corners the number of the normal it uses, and how many there are.

    ``smooth`` is for meshes without masks.
    """
    flat_corners = corners.reshape(-1)
    if masks is None:
        if smooth:
            return flat_corners, vertices
        return np.arange(len(flat_corners)), len(flat_corners)
    masks = np.asarray(masks).astype(np.int64) & 0xFFFFFFFF
    if not len(masks) or not masks.any():
        return np.arange(len(flat_corners)), len(flat_corners)
    if (masks == masks[0]).all():
        return flat_corners, vertices
    of_corner = np.repeat(masks, 3)
    rounded = of_corner != 0
    clusters = np.empty(len(flat_corners), np.int64)
    clusters[rounded], count = _joined(flat_corners[rounded], of_corner[rounded])
    sharp = int(len(rounded) - np.count_nonzero(rounded))
    clusters[~rounded] = count + np.arange(sharp)
    return clusters, count + sharp


def _joined(vertex: Indices, mask: Indices) -> tuple[Indices, int]:
    """Clusters of corners with masks, none of them 0."""
    kinds, kind = distinct(mask)
    if len(kinds) == 1:
        return dense(vertex)[:2]
    pair, count, pick = dense(vertex * len(kinds) + kind)  # pairs of a vertex and a mask, in order of vertices
    owner, reach = vertex[pick], mask[pick]
    starts = np.flatnonzero(np.diff(owner, prepend=-1))
    if len(starts) == count:
        return pair, count
    group = np.cumsum(np.diff(owner, prepend=-1) != 0) - 1
    bits = _joining(kinds.tolist())
    if not bits:
        return pair, count
    while True:  # what a mask reaches grows until nothing changes: at most as often as there are masks at a vertex
        before = reach
        for bit in bits:
            has = (reach & bit) != 0
            together = np.bitwise_or.reduceat(np.where(has, reach, 0), starts)
            reach = np.where(has, reach | together[group], reach)
        if np.array_equal(before, reach):
            break
    order = np.lexsort((reach, owner))
    fresh = (np.diff(owner[order], prepend=-1) != 0) | (np.diff(reach[order], prepend=-1) != 0)
    cluster = np.empty(count, np.int64)
    cluster[order] = np.cumsum(fresh) - 1
    return cluster[pair], int(np.count_nonzero(fresh))


def _joining(masks: list[int]) -> list[int]:
    """The bits that are in more than one of these masks: no other bit can join two of them."""
    once = twice = 0
    for mask in masks:
        twice |= once & mask
        once |= mask
    return [1 << place for place in range(32) if twice >> place & 1]
