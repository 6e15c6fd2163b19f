"""Options and helpers of the scene reader: reports, sub-chunks, colours and percentages, chunks that are not read."""

from __future__ import annotations

import codecs
import math
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, TypeVar

from keyframer.catalogue import DATA_NON_FINITE
from keyframer.formats.document import Document
from keyframer.formats.kit.scene_reading import Reporter
from keyframer.formats.threeds import records as r
from keyframer.formats.threeds.chunk import Chunk, RawChunk
from keyframer.issues import IssueLog
from keyframer.text import decode_name, safe_text
from keyframer.wire.record import Record, dump_fields

Rgb = tuple[float, float, float]
AnyColor = r.ColorFloat | r.ColorByte | r.ColorByteGamma | r.ColorFloatGamma
FirstChunks = dict[type[Record], Any]
"""the first sub-chunk of each kind"""
Kinds = Set[type[Record]]
C = TypeVar("C", bound=Chunk)


@dataclass(frozen=True, slots=True)
class Options:
    """Options for reading; the defaults follow the original programs."""

    geometry: str = "auto"
    """what to do if stored vertices and keyframer disagree: ``auto`` decides for each node (see `vertex_space`),
    ``keyframer`` applies the keyframer, as 3ds Max does, ``raw`` keeps the stored vertices"""
    rotation_keys: str = "auto"
    """``relative`` as in 3D Studio, ``absolute`` as in Blender's exporter; ``auto`` recognises that exporter"""
    sign_flips: str = "auto"
    """3ds Max writes some small rotations as nearly 360 degrees within one frame, because a quaternion changed its
    sign: ``auto`` repairs these keys in files of 3ds Max, ``keep`` leaves them unchanged"""
    fps: float = 30.0
    """frames per second, which the format does not store; 3D Studio plays 30"""
    encoding: str | None = None
    """encoding of names; None: UTF-8 if valid, else Windows 1252"""

    def __post_init__(self) -> None:
        for name, allowed in (
            ("geometry", ("auto", "keyframer", "raw")),
            ("rotation_keys", ("auto", "relative", "absolute")),
            ("sign_flips", ("auto", "keep")),
        ):
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name} must be one of {', '.join(allowed)}, not {getattr(self, name)!r}")
        if not 0 < self.fps < float("inf"):
            raise ValueError(f"fps must be positive and finite, not {self.fps}")
        if self.encoding is not None:
            try:
                codecs.lookup(self.encoding)
            except LookupError:
                raise ValueError(f"no encoding is named {self.encoding!r}") from None


class Context(Reporter):
    """The document that is read, the options, and the reports about both."""

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


def child(parent: Chunk | None, kind: type[C]) -> C | None:
    """Return the first sub-chunk of a kind; None if there is none, or no parent."""
    for chunk in () if parent is None else parent.children:
        if isinstance(chunk, kind):
            return chunk
    return None


def children(parent: Chunk, kind: type[C]) -> Iterator[C]:
    """Yield the sub-chunks of a kind, in file order."""
    return (child for child in parent.children if isinstance(child, kind))


def first_chunks(parent: Chunk) -> FirstChunks:
    """Return the first sub-chunk of each kind. One search for each kind took a tenth of the loading time."""
    backwards = parent.children[::-1]
    return dict(zip(map(type, backwards), backwards, strict=True))


_COLORS: tuple[type[AnyColor], ...] = (r.ColorFloatGamma, r.ColorByteGamma, r.ColorFloat, r.ColorByte)
"""kinds of colour chunks in order of precedence"""


def color(parent: Chunk | None) -> Rgb | None:
    """Return the colour inside a chunk, 0 to 1, or None; a gamma corrected copy has precedence."""
    chunk = None if parent is None else _color_chunk(parent)
    return None if chunk is None else rgb_of(chunk)


def _color_chunk(parent: Chunk) -> AnyColor | None:
    chunks = first_chunks(parent)
    return next((chunks[kind] for kind in _COLORS if kind in chunks), None) if chunks else None


def rgb_of(chunk: AnyColor) -> Rgb:
    """Return the colour of one chunk, 0 to 1."""
    full = 255.0 if isinstance(chunk, (r.ColorByte, r.ColorByteGamma)) else 1.0
    return (chunk.rgb[0] / full, chunk.rgb[1] / full, chunk.rgb[2] / full)


def percent(parent: Chunk | None) -> float | None:
    """Return the percentage inside a chunk as a fraction, 0 to 1, or None."""
    chunk = None if parent is None else _percent_chunk(parent)
    if isinstance(chunk, r.PercentInt):
        return chunk.percent / 100
    return None if chunk is None else chunk.fraction


def _percent_chunk(parent: Chunk) -> r.PercentInt | r.PercentFloat | None:
    for chunk in parent.children:
        if isinstance(chunk, (r.PercentInt, r.PercentFloat)):
            return chunk
    return None


def value_kinds(parent: Chunk) -> set[type[Record]]:
    """Return the kinds of the colour and the percentage that are read from a chunk; other kinds are kept as extras."""
    return {type(chunk) for chunk in (_color_chunk(parent), _percent_chunk(parent)) if chunk is not None}


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
_NO_KINDS: Kinds = frozenset()
_TAIL = attrgetter("tail")


def _unread_inside(wrapper: Chunk) -> list[dict[str, Any]]:
    """Return a chunk, of which the colour or percentage inside is read, with the other sub-chunks and tails, if there
    are any. A second colour that is equal to the first is none: programs write one with and one without gamma
    correction (in 1,403 of 1,896 such chunks of our files they are equal).
    """
    if len(wrapper.children) < 2 and not wrapper.tail and not any(map(_TAIL, wrapper.children)):
        return []
    read = _color_chunk(wrapper) or _percent_chunk(wrapper)
    color = rgb_of(read) if isinstance(read, _COLORS) else None
    is_read = [
        (part is read or (isinstance(part, _COLORS) and rgb_of(part) == color)) and not (part.tail or part.children)
        for part in wrapper.children
    ]
    if all(is_read) and not wrapper.tail:
        return []
    plain = plain_record(wrapper)
    if wrapper.children:  # there may be a tail only
        plain["children"] = [entry for entry, known in zip(plain["children"], is_read, strict=True) if not known]
    return [plain]


def unread_chunks(parent: Chunk, known: Kinds, wrappers: Kinds = _NO_KINDS) -> list[dict[str, Any]]:
    """Return the sub-chunks and tails of ``parent`` that are not read, as plain values.

    ``known`` are the kinds that are read: the first of each, or all of kinds that usually repeat. ``wrappers`` are
    kinds of which only the colour or percentage inside is read; they are returned with what else they contain.
    `value_kinds` has the kinds of the colour and percentage that are read from the parent itself.
    """
    if not (parent.children or parent.tail):
        return []
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
        if first and kind in wrappers and isinstance(chunk, Chunk):
            unread += _unread_inside(chunk)
        elif not (first and kind in known):
            unread.append(plain_record(chunk))
        elif tails and chunk.tail and not chunk.children:
            unread.append({"chunk": chunk.segment, "tail": chunk.tail.hex()})
    if parent.tail:
        unread.append({"chunk": "tail", "data": parent.tail.hex()})
    return unread
