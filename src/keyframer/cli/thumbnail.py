"""``keyframer thumbnail``: render a picture, a contact sheet or the playback of a scene."""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import suppress

from keyframer.batch.operations import OPERATIONS
from keyframer.cli import inputs, operation_options, outputs, reading_options, scene_loading, texture_search
from keyframer.cli.inputs import Input
from keyframer.cli.messages import note
from keyframer.errors import FormatError
from keyframer.rendering import Renderer
from keyframer.rendering.encoding import kind_of
from keyframer.rendering.renderer import picture_options

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

EXAMPLES = (
    "keyframer thumbnail scene.3ds -o scene.png",
    "keyframer thumbnail scene.3ds --sheet 4x3 -o sheet.png",
    "keyframer thumbnail scene.3ds -o scene.gif",
    "keyframer thumbnail scene.3ds --size 640x480 -o scene.mp4",
    "keyframer thumbnail -r models/ --size 128 -o pictures/",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    inputs.add_arguments(parser)
    operation_options.add_options(parser, "thumbnail")
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
        values = operation_options.values_of(options, "thumbnail")
    except ValueError as error:
        options.parser.error(str(error))
    settings, presentation = picture_options(values)
    out = outputs.Output(options, OPERATIONS["thumbnail"].naming(values))
    if options.force and several:
        _register_images(options, out)
    items = inputs.inputs_of(options, inputs.LOADABLE)
    failures = (*reading_options.LOAD_FAILURES, LookupError)

    def render(item: Input) -> bytes:
        with reading_options.budget_for(options, item):
            scene = scene_loading.load_scene(item, options)
            source = texture_search.source_for(item, options)
            renderer = Renderer(scene, settings, textures=source)
            texture_search.report(item, source, options)
            data = presentation.data(renderer)
        if not renderer.complete:
            note(options, f"{item.name}: some faces are not drawn: drawing all of them would take too long")
        return data

    return outputs.write_each(options, out, items, render, "picture", failures)


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
        with suppress(*reading_options.LOAD_FAILURES, LookupError, MemoryError):  # reported when its picture is made
            scene = scene_loading.load_scene(item, quiet_options)
            texture_search.note_inputs(item, scene, options)


def _check_kind(options: argparse.Namespace) -> None:
    """Set ``--to`` to the kind of picture that the extension of OUT means; raises ValueError if they differ."""
    kind = kind_of(options.output) if outputs.has_output_extension(options) else None
    if kind is not None and options.to not in (None, kind):
        raise ValueError(f"{options.output} is the name of a {kind} picture, but --to is {options.to}")
    options.to = options.to or kind
