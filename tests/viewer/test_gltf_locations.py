"""Locations of nodes, tracks and keys in glTF files: the data for the page, compared with `struct` and `json` alone."""

from __future__ import annotations

import base64
import json
import random
import re
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import keyframer
from keyframer.viewer.gltf_locations import GltfLocations
from tests.viewer import foreign_gltf
from tests.viewer.foreign_gltf import CUBIC, MOVES, SPARSE_VALUE, TIMES, TURNS, WEIGHTS, write_foreign
from tests.viewer.opening import EXAMPLE, SAMPLES, viewed
from tests.viewer.test_source_locations import Opened

WAYS = ("glb", "beside", "inline", "escaped")
OURS = (EXAMPLE, SAMPLES / "3ds/tracks.3ds", SAMPLES / "hale3d/wave-nul-ended.anim", SAMPLES / "uto3d/maxscript.u3d")
POSITIONS = ((0.0, 0.0, 0.0), SPARSE_VALUE, (0.0, 1.0, 0.0))
"""of the view that shapes have too, with the one that is replaced"""


def text_of(data: bytes) -> dict[str, Any]:
    """Return the JSON of a file, without our reader."""
    if data[:4] != b"glTF":
        return dict(json.loads(data))
    (size,) = struct.unpack_from("<I", data, 12)
    return dict(json.loads(data[20 : 20 + size]))


def part(opened: Opened, track: int, what: str) -> dict[str, Any]:
    (matching,) = (candidate for candidate in key_parts(opened, track) if candidate["what"] == what)
    return dict(matching)


def key_parts(opened: Opened, track: int) -> list[dict[str, Any]]:
    answer = opened.file.track(track)
    assert answer is not None
    places = json.loads(answer)["places"]
    return [] if places is None else list(places["parts"])


def span_of(places: Any, key: int) -> tuple[int, int] | None:
    if isinstance(places, dict):
        begin = places["start"] + key * places["step"]
        return begin, begin + places["size"]
    return None if places[key] is None else tuple(places[key])


def stored(opened: Opened, path: Path, found: dict[str, Any], key: int) -> bytes:
    """Return the bytes at a location, from the file that contains it."""
    span = span_of(found["places"], key)
    assert span is not None
    data = (path.parent / found["file"]).read_bytes() if "file" in found else opened.data
    return data[span[0] : span[1]]


class TestForeign:
    """Six tracks: interleaved positions and rotations, cubic positions, sparse scales and positions, weights."""

    WANTED = (
        ("value", [struct.pack("<3f", *row) for row in MOVES]),
        ("value", [struct.pack("<4f", *row) for row in TURNS]),
        (
            "value and tangents",
            [struct.pack("<9f", *(x for part in CUBIC[3 * key : 3 * key + 3] for x in part)) for key in range(3)],
        ),
        ("value", [None, struct.pack("<3f", *SPARSE_VALUE), None]),
        ("value", [struct.pack("<3f", *row) for row in POSITIONS]),
        ("value", [struct.pack("<2f", *row) for row in WEIGHTS]),
    )

    @pytest.fixture(params=("glb", "beside"))
    def opened(self, tmp_path: Path, request: pytest.FixtureRequest) -> tuple[Opened, Path]:
        path = write_foreign(tmp_path, request.param)
        return Opened(path), path

    def test_every_key_is_at_its_location(self, opened: tuple[Opened, Path]) -> None:
        file, path = opened
        for track, (what, rows) in enumerate(self.WANTED):
            times, values = part(file, track, "time"), part(file, track, what)
            for key in range(3):
                assert struct.unpack("<f", stored(file, path, times, key)) == (TIMES[key],)
                if rows[key] is None:
                    assert span_of(values["places"], key) is None
                else:
                    assert stored(file, path, values, key) == rows[key]
            assert ("file" in values) == ("file" in times) == (path.suffix == ".gltf")
            assert values.get("file", "some numbers.bin") == "some numbers.bin"

    def test_values_at_the_locations_are_those_of_the_scene(self, opened: tuple[Opened, Path]) -> None:
        """The previous test compares numbers; here these are shown to be the keys."""
        file, _ = opened
        tracks = [channel.track for channel in file.channels]
        assert [track.kind for track in tracks] == ["position", "rotation", "position", "scale", "position", "morph"]
        wanted: list[Any] = [MOVES, TURNS, CUBIC[1::3], (np.zeros(3), SPARSE_VALUE, np.zeros(3)), POSITIONS]
        for track, rows in zip(tracks, wanted, strict=False):
            np.testing.assert_allclose(track.values, rows, rtol=1e-6)
        np.testing.assert_array_equal(tracks[5].values[:, 1:], WEIGHTS)

    def test_omitted_key_of_zeros_is_explained(self, opened: tuple[Opened, Path]) -> None:
        file, _ = opened
        answer = file.file.track(3)
        assert answer is not None
        assert "omitted numbers are zeros" in json.loads(answer)["missing"]

    def test_nodes_and_tracks_are_objects_of_the_text(self, opened: tuple[Opened, Path]) -> None:
        file, _ = opened
        text = text_of(file.data)
        for number, node in enumerate(file.info["nodes"]):
            first = node["places"][0]
            assert first["what"] == f"nodes[{number}]"
            assert json.loads(file.data[slice(*first["span"])]) == text["nodes"][number]
        shape, eye = file.info["nodes"][2:]
        assert json.loads(file.data[slice(*shape["places"][1]["span"])]) == text["meshes"][0]
        assert json.loads(file.data[slice(*eye["places"][1]["span"])]) == text["cameras"][0]
        for number, track in enumerate(file.info["tracks"]):
            parts = {entry["what"]: entry["place"] for entry in track["place"]["parts"]}
            for what in ("sampler", "channel"):
                assert json.loads(file.data[slice(*parts[what])]) == text["animations"][0][f"{what}s"][number]

    def test_location_of_a_track_contains_all_its_keys(self, opened: tuple[Opened, Path]) -> None:
        file, _ = opened
        for number, track in enumerate(file.info["tracks"]):
            for key_part in key_parts(file, number):
                whole = [part for part in track["place"]["parts"] if part["what"] == key_part["what"]]
                spans = [span for key in range(3) if (span := span_of(key_part["places"], key)) is not None]
                for begin, end in spans:
                    assert any(holds(part["place"], begin, end) for part in whole)
                bytes_of_keys = sum(end - begin for begin, end in spans)
                assert sum(size_of(part["place"]) for part in whole) == bytes_of_keys


