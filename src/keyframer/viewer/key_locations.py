"""Locations of the keys of a track: rows of a table, or some columns of them, according to the reader of the format."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from keyframer.formats.document import Document
from keyframer.scene import Channel
from keyframer.viewer.record_bytes import RecordRanges, Rows, Strided
from keyframer.wire.encoding_style import Style
from keyframer.wire.record import Record
from keyframer.wire.record_plan import FieldPlan
from keyframer.wire.sink import Sink

_FLOATS_OF_BITS = 4 * np.array([bin(bits).count("1") for bits in range(32)])
_SHAPE_SIZE = 20
"""bytes of tension, continuity, bias and two eases, if a row has all five or none"""


def row_spans(document: Document, data: bytes, extents: RecordRanges, number: int, field: str) -> Rows | None:
    """Return first byte and end of every row of a field; None if its rows cannot be located.

    A record is written back exactly as it was read: the sizes of its fields give the start of a table, and the bytes
    there must be those of the written table.
    """
    record = extents.records[number]
    value = getattr(record, field)
    if not len(value):
        return None
    start, end = extents.span(number)
    children = [child.offset for child in record.children if child.offset is not None]
    fields_end = min(children, default=end - len(record.tail))
    written, behind = _written_table(document, record, field)
    at = fields_end - behind - len(written)
    if at < start or data[at : at + len(written)] != written:
        return None
    sizes = _row_sizes(value, len(written))
    if sizes is None:
        return None
    if min(sizes) == max(sizes):
        return Strided(at, sizes[0], sizes[0], len(sizes))
    return list(pairwise(accumulate(sizes, initial=at)))


def _written_table(document: Document, record: Record, field: str) -> tuple[bytes, int]:
    """Return the rows as stored in the file, and the size of the fields after them."""
    style = document.dialect
    plan = record.plan.adapted(style) if isinstance(style, Style) else record.plan
    table_field, *later = plan.fields[[field.name for field in plan.fields].index(field) :]
    heading = len(_written(table_field, record, table_field.kind.default()))  # a count before the first row
    behind = sum(len(_written(item, record, getattr(record, item.name))) for item in later)
    return _written(table_field, record, getattr(record, field))[heading:], behind


def _written(plan: FieldPlan, record: Record, value: Any) -> bytes:
    """Return the bytes of one field."""
    if plan.when is not None and not plan.when(record):
        return b""
    sink = Sink()
    plan.kind.write(sink, value, record)
    return sink.getvalue()


def _row_sizes(value: Any, total: int) -> Sequence[int] | None:
    """Return the bytes of each row: the fixed size, computed from the total, plus the varying parts."""
    extra = np.zeros(len(value), np.int64)
    shaped = getattr(value, "shaped", None)
    if shaped is not None:
        extra += _SHAPE_SIZE * np.asarray(shaped, np.int64)
    elif getattr(value, "extras", None) is not None:
        extra += _FLOATS_OF_BITS[np.asarray(value.flags).astype(np.int64) & 31]
    for row, text in enumerate(getattr(value, "text", ())):
        extra[row] += len(text) + 1
    fixed, rest = divmod(total - int(extra.sum()), len(value))
    sizes: list[int] = (extra + fixed).tolist()
    return None if rest or fixed < 0 else sizes


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
        """Return the locations of the keys of a channel in the record with this index; None if they have none."""
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
        """Return the rows of a plain table of numbers; computed once, because it contains all tracks."""
        if number not in self._tables:
            has_field = hasattr(self.extents.records[number], field)
            rows = row_spans(self._document, self._data, self.extents, number, field) if has_field else None
            self._tables[number] = rows if isinstance(rows, Strided) else None
        return self._tables[number]

    def _holder(self, kind: type) -> int | None:
        """Return the index of the first record of a kind."""
        if kind not in self._holders:
            numbers = (number for number, record in enumerate(self.extents.records) if isinstance(record, kind))
            self._holders[kind] = next(numbers, None)
        return self._holders[kind]
