"""From corners that have many things to vertices that have one of each: split only where corners differ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from keyframer.maths.counting import dense, distinct

Indices = npt.NDArray[np.int64]


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