def holds(place: Any, begin: int, end: int) -> bool:
    if isinstance(place, dict):
        starts = [place["start"] + number * place["step"] for number in range(place["count"])]
        return any(start <= begin and end <= start + place["size"] for start in starts)
    return bool(place[0] <= begin and end <= place[1])


def size_of(place: Any) -> int:
    return int(place["size"] * place["count"] if isinstance(place, dict) else place[1] - place[0])


def test_base64_is_marked_by_its_characters(tmp_path: Path) -> None:
    """Four characters are three bytes: a key has all characters that contain a part of it."""
    opened = Opened(write_foreign(tmp_path, "inline"))
    content, views = foreign_gltf.numbers()
    for key, row in enumerate(MOVES):
        key_part = part(opened, 0, "value (data URI)")
        span = span_of(key_part["places"], key)
        assert span is not None
        begin = views[1]["byteOffset"] + 28 * key
        decoded = base64.b64decode(opened.data[span[0] : span[1]])
        assert decoded[begin % 3 :][:12] == struct.pack("<3f", *row) == content[begin : begin + 12]
        assert len(decoded) <= 12 + 4
        times = span_of(part(opened, 0, "time (data URI)")["places"], key)
        assert times is not None
        at = views[0]["byteOffset"] + 4 * key
        assert base64.b64decode(opened.data[slice(*times)])[at % 3 :][:4] == struct.pack("<f", TIMES[key])


def test_escaped_base64_is_marked_as_a_whole(tmp_path: Path) -> None:
    opened = Opened(write_foreign(tmp_path, "escaped"))
    assert b"\\/" in opened.data
    span = span_of(part(opened, 0, "value (data URI)")["places"], 1)
    assert span is not None
    assert json.loads(b'"%b"' % opened.data[slice(*span)]) == text_of(opened.data)["buffers"][0]["uri"]


