"""The paths of records, worked out when first asked for and kept small: a hostile file has millions of records."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterator

import numpy as np

from keyframer.formats.document import Document
from keyframer.wire.record import Record


def path_finder(document: Document) -> Callable[[int], str | None]:
    """A function from the offset of a record to its path. Of records that begin at one byte it is the innermost: outer
    ones are only frames. The document is walked when the function is first called."""
    known: dict[int, str] = {}

    def find(offset: int) -> str | None:
        if not known:
            known.update((each.offset, str(place)) for place, each in document.walk() if each.offset is not None)
        return known.get(offset)

    return find


class Places:
    """Answers for every record of a document what its path is, in 20 bytes a record."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._records: list[Record] = []
        self._parents = array("i")
        self._indices = array("i")
        """which of its name a record is in its parent; -1 where paths show no number"""
        self._by_id: np.ndarray[tuple[int], np.dtype[np.uint32]] | None = None
        """numbers of the records in the order of their `id`"""

    def path(self, record: Record) -> str:
        """The path of a record; LookupError if it is not part of the document."""
        at = self._find(record)
        names: list[str] = []
        while at >= 0:
            index = self._indices[at]
            segment = self._records[at].segment
            names.append(segment if index < 0 else f"{segment}[{index}]")
            at = self._parents[at]
        return "/" + "/".join(reversed(names))

    def _find(self, record: Record) -> int:
        if self._by_id is None:
            self._collect()
            ids = np.fromiter(map(id, self._records), np.uint64, len(self._records))
            self._by_id = np.argsort(ids).astype(np.uint32)
        at = bisect_left(self._by_id, id(record), key=lambda number: id(self._records[number]))
        if at == len(self._by_id) or self._records[self._by_id[at]] is not record:
            raise LookupError(f"{record!r} is not part of this document")
        return int(self._by_id[at])

    def _collect(self) -> None:
        stack: list[tuple[Iterator[Record], int, dict[str, int]]] = [(iter(self._document.records), -1, {})]
        while stack:
            records, parent, counts = stack[-1]
            record = next(records, None)
            if record is None:
                stack.pop()
                continue
            segment = record.segment
            index = counts.get(segment, 0)
            counts[segment] = index + 1
            self._parents.append(parent)
            self._indices.append(index if index or record.numbered else -1)
            self._records.append(record)
            if record.children:
                stack.append((iter(record.children), len(self._records) - 1, {}))
