"""Reads accessors, also interleaved, sparse and normalised ones, and finds their bytes in the file.

Meshes that are compressed with Draco (KHR_draco_mesh_compression) need the package DracoPy.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from keyframer.arrays import Array, Ints, Singles
from keyframer.catalogue import (
    DATA_NON_FINITE,
    LINK_INDEX_OUT_OF_RANGE,
    SEM_EXTENSION_UNKNOWN,
    SEM_UNKNOWN_ENUM,
    STRUCT_COUNT_EXCEEDS_DATA,
    STRUCT_SYNTAX,
)
from keyframer.exchange.gltf.read.container import DRACO, Buffers, advice, draco_is_installed
from keyframer.exchange.gltf.read.json_text import Findings, Item
from keyframer.limits import Budget
from keyframer.text import counted

_WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT4": 16}
_UNUSED_TYPES = ("MAT2", "MAT3")
"""element types that no part of a scene uses"""
_DTYPES = {5120: "<i1", 5121: "<u1", 5122: "<i2", 5123: "<u2", 5125: "<u4", 5126: "<f4"}


class Accessors:
    """The accessors of one file; each is read and checked once."""

    def __init__(self, root: Item, buffers: Buffers, budget: Budget, issues: Findings) -> None:
        self._items = root.children("accessors")
        self._buffers = buffers
        self._budget = budget
        self._issues = issues
        self._read: dict[int, Array] = {}
        self._converted: dict[tuple[int, str], Array] = {}
        """by accessor and conversion: all users of an accessor get the same array"""

    def __len__(self) -> int:
        return len(self._items)

    def floats(self, number: int, *types: str) -> Singles:
        """Return (count, width) numbers; normalised integers become fractions."""
        item = self._items[number]
        stored = self._stored(number, item, types)
        if (number, "floats") not in self._converted:
            self._converted[number, "floats"] = self._as_floats(item, stored)
        return self._converted[number, "floats"]

    def _as_floats(self, item: Item, stored: Array) -> Singles:
        if stored.dtype.kind == "f":
            non_finite = np.count_nonzero(~np.isfinite(stored))
            if non_finite:
                first = int(np.argmin(np.isfinite(stored).all(axis=1)))
                self._issues.add(DATA_NON_FINITE, item.path, 0, count=int(non_finite), index=first)
            return stored
        floats = stored.astype(np.float32)
        if item.flag("normalized"):
            floats = np.maximum(floats / np.float32(np.iinfo(stored.dtype).max), np.float32(-1.0))
        return floats

    def integers(self, number: int, *types: str) -> Ints:
        """Return (count, width) integers; the stored type must be unsigned."""
        item = self._items[number]
        stored = self._stored(number, item, types)
        if stored.dtype.kind != "u":
            raise item.fail(
                SEM_UNKNOWN_ENUM, "componentType", value=item.value["componentType"], known="5121 5123 5125"
            )
        if (number, "integers") not in self._converted:
            self._converted[number, "integers"] = stored.astype(np.int64)
        return self._converted[number, "integers"]

    def supply(self, number: int, rows: Array) -> None:
        """Set the content of an accessor that was decompressed; a later call replaces an earlier one."""
        item = self._items[number]
        self._budget.spend("copies", rows.size, item.at("count"))
        self._read[number] = rows.astype(self._dtype(item))
        for kind in ("floats", "integers"):
            self._converted.pop((number, kind), None)

    def has_bytes(self, number: int) -> bool:
        """Return whether the file stores the content of an accessor, which is otherwise decompressed or all zeros."""
        return self._items[number].has("bufferView") or self._items[number].has("sparse")

    def count(self, number: int) -> int:
        return self._items[number].integer("count", least=1)

    def _stored(self, number: int, item: Item, types: tuple[str, ...]) -> Array:
        kind = item.choice("type", (*_WIDTHS, *_UNUSED_TYPES))
        if kind not in types:
            raise item.fail(STRUCT_SYNTAX, "type", wanted=" or ".join(types), found=kind)
        if number not in self._read:
            self._read[number] = self._read_elements(item, _WIDTHS[kind])
        return self._read[number]

    def _read_elements(self, item: Item, width: int) -> Array:
        dtype = self._dtype(item)
        count = item.integer("count", least=1)
        view = item.index("bufferView", self._buffers.view_count, "buffer view")
        if view is None:
            self._budget.spend("copies", count * width, item.at("count"))
            array: Array = np.zeros((count, width), dtype)
        else:
            array = self._elements(item, view, item.integer("byteOffset", 0), count, width, dtype, strided=True)
            self._budget.spend("copies", count * width, item.at("count"))
        sparse = item.child("sparse")
        return array if sparse is None else self._with_sparse_values(array, sparse)

    def _dtype(self, item: Item) -> np.dtype[Any]:
        number = item.integer("componentType")
        if number not in _DTYPES:
            raise item.fail(SEM_UNKNOWN_ENUM, "componentType", value=number, known=" ".join(map(str, _DTYPES)))
        return np.dtype(_DTYPES[number])

    def _elements(
        self, item: Item, view: int, offset: int, count: int, width: int, dtype: np.dtype[Any], *, strided: bool
    ) -> Array:
        """Return elements as a read-only view of the bytes; raises `FormatError` if there are fewer than ``count``."""
        content, stride = self._buffers.view(view)
        size = width * dtype.itemsize
        step = stride if stride and strided else size
        left = len(content) - offset
        available = 0 if left < size else (left - size) // step + 1
        if step < size:
            raise item.fail(STRUCT_SYNTAX, "bufferView", wanted=f"a stride of at least {size}", found=f"{step}")
        if count > available:
            args = {"count": count, "size": step, "left": max(left, 0), "available": available}
            raise item.fail(STRUCT_COUNT_EXCEEDS_DATA, "count", **args)
        return np.ndarray((count, width), dtype, content, offset, (step, dtype.itemsize))

    def _with_sparse_values(self, base: Array, sparse: Item) -> Array:
        indices, values = self._sparse_elements(sparse, len(base), base.shape[1], base.dtype)
        array = base.copy()
        array[indices] = values
        return array

    def _sparse_elements(self, sparse: Item, total: int, width: int, dtype: np.dtype[Any]) -> tuple[Ints, Array]:
        """Return the indices and values of the elements that are replaced."""
        count = sparse.integer("count", least=1, most=total)
        indices, values_item = sparse.child("indices"), sparse.child("values")
        if indices is None or values_item is None:
            raise sparse.missing("indices" if indices is None else "values")
        views = self._buffers.view_count
        kind = self._dtype(indices)
        if kind.kind != "u":
            raise indices.fail(SEM_UNKNOWN_ENUM, "componentType", value=kind.name, known="unsigned integers")
        positions = self._elements(
            indices, indices.needed_index("bufferView", views, "buffer view"), indices.integer("byteOffset", 0),
            count, 1, kind, strided=False,
        )[:, 0].astype(np.int64)  # fmt: skip
        values = self._elements(
            values_item, values_item.needed_index("bufferView", views, "buffer view"),
            values_item.integer("byteOffset", 0), count, width, dtype, strided=False,
        )  # fmt: skip
        if int(positions.max()) >= total:
            args = {"what": "sparse index", "item": int(np.argmax(positions)), "kind": "element"}
            raise indices.fail(LINK_INDEX_OUT_OF_RANGE, "bufferView", **args, index=int(positions.max()), count=total)
        return positions, values


_NUMBERS_PER_COMPRESSED_BYTE = 64
"""budget of numbers for each compressed byte: a vertex takes one or two bytes"""


class DecompressedMesh(NamedTuple):
    """The decompressed mesh of one primitive."""

    triangles: Ints
    columns: dict[str, Array]
    """(V, k) values of each attribute"""


class DracoReader:
    """Decompresses Draco meshes, each buffer view once."""

    def __init__(self, buffers: Buffers, accessors: Accessors, budget: Budget) -> None:
        self._buffers = buffers
        self._accessors = accessors
        self._budget = budget
        self._decoded: dict[int, Any] = {}
        self._is_installed = draco_is_installed()

    def read(self, primitive: Item, attributes: Item) -> DecompressedMesh | None:
        """Return the decompressed mesh; None if the primitive is not compressed, or if the decoder is not installed and
        the vertices are also stored uncompressed.
        """
        extension = primitive.extension(DRACO)
        if extension is None:
            return None
        position = attributes.needed_index("POSITION", len(self._accessors), "accessor")
        if not self._is_installed:
            if self._accessors.has_bytes(position):
                return None
            raise primitive.fail(SEM_EXTENSION_UNKNOWN, "extensions", name=DRACO, effect=advice(DRACO))
        vertex_count = self._accessors.count(position)
        mesh = self._mesh(extension, vertex_count)
        attribute_ids = extension.child("attributes") or Item({}, extension.at("attributes"))
        columns: dict[str, Array] = {}
        for name in attribute_ids.value:
            attribute = mesh.get_attribute_by_unique_id(attribute_ids.integer(name))
            if attribute is None:
                raise attribute_ids.fail(STRUCT_SYNTAX, name, wanted="the id of an attribute", found="an unknown id")
            columns[name] = np.asarray(attribute["data"]).reshape(-1, attribute["num_components"])
            if len(columns[name]) != vertex_count:
                expected = f"{counted(vertex_count, 'vertex')}, as its accessor says"
                raise attribute_ids.fail(STRUCT_SYNTAX, name, wanted=expected, found=f"{len(columns[name])}")
        triangles = np.asarray(getattr(mesh, "faces", np.empty((0, 3))), np.int64).reshape(-1, 3)
        highest = int(triangles.max(initial=-1))
        if highest >= vertex_count:
            args = {"what": "corner", "item": int(np.argmax(triangles)), "kind": "vertex"}
            raise primitive.fail(LINK_INDEX_OUT_OF_RANGE, "extensions", **args, index=highest, count=vertex_count)
        return DecompressedMesh(triangles, columns)

    def _mesh(self, extension: Item, vertex_count: int) -> Any:
        view = extension.needed_index("bufferView", self._buffers.view_count, "buffer view")
        if view not in self._decoded:
            content = bytes(self._buffers.view(view)[0])
            self._budget.grant("copies", _NUMBERS_PER_COMPRESSED_BYTE * len(content))
            self._budget.spend("copies", 3 * vertex_count, extension.at("bufferView"), "compressed vertices")
            self._decoded[view] = self._decode(extension, content)
        return self._decoded[view]

    @staticmethod
    def _decode(extension: Item, content: bytes) -> Any:
        try:
            return import_module("DracoPy").decode(content)
        except Exception as error:  # its own exceptions for some errors, ValueError and RuntimeError for others
            problem = str(error) or type(error).__name__
            raise extension.fail(
                STRUCT_SYNTAX, "bufferView", wanted="a Draco mesh", found=f"an error ({problem[:80]})"
            ) from None
