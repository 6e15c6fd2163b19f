"""Meshes: the triangles of all primitives as one mesh, with texture coordinates, colours, targets, influences."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from keyframer.catalogue import (
    LINK_COUNT_MISMATCH,
    LINK_INDEX_OUT_OF_RANGE,
    SEM_EXTENSION_UNKNOWN,
    SEM_UNKNOWN_ENUM,
    STRUCT_SYNTAX,
)
from keyframer.exchange.gltf.reading import unpacking
from keyframer.exchange.gltf.reading.accessors import Accessors
from keyframer.exchange.gltf.reading.buffers import Budget
from keyframer.exchange.gltf.reading.colors import shown_color
from keyframer.exchange.gltf.reading.findings import Findings
from keyframer.exchange.gltf.reading.values import Item
from keyframer.exchange.gltf.reading.welding import Shape, weld
from keyframer.issues import Severity
from keyframer.scene import Mesh

Array = npt.NDArray[Any]
Indices = npt.NDArray[np.int64]

_MODES = ("points", "lines", "line loop", "line strip", "triangles", "triangle strip", "triangle fan")
_PACKED = ("KHR_draco_mesh_compression",)
"""extensions that keep the vertices elsewhere: what is read instead would be zeros"""
MOST_SETS = 4
"""sets of joints and weights that are read"""


@dataclass(eq=False)
class _Part:
    """Vertices that some primitives share."""

    first: int
    count: int
    arrays: dict[str, Array]
    targets: list[Array | None]


@dataclass(eq=False)
class _Pieces:
    """What the primitives of a mesh give: parts by their content, and the faces of each primitive."""

    parts: dict[str, _Part] = field(default_factory=dict)
    faces: list[Indices] = field(default_factory=list)
    owners: list[Indices] = field(default_factory=list)
    """of each face, the number of its material"""
    smooth: list[Indices] = field(default_factory=list)
    """of each face, 1 where its vertices have normals, which neighbours share; else it is flat, as glTF wants"""

    @property
    def count(self) -> int:
        """Vertices so far."""
        last = next(reversed(self.parts.values()), None)
        return 0 if last is None else last.first + last.count


class MeshReader:
    def __init__(
        self, root: Item, accessors: Accessors, budget: Budget, issues: Findings, materials: list[int]
    ) -> None:
        self._accessors = accessors
        self._budget = budget
        self._issues = issues
        self._materials = materials
        self.items = root.children("meshes")

    def read(self, number: int, *, v_up: bool, ours: bool) -> Shape | None:
        """None where there is nothing but points and lines. Vertices that were split where corners differ become one
        again: in a file of ours all that are at one place, in others those whose normal is the same, too."""
        item = self.items[number]
        pieces = _Pieces()
        primitives = item.children("primitives")
        if not primitives:
            raise item.missing("primitives")
        for primitive in primitives:
            self._issues.attempt(self._primitive, primitive, pieces)
        if not pieces.faces:
            return None
        shape = self._joined(item, pieces, v_up)
        kept = item.kept
        if ours and kept is not None:
            self._issues.attempt(self._restore, shape.mesh, kept)
        if not ours:  # where ours say nothing, the scene that they were made of said nothing
            shape.mesh.smoothing = np.concatenate(pieces.smooth)
        if ours or shape.normals is not None:
            weld(shape, by_normal=not ours)
        return shape

    def _primitive(self, primitive: Item, pieces: _Pieces) -> None:
        mode = primitive.integer("mode", 4, most=6)
        if mode < 4:
            args = {"value": _MODES[mode], "known": ", ".join(_MODES[4:])}
            self._issues.add(SEM_UNKNOWN_ENUM, primitive.at("mode"), 0, severity=Severity.WARNING, **args)
            return
        attributes = primitive.child("attributes")
        if attributes is None or not attributes.has("POSITION"):
            self._issues.add(LINK_COUNT_MISMATCH, primitive.path, 0, claimed=1, what="POSITION", found=0)
            return
        key = repr((sorted(attributes.value.items(), key=str), primitive.value.get("targets")))
        part = pieces.parts.get(key) or self._part(primitive, attributes, pieces.count)
        triangles = self._triangles(primitive, mode, part.count)
        material = primitive.index("material", len(self._materials), "material")
        pieces.parts[key] = part
        pieces.faces.append(triangles + part.first)
        pieces.owners.append(np.full(len(triangles), -1 if material is None else self._materials[material]))
        pieces.smooth.append(np.full(len(triangles), int("NORMAL" in part.arrays)))

    def _part(self, primitive: Item, attributes: Item, first: int) -> _Part:
        accessors = self._accessors
        arrays: dict[str, Array] = {}

        def numbers(name: str, *types: str, whole: bool = False) -> None:
            accessor = attributes.index(name, len(accessors), "accessor")
            if accessor is None:
                return
            arrays[name] = accessors.integers(accessor, *types) if whole else accessors.floats(accessor, *types)
            if len(arrays[name]) != len(arrays["POSITION"]):
                wanted = f"{len(arrays['POSITION'])} elements, as POSITION has"
                raise attributes.fail(STRUCT_SYNTAX, name, wanted=wanted, found=f"{len(arrays[name])}")
            self._budget.charge(arrays[name].size, attributes.at(name))

        numbers("POSITION", "VEC3")
        packed = next((name for name in _PACKED if primitive.extension(name) is not None), None)
        if packed is not None and not accessors.has_bytes(
            attributes.needed_index("POSITION", len(accessors), "accessor")
        ):
            raise primitive.fail(SEM_EXTENSION_UNKNOWN, "extensions", name=packed, effect="it holds the vertices")
        numbers("NORMAL", "VEC3")
        numbers("TEXCOORD_0", "VEC2")
        numbers("COLOR_0", "VEC3", "VEC4")
        for part in range(MOST_SETS):
            numbers(f"JOINTS_{part}", "VEC4", whole=True)
            numbers(f"WEIGHTS_{part}", "VEC4")
        targets: list[Array | None] = []
        count = len(arrays["POSITION"])
        for target in primitive.children("targets"):
            accessor = target.index("POSITION", len(accessors), "accessor")
            moved = None if accessor is None else accessors.floats(accessor, "VEC3")
            if moved is not None and len(moved) != count:
                raise target.fail(STRUCT_SYNTAX, "POSITION", wanted=f"{count} elements", found=f"{len(moved)}")
            self._budget.charge(3 * count, target.path)
            targets.append(moved)
        return _Part(first, count, arrays, targets)

    def _triangles(self, primitive: Item, mode: int, count: int) -> Indices:
        accessor = primitive.index("indices", len(self._accessors), "accessor")
        if accessor is None:
            numbers: Indices = np.arange(count)
        else:
            numbers = self._accessors.integers(accessor, "SCALAR")[:, 0]
            if len(numbers) and int(numbers.max()) >= count:
                args = {"what": "corner", "item": int(np.argmax(numbers)), "kind": "vertex"}
                raise primitive.fail(LINK_INDEX_OUT_OF_RANGE, "indices", **args, index=int(numbers.max()), count=count)
        self._budget.charge(3 * len(numbers), primitive.at("indices"))
        if (mode == 4 and len(numbers) % 3) or (mode > 4 and len(numbers) < 3):
            args = {"wanted": "three corners for each face", "found": f"{len(numbers)} in all"}
            self._issues.add(STRUCT_SYNTAX, primitive.at("indices"), 0, severity=Severity.WARNING, **args)
        if mode == 4:
            return numbers[: len(numbers) // 3 * 3].reshape(-1, 3)
        first = np.arange(max(len(numbers) - 2, 0))
        if mode == 5:
            odd = first % 2
            return np.column_stack([numbers[first], numbers[first + 1 + odd], numbers[first + 2 - odd]])
        return np.column_stack([numbers[first + 1], numbers[first + 2], numbers[np.zeros_like(first)]])

    def _joined(self, item: Item, pieces: _Pieces, v_up: bool) -> Shape:
        parts, faces, owners = list(pieces.parts.values()), np.concatenate(pieces.faces), np.concatenate(pieces.owners)

        def column(name: str, width: int, filling: float = 0.0) -> Array | None:
            if not any(name in part.arrays for part in parts):
                return None
            rows = [part.arrays.get(name, np.full((part.count, width), filling)) for part in parts]
            return np.concatenate([each[:, :width] for each in rows])

        positions = column("POSITION", 3)
        assert positions is not None
        mesh = Mesh(self._issues.attempt(item.text, "name", "") or "", positions, faces)
        if (owners >= 0).any():
            mesh.face_materials = owners
        uv = column("TEXCOORD_0", 2)
        if uv is not None:
            mesh.uv = np.column_stack([uv[:, 0], 1.0 - uv[:, 1]]) if v_up else uv
        colors = column("COLOR_0", 3, 1.0)
        if colors is not None:
            mesh.colors = shown_color(colors)
        normals = column("NORMAL", 3)
        shape = Shape(mesh, normals=normals, weights=self._issues.attempt(item.numbers, "weights", None, ()) or ())
        for number in range(max(len(part.targets) for part in parts)):
            moved = [part.targets[number] if number < len(part.targets) else None for part in parts]
            rows = [np.zeros((part.count, 3)) if m is None else m for m, part in zip(moved, parts, strict=True)]
            self._budget.charge(3 * len(positions), item.path)
            shape.targets.append(np.concatenate(rows))
        shape.names = _target_names(item, len(shape.targets))
        sets = [number for number in range(MOST_SETS) if column(f"JOINTS_{number}", 4) is not None]
        joints = [column(f"JOINTS_{number}", 4) for number in sets]
        shares = [column(f"WEIGHTS_{number}", 4) for number in sets]
        if sets and all(each is not None for each in shares):
            shape.joints = np.concatenate(joints, axis=1).astype(np.int64)  # type: ignore[arg-type]
            shape.shares = np.concatenate(shares, axis=1).astype(np.float64)  # type: ignore[arg-type]
        return shape

    def _restore(self, mesh: Mesh, kept: Item) -> None:
        """What only a file of ours says; arrays of faces are in the order of the triangles."""
        unpacking.restore(mesh, kept, flags="casts_shadows receives_shadows dynamic")
        mesh.raw_name = unpacking.raw_name(kept)
        mesh.extras = unpacking.leftovers(kept)
        for name in ("smoothing", "edges"):
            masks = unpacking.array(kept, name, self._budget, kind=int)
            if masks is not None and masks.shape == (len(mesh.corners),):
                setattr(mesh, name, masks)
        axes = unpacking.array(kept, "axes", self._budget)
        mesh.axes = axes if axes is not None and axes.shape == (4, 4) else None
        sphere = kept.entries("bounding_sphere")
        if len(sphere) == 2 and isinstance(sphere[0], list) and isinstance(sphere[1], (int, float)):
            centre = unpacking.array(Item({"centre": sphere[0]}, kept.at("bounding_sphere")), "centre", self._budget)
            if centre is not None and centre.shape == (3,):
                mesh.bounding_sphere = (centre, float(sphere[1]))


def _target_names(item: Item, count: int) -> list[str]:
    extras = item.value.get("extras")
    found = extras.get("targetNames") if type(extras) is dict else None
    names = found if type(found) is list else []
    return [
        names[number] if number < len(names) and type(names[number]) is str else f"target {number}"
        for number in range(count)
    ]
