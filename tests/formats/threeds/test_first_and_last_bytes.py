"""What the first and the last bytes of a 3D Studio file tell: empty files, and transfers that took bytes away."""

from __future__ import annotations

import struct

import pytest

import keyframer
from keyframer.formats.threeds import FORMAT
from keyframer.formats.threeds import records as r
from keyframer.formats.threeds.chunk import Chunk
from keyframer.formats.threeds.summary import describe
from keyframer.formats.threeds.text_mode_damage import find_invalid_chunk
from tests.formats.threeds.bridge import make


@pytest.mark.parametrize(("top", "claimed"), [(0x4D4D, True), (0x3DAA, True), (0xC23D, True), (0x3D3D, False)])
def test_a_top_chunk_alone(top: int, claimed: bool) -> None:
    """Six bytes that are a whole file; those of an editor section could be anything."""
    found = keyframer.detect(struct.pack("<HI", top, 6))
    assert (found.format is FORMAT) is claimed
    assert found.reason.startswith("an empty") is claimed


def test_too_little_to_tell_what_happened() -> None:
    for size in range(6):
        assert FORMAT.diagnose(b"MM\n\n\n\n"[:size]) is None


def test_a_transfer_in_text_mode_is_recognised() -> None:
    boxes = [make.mesh(name, [[0.0, 0, 0], [1, 0, 0], [0, 2.8125, 0]] * 22) for name in ("Box", "Lid")]
    data = make.file_bytes(boxes, [])
    spoiled = data.replace(b"\x34\x40", b"\r\n")  # 2.8125 is 00 00 34 40
    assert FORMAT.diagnose(spoiled) is None
    found = FORMAT.diagnose(spoiled.replace(b"\r\n", b"\n"))
    assert found is not None
    assert found.startswith("damaged by a transfer in text mode: 44 bytes missing, ")


def chunk(number: int, content: bytes = b"") -> bytes:
    return struct.pack("<HI", number, 6 + len(content)) + content


def test_a_section_may_end_early_but_not_in_the_middle_of_nowhere() -> None:
    """The lengths of sections are ignored: what can stand behind one ends it."""
    inside = chunk(0x0100, bytes(4)) + chunk(0x3D3E, bytes(4))
    keyframer_section = chunk(0xB000, chunk(0xB00A, bytes(10)))
    whole = chunk(0x4D4D, chunk(0x3D3D, inside) + keyframer_section)
    assert find_invalid_chunk(whole) is None
    nowhere = chunk(0x4D4D, chunk(0x3D3D, inside + b"\x55\x55" + bytes(8)) + keyframer_section)
    assert find_invalid_chunk(nowhere) == 6 + 6 + len(inside)


@pytest.mark.parametrize(
    ("cls", "inside"),
    [
        (r.Mesh, "4000 NamedObject"),
        (r.Editor, "4d4d Main, c23d Project"),
        (r.ColorFloat, "1200, 1300, 2100, 2200, 2302, 4600, a010, a020, a030"),
    ],
)
def test_few_homes_have_names_and_many_their_ids(cls: type[Chunk], inside: str) -> None:
    assert describe(cls) == {"id": f"{cls.ID:04x}", "inside": inside}
