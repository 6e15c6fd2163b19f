"""Trees of chunks with four-letter tags, lengths without the header, either byte order, rows and entries."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pytest

import keyframer
from keyframer.arrays import Array, Ints
from keyframer.formats import format_by_name
from keyframer.formats.document import Document
from keyframer.formats.kit import chunk_tree
from keyframer.formats.kit.chunk_tree import ChunkTree, chunk
from keyframer.wire.field_types import Expression, f32, linked_array, strz, u16, u32
from keyframer.wire.record import Record, dump_fields, record, restore_fields
from keyframer.wire.rows import Column, rows
from tests.samples import unhex

TREE = ChunkTree("Forms", length_counts_header=False, big_endian=True)
FORM, PART, TABLE, LIST = (TREE.tag(letters) for letters in ("FORM", "PART", "TABL", "LIST"))


@record(kw_only=True)
class Chunk(chunk_tree.Chunk):
    tree: ClassVar[ChunkTree] = TREE


@record
class RawChunk(chunk_tree.RawChunk, Chunk):
    pass


TREE.raw = RawChunk


@chunk(FORM, parents=())
class Form(Chunk):
    version: int = u32("version")


@chunk(PART, parents=[FORM, PART], repeats=True)
class Part(Chunk):
    name: bytes = strz("name")
    size: float = f32("size")


@chunk(TABLE, parents=[PART], once=True)
class Table(Chunk):
    flags: int = u16("1 with values")
    width: int = u16("numbers in a value")
    keys: Array = rows(
        (Column("frame", "<u2"), Column("value", "<f4", "width", when="(flags & 1) != 0"), Column("last", "<u2")),
        "keys",
    )


@record
class Item(Record):
    name: bytes = strz("name")
    numbers: Ints = linked_array("<u2", Expression("count"), "numbers")
    count: int = 0


@chunk(LIST, parents=[FORM])
class List(Chunk):
    entries = Item
    shared = ("count",)

    count: int = u16("numbers of each item")


TREE.compute_valid_children()

DATA = unhex("""
    46 4f 52 4d  00 00 00 4b  00 00 00 07                        # FORM, 75 bytes, version 7
      50 41 52 54  00 00 00 2d  42 6f 78 00  40 00 00 00         # PART, 45 bytes, "Box", 2.0
        54 41 42 4c  00 00 00 14  00 01 00 02                    # TABL, 20 bytes: with values of 2 numbers
          00 03  3f 80 00 00  40 00 00 00  00 09                 # 3: (1, 2), 9
          00 04  de ad                                           # a row that is cut off
        50 41 52 54  00 00 00 01  00                             # PART that is too short
      4c 49 53 54  00 00 00 0a  00 01                            # LIST: 1 number in each item
        41 00  00 05                                             # "A", 5
        42 00  00 06                                             # "B", 6
""")


def decode(data: bytes) -> Document:
    document = Document(format_by_name("3ds"))
    TREE.decode(data, document)
    return document


def test_fields_rows_entries_and_sub_chunks_are_read_and_written() -> None:
    document = decode(DATA)
    form, part, table = document.first(Form), document.first(Part), document.first(Table)
    assert form is not None
    assert part is not None
    assert table is not None
    assert (form.version, part.name, part.size) == (7, b"Box", 2.0)
    assert table.keys["frame"].tolist() == [3]
    assert table.keys["value"].tolist() == [[1.0, 2.0]]
    assert table.keys["last"].tolist() == [9]
    assert table.tail == unhex("00 04 de ad")
    assert [(item.name, item.numbers.tolist()) for item in document.find(Item)] == [(b"A", [5]), (b"B", [6])]
    assert TREE.encode(document) == DATA


def test_issues_have_the_tags_as_paths() -> None:
    assert [(issue.code, issue.path, issue.offset) for issue in decode(DATA).issues] == [
        ("STRUCT_CHUNK_SLACK", "/FORM/PART[0]/TABL", 52),
        ("STRUCT_CHUNK_TOO_SMALL", "/FORM/PART[0]/PART[0]", 60),
    ]


def test_columns_follow_the_fields_of_the_record() -> None:
    document = decode(DATA)
    table = document.first(Table)
    assert table is not None
    text = dump_fields(table)
    assert text["keys"] == [{"frame": 3, "value": [1.0, 2.0], "last": 9}]
    restored = Table()
    restore_fields(restored, text)
    assert restored.keys.tobytes() == table.keys.tobytes()
    table.flags = 0  # the column is not there any more: the old rows do not fit
    with pytest.raises(ValueError, match="expected rows of"):
        TREE.encode(document)
    table.keys = np.array([(1, 2)], [("frame", ">u2"), ("last", ">u2")])
    assert unhex("00 00 00 02  00 01 00 02") in TREE.encode(document)


def test_a_width_that_the_data_does_not_have() -> None:
    data = DATA.replace(unhex("00 01 00 02  00 03"), unhex("00 01 ff ff  00 03"))
    document = decode(data)
    assert "STRUCT_COUNT_EXCEEDS_DATA" in {issue.code for issue in document.issues}
    assert TREE.encode(document) == data


def test_numbers_of_entries_must_fit_the_chunk() -> None:
    document = decode(DATA)
    item = document.first(Item)
    assert item is not None
    item.numbers = np.array([1, 2], "u2")
    with pytest.raises(ValueError, match="expected 1, not 2"):
        TREE.encode(document)


def test_chunks_may_be_nested_256_deep() -> None:
    def nested(levels: int) -> bytes:
        data = b""
        for _ in range(levels):
            body = b"x\0" + bytes(4) + data
            data = b"PART" + len(body).to_bytes(4, "big") + body
        body = bytes(4) + data
        return b"FORM" + len(body).to_bytes(4, "big") + body

    assert not list(decode(nested(255)).issues)
    with pytest.raises(keyframer.FormatError, match="nested more than 256 levels deep"):
        decode(nested(256))
