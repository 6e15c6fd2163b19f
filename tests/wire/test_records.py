"""Wire types and records: reading, writing, dumping and describing follow from one declaration."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import json
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyframer.errors import FormatError
from keyframer.formats.kit.key_table import KeyLayout, Keys
from keyframer.formats.kit.key_table import keys as key_list
from keyframer.wire import field_types as wire
from keyframer.wire.cursor import Cursor
from keyframer.wire.field_types import exact_floats
from keyframer.wire.record import (
    FieldError,
    Record,
    describe_fields,
    dump_fields,
    read_fields,
    record,
    restore_fields,
    take_record,
    write_fields,
)
from keyframer.wire.record_plan import NumberRun
from keyframer.wire.sink import Sink
from tests.samples import unhex


@record
class Thing(Record):
    """A record with a field of every type."""

    small: int = wire.u8("a byte")
    signed: int = wire.i16("a signed word", default=-1)
    place: tuple[float, ...] = wire.vector("where it is")
    name: bytes = wire.strz("what it is called")
    label: bytes = wire.chars(4, "four bytes")
    count: int = wire.u16("how many pairs")
    extra: float = wire.f32("only where small is 1", when=lambda thing: thing.small == 1)
    pairs: Any = wire.linked_array(("<u2", (2,)), "count", "pairs")
    points: Any = wire.counted_array(("<f4", (3,)), "H", "points")
    keys: Keys = key_list(KeyLayout(1), "keys")
    rest: Any = wire.array_to_end("<u2", "up to the end")


THING = unhex("""
    01                                # small
    fe ff                             # signed: -2
    00 00 80 3f 00 00 00 40 00 00 40 40   # place 1 2 3
    42 6f 78 00                       # name
    61 62 00 00                       # label, padded
    02 00                             # count
    00 00 00 3f                       # extra 0.5, because small is 1
    01 00 02 00  03 00 04 00          # two pairs
    01 00  00 00 00 00 00 00 00 00 00 00 80 bf    # one point
    01 00 00 00  05 00 00 00 01 00 00 00 80 3e 00 00 20 41   # one key: frame 5, tension 0.25, value 10
    07 00 08 00                       # the rest
