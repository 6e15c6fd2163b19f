"""Key tables read as columns, compared with a plain loop over rows that uses `struct`."""

from __future__ import annotations

import struct
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyframer.errors import FormatError
from keyframer.formats.kit.key_table import EXTRAS, KeyLayout, Keys, read_keys, write_keys
from keyframer.limits import Limits
from keyframer.wire.cursor import Cursor, Place
from keyframer.wire.sink import Sink

Row = tuple[bytes, int, list[bytes], bytes]  # time, flags, the optional floats that are there, value: all as stored

VALUE_FIRST = ("time", "value", "flags", "extras")
LAYOUTS = {
    "position": KeyLayout(3),
    "rotation": KeyLayout(4),
    "number": KeyLayout(1),
    "hide": KeyLayout(0),
    "float time": KeyLayout(3, time="f4", time_name="seconds"),
    "value first": KeyLayout(4, VALUE_FIRST),
    "byte flags": KeyLayout(3, flags="u1"),
    "value first, byte flags": KeyLayout(1, VALUE_FIRST, flags="u1"),
    "no flags": KeyLayout(3, ("time", "value"), extras=()),
}
TEXT = KeyLayout(None)
every_layout = pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS.keys())


def pack_rows(rows: list[Row], layout: KeyLayout) -> bytes:
    """Write row by row: slow and obvious."""
    flags_code = "<B" if layout.flags == "u1" else "<H"
    out = b""
    for when, flags, extras, value in rows:
        middle = (struct.pack(flags_code, flags) if "flags" in layout.order else b"") + b"".join(extras)
        out += when + (value + middle if layout.order == VALUE_FIRST else middle + value)
    return out


def unpack_rows(data: bytes, count: int, layout: KeyLayout) -> list[Row]:
    """Read row by row, slow and obvious; every float as its four bytes."""
    rows: list[Row] = []
    at = 0

    def take(size: int) -> bytes:
        nonlocal at
        at += size
        assert at <= len(data)
        return data[at - size : at]

    for _ in range(count):
        when = take(4)
        value = take(4 * (layout.width or 0)) if layout.order == VALUE_FIRST else b""
        flags = int.from_bytes(take(int(layout.flags[1])), "little") if "flags" in layout.order else 0
        extras = [take(4) for bit in range(5) if flags & (1 << bit)]
        if layout.width is None:
            end = data.index(b"\0", at)
            value = take(end - at)
            take(1)
        elif layout.order != VALUE_FIRST:
            value = take(4 * layout.width)
        rows.append((when, flags, extras, value))
    return rows


def as_rows(keys: Keys, layout: KeyLayout) -> list[Row]:
    """Convert columns back to rows of stored bytes."""
    rows: list[Row] = []
    for index in range(len(keys)):
        flags = int(keys.flags[index])
        extras = [
            keys.column(name)[index : index + 1].tobytes() for bit, name in enumerate(EXTRAS) if flags & (1 << bit)
        ]
        value = keys.text[index] if layout.width is None else keys.value[index].tobytes()
        rows.append((keys.time[index : index + 1].tobytes(), flags, extras, value))
    return rows


def read(data: bytes, layout: KeyLayout, count: int, place: Place | None = None) -> Keys:
    cursor = Cursor(data, place=place)
    keys = read_keys(cursor, layout, count, "keys", "keys", 0)
    assert cursor.pos <= len(data)
    return keys


def write(keys: Keys, layout: KeyLayout) -> bytes:
    sink = Sink()
    write_keys(sink, layout, keys)
    return sink.getvalue()


def make_rows(flags: list[int], layout: KeyLayout, seed: int = 1) -> list[Row]:
    """Rows of random bits."""
    random = np.random.default_rng(seed)
    word = lambda: random.integers(0, 256, 4, np.uint8).tobytes()  # noqa: E731
    mask = 0xFF if layout.flags == "u1" else 0xFFFF
    rows: list[Row] = []
    for bits in flags:
        bits = bits & mask if "flags" in layout.order else 0
        extras = [word() for bit in range(5) if bits & (1 << bit)]
        rows.append((word(), bits, extras, b"".join(word() for _ in range(layout.width or 0))))
    return rows


@every_layout
@pytest.mark.parametrize("bits", range(32))
def test_rows_with_equal_flags(layout: KeyLayout, bits: int) -> None:
    high = [0, 0x20, 0xE0, 0xFFE0, 0x8000]  # undefined bits announce nothing and are kept
    rows = make_rows([bits | high[n % 5] for n in range(7)], layout)
    data = pack_rows(rows, layout)
    keys = read(data + b"behind", layout, len(rows))
    assert as_rows(keys, layout) == rows == unpack_rows(data, len(rows), layout)
    assert write(keys, layout) == data


