"""A mesh of the file on its way to a node, and its vertices made one again where they were split."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from keyframer.maths.counting import distinct_rows
from keyframer.scene import Mesh

Array = npt.NDArray[Any]
Indices = npt.NDArray[np.int64]

_PLACES, _DIRECTIONS = 2.0**22, 2.0**10
"""how finely places (in the size of a mesh) and normals are told apart"""


@dataclass(eq=False)
class Shape:
    """A mesh of the file, ready for nodes."""

    mesh: Mesh
    targets: list[Array] = field(default_factory=list)
    """(V, 3) differences to the mesh"""
    names: list[str] = field(default_factory=list)
    weights: tuple[float, ...] = ()
    joints: Indices | None = None
    """(V, 4 n) numbers within the skin, and how much each moves"""
    shares: Array | None = None
    normals: Array | None = None
    """(V, 3) as the file states them"""


def weld(shape: Shape, *, by_normal: bool) -> None:
    """One vertex for all that are at one place and move alike; texture coordinates and colours stay with corners.

    ``by_normal``: that also have the same normal. Other exporters compute places and normals at the two ends of an
    image apart, so that they differ in the last bits there; what is that near counts as one.
    """
    mesh = shape.mesh
    columns = [np.asarray(each, np.float32) for each in (mesh.positions, *shape.targets)]
    if by_normal and shape.normals is not None:
        size = float(np.nan_to_num(np.abs(columns[0])).max(initial=0.0)) or 1.0
        columns = [_rounded(each, _PLACES / size) for each in columns]
        columns.append(_rounded(shape.normals, _DIRECTIONS))
    if shape.joints is not None and shape.shares is not None:
        columns += [shape.joints.astype(np.float32), shape.shares.astype(np.float32)]
    rows = np.ascontiguousarray(np.concatenate(columns, axis=1) + np.float32(0.0))
    first, number = distinct_rows(rows)
    if len(first) == len(rows):
        return
    order = np.argsort(first, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    keep = first[order]
    old = np.asarray(mesh.corners)
    if mesh.uv is not None:
        mesh.uv_corners = old
    if mesh.colors is not None:
        mesh.color_corners = old
    mesh.corners = rank[number][old]
    mesh.positions = np.asarray(mesh.positions)[keep]
    shape.targets = [each[keep] for each in shape.targets]
    if shape.joints is not None and shape.shares is not None:
        shape.joints, shape.shares = shape.joints[keep], shape.shares[keep]


def _rounded(values: Array, steps: float) -> npt.NDArray[np.float32]:
    with np.errstate(all="ignore"):  # what is too large stays apart from all else
        return np.asarray(np.round(np.asarray(values, np.float64) * steps), np.float32)
