"""What all parts of the bridge share: the document, the options, where issues go, and reading helpers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar

from keyframer.formats._document import Document
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
from keyframer.issues import Issue, IssueLog, IssueType
from keyframer.text import decode_name, safe_text
from keyframer.wire.cursor import Place
from keyframer.wire.record import Record, dump_fields

Rgb = tuple[float, float, float]
C = TypeVar("C", bound=Chunk)


class Context:
    """One conversion of one document."""

    def __init__(self, document: Document, options: Options, issues: IssueLog) -> None:
        self.document = document
        self.options = options
        self.issues = issues
        self._places: dict[int, Place] = {id(record): place for place, record in document.walk()}

    def text(self, raw: bytes) -> str:
        return decode_name(raw, self.options.encoding)

    def shown(self, raw: bytes) -> str:
        """A name for messages."""
        return repr(safe_text(self.text(raw)))

    def path(self, record: Record) -> str:
        return str(self._places[id(record)])

    def report(self, kind: IssueType, record: Record, field: str = "", /, **args: object) -> None:
        """Note something about a record of the document."""
        path = self.path(record)
        self.issues.add_issue(Issue(kind, f"{path}/{field}" if field else path, record.offset or 0, args))


def child(parent: Chunk, kind: type[C]) -> C | None:
    """The first sub-chunk of a kind."""
    return next(children(parent, kind), None)


def children(parent: Chunk, kind: type[C]) -> Iterator[C]:
    """The sub-chunks of a kind, in file order."""
    return (each for each in parent.children if isinstance(each, kind))


def has(parent: Chunk, kind: type[Chunk]) -> bool:
    return child(parent, kind) is not None


def color(parent: Chunk | None) -> Rgb | None:
    """The colour inside a chunk, 0 to 1; where a gamma corrected copy stands beside it, that one wins."""
    if parent is None:
        return None
    found: dict[type[Chunk], Rgb] = {}
    for each in parent.children:
        if isinstance(each, (ColorFloat, ColorFloatGamma)):
            found.setdefault(type(each), (each.rgb[0], each.rgb[1], each.rgb[2]))
        elif isinstance(each, (ColorByte, ColorByteGamma)):
            found.setdefault(type(each), (each.rgb[0] / 255, each.rgb[1] / 255, each.rgb[2] / 255))
    for kind in (ColorFloatGamma, ColorByteGamma, ColorFloat, ColorByte):
        if kind in found:
            return found[kind]
    return None


def percent(parent: Chunk | None) -> float | None:
    """The percentage inside a chunk, 0 to 1."""
    if parent is None:
        return None
    for each in parent.children:
        if isinstance(each, PercentInt):
            return each.percent / 100
        if isinstance(each, PercentFloat):
            return each.fraction
    return None


def leftover(record: Record) -> dict[str, Any]:
    """A record that the model has no place for, whole, as plain values."""
    plain: dict[str, Any] = {"chunk": record.segment}
    if isinstance(record, RawChunk):
        plain["reason"] = record.reason
    else:
        plain["name"] = type(record).__name__
    stack = [(record, plain)]
    while stack:
        each, out = stack.pop()
        out.update(dump_fields(each))
        if each.tail:
            out["tail"] = each.tail.hex()
        if each.children:
            out["children"] = []
            for inner in each.children:
                entry: dict[str, Any] = {"chunk": inner.segment, "name": type(inner).__name__}
                out["children"].append(entry)
                stack.append((inner, entry))
    return plain


def leftovers(parent: Chunk, known: tuple[type[Chunk], ...]) -> dict[str, dict[str, Any]]:
    """The sub-chunks that nobody reads, as extras: ``{"3ds": {"chunks": [...]}}``, or nothing."""
    rest = [leftover(each) for each in parent.children if not isinstance(each, known)]
    if parent.tail:
        rest.append({"chunk": "tail", "data": parent.tail.hex()})
    return {"3ds": {"chunks": rest}} if rest else {}
