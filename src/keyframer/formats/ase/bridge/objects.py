"""Read the contents of objects: materials with their maps, meshes in the space of their node, and skins."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from keyframer.arrays import Flags, Floats, Ints
from keyframer.catalogue import (
    DATA_MATRIX_SINGULAR,
    LINK_COUNT_MISMATCH,
    LINK_DUPLICATE_ID,
    LINK_INDEX_OUT_OF_RANGE,
    LINK_UNRESOLVED_ID,
    LINK_UNRESOLVED_NAME,
)
from keyframer.formats.ase import SLOTS
from keyframer.formats.ase.bridge.declared_fields import MAP, MATERIAL
from keyframer.formats.ase.records import (
    Block,
    ColorFaceList,
    ColorVertexList,
    FaceList,
    Line,
    Normals,
    NumberTable,
    SoftSkin,
    Table,
    TextureFaceList,
    TextureVertexList,
    VertexList,
)
from keyframer.formats.document import Document
from keyframer.formats.kit.common_rules import shown
from keyframer.formats.kit.declared_fields import read_declared_fields
from keyframer.formats.kit.scene_reading import Reporter, check_weights, finite_rows, valid_faces
from keyframer.maths import affine
from keyframer.scene import Material, Mesh, NodeKind, Scene, Skin, TextureMap
from keyframer.text import decode_name, plural
from keyframer.wire.record import Record

_MAX_DEPTH = 8
"""levels of sub-materials that are read; deeper ones are ignored"""


class Palette:
    """The materials of a document: the material of a face depends on the object's material and the face's id."""

    def __init__(self, reporter: Reporter, document: Document, encoding: str | None) -> None:
        self.materials: list[Material] = []
        self._reporter = reporter
        self._encoding = encoding
        self._by_number: dict[int, Block] = {}
        self.numbers: dict[int, int] = {}
        """number in the scene of each block that became a material, by the `id` of the block"""
        self._submaterials: dict[int, list[Block]] = {}
        """sub-materials of each block, by the `id` of the block"""
        lists = [block for block in document.find(Block) if block.keyword == b"MATERIAL_LIST"]
        for index, block in enumerate(block for blocks in lists for block in blocks.blocks(b"MATERIAL")):
            number = block.values[0] if block.values else index
            self._by_number.setdefault(number if isinstance(number, int) else index, block)
            for leaf in _leaves(block):
                self.numbers[id(leaf)] = len(self.materials)
                self.materials.append(self._material(leaf, block if leaf is not block else None))

    def _material(self, block: Block, parent: Block | None) -> Material:
        raw = block.name(b"MATERIAL_NAME") or b""
        material = Material(decode_name(raw, self._encoding), raw_name=raw)
        read_declared_fields(material, block, MATERIAL)
        for keyword, slot in SLOTS.items():
            map_block = block.block(keyword)
            if map_block is not None and (file_name := map_block.name(b"BITMAP")) is not None:
                texture = material.maps[slot] = TextureMap(decode_name(file_name, self._encoding), file_name)
                read_declared_fields(texture, map_block, MAP)
                self._reporter.mark(texture, "ase", map_block)
        shading = block.name(b"MATERIAL_SHADING")
        extras: dict[str, object] = {"shading": shading.decode("latin-1")} if shading else {}
        if parent is not None:
            extras["part_of"] = decode_name(parent.name(b"MATERIAL_NAME") or b"", self._encoding)
        self._reporter.mark(material, "ase", block, extras)
        return material

    def number(self, reference: int, face_id: int) -> int:
        """Return the number of the material of a face with this id in an object with this material; -1 for none."""
        block = self._by_number.get(reference)
        for _ in range(_MAX_DEPTH):
            if block is None:
                return -1
            submaterials = self._submaterials.get(id(block))
            if submaterials is None:
                submaterials = self._submaterials[id(block)] = block.blocks(b"SUBMATERIAL")
            if not submaterials:
                break
            block = submaterials[max(face_id, 0) % len(submaterials)]
        return -1 if block is None else self.numbers.get(id(block), -1)

    def places(self) -> dict[int, tuple[int, int]]:
        """Return for each material the number in MATERIAL_REF and the id of a face that select it."""
        places: dict[int, tuple[int, int]] = {}
        for reference, block in self._by_number.items():
            for face_id in range(max(len(block.blocks(b"SUBMATERIAL")), 1)):
                places.setdefault(self.number(reference, face_id), (reference, face_id))
        return places

    def of_faces(self, node: Block, ids: Ints) -> npt.NDArray[np.int32] | None:
        """Return the numbers of the materials of an object's faces with these ids; None without a material."""
        reference = int(node.number(b"MATERIAL_REF", -1))
        if reference < 0:
            return None
        if reference not in self._by_number:
            if self._by_number:  # some exporters for games write a reference, but no list of materials
                self._reporter.report(LINK_UNRESOLVED_ID, node, "material_ref", kind="material", id=reference)
            return None
        unique_ids, unique_of_face = np.unique(ids, return_inverse=True)
        numbers = np.array([self.number(reference, face_id) for face_id in unique_ids.tolist()], np.int32)
        return numbers[unique_of_face.reshape(-1)]


