"""Smoothing groups: which corners of faces share a normal.

Faces at a vertex share a normal if their masks have a bit in common, also indirectly through other faces at this
vertex. Faces with mask 0 share no normals (they are flat).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from keyframer.arrays import Array, Flags, Indices
from keyframer.maths.distinct_values import dense_ranks, distinct, joined, starts


def smooth_clusters(corners: Indices, masks: Array | None, vertex_count: int, smooth: bool) -> tuple[Indices, int]:
    """Return for each of 3 F corners the index of its normal, and the number of normals, some of which may be unused.

    ``smooth``: whether a mesh without masks has one normal for each vertex.
    """
    if not len(corners):
        return np.empty(0, np.int64), vertex_count
    clusters, counts = clusters_of_meshes(
        corners.reshape(-1), np.array([len(corners)]), np.array([vertex_count]), [masks], smooth
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
    face_masks = [
        np.full(count, smooth, np.int64) if mask is None else mask
        for mask, count in zip(masks, face_counts, strict=True)
    ]
    bits = joined(face_masks).astype(np.int64) & 0xFFFFFFFF
    begins = starts(face_counts)
    low, high = np.minimum.reduceat(bits, begins), np.maximum.reduceat(bits, begins)
    flat = high == 0  # meshes without shared normals
    if flat.all():
        return np.arange(len(vertex)), corner_counts
    all_smooth = (low == high) & ~flat  # meshes with one normal for each vertex
    if all_smooth.all():
        return vertex, vertex_counts
    mixed = ~(flat | all_smooth)
    if low.min() > 0 and mixed.all():  # no face is flat, and the masks of every mesh differ
        shared = _clusters(vertex, bits)
        ends = np.maximum.reduceat(shared, starts(corner_counts)) + 1
        ends[1:] -= ends[:-1].copy()
        return shared, ends
    counts = np.where(all_smooth, vertex_counts, corner_counts)
    owner = np.repeat(np.arange(len(counts)), corner_counts)
    smooth_faces = np.repeat(mixed, face_counts) & (bits != 0)
    smooth_corners = np.repeat(smooth_faces, 3)
    shared = _clusters(vertex[smooth_corners], bits[smooth_faces])
    ends = np.zeros(len(counts), np.int64)
    np.maximum.at(ends, owner[smooth_corners], shared + 1)  # end of the normals of each mesh
    ends = np.maximum.accumulate(ends)
    smoothed = np.diff(ends, prepend=0)
    sharp_counts = np.bincount(owner[~smooth_corners], minlength=len(counts))
    counts[mixed] = (smoothed + sharp_counts)[mixed]
    first = starts(counts)
    clusters = np.where(
        all_smooth[owner],
        vertex + (first - starts(vertex_counts))[owner],
        np.arange(len(vertex)) + (first - starts(corner_counts))[owner],
    )
    clusters[smooth_corners] = shared + (first - ends + smoothed)[owner[smooth_corners]]
    sharp = mixed[owner] & ~smooth_corners
    place = np.arange(np.count_nonzero(sharp)) - starts(np.where(mixed, sharp_counts, 0))[owner[sharp]]
    clusters[sharp] = place + (first + smoothed)[owner[sharp]]
    return clusters, counts


def _clusters(vertex: Indices, mask: Indices) -> Indices:
    """Return the cluster of each of 3 F corners; no mask of a face is 0."""
    distinct_masks, mask_index = distinct(mask)
    if len(distinct_masks) == 1:
        return dense_ranks(vertex)[0]
    # pairs of a vertex and a mask, in the order of vertices
    pair, count, corner = dense_ranks(vertex * len(distinct_masks) + np.repeat(mask_index, 3))
    owner, pair_mask = vertex.take(corner), mask.take(corner // 3)
    is_first = _changes(owner)
    begins = np.flatnonzero(is_first)
    bits = _shared_bits(distinct_masks.tolist())
    if len(begins) == count or not bits:
        return pair
    union = np.bitwise_or.reduceat(pair_mask, begins)
    joined_by_one_bit = np.bitwise_and.reduceat(pair_mask, begins) != 0
    all_separate = np.add.reduceat(pair_mask, begins) == union
    undecided = ~joined_by_one_bit & ~all_separate
    group = np.cumsum(is_first) - 1
    if undecided.any():
        members = undecided.take(group)
        pair_mask[members] = _connected_masks(owner[members], pair_mask[members], bits)
    pair_mask = np.where(joined_by_one_bit.take(group), union.take(group), pair_mask)
    order = np.lexsort((pair_mask, owner))
    is_new = _changes(owner.take(order)) | _changes(pair_mask.take(order))
    cluster = np.empty(count, np.int64)
    cluster[order] = np.cumsum(is_new) - 1
    return cluster.take(pair)


def _connected_masks(owner: Indices, masks: Indices, bits: list[int]) -> Indices:
    """Return for each mask the union of the masks connected to it at its vertex; ``owner`` has ascending vertices.

    The union grows until nothing changes: at most as often as there are masks at a vertex.
    """
    is_first = _changes(owner)
    begins, group = np.flatnonzero(is_first), np.cumsum(is_first) - 1
    while True:
        before = masks
        for bit in bits:
            has_bit = (masks & bit) != 0
            union = np.bitwise_or.reduceat(np.where(has_bit, masks, 0), begins)
            masks = np.where(has_bit, masks | union[group], masks)
        if np.array_equal(before, masks):
            return masks


def _changes(values: Indices) -> Flags:
    """Return true where a value differs from the one before it, and for the first."""
    changes = np.empty(len(values), np.bool_)
    changes[:1] = True
    np.not_equal(values[1:], values[:-1], out=changes[1:])
    return changes


def _shared_bits(masks: list[int]) -> list[int]:
    """Return the bits that occur in more than one of these masks: only these can join two of them."""
    once = twice = 0
    for mask in masks:
        twice |= once & mask
        once |= mask
    return [1 << place for place in range(32) if twice >> place & 1]
