"""Animation keys with rows of varying size, stored as columns.

A row has a time, flags, a value and up to five floats that the flags select; `KeyLayout` gives the order and the sizes.
Nearly every real table has rows of one shape: it is then one strided view of the file. Otherwise one scan adds up the
sizes and the columns are gathered. Rows with text are read one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, cast

import numpy as np
import numpy.typing as npt

from keyframer.arrays import Array
from keyframer.catalogue import STRUCT_TRUNCATED
from keyframer.text import counted
from keyframer.wire.array_conversion import checked_cast
from keyframer.wire.cursor import Cursor, frozen, no_entries
from keyframer.wire.sink import Sink

EXTRAS = ("tension", "continuity", "bias", "ease_to", "ease_from")
"""The optional floats in the order of their flag bits, which is also their order in the file."""

_ALL_BITS = 31
_POPCOUNT = np.array([bin(bits).count("1") for bits in range(32)])
_BEFORE = np.array([[bin(bits & ((1 << bit) - 1)).count("1") for bit in range(5)] for bits in range(32)])
"""by flag bits and bit: number of stored floats before the float of that bit"""

_FLOAT = np.dtype("<f4")


@dataclass(frozen=True)
class KeyLayout:
    """The shape of a key row: ``time, flags, extras, value`` or, with ``value_first``, ``time, value, flags, extras``.

    ``width`` is the number of float32 in the value; None means a NUL-terminated text.
    """

    width: int | None
    time: np.dtype[Any] = field(default_factory=lambda: np.dtype("<i4"))
    flags: np.dtype[Any] = field(default_factory=lambda: np.dtype("<u2"))
    value_first: bool = False
    has_flags: bool = True
    time_name: str = "frame"

    @cached_property
    def flags_at(self) -> int:
        """Offset of the flags in a row; the low byte holds the bits (little endian)."""
        return self.time.itemsize + (4 * (self.width or 0) if self.value_first else 0)

    @cached_property
    def fixed_size(self) -> int:
        """Size of a row in bytes, without extras and without text."""
        return self.time.itemsize + (self.flags.itemsize if self.has_flags else 0) + 4 * (self.width or 0)

    @cached_property
    def smallest_size(self) -> int:
        """Smallest size of a row in bytes: without extras, with an empty text."""
        return self.fixed_size + (1 if self.width is None else 0)

    @cached_property
    def row_sizes(self) -> list[int]:
        """Size of a row in bytes, without text, by the low byte of the flags."""
        return [self.fixed_size + 4 * int(_POPCOUNT[byte & _ALL_BITS]) for byte in range(256)]

    @cached_property
    def value_dtype(self) -> np.dtype[Any]:
        return np.dtype((_FLOAT, (self.width or 0,)))

    @cached_property
    def no_flags(self) -> Array:
        """Flags of a single key without any; shared, because files may have a hundred thousand such tracks."""
        return frozen(np.zeros(1, self.flags))

    @cached_property
    def row_dtypes(self) -> list[np.dtype[Any]]:
        """Row types with the extras of each combination of bits, made once: most tracks have only one or two keys."""
        return [self._row_dtype(bits) for bits in range(_ALL_BITS + 1)]

    def _row_dtype(self, bits: int) -> np.dtype[Any]:
        present = [(name, _FLOAT) for bit, name in enumerate(EXTRAS) if bits >> bit & 1]
        value = [("value", _FLOAT, (self.width,))] if self.width else []
        flags = [("flags", self.flags)] if self.has_flags else []
        if self.value_first:
            fields: list[Any] = [("time", self.time), *value, *flags, *present]
        else:
            fields = [("time", self.time), *flags, *present, *value]
        return np.dtype(fields)


_layout_of = cache(KeyLayout)


class Rows(NamedTuple):
    """Rows of one shape in a file."""

    data: bytes
    at: int
    """position of the first row"""
    number: int
    """how many they are"""
    layout: KeyLayout
    bits: int
    """flag bits of their extras"""


class _UnreadColumns:
    """Base of `Keys` with one slot: rows of one shape whose columns have not been used yet."""

    __slots__ = ("_rows",)

    _rows: Rows


@dataclass(eq=False, repr=False, slots=True)
class Keys(_UnreadColumns):
    """The keys of one track as columns of equal length.

    ``extras`` has one column for each name in `EXTRAS`, 0 if the flags of the key do not select the float; it may be
    None if no key has any. Only floats that the flags select are written; `replace` selects floats that are not 0.
    """

    time: Array
    flags: Array
    value: Array
    extras: Array | None = None
    text: tuple[bytes, ...] = ()

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Create all columns when one of them is first used."""
            try:
                rows = object.__getattribute__(self, "_rows")
            except AttributeError:  # there is no such column, or another thread was faster
                return object.__getattribute__(self, name)
            self.time, self.flags, self.value, self.extras = _view_columns(*rows)
            self.text = ()
            with suppress(AttributeError):
                del self._rows
            return object.__getattribute__(self, name)

    def __len__(self) -> int:
        try:
            return int(object.__getattribute__(self, "_rows")[2])
        except AttributeError:
            return len(self.time)

    def rows(self) -> Rows | None:
        """Return the keys as rows of one shape, for `joined_rows`; None without keys, or if they have text.

        They are rows of the file if no column has been used yet.
        """
        try:
            return cast(Rows, object.__getattribute__(self, "_rows"))
        except AttributeError:
            if not len(self.time) or self.text:
                return None
        layout = _layout_of(self.value.shape[1], self.time.dtype, self.flags.dtype)
        bits = 0 if self.extras is None else _ALL_BITS
        return Rows(_equal_rows(layout, self, bits).tobytes(), 0, len(self), layout, bits)

    def column(self, name: str) -> Array:
        """Return an optional column by name; zeros if it is not stored."""
        if self.extras is None:
            return frozen(np.zeros(len(self), np.float32))
        return self.extras[:, EXTRAS.index(name)]

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
    def ease_to(self) -> Array:
        return self.column("ease_to")

    @property
    def ease_from(self) -> Array:
        return self.column("ease_from")

    def replace(self, *, text: tuple[bytes, ...] | None = None, **columns: npt.ArrayLike) -> Keys:
        """Return a copy with other columns; for an optional column, values other than 0 also set their flag bits."""
        time = np.asarray(columns.pop("time", self.time))
        value = np.asarray(columns.pop("value", self.value))
        flags = np.array(columns.pop("flags", self.flags))
        extras = None if self.extras is None else np.array(self.extras)
        if columns and extras is None:
            extras = np.zeros((len(time), 5), np.float32)
        for name, column in columns.items():
            bit = EXTRAS.index(name)
            assert extras is not None
            extras[:, bit] = column
            selected = (extras[:, bit] != 0) | (flags >> bit & 1 == 1)
            flags = np.where(selected, flags | (1 << bit), flags).astype(flags.dtype)
        return Keys(time, flags, value, extras, self.text if text is None else text)

    @staticmethod
    def make(
        time: npt.ArrayLike,
        value: npt.ArrayLike = (),
        *,
        text: tuple[bytes, ...] = (),
        **extras: npt.ArrayLike,
    ) -> Keys:
        """Create keys: ``Keys.make([0, 10], [[0, 0, 0], [1, 2, 3]], tension=[0.5, 0])``."""
        times = np.atleast_1d(np.asarray(time))
        values = np.asarray(value, np.float32)
        values = values.reshape(len(times), -1) if values.size else np.empty((len(times), 0), np.float32)
        return Keys(times, np.zeros(len(times), np.uint16), values, None, text).replace(text=None, **extras)

    def columns(self) -> dict[str, Array]:
        """Return all stored columns by name; the optional floats are one column of five numbers per key."""
        columns_by_name = {"time": self.time, "flags": self.flags, "value": self.value}
        if self.extras is not None:
            columns_by_name["extras"] = self.extras
        if self.text:
            columns_by_name["text"] = np.array(self.text, object)
        return columns_by_name

    def __repr__(self) -> str:
        span = f", {self.time[0]}..{self.time[-1]}" if len(self) else ""
        return f"<{counted(len(self), 'key')}{span}>"


