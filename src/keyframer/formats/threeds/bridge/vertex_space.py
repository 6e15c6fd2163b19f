"""Decide whether stored vertices or the keyframer are right if they disagree.

3D Studio's editor and keyframer are independent states, and exporters fill them in different ways. The formula
``N(rest) . T(-pivot) . F . M^-1`` should leave the stored vertices unchanged (N is the world matrix of the node, M the
matrix in chunk 4160; F mirrors X if M is mirrored). If the formula moves them, heuristics decide. The rules and their
order are based on 5,900 nodes of 624 real files; their thresholds lie in gaps of the data (that of `NEAR` between 2.5
and 4.2 % of the mesh's size).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from keyframer.arrays import Floats
from keyframer.curves.lazy_fields import stored
from keyframer.formats.threeds.bridge.editor import MeshObject, Points
from keyframer.formats.threeds.bridge.nodes import Program
from keyframer.maths import affine
from keyframer.posing.rest_pose import MatrixRows
from keyframer.scene import Node

SAME = 0.01
_SURELY_SAME = 0.0099
NEAR = 0.03
"""largest displacements of vertices, as fractions of the mesh's size"""

_IDENTITY = np.eye(4)
_NEAR_IDENTITY = 1e-6 + 1e-5 * _IDENTITY


@dataclass(frozen=True, slots=True)
class Choice:
    """Result for one node."""

    follows_keyframer: bool
    """whether vertices follow the keyframer; else the stored vertices are kept"""
    rule: str
    """the reason, for messages"""
    difference: float
    """largest displacement of a vertex by the formula, as a fraction of the mesh's size"""
    is_guess: bool = False
    """whether nothing in the file settles it"""


AGREE = Choice(True, "both agree", 0.0)
"""used instead of the result of `choose` if `agrees` is true; the difference is not computed"""


def agrees(mesh_object: MeshObject, node: Node, world_at_rest: MatrixRows) -> bool:
    """Return whether the formula certainly moves no stored vertex by more than `SAME`; `choose` is then not needed.

    Only the corners of the bounding box are tested, against `_SURELY_SAME`.
    """
    box = mesh_object.box
    if box is None or mesh_object.to_local is None:
        return False
    (low_x, low_y, low_z), (high_x, high_y, high_z) = box
    size = max(high_x - low_x, high_y - low_y, high_z - low_z)
    if size == 0:
        return False
    pivot = stored(node, "pivot")
    x, y, z = (0.0, 0.0, 0.0) if pivot is None else pivot.tolist()
    to_local = mesh_object.to_local.tolist()
    (ax, ay, az, at), (bx, by, bz, bt), (cx, cy, cz, ct), _ = to_local
    at, bt, ct = at - x, bt - y, ct - z
    most = _SURELY_SAME * size
    for axis, (a, b, c, t) in enumerate(world_at_rest):
        row = [a * ax + b * bx + c * cx, a * ay + b * by + c * cy, a * az + b * bz + c * cz]
        row[axis] -= 1.0
        x, y, z = row
        shift = a * at + b * bt + c * ct + t
        lowest = min(x * low_x, x * high_x) + min(y * low_y, y * high_y) + min(z * low_z, z * high_z) + shift
        highest = max(x * low_x, x * high_x) + max(y * low_y, y * high_y) + max(z * low_z, z * high_z) + shift
        if not (-most <= lowest <= most and -most <= highest <= most):  # also false for NaN
            return False
    return True


def choose(
    mesh_object: MeshObject,
    node: Node,
    world_at_rest: Floats,
    vertices: Points,
    writer: Program,
    settled: str,
    geometry: str,
) -> Choice:
    """Decide whether the vertices of one node follow the keyframer; ``vertices`` are all vertices or a sample. In a
    file of 3D Studio 4 or later they do if ``settled`` has a reason.
    """
    points = np.asarray(vertices, np.float64)
    if mesh_object.to_local is None:
        return Choice(False, "the mesh's matrix is singular", 0.0)
    size = float((points.max(axis=0) - points.min(axis=0)).max()) if len(points) else 0.0
    if size == 0.0 or not np.isfinite(size):
        return Choice(geometry != "raw", "the mesh has no size", 0.0)
    pivot = stored(node, "pivot")
    unpivoted = world_at_rest if pivot is None else affine.multiply(world_at_rest, _shift(-pivot))
    difference = _displacement(affine.multiply(unpivoted, mesh_object.to_local), points, size)
    if geometry != "auto":
        return Choice(geometry == "keyframer", f"the option geometry={geometry}", difference)
    if difference <= SAME:
        return Choice(True, "both agree", difference)
    identity = np.array_equal(mesh_object.matrix, _IDENTITY)
    if writer.revision is not None and writer.revision < 4 and identity:
        return Choice(False, "keyframer revision below 4 with an identity matrix", difference)
    inverse = affine.inverse(mesh_object.matrix)
    if _displacement(affine.multiply(world_at_rest, inverse), points, size) <= NEAR:
        return Choice(
            True, "node and mesh have the same matrix: the difference is a moved pivot or a mirror", difference
        )
    if settled:
        return Choice(True, settled, difference)
    if identity and not (np.abs(world_at_rest - _IDENTITY) <= _NEAR_IDENTITY).all():
        return Choice(True, "vertices are local: the mesh's matrix is the identity", difference)
    return Choice(False, "the file lost the position of the node", difference, is_guess=True)


def to_node(mesh_object: MeshObject, node: Node, world_at_rest: Floats, choice: Choice) -> Floats | None:
    """Return the (4, 4) matrix from stored vertices to the local space of the node, before the pivot is subtracted.

    The result is None if stored vertices are kept and the node's matrix is singular.
    """
    if choice.follows_keyframer and mesh_object.to_local is not None:
        return mesh_object.to_local
    if abs(affine.determinant(world_at_rest)) <= 1e-12 * np.abs(world_at_rest[:3, :3]).max() ** 3:
        return None
    return affine.multiply(_shift(node.pivot), affine.inverse(world_at_rest))


def _displacement(matrix: Floats, points: Floats, size: float) -> float:
    farthest = float(np.abs(affine.transform_points(matrix, points) - points).max())
    return (farthest if math.isfinite(farthest) else math.inf) / size


def _shift(offset: npt.ArrayLike) -> Floats:
    matrix = np.eye(4)
    matrix[:3, 3] = offset
    return matrix
