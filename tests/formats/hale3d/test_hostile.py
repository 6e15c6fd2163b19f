"""Hale3D animations with wrong counts and lengths: each gives one located issue, and every byte is kept."""

from __future__ import annotations

import struct

import pytest

import keyframer
from keyframer.formats.document import RawRun
from keyframer.formats.hale3d.records import Animation, Frames, Joint
from tests.building.hale3d import header, joint, length, wave
from tests.growth import assert_linear

FRAME_SIZE = 24 + 4 * 4


def patched(at: int, value: int) -> bytes:
    data = wave()
    return data[:at] + struct.pack("<I", value) + data[at + 4 :]


def only_issue(data: bytes) -> keyframer.Issue:
    document = keyframer.decode(data)
    assert keyframer.encode(document) == data
    assert len(document.issues) == 1
    return document.issues[0]


@pytest.mark.parametrize("count", [0xFFFFFFFF, 0x15555556, 6])
def test_frame_count(count: int) -> None:
    data = patched(8, count)
    issue = only_issue(data)
    assert (issue.code, issue.offset, issue.path) == ("STRUCT_COUNT_EXCEEDS_DATA", 8, "/animation/frame_count")
    assert issue.args["available"] == 5
    assert issue.severity.label == "error"
    document = keyframer.decode(data)
    assert len(list(document.find(Joint))) == 3
    raw = document.records[0].children[-1]
    assert isinstance(raw, RawRun)
    assert len(raw.data) == 5 * FRAME_SIZE


@pytest.mark.parametrize("count", [0xFFFFFFFF, 9])
def test_joint_count(count: int) -> None:
    issue = only_issue(patched(16, count))
    assert (issue.code, issue.offset, issue.path) == ("STRUCT_COUNT_EXCEEDS_DATA", 16, "/animation/joint_count")
    assert issue.args["available"] == (364 - 24) // 41


@pytest.mark.parametrize("count", [0xFFFFFFFF, 0x40000000, 5])
def test_component_count(count: int) -> None:
    issue = only_issue(patched(20, count))
    assert (issue.code, issue.offset, issue.path) == ("STRUCT_COUNT_EXCEEDS_DATA", 8, "/animation/frame_count")


def test_too_small_a_joint_count_leaves_trailing_data() -> None:
    data = patched(16, 0)
    document = keyframer.decode(data)
    assert [issue.code for issue in document.issues] == ["STRUCT_TRAILING_DATA"]
    assert keyframer.encode(document) == data


def test_a_name_without_its_nul_is_located() -> None:
    """It then includes the following floats up to their first zero byte, and all later fields are shifted."""
    last = joint(b"hand\0", position=(0.1, 0.2, 0.3), orientation=(0.4, 0.5, 0.6, 1.0), text=bytes)
    data = header(1, 2, 0) + joint(b"arm") + last.replace(b"\0\xcd", b"\xcd", 1) + bytes(24)
    document = keyframer.decode(data)
    assert keyframer.encode(document) == data
    suspect, cause = document.issues
    assert (suspect.code, suspect.path) == ("STRUCT_NAME_SUSPECT", "/animation/joint[1]/name")
    assert suspect.offset == data.index(b"hand")
    assert (cause.code, cause.offset, cause.severity.label) == ("STRUCT_COUNT_EXCEEDS_DATA", 8, "error")


def test_a_name_that_never_ends() -> None:
    data = header(0, 1, 0) + struct.pack("<iII", -1, 0, 0) + b"x" * 40
    issue = only_issue(data)
    assert (issue.code, issue.offset, issue.path) == ("STRUCT_STRING_UNTERMINATED", 36, "/animation/joint[0]/name")


def test_a_truncated_joint() -> None:
    data = header(0, 2, 0) + joint(b"a long enough name") + joint(b"b" * 20)[:-4]
    issue = only_issue(data)
    assert (issue.code, issue.path) == ("STRUCT_TRUNCATED", "/animation/joint[1]/orientation")
    document = keyframer.decode(data)
    kept, raw = document.records[0].children
    assert isinstance(kept, Joint)
    assert isinstance(raw, RawRun)
    assert raw.offset == 24 + len(joint(b"a long enough name"))


def test_an_impossible_length_selects_another_dialect() -> None:
    data = header(0, 1, 0) + joint(b"name", text=lambda text: length(text)[:3] + b"\xff" + text)
    assert keyframer.encode(keyframer.decode(data)) == data


@pytest.mark.parametrize("size", range(4, 24))
def test_a_truncated_header_is_one_raw_record(size: int) -> None:
    data = wave()[:size]
    document = keyframer.decode(data)
    assert [type(record) for record in document.records] == [RawRun]
    assert [issue.code for issue in document.issues] == ["STRUCT_TRUNCATED"]
    assert keyframer.encode(document) == data


@pytest.mark.parametrize("start", [b"AD3H", b"MD3H", b"H3DX", b"\x1b[2J", b"H3D", b"H"])
def test_other_signatures_are_refused(start: bytes) -> None:
    with pytest.raises(keyframer.FormatError) as caught:
        keyframer.decode(start + (wave()[4:] if len(start) == 4 else b""), format="hale3d")
    assert (caught.value.code, caught.value.offset) == ("IO_UNRECOGNISED", 0)
    assert "\x1b" not in str(caught.value)


def test_big_endian_files_are_reported_as_such() -> None:
    with pytest.raises(keyframer.FormatError, match="little endian"):
        keyframer.decode(b"AD3H" + wave()[4:], format="hale3d")


def test_an_edited_damaged_file_keeps_its_counts() -> None:
    data = patched(8, 0xFFFFFFFF)
    document = keyframer.decode(data)
    del document.records[0].children[-1]
    top = keyframer.decode(keyframer.encode(document)).records[0]
    assert isinstance(top, Animation)
    assert (top.frame_count, top.joint_count, top.component_count) == (0, 3, 4)
    assert document.first(Frames) is None


def test_many_joints_take_linear_time() -> None:
    few, many = (header(0, count, 0) + joint(b"") * count for count in (2_500, 20_000))
    assert len(keyframer.decode(many).records[0].children) == 20_001
    assert_linear(keyframer.decode, few, many, times=8)
