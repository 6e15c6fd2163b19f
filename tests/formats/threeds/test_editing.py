"""Editing documents: only the edited record and the lengths of its parents change."""

from __future__ import annotations

import copy
import pickle
import struct
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import keyframer
from keyframer.formats.threeds import records
from keyframer.formats.threeds.chunk import Chunk, RawChunk
from keyframer.wire.record import Record
from tests.building.threeds import chunk, decoded, in_container, innermost, paths, reports
from tests.samples import FOLDER
from tests.samples.make_3ds import SAMPLES

WINDMILL = (FOLDER / "3ds" / "windmill.3ds").read_bytes()


def extent(document: keyframer.Document, wanted: Record) -> tuple[int, int, list[int]]:
    """The byte range of a record in its file, and the offsets of the chunks around it."""
    around: list[int] = []
    for _, record in document.walk():
        assert record.offset is not None
        size = struct.unpack_from("<I", WINDMILL, record.offset + 2)[0]
        if record is wanted:
            return record.offset, record.offset + size, around
        if record.offset < (wanted.offset or 0) < record.offset + size:
            around.append(record.offset)
    raise AssertionError


EDITS: list[tuple[type[Chunk], Callable[[Chunk], None]]] = [
    (records.MasterScale, lambda found: setattr(found, "scale", 2.5)),
    (records.NamedObject, lambda found: setattr(found, "name", b"A longer name than before")),
    (records.NamedObject, lambda found: setattr(found, "name", b"")),
    (records.PointArray, lambda found: setattr(found, "points", np.ones((5, 3)))),
    (records.FaceArray, lambda found: setattr(found, "faces", [[0, 1, 2, 0]])),
    (records.MaterialGroup, lambda found: setattr(found, "material", b"x")),
    (records.Camera, lambda found: setattr(found, "position", (1.0, 2.0, 3.0))),
    (records.NodeHeader, lambda found: setattr(found, "parent", 3)),
    (records.MapName, lambda found: setattr(found, "name", b"OTHER.PNG")),
    (records.RotationTrack, lambda found: setattr(found, "flags", 3)),
    (records.PositionTrack, lambda found: setattr(found, "keys", records.Keys.make([0, 7], np.ones((2, 3))))),
    (records.RotationTrack, lambda found: setattr(found, "keys", found.keys.replace(tension=0.5))),  # type: ignore[attr-defined]
]


@pytest.mark.parametrize(("kind", "edit"), EDITS, ids=[f"{kind.__name__}-{n}" for n, (kind, _) in enumerate(EDITS)])
def test_an_edit_changes_only_its_record(kind: type[Chunk], edit: Callable[[Chunk], None]) -> None:
    document = decoded(WINDMILL)
    record = document.first(kind)
    assert record is not None
    start, stop, around = extent(document, record)
    edit(record)
    written = keyframer.encode(document)
    grown = len(written) - len(WINDMILL)
    assert written != WINDMILL
    expected = bytearray(WINDMILL)
    for offset in around:
        struct.pack_into("<I", expected, offset + 2, struct.unpack_from("<I", WINDMILL, offset + 2)[0] + grown)
    expected[start:stop] = written[start : stop + grown]
    assert written == bytes(expected)
    reread = decoded(written)
    assert not list(reread.issues)
    assert paths(reread) == paths(document)


@settings(max_examples=40)
@given(st.data())
def test_any_record_can_be_replaced_by_raw_bytes(data: st.DataObject) -> None:
    """All bytes before and after the replaced record are unchanged."""
    document = decoded(WINDMILL)
    parents = [record for _, record in document.walk() if record.children]
    parent = data.draw(st.sampled_from(parents))
    at = data.draw(st.integers(0, len(parent.children) - 1))
    start, stop, around = extent(document, parent.children[at])
    body = data.draw(st.binary(max_size=30))
    parent.children[at] = RawChunk(0x7777, body)
    written = keyframer.encode(document)
    expected = bytearray(WINDMILL)
    for offset in around:
        size = struct.unpack_from("<I", WINDMILL, offset + 2)[0]
        struct.pack_into("<I", expected, offset + 2, size + len(written) - len(WINDMILL))
    expected[start:stop] = chunk(0x7777, body)
    assert written == bytes(expected)


def children(document: keyframer.Document, kind: type[Record]) -> list[Record]:
    return document.first(kind).children


def test_adding_removing_and_reordering() -> None:
    parts = [chunk(0x0100, struct.pack("<f", 1)), chunk(0x7777, b"??"), chunk(0x4000, b"Box\0"), chunk(0x1101)]
    document = decoded(in_container(0x3D3D, *parts))
    editor = children(document, records.Editor)
    editor.append(records.AmbientColor(children=[records.ColorByte((1, 2, 3))]))
    parts.append(chunk(0x2100, chunk(0x0011, b"\1\2\3")))
    assert keyframer.encode(document) == in_container(0x3D3D, *parts)
    del editor[1], parts[1]
    assert keyframer.encode(document) == in_container(0x3D3D, *parts)
    editor.reverse()
    assert keyframer.encode(document) == in_container(0x3D3D, *reversed(parts))
    editor.insert(0, RawChunk(0x7777, b"made by hand"))
    assert keyframer.encode(document) == in_container(0x3D3D, chunk(0x7777, b"made by hand"), *reversed(parts))
    editor.clear()
    assert keyframer.encode(document) == in_container(0x3D3D)
    assert decoded(in_container(0x3D3D)).first(records.Editor) is not None


