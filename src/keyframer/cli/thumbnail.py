"""``keyframer thumbnail``: render a picture, a contact sheet or the playback of a scene."""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import suppress

from keyframer.cli import inputs, outputs, scene_loading, texture_search
from keyframer.cli.command_file import CommandFile
from keyframer.cli.each_input import LOAD_FAILURES, EachInput
from keyframer.cli.inputs import Input
from keyframer.errors import FormatError
from keyframer.operations.thumbnail import Thumbnail
from keyframer.rendering.encoding import kind_of

ABOUT = """Render a picture, a contact sheet or the playback, without a GPU.

The extension of OUT, or --to, decides what is written: .png or .jpg for a
picture or a sheet, .gif, .apng, .webp or .mp4 for the playback (.mp4 needs the
program ffmpeg).

The first camera of the file that shows something is used, else a camera is
placed so that everything is visible. The lights of the file are used; the
picture is brightened or darkened if needed. Images are searched for only in the
folder of the file and in those of --texture-path. A skeleton without a mesh is
drawn as bones. Faces of one-sided materials are visible from the front only;
--two-sided shows their backs, too. The same file gives the same bytes with the
same versions of numpy and Pillow."""

THUMBNAIL = Thumbnail()
EXAMPLES = (
    "keyframer thumbnail scene.3ds -o scene.png",
    "keyframer thumbnail scene.3ds --sheet 4x3 -o sheet.png",
    "keyframer thumbnail scene.3ds -o scene.gif",
    "keyframer thumbnail scene.3ds --size 640x480 -o scene.mp4",
    "keyframer thumbnail -r models/ --size 128 -o pictures/",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    inputs.add_arguments(parser)
    THUMBNAIL.add_options(parser)
    outputs.add_arguments(parser, required=False, suffix=".png")


def run(options: argparse.Namespace) -> int:
    inputs.require_input(options)
    several = inputs.names_several_inputs(options)
    if several and options.output is None:
        options.parser.error("several files need -o: a folder, or a suffix such as .png")
    if options.output is None and sys.stdout.isatty():
        options.parser.error("a picture cannot be shown as text: give a file with -o")
    try:
        _check_kind(options)
        values = THUMBNAIL.values_of(options)
    except ValueError as error:
        options.parser.error(str(error))
    out = outputs.Output(options, lambda name: name + THUMBNAIL.suffix(values), "picture")
    if options.force and several:
        _register_images(options, out)
    for item in (each := EachInput(options, inputs.LOADABLE, (*LOAD_FAILURES, LookupError))):
        with each.guarded(item):
            THUMBNAIL.perform(CommandFile(item, options, values, out))
    return each.code


def _register_images(options: argparse.Namespace, out: outputs.Output) -> None:
    """Register the images of all inputs if pictures replace existing files: no picture may replace an image of a later
    input."""

    def replaces(item: Input) -> bool:
        with suppress(FormatError):
            return os.path.lexists(out.unchecked_path(item) or "")
        return False

    if not any(replaces(item) for item in inputs.inputs_of(options, inputs.LOADABLE)):
        return
    quiet_options = type(options)(**{**vars(options), "quiet": True, "salvage": True})
    for item in inputs.inputs_of(options, inputs.LOADABLE):
        if isinstance(item, inputs.FileInput) and not os.path.isfile(item.name):
            continue  # a pipe can be read only once
        with suppress(*LOAD_FAILURES, LookupError, MemoryError):  # reported when its picture is made
            scene = scene_loading.load_scene(item, quiet_options)
            texture_search.note_inputs(item, scene, options)


def _check_kind(options: argparse.Namespace) -> None:
    """Set ``--to`` to the kind of picture that the extension of OUT means; raises ValueError if they differ."""
    kind = kind_of(options.output) if outputs.has_output_extension(options) else None
    if kind is not None and options.to not in (None, kind):
        raise ValueError(f"{options.output} is the name of a {kind} picture, but --to is {options.to}")
    options.to = options.to or kind
