"""Byte ranges of records, tracks and keys. Records are in file order, in pages of 50,000.

The bytes of a track or of its keys are one run, or pieces at equal distances.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from array import array
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

from keyframer.formats.document import Document
from keyframer.wire.record import Record

PAGE = 50_000
"""records that are sent at once"""

Span = tuple[int, int]
"""first byte and end"""


class Records(ABC):
    """Records, each with its first byte, its end and its parent record; a parent comes before its children."""

    def __init__(self) -> None:
        self.starts = array("q")
        self.ends = array("q")
        self.parents = array("q")

    def __len__(self) -> int:
        return len(self.starts)

    @abstractmethod
    def name(self, number: int) -> str:
        """Return the name of a record."""

    def span(self, number: int) -> Span:
        """Return first byte and end of a record."""
        return self.starts[number], self.ends[number]

    def beginning_at(self, offset: int) -> int | None:
        """Return the innermost record that starts at this byte; None if there is none."""
        number = bisect_right(self.starts, offset) - 1
        return number if number >= 0 and self.starts[number] == offset else None

    def at(self, offset: int) -> Iterator[int]:
        """Yield the records that contain a byte, innermost first."""
        number = bisect_right(self.starts, offset) - 1
        while number >= 0:
            if self.starts[number] <= offset < self.ends[number]:
                yield number
            number = self.parents[number]

    @property
    def page_count(self) -> int:
        return -(-len(self) // PAGE)

    def overview(self) -> dict[str, object]:
        """Return the number of records, and the first byte of each page."""
        return {"total": len(self), "page": PAGE, "firsts": self.starts[::PAGE].tolist()}

    def page(self, number: int) -> dict[str, object] | None:
        """Return the columns of a page: ranges, parents and names."""
        first = number * PAGE
        if not 0 <= first < len(self):
            return None
        rows = slice(first, first + PAGE)
        names = [self.name(index) for index in range(first, min(first + PAGE, len(self)))]
        return {
            "starts": self.starts[rows].tolist(),
            "ends": self.ends[rows].tolist(),
            "parents": self.parents[rows].tolist(),
            "names": names,
        }


class NoRecords(Records):
    """No records: the file cannot be read, or its format has no known records."""

    def name(self, number: int) -> str:
        raise IndexError(number)


class RecordRanges(Records):
    """The records of a document in file order. A record ends where its next sibling starts: records fill their parent
    without gaps.
    """

    def __init__(self, document: Document, size: int) -> None:
        super().__init__()
        self.records: list[Record] = []
        self._before = array("q")
        """number of siblings of the same name before a record"""
        self._collect(document)
        self._set_ends(size - len(document.trailing))

    def _collect(self, document: Document) -> None:
        numbers = array("q")
        """for each record of the document its index in `records`; a record without an offset has that of its parent"""
        for record, parent, before in document.walk_indices():
            outer = numbers[parent] if parent >= 0 else -1
            if record.offset is None:
                numbers.append(outer)
                continue
            numbers.append(len(self.records))
            self.records.append(record)
            self.starts.append(record.offset)
            self.parents.append(outer)
            self._before.append(before)

    def _set_ends(self, end: int) -> None:
        """Set the end of each record: the start of its next sibling; for the last one the end of its parent without the
        tail, or ``end`` if it has no parent.
        """
        self.ends = array("q", bytes(8 * len(self.records)))
        following: dict[int, int] = {}
        """by parent record: the start of the sibling after the current one"""
        for number in range(len(self.records) - 1, -1, -1):
            parent = self.parents[number]
            self.ends[number] = following.get(parent, -1)
            following[parent] = self.starts[number]
        for number, parent in enumerate(self.parents):
            if self.ends[number] < 0:
                self.ends[number] = end if parent < 0 else self.ends[parent] - len(self.records[parent].tail)
            self.ends[number] = max(self.ends[number], self.starts[number])

    def name(self, number: int) -> str:
        """Return the last part of the path of a record, and its type."""
        record, before = self.records[number], self._before[number]
        segment = f"{record.segment}[{before}]" if before or record.numbered else record.segment
        return f"{segment} {type(record).__name__}"


@dataclass(frozen=True, slots=True)
class Strided:
    """Pieces of one size at equal distances, such as one track in rows that contain all tracks."""

    start: int
    size: int
    step: int
    count: int

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, key: int) -> Span:
        return self.start + key * self.step, self.start + key * self.step + self.size

    def columns(self, first: int, size: int) -> Strided:
        """Return ``size`` bytes of each piece, from byte ``first``."""
        return Strided(self.start + first, size, self.step, self.count)

    def record(self) -> dict[str, int]:
        """Return the location of all pieces as a JSON record."""
        return {"start": self.start, "size": self.size, "step": self.step, "count": self.count}


Rows = Strided | list[Span | None]
"""a location for each key; None for a key that the file does not store"""


def place_json(place: Span | Strided | None) -> object:
    """Return the location of a whole track as JSON: one run if there are no gaps."""
    if isinstance(place, Strided):
        contiguous = place.step == place.size or place.count == 1
        return [place.start, place.start + place.count * place.size] if contiguous else place.record()
    return place


def rows_json(rows: Rows | None) -> object:
    """Return the locations of keys as JSON."""
    return rows.record() if isinstance(rows, Strided) else rows


def byte_range(rows: list[Span | None]) -> Span | None:
    """Return the range from the first to the last byte; None if no row has a location."""
    known = [span for span in rows if span is not None]
    return (min(span[0] for span in known), max(span[1] for span in known)) if known else None
