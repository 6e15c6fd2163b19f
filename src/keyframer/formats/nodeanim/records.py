"""The chunks, nodes and keys of node animation files, in the order and the terms of the specification.

Keys that were read are views of the file. If only some keys of a table have tension … easeOut, one scan finds them,
and the bytes are copied to rows of equal size in one step.
"""

from __future__ import annotations

from functools import cache
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from keyframer.arrays import Array
from keyframer.catalogue import STRUCT_COUNT_NEGATIVE
from keyframer.formats.nodeanim.dialect import Dialect
from keyframer.text import counted
from keyframer.wire.array_conversion import checked_cast
from keyframer.wire.cursor import Cursor, frozen
from keyframer.wire.encoding_style import Style
from keyframer.wire.field_types import Kind, blob, declare, i16, i32, strz
from keyframer.wire.lossless_json import array_from_json, array_to_json
from keyframer.wire.reader_source import Source
from keyframer.wire.record import Raw, Record, record
from keyframer.wire.sink import Sink

TCB, BEZIER, LINEAR = 1, 2, 4
"""types of interpolation in the flags of a node; TCB overrides BEZIER, which overrides LINEAR"""
TCB_COLUMNS = ("tension", "continuity", "bias", "ease_in", "ease_out")
"""columns that only TCB keys have"""
_TCB_BYTES = slice(8, 28)
"""their bytes in a key: after flags and time"""
_COLUMNS = ("flags", "time", *TCB_COLUMNS, "value")


@cache
def _row_type(order: str, width: int, tcb: bool) -> np.dtype[Any]:
    """Return the row type of a key in the file."""
    real = order + "f4"
    columns = [(name, real) for name in TCB_COLUMNS] if tcb else []
    return np.dtype([("flags", order + "i4"), ("time", real), *columns, ("value", real, (width,))])


class NodeKeys:
    """Keys as columns of equal length: ``keys.flags``, ``keys.time``, ``keys.value``, and the `TCB_COLUMNS`.

    A value is three numbers; for rotations four: angle, axis. Columns that are not stored are 0. ``rows`` is one
    structured array of all columns, read-only. ``has_tcb`` says which keys of the file have the `TCB_COLUMNS` if only
    some have them; None if all or none have them. Use `replace` for edits.
    """

    __slots__ = ("has_tcb", "rows")

    def __init__(self, rows: Array, has_tcb: Array | None = None) -> None:
        self.rows = rows
        self.has_tcb = has_tcb

    @staticmethod
    def make(time: npt.ArrayLike, value: npt.ArrayLike, **columns: npt.ArrayLike) -> NodeKeys:
        """Make keys: ``NodeKeys.make([0, 1], [[0, 0, 0], [1, 2, 3]], tension=[0.5, 0])``.

        Other columns: ``flags`` and those in `TCB_COLUMNS`; one of the latter adds the others as zeros.
        """
        unknown = set(columns) - set(_COLUMNS)
        if unknown:
            raise ValueError(f"keys have no column {min(unknown)!r}")
        arrays = {"time": np.atleast_1d(np.asarray(time)), "value": np.atleast_2d(np.asarray(value))}
        arrays |= {name: np.asarray(column) for name, column in columns.items()}
        tcb = any(name in arrays for name in TCB_COLUMNS)
        rows = np.zeros(len(arrays["time"]), _row_type("<", arrays["value"].shape[-1], tcb))
        for name, array in arrays.items():
            if array.shape not in (rows[name].shape, ()):
                raise ValueError(f"{name}: expected an array of shape {rows[name].shape}, not {array.shape}")
            rows[name] = checked_cast(array, rows[name].dtype)
        return NodeKeys(frozen(rows))

    def __len__(self) -> int:
        return len(self.rows)

    def __getattr__(self, name: str) -> Array:
        if name not in _COLUMNS:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return self.column(name)

    def has(self, name: str) -> bool:
        """Return whether this column is stored, at least for some keys."""
        return name in (self.rows.dtype.names or ())

    def column(self, name: str) -> Array:
        """Return a column by name; zeros if it is one of `TCB_COLUMNS` and not stored."""
        if self.has(name):
            stored: Array = self.rows[name]
            return stored
        if name not in TCB_COLUMNS:
            raise KeyError(name)
        return frozen(np.zeros(len(self), np.float32))

    def columns(self) -> dict[str, Array]:
        """Return every stored column by its name."""
        return {name: self.rows[name] for name in self.rows.dtype.names or ()}

    def replace(self, **columns: npt.ArrayLike) -> NodeKeys:
        """Return a copy with some columns changed."""
        return NodeKeys.make(**{**self.columns(), **columns})

    def __repr__(self) -> str:
        span = f", {self.time[0]}..{self.time[-1]}" if len(self) else ""
        return f"<{counted(len(self), 'key')}{span}>"


