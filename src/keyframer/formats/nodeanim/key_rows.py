"""The wire type of a table of keys, in any dialect.

A table with keys of one size is a view of the file. If only some keys have tension ... easeOut, one scan finds them,
and the bytes are copied to rows of equal size in one step.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from keyframer.arrays import Array
from keyframer.catalogue import STRUCT_COUNT_EXCEEDS_DATA, STRUCT_COUNT_NEGATIVE, STRUCT_TRUNCATED
from keyframer.formats.nodeanim.dialect import BEZIER, TCB, TCB_BYTES, Dialect
from keyframer.formats.nodeanim.keys import TCB_COLUMNS, TCB_OFFSET, NodeKeys, keys_from_json, keys_to_json, row_dtype
from keyframer.formats.nodeanim.trial_steps import tcb_marks
from keyframer.text import counted
from keyframer.wire.cursor import Cursor, frozen
from keyframer.wire.encoding_style import Style
from keyframer.wire.field_types import Kind
from keyframer.wire.sink import Sink

Table = Literal["translation", "rotation", "scale"]
TABLES: tuple[Table, ...] = ("translation", "rotation", "scale")


class KeyRows(Kind):
    """The keys of one table of a node; the field ``<table>_key_count`` before it has their number."""

    def __init__(self, table: Table, dialect: Dialect | None = None) -> None:
        self.table = table
        self.index = TABLES.index(table)
        self.width = 4 if table == "rotation" else 3
        self.field = self.counted_by = f"{table}_key_count"
        self.no_rows = frozen(np.zeros(0, row_dtype("<", self.width, False, False, False)))
        self.dialect = dialect or Dialect()
        self.type_name = (
            f"{self.counted_by} x (i32 flags, f32 time, f32 {', '.join(TCB_COLUMNS)} if TCB, {self.width} x f32 value)"
        )

    def adapted(self, style: Style) -> KeyRows:
        return KeyRows(self.table, style if isinstance(style, Dialect) else Dialect(style.big_endian, style.text))

    def default(self) -> NodeKeys:
        return NodeKeys(self.no_rows)

    def _layout(self, flags: int, tcb: bool) -> np.dtype[Any]:
        """Return the row type of a key in a node with these flags."""
        dialect = self.dialect
        bezier = bool(flags & BEZIER) and not flags & TCB
        tangents = dialect.bezier_tangents and bezier and self.table != "rotation"
        axis = dialect.scale_axis and self.table == "scale"
        return row_dtype(dialect.order, self.width, tcb, axis, tangents)

    def read(self, cursor: Cursor, record: Any, name: str) -> NodeKeys:
        if self.index == 0:
            self._check_counts(cursor, record)
        count: int = getattr(record, self.field)
        if count == 0:
            return NodeKeys(self.no_rows)
        if not self.dialect.tcb_by_key:
            return NodeKeys(cursor.array(self._layout(record.flags, bool(record.flags & TCB)), count, name))
        return self._read_marked(cursor, record, count, name)

    def _check_counts(self, cursor: Cursor, record: Any) -> None:
        """Check the counts of all three tables before the first is read; they are stored directly before it."""
        sizes = self.dialect.row_sizes(record.flags)
        counts = record.translation_key_count, record.rotation_key_count, record.scale_key_count
        total = counts[0] * sizes[0] + counts[1] * sizes[1] + counts[2] * sizes[2]
        if min(counts) >= 0 and total <= cursor.left:
            return
        total = 0
        for index, (table, size) in enumerate(zip(TABLES, sizes, strict=True)):
            field = f"{table}_key_count"
            count = getattr(record, field)
            at = cursor.pos - 4 * (len(TABLES) - index)
            if count < 0:
                cursor.fail(STRUCT_COUNT_NEGATIVE, field, at, count=count)
            left = cursor.left - total
            total += count * size
            if total > cursor.left:
                cursor.fail(
                    STRUCT_COUNT_EXCEEDS_DATA, field, at, count=count, size=size, left=left, available=left // size
                )

    def _read_marked(self, cursor: Cursor, record: Any, count: int, name: str) -> NodeKeys:
        """Read keys whose own flags declare whether they have tension ... easeOut."""
        without_tcb = self._layout(record.flags, False)
        low_byte = 3 if self.dialect.big_endian else 0
        marks, size = tcb_marks(cursor.data, cursor.pos, cursor.end, count, without_tcb.itemsize, low_byte)
        if size > cursor.left:
            cursor.fail(STRUCT_TRUNCATED, name, wanted=size, left=cursor.left)
        tcb_count = marks.count(TCB)
        if tcb_count in (0, count):
            return NodeKeys(cursor.array(self._layout(record.flags, tcb_count > 0), count, name))
        mask = np.frombuffer(marks, np.bool_)
        with_tcb = self._layout(record.flags, True)
        row_bytes = np.zeros((count, with_tcb.itemsize), np.uint8)
        row_bytes[_stored_bytes(mask, with_tcb)] = np.frombuffer(cursor.take(size, name), np.uint8)
        return NodeKeys(frozen(row_bytes.reshape(-1).view(with_tcb)), mask)

    def write(self, sink: Sink, value: NodeKeys, record: Any) -> None:
        if value.rows["value"].shape[1:] != (self.width,):
            raise ValueError(f"expected {counted(self.width, 'number')} per key, not {value.rows['value'].shape[1]}")
        if len(value) == 0:
            return
        if not self.dialect.tcb_by_key and value.rows.dtype == self._layout(record.flags, bool(record.flags & TCB)):
            sink.write_array(value.rows)
            return
        if self.dialect.tcb_by_key:
            mask = (np.asarray(value.flags) & TCB).astype(np.bool_)
        else:
            mask = np.full(len(value), bool(record.flags & TCB))
        layout = self._layout(record.flags, bool(mask.any()))
        rows = value.rows
        if rows.dtype != layout:
            rows = np.zeros(len(value), layout)
            self._copy(value, rows)
        if not mask.all():
            self._refuse_loss(value, mask)
        if mask.all() or not mask.any():
            sink.write_array(rows)
        else:
            row_bytes = np.ascontiguousarray(rows).view(np.uint8).reshape(len(rows), -1)
            sink.write_array(row_bytes[_stored_bytes(mask, layout)])

    def _copy(self, value: NodeKeys, rows: Array) -> None:
        """Copy the columns to rows of another layout; raises ValueError if an axis or tangents would be lost."""
        for name in value.rows.dtype.names or ():
            if name in (rows.dtype.names or ()):
                rows[name] = value.rows[name]
            elif name not in TCB_COLUMNS and value.rows[name].any():
                raise ValueError(f"{name} cannot be stored in this dialect ({self.dialect})")

    def _refuse_loss(self, value: NodeKeys, mask: Array) -> None:
        """Raise ValueError if a key outside the mask, which is written without tension ... easeOut, has such values."""
        for name in TCB_COLUMNS:
            if value.has(name) and value.rows[name][~mask].any():
                whose = "the keys' own flags" if self.dialect.tcb_by_key else "the node's flags"
                raise ValueError(f"{name} is stored only if bit 0 of {whose} is set")

    def to_json(self, value: NodeKeys) -> object:
        return keys_to_json(value)

    def from_json(self, value: object) -> NodeKeys:
        return keys_from_json(value, self.width)


def _stored_bytes(mask: Array, with_tcb: np.dtype[Any]) -> Array:
    """Return which bytes of rows are in the file: all but tension ... easeOut of the keys outside the mask."""
    stored = np.ones((len(mask), with_tcb.itemsize), np.bool_)
    stored[~mask, TCB_OFFSET : TCB_OFFSET + TCB_BYTES] = False
    return stored
