"""Writes records to stdout in the chosen style: pretty, json, jsonl, csv or md.

Records are written one by one, so that thousands of files need little memory. Only data goes to stdout.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

    from keyframer.formats.kit.summary_tables import Cell

STYLES = ("pretty", "json", "jsonl", "csv", "md")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments for the style of records."""
    output = parser.add_argument_group("output")
    output.add_argument("--format", choices=STYLES, default="pretty", help="style of the output (default: pretty)")
    output.add_argument("--no-color", action="store_true", help="no colours (NO_COLOR does the same)")


def is_plain(options: argparse.Namespace) -> bool:
    """Return whether pretty output has no colours: not on a terminal, or with ``--no-color`` or ``NO_COLOR``."""
    return bool(options.no_color or os.environ.get("NO_COLOR") or not sys.stdout.isatty())


def terminal_width() -> int:
    """Return ``COLUMNS``, or the number of columns of the terminal, at least 20; 80 if both are unknown."""
    try:
        return max(20, int(os.environ.get("COLUMNS") or os.get_terminal_size(1).columns))
    except (OSError, ValueError):
        return 80


class Records:
    """Writes records: JSON objects in the JSON styles, rows of cells in CSV and Markdown, lines of text in pretty.

    ``columns`` are those of CSV, and of Markdown unless the command writes its own.
    """

    def __init__(
        self,
        style: str,
        schema: str,
        version: int,
        columns: Sequence[str],
        encoding: str | None = None,
        key: str = "files",
    ) -> None:
        self.style = style
        self.columns = columns
        self.encoding = encoding
        self._head: dict[str, object] = {"schema": schema, "schema_version": version}
        self._first = True
        if style in ("json", "jsonl"):
            from json import dumps

            self._dumps = dumps
        if style == "json":
            self.text(f"{{{dumps(self._head)[1:-1]}, {dumps(key)}: [")
        elif style == "csv":
            self.row(columns)

    def json(self, record: Mapping[str, object]) -> None:
        """Write a record in the JSON styles; does nothing in others."""
        if self.style not in ("json", "jsonl"):
            return
        if self.style == "jsonl":
            self.text(self._dumps({**self._head, **record}, allow_nan=False) + "\n")
        else:
            body = self._dumps(record, allow_nan=False, indent=2).replace("\n", "\n  ")
            self.text(("\n  " if self._first else ",\n  ") + body)
        self._first = False

    def row(self, cells: Sequence[Cell]) -> None:
        """Write a row of CSV or of the Markdown table; does nothing in other styles."""
        from keyframer.inspecting.tables import csv_line, markdown, markdown_cell

        if self.style == "csv":
            self.text(csv_line(cells, self.encoding))
        elif self.style == "md":
            lines = markdown(self.columns, [[markdown_cell(cell, self.encoding) for cell in cells]])
            self.text("".join(f"{line}\n" for line in list(lines)[0 if self._first else 2 :]))
            self._first = False

    def text(self, text: str) -> None:
        sys.stdout.write(text)

    def close(self) -> None:
        if self.style == "json":
            self.text("]}\n" if self._first else "\n]}\n")
