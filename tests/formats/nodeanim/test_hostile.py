"""Damaged and hostile files, for each row of the safety table: nothing is lost, every issue is located."""

from __future__ import annotations

import contextlib
import struct
import tracemalloc
from dataclasses import replace

import pytest

import keyframer
from keyframer.formats.nodeanim import document as document_module
from keyframer.formats.nodeanim.records import Animations, Header, Node, RawChunk
from keyframer.formats.nodeanim.sniff import beginnings
from keyframer.wire.record import take_record
from tests.building.nodeanim import (
    TCB,
    Bone,
    Clip,
    Framing,
    Key,
    bone_content,
    chunk,
    clips,
    framings,
    header_content,
    with_key_flags,
    write,
)
from tests.growth import assert_linear

HOW = Framing()
CLIP = clips()["mixed"]
ONE = chunk(1, header_content(CLIP, HOW), HOW)
NODES = b"".join(bone_content(bone, HOW) for bone in CLIP.bones)
TWO = chunk(2, NODES, HOW)


def read(data: bytes) -> keyframer.Document:
    document = keyframer.decode(data, format="nodeanim")
    assert keyframer.encode(document) == data
    return document


def issues_of(document: keyframer.Document) -> list[tuple[str, str, int]]:
    """Code, path and offset of every issue."""
    return [(issue.code, issue.path, issue.offset) for issue in document.issues]


def nodes_of(document: keyframer.Document) -> int:
    return sum(1 for _ in document.find(Node))


@pytest.mark.parametrize("size", [0, 3, 5])
def test_chunk_smaller_than_its_header(size: int) -> None:
    document = read(struct.pack("<HI", 1, size) + ONE[6:] + TWO)
    assert issues_of(document)[0] == ("STRUCT_CHUNK_TOO_SMALL", "/header", 2)
    assert document.trailing
    document = read(ONE + struct.pack("<HI", 2, size) + TWO[6:])
    assert ("STRUCT_CHUNK_TOO_SMALL", "/animations", len(ONE) + 2) in issues_of(document)


@pytest.mark.parametrize("size", [0xFFFFFFFF, 0x80000000, len(TWO) + 1])
def test_chunk_larger_than_the_file(size: int) -> None:
    document = read(ONE + struct.pack("<HI", 2, size) + TWO[6:])
    assert issues_of(document) == [("STRUCT_CHUNK_OVERRUN", "/animations", len(ONE) + 2)]
    assert nodes_of(document) == len(CLIP.bones)
    document = read(struct.pack("<HI", 1, size) + ONE[6:])
    assert issues_of(document)[0] == ("STRUCT_CHUNK_OVERRUN", "/header", 2)


def test_chunk_two_before_chunk_one() -> None:
    document = read(TWO + ONE)
    assert issues_of(document) == [("STRUCT_CHUNK_ORDER", "/animations", 0)]
    assert nodes_of(document) == len(CLIP.bones)


def test_a_missing_chunk() -> None:
    assert issues_of(read(ONE)) == [("STRUCT_CHUNK_MISSING", "/", len(ONE))]
    document = read(TWO)
    assert issues_of(document) == [("STRUCT_CHUNK_MISSING", "/", len(TWO))]
    assert nodes_of(document) == len(CLIP.bones)


def test_a_repeated_chunk() -> None:
    document = read(ONE + ONE + TWO + TWO)
    assert [entry for entry in issues_of(document) if entry[0] == "STRUCT_DUPLICATE_CHUNK"] == [
        ("STRUCT_DUPLICATE_CHUNK", "/header[1]", len(ONE)),
        ("STRUCT_DUPLICATE_CHUNK", "/animations[1]", 2 * len(ONE) + len(TWO)),
    ]
    assert nodes_of(document) == 2 * len(CLIP.bones)


def test_unknown_chunks_and_trailing_bytes() -> None:
    document = read(ONE + chunk(77, b"abc", HOW) + TWO + b"rubbish!")
    assert issues_of(document) == [
        ("STRUCT_UNKNOWN_CHUNK", "/chunk_77", len(ONE)),
        ("STRUCT_TRAILING_DATA", "/", len(ONE) + 9 + len(TWO)),
    ]
    assert document.trailing == b"rubbish!"
    document = read(write(CLIP, Framing(">", "u8", "none")) + b"rubbish!")
    assert [code for code, _, _ in issues_of(document)] == ["STRUCT_TRAILING_DATA"]
    assert nodes_of(document) == len(CLIP.bones)


