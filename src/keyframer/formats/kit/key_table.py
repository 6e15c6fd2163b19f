"""Tables of animation keys: rows with named columns, as one structured array.

`KeyLayout` has the columns of a row in the order of the file. Some of them are optional: bits in the flags of a row say
which it stores. Nearly every real table has rows of one shape: it is then one view of the file. Otherwise one scan
finds the rows, and their bytes are copied to rows of equal size in one step.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, ClassVar, NoReturn, Self

import numpy as np
import numpy.typing as npt

from keyframer.arrays import Array, Flags, Ints
from keyframer.catalogue import STRUCT_COUNT_NEGATIVE, STRUCT_TRUNCATED
from keyframer.text import ascii_to_bytes, bytes_to_ascii, counted
from keyframer.wire.cursor import Cursor, frozen, no_entries
from keyframer.wire.field_types import Expression, checked_cast, declare
from keyframer.wire.lossless_json import array_from_json, array_to_json, integer_from_json
from keyframer.wire.reader_source import Source
from keyframer.wire.sink import Sink
from keyframer.wire.structure import Cases, DescribedKind, Part, Structure, number_type

EXTRAS = ("tension", "continuity", "bias", "ease_to", "ease_from")
"""the optional columns of most formats, in the order of their flag bits, which is also their order in the file"""
EXTRA_BITS = {name: 1 << number for number, name in enumerate(EXTRAS)}


@cache
def _row_dtype(columns: tuple[tuple[str, str, tuple[int, ...]], ...]) -> np.dtype[Any]:
    """Return the type of rows; one object for all layouts, so that equal ones are the same."""
    return np.dtype(list(columns))


@dataclass(frozen=True)
class KeyLayout:
    """The columns of a row: their order, their types, and which are optional."""

    width: int | None
    """numbers in the value; None: the value is a NUL-terminated text at the end of the row"""
    order: tuple[str, ...] = ("time", "flags", "extras", "value")
    """columns in the order of the file; flags come before extras, or are missing"""
    time: str = "i4"
    flags: str = "u2"
    extras: tuple[tuple[str, int], ...] = tuple(EXTRA_BITS.items())
    """further floats: name, and the bit of the flags (1 to 128) that says whether a row stores it, 0 if all do"""
    byte_order: str = "<"
    time_name: str = "frame"
    """the name of the time in the text form"""

    @cached_property
    def mask(self) -> int:
        """All bits of optional columns."""
        return sum({bit for _, bit in self.extras}) if "flags" in self.order else 0

    @cached_property
    def dtypes(self) -> RowTypes:
        return RowTypes(self)

    @cached_property
    def row_sizes(self) -> list[int]:
        """Size of a row in bytes, without text, by the low byte of the flags."""
        return [self.dtypes[byte].itemsize for byte in range(256)]

    @cached_property
    def flags_at(self) -> int:
        """Offset of the low byte of the flags in a row."""
        fields: Any = self.dtypes[0].fields
        dtype, at = fields["flags"]
        return int(at) + (dtype.itemsize - 1 if self.byte_order == ">" else 0)

    @cached_property
    def smallest_size(self) -> int:
        """Smallest size of a row in bytes: without optional columns, with an empty text."""
        return self.dtypes[0].itemsize + (self.width is None)

    def shown_names(self, bits: int) -> dict[str, str]:
        """Return the columns of a row with these flag bits, and their names in the text form; the value is last."""
        names = [name for name in self.dtypes[bits].names or () if name != "value"]
        if self.width != 0:
            names.append("value")
        return {name: self.time_name if name == "time" else name for name in names}

    def bits(self, keys: Keys) -> Ints:
        """Return the flag bits of each row that select optional columns."""
        return np.asarray(keys.flags, np.int64) & self.mask

    def stored_bytes(self, bits: Array, dtype: np.dtype[Any]) -> Flags:
        """Return (rows, size) which bytes of rows of this type are in the file."""
        stored, fields = np.ones((len(bits), dtype.itemsize), np.bool_), dict(dtype.fields or {})
        for name, bit in self.extras:
            if name in fields:
                column, at = fields[name][:2]
                stored[bits & bit != bit, at : at + column.itemsize] = False
        return stored

    def structure(self, name: str) -> Structure:
        """Return the structure of a row, for descriptions."""
        parts: list[Part] = []
        for column in self.order:
            if column == "extras":
                parts += [Part(extra, "f4", when=f"(flags & {bit}) != 0" if bit else "") for extra, bit in self.extras]
            elif column == "value":
                if self.width != 0:
                    parts.append(Part("value", "text" if self.width is None else "f4", count=str(self.width or "")))
            else:
                code = self.time if column == "time" else self.flags
                parts.append(Part(column, number_type(np.dtype(code))))
        return Structure(name, tuple(parts))


class LayoutBy:
    """The layout of the keys of a record, selected by a number that depends on its fields (see `Expression`)."""

    def __init__(self, selector: str, layouts: Mapping[int, KeyLayout]) -> None:
        self.selector = Expression(selector)
        self.layouts = layouts

    def __call__(self, record: Any) -> KeyLayout:
        return self.layouts[self.selector(record)]


class RowTypes(dict[int, np.dtype[Any]]):
    """The types of rows by the low byte of the flags, made when they are first needed."""

    def __init__(self, layout: KeyLayout) -> None:
        self._layout = layout

    def __missing__(self, byte: int) -> np.dtype[Any]:
        layout, bits = self._layout, byte & self._layout.mask
        columns: list[tuple[str, str, tuple[int, ...]]] = []
        for part in layout.order:
            if part == "extras":
                columns += [(name, "f4", ()) for name, bit in layout.extras if bits & bit == bit]
            elif part == "value":
                columns += [("value", "f4", (layout.width,))] if layout.width else []
            else:
                columns.append((part, layout.time if part == "time" else layout.flags, ()))
        ordered = tuple((name, layout.byte_order + code, shape) for name, code, shape in columns)
        self[byte] = _row_dtype(ordered)
        return self[byte]


class Keys:
    """The keys of one track as columns of equal length: ``keys.time``, ``keys.flags``, ``keys.value`` …

    ``rows`` is one structured array of the stored columns, read-only; columns that are not stored are 0. Only optional
    columns that the flags of a key select are written; `make` and `replace` select those that are not 0.
    """

    __slots__ = ("rows", "text")

    TYPES: ClassVar[Mapping[str, str]] = {"time": "<i4", "flags": "<u2", **dict.fromkeys(EXTRAS, "<f4"), "value": "<f4"}
    """all columns, with their types in keys that are not from a file"""
    BITS: ClassVar[Mapping[str, int]] = EXTRA_BITS
    """the flag bits that `make` and `replace` set"""

    def __init__(self, rows: Array, text: tuple[bytes, ...] = ()) -> None:
        self.rows = rows
        self.text = text

    @classmethod
    def make(
        cls,
        time: npt.ArrayLike,
        value: npt.ArrayLike = (),
        *,
        text: tuple[bytes, ...] = (),
        flags: npt.ArrayLike = 0,
        **extras: npt.ArrayLike,
    ) -> Self:
        """Create keys: ``Keys.make([0, 10], [[0, 0, 0], [1, 2, 3]], tension=[0.5, 0])``.

        A single number stands for a whole column. Raises ValueError for an unknown column, or one that does not fit.
        """
        unknown = set(extras) - set(cls.TYPES)
        if unknown:
            raise ValueError(f"keys have no column {min(unknown)!r}")
        times, values = np.atleast_1d(np.asarray(time)), np.asarray(value, np.float32)
        if values.ndim != 2:
            values = values.reshape(len(times), -1 if values.size else 0)
        columns = {
            name: _checked_column(name, column, times.shape, cls.TYPES[name])
            for name, column in {"time": times, "flags": flags, **extras}.items()
        }
        for name, bit in cls.BITS.items():
            if name in columns:
                columns["flags"] = columns["flags"] | np.where(columns[name] != 0, bit, 0)
        selected = int(np.bitwise_or.reduce(columns["flags"]))
        stored: list[tuple[str, str, tuple[int, ...]]] = [
            (name, code, ())
            for name, code in cls.TYPES.items()
            if (selected & cls.BITS[name] if name in cls.BITS else name in columns)
        ]
        if values.shape[1]:
            stored.append(("value", cls.TYPES["value"], values.shape[1:]))
            columns["value"] = _checked_column("value", values, (len(times), values.shape[1]), "<f4")
        rows = np.zeros(len(times), _row_dtype(tuple(stored)))
        for name, column in columns.items():
            if name in (rows.dtype.names or ()):
                rows[name] = column
        return cls(frozen(rows), text)

    def replace(self, **columns: Any) -> Self:
        """Return a copy with some columns changed, as `make` takes them."""
        return self.make(**{**self.columns(), "value": self.value, "text": self.text, **columns})

    def __len__(self) -> int:
        return len(self.rows)

    def __getattr__(self, name: str) -> Array:
        if name not in self.TYPES:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return self.column(name)

    def has(self, name: str) -> bool:
        """Return whether this column is stored, at least for some keys."""
        return name in (self.rows.dtype.names or ())

    def column(self, name: str) -> Array:
        """Return a column by name; zeros if it is not stored."""
        if self.has(name):
            stored: Array = self.rows[name]
            return stored
        return frozen(np.zeros((len(self), 0) if name == "value" else len(self), self.TYPES[name]))

    @property
    def extras(self) -> Array | None:
        """(keys, 5) the columns `EXTRAS`, 0 where one is not stored; None if none of them is."""
        if not any(self.has(name) for name in EXTRAS):
            return None
        columns = np.zeros((len(self), len(EXTRAS)), np.float32)
        for number, name in enumerate(EXTRAS):
            if self.has(name):
                columns[:, number] = self.rows[name]
        return frozen(columns)

    def columns(self) -> dict[str, Any]:
        """Return every stored column by its name; and the text, if there is any."""
        stored: dict[str, Any] = {name: self.rows[name] for name in self.rows.dtype.names or ()}
        return {**stored, "text": self.text} if self.text else stored

    def __repr__(self) -> str:
        span = f", {self.time[0]}..{self.time[-1]}" if len(self) else ""
        return f"<{counted(len(self), 'key')}{span}>"


def _checked_column(name: str, values: npt.ArrayLike, shape: tuple[int, ...], dtype: npt.DTypeLike) -> Array:
    """Return a column with this shape and type, from values or from a single number; raises ValueError if they do not
    fit."""
    array = np.asarray(values)
    if array.shape not in (shape, ()):
        raise ValueError(f"{name}: expected an array of shape {shape}, not {array.shape}")
    try:
        return np.broadcast_to(checked_cast(array, np.dtype(dtype)), shape)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def read_keys(
    cursor: Cursor,
    layout: KeyLayout,
    count: int,
    field: str,
    count_field: str,
    count_at: int,
    cls: type[Keys] = Keys,
) -> Keys:
    """Read ``count`` rows; the count, which is stored at ``count_at``, is checked before anything is allocated."""
    cursor.need_entries(count, layout.smallest_size, count_field, count_at)
    if count == 0:
        return cls(no_entries(layout.dtypes[0]))
    if layout.width is None:
        return _read_text_rows(cursor, layout, count, field, cls)
    data, pos, dtype = cursor.data, cursor.pos, layout.dtypes[0]
    if layout.mask:
        first = data[pos + layout.flags_at]
        dtype = layout.dtypes[first]
        size = count * dtype.itemsize
        if size > cursor.end - pos:
            return _read_mixed_rows(cursor, layout, count, field, cls)
        if count > 1:
            column = data[pos + layout.flags_at : pos + size : dtype.itemsize]
            if column.count(first) != count and any((byte ^ first) & layout.mask for byte in set(column)):
                return _read_mixed_rows(cursor, layout, count, field, cls)
    cursor.pos = pos + count * dtype.itemsize
    return cls(np.frombuffer(data, dtype, count, pos))


def _read_mixed_rows(cursor: Cursor, layout: KeyLayout, count: int, field: str, cls: type[Keys]) -> Keys:
    largest = count * layout.dtypes[layout.mask].itemsize  # copying all bytes would make many short tables quadratic
    window = cursor.data[cursor.pos : min(cursor.end, cursor.pos + largest)]
    flags, sizes = window[layout.flags_at :], layout.row_sizes
    marks = bytearray()
    append = marks.append
    pos = 0
    try:
        for _ in range(count):
            append(flags[pos])
            pos += sizes[marks[-1]]
    except IndexError:
        pos = len(window) + 1
    if pos > len(window):
        _fail_at_cut_row(cursor, layout, window, field)
    cursor.pos += pos
    return cls(_equal_rows(layout, marks, window[:pos]))


def _fail_at_cut_row(cursor: Cursor, layout: KeyLayout, window: bytes, field: str) -> NoReturn:
    """Raise `FormatError` for the first row that does not fit into the window."""
    start = row = 0
    while (left := len(window) - start) >= (wanted := layout.smallest_size):
        wanted = layout.row_sizes[window[start + layout.flags_at]]
        if wanted > left:
            break
        start, row = start + wanted, row + 1
    cursor.fail(STRUCT_TRUNCATED, f"{field}[{row}]", cursor.pos + start, wanted=wanted, left=left)


def _read_text_rows(cursor: Cursor, layout: KeyLayout, count: int, field: str, cls: type[Keys]) -> Keys:
    """Read rows that end with text, one by one: only morph tracks have them, and few keys."""
    marks, rows, text = bytearray(), bytearray(), list[bytes]()
    for row in range(count):
        name = f"{field}[{row}]"
        cursor.need(layout.dtypes[0].itemsize, name)
        marks.append(cursor.data[cursor.pos + layout.flags_at])
        rows += cursor.take(layout.row_sizes[marks[-1]], name)
        text.append(cursor.strz(name))
    return cls(_equal_rows(layout, marks, bytes(rows)), tuple(text))


def _equal_rows(layout: KeyLayout, marks: bytearray, data: bytes) -> Array:
    """Return rows of equal size from rows as stored; ``marks`` has the low byte of the flags of each."""
    bits = np.frombuffer(bytes(marks), np.uint8) & layout.mask
    dtype = layout.dtypes[int(np.bitwise_or.reduce(bits))]
    row_bytes = np.zeros((len(marks), dtype.itemsize), np.uint8)
    row_bytes[layout.stored_bytes(bits, dtype)] = np.frombuffer(data, np.uint8)
    return frozen(row_bytes.reshape(-1).view(dtype))


def write_keys(sink: Sink, layout: KeyLayout, keys: Keys) -> None:
    """Write the keys as rows; keys that were read give the same bytes. Raises ValueError for a column that does not
    fit."""
    if layout.width is None and len(keys.text) != len(keys):
        raise ValueError(f"text: {counted(len(keys.text), 'entry')} for {counted(len(keys), 'key')}")
    if not len(keys):
        return
    bits = layout.bits(keys)
    dtype = layout.dtypes[int(np.bitwise_or.reduce(bits))]
    rows = keys.rows if keys.rows.dtype == dtype else _converted(layout, keys, bits, dtype)
    if layout.width is not None and (bits == bits[0]).all():
        sink.write_array(rows)
        return
    row_bytes = np.ascontiguousarray(rows).view(np.uint8).reshape(len(rows), -1)
    stored = layout.stored_bytes(bits, dtype)
    if layout.width is not None:
        sink.write_array(row_bytes[stored])
        return
    for row, row_stored, text in zip(row_bytes, stored, keys.text, strict=True):
        if b"\0" in text:
            raise ValueError(f"text: {text!r} contains a NUL, which would end it early")
        sink.write(row[row_stored].tobytes() + text + b"\0")


def _converted(layout: KeyLayout, keys: Keys, bits: Ints, dtype: np.dtype[Any]) -> Array:
    """Return the rows with other columns and types; raises ValueError for an optional float that would be lost."""
    rows = np.zeros(len(keys), dtype)
    for name in dtype.names or ():
        rows[name] = _checked_column(name, keys.column(name), rows[name].shape, rows[name].dtype)
    bit_of = dict(layout.extras)
    for name in set(keys.rows.dtype.names or ()) - {"time", "flags", "value"}:
        bit = bit_of.get(name, -1)
        if keys.column(name)[bits & bit != bit].any():
            raise ValueError(f"{name}: stored only if its flag is set")
    return rows


class KeyTable(DescribedKind):
    """Keys with their count (u32) before them, or with their count in an earlier field.

    ``layout`` may depend on the record.
    """

    cls: type[Keys] = Keys

    def __init__(
        self, layout: KeyLayout | Callable[[Any], KeyLayout], count: str | None = None, type_name: str = ""
    ) -> None:
        self.layout = layout
        self.counted_by = count
        self.prefix = struct.Struct("<I")
        self.minimum = 0 if count else self.prefix.size
        self.type_name = f"{count} x ({type_name})"
        self.empty = KeyLayout(0)
        """the layout of a table without keys"""
        if isinstance(layout, KeyLayout):
            self.empty = layout
            value = f"{layout.width} x f32" if layout.width else "no value" if layout.width == 0 else "text, NUL-ended"
            self.type_name = f"u32 n, n x (i32 {layout.time_name}, u16 flags, f32 for each flag bit 0-4, {value})"

    def layout_in(self, record: Any) -> KeyLayout:
        return self.layout if isinstance(self.layout, KeyLayout) else self.layout(record)

    def text_layout(self, record: Any, names: Collection[str]) -> KeyLayout:
        """Return the layout of keys with these columns in the text form."""
        return self.layout_in(record)

    def default(self) -> Keys:
        return self.cls(no_entries(self.empty.dtypes[0]))

    def generate_read(self, source: Source, name: str) -> None:
        if self.counted_by is None:
            source.unpack(self.prefix, name)
            source.add(f"count, count_at = values[0], pos - {self.prefix.size}")
            layout = source.name(self.layout)
        else:
            source.add(f"count, count_at = record.{self.counted_by}, {source.count_offsets[self.counted_by]}")
            source.refuse("count < 0", STRUCT_COUNT_NEGATIVE, self.counted_by, "count_at", count="count")
            layout = f"{source.name(self.layout_in)}(record)"
        fields = repr(name), repr(self.counted_by or name)
        source.call(name, read_keys, layout, "count", *fields, "count_at", source.name(self.cls))

    def write(self, sink: Sink, value: Keys, record: Any) -> None:
        if self.counted_by is None:
            sink.write(self.prefix.pack(len(value)))
        if len(value):
            write_keys(sink, self.layout_in(record), value)

    def parts(self, owner: str, name: str) -> Iterator[Part]:
        count = self.counted_by or f"{name}_count"
        if self.counted_by is None:
            yield Part(count, "u4")
        if isinstance(self.layout, KeyLayout):
            yield Part(name, self.layout.structure(f"{owner}_{name}_row"), count=count)
            return
        if not isinstance(self.layout, LayoutBy):
            raise ValueError(f"{owner}.{name}: its layout depends on a function, which cannot be described")
        rows: dict[int | str, Structure] = {
            value: layout.structure(f"{owner}_{name}_row_{value}") for value, layout in self.layout.layouts.items()
        }
        yield Part(name, Cases(self.layout.selector.text, rows), count=count)

    def row_sizes(self, value: Keys, record: Any) -> list[int]:
        """Return the number of bytes of each row in the file."""
        layout = self.layout_in(record)
        sizes = [layout.row_sizes[bits] for bits in layout.bits(value).tolist()]
        return [size + len(text) + 1 for size, text in zip(sizes, value.text, strict=True)] if value.text else sizes

    def dump(self, value: Keys, record: Any) -> object:
        """Return one JSON object for each key, with the columns that it stores."""
        layout = self.text_layout(record, value.columns())
        cells = {name: array_to_json(value.column(name)) for name in value.TYPES}
        if layout.width is None:
            cells["value"] = [bytes_to_ascii(text) for text in value.text]
        elif layout.width == 1:
            cells["value"] = [number for (number,) in cells["value"]]
        rows: list[dict[str, object]] = []
        for row, bits in enumerate(layout.bits(value).tolist()):
            rows.append({shown: cells[name][row] for name, shown in layout.shown_names(bits).items()})
        return rows

    def restore(self, value: object, record: Any) -> Keys:
        """Return the keys that `dump` wrote; raises ValueError if they are invalid."""
        if not isinstance(value, list) or not all(isinstance(row, dict) for row in value):
            raise ValueError("expected a list of keys")
        layout = self.text_layout(record, {name for row in value for name in row})
        marks = bytearray()
        for index, row in enumerate(value):
            flags = 0
            if "flags" in layout.order:
                flags = integer_from_json(row.get("flags"), np.dtype(layout.flags), f"key {index}: flags: ")
            marks.append(flags & layout.mask)
            wrong = set(row) ^ set(layout.shown_names(marks[-1]).values())
            if wrong:
                name = min(wrong)
                problem = f"{name!r} is unknown, or its flag bit is not set" if name in row else f"missing {name!r}"
                raise ValueError(f"key {index}: {problem}")
        dtype = layout.dtypes[int(np.bitwise_or.reduce(np.frombuffer(bytes(marks), np.uint8)))]
        shown = {name: layout.time_name if name == "time" else name for name in dtype.names or ()}
        cells = [{name: row.get(column, 0) for name, column in shown.items()} for row in value]
        for row in cells if layout.width == 1 else ():
            row["value"] = [row["value"]]
        rows = array_from_json(cells, dtype, None)
        if layout.width is not None:
            return self.cls(frozen(rows))
        if not all(isinstance(row["value"], str) for row in value):
            raise ValueError("value: expected text")
        return self.cls(frozen(rows), tuple(ascii_to_bytes(row["value"]) for row in value))


def keys(layout: KeyLayout, description: str) -> Any:
    return declare(KeyTable(layout), description)


def linked_keys(
    layout: Callable[[Any], KeyLayout], count: str, type_name: str, description: str, *, when: Any = None
) -> Any:
    return declare(KeyTable(layout, count, type_name), description, when=when)
