"""The structure of 3D Studio documents: unusual data is never lost, and is reported with offset and path."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import keyframer
from keyframer.formats.threeds import records
from keyframer.formats.threeds.chunk import CHUNKS, RawChunk
from keyframer.formats.threeds.document import new_document
from keyframer.wire.record import Record, record
from tests.building.threeds import chunk, decoded, in_container, innermost, paths, reports
from tests.samples import FOLDER, unhex
from tests.samples.make_3ds import SAMPLES

VERSION = chunk(0x0002, struct.pack("<I", 3))


def test_the_smallest_mesh_of_the_specification() -> None:
    data = unhex("""
        4d 4d  63 00 00 00              # main chunk, 99 bytes
          3d 3d  5d 00 00 00            #   3D editor
            00 40  57 00 00 00          #     object block
            54 72 69 00                 #       "Tri"
              00 41  4d 00 00 00        #       triangular mesh
                10 41  2c 00 00 00      #         vertices
                03 00                   #           three
                00 00 00 00 00 00 00 00 00 00 00 00
                00 00 80 3f 00 00 00 00 00 00 00 00
                00 00 00 00 00 00 80 3f 00 00 00 00
                20 41  10 00 00 00      #         faces
                01 00                   #           one
                00 00 01 00 02 00 07 00 #           corners 0 1 2, all edges visible
                65 41  07 00 00 00  02  #         colour in the editor
                01 02 03 04             #         four bytes that are no chunk
    """)
    document = decoded(data)
    assert document.format.name == "3ds"
    assert paths(document) == [
        "/4d4d",
        "/4d4d/3d3d",
        "/4d4d/3d3d/4000[0]",
        "/4d4d/3d3d/4000[0]/4100",
        "/4d4d/3d3d/4000[0]/4100/4110",
        "/4d4d/3d3d/4000[0]/4100/4120",
        "/4d4d/3d3d/4000[0]/4100/4165",
    ]
    assert [record.offset for _, record in document.walk()] == [0, 6, 12, 22, 28, 72, 88]
    assert reports(document) == [("STRUCT_CHUNK_SLACK", "/4d4d/3d3d/4000[0]/4100", 95)]
    assert document.first(records.Mesh).tail == unhex("01 02 03 04")
    points = document.first(records.PointArray)
    assert points.points.tolist() == [[0, 0, 0], [1, 0, 0], [0, 1, 0]]


@pytest.mark.parametrize("top", [0x4D4D, 0xC23D, 0x3DAA, 0x3D3D])
def test_top_level_chunks(top: int) -> None:
    assert decoded(chunk(top, chunk(0x0000))).records[0].offset == 0
    empty = decoded(chunk(top))
    assert reports(empty) == [("SEM_EMPTY_DOCUMENT", f"/{top:04x}", 0)]


@pytest.mark.parametrize(
    "data", [b"M", b"MM\x06\0\0", b"\x02\0\x0a\0\0\0\x03\0\0\0", b"\x00\x40\x0a\0\0\0Box\0", bytes(40)]
)
def test_data_that_is_not_3d_studio_is_refused(data: bytes) -> None:
    with pytest.raises(keyframer.FormatError) as caught:
        keyframer.decode(data, format="3ds")
    assert (caught.value.code, caught.value.offset, caught.value.path) == ("IO_UNRECOGNISED", 0, "/")


class TestOddities:
    """The sample with every kind of unusual chunk."""

    document = decoded(SAMPLES["oddities.3ds"]())

    def only(self, path: str) -> object:
        (only_record,) = [record for place, record in self.document.walk() if str(place) == path]
        return only_record

    def test_every_issue(self) -> None:
        editor, mesh, node = "/4d4d/3d3d", "/4d4d/3d3d/4000[0]/4100", "/4d4d/b000/b002[0]"
        assert reports(self.document) == [
            ("STRUCT_TRAILING_DATA", "/", 457),
            ("STRUCT_CHUNK_SLACK", "/4d4d/0002", 16),
            ("STRUCT_UNKNOWN_CHUNK", f"{editor}/0001", 27),
            ("STRUCT_CHUNK_MISPLACED", f"{editor}/b020", 50),
            ("STRUCT_CHUNK_MISPLACED", f"{editor}/3d3d", 60),
            ("STRUCT_CHUNK_SLACK", f"{mesh}/4120", 104),
            ("STRUCT_COUNT_EXCEEDS_DATA", f"{mesh}/4110/points", 113),
            ("STRUCT_DUPLICATE_CHUNK", f"{mesh}/4110[1]", 127),
            ("STRUCT_DUPLICATE_CHUNK", f"{mesh}/4110[2]", 135),
            ("STRUCT_CHUNK_SLACK", f"{mesh}/4110[2]", 155),
            ("STRUCT_COUNT_EXCEEDS_DATA", f"{mesh}/4140/uv", 165),
            ("STRUCT_CHUNK_SLACK", f"{mesh}/4150", 177),
            ("STRUCT_CHUNK_TOO_SMALL", f"{mesh}/4160", 180),
            ("STRUCT_CHUNK_MISPLACED", f"{editor}/4000[0]/4000[0]", 196),
            ("STRUCT_STRING_UNTERMINATED", f"{editor}/4000[1]/name", 221),
            ("STRUCT_DUPLICATE_CHUNK", f"{editor}/afff[0]/a000[1]", 248),
            ("STRUCT_CHUNK_TOO_SMALL", f"{editor}/afff[0]/a200", 260),
            ("STRUCT_CHUNK_OVERRUN", f"{editor}/4000[2]/4100/7777", 282),
            ("STRUCT_UNKNOWN_CHUNK", f"{editor}/4000[2]/4100/7777", 280),
            ("STRUCT_COUNT_EXCEEDS_DATA", f"{node}/b020/keys", 326),
            ("STRUCT_COUNT_EXCEEDS_DATA", f"{node}/b022/keys", 364),
            ("STRUCT_STRING_UNTERMINATED", f"{node}/b026/keys[0]", 425),
            ("STRUCT_COUNT_EXCEEDS_DATA", f"{node}/b029/keys", 444),
        ]

    def test_raw_chunks_and_their_reasons(self) -> None:
        assert [(f"{raw.chunk_id:04x}", raw.reason, len(raw.data)) for raw in self.document.find(RawChunk)] == [
            ("0001", "STRUCT_UNKNOWN_CHUNK", 4),
            ("b020", "STRUCT_CHUNK_MISPLACED", 4),
            ("3d3d", "STRUCT_CHUNK_MISPLACED", 6),
            ("4110", "STRUCT_COUNT_EXCEEDS_DATA", 14),
            ("4140", "STRUCT_COUNT_EXCEEDS_DATA", 2),
            ("4160", "STRUCT_CHUNK_TOO_SMALL", 12),
            ("4000", "STRUCT_CHUNK_MISPLACED", 13),
            ("4000", "STRUCT_STRING_UNTERMINATED", 11),
            ("7777", "STRUCT_UNKNOWN_CHUNK", 12),
            ("b020", "STRUCT_COUNT_EXCEEDS_DATA", 32),
            ("b022", "STRUCT_COUNT_EXCEEDS_DATA", 45),
            ("b026", "STRUCT_STRING_UNTERMINATED", 23),
            ("b029", "STRUCT_COUNT_EXCEEDS_DATA", 23),
        ]

    def test_tails(self) -> None:
        tails = {str(place): record.tail for place, record in self.document.walk() if record.tail}
        assert tails == {
            "/4d4d/0002": b"slack",
            "/4d4d/3d3d/4000[0]/4100/4120": b"\1\2\3",
            "/4d4d/3d3d/4000[0]/4100/4110[2]": struct.pack("<f", 4),
            "/4d4d/3d3d/4000[0]/4100/4150": b"\xff",
            "/4d4d/3d3d/afff[0]": chunk(0xA200, length=3),
        }
        assert self.document.trailing == b"bytes behind the end"

    def test_wrong_lengths_are_kept_next_to_the_correct_ones(self) -> None:
        (wrong,) = [record for record in self.document.find(RawChunk) if record.claimed is not None]
        assert wrong.claimed == (0x7FFFFFFF, 18)


def test_signalling_nans_survive() -> None:
    """Arrays and keys keep them; single numbers would not, so their chunks stay raw with that reason."""
    document = decoded(SAMPLES["signalling_nans.3ds"]())
    assert [(raw.segment, raw.reason) for raw in document.find(RawChunk)] == [
        ("0100", "STRUCT_NOT_REPRODUCIBLE"),
        ("4600", "STRUCT_NOT_REPRODUCIBLE"),
    ]
    assert [issue.severity.label for issue in document.issues] == ["warning", "warning"]
    bits = lambda array: np.ascontiguousarray(array).view("<u4").tolist()  # noqa: E731
    points = document.first(records.PointArray)
    assert bits(points.points)[0] == [0x7FA00001, 0xFFADBEEF, 0x7FC00001]
    track = document.first(records.RotationTrack)
    assert bits(track.keys.tension) == [0x7FA00001, 0]
    assert bits(track.keys.continuity) == [0, 0xFFADBEEF]
    morph = document.first(records.MorphTrack)
    assert bits(morph.keys.extras)[0] == [0x7FA00001, 0xFFADBEEF, 0x7FC00001, 0x7FA00001, 0x7FA00001]
    planes = document.first(records.ConstructionPlanes)
    assert np.isnan(planes.planes[0])
    assert planes.planes[1] == float("inf")


class TestLengths:
    def test_a_main_chunk_longer_than_the_file(self) -> None:
        document = decoded(SAMPLES["cut.3ds"]())
        assert reports(document) == [
            ("STRUCT_TRUNCATED", "/4d4d", 2),
            ("STRUCT_TRUNCATED", "/4d4d/3d3d/4000[1]/4700/position", 218),
        ]
        assert [str(place) for place, record in document.walk() if getattr(record, "claimed", None)] == [
            "/4d4d",
            "/4d4d/3d3d",
            "/4d4d/3d3d/4000[1]",
            "/4d4d/3d3d/4000[1]/4700",
        ]

    @pytest.mark.parametrize("length", [0, 1, 5])
    def test_a_main_chunk_shorter_than_its_header(self, length: int) -> None:
        document = decoded(chunk(0x4D4D, VERSION, length=length))
        assert reports(document) == [("STRUCT_CHUNK_TOO_SMALL", "/4d4d", 2)]
        assert document.first(records.Version) is not None

    def test_bytes_after_the_main_chunk(self) -> None:
        data = chunk(0x4D4D, VERSION)
        document = decoded(data + data)
        assert document.trailing == data
        assert reports(document) == [("STRUCT_TRAILING_DATA", "/", len(data))]

    @pytest.mark.parametrize("length", [0, 1, 5])
    def test_a_chunk_shorter_than_its_header_ends_its_parent(self, length: int) -> None:
        rest = chunk(0x3D3E, length=length) + chunk(0x0100, struct.pack("<f", 1))
        document = decoded(in_container(0x3D3D, chunk(0x1101), rest))
        (flag,) = innermost(document, 0x3D3D)
        assert isinstance(flag, records.UseBackgroundBitmap)
        assert document.first(records.Editor).tail == rest
        assert reports(document) == [("STRUCT_CHUNK_TOO_SMALL", "/4d4d/3d3d/3d3e", 6 + 6 + 6 + 2)]

    @pytest.mark.parametrize("length", [0x80000000, 0xFFFFFFFF, 17])
    def test_a_chunk_longer_than_its_parent_is_cut_at_its_end(self, length: int) -> None:
        data = in_container(0x3D3D, chunk(0x0100, struct.pack("<f", 2), length=length))
        data = struct.pack("<HI", 0x4D4D, len(data) + 10) + data[6:] + VERSION
        document = decoded(data)
        scale = document.first(records.MasterScale)
        assert (scale.scale, scale.claimed) == (2.0, (length, 10))
        assert reports(document) == [("STRUCT_CHUNK_OVERRUN", "/4d4d/3d3d/0100", 14)]
        assert document.first(records.Version) is not None

    def test_a_truncated_file_is_not_reported_for_every_enclosing_chunk(self) -> None:
        whole = SAMPLES["bare_editor.3ds"]()
        codes = [issue.code for issue in decoded(whole[:-3]).issues]
        assert codes == ["STRUCT_TRUNCATED", "STRUCT_TRUNCATED"]


@pytest.mark.parametrize(
    ("home", "data", "code", "path", "offset"),
    [
        (0x4100, chunk(0x4160, bytes(47)), "STRUCT_CHUNK_TOO_SMALL", "/4d4d/3d3d/4000[0]/4100/4160", 30),
        (0x4000, chunk(0x4700, bytes(31)), "STRUCT_CHUNK_TOO_SMALL", "/4d4d/3d3d/4000[0]/4700", 24),
        (0x4D4D, chunk(0x0002, b"\3"), "STRUCT_CHUNK_TOO_SMALL", "/4d4d/0002", 8),
        (0x4100, chunk(0x4110, b"\1"), "STRUCT_CHUNK_TOO_SMALL", "/4d4d/3d3d/4000[0]/4100/4110", 30),
        (0xB002, chunk(0xB020, bytes(13)), "STRUCT_CHUNK_TOO_SMALL", "/4d4d/b000/b002[0]/b020", 20),
        (0xB002, chunk(0xB010, b"Box\0\0\0\0"), "STRUCT_TRUNCATED", "/4d4d/b000/b002[0]/b010/flags1", 28),
        (0x3D3D, chunk(0x4000), "STRUCT_STRING_UNTERMINATED", "/4d4d/3d3d/4000[0]/name", 18),
        (
            0x4120,
            chunk(0x4130, b"red"),
            "STRUCT_STRING_UNTERMINATED",
            "/4d4d/3d3d/4000[0]/4100/4120/4130[0]/material",
            42,
        ),
        (
            0x4120,
            chunk(0x4130, b"red\0\2\0\0\0"),
            "STRUCT_COUNT_EXCEEDS_DATA",
            "/4d4d/3d3d/4000[0]/4100/4120/4130[0]/faces",
            46,
        ),
        (0x4100, chunk(0x4120, b"\xff\xff"), "STRUCT_COUNT_EXCEEDS_DATA", "/4d4d/3d3d/4000[0]/4100/4120/faces", 34),
    ],
)
def test_chunks_with_invalid_content_stay_raw(home: int, data: bytes, code: str, path: str, offset: int) -> None:
    document = decoded(in_container(home, data))
    assert reports(document) == [(code, path, offset)]
    (raw,) = innermost(document, home)
    assert isinstance(raw, RawChunk)
    assert (raw.reason, raw.data) == (code, data[6:])


def test_the_issue_of_a_truncated_key_names_the_key() -> None:
    """The fourth node, its position track, the fourth key."""
    key = struct.pack("<iHf3f", 0, 1, 0.5, 1, 2, 3)
    track = chunk(0xB020, bytes(10), struct.pack("<I", 4), key * 3, key[:20])
    nodes = [chunk(0xB002)] * 3 + [chunk(0xB002, track)]
    data = in_container(0xB000, *nodes)
    document = decoded(data)
    (issue,) = document.issues
    assert issue.path == "/4d4d/b000/b002[3]/b020/keys[3]"
    assert (issue.code, issue.offset, issue.message) == (
        "STRUCT_TRUNCATED",
        len(data) - 20,
        "expected 22 bytes, 20 remaining",
    )
    assert (
        str(issue) == f"error: STRUCT_TRUNCATED at {issue.offset:#x} in {issue.path}: expected 22 bytes, 20 remaining"
    )


def test_a_raw_chunk_has_the_path_of_its_issue() -> None:
    document = decoded(
        in_container(0x3D3D, chunk(0x4000, b"no end"), chunk(0x4000, b"x\0"), chunk(0xAFFF, chunk(0x4000, b"")))
    )
    assert paths(document)[2:] == [
        "/4d4d/3d3d/4000[0]",
        "/4d4d/3d3d/4000[1]",
        "/4d4d/3d3d/afff[0]",
        "/4d4d/3d3d/afff[0]/4000[0]",
    ]
    assert [issue.path for issue in document.issues] == ["/4d4d/3d3d/4000[0]/name", "/4d4d/3d3d/afff[0]/4000[0]"]
    raw = document.first(RawChunk)
    assert raw is not None
    assert document.path_of(raw) == "/4d4d/3d3d/4000[0]"


def test_the_content_of_unknown_chunks_is_not_parsed() -> None:
    inside = chunk(0x4000, b"Box\0", chunk(0x4100))
    for number in (0x7777, 0x4110):  # unknown; known but not here
        document = decoded(in_container(0x4D4D, chunk(number, inside)))
        (raw,) = innermost(document, 0x4D4D)
        assert isinstance(raw, RawChunk)
        assert raw.data == inside
        assert not raw.children


class TestLimits:
    def refuse(self, data: bytes, **limits: int) -> keyframer.FormatError:
        with pytest.raises(keyframer.FormatError) as caught:
            keyframer.decode(data, format="3ds", limits=keyframer.Limits(**limits))
        return caught.value

    def test_records(self) -> None:
        data = in_container(0x3D3D, *[chunk(0x1101)] * 3)  # five in all
        assert len(paths(keyframer.decode(data, limits=keyframer.Limits(records=5)))) == 5
        error = self.refuse(data, records=4)
        assert (error.code, error.offset, error.path) == ("LIMIT_RECORDS", 24, "/4d4d/3d3d/1101[2]")

    def test_depth(self) -> None:
        """The grammar itself has six levels, far below the default of 16: only a lower limit can be exceeded."""
        data = in_container(0x4120, chunk(0x4130, b"red\0\0\0"))
        assert not list(keyframer.decode(data, limits=keyframer.Limits(depth=6)).issues)
        error = self.refuse(data, depth=5)
        assert (error.code, error.path) == ("LIMIT_DEPTH", "/4d4d/3d3d/4000[0]/4100/4120/4130[0]")
        assert error.offset == len(data) - 12
        assert _deepest() == 6 < keyframer.Limits().depth

    def test_name(self) -> None:
        data = in_container(0x3D3D, chunk(0x4000, b"x" * 11 + b"\0"))
        assert not list(keyframer.decode(data, limits=keyframer.Limits(name=11)).issues)
        error = self.refuse(data, name=10)
        assert (error.code, error.offset, error.path) == ("LIMIT_NAME", 18, "/4d4d/3d3d/4000[0]/name")

    def test_name_in_a_key(self) -> None:
        track = chunk(0xB026, bytes(10), struct.pack("<IiH", 1, 0, 0), b"x" * 11 + b"\0")
        error = self.refuse(in_container(0xB002, track), name=10)
        assert (error.code, error.path) == ("LIMIT_NAME", "/4d4d/b000/b002[0]/b026/keys[0]")

    def test_issues(self) -> None:
        data = in_container(0x3D3D, *[chunk(0x7777)] * 30, chunk(0x0100))
        document = keyframer.decode(data)
        assert document.issues.counts == {"STRUCT_UNKNOWN_CHUNK": 30, "STRUCT_CHUNK_TOO_SMALL": 1}
        assert (len(document.issues), document.issues.total, document.issues.truncated) == (21, 31, True)
        few = keyframer.decode(data, limits=keyframer.Limits(issues=5, issues_per_code=3)).issues
        assert (len(few), few.total) == (4, 31)
        none = keyframer.decode(data, limits=keyframer.Limits(issues=0)).issues
        assert (len(none), none.total, none.truncated) == (0, 31, True)
        error = none.first_unsafe()  # the cap on the list hides no error
        assert error.code == "STRUCT_CHUNK_TOO_SMALL"


def _deepest() -> int:
    """The longest path in the grammar, in chunks; endless if the grammar were recursive."""
    longest = 0
    ways = [(top,) for top in records.TOP_IDS]
    while ways:
        way = ways.pop()
        assert len(set(way)) == len(way), "a chunk may stand inside itself"
        longest = max(longest, len(way))
        ways += [(*way, inner) for inner in CHUNKS[way[-1]].valid_children if not CHUNKS[inner].opaque]
    return longest


def test_find_and_first() -> None:
    document = keyframer.read(FOLDER / "3ds" / "tracks.3ds")
    tracks = list(document.find(records.Track))
    assert len(tracks) == 11
    assert [type(track).__name__ for track in tracks[:2]] == ["PositionTrack", "RotationTrack"]
    assert document.first(records.Track) is tracks[0]
    assert [len(nodes.children) for nodes in document.find(records.Node)] == [11, 2, 1, 3]
    assert document.first(records.Material) is None
    assert list(document.find(records.Material)) == []
    with pytest.raises(LookupError):
        document.path_of(records.Material())
    assert "<3ds document: 28 records" in repr(document)


@settings(max_examples=80, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_any_tree_of_chunks(data: st.DataObject) -> None:
    """Trees of known and unknown ids with any payload and any lengths are written back unchanged."""
    places = (0x3D3D, 0x4000, 0x4100, 0x4110, 0x4120, 0x4130, 0xAFFF, 0xA000, 0xB000, 0xB002, 0xB020, 0xB026)
    some = st.sampled_from([*places, 0x0000, 0x7777])

    def tree(depth: int) -> bytes:
        inside = [tree(depth - 1) for _ in range(data.draw(st.integers(0, 3 if depth else 0)))]
        fields = data.draw(st.sampled_from([b"", b"Box\0", bytes(2), b"\1\0", bytes(14)]) | st.binary(max_size=24))
        body = fields + b"".join(inside)
        length = data.draw(st.just(len(body) + 6) | st.integers(0, 80) | st.sampled_from([2**31, 2**32 - 1]))
        return chunk(data.draw(some), body, length=length)

    whole = b"".join(tree(3) for _ in range(3))
    decoded(chunk(0x4D4D, whole, length=data.draw(st.just(len(whole) + 6) | st.integers(0, 200))))


def test_building_a_document() -> None:
    document = new_document(
        records.Version(3),
        records.Editor(
            children=[
                records.NamedObject(
                    b"Tri",
                    children=[
                        records.Mesh(
                            children=[
                                records.PointArray([[0, 0, 0], [1, 0, 0], [0, 1, 0]]),
                                records.FaceArray([[0, 1, 2, 7]]),
                            ]
                        )
                    ],
                )
            ]
        ),
        records.Keyframer(
            children=[
                records.KeyframerHeader(name=b"MINE", length=10),
                records.ObjectNode(
                    children=[
                        records.NodeId(0),
                        records.NodeHeader(b"Tri"),
                        records.PositionTrack(keys=records.Keys.make([0, 10], [[0, 0, 0], [5, 0, 0]], ease_to=[0, 1])),
                    ]
                ),
            ]
        ),
    )
    assert document.format.name == "3ds"
    data = keyframer.encode(document)
    reread = decoded(data)
    assert not list(reread.issues)
    assert keyframer.detect(data).score == 1.0
    position = reread.first(records.PositionTrack)
    assert position.keys.value.tolist() == [[0, 0, 0], [5, 0, 0]]
    assert position.keys.ease_to.tolist() == [0, 1]
    header = reread.first(records.NodeHeader)
    assert (header.name, header.parent) == (b"Tri", -1)
    assert paths(reread) == paths(document)


@pytest.mark.parametrize("top", ["Main", "Project", "MaterialLibrary", "Editor"])
def test_the_top_level_chunk_can_be_chosen(top: str) -> None:
    top_chunk = getattr(records, top)(children=[records.Material(children=[records.MaterialName(b"red")])])
    assert keyframer.encode(new_document(top_chunk)) == chunk(top_chunk.id, chunk(0xAFFF, chunk(0xA000, b"red\0")))


def test_new_trees_of_any_depth_are_written() -> None:
    inner = records.Editor()
    for _ in range(5_000):
        inner = records.Editor(children=[inner])
    document = new_document(inner)
    data = keyframer.encode(document)
    assert len(data) == 6 * 5_001
    assert sum(1 for _ in document.walk()) == sum(1 for _ in document.find(records.Editor)) == 5_001


@pytest.mark.parametrize("raw_chunk", [RawChunk(0x12345, b""), RawChunk(-1, b"")])
def test_an_id_that_does_not_fit_in_16_bits_is_refused(raw_chunk: RawChunk) -> None:
    with pytest.raises(ValueError, match="must fit in 16 bits"):
        keyframer.encode(new_document(records.Main(children=[raw_chunk])))


def test_only_chunks_can_be_written() -> None:
    @record
    class Stranger(Record):
        """A record of some other format."""

    with pytest.raises(ValueError, match="is not a chunk"):
        keyframer.encode(new_document(records.Main(children=[Stranger()])))
