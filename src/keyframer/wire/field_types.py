"""Wire types: how a field of a record is stored in the file.

The functions in lower case (`u16`, `strz`, `counted_array` …) are what declarations use; each takes the description of
the field from the specification. The field then has a `Kind`, which reads, writes, dumps and describes its values.
"""

from __future__ import annotations

import copy
import re
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from keyframer.catalogue import (
    LIMIT_NAME,
    SEM_UNKNOWN_ENUM,
    STRUCT_COUNT_EXCEEDS_DATA,
    STRUCT_COUNT_NEGATIVE,
    STRUCT_STRING_UNTERMINATED,
)
from keyframer.issues import IssueType
from keyframer.text import ascii_to_bytes, bytes_to_ascii, bytes_to_hex, counted, hex_to_bytes
from keyframer.wire.cursor import Cursor, frozen, no_entries
from keyframer.wire.encoding_style import LENGTH_CODES, Style
from keyframer.wire.lossless_json import array_from_json, array_to_json, integer_from_json
from keyframer.wire.reader_source import Source, has_signalling_nan
from keyframer.wire.sink import Sink

_CODES = {"B": "u8", "b": "i8", "H": "u16", "h": "i16", "I": "u32", "i": "i32", "f": "f32", "d": "f64"}
_DTYPES = {
    code: np.dtype("<" + {"B": "u1", "b": "i1", "H": "u2", "h": "i2", "I": "u4", "i": "i4"}.get(code, code))
    for code in _CODES
}