def test_trailing_bytes_in_chunk_one() -> None:
    document = read(chunk(1, header_content(CLIP, HOW) + b"?", HOW) + TWO)
    assert issues_of(document) == [("STRUCT_CHUNK_SLACK", "/header", len(ONE))]


@pytest.mark.parametrize("count", [-1, -32768])
def test_negative_node_count(count: int) -> None:
    for how in framings():
        data = write(replace(CLIP, count=count), how)
        document = read(data)
        assert str(document.dialect) == str(how)
        error = next(issue for issue in document.issues if issue.severity is keyframer.Severity.ERROR)
        assert (error.code, error.path, error.args["count"]) == ("STRUCT_COUNT_NEGATIVE", "/header/node_count", count)
        assert data[error.offset : error.offset + 2] == struct.pack(how.order + "h", count)
        assert nodes_of(document) == 0


@pytest.mark.parametrize("count", [5, 32767])
def test_too_large_a_node_count(count: int) -> None:
    document = read(write(replace(CLIP, count=count), HOW))
    assert issues_of(document) == [("STRUCT_COUNT_EXCEEDS_DATA", "/header/node_count", len(ONE) - 2)]
    assert document.issues[0].args["available"] == nodes_of(document) == 4
    header = document.first(Header)
    assert header is not None
    assert header.node_count == count


def test_too_small_a_node_count() -> None:
    document = read(write(replace(CLIP, count=3), HOW))
    assert [code for code, _, _ in issues_of(document)] == ["STRUCT_CHUNK_SLACK"]
    assert nodes_of(document) == 3
    animations = document.first(Animations)
    assert animations is not None
    assert animations.tail == bone_content(CLIP.bones[3], HOW)


@pytest.mark.parametrize(
    ("flags", "codes"),
    [
        (5, ["SEM_CONTRADICTORY_FLAGS"]),
        (3, ["SEM_CONTRADICTORY_FLAGS"]),
        (0, ["SEM_UNKNOWN_ENUM"]),
        (-1, ["SEM_CONTRADICTORY_FLAGS", "SEM_UNKNOWN_FLAG_BITS"]),
        (0x102, ["SEM_UNKNOWN_FLAG_BITS"]),
    ],
)
def test_flags_of_a_node(flags: int, codes: list[str]) -> None:
    """The TCB bit determines the layout; all other flags cause at most a warning."""
    clip = Clip((replace(CLIP.bones[2], flags=flags), CLIP.bones[1]))
    document = read(write(clip, HOW))
    assert [code for code, _, _ in issues_of(document)] == codes
    assert {issue.path for issue in document.issues} == {"/animations/nodes[0]/flags"}
    at = document.issues[0].offset
    assert struct.unpack_from("<i", keyframer.encode(document), at) == (flags,)
    assert document.issues.worst() is keyframer.Severity.WARNING
    assert [node.translation_keys.has("tension") for node in document.find(Node)] == [bool(flags & TCB), False]


def test_flags_of_the_clip() -> None:
    document = read(write(replace(CLIP, flags=9), HOW))
    assert issues_of(document) == [("SEM_UNKNOWN_FLAG_BITS", "/header/flags", 6)]


def with_counts(*counts: int) -> bytes:
    """One valid node, then one with these key counts but the bytes of a single key."""
    bad = b"bad\0" + struct.pack("<4i", 4, *counts) + bytes(20)
    content = bone_content(Bone(b"good", 4, (Key(0, 0, (1, 2, 3)),)), HOW) + bad
    return chunk(1, header_content(Clip(count=2), HOW), HOW) + chunk(2, content, HOW)