def no_keys(layout: KeyLayout) -> Keys:
    return Keys(no_entries(layout.time), no_entries(layout.flags), no_entries(layout.value_dtype))


def read_keys(cursor: Cursor, layout: KeyLayout, count: int, field_name: str, count_offset: int) -> Keys:
    """Read ``count`` rows; the count is checked before anything is allocated."""
    cursor.need_entries(count, layout.smallest_size, field_name, count_offset)
    if count == 0:
        return no_keys(layout)
    keys_and_end = read_equal_rows(cursor.data, cursor.pos, cursor.end, layout, count)
    if keys_and_end is not None:
        keys, cursor.pos = keys_and_end
        return keys
    read_rows = _read_text_rows if layout.width is None else _read_mixed_rows
    return read_rows(cursor, layout, count, field_name)


def read_equal_rows(data: bytes, pos: int, end: int, layout: KeyLayout, count: int) -> tuple[Keys, int] | None:
    """Return ``count`` keys at ``pos`` and the position after them.

    None if they do not fit before ``end``, if a row has another shape than the first, or if rows have text.

    The columns are made on first use: most tracks have a single key, and making three arrays for it took most of the
    reading time.
    """
    if count == 0:
        return no_keys(layout), pos
    left = end - pos
    if layout.width is None or count * layout.smallest_size > left:
        return None
    if layout.has_flags:
        flags_at = pos + layout.flags_at
        first = data[flags_at]
        row_size = layout.row_sizes[first]
        size = count * row_size
        if size > left:
            return None
        bits = first & _ALL_BITS
        if count > 1:
            column = data[flags_at : pos + size : row_size]
            if column.count(first) != count and any(byte & _ALL_BITS != bits for byte in set(column)):
                return None
    else:
        bits = 0
        size = count * layout.fixed_size
    keys = _new_keys(Keys)
    keys._rows = Rows(data, pos, count, layout, bits)  # type: ignore[misc]  # the slot of a base class
    return keys, pos + size


