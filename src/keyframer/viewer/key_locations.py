"""The bytes of every key of a track: rows of a table, or some columns of them, as the format's reader says."""

from __future__ import annotations

from keyframer.formats.document import Document
from keyframer.scene import Channel
from keyframer.viewer.key_bytes import row_spans
from keyframer.viewer.record_ranges import RecordRanges
from keyframer.viewer.track_bytes import Rows, Strided


class KeyFinder:
    """Finds keys in one file."""

    def __init__(self, document: Document, data: bytes, extents: RecordRanges) -> None:
        self._document = document
        self._data = data
        self._reader = document.format.scene_reader()
        self.extents = extents
        self._tables: dict[int, Strided | None] = {}
        self._holders: dict[type, int | None] = {}

    def keys(self, channel: Channel, number: int) -> Rows | None:
        """The places of the keys of a channel whose record has this number; None where they have none."""
        layout = self._reader.key_layout(self.extents.records[number], channel)
        if layout is None:
            return None
        holder = number if layout.holder is None else self._holder(layout.holder)
        if holder is None:
            return None
        rows: Rows | None
        if layout.columns is None:
            rows = row_spans(self._document, self._data, self.extents, holder, layout.field)
        else:
            table = self.table(holder, layout.field)
            rows = None if table is None else table.columns(*layout.columns)
        if rows is not None and layout.order is not None:
            rows = [None if row is None else rows[row] for row in layout.order]
        return rows if rows is not None and len(rows) == len(channel.track.times) else None

    def table(self, number: int, field: str = "rows") -> Strided | None:
        """The rows of a plain table of numbers; worked out once, because it holds all tracks."""
        if number not in self._tables:
            there = hasattr(self.extents.records[number], field)
            rows = row_spans(self._document, self._data, self.extents, number, field) if there else None
            self._tables[number] = rows if isinstance(rows, Strided) else None
        return self._tables[number]

    def _holder(self, kind: type) -> int | None:
        """The number of the first record of a kind."""
        if kind not in self._holders:
            numbers = (number for number, record in enumerate(self.extents.records) if isinstance(record, kind))
            self._holders[kind] = next(numbers, None)
        return self._holders[kind]
