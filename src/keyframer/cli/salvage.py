"""``keyframer salvage``: make a clean file of a damaged one, and a map of its bytes."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator

from keyframer.batch.output_names import key_of
from keyframer.cli import inputs, outputs, scene_loading
from keyframer.cli.each_input import EachInput
from keyframer.cli.inputs import Input
from keyframer.cli.messages import detail, note
from keyframer.cli.outputs import STDOUT
from keyframer.errors import FormatError
from keyframer.exchange.opening import OpenedFile
from keyframer.formats import FORMATS
from keyframer.formats.kit.scene_reading import UniqueNames
from keyframer.limits import DEFAULT_LIMITS, open_or_new_budget
from keyframer.operations import reading_options
from keyframer.salvaging import Salvaged, carve, salvage_opened
from keyframer.salvaging.byte_map import DROPPED, STATES, byte_counts, map_page, map_record, missing_text
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
- writes one of them to stdout. If a map cannot be written, nothing is.

--carve searches disk images, programs and other files for files inside, of all
formats that begin with a signature, and writes each of them to a folder: the
name of the input, a number if an earlier input has this name, and the offset.

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
    outputs.add_arguments(parser, required=True, suffix=".clean" + FORMATS[0].extensions[0])
    parser.add_argument("--map", metavar="MAP.json", help="write the map of the bytes as JSON")
    parser.add_argument("--page", metavar="MAP.html", help="write the map of the bytes as a page")


def run(options: argparse.Namespace) -> int:
    inputs.require_input(options)
    if options.carve:
        outputs.refuse_file_as_folder(options, "--carve needs a folder")
        if options.map or options.page:
            options.parser.error("--carve writes no map: run salvage on what it finds")
        return _carve_all(options)
    for name in ("map", "page"):
        given: str | None = getattr(options, name)
        if given and inputs.names_several_inputs(options) and not given.startswith("."):
            options.parser.error(f"--{name}: several inputs need a suffix such as .{name}.{_EXTENSIONS[name]}")
    if [options.output, options.map, options.page].count(STDOUT) > 1:
        options.parser.error("stdout takes only one of the clean file, the map and the page")
    out = outputs.Output(options, lambda name: name)
    for item in (each := EachInput(options)):
        with each.guarded(item):
            path = out.path_for(item)
            maps = {name: _map_path(given, path) for name in _EXTENSIONS if (given := getattr(options, name))}
            _check_apart([path or STDOUT, *maps.values()], options)
            salvaged = salvage_opened(scene_loading.open_input(item, options))
            _write(out, path, salvaged.data)
            for name, map_path in maps.items():
                _write(out, None if map_path == STDOUT else map_path, _MAPS[name](item.name, salvaged))
            _report(options, item, salvaged)
            if salvaged.changed:
                each.find()
    return each.code


_EXTENSIONS = {"map": "json", "page": "html"}


def _check_apart(paths: list[str], options: argparse.Namespace) -> None:
    """Raise `FormatError` if one of the outputs of an input may not be written, or two are the same file: a clean file
    without its map is half a result."""
    taken: set[str] = set()
    for path in paths:
        if path == STDOUT:
            continue
        key = key_of(os.path.abspath(path))
        if key in taken:
            raise outputs.refused(f"{path} cannot be the clean file and a map, or two maps")
        taken.add(key)
        outputs.check_file(path, force=options.force)


def _write(out: outputs.Output, path: str | None, data: bytes) -> None:
    if path is None:
        sys.stdout.buffer.write(data)
    else:
        out.write(path, data)


def _json(name: str, salvaged: Salvaged) -> bytes:
    record = map_record(name, salvaged.format.name, salvaged.size, len(salvaged.data), salvaged.spans, salvaged.missing)
    return (json.dumps(record, indent=1) + "\n").encode()


def _page(name: str, salvaged: Salvaged) -> bytes:
    sizes = salvaged.size, len(salvaged.data)
    return map_page(name, salvaged.format.title, *sizes, salvaged.spans, salvaged.missing).encode()


_MAPS = {"map": _json, "page": _page}


def _map_path(given: str, path: str | None) -> str:
    """Return the path of a map: as given, or a suffix of the output without its extension."""
    if path is None or not given.startswith(".") or os.sep in given:
        return given
    return os.path.splitext(path)[0] + given


def _report(options: argparse.Namespace, item: Input, salvaged: Salvaged) -> None:
    """Say how much of a file was kept, and why the rest was not."""
    if salvaged.missing is not None:
        note(options, f"{item.name}: {missing_text(salvaged.size, salvaged.missing)}")
    if not salvaged.changed:
        detail(options, f"{item.name}: no damage in its structure")
        _report_doubtful(options, item, salvaged)
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
    _report_doubtful(options, item, salvaged)


def _report_doubtful(options: argparse.Namespace, item: Input, salvaged: Salvaged) -> None:
    for issue in salvaged.doubtful[:_SHOWN]:
        note(options, f"{item.name}: in the clean file: {issue}")


def _carve_all(options: argparse.Namespace) -> int:
    """Write the files that are found inside the inputs to the output folder."""
    options.output = os.path.join(options.output, "")
    options.all_files = True
    out = outputs.Output(options, lambda name: name)
    stems = UniqueNames()
    for item in (each := EachInput(options)):
        found = 0
        stem = os.path.splitext(out.unchecked_path(item) or "")[0]
        key = key_of(os.path.abspath(stem))
        stem += stems.claim(key).removeprefix(key)  # of inputs whose names differ only in folder or extension
        with each.guarded(item):
            for offset, salvaged in _carved(item):
                path = f"{stem}-{offset:#x}{salvaged.format.extension_of(salvaged.data)}"
                found += 1
                try:
                    out.write(path, salvaged.data)
                except FormatError as error:  # the others can still be written
                    each.fail(item, error)
                    continue
                note(options, f"{item.name}: {path} ({counted(len(salvaged.data), 'byte')})")
            note(options, f"{item.name}: {counted(found, 'file')} found")
    return each.code


def _carved(item: Input) -> Iterator[tuple[int, Salvaged]]:
    """Yield the clean files inside an input, and their offsets."""
    limits = open_or_new_budget(DEFAULT_LIMITS, 0).limits
    for piece in carve(item.read(), limits):
        try:
            yield piece.offset, salvage_opened(OpenedFile(piece.data, format=piece.format.name, limits=limits))
        except FormatError:  # nothing of it can be kept
            continue
