"""Splits vertices whose corners differ, and computes normals and tangents.

The corners that share a normal are a cluster. A smooth normal is the normalised sum of the unit normals of its faces,
independent of their size, as in 3D Studio. If that sum is zero (faces back to back), each corner takes the normal of
its face.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from keyframer.arrays import Array, Floats, Indices, Singles
from keyframer.exchange.kit.numbers import single
from keyframer.maths import quat
from keyframer.maths.distinct_values import dense_ranks, distinct, joined, starts
from keyframer.maths.smoothing_groups import clusters_of_meshes

_CANCELLED = 1e-12
"""squared length of a sum of unit normals that is only rounding noise"""


def face_normals(positions: Array, corners: Indices) -> Floats:
    """Return (3, F) unit normals, in separate components (which is several times faster in numpy); zero for a face
    without area.
    """
    points = np.ascontiguousarray(positions.T, np.float64)
    out = np.empty((3, len(corners)))
    with np.errstate(all="ignore"):
        a, b, c = points.take(np.ascontiguousarray(corners.T), axis=1).transpose(1, 0, 2)
        ux, uy, uz = b - a
        vx, vy, vz = c - a
        np.subtract(uy * vz, uz * vy, out[0])
        np.subtract(uz * vx, ux * vz, out[1])
        np.subtract(ux * vy, uy * vx, out[2])
        return _unit(out)


def cluster_normals(normals_of_faces: Floats, clusters: Indices, counts: Indices, corner_counts: Indices) -> Singles:
    """Return (N, 3) unit normals of clusters. If the normals of its faces cancel out, a cluster gets one of them, or +Z
    if no face has an area.

    ``clusters`` are the clusters of corners; each mesh has ``counts`` clusters and ``corner_counts`` corners.
    """
    per_corner = np.repeat(normals_of_faces, 3, axis=1)
    count = int(counts.sum())
    unshared = counts == corner_counts  # meshes without shared normals: face normals are unit vectors already
    any_unshared = bool(unshared.any())
    if any_unshared:
        unshared &= np.logical_and.reduceat(
            clusters == np.arange(len(clusters)) + np.repeat(starts(counts) - starts(corner_counts), corner_counts),
            starts(corner_counts),
        )
        if unshared.all():
            return _normal_rows(per_corner)
        any_unshared = bool(unshared.any())
    sums = np.empty((3, count))
    for axis in range(3):
        sums[axis] = np.bincount(clusters, per_corner[axis], count)
    squares = _squares(sums)
    strong = squares > _CANCELLED
    if any_unshared:  # copied: no rounding, and zeros keep their sign
        unshared_corners = np.repeat(unshared, corner_counts)
        sums[:, clusters[unshared_corners]] = per_corner[:, unshared_corners]
        squares[np.repeat(unshared, counts) & strong] = 1.0
    if strong.all():
        sums /= np.sqrt(squares)
        return np.ascontiguousarray(sums.T, np.float32)
    weak = np.flatnonzero(~strong)  # faces back to back: their sum is rounding noise
    sums[:, weak] = 0.0
    weak_corners = np.flatnonzero(~strong.take(clusters))
    with_direction = weak_corners[per_corner[:, weak_corners].any(axis=0)]
    sums[:, clusters[with_direction]] = per_corner[:, with_direction]
    squares[weak] = _squares(sums[:, weak])
    sums /= np.sqrt(np.where(squares > 0, squares, 1.0))
    return _normal_rows(sums)


def separate_opposite_faces(
    normals_of_faces: Floats, clusters: Indices, counts: Indices, corner_counts: Indices
) -> tuple[Indices, Indices]:
    """Return clusters and their number for each mesh, with clusters whose normals cancel out divided by the normals of
    their faces. Arguments as in `cluster_normals`."""
    if np.array_equal(clusters, np.arange(len(clusters))):  # no normal is shared
        return clusters, counts
    per_corner = np.repeat(normals_of_faces, 3, axis=1)
    count = int(counts.sum())
    sums = np.empty((3, count))
    for axis in range(3):
        sums[axis] = np.bincount(clusters, per_corner[axis], count)
    opposite = np.flatnonzero((_squares(sums) <= _CANCELLED).take(clusters) & per_corner.any(axis=0))
    if not len(opposite):
        return clusters, counts
    directions = equal_row_indices(per_corner[:, opposite].T)
    number, _, first = dense_ranks(clusters[opposite] * (int(directions.max()) + 1) + directions)
    ends = np.cumsum(counts)
    mesh = np.repeat(np.arange(len(counts)), corner_counts)
    added = np.bincount(mesh[opposite][first], minlength=len(counts))
    separated = clusters + starts(added)[mesh]
    separated[opposite] = ends[mesh[opposite]] + number
    return separated, counts + added


def _squares(vectors: Floats) -> Floats:
    """Return the squared lengths of vectors (3, n)."""
    x, y, z = vectors
    return np.asarray(x * x + y * y + z * z)


def _normal_rows(normals: Floats) -> Singles:
    """Return normals (n, 3) from components (3, n); +Z for those without a direction."""
    rows = np.ascontiguousarray(normals.T, np.float32)
    no_direction = ~(_squares(normals) > 0.5)
    if no_direction.any():
        rows[no_direction] = (0.0, 0.0, 1.0)
    return rows


def _unit(vectors: Floats) -> Floats:
    """Normalise vectors (3, n) in place; zero for those without a direction. Vectors whose squares would underflow or
    overflow are scaled first.
    """
    squares = _squares(vectors)
    in_range = (squares > 1e-280) & (squares < 1e280)
    if in_range.all():
        vectors /= np.sqrt(squares)
        return vectors
    out_of_range = np.flatnonzero(~in_range)
    largest = np.abs(vectors[:, out_of_range]).max(axis=0)
    usable = (largest > 0) & np.isfinite(largest)
    vectors[:, out_of_range] = np.where(usable, vectors[:, out_of_range] / np.where(usable, largest, 1.0), 0.0)
    squares[out_of_range] = _squares(vectors[:, out_of_range])
    vectors /= np.sqrt(np.where(squares > 0, squares, 1.0))
    return vectors


@dataclass(eq=False, repr=False)
class Primitive:
    """The triangles of one material; their vertices are contiguous."""

    material: int
    """index in the scene, -1 for none"""
    vertices: slice
    triangles: Indices
    """(T, 3) indices within ``vertices``"""
    faces: Indices | slice
    """(T,) indices in `Surface.faces`; a slice for all"""


@dataclass(eq=False, repr=False)
class Surface:
    """The source data of the vertices of one mesh: V positions and F > 0 faces."""

    faces: Indices
    """(F, 3)"""
    positions: Singles
    """(V, 3)"""
    masks: Array | None
    """(F,) smoothing groups"""
    materials: Indices | None
    """(F,) indices in the scene, -1 for none"""
    attributes: list[Indices]
    """indices (3 F,) of each further attribute of corners"""


@dataclass(eq=False, repr=False)
class Split:
    """N vertices made of 3 F corners."""

    corner: Indices
    """(N,) one corner of each vertex"""
    vertex: Indices
    """(N,) the source vertex of the mesh"""
    positions: Singles
    """(N, 3)"""
    normals: Singles
    """(N, 3)"""
    clusters: Indices
    """(3 F,) the normal index of each corner"""
    cluster_count: int
    used_vertices: int
    """number of used vertices of the mesh"""
    primitives: list[Primitive]


def split_vertices(surfaces: Sequence[Surface], smooth: bool) -> list[Split]:
    """Split many meshes at once, concatenated in common arrays: calling numpy for each would cost more than the work.

    Vertices are ordered by material, normal and other attributes; ``smooth`` is for meshes without smoothing groups.
    """
    face_counts = np.array([len(surface.faces) for surface in surfaces])
    vertex_counts = np.array([len(surface.positions) for surface in surfaces])
    corner_counts = 3 * face_counts
    corner_starts, vertex_starts = starts(corner_counts), starts(vertex_counts)

    def spread(numbers: Indices) -> Any:
        """Return a value of each mesh repeated for all its corners."""
        return numbers[0] if len(surfaces) == 1 else np.repeat(numbers, corner_counts)

    vertex = joined([surface.faces.reshape(-1) for surface in surfaces])
    if len(surfaces) > 1:
        vertex += spread(vertex_starts)
    positions = joined([surface.positions for surface in surfaces])
    normals_of_faces = face_normals(positions, vertex.reshape(-1, 3))
    clusters, cluster_counts = _clusters(surfaces, vertex, normals_of_faces, face_counts, vertex_counts, smooth)
    cluster_starts = starts(cluster_counts)
    materials, ranks = _material_ranks(surfaces, face_counts)
    keys = clusters
    if ranks is not None:
        sizes = cluster_counts * np.array([len(kind) for kind in materials])
        keys = np.repeat(ranks, 3) * spread(cluster_counts) + clusters + spread(starts(sizes) - cluster_starts)
    number, count, corner = dense_ranks(keys)
    firsts = np.minimum.reduceat(number, corner_starts)
    for place in range(max(len(surface.attributes) for surface in surfaces)):
        attribute = joined([_attribute(surface, place) for surface in surfaces])
        widths = np.maximum.reduceat(attribute, corner_starts) + 1
        sizes = np.diff(firsts, append=count) * widths
        number, count, corner = dense_ranks(
            (number - spread(firsts)) * spread(widths) + attribute + spread(starts(sizes))
        )
        firsts = np.minimum.reduceat(number, corner_starts)
    normals = cluster_normals(normals_of_faces, clusters, cluster_counts, corner_counts).take(
        clusters.take(corner), axis=0
    )
    source_vertex = vertex.take(corner)
    used = np.zeros(len(positions), np.bool_)
    used[vertex] = True
    used_counts = np.add.reduceat(used, vertex_starts, dtype=np.int64).tolist()
    points = positions.take(source_vertex, axis=0)
    triangles = (number - spread(firsts)).reshape(-1, 3)
    results: list[Split] = []
    for mesh, (first, last) in enumerate(zip(firsts.tolist(), [*firsts[1:].tolist(), count], strict=True)):
        vertices = slice(first, last)
        begin, end = int(corner_starts[mesh]), int(corner_starts[mesh] + corner_counts[mesh])
        results.append(
            Split(
                corner[vertices] - begin,
                source_vertex[vertices] - vertex_starts[mesh],
                points[vertices],
                normals[vertices],
                clusters[begin:end] - cluster_starts[mesh],
                int(cluster_counts[mesh]),
                used_counts[mesh],
                _primitives(
                    materials[mesh],
                    None if ranks is None else ranks[begin // 3 : end // 3],
                    triangles[begin // 3 : end // 3],
                    corner[vertices] - begin,
                ),
            )
        )
    return results


def corner_normals(surface: Surface, smooth: bool) -> tuple[Singles, Indices]:
    """Return unit normals (N, 3), and (3 F,) the index of the normal of each corner."""
    vertex, counts = surface.faces.reshape(-1), (np.array([len(surface.faces)]), np.array([len(surface.positions)]))
    normals_of_faces = face_normals(surface.positions, surface.faces)
    clusters, cluster_counts = _clusters([surface], vertex, normals_of_faces, *counts, smooth)
    return cluster_normals(normals_of_faces, clusters, cluster_counts, 3 * counts[0]), clusters


def _clusters(
    surfaces: Sequence[Surface],
    vertex: Indices,
    normals_of_faces: Floats,
    face_counts: Indices,
    vertex_counts: Indices,
    smooth: bool,
) -> tuple[Indices, Indices]:
    """Return the clusters of all corners, and their number for each mesh."""
    masks = [surface.masks for surface in surfaces]
    clusters, cluster_counts = clusters_of_meshes(vertex, face_counts, vertex_counts, masks, smooth)
    return separate_opposite_faces(normals_of_faces, clusters, cluster_counts, 3 * face_counts)


def _attribute(surface: Surface, place: int) -> Indices:
    """Return the indices of a further attribute; zeros if a mesh has fewer attributes than others."""
    return surface.attributes[place] if place < len(surface.attributes) else np.zeros(3 * len(surface.faces), np.int64)


def _material_ranks(surfaces: Sequence[Surface], face_counts: Indices) -> tuple[list[list[int]], Indices | None]:
    """Return the materials of each mesh, and for each face the index of its material; None if no mesh has several."""
    materials: list[list[int]] = []
    ranks: list[Indices] = []
    several = False
    for surface in surfaces:
        rank = np.zeros(len(surface.faces), np.int64)
        used = [-1]
        if surface.materials is not None:
            used = [int(surface.materials[0])]
            if (surface.materials != used[0]).any():
                numbers, rank = distinct(surface.materials)
                used, several = numbers.tolist(), True
        materials.append(used)
        ranks.append(rank)
    return materials, joined(ranks) if several else None


def _primitives(materials: list[int], ranks: Indices | None, triangles: Indices, corner: Indices) -> list[Primitive]:
    """Return the triangles of one mesh by material: ``ranks`` (F,) are indices into its ``materials``."""
    if ranks is None or len(materials) == 1:
        return [Primitive(materials[0], slice(0, len(corner)), triangles, slice(None))]
    order = np.argsort(ranks, kind="stable")
    ends = np.cumsum(np.bincount(ranks, minlength=len(materials)))
    vertex_ends = np.cumsum(np.bincount(ranks[corner // 3], minlength=len(materials)))
    primitives: list[Primitive] = []
    begin = first = 0
    for material, end, last in zip(materials, ends.tolist(), vertex_ends.tolist(), strict=True):
        faces = order[begin:end]
        primitives.append(Primitive(material, slice(first, last), triangles[faces] - first, faces))
        begin, first = end, last
    return primitives


def equal_row_indices(values: Array) -> Indices:
    """Return (U,) indices of rows; equal rows have the same index."""
    rows = np.ascontiguousarray(single(values)) + np.float32(0.0)  # -0 is 0
    keys = rows.view(np.uint32).astype(np.int64)
    number = dense_ranks(keys[:, 0])[0]
    for column in range(1, rows.shape[1]):
        number = dense_ranks(number * (1 << 32) + keys[:, column])[0]
    return number


def mirrored_corners(uv: Floats, uv_corners: Indices) -> Indices:
    """Return (3 F,) integers: 1 for corners of faces with mirrored UVs, which cannot share vertices with others."""
    a, b, c = (uv[uv_corners[:, i]] for i in range(3))
    area = (b[:, 0] - a[:, 0]) * (c[:, 1] - a[:, 1]) - (b[:, 1] - a[:, 1]) * (c[:, 0] - a[:, 0])
    return np.repeat((area < 0).astype(np.int64), 3)


def vertex_tangents(positions: Floats, normals: Floats, uv: Floats, triangles: Indices) -> Floats:
    """Return (N, 4) unit tangents with the sign of the bitangent; ``uv`` as in glTF, v running down."""
    a, b, c = (triangles[:, i] for i in range(3))
    edge_b, edge_c = positions[b] - positions[a], positions[c] - positions[a]
    uv_b, uv_c = uv[b] - uv[a], uv[c] - uv[a]
    area = uv_b[:, 0] * uv_c[:, 1] - uv_b[:, 1] * uv_c[:, 0]
    sign = np.where(area < 0, -1.0, 1.0)[:, None]
    along = (edge_b * uv_c[:, 1:] - edge_c * uv_b[:, 1:]) * sign
    length = quat.length_of(along)
    along = np.where((length > 0)[:, None], along / np.where(length > 0, length, 1.0)[:, None], 0.0)
    sums = np.zeros_like(normals)
    sides = np.zeros(len(normals))
    for corner in (a, b, c):
        for axis in range(3):
            sums[:, axis] += np.bincount(corner, along[:, axis], len(normals))
        # v runs down the image, so the bitangent of a face that is not mirrored points against it
        sides += np.bincount(corner, -sign[:, 0], len(normals))
    along_normals = sums[:, 0] * normals[:, 0] + sums[:, 1] * normals[:, 1] + sums[:, 2] * normals[:, 2]
    sums -= normals * along_normals[:, None]
    length = quat.length_of(sums)
    weak = length <= 1e-6
    if weak.any():
        axis = np.eye(3)[np.argmin(np.abs(normals[weak]), axis=1)]
        sums[weak] = np.cross(normals[weak], axis)
        length[weak] = quat.length_of(sums[weak])
    return np.column_stack([sums / length[:, None], np.where(sides > 0, 1.0, -1.0)])
