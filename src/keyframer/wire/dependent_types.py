"""Wire types that decide the layout of later fields, or depend on earlier fields of their record."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from keyframer.arrays import Array
from keyframer.catalogue import SEM_UNKNOWN_ENUM, STRUCT_COUNT_EXCEEDS_DATA, STRUCT_COUNT_NEGATIVE
from keyframer.issues import IssueType
from keyframer.wire.cursor import Cursor
from keyframer.wire.field_types import (
    Kind,
    LinkedArray,
    Numbers,
    declare,
    generate_key_rows,
    keys_from_json,
    keys_to_json,
)
from keyframer.wire.key_table import KeyLayout, Keys, no_keys, write_keys
from keyframer.wire.reader_source import Source
from keyframer.wire.sink import Sink


class Choice(Kind):
    """An integer that decides the layout of the following data, which cannot be read after an unknown value."""

    def __init__(self, code: str, values: Mapping[int, str], unknown_issue: IssueType = SEM_UNKNOWN_ENUM) -> None:
        self.number = Numbers(code)
        self.values = dict(values)
        self.unknown_issue = unknown_issue
        self.minimum = self.number.minimum
        self.type_name = self.number.type_name
        self.known = ", ".join(f"{value} {meaning}" for value, meaning in self.values.items())

    def default(self) -> int:
        return next(iter(self.values))

    def generate_read(self, source: Source, name: str) -> None:
        self.number.generate_read(source, name)
        value, offset = f"record.{name}", f"pos - {self.minimum}"
        unknown = f"{value} not in {source.name(self.values)}"
        source.refuse(unknown, self.unknown_issue, name, offset, value=value, known=repr(self.known))

    def write(self, sink: Sink, value: int, record: Any) -> None:
        self.number.write(sink, self._checked(value), record)

    def to_json(self, value: int) -> object:
        return value

    def from_json(self, value: object) -> int:
        return self._checked(self.number.from_json(value))

    def _checked(self, value: int) -> int:
        if value not in self.values:
            raise ValueError(f"expected one of {self.known}, not {value}")
        return value


class ArrayOfCounts(LinkedArray):
    """An array of counts; their sum is the number of later entries of ``entry_size`` bytes."""

    def __init__(self, dtype: npt.DTypeLike, count: str | Callable[[Any], int], entry_size: int) -> None:
        super().__init__(dtype, count)
        self.entry_size = entry_size

    def generate_read(self, source: Source, name: str) -> None:
        super().generate_read(source, name)
        source.call(name, self._checked_counts, f"record.{name}", repr(name))

    def _checked_counts(self, cursor: Cursor, counts: Array, name: str) -> Array:
        """Return the counts before the cursor, if they are valid."""
        start = cursor.pos - counts.nbytes
        if len(counts) == 0:
            return counts
        negative = np.flatnonzero(counts < 0)
        if len(negative):
            first = int(negative[0])
            at = start + first * self.dtype.itemsize
            cursor.fail(STRUCT_COUNT_NEGATIVE, f"{name}[{first}]", at, count=int(counts[first]))
        totals = np.cumsum(counts, dtype=np.int64)
        available = cursor.left // self.entry_size
        if totals[-1] > available:
            first = int(np.searchsorted(totals, available, side="right"))
            at = start + first * self.dtype.itemsize
            cursor.fail(
                STRUCT_COUNT_EXCEEDS_DATA,
                f"{name}[{first}]",
                at,
                count=int(totals[first]),
                size=self.entry_size,
                left=cursor.left,
                available=available,
            )
        return counts


class LinkedKeys(Kind):
    """Keys whose count is in an earlier field and whose layout depends on the record."""

    def __init__(self, layout: Callable[[Any], KeyLayout], count: str, type_name: str) -> None:
        self.layout = layout
        self.counted_by = count
        self.type_name = f"{count} x ({type_name})"
        self.empty = KeyLayout(0)

    def default(self) -> Keys:
        return no_keys(self.empty)

    def generate_read(self, source: Source, name: str) -> None:
        offset = source.count_offsets[self.counted_by or ""]
        source.add(f"layout, count, count_at = {source.name(self.layout)}(record), record.{self.counted_by}, {offset}")
        source.refuse("count < 0", STRUCT_COUNT_NEGATIVE, name, "count_at", count="count")
        generate_key_rows(source, name)

    def write(self, sink: Sink, value: Keys, record: Any) -> None:
        if len(value):
            write_keys(sink, self.layout(record), value)

    def dump(self, value: Keys, record: Any) -> object:
        return keys_to_json(value, self.layout(record))

    def restore(self, value: object, record: Any) -> Keys:
        return keys_from_json(value, self.layout(record))


def choice(
    code: str,
    values: Mapping[int, str],
    description: str,
    *,
    unknown_issue: IssueType = SEM_UNKNOWN_ENUM,
    when: Any = None,
) -> Any:
    """Declare an integer with the meaning of each known value; other values are reported as ``unknown_issue``."""
    kind = Choice(code, values, unknown_issue)
    return declare(kind, f"{description}: {kind.known}", when=when)


def array_of_counts(
    dtype: npt.DTypeLike, count: str | Callable[[Any], int], entry_size: int, description: str, *, when: Any = None
) -> Any:
    return declare(ArrayOfCounts(dtype, count, entry_size), description, when=when)


def linked_keys(
    layout: Callable[[Any], KeyLayout], count: str, type_name: str, description: str, *, when: Any = None
) -> Any:
    return declare(LinkedKeys(layout, count, type_name), description, when=when)
