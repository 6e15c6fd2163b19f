"""Wire types: how a field of a record is stored in the file.

The functions in lower case (`u16`, `strz`, `counted_array` …) are what declarations use; each takes the description of
the field from the specification. The field then has a `Kind`, which reads, writes, dumps and describes its values.
"""

from __future__ import annotations

import copy
import struct
from collections.abc import Callable
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from keyframer.catalogue import LIMIT_NAME, STRUCT_COUNT_NEGATIVE, STRUCT_STRING_UNTERMINATED
from keyframer.text import ascii_to_bytes, bytes_to_ascii, bytes_to_hex, counted, hex_to_bytes
from keyframer.wire.array_conversion import checked_cast
from keyframer.wire.cursor import Cursor, frozen, no_entries
from keyframer.wire.encoding_style import LENGTH_CODES, Style
from keyframer.wire.key_table import EXTRAS, KeyLayout, Keys, no_keys, read_equal_rows, read_keys, write_keys
from keyframer.wire.lossless_json import array_from_json, array_to_json, integer_from_json
from keyframer.wire.reader_source import Source
from keyframer.wire.sink import Sink

_CODES = {"B": "u8", "b": "i8", "H": "u16", "h": "i16", "I": "u32", "i": "i32", "f": "f32", "d": "f64"}
_DTYPES = {
    code: np.dtype("<" + {"B": "u1", "b": "i1", "H": "u2", "h": "i2", "I": "u4", "i": "i4"}.get(code, code))
    for code in _CODES
}


class Kind:
    """A wire type. ``minimum`` is the smallest number of bytes of a value."""

    minimum = 0
    type_name = ""
    counted_by: str | None = None
    """the earlier field of the record that stores the number of entries"""

    def adapted(self, style: Style) -> Kind:
        """Return the same type for files of another byte order or kind of text."""
        raise NotImplementedError(f"{self.type_name}: no variant for another byte order or kind of text")

    def default(self) -> Any:
        raise NotImplementedError

    def read(self, cursor: Cursor, record: Any, name: str) -> Any:
        """Return the value at the cursor and move it; raises `FormatError`.

        A type has this method, or `generate_read` if many records have such a field.
        """
        raise NotImplementedError

    def generate_read(self, source: Source, name: str) -> None:
        """Generate code that sets the field ``name`` of a record, or raises `FormatError`."""
        source.call(name, self.read, "record", repr(name))

    def __init_subclass__(cls) -> None:
        if "read" in cls.__dict__:  # the code that a base class generates does something else
            cls.generate_read = Kind.generate_read  # type: ignore[method-assign]

    def write(self, sink: Sink, value: Any, record: Any) -> None:
        raise NotImplementedError

    def to_json(self, value: Any) -> object:
        raise NotImplementedError

    def from_json(self, value: object) -> Any:
        """Return the value that `to_json` wrote; raises ValueError if it is invalid."""
        raise NotImplementedError

    def dump(self, value: Any, record: Any) -> object:
        """Return the value as JSON; overridden instead of `to_json` if the form depends on the record."""
        return self.to_json(value)

    def restore(self, value: object, record: Any) -> Any:
        """Return the value from JSON; overridden instead of `from_json` if the form depends on the record."""
        return self.from_json(value)


