"""Where a controller can begin, and the limit on the search for controllers without keys."""

from __future__ import annotations

import struct

import pytest

from keyframer.formats.uto3d import controllers
from keyframer.formats.uto3d.controllers import find_sampled, may_be_controller
from tests.formats.uto3d import writers as w

FILLER = bytes([5]) + struct.pack("<i", 255)


def header(kind: int, count: int, scheme: int) -> bytes:
    return struct.pack("<BiiiB", kind, 1, 10, count, scheme)


@pytest.mark.parametrize(
    ("data", "may"),
    [
        (b"", False),
        (FILLER, True),
        (FILLER[:4], False),
        (bytes([5]) + struct.pack("<i", 7), False),
        (header(0, 0, 0), True),
        (header(4, 0, 1)[:13], True),  # cut off by the end of the file
        (header(6, 0, 0)[:13], False),
        (header(6, 0, 0), False),
        (header(0, 0, 3), False),
        (header(0, 1, 0) + bytes(16), True),  # a time and three numbers
        (header(0, 1, 0) + bytes(15), False),
        (header(0, -1, 0), False),
        (header(0, 2**31 - 1, 2), True),  # Bezier controllers have no keys, whatever they count
    ],
)
def test_where_a_controller_can_begin(data: bytes, may: bool) -> None:
    assert may_be_controller(b"CTRL" + data, 4) is may


def test_the_search_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    written = [w.tcb(0, 1, 10, (0,) * 200), w.sampled(1, 2, 10), w.tcb(2, 3, 10)]
    data = b"".join(map(w.controller_bytes, written))
    first = len(w.controller_bytes(written[0]))
    assert find_sampled(data, 0, 3, {10}) == {first}
    monkeypatch.setattr(controllers, "_FREE_STEPS", 150 - len(data))  # fewer steps than the first has keys
    assert find_sampled(data, 0, 3, {10}) is None
