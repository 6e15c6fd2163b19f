"""Which bytes belong to which record, as the page is told it: in file order, some thousands at a time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from array import array
from bisect import bisect_right
from collections.abc import Iterator

PAGE = 50_000
"""records that are sent at once"""

Span = tuple[int, int]
"""first byte and end"""


class Records(ABC):
    """Records, each with its first byte, its end and the record it is in; one that holds others comes before them."""

    def __init__(self) -> None:
        self.starts = array("q")
        self.ends = array("q")
        self.parents = array("q")

    def __len__(self) -> int:
        return len(self.starts)

    @abstractmethod
    def name(self, number: int) -> str:
        """What a record is called."""

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

    @property
    def page_count(self) -> int:
        return -(-len(self) // PAGE)

    def overview(self) -> dict[str, object]:
        """How many records there are, and at which byte each page of them begins."""
        return {"total": len(self), "page": PAGE, "firsts": self.starts[::PAGE].tolist()}

    def page(self, number: int) -> dict[str, object] | None:
        """Columns for the page: where, inside which, and what it is called."""
        first = number * PAGE
        if not 0 <= first < len(self):
            return None
        some = slice(first, first + PAGE)
        names = [self.name(each) for each in range(first, min(first + PAGE, len(self)))]
        return {
            "starts": self.starts[some].tolist(),
            "ends": self.ends[some].tolist(),
            "parents": self.parents[some].tolist(),
            "names": names,
        }


class NoRecords(Records):
    """Of a file that nobody could read."""

    def name(self, number: int) -> str:
        raise IndexError(number)
