"""The smallest steps of a walk: over a text, over keys, and what stops it."""

from __future__ import annotations

import struct
from functools import cache

from keyframer.formats.nodeanim.dialect import TCB, TCB_BYTES, Dialect
from keyframer.wire.encoding_style import LENGTH_CODES

CONTROLS = bytes(range(0x20)) + b"\x7f"
_LOOK = 256
"""how much of a name is looked at"""


class Misfit(Exception):
    """This dialect does not fit."""


class Cut(Exception):
    """The bytes at hand end, those of the file do not."""


def walk_text(data: bytes, pos: int, end: int, dialect: Dialect) -> tuple[bytes, int]:
    """The begin of a text and the place behind it."""
    if dialect.text == "nul":
        stop = data.find(b"\0", pos, end)
        if stop < 0:
            raise Misfit if len(data) >= end else Cut
        return data[pos : min(stop, pos + _LOOK)], stop + 1
    prefix = _length(dialect.order, dialect.text)
    need(data, end, pos, prefix.size)
    size = prefix.unpack_from(data, pos)[0]
    pos += prefix.size
    if size > end - pos:
        raise Misfit
    return data[pos : pos + min(size, _LOOK)], pos + size


def is_printable(name: bytes) -> bool:
    return len(name.translate(None, CONTROLS)) == len(name)


def need(data: bytes, end: int, pos: int, size: int) -> None:
    if pos + size > end:
        raise Misfit
    if pos + size > len(data):
        raise Cut


@cache
def ints(order: str, count: int) -> struct.Struct:
    return struct.Struct(f"{order}{count}i")


@cache
def short(order: str) -> struct.Struct:
    return struct.Struct(order + "h")


@cache
def _length(order: str, text: str) -> struct.Struct:
    return struct.Struct(order + LENGTH_CODES[text])


_LOW_BIT = bytes(byte & TCB for byte in range(256))


def tcb_marks(data: bytes, pos: int, end: int, count: int, size: int, low: int) -> bytes | None:
    """For each key 1 where its own flags announce `TCB_BYTES` more, else 0; None where the keys do not fit.

    ``size`` is that of a key without them, ``low`` where the low byte of the flags stands. Tables of one shape, the
    usual case, cost one slice; others one scan that only adds.
    """
    if count * size > end - pos:
        return None
    if count == 0:
        return b""
    first = _LOW_BIT[data[pos + low]]
    stride = size + first * TCB_BYTES
    if count * stride <= end - pos:
        marks = data[pos + low : pos + count * stride : stride].translate(_LOW_BIT)
        if marks.count(first) == count:
            return marks
    found = bytearray()
    strides = (size, size + TCB_BYTES)
    for _ in range(count):
        if pos + size > end:
            return None
        mark = _LOW_BIT[data[pos + low]]
        found.append(mark)
        pos += strides[mark]
    return bytes(found) if pos <= end else None
