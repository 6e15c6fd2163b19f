"""``keyframer dump``: write the whole file as text."""

from __future__ import annotations

import argparse
import sys

from keyframer.cli import inputs, output_targets, reading_options
from keyframer.cli.exit_handling import FINE, NOT_ALL_DONE
from keyframer.cli.messages import detail, failure
from keyframer.inspecting.text_dump import dump_parts

ABOUT = """Write the whole file as text (JSON): all records, fields and raw bytes.

keyframer build turns the text back into the same bytes. Offsets are for
information only; --no-offsets leaves them out, so that comparing two texts
shows only real differences."""

EXAMPLES = (
    "keyframer dump scene.3ds | less",
    "keyframer dump scene.3ds -o scene.json",
    "keyframer dump -r models/ -o text/",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    inputs.add_arguments(parser)
    reading_options.add_arguments(parser)
    parser.add_argument("--no-offsets", action="store_true", help="leave out the offsets of the records")
    output_targets.add_arguments(parser, required=False, suffix=".json")


def run(options: argparse.Namespace) -> int:
    if not options.files and options.files_from is None:
        options.parser.error("no input: give a FILE, or - for stdin")
    items = inputs.inputs_of(options)
    many = options.recursive or options.files_from is not None or len(options.files) > 1
    if many and options.output is None:
        options.parser.error("several files need -o: a folder, or a suffix such as .json")
    target = output_targets.Targets(options, many, lambda name: f"{name}.json")
    code = FINE
    for number, item in enumerate(items):
        try:
            if number and target.out is None:
                raise output_targets.refused("stdout takes only one file (-o writes several)")
            path = target.path_for(item)
            parts = dump_parts(reading_options.open_input(item, options).document, offsets=not options.no_offsets)
            if path is None:
                for part in parts:
                    sys.stdout.write(part)
            else:
                target.write(path, (part.encode() for part in parts))
                detail(options, f"{item.name} -> {path}")
        except reading_options.READ_FAILURES as error:
            code = NOT_ALL_DONE
            failure(item.name, error)
    return code
