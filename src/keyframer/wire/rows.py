"""Tables whose columns depend on the record: which columns there are, and how many numbers each has.

A table is one view of the file. With named columns, it is a numpy array with a field for each column that is present.
With a single column without a name, it is an array ``(rows, width)``.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from keyframer.catalogue import STRUCT_COUNT_EXCEEDS_DATA, STRUCT_COUNT_NEGATIVE
from keyframer.wire.cursor import Cursor, frozen
from keyframer.wire.encoding_style import Style
from keyframer.wire.field_types import Expression, Kind, checked_cast, declare
from keyframer.wire.lossless_json import array_from_json, array_to_json
from keyframer.wire.sink import Sink

_WIDEST = 1 << 16
"""bytes of a row that may be declared without a row that proves them"""


class Column(NamedTuple):
    """A column of a table; ``width`` and ``when`` are the text of an `Expression` on earlier fields of the record."""

    name: str
    dtype: str
    """numpy's code of the numbers: ``<f4``"""
    width: str = ""
    """how many numbers a row has; empty for one, which is not in a list"""
    when: str = ""
    """condition; without it the column is always present"""


class Rows(Kind):
    """Rows of these columns: as many as ``count`` says (an `Expression`), or else all whole rows up to the end."""

    def __init__(self, columns: tuple[Column, ...], count: str = "") -> None:
        self.columns = columns
        self.count = count
        self._count = Expression(count) if count else None
        self._columns = [
            (
                column,
                Expression(column.width) if column.width else None,
                Expression(column.when) if column.when else None,
            )
            for column in columns
        ]
        names = [f"{column.name} ({column.when})" if column.when else column.name for column in columns]
        self.type_name = f"rows of {', '.join(names)}" if any(names) else "rows x columns x f32"

    def adapted(self, style: Style) -> Rows:
        columns = (column._replace(dtype=style.order + column.dtype.lstrip("<")) for column in self.columns)
        return Rows(tuple(columns), self.count)

    def layout(self, record: Any) -> tuple[tuple[str, str, int | None], ...]:
        """Return name, numpy's code and width (None for a single number) of the columns that a record has."""
        return tuple(
            (column.name, column.dtype, None if width is None else int(width(record)))
            for column, width, when in self._columns
            if when is None or when(record)
        )

    def default(self) -> npt.NDArray[Any]:
        return frozen(np.empty(0 if self.columns[0].name else (0, 0), self.columns[0].dtype))

    def read(self, cursor: Cursor, record: Any, name: str) -> npt.NDArray[Any]:
        layout = self.layout(record)
        widths = [1 if width is None else width for _, _, width in layout]
        if min(widths) < 0:
            cursor.fail(STRUCT_COUNT_NEGATIVE, name, count=min(widths))
        size = sum(np.dtype(code).itemsize * width for (_, code, _), width in zip(layout, widths, strict=True))
        if self._count is not None:
            count = int(self._count(record))
            cursor.need_entries(count, size, name)
        else:
            count = cursor.left // size if size else 0
        shape: tuple[int, ...] = (count,)
        if not self.columns[0].name:
            dtype, shape = np.dtype(layout[0][1]), (count, widths[0])
        else:
            if size > max(cursor.left, _WIDEST):
                cursor.fail(STRUCT_COUNT_EXCEEDS_DATA, name, count=1, size=size, left=cursor.left, available=0)
            dtype = _dtype(layout)
        if not count or not size:
            return frozen(np.empty(shape, dtype))
        view = np.frombuffer(cursor.data, dtype, math.prod(shape), cursor.pos).reshape(shape)
        cursor.pos += view.nbytes
        return view

    def write(self, sink: Sink, value: Any, record: Any) -> None:
        sink.write_array(self.checked(value, record))

    def checked(self, value: Any, record: Any) -> npt.NDArray[Any]:
        """Return the value as a table of the columns that the record has; raises ValueError if it does not fit."""
        array = np.asarray(value)
        if not self.columns[0].name:
            return as_rows(array)
        dtype = _dtype(self.layout(record))
        if not array.size:
            return np.empty(0, dtype)
        if array.dtype != dtype:
            raise ValueError(f"expected rows of ({', '.join(dtype.names or ())})")
        return array

    def dump(self, value: Any, record: Any) -> object:
        return array_to_json(self.checked(value, record))

    def restore(self, value: object, record: Any) -> npt.NDArray[Any]:
        if self.columns[0].name:
            return frozen(array_from_json(value, _dtype(self.layout(record)), None))
        columns = len(value[0]) if isinstance(value, list) and value and isinstance(value[0], list) else 0
        return frozen(array_from_json(value, np.dtype(self.columns[0].dtype), columns))

    def make(self, record: Any, **columns: npt.ArrayLike) -> npt.NDArray[Any]:
        """Return a table for a record, whose other fields are set, from the values of its columns."""
        layout = self.layout(record)
        if set(columns) != {name for name, _, _ in layout}:
            raise ValueError(f"expected the columns {', '.join(name for name, _, _ in layout)}")
        dtype = _dtype(layout)
        rows = np.zeros(len(np.asarray(columns[layout[0][0]])), dtype)
        for name, values in columns.items():
            rows[name] = checked_cast(np.asarray(values), dtype[name].base)
        return frozen(rows)


@lru_cache(256)
def _dtype(layout: tuple[tuple[str, str, int | None], ...]) -> np.dtype[Any]:
    return np.dtype([(name, code) if width is None else (name, code, (width,)) for name, code, width in layout])


def as_rows(value: npt.ArrayLike) -> npt.NDArray[Any]:
    """Return the value as a table of float32; raises ValueError unless it has two dimensions."""
    array = np.asarray(value, "<f4")
    if array.ndim != 2:
        raise ValueError(f"expected a table (rows, columns), not an array of shape {array.shape}")
    return array


def rows(columns: tuple[Column, ...], description: str, *, count: str = "") -> Any:
    """Declare a table whose columns depend on the record."""
    return declare(Rows(columns, count), description)


def float_rows(description: str) -> Any:
    """Declare a table of float32 whose shape, ``record.row_shape``, other fields or records say."""
    return declare(Rows((Column("", "<f4", "row_shape[1]"),), "row_shape[0]"), description)
