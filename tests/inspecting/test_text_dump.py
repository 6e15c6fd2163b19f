"""Documents as text: readable, complete, and built into the same bytes for any numbers."""

from __future__ import annotations

import difflib
import json
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import keyframer
from keyframer.formats.kit.key_table import Keys
from keyframer.formats.threeds.chunk import RawChunk
from keyframer.formats.threeds.document import new_document
from keyframer.formats.threeds.records import (
    Editor,
    Keyframer,
    MasterScale,
    Mesh,
    NamedObject,
    ObjectNode,
    PointArray,
    PositionTrack,
    TextureVertices,
    Version,
)
from keyframer.inspecting.text_build import build_bytes
from tests.building.editing import dump_text
from tests.samples import all_samples, sample_files
from tests.slow import SLOW

PER_SAMPLE = pytest.mark.parametrize(
    ("name", "path"), all_samples(), ids=[f"{name}-{path.name}" for name, path in all_samples()]
)


def round_trip(data: bytes, **how: bool) -> str:
    text = dump_text(keyframer.decode(data), **how)
    assert build_bytes(text)[1] == data
    return text


@PER_SAMPLE
def test_damaged_samples_survive_text(name: str, path: Path) -> None:
    """Truncated files, overruns and invalid data keep their wrong sizes and raw bytes in the text."""
    data = path.read_bytes()
    for size in range(1, len(data), max(1, len(data) // (12 if SLOW else 5))):
        for variant in (data[:size], data + data[:size], data[:size] + b"\xff\xff\xff" + data[size + 3 :]):
            try:
                document = keyframer.decode(variant, format=name)
            except keyframer.FormatError:
                continue
            assert build_bytes(dump_text(document))[1] == variant


def test_rows_and_short_records_are_on_one_line() -> None:
    text = round_trip(sample_files("3ds")[-1].read_bytes())
    lines = [line.strip() for line in text.splitlines()]
    assert '{"record": "Version", "segment": "0002", "offset": "0x6", "fields": {"version": 3}},' in lines
    assert "[0.0, 0.0, 58.0]" in lines  # the top of the tower: the last of its vertices
    assert any(line.startswith('{"frame": 25, "flags": 1, "tension": 0.5, "value": [0.9, ') for line in lines)


@given(st.lists(st.integers(0, 2**32 - 1), min_size=9, max_size=9))
@settings(max_examples=200)
def test_every_float_survives(bits: list[int]) -> None:
    raw = struct.pack("<9I", *bits)
    floats = np.frombuffer(raw, "<f4")
    scene = new_document(
        Editor(
            children=[
                NamedObject(b"x", children=[Mesh(children=[PointArray(floats.reshape(3, 3)), TextureVertices()])]),
                RawChunk(chunk_id=0x0100, data=struct.pack("<I", bits[0])),  # a scalar that may be a signalling NaN
            ]
        ),
        Keyframer(
            children=[ObjectNode(children=[PositionTrack(keys=Keys.make([0, 1], floats[:6], tension=floats[6:8]))])]
        ),
    )
    round_trip(keyframer.encode(scene))


@pytest.mark.parametrize(
    "bits", [0x7FC00000, 0x7FA00001, 0xFFC12345, 0xFF800001, 0x7F800000, 0xFF800000, 0x80000000, 1]
)
def test_unusual_floats_in_scalars_and_arrays(bits: int) -> None:
    raw = struct.pack("<I", bits)
    scale = b"\x00\x01" + struct.pack("<I", 10) + raw
    points = b"\x10\x41" + struct.pack("<IH", 20, 1) + raw * 3
    mesh = b"\x00\x41" + struct.pack("<I", 6 + len(points)) + points
    named = b"\x00\x40" + struct.pack("<I", 8 + len(mesh)) + b"x\0" + mesh
    editor = b"\x3d\x3d" + struct.pack("<I", 6 + len(scale + named)) + scale + named
    data = b"\x4d\x4d" + struct.pack("<I", 6 + len(editor)) + editor
    text = round_trip(data)
    json.loads(text, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))


def test_edit_changes_only_its_bytes() -> None:
    data = next(path for path in sample_files("3ds") if path.name == "windmill.3ds").read_bytes()
    text = dump_text(keyframer.decode(data), offsets=False)
    same_size = build_bytes(text.replace('"STONE.PNG"', '"BRICK.PNG"'))[1]
    assert len(same_size) == len(data)
    assert sum(a != b for a, b in zip(data, same_size, strict=True)) == 5
    longer = build_bytes(text.replace('"STONE.PNG"', '"LIMESTONE.PNG"'))[1]
    assert len(longer) == len(data) + 4
    again = dump_text(keyframer.decode(longer), offsets=False)
    changes = [line for line in difflib.ndiff(text.splitlines(), again.splitlines()) if line[0] in "+-"]
    assert len(changes) == 2
    assert keyframer.decode(longer).issues.total == 0  # the lengths of the enclosing chunks were computed again
    assert longer.endswith(data[data.index(b"STONE.PNG") + 9 :])


def test_added_row_changes_the_count() -> None:
    scene = new_document(
        Editor(children=[NamedObject(b"x", children=[Mesh(children=[PointArray(np.zeros((2, 3), np.float32))])])])
    )
    text = dump_text(scene).replace("[0.0, 0.0, 0.0]", "[0.0, 0.0, 0.0],\n[1, 2.5, -3]", 1)
    document, data = build_bytes(text)
    points = document.first(PointArray)
    assert points.points.tolist() == [[0, 0, 0], [1, 2.5, -3], [0, 0, 0]]
    assert keyframer.decode(data).issues.total == 0


def test_raw_bytes_are_hex_in_lines() -> None:
    scene = new_document(Version(3), RawChunk(chunk_id=0x9999, data=bytes(range(100))))
    text = round_trip(keyframer.encode(scene))
    assert '"00010203 04050607 08090a0b 0c0d0e0f 10111213 14151617 18191a1b 1c1d1e1f",' in text
    assert '"chunk_id": 39321' in text


def test_deep_records_need_no_recursion() -> None:
    chunk = MasterScale(1.0)
    for _ in range(150):
        chunk = Editor(children=[chunk])  # type: ignore[assignment]
    text = dump_text(new_document(chunk))
    nested = json.loads(text)["records"]
    depth = 0
    while nested:
        nested, depth = nested[0].get("children"), depth + 1
    assert depth == 151