@pytest.mark.parametrize("way", WAYS)
def test_records_of_the_text_and_the_chunk(tmp_path: Path, way: str) -> None:
    opened = Opened(write_foreign(tmp_path, way))
    page = opened.file.record_page(0)
    assert page is not None
    table = json.loads(page)
    text = text_of(opened.data)
    names = dict(zip(table["names"], zip(table["starts"], table["ends"], strict=True), strict=True))
    assert json.loads(opened.data[slice(*names["nodes"])]) == text["nodes"]
    assert json.loads(opened.data[slice(*names["nodes[1] 日本"])]) == text["nodes"][1]
    assert json.loads(opened.data[slice(*names["samplers[4]"])]) == text["animations"][0]["samplers"][4]
    for start, end, parent in zip(table["starts"], table["ends"], table["parents"], strict=True):
        low, high = (0, len(opened.data)) if parent < 0 else (table["starts"][parent], table["ends"][parent])
        assert low <= start <= end <= high
    if way == "glb":
        begin, end = names["bytes of bufferViews[3]"]
        assert opened.data[begin:end] == struct.pack("<27f", *(x for row in CUBIC for x in row))
        assert names["numbers of accessors[4], 9 VEC3"] == (begin, end)
        assert names["BIN chunk"][1] == len(opened.data)
        assert not any("accessors[1]" in name and "numbers" in name for name in names)  # it shares its bytes


@pytest.mark.parametrize("source", OURS, ids=lambda path: path.name)
@pytest.mark.parametrize("suffix", [".glb", ".gltf"])
def test_locations_in_exported_files(tmp_path: Path, source: Path, suffix: str) -> None:
    """Authored keys are in the text if a sampler cannot store them, otherwise in the sampler."""
    path = tmp_path / f"made{suffix}"
    keyframer.save(keyframer.load(source), path)
    opened = Opened(path)
    text = text_of(opened.data)
    for node, info in zip(opened.scene.nodes, opened.info["nodes"], strict=True):
        node_json = json.loads(opened.data[slice(*info["places"][0]["span"])])
        assert node_json in text["nodes"]
        assert node_json.get("name", "") == node.name
        carried = {place["what"].split("[")[0] for place in info["places"]}
        assert ("meshes" in carried) == (node.mesh is not None)
    seen = 0
    for number, channel in enumerate(opened.channels):
        track, parts = channel.track, {entry["what"]: entry for entry in key_parts(opened, number)}
        assert parts.keys() == {"value", "time"}, channel
        for key in range(len(track.times)):
            value, time = (stored(opened, path, parts[name], key) for name in ("value", "time"))
            seen += 1
            width = track.values[key].size
            if track.kind in ("position", "rotation", "scale"):  # others are converted; left-handed axes are mirrored
                numbers = np.abs(struct.unpack(f"<{width}f", value))
                assert numbers == pytest.approx(np.abs(track.values[key]).reshape(-1), rel=1e-6)
            (seconds,) = struct.unpack("<f", time)
            clip = opened.scene.clips[0]
            origin = text["scenes"][0]["extras"]["keyframer"]["clips"][0]["origin"]
            assert seconds * clip.rate + origin == pytest.approx(track.times[key], abs=1e-3)
    assert seen


def test_static_weights_are_one_key(tmp_path: Path) -> None:
    """No channel animates them: the key is the list of the node, or that of its mesh."""
    path = write_foreign(tmp_path, "beside")
    text = json.loads(path.read_bytes())
    del text["animations"]
    for holder in (text["meshes"][0], text["nodes"][2]):
        holder["weights"] = [0.25, 0.5] if "mesh" in holder else [0.5, 0.125]
        path.write_text(json.dumps(text), "utf-8")
        opened = Opened(path)
        assert [channel.track.kind for channel in opened.channels] == ["morph"]
        assert json.loads(opened.data[slice(*opened.info["tracks"][0]["place"])]) == holder["weights"]
        assert json.loads(stored(opened, path, part(opened, 0, "value"), 0)) == holder["weights"]
        assert opened.channels[0].track.values[0, 1:].tolist() == holder["weights"]


def test_raw_channels_in_extras(tmp_path: Path) -> None:
    path = tmp_path / "raw.glb"
    keyframer.save(keyframer.load(SAMPLES / "midtown/document-channels.anim"), path)
    opened = Opened(path)
    raw = opened.scene.clips[0].raw_channels
    assert raw
    for number, channel in enumerate(raw, len(opened.channels)):
        key_part = part(opened, number, "value")
        for row, values in enumerate(channel.values):
            np.testing.assert_allclose(json.loads(stored(opened, path, key_part, row)), values, rtol=1e-6)


