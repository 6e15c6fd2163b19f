"""Reads meshes: the triangles of all primitives as one mesh, with texture coordinates, colours, normals, morph targets,
and the joints and weights of a skin.

Vertices that were split for glTF are joined again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from keyframer.arrays import Array, Floats, Indices
from keyframer.catalogue import (
    LINK_COUNT_MISMATCH,
    LINK_INDEX_OUT_OF_RANGE,
    SEM_UNKNOWN_ENUM,
    STRUCT_SYNTAX,
)
from keyframer.exchange.gltf.read import extras_reading
from keyframer.exchange.gltf.read.accessors import Accessors, DecompressedMesh, DracoReader
from keyframer.exchange.gltf.read.json_text import Findings, Item
from keyframer.exchange.kit.colors import shown_color
from keyframer.formats.kit.mesh_welding import weld
from keyframer.issues import Severity
from keyframer.limits import Budget
from keyframer.scene import Mesh
from keyframer.scene.mesh import CORNER_TABLES
from keyframer.text import counted

_MODES = ("points", "lines", "line loop", "line strip", "triangles", "triangle strip", "triangle fan")
MOST_JOINT_SETS = 4
"""maximum number of sets of joints and weights that are read"""
_KNOWN_ATTRIBUTES = {
    *("POSITION", "NORMAL", "TEXCOORD_0", "TEXCOORD_1", "COLOR_0"),
    "TANGENT",  # not read: tangents are computed again for normal maps
    *(f"{name}_{number}" for name in ("JOINTS", "WEIGHTS") for number in range(MOST_JOINT_SETS)),
}


@dataclass(eq=False)
class _Part:
    """Vertices that one or more primitives use."""

    count: int
    arrays: dict[str, Array]
    targets: list[Array | None]


@dataclass(eq=False)
class _Primitives:
    """The primitives of a mesh: distinct parts, and the faces of each primitive."""

    parts: dict[str, _Part] = field(default_factory=dict)
    faces: list[Indices] = field(default_factory=list)
    """the corners of each primitive, as indices within its part"""
    primitive_parts: list[_Part] = field(default_factory=list)
    """the part of each primitive"""
    materials: list[int] = field(default_factory=list)
    """the material of each primitive"""
    accessor_keys: list[object] = field(default_factory=list)
    """identifies the accessors and the mode of each primitive"""
    translucent: bool = False
    """whether a material uses the opacity of colours"""


class MeshReader:
    """Reads the meshes of one file."""

    def __init__(
        self,
        root: Item,
        accessors: Accessors,
        draco: DracoReader,
        budget: Budget,
        issues: Findings,
        material_numbers: list[int],
    ) -> None:
        stated_modes = [material.value.get("alphaMode", "OPAQUE") for material in root.children("materials")]
        self._opaque = {
            -1,
            *(number for number, mode in zip(material_numbers, stated_modes, strict=False) if mode == "OPAQUE"),
        }
        self._accessors = accessors
        self._draco = draco
        self._budget = budget
        self._issues = issues
        self._material_numbers = material_numbers
        self._triangle_lists: dict[tuple[int | None, int, int], tuple[Indices, int]] = {}
        self._imported_meshes: dict[tuple[object, ...], ImportedMesh] = {}
        """by accessors: meshes that differ only in their materials share their arrays"""
        self.items = root.children("meshes")

    def read(self, number: int, grid: Floats | None, *, v_up: bool, from_keyframer: bool) -> ImportedMesh | None:
        """Read a mesh; returns None if it has no readable triangles. Split vertices are joined again (`weld`): in our
        own files without regard to normals, in others by normal, if the mesh has normals. Positions on a ``grid`` (4,),
        origin and step, are moved to where they are.
        """
        item = self.items[number]
        primitives = _Primitives()
        primitive_items = item.children("primitives")
        if not primitive_items:
            raise item.missing("primitives")
        for primitive in primitive_items:
            self._issues.attempt(self._primitive, primitive, primitives)
        if not primitives.faces:
            return None
        extras = item.keyframer_extras
        stated = not from_keyframer or (extras is not None and extras.value.get("normals") == "stated")
        primitives.translucent = not self._opaque.issuperset(primitives.materials)
        key = (*primitives.accessor_keys, primitives.translucent, stated, None if grid is None else grid.tobytes())
        if key not in self._imported_meshes:
            self._imported_meshes[key] = self._imported_mesh(
                item, primitives, grid, v_up=v_up, from_keyframer=from_keyframer, stated_normals=stated
            )
        shared = self._imported_meshes[key]
        imported = replace(shared, mesh=replace(shared.mesh, name=self._issues.attempt(item.text, "name", "") or ""))
        imported.mesh.face_materials = self._face_materials(item, primitives)
        imported.weights = self._issues.attempt(item.numbers, "weights", None, ()) or ()
        imported.names = _target_names(item, len(imported.targets))
        if from_keyframer and extras is not None:
            self._issues.attempt(self._restore, imported.mesh, extras)
        return imported

    def _imported_mesh(
        self,
        item: Item,
        primitives: _Primitives,
        grid: Floats | None,
        *,
        v_up: bool,
        from_keyframer: bool,
        stated_normals: bool,
    ) -> ImportedMesh:
        """Return the arrays shared by all meshes with the same accessors. Our own files say whether their normals were
        stated by the source; others follow from smoothing groups."""
        imported = self._joined(item, primitives, v_up)
        if grid is not None:
            imported.mesh.positions = np.asarray(imported.mesh.positions * grid[3] + grid[:3], np.float32)
        if stated_normals and imported.normals is not None:
            imported.mesh.normals = imported.normals
        if not from_keyframer:  # our own files have smoothing in extras, if the scene had any
            smooth = ["NORMAL" in part.arrays for part in primitives.primitive_parts]
            imported.mesh.smoothing = np.repeat(np.array(smooth, np.int64), [len(face) for face in primitives.faces])
        if from_keyframer or imported.normals is not None:
            _welded(imported, by_normal=not from_keyframer)
        mesh = imported.mesh
        tables = (*CORNER_TABLES, *CORNER_TABLES.values())
        for name in ("positions", "corners", *tables, "color_alpha", "smoothing"):
            # shared arrays are read-only: changing one mesh must not change the others
            if getattr(mesh, name) is not None:
                setattr(mesh, name, _read_only(getattr(mesh, name)))
        return imported

    def _face_materials(self, item: Item, primitives: _Primitives) -> Indices | None:
        """Return the material of each face; None if no face has one."""
        count = sum(map(len, primitives.faces))
        if max(primitives.materials) < 0:
            return None
        if len(set(primitives.materials)) == 1:
            return np.broadcast_to(np.int64(primitives.materials[0]), count)
        self._budget.spend("copies", count, item.path)
        return np.repeat(np.array(primitives.materials, np.int64), [len(face) for face in primitives.faces])

    def _primitive(self, primitive: Item, primitives: _Primitives) -> None:
        mode = primitive.integer("mode", 4, most=6)
        if mode < 4:
            args = {"value": _MODES[mode], "known": ", ".join(_MODES[4:])}
            self._issues.add(SEM_UNKNOWN_ENUM, primitive.at("mode"), 0, severity=Severity.WARNING, **args)
            return
        attributes = primitive.child("attributes")
        if attributes is None or not attributes.has("POSITION"):
            self._issues.add(LINK_COUNT_MISMATCH, primitive.path, 0, claimed=1, what="POSITION", found=0)
            return
        decompressed = self._draco.read(primitive, attributes)
        compression = None if decompressed is None else primitive.value.get("extensions")
        key = repr((sorted(attributes.value.items(), key=str), primitive.value.get("targets"), compression))
        part = primitives.parts.get(key) or self._part(primitive, attributes, decompressed)
        triangles = self._triangles(primitive, mode, part.count, decompressed)
        material = primitive.index("material", len(self._material_numbers), "material")
        primitives.parts[key] = part
        primitives.faces.append(triangles)
        primitives.primitive_parts.append(part)
        primitives.materials.append(-1 if material is None else self._material_numbers[material])
        primitives.accessor_keys.append((key, primitive.value.get("indices"), mode))

    def _part(self, primitive: Item, attributes: Item, decompressed: DecompressedMesh | None) -> _Part:
        accessors = self._accessors
        arrays: dict[str, Array] = {}

        def read(name: str, *types: str, integers: bool = False) -> None:
            accessor = attributes.index(name, len(accessors), "accessor")
            if accessor is None:
                return
            if decompressed is not None and name in decompressed.columns:
                accessors.supply(accessor, decompressed.columns[name])
            arrays[name] = accessors.integers(accessor, *types) if integers else accessors.floats(accessor, *types)
            if len(arrays[name]) != len(arrays["POSITION"]):
                expected = f"{counted(len(arrays['POSITION']), 'element')}, as POSITION has"
                raise attributes.fail(STRUCT_SYNTAX, name, wanted=expected, found=f"{len(arrays[name])}")

        for name in attributes.value:
            if name not in _KNOWN_ATTRIBUTES:  # a third set of coordinates, colours of another program …
                known = "POSITION, NORMAL, TEXCOORD_0, TEXCOORD_1, COLOR_0, JOINTS_n, WEIGHTS_n"
                args = {"value": str(name)[:80], "known": known}
                self._issues.add(SEM_UNKNOWN_ENUM, attributes.at(name), 0, severity=Severity.WARNING, **args)
        read("POSITION", "VEC3")
        read("NORMAL", "VEC3")
        read("TEXCOORD_0", "VEC2")
        read("TEXCOORD_1", "VEC2")
        read("COLOR_0", "VEC3", "VEC4")
        for number in range(MOST_JOINT_SETS):
            read(f"JOINTS_{number}", "VEC4", integers=True)
            read(f"WEIGHTS_{number}", "VEC4")
        targets: list[Array | None] = []
        count = len(arrays["POSITION"])
        for target in primitive.children("targets"):
            accessor = target.index("POSITION", len(accessors), "accessor")
            offsets = None if accessor is None else accessors.floats(accessor, "VEC3")
            if offsets is not None and len(offsets) != count:
                raise target.fail(STRUCT_SYNTAX, "POSITION", wanted=counted(count, "element"), found=f"{len(offsets)}")
            targets.append(offsets)
        return _Part(count, arrays, targets)

    def _triangles(self, primitive: Item, mode: int, count: int, decompressed: DecompressedMesh | None) -> Indices:
        if decompressed is not None:
            return decompressed.triangles
        accessor = primitive.index("indices", len(self._accessors), "accessor")
        key = (accessor, mode, count if accessor is None else 0)
        if key not in self._triangle_lists:
            self._triangle_lists[key] = self._new_triangles(primitive, accessor, mode, count)
        triangles, highest = self._triangle_lists[key]
        if highest >= count:
            corner = int(np.argmax(triangles))
            args = {"what": "corner", "item": corner, "kind": "vertex", "index": highest, "count": count}
            raise primitive.fail(LINK_INDEX_OUT_OF_RANGE, "indices", **args)
        return triangles

    def _new_triangles(self, primitive: Item, accessor: int | None, mode: int, count: int) -> tuple[Indices, int]:
        """Return the vertex indices of triangles (T, 3), and the highest index in the accessor."""
        if accessor is None:
            numbers: Indices = np.arange(count)
        else:
            numbers = self._accessors.integers(accessor, "SCALAR")[:, 0]
        if accessor is None or mode > 4:
            self._budget.spend("copies", 3 * len(numbers), primitive.at("indices"))
        if (mode == 4 and len(numbers) % 3) or (mode > 4 and len(numbers) < 3):
            args = {"wanted": "three corners for each face", "found": f"{len(numbers)} in all"}
            self._issues.add(STRUCT_SYNTAX, primitive.at("indices"), 0, severity=Severity.WARNING, **args)
        highest = int(numbers.max(initial=-1))
        if mode == 4:
            return numbers[: len(numbers) // 3 * 3].reshape(-1, 3), highest
        first = np.arange(max(len(numbers) - 2, 0))
        if mode == 5:
            odd = first % 2
            return np.column_stack([numbers[first], numbers[first + 1 + odd], numbers[first + 2 - odd]]), highest
        return np.column_stack([numbers[first + 1], numbers[first + 2], numbers[np.zeros_like(first)]]), highest

    def _joined(self, item: Item, primitives: _Primitives, v_up: bool) -> ImportedMesh:
        """Concatenate all parts without unused vertices; a single part without unused vertices is not copied."""
        parts = list(primitives.parts.values())
        self._budget.spend("copies", sum(triangles.size for triangles in primitives.faces), item.path)
        faces, used = _used_only(primitives)
        widths = {name: array.shape[1] for part in parts for name, array in part.arrays.items()}
        numbers_per_vertex = sum(widths.values()) + 3 * max(len(part.targets) for part in parts)
        vertex_count = sum(
            part.count if indices is None else len(indices) for part, indices in zip(parts, used, strict=True)
        )
        self._budget.spend("copies", numbers_per_vertex * vertex_count, item.path)

        columns = _Columns(parts, used)
        imported = ImportedMesh(columns.surface(faces, v_up=v_up, translucent=primitives.translucent))
        imported.normals = columns.column("NORMAL", 3)
        imported.targets = columns.targets()
        imported.joints, imported.joint_weights = columns.influences()
        return imported

    def _restore(self, mesh: Mesh, extras: Item) -> None:
        """Restore data that only our own files have; arrays of faces are in the order of the triangles."""
        extras_reading.restore(mesh, extras, flags="casts_shadows receives_shadows dynamic")
        mesh.raw_name = extras_reading.raw_name(extras, mesh.name or None)
        mesh.extras = extras_reading.format_extras(extras)
        for name in ("smoothing", "edges"):
            masks = extras_reading.array(extras, name, self._budget, kind=int)
            if masks is not None and masks.shape == (len(mesh.corners),):
                setattr(mesh, name, masks)
        axes = extras_reading.array(extras, "axes", self._budget)
        mesh.axes = axes if axes is not None and axes.shape == (4, 4) else None
        sphere = extras.entries("bounding_sphere")
        if len(sphere) == 2 and isinstance(sphere[0], list) and isinstance(sphere[1], (int, float)):
            centre = extras_reading.array(
                Item({"centre": sphere[0]}, extras.at("bounding_sphere")), "centre", self._budget
            )
            if centre is not None and centre.shape == (3,):
                mesh.bounding_sphere = (centre, float(sphere[1]))


def _wide(rows: Array | None, count: int, default: Array) -> Array:
    """Return rows with as many columns as ``default``, which fills what is missing."""
    width = len(default)
    if rows is None:
        return np.broadcast_to(default, (count, width))
    if rows.shape[1] < width:
        return np.column_stack([rows, np.broadcast_to(default[rows.shape[1] :], (count, width - rows.shape[1]))])
    return rows[:, :width]


def _read_only(array: Array) -> Array:
    view = array.view()
    view.flags.writeable = False
    return view


def _used_only(primitives: _Primitives) -> tuple[Indices, list[Indices | None]]:
    """Return the faces of a mesh, and the used vertices of each part; None if all are used."""
    primitives_of: dict[int, list[int]] = {id(part): [] for part in primitives.parts.values()}
    for number, part in enumerate(primitives.primitive_parts):
        primitives_of[id(part)].append(number)
    renumbered = list(primitives.faces)
    used: list[Indices | None] = []
    first = 0
    for part in primitives.parts.values():
        indices = _distinct([primitives.faces[number] for number in primitives_of[id(part)]], part.count)
        for number in primitives_of[id(part)]:
            faces = primitives.faces[number] if indices is None else np.searchsorted(indices, primitives.faces[number])
            renumbered[number] = faces + first if first else faces
        used.append(indices)
        first += part.count if indices is None else len(indices)
    return renumbered[0] if len(renumbered) == 1 else np.concatenate(renumbered), used


def _distinct(lists: list[Indices], count: int) -> Indices | None:
    """Return the distinct indices below ``count`` in order; None if all occur."""
    if sum(numbers.size for numbers in lists) < count // 8:
        return np.unique(np.concatenate([numbers.reshape(-1) for numbers in lists]))
    occurs = np.zeros(count, np.bool_)
    for numbers in lists:
        occurs[numbers.reshape(-1)] = True
    return None if occurs.all() else np.flatnonzero(occurs)


def _target_names(item: Item, count: int) -> list[str]:
    extras = item.value.get("extras")
    stated_names = extras.get("targetNames") if type(extras) is dict else None
    names = stated_names if type(stated_names) is list else []
    return [
        names[number] if number < len(names) and type(names[number]) is str else f"target {number}"
        for number in range(count)
    ]


class _Columns:
    """The attributes of all parts of a mesh, one part after the other, for the vertices that are used."""

    def __init__(self, parts: Sequence[_Part], used: Sequence[Indices | None]) -> None:
        """``used`` are the vertices of each part that faces use; None: all."""
        self.parts = parts
        self.used = used

    def column(self, name: str, width: int, fill: float = 0.0) -> Array | None:
        """Return an attribute; ``fill`` for parts without it, None if no part has it."""
        if not any(name in part.arrays for part in self.parts):
            return None
        default = np.full(width, fill)
        return self._joined([_wide(part.arrays.get(name), part.count, default) for part in self.parts])

    def _joined(self, arrays: list[Array]) -> Array:
        rows = [array if indices is None else array[indices] for array, indices in zip(arrays, self.used, strict=True)]
        return rows[0] if len(rows) == 1 else np.concatenate(rows)

    def surface(self, faces: Indices, *, v_up: bool, translucent: bool) -> Mesh:
        """Return positions, texture coordinates and colours as a mesh."""
        positions = self.column("POSITION", 3)
        assert positions is not None
        mesh = Mesh("", positions, faces)
        for name, attribute in (("uv", "TEXCOORD_0"), ("uv2", "TEXCOORD_1")):
            uv = self.column(attribute, 2)
            if uv is not None:
                setattr(mesh, name, np.column_stack([uv[:, 0], 1.0 - uv[:, 1]]) if v_up else uv)
        colors = self.column("COLOR_0", 4, 1.0)
        if colors is not None:
            mesh.colors = shown_color(colors[:, :3])
            if translucent and (colors[:, 3] != 1.0).any():
                mesh.color_alpha = colors[:, 3]
        return mesh

    def targets(self) -> list[Array]:
        """Return the morph targets; parts with fewer of them stay in place."""
        targets = []
        for number in range(max(len(part.targets) for part in self.parts)):
            offsets = [part.targets[number] if number < len(part.targets) else None for part in self.parts]
            targets.append(
                self._joined(
                    [
                        np.broadcast_to(np.zeros(3), (part.count, 3)) if rows is None else rows
                        for rows, part in zip(offsets, self.parts, strict=True)
                    ]
                )
            )
        return targets

    def influences(self) -> tuple[Indices | None, Array | None]:
        """Return joints and weights of the vertices, all sets beside each other; None if a set has no weights."""
        sets = [number for number in range(MOST_JOINT_SETS) if self.column(f"JOINTS_{number}", 4) is not None]
        joints = [self.column(f"JOINTS_{number}", 4) for number in sets]
        weights = [self.column(f"WEIGHTS_{number}", 4) for number in sets]
        if not sets or any(column is None for column in weights):
            return None, None
        joined = np.concatenate(joints, axis=1).astype(np.int64)  # type: ignore[arg-type]
        return joined, np.concatenate(weights, axis=1).astype(np.float64)  # type: ignore[arg-type]


@dataclass(eq=False)
class ImportedMesh:
    """A mesh of the file, with data that belongs to the node or skin in a scene."""

    mesh: Mesh
    targets: list[Array] = field(default_factory=list)
    """morph targets: (V, 3) differences from the positions of the mesh"""
    names: list[str] = field(default_factory=list)
    """names of the morph targets"""
    weights: tuple[float, ...] = ()
    """weights of the morph targets at rest"""
    joints: Indices | None = None
    """(V, 4 n) joints of each vertex, as indices within the skin"""
    joint_weights: Array | None = None
    """(V, 4 n) weights of ``joints``"""
    normals: Array | None = None
    """(n, 3) normals of the vertices before `weld`"""


def _welded(imported: ImportedMesh, *, by_normal: bool) -> None:
    """Join vertices with the same position, morph targets, joints and weights; with ``by_normal`` also normal."""
    bound = [imported.joints, imported.joint_weights]
    labels = [np.asarray(rows, np.float32) for rows in bound if rows is not None]
    kept = weld(imported.mesh, imported.targets, labels, normals=imported.normals if by_normal else None)
    if kept is None:
        return
    imported.targets = [target[kept] for target in imported.targets]
    if imported.joints is not None and imported.joint_weights is not None:
        imported.joints, imported.joint_weights = imported.joints[kept], imported.joint_weights[kept]
