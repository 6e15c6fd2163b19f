"""The layouts of a ``std::string`` in a file, which the specification does not define.

In the real files, text ends with NUL. Two other layouts are equally natural for a C++ writer. One of
them is used if a file read in it ends exactly with its last record, but does not with text that ends with NUL.
"""

from __future__ import annotations

import struct
from enum import Enum
from typing import Any

from keyframer.catalogue import LIMIT_NAME, STRUCT_COUNT_EXCEEDS_DATA, STRUCT_STRING_UNTERMINATED
from keyframer.limits import Limits
from keyframer.wire.cursor import Cursor
from keyframer.wire.field_types import Strz, declare
from keyframer.wire.sink import Sink

_U32 = struct.Struct("<I")


class Dialect(Enum):
    """The layouts of text in the order in which they are tried: a file that fits the second also fits the third."""

    NUL_ENDED = "nul-ended"
    """8-bit text and one NUL, as in the real files"""
    LENGTH_WITH_NUL = "length-with-nul"
    """u32 number of bytes, then the bytes; the last one is a NUL"""
    LENGTH = "length"
    """u32 number of bytes, then the bytes"""

    def __str__(self) -> str:
        return self.value


class TextCursor(Cursor):
    """A cursor with the dialect of the file."""

    __slots__ = ("dialect",)

    def __init__(self, data: bytes, limits: Limits, dialect: Dialect = Dialect.NUL_ENDED) -> None:
        super().__init__(data, limits=limits)
        self.dialect = dialect


class TextSink(Sink):
    """A sink with the dialect to write."""

    def __init__(self, dialect: Dialect = Dialect.NUL_ENDED) -> None:
        super().__init__()
        self.dialect = dialect


class Text(Strz):
    """A ``std::string``; the value is its bytes without the length and the NUL of the dialect."""

    type_name = "std::string (NUL-ended; see dialects)"

    def read(self, cursor: Cursor, record: Any, name: str) -> bytes:
        dialect = cursor.dialect if isinstance(cursor, TextCursor) else Dialect.NUL_ENDED
        if dialect is Dialect.NUL_ENDED:
            return cursor.strz(name)
        at = cursor.pos
        size = cursor.unpack(_U32, name)[0]
        if size > cursor.left:
            cursor.fail(
                STRUCT_COUNT_EXCEEDS_DATA, name, at, count=size, size=1, left=cursor.left, available=cursor.left
            )
        if size > cursor.limits.name:
            cursor.fail(LIMIT_NAME, name, at, size=size, limit=cursor.limits.name)
        text = cursor.take(size, name)
        if dialect is Dialect.LENGTH:
            return text
        if text[-1:] != b"\0":
            cursor.fail(STRUCT_STRING_UNTERMINATED, name, at + 4, left=size)
        return text[:-1]

    def write(self, sink: Sink, value: bytes, record: Any) -> None:
        dialect = sink.dialect if isinstance(sink, TextSink) else Dialect.NUL_ENDED
        if dialect is Dialect.NUL_ENDED:
            super().write(sink, value, record)
        elif dialect is Dialect.LENGTH:
            sink.write(_U32.pack(len(value)) + value)
        else:
            sink.write(_U32.pack(len(value) + 1) + value + b"\0")


def text(description: str, *, default: bytes | None = None) -> Any:
    return declare(Text(), description, default)
