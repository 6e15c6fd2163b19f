"""Hostile files: every failure is a `FormatError` with a path; reading never hangs or allocates large memory."""

from __future__ import annotations

import base64
import copy
import json
import os
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import keyframer
from keyframer.errors import FormatError
from keyframer.exchange.gltf.read import extras_reading
from keyframer.exchange.gltf.read.json_text import Item
from keyframer.limits import Budget
from tests.building.gltf import glb, loaded, split_glb, triangle
from tests.building.gltf_scenes import SCENES
from tests.exchange.truth import glb_of
from tests.growth import assert_linear

CASES: list[tuple[str, Any, str, str]] = [
    ("/accessors/0/count", 4, "STRUCT_COUNT_EXCEEDS_DATA", "/accessors[0]/count"),
    ("/accessors/0/count", 2**52, "STRUCT_COUNT_EXCEEDS_DATA", "/accessors[0]/count"),
    ("/accessors/0/count", 10**40, "STRUCT_SYNTAX", "/accessors[0]/count"),
    ("/accessors/0/count", -1, "STRUCT_SYNTAX", "/accessors[0]/count"),
    ("/accessors/0/count", "3", "STRUCT_SYNTAX", "/accessors[0]/count"),
    ("/accessors/0/count", None, "STRUCT_CHUNK_MISSING", "/accessors[0]"),
    ("/accessors/0/byteOffset", 2**50, "STRUCT_COUNT_EXCEEDS_DATA", "/accessors[0]/count"),
    ("/accessors/0/componentType", 5130, "SEM_UNKNOWN_ENUM", "/accessors[0]/componentType"),
    ("/accessors/0/type", "VEC5", "SEM_UNKNOWN_ENUM", "/accessors[0]/type"),
    ("/accessors/0/type", "VEC4", "STRUCT_SYNTAX", "/accessors[0]/type"),
    ("/accessors/0/bufferView", 2, "LINK_INDEX_OUT_OF_RANGE", "/accessors[0]/bufferView"),
    ("/accessors/1/componentType", 5122, "SEM_UNKNOWN_ENUM", "/accessors[1]/componentType"),
    ("/bufferViews/0/byteLength", 45, "STRUCT_TRUNCATED", "/bufferViews[0]/byteLength"),
    ("/bufferViews/0/byteStride", 8, "STRUCT_SYNTAX", "/accessors[0]/bufferView"),
    ("/buffers/0/byteLength", 10**6, "STRUCT_TRUNCATED", "/buffers[0]/byteLength"),
    ("/nodes/0/mesh", 1, "LINK_INDEX_OUT_OF_RANGE", "/nodes[0]/mesh"),
    ("/nodes/0/mesh", -1, "STRUCT_SYNTAX", "/nodes[0]/mesh"),
    ("/nodes/0/children", [0], "LINK_PARENT_CYCLE", "/nodes[0]"),
    ("/nodes/0/children", [1], "LINK_INDEX_OUT_OF_RANGE", "/nodes[0]/children[0]"),
    ("/nodes/0/translation", [0, 0], "STRUCT_SYNTAX", "/nodes[0]/translation"),
    ("/nodes/0/translation", [0, 0, 10**400], "STRUCT_SYNTAX", "/nodes[0]/translation[2]"),
    ("/nodes", {}, "STRUCT_SYNTAX", "/nodes"),
    ("/nodes/0", 5, "STRUCT_SYNTAX", "/nodes[0]"),
    ("/meshes/0/primitives", [], "STRUCT_CHUNK_MISSING", "/meshes[0]"),
    ("/meshes/0/primitives/0/mode", 7, "STRUCT_SYNTAX", "/meshes[0]/primitives[0]/mode"),
    ("/scenes/0/nodes", [3], "LINK_INDEX_OUT_OF_RANGE", "/scenes[0]/nodes[0]"),
    ("/asset/version", "1.0", "SEM_UNKNOWN_ENUM", "/asset/version"),
    ("/asset", None, "STRUCT_CHUNK_MISSING", "/"),
    ("/extensionsRequired", ["EXT_meshopt_compression"], "SEM_EXTENSION_UNKNOWN", "/extensionsRequired[0]"),
]


