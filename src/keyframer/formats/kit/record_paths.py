"""Find the paths of records on demand. `RecordPaths` needs little memory, because hostile files can have millions of
records."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable

import numpy as np

from keyframer.formats.document import Document
from keyframer.wire.record import Record


def path_finder(document: Document) -> Callable[[int], str | None]:
    """Return a function that maps the offset of a record to its path, or to None if no record begins there.

    If several records begin at this offset, the result is the path of the innermost one. The function walks the
    document on its first call.
    """
    paths: dict[int, str] = {}

    def find(offset: int) -> str | None:
        if not paths:
            paths.update((record.offset, str(place)) for place, record in document.walk() if record.offset is not None)
        return paths.get(offset)

    return find


_FEW_PATHS = 8
"""number of paths that are searched one by one before all records are indexed"""


def _begin(record: Record) -> int:
    return -1 if record.offset is None else record.offset


class RecordPaths:
    """Finds the path of every record of a document, with 20 bytes of memory per record."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._searches = 0
        self._records: list[Record] = []
        self._parents = array("i")
        self._indices = array("i")
        """index of a record among siblings of the same name; -1 if paths show no index"""
        self._by_id: np.ndarray[tuple[int], np.dtype[np.uint32]] | None = None
        """record numbers sorted by `id`"""

    def path(self, record: Record) -> str:
        """Return the path of a record; raises LookupError if it is not part of the document."""
        if self._by_id is None and self._searches < _FEW_PATHS:
            self._searches += 1
            path = self._descend(record)
            if path is not None:
                return path
        at = self._find(record)
        names: list[str] = []
        while at >= 0:
            index = self._indices[at]
            segment = self._records[at].segment
            names.append(segment if index < 0 else f"{segment}[{index}]")
            at = self._parents[at]
        return "/" + "/".join(reversed(names))

    def _descend(self, record: Record) -> str | None:
        """Return the path of a record without a walk through the whole document; None if offsets do not lead to it.

        Only records that begin at or before the offset of this record are visited.
        """
        path = ""
        siblings = self._document.records
        while siblings:
            at = bisect_right(siblings, _begin(record), key=_begin) - 1
            if at < 0:
                break
            candidate = siblings[at]
            segment = candidate.segment
            index = sum(sibling.segment == segment for sibling in siblings[:at])
            path += f"/{segment}[{index}]" if index or candidate.numbered else f"/{segment}"
            if candidate is record:
                return path
            siblings = candidate.children
        return None

    def _find(self, record: Record) -> int:
        """Return the number of a record in the order of the document, from an index of all records."""
        if self._by_id is None:
            for child, parent, index in self._document.walk_indices():
                self._records.append(child)
                self._parents.append(parent)
                self._indices.append(index if index or child.numbered else -1)
            ids = np.fromiter(map(id, self._records), np.uint64, len(self._records))
            self._by_id = np.argsort(ids).astype(np.uint32)
        at = bisect_left(self._by_id, id(record), key=lambda number: id(self._records[number]))
        if at == len(self._by_id) or self._records[self._by_id[at]] is not record:
            raise LookupError(f"{record!r} is not part of this document")
        return int(self._by_id[at])
