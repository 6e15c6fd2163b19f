"""Lists files, or parts of them, in the chosen style: pretty, json, jsonl, csv or md.

Entries are written one by one, so that thousands of files need little memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from keyframer.formats.kit.summary_tables import Cell

STYLES = ("pretty", "json", "jsonl", "csv", "md")


class Listing:
    """Writes entries: JSON objects in the JSON styles, rows of cells in CSV and Markdown, lines of text in pretty.

    ``columns`` are those of CSV (if they are not known yet, the command writes them), and of Markdown unless the
    command writes its own.
    ``write`` takes the text.
    """

    def __init__(
        self,
        write: Callable[[str], object],
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
        self.text = write
        self._head: dict[str, object] = {"schema": schema, "schema_version": version}
        self._first = True
        if style in ("json", "jsonl"):
            from json import dumps

            self._dumps = dumps
        if style == "json":
            self.text(f"{{{dumps(self._head)[1:-1]}, {dumps(key)}: [")
        elif style == "csv" and columns:
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

    def close(self) -> None:
        if self.style == "json":
            self.text("]}\n" if self._first else "\n]}\n")


def json_file(schema: str, version: int, record: Mapping[str, object]) -> bytes:
    """Return one record as the commands print it with ``--format json``."""
    parts: list[str] = []
    listing = Listing(parts.append, "json", schema, version, ())
    listing.json(record)
    listing.close()
    return "".join(parts).encode("ascii")
