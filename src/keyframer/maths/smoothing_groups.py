"""Which corners of faces share a normal, as smoothing groups say.

At a shared vertex, faces whose masks share a bit are smooth, and so is what they reach through others there; mask 0 is
flat.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from keyframer.maths.distinct_values import dense, distinct, joined, starts

Indices = npt.NDArray[np.int64]


def smooth_clusters(
    corners: Indices, masks: npt.NDArray[Any] | None, vertices: int, smooth: bool
) -> tuple[Indices, int]:
    """For each of 3 F corners the number of the normal it uses, and how many there are.

    ``smooth`` is for meshes without masks.
    """
    if not len(corners):
        return np.empty(0, np.int64), vertices
    clusters, counts = clusters_of_meshes(
        corners.reshape(-1), np.array([len(corners)]), np.array([vertices]), [masks], smooth
    )
    return clusters, int(counts[0])


def clusters_of_meshes(
    vertex: Indices,
    face_counts: Indices,
    vertex_counts: Indices,
    masks: Sequence[npt.NDArray[Any] | None],
    smooth: bool,
) -> tuple[Indices, Indices]:
    """`smooth_clusters` of many meshes at once: corners, faces and vertices stand mesh after mesh, and so do the
    numbers of their normals. ``vertex`` (3 F,) counts the vertices of all meshes, each of which has a face.

    Returns the numbers, and how many each mesh has.
    """
    corner_counts = 3 * face_counts
    plain = [
        np.full(count, smooth, np.int64) if mask is None else mask
        for mask, count in zip(masks, face_counts, strict=True)
    ]
    bits = joined(plain).astype(np.int64) & 0xFFFFFFFF
    begins = starts(face_counts)
    low, high = np.minimum.reduceat(bits, begins), np.maximum.reduceat(bits, begins)
    flat = high == 0
    if flat.all():
        return np.arange(len(vertex)), corner_counts
    whole = (low == high) & ~flat
    if whole.all():
        return vertex, vertex_counts
    mixed = ~(flat | whole)
    counts = np.where(whole, vertex_counts, corner_counts)
    owner = np.repeat(np.arange(len(counts)), corner_counts)
    of_corner = np.repeat(bits, 3)
    rounded = mixed[owner] & (of_corner != 0)
    shared, _ = _joined(vertex[rounded], of_corner[rounded])
    ends = np.zeros(len(counts), np.int64)
    np.maximum.at(ends, owner[rounded], shared + 1)  # a mesh follows the mesh before it
    ends = np.maximum.accumulate(ends)
    smoothed = np.diff(ends, prepend=0)
    sharp_counts = np.bincount(owner[~rounded], minlength=len(counts))
    counts[mixed] = (smoothed + sharp_counts)[mixed]
    first = starts(counts)
    clusters = np.where(
        whole[owner],
        vertex + (first - starts(vertex_counts))[owner],
        np.arange(len(vertex)) + (first - starts(corner_counts))[owner],
    )
    clusters[rounded] = shared + (first - ends + smoothed)[owner[rounded]]
    sharp = mixed[owner] & ~rounded
    place = np.arange(np.count_nonzero(sharp)) - starts(np.where(mixed, sharp_counts, 0))[owner[sharp]]
    clusters[sharp] = place + (first + smoothed)[owner[sharp]]
    return clusters, counts


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
