"""Text fields whose layout the dialect tells: the cursor and the sink carry it along."""

from __future__ import annotations

import struct
from typing import Any

from keyframer.catalogue import LIMIT_NAME, STRUCT_COUNT_EXCEEDS_DATA, STRUCT_STRING_UNTERMINATED
from keyframer.formats.hale3d.dialect import Dialect
from keyframer.limits import Limits
from keyframer.wire.cursor import Cursor
from keyframer.wire.field_types import Strz, declare
from keyframer.wire.sink import Sink

_LENGTH = struct.Struct("<I")


class TextCursor(Cursor):
    """A cursor that knows the dialect of the file."""

    __slots__ = ("dialect",)

    def __init__(self, data: bytes, limits: Limits, dialect: Dialect = Dialect.NUL_ENDED) -> None:
        super().__init__(data, limits=limits)
        self.dialect = dialect


class TextSink(Sink):
    """A sink that knows the dialect to write."""

    def __init__(self, dialect: Dialect = Dialect.NUL_ENDED) -> None:
        super().__init__()
        self.dialect = dialect


class Text(Strz):
    """A ``std::string``; the value is its bytes without length and without the NUL at its end."""

    type_name = "std::string (NUL-ended; see dialects)"

    def read(self, cursor: Cursor, record: Any, name: str) -> bytes:
        dialect = cursor.dialect if isinstance(cursor, TextCursor) else Dialect.NUL_ENDED
        if dialect is Dialect.NUL_ENDED:
            return cursor.strz(name)
        at = cursor.pos
        size = cursor.unpack(_LENGTH, name)[0]
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
            sink.write(_LENGTH.pack(len(value)) + value)
        else:
            sink.write(_LENGTH.pack(len(value) + 1) + value + b"\0")


def text(words: str, *, default: bytes | None = None) -> Any:
    return declare(Text(), words, default)