def changed(place: str, value: Any) -> bytes:
    root, binary = triangle()
    *way, last = [int(part) if part.isdigit() else part for part in place.split("/")[1:]]
    inside: Any = root
    for part in way:
        inside = inside[part]
    if value is None:
        del inside[last]
    else:
        inside[last] = value
    return glb(root, binary)


@pytest.mark.parametrize(("place", "value", "code", "path"), CASES)
def test_wrong_values_are_refused(place: str, value: Any, code: str, path: str) -> None:
    with pytest.raises(FormatError) as caught:
        loaded(changed(place, value))
    assert (caught.value.code, caught.value.path) == (code, path)


@pytest.mark.parametrize(
    ("data", "code", "offset"),
    [
        (b"glTF\2\0\0\0", "STRUCT_TRUNCATED", 0),
        (struct.pack("<4sII", b"glTF", 1, 12), "SEM_UNKNOWN_ENUM", 4),
        (struct.pack("<4sII", b"glTF", 2, 100), "STRUCT_TRUNCATED", 8),
        (struct.pack("<4sII", b"glTF", 2, 12), "STRUCT_CHUNK_MISSING", 12),
        (struct.pack("<4sIIII", b"glTF", 2, 20, 99, 0x4E4F534A), "STRUCT_CHUNK_OVERRUN", 12),
        (struct.pack("<4sIIII", b"glTF", 2, 20, 0, 0x004E4942), "STRUCT_TAG_MISMATCH", 16),
        (glb(b'{"asset":'), "STRUCT_SYNTAX", 32),
        (glb(b'{"NaN": "Infinity", "asset": {"version": NaN}}'), "STRUCT_SYNTAX", 61),
        (glb(b'{"asset": "\xff"}'), "STRUCT_SYNTAX", 31),
        (glb(b"[]"), "STRUCT_SYNTAX", 20),
        (glb(b'{"a": ' + b"9" * 5000 + b"}"), "STRUCT_SYNTAX", 20),
        (glb(b'{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"), "LIMIT_DEPTH", 20),
        (glb(b'{"a": ' + b'{"a":' * 100_000 + b"0" + b"}" * 100_001), "LIMIT_DEPTH", 20),
        (glb(b'{"a": [' + b"0," * 4_000_001 + b"0]}"), "LIMIT_RECORDS", 20),
    ],
)
def test_invalid_containers_are_refused(data: bytes, code: str, offset: int) -> None:
    with pytest.raises(FormatError) as caught:
        loaded(data)
    assert (caught.value.code, caught.value.offset) == (code, offset)


def test_unterminated_text_takes_linear_time() -> None:
    def refused(count: int) -> None:
        with pytest.raises(FormatError):
            loaded(glb(b'{"asset": "' + b'\\"' * count + b"\\"))

    assert_linear(refused, 50_000, 400_000, times=8)


def test_cycle_of_nodes_and_child_of_two_parents_are_refused() -> None:
    root, binary = triangle()
    root["nodes"] = [{"children": [1]}, {"children": [0]}]
    with pytest.raises(FormatError, match="LINK_PARENT_CYCLE"):
        loaded(glb(root, binary))
    root["nodes"] = [{"children": [2]}, {"children": [2]}, {}]
    with pytest.raises(FormatError, match=r"LINK_RANGE_OVERLAP .* in /nodes\[1\]/children\[0\]"):
        loaded(glb(root, binary))


def test_indices_out_of_range_are_refused() -> None:
    root, binary = triangle()
    with pytest.raises(FormatError, match=r"LINK_INDEX_OUT_OF_RANGE .* in /meshes\[0\]/primitives\[0\]/indices"):
        loaded(glb(root, binary[:36] + np.array([0, 1, 3, 0], "<u2").tobytes()))


def test_repeated_use_of_the_same_bytes_is_limited() -> None:
    root, _ = triangle()
    count = 60_000
    root["bufferViews"] = [{"buffer": 0, "byteLength": 12 * count}]
    root["buffers"] = [{"byteLength": 12 * count}]
    root["accessors"] = [{"bufferView": 0, "componentType": 5126, "count": count, "type": "VEC3"}] * 2000
    root["meshes"] = [
        {"primitives": [{"attributes": {"POSITION": number}} for number in range(2000)]},
    ]
    with pytest.raises(FormatError, match="LIMIT_COPIES"):
        loaded(glb(root, bytes(12 * count)))


@pytest.mark.parametrize(
    ("uri", "code"),
    [
        ("../secret.bin", "SEC_PATH_TRAVERSAL"),
        ("a/../../secret.bin", "SEC_PATH_TRAVERSAL"),
        ("%2e%2e/secret.bin", "SEC_PATH_TRAVERSAL"),
        ("/etc/passwd", "SEC_PATH_ABSOLUTE"),
        ("C:\\secret.bin", "SEC_PATH_ABSOLUTE"),
        ("\\\\host\\share\\a.bin", "SEC_PATH_UNC"),
        ("https://example.org/a.bin", "SEC_PATH_URL"),
        ("file:///etc/passwd", "SEC_PATH_URL"),
        ("nul", "SEC_PATH_RESERVED"),
        ("link.bin", "SEC_PATH_TRAVERSAL"),
        ("pipe", "IO_READ_FAILED"),
        ("absent.bin", "IO_READ_FAILED"),
        (".", "SEC_PATH_TRAVERSAL"),
        ("data:,", "STRUCT_TRUNCATED"),
        ("data:;base64,????", "STRUCT_SYNTAX"),
        ("data:nothing", "STRUCT_SYNTAX"),
    ],
)
def test_buffers_outside_the_folder_are_refused(tmp_path: Path, uri: str, code: str) -> None:
    root, binary = triangle()
    (tmp_path / "secret.bin").write_bytes(binary)
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "link.bin").symlink_to(tmp_path / "secret.bin")
    os.mkfifo(folder / "pipe")
    root["buffers"][0]["uri"] = uri
    (folder / "a.gltf").write_text(json.dumps(root))
    with pytest.raises(FormatError) as caught:
        keyframer.load(folder / "a.gltf")
    assert caught.value.code == code
    assert caught.value.path.startswith("/buffers[0]/")


def test_packed_arrays_in_extras_are_checked() -> None:
    root, binary = split_glb(glb_of(SCENES["splines"]())[0])
    bomb = {"dtype": "<f8", "shape": [2**36], "zlib": "eJxjYGBgAAAABAAB"}
    for name, value in (
        ("bounds", bomb),
        ("bounds", {**bomb, "dtype": "O"}),
        ("bounds", {**bomb, "shape": [3], "zlib": "!"}),
        ("bounds", ["a"]),
        ("origin", "now"),
        ("unit", "year"),
        ("rate", 0),
    ):
        spoiled = copy.deepcopy(root)
        spoiled["scenes"][0]["extras"]["keyframer"]["clips"][0][name] = value
        with pytest.raises(FormatError) as caught:
            loaded(glb(spoiled, binary))
        assert "/extras/keyframer/clips[0]" in caught.value.path


def test_packed_array_that_is_too_long_is_reported_with_the_room_in_entries() -> None:
    item = Item({"values": {"dtype": "<f8", "shape": [2**36], "zlib": base64.b64encode(bytes(12)).decode()}}, "/")
    with pytest.raises(FormatError, match=rf"but there is room for {12 * 1100 // 8} \(12 bytes remaining\)"):
        extras_reading.array(item, "values", Budget())


def test_trailing_bytes_are_reported() -> None:
    scene = loaded(glb(*triangle()) + b"more")
    assert [issue.code for issue in scene.issues] == ["STRUCT_TRAILING_DATA"]


def test_bytes_after_the_last_chunk_are_reported() -> None:
    data = glb(*triangle())
    longer = data[:8] + (len(data) + 3).to_bytes(4, "little") + data[12:] + b"abc"
    assert [(issue.code, issue.offset) for issue in loaded(longer).issues] == [("STRUCT_TRAILING_DATA", len(data))]
