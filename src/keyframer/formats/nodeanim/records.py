"""The chunks, nodes and keys of node animation files, in the order and the terms of the specification."""

from __future__ import annotations

from collections.abc import Collection
from typing import ClassVar, Literal

from keyframer.formats.kit.key_table import KeyLayout, Keys, KeyTable, LayoutBy
from keyframer.formats.nodeanim.dialect import Dialect
from keyframer.wire.encoding_style import Style
from keyframer.wire.field_types import blob, declare, i16, i32, strz
from keyframer.wire.record import Raw, Record, record

TCB, BEZIER, LINEAR = 1, 2, 4
"""types of interpolation in the flags of a node; TCB overrides BEZIER, which overrides LINEAR"""
TCB_COLUMNS = ("tension", "continuity", "bias", "ease_in", "ease_out")
"""columns that only TCB keys have"""


class NodeKeys(Keys):
    """Keys with the columns ``flags``, ``time``, ``value`` and the `TCB_COLUMNS`.

    A value is three numbers; for rotations four: angle, axis.
    """

    __slots__ = ()
    TYPES: ClassVar = {"flags": "<i4", "time": "<f4", **dict.fromkeys(TCB_COLUMNS, "<f4"), "value": "<f4"}
    BITS: ClassVar = {}


class NodeKeyTable(KeyTable):
    """The keys of one table of a node; the field ``<table>_key_count`` before it has their number."""

    cls = NodeKeys

    def __init__(self, table: Literal["translation", "rotation", "scale"], dialect: Dialect | None = None) -> None:
        self.table = table
        self.dialect = dialect or Dialect()
        width, order = 4 if table == "rotation" else 3, ("flags", "time", "extras", "value")
        self.plain, self.full, by_key = (
            KeyLayout(width, order, "f4", "i4", extras, self.dialect.order, "time")
            for extras in ((), *(tuple((name, bit) for name in TCB_COLUMNS) for bit in (0, TCB)))
        )
        super().__init__(
            LayoutBy("flags & 1", {0: self.plain, TCB: self.full}),
            f"{table}_key_count",
            f"i32 flags, f32 time, f32 {', '.join(TCB_COLUMNS)} if TCB, {width} x f32 value",
        )
        if self.dialect.tcb_by_key:
            self.layout = by_key
        self.empty = self.plain

    def adapted(self, style: Style) -> NodeKeyTable:
        dialect = style if isinstance(style, Dialect) else Dialect(style.big_endian, style.text)
        return NodeKeyTable(self.table, dialect)

    def text_layout(self, record: Node, names: Collection[str]) -> KeyLayout:
        """Return the layout by the names alone: the dialect of the document is not known here."""
        return self.plain if set(TCB_COLUMNS).isdisjoint(names) else self.full


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
    translation_keys: NodeKeys = declare(NodeKeyTable("translation"), "keys: TX, TY, TZ")
    rotation_keys: NodeKeys = declare(NodeKeyTable("rotation"), "keys: angle, AxisX, AxisY, AxisZ")
    scale_keys: NodeKeys = declare(NodeKeyTable("scale"), "keys: SX, SY, SZ")


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
