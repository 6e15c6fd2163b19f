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
    points = np.ascontiguousarray(positions.T, np.float64)
    a, b, c = (np.ascontiguousarray(column) for column in corners.T)
    out = np.empty((3, len(corners)))
    with np.errstate(all="ignore"):
        first = points.take(a, axis=1)
        ux, uy, uz = points.take(b, axis=1) - first
        vx, vy, vz = points.take(c, axis=1) - first
        np.subtract(uy * vz, uz * vy, out[0])
        np.subtract(uz * vx, ux * vz, out[1])
        np.subtract(ux * vy, uy * vx, out[2])
        return _unit(out)


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
    strong = squares > 1e-12
    if strong.all():
        sums /= np.sqrt(squares)
        return np.ascontiguousarray(sums.T, np.float32)
    weak = np.flatnonzero(~strong)  # faces back to back: their sum is rounding
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
    usual = (squares > 1e-280) & (squares < 1e280)
    if usual.all():
        vectors /= np.sqrt(squares)
        return vectors
    odd = np.flatnonzero(~usual)
    largest = np.abs(vectors[:, odd]).max(axis=0)
    usable = (largest > 0) & np.isfinite(largest)
    vectors[:, odd] = np.where(usable, vectors[:, odd] / np.where(usable, largest, 1.0), 0.0)
    squares[odd] = np.einsum("ij,ij->j", vectors[:, odd], vectors[:, odd])
    vectors /= np.sqrt(np.where(squares > 0, squares, 1.0))
    return vectors
