"""``keyframer info``: summarise a file in one screen, or show its tables."""

from __future__ import annotations

import argparse
import sys

from keyframer.checking import NOT_READABLE
from keyframer.cli import inputs, output_style, scene_loading, texture_search
from keyframer.cli.each_input import LOAD_FAILURES, EachInput
from keyframer.cli.messages import detail, error_record, note, one_line, shown_name
from keyframer.formats.kit.summary_tables import Table
from keyframer.inspecting.document_tables import (
    COLUMNS,
    SCHEMA,
    SCHEMA_VERSION,
    Summary,
    info_record,
    summary_table,
)
from keyframer.inspecting.listing import Listing
from keyframer.inspecting.tables import aligned, markdown, markdown_cell
from keyframer.operations.info import Info, summarise
from keyframer.text import counted, safe_text

ABOUT = """Summarise a file in one screen, or show its tables.

The summary has format, size, writer, length, nodes and how many are animated,
meshes, cameras, lights, materials, images and which are missing, and the
verdict of keyframer check. --table shows one table instead, --all shows all
tables: those of the document (overview, records, raw, issues, and tables of its
format) and those of the scene (scene, tree, curves, meshes and others). A show
has a table "fixtures"; a fixture has "modes", too, and --set mode=NAME chooses.

Images are searched for only in the folder of the file and in those of
--texture-path. The table "textures" shows for each name whether the image was
found, guessed, embedded, unusable, refused, missing or not looked for.

JSON has the summary and all tables, or those of --table. CSV has one row per
file; with one --table the rows of this table; with several, one row per cell:
file, table, row, column, value. Offsets are in hex in pretty output, otherwise
decimal."""

EXAMPLES = (
    "keyframer info scene.3ds",
    "keyframer info --table nodes,tracks scene.3ds",
    "keyframer info --table textures --texture-path maps scene.3ds",
    "keyframer info --table fixtures --format csv show.mvr > patch.csv",
    "keyframer info --table materials,fixtures --set 'mode=Mode 2' spot.gdtf",
    "keyframer info -r --format csv archive/ > list.csv",
    "keyframer info --format json scene.3ds | jq '.files[0].summary.seconds'",
)

TABLE_COLUMNS = ("file", "table", "row", "column", "value")
"""columns of CSV if several tables are shown"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    inputs.add_arguments(parser)
    Info().add_options(parser)
    parser.add_argument("--all", action="store_true", help="show all tables")
    output_style.add_arguments(parser)


def run(options: argparse.Namespace) -> int:
    inputs.require_input(options)
    output = _Output(options)
    for item in (each := EachInput(options, inputs.LOADABLE, LOAD_FAILURES)):
        with each.guarded(item):
            finder = texture_search.finder_for(item, options)
            summary, tables, _ = summarise(scene_loading.open_input(item, options), options.encoding, finder)
        if each.error is not None:
            output.show_failure(item.name, each.error)
        else:
            output.show(item.name, summary, tables)
    output.listing.close()
    return each.code


class _Output:
    """What is written about each file: its summary, or tables, in the chosen style."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        self._shows_tables = bool(options.table or options.all)
        self._has_one_table = not options.all and len(set(options.table or ())) == 1
        self._is_first = True
        usual = TABLE_COLUMNS if self._shows_tables else ("file", *COLUMNS, "error")
        columns = () if self._has_one_table else usual
        self.listing = Listing(sys.stdout.write, options.format, SCHEMA, SCHEMA_VERSION, columns, options.encoding)

    def show_failure(self, name: str, error: Exception) -> None:
        """Write a failure as JSON, a row of CSV or a table of Markdown."""
        message = one_line(error)
        self.listing.json({"file": safe_text(name), "error": error_record(error)})
        if self.listing.style == "md":
            _markdown(self.listing, name, [Table("error", "Error", ("message",), [(message,)])], None)
        elif self._shows_tables and not self._has_one_table:
            self.listing.row([name, "error", 0, "message", message])
        elif not self._shows_tables:
            values = {"file": name, "verdict": NOT_READABLE, "error": message}
            self.listing.row([values.get(column) for column in self.listing.columns])

    def show(self, name: str, summary: Summary, tables: list[Table]) -> None:
        options, listing = self._options, self.listing
        detail(options, f"{name}: {counted(summary['size'], 'byte')}")
        wanted = [table for table in tables if not options.table or table.name in options.table]
        for missing in dict.fromkeys(options.table or ()):
            if all(table.name != missing for table in wanted):
                note(options, f"{name}: no table {missing!r} (available: {_table_list(tables)})")
        if listing.style in ("json", "jsonl"):
            listing.json(info_record(name, summary, wanted, options.encoding))
        elif listing.style == "csv" and not self._shows_tables:
            listing.row([name, *(summary[column] for column in COLUMNS), None])
        elif listing.style == "csv" and self._has_one_table:
            _csv_of_one_table(listing, name, wanted, options)
        elif listing.style == "csv":
            _csv(listing, name, wanted)
        else:
            wanted = wanted if self._shows_tables else [summary_table(summary, tables)]
            if listing.style == "md":
                _markdown(listing, name, wanted, options.encoding)
            else:
                listing.text("" if self._is_first else "\n")
                _pretty(name, wanted, options)
            if listing.style == "pretty" and self._is_first and not self._shows_tables and sys.stdout.isatty():
                note(options, f"--table NAME or --all shows more: {_table_list(tables)}")
        self._is_first = False


