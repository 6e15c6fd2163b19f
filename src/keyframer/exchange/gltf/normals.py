"""Normals from smoothing groups.

At a shared vertex, faces whose masks share a bit are smooth, and so is what they reach through others there; mask 0 is
flat. A smooth normal is the plain sum of the unit normals of its faces, as 3D Studio took it, whatever their size.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from keyframer.exchange.gltf.counting import dense, distinct

Floats = npt.NDArray[np.float64]
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
    used = int(np.bitwise_or.reduce(kinds))
    bits = [1 << place for place in range(32) if used >> place & 1]
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


def face_normals(positions: npt.NDArray[Any], corners: Indices) -> Floats:
    """(3, F) unit normals, components apart (which numpy does several times faster); zero for a face without area."""
    a, b, c = (np.ascontiguousarray(corners[:, place]) for place in range(3))
    columns = [np.asarray(positions[:, axis], np.float64) for axis in range(3)]
    first = [column.take(a) for column in columns]
    with np.errstate(all="ignore"):
        (ux, uy, uz), (vx, vy, vz) = (
            [column.take(corner) - start for column, start in zip(columns, first, strict=True)] for corner in (b, c)
        )
        return _unit(np.stack([uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx]))


def cluster_normals(faces: Floats, clusters: Indices, count: int) -> npt.NDArray[np.float32]:
    """(count, 3) a unit normal for each cluster, always: one without area gets that of a face of it, or +Z.

    ``faces`` as `face_normals` gives them.
    """
    per_corner = np.repeat(faces, 3, axis=1)
    if count == len(clusters) and np.array_equal(clusters, np.arange(count)):
        return _never_zero(per_corner)
    sums = np.empty((3, count))
    for axis in range(3):
        sums[axis] = np.bincount(clusters, per_corner[axis], count)
    squares = np.einsum("ij,ij->j", sums, sums)
    weak = np.flatnonzero(~(squares > 1e-12))  # faces back to back: their sum is rounding
    if len(weak):
        some = np.zeros_like(sums)
        real = np.flatnonzero(per_corner.any(axis=0))
        some[:, clusters[real]] = per_corner[:, real]
        sums[:, weak] = some[:, weak]
        squares[weak] = np.einsum("ij,ij->j", sums[:, weak], sums[:, weak])
    sums /= np.sqrt(np.where(squares > 0, squares, 1.0))
    return _never_zero(sums)


def _never_zero(normals: Floats) -> npt.NDArray[np.float32]:
    """(n, 3) of (3, n) components."""
    rows = np.ascontiguousarray(normals.T, np.float32)
    nothing = ~(np.einsum("ij,ij->j", normals, normals) > 0.5)
    if nothing.any():
        rows[nothing] = (0.0, 0.0, 1.0)
    return rows


def _unit(vectors: Floats) -> Floats:
    """Unit vectors (3, n); zero for what has no direction. Where squares vanish or overflow they are scaled first."""
    squares = np.einsum("ij,ij->j", vectors, vectors)
    odd = np.flatnonzero(~((squares > 1e-280) & (squares < 1e280)))
    if len(odd):
        largest = np.abs(vectors[:, odd]).max(axis=0)
        usable = (largest > 0) & np.isfinite(largest)
        vectors[:, odd] = np.where(usable, vectors[:, odd] / np.where(usable, largest, 1.0), 0.0)
        squares[odd] = np.einsum("ij,ij->j", vectors[:, odd], vectors[:, odd])
    vectors /= np.sqrt(np.where(squares > 0, squares, 1.0))
    return vectors