_new_keys = Keys.__new__


def _view_columns(
    data: bytes, pos: int, count: int, layout: KeyLayout, bits: int
) -> tuple[Array, Array, Array, Array | None]:
    """Return time, flags, value and extras of rows of one shape: views of the file where possible."""
    row = layout.row_dtypes[bits]
    at = pos + layout.flags_at
    if not layout.has_flags:
        flags = frozen(np.zeros(count, layout.flags))
    elif count == 1 and not any(data[at : at + layout.flags.itemsize]):
        flags = layout.no_flags
    else:
        flags = _view_column(data, pos, row, "flags", count)
    extras = None
    if bits:
        extras = np.zeros((count, 5), _FLOAT)
        for bit, name in enumerate(EXTRAS):
            if bits >> bit & 1:
                extras[:, bit] = _view_column(data, pos, row, name, count)
        frozen(extras)
    value = _view_column(data, pos, row, "value", count) if layout.width else frozen(np.empty((count, 0), _FLOAT))
    return _view_column(data, pos, row, "time", count), flags, value, extras


def joined_rows(tables: Sequence[Rows]) -> Array:
    """Return the rows of several tables of one shape (layout and bits) as one array of records."""
    layout, bits = tables[0].layout, tables[0].bits
    size = layout.row_sizes[bits]
    joined = b"".join([memoryview(data)[at : at + count * size] for data, at, count, _, _ in tables])
    return np.frombuffer(joined, layout.row_dtypes[bits])


def _view_column(data: bytes, pos: int, row: np.dtype[Any], name: str, count: int) -> Array:
    """Return a column of rows at ``pos`` as a view of the file, not of an array of rows that would stay in memory."""
    assert row.fields is not None
    dtype, at = row.fields[name][:2]
    if dtype.shape:
        strides = (row.itemsize, dtype.base.itemsize)
        return np.ndarray((count, *dtype.shape), dtype.base, data, pos + at, strides)
    return np.ndarray(count, dtype, data, pos + at, row.itemsize)


