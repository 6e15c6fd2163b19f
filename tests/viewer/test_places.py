"""Where nodes, tracks and keys lie in the file: against the bytes themselves."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import keyframer
from keyframer.viewer.extents import Extents
from keyframer.viewer.places import Places
from tests.corpus import needs_corpus, threeds_files
from tests.viewer.opening import EXAMPLE, SAMPLES


def places_of(path: Path) -> tuple[keyframer.Scene, Places, bytes]:
    document, scene = keyframer.read(path), keyframer.load(path, salvage=True)
    data = path.read_bytes()
    return scene, Places(document, data, scene), data


def test_records_tile_the_file() -> None:
    """Chunks say their own length: what is worked out from where they begin must be that."""
    document, data = keyframer.read(EXAMPLE), EXAMPLE.read_bytes()
    extents = Extents(document, len(data))
    assert len(extents.records) == 183
    for start, end in zip(extents.starts, extents.ends, strict=True):
        assert int.from_bytes(data[start + 2 : start + 6], "little") == end - start


def test_nodes_of_the_example_lie_in_their_chunks() -> None:
    scene, places, data = places_of(EXAMPLE)
    for number, node in enumerate(scene.nodes):
        start, end = places.node_spans(number)[0]
        assert data[start : start + 2] in (b"\x02\xb0", b"\x03\xb0", b"\x04\xb0", b"\x05\xb0", b"\x06\xb0", b"\x07\xb0")
        assert node.raw_name is not None
        assert node.raw_name + b"\0" in data[start:end]
        assert places.node_at(start) == number
    start, end = places.node_spans(0)[1]  # and the mesh of the editor
    assert data[start : start + 2] == b"\x00\x40"


def test_keys_of_the_example_begin_with_their_frames() -> None:
    scene, places, data = places_of(EXAMPLE)
    for number, channel in enumerate(scene.clips[0].channels):
        spans = places.key_spans(number, len(channel.track.times))
        assert spans is not None
        for (start, end), frame in zip(spans, channel.track.times, strict=True):
            assert int.from_bytes(data[start : start + 4], "little", signed=True) == frame
            flags = int.from_bytes(data[start + 4 : start + 6], "little")
            assert (end - start - 6) // 4 == bin(flags).count("1") + channel.track.values.reshape(
                len(channel.track.values), -1
            ).shape[1]


@pytest.mark.parametrize(
    "name",
    ["uto3d/maxscript.u3d", "uto3d/flexporter.u3d", "nodeanim/default_mixed.nanim", "nodeanim/big_id_only_u16.nanim"],
)
def test_tracks_of_other_formats_have_places(name: str) -> None:
    scene, places, data = places_of(SAMPLES / name)
    assert all(places.node_spans(number) for number in range(len(scene.nodes)))
    for number, channel in enumerate(scene.clips[0].channels):
        spans = places.key_spans(number, len(channel.track.times))
        assert spans is not None
        assert all(left[1] == right[0] for left, right in pairwise(spans))
        assert 0 <= spans[0][0] < spans[-1][1] <= len(data)


def test_frames_of_samples_hold_the_numbers() -> None:
    scene, places, data = places_of(SAMPLES / "midtown/retail.anim")
    track = scene.clips[0].channels[0].track
    spans = places.key_spans(0, len(track.times))
    assert spans is not None
    for (start, _), row in zip(spans, track.values, strict=True):
        assert np.frombuffer(data, "<f4", 2, start).tolist() == row[:2].tolist()


@needs_corpus
@pytest.mark.parametrize("path", threeds_files()[::40], ids=lambda path: path.name)
def test_real_files_have_places_for_all_tracks(path: Path) -> None:
    try:
        scene, places, data = places_of(path)
    except keyframer.FormatError:
        return
    channels = scene.clips[0].channels if scene.clips else []
    for number, channel in enumerate(channels):
        spans = places.key_spans(number, len(channel.track.times))
        assert spans is not None
        if path.suffix.lower() == ".3ds" and channel.track.kind != "visible":
            found = [int.from_bytes(data[start : start + 4], "little", signed=True) for start, _ in spans]
            assert found == channel.track.times.tolist()
