"""The operations of batches, and those that only batches have: galleries and the rows of catalogues."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable
from importlib.machinery import PathFinder
from typing import TYPE_CHECKING, Any

from keyframer.operations import READING, Operation, WorkFile
from keyframer.operations.check import Check
from keyframer.operations.convert import SAVING, Convert
from keyframer.operations.identify import Identify
from keyframer.operations.info import Info
from keyframer.operations.thumbnail import RENDERING, Thumbnail

if TYPE_CHECKING:
    from keyframer.batch.base_run import InputFile
    from keyframer.batch.ledger import Ledger


class Gallery(Operation):
    name = "gallery"
    help = "make web pages that show, filter and play all files"
    loads = (*READING, *RENDERING, *SAVING, "keyframer.batch.gallery_page")
    ending = "/index.html"
    plain = ("quick",)
    needs = "PIL"
    finds_images = shows_pictures = True

    def add_own_options(self, parser: argparse.ArgumentParser, *, in_batch: bool) -> None:
        parser.add_argument(
            "--quick",
            action="store_true",
            help="only pictures, facts and the index; the same command without --quick adds GLB, viewer and curves",
        )

    def own_values(self, options: argparse.Namespace) -> dict[str, Any]:
        """Return nothing; raises ValueError if the viewer is missing."""
        from keyframer.viewer.standalone_page import Assets, PageMissing  # loads numpy

        try:
            Assets()
        except PageMissing as missing:
            raise ValueError(str(missing)) from None
        return {}

    def perform(self, file: WorkFile) -> None:
        """Write the folder of a file in a gallery; a file that cannot be read has one, too."""
        from keyframer.batch import storage
        from keyframer.batch.gallery_page import make_folder

        folder = os.path.dirname(file.output)
        below = folder.removeprefix(file.out or folder).replace(os.sep, "/").strip("/")
        date = storage.modified(file.name, file.occurrence)
        is_quick = bool(file.values.get("quick"))
        files, details, issues = make_folder(
            file.opened, file.opened.sha256, file.finder(), below, date, is_quick=is_quick
        )
        for name, data in files.items():
            file.write(data, os.path.join(folder, name))
        file.note_issues(issues)
        file.details = details

    def inputs_of(self, inputs: Iterable[InputFile], out: str) -> Iterable[InputFile]:
        from keyframer.batch import gallery_index

        return gallery_index.inputs_of(inputs, out)

    def before(self, out: str, ledger: Ledger, *, force: bool) -> None:
        from keyframer.batch import gallery_index

        gallery_index.check(out, ledger, force=force)

    def after(self, out: str, ledger: Ledger, sources: Iterable[str]) -> tuple[str, int]:
        from keyframer.batch import gallery_index

        return gallery_index.write(out, ledger, sources)

    def index(self, out: str) -> Iterable[str]:
        from keyframer.batch import gallery_index

        return gallery_index.files_of(out)


class CatalogueRows(Operation):
    name = "catalogue"
    help = "list the content of every file in one SQLite database"
    loads = (*READING, "keyframer.batch.catalogue_rows", "keyframer.textures")
    finds_images = True

    def perform(self, file: WorkFile) -> None:
        """Return the rows of a file in a catalogue; a file that cannot be read has rows, too. Nothing is written."""
        from keyframer.batch import storage
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
