"""``keyframer formats``: list the known formats and what they support."""

from __future__ import annotations

import argparse

from keyframer.cli import record_output
from keyframer.cli.exit_handling import SUCCESS
from keyframer.inspecting.format_support import SCHEMA, SCHEMA_VERSION, formats_table
from keyframer.inspecting.tables import aligned, json_rows

ABOUT = """List the known formats and what they support.

The column "can" lists: read and write (documents, byte for byte), text (dump
and build), info (tables of its own), diagnose (recognises damage from a
transfer), scene (can be converted from), checks (rules of its own), save (can
be converted to; docs/converting.md lists what each can store), rewrite (can be
written again with other models; docs/stage.md). Formats without read and write
have no documents: their files are loaded as scenes directly. The column
"records" has the number of declared record types."""

EXAMPLES = ("keyframer formats", "keyframer formats --format json")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    record_output.add_arguments(parser)


def run(options: argparse.Namespace) -> int:
    table = formats_table()
    records = record_output.Records(options.format, SCHEMA, SCHEMA_VERSION, table.columns, key="formats")
    if options.format == "pretty":
        records.text("\n".join(aligned(table)) + "\n")
    elif options.format in ("csv", "md"):
        for row in table.rows:
            records.row(row)
    else:
        for row_record in json_rows(table):
            lists = {key: str(row_record[key]).split() for key in ("extensions", "can")}
            records.json({**row_record, **lists})
    records.close()
    return SUCCESS
