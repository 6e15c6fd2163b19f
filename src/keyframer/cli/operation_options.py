"""The options of convert, check, info, identify, thumbnail and catalogues, declared once for command and batch.

`add_options` adds the arguments, `values_of` returns them as plain values: those of a job. Importing this module loads
no code that processes files.
"""

from __future__ import annotations

import argparse
import codecs
import math
import os
from argparse import ArgumentTypeError
from typing import Any

from keyframer.catalogue import CATALOGUE
from keyframer.cli import inputs, reading_options
from keyframer.cli.reading_options import LAST_FRAME, factor, rate, share
from keyframer.exchange import DEFAULT_EXPORTER, EXPORTERS, exporter_for
from keyframer.exchange.contract import LENGTH, MAX_ERROR, UNITS
from keyframer.files.members import folder_in_container, names_in
from keyframer.inspecting import table_names
from keyframer.text import did_you_mean

PICTURE_KINDS = ("png", "jpg", "gif", "apng", "webp", "mp4")
"""kinds of picture that `keyframer thumbnail` writes"""
LENGTHS = (*UNITS, "file")
AXES = ("x-up", "x-up-left", "y-up", "y-up-left", "z-up", "z-up-left")


def add_options(parser: argparse.ArgumentParser, operation: str, *, in_batch: bool = False) -> None:
    """Add the options that an operation has as a command and in a batch; a batch writes something for every file, so
    it does not select files by their verdict."""
    if operation in ("convert", "thumbnail"):
        reading_options.add_scene_arguments(parser, reads_fps=operation != "convert")
    elif operation != "identify":
        reading_options.add_arguments(parser)
    if operation == "convert":
        _add_writing(parser)
        _add_steps(parser)
    elif operation == "check":
        _add_issues(parser, for_verdicts=not in_batch)
    elif operation == "info":
        _add_tables(parser)
        reading_options.add_format_options(parser)
    elif operation == "thumbnail":
        _add_picture(parser)
    elif operation == "gallery":
        parser.add_argument(
            "--quick",
            action="store_true",
            help="only pictures, facts and the index; the same command without --quick adds GLB, viewer and curves",
        )
    if operation in ("convert", "info", "thumbnail", "catalogue", "gallery"):
        add_textures(parser)


def input_extensions(operation: str, to: str | None) -> tuple[str, ...]:
    """Return the extensions of files that an operation takes from folders and archives: without those of the written
    format if it is one of today's, because earlier outputs may be in the same folder."""
    if operation != "convert" or to == "":
        return inputs.LOADABLE
    exporter = exporter_for("", to or DEFAULT_EXPORTER.name)
    outputs = exporter.extensions if exporter.takes_images else ()
    return tuple(extension for extension in inputs.LOADABLE if extension not in outputs)


_PLAIN = (
    *("dialect", "max_error", "fail_on", "ignore", "only", "table"),
    *("encoding", "no_textures", "texture_recursive", "salvage", "clip", "quick"),
)
"""options that are plain values as they are parsed"""


def values_of(options: argparse.Namespace, operation: str) -> dict[str, Any]:
    """Return the given options as plain values, which can be hashed and sent to workers; raises ValueError."""
    given = vars(options)
    values = {name: given.get(name) for name in _PLAIN}
    values["from"] = given.get("from_format")
    values["limit"] = dict(given.get("limit") or ())
    values["texture_path"] = [os.path.abspath(folder) for folder in given.get("texture_path") or ()]
    if operation in ("convert", "thumbnail", "info"):
        scene = reading_options.bridge_options(options)
        paths = {name: os.path.abspath(str(scene[name])) for name in reading_options.COMPANIONS if name in scene}
        values["scene"] = scene | paths
    if operation == "convert":
        values |= {"to": options.to, "fps": options.fps, "steps": _steps(options)}
        values["write"] = dict(options.write)
    elif operation == "check":
        verdicts = [word for word in options.only if word in VERDICT_WORDS]  # the command check has taken them out
        if verdicts:
            raise ValueError(f"--only takes codes here; for a verdict: keyframer batch report OUT --only {verdicts[0]}")
        _refuse_unknown_codes((*options.only, *options.ignore))
    elif operation == "thumbnail":
        values |= _picture(options)
    return {name: value for name, value in values.items() if value not in (None, False, [], {})}


