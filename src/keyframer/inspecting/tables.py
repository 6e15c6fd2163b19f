"""Tables as text: aligned, Markdown, CSV cells and JSON values. Every cell is made inert here."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from keyframer.formats.kit.summary_tables import Cell, Table
from keyframer.text import safe_text, show_name

SHORT = 60
"""characters of a name where people read it"""
MEDIUM = 200
"""characters of other text where people read it"""
LONG = 1_000
"""characters of a cell where programs read it"""

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "|", "%")
_MARKUP = str.maketrans({mark: "\\" + mark for mark in "\\`*_{}[]<>|#!~$&:@"})
_OFFSETS = ("offset",)


def shown(cell: Cell, encoding: str | None = None, most: int | None = None) -> str:
    """A cell as safe text of one line; what would flood the screen is shortened."""
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, int):
        return str(cell)
    if isinstance(cell, float):
        return f"{cell:.7g}"
    most = most or (SHORT if isinstance(cell, bytes) else MEDIUM)
    start = cell[: 4 * most]
    text = show_name(start, encoding) if isinstance(start, bytes) else safe_text(start)
    if len(text) <= most and len(start) == len(cell):
        return text
    unit = "bytes" if isinstance(cell, bytes) else "characters"
    return f"{text[: most - 1]}… ({len(cell)} {unit})"


def json_value(cell: Cell, encoding: str | None = None) -> object:
    """A cell as a JSON value: numbers stay numbers (text where JSON has none), names become safe text."""
    if cell is None or isinstance(cell, (bool, int)):
        return cell
    if isinstance(cell, float):
        return float(f"{cell:.9g}") if math.isfinite(cell) else str(cell)
    return shown(cell, encoding, LONG)


def json_rows(table: Table, encoding: str | None = None) -> list[dict[str, object]]:
    """One object a row; trees carry the depth of each row."""
    rows = [dict(zip(table.columns, (json_value(cell, encoding) for cell in row), strict=True)) for row in table.rows]
    for row, depth in zip(rows, table.depths or (), strict=False):
        row["depth"] = depth
    return rows


def csv_cell(cell: Cell, encoding: str | None = None) -> str:
    """A cell that a spreadsheet takes for text, not for a formula; numbers stay numbers."""
    text = shown(cell, encoding, LONG)
    return f"'{text}" if isinstance(cell, (str, bytes)) and text.startswith(_FORMULA) else text


def markdown_cell(cell: Cell, encoding: str | None = None) -> str:
    text = shown(cell, encoding)
    return text.translate(_MARKUP).replace("www.", "www\\.") if isinstance(cell, (str, bytes)) else text


def text_rows(table: Table, encoding: str | None = None) -> list[list[str]]:
    """The cells as people read them: offsets in hex, trees indented."""
    rows = [
        [
            f"{cell:#x}" if column in _OFFSETS and isinstance(cell, int) else shown(cell, encoding)
            for column, cell in zip(table.columns, row, strict=True)
        ]
        for row in table.rows
    ]
    for row, depth in zip(rows, table.depths or (), strict=False):
        row[0] = "  " * min(depth, 20) + row[0]
    return rows


def is_numeric(table: Table, column: int) -> bool:
    """Whether a column is aligned to the right."""
    cells = [row[column] for row in table.rows if row[column] is not None]
    return bool(cells) and all(isinstance(cell, (int, float)) and not isinstance(cell, bool) for cell in cells)


def aligned(table: Table, encoding: str | None = None) -> Iterator[str]:
    """The lines of a table, columns aligned; a table of two columns called ``what, value`` has no heading."""
    rows = text_rows(table, encoding)
    heading = tuple(table.columns) != ("what", "value")
    everything: list[Sequence[str]] = [table.columns, *rows] if heading else [*rows]
    widths = [max((len(row[at]) for row in everything), default=0) for at in range(len(table.columns))]
    right = [heading and is_numeric(table, at) for at in range(len(table.columns))]
    for row in everything:
        cells = (
            cell.rjust(width) if to_right else cell.ljust(width)
            for cell, width, to_right in zip(row, widths, right, strict=True)
        )
        yield "  ".join(cells).rstrip()


def markdown(columns: Sequence[str], rows: Iterable[Iterable[str]]) -> Iterator[str]:
    """The lines of a Markdown table; the cells are Markdown already."""
    yield f"| {' | '.join(columns)} |"
    yield f"| {' | '.join('---' for _ in columns)} |"
    for row in rows:
        yield f"| {' | '.join(row)} |"
