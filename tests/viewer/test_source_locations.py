"""Locations of nodes, tracks and keys in the file: all that the page gets, compared with the bytes."""

from __future__ import annotations

import json
import shutil
import struct
from pathlib import Path
from typing import Any

import pytest

import keyframer
from keyframer.viewer import ViewedFile
from keyframer.viewer.source_locations import PAGE, RecordRanges
from tests.corpus import needs_corpus, threeds_files
from tests.samples import all_samples
from tests.viewer.bytewise import reader_for
from tests.viewer.opening import EXAMPLE, SAMPLES, viewed

FILES = [EXAMPLE, *(path for _, path in all_samples())]


TEXTS = ("ase", "md5", "vue")


class Opened:
    """A file as the page sees it, and as the library does."""

    def __init__(self, path: Path, *arguments: object) -> None:
        (self.file,) = viewed(path, "--salvage", *arguments)
        self.data = path.read_bytes()
        scene = self.file.loaded.scene
        assert scene is not None
        self.scene = scene
        self.info: dict[str, Any] = {**json.loads(self.file.scene()), **json.loads(self.file.clip(0) or b"{}")}
        self.channels = self.scene.clips[0].channels if self.scene.clips else []

    def keys(self, track: int) -> list[tuple[int, int] | None]:
        answer = self.file.track(track)
        assert answer is not None
        places = json.loads(answer)["places"]
        if self.scene.source_format in TEXTS:  # the values of a row of text have no separate locations
            assert places is None
            return [None] * len(self.channels[track].track.times)
        return spans_of(places)


def spans_of(places: Any) -> list[tuple[int, int] | None]:
    if isinstance(places, dict):
        begins = [places["start"] + key * places["step"] for key in range(places["count"])]
        return [(begin, begin + places["size"]) for begin in begins]
    return [None if span is None else (span[0], span[1]) for span in places]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_location_contains_its_numbers(path: Path) -> None:
    """Every node, track and key of every sample has a location, and its numbers are stored there."""
    opened = Opened(path)
    reader = reader_for(opened.scene, path.name)
    for node, info in zip(opened.scene.nodes, opened.info["nodes"], strict=True):
        for place in info["places"]:
            reader.node(opened.data, tuple(place["span"]), node)
        assert bool(info["places"]) != bool(info["nowhere"])
        is_in_file = opened.scene.source_format != "midtown" or (path.suffix == ".mod" and node.name == "body")
        assert bool(info["places"]) == is_in_file
    for number, channel in enumerate(opened.channels):
        place = opened.info["tracks"][number]["place"]
        first = (place["start"], place["start"] + place["size"]) if isinstance(place, dict) else tuple(place)
        if isinstance(place, dict):
            assert place["count"] == len(channel.track.times)
        if opened.scene.issues.first_unsafe() is not None:
            continue  # the panel shows damaged tables as bytes, without their rows
        reader.track(opened.data, first, channel)
        keys = opened.keys(number)
        assert len(keys) == len(channel.track.times)
        for key, span in enumerate(keys):
            if span is None:  # the state before the first toggle
                assert (channel.track.kind, key) == ("visible", 0) or opened.scene.source_format in TEXTS
            else:
                reader.key(opened.data, span, channel, key)
        known = [span for span in keys if span is not None]
        assert len(set(known)) == len(known)


def test_samples_have_keys_of_all_kinds() -> None:
    """The test above is only as good as the samples."""
    kinds: set[tuple[str, str]] = set()
    for path in FILES:
        scene = keyframer.load(path, salvage=True)
        kinds |= {(str(scene.source_format), c.track.kind) for clip in scene.clips for c in clip.channels}
    assert {kind for name, kind in kinds if name == "3ds"} == {
        "position", "rotation", "scale", "fov", "roll", "color", "hotspot", "falloff", "visible",
    }  # fmt: skip
    turning = {name for name, kind in kinds if kind == "rotation"}
    assert turning == {"3ds", "uto3d", "nodeanim", "hale3d", "midtown", "ase", "b3d", "horde3d", "md5", "vue"}


def test_location_of_a_morph_key_is_its_name(tmp_path: Path) -> None:
    from tests.samples.make_3ds import chunk, key, strz, track, triangle, u16, u32

    names = ["Tri", "Other", "Tri"]
    keys = [key(frame, flags, strz(name)) for frame, flags, name in zip((0, 5, 9), (0, 3, 0), names, strict=True)]
    objects = [chunk(0x4000, strz(name), triangle()) for name in ("Tri", "Other")]
    node = chunk(
        0xB002, chunk(0xB030, u16(0)), chunk(0xB010, strz("Tri"), u16(0x4000, 0, 0xFFFF)), track(0xB026, *keys)
    )
    path = tmp_path / "morph.3ds"
    path.write_bytes(
        chunk(0x4D4D, chunk(0x3D3D, *objects), chunk(0xB000, chunk(0xB00A, u16(5), strz(""), u32(30)), node))
    )
    opened = Opened(path)
    (number,) = (i for i, c in enumerate(opened.channels) if c.track.kind == "morph")
    spans = opened.keys(number)
    assert [opened.data[span[0] : span[1]] for span in spans if span] == keys
    reader_for(opened.scene, path.name).track(
        opened.data, tuple(opened.info["tracks"][number]["place"]), opened.channels[number]
    )


