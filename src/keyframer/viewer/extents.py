"""Which bytes belong to which record, worked out from where records begin: records tile what holds them."""

from __future__ import annotations

from bisect import bisect_right

from keyframer.formats._document import Document
from keyframer.wire.record import Record

MOST_RECORDS = 200_000
"""more are not listed: nobody looks at them one by one, and a page has to hold them"""


class Extents:
    """The records of a document in file order, each with its first byte, its end and the record it is in."""

    def __init__(self, document: Document, size: int) -> None:
        self.records: list[Record] = []
        self.starts: list[int] = []
        self.ends: list[int] = []
        self.parents: list[int] = []
        self.paths: list[str] = []
        self.truncated = False
        self._number: dict[int, int] = {}
        depths: list[int] = []
        open_records: list[int] = []
        for place, record in document.walk():
            if record.offset is None:
                continue
            if len(self.records) >= MOST_RECORDS:
                self.truncated = True
                break
            depth = str(place).count("/")
            while open_records and depths[open_records[-1]] >= depth:
                open_records.pop()
            number = len(self.records)
            self._number[id(record)] = number
            self.records.append(record)
            self.starts.append(record.offset)
            self.parents.append(open_records[-1] if open_records else -1)
            self.paths.append(str(place))
            depths.append(depth)
            open_records.append(number)
        self._close(size - len(document.trailing))

    def _close(self, end: int) -> None:
        """A record ends where the next one beside it begins; the last one before the bytes nobody claimed."""
        self.ends = [0] * len(self.records)
        following: dict[int, int] = {}
        last_of: dict[int, int] = {}
        for number, parent in enumerate(self.parents):
            before = last_of.get(parent)
            if before is not None:
                following[before] = self.starts[number]
            last_of[parent] = number
        for number, (record, parent) in enumerate(zip(self.records, self.parents, strict=True)):
            if number in following:
                limit = following[number]
            elif parent >= 0:
                limit = self.ends[parent] - len(self.records[parent].tail)
            else:
                limit = end
            self.ends[number] = max(limit, record.offset or 0)

    def number(self, record: Record) -> int | None:
        """The number of a record; None if it is not listed."""
        return self._number.get(id(record))

    def span(self, record: Record) -> tuple[int, int] | None:
        """First byte and end of a record."""
        number = self.number(record)
        return None if number is None else (self.starts[number], self.ends[number])

    def parent(self, record: Record) -> Record | None:
        number = self.number(record)
        if number is None or self.parents[number] < 0:
            return None
        return self.records[self.parents[number]]

    def at(self, offset: int) -> list[int]:
        """The records that a byte lies in, innermost first."""
        number = bisect_right(self.starts, offset) - 1
        found: list[int] = []
        while number >= 0:
            if self.starts[number] <= offset < self.ends[number]:
                found.append(number)
            number = self.parents[number]
        return found

    def table(self) -> dict[str, object]:
        """Columns for the page: where, inside which, and what it is called."""
        return {
            "starts": self.starts,
            "ends": self.ends,
            "parents": self.parents,
            "names": [f"{path.rpartition('/')[2]} {type(record).__name__}" for path, record in self._named()],
            "truncated": self.truncated,
        }

    def _named(self) -> list[tuple[str, Record]]:
        return list(zip(self.paths, self.records, strict=True))