@pytest.mark.parametrize(
    ("counts", "code", "field"),
    [
        ((-1, 0, 0), "STRUCT_COUNT_NEGATIVE", "translation_key_count"),
        ((0, -(2**31), 0), "STRUCT_COUNT_NEGATIVE", "rotation_key_count"),
        ((0, 0, -1), "STRUCT_COUNT_NEGATIVE", "scale_key_count"),
        ((2**31 - 1, 0, 0), "STRUCT_COUNT_EXCEEDS_DATA", "translation_key_count"),
        ((1, 2**31 - 1, 0), "STRUCT_COUNT_EXCEEDS_DATA", "rotation_key_count"),
        ((1, 0, 1), "STRUCT_COUNT_EXCEEDS_DATA", "scale_key_count"),
        ((1431655765, 1431655765, 1431655766), "STRUCT_COUNT_EXCEEDS_DATA", "translation_key_count"),  # sum 2 ** 32
        ((0x0CCCCCCD, 0, 0), "STRUCT_COUNT_EXCEEDS_DATA", "translation_key_count"),  # times 20 wraps to 4
    ],
)
def test_key_counts(counts: tuple[int, int, int], code: str, field: str) -> None:
    data = with_counts(*counts)
    document = read(data)
    assert [(issue.code, issue.path) for issue in document.issues] == [(code, f"/animations/nodes[1]/{field}")]
    at = data.index(b"bad\0") + 8 + 4 * ["translation_key_count", "rotation_key_count", "scale_key_count"].index(field)
    assert document.issues[0].offset == at
    assert nodes_of(document) == 1
    animations = document.first(Animations)
    assert animations is not None
    assert animations.tail.startswith(b"bad\0")


@pytest.mark.parametrize("how", list(framings())[::7], ids=str)
def test_a_truncated_file_keeps_its_dialect_and_its_complete_nodes(how: Framing) -> None:
    clip, how = with_key_flags(CLIP), replace(how, tcb_by_key=True)
    data = write(clip, how)
    cut = len(data) - 10
    document = read(data[:cut])
    assert str(document.dialect) == str(how)
    assert nodes_of(document) == 3
    assert document.issues.worst() is keyframer.Severity.ERROR


def test_non_finite_numbers_are_kept() -> None:
    signalling = struct.unpack("<f", b"\x01\x00\xa0\x7f")[0]
    keys = [Key(0, value, (value, 0.0, 1e38)) for value in (float("nan"), float("-inf"), -5.0, signalling)]
    for order in "<>":
        how = Framing(order)
        data = write(Clip((Bone(b"a", 4, tuple(keys)),)), how)
        patched = data.replace(struct.pack(order + "I", 0x7FE00001), struct.pack(order + "I", 0x7FA00001))
        assert not read(patched).issues


@pytest.mark.parametrize(
    "name", [b"\x1b[2J", b"<script>", "\u202egnp".encode(), b"=cmd|' /C calc'!A0", b"\xff\xfe", b"A" * 70_000]
)
def test_hostile_names_are_kept_as_bytes(name: bytes) -> None:
    clip = replace(CLIP, name=name, author=name, bones=tuple(replace(bone, name=name) for bone in CLIP.bones))
    document = read(write(clip, HOW))
    assert {node.name for node in document.find(Node)} == {name}


def test_text_without_an_end() -> None:
    endless = struct.pack("<i", 0) + b"A" * 50
    document = read(chunk(1, endless, HOW) + TWO)
    assert issues_of(document) == [("STRUCT_STRING_UNTERMINATED", "/header/name", 10)]
    assert isinstance(document.records[0], RawChunk)
    assert nodes_of(document) == 4
    document = read(ONE + chunk(2, NODES[:5], HOW))
    assert issues_of(document) == [("STRUCT_STRING_UNTERMINATED", "/animations/nodes[0]/name", len(ONE) + 6)]
    for text, path in (("u8", "/animations/nodes[0]/name"), ("u32", "/animations/nodes[0]/name")):
        how = Framing(text=text)
        document = read(chunk(1, header_content(CLIP, how), how) + chunk(2, b"\xff" * 4 + b"abc", how))
        assert [(issue.code, issue.path) for issue in document.issues] == [("STRUCT_COUNT_EXCEEDS_DATA", path)]


