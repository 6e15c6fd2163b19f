"""Vertices for a viewer: corners that differ are split, and get normals and tangents.

A smooth normal is the plain sum of the unit normals of its faces, as 3D Studio took it, whatever their size.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from keyframer.maths.distinct_values import dense, distinct

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


@dataclass(eq=False)
class Primitive:
    """The triangles of one material; their vertices stand together."""

    material: int
    """number in the scene, -1 for none"""
    vertices: slice
    triangles: Indices
    """(T, 3) numbers within ``vertices``"""
    faces: Indices | slice
    """(T,) the faces of the mesh they were"""


@dataclass(eq=False)
class Split:
    """N vertices made of 3 F corners."""

    corner: Indices
    """(N,) a corner that the vertex stands for"""
    primitives: list[Primitive]


def split(corners: Indices, clusters: Indices, materials: npt.NDArray[Any] | None, *others: Indices) -> Split:
    """``clusters`` (3 F,) already tell vertices apart; ``others`` (3 F,) are numbers of further things corners have."""
    faces = len(corners)
    material_of_face = None
    kinds = np.array([-1])
    keys = clusters
    if materials is not None:
        kinds, rank = distinct(materials)
        if len(kinds) > 1:
            material_of_face = rank
            keys = np.repeat(material_of_face, 3) * (int(clusters.max(initial=0)) + 1) + clusters
    number, count, corner = dense(keys)
    for other in others:
        number, count, corner = dense(number * (int(other.max(initial=0)) + 1) + other)
    triangles = number.reshape(faces, 3)
    if material_of_face is None:
        return Split(corner, [Primitive(int(kinds[0]), slice(0, count), triangles, slice(None))])
    order = np.argsort(material_of_face, kind="stable")
    ends = np.cumsum(np.bincount(material_of_face, minlength=len(kinds)))
    vertex_ends = np.cumsum(np.bincount(material_of_face[corner // 3], minlength=len(kinds)))
    primitives: list[Primitive] = []
    begin = first = 0
    for kind, end, last in zip(kinds.tolist(), ends.tolist(), vertex_ends.tolist(), strict=True):
        chosen = order[begin:end]
        primitives.append(Primitive(kind, slice(first, last), triangles[chosen] - first, chosen))
        begin, first = end, last
    return Split(corner, primitives)


def same_values(values: npt.NDArray[Any]) -> Indices:
    """(U,) for each row the number of its value: rows that are alike get the same."""
    rows = np.ascontiguousarray(values, np.float32) + np.float32(0.0)  # -0 is 0
    keys = rows.view(np.uint32).astype(np.int64)
    number = dense(keys[:, 0])[0]
    for column in range(1, rows.shape[1]):
        number = dense(number * (1 << 32) + keys[:, column])[0]
    return number


def corner_sides(uv: Floats, uv_corners: Indices) -> Indices:
    """(3 F,) 1 where a face lies mirrored on the image: such corners do not share a vertex with others."""
    a, b, c = (uv[uv_corners[:, i]] for i in range(3))
    area = (b[:, 0] - a[:, 0]) * (c[:, 1] - a[:, 1]) - (b[:, 1] - a[:, 1]) * (c[:, 0] - a[:, 0])
    return np.repeat((area < 0).astype(np.int64), 3)


def vertex_tangents(positions: Floats, normals: Floats, uv: Floats, triangles: Indices) -> Floats:
    """(N, 4) unit tangents with the sign of the bitangent; ``uv`` as glTF has it, v running down."""
    a, b, c = (triangles[:, i] for i in range(3))
    edge_b, edge_c = positions[b] - positions[a], positions[c] - positions[a]
    uv_b, uv_c = uv[b] - uv[a], uv[c] - uv[a]
    area = uv_b[:, 0] * uv_c[:, 1] - uv_b[:, 1] * uv_c[:, 0]
    sign = np.where(area < 0, -1.0, 1.0)[:, None]
    along = (edge_b * uv_c[:, 1:] - edge_c * uv_b[:, 1:]) * sign
    length = np.sqrt(np.einsum("ij,ij->i", along, along))
    along = np.where((length > 0)[:, None], along / np.where(length > 0, length, 1.0)[:, None], 0.0)
    sums = np.zeros_like(normals)
    sides = np.zeros(len(normals))
    for corner in (a, b, c):
        for axis in range(3):
            sums[:, axis] += np.bincount(corner, along[:, axis], len(normals))
        # v runs down the image, so the bitangent of a face that is not mirrored points against it
        sides += np.bincount(corner, -sign[:, 0], len(normals))
    sums -= normals * np.einsum("ij,ij->i", sums, normals)[:, None]
    length = np.sqrt(np.einsum("ij,ij->i", sums, sums))
    weak = length <= 1e-6
    if weak.any():
        axis = np.eye(3)[np.argmin(np.abs(normals[weak]), axis=1)]
        sums[weak] = np.cross(normals[weak], axis)
        length[weak] = np.sqrt(np.einsum("ij,ij->i", sums[weak], sums[weak]))
    return np.column_stack([sums / length[:, None], np.where(sides > 0, 1.0, -1.0)])
