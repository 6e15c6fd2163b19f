"""Read meshes: from world space to node space, with texture coordinates, colours, smoothing groups and materials."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
import numpy.typing as npt

from keyframer.arrays import Flags, Floats, Ints
from keyframer.catalogue import (
    DATA_MATRIX_SINGULAR,
    LINK_COUNT_MISMATCH,
    LINK_DUPLICATE_ID,
    LINK_INDEX_OUT_OF_RANGE,
    LINK_UNRESOLVED_ID,
)
from keyframer.formats.ase.bridge.declared_fields import EDGES
from keyframer.formats.ase.bridge.materials import Palette
from keyframer.formats.ase.records import (
    Block,
    ColorFaceList,
    ColorVertexList,
    FaceList,
    NumberTable,
    Table,
    TextureFaceList,
    TextureVertexList,
    VertexList,
)
from keyframer.formats.kit.declared_fields import read_declared_fields
from keyframer.formats.kit.scene_reading import Reporter, finite_rows, valid_faces
from keyframer.maths import affine
from keyframer.scene import Mesh
from keyframer.text import plural

T = TypeVar("T", bound=Table)


def table(block: Block, kind: type[T]) -> T | None:
    """Return the first table of a type inside a block, or None."""
    return next((child for child in block.children if isinstance(child, kind)), None)


def read_mesh(reporter: Reporter, node: Block, block: Block, name: str, world: Floats, palette: Palette) -> Mesh | None:
    """Return the mesh of an object, None if it has no list of vertices. Faces with invalid corners are left out."""
    vertices = table(block, VertexList)
    if vertices is None:
        return None
    positions = local_positions(reporter, vertices, world)
    mesh = Mesh(name, positions, np.empty((0, 3), np.int32), raw_name=node.name(b"NODE_NAME"))
    reporter.mark(mesh, "ase", block)
    mesh.casts_shadows = node.number(b"PROP_CASTSHADOW", 1) != 0
    mesh.receives_shadows = node.number(b"PROP_RECVSHADOW", 1) != 0
    faces = table(block, FaceList)
    if faces is None or not len(faces.index):
        return mesh
    order = _order(reporter, faces, faces.index)
    corners = np.asarray(faces.corners)[order]
    valid = valid_faces(reporter, faces, "corners", corners, len(positions), "vertex")
    mirrored = np.linalg.det(world[:3, :3]) < 0
    corner_order = slice(None, None, -1) if mirrored else slice(None)
    mesh.corners = corners[valid][:, corner_order].astype(np.int32)
    _read_faces(mesh, faces, order[valid], mirrored)
    uv, uv_corners = _per_corner(reporter, block, TextureVertexList, TextureFaceList, valid, "texture vertex")
    if uv is not None and uv_corners is not None:
        mesh.uv, mesh.uv_corners = uv[:, :2], uv_corners[:, corner_order]
    colors, color_corners = _per_corner(reporter, block, ColorVertexList, ColorFaceList, valid, "colour")
    if colors is not None and color_corners is not None:
        mesh.colors, mesh.color_corners = colors, color_corners[:, corner_order]
    mesh.face_materials = _face_materials(reporter, node, np.asarray(faces.materials)[order[valid]], palette)
    return mesh


def local_positions(reporter: Reporter, vertices: VertexList, world: Floats) -> Floats:
    """Return vertices in the local space of a node with the matrix ``world``; unchanged if this cannot be inverted."""
    stored = finite_rows(reporter, vertices, "values", vertices.values)
    rows: Floats = stored[_order(reporter, vertices, vertices.index)]
    if abs(np.linalg.det(world[:3, :3])) < 1e-12:
        reporter.report(DATA_MATRIX_SINGULAR, vertices)
        return rows
    return affine.transform_points(affine.inverse(world), rows)


def _order(reporter: Reporter, record: Table, index: Ints) -> Ints:
    """Return the rows of a table in the order of their numbers; in file order if the numbers are not 0 to n - 1."""
    count = len(index)
    sequence = np.arange(count)
    if np.array_equal(index, sequence):
        return sequence
    order = np.argsort(index, kind="stable")
    if np.array_equal(np.asarray(index)[order], sequence):
        return order
    rows: dict[int, int] = {}
    for row, number in enumerate(index.tolist()):
        place = f"index[{row}]"
        if not 0 <= number < count:
            reporter.report(
                LINK_INDEX_OUT_OF_RANGE,
                record,
                place,
                what="row",
                item=row,
                kind="entry",
                index=number,
                count=count,
            )
            break
        if (other := rows.setdefault(number, row)) != row:
            args = {"what": "number", "id": number, "name": f"row {row}", "other": f"row {other}"}
            reporter.report(LINK_DUPLICATE_ID, record, place, **args)
            break
    return sequence


def _read_faces(mesh: Mesh, faces: FaceList, rows: Ints, mirrored: bool) -> None:
    """Set smoothing groups and visible edges; if faces are reversed, their first two edges change places."""
    smoothing = np.asarray(faces.smoothing)[rows]
    if (smoothing >= 0).any():
        mesh.smoothing = np.maximum(smoothing, 0)
    edges = (np.asarray(faces.edges)[rows] != 0).astype(np.int32)
    read_declared_fields(mesh, edges[:, [1, 0, 2]] if mirrored else edges, EDGES)


def _per_corner(
    reporter: Reporter,
    block: Block,
    values_kind: type[NumberTable],
    corners_kind: type[NumberTable],
    valid: Flags,
    noun: str,
) -> tuple[Floats | None, Ints | None]:
    """Return values (texture coordinates or colours), and for each corner the index of its value.

    Both are None if a table is missing or has another number of faces.
    """
    value_table, corner_table = table(block, values_kind), table(block, corners_kind)
    if value_table is None or corner_table is None or not len(value_table.index) or not len(corner_table.index):
        return None, None
    if len(corner_table.index) != len(valid):
        count = len(corner_table.index)
        what = f"faces with {plural(noun)}"
        reporter.report(LINK_COUNT_MISMATCH, corner_table, "values", claimed=len(valid), found=count, what=what)
        return None, None
    finite = finite_rows(reporter, value_table, "values", value_table.values)
    values = finite[_order(reporter, value_table, value_table.index)]
    corners = np.asarray(corner_table.values)[_order(reporter, corner_table, corner_table.index)]
    valid_corners = valid_faces(reporter, corner_table, "values", corners, len(values), noun)
    return values, np.where(valid_corners[:, None], corners, 0)[valid].astype(np.int32)


def _face_materials(reporter: Reporter, node: Block, ids: Ints, palette: Palette) -> npt.NDArray[np.int32] | None:
    reference = node.get(b"MATERIAL_REF")
    if reference is None:
        return None
    number = int(node.number(b"MATERIAL_REF", -1))
    if number < 0:
        return None
    if not palette.has_material(number):
        reporter.report(LINK_UNRESOLVED_ID, node, "material_ref", kind="material", id=number)
        return None
    unique_ids, unique_of_face = np.unique(ids, return_inverse=True)
    numbers = np.array([palette.number(number, face_id) for face_id in unique_ids.tolist()], np.int32)
    return numbers[unique_of_face.reshape(-1)]
