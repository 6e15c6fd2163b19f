"""Loading one input as a scene, and the arguments of every command that does so."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from keyframer.cli import clip_option, operation_options, reading_options, salvage_messages
from keyframer.cli.inputs import Input
from keyframer.errors import FormatError
from keyframer.exchange.opening import OpenedFile
from keyframer.formats import FORMATS

if TYPE_CHECKING:
    from keyframer.scene import Scene

READ_FAILURES = reading_options.READ_FAILURES
LOAD_FAILURES = (*READ_FAILURES, ValueError)
"""what loading an input may raise; ValueError is an option that its format does not have"""


COMPANIONS = {companion.option: companion for known in reversed(FORMATS) for companion in known.companions}
"""by the names of their options; the formats of other packages stand back where two have the same"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    reading_options.add_arguments(parser)
    scenes = parser.add_argument_group("meaning")
    parser.set_defaults(salvaged=False)
    scenes.add_argument("--salvage", action="store_true", help="leave out what is unsafe instead of refusing the file")
    for option, companion in COMPANIONS.items():
        words = companion.words.replace("%", "%%")
        scenes.add_argument(f"--{option}", dest=f"companion_{option}", metavar="FILE", help=words)
    scenes.add_argument(
        "--fps", type=operation_options.rate, metavar="N", help="frames per second, for formats that store none"
    )
    scenes.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an option of the format, such as geometry=raw (see docs/formats)",
    )


def options_of(options: argparse.Namespace) -> dict[str, object]:
    """The options of the bridge, from the command line."""
    found = pairs_of(options.set, "--set")
    given = {name: getattr(options, f"companion_{name}", None) for name in COMPANIONS}
    found |= {name: value for name, value in {**given, "fps": options.fps}.items() if value is not None}
    return found


def pairs_of(given: list[str], argument: str) -> dict[str, object]:
    """NAME=VALUE pairs; ValueError where one is none."""
    found: dict[str, object] = {}
    for pair in given:
        name, mark, value = pair.partition("=")
        if not mark:
            raise ValueError(f"{argument} wants NAME=VALUE, not {pair!r}")
        found[name.replace("-", "_")] = value
    return found


def open_input(item: Input, options: argparse.Namespace) -> OpenedFile:
    """An input, opened with all options of the command line."""
    return reading_options.open_input(item, options, options_of(options))


def load_scene(item: Input, options: argparse.Namespace) -> Scene:
    """The scene of an input."""
    return scene_of_opened(item, open_input(item, options), options)


def scene_of_opened(item: Input, opened: OpenedFile, options: argparse.Namespace) -> Scene:
    """The scene of an input that was opened."""
    try:
        scene = opened.scene(salvage=options.salvage)
    except FormatError as error:
        if not options.salvage:
            salvage_messages.add_hint(error, opened)
        raise
    salvage_messages.tell(item, scene, options)
    clip_option.choose(item, scene, options)
    return scene
