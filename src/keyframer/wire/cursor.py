"""A bounded window on a buffer: every read is checked, and every failure has a location."""

from __future__ import annotations

import struct
from functools import cache
from typing import Any, NoReturn

import numpy as np

from keyframer.arrays import Array
from keyframer.catalogue import (
    LIMIT_DEPTH,
    LIMIT_NAME,
    STRUCT_COUNT_EXCEEDS_DATA,
    STRUCT_STRING_UNTERMINATED,
    STRUCT_TRUNCATED,
)
from keyframer.issues import IssueType
from keyframer.limits import DEFAULT_LIMITS, Limits


class Place:
    """The location of a reader as a chain to the root; converted to text like ``/4d4d/b000/b002[3]`` only when
    needed."""

    __slots__ = ("index", "name", "parent")

    def __init__(self, name: str = "", parent: Place | None = None, index: int | None = None) -> None:
        self.name = name
        self.parent = parent
        self.index = index

    def child(self, name: str, index: int | None = None) -> Place:
        """Return the place of a part inside this one."""
        return Place(name, self, index)

    def __str__(self) -> str:
        names: list[str] = []
        place: Place | None = self
        while place is not None and place.parent is not None:
            names.append(place.name if place.index is None else f"{place.name}[{place.index}]")
            place = place.parent
        return "/" + "/".join(reversed(names))


class Cursor:
    """A position in ``data`` that never moves past ``end``.

    ``data`` is one immutable buffer, so arrays can be views of it. Counts from the file are Python integers and are
    compared with the remaining bytes before anything is allocated.
    """

    __slots__ = ("data", "depth", "end", "limits", "place", "pos")

    def __init__(
        self,
        data: bytes,
        pos: int = 0,
        end: int | None = None,
        place: Place | None = None,
        limits: Limits = DEFAULT_LIMITS,
        depth: int = 0,
    ) -> None:
        self.data = data
        self.pos = pos
        self.end = len(data) if end is None else end
        self.place = Place() if place is None else place
        self.limits = limits
        self.depth = depth

    @property
    def left(self) -> int:
        return self.end - self.pos

    def window(self, size: int, place: Place) -> Cursor:
        """Return a cursor over the next ``size`` bytes, one level deeper; this cursor moves past them."""
        if self.depth >= self.limits.depth:
            raise LIMIT_DEPTH.failure(self.pos, str(place), limit=self.limits.depth)
        if size > self.end - self.pos:
            self.fail(STRUCT_TRUNCATED, wanted=size, left=self.left)
        window = Cursor(self.data, self.pos, self.pos + size, place, self.limits, self.depth + 1)
        self.pos += size
        return window

    def need(self, size: int, field: str = "") -> None:
        """Raise `FormatError` unless ``size`` bytes remain."""
        if size > self.end - self.pos:
            self.fail(STRUCT_TRUNCATED, field, wanted=size, left=self.left)

    def need_entries(self, count: int, size: int, field: str = "", offset: int | None = None) -> None:
        """Raise `FormatError` if ``count`` entries of at least ``size`` bytes do not fit into the remaining bytes."""
        if count * size > self.end - self.pos:
            self.fail(
                STRUCT_COUNT_EXCEEDS_DATA,
                field,
                offset,
                count=count,
                size=size,
                left=self.left,
                available=self.left // size,
            )

    def take(self, size: int, field: str = "") -> bytes:
        self.need(size, field)
        start = self.pos
        self.pos = start + size
        return self.data[start : self.pos]

    def take_rest(self) -> bytes:
        return self.take(self.end - self.pos)

    def unpack(self, layout: struct.Struct, field: str = "") -> tuple[Any, ...]:
        if layout.size > self.end - self.pos:
            self.fail(STRUCT_TRUNCATED, field, wanted=layout.size, left=self.left)
        values = layout.unpack_from(self.data, self.pos)
        self.pos += layout.size
        return values

    def strz(self, field: str = "") -> bytes:
        """Return 8-bit text up to its NUL, which must be inside this window, and not longer than the limit of names."""
        stop = self.data.find(b"\0", self.pos, self.end)
        if stop < 0:
            self.fail(STRUCT_STRING_UNTERMINATED, field, left=self.left)
        if stop - self.pos > self.limits.name:
            self.fail(LIMIT_NAME, field, size=stop - self.pos, limit=self.limits.name)
        text = self.data[self.pos : stop]
        self.pos = stop + 1
        return text

    def array(self, dtype: np.dtype[Any], count: int, field: str = "") -> Array:
        """Return ``count`` entries as a read-only view of the buffer."""
        self.need_entries(count, dtype.itemsize, field)
        if count == 0:
            return no_entries(dtype)
        view = np.frombuffer(self.data, dtype, count, self.pos)
        self.pos += count * dtype.itemsize
        return view

    def fail(self, kind: IssueType, field: str = "", offset: int | None = None, **args: object) -> NoReturn:
        """Raise `FormatError` with its location; ``field`` may itself be a path like ``keys[3]/flags``."""
        path = str(self.place)
        if field:
            path = f"{path.rstrip('/')}/{field}"
        raise kind.failure(self.pos if offset is None else offset, path, **args)


def frozen(array: Array) -> Array:
    """Make an array read-only and return it. To edit a record, assign a new array."""
    array.flags.writeable = False
    return array


@cache
def no_entries(dtype: np.dtype[Any]) -> Array:
    """Return the empty array of a type: one shared object, because a hostile file may have a million empty arrays."""
    return frozen(np.empty((0, *dtype.shape), dtype.base))
