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
from keyframer.formats.kit.declared_fields import get_fields
from keyframer.formats.kit.scene_reading import Reporter, finite_rows, valid_faces
from keyframer.maths import affine
from keyframer.scene import Mesh
from keyframer.text import plural

T = TypeVar("T", bound=Table)


def table(block: Block, kind: type[T]) -> T | None:
    """Return the first table of a kind inside a block."""
    return next((child for child in block.children if isinstance(child, kind)), None)


def read_mesh(reporter: Reporter, node: Block, block: Block, name: str, world: Floats, palette: Palette) -> Mesh | None:
    """Read the mesh of an object; None without a list of vertices. Faces with invalid corners are left out."""
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
    good = valid_faces(reporter, faces, "corners", corners, len(positions), "vertex")
    mirrored = np.linalg.det(world[:3, :3]) < 0
    turned = slice(None, None, -1) if mirrored else slice(None)
    mesh.corners = corners[good][:, turned].astype(np.int32)
    _read_faces(mesh, faces, order[good], mirrored)
    uv, uv_corners = _per_corner(reporter, block, TextureVertexList, TextureFaceList, good, "texture vertex")
    if uv is not None and uv_corners is not None:
        mesh.uv, mesh.uv_corners = uv[:, :2], uv_corners[:, turned]
    colors, color_corners = _per_corner(reporter, block, ColorVertexList, ColorFaceList, good, "colour")
    if colors is not None and color_corners is not None:
        mesh.colors, mesh.color_corners = colors, color_corners[:, turned]
    mesh.face_materials = _face_materials(reporter, node, np.asarray(faces.materials)[order[good]], palette)
    return mesh


def local_positions(reporter: Reporter, vertices: VertexList, world: Floats) -> Floats:
    """Return vertices in the local space of a node with the matrix ``world``."""
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
                LINK_INDEX_OUT_OF_RANGE, record, place, what="row", item=row, kind="number", index=number, count=count
            )
            break
        if (other := rows.setdefault(number, row)) != row:
            reporter.report(LINK_DUPLICATE_ID, record, place, name=f"row {row}", id=number, other=f"row {other}")
            break
    return sequence


def _read_faces(mesh: Mesh, faces: FaceList, rows: Ints, mirrored: bool) -> None:
    """Read smoothing groups and visible edges; a reversed face has its first two edges swapped."""
    smoothing = np.asarray(faces.smoothing)[rows]
    if (smoothing >= 0).any():
        mesh.smoothing = np.maximum(smoothing, 0)
    edges = (np.asarray(faces.edges)[rows] != 0).astype(np.int32)
    get_fields(mesh, edges[:, [1, 0, 2]] if mirrored else edges, EDGES)


def _per_corner(
    reporter: Reporter,
    block: Block,
    values_kind: type[NumberTable],
    corners_kind: type[NumberTable],
    good: Flags,
    kind: str,
) -> tuple[Floats | None, Ints | None]:
    """Read values that corners of faces refer to: texture coordinates and colours."""
    stored, named = table(block, values_kind), table(block, corners_kind)
    if stored is None or named is None or not len(stored.index) or not len(named.index):
        return None, None
    if len(named.index) != len(good):
        count = len(named.index)
        what = f"faces of {plural(kind)}"
        reporter.report(LINK_COUNT_MISMATCH, named, "values", claimed=len(good), found=count, what=what)
        return None, None
    values = finite_rows(reporter, stored, "values", stored.values)[_order(reporter, stored, stored.index)]
    corners = np.asarray(named.values)[_order(reporter, named, named.index)]
    usable = valid_faces(reporter, named, "values", corners, len(values), kind)
    return values, np.where(usable[:, None], corners, 0)[good].astype(np.int32)


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
    kinds, places = np.unique(ids, return_inverse=True)
    numbers = np.array([palette.number(number, kind) for kind in kinds.tolist()], np.int32)
    return numbers[places.reshape(-1)]