class Numbers(Kind):
    """One number or, with ``count``, a tuple of numbers; adjacent fields are read together (see `record_plan`)."""

    def __init__(self, code: str, count: int | None = None, order: str = "<") -> None:
        self.code = code
        self.count = count
        self.order = order
        self.struct_code = code if count is None else f"{count}{code}"
        self.layout = struct.Struct(order + self.struct_code)
        self.minimum = self.layout.size
        self.dtype = _DTYPES[code]
        self.type_name = _CODES[code] if count is None else f"{count} x {_CODES[code]}"
        self.is_float = code in "fd"

    def adapted(self, style: Style) -> Numbers:
        return Numbers(self.code, self.count, style.order)

    def default(self) -> Any:
        zero: float = 0.0 if self.is_float else 0
        return zero if self.count is None else (zero,) * self.count

    def generate_read(self, source: Source, name: str) -> None:
        source.unpack(self.layout, name, floats=self.is_float)
        source.set(name, "values[0]" if self.count is None else "values")

    def write(self, sink: Sink, value: Any, record: Any) -> None:
        sink.write(self.layout.pack(value) if self.count is None else self.layout.pack(*value))

    def to_json(self, value: Any) -> object:
        if type(value) is int and not self.is_float:
            return value
        numbers = array_to_json(np.array([value] if self.count is None else value, self.dtype))
        return numbers[0] if self.count is None else numbers

    def from_json(self, value: object) -> Any:
        if self.count is None:
            if not self.is_float:
                return integer_from_json(value, self.dtype)
            return array_from_json([value], self.dtype, None).tolist()[0]
        if not isinstance(value, list) or len(value) != self.count:
            raise ValueError(f"expected a list of {counted(self.count, 'number')}")
        return tuple(array_from_json(value, self.dtype, None).tolist())


class Strz(Kind):
    """8-bit text terminated by a NUL; the value is the bytes without it."""

    minimum = 1
    type_name = "text, NUL-ended"

    def adapted(self, style: Style) -> Strz:
        return self if style.text == "nul" else PrefixedText(LENGTH_CODES[style.text], style.order)

    def default(self) -> bytes:
        return b""

    def generate_read(self, source: Source, name: str) -> None:
        source.add("stop = data.find(0, pos, end)")
        source.refuse("stop < 0", STRUCT_STRING_UNTERMINATED, name, "pos", left="end - pos")
        limit = "cursor.limits.name"
        source.refuse(f"stop - pos > {limit}", LIMIT_NAME, name, "pos", size="stop - pos", limit=limit)
        source.set(name, "data[pos:stop]")
        source.add("pos = stop + 1")

    def write(self, sink: Sink, value: bytes, record: Any) -> None:
        if b"\0" in value:
            raise ValueError(f"{value!r} contains a NUL, which would end the text early")
        sink.write(value + b"\0")

    def to_json(self, value: bytes) -> object:
        return bytes_to_ascii(value)

    def from_json(self, value: object) -> bytes:
        if not isinstance(value, str):
            raise ValueError("expected text")
        return ascii_to_bytes(value)


class PrefixedText(Strz):
    """8-bit text with its length before it."""

    def __init__(self, code: str, order: str = "<") -> None:
        self.prefix = struct.Struct(order + code)
        self.minimum = self.prefix.size
        self.largest = (1 << (8 * self.prefix.size)) - 1
        self.type_name = f"text, {_CODES[code]} length before it"

    def read(self, cursor: Cursor, record: Any, name: str) -> bytes:
        at = cursor.pos
        size = cursor.unpack(self.prefix, name)[0]
        cursor.need_entries(size, 1, name, at)
        if size > cursor.limits.name:
            cursor.fail(LIMIT_NAME, name, at, size=size, limit=cursor.limits.name)
        return cursor.take(size, name)

    def write(self, sink: Sink, value: bytes, record: Any) -> None:
        if len(value) > self.largest:
            raise ValueError(f"{len(value)} bytes, but a file can store at most {self.largest}")
        sink.write(self.prefix.pack(len(value)) + value)


class Chars(Strz):
    """Text in a field of fixed size; the value is all its bytes, padding included."""

    def __init__(self, size: int) -> None:
        self.minimum = size
        self.type_name = f"text, {size} bytes"

    def adapted(self, style: Style) -> Chars:
        return self

    def default(self) -> bytes:
        return bytes(self.minimum)

    def generate_read(self, source: Source, name: str) -> None:
        source.need(name, self.minimum)
        source.set(name, f"data[pos : pos + {self.minimum}]")
        source.add(f"pos += {self.minimum}")

    def write(self, sink: Sink, value: bytes, record: Any) -> None:
        if len(value) > self.minimum:
            raise ValueError(f"{value!r} is longer than {self.minimum} bytes")
        sink.write(value.ljust(self.minimum, b"\0"))


