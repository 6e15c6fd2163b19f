"""The map of a salvaged file: what became of every byte of the source, as spans, as JSON, and as a page.

The source and the clean file are compared record by record: a record begins at known offsets in both.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from keyframer.catalogue import IO_TEXT_MODE
from keyframer.formats.contract import Missing
from keyframer.formats.document import Document
from keyframer.issues import Issue
from keyframer.markup import HtmlPage, Markup, fragment, heading_row, row, tag
from keyframer.text import counted, shortened
from keyframer.wire.record import Raw, Record

KEPT, MOVED, REPAIRED, UNKNOWN, DROPPED = "kept", "moved", "repaired", "unknown", "dropped"
STATES = {
    KEPT: "the same bytes at the same place",
    MOVED: "the same bytes at another place",
    REPAIRED: "a length, count or link with another value",
    UNKNOWN: "the same bytes, which nobody can interpret",
    DROPPED: "not in the clean file",
}
"""what can become of a byte, and what it means"""


class Span(NamedTuple):
    """What became of some bytes of the source."""

    start: int
    end: int
    state: str
    """one of `STATES`"""
    to: int | None = None
    """offset in the clean file; None if dropped"""
    code: str = ""
    """code of the issue that is the cause, if any"""
    reason: str = ""
    record: str = ""
    """path of the record in the clean file to which the bytes belong, or after which they were dropped"""
    last_record: str = ""
    """path of the last record, if the bytes belong to several"""


def spans_of(source: bytes, document: Document, clean: bytes, causes: list[Issue]) -> Iterator[Span]:
    """Yield the spans of the source; ``document`` has the records that were written as ``clean``."""
    if source == clean and not causes:
        yield from _kept(source, document)
        return
    of_records = {issue.path: issue for issue in causes}
    reasons = sorted(causes, key=lambda issue: issue.offset)
    offsets = [issue.offset for issue in reasons]
    written = document.format.decode(clean, document.limits)
    anchors = _anchors(document, written)
    anchors.append(_Anchor(len(source), len(clean), "", None))
    for anchor, following in pairwise(anchors):
        before, after = source[anchor.start : following.start], clean[anchor.to : following.to]
        for start, end, to, same in _aligned(before, after):
            state = DROPPED if to is None else REPAIRED
            place = None if to is None else anchor.to + to
            span = Span(anchor.start + start, anchor.start + end, state, place, record=anchor.path)
            if same:
                moved = span.to != span.start
                state = UNKNOWN if isinstance(anchor.record, Raw) else MOVED if moved else KEPT
                yield span._replace(state=state)
                continue
            cause = of_records.get(anchor.path)
            inside, nearest = _cause(span, reasons, offsets)
            cause = cause or (nearest if span.state == DROPPED else inside)
            reason = "follows from what was kept" if cause is None else shortened(cause.message, 200)
            yield span._replace(code=(cause or nearest).code, reason=reason)


def _kept(source: bytes, document: Document) -> Iterator[Span]:
    """Yield the spans of a file that stays as it is."""
    anchors = [_Anchor(0, 0, "/", None)]
    anchors += [
        _Anchor(record.offset, record.offset, str(place), record)
        for place, record in document.walk()
        if record.offset is not None
    ]
    anchors.append(_Anchor(len(source) - len(document.trailing), 0, "/", None))
    for anchor, following in pairwise(anchors):
        state = UNKNOWN if isinstance(anchor.record, Raw) else KEPT
        yield Span(anchor.start, following.start, state, anchor.start, record=anchor.path)
    if document.trailing:
        start = len(source) - len(document.trailing)
        yield Span(start, len(source), UNKNOWN, start, record="/")


class _Anchor(NamedTuple):
    """A record in the source and in the clean file."""

    start: int
    to: int
    path: str
    record: Record | None


def _anchors(document: Document, written: Document) -> list[_Anchor]:
    """Return the offsets of the records in the source and in the clean file, in the order of both."""
    anchors = [_Anchor(0, 0, "/", None)]
    for (place, record), (_, other) in zip(document.walk(), written.walk(), strict=False):
        if type(record) is not type(other):
            break
        last = anchors[-1]
        if record.offset is not None and other.offset is not None and record.offset >= last.start:
            if record.offset == last.start and other.offset == last.to:
                anchors.pop()  # the innermost record that begins here
            anchors.append(_Anchor(record.offset, other.offset, str(place), record))
    return anchors


def _cause(span: Span, reasons: Sequence[Issue], offsets: Sequence[int]) -> tuple[Issue | None, Issue]:
    """Return the issue inside a span, and the nearest: that one, else the last before the span, else the first."""
    number = max(bisect_right(offsets, span.end - 1) - 1, 0)
    return reasons[number] if span.start <= offsets[number] < span.end else None, reasons[number]


_PROBE = 16
_IN_PLACE = 8
_PIECE = 4096


def _aligned(before: bytes, after: bytes) -> Iterator[tuple[int, int, int | None, bool]]:
    """Yield how bytes became others: start and end, the offset in ``after`` (None if they are missing there), and
    whether they are the same.

    Where they differ, a few bytes have another value, or bytes are missing up to where the next ones are found.
    """
    at = to = 0
    searches = 64
    while at < len(before):
        same = _common(before, at, after, to)
        if same:
            yield at, at + same, to, True
            at, to = at + same, to + same
            continue
        if to >= len(after):
            yield at, len(before), None, False
            return
        changed = next(
            (
                count
                for count in range(1, _IN_PLACE + 1)
                if to + count < len(after) and before.startswith(after[to + count : to + count + _IN_PLACE], at + count)
            ),
            0,
        )
        found = -1
        if not changed and searches and len(after) - to >= _IN_PLACE:  # fewer bytes are found by chance
            searches -= 1
            found = before.find(after[to : to + _PROBE], at)
        if found > at:
            yield at, found, None, False
            at = found
            continue
        changed = min(changed or 1, len(before) - at, len(after) - to)
        yield at, at + changed, to, False
        at, to = at + changed, to + changed


def _common(before: bytes, at: int, after: bytes, to: int) -> int:
    """Return the number of equal bytes from two offsets on."""
    start, most = at, min(len(before) - at, len(after) - to)
    while at - start < most and before[at : at + _PIECE] == after[to : to + _PIECE]:
        size = min(_PIECE, start + most - at)
        if before[at : at + size] != after[to : to + size]:
            break
        at, to = at + size, to + size
    while at - start < most and before[at] == after[to]:
        at, to = at + 1, to + 1
    return at - start


def joined(spans: Iterable[Span]) -> Iterator[Span]:
    """Yield spans without empty ones; neighbours that differ only in the record are one span, with the first and the
    last of these records."""
    last: Span | None = None
    for span in spans:
        if span.start == span.end:
            continue
        if last is None:
            last = span
        elif (last.state, last.code, last.reason, _shift(last)) == (span.state, span.code, span.reason, _shift(span)):
            other = span.last_record or span.record
            last = last._replace(end=span.end, last_record=last.last_record if other == last.record else other)
        else:
            yield last
            last = span
    if last is not None:
        yield last


def _shift(span: Span) -> int | None:
    return None if span.to is None else span.to - span.start


def across_text_mode(spans: Iterable[Span], source: bytes, repaired: bytes) -> Iterator[Span]:
    """Translate the spans of a file as it was before a transfer in text mode to those of the file as it is."""
    remaining = iter(spans)
    span, at = next(remaining), 0
    for start, position, size in _equal_runs(source, repaired):
        yield Span(at, start, DROPPED, None, IO_TEXT_MODE.code, "added by a transfer in text mode")
        at, end = start, start + size
        while at < end:
            while span.end <= position:
                span = next(remaining)
            step = min(end - at, span.end - position)
            to = None if span.to is None else span.to + position - span.start
            state = MOVED if span.state == KEPT and to != at else span.state
            yield span._replace(start=at, end=at + step, to=to, state=state)
            at, position = at + step, position + step
    yield Span(at, len(source), DROPPED, None, IO_TEXT_MODE.code, "added by a transfer in text mode")


def _equal_runs(source: bytes, repaired: bytes) -> Iterator[tuple[int, int, int]]:
    """Yield equal runs of two files that differ only in CR, and in bytes at the end: their offsets and their size."""
    at = to = 0
    while at < len(source) and to < len(repaired):
        same = _common(source, at, repaired, to)
        if same:
            yield at, to, same
            at, to = at + same, to + same
        elif source[at] == 0x0D:
            at += 1
        else:
            to += 1


# JSON and page

SCHEMA = "keyframer.salvage"
SCHEMA_VERSION = 1


def byte_counts(spans: Iterable[Span]) -> dict[str, int]:
    """Return the number of bytes of the source in each state."""
    counts = dict.fromkeys(STATES, 0)
    for span in spans:
        counts[span.state] += span.end - span.start
    return counts


def missing_text(size: int, missing: Missing) -> str:
    """Return what a source of ``size`` bytes lacks: ``40 % is missing: no keyframer, 7 objects left``."""
    share = 100 * missing.size / (size + missing.size)
    return f"{share:.0f} % is missing: {missing.parts}" if share >= 1 else f"the end is missing: {missing.parts}"


def map_record(
    name: str, format: str, size: int, clean_size: int, spans: Sequence[Span], missing: Missing | None = None
) -> dict[str, object]:
    """Return the map as a JSON object; ``size`` and ``clean_size`` are the sizes of the source and the clean file."""
    return {
        "schema": SCHEMA,
        "schema_version": SCHEMA_VERSION,
        "file": shortened(name, 1_000),
        "format": format,
        "size": size,
        "clean_size": clean_size,
        "missing": None if missing is None else missing._asdict(),
        "bytes": byte_counts(spans),
        "spans": [
            {
                **span._asdict(),
                "reason": shortened(span.reason, 1_000),
                "record": shortened(span.record, 1_000),
                "last_record": shortened(span.last_record, 1_000),
            }
            for span in spans
        ],
    }


_COLOURS = {KEPT: "#4caf6d", MOVED: "#4a90d9", REPAIRED: "#e0a030", UNKNOWN: "#8d6cc2", DROPPED: "#d64545"}
_MISSING = "#b4b4b4"
_COLUMNS = 1000
_HEADINGS = ("from", "to", "bytes", "state", "in the clean file", "record", "reason")
_PAGE_ROWS = 2000


def map_page(
    name: str, title: str, size: int, clean_size: int, spans: Sequence[Span], missing: Missing | None = None
) -> Markup:
    """Return the map as an HTML page that needs no other file: a coloured strip of the source, and a table. What is
    missing behind the end of the source is grey.
    """
    counts = byte_counts(spans)
    legend = [_key(state, f"{state}: {counts[state]:,} ({STATES[state]})") for state in STATES]
    stated, lost = size, Markup()
    if missing is not None:
        stated += missing.size
        legend.append(_key("missing", f"missing: {missing.size:,} (behind the end)"))
        lost = tag("p", tag("strong", missing_text(size, missing)))
    more = len(spans) - _PAGE_ROWS
    view = {"viewBox": f"0 0 {_COLUMNS} 1", "preserveAspectRatio": "none"}
    shown = shortened(name, 300)
    return HtmlPage(shown, style=_STYLE).whole(
        tag("h1", shown),
        tag("p", f"{title}: {size:,} bytes in the source, {clean_size:,} in the clean file."),
        lost,
        tag("svg", _strip(stated, spans), **view, role="img", aria_label="map of the bytes"),
        tag("ul", *legend),
        tag("div", tag("table", heading_row(_HEADINGS), *map(_row, spans[:_PAGE_ROWS])), class_="rows"),
        tag("p", f"{counted(more, 'more span')}: the JSON map has all.") if more > 0 else "",
    )


_STYLE = """
body { font: 15px system-ui, sans-serif; margin: 2em auto; max-width: 70em; padding: 0 1em; color: #222 }
svg { width: 100%; height: 3em; display: block; border: 1px solid #888 }
ul { list-style: none; padding: 0 } li b { display: inline-block; width: 1em; height: 1em; margin-right: .5em }
table { border-collapse: collapse; width: 100% }
th, td { text-align: left; padding: .2em .6em; vertical-align: top }
.rows { overflow-x: auto }
td:nth-child(-n+4) { font-variant-numeric: tabular-nums; white-space: nowrap } tr { border-bottom: 1px solid #ddd }
""" + "".join(f".{state} {{ background: {colour} }} " for state, colour in {**_COLOURS, "missing": _MISSING}.items())


def _key(state: str, text: str) -> Markup:
    """Return an entry of the legend."""
    return tag("li", tag("b", class_=state), text)


def _strip(size: int, spans: Sequence[Span]) -> Markup:
    """Return the rectangles of the strip; damage that is thinner than a column is shown as wide as one. Columns behind
    the last span are missing."""
    order = list(STATES)
    columns = [-1] * _COLUMNS
    for span in spans:
        first = span.start * _COLUMNS // size
        last = max(first + 1, span.end * _COLUMNS // size)
        for column in range(first, min(last, _COLUMNS)):
            columns[column] = max(columns[column], order.index(span.state))
    parts, start = [], 0
    for column in range(1, _COLUMNS + 1):
        if column == _COLUMNS or columns[column] != columns[start]:
            colour = _MISSING if columns[start] < 0 else _COLOURS[order[columns[start]]]
            parts.append(tag("rect", x=start, width=column - start, height=1, fill=colour))
            start = column
    return fragment(*parts)


def _row(span: Span) -> Markup:
    to = "" if span.to is None else f"{span.to:#x}"
    reason = f"{span.code}: {span.reason}" if span.code else span.reason
    record = f"{span.record} to {span.last_record}" if span.last_record else span.record
    cells = (f"{span.start:#x}", f"{span.end:#x}", f"{span.end - span.start:,}", span.state, to, record, reason)
    return row(shortened(cell, 300) for cell in cells)
