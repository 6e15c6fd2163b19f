"""Smoothing groups: which corners of faces share a normal.

At a shared vertex, faces whose masks have a bit in common are smooth, also indirectly through other faces there; mask 0
is flat.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from keyframer.arrays import Array, Flags, Indices
from keyframer.maths.distinct_values import dense, distinct, joined, starts


def smooth_clusters(corners: Indices, masks: Array | None, vertices: int, smooth: bool) -> tuple[Indices, int]:
    """Return for each of 3 F corners the index of its normal, and the number of normals.

    ``smooth`` applies to meshes without masks.
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
    masks: Sequence[Array | None],
    smooth: bool,
) -> tuple[Indices, Indices]:
    """Return the result of `smooth_clusters` for many meshes at once: normal indices, and the number of normals per
    mesh.

    Corners, faces and vertices are concatenated mesh by mesh, and so are the normals. ``vertex`` (3 F,) indexes the
    vertices of all meshes; each mesh has at least one face.
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
    if low.min() > 0 and mixed.all():  # every face has a mask, and every mesh several
        shared, _ = _joined(vertex, bits)
        ends = np.maximum.reduceat(shared, starts(corner_counts)) + 1
        ends[1:] -= ends[:-1].copy()
        return shared, ends
    counts = np.where(whole, vertex_counts, corner_counts)
    owner = np.repeat(np.arange(len(counts)), corner_counts)
    smooth_faces = np.repeat(mixed, face_counts) & (bits != 0)
    rounded = np.repeat(smooth_faces, 3)
    shared, _ = _joined(vertex[rounded], bits[smooth_faces])
    ends = np.zeros(len(counts), np.int64)
    np.maximum.at(ends, owner[rounded], shared + 1)  # end of the normals of each mesh
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
    """Return clusters of 3 F corners of faces with masks, none of them 0."""
    kinds, kind = distinct(mask)
    if len(kinds) == 1:
        return dense(vertex)[:2]
    pair, count, pick = dense(vertex * len(kinds) + np.repeat(kind, 3))  # a vertex and a mask, in order of vertices
    owner, reach = vertex.take(pick), mask.take(pick // 3)
    new = _changes(owner)
    begins = np.flatnonzero(new)
    bits = _joining(kinds.tolist())
    if len(begins) == count or not bits:
        return pair, count
    every = np.bitwise_or.reduceat(reach, begins)
    common = np.bitwise_and.reduceat(reach, begins) != 0
    undecided = ~common & (np.add.reduceat(reach, begins) != every)  # neither all joined by one bit nor all separate
    group = np.cumsum(new) - 1
    if undecided.any():
        members = undecided.take(group)
        reach[members] = _reached(owner[members], reach[members], bits)
    reach = np.where(common.take(group), every.take(group), reach)
    order = np.lexsort((reach, owner))
    fresh = _changes(owner.take(order)) | _changes(reach.take(order))
    cluster = np.empty(count, np.int64)
    cluster[order] = np.cumsum(fresh) - 1
    return cluster.take(pair), int(np.count_nonzero(fresh))


def _reached(owner: Indices, reach: Indices, bits: list[int]) -> Indices:
    """Return for each mask the union of the masks connected to it at its vertex.

    The union grows until nothing changes: at most as often as there are masks at a vertex.
    """
    new = _changes(owner)
    begins, group = np.flatnonzero(new), np.cumsum(new) - 1
    while True:
        before = reach
        for bit in bits:
            has = (reach & bit) != 0
            together = np.bitwise_or.reduceat(np.where(has, reach, 0), begins)
            reach = np.where(has, reach | together[group], reach)
        if np.array_equal(before, reach):
            return reach


def _changes(values: Indices) -> Flags:
    """Return true where a value differs from the one before it, and for the first."""
    changes = np.empty(len(values), np.bool_)
    changes[:1] = True
    np.not_equal(values[1:], values[:-1], out=changes[1:])
    return changes


def _joining(masks: list[int]) -> list[int]:
    """Return the bits that occur in more than one of these masks: only these can join two of them."""
    once = twice = 0
    for mask in masks:
        twice |= once & mask
        once |= mask
    return [1 << place for place in range(32) if twice >> place & 1]