class KeyRows(Kind):
    """The keys of one table of a node; the field ``<table>_key_count`` before it has their number."""

    def __init__(self, table: Literal["translation", "rotation", "scale"], dialect: Dialect | None = None) -> None:
        self.table = table
        self.dialect = dialect or Dialect()
        self.width = 4 if table == "rotation" else 3
        self.count_field = self.counted_by = f"{table}_key_count"
        self.plain, self.full = (_row_type(self.dialect.order, self.width, tcb) for tcb in (False, True))
        self.no_keys = NodeKeys(frozen(np.zeros(0, _row_type("<", self.width, False))))
        columns = ", ".join(TCB_COLUMNS)
        self.type_name = f"{self.count_field} x (i32 flags, f32 time, f32 {columns} if TCB, {self.width} x f32 value)"

    def adapted(self, style: Style) -> KeyRows:
        return KeyRows(self.table, style if isinstance(style, Dialect) else Dialect(style.big_endian, style.text))

    def default(self) -> NodeKeys:
        return self.no_keys

    def generate_read(self, source: Source, name: str) -> None:
        source.call(name, self._read, "record", repr(name), source.count_offsets[self.count_field])

    def _read(self, cursor: Cursor, record: Any, name: str, count_offset: int) -> NodeKeys:
        count: int = getattr(record, self.count_field)
        if count == 0:
            return self.no_keys
        if count < 0:
            cursor.fail(STRUCT_COUNT_NEGATIVE, self.count_field, count_offset, count=count)
        row_type = self.full if record.flags & TCB and not self.dialect.tcb_by_key else self.plain
        cursor.need_entries(count, row_type.itemsize, self.count_field, count_offset)
        if self.dialect.tcb_by_key:
            return self._read_marked(cursor, count, name)
        return NodeKeys(cursor.array(row_type, count, name))

    def _read_marked(self, cursor: Cursor, count: int, name: str) -> NodeKeys:
        """Read keys whose own flags say whether they have tension … easeOut."""
        marks, at = bytearray(), cursor.pos + (3 if self.dialect.big_endian else 0)  # the low byte of the flags
        sizes = self.plain.itemsize, self.full.itemsize
        for _ in range(count):
            if at >= cursor.end:
                break
            mark = cursor.data[at] & TCB
            marks.append(mark)
            at += sizes[mark]
        tcb_count = marks.count(TCB)
        size = (count - tcb_count) * sizes[0] + tcb_count * sizes[1]
        cursor.need(size, name)
        if tcb_count in (0, count):
            return NodeKeys(cursor.array(self.full if tcb_count else self.plain, count, name))
        tcb = np.frombuffer(bytes(marks), np.bool_)
        row_bytes = np.zeros((count, self.full.itemsize), np.uint8)
        row_bytes[self._stored_bytes(tcb)] = np.frombuffer(cursor.take(size, name), np.uint8)
        return NodeKeys(frozen(row_bytes.reshape(-1).view(self.full)), tcb)

    def _stored_bytes(self, tcb: Array) -> Array:
        """Return which bytes of full rows are in the file: all but tension … easeOut of keys without TCB."""
        stored = np.ones((len(tcb), self.full.itemsize), np.bool_)
        stored[~tcb, _TCB_BYTES] = False
        return stored

    def write(self, sink: Sink, value: NodeKeys, record: Any) -> None:
        if value.value.shape[1:] != (self.width,):
            raise ValueError(f"expected {counted(self.width, 'number')} per key, not {value.value.shape[1]}")
        by_key = self.dialect.tcb_by_key
        tcb = np.asarray(value.flags if by_key else np.full(len(value), record.flags)) & TCB == TCB
        row_type = self.full if tcb.any() else self.plain
        rows = value.rows
        if rows.dtype != row_type:
            rows = np.zeros(len(value), row_type)
            for name, column in value.columns().items():
                if name in (row_type.names or ()):
                    rows[name] = column
        for name in TCB_COLUMNS:
            if value.has(name) and value.column(name)[~tcb].any():
                whose = "the keys' own flags" if by_key else "the node's flags"
                raise ValueError(f"{name} is stored only if bit 0 of {whose} is set")
        if tcb.any() and not tcb.all():
            rows = np.ascontiguousarray(rows).view(np.uint8).reshape(len(rows), -1)[self._stored_bytes(tcb)]
        sink.write_array(rows)

    def to_json(self, value: NodeKeys) -> object:
        """Return one JSON object for each key, with the columns that it stores."""
        columns = {name: array_to_json(column) for name, column in value.columns().items()}
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        if value.has_tcb is not None:
            for index in np.flatnonzero(~value.has_tcb).tolist():
                for name in TCB_COLUMNS:
                    del rows[index][name]
        return rows

    def from_json(self, value: object) -> NodeKeys:
        if not isinstance(value, list) or not all(isinstance(row, dict) for row in value):
            raise ValueError("expected a list of keys")
        tcb = np.array([not row.keys().isdisjoint(TCB_COLUMNS) for row in value], np.bool_)
        for index, row in enumerate(value):
            for name in sorted(set(row) ^ set(_COLUMNS if tcb[index] else ("flags", "time", "value"))):
                raise ValueError(f"key {index}: {'unknown' if name in row else 'missing'} {name!r}")
        rows = np.zeros(len(value), _row_type("<", self.width, bool(tcb.any())))
        for name in rows.dtype.names or ():
            width = self.width if name == "value" else None
            try:
                rows[name] = array_from_json([row.get(name, 0) for row in value], rows[name].dtype, width)
            except ValueError as error:
                raise ValueError(f"{name}: {error}") from None
        return NodeKeys(frozen(rows), None if tcb.all() or not tcb.any() else frozen(tcb))


