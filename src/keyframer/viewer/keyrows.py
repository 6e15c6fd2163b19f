"""Where the keys of a track lie in the file: tables of keys among the fields of records, and the bytes of each row.

A record is written back exactly as it was read, so a field is found by writing it and looking for its bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from keyframer.wire.record import FieldPlan, Record
from keyframer.wire.sink import Sink

_FLOATS_OF_BITS = 4 * np.array([bin(bits).count("1") for bits in range(32)])
_SHAPE_SIZE = 20
"""tension, continuity, bias and two eases where a row holds all five or none"""


@dataclass(eq=False, frozen=True)
class KeyTable:
    """A field with one row a key: columns with times, or a plain table of samples."""

    record: Record
    field: str
    value: Any

    @property
    def is_samples(self) -> bool:
        return isinstance(self.value, np.ndarray)

    def __len__(self) -> int:
        return len(self.value)

    def times(self) -> npt.NDArray[np.float64]:
        return np.asarray(self.value.time, np.float64)

    def numbers(self) -> npt.NDArray[np.float64]:
        """(n, k) what the rows hold as values."""
        stored = self.value if self.is_samples else self.value.value
        with np.errstate(invalid="ignore"):  # signalling NaNs become quiet ones
            return np.asarray(stored, np.float64).reshape(len(self), -1)

    def rows(self, data: bytes, start: int, end: int) -> list[tuple[int, int]] | None:
        """First byte and end of every row, inside the bytes of the record; None where they cannot be told apart."""
        if not len(self):
            return None
        children = [child.offset for child in self.record.children if child.offset is not None]
        fields_end = min(children, default=end - len(self.record.tail))
        for written, behind in self._ways_of_writing():
            at = fields_end - behind - len(written)
            if data[at : at + len(written)] != written:
                at = data.rfind(written, start, end)
            sizes = None if at < start else self._sizes(len(written))
            if sizes is not None:
                return list(pairwise(accumulate(sizes, initial=at)))
        return None

    def _ways_of_writing(self) -> list[tuple[bytes, int]]:
        """The table as its declaration writes it, and as it lies in memory (a view of the file); and the size of the
        fields behind it."""
        ways: list[tuple[bytes, int]] = []
        names = [plan.name for plan in self.record.plan.fields]
        rows = self.value if self.is_samples else getattr(self.value, "rows", None)
        try:
            own, *later = self.record.plan.fields[names.index(self.field) :]
            heading = len(_written(own, self.record, own.kind.default()))  # a count before the first row
            behind = sum(len(_written(plan, self.record, getattr(self.record, plan.name))) for plan in later)
            ways.append((_written(own, self.record, self.value)[heading:], behind))
        except (ValueError, TypeError, AttributeError):
            pass  # a file of another style: its rows are views of the file
        if isinstance(rows, np.ndarray):
            ways.append((rows.tobytes(), 0))
        return ways

    def _sizes(self, total: int) -> list[int] | None:
        """Bytes of each row: what all rows share is what is left when the parts that vary are taken off."""
        extra = np.zeros(len(self), np.int64)
        if not self.is_samples:
            shaped = getattr(self.value, "shaped", None)
            if shaped is not None:
                extra += _SHAPE_SIZE * np.asarray(shaped, np.int64)
            elif getattr(self.value, "extras", None) is not None:
                extra += _FLOATS_OF_BITS[np.asarray(self.value.flags).astype(np.int64) & 31]
            for row, text in enumerate(getattr(self.value, "text", ())):
                extra[row] += len(text) + 1
        fixed, rest = divmod(total - int(extra.sum()), len(self))
        return None if rest or fixed < 0 else (extra + fixed).tolist()


def _written(plan: FieldPlan, record: Record, value: Any) -> bytes:
    """The bytes of one field."""
    if plan.when is not None and not plan.when(record):
        return b""
    sink = Sink()
    plan.kind.write(sink, value, record)
    return sink.getvalue()


def key_tables(records: list[Record]) -> list[KeyTable]:
    """Every field with rows that may be keys, in file order."""
    found: list[KeyTable] = []
    for record in records:
        for plan in record.plan.fields:
            value = getattr(record, plan.name)
            is_keys = hasattr(value, "time") and hasattr(value, "value")
            is_samples = isinstance(value, np.ndarray) and value.ndim == 2 and value.dtype.kind == "f"
            if (is_keys or is_samples) and len(value):
                found.append(KeyTable(record, plan.name, value))
    return found
