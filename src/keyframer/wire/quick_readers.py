"""Generates for each record class a fast function that reads usual records only.

The careful reader (`read_fields`) carries a cursor and a location through every field to report where a file is wrong.
Nearly every record is valid. The generated function uses offsets only: it creates the record, sets its fields and
returns it with the position after it, or None as soon as anything is unusual. Then the careful reader reads the same
record from its start and reports the problem, if there is one. See docs/decisions/0009-quick-readers.md.

``KEYFRAMER_CAREFUL=1`` in the environment disables quick readers.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from struct import Struct
from typing import TYPE_CHECKING, Any

import numpy as np

from keyframer.wire.cursor import no_entries

if TYPE_CHECKING:
    from keyframer.wire.field_types import Attribute, Kind

QuickReader = Callable[[bytes, int, int, int, int], "tuple[Any, int] | None"]
"""``(data, at, pos, end, longest)``: the record starts at ``at``, its fields at ``pos``; they may use the bytes before
``end``, and names may have ``longest`` bytes. Returns the record and the position after its fields, or None.
"""

ON = os.environ.get("KEYFRAMER_CAREFUL", "") in ("", "0")
"""whether quick readers are used"""


def never(data: bytes, at: int, pos: int, end: int, longest: int) -> None:
    """Return None. This is the quick reader of classes with a field that only the careful reader can read."""


class Source:
    """The source code of the quick reader of one class: its lines, and the values that they refer to by name.

    Docstrings of methods that add lines say what these lines do when they run. Lines may use ``data``, ``at``, ``pos``,
    ``end``, ``longest`` and ``record``, and move ``pos`` past the bytes that they read.
    """

    def __init__(self, cls: type[Any]) -> None:
        self.lines: list[str] = []
        self.names: dict[str, Any] = {"create": cls.__new__, "cls": cls}
        self.indent = "    "
        self.add("record = create(cls)")

    def add(self, *lines: str) -> None:
        self.lines += [self.indent + line for line in lines]

    def name(self, value: object) -> str:
        """Return a name for a value, for use in lines."""
        name = f"v{len(self.names)}"
        self.names[name] = value
        return name

    def set(self, field: str, expression: str) -> None:
        self.add(f"record.{field} = {expression}")

    def set_default(self, field: str, attribute: Attribute) -> None:
        """Set an attribute that is not stored in the file: the offset of the record, no children, or the default."""
        if field == "offset":
            self.set(field, "at")
        elif field == "children":
            self.set(field, "()")
        elif attribute.make is not None:
            self.set(field, f"{self.name(attribute.make)}()")
        else:
            self.set(field, self.name(attribute.default))

    def refuse(self, condition: str = "True") -> None:
        """Return None if the condition holds: the careful reader then reads the record."""
        self.add(f"if {condition}: return None")

    def unpack(self, layout: Struct) -> None:
        """Unpack the numbers at ``pos`` into the tuple ``values``."""
        self.refuse(f"end - pos < {layout.size}")
        self.add(f"values = {self.name(layout.unpack_from)}(data, pos)", f"pos += {layout.size}")

    def refuse_nan(self, values: str) -> None:
        """Refuse records with NaN, because `struct` makes signalling NaNs quiet. The sum of the values is NaN if one of
        them is.
        """
        self.add(f"total = sum({values})")
        self.refuse("total != total")

    def take_entries(self, field: str, dtype: Any, count: str) -> None:
        """Read an array as a view of the file; ``count`` is the name of a variable that is not negative."""
        self.add(f"size = {count} * {dtype.itemsize}")
        self.refuse("size > end - pos")
        view, entry, empty = self.name(np.frombuffer), self.name(dtype), self.name(no_entries(dtype))
        self.set(field, f"{view}(data, {entry}, {count}, pos) if {count} else {empty}")
        self.add("pos += size")

    def open_condition(self, when: Callable[[Any], bool]) -> None:
        self.add(f"if {self.name(when)}(record):")
        self.indent += "    "

    def close_condition(self, field: str, kind: Kind) -> None:
        """End a condition; if it is not met, the field has its default."""
        self.indent = self.indent[:-4]
        self.add("else:", f"    record.{field} = {self.name(kind.default)}()")

    def compiled(self) -> QuickReader:
        lines = ["def read(data, at, pos, end, longest):", *self.lines, "    return record, pos"]
        exec(compile("\n".join(lines), f"<quick reader of {self.names['cls'].__name__}>", "exec"), self.names)
        reader: QuickReader = self.names["read"]
        return reader
