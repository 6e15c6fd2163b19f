"""``keyframer batch duplicates``: shows the groups of files that are there twice."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from itertools import chain

from keyframer.batch.duplicates import IDENTICAL, NEAR, Group, identical_files, near_files
from keyframer.batch.file_catalogue import Catalogue
from keyframer.cli.exit_handling import SUCCESS
from keyframer.cli.messages import note, shown_name
from keyframer.inspecting.listing import Listing
from keyframer.text import counted, safe_text

SCHEMA = "keyframer.duplicates"
SCHEMA_VERSION = 1
COLUMNS = ("group", "kind", "file", "difference")


def show(catalogue: Catalogue, options: argparse.Namespace) -> int:
    """Print the duplicates of a catalogue; returns the exit code."""
    listing = Listing(sys.stdout.write, options.format, SCHEMA, SCHEMA_VERSION, COLUMNS, key="groups")
    counts, files = Counter[str](), Counter[str]()
    for number, group in enumerate(chain(identical_files(catalogue), near_files(catalogue)), 1):
        counts[group.kind] += 1
        files[group.kind] += len(group.paths)
        if options.format == "pretty":
            sys.stdout.write(_pretty(group))
        paths = [safe_text(path) for path in group.paths]
        listing.json({"kind": group.kind, "files": paths, "difference": safe_text(group.difference)})
        for path in group.paths:
            listing.row([number, group.kind, path, group.difference])
    listing.close()
    spare = counted(files[IDENTICAL] - counts[IDENTICAL], "file")
    note(options, f"identical: {counted(counts[IDENTICAL], 'group')} with the same bytes: {spare} more than needed")
    alike = counted(files[NEAR], "file")
    note(options, f"near: {counted(counts[NEAR], 'group')} with the same meshes and motion, but other bytes: {alike}")
    return SUCCESS


def _pretty(group: Group) -> str:
    files = "".join(f"  {shown_name(path)}\n" for path in group.paths)
    return f"{group.kind}; differs: {safe_text(group.difference)}\n{files}"
