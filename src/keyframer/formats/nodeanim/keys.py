"""The keys of a node as columns.

A table that was read is a view of the file. If only some of its keys have the columns of TCB keys, it is a copy with
rows of equal size.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from keyframer.arrays import Array
from keyframer.text import counted
from keyframer.wire.array_conversion import checked_cast
from keyframer.wire.cursor import frozen
from keyframer.wire.lossless_json import array_from_json, array_to_json

TCB_COLUMNS = ("tension", "continuity", "bias", "ease_in", "ease_out")
"""columns that only TCB keys have"""
TCB_OFFSET = 8
"""byte offset of these columns in a key: after flags and time"""


@cache
def row_dtype(order: str, width: int, tcb: bool, axis: bool, tangents: bool) -> np.dtype[Any]:
    """Return the row type of a key in the file.

    Axis and tangents are assumed after the value: their position is not documented.
    """
    real = order + "f4"
    fields: list[Any] = [("flags", order + "i4"), ("time", real)]
    fields += [(name, real) for name in TCB_COLUMNS] if tcb else []
    fields += [("value", real, (width,))]
    fields += [("axis", real, (4,))] if axis else []
    fields += [("tangents", real, (6,))] if tangents else []
    return np.dtype(fields)


class NodeKeys:
    """Keys as columns of equal length: ``keys.time``, ``keys.value``, ``keys.tension`` ...

    ``rows`` is one structured array of all columns, read-only. ``has_tcb`` says which keys have
    the `TCB_COLUMNS` if only some have them; None if all or none have them. Use `replace` for edits.
    """

    __slots__ = ("has_tcb", "rows")

    def __init__(self, rows: Array, has_tcb: Array | None = None) -> None:
        self.rows = rows
        self.has_tcb = has_tcb

    @staticmethod
    def make(time: npt.ArrayLike, value: npt.ArrayLike, **columns: npt.ArrayLike) -> NodeKeys:
        """Make keys: ``NodeKeys.make([0, 1], [[0, 0, 0], [1, 2, 3]], tension=[0.5, 0])``.

        Other columns: ``flags``, those in `TCB_COLUMNS`, ``axis`` (four numbers for each key), ``tangents`` (six).
        """
        times = np.atleast_1d(np.asarray(time))
        values = np.atleast_2d(np.asarray(value))
        return NodeKeys(_fill(len(times), {"time": times, "value": values, **columns}))

    def __len__(self) -> int:
        return len(self.rows)

    def has(self, name: str) -> bool:
        """Return whether this column is stored, at least for some keys."""
        return name in (self.rows.dtype.names or ())

    def column(self, name: str) -> Array:
        """Return a column by name; zeros if an optional one is not stored."""
        if self.has(name):
            column_values: Array = self.rows[name]
            return column_values
        width = {"axis": 4, "tangents": 6}.get(name)
        if width is None and name not in TCB_COLUMNS:
            raise KeyError(name)
        return frozen(np.zeros(len(self) if width is None else (len(self), width), np.float32))

    @property
    def flags(self) -> Array:
        return self.column("flags")

    @property
    def time(self) -> Array:
        return self.column("time")

    @property
    def value(self) -> Array:
        """Return three numbers for each key; for rotations four: angle, axis."""
        return self.column("value")

    @property
    def tension(self) -> Array:
        return self.column("tension")

    @property
    def continuity(self) -> Array:
        return self.column("continuity")

    @property
    def bias(self) -> Array:
        return self.column("bias")

    @property
    def ease_in(self) -> Array:
        return self.column("ease_in")

    @property
    def ease_out(self) -> Array:
        return self.column("ease_out")

    def replace(self, **columns: npt.ArrayLike | None) -> NodeKeys:
        """Return a copy with some columns changed; None removes an optional column.

        A single one of `TCB_COLUMNS` cannot be removed: None sets it to 0.
        """
        unchanged = {name: self.rows[name] for name in self.rows.dtype.names or () if name not in columns}
        changed = {name: column for name, column in columns.items() if column is not None}
        merged: dict[str, npt.ArrayLike] = {**unchanged, **changed}
        length = len(np.atleast_1d(np.asarray(merged.get("time", self.time))))
        same_tcb = length == len(self) and not any(name in TCB_COLUMNS for name in columns)
        return NodeKeys(_fill(length, merged), self.has_tcb if same_tcb else None)

    def columns(self) -> dict[str, Array]:
        """Return every stored column by its name."""
        return {name: self.rows[name] for name in self.rows.dtype.names or ()}

    def with_columns(self, columns: Mapping[str, Array]) -> NodeKeys:
        """Return keys made of these columns alone."""
        return NodeKeys(_fill(len(columns["time"]), dict(columns)))

    def __repr__(self) -> str:
        span = f", {self.time[0]}..{self.time[-1]}" if len(self) else ""
        return f"<{counted(len(self), 'key')}{span}>"


def _fill(count: int, columns: dict[str, npt.ArrayLike]) -> Array:
    """Return rows with these columns (if one of `TCB_COLUMNS` is given, all five)."""
    unknown = set(columns) - {"flags", "time", "value", "axis", "tangents", *TCB_COLUMNS}
    if unknown:
        raise ValueError(f"keys have no column {min(unknown)!r}")
    width = np.asarray(columns["value"]).shape[-1]
    tcb = any(name in columns for name in TCB_COLUMNS)
    rows = np.zeros(count, row_dtype("<", width, tcb, "axis" in columns, "tangents" in columns))
    for name, column in columns.items():
        array = np.asarray(column)
        field = rows[name]
        if array.shape not in (field.shape, ()):
            raise ValueError(f"{name}: expected an array of shape {field.shape}, not {array.shape}")
        field[...] = checked_cast(array, field.dtype)
    return frozen(rows)


def keys_to_json(keys: NodeKeys) -> list[dict[str, object]]:
    """Return one JSON object for each key, with the columns that it stores."""
    names = keys.rows.dtype.names or ()
    columns = [array_to_json(keys.rows[name]) for name in names]
    rows = [dict(zip(names, cells, strict=True)) for cells in zip(*columns, strict=True)]
    if keys.has_tcb is not None:
        for index in np.flatnonzero(~keys.has_tcb).tolist():
            for name in TCB_COLUMNS:
                del rows[index][name]
    return rows


def keys_from_json(value: object, width: int) -> NodeKeys:
    """Return the keys that `keys_to_json` wrote; raises ValueError if they are invalid."""
    if not isinstance(value, list) or not all(isinstance(row, dict) for row in value):
        raise ValueError("expected a list of keys")
    names = {name for row in value for name in row}
    tcb = any(name in names for name in TCB_COLUMNS)
    rows = np.zeros(len(value), row_dtype("<", width, tcb, "axis" in names, "tangents" in names))
    column_names = rows.dtype.names or ()
    mask = np.array([any(name in row for name in TCB_COLUMNS) for row in value], np.bool_)
    for index, row in enumerate(value):
        expected = {name for name in column_names if mask[index] or name not in TCB_COLUMNS}
        if set(row) != expected:
            wrong = min(set(row) ^ expected)
            raise ValueError(f"key {index}: {'unknown' if wrong in row else 'missing'} {wrong!r}")
    for name in column_names:
        cells = [row.get(name, 0) for row in value]
        base = rows[name].dtype
        row_width = rows[name].shape[1] if rows[name].ndim == 2 else None
        try:
            rows[name] = array_from_json(cells, base, row_width)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
    return NodeKeys(frozen(rows), None if mask.all() or not mask.any() else frozen(mask))
