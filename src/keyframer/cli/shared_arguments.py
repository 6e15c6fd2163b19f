"""Arguments that a command for one file shares with `keyframer batch`. They load nothing that works on files."""

from __future__ import annotations

import argparse
import os
from argparse import ArgumentTypeError

from keyframer.cli import clip_option, operation_options
from keyframer.inspecting import table_names
from keyframer.text import did_you_mean

PICTURE_KINDS = ("png", "jpg", "gif", "apng", "webp", "mp4")
"""kinds of picture that `keyframer thumbnail` writes"""


def add_table(group: argparse._ActionsContainer) -> None:
    group.add_argument(
        "--table",
        action="extend",
        type=_table_names,
        metavar="NAME",
        help=f"show just this table (may be repeated, or several with commas): {', '.join(table_names())}",
    )


def _table_names(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    known = table_names()
    for name in names:
        if name not in known:
            raise ArgumentTypeError(f"there is no table {name!r}{did_you_mean(name, known)}")
    return names


def add_picture(parser: argparse.ArgumentParser) -> None:
    """What a picture shows of a scene, and how."""
    what = parser.add_argument_group("what to show")
    clip_option.add_argument(what)
    what.add_argument("--size", default="256", metavar="N|WxH", help="pixels, 256 or 320x200 (default: 256)")
    moment = what.add_mutually_exclusive_group()
    moment.add_argument(
        "--frame",
        type=operation_options.frame,
        metavar="N",
        help="the frame to show (default: the one saved, else the first)",
    )
    moment.add_argument("--frames", metavar="LIST", help="frames of a sheet or a playback: 0:100:5 or 3,7")
    what.add_argument("--sheet", metavar="CxR", help="a contact sheet of so many columns and rows")
    what.add_argument(
        "--pictures", type=int, metavar="N", help="how many pictures a playback has (default: 15 a second, at most 90)"
    )
    what.add_argument("--camera", default="auto", metavar="NAME", help="a camera of the file, fit, or auto (default)")
    what.add_argument(
        "--around",
        type=operation_options.number(-360, 360),
        metavar="DEGREES",
        help="fit: from how far to the right of the front (default: 30)",
    )
    what.add_argument(
        "--above",
        type=operation_options.number(-90, 90),
        metavar="DEGREES",
        help="fit: from how far above (default: 22)",
    )
    what.add_argument(
        "--lights", choices=("auto", "file", "studio"), default="auto", help="whose lights (default: auto)"
    )
    what.add_argument(
        "--bones",
        choices=("auto", "always", "never"),
        default="auto",
        help="the skeleton as sticks (default: where there is no mesh)",
    )
    what.add_argument(
        "--background", default="neutral", metavar="COLOUR", help="#rrggbb, file, none, or neutral (default)"
    )


def add_textures(parser: argparse.ArgumentParser) -> None:
    textures = parser.add_argument_group("textures")
    textures.add_argument(
        "--texture-path",
        action="append",
        type=_folder,
        default=[],
        metavar="DIR",
        help="a folder to look for images in, after that of the file (may be repeated)",
    )
    textures.add_argument("--texture-recursive", action="store_true", help="look into the folders inside these, too")
    textures.add_argument("--no-textures", action="store_true", help="open no image at all")


def _folder(path: str) -> str:
    if not os.path.isdir(path):
        raise ArgumentTypeError(f"there is no folder {path!r}")
    return path
