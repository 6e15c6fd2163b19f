"""The chunks and records of node animation files, in the order and the terms of the specification."""

from __future__ import annotations

from typing import ClassVar

from keyframer.formats.nodeanim.dialect import BEZIER, LINEAR, TCB
from keyframer.formats.nodeanim.key_rows import KeyRows
from keyframer.formats.nodeanim.keys import NodeKeys
from keyframer.wire.field_types import blob, declare, i16, i32, strz
from keyframer.wire.record import Raw, Record, record

__all__ = [
    "BEZIER",
    "LINEAR",
    "TCB",
    "Animations",
    "Chunk",
    "Header",
    "Node",
    "NodeKeys",
    "Prefix",
    "RawChunk",
]


@record(kw_only=True)
class Chunk(Record):
    """A top-level part of the file; the dialect decides the layout of its header, if any."""

    ID: ClassVar[int] = 0

    claimed: tuple[int, int] | None = None
    """The stored size, and the actual size with header, if the file ends inside the chunk.

    The stored size is written again if the chunk has the same size as before.
    """

    @property
    def id(self) -> int:
        return self.ID


@record
class Header(Chunk):
    """Chunk 1: header."""

    ID: ClassVar[int] = 1

    flags: int = i32("reserved, 0")
    name: bytes = strz("name of the animation")
    author: bytes = strz("animation's author and (C)")
    node_count: int = i16("number of animated nodes")


@record
class Animations(Chunk):
    """Chunk 2: animations. The nodes are its children; its tail has the bytes that could not be read as nodes."""

    ID: ClassVar[int] = 2

    nodes_read: int | None = None
    """Number of nodes when the file was read. If it has not changed, chunk 1 keeps its count."""


@record
class Node(Record):
    """A node (bone) with its keys."""

    repeats: ClassVar[bool] = True
    segment = "nodes"

    name: bytes = strz("name of the bone")
    flags: int = i32("type of interpolation: BEZIER = 2, TCB = 1, LINEAR = 4", default=LINEAR)
    translation_key_count: int = i32("number of translation keys")
    rotation_key_count: int = i32("number of rotation keys")
    scale_key_count: int = i32("number of scale keys")
    translation_keys: NodeKeys = declare(KeyRows("translation"), "keys: TX, TY, TZ")
    rotation_keys: NodeKeys = declare(KeyRows("rotation"), "keys: angle, AxisX, AxisY, AxisZ")
    scale_keys: NodeKeys = declare(KeyRows("scale"), "keys: SX, SY, SZ")


@record
class Prefix(Record):
    """Bytes before the first chunk; not in the specification."""

    data: bytes = blob("kept as they are")


@record
class RawChunk(Raw, Chunk):
    """A chunk kept as bytes: with an unknown id, or with unreadable content."""

    chunk_id: int = 0
    data: bytes = blob("everything after the header")
    reason: str = ""
    """code of the issue that gives the cause"""

    @property
    def id(self) -> int:
        return self.chunk_id

    @property
    def segment(self) -> str:
        return segment_of(self.chunk_id)


def segment_of(chunk_id: int) -> str:
    """Return the name of a chunk in paths."""
    known = {Header.ID: "header", Animations.ID: "animations"}
    return known.get(chunk_id, f"chunk_{chunk_id}")
