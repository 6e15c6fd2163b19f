"""``keyframer thumbnail``: a picture of a scene, a contact sheet, or its playback."""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import suppress

from keyframer.cli import inputs, output_targets, reading_options, scene_loading, shared_arguments, texture_options
from keyframer.cli.exit_handling import FINE, NOT_ALL_DONE
from keyframer.cli.inputs import Input
from keyframer.cli.messages import detail, failure, note
from keyframer.errors import FormatError
from keyframer.inspecting.samples import parse_frames
from keyframer.rendering import Settings, Studio
from keyframer.rendering.encoding import ANIMATED, STILL, check_kind, kind_of
from keyframer.rendering.presentation import Showing
from keyframer.rendering.renderer import NEUTRAL

ABOUT = """A picture of a frame, a contact sheet, or the playback, without a GPU.

The ending of OUT, or --to, says what is written: .png or .jpg for a picture or a sheet, .gif, .apng, .webp or .mp4
for the playback (.mp4 by the program ffmpeg, where that is installed).

The file's own camera is taken if it shows something, else one is fitted around everything; its lights are used with as
much light added as the picture needs; images are looked for beside the file. A skeleton without a mesh is drawn as
sticks. The same file gives the same bytes with the same versions of numpy and Pillow."""

EXAMPLES = (
    "keyframer thumbnail scene.3ds -o scene.png",
    "keyframer thumbnail scene.3ds --sheet 4x3 -o sheet.png",
    "keyframer thumbnail scene.3ds -o scene.gif",
    "keyframer thumbnail scene.3ds --size 640x480 -o scene.mp4",
    "keyframer thumbnail -r models/ --size 128 -o pictures/",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    inputs.add_arguments(parser)
    scene_loading.add_arguments(parser)
    shared_arguments.add_picture(parser)
    shared_arguments.add_textures(parser)
    output_targets.add_arguments(parser, required=False, suffix=".png")
    parser.add_argument(
        "--to", choices=shared_arguments.PICTURE_KINDS, help="the kind of picture, where the name of OUT does not say"
    )


def run(options: argparse.Namespace) -> int:
    if not options.files and options.files_from is None:
        options.parser.error("nothing to show: give a FILE, or - for stdin")
    many = options.recursive or options.files_from is not None or len(options.files) > 1
    if many and options.output is None:
        options.parser.error("several files need -o: a folder, or a suffix such as .png")
    if options.output is None and sys.stdout.isatty():
        options.parser.error("a picture is no text: give a file with -o")
    try:
        order = Order(options)
        scene_loading.options_of(options)
    except ValueError as error:
        options.parser.error(str(error))
    target = output_targets.Targets(options, many, lambda name: f"{name}.{order.kind}")
    if options.force and many:
        _note_images(options, target)
    code = FINE
    for number, item in enumerate(inputs.inputs_of(options, inputs.LOADABLE)):
        try:
            if number and target.out is None:
                raise output_targets.refused("only one picture fits stdout (-o gives each its own file)")
            path = target.path_for(item)
            with reading_options.budget_for(options, item):
                data = order.carry_out(item)
            if path is None:
                sys.stdout.buffer.write(data)
            else:
                target.write(path, data)
                detail(options, f"{item.name} -> {path} ({len(data)} bytes)")
        except (*scene_loading.LOAD_FAILURES, LookupError) as error:
            code = NOT_ALL_DONE
            failure(item.name, error)
    return code


def _note_images(options: argparse.Namespace, target: output_targets.Targets) -> None:
    """Where pictures replace existing files: tell the run which images all inputs use. The picture of the first input
    must not replace an image of the last."""

    def replaces(item: Input) -> bool:
        with suppress(FormatError):
            return os.path.lexists(target.place_of(item) or "")
        return False

    if not any(replaces(item) for item in inputs.inputs_of(options, inputs.LOADABLE)):
        return
    quiet = type(options)(**{**vars(options), "quiet": True, "salvage": True})
    for item in inputs.inputs_of(options, inputs.LOADABLE):
        if isinstance(item, inputs.FileInput) and not os.path.isfile(item.name):
            continue  # what a pipe gives is given once
        with suppress(*scene_loading.LOAD_FAILURES, LookupError, MemoryError):  # said when its picture is made
            scene = scene_loading.load_scene(item, quiet)
            texture_options.note_inputs(item, scene, options)


class Order:
    """What was asked for, checked before any file is read; ValueError says what is wrong."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.kind = _kind(options)
        sheet = _pair(options.sheet, "--sheet") if options.sheet is not None else None
        if sheet is not None and sheet[0] * sheet[1] > 1_000:
            raise ValueError("--sheet: at most 1000 pictures fit a sheet")
        if sheet is not None and self.kind not in STILL:
            raise ValueError("a contact sheet is a still picture: png or jpg")
        if options.pictures is not None and not 1 <= options.pictures <= 1_000:
            raise ValueError("--pictures: 1 to 1000")
        if options.pictures is not None and self.kind in STILL:
            raise ValueError(f"--pictures is for a playback ({', '.join(ANIMATED)}; --to chooses)")
        frames = parse_frames(options.frames) if options.frames is not None else None
        if frames is not None and len(frames) > 1_000:
            raise ValueError(f"--frames: {len(frames)} pictures, at most 1000")
        if frames is not None and self.kind in STILL and sheet is None:
            sheet = (min(len(frames), 4), -(-len(frames) // min(len(frames), 4)))
        if options.frame is not None:
            frames = [options.frame]
        self.showing = Showing(self.kind, sheet, None if frames is None else tuple(frames), options.pictures)
        self.settings: Settings = _settings(options)
        check_kind(self.kind, transparent=self.settings.background is None)

    def carry_out(self, item: Input) -> bytes:
        """The bytes of the picture."""
        scene = scene_loading.load_scene(item, self.options)
        source = texture_options.source_for(item, self.options)
        studio = Studio(scene, self.settings, textures=source)
        texture_options.report(item, source, self.options)
        data = self.showing.data(studio)
        if not studio.complete:
            note(self.options, f"{item.name}: not every face is drawn: there are too many, one behind the other")
        return data


def _kind(options: argparse.Namespace) -> str:
    """What the name of OUT says, unless that is a folder; or ``--to``; or PNG."""
    said = kind_of(options.output) if output_targets.says_kind(options) else None
    if said is not None and options.to not in (None, said):
        raise ValueError(f"{options.output} is the name of a {said} picture, but --to says {options.to}")
    return options.to or said or "png"


def _settings(options: argparse.Namespace) -> Settings:
    width, height = _pair(options.size, "--size")
    turned = options.around is not None or options.above is not None
    if turned and options.camera not in ("auto", "fit"):
        raise ValueError("--around and --above are for --camera fit")
    return Settings(
        width,
        height,
        camera="fit" if turned else options.camera,
        lights=options.lights,
        background=_background(options.background),
        bones={"auto": None, "always": True, "never": False}[options.bones],
        around_degrees=options.around,
        above_degrees=options.above,
    )


def _pair(text: str, option: str) -> tuple[int, int]:
    """``256`` or ``320x200``."""
    parts = text.lower().split("x")
    if len(parts) not in (1, 2) or not all(part.isascii() and part.isdigit() and int(part[:9]) > 0 for part in parts):
        raise ValueError(f"{option} wants a number such as 4, or two such as 4x3, not {text[:40]!r}")
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
        raise ValueError(f"--background wants #rrggbb, file, none or neutral, not {text!r}") from None
    return red, green, blue