def _leaves(block: Block) -> Iterator[Block]:
    """Yield the materials inside a block that have no sub-materials; the block itself if it has none."""
    stack = [(block, 0)]
    while stack:
        material_block, depth = stack.pop()
        submaterials = material_block.blocks(b"SUBMATERIAL") if depth < _MAX_DEPTH else []
        if not submaterials:
            yield material_block
        stack += [(material, depth + 1) for material in reversed(submaterials)]


T = TypeVar("T", bound=Table)


def table(block: Block, kind: type[T]) -> T | None:
    """Return the first table of a type inside a block, or None."""
    return next((child for child in block.children if isinstance(child, kind)), None)


def read_mesh(reporter: Reporter, node: Block, block: Block, name: str, world: Floats, palette: Palette) -> Mesh | None:
    """Return the mesh of an object, None if it has no list of vertices. Faces with invalid corners are left out.

    If the matrix of the node mirrors, the faces in the file are reversed: they are reversed back.
    """
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
    mirrored = affine.determinant(world) < 0
    corner_order = slice(None, None, -1) if mirrored else slice(None)
    mesh.corners = corners[valid][:, corner_order].astype(np.int32)
    rows = order[valid]
    smoothing = np.asarray(faces.smoothing)[rows]
    if (smoothing >= 0).any():
        mesh.smoothing = np.maximum(smoothing, 0)
    visible = (np.asarray(faces.edges)[rows] != 0).astype(np.int32)
    visible = visible[:, [1, 0, 2]] if mirrored else visible
    mesh.edges = visible[:, 0] | visible[:, 1] << 1 | visible[:, 2] << 2
    uv, uv_corners = _per_corner(reporter, block, TextureVertexList, TextureFaceList, valid, "texture vertex")
    if uv is not None and uv_corners is not None:
        mesh.uv, mesh.uv_corners = uv[:, :2], uv_corners[:, corner_order]
    colors, color_corners = _per_corner(reporter, block, ColorVertexList, ColorFaceList, valid, "colour")
    if colors is not None and color_corners is not None:
        mesh.colors, mesh.color_corners = colors, color_corners[:, corner_order]
    mesh.face_materials = palette.of_faces(node, np.asarray(faces.materials)[rows])
    normals = table(block, Normals)
    in_order = normals is not None and len(normals.index) == len(faces.index)  # as 3ds Max writes them
    if normals is not None and in_order and np.array_equal(normals.corners, np.reshape(faces.corners, -1)):
        _read_normals(normals, rows, world, mesh, corner_order)
    return mesh


