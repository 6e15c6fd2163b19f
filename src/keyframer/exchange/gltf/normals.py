"""Normals of clusters of corners (`maths.smoothing`), ready for a viewer.

A smooth normal is the plain sum of the unit normals of its faces, as 3D Studio took it, whatever their size.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]


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
