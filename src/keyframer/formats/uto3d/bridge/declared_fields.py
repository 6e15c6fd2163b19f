"""What fields of records mean in a scene, declared once: reading, writing and loss reports follow from the table.

What needs more than one field, or depends on the dialect (targets, cones, near and far of cameras), is code.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from keyframer.formats.kit.declared_fields import Field


@dataclass(eq=False, repr=False, slots=True)
class StoredField(Field[Any, tuple[str, Any]]):
    """An attribute that is one field of a record."""

    stored: str
    """the field; its numbers must be finite to be read"""


def _same(name: str, stored: str) -> StoredField:
    return StoredField(name, lambda record: float(getattr(record, stored)), lambda value: [(stored, value)], stored)


def _range(name: str, stored: str) -> StoredField:
    return StoredField(
        name, lambda record: float(getattr(record, stored)), lambda value: [(stored, value or 0.0)], stored
    )


LIGHT = (
    StoredField(
        "color", lambda record: tuple(map(float, record.colour)), lambda value: [("colour", tuple(value))], "colour"
    ),
    _same("multiplier", "multiplier"),
    StoredField(
        "attenuated",
        lambda record: bool(record.use_attenuation),
        lambda value: [("use_attenuation", int(value))],
        "use_attenuation",
    ),
    _range("inner_range", "attenuation_start"),
    _range("outer_range", "attenuation_end"),
)