def _table_list(tables: list[Table]) -> str:
    return ", ".join(table.name for table in tables)


def _csv(listing: Listing, name: str, tables: list[Table]) -> None:
    for table in tables:
        for number, row in enumerate(table.rows):
            for column, cell in zip(table.columns, row, strict=True):
                listing.row([name, table.name, number, column, cell])


def _csv_of_one_table(listing: Listing, name: str, tables: list[Table], options: argparse.Namespace) -> None:
    """Write the rows of a table with its own columns: those of the first file that has it."""
    for table in tables:
        if not listing.columns:
            listing.columns = ("file", *table.columns)
            listing.row(listing.columns)
        others = [column for column in table.columns if column not in listing.columns]
        if others:
            note(options, f"{name}: columns that the first file does not have are left out: {', '.join(others)}")
        for row in table.rows:
            cells = dict(zip(table.columns, row, strict=True))
            listing.row([name, *(cells.get(column) for column in listing.columns[1:])])


def _markdown(listing: Listing, name: str, tables: list[Table], encoding: str | None) -> None:
    listing.text(f"## {markdown_cell(shown_name(name))}\n\n")
    for table in tables:
        rows = [[markdown_cell(cell, encoding) for cell in row] for row in table.rows]
        for row, depth in zip(rows, table.depths or (), strict=False):
            row[0] = "&nbsp;" * 4 * min(depth, 20) + row[0]
        listing.text(f"### {table.title}\n\n" + "\n".join(markdown(table.columns, rows)) + "\n\n")


def _pretty(name: str, tables: list[Table], options: argparse.Namespace) -> None:
    """Print the tables, indented; on a terminal with bold titles and within its width."""
    plain = output_style.is_plain(options)
    width = None if plain else output_style.terminal_width() - 2
    bold, end = ("", "") if plain else ("\x1b[1m", "\x1b[0m")
    lines = [f"{bold}{shown_name(name)}{end}"]
    for table in tables:
        if table.name != "summary":
            count = "" if table.name == "overview" else f" ({len(table.rows)})"
            lines += ["", f"{bold}{table.title}{end}{count}"]
        lines += [f"  {line}".rstrip() for line in aligned(table, options.encoding, width)]
    sys.stdout.write("\n".join(lines) + "\n")
