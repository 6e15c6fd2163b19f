"""Arguments that commands share with ``keyframer batch``. Importing this module loads no code that processes files."""

from __future__ import annotations

import argparse
import codecs
import os
from argparse import ArgumentTypeError

from keyframer.cli import reading_options
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
        help="show only this table (may be repeated; several names can be separated by commas): "
        f"{', '.join(table_names())}",
    )


def add_clip(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--clip", metavar="NAME", help="name of a clip, or its number counted from 1 (default: the first)"
    )


def _table_names(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    known = table_names()
    for name in names:
        if name not in known:
            near = did_you_mean(name, known) or f" (known: {', '.join(known)})"
            raise ArgumentTypeError(f"unknown table {name!r}{near}")
    return names


def add_encoding(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--encoding",
        metavar="NAME",
        type=_known_encoding,
        help="code page of the names in the file, such as cp437 (default: UTF-8 if valid, else cp1252)",
    )


def _known_encoding(name: str) -> str:
    try:
        codecs.lookup(name)
        b"".decode(name)
    except (LookupError, ValueError):
        raise ArgumentTypeError(f"unknown code page {name!r}") from None
    return name


def add_picture(parser: argparse.ArgumentParser) -> None:
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


def add_issues(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--fail-on",
        choices=("error", "warning", "info"),
        default="error",
        help="lowest severity that makes the exit code 1 (default: error)",
    )
    group.add_argument(
        "--ignore", action="append", default=[], metavar="CODE", help="leave out issues of this code (may be repeated)"
    )
    group.add_argument(
        "--only", action="append", default=[], metavar="CODE", help="list only issues of this code (may be repeated)"
    )


def add_textures(parser: argparse.ArgumentParser) -> None:
    textures = parser.add_argument_group("textures")
    textures.add_argument(
        "--texture-path",
        action="append",
        type=_folder,
        default=[],
        metavar="DIR",
        help="a folder to search for images, after the folder of the file (may be repeated)",
    )
    textures.add_argument("--texture-recursive", action="store_true", help="search subfolders for images, too")
    textures.add_argument("--no-textures", action="store_true", help="do not open images")


def _folder(path: str) -> str:
    if not os.path.isdir(path):
        raise ArgumentTypeError(f"no such folder: {path!r}")
    return path