@every_layout
def test_every_pair_of_flags(layout: KeyLayout) -> None:
    for first in range(32):
        flags = [first if n % 2 else n // 2 for n in range(64)]
        rows = make_rows(flags, layout, first)
        data = pack_rows(rows, layout)
        keys = read(data + b"behind", layout, len(rows))
        assert as_rows(keys, layout) == rows == unpack_rows(data, len(rows), layout)
        assert write(keys, layout) == data


names = st.binary(max_size=6).filter(lambda text: b"\0" not in text)
float_bits = st.sampled_from([bytes.fromhex(x) for x in ("0100a07f", "efbeadff", "0000c07f", "0000803f", "00000080")])
words = float_bits | st.binary(min_size=4, max_size=4)


@given(st.data(), st.sampled_from([*LAYOUTS.values(), TEXT]))
def test_any_rows(data: st.DataObject, layout: KeyLayout) -> None:
    rows: list[Row] = []
    for _ in range(data.draw(st.integers(0, 12))):
        flags = data.draw(st.integers(0, 255 if layout.flags == "u1" else 65535)) if "flags" in layout.order else 0
        extras = [data.draw(words) for bit in range(5) if flags & (1 << bit)]
        value = data.draw(names) if layout.width is None else b"".join(data.draw(words) for _ in range(layout.width))
        rows.append((data.draw(words), flags, extras, value))
    stored = [(when, flags, extras, value + b"\0") for when, flags, extras, value in rows] if layout is TEXT else rows
    packed = pack_rows(stored, layout)
    keys = read(packed, layout, len(rows))
    assert as_rows(keys, layout) == rows == unpack_rows(packed, len(rows), layout)
    assert write(keys, layout) == packed


@given(st.binary(max_size=200), st.integers(0, 12), st.sampled_from([*LAYOUTS.values(), TEXT]))
def test_any_bytes(data: bytes, count: int, layout: KeyLayout) -> None:
    """Both readers accept and refuse the same bytes."""
    cursor = Cursor(data)
    try:
        rows = unpack_rows(data, count, layout)
    except (AssertionError, ValueError):
        with pytest.raises(FormatError) as caught:
            read_keys(cursor, layout, count, "keys", "keys", 0)
        assert 0 <= caught.value.offset <= len(data)
        assert int(str(caught.value.details["left"])) >= 0
        return
    keys = read_keys(cursor, layout, count, "keys", "keys", 0)
    assert as_rows(keys, layout) == rows
    assert write(keys, layout) == data[: cursor.pos]


def test_columns_by_name() -> None:
    """Columns in the order of the bits: tension, continuity, bias, ease to, ease from; 0 if not stored."""
    data = struct.pack("<iH5f3f", 10, 0x1F, 0.1, 0.2, 0.3, 0.4, 0.5, 1, 2, 3)
    data += struct.pack("<iHff3f", 20, 0x14, 0.6, 0.7, 4, 5, 6)
    keys = read(data, KeyLayout(3), 2)
    assert keys.time.tolist() == [10, 20]
    assert keys.flags.tolist() == [0x1F, 0x14]
    assert keys.value.tolist() == [[1, 2, 3], [4, 5, 6]]
    f = np.float32
    assert keys.tension.tolist() == [f(0.1), 0]
    assert keys.continuity.tolist() == [f(0.2), 0]
    assert keys.bias.tolist() == [f(0.3), f(0.6)]
    assert keys.ease_to.tolist() == [f(0.4), 0]
    assert keys.ease_from.tolist() == [f(0.5), f(0.7)]
    assert read(data[38:], KeyLayout(3), 1).tension.tolist() == [0]


def test_columns_of_rows_with_equal_flags_are_views_of_the_file() -> None:
    layout = KeyLayout(3)
    data = pack_rows(make_rows([1] * 4, layout), layout)
    keys = read(data, layout, 4)
    for column in (keys.time, keys.flags, keys.value):
        assert np.shares_memory(column, np.frombuffer(data, np.uint8))


@pytest.mark.parametrize("flags", [[0], [0, 0], [3, 3], [0, 3]])
def test_columns_are_read_only(flags: list[int]) -> None:
    layout = KeyLayout(3)
    keys = read(pack_rows(make_rows(flags, layout), layout), layout, len(flags))
    for column in (keys.time, keys.flags, keys.value, keys.tension, keys.extras):
        assert column is None or not column.flags.writeable


# Every key but the last: 18 bytes, or 22 with a tension. The last is cut.
CUT_TABLES: list[tuple[str, list[int], int, int, int]] = [
    # shapes, bytes of the last row that are there, wanted, left
    ("the flags of the last row are missing", [0, 1, 0, 0x1F], 5, 18, 5),
    ("the value of the last row is missing", [0, 1, 0, 0x1F], 26, 38, 26),
    ("one byte is missing", [0, 1, 0, 0x1F], 37, 38, 37),
    ("a row of the shape of all others is cut", [1, 1, 1, 1], 20, 22, 20),
    ("nothing of the last row is there", [1, 1, 1, 1], 0, 18, 0),
]


@pytest.mark.parametrize(
    ("flags", "size", "wanted", "left"), [row[1:] for row in CUT_TABLES], ids=[r[0] for r in CUT_TABLES]
)
def test_error_for_a_truncated_table_names_the_row(flags: list[int], size: int, wanted: int, left: int) -> None:
    layout = KeyLayout(3)
    rows = make_rows(flags, layout)
    before = pack_rows(rows[:3], layout)
    data = before + pack_rows(rows[3:], layout)[:size]
    place = Place().child("4d4d").child("b000").child("b002", 3).child("b020")
    with pytest.raises(FormatError) as caught:
        read(data, layout, 4, place)
    error = caught.value
    if size + len(before) < 4 * 18:
        assert error.code == "STRUCT_COUNT_EXCEEDS_DATA"
        return
    assert error.code == "STRUCT_TRUNCATED"
    assert error.path == "/4d4d/b000/b002[3]/b020/keys[3]"
    assert error.offset == len(before)
    assert error.details == {"wanted": wanted, "left": left}


def test_error_names_the_first_truncated_row() -> None:
    """Row 1 lacks two bytes; a third row is announced but missing."""
    layout = KeyLayout(3)
    data = pack_rows(make_rows([0x1F, 0x1F], layout), layout)[:-2]
    with pytest.raises(FormatError) as caught:
        read(data, layout, 3)
    error = caught.value
    assert (error.code, error.path, error.offset) == ("STRUCT_TRUNCATED", "/keys[1]", 38)
    assert error.details == {"wanted": 38, "left": 36}


def test_error_for_truncated_text_rows_names_the_row() -> None:
    good = struct.pack("<iH", 0, 0) + b"Box\0"
    for data, code, offset in (
        (good + good + struct.pack("<i", 1) + bytes(1), "STRUCT_TRUNCATED", 20),
        (good + good + struct.pack("<iHf", 1, 3, 0.5), "STRUCT_TRUNCATED", 20),
        (good + good + struct.pack("<iH", 1, 0) + b"Bo", "STRUCT_STRING_UNTERMINATED", 26),
    ):
        with pytest.raises(FormatError) as caught:
            read(data, TEXT, 3)
        error = caught.value
        assert (error.code, error.offset) in {(code, offset), ("STRUCT_COUNT_EXCEEDS_DATA", 0)}
        assert error.path in {"/keys[2]", "/keys"}


def test_names_in_keys_have_a_limit() -> None:
    data = struct.pack("<iH", 0, 0) + b"x" * 9 + b"\0"
    with pytest.raises(FormatError) as caught:
        read_keys(Cursor(data, limits=Limits(name=8)), TEXT, 1, "keys", "keys", 0)
    assert (caught.value.code, caught.value.path, caught.value.offset) == ("LIMIT_NAME", "/keys[0]", 6)


@pytest.mark.parametrize("layout", [*LAYOUTS.values(), TEXT])
@pytest.mark.parametrize("count", [2**32 - 1, 2**31, 10_000_000])
def test_a_huge_count_allocates_nothing(layout: KeyLayout, count: int) -> None:
    data = bytes(1000)
    tracemalloc.start()
    try:
        with pytest.raises(FormatError) as caught:
            read_keys(Cursor(data, 4), layout, count, "keys", "keys", 0)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (caught.value.code, caught.value.offset, caught.value.path) == ("STRUCT_COUNT_EXCEEDS_DATA", 0, "/keys")
    assert caught.value.details["count"] == count
    assert peak < 50_000


def test_memory_is_proportional_to_the_table() -> None:
    """Mixed rows are the costly case: columns, row starts and indices together stay below 20 times the table."""
    layout = KeyLayout(0)
    data = pack_rows(make_rows([0, 0, 0, 1] * 2_500, layout), layout)
    tracemalloc.start()
    try:
        read(data, layout, 10_000)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 20 * len(data)


def test_empty_table() -> None:
    for layout in (*LAYOUTS.values(), TEXT):
        keys = read(b"", layout, 0)
        assert len(keys) == 0
        assert keys.value.shape == (0, layout.width or 0)
        assert write(keys, layout) == b""


def test_tables_made_without_a_file() -> None:
    keys = Keys.make([0, 10], [[0, 0, 0], [1, 2, 3]], tension=[0.5, 0], ease_from=[0, 1])
    assert keys.flags.tolist() == [1, 16]
    assert write(keys, KeyLayout(3)) == struct.pack("<iHf3f", 0, 1, 0.5, 0, 0, 0) + struct.pack(
        "<iHf3f", 10, 16, 1, 1, 2, 3
    )
    assert write(Keys.make([5]), KeyLayout(0)) == struct.pack("<iH", 5, 0)
    assert write(Keys.make([5], text=(b"Box",)), TEXT) == struct.pack("<iH", 5, 0) + b"Box\0"
    assert write(Keys.make([5], [1.5]), KeyLayout(1)) == struct.pack("<iHf", 5, 0, 1.5)


def test_replacing_columns() -> None:
    keys = Keys.make([0, 10], [[0, 0, 0], [1, 2, 3]], tension=[0.5, 0])
    moved = keys.replace(time=[5, 15], bias=[0, 1])
    assert moved.time.tolist() == [5, 15]
    assert moved.flags.tolist() == [1, 4]
    assert moved.tension.tolist() == [0.5, 0]
    assert keys.time.tolist() == [0, 10]
    assert keys.flags.tolist() == [1, 0]
    assert keys.replace(tension=[0, 0]).flags.tolist() == [1, 0]  # once announced, a float stays announced
    with pytest.raises(ValueError):
        keys.replace(wrong=[1, 2])


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"time": [2**31, 0]}, "time: values outside"),
        ({"time": [0.5, 1]}, "time: expected whole numbers"),
        ({"value": [[1, 2, 3]]}, r"value: expected an array of shape \(2, 3\)"),
        ({"flags": [65536, 0]}, "flags: values outside"),
        ({"flags": [0, 0, 0]}, "flags: expected an array of shape"),
        ({"tension": [1, 2, 3]}, "tension: expected an array of shape"),
        ({"wrong": [1, 2]}, "keys have no column 'wrong'"),
    ],
)
def test_columns_that_do_not_fit_are_refused(columns: dict[str, list[float]], words: str) -> None:
    keys = Keys.make([0, 1], [[1, 2, 3]] * 2)
    with pytest.raises(ValueError, match=words):
        keys.replace(**columns)


