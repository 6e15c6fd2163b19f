"""Accessors: typed numbers in buffer views, interleaved, sparse and normalised ones too."""

from __future__ import annotations

from dataclasses import dataclass
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
from keyframer.exchange.gltf.reading.buffers import Buffers
from keyframer.exchange.gltf.reading.findings import Findings
from keyframer.exchange.gltf.reading.values import Item
from keyframer.limits import Budget

Array = npt.NDArray[Any]

_WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT4": 16}
_UNREAD = ("MAT2", "MAT3")
"""nothing that a scene holds is of these types"""
_KINDS = {5120: "<i1", 5121: "<u1", 5122: "<i2", 5123: "<u2", 5125: "<u4", 5126: "<f4"}


@dataclass(eq=False, slots=True)
class Elements:
    """Where each element of an accessor begins: in which buffer, at which byte of it; -1 for zeros of no place."""

    buffers: npt.NDArray[np.int64]
    starts: npt.NDArray[np.int64]
    size: int
    """bytes of an element"""


class Accessors:
    def __init__(self, root: Item, buffers: Buffers, budget: Budget, issues: Findings) -> None:
        self._items = root.children("accessors")
        self._buffers = buffers
        self._budget = budget
        self._issues = issues
        self._read: dict[int, Array] = {}
        self._converted: dict[tuple[int, str], Array] = {}
        """by what was asked for: whoever uses an accessor gets the same array"""

    def __len__(self) -> int:
        return len(self._items)

    def floats(self, number: int, *types: str) -> npt.NDArray[np.float32]:
        """(count, width) numbers; normalised integers become fractions."""
        item = self._items[number]
        stored = self._stored(number, item, types)
        if (number, "floats") not in self._converted:
            self._converted[number, "floats"] = self._as_floats(item, stored)
        return self._converted[number, "floats"]

    def _as_floats(self, item: Item, stored: Array) -> npt.NDArray[np.float32]:
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
        if (number, "integers") not in self._converted:
            self._converted[number, "integers"] = stored.astype(np.int64)
        return self._converted[number, "integers"]

    def supply(self, number: int, rows: Array) -> None:
        """The content of an accessor that was decompressed; the last one counts where several were."""
        item = self._items[number]
        self._budget.spend("copies", rows.size, item.at("count"))
        self._read[number] = rows.astype(self._dtype(item))
        for kind in ("floats", "integers"):
            self._converted.pop((number, kind), None)

    def has_bytes(self, number: int) -> bool:
        """Whether something stands in the file for it: without a view it is all zeros."""
        return self._items[number].has("bufferView") or self._items[number].has("sparse")

    def count(self, number: int) -> int:
        return self._items[number].integer("count", least=1)

    def run(self, number: int) -> tuple[int, int, int] | None:
        """The view, the first byte in it and how many there are, of an accessor that stands close: all three claims."""
        item = self._items[number]
        view = item.index("bufferView", self._buffers.view_count, "buffer view")
        size = _WIDTHS[item.choice("type", tuple(_WIDTHS))] * self._dtype(item).itemsize
        if view is None or item.has("sparse") or self._buffers.view(view)[1] not in (0, size):
            return None
        return view, item.integer("byteOffset", 0), item.integer("count", least=1) * size

    def where(self, number: int) -> Elements:
        """The places of all elements of an accessor that can be read."""
        item = self._items[number]
        size = _WIDTHS[item.choice("type", tuple(_WIDTHS))] * self._dtype(item).itemsize
        view = item.index("bufferView", self._buffers.view_count, "buffer view")
        count = item.integer("count", least=1)
        if view is None:
            self._budget.spend("copies", count, item.at("count"))
            found = Elements(np.full(count, -1), np.full(count, -1), size)
        else:
            count = len(self._stored(number, item, tuple(_WIDTHS)))  # no claim any more
            buffer, begin = self._buffers.place(view)
            step = self._buffers.view(view)[1] or size
            starts = begin + item.integer("byteOffset", 0) + np.arange(count) * step
            found = Elements(np.full(count, buffer), starts, size)
        sparse = item.child("sparse")
        if sparse is not None:
            places, values = self._sparse(sparse, count, size // self._dtype(item).itemsize, self._dtype(item))
            what = sparse.child("values")
            assert what is not None
            buffer, begin = self._buffers.place(what.integer("bufferView"))
            found.buffers[places] = buffer
            found.starts[places] = begin + what.integer("byteOffset", 0) + np.arange(len(values)) * size
        return found

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
            self._budget.spend("copies", count * width, item.at("count"))
            found: Array = np.zeros((count, width), dtype)
        else:
            found = self._elements(item, view, item.integer("byteOffset", 0), count, width, dtype, strided=True)
            self._budget.spend("copies", count * width, item.at("count"))
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
        places, values = self._sparse(sparse, len(base), base.shape[1], base.dtype)
        found = base.copy()
        found[places] = values
        return found

    def _sparse(
        self, sparse: Item, total: int, width: int, dtype: np.dtype[Any]
    ) -> tuple[npt.NDArray[np.int64], Array]:
        """Which elements are others than the view has, and these."""
        count = sparse.integer("count", least=1, most=total)
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
            count, width, dtype, strided=False,
        )  # fmt: skip
        if int(places.max()) >= total:
            args = {"what": "sparse index", "item": int(np.argmax(places)), "kind": "element"}
            raise where.fail(LINK_INDEX_OUT_OF_RANGE, "bufferView", **args, index=int(places.max()), count=total)
        return places, values
