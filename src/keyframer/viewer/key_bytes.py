"""The bytes of each row of a table of keys, which is a field of a record.

A record is written back exactly as it was read: the sizes of its fields say where a table begins, and the bytes there
have to be those that the table is written as.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from keyframer.formats.document import Document
from keyframer.viewer.record_ranges import RecordRanges
from keyframer.viewer.track_bytes import Rows, Strided
from keyframer.wire.encoding_style import Style
from keyframer.wire.record import Record
from keyframer.wire.record_plan import FieldPlan
from keyframer.wire.sink import Sink

_FLOATS_OF_BITS = 4 * np.array([bin(bits).count("1") for bits in range(32)])
_SHAPE_SIZE = 20
"""tension, continuity, bias and two eases where a row holds all five or none"""


def row_spans(document: Document, data: bytes, extents: RecordRanges, number: int, field: str) -> Rows | None:
    """First byte and end of every row of a field; None where the field has no rows that can be told apart."""
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
    """The rows as the file has them, and the size of the fields behind them."""
    style = document.dialect
    plan = record.plan.adapted(style) if isinstance(style, Style) else record.plan
    own, *later = plan.fields[[each.name for each in plan.fields].index(field) :]
    heading = len(_written(own, record, own.kind.default()))  # a count before the first row
    behind = sum(len(_written(each, record, getattr(record, each.name))) for each in later)
    return _written(own, record, getattr(record, field))[heading:], behind


def _written(plan: FieldPlan, record: Record, value: Any) -> bytes:
    """The bytes of one field."""
    if plan.when is not None and not plan.when(record):
        return b""
    sink = Sink()
    plan.kind.write(sink, value, record)
    return sink.getvalue()


def _row_sizes(value: Any, total: int) -> Sequence[int] | None:
    """Bytes of each row: what all rows share is what is left when the parts that vary are taken off."""
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
