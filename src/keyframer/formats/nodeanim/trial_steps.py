"""The steps of trying a dialect: walk over a text, keys or chunk headers; and the exceptions that end a trial."""

from __future__ import annotations

import struct
from functools import cache

from keyframer.formats.nodeanim.dialect import TCB, TCB_BYTES, Dialect
from keyframer.wire.encoding_style import LENGTH_CODES

CONTROL_CHARACTERS = bytes(range(0x20)) + b"\x7f"
_CHECKED_BYTES = 256
"""number of bytes of a name that are checked for control characters"""


class DialectMismatch(Exception):
    """Raised if the dialect does not match the file."""


class HeadEnds(Exception):
    """Raised at the end of the available bytes, if the file continues."""


def walk_text(data: bytes, pos: int, end: int, dialect: Dialect) -> tuple[bytes, int]:
    """Return the first bytes of a text, and the position after it."""
    if dialect.text == "nul":
        stop = data.find(b"\0", pos, end)
        if stop < 0:
            raise DialectMismatch if len(data) >= end else HeadEnds
        return data[pos : min(stop, pos + _CHECKED_BYTES)], stop + 1
    prefix = _length_struct(dialect.order, dialect.text)
    need(data, end, pos, prefix.size)
    size = prefix.unpack_from(data, pos)[0]
    pos += prefix.size
    if size > end - pos:
        raise DialectMismatch
    return data[pos : pos + min(size, _CHECKED_BYTES)], pos + size


def is_printable(name: bytes) -> bool:
    return len(name.translate(None, CONTROL_CHARACTERS)) == len(name)


def need(data: bytes, end: int, pos: int, size: int) -> None:
    """Raise an exception unless ``size`` bytes at ``pos`` lie before ``end`` and are available."""
    if pos + size > end:
        raise DialectMismatch
    if pos + size > len(data):
        raise HeadEnds


@cache
def int_struct(order: str, count: int) -> struct.Struct:
    return struct.Struct(f"{order}{count}i")


@cache
def short_struct(order: str) -> struct.Struct:
    return struct.Struct(order + "h")


@cache
def _length_struct(order: str, text: str) -> struct.Struct:
    return struct.Struct(order + LENGTH_CODES[text])


_LOW_BIT = bytes(byte & TCB for byte in range(256))


def tcb_marks(data: bytes, pos: int, end: int, count: int, size: int, low: int) -> tuple[bytes, int]:
    """Return a byte for each key, and the size of all keys.

    The byte is 1 if the flags of the key say that it has the five fields from tension to easeOut (`TCB_BYTES`), else 0.
    ``size`` is the size of a key without these fields, ``low`` the position of the low byte of the flags in a key. If
    the keys do not fit before ``end``, marks may be missing, and the size is a minimum that exceeds the available
    bytes. Tables with keys of one size, the usual case, take one slice; others one scan.
    """
    if count == 0 or count * size > end - pos:
        return b"", count * size
    first_mark = _LOW_BIT[data[pos + low]]
    stride = size + first_mark * TCB_BYTES
    if count * stride <= end - pos:
        marks = data[pos + low : pos + count * stride : stride].translate(_LOW_BIT)
        if marks.count(first_mark) == count:
            return marks, count * stride
    mark_bytes = bytearray()
    strides = (size, size + TCB_BYTES)
    for _ in range(count):
        if pos + size > end:
            break
        mark = _LOW_BIT[data[pos + low]]
        mark_bytes.append(mark)
        pos += strides[mark]
    return bytes(mark_bytes), count * size + mark_bytes.count(1) * TCB_BYTES


HEADER_ID, ANIMATIONS_ID = 1, 2

SEARCHED_CHUNKS = 64
"""number of chunks at the beginning of the file among which chunk 1 is searched for"""


def find_header(data: bytes, size: int, start: int, dialect: Dialect, leading: bool) -> tuple[int, int]:
    """Return start and end of the content of chunk 1; without sizes, the end is that of the file.

    With ``leading``, other chunks must precede chunk 1; otherwise it must be at ``start``.
    """
    if not dialect.has_sizes:
        return _expect_id(data, size, start, dialect, HEADER_ID), size
    pos = start
    for _ in range(SEARCHED_CHUNKS if leading else 1):
        chunk_id, at, end = _chunk(data, size, pos, dialect)
        if chunk_id == HEADER_ID:
            if leading and pos == start:
                break
            return at, end
        if chunk_id == ANIMATIONS_ID:
            break
        pos = end
    raise DialectMismatch


def _expect_id(data: bytes, size: int, pos: int, dialect: Dialect, expected: int) -> int:
    """Return the position after a header that is only an id (or empty); raises an exception for another id."""
    need(data, size, pos, dialect.header_size)
    if dialect.id_size and dialect.header.unpack_from(data, pos)[0] != expected:
        raise DialectMismatch
    return pos + dialect.header_size


def _chunk(data: bytes, size: int, pos: int, dialect: Dialect) -> tuple[int, int, int]:
    """Return the id of the chunk at ``pos``, and start and end of its content, which must be inside the file."""
    header_size = dialect.id_size + dialect.length_size
    need(data, size, pos, header_size)
    chunk_id, length = dialect.header.unpack_from(data, pos)
    at = pos + header_size
    end = pos + length if dialect.length_counts_header else at + length
    if chunk_id == 0 or end < at or end > size:
        raise DialectMismatch
    return chunk_id, at, end


def find_animations(data: bytes, size: int, pos: int, dialect: Dialect) -> tuple[tuple[int, int] | None, bool]:
    """Return the content of chunk 2 (start, end), and whether the sizes of all chunks lead to the end of the file.

    The second value is False if another chunk 1 or a second chunk 2 follows. ``pos`` is the end of chunk 1. A chunk 2
    that is larger than the rest of the file is accepted, truncated at the end of the file.
    """
    header_size, unpack = dialect.header_size, dialect.header.unpack_from
    uncounted = 0 if dialect.length_counts_header else header_size
    last = min(size, len(data)) - header_size
    span: tuple[int, int] | None = None
    no_duplicates = True
    while pos <= last:
        chunk_id, length = unpack(data, pos)
        end = pos + length + uncounted
        if chunk_id == ANIMATIONS_ID and span is None and end > size:
            return (pos + header_size, size), False
        if chunk_id == 0 or end < pos + header_size or end > size:
            return span, False
        if chunk_id == HEADER_ID or (chunk_id == ANIMATIONS_ID and span is not None):
            no_duplicates = False
        elif chunk_id == ANIMATIONS_ID:
            span = pos + header_size, end
        pos = end
    return span, no_duplicates and span is not None and pos == size


def bare_animations(data: bytes, size: int, pos: int, dialect: Dialect) -> tuple[int, int] | None:
    """Return the content of chunk 2 at ``pos``, in a dialect without sizes; None if it is not there."""
    try:
        return _expect_id(data, size, pos, dialect, ANIMATIONS_ID), size
    except (DialectMismatch, HeadEnds):
        return None
