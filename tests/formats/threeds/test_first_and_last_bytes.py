"""Detecting empty 3D Studio files and text-mode transfers from the first and last bytes."""

from __future__ import annotations

import struct

import pytest

import keyframer
from keyframer.formats.threeds import FORMAT
from keyframer.formats.threeds import records as r
from keyframer.formats.threeds.bridge.summary import describe
from keyframer.formats.threeds.chunk import Chunk
from keyframer.formats.threeds.sniff import find_invalid_chunk
from tests.building import threeds_records as make


@pytest.mark.parametrize(("top", "claimed"), [(0x4D4D, True), (0x3DAA, True), (0xC23D, True), (0x3D3D, False)])
def test_an_empty_top_level_chunk(top: int, claimed: bool) -> None:
    """Six bytes are a complete file; those of an editor section are too ambiguous."""
    match = keyframer.detect(struct.pack("<HI", top, 6))
    assert (match.format is FORMAT) is claimed
    assert match.reason.startswith("an empty") is claimed


@pytest.mark.parametrize(("content", "version"), [(struct.pack("<I", 3), "3"), (b"\3\0", None)])
def test_a_version_is_read_only_from_a_chunk_that_holds_it(content: bytes, version: str | None) -> None:
    """A real file has a version of two bytes: the next chunk is no part of it."""
    inside = chunk(0x0002, content) + chunk(0x3D3D)
    assert keyframer.detect(chunk(0x4D4D, inside)).version == version


def test_too_few_bytes_for_a_diagnosis() -> None:
    for size in range(6):
        assert FORMAT.diagnose(b"MM\n\n\n\n"[:size]) is None


def test_a_text_mode_transfer_is_recognised() -> None:
    boxes = [make.mesh(name, [[0.0, 0, 0], [1, 0, 0], [0, 2.8125, 0]] * 22) for name in ("Box", "Lid")]
    data = make.file_bytes(boxes, [])
    spoiled = data.replace(b"\x34\x40", b"\r\n")  # 2.8125 is 00 00 34 40
    assert FORMAT.diagnose(spoiled) is None
    diagnosis = FORMAT.diagnose(spoiled.replace(b"\r\n", b"\n"))
    assert diagnosis.startswith("damaged by a transfer in text mode: 44 bytes missing, ")


def chunk(number: int, content: bytes = b"") -> bytes:
    return struct.pack("<HI", number, 6 + len(content)) + content


def test_a_section_ends_only_at_a_chunk_that_may_follow_it() -> None:
    """The lengths of sections are ignored."""
    inside = chunk(0x0100, bytes(4)) + chunk(0x3D3E, bytes(4))
    keyframer_section = chunk(0xB000, chunk(0xB00A, bytes(10)))
    whole = chunk(0x4D4D, chunk(0x3D3D, inside) + keyframer_section)
    assert find_invalid_chunk(whole) is None
    nowhere = chunk(0x4D4D, chunk(0x3D3D, inside + b"\x55\x55" + bytes(8)) + keyframer_section)
    assert find_invalid_chunk(nowhere) == 6 + 6 + len(inside)


@pytest.mark.parametrize("section", [r.Main, r.Editor, r.Keyframer])
def test_every_declared_chunk_of_a_section_is_valid(section: type[Chunk]) -> None:
    for number in section.valid_children:
        content = chunk(number) if section is r.Main else chunk(section.ID, chunk(number))
        assert find_invalid_chunk(chunk(0x4D4D, content)) is None, f"{number:04x}"


@pytest.mark.parametrize(("top", "number"), [(0x3DAA, 0xAFFF), (0xC23D, 0xC010)])
def test_a_truncated_library_or_project_is_not_taken_for_text_mode_damage(top: int, number: int) -> None:
    assert FORMAT.diagnose(chunk(top, chunk(number, b"\n" * 9))[:-1]) is None


@pytest.mark.parametrize(
    ("cls", "inside"),
    [
        (r.Mesh, "4000 NamedObject"),
        (r.Editor, "4d4d Main, c23d Project"),
        (r.ColorFloat, "1200, 1300, 2100, 2200, 2302, 4600, a010, a020, a030"),
    ],
)
def test_containers_in_descriptions_are_named_or_listed_by_id(cls: type[Chunk], inside: str) -> None:
    assert describe(cls) == {"id": f"{cls.ID:04x}", "inside": inside}
