"""Tables that summarise a document: cells are numbers, text or names as stored.

``keyframer info`` shows the tables that `Bridge.summarise` of a format yields after those that every format has. The
first is merged with the general overview.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from keyframer.text import counted

Cell = str | bytes | int | float | bool | None
"""``bytes`` is a name as stored in the file: it is decoded and made safe when it is shown"""


@dataclass(slots=True)
class Table:
    """Rows under column names. ``depths`` gives the depth of each row if the rows form a tree."""

    name: str
    """short and stable, for use in programs: ``objects``"""
    title: str
    columns: Sequence[str]
    rows: list[Sequence[Cell]] = field(default_factory=list)
    depths: list[int] | None = None
    in_summary: bool = False
    """whether the summary of a file has the number of rows: they are content that is not in the scene"""

    def add(self, *cells: Cell, depth: int | None = None) -> None:
        if len(cells) != len(self.columns):
            raise ValueError(f"{self.name}: expected {counted(len(self.columns), 'cell')}, not {len(cells)}")
        self.rows.append(cells)
        if depth is not None:
            self.depths = self.depths or []
            self.depths.append(depth)


def overview(*rows: tuple[str, Cell]) -> Table:
    """Return the overview table of a format from names and values; rows without a value are left out."""
    table = Table("overview", "Overview", ("what", "value"))
    for what, value in rows:
        if value is not None:
            table.add(what, value)
    return table