""")


def read(cls: type[Record], data: bytes) -> Any:
    record = cls()
    read_fields(record, Cursor(data))
    return record


def write(source: Record) -> bytes:
    sink = Sink()
    write_fields(source, sink)
    return sink.getvalue()


def test_reading_every_field_type() -> None:
    thing = read(Thing, THING)
    assert (thing.small, thing.signed, thing.place) == (1, -2, (1.0, 2.0, 3.0))
    assert (thing.name, thing.label, thing.count, thing.extra) == (b"Box", b"ab\0\0", 2, 0.5)
    assert thing.pairs.tolist() == [[1, 2], [3, 4]]
    assert thing.points.tolist() == [[0.0, 0.0, -1.0]]
    assert thing.rest.tolist() == [7, 8]
    assert (thing.keys.time.tolist(), thing.keys.tension.tolist(), thing.keys.value.tolist()) == ([5], [0.25], [[10.0]])


def test_writing_gives_the_same_bytes() -> None:
    assert write(read(Thing, THING)) == THING


def test_dumping_and_restoring() -> None:
    dumped = json.loads(json.dumps(dump_fields(read(Thing, THING)), allow_nan=False))
    assert list(dumped) == [plan.name for plan in Thing.plan.fields]
    assert dumped["place"] == [1.0, 2.0, 3.0]
    assert dumped["label"] == "ab\\x00\\x00"
    assert dumped["keys"] == [{"frame": 5, "flags": 1, "tension": 0.25, "value": 10.0}]
    restored = Thing()
    restore_fields(restored, dumped)
    assert write(restored) == THING


def test_a_field_whose_condition_is_false_is_left_out() -> None:
    without = b"\0" + THING[1:25] + THING[29:]
    thing = read(Thing, without)
    assert thing.extra == 0.0
    assert "extra" not in dump_fields(thing)
    assert write(thing) == without
    with pytest.raises(FieldError, match="extra: not allowed with the value of an earlier field"):
        restore_fields(Thing(), {**dump_fields(thing), "extra": 1.0})


def test_describing() -> None:
    rows = {row.name: (row.type, row.description) for row in describe_fields(Thing)}
    assert list(rows) == [plan.name for plan in Thing.plan.fields]
    assert rows["small"] == ("u8", "a byte")
    assert rows["place"] == ("3 x f32", "where it is")
    assert rows["name"][0] == "text, NUL-ended"
    assert rows["extra"][0] == "f32 (conditional)"
    assert rows["pairs"][0] == "count x (2 x u16)"
    assert rows["points"][0] == "u16 n, n x (3 x f32)"


def test_the_plan_is_cached_and_adjacent_numbers_are_read_together() -> None:
    assert read(Thing, THING).plan is Thing.plan
    runs = [step.names for step in Thing.plan.steps if isinstance(step, NumberRun)]
    assert runs == [["small", "signed", "place"], ["count"]]
    assert Thing.plan.minimum == 1 + 2 + 12 + 1 + 4 + 2 + 2 + 4


def test_defaults() -> None:
    thing = Thing()
    assert (thing.small, thing.signed, thing.count, thing.extra) == (0, -1, 0, 0.0)
    assert (thing.place, thing.name, thing.label) == ((0.0, 0.0, 0.0), b"", bytes(4))
    assert thing.points.shape == (0, 3)
    assert len(thing.keys) == 0
    assert Thing().children is not Thing().children


def test_truncation_anywhere_is_located() -> None:
    for size in range(len(THING) - 4):
        with pytest.raises(FormatError) as caught:
            read(Thing, THING[:size])
        assert 0 <= caught.value.offset <= size
        assert caught.value.path.split("/")[1].split("[")[0] in {plan.name for plan in Thing.plan.fields}


@pytest.mark.parametrize(
    ("at", "field", "offset"),
    [(3, "small", 0), (25, "extra", 25)],  # in a run of numbers, and alone after a condition
)
def test_signalling_nans_in_numbers_are_refused(at: int, field: str, offset: int) -> None:
    damaged = THING[:at] + bytes.fromhex("0100a07f") + THING[at + 4 :]
    with pytest.raises(FormatError) as caught:
        read(Thing, damaged)
    error = caught.value
    assert (error.code, error.offset, error.path) == ("STRUCT_NOT_REPRODUCIBLE", offset, f"/{field}")


@pytest.mark.parametrize("at", [3, 7, 25])
@pytest.mark.parametrize("bits", ["0000c07f", "0100c07f", "0000c0ff", "0000807f", "000080ff", "00000080", "01000000"])
def test_other_unusual_floats_survive(at: int, bits: str) -> None:
    odd = THING[:at] + bytes.fromhex(bits) + THING[at + 4 :]
    assert write(read(Thing, odd)) == odd


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("small", 256),
        ("small", -1),
        ("small", 1.5),
        ("small", None),
        ("small", "1"),
        ("signed", 40000),
        ("place", (1.0, 2.0)),
        ("place", 5),
        ("place", (1.0, 2.0, "x")),
        ("place", (1.0, 2.0, 1e300)),
        ("extra", 1e300),
        ("name", b"a\0b"),
        ("name", "text"),
        ("label", b"abcde"),
        ("label", "ab"),
        ("points", [[1, 2]]),
        ("points", 7),
        ("points", [["a", "b", "c"]]),
        ("points", np.zeros((65536, 3))),
        ("pairs", [[1, 65536]]),
        ("pairs", [[1, 0.5]]),
        ("keys", None),
        ("keys", Keys.make([0], [[1, 2]])),
        ("rest", [-1]),
    ],
)
def test_error_for_a_value_that_does_not_fit_names_the_field(field: str, value: object) -> None:
    thing = read(Thing, THING)
    setattr(thing, field, value)
    with pytest.raises(ValueError) as caught:
        write(thing)
    assert "Thing" in str(caught.value)
    assert field in str(caught.value)


@record
class Bytes(Record):
    data: bytes = wire.blob("anything")


@pytest.mark.parametrize("value", ["text", None, [1, 2], bytearray(b"x")])
def test_a_blob_must_be_bytes(value: object) -> None:
    with pytest.raises(ValueError, match=r"Bytes\.data: expected bytes"):
        write(Bytes(value))  # type: ignore[arg-type]


def test_the_written_count_is_the_length_of_the_array() -> None:
    thing = read(Thing, THING)
    thing.count = 9
    assert write(thing) == THING
    thing.pairs = [[5, 6]]
    assert read(Thing, write(thing)).count == 1


@record
class Twins(Record):
    count: int = wire.u16("how many of each")
    left: Any = wire.linked_array("<u2", "count", "left")
    right: Any = wire.linked_array("<u2", "count", "right")


def test_two_arrays_with_one_count() -> None:
    data = unhex("02 00  01 00 02 00  03 00 04 00")
    twins = read(Twins, data)
    assert (twins.left.tolist(), twins.right.tolist()) == ([1, 2], [3, 4])
    assert write(twins) == data
    twins.left = [1, 2, 3]
    with pytest.raises(ValueError, match="count cannot count arrays of different lengths"):
        write(twins)


def test_lists_are_accepted_as_arrays() -> None:
    thing = read(Thing, THING)
    thing.points = [[0, 0, -1]]
    thing.rest = [7, 8]
    thing.pairs = [(1, 2), (3, 4)]
    thing.place = np.array([1, 2, 3])
    assert write(thing) == THING


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"small": 256}, "small: 256 is outside 0..255"),
        ({"small": "1"}, "small: expected a whole number"),
        ({"place": [1, 2]}, "place: expected a list of 3 numbers"),
        ({"name": 5}, "name: expected text"),
        ({"name": "\\q"}, "name: unknown escape"),
        ({"points": [[1, 2]]}, "points: entry 0: expected a list of 3 numbers"),
        ({"keys": [{"frame": 1, "flags": 2, "value": 1}]}, "keys: key 0: missing 'continuity'"),
        (
            {"keys": [{"frame": 1, "flags": 0, "value": 1, "tension": 0}]},
            "keys: key 0: 'tension' is unknown, or its flag bit is not set",
        ),
        ({"keys": [{"frame": 1, "flags": 65536, "value": 1}]}, "keys: key 0: flags: 65536 is outside"),
        ({"keys": 1}, "keys: expected a list of keys"),
        ({"other": 1}, "other: unknown field"),
    ],
)
def test_restoring_wrong_values_raises_a_clear_error(change: dict[str, object], words: str) -> None:
    dumped = dump_fields(read(Thing, THING))
    with pytest.raises(FieldError) as caught:
        restore_fields(Thing(), {**dumped, **change})
    assert str(caught.value).startswith(words)
    assert caught.value.name == words.split(":")[0]


def test_restoring_without_a_field_is_refused() -> None:
    dumped = dump_fields(read(Thing, THING))
    del dumped["rest"]
    with pytest.raises(FieldError, match="rest: missing"):
        restore_fields(Thing(), dumped)


def test_repr_of_a_record_is_one_short_line() -> None:
    thing = read(Thing, THING)
    thing.name = b"x" * 1000
    shown = repr(thing)
    assert "\n" not in shown
    assert len(shown) < 500
    assert "points=<array 1x3 float32>" in shown


@given(st.binary(max_size=120))
def test_any_bytes_are_reproduced_or_refused(data: bytes) -> None:
    cursor = Cursor(data)
    thing = Thing()
    try:
        read_fields(thing, cursor)
    except FormatError:
        return
    assert write(thing) == data[: cursor.pos]
    restored = Thing()
    restore_fields(restored, json.loads(json.dumps(dump_fields(thing), allow_nan=False)))
    assert write(restored) == data[: cursor.pos]


@given(st.integers(0, len(THING)), st.binary(max_size=20), st.integers(0, 20))
def test_a_damaged_record_is_reproduced_or_refused(at: int, patch: bytes, lost: int) -> None:
    data = THING[:at] + patch + THING[at + lost :]
    try:
        thing = read(Thing, data)
    except FormatError:
        return
    assert data.startswith(write(thing))


@record
class Turn(Record):
    """A record whose floats must keep every bit."""

    axis: tuple[float, ...] = exact_floats("axis", 3)
    angle: float = exact_floats("angle")


@pytest.mark.parametrize("value", [[1, 2], [1, 2, 3, 4], 1.0, None, "123"])
def test_restoring_exact_floats_checks_their_number(value: object) -> None:
    turn = Turn()
    restore_fields(turn, {"axis": [1, 2, 3], "angle": 0.5})
    assert (turn.axis, turn.angle) == ((1.0, 2.0, 3.0), 0.5)
    with pytest.raises(ValueError, match="axis: expected a list of 3 numbers"):
        restore_fields(turn, {"axis": value, "angle": 0.5})


def test_construction_by_position_and_by_keyword() -> None:
    thing = Thing(3, 4, name=b"Box", children=[Thing()], offset=7)
    assert (thing.small, thing.signed, thing.name, thing.tail, thing.offset) == (3, 4, b"Box", b"", 7)
    assert len(thing.children) == 1
    with pytest.raises(TypeError, match="Thing has no field 'colour'"):
        Thing(colour=1)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="small was given twice"):
        Thing(1, small=2)  # type: ignore[misc]
    with pytest.raises(TypeError, match="takes at most 11 values"):
        Thing(*range(12))  # type: ignore[arg-type, misc, call-arg]
    with pytest.raises(AttributeError):
        thing.colour = 1  # type: ignore[attr-defined]


def test_a_field_without_a_default_is_refused() -> None:
    with pytest.raises(TypeError, match=r"Bare\.size: every field of a record needs a default"):

        @record
        class Bare(Record):
            size: int


def test_a_record_is_a_dataclass_to_its_users() -> None:
    thing = Thing(3, name=b"Box", offset=7)
    assert dataclasses.is_dataclass(thing)
    names = [item.name for item in dataclasses.fields(thing)]
    assert names == ["children", "tail", "offset", *(plan.name for plan in Thing.plan.fields)]
    other = dataclasses.replace(thing, small=5)
    assert (other.small, other.name, other.offset, thing.small) == (5, b"Box", 7, 3)
    assert thing != Thing(3, name=b"Box", offset=7)
    assert len({thing, thing, other}) == 2
    assert list(inspect.signature(Thing).parameters)[:2] == ["small", "signed"]
    match thing:
        case Thing(small, signed):
            assert (small, signed) == (3, -1)


def test_copies_and_pickles_of_records_that_were_read() -> None:
    """Also before the keys are first accessed: the copy must not refer to the file."""
    for copied in (copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one)), copy.copy):
        thing = read(Thing, THING)
        duplicate = copied(thing)
        assert write(duplicate) == THING
        assert duplicate.keys.tension.tolist() == [0.25]


def test_columns_of_keys_are_read_only() -> None:
    keys = read(Thing, THING).keys
    assert not keys.value.flags.writeable
    with pytest.raises(AttributeError):
        keys.colour  # noqa: B018


def test_a_wire_type_that_overrides_read_is_read_with_it() -> None:
    """Also if its base class generates code."""

    class Shouted(wire.Strz):
        def read(self, cursor: Cursor, record: Any, name: str) -> bytes:
            return cursor.strz(name).upper()

    @record
    class Shout(Record):
        text: bytes = wire.declare(Shouted(), "what is shouted")

    assert take_record(Shout, Cursor(b"hey\0")).text == b"HEY"