class Blob(Kind):
    """All remaining bytes, uninterpreted."""

    type_name = "bytes"

    def adapted(self, style: Style) -> Blob:
        return self

    def default(self) -> bytes:
        return b""

    def generate_read(self, source: Source, name: str) -> None:
        source.set(name, "data[pos:end]")
        source.add("pos = end")

    def write(self, sink: Sink, value: bytes, record: Any) -> None:
        if not isinstance(value, bytes):
            raise TypeError(f"expected bytes, not {type(value).__name__}")
        sink.write(value)

    def to_json(self, value: bytes) -> object:
        return bytes_to_hex(value)

    def from_json(self, value: object) -> bytes:
        return hex_to_bytes(value)


class Array(Kind):
    """Entries of one dtype, as a view of the file. Subclasses define how many.

    A dtype with a shape, such as ``("<f4", (3,))``, gives rows.
    """

    def __init__(self, dtype: npt.DTypeLike) -> None:
        self.dtype = np.dtype(dtype)
        self.width = self.dtype.shape[0] if self.dtype.shape else None
        base = _CODES.get(self.dtype.base.char.replace("L", "I").replace("l", "i"), self.dtype.base.name)
        self.entry_name = base if self.width is None else f"{self.width} x {base}"
        self.type_name = f"({self.entry_name}) ..."

    def adapted(self, style: Style) -> Self:
        adapted = copy.copy(self)
        adapted.dtype = self.dtype.newbyteorder(style.order)
        return adapted

    def default(self) -> npt.NDArray[Any]:
        return no_entries(self.dtype)

    def write(self, sink: Sink, value: Any, record: Any) -> None:
        sink.write_array(self.checked(value))

    def checked(self, value: Any) -> npt.NDArray[Any]:
        """Return the value as an array of this type; raises ValueError if its shape or a value does not fit."""
        array = np.asarray(value)
        if array.shape[1:] != self.dtype.shape or array.ndim == 0:
            raise ValueError(f"expected an array of {self.entry_name}, not one of shape {array.shape}")
        return checked_cast(array, self.dtype.base)

    def to_json(self, value: Any) -> object:
        return array_to_json(np.asarray(value))

    def from_json(self, value: object) -> Any:
        return frozen(array_from_json(value, self.dtype.base, self.width))


class CountedArray(Array):
    """An array with its count before it."""

    def __init__(self, dtype: npt.DTypeLike, count_code: str) -> None:
        super().__init__(dtype)
        self.prefix = struct.Struct("<" + count_code)
        self.largest = (1 << (8 * self.prefix.size)) - 1
        self.minimum = self.prefix.size
        self.type_name = f"{_CODES[count_code]} n, n x ({self.entry_name})"

    def adapted(self, style: Style) -> Self:
        adapted = super().adapted(style)
        adapted.prefix = struct.Struct(style.order + self.prefix.format[1:])
        return adapted

    def generate_read(self, source: Source, name: str) -> None:
        source.unpack(self.prefix, name)
        source.add("count = values[0]")
        source.take_entries(name, self.dtype, f"pos - {self.prefix.size}")

    def write(self, sink: Sink, value: Any, record: Any) -> None:
        array = self.checked(value)
        if len(array) > self.largest:
            raise ValueError(f"{len(array)} entries, but a file can store at most {self.largest}")
        sink.write(self.prefix.pack(len(array)))
        sink.write_array(array)


