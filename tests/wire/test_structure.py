"""Structures that follow from declarations, and expressions, which are both code and text."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from keyframer.wire.encoding_style import Style
from keyframer.wire.field_types import Expression, array_to_end, counted_array, linked_array, strz, u8, u16
from keyframer.wire.record import Record, record
from keyframer.wire.structure import Part, Structure, ToEnd, snake_case, structure_of


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(flags & 4) != 0", True),
        ("(flags & 4) != 0 and kind == 1", False),
        ("kind == 1 or kind == 2", True),
        ("16 * kind + flags", 38),
        ("len(counts) > 2", True),
        ("total(counts)", 6),
    ],
)
def test_expression(text: str, expected: object) -> None:
    expression = Expression(text)
    assert expression(SimpleNamespace(flags=6, kind=2, counts=np.array([1, 2, 3]))) == expected
    assert expression.text == text


@record
class Shape(Record):
    """A shape.

    More about it.
    """

    flags: int = u8("flags")
    count: int = u16("number of points")
    name: bytes = strz("name")
    points: object = linked_array(("<f4", (3,)), "count", "points")
    colours: object = linked_array("u1", "count", "colours", when="len(points) > 0 and flags == 1")
    groups: object = counted_array("<u2", "H", "groups")
    masks: object = array_to_end("<u4", "masks")


def test_structure_of_a_record() -> None:
    structure = structure_of(Shape)
    assert (structure.name, structure.description, structure.record) == ("shape", "A shape.", Shape)
    row = structure.parts[3].type
    assert isinstance(row, Structure)
    assert row.parts == (Part("values", "f4", count="3"),)
    assert [part for part in structure.parts if part.name != "points"] == [
        Part("flags", "u1", "flags"),
        Part("count", "u2", "number of points"),
        Part("name", "text", "name"),
        Part("colours", "u1", "colours", when="count > 0 and flags == 1", count="count"),
        Part("groups_count", "u2", "groups"),
        Part("groups", "u2", "groups", count="groups_count"),
        Part("masks", "u4", "masks", count=ToEnd(4)),
    ]


def test_structure_in_another_style() -> None:
    structure = structure_of(Shape, Style(big_endian=True, text="u32_nul"))
    assert structure.big_endian
    assert structure.parts[2:4] == (
        Part("name_size", "u4", "name"),
        Part("name", "text", "name", size="name_size", ends_with_nul=True),
    )


def test_a_function_cannot_be_described() -> None:
    @record
    class Secret(Record):
        """Depends on a function."""

        flags: int = u8("flags")
        value: int = u8("value", when=lambda secret: secret.flags > 3)

    with pytest.raises(ValueError, match="secret depends on a function"):
        structure_of(Secret)


def test_snake_case() -> None:
    assert snake_case("PointArray") == "point_array"
    assert snake_case("length-with-nul") == "length_with_nul"
