"""Blitz3D files as documents: chunks, their fields in the terms of the specification, damage."""

from __future__ import annotations

import keyframer
from keyframer.formats.b3d import FORMAT
from keyframer.formats.b3d import document as d
from tests.samples import sample_files, unhex
from tests.samples.b3d.make import SAMPLES, chunk, file, floats, ints, layered, node, odd, swaying, text


def test_samples_are_those_of_the_script() -> None:
    files = {path.stem: path.read_bytes() for path in sample_files("b3d")}
    assert files == {name: make() for name, make in SAMPLES.items()}


def test_fields() -> None:
    document = keyframer.decode(layered())
    assert [str(place) for place, _ in document.walk()][:10] == [
        *("/BB3D", "/BB3D/TEXS[0]", "/BB3D/TEXS[0]/texture[0]", "/BB3D/TEXS[0]/texture[1]", "/BB3D/TEXS[0]/texture[2]"),
        *("/BB3D/BRUS[0]", "/BB3D/BRUS[0]/brush[0]", "/BB3D/BRUS[1]", "/BB3D/BRUS[1]/brush[0]"),
        "/BB3D/BRUS[1]/brush[1]",
    ]
    light = list(document.find(d.Texture))[1]
    assert (light.file, light.flags, light.blend) == (b"light.png", 65537, 3)
    assert (light.position, light.scale, light.rotation) == ((0.25, 0.5), (2.0, 4.0), 0.5)
    assert [brush.textures.tolist() for brush in document.find(d.Brush)] == [[-1], [0, 1, 2], [-1, 1, -1]]
    vertices = document.first(d.Vertices)
    assert vertices is not None
    assert vertices.vertices.dtype.names == ("position", "normal", "color", "coordinates")
    assert vertices.vertices["coordinates"].tolist()[1] == [1.0, 1.0, 0.5, 0.0]
    assert keyframer.encode(document) == layered()


def test_columns_of_keys_depend_on_their_flags() -> None:
    keys = list(keyframer.decode(swaying()).find(d.Keys))
    assert [record.keys.dtype.names for record in keys] == [("frame", "position", "scale"), ("frame", "rotation")]
    assert keys[0].keys["position"].tolist() == [[0, 0, 0], [0, 1, 0]]


def test_detection() -> None:
    sniff = FORMAT.sniff
    matches = [sniff(swaying(), 707), sniff(swaying(), 800), sniff(swaying()[:8], 8), sniff(b"BBBB" * 4, 16)]
    assert [match and match.score for match in matches] == [1.0, 0.8, 0.6, None]
    assert matches[0] is not None
    assert matches[0].version == "0.01"


def test_odd_files_are_kept_and_reported() -> None:
    document = keyframer.decode(odd())
    assert [(issue.code, issue.path) for issue in document.issues] == [
        ("STRUCT_CHUNK_SLACK", "/BB3D/NODE[0]/KEYS[0]"),
        ("STRUCT_CHUNK_TOO_SMALL", "/BB3D/NODE[0]/ANIM"),
    ]
    assert keyframer.encode(document) == odd()


def test_skeletons_of_real_depth() -> None:
    data = b""
    for level in range(60):
        data = node(f"bone{level}", data)
    assert keyframer.encode(keyframer.decode(file(data))) == file(data)
    assert len(keyframer.load(file(data)).nodes) == 60


def test_a_brush_with_fewer_textures_than_its_chunk_states() -> None:
    data = file(chunk("BRUS", ints(2), text("a") + floats(1, 1, 1, 1, 0) + ints(1, 0, -1)), node("n"))
    document = keyframer.decode(data)
    (issue,) = document.issues
    assert (issue.code, issue.path) == ("STRUCT_COUNT_EXCEEDS_DATA", "/BB3D/BRUS[0]/brush[0]/textures")
    assert keyframer.encode(document) == data


def test_sequences_of_exporters() -> None:
    sequences = [(record.name, record.first, record.last) for record in keyframer.decode(swaying()).find(d.Sequence)]
    assert sequences == [(b"up", 0, 5), (b"down", 5, 10)]


def test_header_bytes() -> None:
    assert swaying()[:12] == unhex("42 42 33 44  bb 02 00 00  01 00 00 00")  # BB3D, 699 bytes, version 1