def test_limits() -> None:
    with pytest.raises(keyframer.FormatError) as caught:
        keyframer.decode(write(CLIP, HOW), limits=keyframer.Limits(name=5))
    assert caught.value.code == "LIMIT_NAME"
    with pytest.raises(keyframer.FormatError) as caught:
        keyframer.decode(write(CLIP, Framing(text="u16")), limits=keyframer.Limits(name=5))
    assert caught.value.code == "LIMIT_NAME"
    with pytest.raises(keyframer.FormatError) as caught:
        keyframer.decode(write(CLIP, HOW), limits=keyframer.Limits(records=4))
    assert (caught.value.code, caught.value.path) == ("LIMIT_RECORDS", "/animations/nodes[2]")
    with pytest.raises(keyframer.FormatError) as caught:
        keyframer.decode(ONE + chunk(7, b"", HOW) * 9 + TWO, limits=keyframer.Limits(records=4))
    assert caught.value.code == "LIMIT_RECORDS"


def test_other_data_is_refused() -> None:
    for data in (b"\0", b"\x01", b"nothing of the kind", bytes(500), b"\x03\x00\x06\x00\x00\x00"):
        with pytest.raises(keyframer.FormatError) as caught:
            read(data)
        assert caught.value.code == "IO_UNRECOGNISED"


def hostile_files(size: int) -> dict[str, bytes]:
    """Files of about this size for which many dialects have to be tried for long."""
    small = Framing(header="u16+u16")
    start = chunk(1, header_content(Clip((), b"a", b""), small), small)
    key = b"\0" + struct.pack("<4i", 2, 1, 0, 1) + bytes(40)
    zeros = Clip((), b"", b"", count=0x7F7F)
    named = b"".join(bytes((1, 0)) + bytes(16) for _ in range(size // 18))
    return {
        "zeros": bytes(size),
        "ones": b"\x01" * size,
        "ids": b"\x01\x00" * (size // 2),
        "long ids": b"\x00\x00\x00\x01" * (size // 4),
        "no NUL": b"\x01\x00" + b"A" * size,
        "tiny chunks": start + chunk(2, b"", small) + chunk(5, b"", small) * (size // 4),
        "tiny chunks without chunk 2": start + chunk(5, b"", small) * (size // 4),
        "tiny chunks first": chunk(5, b"", small) * (size // 4),
        **{
            f"{what} nodes, {header}": chunk(1, header_content(zeros, Framing(header=header)), Framing(header=header))
            + chunk(2, key + nodes, Framing(header=header))
            for header in ("none", "u8", "u16+u32")
            for what, nodes in (("blank", bytes(size)), ("short-named", named))
        },
        "many starts": b"\x01\x00\x00\x00\x00a\x00" * 9 + bytes(size),
    }


@pytest.mark.parametrize("what", hostile_files(64))
def test_hostile_files_take_linear_time(what: str) -> None:
    def decode_or_refuse(data: bytes) -> None:
        with contextlib.suppress(keyframer.FormatError):
            keyframer.decode(data, format="nodeanim")

    assert_linear(decode_or_refuse, hostile_files(1 << 14)[what], hostile_files(1 << 17)[what], times=8)


@pytest.mark.parametrize("what", hostile_files(64))
def test_few_dialects_are_read_to_the_end(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a file looks like: 64 records in each dialect in which it may begin, then at most three whole files."""
    data = hostile_files(1 << 14)[what]
    reads = 0

    def counting(*args: object) -> object:
        nonlocal reads
        reads += 1
        return take_record(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(document_module, "take_record", counting)
    with contextlib.suppress(keyframer.FormatError):
        keyframer.decode(data, format="nodeanim")
    dialects = [beginning for late in (False, True) for beginning in beginnings(data, len(data), after_others=late)]
    smallest_node = 17
    assert reads <= 2 * 64 * len(dialects) + 2 * 3 * (len(data) // smallest_node + 1)


def test_a_huge_count_allocates_nothing() -> None:
    data = with_counts(2**31 - 1, 0, 0)
    keyframer.decode(data, format="nodeanim")
    tracemalloc.start()
    try:
        keyframer.decode(data, format="nodeanim")
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()
