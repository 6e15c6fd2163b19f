"""The bounded cursor never reads outside its window, and every error gives field, offset and sizes."""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyframer.errors import FormatError
from keyframer.limits import Limits
from keyframer.wire.cursor import Cursor, Place
from tests.samples import unhex

NODE = Place().child("4d4d").child("b000").child("b002", 3)


def error_of(action: Callable[[], object]) -> FormatError:
    with pytest.raises(FormatError) as caught:
        action()
    return caught.value


def test_place_as_path() -> None:
    assert str(Place()) == "/"
    assert str(Place().child("4d4d")) == "/4d4d"
    assert str(NODE.child("b020")) == "/4d4d/b000/b002[3]/b020"
    assert str(Place().child("x", 0)) == "/x[0]"


def test_values_are_read_in_order() -> None:
    data = unhex("""
        10 b0                    # u16
        2a 00 00 00              # u32
        42 6f 78 00              # "Box"
        01 00 02 00 03 00        # three u16
        ff fe                    # the rest
    """)
    cursor = Cursor(data)
    assert cursor.left == 18
    assert cursor.unpack(struct.Struct("<HI")) == (0xB010, 42)
    assert cursor.strz() == b"Box"
    assert cursor.array(np.dtype("<u2"), 3).tolist() == [1, 2, 3]
    assert cursor.take_rest() == b"\xff\xfe"
    assert cursor.left == 0
    assert cursor.take(0) == b""


def test_arrays_are_read_only_views() -> None:
    data = bytes(range(24))
    rows = Cursor(data).array(np.dtype(("<f4", (3,))), 2)
    assert rows.shape == (2, 3)
    assert np.shares_memory(rows, np.frombuffer(data, np.uint8))
    for array in (rows, Cursor(b"").array(np.dtype("<u2"), 0)):
        assert not array.flags.writeable


def test_empty_arrays_keep_their_width() -> None:
    assert Cursor(b"").array(np.dtype(("<f4", (3,))), 0).shape == (0, 3)


def test_error_for_reading_beyond_the_end() -> None:
    cursor = Cursor(bytes(20), 8, 12, NODE)
    error = error_of(lambda: cursor.take(5, "keys[3]/flags"))
    assert (error.code, error.offset) == ("STRUCT_TRUNCATED", 8)
    assert error.path == "/4d4d/b000/b002[3]/keys[3]/flags"
    assert error.details == {"wanted": 5, "left": 4}
    assert str(error) == "STRUCT_TRUNCATED at 0x8 in /4d4d/b000/b002[3]/keys[3]/flags: expected 5 bytes, 4 remaining"
    assert error_of(lambda: cursor.unpack(struct.Struct("<d"))).code == "STRUCT_TRUNCATED"
    assert error_of(lambda: cursor.need(5)).path == "/4d4d/b000/b002[3]"
    assert cursor.pos == 8


def test_error_at_the_root_has_the_path_of_its_field() -> None:
    assert error_of(lambda: Cursor(b"").take(1, "id")).path == "/id"


def test_text_must_end_inside_its_window() -> None:
    data = b"abc\0"
    assert Cursor(data, 0, 4).strz() == b"abc"
    error = error_of(lambda: Cursor(data, 1, 3).strz("name"))
    assert (error.code, error.offset, error.path) == ("STRUCT_STRING_UNTERMINATED", 1, "/name")
    assert error.details == {"left": 2}


def test_names_have_a_limit() -> None:
    cursor = Cursor(b"abcd\0", limits=Limits(name=4))
    assert cursor.strz() == b"abcd"
    error = error_of(lambda: Cursor(b"abcde\0", limits=Limits(name=4)).strz("name"))
    assert (error.code, error.offset, error.path) == ("LIMIT_NAME", 0, "/name")
    assert error.details == {"size": 5, "limit": 4}


@pytest.mark.parametrize("count", [2, 2**31, 2**32 - 1, 2**64])
def test_counts_are_checked_before_allocation(count: int) -> None:
    cursor = Cursor(bytes(20), 4)
    error = error_of(lambda: cursor.array(np.dtype(("<f4", (3,))), count, "points"))
    assert (error.code, error.offset, error.path) == ("STRUCT_COUNT_EXCEEDS_DATA", 4, "/points")
    assert error.details == {"count": count, "size": 12, "left": 16, "available": 1}


def test_a_count_error_has_the_offset_of_the_count() -> None:
    assert error_of(lambda: Cursor(bytes(9), 4).need_entries(9, 4, "x", 2)).offset == 2


def test_a_window_limits_reading() -> None:
    outer = Cursor(bytes(range(10)), 2)
    inner = outer.window(4, Place().child("a"))
    assert (inner.pos, inner.end, outer.pos) == (2, 6, 6)
    assert inner.take(4) == bytes([2, 3, 4, 5])
    assert error_of(lambda: inner.take(1)).offset == 6
    assert outer.take_rest() == bytes([6, 7, 8, 9])
    assert error_of(lambda: outer.window(1, Place().child("b"))).code == "STRUCT_TRUNCATED"


def test_nesting_depth_is_limited() -> None:
    cursor = Cursor(bytes(8), limits=Limits(depth=2))
    one = cursor.window(8, Place().child("a"))
    two = one.window(8, one.place.child("b"))
    error = error_of(lambda: two.window(8, two.place.child("c")))
    assert (error.code, error.offset, error.path, error.details) == ("LIMIT_DEPTH", 0, "/a/b/c", {"limit": 2})


@given(st.binary(max_size=40), st.integers(0, 40), st.integers(0, 40), st.lists(st.integers(0, 60), max_size=6))
def test_no_read_leaves_its_window(data: bytes, start: int, size: int, sizes: list[int]) -> None:
    start = min(start, len(data))
    end = min(start + size, len(data))
    cursor = Cursor(data, start, end)
    seen = b""
    for wanted in sizes:
        if wanted > end - start - len(seen):
            assert error_of(partial(cursor.take, wanted)).offset == start + len(seen)
        else:
            seen += cursor.take(wanted)
    assert data[start:end].startswith(seen)
    assert start <= cursor.pos <= cursor.end == end