def _read_mixed_rows(cursor: Cursor, layout: KeyLayout, count: int, field_name: str) -> Keys:
    data, start, end = cursor.data, cursor.pos, cursor.end
    starts = _row_starts(cursor, layout, count, field_name)
    buffer = np.frombuffer(data, np.uint8, end - start, start)
    time = _gather(buffer, starts, layout.time)
    flags = _gather(buffer, starts + layout.flags_at, layout.flags)
    bits = flags & _ALL_BITS
    extras = np.zeros((count, 5), _FLOAT)
    first_extra = starts + layout.flags_at + layout.flags.itemsize
    for bit in range(5):
        rows = np.flatnonzero(bits >> bit & 1)
        if len(rows):
            extras[rows, bit] = _gather(buffer, first_extra[rows] + 4 * _BEFORE[bits[rows], bit], _FLOAT)
    if layout.value_first:
        value_at = starts + layout.time.itemsize
    else:
        value_at = first_extra + 4 * _POPCOUNT[bits]
    value = _gather(buffer, value_at, layout.value_dtype) if layout.width else np.empty((count, 0), _FLOAT)
    return Keys(frozen(time), frozen(flags), frozen(value), frozen(extras))


def _row_starts(cursor: Cursor, layout: KeyLayout, count: int, field_name: str) -> Array:
    """Return the start of each row relative to the first, and move the cursor past the rows."""
    largest = count * layout.row_sizes[_ALL_BITS]  # copying all remaining bytes would make many short tables quadratic
    window = cursor.data[cursor.pos : min(cursor.end, cursor.pos + largest)]
    flags, sizes = window[layout.flags_at :], layout.row_sizes
    starts: list[int] = []
    append = starts.append
    pos = 0
    try:
        for _ in range(count):
            append(pos)
            pos += sizes[flags[pos]]
    except IndexError:
        pos = len(window) + 1
    if pos > len(window):
        _fail_at_cut_row(cursor, layout, window, starts, field_name)
    cursor.pos += pos
    return np.fromiter(starts, np.intp, count)


def _fail_at_cut_row(cursor: Cursor, layout: KeyLayout, window: bytes, starts: list[int], field_name: str) -> NoReturn:
    """Raise `FormatError` for the incomplete row; the scan may have noticed it one row too late."""
    row = len(starts) - 1
    if starts[row] > len(window):
        row -= 1
    start = starts[row]
    left = len(window) - start
    wanted = layout.smallest_size if left < layout.smallest_size else layout.row_sizes[window[start + layout.flags_at]]
    cursor.fail(STRUCT_TRUNCATED, f"{field_name}[{row}]", cursor.pos + start, wanted=wanted, left=left)


def _gather(buffer: Array, starts: Array, dtype: np.dtype[Any]) -> Array:
    """Return entries of ``dtype`` at any byte offsets as a new array."""
    item = np.dtype(f"V{dtype.itemsize}")  # picking three floats as one item takes a quarter of the time
    items: Array = _at_every_byte(buffer, item)[starts]
    return items.view(dtype.base).reshape((len(starts), *dtype.shape))


def _at_every_byte(buffer: Array, dtype: np.dtype[Any]) -> Array:
    """Return a view with an entry at each byte, so that one index selects a whole entry."""
    shape = (max(buffer.size - dtype.itemsize + 1, 0), *dtype.shape)
    strides = (1, dtype.base.itemsize) if dtype.shape else (1,)
    return np.ndarray(shape, dtype.base, buffer, 0, strides)


def _read_text_rows(cursor: Cursor, layout: KeyLayout, count: int, field_name: str) -> Keys:
    """Read rows that end with text, one by one: only morph tracks have them, and few keys."""
    time = np.empty(count, layout.time)
    flags = np.empty(count, layout.flags)
    extras = np.zeros((count, 5), _FLOAT)
    text: list[bytes] = []
    for row in range(count):
        name = f"{field_name}[{row}]"
        cursor.need(layout.fixed_size, name)
        bits = cursor.data[cursor.pos + layout.flags_at] & _ALL_BITS
        head = np.frombuffer(cursor.take(layout.row_sizes[bits], name), layout.row_dtypes[bits])[0]
        time[row], flags[row] = head["time"], head["flags"]
        for bit, column in enumerate(EXTRAS):
            if bits >> bit & 1:
                extras[row, bit] = head[column]
        text.append(cursor.strz(name))
    return Keys(frozen(time), frozen(flags), frozen(np.empty((count, 0), _FLOAT)), frozen(extras), tuple(text))


