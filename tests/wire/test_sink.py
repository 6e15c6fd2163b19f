"""The sink: parts in order, and blocks whose header is written when they are complete."""

from __future__ import annotations

import struct

import numpy as np

from keyframer.wire.sink import Sink


def header(size: int) -> bytes:
    return struct.pack("<HI", 0xABCD, size)


def test_parts_in_order() -> None:
    sink = Sink()
    sink.write(b"ab")
    sink.write_array(np.array([[1, 2], [3, 4]], "<u2"))
    sink.write_array(np.empty((0, 3), "<f4"))
    sink.write(b"")
    assert sink.size == 10
    assert sink.getvalue() == b"ab" + bytes.fromhex("0100020003000400")


def test_arrays_are_written_in_logical_order_not_in_memory_order() -> None:
    sink = Sink()
    sink.write_array(np.arange(6, dtype="<u2").reshape(2, 3).T)
    sink.write_array(np.arange(6, dtype="<u2")[::2])
    assert np.frombuffer(sink.getvalue(), "<u2").tolist() == [0, 3, 1, 4, 2, 5, 0, 2, 4]


def test_block_headers_get_the_size_of_the_block() -> None:
    sink = Sink()
    sink.write(b"before")
    outer = sink.open_block(6)
    sink.write(b"xy")
    inner = sink.open_block(6)
    sink.write_array(np.array([1.0], "<f4"))
    sink.close_block(inner, header)
    sink.close_block(outer, header)
    assert sink.getvalue() == b"before" + header(18) + b"xy" + header(10) + struct.pack("<f", 1.0)
    assert sink.size == len(sink.getvalue())