_AGREEMENT = 0.99
"""smallest cosine, in the median, between the stated normals of faces and those that follow from their corners"""


def _read_normals(record: Normals, rows: Ints, world: Floats, mesh: Mesh, corner_order: slice) -> None:
    """Set the normals of a mesh, if those of its faces agree with their corners: 3ds Max writes normals in the space of
    the object and vertices in that of the scene, others write both in that of the scene."""
    faces, corners = (  # the rules report numbers that are not finite
        np.nan_to_num(np.asarray(values, np.float64), posinf=0.0, neginf=0.0)
        for values in (record.normals, record.corner_normals)
    )
    faces, corners = faces[rows], corners.reshape(-1, 9)[rows]
    a, b, c = np.asarray(mesh.positions)[np.asarray(mesh.corners).T]
    across = np.cross(b - a, c - a)
    for matrix in (np.eye(3), world[:3, :3]):  # the inverse of the inverse transpose is the transpose
        stated = faces @ matrix
        lengths = np.sqrt((stated**2).sum(axis=1) * (across**2).sum(axis=1))
        cosines = (stated * across).sum(axis=1)[lengths > 0] / lengths[lengths > 0]
        if len(cosines) and np.median(cosines) >= _AGREEMENT:
            turned = corners.reshape(-1, 3) @ matrix
            length = np.sqrt((turned**2).sum(axis=1))
            mesh.normals = turned / np.where(length > 0, length, 1.0)[:, None]
            mesh.normal_corners = np.arange(len(turned), dtype=np.int32).reshape(-1, 3)[:, corner_order]
            return


def local_positions(reporter: Reporter, vertices: VertexList, world: Floats) -> Floats:
    """Return vertices in the local space of a node with the matrix ``world``; unchanged if this cannot be inverted."""
    stored = finite_rows(reporter, vertices, "values", vertices.values)
    rows: Floats = stored[_order(reporter, vertices, vertices.index)]
    if abs(affine.determinant(world)) < 1e-12:
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
            args = {"what": "row", "item": row, "kind": "entry", "index": number, "count": count}
            reporter.report(LINK_INDEX_OUT_OF_RANGE, record, place, **args)
            break
        if (other := rows.setdefault(number, row)) != row:
            args = {"what": "number", "id": number, "name": f"row {row}", "other": f"row {other}"}
            reporter.report(LINK_DUPLICATE_ID, record, place, **args)
            break
    return sequence


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
        args: Any = {"claimed": len(valid), "found": len(corner_table.index), "what": f"faces with {plural(noun)}"}
        reporter.report(LINK_COUNT_MISMATCH, corner_table, "values", **args)
        return None, None
    finite = finite_rows(reporter, value_table, "values", value_table.values)
    values = finite[_order(reporter, value_table, value_table.index)]
    corners = np.asarray(corner_table.values)[_order(reporter, corner_table, corner_table.index)]
    valid_corners = valid_faces(reporter, corner_table, "values", corners, len(values), noun)
    return values, np.where(valid_corners[:, None], corners, 0)[valid].astype(np.int32)


Influence = tuple[int, bytes, float]
"""number of a vertex, name of a bone, weight"""


def read_skins(reporter: Reporter, document: Document, scene: Scene, blocks: list[Block], world: Floats) -> None:
    """Set the skins that some exporters add: weights inside a mesh, or a separate block. Bones are found by name."""
    numbers: dict[bytes, int] = {}
    for number, node in enumerate(scene.nodes):
        numbers.setdefault(node.raw_name or b"", number)
    for number, (node, block) in enumerate(zip(scene.nodes, blocks, strict=True)):
        mesh = block.block(b"MESH") if node.mesh is not None else None
        weights = mesh.block(b"MESH_WEIGHTS") if mesh is not None else None
        if weights is not None:
            _attach(reporter, scene, number, weights, _read_influences(weights), numbers, world)
    for record in document.find(SoftSkin):
        name = record.names[0] if record.names and isinstance(record.names[0], bytes) else b""
        owner = numbers.get(name)
        if owner is None or scene.nodes[owner].mesh is None:
            reporter.report(LINK_UNRESOLVED_NAME, record, "names", kind="mesh", name=shown(name))
            continue
        vertices = np.repeat(np.arange(len(record.counts)), np.asarray(record.counts, np.intp)).tolist()
        bones = [bone if isinstance(bone, bytes) else b"" for bone in record.names[1:]]
        influences = list(zip(vertices, bones, np.asarray(record.weights).tolist(), strict=True))
        _attach(reporter, scene, owner, record, influences, numbers, world)