@pytest.mark.parametrize(
    ("layout", "keys", "words"),
    [
        (KeyLayout(3), Keys.make([0], [[1, 2, 3, 4]]), r"value: expected an array of shape \(1, 3\)"),
        (KeyLayout(3, flags="u1"), Keys.make([0], [[1, 2, 3]], flags=[256]), "flags: values outside"),
        (TEXT, Keys.make([0, 1], text=(b"a",)), "text: 1 entry for 2 keys"),
        (TEXT, Keys.make([0], text=(b"a\0b",)), "contains a NUL"),
    ],
)
def test_keys_that_do_not_fit_the_layout_are_refused(layout: KeyLayout, keys: Keys, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        write(keys, layout)


def test_rows_of_one_shape_have_one_type() -> None:
    """Rows of several tables can be joined: the types of equal rows are the same object, whatever the layout."""
    layouts = KeyLayout(3), KeyLayout(3)
    tables = [
        read(pack_rows(make_rows([flags], layout), layout), layout, 1) for layout in layouts for flags in (0x81, 1)
    ]
    assert len({id(keys.rows.dtype) for keys in tables}) == 1
    made = Keys.make([1], [[1, 2, 3]], tension=[0.5])
    assert made.rows.dtype is tables[0].rows.dtype


def test_a_float_that_would_be_lost_is_refused() -> None:
    keys = Keys.make([0, 1], [[1, 2, 3]] * 2, tension=[0.5, 0])
    with pytest.raises(ValueError, match="tension: stored only if its flag is set"):
        write(keys, LAYOUTS["no flags"])
