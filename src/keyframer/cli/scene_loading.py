"""Loading one input as a scene, and the arguments of all commands that do so."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from keyframer.cli import operation_options, reading_options
from keyframer.cli.inputs import Input
from keyframer.cli.messages import note
from keyframer.errors import FormatError
from keyframer.exchange.opening import OpenedFile
from keyframer.formats import FORMATS
from keyframer.text import counted

if TYPE_CHECKING:
    from keyframer.scene import Scene

READ_FAILURES = reading_options.READ_FAILURES
LOAD_FAILURES = (*READ_FAILURES, ValueError)
"""exceptions of loading an input; ValueError for an option that its format does not have"""


COMPANIONS = {companion.option: companion for known in reversed(FORMATS) for companion in known.companions}
"""by the names of their options; our formats have priority over those of other packages"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    reading_options.add_arguments(parser)
    scenes = parser.add_argument_group("scene")
    parser.set_defaults(salvaged=False)
    scenes.add_argument(
        "--salvage", action="store_true", help="leave out the unsafe parts of a damaged file instead of refusing it"
    )
    for option, companion in COMPANIONS.items():
        description = companion.description.replace("%", "%%")
        scenes.add_argument(f"--{option}", dest=f"companion_{option}", metavar="FILE", help=description)
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
    """Return the options of the bridge."""
    bridge_options = pairs_of(options.set, "--set")
    given = {name: getattr(options, f"companion_{name}", None) for name in COMPANIONS}
    bridge_options |= {name: value for name, value in {**given, "fps": options.fps}.items() if value is not None}
    return bridge_options


def pairs_of(given: list[str], argument: str) -> dict[str, object]:
    """Parse NAME=VALUE pairs; raises ValueError for anything else."""
    pairs: dict[str, object] = {}
    for pair in given:
        name, mark, value = pair.partition("=")
        if not mark:
            raise ValueError(f"{argument} needs NAME=VALUE, not {pair!r}")
        pairs[name.replace("-", "_")] = value
    return pairs


def open_input(item: Input, options: argparse.Namespace) -> OpenedFile:
    """Open an input with all options of the command line."""
    return reading_options.open_input(item, options, options_of(options))


def load_scene(item: Input, options: argparse.Namespace) -> Scene:
    """Load the scene of an input."""
    return scene_of_opened(item, open_input(item, options), options)


def scene_of_opened(item: Input, opened: OpenedFile, options: argparse.Namespace) -> Scene:
    """Load the scene of an opened input."""
    try:
        scene = opened.scene(salvage=options.salvage)
    except FormatError as error:
        if not options.salvage:
            add_hint(error, opened)
        raise
    report_left_out(item, scene, options)
    choose_clip(item, scene, options)
    return scene


_SHOWN = 5


def add_hint(error: FormatError, opened: OpenedFile) -> None:
    """Add to a failure what ``--salvage`` would recover, if anything."""
    try:
        content = content_of(opened.scene(salvage=True))
    except (FormatError, ValueError):
        return
    if content:
        error.add_note(f"--salvage recovers {content}")


def content_of(scene: Scene) -> str:
    """Return the content of a scene in words: ``3 nodes, 1 mesh``."""
    keys = sum(len(channel.track.times) for clip in scene.clips for channel in clip.channels)
    counts = {
        "node": len(scene.nodes),
        "mesh": len(scene.meshes),
        "material": len(scene.materials),
        "key": keys + sum(len(raw.values) for clip in scene.clips for raw in clip.raw_channels),
    }
    return ", ".join(counted(count, noun) for noun, count in counts.items() if count)


def report_left_out(item: Input, scene: Scene, options: argparse.Namespace) -> None:
    """Report the parts that were left out; the command will then exit with code 1."""
    counts = scene.issues.unsafe_counts()
    if not counts:
        return
    options.salvaged = True
    unsafe = [issue for issue in scene.issues if issue.unsafe]
    for issue in unsafe[:_SHOWN]:
        note(options, f"{item.name}: left out: {issue.code} at {issue.offset:#x} in {issue.path}: {issue.message}")
    more = sum(counts.values()) - len(unsafe[:_SHOWN])
    if more > 0:
        note(options, f"{item.name}: left out: {more} more (keyframer check lists them)")


def choose_clip(item: Input, scene: Scene, options: argparse.Namespace) -> None:
    """Keep only the chosen clip in the scene; raises FormatError if there is none of this name."""
    if not hasattr(options, "clip") or (options.clip is None and len(scene.clips) < 2):
        return
    from keyframer.inspecting.clip_choice import keep_clip, listed_clips

    if options.clip is not None:
        keep_clip(scene, options.clip)
        return
    listed = listed_clips(scene)
    note(options, f"{item.name}: using the first of {len(scene.clips)} clips; --clip chooses: {listed}")
