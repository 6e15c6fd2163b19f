"""Detecting a format without a signature, from the first bytes and the size alone."""

from __future__ import annotations

import struct

import pytest

import keyframer
from keyframer.formats.midtown.sniff import sniff
from tests.building.midtown import beta, channel, old, retail, walk


def claimed(data: bytes) -> str | None:
    match = sniff(data[:4096], len(data))
    return None if match is None else match.dialect


@pytest.mark.parametrize("frames", [1, 53, 500])
@pytest.mark.parametrize("bones", [1, 19, 40])
def test_every_layout_is_detected(frames: int, bones: int) -> None:
    rows = walk(frames, bones)
    assert claimed(retail(rows)) == "retail"
    assert claimed(beta(frames, channel(rows))) == "beta"
    assert claimed(old(rows)) == "old"


def test_detection_and_reading_agree_on_the_layout() -> None:
    for data in (retail(walk()), beta(4, channel(walk())), old(walk()), beta(4, channel(walk()), channel(walk()))):
        assert claimed(data) == str(keyframer.decode(data).dialect)


@pytest.mark.parametrize(
    ("data", "layout"),
    [
        (struct.pack("<IIIfB", 0, 0, 60, 1.0, 1), "retail"),
        (struct.pack("<IIIfB", 1, 0, 60, 1.0, 1), "beta"),
        (struct.pack("<IIIfBIfB", 2, 0, 60, 1.0, 1, 4, 0.0, 7), "beta"),
        (struct.pack("<IIfB", 0, 19, 1.0, 1), "old"),
    ],
)
def test_a_clip_without_frames_is_detected_and_read(data: bytes, layout: str) -> None:
    assert keyframer.detect(data, name="still.anim").format is not None
    assert claimed(data) == layout == str(keyframer.decode(data).dialect)
    assert keyframer.encode(keyframer.decode(data)) == data
    report = keyframer.check(data)
    assert report.readable
    assert report.counts["SEM_EMPTY_TRACK"]


def test_the_score_is_lower_than_that_of_a_signature() -> None:
    for data in (retail(walk()), beta(4, channel(walk())), old(walk())):
        assert keyframer.detect(data).score <= 0.9


def test_channels_after_the_first_must_add_up() -> None:
    long = beta(30, channel(walk(30, 19)), channel(walk(30, 2), 0.0, 7))
    assert len(long) > 2 * 4096
    assert claimed(long) == "beta"
    assert claimed(long + b"\0") is None
    assert claimed(long[:-1]) is None
    assert claimed(beta(30, channel(walk(30, 19), type=3), channel(walk(30, 2)))) is None  # named, it is read


def test_less_than_one_trailing_frame_is_accepted_only_for_retail() -> None:
    rows = walk(3, 2)
    assert claimed(retail(rows) + bytes(35)) == "retail"
    assert claimed(retail(rows) + bytes(36)) is None
    for data in (beta(3, channel(rows)), old(rows)):
        assert claimed(data + b"\0") is None


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 1e30, 1e-40])
def test_floats_must_be_plausible_metres_and_radians(value: float) -> None:
    rows = walk(3, 2)
    for row in rows:
        row[2:7] = [value] * 5
    assert claimed(retail(rows)) is None
    assert claimed(beta(3, channel(rows))) is None
    assert claimed(old(rows)) is None
    assert claimed(retail(walk(), value)) is None


def test_a_retail_clip_may_have_one_implausible_number() -> None:
    rows = walk(3, 2)
    rows[1][4] = float("nan")
    assert claimed(retail(rows)) == "retail"
    assert claimed(retail(rows) + b"\0") is None


@pytest.mark.parametrize(
    "data",
    [
        b"",
        bytes(13),
        bytes(17),
        bytes(4096),
        struct.pack("<IIIfB", 0, 0, 60, 1.0, 1) + b"\0",
        struct.pack("<IIIfB", 0, 0, 60, 1.0, 2),
        struct.pack("<IIIfB", 0, 0, 61, 1.0, 1),
        struct.pack("<IIIfB", 1, 0, 60, 1.0, 2),
        struct.pack("<IIfB", 0, 19, 1.0, 2),
        struct.pack("<IIIfB", 0, 1, 4, 1.0, 1) + bytes(16),
        struct.pack("<IIIfB", 0, 1, 3, 1.0, 2) + bytes(12),
        struct.pack("<IIfB", 1, 0, 1.0, 1) + bytes(12),
        struct.pack("<IIIfB", 1, 1, 3, 1.0, 9) + bytes(12),
        b"cmp\0" + retail(walk())[4:],
        b"text of any kind" * 10,
    ],
)
def test_other_data_is_not_claimed(data: bytes) -> None:
    assert claimed(data) is None
