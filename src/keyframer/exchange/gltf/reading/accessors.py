"""Accessors: typed numbers in buffer views, interleaved, sparse and normalised ones too."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from keyframer.catalogue import (
    DATA_NON_FINITE,
    LINK_INDEX_OUT_OF_RANGE,
    SEM_UNKNOWN_ENUM,
    STRUCT_COUNT_EXCEEDS_DATA,
    STRUCT_SYNTAX,
)
from keyframer.exchange.gltf.reading.buffers import Budget, Buffers
from keyframer.exchange.gltf.reading.findings import Findings
from keyframer.exchange.gltf.reading.values import Item

Array = npt.NDArray[Any]

_WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT4": 16}
_UNREAD = ("MAT2", "MAT3")
"""nothing that a scene holds is of these types"""
_KINDS = {5120: "<i1", 5121: "<u1", 5122: "<i2", 5123: "<u2", 5125: "<u4", 5126: "<f4"}


class Accessors:
    def __init__(self, root: Item, buffers: Buffers, budget: Budget, issues: Findings) -> None:
        self._items = root.children("accessors")
        self._buffers = buffers
        self._budget = budget
        self._issues = issues
        self._read: dict[int, Array] = {}

    def __len__(self) -> int:
        return len(self._items)

    def floats(self, number: int, *types: str) -> npt.NDArray[np.float32]:
        """(count, width) numbers; normalised integers become fractions."""
        item = self._items[number]
        stored = self._stored(number, item, types)
        if stored.dtype.kind == "f":
            bad = np.count_nonzero(~np.isfinite(stored))
            if bad:
                first = int(np.argmin(np.isfinite(stored).all(axis=1)))
                self._issues.add(DATA_NON_FINITE, item.path, 0, count=int(bad), index=first)
            return stored
        found = stored.astype(np.float32)
        if item.flag("normalized"):
            found = np.maximum(found / np.float32(np.iinfo(stored.dtype).max), np.float32(-1.0))
        return found

    def integers(self, number: int, *types: str) -> npt.NDArray[np.int64]:
        item = self._items[number]
        stored = self._stored(number, item, types)
        if stored.dtype.kind != "u":
            raise item.fail(
                SEM_UNKNOWN_ENUM, "componentType", value=item.value["componentType"], known="5121 5123 5125"
            )
        return stored.astype(np.int64)

    def has_bytes(self, number: int) -> bool:
        """Whether something stands in the file for it: without a view it is all zeros."""
        return self._items[number].has("bufferView") or self._items[number].has("sparse")

    def count(self, number: int) -> int:
        return self._items[number].integer("count", least=1)

    def _stored(self, number: int, item: Item, types: tuple[str, ...]) -> Array:
        kind = item.choice("type", (*_WIDTHS, *_UNREAD))
        if kind not in types:
            raise item.fail(STRUCT_SYNTAX, "type", wanted=" or ".join(types), found=kind)
        if number not in self._read:
            self._read[number] = self._make(item, _WIDTHS[kind])
        return self._read[number]

    def _make(self, item: Item, width: int) -> Array:
        dtype = self._dtype(item)
        count = item.integer("count", least=1)
        view = item.index("bufferView", self._buffers.view_count, "buffer view")
        if view is None:
            self._budget.charge(count * width, item.at("count"))
            found: Array = np.zeros((count, width), dtype)
        else:
            found = self._elements(item, view, item.integer("byteOffset", 0), count, width, dtype, strided=True)
            self._budget.charge(count * width, item.at("count"))
        sparse = item.child("sparse")
        return found if sparse is None else self._replaced(found, sparse)

    def _dtype(self, item: Item) -> np.dtype[Any]:
        number = item.integer("componentType")
        if number not in _KINDS:
            raise item.fail(SEM_UNKNOWN_ENUM, "componentType", value=number, known=" ".join(map(str, _KINDS)))
        return np.dtype(_KINDS[number])

    def _elements(
        self, item: Item, view: int, offset: int, count: int, width: int, dtype: np.dtype[Any], *, strided: bool
    ) -> Array:
        """A read-only view of the bytes; ``count`` is a claim until here."""
        content, stride = self._buffers.view(view)
        size = width * dtype.itemsize
        step = stride if stride and strided else size
        left = len(content) - offset
        room = 0 if left < size else (left - size) // step + 1
        if step < size:
            raise item.fail(STRUCT_SYNTAX, "bufferView", wanted=f"a stride of at least {size}", found=f"{step}")
        if count > room:
            args = {"count": count, "size": step, "left": max(left, 0), "available": room}
            raise item.fail(STRUCT_COUNT_EXCEEDS_DATA, "count", **args)
        return np.ndarray((count, width), dtype, content, offset, (step, dtype.itemsize))

    def _replaced(self, base: Array, sparse: Item) -> Array:
        count = sparse.integer("count", least=1, most=len(base))
        where, what = sparse.child("indices"), sparse.child("values")
        if where is None or what is None:
            raise sparse.missing("indices" if where is None else "values")
        views = self._buffers.view_count
        kind = self._dtype(where)
        if kind.kind != "u":
            raise where.fail(SEM_UNKNOWN_ENUM, "componentType", value=kind.name, known="unsigned integers")
        places = self._elements(
            where, where.needed_index("bufferView", views, "buffer view"), where.integer("byteOffset", 0),
            count, 1, kind, strided=False,
        )[:, 0].astype(np.int64)  # fmt: skip
        values = self._elements(
            what, what.needed_index("bufferView", views, "buffer view"), what.integer("byteOffset", 0),
            count, base.shape[1], base.dtype, strided=False,
        )  # fmt: skip
        if int(places.max()) >= len(base):
            args = {"what": "sparse index", "item": int(np.argmax(places)), "kind": "element"}
            raise where.fail(LINK_INDEX_OUT_OF_RANGE, "bufferView", **args, index=int(places.max()), count=len(base))
        found = base.copy()
        found[places] = values
        return found