def test_issue_refers_to_its_node(tmp_path: Path) -> None:
    """Times of the only animation decrease: an issue of its sampler, which animates the second node."""
    path = write_foreign(tmp_path, "glb")
    data = path.read_bytes()
    content, views = foreign_gltf.numbers()
    at = data.index(content) + views[0]["byteOffset"]
    path.write_bytes(data[:at] + struct.pack("<3f", 1.0, 0.5, 0.25) + data[at + 12 :])
    opened = Opened(path)
    issues = [issue for issue in opened.info["issues"] if issue["code"] == "DATA_KEYS_NOT_INCREASING"]
    assert [issue["node"] for issue in issues] == [0, 0, 1, 1, 3, 2]
    for number, issue in enumerate(issues):
        assert f"samplers[{number}]" in issue["path"]


def test_issues_match_those_of_check(tmp_path: Path) -> None:
    """Also if nothing can be played: each part that cannot be read."""
    path = write_foreign(tmp_path, "glb")
    data = path.read_bytes()
    path.write_bytes(
        data.replace(b'"componentType": 5126, "type": "VEC4"', b'"componentType": 9999, "type": "VEC4"').replace(
            b'"type": "perspective"', b'"type": "perspectiva"'
        )
    )
    wanted = [(issue.code, issue.offset) for issue in keyframer.check(path).issues]
    assert len(wanted) > 1
    (file,) = viewed(path)
    info = json.loads(file.scene())
    assert info["model"] is False
    assert [(entry["code"], entry["offset"]) for entry in info["issues"]] == wanted
    assert json.loads(file.records())["total"] > 10


def test_issues_of_names_match_those_of_check(tmp_path: Path) -> None:
    path = tmp_path / "names.gltf"
    path.write_text(
        json.dumps({"asset": {"version": "2.0"}, "nodes": [{}, {"name": "a<script>"}, {"name": "ok\u202eko"}]})
    )
    wanted = [(issue.code, issue.offset) for issue in keyframer.check(path).issues]
    assert {code for code, _ in wanted} >= {"SEC_NAME_MARKUP", "SEC_NAME_BIDI"}
    (file,) = viewed(path)
    info = json.loads(file.scene())
    assert info["model"] is True
    assert [(entry["code"], entry["offset"]) for entry in info["issues"]] == wanted
    assert [entry["node"] for entry in info["issues"] if entry["code"].startswith("SEC_NAME")] == [1, 2]


@pytest.mark.parametrize(
    ("more", "names"),
    [
        ({"": [{}]}, [""]),
        ({"nodes[0]/extras": [{}]}, ["nodes[0]/extras"]),
        ({"nodes[0]/name": [{}]}, ["nodes[0]/name"]),
        ({"odd[0]": [{}, {}]}, ["odd[0]", "odd[0][0]", "odd[0][1]"]),
        ({"animations": [{"samplers": {"a": {}, "b": {}}}]}, ["animations", "animations[0]"]),
    ],
    ids=["nothing", "path", "path to text", "number", "object"],
)
def test_key_that_looks_like_a_path_is_not_a_path(more: dict[str, Any], names: list[str]) -> None:
    """Such a list is a record; its content is not searched at the path of that name."""
    text = {"asset": {"version": "2.0"}, "nodes": [{"name": "a", "extras": [1, 2, 3]}], **more}
    records = GltfLocations(json.dumps(text).encode(), None, None).records
    record_names = [records.name(number) for number in range(len(records))]
    assert record_names == ["glTF text", "asset", "nodes", "nodes[0] a", *names]


def test_damaged_files_are_still_described(tmp_path: Path) -> None:
    """Whatever number, word or byte changes, every request of the page gets an answer."""
    rng = random.Random(12)
    whole = write_foreign(tmp_path, "glb").read_bytes()
    path, played = tmp_path / "damaged.glb", 0
    values = list(re.finditer(rb'(?<=[:,\[] )(-?[0-9.]+|"[A-Za-z0-9_]+")', whole))
    for _ in range(80):
        data = bytearray(whole)
        for value in rng.choices(values, k=rng.randint(1, 3)):
            begin, end = value.span()
            other = rng.choice((b"0", b"-1", b"99999", b"null", b"[]", b"{}", b'"x"', b"1.5", b"true"))
            data[begin:end] = other[: end - begin].ljust(end - begin)
        data[rng.randrange(len(data) - 400, len(data))] ^= rng.randrange(256)  # one of the numbers
        path.write_bytes(data)
        for arguments in ((), ("--salvage",)):
            (file,) = viewed(path, *arguments)
            played += json.loads(file.scene())["model"]
            file.records()
            assert all(file.record_page(number) for number in range(file.page_count))
            assert all(file.track(number) for number in range(file.track_count))
    assert played > 10  # and is not only refused
