"""``keyframer info``: what a file holds, as tables."""

from __future__ import annotations

import sys

from keyframer.cli import inputs, output, reading, texturing
from keyframer.cli.exits import FINE, NOT_ALL_DONE
from keyframer.cli.messages import detail, error_record, failure, one_line, shown_name
from keyframer.text import safe_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from keyframer.cli.inputs import Input
    from keyframer.formats.kit.summary_tables import Table

ABOUT = """What a file says, as tables: overview, objects, materials and maps, nodes and tracks with their keys,
how many records of each kind there are, what is unknown or kept as raw bytes, and what is odd about it.
Then what it means: clip and axes, the node tree, curves, meshes, surfaces, cameras, lights, skins, raw channels.
Images are looked for beside the file and in the folders of --texture-path, nowhere else; the table of textures says for
each name what was found, by which guess, what is inside the file, and what was refused, is missing or no image.

Offsets are shown in hex. CSV has one row for each cell: file, table, row, column, value."""

EXAMPLES = (
    "keyframer info scene.3ds",
    "keyframer info --table nodes --table tracks scene.3ds",
    "keyframer info --table textures --texture-path maps --texture-recursive scene.3ds",
    "keyframer info --format json scene.3ds | jq '.files[0].tables.objects'",
)

SAID_BETTER = {"objects": "meshes", "nodes": "tree", "tracks": "curves", "materials": "surfaces", "maps": "images"}
"""tables of the document, and those of the scene that say the same and more: people need not read both"""

LAST = ("records", "raw", "issues", "scene_issues")

COLUMNS = ("file", "table", "row", "column", "value")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    inputs.add_arguments(parser)
    reading.add_arguments(parser)
    parser.add_argument("--table", action="append", metavar="NAME", help="show just this table (may be repeated)")
    parser.add_argument(
        "--all",
        action="store_true",
        help="pretty output too has the tables that say in the file's words what others mean",
    )
    texturing.add_arguments(parser)
    output.add_encoding(parser)
    output.add_arguments(parser)


def run(options: argparse.Namespace) -> int:
    from keyframer.formats.kit.summary_tables import Table
    from keyframer.inspecting.document_tables import SCHEMA, SCHEMA_VERSION
    from keyframer.inspecting.tables import json_rows

    if not options.files and options.files_from is None:
        options.parser.error("nothing to look at: give a FILE, or - for stdin")
    records = output.Records(options.format, SCHEMA, SCHEMA_VERSION, COLUMNS, options.encoding)
    code = FINE
    first = True
    for item in inputs.inputs_of(options, inputs.LOADABLE):
        try:
            with reading.budget_for(options, item):
                format, size, found, tables = _tables(item, options)
        except reading.READ_FAILURES as error:
            code = NOT_ALL_DONE
            failure(item.name, error)
            records.json({"file": safe_text(item.name), "error": error_record(error)})
            if options.format == "csv":
                records.row([item.name, "error", 0, "message", one_line(error)])
            elif options.format == "md":
                problem = Table("error", "Error", ("message",), [(one_line(error),)])
                _markdown(records, item.name, [problem], options.encoding)
            continue
        detail(options, f"{item.name}: {size} bytes, {found} issues")
        if options.table:
            tables = [table for table in tables if table.name in options.table]
        if options.format in ("json", "jsonl"):
            shown = {table.name: json_rows(table, options.encoding) for table in tables}
            name = safe_text(item.name)
            records.json({"file": name, "format": format, "size": size, "tables": shown})
        elif options.format == "csv":
            _csv(records, item.name, tables)
        elif options.format == "md":
            _markdown(records, item.name, tables, options.encoding)
        else:
            records.text("" if first else "\n")
            _pretty(item.name, tables if options.table or options.all else _once(tables), options)
        first = False
    records.close()
    return code


def _tables(item: Input, options: argparse.Namespace) -> tuple[str, int, int, list[Table]]:
    """Format, size, number of issues, and all tables of an input."""
    from keyframer.inspecting.document_tables import file_tables

    opened = reading.open_input(item, options)
    issues, tables = file_tables(opened, options.encoding, texturing.finder_for(item, options))
    return opened.reader.name, len(opened.data), issues.total, tables


def _once(tables: list[Table]) -> list[Table]:
    """The tables without those that others say better; how many records there are comes behind what they mean."""
    names = {table.name for table in tables}
    chosen = [table for table in tables if SAID_BETTER.get(table.name) not in names]
    return sorted(chosen, key=lambda table: table.name in LAST)


def _csv(records: output.Records, name: str, tables: list[Table]) -> None:
    for table in tables:
        for number, row in enumerate(table.rows):
            for column, cell in zip(table.columns, row, strict=True):
                records.row([name, table.name, number, column, cell])


def _markdown(records: output.Records, name: str, tables: list[Table], encoding: str | None) -> None:
    from keyframer.inspecting.tables import markdown, markdown_cell

    records.text(f"## {markdown_cell(shown_name(name))}\n\n")
    for table in tables:
        rows = [[markdown_cell(cell, encoding) for cell in row] for row in table.rows]
        for row, depth in zip(rows, table.depths or (), strict=False):
            row[0] = "&nbsp;" * 4 * min(depth, 20) + row[0]
        records.text(f"### {table.title}\n\n" + "\n".join(markdown(table.columns, rows)) + "\n\n")


def _pretty(name: str, tables: list[Table], options: argparse.Namespace) -> None:
    from keyframer.inspecting.tables import aligned

    if not output.is_plain(options):
        _pretty_in_colour(name, tables, options.encoding)
        return
    lines = [shown_name(name)]
    for table in tables:
        count = "" if table.name == "overview" else f" ({len(table.rows)})"
        lines += ["", f"{table.title}{count}", *(f"  {line}" for line in aligned(table, options.encoding))]
    sys.stdout.write("\n".join(lines) + "\n")


def _pretty_in_colour(name: str, tables: list[Table], encoding: str | None) -> None:
    """On a terminal: the same cells in rich's tables. Cells are `Text`, so that no name is taken for markup."""
    from rich import box
    from rich.console import Console
    from rich.table import Table as Frame
    from rich.text import Text

    from keyframer.inspecting.tables import is_numeric, text_rows

    console = Console(highlight=False)
    console.print(Text(shown_name(name), style="bold"))
    for table in tables:
        heading = tuple(table.columns) != ("what", "value")
        frame = Frame(title=Text(table.title), title_justify="left", box=box.SIMPLE_HEAD, show_header=heading)
        for at, column in enumerate(table.columns):
            frame.add_column(column, justify="right" if heading and is_numeric(table, at) else "left", overflow="fold")
        for row in text_rows(table, encoding):
            frame.add_row(*(Text(cell) for cell in row))
        console.print(frame)