def test_a_node_can_be_copied() -> None:
    document = decoded(WINDMILL)
    keyframer_children = children(document, records.Keyframer)
    nodes = list(document.find(records.ObjectNode))
    twin = copy.deepcopy(nodes[0])
    keyframer_children.append(twin)
    reread = decoded(keyframer.encode(document))
    assert len(list(reread.find(records.ObjectNode))) == len(nodes) + 1
    assert [record.segment for record in list(reread.find(records.ObjectNode))[-1].children] == [
        record.segment for record in nodes[0].children
    ]


def test_chunks_can_be_added_to_containers_that_were_read() -> None:
    """Also if a container was empty in the file."""
    for home in (
        0x4D4D,
        0x3D3D,
        0x4000,
        0x4100,
        0x4120,
        0x4600,
        0x4610,
        0x4700,
        0xAFFF,
        0xA200,
        0xB000,
        0xB002,
        0xB010,
    ):
        document = decoded(in_container(home))
        deepest = [record for _, record in document.walk()][-1]
        deepest.children.append(RawChunk(0x7777, b"new"))
        assert keyframer.encode(document) == in_container(home, chunk(0x7777, b"new"))


class TestWrongLengths:
    """A wrong stored length is kept until an edit would make it harmful."""

    data = in_container(0x3D3D, chunk(0x1101), chunk(0x4000, b"Box\0", length=999))

    def test_kept_while_nothing_changes(self) -> None:
        document = decoded(self.data)
        assert reports(document) == [("STRUCT_CHUNK_OVERRUN", "/4d4d/3d3d/4000[0]", 20)]

    def test_corrected_if_the_chunk_is_edited(self) -> None:
        document = decoded(self.data)
        record = document.first(records.NamedObject)
        record.name = b"Sphere"
        assert keyframer.encode(document) == in_container(0x3D3D, chunk(0x1101), chunk(0x4000, b"Sphere\0"))

    def test_corrected_if_a_chunk_is_added_after_it(self) -> None:
        document = decoded(self.data)
        children(document, records.Editor).append(records.UseFog())
        written = keyframer.encode(document)
        assert written == in_container(0x3D3D, chunk(0x1101), chunk(0x4000, b"Box\0"), chunk(0x2201))
        assert decoded(written).first(records.UseFog) is not None

    def test_corrected_if_the_chunk_moves(self) -> None:
        document = decoded(self.data)
        children(document, records.Editor).reverse()
        assert keyframer.encode(document) == in_container(0x3D3D, chunk(0x4000, b"Box\0"), chunk(0x1101))

    def test_corrected_if_the_parent_gets_a_tail(self) -> None:
        document = decoded(self.data)
        editor = document.first(records.Editor)
        editor.tail = b"???"
        assert keyframer.encode(document) == in_container(0x3D3D, chunk(0x1101), chunk(0x4000, b"Box\0"), b"???")

    def test_kept_if_another_chunk_changes(self) -> None:
        document = decoded(self.data)
        del children(document, records.Editor)[0]
        assert keyframer.encode(document) == in_container(0x3D3D, chunk(0x4000, b"Box\0", length=999))

    @pytest.mark.parametrize("length", [0, 5, 1000])
    def test_of_the_main_chunk(self, length: int) -> None:
        version = chunk(0x0002, struct.pack("<I", 3))
        document = decoded(chunk(0x4D4D, version, length=length))
        document.trailing = b"behind"
        assert keyframer.encode(document) == chunk(0x4D4D, version) + b"behind"
        document.trailing = b""
        document.records[0].children.append(records.Editor())
        assert keyframer.encode(document) == chunk(0x4D4D, version, chunk(0x3D3D))


def test_trailing_bytes_of_lists_are_kept_when_edited() -> None:
    document = decoded(in_container(0x4100, chunk(0x4110, struct.pack("<H3f", 1, 1, 2, 3), b"slack")))
    (points,) = innermost(document, 0x4100)
    assert isinstance(points, records.PointArray)
    points.points = np.zeros((2, 3))
    assert keyframer.encode(document) == in_container(0x4100, chunk(0x4110, struct.pack("<H6f", 2, *[0] * 6), b"slack"))


def test_error_for_a_value_that_does_not_fit_names_the_field() -> None:
    document = decoded(WINDMILL)
    points = document.first(records.PointArray)
    points.points = np.zeros((70_000, 3))
    with pytest.raises(ValueError, match=r"PointArray\.points: 70000 entries, but a file can store at most 65535"):
        keyframer.encode(document)


@pytest.mark.parametrize("name", [*SAMPLES, "windmill.3ds"])
def test_documents_can_be_copied_and_pickled(name: str) -> None:
    """For example to send them to another process."""
    data = (FOLDER / "3ds" / name).read_bytes()
    document = decoded(data)
    for twin in (pickle.loads(pickle.dumps(document)), copy.deepcopy(document)):
        assert keyframer.encode(twin) == data
        assert list(map(str, twin.issues)) == list(map(str, document.issues))