class Expression:
    """A number or a condition that depends on earlier fields of a record, such as ``(flags & 4) != 0``.

    The text is a Python expression. Descriptions for other programs quote it (see `structure`). ``total(name)`` is the
    sum of an array.
    """

    __slots__ = ("compute", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        code = re.sub(r"\b(?!(?:and|or|not|len|total)\b)[a-z_]\w*", r"record.\g<0>", text)
        self.compute: Callable[[Any], Any] = eval(f"lambda record: {code}", {"total": _total})

    def __call__(self, record: Any) -> Any:
        return self.compute(record)


def _total(counts: npt.NDArray[Any]) -> int:
    return int(np.sum(counts, dtype=np.int64))


class Kind:
    """A wire type. ``minimum`` is the smallest number of bytes of a value."""

    minimum = 0
    type_name = ""
    counted_by: str | None = None
    """the earlier field of the record that stores the number of entries"""

    def adapted(self, style: Style) -> Kind:
        """Return the same type for files of another byte order or kind of text; it is itself for little endian files,
        unless its class overrides this."""
        if style.big_endian:
            raise NotImplementedError(f"{self.type_name}: no variant for big endian files")
        return self

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
        if not self.is_float:
            return value if self.count is None else list(value)
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


class ExactFloats(Numbers):
    """Float32 numbers of which every bit is kept.

    Before Python 3.14, `struct` turns a signalling NaN into a quiet one; numpy does not. The value is a plain tuple (or
    number), or a read-only numpy array (or scalar) if it has a signalling NaN.
    """

    def __init__(self, count: int | None = None) -> None:
        super().__init__("f", count)

    def adapted(self, style: Style) -> Numbers:
        return Kind.adapted(self, style)  # type: ignore[return-value]  # itself

    def generate_read(self, source: Source, name: str) -> None:
        source.unpack(self.layout, name)
        source.add("total = sum(values)")
        source.add(f"if total != total: values = {source.name(self._exact)}(data[pos - {self.minimum} : pos])")
        source.set(name, "values[0]" if self.count is None else "values")

    def _exact(self, data: bytes) -> Any:
        """Return the values of these bytes: a tuple, or an array if one is a signalling NaN."""
        return np.frombuffer(data, self.dtype) if has_signalling_nan(self.layout, data) else self.layout.unpack(data)

    def write(self, sink: Sink, value: Any, record: Any) -> None:
        if self.count is not None and len(value) != self.count:
            raise ValueError(f"expected {counted(self.count, 'number')}, not {len(value)}")
        if isinstance(value, (np.ndarray, np.float32)):
            sink.write_array(np.atleast_1d(np.asarray(value, self.dtype)))
        else:
            super().write(sink, value, record)

    def to_json(self, value: Any) -> object:
        numbers = array_to_json(np.atleast_1d(np.asarray(value, self.dtype)))
        return numbers[0] if self.count is None else numbers

    def from_json(self, value: object) -> Any:
        super().from_json(value)  # the checks
        exact = array_from_json([value] if self.count is None else value, self.dtype, None)
        values = self._exact(exact.tobytes())
        return values[0] if self.count is None else values


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


class Text(Kind):
    """8-bit text; in JSON ASCII with ``\\xNN`` for other bytes."""

    def default(self) -> bytes:
        return b""

    def to_json(self, value: bytes) -> object:
        return bytes_to_ascii(value)

    def from_json(self, value: object) -> bytes:
        if not isinstance(value, str):
            raise ValueError("expected text")
        return ascii_to_bytes(value)


class Strz(Text):
    """8-bit text terminated by a NUL; the value is the bytes without it."""

    minimum = 1
    type_name = "text, NUL-ended"

    def adapted(self, style: Style) -> Strz:
        if style.text == "nul":
            return self
        return PrefixedText(LENGTH_CODES[style.text], style.order, ends_with_nul=style.text == "u32_nul")

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


class PrefixedText(Strz):
    """8-bit text with its length before it; ``ends_with_nul``: the length includes a NUL, which the value does not."""

    def __init__(self, code: str, order: str = "<", *, ends_with_nul: bool = False) -> None:
        self.end = b"\0" if ends_with_nul else b""
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
        text = cursor.take(size, name)
        if not text.endswith(self.end):
            cursor.fail(STRUCT_STRING_UNTERMINATED, name, at + self.prefix.size, left=size)
        return text.removesuffix(self.end)

    def write(self, sink: Sink, value: bytes, record: Any) -> None:
        stored = value + self.end
        if len(stored) > self.largest:
            raise ValueError(f"{len(value)} bytes, but a file can store at most {self.largest}")
        sink.write(self.prefix.pack(len(stored)) + stored)


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


class Lines(Blob):
    """All remaining bytes, which are text; in JSON a list of lines."""

    type_name = "text"

    def to_json(self, value: bytes) -> object:
        return [bytes_to_ascii(line) for line in value.split(b"\n")]

    def from_json(self, value: object) -> bytes:
        if not isinstance(value, list) or not all(isinstance(line, str) for line in value):
            raise ValueError("expected a list of lines")
        return b"\n".join(ascii_to_bytes(line) for line in value)


class Array(Kind):
    """Entries of one dtype, as a view of the file. Subclasses define how many.

    A dtype with a shape, such as ``("<f4", (3,))``, gives rows; one with names a table of named columns.
    """

    def __init__(self, dtype: npt.DTypeLike) -> None:
        self.dtype = np.dtype(dtype)
        self.width = self.dtype.shape[0] if self.dtype.shape else None
        columns = [f"{_type_name(self.dtype[name])} {name}" for name in self.dtype.names or ()]
        self.entry_name = ", ".join(columns) or _type_name(self.dtype)
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
        if self.dtype.names:
            if array.dtype != self.dtype:
                raise ValueError(f"expected rows of ({self.entry_name})")
            return array
        return checked_cast(array, self.dtype.base)

    def to_json(self, value: Any) -> object:
        return array_to_json(np.asarray(value))

    def from_json(self, value: object) -> Any:
        return frozen(array_from_json(value, self.dtype.base, self.width))


def _type_name(dtype: np.dtype[Any]) -> str:
    base = _CODES.get(dtype.base.char.replace("L", "I").replace("l", "i"), dtype.base.name)
    return f"{dtype.shape[0]} x {base}" if dtype.shape else base


def checked_cast(array: npt.NDArray[Any], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """Return the array in ``dtype``; raises ValueError if it cannot store a value. A float may lose precision; integers
    are never wrapped, truncated or rounded."""
    if array.dtype == dtype:
        return array
    if array.size == 0:
        return np.empty(array.shape, dtype)
    if array.dtype.kind not in "buif":
        raise ValueError(f"expected numbers, not {array.dtype}")
    if dtype.kind == "f":
        with np.errstate(over="ignore"):
            converted: npt.NDArray[Any] = array.astype(dtype)
        if (np.isinf(converted) & np.isfinite(array)).any():
            raise ValueError(f"numbers too large for a float of {dtype.itemsize} bytes")
        return converted
    info = np.iinfo(dtype)
    if array.dtype.kind == "f" and not (array == np.floor(array)).all():  # NaN is not equal to itself
        raise ValueError("expected whole numbers")
    if array.dtype.kind != "b" and not (info.min <= array.min() and array.max() <= info.max):
        raise ValueError(f"values outside {info.min}..{info.max}")
    return array.astype(dtype)


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


class ArrayOfCounts(LinkedArray):
    """An array of counts; their sum is the number of later entries of ``entry_size`` bytes."""

    def __init__(self, dtype: npt.DTypeLike, count: str | Callable[[Any], int], entry_size: int) -> None:
        super().__init__(dtype, count)
        self.entry_size = entry_size

    def generate_read(self, source: Source, name: str) -> None:
        super().generate_read(source, name)
        source.call(name, self._checked_counts, f"record.{name}", repr(name))

    def _checked_counts(self, cursor: Cursor, counts: npt.NDArray[Any], name: str) -> npt.NDArray[Any]:
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


class ArrayToEnd(Array):
    """An array of all complete entries up to the end of its block, without a count."""

    def generate_read(self, source: Source, name: str) -> None:
        source.add(f"count = (end - pos) // {self.dtype.itemsize}")
        source.take_entries(name, self.dtype, "pos")


# Declarations of fields. The functions return Any because the declared type of a field is that of its value.


@dataclass(slots=True)
class Attribute:
    """The declaration of one attribute of a record class: a default (or a function that makes it) and, for fields
    stored in the file, the wire type, the description from the specification and an optional condition.
    """

    default: Any = None
    make: Callable[[], Any] | None = None
    kind: Kind | None = None
    description: str = ""
    when: Callable[[Any], bool] | None = None
    kw_only: bool = False
    annotation: object = Any

    @staticmethod
    def factory_default(make: Callable[[], Any]) -> Any:
        """Declare an attribute that is not stored in the file; each record gets its own default."""
        return Attribute(make=make)


def declare(kind: Kind, description: str, default: Any = None, when: str | Callable[[Any], bool] | None = None) -> Any:
    """Declare a field with its wire type, the description from the specification and an optional condition, which is
    the text of an `Expression` or a function."""
    condition = Expression(when) if isinstance(when, str) else when
    return Attribute(default, kind.default if default is None else None, kind, description, condition)


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


def exact_floats(description: str, count: int | None = None, *, default: Any = None) -> Any:
    return declare(ExactFloats(count), description, default)


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


def vector(description: str, *, default: Any = None, when: Any = None) -> Any:
    """Declare three floats, X Y Z."""
    return declare(Numbers("f", 3), description, default, when)


def strz(description: str, *, default: bytes | None = None) -> Any:
    return declare(Strz(), description, default)


def chars(size: int, description: str) -> Any:
    return declare(Chars(size), description)


def blob(description: str) -> Any:
    return declare(Blob(), description)


def lines(description: str) -> Any:
    return declare(Lines(), description)


def counted_array(dtype: npt.DTypeLike, count_code: str, description: str) -> Any:
    """Declare an array with its count before it; ``count_code`` is the `struct` code of the count."""
    return declare(CountedArray(dtype, count_code), description)


def linked_array(dtype: npt.DTypeLike, count: str | Callable[[Any], int], description: str, *, when: Any = None) -> Any:
    return declare(LinkedArray(dtype, count), description, when=when)


def array_to_end(dtype: npt.DTypeLike, description: str) -> Any:
    return declare(ArrayToEnd(dtype), description)


def array_of_counts(
    dtype: npt.DTypeLike, count: str | Callable[[Any], int], entry_size: int, description: str, *, when: Any = None
) -> Any:
    return declare(ArrayOfCounts(dtype, count, entry_size), description, when=when)
