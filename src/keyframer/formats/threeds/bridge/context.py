"""Shared state of the bridge modules (document, options, issues, links from parts to chunks) and reading helpers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, TypeVar, cast

from keyframer.arrays import Floats
from keyframer.catalogue import DATA_NON_FINITE
from keyframer.formats.document import Document
from keyframer.formats.kit.scene_reading import Reporter
from keyframer.formats.threeds import records as r
from keyframer.formats.threeds.bridge.options import Options
from keyframer.formats.threeds.chunk import Chunk, RawChunk
from keyframer.formats.threeds.records import (
    ColorByte,
    ColorByteGamma,
    ColorFloat,
    ColorFloatGamma,
    PercentFloat,
    PercentInt,
)
from keyframer.issues import IssueLog
from keyframer.text import decode_name, safe_text
from keyframer.wire.record import Record, dump_fields


@dataclass(eq=False, repr=False)
class Links:
    """The chunks of a scene's parts, in lists parallel to those of the scene."""

    nodes: list[r.Node | None] = field(default_factory=list)
    """None for objects without a keyframer node"""
    materials: list[r.Material] = field(default_factory=list)
    meshes: list[r.NamedObject] = field(default_factory=list)
    to_mesh: list[Floats] = field(default_factory=list)
    """(4, 4) for each mesh: from stored vertices to those of the mesh"""
    cameras: list[r.NamedObject] = field(default_factory=list)
    lights: list[r.NamedObject | None] = field(default_factory=list)
    """None for the ambient light"""
    mesh_by_name: dict[bytes, tuple[r.NamedObject, Floats | None]] = field(default_factory=dict)
    """for each name, the first object with a mesh, and (4, 4) from stored vertices to local axes (None if singular)"""
    rest_frame: float = 0.0
    """the frame at which stored vertices and keyframer are compared"""


Rgb = tuple[float, float, float]
AnyColor = ColorFloat | ColorByte | ColorByteGamma | ColorFloatGamma
C = TypeVar("C", bound=Chunk)


class Context(Reporter):
    """State of the conversion of one document."""

    def __init__(self, document: Document, options: Options, issues: IssueLog) -> None:
        super().__init__(document, issues)
        self.document = document
        self.options = options
        self.budget = document.budget

    def text(self, raw: bytes) -> str:
        return decode_name(raw, self.options.encoding)

    def shown(self, raw: bytes) -> str:
        """Return a stored name for messages: safe to show, in quotes."""
        return f"'{safe_text(self.text(raw))}'"

    def finite(self, record: Record, field: str, values: Sequence[float], default: Sequence[float]) -> list[float]:
        """Return stored numbers, or the default (with a report) if one of them is non-finite."""
        non_finite = [index for index, value in enumerate(values) if not math.isfinite(value)]
        if not non_finite:
            return list(values)
        self.report(DATA_NON_FINITE, record, field, count=len(non_finite), index=non_finite[0])
        return list(default)


def child(parent: Chunk, kind: type[C]) -> C | None:
    """Return the first sub-chunk of a kind; None if there is none."""
    for chunk in parent.children:
        if isinstance(chunk, kind):
            return chunk
    return None


def children(parent: Chunk, kind: type[C]) -> Iterator[C]:
    """Yield the sub-chunks of a kind, in file order."""
    return (child for child in parent.children if isinstance(child, kind))


def has(parent: Chunk, kind: type[Chunk]) -> bool:
    return child(parent, kind) is not None


FirstChunks = dict[type[Record], Any]
"""the first sub-chunk of each kind"""


def first_chunks(parent: Chunk) -> FirstChunks:
    """Return the first sub-chunk of each kind. One search for each kind took a tenth of the loading time."""
    backwards = parent.children[::-1]
    return dict(zip(map(type, backwards), backwards, strict=True))


def color(parent: Chunk | None) -> Rgb | None:
    """Return the colour inside a chunk, 0 to 1, or None; a gamma corrected copy has precedence."""
    chunk = None if parent is None else _color_chunk(parent)
    return None if chunk is None else rgb_of(chunk)


_COLORS: tuple[type[AnyColor], ...] = (ColorFloatGamma, ColorByteGamma, ColorFloat, ColorByte)
"""kinds of colour chunks in order of precedence"""


def _color_chunk(parent: Chunk) -> AnyColor | None:
    chunks = first_chunks(parent)
    for kind in _COLORS if chunks else ():
        if kind in chunks:
            return cast(AnyColor, chunks[kind])
    return None


