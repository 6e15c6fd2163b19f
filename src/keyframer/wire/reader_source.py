"""Generates the reader of a record class from its plan.

The generated function moves from field to field with plain offsets, and touches the cursor only to report a failure or
to call a field type that has no code of its own. See docs/decisions/0009-generated-readers.md.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from keyframer.catalogue import STRUCT_COUNT_EXCEEDS_DATA, STRUCT_NOT_REPRODUCIBLE, STRUCT_TRUNCATED
from keyframer.issues import IssueType
from keyframer.wire.cursor import Cursor, no_entries

if TYPE_CHECKING:
    from keyframer.wire.field_types import Attribute, Kind

Reader = Callable[..., "tuple[Any, int]"]
"""``(cls, at, cursor, data, pos, end, record=None)``: the record starts at ``at``, its fields at ``pos``; they may use
the bytes before ``end``. Returns the record (a new one, unless ``record`` is given) and the position after its fields.
``cursor`` has the place and the limits; after a failure, ``cursor.pos`` and ``cursor.end`` say where it happened.
"""


def fail(cursor: Cursor, pos: int, end: int, kind: IssueType, field: str, offset: int, **args: object) -> NoReturn:
    """Raise `FormatError` for a field of the record at the cursor."""
    cursor.pos, cursor.end = pos, end
    cursor.fail(kind, field, offset, **args)


def _truncated(cursor: Cursor, pos: int, end: int, field: str, size: int) -> NoReturn:
    fail(cursor, pos, end, STRUCT_TRUNCATED, field, pos, wanted=size, left=end - pos)


def _too_many(cursor: Cursor, pos: int, end: int, field: str, offset: int, count: int, size: int) -> NoReturn:
    left = end - pos
    args = {"count": count, "size": size, "left": left, "available": left // size}
    fail(cursor, pos, end, STRUCT_COUNT_EXCEEDS_DATA, field, offset, **args)


def _check_nan(cursor: Cursor, pos: int, end: int, field: str, layout: Struct) -> None:
    """Raise `FormatError` for a signalling NaN: the bytes could not be written again."""
    start = pos - layout.size
    if has_signalling_nan(layout, cursor.data[start:pos]):
        fail(cursor, start, end, STRUCT_NOT_REPRODUCIBLE, field, start)


def has_signalling_nan(layout: Struct, data: bytes | memoryview) -> bool:
    """Return whether a float32 of these bytes is a signalling NaN, which `struct` makes quiet before Python 3.14."""
    patterns = Struct(layout.format.replace("f", "I")).unpack(data)
    return any(
        value != value and type(pattern) is int and not pattern & 0x400000
        for value, pattern in zip(layout.unpack(data), patterns, strict=True)
    )


_COMMON = {"offset": "at", "children": "()"}
"""attributes of every record that are not defaults: where it starts, and no children yet"""


class Source:
    """The source code of one reader: its lines, and the values that they refer to by name.

    Docstrings of methods that add lines say what these lines do when they run. Lines may use ``data``, ``at``, ``pos``,
    ``end``, ``cursor`` and ``record``, and move ``pos`` past the bytes that they read.
    """

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.names: dict[str, Any] = {"new": object.__new__, "fail": fail}
        self.names |= {"truncated": _truncated, "too_many": _too_many, "check_nan": _check_nan}
        self.indent = "    "
        self.count_offsets: dict[str, str] = {}
        """for each field that counts a later array: the variable with its offset"""

    def add(self, *lines: str) -> None:
        self.lines += [self.indent + line for line in lines]

    def name(self, value: object) -> str:
        """Return a name for a value, for use in lines."""
        name = f"v{len(self.names)}"
        self.names[name] = value
        return name

    def create(self, attributes: dict[str, Attribute]) -> None:
        """Make the record, with the attributes that are not stored in the file."""
        self.add("if record is None:", "    record = new(cls)")
        for name, attribute in attributes.items():
            if attribute.kind is not None:
                continue
            if name in _COMMON:
                value = _COMMON[name]
            elif attribute.make is not None:
                value = f"{self.name(attribute.make)}()"
            else:
                value = self.name(attribute.default)
            self.add(f"    record.{name} = {value}")

    def set(self, field: str, expression: str) -> None:
        self.add(f"record.{field} = {expression}")

    def need(self, field: str, size: int) -> None:
        self.add(f"if end - pos < {size}: truncated(cursor, pos, end, {field!r}, {size})")

    def refuse(self, condition: str, kind: IssueType, field: str, offset: str, **args: str) -> None:
        """Raise `FormatError` if the condition holds; ``offset`` and ``args`` are expressions."""
        values = "".join(f", {name}={value}" for name, value in args.items())
        self.add(f"if {condition}: fail(cursor, pos, end, {self.name(kind)}, {field!r}, {offset}{values})")

    def unpack(self, layout: Struct, field: str, *, floats: bool = False) -> None:
        """Unpack the numbers at ``pos`` into the tuple ``values``.

        With ``floats``, signalling NaNs are refused; the sum of the values is NaN if one of them is.
        """
        self.need(field, layout.size)
        self.add(f"values = {self.name(layout.unpack_from)}(data, pos)", f"pos += {layout.size}")
        if floats:
            self.add(
                "total = sum(values)",
                f"if total != total: check_nan(cursor, pos, end, {field!r}, {self.name(layout)})",
            )

    def take_entries(self, field: str, dtype: Any, offset: str) -> None:
        """Read ``count`` entries, which is not negative, as a view of the file; ``offset`` is that of the count."""
        size = dtype.itemsize
        self.add(
            f"size = count * {size}",
            f"if size > end - pos: too_many(cursor, pos, end, {field!r}, {offset}, count, {size})",
        )
        view, entry, empty = self.name(np.frombuffer), self.name(dtype), self.name(no_entries(dtype))
        self.set(field, f"{view}(data, {entry}, count, pos) if count else {empty}")
        self.add("pos += size")

    def call(self, field: str, read: Callable[..., Any], *arguments: str) -> None:
        """Set the field to the result of ``read(cursor, *arguments)``, which moves the cursor."""
        self.add("cursor.pos, cursor.end = pos, end")
        self.set(field, f"{self.name(read)}({', '.join(('cursor', *arguments))})")
        self.add("pos = cursor.pos")

    def open_condition(self, when: Callable[[Any], bool]) -> None:
        self.add(f"if {self.name(when)}(record):")
        self.indent += "    "

    def close_condition(self, field: str, kind: Kind) -> None:
        """End a condition; if it is not met, the field has its default."""
        self.indent = self.indent[:-4]
        self.add("else:", f"    record.{field} = {self.name(kind.default)}()")

    def compiled(self, class_name: str) -> Reader:
        head = "def read(cls, at, cursor, data, pos, end, record=None):"
        source = "\n".join([head, *self.lines, "    return record, pos"])
        exec(compile(source, f"<reader of {class_name}>", "exec"), self.names)
        reader: Reader = self.names["read"]
        return reader
