"""What a format says about a document in plain data: tables whose cells are numbers, text or names as stored.

A format may have a module ``summary`` with ``summarise(document) -> list[Table]``; ``keyframer info`` shows what it
gives beside what it knows of every format. A table named ``overview`` is shown with the general overview. A module may
also have ``describe(record class) -> dict[str, str]``: what the documentation says about a record beyond its fields.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

Cell = str | bytes | int | float | bool | None
"""``bytes`` is a name as it stands in the file: it is decoded, and made safe, where it is shown"""


@dataclass(slots=True)
class Table:
    """Rows under column names. ``depths`` gives each row's depth where the rows are a tree."""

    name: str
    """short and stable, for programs: ``objects``"""
    title: str
    columns: Sequence[str]
    rows: list[Sequence[Cell]] = field(default_factory=list)
    depths: list[int] | None = None

    def add(self, *cells: Cell, depth: int | None = None) -> None:
        if len(cells) != len(self.columns):
            raise ValueError(f"{self.name}: expected {len(self.columns)} cells, not {len(cells)}")
        self.rows.append(cells)
        if depth is not None:
            self.depths = self.depths or []
            self.depths.append(depth)


def overview(*rows: tuple[str, Cell]) -> Table:
    """The overview rows of a format: name and value; rows without a value are left out."""
    table = Table("overview", "Overview", ("what", "value"))
    for what, value in rows:
        if value is not None:
            table.add(what, value)
    return table
