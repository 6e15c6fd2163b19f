"""The summary and the tables of a file."""

from __future__ import annotations

import argparse
import codecs
from argparse import ArgumentTypeError
from typing import TYPE_CHECKING

from keyframer.inspecting import table_names
from keyframer.operations import READING, Operation, WorkFile, reading_options
from keyframer.text import did_you_mean

if TYPE_CHECKING:
    from keyframer.checking import Report
    from keyframer.exchange.opening import OpenedFile
    from keyframer.formats.kit.summary_tables import Table
    from keyframer.inspecting.document_tables import Summary
    from keyframer.textures import TextureFinder


class Info(Operation):
    name = "info"
    help = "write the summary and the tables of every file as JSON"
    loads = (*READING, "keyframer.inspecting.document_tables")
    ending = ".info.json"
    finds_images = True
    plain = ("table", "encoding")

    def add_own_options(self, parser: argparse.ArgumentParser, *, in_batch: bool) -> None:
        parser.add_argument(
            "--table",
            action="extend",
            type=_table_names,
            metavar="NAME",
            help="show only this table (may be repeated; several names can be separated by commas): "
            f"{', '.join(table_names())}",
        )
        parser.add_argument(
            "--encoding",
            metavar="NAME",
            type=_known_encoding,
            help="code page of the names in the file, such as cp437 (default: UTF-8 if valid, else cp1252)",
        )
        reading_options.add_format_options(parser)

    def perform(self, file: WorkFile) -> None:
        """Write the summary and the tables of a file."""
        from keyframer.inspecting import document_tables
        from keyframer.inspecting.listing import json_file

        encoding, wanted = file.values.get("encoding"), file.values.get("table")
        summary, tables, checked = summarise(file.opened, encoding, file.finder())
        file.note_issues(checked.issues)
        file.details = {"verdict": checked.verdict}
        shown = [table for table in tables if not wanted or table.name in wanted]
        record = document_tables.info_record(file.name, summary, shown, encoding)
        file.write(json_file(document_tables.SCHEMA, document_tables.SCHEMA_VERSION, record))


def summarise(
    opened: OpenedFile, encoding: str | None, finder: TextureFinder | None
) -> tuple[Summary, list[Table], Report]:
    """Return the summary of a file, all its tables, and the report of its check."""
    from keyframer.checking import check_opened
    from keyframer.inspecting import document_tables

    document_tables.use_encoding(opened, encoding)
    checked = check_opened(opened)
    tables = [*document_tables.file_tables(opened, checked.verdict, checked.issues, finder)]
    return document_tables.summary_of(opened, tables, checked.verdict, checked.issues), tables, checked


def _table_names(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    known = table_names()
    for name in names:
        if name not in known:
            near = did_you_mean(name, known) or f" (known: {', '.join(known)})"
            raise ArgumentTypeError(f"unknown table {name!r}{near}")
    return names


def _known_encoding(name: str) -> str:
    try:
        codecs.lookup(name)
        b"".decode(name)
    except (LookupError, ValueError):
        raise ArgumentTypeError(f"unknown code page {name!r}") from None
    return name