def rgb_of(chunk: AnyColor) -> Rgb:
    """Return the colour of one chunk, 0 to 1."""
    full = 255.0 if isinstance(chunk, (ColorByte, ColorByteGamma)) else 1.0
    return (chunk.rgb[0] / full, chunk.rgb[1] / full, chunk.rgb[2] / full)


def percent(parent: Chunk | None) -> float | None:
    """Return the percentage inside a chunk as a fraction, 0 to 1, or None."""
    chunk = None if parent is None else _percent_chunk(parent)
    if isinstance(chunk, PercentInt):
        return chunk.percent / 100
    return None if chunk is None else chunk.fraction


def _percent_chunk(parent: Chunk) -> PercentInt | PercentFloat | None:
    for chunk in parent.children:
        if isinstance(chunk, (PercentInt, PercentFloat)):
            return chunk
    return None


def plain_record(record: Record) -> dict[str, Any]:
    """Return a record and its sub-chunks as plain values, for extras: id (``chunk``), type (``record``) and fields."""
    plain: dict[str, Any] = {"chunk": record.segment}
    if isinstance(record, RawChunk):
        plain["reason"] = record.reason
    else:
        plain["record"] = type(record).__name__
    stack = [(record, plain)]
    while stack:
        chunk, out = stack.pop()
        out.update(dump_fields(chunk))
        if chunk.tail:
            out["tail"] = chunk.tail.hex()
        if chunk.children:
            out["children"] = []
            for sub_chunk in chunk.children:
                entry: dict[str, Any] = {"chunk": sub_chunk.segment, "record": type(sub_chunk).__name__}
                out["children"].append(entry)
                stack.append((sub_chunk, entry))
    return plain


MOST_KEPT_CHUNKS = 10_000
"""limit on the unread sub-chunks of one chunk that become extras: no program writes as many, and each takes fifty times
as much memory as in the file
"""


Kinds = Set[type[Record]]
_NO_KINDS: Kinds = frozenset()
_TAIL = attrgetter("tail")


def unread_chunks(parent: Chunk, known: Kinds, wrappers: Kinds = _NO_KINDS) -> list[dict[str, Any]]:
    """Return the sub-chunks and tails of ``parent`` that are not read, as plain values.

    ``known`` are the kinds that are read: the first of each, or all of kinds that usually repeat. ``wrappers`` are
    kinds of which only the colour or percentage inside is read; they are returned if they contain more than that.
    `value_kinds` has the kinds of the colour and percentage that are read from the parent itself.
    """
    kinds = set(map(type, parent.children))
    tails = any(map(_TAIL, parent.children))
    if len(kinds) == len(parent.children) and kinds <= known and not (tails or parent.tail):  # the usual case
        return []
    unread: list[dict[str, Any]] = []
    seen: set[type[Record]] = set()
    for number, chunk in enumerate(parent.children):
        if len(unread) == MOST_KEPT_CHUNKS:  # the document keeps all of them
            unread.append({"chunk": "more", "count": len(parent.children) - number})
            break
        kind = type(chunk)
        first = kind not in seen or chunk.repeats
        seen.add(kind)
        if first and kind in wrappers:
            wrapped = chunk.children
            if len(wrapped) > 1 or chunk.tail or (wrapped and wrapped[0].tail):
                unread.append(plain_record(chunk))
        elif not (first and kind in known):
            unread.append(plain_record(chunk))
        elif tails and chunk.tail and not chunk.children:
            unread.append({"chunk": chunk.segment, "tail": chunk.tail.hex()})
    if parent.tail:
        unread.append({"chunk": "tail", "data": parent.tail.hex()})
    return unread


def unread_extras(parent: Chunk, known: Kinds, wrappers: Kinds = _NO_KINDS) -> dict[str, dict[str, Any]]:
    """Return the result of `unread_chunks` as extras, ``{"3ds": {"chunks": [...]}}``; empty if everything is read."""
    unread = unread_chunks(parent, known, wrappers)
    return {"3ds": {"chunks": unread}} if unread else {}


def value_kinds(parent: Chunk) -> set[type[Record]]:
    """Return the kinds of the colour and the percentage that are read from a chunk; other kinds are kept as extras."""
    chunks = (_color_chunk(parent), _percent_chunk(parent))
    return {type(chunk) for chunk in chunks if chunk is not None}
