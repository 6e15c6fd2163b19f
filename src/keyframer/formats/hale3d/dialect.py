"""The layouts of a ``std::string`` in a file, which the specification does not define.

In the real files, text ends with NUL. Two other layouts are equally natural for a C++ writer. One of
them is used if the size of a file fits this layout exactly, but does not fit text that ends with NUL.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from enum import Enum
from typing import Any

from keyframer.catalogue import LIMIT_NAME, STRUCT_COUNT_EXCEEDS_DATA, STRUCT_STRING_UNTERMINATED
from keyframer.limits import Limits
from keyframer.wire.cursor import Cursor
from keyframer.wire.field_types import Strz, declare
from keyframer.wire.sink import Sink

_U32 = struct.Struct("<I")
_MESH_COUNTS = struct.Struct("<III")

ANIMATION_HEADER_SIZE = 24
MODEL_HEADER_SIZE = 16
LEAST_JOINT_SIZE = 41
"""parent, flags, startIndex, the NUL of an empty name, position, orientation"""
LEAST_MESH_SIZE = 13
LEAST_MODEL_JOINT_SIZE = 29
BOUNDS_SIZE = 24


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


def text_end(data: bytes, pos: int, dialect: Dialect) -> int:
    """Return the end of the text that begins at ``pos``, including its NUL; -1 if it is not text of this dialect."""
    if dialect is Dialect.NUL_ENDED:
        return data.find(b"\0", pos) + 1 or -1
    if pos + 4 > len(data):
        return -1
    end: int = pos + 4 + _U32.unpack_from(data, pos)[0]
    if end > len(data):
        return -1
    if dialect is Dialect.LENGTH_WITH_NUL and (end == pos + 4 or data[end - 1] != 0):
        return -1
    return end


def find_dialect(data: bytes, find_end: Callable[[bytes, Dialect], int]) -> Dialect:
    """Return the first dialect in which the file ends exactly as expected; NUL-ended text if none matches."""
    for dialect in Dialect:
        if find_end(data, dialect) == len(data):
            return dialect
    return Dialect.NUL_ENDED


def animation_end(data: bytes, dialect: Dialect) -> int:
    """Return the end of the last frame of an animation with names in this dialect; -1 if names or frames do not fit."""
    frames, _, joints, components = struct.unpack_from("<IIII", data, 8)
    pos, size = ANIMATION_HEADER_SIZE, len(data)
    frames_size: int = frames * (BOUNDS_SIZE + 4 * components)
    if joints * LEAST_JOINT_SIZE + frames_size > size - pos:
        return -1
    for _ in range(joints):
        pos = text_end(data, pos + 12, dialect) + 28
        if pos < 28 or pos > size:
            return -1
    return pos + frames_size


def model_end(data: bytes, dialect: Dialect) -> int:
    """Return the end of the last joint of a model with text in this dialect; -1 if meshes or joints do not fit."""
    meshes, joints = struct.unpack_from("<II", data, 8)
    pos, size = MODEL_HEADER_SIZE, len(data)
    if meshes * LEAST_MESH_SIZE + joints * LEAST_MODEL_JOINT_SIZE > size - pos:
        return -1
    for _ in range(meshes):
        if pos + 12 > size:
            return -1
        vertices, weights, triangles = _MESH_COUNTS.unpack_from(data, pos)
        pos = text_end(data, pos + 12, dialect)
        if pos < 0:
            return -1
        pos += 16 * vertices + 20 * weights + 12 * triangles
    for _ in range(joints):
        pos = text_end(data, pos + 28, dialect)
        if pos < 0:
            return -1
    return pos


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
