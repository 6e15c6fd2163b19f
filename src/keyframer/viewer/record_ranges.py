"""The records of a document and their bytes, worked out from where records begin: records tile what holds them."""

from __future__ import annotations

from array import array
from collections.abc import Iterator

from keyframer.formats.document import Document
from keyframer.viewer.record_bytes import Records
from keyframer.wire.record import Record


class RecordRanges(Records):
    """The records of a document in file order."""

    def __init__(self, document: Document, size: int) -> None:
        super().__init__()
        self.records: list[Record] = []
        self._before = array("q")
        """how many of the same name stand beside a record, before it"""
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
            before = counts.get(record.segment, 0)
            counts[record.segment] = before + 1
            if record.offset is not None:
                number = len(self.records)
                self.records.append(record)
                self.starts.append(record.offset)
                self.parents.append(parent)
                self._before.append(before)
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

    def name(self, number: int) -> str:
        """The last part of its path and its type."""
        record, before = self.records[number], self._before[number]
        shown = f"{record.segment}[{before}]" if before or record.numbered else record.segment
        return f"{shown} {type(record).__name__}"
