"""Skins: joints, bind matrices, and the influences that the vertices of a mesh name."""

from __future__ import annotations

import numpy as np

from keyframer.catalogue import LINK_INDEX_OUT_OF_RANGE, STRUCT_SYNTAX
from keyframer.exchange.gltf.axes import Axes
from keyframer.exchange.gltf.reading import unpacking
from keyframer.exchange.gltf.reading.accessors import Accessors
from keyframer.exchange.gltf.reading.hierarchy import Hierarchy
from keyframer.exchange.gltf.reading.values import Item
from keyframer.exchange.gltf.reading.welding import Shape
from keyframer.limits import Budget
from keyframer.scene import Skin


class SkinReader:
    """A skin of the file becomes one of the scene for every mesh that it moves."""

    def __init__(self, root: Item, accessors: Accessors, hierarchy: Hierarchy, axes: Axes, budget: Budget) -> None:
        self.items = root.children("skins")
        self.skins: list[Skin] = []
        self._accessors = accessors
        self._hierarchy = hierarchy
        self._axes = axes
        self._budget = budget
        self._made: dict[tuple[int, int], int | None] = {}

    def read(self, number: int, mesh: int, shape: Shape) -> int | None:
        """The number of the skin in the scene; None where the mesh has no influences."""
        key = (number, mesh)
        if key not in self._made:
            self._made[key] = self._skin(number, mesh, shape)
        return self._made[key]

    def _skin(self, number: int, mesh: int, shape: Shape) -> int | None:
        item = self.items[number]
        joints = self._hierarchy.joints[number]
        if not joints:
            raise item.missing("joints")
        if shape.joints is None or shape.shares is None:
            return None
        self._budget.spend("copies", 4 * shape.joints.size + 16 * len(joints), item.path)
        matrices = self._matrices(item, len(joints))
        weights = np.where(np.isfinite(shape.shares), shape.shares, 0.0)
        vertex, column = np.nonzero(weights > 0)
        influence = shape.joints[vertex, column]
        if len(influence) and int(influence.max()) >= len(joints):
            args = {"what": "vertex", "item": int(vertex[np.argmax(influence)]), "kind": "joint"}
            where = f"/meshes[{mesh}]/primitives"
            raise LINK_INDEX_OUT_OF_RANGE.failure(0, where, **args, index=int(influence.max()), count=len(joints))
        kept = [place for place, joint in enumerate(joints) if joint not in self._hierarchy.roots]
        if len(kept) < len(joints):  # ours, that holds the vertices which nothing moves
            new = np.full(len(joints), -1)
            new[kept] = np.arange(len(kept))
            moved = new[influence] >= 0
            vertex, column, influence = vertex[moved], column[moved], new[influence[moved]]
        places = [self._hierarchy.place(joints[place]) for place in kept]
        assert None not in places, "joints and what they hang on are always shown"
        skin = Skin(
            item.text("name", ""),
            [place for place in places if place is not None],
            self._axes.matrices(matrices[kept]),
            vertex,
            influence,
            weights[vertex, column],
        )
        skin.extras = unpacking.leftovers(item.kept)
        self.skins.append(skin)
        return len(self.skins) - 1

    def _matrices(self, item: Item, joints: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
        accessor = item.index("inverseBindMatrices", len(self._accessors), "accessor")
        if accessor is None:
            return np.broadcast_to(np.eye(4), (joints, 4, 4)).copy()
        found = self._accessors.floats(accessor, "MAT4")
        if len(found) < joints:
            raise item.fail(STRUCT_SYNTAX, "inverseBindMatrices", wanted=f"{joints} matrices", found=f"{len(found)}")
        columns = found[:joints].astype(np.float64).reshape(-1, 4, 4)
        return np.ascontiguousarray(np.swapaxes(columns, -1, -2))
