"""Midtown Madness 2 clips: annotated bytes of the three layouts, detection, building and damage."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

import keyframer
from keyframer.formats.document import RawRun
from keyframer.formats.midtown.document import new_document
from keyframer.formats.midtown.records import Channel, Clip, Dialect, OldChannel, OldClip, make_channel
from keyframer.formats.midtown.sniff import sniff
from keyframer.wire.record import dump_fields
from tests.building.midtown import beta, channel, old, retail, walk
from tests.samples import unhex

RETAIL = unhex(
    """
    00 00 00 00              # "channels": 0, which means one
    02 00 00 00              # 2 frames
    06 00 00 00              # 6 floats per frame: root translation and one bone
    00 00 c0 3f              # one loop covers 1.5 m
    01                       # roll, pitch, heading
    00 00 00 00  00 00 80 3f  00 00 00 00    # frame 0: root at 0 1 0
    00 00 00 3f  00 00 00 00  00 00 80 be    #          0.5, 0, -0.25 radians
    00 00 00 00  00 00 80 3f  00 00 80 bf    # frame 1
    00 00 00 3f  00 00 00 00  00 00 80 3e
    """
)
BETA = unhex(
    """
    02 00 00 00              # 2 channels
    01 00 00 00              # 1 frame
    03 00 00 00  00 00 00 00  01             # channel 0: 3 floats, distance 0, type 1
    00 00 00 00  00 00 80 3f  00 00 00 00    #            the root at 0 1 0
    01 00 00 00  00 00 80 bf  05             # channel 1: 1 float, -1, of an unknown type 5
    00 00 00 3f                              #            0.5
    """
)
OLD = unhex(
    """
    01 00 00 00              # 1 frame
    01 00 00 00              # 1 bone
    00 00 00 40              # 2 m
    01                       # type 1
    00 00 00 00  00 00 80 3f  00 00 00 00    # the root at 0 1 0
    00 00 00 3f  00 00 00 00  00 00 80 be    # 0.5, 0, -0.25 radians
    """
)


def test_retail() -> None:
    document = keyframer.decode(RETAIL)
    assert document.dialect is Dialect.RETAIL
    assert str(document.dialect) == "retail"
    assert document.issues.total == 0
    top = document.records[0]
    assert isinstance(top, Clip)
    assert (top.channels, top.frames) == (0, 2)
    (channel_record,) = top.children
    assert isinstance(channel_record, Channel)
    assert (channel_record.floats, channel_record.distance, channel_record.type, channel_record.bones) == (6, 1.5, 1, 1)
    assert channel_record.rows.tolist() == [[0, 1, 0, 0.5, 0, -0.25], [0, 1, -1, 0.5, 0, 0.25]]
    assert [(str(place), record.offset) for place, record in document.walk()] == [("/clip", 0), ("/clip/channel[0]", 8)]
    assert keyframer.encode(document) == RETAIL


def test_beta() -> None:
    document = keyframer.decode(BETA)
    assert document.dialect is Dialect.BETA
    first, second = document.find(Channel)
    assert (first.floats, first.distance, first.type, first.bones) == (3, 0, 1, 0)
    assert (second.floats, second.distance, second.type, second.bones) == (1, -1, 5, None)
    assert second.rows.tolist() == [[0.5]]
    assert keyframer.encode(document) == BETA


def test_old() -> None:
    document = keyframer.decode(OLD)
    assert document.dialect is Dialect.OLD
    top = document.records[0]
    assert isinstance(top, OldClip)
    assert (top.frames, top.bones) == (1, 1)
    (channel_record,) = top.children
    assert isinstance(channel_record, OldChannel)
    assert (channel_record.distance, channel_record.type, channel_record.bones) == (2, 1, 1)
    assert channel_record.rows.tolist() == [[0, 1, 0, 0.5, 0, -0.25]]
    assert [str(place) for place, _ in document.walk()] == ["/oldclip", "/oldclip/channel"]
    assert keyframer.encode(document) == OLD


def test_if_two_layouts_fit_the_type_byte_decides() -> None:
    """49 bytes are 1 channel with 2 frames of 4 floats, or 1 frame of 2 bones in the old layout."""
    both = struct.pack("<IIIfB", 1, 2, 4, 1.0, 1) + struct.pack("<8f", *[0.5] * 8)
    assert len(both) == 17 + 4 * 2 * 4 == 13 + 12 * 1 * (2 + 1)
    assert keyframer.decode(both, format="midtown").dialect is Dialect.BETA
    other = bytearray(both)
    other[16] = 0  # no roll, pitch, heading for the document; and the old layout's type byte
    other[12] = 1
    document = keyframer.decode(bytes(other), format="midtown")
    assert document.dialect is Dialect.OLD
    assert keyframer.encode(document) == other


@pytest.mark.parametrize("extra", [b"\0", b"x" * 23, b"y" * 1000])
@pytest.mark.parametrize("whole", [RETAIL, BETA, OLD], ids=["retail", "beta", "old"])
def test_trailing_bytes_are_kept_if_the_format_is_given(whole: bytes, extra: bytes) -> None:
    document = keyframer.decode(whole + extra, format="midtown")
    assert document.trailing == extra
    assert [(issue.code, issue.offset, issue.severity.label) for issue in document.issues] == [
        ("STRUCT_TRAILING_DATA", len(whole), "warning")
    ]
    assert keyframer.encode(document) == whole + extra


@pytest.mark.parametrize("name", ["midtown", None])
@pytest.mark.parametrize(
    ("data", "words"),
    [
        ((b"This is not an animation at all, whatever its name may say.\r\n" * 2)[:104], "text"),
        (b"cmp\0" + RETAIL[4:], "Smuggler's Run 2"),
    ],
    ids=["a clip of text, as the game has one", "the compressed variant"],
)
def test_other_files_are_recognised_and_refused(data: bytes, words: str, name: str | None) -> None:
    with pytest.raises(keyframer.FormatError, match=rf"^IO_UNRECOGNISED\b.*{words}"):
        keyframer.decode(data, format=name)


@pytest.mark.parametrize("channels", [0, 1, 200])
def test_clips_without_floats_are_refused(channels: int) -> None:
    data = struct.pack("<IIIfB", channels, 0xFFFFFFFF, 0, 1.0, 1) + bytes(9 * 200)
    with pytest.raises(keyframer.FormatError) as caught:
        keyframer.decode(data, format="midtown")
    assert (caught.value.code, caught.value.offset) == ("SEM_ZERO_WIDTH_FRAMES", 8)
    assert caught.value.details["frames"] == 0xFFFFFFFF
    assert keyframer.detect(data).format is None


def test_an_empty_channel_is_kept_with_an_error() -> None:
    data = beta(2, channel(walk(2, 1)), struct.pack("<IfB", 0, 0.0, 3), channel(walk(2, 1)))
    document = keyframer.decode(data, format="midtown")
    assert [(issue.code, issue.path) for issue in document.issues] == [
        ("SEM_ZERO_WIDTH_FRAMES", "/clip/channel[1]/floats")
    ]
    assert [record.rows.shape for record in document.find(Channel)] == [(2, 6), (2, 0), (2, 6)]
    assert keyframer.encode(document) == data


@pytest.mark.parametrize(
    ("frames", "floats"), [(0xFFFFFFFF, 0xFFFFFFFF), (0x40000000, 3), (3, 6), (0xFFFFFFFF, 0xC0000000)]
)
def test_a_truncated_clip_keeps_its_bytes(frames: int, floats: int) -> None:
    data = struct.pack("<IIIfB", 0, frames, floats, 1.5, 1) + RETAIL[17:]
    document = keyframer.decode(data, format="midtown")
    (issue,) = document.issues
    assert (issue.code, issue.offset, issue.path) == ("STRUCT_COUNT_EXCEEDS_DATA", 4, "/clip/frames")
    assert issue.args["available"] == 48 // (4 * floats)
    (raw,) = document.records[0].children
    assert isinstance(raw, RawRun)
    assert raw.offset == 8
    assert keyframer.encode(document) == data
    assert keyframer.detect(data).format is None


def test_channels_before_the_truncation_are_kept() -> None:
    data = beta(3, channel(walk(3, 2)), channel(walk(3, 2)))[:-5]
    document = keyframer.decode(data, format="midtown")
    first, raw = document.records[0].children
    assert isinstance(first, Channel)
    assert isinstance(raw, RawRun)
    assert keyframer.encode(document) == data


@pytest.mark.parametrize(
    "data",
    [
        struct.pack("<IIIfB", 0xFFFFFFFF, 1, 3, 1.0, 1) + bytes(12),
        struct.pack("<IIIfB", 0, 100, 7, 1.0, 1) + bytes(12),
        struct.pack("<IIIfB", 0, 100, 6, 1.0, 2) + bytes(12),
        b"\0",
        bytes(12),
        b"\xff" * 100,
    ],
)
def test_data_that_fits_no_layout_is_refused(data: bytes) -> None:
    with pytest.raises(keyframer.FormatError) as caught:
        keyframer.decode(data, format="midtown")
    assert caught.value.code == "IO_UNRECOGNISED"
    assert str(len(data)) in caught.value.message


@pytest.mark.parametrize("layout", Dialect)
def test_building_a_clip(layout: Dialect) -> None:
    rows = walk(5, 19)
    independent = {
        Dialect.RETAIL: retail(rows, 1.25),
        Dialect.BETA: beta(5, channel(rows, 1.25)),
        Dialect.OLD: old(rows, 1.25),
    }
    document = new_document([make_channel(rows, 1.25)], layout=layout)
    assert keyframer.encode(document) == independent[layout]
    decoded = keyframer.decode(independent[layout])
    assert decoded.dialect is layout
    assert dump_fields(decoded.records[0]) == dump_fields(document.records[0])


def test_building_several_channels() -> None:
    document = new_document([make_channel(walk(3, 2)), make_channel([[1], [2], [3]], 0.5, 9)])
    assert keyframer.encode(document) == beta(3, channel(walk(3, 2), 0.0), channel([[1], [2], [3]], 0.5, 9))


def test_counts_are_updated() -> None:
    document = keyframer.decode(beta(3, channel(walk(3, 2)), channel(walk(3, 4))))
    for channel_record in document.find(Channel):
        channel_record.rows = channel_record.rows[:2, :6]
    decoded = keyframer.decode(keyframer.encode(document))
    top = decoded.records[0]
    assert isinstance(top, Clip)
    assert (top.channels, top.frames) == (2, 2)
    assert [record.floats for record in decoded.find(Channel)] == [6, 6]


@pytest.mark.parametrize(
    ("rows", "layout"),
    [
        ([walk(2, 1), walk(3, 1)], Dialect.BETA),
        ([walk(2, 1), walk(2, 1)], Dialect.RETAIL),
        ([walk(2, 1), walk(2, 1)], Dialect.OLD),
        ([], Dialect.BETA),
        ([[[1.0, 2.0]]], Dialect.OLD),
    ],
)
def test_rows_that_a_layout_cannot_store_are_refused(rows: list[list[list[float]]], layout: Dialect) -> None:
    with pytest.raises(ValueError):
        new_document([make_channel(row) for row in rows], layout=layout)


def test_a_document_with_the_wrong_layout_is_refused() -> None:
    document = keyframer.decode(OLD)
    for layout in (Dialect.RETAIL, None):
        document.dialect = layout
        with pytest.raises(ValueError):
            keyframer.encode(document)


@given(st.integers(0, 4), st.integers(0, 5), st.lists(st.integers(1, 7), min_size=1, max_size=4))
def test_any_shape_of_the_beta_layout(frames: int, type: int, widths: list[int]) -> None:
    parts = [
        struct.pack("<IfB", width, 0.5, type) + struct.pack(f"<{frames * width}f", *[0.25] * (frames * width))
        for width in widths
    ]
    data = beta(frames, *parts)
    document = keyframer.decode(data, format="midtown")
    assert keyframer.encode(document) == data
    if document.dialect is Dialect.BETA:
        assert [record.rows.shape for record in document.find(Channel)] == [(frames, width) for width in widths]


def test_invalid_records_are_refused() -> None:
    document = keyframer.decode(RETAIL)
    document.records.append(Clip())
    with pytest.raises(ValueError, match="holds one clip or text, not 2"):
        keyframer.encode(document)
    document = keyframer.decode(RETAIL)
    document.records[0].children.append(OldChannel())
    with pytest.raises(ValueError, match="can contain only Channel records"):
        keyframer.encode(document)
    with pytest.raises(ValueError, match=r"not an array of shape \(3,\)"):
        make_channel([1.0, 2.0, 3.0])


def test_an_old_clip_without_frames_keeps_its_bones() -> None:
    """There is no row to count them from: only the header has their number."""
    document = keyframer.decode(OLD)
    top = document.records[0]
    assert isinstance(top, OldClip)
    bones = top.bones
    (channel_,) = document.find(OldChannel)
    channel_.rows = channel_.rows[:0]
    data = keyframer.encode(document)
    assert struct.unpack_from("<2I", data) == (0, bones)


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