class LinkedArray(Array):
    """An array whose count is in an earlier field of the record (or computed by ``count(record)``)."""

    def __init__(self, dtype: npt.DTypeLike, count: str | Callable[[Any], int]) -> None:
        super().__init__(dtype)
        self.count = count
        self.counted_by = count if isinstance(count, str) else None
        count_name = count if isinstance(count, str) else "..."
        self.type_name = f"{count_name} x ({self.entry_name})"

    def count_in(self, record: Any) -> int:
        return int(getattr(record, self.count)) if isinstance(self.count, str) else self.count(record)

    def generate_read(self, source: Source, name: str) -> None:
        offset = source.count_offsets.get(self.counted_by or "", "pos")
        source.add(f"count = {source.name(self.count_in)}(record)")
        source.refuse("count < 0", STRUCT_COUNT_NEGATIVE, name, offset, count="count")
        source.take_entries(name, self.dtype, offset)

    def write(self, sink: Sink, value: Any, record: Any) -> None:
        array = self.checked(value)
        if self.counted_by is None and len(array) != self.count_in(record):
            raise ValueError(f"number of entries: expected {self.count_in(record)}, not {len(array)}")
        sink.write_array(array)


class ArrayToEnd(Array):
    """An array of all complete entries up to the end of its block, without a count."""

    def generate_read(self, source: Source, name: str) -> None:
        source.add(f"count = (end - pos) // {self.dtype.itemsize}")
        source.take_entries(name, self.dtype, "pos")


class KeyTable(Kind):
    """Keys with their count (u32) before them."""

    def __init__(self, layout: KeyLayout) -> None:
        self.layout = layout
        self.prefix = struct.Struct("<I")
        self.minimum = self.prefix.size
        value = "text, NUL-ended" if layout.width is None else f"{layout.width} x f32" if layout.width else "no value"
        self.type_name = f"u32 n, n x (i32 {layout.time_name}, u16 flags, f32 for each flag bit 0-4, {value})"

    def default(self) -> Keys:
        return no_keys(self.layout)

    def generate_read(self, source: Source, name: str) -> None:
        source.unpack(self.prefix, name)
        source.add(f"layout, count, count_at = {source.name(self.layout)}, values[0], pos - {self.prefix.size}")
        generate_key_rows(source, name)

    def write(self, sink: Sink, value: Keys, record: Any) -> None:
        sink.write(self.prefix.pack(len(value)))
        write_keys(sink, self.layout, value)

    def to_json(self, value: Keys) -> object:
        return keys_to_json(value, self.layout)

    def from_json(self, value: object) -> Keys:
        return keys_from_json(value, self.layout)


def generate_key_rows(source: Source, name: str) -> None:
    """Generate code that reads ``count`` keys of ``layout``; their count is stored at ``count_at``."""
    source.add(f"keys_and_end = {source.name(read_equal_rows)}(data, pos, end, layout, count)")
    source.add("if keys_and_end is None:")
    source.indent += "    "
    source.call(name, read_keys, "layout", "count", repr(name), "count_at")
    source.indent = source.indent[:-4]
    source.add("else:", f"    record.{name}, pos = keys_and_end")


def keys_to_json(keys: Keys, layout: KeyLayout) -> list[dict[str, object]]:
    """Return one JSON object per key, with only the floats that its flags select."""
    rows: list[dict[str, object]] = [{layout.time_name: time} for time in array_to_json(keys.time)]
    if layout.has_flags:
        extras = None if keys.extras is None else array_to_json(keys.extras)
        for index, (row, flags) in enumerate(zip(rows, keys.flags.tolist(), strict=True)):
            row["flags"] = flags
            for bit, name in enumerate(EXTRAS):
                if flags >> bit & 1 and extras is not None:
                    row[name] = extras[index][bit]
    if layout.width is None:
        for row, text in zip(rows, keys.text, strict=True):
            row["value"] = bytes_to_ascii(text)
    elif layout.width:
        for row, value in zip(rows, array_to_json(keys.value), strict=True):
            row["value"] = value if layout.width > 1 else value[0]
    return rows


