"""``keyframer build``: make a file from the text that ``keyframer dump`` writes."""

from __future__ import annotations

import argparse
import os
import sys

from keyframer.cli import inputs, outputs
from keyframer.cli.each_input import EachInput
from keyframer.cli.messages import detail
from keyframer.formats import FORMATS
from keyframer.inspecting.text_build import build_bytes
from keyframer.text import counted

ABOUT = """Make a file from the text that keyframer dump writes.

Unchanged text gives the same bytes. Lengths and counts are recomputed where
something changed; everything else is written as in the text. An error in the
text is reported with its line and the path of the value."""

EXAMPLES = (
    "keyframer build scene.json -o scene.3ds",
    "keyframer dump a.3ds | sed 's/OLD.TGA/NEW.TGA/' | keyframer build - -o b.3ds",
    "keyframer build -r text/ -o models/",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    inputs.add_arguments(parser)
    outputs.add_arguments(parser, required=True, suffix=FORMATS[0].extensions[0])


def run(options: argparse.Namespace) -> int:
    inputs.require_input(options)
    out = outputs.Output(options, _built_name)
    for item in (each := EachInput(options, (".json",))):
        with each.guarded(item):
            path = out.path_for(item)
            document, data = build_bytes(item.read())
            if path is None:
                sys.stdout.buffer.write(data)
            else:
                if out.is_folder and not os.path.splitext(path)[1]:
                    path += document.format.extensions[0]
                out.write(path, data)
                detail(options, f"{item.name} -> {path} ({counted(len(data), 'byte')})")
    return each.code


def _built_name(name: str) -> str:
    """Return ``scene.3ds`` for ``scene.3ds.json``."""
    stem, extension = os.path.splitext(name)
    return stem if extension.lower() == ".json" else name
