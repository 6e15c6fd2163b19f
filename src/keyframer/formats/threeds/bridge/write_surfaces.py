"""Meshes cut to what 3D Studio holds: one texture vertex for each vertex, at most 65,535 vertices and faces."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from keyframer.scene import Mesh

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

MOST = 65_535
"""counts are 16 bits wide"""


@dataclass(eq=False)
class Piece:
    """A part of a mesh that fits."""

    vertices: Ints
    """the mesh's vertex of each"""
    faces: Ints
    """the mesh's face of each"""
    corners: Ints
    """(F, 3) into ``vertices``"""
    uv: Floats | None
    """(V, 2)"""


def pieces(mesh: Mesh) -> list[Piece]:
    """The mesh as one piece, or several where it is too large. Vertices are doubled where texture seams need it."""
    corners = np.asarray(mesh.corners, np.int64).reshape(-1, 3)
    vertices, corners, uv = _unseamed(mesh, corners)
    if len(vertices) <= MOST and len(corners) <= MOST:
        return [Piece(vertices, np.arange(len(corners)), corners, uv)]
    found = []
    begin = 0
    while begin < len(corners):
        end = _end(corners, begin)
        used, places = np.unique(corners[begin:end], return_inverse=True)
        part = None if uv is None else uv[used]
        found.append(Piece(vertices[used], np.arange(begin, end), places.reshape(-1, 3), part))
        begin = end
    return found


def _unseamed(mesh: Mesh, corners: Ints) -> tuple[Ints, Ints, Floats | None]:
    """Vertices, corners and texture vertices with the same numbers."""
    own = np.arange(len(mesh.positions))
    if mesh.uv is None or not len(mesh.uv):
        return own, corners, None
    uv = np.asarray(mesh.uv, np.float64)
    uv_corners = corners if mesh.uv_corners is None else np.asarray(mesh.uv_corners, np.int64).reshape(-1, 3)
    # One texture vertex for each vertex is enough where no vertex has two.
    chosen = np.full(len(own), -1)
    chosen[corners.reshape(-1)] = uv_corners.reshape(-1)
    if np.array_equal(chosen[corners], uv_corners):
        spread = np.zeros((len(own), 2))
        if mesh.uv_corners is None:
            spread[: len(uv)] = uv[: len(own)]
        else:
            spread[chosen >= 0] = uv[chosen[chosen >= 0]]
        return own, corners, spread
    pairs = corners.reshape(-1) * (len(uv) + 1) + uv_corners.reshape(-1)
    used, places = np.unique(pairs, return_inverse=True)
    return used // (len(uv) + 1), places.reshape(-1, 3), uv[used % (len(uv) + 1)]


def _end(corners: Ints, begin: int) -> int:
    """How many faces from ``begin`` on fit together: as many as there may be, then fewer until the vertices fit."""
    end = min(begin + MOST, len(corners))
    if len(np.unique(corners[begin:end])) <= MOST:
        return end
    fits = begin + MOST // 3
    while end - fits > 1:
        middle = (fits + end) // 2
        if len(np.unique(corners[begin:middle])) <= MOST:
            fits = middle
        else:
            end = middle
    return fits
