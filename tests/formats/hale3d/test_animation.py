"""Hale3D animations: annotated bytes, dialects, building, editing and damage."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import keyframer
from keyframer.formats.document import RawRun
from keyframer.formats.hale3d import FORMAT
from keyframer.formats.hale3d.document import new_animation
from keyframer.formats.hale3d.records import Animation, Dialect, Frames, Joint
from keyframer.formats.kit.scene_reading import Reporter
from keyframer.issues import IssueLog
from keyframer.wire.cursor import Cursor
from keyframer.wire.record import dump_fields, read_fields, restore_fields
from tests.building.hale3d import TEXTS, frame, header, joint, length, wave
from tests.growth import assert_linear
from tests.samples import unhex
from tests.samples.hale3d.make_samples import samples

TINY = unhex(
    """
    48 33 44 41              # ID: H3DA
    01 00 00 00              # version 1
    02 00 00 00              # 2 frames
    1e 00 00 00              # 30 frames per second
    01 00 00 00              # 1 joint
    01 00 00 00              # 1 animated component
    ff ff ff ff              # joint 0: no parent
    02 00 00 00              # Ty is animated
    00 00 00 00              # from component 0
    22 68 69 70 22 00        # "hip", with its quotes
    00 00 80 3f  00 00 00 40  00 00 40 40                  # base position 1 2 3
    00 00 00 00  00 00 00 00  00 00 00 00  00 00 80 3f     # base orientation 0 0 0 1
    00 00 00 bf  00 00 00 bf  00 00 00 bf                  # frame 0: box from -0.5
    00 00 00 3f  00 00 00 3f  00 00 00 3f                  #          to 0.5
    00 00 20 41                                            #          Ty = 10
    00 00 00 bf  00 00 00 bf  00 00 00 bf                  # frame 1
    00 00 00 3f  00 00 00 3f  00 00 00 3f
    00 00 a0 41                                            #          Ty = 20
    """
)


def test_every_field() -> None:
    document = keyframer.decode(TINY)
    assert document.dialect is Dialect.NUL_ENDED
    assert not list(document.issues)
    top = document.records[0]
    assert isinstance(top, Animation)
    assert (top.id, top.version, top.frame_count, top.frame_rate) == (b"H3DA", 1, 2, 30)
    assert (top.joint_count, top.component_count) == (1, 1)
    hip, frames = top.children
    assert isinstance(hip, Joint)
    assert (hip.parent, hip.flags, hip.start_index, hip.name) == (-1, 2, 0, b'"hip"')
    assert hip.shown_name == "hip"
    assert hip.position == (1, 2, 3)
    assert hip.orientation == (0, 0, 0, 1)
    assert isinstance(frames, Frames)
    assert frames.rows.shape == (2, 7)
    assert frames.components.tolist() == [[10], [20]]
    assert frames.bounds.tolist() == [[[-0.5] * 3, [0.5] * 3]] * 2
    assert [(str(place), record.offset) for place, record in document.walk()] == [
        ("/animation", 0),
        ("/animation/joint[0]", 24),
        ("/animation/frames", 70),
    ]
    assert keyframer.encode(document) == TINY


@pytest.mark.parametrize("name", TEXTS)
def test_dialects(name: str) -> None:
    data = wave(TEXTS[name])
    document = keyframer.decode(data)
    assert str(document.dialect) == name
    assert [record.name for record in document.find(Joint)] == [b'"root"', b'"arm"', b'"hand"']
    assert document.issues.total == 0
    assert keyframer.encode(document) == data


@pytest.mark.parametrize("name", TEXTS)
@given(names=st.lists(st.binary(max_size=12).map(lambda raw: raw.replace(b"\0", b"?")), min_size=3, max_size=3))
def test_dialects_with_any_names(name: str, names: list[bytes]) -> None:
    data = wave(TEXTS[name], names)
    document = keyframer.decode(data)
    assert keyframer.encode(document) == data
    if str(document.dialect) == name:
        assert [record.name for record in document.find(Joint)] == names
    else:  # read another way only if that way ends exactly, too, and comes first
        assert document.issues.total == 0


@pytest.mark.parametrize("dialect", Dialect)
def test_the_dialect_of_a_file_that_does_not_end_with_its_last_record_is_that_with_printable_names(
    dialect: Dialect,
) -> None:
    whole = wave(TEXTS[dialect.value])
    names = [joint.name for joint in keyframer.decode(whole).find(Joint)]
    for damaged in (whole + b"!", *(whole[:-cut] for cut in range(1, 170))):  # the frames take 200 bytes
        document = keyframer.decode(damaged)
        assert document.dialect is dialect
        assert [joint.name for joint in document.find(Joint)] == names


def test_the_dialect_can_be_changed() -> None:
    document = keyframer.decode(wave())
    document.dialect = Dialect.LENGTH
    assert keyframer.encode(document) == wave(TEXTS["length"])


def test_joints_with_equal_names_stay_separate() -> None:
    data = header(1, 33, 0) + joint(b'"origin"') * 33 + frame((0,) * 6, ())
    document = keyframer.decode(data)
    assert len(list(document.find(Joint))) == 33
    assert len({str(place) for place, _ in document.walk()}) == 35


def test_trailing_bytes_are_kept_with_a_warning() -> None:
    document = keyframer.decode(wave() + b"more")
    assert document.trailing == b"more"
    assert [(issue.code, issue.offset, issue.severity.label) for issue in document.issues] == [
        ("STRUCT_TRAILING_DATA", 364, "warning")
    ]


def test_a_signalling_nan_is_kept() -> None:
    data = samples()["signalling-nan.anim"]
    document = keyframer.decode(data)
    record = document.first(Joint)
    assert np.asarray(record.orientation, "<f4").view("<u4").tolist() == [0x7FA00001, 0, 0, 0]
    assert keyframer.encode(document) == data
    copy = Joint()
    restore_fields(copy, dump_fields(record))
    found_at = document.records[0].children.index(record)
    document.records[0].children[found_at] = copy
    assert keyframer.encode(document) == data


def test_building_a_document() -> None:
    document = new_animation(
        [
            Joint(-1, 0b000110, 0, b'"root"', (0, 1, 2)),
            Joint(0, 0b100000, 2, b'"arm"', (0.5, 0, 0), (0, 0, 0.5, -0.8660254)),
            Joint(1, 0b001000, 3, b'"hand"', (1.5, 0, 0), (0.25, 0, 0, -0.9682458)),
        ],
        [[0.25 * number, 2.0, 0.1 * number - 0.2, 0.125] for number in range(5)],
        bounds=[[[-1, -1, -1], [1, 1, 1 + number]] for number in range(5)],
    )
    assert keyframer.encode(document) == wave()
    top = document.records[0]
    assert isinstance(top, Animation)
    assert (top.joint_count, top.frame_count, top.component_count) == (3, 5, 4)


def test_counts_are_updated() -> None:
    document = keyframer.decode(wave())
    top = document.records[0]
    del top.children[1]
    frames = document.first(Frames)
    frames.rows = frames.rows[:2, :8]
    decoded = keyframer.decode(keyframer.encode(document)).records[0]
    assert isinstance(decoded, Animation)
    assert (decoded.joint_count, decoded.frame_count, decoded.component_count) == (2, 2, 2)


def test_a_table_without_frames_keeps_the_component_count() -> None:
    data = header(0, 1, 4_000_000_000) + joint(b"only")
    document = keyframer.decode(data)
    assert document.issues.total == 0
    assert keyframer.encode(document) == data


@pytest.mark.parametrize(
    "spoil",
    [
        lambda top: top.children.reverse(),
        lambda top: top.children.append(top.children[-1]),
        lambda top: top.children.insert(0, Animation()),
        lambda top: setattr(top.children[-1], "rows", np.zeros((2, 5), "<f4")),
        lambda top: setattr(top.children[-1], "rows", np.zeros(5, "<f4")),
        lambda top: setattr(top.children[0], "name", b"a\0b"),
        lambda top: setattr(top.children[0], "position", (1.0, 2.0)),
        lambda top: setattr(top.children[0], "parent", 1 << 40),
        lambda top: setattr(top.children[0], "tail", b"no"),
    ],
)
def test_values_that_cannot_be_written_are_refused(spoil: object) -> None:
    document = keyframer.decode(wave())
    assert callable(spoil)
    spoil(document.records[0])
    with pytest.raises(ValueError):
        keyframer.encode(document)


def test_detection_of_versions_and_truncated_headers() -> None:
    match = keyframer.detect(struct.pack("<4s5I", b"H3DA", 1, 0, 24, 0, 0))
    assert (match.version, match.score) == ("1", 1.0)
    assert keyframer.detect(struct.pack("<4s5I", b"H3DA", 7, 0, 24, 0, 0)).format is None
    assert keyframer.detect(struct.pack("<4s3I", b"H3DM", 2, 0, 0)).format is None
    assert keyframer.detect(b"H3DA\x01\0").score == 0.7
    assert keyframer.detect(b"H3DA\x02\0").format.name == "horde3d"
    assert keyframer.detect(header(1000, 1, 1)).score == 0.8


def test_another_version_can_be_read_by_naming_the_format() -> None:
    data = struct.pack("<4s5I", b"H3DA", 7, 0, 24, 0, 0)
    document = keyframer.decode(data, format="hale3d")
    assert keyframer.encode(document) == data
    assert "SEM_UNKNOWN_VERSION" in keyframer.check(data, format="hale3d").counts


def test_invalid_dialects_and_records_are_refused() -> None:
    document = keyframer.decode(wave())
    document.dialect = "length"
    with pytest.raises(ValueError, match="expected a dialect of Hale3D, not 'length'"):
        keyframer.encode(document)
    document = keyframer.decode(wave())
    document.records.append(Joint())
    with pytest.raises(ValueError, match="cannot be at the top level"):
        keyframer.encode(document)
    with pytest.raises(ValueError, match=r"not an array of shape \(3,\)"):
        Frames.make([1.0, 2.0, 3.0])


@pytest.mark.parametrize(
    ("name", "code", "offset"),
    [
        (struct.pack("<I", 1000) + b"hip", "STRUCT_COUNT_EXCEEDS_DATA", 36),
        (struct.pack("<I", 3) + b"hip", "STRUCT_STRING_UNTERMINATED", 40),
        (struct.pack("<I", 0), "STRUCT_STRING_UNTERMINATED", 40),
    ],
    ids=["longer than the file", "no NUL in its length", "length without room for the NUL"],
)
def test_names_that_contradict_their_length_are_refused(name: bytes, code: str, offset: int) -> None:
    """In the dialect where the length includes the NUL."""
    data = b"".join([header(0, 1, 0), struct.pack("<iII", -1, 0, 0), name, struct.pack("<7f", *[0.0] * 7)])
    cursor = Cursor(data, 24)
    with pytest.raises(keyframer.FormatError) as caught:
        read_fields(Joint(), cursor, Joint.plan.adapted(Dialect.LENGTH_WITH_NUL.style))
    assert (caught.value.code, caught.value.offset, caught.value.path) == (code, offset, "/name")


def test_records_are_checked_without_a_scene() -> None:
    document = keyframer.decode(wave(names=(b'"a\x1b[2J"', b'"b"', b'"b"')))
    reporter = Reporter(document, IssueLog())
    FORMAT.apply_rules(document, None, reporter)
    assert sorted(issue.code for issue in reporter.issues) == ["SEC_NAME_CONTROL_CHARS", "SEM_DUPLICATE_NAME"]


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
