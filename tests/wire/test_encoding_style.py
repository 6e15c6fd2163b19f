"""One declaration, several encoding styles: byte order and kind of text."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pytest

from keyframer.errors import FormatError
from keyframer.formats.kit.key_table import KeyLayout, keys
from keyframer.limits import Limits
from keyframer.wire.cursor import Cursor
from keyframer.wire.encoding_style import TEXT_KINDS, Style
from keyframer.wire.field_types import (
    array_to_end,
    blob,
    chars,
    counted_array,
    f32,
    i16,
    linked_array,
    strz,
    u8,
    u32,
    vector,
)
from keyframer.wire.lossless_json import array_from_json, array_to_json
from keyframer.wire.record import Record, dump_fields, read_fields, record, restore_fields, write_fields
from keyframer.wire.sink import Sink


@record
class Everything(Record):
    """A record with a field of every type that depends on the style."""

    number: int = u32("a number")
    small: int = u8("a byte")
    name: bytes = strz("a text")
    offset_by: int = i16("a number behind a text")
    point: tuple[float, ...] = vector("three numbers")
    size: float = f32("another")
    tag: bytes = chars(4, "text of fixed size")
    many: Any = counted_array(("<f4", (2,)), "H", "pairs behind their count")
    count: int = u32("how many follow")
    some: Any = linked_array("<i2", "count", "as many numbers")
    more: Any = array_to_end("<u2", "numbers up to the end")


@record
class Tail(Record):
    data: bytes = blob("what is left")


@record
class Flagged(Record):
    track: Any = keys(KeyLayout(3), "keys")


STYLES = [Style(big, text) for big in (False, True) for text in TEXT_KINDS]


def expected_bytes(style: Style) -> bytes:
    order = ">" if style.big_endian else "<"
    name = b"name"
    length = {"nul": None, "u8": "B", "u16": "H", "u32": "I"}[style.text]
    text = name + b"\0" if length is None else struct.pack(order + length, 4) + name
    return (
        struct.pack(order + "IB", 0x01020304, 5)
        + text
        + struct.pack(order + "h4f", -2, 1, 2, 3, 0.1)
        + b"abc\0"
        + struct.pack(order + "H4f", 2, 1.5, 2.5, 3.5, 4.5)
        + struct.pack(order + "I3h", 3, -1, 0, 1)
        + struct.pack(order + "2H", 7, 65535)
    )


@pytest.mark.parametrize("style", STYLES, ids=str)
def test_every_field_type_in_every_style(style: Style) -> None:
    data = expected_bytes(style)
    plan = Everything.plan.adapted(style)
    target = Everything()
    read_fields(target, Cursor(data), plan)
    assert dump_fields(target) == {
        "number": 0x01020304,
        "small": 5,
        "name": "name",
        "offset_by": -2,
        "point": [1, 2, 3],
        "size": 0.1,
        "tag": "abc\\x00",
        "many": [[1.5, 2.5], [3.5, 4.5]],
        "count": 3,
        "some": [-1, 0, 1],
        "more": [7, 65535],
    }
    sink = Sink()
    write_fields(target, sink, plan)
    assert sink.getvalue() == data
    other = Everything()
    restore_fields(other, dump_fields(target))
    sink = Sink()
    write_fields(other, sink, plan)
    assert sink.getvalue() == data


def test_adapted_plans_are_cached_and_the_original_is_unchanged() -> None:
    big = Everything.plan.adapted(Style(True))
    assert Everything.plan.adapted(Style(True)) is big
    assert big is not Everything.plan
    target = Everything()
    read_fields(target, Cursor(expected_bytes(Style())))
    assert target.number == 0x01020304


def test_converting_between_styles() -> None:
    target = Everything()
    read_fields(target, Cursor(expected_bytes(Style())))
    for style in STYLES:
        sink = Sink()
        write_fields(target, sink, Everything.plan.adapted(style))
        assert sink.getvalue() == expected_bytes(style)


def test_arrays_are_views_in_the_byte_order_of_the_file() -> None:
    target = Everything()
    read_fields(target, Cursor(expected_bytes(Style(True))), Everything.plan.adapted(Style(True)))
    assert target.many.dtype == np.dtype(">f4")
    assert not target.many.flags.owndata


def test_raw_bytes_do_not_depend_on_the_style() -> None:
    target = Tail()
    read_fields(target, Cursor(b"abc"), Tail.plan.adapted(Style(True, "u32")))
    assert target.data == b"abc"


def test_adapting_a_type_with_a_single_layout_is_refused() -> None:
    for _ in range(2):
        with pytest.raises(NotImplementedError, match="no variant for big endian files"):
            Flagged.plan.adapted(Style(True))


@pytest.mark.parametrize("text", ["u8", "u16", "u32"])
def test_impossible_text_lengths_are_refused(text: Any) -> None:
    plan = Everything.plan.adapted(Style(False, text))
    data = struct.pack("<IB", 1, 1) + b"\xff" * 4 + b"abc"
    with pytest.raises(FormatError) as caught:
        read_fields(Everything(), Cursor(data), plan)
    assert (caught.value.code, caught.value.offset) == ("STRUCT_COUNT_EXCEEDS_DATA", 5)
    long = struct.pack("<IB", 1, 1) + struct.pack({"u8": "<B", "u16": "<H", "u32": "<I"}[text], 200) + b"A" * 300
    with pytest.raises(FormatError, match=r"^LIMIT_NAME\b"):
        read_fields(Everything(), Cursor(long, limits=Limits(name=100)), plan)


@pytest.mark.parametrize("style", STYLES, ids=str)
def test_size_of_an_encoded_text(style: Style) -> None:
    sink = Sink()
    plan = Everything.plan.adapted(style)
    plan.steps[1].write(sink, Everything(name=b"abcde"))
    assert sink.size == style.text_size(b"abcde")


def test_non_finite_numbers_of_a_big_endian_array_as_text() -> None:
    """The text shows the bits of the number, whatever the byte order."""
    bits = np.array([0x7FC00000, 0x7FA00001, 0x7F800000, 0xFFC00000, 0x3F800000], ">u4")
    shown = array_to_json(bits.view(">f4"))
    assert shown == ["nan", "nan:7fa00001", "inf", "nan:ffc00000", 1.0]
    assert array_from_json(shown, np.dtype("<f4"), None).tobytes() == bits.astype("<u4").tobytes()