def keys_from_json(value: object, layout: KeyLayout) -> Keys:
    """Return the keys that `keys_to_json` wrote; the flags decide which floats are expected."""
    if not isinstance(value, list) or not all(isinstance(row, dict) for row in value):
        raise ValueError("expected a list of keys")
    times: list[Any] = []
    flags: list[int] = []
    values: list[Any] = []
    texts: list[bytes] = []
    extras: list[list[Any]] = []
    for index, row in enumerate(value):
        bits = integer_from_json(row.get("flags"), layout.flags, f"key {index}: flags: ") if layout.has_flags else 0
        expected = {layout.time_name} | {name for bit, name in enumerate(EXTRAS) if bits >> bit & 1}
        expected |= {"flags"} if layout.has_flags else set()
        expected |= {"value"} if layout.width != 0 else set()
        if set(row) != expected:
            name = min(set(row) ^ expected)
            problem = f"{name!r} is unknown, or its flag bit is not set" if name in row else f"missing {name!r}"
            raise ValueError(f"key {index}: {problem}")
        times.append(row[layout.time_name])
        flags.append(bits)
        extras.append([row.get(name, 0) for name in EXTRAS])
        if layout.width is None:
            texts.append(Strz().from_json(row["value"]))
        elif layout.width:
            values.append(row["value"] if layout.width > 1 else [row["value"]])
    return Keys(
        frozen(array_from_json(times, layout.time, None)),
        frozen(np.array(flags, layout.flags)),
        frozen(array_from_json(values, np.dtype("<f4"), layout.width))
        if layout.width
        else frozen(np.empty((len(times), 0), np.float32)),
        frozen(array_from_json(extras, np.dtype("<f4"), 5)) if any(bits & 31 for bits in flags) else None,
        tuple(texts),
    )


# Declarations of fields. The functions return Any because the declared type of a field is that of its value.


class Attribute:
    """The declaration of one attribute of a record class: a default (or a function that makes it) and, for fields
    stored in the file, the wire type, the description from the specification and an optional condition.
    """

    __slots__ = ("annotation", "default", "description", "kind", "kw_only", "make", "when")

    def __init__(
        self,
        default: Any = None,
        make: Callable[[], Any] | None = None,
        kind: Kind | None = None,
        description: str = "",
        when: Callable[[Any], bool] | None = None,
    ) -> None:
        self.default = default
        self.make = make
        self.kind = kind
        self.description = description
        self.when = when
        self.kw_only = False
        self.annotation: object = Any

    @staticmethod
    def factory_default(make: Callable[[], Any]) -> Any:
        """Declare an attribute that is not stored in the file; each record gets its own default."""
        return Attribute(make=make)


def declare(kind: Kind, description: str, default: Any = None, when: Callable[[Any], bool] | None = None) -> Any:
    """Declare a field with its wire type, the description from the specification and an optional condition."""
    return Attribute(default, kind.default if default is None else None, kind, description, when)


def _number(code: str) -> Callable[..., Any]:
    def specify(description: str, count: int | None = None, *, default: Any = None, when: Any = None) -> Any:
        return declare(Numbers(code, count), description, default, when)

    return specify


u8 = _number("B")
i8 = _number("b")
u16 = _number("H")
i16 = _number("h")
u32 = _number("I")
i32 = _number("i")
f32 = _number("f")


def vector(description: str, *, default: Any = None, when: Any = None) -> Any:
    """Declare three floats, X Y Z."""
    return declare(Numbers("f", 3), description, default, when)


def strz(description: str, *, default: bytes | None = None) -> Any:
    return declare(Strz(), description, default)


def chars(size: int, description: str) -> Any:
    return declare(Chars(size), description)


def blob(description: str) -> Any:
    return declare(Blob(), description)


def counted_array(dtype: npt.DTypeLike, count_code: str, description: str) -> Any:
    """Declare an array with its count before it; ``count_code`` is the `struct` code of the count."""
    return declare(CountedArray(dtype, count_code), description)


def linked_array(dtype: npt.DTypeLike, count: str | Callable[[Any], int], description: str, *, when: Any = None) -> Any:
    return declare(LinkedArray(dtype, count), description, when=when)


def array_to_end(dtype: npt.DTypeLike, description: str) -> Any:
    return declare(ArrayToEnd(dtype), description)


def keys(layout: KeyLayout, description: str) -> Any:
    return declare(KeyTable(layout), description)