def _read_influences(weights: Block) -> list[Influence]:
    """Return the influences in a MESH_WEIGHTS block; bone -1 marks a vertex without bones."""

    def rows(keyword: bytes) -> Iterator[tuple[int | float | bytes, ...]]:
        block = weights.block(keyword)
        children = [] if block is None else block.children
        return (child.values for child in children if isinstance(child, Line) and child.values)

    names: dict[int, bytes] = {}
    for number, *texts in rows(b"MESH_BONE_LIST"):
        if isinstance(number, int) and texts and isinstance(texts[0], bytes):
            names.setdefault(number, texts[0])
    influences: list[Influence] = []
    for vertex, *numbers in rows(b"MESH_BONE_VERTEX_LIST"):
        for bone, weight in zip(numbers[3::2], numbers[4::2], strict=False):
            is_bone = isinstance(bone, float) and bone >= 0 and bone.is_integer()
            if isinstance(vertex, int) and isinstance(weight, float) and is_bone:
                influences.append((vertex, names.get(int(bone), b"?"), weight))
    return influences


def _attach(
    reporter: Reporter,
    scene: Scene,
    owner: int,
    record: Record,
    influences: list[Influence],
    numbers: dict[bytes, int],
    world: Floats,
) -> None:
    """Add influences as a skin to the node ``owner``, unless it has one; dummies that it uses become bones.

    ``numbers`` has the number of each node, by its stored name.
    """
    node = scene.nodes[owner]
    assert node.mesh is not None
    count = len(scene.meshes[node.mesh].positions)
    if any(not 0 <= vertex < count for vertex, _, _ in influences):
        last = max(vertex for vertex, _, _ in influences)
        reporter.report(LINK_COUNT_MISMATCH, record, claimed=count, found=last + 1, what="vertices of a skin")
    for bone in dict.fromkeys(bone for _, bone, _ in influences if bone not in numbers):
        reporter.report(LINK_UNRESOLVED_NAME, record, kind="bone", name=shown(bone))
    usable = [
        (vertex, numbers[bone], weight)
        for vertex, bone, weight in sorted(influences, key=lambda influence: influence[0])
        if 0 <= vertex < count and bone in numbers and np.isfinite(weight)
    ]
    if not usable or node.skin is not None:
        return
    joints = list(dict.fromkeys(joint for _, joint, _ in usable))
    index_of_joint = {joint: index for index, joint in enumerate(joints)}
    vertices = np.array([vertex for vertex, _, _ in usable])
    weights = np.array([weight for _, _, weight in usable])
    check_weights(reporter, record, "", vertices, weights, count)
    bind = affine.multiply(affine.inverse(world[np.array(joints)]), world[owner])
    skin = Skin(node.name, joints, bind, vertices, np.array([index_of_joint[joint] for _, joint, _ in usable]), weights)
    skin.rigid = bool(len(vertices) == len(np.unique(vertices)) and (weights == 1).all())
    skin.extras["ase"] = reporter.location_of(record)
    node.skin = len(scene.skins)
    scene.skins.append(skin)
    for joint in joints:
        if scene.nodes[joint].kind is NodeKind.DUMMY:
            scene.nodes[joint].kind = NodeKind.BONE
