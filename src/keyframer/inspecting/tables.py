"""Tables as aligned text, Markdown, CSV cells and JSON values. Every cell is made safe here."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from operator import gt

from keyframer.formats.kit.summary_tables import Cell, Table
from keyframer.text import safe_text, show_name

SHORT = 60
"""maximum number of characters of a name in text for people"""
MEDIUM = 200
"""maximum number of characters of other text for people"""
LONG = 1_000
"""maximum number of characters of a cell for programs"""

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "|", "%")
_MARKUP = str.maketrans({mark: "\\" + mark for mark in "\\`*_{}[]<>|#!~$&:@"})
_OFFSETS = ("offset",)


def shown(cell: Cell, encoding: str | None = None, most: int | None = None) -> str:
    """Return a cell as safe, truncated text on one line."""
    if isinstance(cell, str) and len(cell) <= (most or MEDIUM) and cell.isascii() and cell.isprintable():
        return cell  # the usual case, thousands of times
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
    """Return a cell as a JSON value: numbers (non-finite ones as text), names as safe text."""
    if cell is None or isinstance(cell, (bool, int)):
        return cell
    if isinstance(cell, float):
        return float(f"{cell:.9g}") if math.isfinite(cell) else str(cell)
    return shown(cell, encoding, LONG)


def json_rows(table: Table, encoding: str | None = None) -> list[dict[str, object]]:
    """Return one object per row; rows of a tree have their depth."""
    rows = [dict(zip(table.columns, (json_value(cell, encoding) for cell in row), strict=True)) for row in table.rows]
    for row, depth in zip(rows, table.depths or (), strict=False):
        row["depth"] = depth
    return rows


def csv_cell(cell: Cell, encoding: str | None = None) -> str:
    """Return a cell that a spreadsheet does not take for a formula; numbers stay numbers."""
    text = shown(cell, encoding, LONG)
    return f"'{text}" if isinstance(cell, (str, bytes)) and text.startswith(_FORMULA) else text


def csv_line(cells: Iterable[Cell], encoding: str | None = None) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="\n").writerow([csv_cell(cell, encoding) for cell in cells])
    return line.getvalue()


def markdown_cell(cell: Cell, encoding: str | None = None) -> str:
    text = shown(cell, encoding)
    return text.translate(_MARKUP).replace("www.", "www\\.") if isinstance(cell, (str, bytes)) else text


def text_rows(table: Table, encoding: str | None = None) -> list[list[str]]:
    """Return the cells as text for people: offsets in hex, trees indented."""
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
    """Return whether a column has numbers and, apart from empty cells, nothing else."""
    cells = [row[column] for row in table.rows if row[column] is not None]
    return bool(cells) and all(isinstance(cell, (int, float)) and not isinstance(cell, bool) for cell in cells)


def aligned(table: Table, encoding: str | None = None, width: int | None = None) -> Iterator[str]:
    """Yield the lines of a table with aligned columns; a table with the columns ``what, value`` has no heading.

    With a ``width``, cells are wrapped between words and empty columns are left out; a table whose longest words do not
    fit side by side has one line per cell.
    """
    columns, rows = list(table.columns), text_rows(table, encoding)
    right = [is_numeric(table, at) for at in range(len(columns))]
    heading = tuple(columns) != ("what", "value")
    if width is not None and heading:
        used = [at for at in range(len(columns)) if any(row[at] for row in rows)]
        columns, right = [columns[at] for at in used], [right[at] for at in used]
        rows = [[row[at] for at in used] for row in rows]
    lines: list[list[str]] = [columns, *rows] if heading else rows
    widths = _widths(lines, len(columns), width)
    if widths is None:
        yield from _stacked(columns, rows)
        return
    sides = (">" if heading and to_right else "<" for to_right in right)
    pattern = "  ".join(f"{{:{side}{room}}}" for side, room in zip(sides, widths, strict=True))
    for line in lines:
        parts = [line]
        if any(map(gt, map(len, line), widths)):
            cells = (_wrapped(cell, room) for cell, room in zip(line, widths, strict=True))
            parts = [list(parallel) for parallel in zip_longest(*cells, fillvalue="")]
        yield from (pattern.format(*parallel).rstrip() for parallel in parts)


def _widths(lines: list[list[str]], count: int, width: int | None) -> list[int] | None:
    """Return the width of each column, reduced to fit the total width; None if the words do not fit."""
    widths = [max((len(line[at]) for line in lines), default=0) for at in range(count)]
    available = float("inf") if width is None else width - 2 * (count - 1)
    if sum(widths) <= available:
        return widths
    least = [max((_longest_word(line[at]) for line in lines), default=0) for at in range(count)]
    if sum(least) > available:
        return None
    while sum(widths) > available:
        at = max((at for at in range(count) if widths[at] > least[at]), key=widths.__getitem__)
        widths[at] -= 1
    return widths


def _longest_word(cell: str) -> int:
    """Return the length of the longest word of a cell, plus its indentation."""
    text = cell.lstrip()
    return max((len(word) for word in text.split()), default=0) + len(cell) - len(text)


def _wrapped(cell: str, room: int) -> list[str]:
    if len(cell) <= room:
        return [cell]
    indent = " " * (len(cell) - len(cell.lstrip()))
    lines = [""]
    for word in cell.split():
        longer = f"{lines[-1]} {word}" if lines[-1] else indent + word
        if len(longer) <= room or not lines[-1]:
            lines[-1] = longer
        else:
            lines.append(indent + word)
    return lines


def _stacked(columns: list[str], rows: list[list[str]]) -> Iterator[str]:
    """Yield one line per cell with content, and a blank line between rows."""
    name_width = max(map(len, columns), default=0)
    for number, row in enumerate(rows):
        if number:
            yield ""
        yield from (
            f"{name.ljust(name_width)}  {cell.lstrip()}" for name, cell in zip(columns, row, strict=True) if cell
        )


def markdown(columns: Sequence[str], rows: Iterable[Iterable[str]]) -> Iterator[str]:
    """Yield the lines of a Markdown table; the cells are Markdown already."""
    yield f"| {' | '.join(columns)} |"
    yield f"| {' | '.join('---' for _ in columns)} |"
    for row in rows:
        yield f"| {' | '.join(row)} |"
