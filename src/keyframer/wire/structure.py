"""The structure of files as data, for descriptions in other languages (package `describing`).

`structure_of` walks the plan of a record class. The codec of a format puts these structures together. Conditions,
counts and sizes are Python expressions on earlier parts of the same structure, or on parts of the structure that
contains it (``parent.header.frames``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from keyframer.wire.encoding_style import Style
from keyframer.wire.field_types import (
    Array,
    ArrayToEnd,
    Blob,
    Chars,
    Choice,
    CountedArray,
    Expression,
    Kind,
    LinkedArray,
    Numbers,
    PrefixedText,
    Strz,
)
from keyframer.wire.record import Record
from keyframer.wire.record_plan import FieldPlan
from keyframer.wire.rows import Column, Rows

_NUMBERS = {"B": "u1", "b": "s1", "H": "u2", "h": "s2", "I": "u4", "i": "s4", "f": "f4", "d": "f8"}


class ToEnd(NamedTuple):
    """As many entries as fit into the block (or file) that contains them."""

    least: int = 1
    """bytes that must be left for a further entry"""


class Until(NamedTuple):
    """Entries up to the end of the file, or to one of these tags, which follows the last one."""

    tags: tuple[str, ...]


class Next(NamedTuple):
    """The next bytes, which are not consumed: a number if it is one byte, otherwise text."""

    size: int


class Cases(NamedTuple):
    """One of several structures, selected by an expression or by the next bytes. Without a matching case it is
    ``other``, or else bytes to the end of the block."""

    selector: str | Next
    cases: Mapping[int | str, Structure]
    other: Structure | None = None


@dataclass
class Part:
    """A part of a structure."""

    name: str
    type: str | Structure | Cases
    """a number ("u1" to "f8"), "text" (with its size, or else NUL-ended), "bytes" (with their size, or else all that
    are left in the block), or something with parts of its own"""
    description: str = ""
    when: str = ""
    """condition; without it the part is always present"""
    count: str | ToEnd | Until = ""
    """number of entries; empty for a single value"""
    size: str = ""
    """number of bytes of text or bytes, or of the block around a structure"""
    contents: bytes = b""
    """the only possible value"""
    ends_with_nul: bool = False
    """whether text with a size ends with a NUL, which is not part of it"""
    only: int | None = None
    """the only valid value of a number"""


@dataclass(eq=False)
class Structure:
    """Parts in file order."""

    name: str
    parts: tuple[Part, ...]
    description: str = ""
    record: type[Record] | None = None
    """the record class whose fields these parts are"""
    big_endian: bool = False

    def extended(self, *parts: Part) -> Structure:
        """Return the structure with more parts at its end."""
        return replace(self, parts=self.parts + parts)

    def restricted(self, name: str, only: int) -> Structure:
        """Return the structure with one valid value for a part that is a number."""
        return replace(
            self, parts=tuple(replace(part, only=only) if part.name == name else part for part in self.parts)
        )

    def walk(self) -> Iterator[Structure]:
        """Yield this structure and all inside it, each once."""
        seen, waiting = {self}, [self]
        while waiting:
            structure = waiting.pop(0)
            yield structure
            for part in structure.parts:
                for inner in inside(part.type):
                    if inner not in seen:
                        seen.add(inner)
                        waiting.append(inner)


TRAILING = Part("trailing", "bytes", "bytes after the last record")


def inside(kind: str | Structure | Cases) -> list[Structure]:
    """Return the structures that a part of this type can be."""
    if isinstance(kind, Cases):
        return [*kind.cases.values(), *([kind.other] if kind.other is not None else [])]
    return [kind] if isinstance(kind, Structure) else []


class DescribedKind(Kind):
    """A field type with its own description: `structure_of` knows those of `wire`, others describe themselves."""

    def parts(self, owner: str, name: str) -> Iterator[Part]:
        """Yield the parts of a field; names of structures begin with ``owner``, the name of the record."""
        raise NotImplementedError


def structure_of(
    cls: type[Record], style: Style | None = None, elsewhere: Mapping[str, str] = MappingProxyType({})
) -> Structure:
    """Return the structure of a record class; raises ValueError if a field depends on a function.

    ``style`` is how the file stores numbers and text, if not as declared. ``elsewhere`` has attributes of the record
    that its reader takes from other records, and expressions for them: ``{"row_shape[0]": "parent.header.frames"}``.
    """
    walk = _RecordWalk(snake_case(cls.__name__), elsewhere)
    for field in (cls.plan.adapted(style) if style else cls.plan).fields:
        walk.add(field)
    description = " ".join((cls.__doc__ or "").partition("\n\n")[0].split())
    return Structure(walk.name, tuple(walk.parts), description, cls, bool(style and style.big_endian))


def snake_case(name: str) -> str:
    """Return a name in lower case, with underscores: ``PointArray`` is ``point_array``."""
    return re.sub(r"\W+", "_", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)).strip("_").lower()


class _RecordWalk:
    """Collects the parts of a record, field by field."""

    def __init__(self, name: str, elsewhere: Mapping[str, str]) -> None:
        self.name = name
        self.elsewhere = elsewhere
        self.parts: list[Part] = []

    def add(self, field: FieldPlan) -> None:
        condition = "" if field.when is None else self._text(field.when)
        for part in self._parts(field.name, field.kind):
            self.parts.append(replace(part, description=field.description, when=condition))

    def _text(self, expression: object) -> str:
        """Return an expression in which the length of an array is its count."""
        if not isinstance(expression, Expression):
            raise ValueError(f"{self.name} depends on a function, which cannot be described")
        counts = {part.name: part.count for part in self.parts}
        return re.sub(r"len\((\w+)\)", lambda match: str(counts[match[1]]), expression.text)

    def _parts(self, name: str, kind: Kind) -> Iterator[Part]:
        match kind:
            case Choice():
                yield Part(name, _NUMBERS[kind.number.code])
            case Numbers():
                yield Part(name, _NUMBERS[kind.code], count="" if kind.count is None else str(kind.count))
            case PrefixedText():
                size = Part(f"{name}_size", _NUMBERS[kind.prefix.format[1:]])
                yield size
                yield Part(name, "text", size=size.name, ends_with_nul=bool(kind.end))
            case Chars():
                yield Part(name, "text", size=str(kind.minimum))
            case Strz():
                yield Part(name, "text")
            case Blob():
                yield Part(name, "bytes")
            case Rows() if not kind.columns[0].name:
                rows, columns = (self.elsewhere[text] for text in (kind.count, kind.columns[0].width))
                yield Part(name, "f4", count=f"{rows} * ({columns})")
            case Rows():
                row = Structure(f"{self.name}_{name}_row", tuple(map(_column, kind.columns)))
                least = sum(np.dtype(column.dtype).itemsize for column in kind.columns if not column.when)
                yield Part(name, row, count=self.elsewhere.get(kind.count, kind.count) or ToEnd(least))
            case Array():
                yield from self._array(name, kind)
            case DescribedKind():
                yield from kind.parts(self.name, name)
            case _:
                raise ValueError(f"{self.name}.{name}: {kind.type_name} cannot be described")

    def _array(self, name: str, kind: Array) -> Iterator[Part]:
        count: str | ToEnd
        match kind:
            case CountedArray():
                count = f"{name}_count"
                yield Part(count, _NUMBERS[kind.prefix.format[1:]])
            case ArrayToEnd():
                count = ToEnd(kind.dtype.itemsize)
            case LinkedArray():
                text = kind.count if isinstance(kind.count, str) else self._text(kind.count)
                count = self.elsewhere.get(text, text)
            case _:
                raise ValueError(f"{self.name}.{name}: {kind.type_name} cannot be described")
        yield Part(name, self._entry(name, kind.dtype), count=count)

    def _entry(self, name: str, dtype: np.dtype[Any]) -> str | Structure:
        """Return an entry of an array: a number, or a structure of columns."""
        if dtype.names:
            return Structure(f"{self.name}_{name}_row", tuple(self._columns(dtype)))
        if dtype.shape:
            number = number_type(dtype)
            return Structure(f"{self.name}_{name}_row", (Part("values", number, count=str(dtype.shape[0])),))
        return number_type(dtype)

    @staticmethod
    def _columns(dtype: np.dtype[Any]) -> Iterator[Part]:
        for name in dtype.names or ():
            shape = dtype[name].shape
            yield Part(name, number_type(dtype[name]), count=str(shape[0]) if shape else "")


def _column(column: Column) -> Part:
    """Return a column of a table; what it depends on is in the structure that contains its row."""
    count, condition = (_WORD.sub(r"parent.\g<0>", text) for text in (column.width, column.when))
    return Part(column.name, number_type(np.dtype(column.dtype)), count=count, when=condition)


_WORD = re.compile(r"\b(?!(?:and|or|not)\b)[a-z_]\w*")


def number_type(dtype: np.dtype[Any]) -> str:
    return {"u": "u", "i": "s", "f": "f"}[dtype.base.kind] + str(dtype.base.itemsize)
