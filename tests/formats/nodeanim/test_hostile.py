"""Damaged and hostile files, for each row of the safety table: nothing is lost, every issue is located."""

from __future__ import annotations

import contextlib
import struct
from dataclasses import replace

import pytest

import keyframer
from keyframer.formats.nodeanim.records import Animations, Node, RawChunk
from tests.building.nodeanim import (
    TCB,
    Clip,
    Framing,
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


def test_too_small_a_node_count() -> None:
    document = read(write(replace(CLIP, count=3), HOW))
    assert [code for code, _, _ in issues_of(document)] == ["STRUCT_CHUNK_SLACK"]
    assert nodes_of(document) == 3
    assert document.first(Animations).tail == bone_content(CLIP.bones[3], HOW)


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


@pytest.mark.parametrize("how", list(framings())[::7], ids=str)
def test_a_truncated_file_keeps_its_dialect_and_its_complete_nodes(how: Framing) -> None:
    clip, how = with_key_flags(CLIP), replace(how, tcb_by_key=True)
    data = write(clip, how)
    cut = len(data) - 10
    document = read(data[:cut])
    assert str(document.dialect) == str(how)
    assert nodes_of(document) == 3
    assert document.issues.worst() is keyframer.Severity.ERROR


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
    with pytest.raises(keyframer.FormatError, match=r"^LIMIT_NAME\b"):
        keyframer.decode(write(CLIP, HOW), limits=keyframer.Limits(name=5))
    with pytest.raises(keyframer.FormatError, match=r"^LIMIT_NAME\b"):
        keyframer.decode(write(CLIP, Framing(text="u16")), limits=keyframer.Limits(name=5))
    with pytest.raises(keyframer.FormatError) as caught:
        keyframer.decode(write(CLIP, HOW), limits=keyframer.Limits(records=4))
    assert (caught.value.code, caught.value.path) == ("LIMIT_RECORDS", "/animations/nodes[2]")
    with pytest.raises(keyframer.FormatError, match=r"^LIMIT_RECORDS\b"):
        keyframer.decode(ONE + chunk(7, b"", HOW) * 9 + TWO, limits=keyframer.Limits(records=4))


def test_other_data_is_refused() -> None:
    for data in (b"\0", b"\x01", b"nothing of the kind", bytes(500), b"\x03\x00\x06\x00\x00\x00"):
        with pytest.raises(keyframer.FormatError, match=r"^IO_UNRECOGNISED\b"):
            read(data)


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
