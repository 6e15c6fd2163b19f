"""Files truncated at every byte, with flipped bytes, or made to be expensive: `FormatError` or a scene, in little
memory."""

from __future__ import annotations

import base64
import json
import tracemalloc
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import keyframer
from keyframer.errors import FormatError
from keyframer.issues import Issue
from tests.building.gltf import data_uri, glb, loaded, triangle
from tests.exchange.reading.test_salvage import two_of_each
from tests.growth import assert_linear
from tests.slow import SLOW


def outcome(data: bytes) -> str:
    """Load the bytes strictly and with salvage, and return the results; any exception but `FormatError` is a
    failure."""
    words = []
    for salvage in (False, True):
        problems: list[FormatError | Issue] = []
        try:
            problems += loaded(data, format="gltf", salvage=salvage).issues
            words.append("scene")
        except FormatError as error:
            problems.append(error)
            words.append(error.code)
        for problem in problems:
            assert problem.code
            assert problem.path.startswith("/")
            assert 0 <= problem.offset <= len(data)
            assert "\n" not in str(problem)
    return " ".join(words)


def _text(**buffer: Any) -> bytes:
    return json.dumps({**triangle()[0], "buffers": [{"byteLength": 44, **buffer}]}).encode()


SMALL = {"two": glb(*two_of_each()), "text": _text(uri=data_uri(triangle()[1]))}


@pytest.mark.parametrize("name", SMALL)
def test_truncation_at_every_byte(name: str) -> None:
    seen = {outcome(SMALL[name][:size]) for size in range(len(SMALL[name]))}
    assert not any(words.startswith("scene") for words in seen)
    assert ("STRUCT_TRUNCATED scene" in seen) == (name == "two")


@pytest.mark.parametrize("name", SMALL)
def test_flipped_bytes(name: str) -> None:
    for place in range(0, len(SMALL[name]), 1 if SLOW else 3):
        for mask in (0xFF, 0x01):
            spoiled = bytearray(SMALL[name])
            spoiled[place] ^= mask
            outcome(bytes(spoiled))


def _sparse(count: int, indices: list[int], base: int = 3) -> bytes:
    root, binary = triangle()
    where, what = np.array(indices, "<u4").tobytes(), np.zeros((len(indices), 3), "<f4").tobytes()
    root["bufferViews"] += [
        {"buffer": 0, "byteOffset": 44, "byteLength": len(where)},
        {"buffer": 0, "byteOffset": 44 + len(where), "byteLength": len(what)},
    ]
    root["buffers"][0]["byteLength"] = 44 + len(where) + len(what)
    root["accessors"][0] |= {
        "count": base,
        "sparse": {"count": count, "indices": {"bufferView": 2, "componentType": 5125}, "values": {"bufferView": 3}},
    }
    return glb(root, binary + where + what)


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (_sparse(1, [3]), "LINK_INDEX_OUT_OF_RANGE"),
        (_sparse(1, [2**32 - 1]), "LINK_INDEX_OUT_OF_RANGE"),
        (_sparse(3, [0, 1]), "STRUCT_COUNT_EXCEEDS_DATA"),
        (_sparse(4, [0, 1]), "STRUCT_SYNTAX"),
        (_sparse(2**31, [0]), "STRUCT_SYNTAX"),
        (_sparse(1, [0], 2**31), "STRUCT_COUNT_EXCEEDS_DATA"),
    ],
)
def test_sparse_accessors(data: bytes, code: str) -> None:
    with pytest.raises(FormatError) as caught:
        loaded(data)
    assert caught.value.code == code
    assert loaded(data, salvage=True).issues.first_unsafe() is not None


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (b'{"asset": {"version": "2.0"}, "x": NaN}', "STRUCT_SYNTAX"),
        (b'{"asset": {"version": "2.0"}, "x": -Infinity}', "STRUCT_SYNTAX"),
        (b'{"asset": {"version": "2.0"}, "nodes": [{"translation": [1e999, 0, 0]}]}', "STRUCT_SYNTAX"),
        (b'{"asset": {"version": "2.0"}, "nodes": [{"translation": [0, -1e999, 0]}]}', "STRUCT_SYNTAX"),
        (b'{"asset": {"version": "2.0"}, "a": ' + b"[" * 65 + b"]" * 65 + b"}", "LIMIT_DEPTH"),
        (b'{"asset": {"version": "2.0"}' + b', "a": {"b": [' * 40 + b"]}" * 40 + b"}", "LIMIT_DEPTH"),
        (b'{"asset": {"version": "2.0"}', "STRUCT_SYNTAX"),
        (b'{"asset": {"version": "2.0"}} {}', "STRUCT_SYNTAX"),
        (b'{"asset": {"version": "2.0"},}', "STRUCT_SYNTAX"),
        (b"\x00" * 64, "STRUCT_SYNTAX"),
    ],
)
def test_json(text: bytes, code: str) -> None:
    for data in (text, glb(text)):
        with pytest.raises(FormatError) as caught:
            loaded(data, format="gltf")
        assert caught.value.code == code
        outcome(data)


