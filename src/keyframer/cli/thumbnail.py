"""``keyframer thumbnail``: render a picture, a contact sheet or the playback of a scene."""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import suppress

from keyframer.cli import inputs, output_targets, reading_options, scene_loading, shared_arguments, texture_search
from keyframer.cli.inputs import Input
from keyframer.cli.messages import note
from keyframer.errors import FormatError
from keyframer.inspecting.samples import parse_frames
from keyframer.rendering import Renderer, Settings
from keyframer.rendering.encoding import ANIMATED, STILL, check_kind, kind_of
from keyframer.rendering.renderer import NEUTRAL, Presentation

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
    reading_options.add_scene_arguments(parser)
    shared_arguments.add_picture(parser)
    shared_arguments.add_textures(parser)
    output_targets.add_arguments(parser, required=False, suffix=".png")
    parser.add_argument(
        "--to",
        choices=shared_arguments.PICTURE_KINDS,
        help="kind of picture, if the extension of OUT does not determine it",
    )


def run(options: argparse.Namespace) -> int:
    inputs.require_input(options)
    several = inputs.names_several_inputs(options)
    if several and options.output is None:
        options.parser.error("several files need -o: a folder, or a suffix such as .png")
    if options.output is None and sys.stdout.isatty():
        options.parser.error("a picture cannot be shown as text: give a file with -o")
    try:
        request = PictureRequest(options)
        reading_options.bridge_options(options)
    except ValueError as error:
        options.parser.error(str(error))
    target = output_targets.Targets(options, lambda name: f"{name}.{request.kind}")
    if options.force and several:
        _register_images(options, target)
    items = inputs.inputs_of(options, inputs.LOADABLE)
    failures = (*reading_options.LOAD_FAILURES, LookupError)

    def render(item: Input) -> bytes:
        with reading_options.budget_for(options, item):
            return request.render(item)

    return output_targets.write_each(options, target, items, render, "picture", failures)


def _register_images(options: argparse.Namespace, target: output_targets.Targets) -> None:
    """Register the images of all inputs if pictures replace existing files: no picture may replace an image of a later
    input."""

    def replaces(item: Input) -> bool:
        with suppress(FormatError):
            return os.path.lexists(target.unchecked_path(item) or "")
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


class PictureRequest:
    """The requested picture, checked before any file is read; raises ValueError."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.kind = _kind(options)
        sheet = _pair(options.sheet, "--sheet") if options.sheet is not None else None
        if sheet is not None and sheet[0] * sheet[1] > 1_000:
            raise ValueError("--sheet: a sheet has at most 1000 pictures")
        if sheet is not None and self.kind not in STILL:
            raise ValueError("a contact sheet is a still picture: png or jpg")
        if options.pictures is not None and not 1 <= options.pictures <= 1_000:
            raise ValueError("--pictures must be from 1 to 1000")
        if options.pictures is not None and self.kind in STILL:
            raise ValueError(f"--pictures is for a playback, not a still picture (write {', '.join(ANIMATED)})")
        frames = parse_frames(options.frames) if options.frames is not None else None
        if frames is not None and len(frames) > 1_000:
            raise ValueError(f"--frames: {len(frames)} pictures, at most 1000")
        if frames is not None and self.kind in STILL and sheet is None:
            sheet = (min(len(frames), 4), -(-len(frames) // min(len(frames), 4)))
        if options.frame is not None:
            frames = [options.frame]
        shown_frames = None if frames is None else tuple(frames)
        self.presentation = Presentation(self.kind, sheet, shown_frames, options.pictures)
        self.settings: Settings = _settings(options)
        check_kind(self.kind, transparent=self.settings.background is None)

    def render(self, item: Input) -> bytes:
        """Return the bytes of the picture."""
        scene = scene_loading.load_scene(item, self.options)
        source = texture_search.source_for(item, self.options)
        renderer = Renderer(scene, self.settings, textures=source)
        texture_search.report(item, source, self.options)
        data = self.presentation.data(renderer)
        if not renderer.complete:
            note(self.options, f"{item.name}: some faces are not drawn: drawing all of them would take too long")
        return data


def _kind(options: argparse.Namespace) -> str:
    """Return the kind of picture: from ``--to`` or the extension of OUT, which must not differ; else PNG."""
    kind = kind_of(options.output) if output_targets.has_output_extension(options) else None
    if kind is not None and options.to not in (None, kind):
        raise ValueError(f"{options.output} is the name of a {kind} picture, but --to is {options.to}")
    return options.to or kind or "png"


def _settings(options: argparse.Namespace) -> Settings:
    width, height = _pair(options.size, "--size")
    has_angle = options.around is not None or options.above is not None
    if has_angle and options.camera not in ("auto", "fit"):
        raise ValueError("--around and --above are for --camera fit")
    return Settings(
        width,
        height,
        camera="fit" if has_angle else options.camera,
        lights=options.lights,
        background=_background(options.background),
        bones={"auto": None, "always": True, "never": False}[options.bones],
        around_degrees=options.around,
        above_degrees=options.above,
        two_sided=options.two_sided,
    )


def _pair(text: str, option: str) -> tuple[int, int]:
    """Parse ``256`` or ``320x200``."""
    parts = text.lower().split("x")
    if len(parts) not in (1, 2) or not all(part.isascii() and part.isdigit() and int(part[:9]) > 0 for part in parts):
        raise ValueError(f"{option} needs a number such as 4, or two such as 4x3, not {text[:40]!r}")
    return int(parts[0][:9]), int(parts[-1][:9])


def _background(text: str) -> tuple[int, int, int] | str | None:
    if text in ("neutral", "file", "none"):
        return {"neutral": NEUTRAL, "file": "file", "none": None}[text]
    digits = text.removeprefix("#")
    try:
        if len(digits) != 6:
            raise ValueError
        red, green, blue = bytes.fromhex(digits)
    except ValueError:
        raise ValueError(f"--background needs #rrggbb, file, none or neutral, not {text!r}") from None
    return red, green, blue
