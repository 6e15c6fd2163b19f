"""``keyframer dump``: write the whole file as text."""

from __future__ import annotations

import argparse
from collections.abc import Iterable

from keyframer.cli import inputs, outputs, scene_loading
from keyframer.cli.each_input import EachInput
from keyframer.cli.inputs import Input
from keyframer.inspecting.text_dump import dump_parts
from keyframer.operations import reading_options

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
    outputs.add_arguments(parser, required=False, suffix=".json")


def run(options: argparse.Namespace) -> int:
    inputs.require_input(options)
    if options.output is None and inputs.names_several_inputs(options):
        options.parser.error("several files need -o: a folder, or a suffix such as .json")
    out = outputs.Output(options, lambda name: f"{name}.json")

    def dump(item: Input) -> Iterable[str]:
        return dump_parts(scene_loading.open_input(item, options).document, offsets=not options.no_offsets)

    return outputs.write_each(options, out, EachInput(options), dump)
