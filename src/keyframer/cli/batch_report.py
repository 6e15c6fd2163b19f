"""``keyframer batch report``: the ledger as a table, CSV, JSON or one HTML page without scripts.

Text from files is made safe to show.
"""

from __future__ import annotations

import argparse
import html
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import redirect_stdout
from io import StringIO
from typing import Any

from keyframer.batch.job import LEDGER, STATUSES
from keyframer.batch.ledger import Ledger
from keyframer.cli.exit_handling import INPUTS_FAILED, SUCCESS
from keyframer.cli.messages import failure, shown_name
from keyframer.cli.output_targets import write_file
from keyframer.errors import FormatError
from keyframer.files import note_input
from keyframer.inspecting.records import STYLES, Records
from keyframer.inspecting.tables import shown
from keyframer.text import safe_text

SCHEMA = "keyframer.batch"
SCHEMA_VERSION = 1

REPORT_COLUMNS = (
    "operation", "source", "status", "format", "output", "code", "message", "worst", "issues", "size", "sha256",
    "seconds",
)  # fmt: skip

_HEAD = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width">
<title>Keyframer batch report</title>
<style>
body { font: 14px/1.4 system-ui, sans-serif; margin: 2em; color: #222 }
table { border-collapse: collapse; margin: 1em 0 }
th, td { border: 1px solid #ddd; padding: .2em .6em; text-align: left; vertical-align: top; white-space: nowrap }
th { background: #f3f3f3; position: sticky; top: 0 }
.failed td { background: #fdecea } .findings td { background: #fff6e0 }
td.n { text-align: right; font-variant-numeric: tabular-nums }
td.long { white-space: normal; overflow-wrap: anywhere; min-width: 12em }
td.hash { font-family: monospace; max-width: 9em; overflow: hidden; text-overflow: ellipsis }
@media (prefers-color-scheme: dark) {
  body { background: #1b1b1d; color: #ddd } th { background: #2a2a2d } th, td { border-color: #444 }
  .failed td { background: #43211e } .findings td { background: #40351a }
}
</style></head><body>
<h1>Keyframer batch report</h1>
"""

_OPERATIONS = ("convert", "check", "info", "identify", "thumbnail")
"""all operations, available here or not: a ledger may come from another machine"""
_MOST_LINES = 20
"""maximum number of refused rows that are shown"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("where", metavar="OUT", help="output folder of a batch, or its ledger")
    parser.add_argument(
        "--format", choices=(*STYLES, "html"), default="pretty", help="style of the output (default: pretty)"
    )
    parser.add_argument("--status", choices=STATUSES, help="show only files with this status")
    parser.add_argument(
        "--operation", dest="only_operation", choices=_OPERATIONS, metavar="NAME", help="show only this operation"
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="write to a file instead of stdout")
    parser.add_argument("-f", "--force", action="store_true", help="overwrite an existing file")


def run(options: argparse.Namespace) -> int:
    path = os.path.join(options.where, LEDGER) if os.path.isdir(options.where) else options.where
    for part in ("", "-wal", "-shm", ".lock"):
        note_input(path + part)
    with Ledger(path, read_only=True) as ledger:
        if options.output is None:
            _write(ledger, options)
            return show_refused(ledger)
        text = StringIO()
        with redirect_stdout(text):
            _write(ledger, options)
        code = show_refused(ledger)
    try:
        write_file(options.output, text.getvalue().encode("utf-8", "backslashreplace"), force=options.force)
    except FormatError as error:
        failure(options.output, error)
        return INPUTS_FAILED
    return code


def show_refused(ledger: Ledger) -> int:
    """Print a line for each row refused since the last call; returns `INPUTS_FAILED` if there are any."""
    lines, ledger.refused = ledger.refused, []
    for line in lines[:_MOST_LINES]:
        print(f"keyframer: {shown_name(line)}", file=sys.stderr)
    if len(lines) > _MOST_LINES:
        print(f"keyframer: more refused rows of the ledger: {len(lines) - _MOST_LINES:,}", file=sys.stderr)
    return INPUTS_FAILED if lines else SUCCESS


def _write(ledger: Ledger, options: argparse.Namespace) -> None:
    rows = ledger.rows(options.only_operation, options.status)
    if options.format == "html":
        for piece in _html_page(ledger, rows, options.only_operation):
            sys.stdout.write(piece)
        return
    records = Records(sys.stdout.write, options.format, SCHEMA, SCHEMA_VERSION, REPORT_COLUMNS)
    if options.format == "pretty":
        _pretty_head(ledger, options.only_operation)
    for row in rows:
        if options.format == "pretty":
            sys.stdout.write(_line(row) + "\n")
        else:
            records.json(_record_of(row))
            records.row(_cells_of(row))
    records.close()


def _pretty_head(ledger: Ledger, operation: str | None) -> None:
    for name, status, code, count in ledger.counts(operation):
        label = "with findings" if status == "findings" else status
        sys.stdout.write(f"{name}: {count:,} {label}{f' ({code})' if code else ''}\n")
    for renamed in ledger.renamed(operation):
        sys.stdout.write(f"renamed: {safe_text(str(renamed))}\n")
    sys.stdout.write("\n")


def _line(row: dict[str, object]) -> str:
    outcome = f"{row['code']}: {row['message']}" if row["code"] else f"-> {row['output']}"
    issues = row["issues"]
    if row["status"] != "failed" and row["worst"] and isinstance(issues, dict):
        outcome += f" (worst: {row['worst']}; {', '.join(f'{code} {count}' for code, count in issues.items())})"
    return f"{row['status']:<8}  {row['seconds']:8.3f} s  {shown_name(str(row['source']))}  {safe_text(outcome)}"


def _record_of(row: dict[str, Any]) -> dict[str, object]:
    """Return a row of the ledger as a JSON record; text is safe to show."""
    record: dict[str, object] = {name: _safe(row[name]) for name in REPORT_COLUMNS}
    record["outputs"] = [
        {"path": _safe(output["path"]), "size": output["size"], "sha256": output["sha256"]} for output in row["outputs"]
    ]
    for name in ("offset", "path", "version", "options", "finished"):
        record[name] = _safe(row[name])
    record["details"] = _safe(row["details"])
    return record


def _safe(value: Any) -> Any:
    if isinstance(value, str):
        return shown(value, most=1_000)
    if isinstance(value, dict):
        return {_safe(name): _safe(content) for name, content in value.items()}
    return value


def _cells_of(row: dict[str, Any]) -> list[Any]:
    """Return a row of the ledger as the cells of a table."""
    issues = " ".join(f"{code}:{count}" for code, count in row["issues"].items())
    return [issues if name == "issues" else row[name] for name in REPORT_COLUMNS]


def _html_page(ledger: Ledger, rows: Iterable[dict[str, Any]], operation: str | None = None) -> Iterator[str]:
    """Yield the pieces of the HTML page."""
    yield _HEAD
    yield from _table(("operation", "status", "code", "files"), map(list, ledger.counts(operation)), status_column=1)
    renamed = ledger.renamed(operation)
    if renamed:
        yield "<h2>Outputs under another name</h2>\n"
        yield from _table(
            ("source", "wanted", "given", "reason"),
            ([renaming.source, renaming.wanted, renaming.given, renaming.reason] for renaming in renamed),
        )
    yield "<h2>Files</h2>\n"
    yield from _table(REPORT_COLUMNS, map(_cells_of, rows), status_column=REPORT_COLUMNS.index("status"))
    yield "</body></html>\n"


def _table(columns: Iterable[str], rows: Iterable[list[Any]], status_column: int | None = None) -> Iterator[str]:
    names = list(columns)
    yield "<table><tr>" + "".join(f"<th>{html.escape(name)}</th>" for name in names) + "</tr>\n"
    for row in rows:
        attribute = f' class="{html.escape(str(row[status_column]))}"' if status_column is not None else ""
        yield f"<tr{attribute}>" + "".join(map(_cell, names, row)) + "</tr>\n"
    yield "</table>\n"


_CSS_CLASSES = {
    "sha256": "hash",
    **dict.fromkeys(("source", "output", "message", "issues", "wanted", "given", "reason"), "long"),
}


def _cell(column: str, value: Any) -> str:
    css_class = "n" if isinstance(value, (int, float)) and not isinstance(value, bool) else _CSS_CLASSES.get(column)
    attribute = f' class="{css_class}"' if css_class else ""
    return f"<td{attribute}>{html.escape(shown(value, most=500))}</td>"
