"""Rendering a picture, a contact sheet or the playback of a file."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from keyframer.operations import READING, Operation, WorkFile, reading_options

PICTURE_KINDS = ("png", "jpg", "gif", "apng", "webp", "mp4")
"""kinds of picture that can be written"""
RENDERING = ("keyframer.rendering.renderer", "keyframer.editing", "PIL.ImageDraw", "PIL.ImageFont")


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


class Thumbnail(Operation):
    name = "thumbnail"
    help = "render a picture of every file"
    loads = (*READING, *RENDERING)
    plain = ("clip",)
    reads_scenes = finds_images = shows_pictures = True
    needs = "PIL"
    noun, is_text = "picture", False
    about, examples = ABOUT, EXAMPLES

    def fit_output(self, options: argparse.Namespace) -> None:
        """Choose the kind of picture that the extension means."""
        from keyframer.rendering.encoding import kind_of

        kind = kind_of(options.output)
        if kind is not None and options.to not in (None, kind):
            raise ValueError(f"{options.output} is the name of a {kind} picture, but --to is {options.to}")
        options.to = options.to or kind

    def add_own_options(self, parser: argparse.ArgumentParser, *, in_batch: bool) -> None:
        what = parser.add_argument_group("what to show")
        reading_options.add_clip(what)
        what.add_argument(
            "--size", default="256", metavar="N|WxH", help="size in pixels, such as 256 or 320x200 (default: 256)"
        )
        moment = what.add_mutually_exclusive_group()
        moment.add_argument(
            "--frame",
            type=reading_options.frame,
            metavar="N",
            help="frame to show (default: the one saved in the file, else the first; the middle one if that "
            "shows nothing)",
        )
        moment.add_argument("--frames", metavar="LIST", help="frames of a sheet or a playback: 0:100:5 or 3,7")
        what.add_argument("--sheet", metavar="CxR", help="make a contact sheet of C columns and R rows")
        what.add_argument(
            "--pictures",
            type=int,
            metavar="N",
            help="number of pictures of a playback (default: 15 per second, at most 90)",
        )
        what.add_argument(
            "--camera",
            default="auto",
            metavar="NAME",
            help="name of a camera; fit: everything is visible; auto (default): a camera of the file, else fit",
        )
        what.add_argument(
            "--around",
            type=reading_options.number(-360, 360),
            metavar="DEGREES",
            help="angle of the view to the right of the front (default: 30); implies --camera fit",
        )
        what.add_argument(
            "--above",
            type=reading_options.number(-90, 90),
            metavar="DEGREES",
            help="angle of the view above the horizon (default: 22); implies --camera fit",
        )
        what.add_argument(
            "--lights",
            choices=("auto", "file", "studio"),
            default="auto",
            help="lights of the file, of a studio, or both as needed (default: auto)",
        )
        what.add_argument(
            "--bones",
            choices=("auto", "always", "never"),
            default="auto",
            help="draw the skeleton (default: only without a mesh)",
        )
        what.add_argument(
            "--background", default="neutral", metavar="COLOUR", help="#rrggbb, file, none, or neutral (default)"
        )
        what.add_argument(
            "--two-sided",
            action="store_true",
            help="draw the back of faces, too (default: only of two-sided materials)",
        )
        what.add_argument(
            "--to", choices=PICTURE_KINDS, help="kind of picture (default: by the extension of OUT, else png)"
        )

    def own_values(self, options: argparse.Namespace) -> dict[str, Any]:
        """Return the fields of `Settings` and `Presentation`."""
        from keyframer.inspecting.samples import parse_frames  # these load the renderer
        from keyframer.rendering.encoding import ANIMATED, STILL, check_kind
        from keyframer.rendering.renderer import picture_options

        kind = options.to or "png"
        sheet = None if options.sheet is None else _pair(options.sheet, "--sheet")
        if sheet is not None and sheet[0] * sheet[1] > 1_000:
            raise ValueError("--sheet: a sheet has at most 1000 pictures")
        if sheet is not None and kind not in STILL:
            raise ValueError("a contact sheet is a still picture: png or jpg")
        if options.pictures is not None and not 1 <= options.pictures <= 1_000:
            raise ValueError("--pictures must be from 1 to 1000")
        if options.pictures is not None and kind in STILL:
            raise ValueError(f"--pictures is for a playback, not a still picture (write {', '.join(ANIMATED)})")
        frames = None if options.frames is None else list(parse_frames(options.frames))
        if frames is not None and len(frames) > 1_000:
            raise ValueError(f"--frames: {len(frames)} pictures, at most 1000")
        if frames is not None and kind in STILL and sheet is None:
            sheet = [min(len(frames), 4), -(-len(frames) // min(len(frames), 4))]
        if options.frame is not None:
            frames = [options.frame]
        has_angle = options.around is not None or options.above is not None
        if has_angle and options.camera not in ("auto", "fit"):
            raise ValueError("--around and --above are for --camera fit")
        width, height = _pair(options.size, "--size")
        settings = {
            "width": width,
            "height": height,
            "camera": "fit" if has_angle else options.camera,
            "lights": options.lights,
            "bones": {"auto": None, "always": True, "never": False}[options.bones],
            "around_degrees": options.around,
            "above_degrees": options.above,
            "two_sided": options.two_sided,
        }
        if options.background != "neutral":
            settings["background"] = _background(options.background)
        presentation = {"kind": kind, "sheet": sheet, "frames": frames, "pictures": options.pictures}
        values = {"settings": settings, "presentation": presentation}
        check_kind(kind, transparent=picture_options(values)[0].background is None)
        return values

    def suffix(self, values: Mapping[str, Any]) -> str:
        from keyframer.rendering.renderer import picture_options

        return f".{picture_options(values)[1].kind}"

    def perform(self, file: WorkFile) -> None:
        """Render a picture of a file."""
        from keyframer.rendering.renderer import Renderer, picture_options

        settings, presentation = picture_options(file.values)
        scene, textures = file.scene(), file.textures()
        renderer = Renderer(scene, settings, textures=textures)
        try:
            data = presentation.data(renderer)
        except LookupError as error:  # not every file has a camera of this name
            raise ValueError(str(error.args[0] if error.args else error)) from None
        images = {str(image.match): image.texture is not None for image in (textures.opened if textures else ())}
        file.details = {"frames": len(renderer.frames or ()), "images": images, "complete": renderer.complete}
        if not renderer.complete:
            file.note("some faces are not drawn: drawing all of them would take too long")
        file.write(data)


def _pair(text: str, option: str) -> list[int]:
    """Parse ``256`` or ``320x200``."""
    parts = text.lower().split("x")
    if len(parts) not in (1, 2) or not all(part.isascii() and part.isdigit() and int(part[:9]) > 0 for part in parts):
        raise ValueError(f"{option} needs a number such as 4, or two such as 4x3, not {text[:40]!r}")
    return [int(parts[0][:9]), int(parts[-1][:9])]


def _background(text: str) -> list[int] | str | None:
    if text in ("file", "none"):
        return "file" if text == "file" else None
    digits = text.removeprefix("#")
    try:
        if len(digits) != 6:
            raise ValueError
        return list(bytes.fromhex(digits))
    except ValueError:
        raise ValueError(f"--background needs #rrggbb, file, none or neutral, not {text!r}") from None
