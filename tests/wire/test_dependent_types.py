"""Fields that depend on earlier fields: arrays and keys with counts, arrays of counts, choices."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from keyframer.errors import FormatError
from keyframer.formats.kit.key_table import KeyLayout, Keys, linked_keys
from keyframer.wire.cursor import Cursor
from keyframer.wire.field_types import array_of_counts, choice, i32, linked_array, u8
from keyframer.wire.record import Record, dump_fields, read_fields, record, restore_fields
from tests.samples import unhex
from tests.wire.test_records import write

PLAIN = KeyLayout(1, ("time", "value"), extras=(), time_name="time")
FLAGGED = KeyLayout(1, ("time", "value", "flags", "extras"), flags="u1", time_name="time")


@record
class Bag(Record):
    """A record in which every field depends on an earlier one."""

    count: int = i32("how many")
    kind: int = choice("B", {0: "plain", 1: "flagged"}, "what follows")
    shares: npt.NDArray[np.int32] = array_of_counts("<i4", "count", 2, "entries of each")
    parts: npt.NDArray[np.int16] = linked_array("<i2", lambda bag: int(bag.shares.sum()), "all entries")
    extra: npt.NDArray[np.uint8] = linked_array("u1", "count", "only if flagged", when=lambda bag: bag.kind == 1)


@record
class Track(Record):
    """Keys whose number and layout are given by earlier fields."""

    key_count: int = i32("how many keys")
    flagged: int = u8("layout")
    keys: Keys = linked_keys(
        lambda track: FLAGGED if track.flagged else PLAIN,
        "key_count",
        "time, value",
        "keys",
        when=lambda track: track.flagged != 2,
    )


def read(cls: type[Record], data: bytes) -> Record:
    record = cls()
    cursor = Cursor(data)
    read_fields(record, cursor)
    assert cursor.left == 0
    return record


BAG = unhex("02 00 00 00  01  01 00 00 00  02 00 00 00  0a 00 0b 00 0c 00  07 08")


def test_all_fields_are_read_and_written_back() -> None:
    bag = read(Bag, BAG)
    assert isinstance(bag, Bag)
    assert bag.parts.tolist() == [10, 11, 12]
    assert bag.extra.tolist() == [7, 8]
    assert write(bag) == BAG


def failure(cls: type[Record], data: bytes) -> FormatError:
    with pytest.raises(FormatError) as caught:
        read(cls, data)
    return caught.value


@pytest.mark.parametrize(
    ("hex_text", "code", "offset", "path"),
    [
        ("ff ff ff ff  00", "STRUCT_COUNT_NEGATIVE", 0, "/shares"),
        ("ff ff ff 7f  00", "STRUCT_COUNT_EXCEEDS_DATA", 0, "/shares"),
        ("01 00 00 00  02", "SEM_UNKNOWN_ENUM", 4, "/kind"),
        ("02 00 00 00  00  01 00 00 00  fe ff ff ff  00 00", "STRUCT_COUNT_NEGATIVE", 9, "/shares[1]"),
        ("02 00 00 00  00  01 00 00 00  01 00 00 00  00 00", "STRUCT_COUNT_EXCEEDS_DATA", 9, "/shares[1]"),
        ("01 00 00 00  01  01 00 00 00  00 00", "STRUCT_COUNT_EXCEEDS_DATA", 0, "/extra"),
    ],
)
def test_errors_are_located_at_the_wrong_field(hex_text: str, code: str, offset: int, path: str) -> None:
    error = failure(Bag, unhex(hex_text))
    assert (error.code, error.offset, error.path) == (code, offset, path)


def test_written_counts_are_the_lengths_of_the_arrays() -> None:
    bag = Bag(count=99, kind=1, shares=np.array([1]), parts=np.array([5]), extra=np.array([9]))
    assert write(bag) == unhex("01 00 00 00  01  01 00 00 00  05 00  09")
    bag.kind = 0
    bag.extra = np.array([1, 2, 3])  # not written, so it does not count
    assert write(bag) == unhex("01 00 00 00  00  01 00 00 00  05 00")
    bag.parts = np.array([5, 6])
    with pytest.raises(ValueError, match="number of entries: expected 1, not 2"):
        write(bag)
    bag.kind = 7
    with pytest.raises(ValueError, match=r"expected one of .*, not 7"):
        write(bag)


PLAIN_TRACK = unhex("01 00 00 00  00  05 00 00 00  00 00 80 3f")
FLAGGED_TRACK = unhex("02 00 00 00  01  05 00 00 00  00 00 80 3f  01  00 00 00 3f  06 00 00 00  00 00 00 40  00")
BARE_TRACK = unhex("09 00 00 00  02")


@pytest.mark.parametrize("data", [PLAIN_TRACK, FLAGGED_TRACK, BARE_TRACK])
def test_key_layout_follows_the_flag_of_the_record(data: bytes) -> None:
    track = read(Track, data)
    assert write(track) == data
    restored = Track()
    restore_fields(restored, dump_fields(track))
    assert write(restored) == data


def test_keys_in_json_have_flags_only_if_the_layout_has_them() -> None:
    assert dump_fields(read(Track, PLAIN_TRACK))["keys"] == [{"time": 5, "value": 1.0}]
    flagged = dump_fields(read(Track, FLAGGED_TRACK))["keys"]
    assert flagged == [
        {"time": 5, "flags": 1, "tension": 0.5, "value": 1.0},
        {"time": 6, "flags": 0, "value": 2.0},
    ]


@pytest.mark.parametrize(("count", "code"), [(-1, "STRUCT_COUNT_NEGATIVE"), (2, "STRUCT_COUNT_EXCEEDS_DATA")])
def test_impossible_key_counts_are_refused(count: int, code: str) -> None:
    data = count.to_bytes(4, "little", signed=True) + PLAIN_TRACK[4:]
    error = failure(Track, data)
    assert (error.code, error.offset, error.path) == (code, 0, "/key_count")


def test_a_count_of_zero_gives_empty_arrays() -> None:
    data = unhex("00 00 00 00  00")
    bag = read(Bag, data)
    assert isinstance(bag, Bag)
    assert (len(bag.shares), len(bag.parts)) == (0, 0)
    assert write(bag) == data
