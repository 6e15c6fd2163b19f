"""Tables of a model: their counts stand together at the head of the mesh, before the name of the material."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from keyframer.wire.cursor import Cursor, frozen
from keyframer.wire.field_types import Linked, declare
from keyframer.wire.lossless_json import array_from_json, array_to_json

_NAMES = {"<f4": "f32", "<u4": "u32", "<i4": "i32"}


class CountedAhead(Linked):
    """An array whose count stands ``count_at`` bytes into the record, so that a failure can point at it."""

    def __init__(self, dtype: npt.DTypeLike, count: str, count_at: int) -> None:
        super().__init__(dtype, count)
        self.count_at = count_at

    def read(self, cursor: Cursor, record: Any, name: str) -> npt.NDArray[Any]:
        count = self.count_in(record)
        cursor.need_entries(count, self.dtype.itemsize, name, (record.offset or 0) + self.count_at)
        return cursor.array(self.dtype, count, name)


class Table(CountedAhead):
    """Rows of named columns as one structured array; in text, one object a row."""

    def __init__(self, dtype: npt.DTypeLike, count: str, count_at: int) -> None:
        super().__init__(dtype, count, count_at)
        columns = []
        for name in self.dtype.names or ():
            column = self.dtype[name]
            times = f"{column.shape[0]} x " if column.shape else ""
            columns.append(f"{times}{_NAMES[column.base.str]} {name}")
        self.entry_name = ", ".join(columns)
        self.type_name = f"{count} x ({self.entry_name})"

    def checked(self, value: Any) -> npt.NDArray[Any]:
        array = np.asarray(value)
        if array.dtype != self.dtype or array.ndim != 1:
            raise ValueError(f"rows of ({self.entry_name}) are wanted")
        return array

    def to_json(self, value: Any) -> object:
        names = self.dtype.names or ()
        columns = [array_to_json(value[name]) for name in names]
        return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]

    def from_json(self, value: object) -> npt.NDArray[Any]:
        names = self.dtype.names or ()
        if not isinstance(value, list):
            raise ValueError("a list of rows is wanted")
        for index, row in enumerate(value):
            if not isinstance(row, dict) or set(row) != set(names):
                raise ValueError(f"row {index}: an object with {', '.join(names)} is wanted")
        rows = np.empty(len(value), self.dtype)
        for name in names:
            column = self.dtype[name]
            width = column.shape[0] if column.shape else None
            try:
                rows[name] = array_from_json([row[name] for row in value], column.base, width)
            except ValueError as error:
                raise ValueError(f"{name}: {error}") from None
        return frozen(rows)


def table(dtype: npt.DTypeLike, count: str, count_at: int, words: str) -> Any:
    return declare(Table(dtype, count, count_at), words)


def triple_table(count: str, count_at: int, words: str) -> Any:
    return declare(CountedAhead(("<u4", (3,)), count, count_at), words)
