"""Which bytes belong to which record, worked out from where records begin: records tile what holds them."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterator

from keyframer.formats._document import Document
from keyframer.wire.record import Record

MOST_LISTED = 200_000
"""records that the page is told about: it says how many there are where there are more"""

NO_RECORDS: dict[str, object] = {"starts": [], "ends": [], "parents": [], "names": [], "total": 0}

Span = tuple[int, int]
"""first byte and end"""


class Extents:
    """The records of a document in file order, each with its first byte, its end and the record it is in."""

    def __init__(self, document: Document, size: int) -> None:
        self.records: list[Record] = []
        self.starts = array("q")
        self.ends = array("q")
        self.parents = array("q")
        self._names: list[str] = []
        self._collect(document)
        self._close(size - len(document.trailing))

    def _collect(self, document: Document) -> None:
        stack: list[tuple[Iterator[Record], int, dict[str, int]]] = [(iter(document.records), -1, {})]
        while stack:
            records, parent, counts = stack[-1]
            record = next(records, None)
            if record is None:
                stack.pop()
                continue
            number = parent
            name = _name(record, counts) if len(self._names) < MOST_LISTED else None
            if record.offset is not None:
                number = len(self.records)
                self.records.append(record)
                self.starts.append(record.offset)
                self.parents.append(parent)
                if name is not None:
                    self._names.append(name)
            if record.children:
                stack.append((iter(record.children), number, {}))

    def _close(self, end: int) -> None:
        """A record ends where the next one beside it begins; the last one before the bytes nobody claimed."""
        self.ends = array("q", bytes(8 * len(self.records)))
        following: dict[int, int] = {}
        """where the record after the one that is looked at begins, by the record that both are in"""
        for number in range(len(self.records) - 1, -1, -1):
            parent = self.parents[number]
            self.ends[number] = following.get(parent, -1)
            following[parent] = self.starts[number]
        for number, parent in enumerate(self.parents):
            if self.ends[number] < 0:
                self.ends[number] = end if parent < 0 else self.ends[parent] - len(self.records[parent].tail)
            self.ends[number] = max(self.ends[number], self.starts[number])

    def span(self, number: int) -> Span:
        """First byte and end of a record."""
        return self.starts[number], self.ends[number]

    def beginning_at(self, offset: int) -> int | None:
        """The record that begins there; of several the innermost, because outer ones are only frames."""
        number = bisect_right(self.starts, offset) - 1
        return number if number >= 0 and self.starts[number] == offset else None

    def at(self, offset: int) -> Iterator[int]:
        """The records that a byte lies in, innermost first."""
        number = bisect_right(self.starts, offset) - 1
        while number >= 0:
            if self.starts[number] <= offset < self.ends[number]:
                yield number
            number = self.parents[number]

    def table(self) -> dict[str, object]:
        """Columns for the page: where, inside which, and what it is called."""
        return {
            "starts": self.starts[:MOST_LISTED].tolist(),
            "ends": self.ends[:MOST_LISTED].tolist(),
            "parents": self.parents[:MOST_LISTED].tolist(),
            "names": self._names,
            "total": len(self.records),
        }


def _name(record: Record, counts: dict[str, int]) -> str:
    """The last part of its path and its type; ``counts`` is how many of each name were beside it."""
    segment = record.segment
    index = counts.get(segment, 0)
    counts[segment] = index + 1
    shown = f"{segment}[{index}]" if index or record.numbered else segment
    return f"{shown} {type(record).__name__}"
