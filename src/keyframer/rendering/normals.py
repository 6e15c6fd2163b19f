"""Normals of the corners of faces, for drawing: `maths.smoothing` says which corners share one."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from keyframer.maths.smoothing_groups import smooth_clusters

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]

_OTHER_WAY = -0.3
"""cosine below which two faces of one smooth surface are taken to be wound in opposite ways"""


def normal_groups(corners: Indices, masks: Indices | None, flat: npt.NDArray[np.bool_], smooth: bool) -> Indices:
    """(F, 3) for each corner the number of the normal it shares.

    ``masks`` are the faces' smoothing groups, ``flat`` marks faces that are flat whatever they say, ``smooth`` is for
    meshes without masks.
    """
    rounded = np.full(len(corners), int(smooth), np.int64) if masks is None else masks
    rounded = np.where(flat, 0, rounded)
    clusters, _ = smooth_clusters(corners, rounded, int(corners.max(initial=-1)) + 1, smooth)
    groups = clusters.reshape(-1, 3).copy()
    sharp = rounded & 0xFFFFFFFF == 0
    groups[sharp] = groups[sharp, :1]
    return groups


def face_normals(points: Floats, corners: Indices) -> Floats:
    """(F, 3) of length 1; zero where a face has no area."""
    a = points[corners[:, 0]]
    b, c = points[corners[:, 1]] - a, points[corners[:, 2]] - a
    out = np.empty((len(corners), 3))
    with np.errstate(all="ignore"):
        out[:, 0] = b[:, 1] * c[:, 2] - b[:, 2] * c[:, 1]
        out[:, 1] = b[:, 2] * c[:, 0] - b[:, 0] * c[:, 2]
        out[:, 2] = b[:, 0] * c[:, 1] - b[:, 1] * c[:, 0]
        return unit(out)


def corner_normals(faces: Floats, groups: Indices) -> npt.NDArray[np.float32]:
    """(F, 3, 3) for each corner the sum of the face normals that share its number, of length 1, as 3D Studio took it.

    Old files are not careful about the order of corners: faces that clearly look the other way than the first one of
    their group are turned before they are added, and the sum then points to the side of the corner's own face.
    """
    count = int(groups.max(initial=-1)) + 1
    flat = groups.reshape(-1)
    every = np.repeat(faces, 3, axis=0)
    first = np.zeros((count, 3))
    first[flat[::-1]] = every[::-1]
    turned = np.where(_dot(every, first[flat]) < _OTHER_WAY, -1.0, 1.0)
    total = np.empty((count, 3))
    for axis in range(3):
        total[:, axis] = np.bincount(flat, every[:, axis] * turned, count)
    found = unit(total)[flat]
    found *= np.where(_dot(every, found) < 0, -1.0, 1.0)[:, None]
    return np.asarray(found.reshape(-1, 3, 3), np.float32)


def _dot(a: Floats, b: Floats) -> Floats:
    return np.asarray(a[:, 0] * b[:, 0] + a[:, 1] * b[:, 1] + a[:, 2] * b[:, 2])


def unit(vectors: Floats) -> Floats:
    """Vectors of length 1; zero for those without a direction."""
    with np.errstate(all="ignore"):
        largest = np.abs(vectors).max(axis=1, initial=0.0)
        usable = (largest > 0) & np.isfinite(largest)
        scaled = vectors / np.where(usable, largest, 1.0)[:, None]
        length = np.sqrt(scaled[:, 0] ** 2 + scaled[:, 1] ** 2 + scaled[:, 2] ** 2)
        return np.asarray(np.where(usable[:, None], scaled / np.where(length > 0, length, 1.0)[:, None], 0.0))