def _add_writing(parser: argparse.ArgumentParser) -> None:
    """Add the arguments for the written format: those of all formats, and the flags that exporters declare."""
    group = parser.add_argument_group("format")
    ids = [known.name for known in EXPORTERS]
    group.add_argument(
        "--to",
        metavar="ID",
        choices=ids,
        help="format to write (default: by the extension of OUT, and that of the input if several have this "
        f"extension; {DEFAULT_EXPORTER.name} if OUT is a folder): {', '.join(ids)}",
    )
    dialects = "; ".join(f"{known.name}: {', '.join(known.dialects)}" for known in EXPORTERS if known.dialects)
    group.add_argument("--dialect", metavar="NAME", help=f"layout to write; {dialects} (see docs/converting.md)")
    group.add_argument(
        "--write",
        action="append",
        type=reading_options.pair,
        default=[],
        metavar="NAME=VALUE",
        help="an option of the output format, such as fps=24 (see docs/converting.md)",
    )
    group.add_argument(
        "--max-error",
        type=share,
        metavar="X",
        help=MAX_ERROR.meaning,
    )
    declared = {option.name: option for known in EXPORTERS for option in known.options if option.is_flag}
    for option in declared.values():
        if option.name in ("fps", "max_error"):  # of all formats
            continue
        group.add_argument(
            f"--{option.name.replace('_', '-')}",
            dest="write",
            action=_WriteAction,
            nargs=0 if option.type == "bool" else None,
            type=_length if option.type == LENGTH else str,
            choices=option.choices,
            metavar="LENGTH" if option.type == LENGTH else None,
            help=option.meaning,
        )


class _WriteAction(argparse.Action):
    """A flag that is short for ``--write NAME=VALUE``."""

    def __call__(self, parser: object, namespace: argparse.Namespace, value: object, flag: str | None = None) -> None:
        name = self.option_strings[0].strip("-").replace("-", "_")
        namespace.write = [*namespace.write, (name, "true" if self.nargs == 0 else value)]


def _add_steps(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("edits (in this order)")
    group.add_argument(
        "--merge", metavar="FILE", help="apply the motion to the model or skeleton of this file, matched by node names"
    )
    group.add_argument(
        "--node",
        action="append",
        default=[],
        metavar="NAME",
        help="keep only this node and its descendants (* and ? are wildcards)",
    )
    group.add_argument(
        "--move",
        action="append",
        type=_move,
        default=[],
        metavar="NAME=X,Y,Z",
        help="move the node of this name with all of its motion, in the coordinates of its parent (may be repeated)",
    )
    group.add_argument(
        "--cut",
        metavar="A:B",
        help="keep frames A to B of the clip, renumbered from 0; active: the frames that the file plays",
    )
    group.add_argument("--reverse", action="store_true", help="reverse the motion")
    group.add_argument(
        "--rate",
        type=rate,
        metavar="N",
        help="change to N frames per second; the duration stays the same. Formats without a frame rate "
        "are written for 30, or that of --write fps=N, which their readers must be told",
    )
    group.add_argument("--scale", type=factor, metavar="X", help="multiply all lengths by X; the unit stays the same")
    group.add_argument(
        "--axes",
        choices=AXES,
        metavar="AXES",
        help=f"{', '.join(AXES)}: write these axes (right-handed unless left) instead of those of the format: "
        "for programs that expect them, or to set a scene upright that lies on its side",
    )


def _move(text: str) -> tuple[str, list[float]]:
    name, _, vector = text.rpartition("=")
    try:
        by = [float(number) for number in vector.split(",")]
        if not name or len(by) != 3 or not all(map(math.isfinite, by)):
            raise ValueError
    except ValueError:
        raise ArgumentTypeError(f"expected NAME=X,Y,Z with three numbers, not {text[:80]!r}") from None
    return name, by


def _length(text: str) -> str | float:
    """Parse a length: the name of a unit, or a number of metres."""
    return text if text in LENGTHS else factor(text)


def _steps(options: argparse.Namespace) -> dict[str, Any]:
    """Return the chosen operations as `keyframer.editing.conversion` expects them; raises ValueError if ``--cut`` is
    invalid."""
    names = ("node", "move", "reverse", "rate", "scale", "axes")
    given = {"merge": options.merge and os.path.abspath(options.merge), "cut": _cut(options.cut)}
    given |= {name: getattr(options, name) for name in names}
    return {name: value for name, value in given.items() if value not in (None, False, [])}


def _cut(text: str | None) -> list[float] | str | None:
    if text is None or text == "active":
        return text
    first, mark, last = text.partition(":")
    try:
        if not mark or not -LAST_FRAME <= float(first) < float(last) <= LAST_FRAME:
            raise ValueError
        return [float(first), float(last)]
    except ValueError:
        allowed = f"from {-LAST_FRAME:g} to {LAST_FRAME:g}, the earlier first"
        raise ValueError(f"--cut needs active, or two frames A:B {allowed}, not {text!r}") from None


VERDICT_WORDS = {"damaged": "damaged", "problems": "readable with problems", "unreadable": "not readable"}
"""the verdicts that ``--only`` selects"""
SEVERITIES = ("error", "warning", "info")


def _add_issues(parser: argparse.ArgumentParser, for_verdicts: bool) -> None:
    group = parser.add_argument_group("issues")
    group.add_argument(
        "--fail-on",
        choices=SEVERITIES,
        default="error",
        help="lowest severity that makes the exit code 1 (default: error)",
    )
    group.add_argument(
        "--ignore", action="append", default=[], metavar="CODE", help="leave out issues of this code (may be repeated)"
    )
    group.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="CODE",
        help="list only issues of this code (may be repeated)"
        + (f"; or only files with this verdict: {', '.join(VERDICT_WORDS)}" if for_verdicts else ""),
    )