def test_last_of_two_values_with_the_same_key_is_used() -> None:
    """As in other JSON readers; the offset of an issue is that of the last value, too."""
    text = b'{"asset": {"version": "2.0"}, "nodes": 5, "nodes": [{"name": "a", "name": "b"}]}'
    assert [node.name for node in loaded(text).nodes] == ["b"]
    text = text.replace(b'"b"', b'"b", "mesh": 1')
    with pytest.raises(FormatError) as caught:
        loaded(text)
    assert text[caught.value.offset :].startswith(b"1}]")


def test_long_chain_of_nodes() -> None:
    root, binary = triangle()
    count = 100_000 if SLOW else 20_000
    root["nodes"] = [{"children": [number + 1]} for number in range(count)] + [{"mesh": 0}]
    scene = loaded(glb(root, binary))
    assert [scene.nodes[number].parent for number in (0, 1, count)] == [None, 0, count - 1]


def test_cycle_of_many_nodes() -> None:
    root, binary = triangle()
    count = 10_000
    root["nodes"] = [{"children": [(number + 1) % count]} for number in range(count)]
    data = glb(root, binary)
    with pytest.raises(FormatError, match=r"LINK_PARENT_CYCLE at 0x[0-9a-f]+ in /nodes\[0\]: "):
        loaded(data)
    scene = loaded(data, salvage=True)
    assert [scene.nodes[number].parent for number in (0, 1, count - 1)] == [None, 0, count - 2]
    assert scene.issues.counts == {"LINK_PARENT_CYCLE": 1}


def _nested_helpers(count: int) -> bytes:
    """Return a chain of nodes that all claim to be helpers of our exporter, in each other and by name."""
    kept = {"keyframer": {"space": {"up": "y", "handedness": "right", "v_up": True}}}
    kinds = ("geo", "scale", "shape", "root")
    nodes: list[dict[str, Any]] = [
        {"name": "n", "children": [place + 1], "extras": {"keyframer": {"helper": kinds[place % 4], "of": "n"}}}
        for place in range(count)
    ]
    root: dict[str, Any] = {
        "asset": {"version": "2.0", "extras": {"keyframer": {"version": "1"}}},
        "scenes": [{"nodes": [0], "extras": kept}],
        "nodes": [*nodes, {"name": "n"}],
    }
    return glb(root)


def test_helpers_inside_each_other_take_linear_time() -> None:
    """Only a scale with its shape fits together; the others are plain nodes."""
    few, many = (_nested_helpers(count) for count in (1_000, 4_000))
    scene = loaded(many)
    assert len(scene.nodes) == 2_001
    assert_linear(loaded, few, many, times=4)


def test_non_finite_numbers_give_no_warning(tmp_path: Path) -> None:
    root, binary = triangle()
    for pattern in (0x7F800001, 0xFFC00000, 0x7F800000, 0x00000001):
        scene = loaded(glb(root, pattern.to_bytes(4, "little") + binary[4:]))
        assert ("DATA_NON_FINITE" in scene.issues.counts) == (pattern != 1)
        keyframer.save(scene, tmp_path / f"{pattern}.glb")
        keyframer.load(tmp_path / f"{pattern}.glb")


