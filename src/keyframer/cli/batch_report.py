"""``keyframer batch report``: the ledger as a table, CSV, JSON or one HTML page."""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import redirect_stdout
from io import StringIO

from keyframer.batch.html_report import REPORT_COLUMNS, SCHEMA, SCHEMA_VERSION, cells_of, html_page, record_of
from keyframer.batch.job import LEDGER, STATUSES
from keyframer.batch.ledger import Ledger
from keyframer.cli.exit_handling import INPUTS_FAILED, SUCCESS
from keyframer.cli.messages import failure, shown_name
from keyframer.cli.output_targets import write_file
from keyframer.cli.record_output import STYLES, Records
from keyframer.errors import FormatError
from keyframer.files import note_input
from keyframer.text import safe_text

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
        for piece in html_page(ledger, rows, options.only_operation):
            sys.stdout.write(piece)
        return
    records = Records(options.format, SCHEMA, SCHEMA_VERSION, REPORT_COLUMNS)
    if options.format == "pretty":
        _pretty_head(ledger, options.only_operation)
    for row in rows:
        if options.format == "pretty":
            sys.stdout.write(_line(row) + "\n")
        else:
            records.json(record_of(row))
            records.row(cells_of(row))
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
