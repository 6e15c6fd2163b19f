"""The options that many commands share: of decoding files, of loading scenes, and of images."""

from __future__ import annotations

import argparse
import os
from argparse import ArgumentTypeError
from collections.abc import Callable
from typing import Any

from keyframer.exchange import IMPORTERS
from keyframer.formats import FORMATS
from keyframer.limits import limits_of

COMPANIONS: dict[str, list[str]] = {}
"""what the companions are, by the names of their options: several formats may have the same option"""
for _companion in (companion for known in FORMATS for companion in known.companions):
    COMPANIONS.setdefault(_companion.option, []).append(_companion.description)


def number(least: float, most: float) -> Callable[[str], float]:
    """Return the type of an argument that is a number in this range."""

    def read(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = float("nan")
        if not least <= value <= most:
            raise ArgumentTypeError(f"{text!r} is not a number from {least:g} to {most:g}")
        return value

    return read


factor = number(1e-9, 1e9)
"""factors of lengths, and lengths in metres"""
rate = number(1e-3, 1e5)
"""frames per second"""
share = number(1e-8, 1.0)
"""errors as a fraction of the size of the scene; below 6e-8 only formats with double precision can benefit"""
LAST_FRAME = 1e7
"""largest frame number of motion: four days at 30 frames per second"""
frame = number(-LAST_FRAME, LAST_FRAME)


def pair(text: str) -> tuple[str, object]:
    """Parse NAME=VALUE."""
    name, mark, value = text.partition("=")
    if not mark:
        raise ArgumentTypeError(f"expected NAME=VALUE, not {text!r}")
    return name.replace("-", "_"), value


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--limit",
        action="append",
        type=_limit,
        default=[],
        metavar="NAME=N",
        help="change a limit on the cost of reading and converting (see docs/issues.md)",
    )
    ids = [*(known.name for known in FORMATS), *(known.name for known in IMPORTERS)]
    parser.add_argument(
        "--from",
        dest="from_format",
        metavar="ID",
        choices=ids,
        help=f"format of the input, if it cannot be detected from the content: {', '.join(ids)}",
    )


def _limit(text: str) -> tuple[str, str]:
    """Parse NAME=N."""
    name, _, value = text.partition("=")
    try:
        limits_of({name: value})
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from None
    return name, value


def add_scene_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments for loading scenes."""
    add_arguments(parser)
    scenes = parser.add_argument_group("scene")
    parser.set_defaults(salvaged=False, reads_fps=True)
    scenes.add_argument(
        "--salvage", action="store_true", help="leave out the unsafe parts of a damaged file instead of refusing it"
    )
    for option, descriptions in COMPANIONS.items():
        description = ", or ".join(dict.fromkeys(descriptions)).replace("%", "%%")
        scenes.add_argument(f"--{option}", dest=f"companion_{option}", metavar="FILE", help=description)
    rate_help = "frames per second, for formats that store no frame rate; convert replaces the rate of any file"
    scenes.add_argument("--fps", type=rate, metavar="N", help=rate_help)
    add_format_options(scenes)


def add_format_options(parser: argparse._ActionsContainer) -> None:
    """Add the argument for options of readers."""
    parser.add_argument(
        "--set",
        action="append",
        type=pair,
        default=[],
        metavar="NAME=VALUE",
        help="an option of the format, such as geometry=raw, or mode=NAME for a fixture (see docs/formats)",
    )


def bridge_options(options: argparse.Namespace) -> dict[str, object]:
    """Return the options of the bridge; empty for a command that loads no scenes."""
    values = {name: getattr(options, f"companion_{name}", None) for name in COMPANIONS}
    values["fps"] = options.fps if getattr(options, "reads_fps", False) else None
    given = {name: value for name, value in values.items() if value is not None}
    return dict(getattr(options, "set", ())) | given


def values_of(options: argparse.Namespace) -> dict[str, Any]:
    """Return the shared options as JSON values; empty ones are not left out."""
    given = vars(options)
    values = {name: given.get(name) for name in ("no_textures", "texture_recursive", "salvage")}
    values["from"] = given.get("from_format")
    values["limit"] = dict(given.get("limit") or ())
    values["texture_path"] = [os.path.abspath(folder) for folder in given.get("texture_path") or ()]
    scene = bridge_options(options)
    values["scene"] = scene | {name: os.path.abspath(str(scene[name])) for name in COMPANIONS if name in scene}
    return values


def add_clip(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--clip", metavar="NAME", help="name of a clip, or its number counted from 1 (default: the first)"
    )


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
    from keyframer.files.members import folder_in_container, names_in

    if not os.path.isdir(path) and not names_in(folder_in_container(path)):
        raise ArgumentTypeError(f"no such folder: {path!r}")
    return path