def _peak(data: bytes, **options: Any) -> int:
    tracemalloc.start()
    try:
        loaded(data, **options)
    except FormatError:
        pass
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    return peak


def _images_over_one_view(count: int, size: int) -> bytes:
    root, binary = triangle()
    root["bufferViews"].append({"buffer": 0, "byteOffset": 44, "byteLength": size})
    root["buffers"][0]["byteLength"] = 44 + size
    root["images"] = [{"bufferView": 2, "mimeType": "image/png"} for _ in range(count)]
    root["textures"] = [{"source": number} for number in range(count)]
    root["materials"] = [{"pbrMetallicRoughness": {"baseColorTexture": {"index": number}}} for number in range(count)]
    return glb(root, binary + bytes(size))


def _bomb_in_extras() -> bytes:
    root, binary = triangle()
    packed = base64.b64encode(zlib.compress(bytes(200 << 20))).decode()
    times = {"dtype": "<f8", "shape": [25 << 20], "zlib": packed}
    track = {"clip": 0, "kind": "position", "interpolation": "linear", "times": times, "values": [[0, 0, 0]]}
    space = {"space": {"up": "y", "handedness": "right", "v_up": True}, "clips": [{"name": "c"}]}
    root["asset"]["extras"] = {"keyframer": {"version": "1"}}
    root["scenes"][0]["extras"] = {"keyframer": space}
    root["nodes"][0]["extras"] = {"keyframer": {"tracks": [track]}}
    return glb(root, binary)


@pytest.mark.parametrize(
    ("data", "most"),
    [
        (_images_over_one_view(3_000, 1_000_000), 120),
        (_bomb_in_extras(), 120),
        (_sparse(1, [0], 2**40), 10),
        (_text(byteLength=2**40, uri="data:,abc"), 10),
        (_text(uri="data:," + "%41" * 2_000_000), 200),
    ],
)  # fmt: skip
def test_memory(data: bytes, most: int) -> None:
    for salvage in (False, True):
        assert _peak(data, salvage=salvage) < most << 20


@pytest.mark.parametrize(
    ("uri", "code"),
    [
        ("../secret.png", "SEC_PATH_TRAVERSAL"), ("..%2fsecret.png", "SEC_PATH_TRAVERSAL"),
        ("/etc/passwd", "SEC_PATH_ABSOLUTE"), ("C:/secret.png", "SEC_PATH_ABSOLUTE"),
        ("//host/share/a.png", "SEC_PATH_UNC"), ("http://example.org/a.png", "SEC_PATH_URL"),
        ("file:///etc/passwd", "SEC_PATH_URL"), ("nul", "SEC_PATH_RESERVED"), ("a.png::$DATA", "SEC_PATH_RESERVED"),
    ],
)  # fmt: skip
def test_images_outside_the_folder_are_not_opened(tmp_path: Path, uri: str, code: str) -> None:
    """Loading never opens images; saving looks for them in the folder only."""
    from PIL import Image

    Image.new("RGB", (2, 2)).save(tmp_path / "secret.png")
    folder = tmp_path / "folder"
    folder.mkdir()
    root, binary = triangle()
    root["buffers"][0]["uri"] = data_uri(binary)
    root["images"], root["textures"] = [{"uri": uri}], [{"source": 0}]
    root["materials"] = [{"name": "m", "pbrMetallicRoughness": {"baseColorTexture": {"index": 0}}}]
    (folder / "a.gltf").write_text(json.dumps(root))
    report = keyframer.save(keyframer.load(folder / "a.gltf"), tmp_path / "out.glb")
    loss = next(loss for loss in report if loss.path == "/materials/m/maps/texture1")
    assert loss.code == "IMAGE_MISSING"
    assert code in str(loss.args["image"])
    assert b"PNG" not in (tmp_path / "out.glb").read_bytes()
