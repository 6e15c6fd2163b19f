"""Tangents for normal maps: along growing u, at right angles to the normal, with the side that v is on."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]


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
