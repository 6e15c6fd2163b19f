"""The options of each operation of ``keyframer batch``, as plain data for jobs."""

from __future__ import annotations

import argparse
import os

from keyframer.cli import output, reading, scenes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_LENGTHS = ("mm", "cm", "m", "km", "inch", "foot", "file")


def add_arguments(parser: argparse.ArgumentParser, operation: str) -> None:
    if operation in ("convert", "thumbnail"):
        scenes.add_arguments(parser)
    elif operation != "identify":
        reading.add_arguments(parser)
    adders = {"convert": _convert, "check": _check, "info": _info, "thumbnail": _thumbnail}
    if operation in adders:
        adders[operation](parser.add_argument_group(operation))


def _convert(group: Any) -> None:
    group.add_argument("--to", metavar="ID", help="what to write (default: gltf)")
    group.add_argument("--dialect", metavar="NAME", help="of glTF: binary (.glb, default) or text (.gltf and .bin)")
    group.add_argument("--max-error", type=positive, metavar="X", help="how far fitted motion may be off")
    group.add_argument("--core-only", action="store_true", help="use no glTF extensions")
    group.add_argument("--unit", type=_unit, metavar="LENGTH", help="how long a unit is, as for keyframer convert")


def _check(group: Any) -> None:
    group.add_argument(
        "--fail-on",
        choices=("error", "warning", "info"),
        default="error",
        help="the least severity that makes the exit code 1 (default: error)",
    )
    group.add_argument("--ignore", action="append", default=[], metavar="CODE", help="leave this out (may be repeated)")
    group.add_argument("--only", action="append", default=[], metavar="CODE", help="just this (may be repeated)")


def _info(group: Any) -> None:
    group.add_argument("--table", action="append", metavar="NAME", help="just this table (may be repeated)")
    output.add_encoding(group)


def _thumbnail(group: Any) -> None:
    group.add_argument("--size", default="256", metavar="N|WxH", help="pixels, 256 or 320x200 (default: 256)")
    group.add_argument("--frame", type=float, metavar="N", help="the frame to show")
    group.add_argument("--texture-path", action="append", default=[], metavar="DIR", help="a folder with images")
    group.add_argument("--no-textures", action="store_true", help="open no image at all")


def positive(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive number")
    return value


def _unit(text: str) -> str | float:
    return text if text in _LENGTHS else positive(text)


def options_of(options: argparse.Namespace) -> dict[str, Any]:
    """Plain values, and only those that were given: they are hashed, and travel to workers. ValueError if wrong."""
    found: dict[str, Any] = {}
    given = vars(options)
    if options.operation in ("convert", "thumbnail"):
        found["scene"] = _scene(options)
        found["salvage"] = options.salvage
    for name in ("to", "dialect", "max_error", "core_only", "unit", "ignore", "only", "table", "encoding", "frame"):
        found[name] = given.get(name)
    found["from"] = given.get("from_format")
    found["fail_on"] = given.get("fail_on")
    if options.operation == "thumbnail":
        found["size"] = _size(options.size)
        found["texture_path"] = [os.path.abspath(folder) for folder in options.texture_path]
        found["no_textures"] = options.no_textures
    if options.operation == "convert" and options.fps is not None:
        found["fps"] = options.fps
    return {name: value for name, value in found.items() if value not in (None, False, [], {})}


def _scene(options: argparse.Namespace) -> dict[str, Any]:
    """Options of the format's bridge; for convert the exporter applies ``--fps``."""
    found = dict(scenes.options_of(options))
    if options.operation == "convert":
        found.pop("fps", None)
    for name in ("model", "skeleton"):
        if isinstance(found.get(name), str):
            found[name] = os.path.abspath(str(found[name]))
    return found


def _size(text: str) -> list[int]:
    parts = text.lower().split("x")
    if len(parts) not in (1, 2) or not all(part.isascii() and part.isdigit() and int(part[:9]) > 0 for part in parts):
        raise ValueError(f"--size wants a number such as 256, or two such as 320x200, not {text!r}")
    return [int(parts[0][:9]), int(parts[-1][:9])]