@record(kw_only=True)
class Chunk(Record):
    """A top-level part of the file; the dialect decides the layout of its header, if any."""

    ID: ClassVar[int] = 0

    claimed: tuple[int, int] | None = None
    """The stored size, and the actual size with header, if the file ends inside the chunk.

    The stored size is written again if the chunk has the same size as before.
    """

    @property
    def id(self) -> int:
        return self.ID


@record
class Header(Chunk):
    """Chunk 1: header."""

    ID: ClassVar[int] = 1

    flags: int = i32("reserved, 0")
    name: bytes = strz("name of the animation")
    author: bytes = strz("animation's author and (C)")
    node_count: int = i16("number of animated nodes")


@record
class Animations(Chunk):
    """Chunk 2: animations. The nodes are its children; its tail has the bytes that could not be read as nodes."""

    ID: ClassVar[int] = 2

    nodes_read: int | None = None
    """Number of nodes when the file was read. If it has not changed, chunk 1 keeps its count."""


@record
class Node(Record):
    """A node (bone) with its keys."""

    repeats: ClassVar[bool] = True
    segment = "nodes"

    name: bytes = strz("name of the bone")
    flags: int = i32("type of interpolation: BEZIER = 2, TCB = 1, LINEAR = 4", default=LINEAR)
    translation_key_count: int = i32("number of translation keys")
    rotation_key_count: int = i32("number of rotation keys")
    scale_key_count: int = i32("number of scale keys")
    translation_keys: NodeKeys = declare(KeyRows("translation"), "keys: TX, TY, TZ")
    rotation_keys: NodeKeys = declare(KeyRows("rotation"), "keys: angle, AxisX, AxisY, AxisZ")
    scale_keys: NodeKeys = declare(KeyRows("scale"), "keys: SX, SY, SZ")


@record
class RawChunk(Raw, Chunk):
    """A chunk kept as bytes: with an unknown id, or with unreadable content."""

    chunk_id: int = 0
    data: bytes = blob("everything after the header")
    reason: str = ""
    """code of the issue that gives the cause"""

    @property
    def id(self) -> int:
        return self.chunk_id

    @property
    def segment(self) -> str:
        return segment_of(self.chunk_id)


def segment_of(chunk_id: int) -> str:
    """Return the name of a chunk in paths."""
    known = {Header.ID: "header", Animations.ID: "animations"}
    return known.get(chunk_id, f"chunk_{chunk_id}")