def test_location_of_a_raw_row_is_its_numbers() -> None:
    opened = Opened(SAMPLES / "midtown/document-channels.anim")
    raw = opened.scene.clips[0].raw_channels
    assert len(raw) == 2
    for number, channel in enumerate(raw, len(opened.channels)):
        assert opened.info["tracks"][number]["node"] is None
        spans = opened.keys(number)
        assert len(spans) == len(channel.values)
        for span, row in zip(spans, channel.values, strict=True):
            width = (span[1] - span[0]) // 4
            assert list(struct.unpack_from(f"<{width}f", opened.data, span[0])) == row.tolist()


def test_data_in_a_companion_has_no_location(tmp_path: Path) -> None:
    """The joints are in the animation, the meshes in the model beside it."""
    shutil.copy(SAMPLES / "hale3d/arm-nul-ended.mdl", tmp_path / "arm.mdl")
    shutil.copy(SAMPLES / "hale3d/wave-nul-ended.anim", tmp_path / "arm.anim")
    opened = Opened(tmp_path / "arm.anim")
    joints, meshes = opened.info["nodes"][:3], opened.info["nodes"][3:]
    assert meshes
    assert all(node["places"] and not node["nowhere"] for node in joints)
    assert all(not node["places"] and "companion" in node["nowhere"] for node in meshes)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_records_are_nested(path: Path) -> None:
    (file,) = viewed(path, "--salvage")
    table = pages_of(file)
    size = path.stat().st_size
    assert len(table["starts"]) == len(table["ends"]) == len(table["names"])
    for start, end, parent in zip(table["starts"], table["ends"], table["parents"], strict=True):
        low, high = (0, size) if parent < 0 else (table["starts"][parent], table["ends"][parent])
        assert low <= start <= end <= high


@pytest.mark.parametrize("name", ["3ds/windmill.3ds", "3ds/tracks.3ds", "3ds/project.prj", "3ds/bare_editor.3ds"])
def test_length_of_chunks_matches_their_header(name: str) -> None:
    data = (SAMPLES / name).read_bytes()
    ranges = RecordRanges(keyframer.read(SAMPLES / name), len(data))
    for start, end in zip(ranges.starts, ranges.ends, strict=True):
        assert int.from_bytes(data[start + 2 : start + 6], "little") == end - start


def test_byte_belongs_to_a_node() -> None:
    opened = Opened(EXAMPLE)
    places = opened.file.places
    for number, info in enumerate(opened.info["nodes"]):
        start, end = info["places"][0]["span"]
        assert places.node_at(start) == places.node_at(end - 1) == number
    assert places.node_at(0) is None


def pages_of(file: ViewedFile) -> dict[str, list[Any]]:
    """Return all records, page by page."""
    overview = json.loads(file.records())
    pages = [json.loads(file.record_page(number) or b"") for number in range(file.page_count)]
    assert overview["firsts"] == [page["starts"][0] for page in pages]
    assert file.record_page(file.page_count) is None
    columns = {
        name: [entry for page in pages for entry in page[name]] for name in ("starts", "ends", "parents", "names")
    }
    assert overview["total"] == len(columns["starts"])
    return columns


def test_further_records_are_on_the_next_page(tmp_path: Path) -> None:
    from tests.samples.make_3ds import chunk, key, strz, track, u16, u32

    node = chunk(0xB002, chunk(0xB010, strz("Last"), u16(0x4000, 0, 0xFFFF)), track(0xB020, key(3, 0, bytes(12))))
    many = b"\x81\xa0\x06\x00\x00\x00" * (2 * PAGE + 10)
    path = tmp_path / "many.3ds"
    path.write_bytes(
        chunk(0x4D4D, chunk(0x3D3D, chunk(0xAFFF, many)), chunk(0xB000, chunk(0xB00A, u16(5), strz(""), u32(9)), node))
    )
    opened = Opened(path)
    table = pages_of(opened.file)
    assert opened.file.page_count == 3
    assert len(table["starts"]) == 2 * PAGE + 10 + 8
    at = next(number for number, name in enumerate(table["names"]) if name.startswith("a081[99999]"))
    assert (table["starts"][at], table["ends"][at]) == (18 + 6 * 99_999, 18 + 6 * 100_000)
    start, end = opened.info["nodes"][0]["places"][0]["span"]
    assert opened.data[start:end] == node


@needs_corpus
@pytest.mark.parametrize("path", threeds_files()[::40], ids=lambda path: path.name)
def test_keys_of_real_files_are_at_their_locations(path: Path) -> None:
    try:
        keyframer.load(path, salvage=True)
    except keyframer.FormatError:
        return
    opened = Opened(path)
    reader = reader_for(opened.scene, path.name)
    for number, channel in enumerate(opened.channels):
        keys = list(enumerate(opened.keys(number)))
        for key, span in [*keys[:: 1 + len(keys) // 20], keys[-1]]:
            if span is not None:
                reader.key(opened.data, span, channel, key)
