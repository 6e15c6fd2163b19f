"""The operations of batches; and the rows of catalogues, which only batches make."""

from __future__ import annotations

import argparse
from importlib.machinery import PathFinder

from keyframer.batch import storage
from keyframer.batch.gallery_index import Gallery
from keyframer.operations import READING, Operation, WorkFile, reading_options
from keyframer.operations.check import Check
from keyframer.operations.convert import Convert
from keyframer.operations.identify import Identify
from keyframer.operations.info import Info
from keyframer.operations.thumbnail import Thumbnail


class CatalogueRows(Operation):
    name = "catalogue"
    help = "list the content of every file in one SQLite database"
    loads = (*READING, "keyframer.batch.catalogue_rows", "keyframer.textures")

    def add_options(self, parser: argparse.ArgumentParser, *, in_batch: bool = False) -> None:
        reading_options.add_arguments(parser)
        reading_options.add_textures(parser)

    def perform(self, file: WorkFile) -> None:
        """Return the rows of a file in a catalogue; a file that cannot be read has rows, too. Nothing is written."""
        from keyframer.batch.catalogue_rows import file_rows
        from keyframer.batch.file_catalogue import path_text

        rows, issues = file_rows(file.opened, file.finder())
        container = storage.file_on_disk(file.name)
        rows["file"]["container"] = None if container == file.name else path_text(container)
        rows["file"]["modified"] = storage.modified(file.name, file.occurrence) or None
        file.note_issues(issues)
        file.details = {"rows": rows}


CATALOGUE = CatalogueRows()
ALL = {operation.name: operation for operation in (Convert(), Check(), Info(), Identify(), Thumbnail(), Gallery())}
"""the operations that write a file for each input, available here or not: a ledger may come from another machine"""
OPERATIONS = {name: operation for name, operation in ALL.items() if PathFinder.find_spec(operation.needs) is not None}
"""those that are available; pictures need Pillow"""
