"""Floats that keep every bit, as plain numbers where possible, and tables of floats as one view.

`struct` turns a signalling NaN into a quiet one, numpy does not. A field of few floats is therefore a plain tuple (or
number) if that writes back the same bytes, and a read-only numpy array (or scalar) otherwise.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import numpy.typing as npt

from keyframer.arrays import Array
from keyframer.text import counted
from keyframer.wire.cursor import Cursor, frozen
from keyframer.wire.field_types import Kind, declare
from keyframer.wire.lossless_json import array_from_json, array_to_json
from keyframer.wire.reader_source import Source
from keyframer.wire.sink import Sink

_FLOAT = np.dtype("<f4")


class ExactFloats(Kind):
    """A tuple of ``count`` float32 numbers; one number if ``count`` is None."""

    def __init__(self, count: int | None = None) -> None:
        self.count = count
        self.layout = struct.Struct(f"<{count or 1}f")
        self.minimum = self.layout.size
        self.type_name = "f32" if count is None else f"{count} x f32"

    def default(self) -> Any:
        return 0.0 if self.count is None else (0.0,) * self.count

    def generate_read(self, source: Source, name: str) -> None:
        source.unpack(self.layout, name)
        source.add("total = sum(values)")
        source.add(f"if total != total: values = {source.name(self._exact)}(data[pos - {self.minimum} : pos])")
        source.set(name, "values[0]" if self.count is None else "values")

    def _exact(self, data: bytes) -> Any:
        """Return the values of these bytes: a tuple if it writes back the same bytes, else an array."""
        values = self.layout.unpack(data)
        return values if self.layout.pack(*values) == data else np.frombuffer(data, _FLOAT)

    def write(self, sink: Sink, value: Any, record: Any) -> None:
        if isinstance(value, (np.ndarray, np.float32)):
            sink.write_array(self._check_length(np.atleast_1d(np.asarray(value, _FLOAT))))
        elif self.count is None:
            sink.write(self._pack(value))
        else:
            sink.write(self._pack(*self._check_length(value)))

    def _pack(self, *values: float) -> bytes:
        try:
            return self.layout.pack(*values)
        except OverflowError as error:
            raise ValueError(str(error)) from None

    def _check_length(self, values: Any) -> Any:
        """Return the values; raises ValueError if their number is wrong."""
        if len(values) != (self.count or 1):
            raise ValueError(f"expected {counted(self.count or 1, 'number')}, not {len(values)}")
        return values

    def to_json(self, value: Any) -> object:
        numbers = array_to_json(np.atleast_1d(np.asarray(value, _FLOAT)))
        return numbers[0] if self.count is None else numbers

    def from_json(self, value: object) -> Any:
        if self.count is not None and (not isinstance(value, list) or len(value) != self.count):
            raise ValueError(f"expected a list of {counted(self.count, 'number')}")
        exact = array_from_json([value] if self.count is None else value, _FLOAT, None)
        values = self._exact(exact.tobytes())
        return values[0] if self.count is None else values


class FloatRows(Kind):
    """A table of float32, ``(rows, columns)``, as one view of the file.

    The file stores neither number with the table: ``record.row_shape`` has both, computed from other fields or records.
    """

    type_name = "rows x columns x f32"

    def default(self) -> Array:
        return frozen(np.empty((0, 0), _FLOAT))

    def read(self, cursor: Cursor, record: Any, name: str) -> Array:
        rows, columns = record.row_shape
        if rows == 0 or columns == 0:
            return frozen(np.empty((rows, columns), _FLOAT))
        cursor.need_entries(rows, 4 * columns, name)
        view = np.ndarray((rows, columns), _FLOAT, cursor.data, cursor.pos)
        cursor.pos += view.nbytes
        return view

    def write(self, sink: Sink, value: Any, record: Any) -> None:
        sink.write_array(as_rows(value))

    def to_json(self, value: Any) -> object:
        return array_to_json(as_rows(value))

    def from_json(self, value: object) -> Array:
        columns = len(value[0]) if isinstance(value, list) and value and isinstance(value[0], list) else 0
        return frozen(array_from_json(value, _FLOAT, columns))


def as_rows(value: npt.ArrayLike) -> Array:
    """Return the value as a table of float32; raises ValueError unless it has two dimensions."""
    array = np.asarray(value, _FLOAT)
    if array.ndim != 2:
        raise ValueError(f"expected a table (rows, columns), not an array of shape {array.shape}")
    return array


def exact_floats(description: str, count: int | None = None, *, default: Any = None) -> Any:
    return declare(ExactFloats(count), description, default)


def float_rows(description: str) -> Any:
    return declare(FloatRows(), description)
