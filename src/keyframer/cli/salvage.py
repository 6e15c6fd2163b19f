"""``keyframer salvage``: make a clean file of a damaged one, and a map of its bytes."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator

from keyframer.cli import inputs, output_targets, reading_options, scene_loading
from keyframer.cli.exit_handling import FINDINGS, INPUTS_FAILED, SUCCESS
from keyframer.cli.inputs import Input
from keyframer.cli.messages import detail, failure, note
from keyframer.errors import FormatError
from keyframer.exchange.opening import OpenedFile
from keyframer.formats import FORMATS
from keyframer.limits import DEFAULT_LIMITS, open_or_new_budget
from keyframer.salvaging import Salvaged, carve, salvage_opened
from keyframer.salvaging.byte_map import DROPPED, STATES, byte_counts, map_page, map_record
from keyframer.text import counted

ABOUT = """Make a clean file of a damaged one, and a map of its bytes.

The clean file has the same format and can be loaded. It has every whole record
that can be found, also behind the damage. Values are never invented: only
lengths, counts and links are repaired, so that they fit what is kept. A value
without a meaning stays, and keyframer check still reports it with a DATA_ code.
A file without damage stays as it is. The source is never changed. A file of
which nothing is left that shows anything is refused.

--map writes what became of every byte of the source, as JSON: kept, moved,
repaired, unknown (kept, but not understood) or dropped, with the code of the
issue, its reason and the record. --page writes it as a page for the browser.
For several inputs both are suffixes such as .map.json, next to each output.

--carve searches disk images, programs and other files for files inside, of all
formats that begin with a signature, and writes each of them to a folder.

The exit code is 1 if a clean file differs from its source."""

EXAMPLES = (
    "keyframer salvage damaged.3ds -o clean.3ds --map map.json --page map.html",
    "keyframer salvage -r archive/ -o clean/ --map .map.json",
    "keyframer salvage --carve disk.img -o found/",
)

_SHOWN = 3
"""maximum number of causes that are listed for each file"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    inputs.add_arguments(parser)
    reading_options.add_arguments(parser)
    parser.add_argument("--carve", action="store_true", help="search for files inside the inputs; OUT is a folder")
    output_targets.add_arguments(parser, required=True, suffix=".clean" + FORMATS[0].extensions[0])
    parser.add_argument("--map", metavar="MAP.json", help="write the map of the bytes as JSON")
    parser.add_argument("--page", metavar="MAP.html", help="write the map of the bytes as a page")


def run(options: argparse.Namespace) -> int:
    inputs.require_input(options)
    if options.carve:
        output_targets.refuse_file_as_folder(options, "--carve needs a folder")
        if options.map or options.page:
            options.parser.error("--carve writes no map: run salvage on what it finds")
        return _carve_all(options)
    for name in ("map", "page"):
        given: str | None = getattr(options, name)
        if given and inputs.names_several_inputs(options) and not given.startswith("."):
            options.parser.error(f"--{name}: several inputs need a suffix such as .{name}.{_EXTENSIONS[name]}")
    target = output_targets.Targets(options, lambda name: name)
    code = SUCCESS
    for number, item in enumerate(inputs.inputs_of(options)):
        try:
            path = target.path_for(item)
            if number and path is None:
                raise output_targets.refused("stdout takes only one file (-o with a folder or a suffix writes several)")
            with reading_options.budget_for(options, item):
                salvaged = salvage_opened(scene_loading.open_input(item, options))
            _write_maps(options, target, item.name, path, salvaged)
            if path is None:
                sys.stdout.buffer.write(salvaged.data)
            else:
                target.write(path, salvaged.data)
            _report(options, item, salvaged)
            if salvaged.changed and code == SUCCESS:
                code = FINDINGS
        except reading_options.READ_FAILURES as error:
            code = INPUTS_FAILED
            failure(item.name, error)
    return code


_EXTENSIONS = {"map": "json", "page": "html"}


def _write_maps(
    options: argparse.Namespace, target: output_targets.Targets, name: str, path: str | None, salvaged: Salvaged
) -> None:
    """Write the map as JSON and as a page, if they are wanted."""
    sizes = (salvaged.size, len(salvaged.data), salvaged.spans)
    if options.map:
        text = json.dumps(map_record(name, salvaged.format.name, *sizes), indent=1)
        target.write(_map_path(options.map, path), text.encode())
    if options.page:
        target.write(_map_path(options.page, path), map_page(name, salvaged.format.title, *sizes).encode())


def _map_path(given: str, path: str | None) -> str:
    """Return the path of a map: as given, or a suffix of the output without its extension."""
    if path is None or not given.startswith(".") or os.sep in given:
        return given
    return os.path.splitext(path)[0] + given


def _report(options: argparse.Namespace, item: Input, salvaged: Salvaged) -> None:
    """Say how much of a file was kept, and why the rest was not."""
    if not salvaged.changed:
        detail(options, f"{item.name}: no damage")
        return
    counts = byte_counts(salvaged.spans)
    listed = ", ".join(f"{counts[state]:,} {state}" for state in STATES if counts[state])
    note(options, f"{item.name}: {counted(salvaged.size, 'byte')}: {listed}")
    dropped = [span for span in salvaged.spans if span.state == DROPPED]
    for span in dropped[:_SHOWN]:
        cause = f"{span.code}: {span.reason}" if span.code else span.reason
        note(options, f"{item.name}: dropped {counted(span.end - span.start, 'byte')} at {span.start:#x}: {cause}")
    if len(dropped) > _SHOWN:
        note(options, f"{item.name}: dropped {counted(len(dropped) - _SHOWN, 'more span')} (--map lists all)")


def _carve_all(options: argparse.Namespace) -> int:
    """Write the files that are found inside the inputs to the output folder."""
    options.output = os.path.join(options.output, "")
    options.all_files = True
    target = output_targets.Targets(options, lambda name: name)
    code = SUCCESS
    for item in inputs.inputs_of(options):
        found = 0
        try:
            with reading_options.budget_for(options, item):
                for salvaged, path in _carved(item, target):
                    output_targets.check_file(path, force=options.force)
                    target.write(path, salvaged.data)
                    note(options, f"{item.name}: {path} ({counted(len(salvaged.data), 'byte')})")
                    found += 1
            note(options, f"{item.name}: {counted(found, 'file')} found")
        except reading_options.READ_FAILURES as error:
            code = INPUTS_FAILED
            failure(item.name, error)
    return code


def _carved(item: Input, target: output_targets.Targets) -> Iterator[tuple[Salvaged, str]]:
    """Yield the clean files inside an input, and their paths: the name of the input and the offset."""
    path = target.unchecked_path(item) or ""
    limits = open_or_new_budget(DEFAULT_LIMITS, 0).limits
    for piece in carve(item.read(), limits):
        try:
            salvaged = salvage_opened(OpenedFile(piece.data, format=piece.format.name, limits=limits))
        except FormatError:  # nothing of it can be kept
            continue
        extension = salvaged.format.extension_of(salvaged.data)
        yield salvaged, f"{os.path.splitext(path)[0]}-{piece.offset:#x}{extension}"