def _refuse_unknown_codes(wanted: tuple[str, ...]) -> None:
    for beginning in wanted:
        if not beginning or not any(code.startswith(beginning) for code in CATALOGUE):
            near = did_you_mean(beginning, CATALOGUE)
            raise ValueError(f"no code begins with {beginning!r} (docs/issues.md lists all codes){near}")


def _add_tables(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--table",
        action="extend",
        type=_table_names,
        metavar="NAME",
        help="show only this table (may be repeated; several names can be separated by commas): "
        f"{', '.join(table_names())}",
    )
    parser.add_argument(
        "--encoding",
        metavar="NAME",
        type=_known_encoding,
        help="code page of the names in the file, such as cp437 (default: UTF-8 if valid, else cp1252)",
    )


def _table_names(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    known = table_names()
    for name in names:
        if name not in known:
            near = did_you_mean(name, known) or f" (known: {', '.join(known)})"
            raise ArgumentTypeError(f"unknown table {name!r}{near}")
    return names


def _known_encoding(name: str) -> str:
    try:
        codecs.lookup(name)
        b"".decode(name)
    except (LookupError, ValueError):
        raise ArgumentTypeError(f"unknown code page {name!r}") from None
    return name


def add_clip(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--clip", metavar="NAME", help="name of a clip, or its number counted from 1 (default: the first)"
    )


def _add_picture(parser: argparse.ArgumentParser) -> None:
    """Add the arguments for the content and the style of a picture."""
    what = parser.add_argument_group("what to show")
    add_clip(what)
    what.add_argument(
        "--size", default="256", metavar="N|WxH", help="size in pixels, such as 256 or 320x200 (default: 256)"
    )
    moment = what.add_mutually_exclusive_group()
    moment.add_argument(
        "--frame",
        type=reading_options.frame,
        metavar="N",
        help="frame to show (default: the one saved in the file, else the first; the middle one if that shows nothing)",
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
        "--two-sided", action="store_true", help="draw the back of faces, too (default: only of two-sided materials)"
    )
    what.add_argument(
        "--to", choices=PICTURE_KINDS, help="kind of picture (default: by the extension of OUT, else png)"
    )


def _picture(options: argparse.Namespace) -> dict[str, Any]:
    """Return the fields of `Settings` and `Presentation`; raises ValueError if they are invalid."""
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


def add_textures(parser: argparse.ArgumentParser) -> None:
    textures = parser.add_argument_group("textures")
    textures.add_argument(
        "--texture-path",
        action="append",
        type=_folder,
        default=[],
        metavar="DIR",
        help="a folder or archive to search for images, after the folder of the file (may be repeated)",
    )
    textures.add_argument("--texture-recursive", action="store_true", help="search subfolders for images, too")
    textures.add_argument("--no-textures", action="store_true", help="do not open images")


def _folder(path: str) -> str:
    if not os.path.isdir(path) and not names_in(folder_in_container(path)):
        raise ArgumentTypeError(f"no such folder: {path!r}")
    return path