def write_keys(sink: Sink, layout: KeyLayout, keys: Keys) -> None:
    """Write the keys as rows; keys that were read give the same bytes."""
    keys = _checked(layout, keys)
    if len(keys) == 0:
        return
    if layout.width is None:
        _write_text_rows(sink, layout, keys)
        return
    bits = np.asarray(keys.flags).astype(np.int64) & _ALL_BITS
    if not layout.has_flags or (bits == bits[0]).all():
        sink.write_array(_equal_rows(layout, keys, int(bits[0]) if layout.has_flags else 0))
    else:
        _write_mixed_rows(sink, layout, keys, bits)


def _checked(layout: KeyLayout, keys: Keys) -> Keys:
    """Return the keys with the column types of the layout; raises ValueError for a column that does not fit."""
    count = len(keys)
    for text in keys.text:
        if b"\0" in text:
            raise ValueError(f"text: {text!r} contains a NUL, which would end it early")
    if layout.width is None and len(keys.text) != count:
        raise ValueError(f"text: {counted(len(keys.text), 'entry')} for {counted(count, 'key')}")
    return Keys(
        _checked_column("time", keys.time, layout.time, (count,)),
        _checked_column("flags", keys.flags, layout.flags, (count,)),
        _checked_column("value", keys.value, _FLOAT, (count, layout.width)) if layout.width else keys.value,
        None if keys.extras is None else _checked_column("extras", keys.extras, _FLOAT, (count, len(EXTRAS))),
        keys.text,
    )


def _checked_column(name: str, values: Array, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Array:
    array = np.asarray(values)
    if array.shape != shape:
        raise ValueError(f"{name}: expected an array of shape {shape}, not {array.shape}")
    try:
        return checked_cast(array, dtype)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def _equal_rows(layout: KeyLayout, keys: Keys, bits: int) -> Array:
    """Return the keys as rows with the extras of these bits."""
    rows = np.empty(len(keys), layout.row_dtypes[bits])
    rows["time"] = keys.time
    if layout.has_flags:
        rows["flags"] = keys.flags
    for bit, name in enumerate(EXTRAS):
        if bits >> bit & 1:
            rows[name] = keys.column(name)
    if layout.width:
        rows["value"] = keys.value
    return rows


def _write_mixed_rows(sink: Sink, layout: KeyLayout, keys: Keys, bits: Array) -> None:
    sizes = layout.fixed_size + 4 * _POPCOUNT[bits]
    ends = np.cumsum(sizes)
    starts = ends - sizes
    buffer = np.empty(int(ends[-1]), np.uint8)
    _scatter(buffer, starts, keys.time, layout.time)
    _scatter(buffer, starts + layout.flags_at, keys.flags, layout.flags)
    first_extra = starts + layout.flags_at + layout.flags.itemsize
    for bit, name in enumerate(EXTRAS):
        rows = np.flatnonzero(bits >> bit & 1)
        if len(rows):
            at = first_extra[rows] + 4 * _BEFORE[bits[rows], bit]
            _scatter(buffer, at, keys.column(name)[rows], _FLOAT)
    value_at = starts + layout.time.itemsize if layout.value_first else first_extra + 4 * _POPCOUNT[bits]
    if layout.width:
        _scatter(buffer, value_at, keys.value, layout.value_dtype)
    sink.write_array(buffer)


def _scatter(buffer: Array, starts: Array, values: Array, dtype: np.dtype[Any]) -> None:
    _at_every_byte(buffer, dtype)[starts] = values


def _write_text_rows(sink: Sink, layout: KeyLayout, keys: Keys) -> None:
    for row in range(len(keys)):
        bits = int(keys.flags[row]) & _ALL_BITS
        row_slice = slice(row, row + 1)
        extras = None if keys.extras is None else keys.extras[row_slice]
        row_keys = Keys(keys.time[row_slice], keys.flags[row_slice], keys.value[row_slice], extras)
        sink.write_array(_equal_rows(layout, row_keys, bits))
        sink.write(keys.text[row] + b"\0")
