"""``keyframer formats``: which formats are known and what can be done with them."""

from __future__ import annotations

import argparse

from keyframer.cli import record_output
from keyframer.cli.exit_handling import FINE
from keyframer.inspecting.format_support import SCHEMA, SCHEMA_VERSION, formats_table
from keyframer.inspecting.tables import aligned, json_rows

ABOUT = """Which formats are known and what can be done with each, found out from the code.

read and write: documents, byte for byte; text: dump and build; info: tables of its own; diagnose: what
damaged a file on its way; scene: what the document means, and so conversion from it; checks: rules of its
own; save: scenes can be written to it, and so conversion to it (docs/converting.md says what each holds);
rewrite: a file that was read can be written again with other models (docs/stage.md).
glTF has no documents: its files become scenes at once.
records: how many kinds of records are declared."""

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
        for known in json_rows(table):
            split = {key: str(known[key]).split() for key in ("extensions", "can")}
            records.json({**known, **split})
    records.close()
    return FINE
