"""The options of each operation of ``keyframer batch``, as plain data for jobs: those of the command for one file."""

from __future__ import annotations

import argparse
import os
from dataclasses import fields
from typing import Any

from keyframer.cli import inputs, operation_options, reading_options, record_output, scene_loading, shared_arguments


def add_arguments(parser: argparse.ArgumentParser, operation: str) -> None:
    if operation in ("convert", "thumbnail"):
        scene_loading.add_arguments(parser)
    elif operation != "identify":
        reading_options.add_arguments(parser)
    adders = {"convert": _convert, "check": _check, "info": _info, "thumbnail": _thumbnail}
    if operation in adders:
        adders[operation](parser)


def _convert(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("convert")
    group.add_argument("--to", metavar="ID", help="what to write, as for keyframer convert (default: gltf)")
    group.add_argument(
        "--dialect", metavar="NAME", help="of glTF: binary (.glb, default) or text (.gltf and .bin); others have theirs"
    )
    group.add_argument(
        "--write", action="append", default=[], metavar="NAME=VALUE", help="an option of the format that is written"
    )
    group.add_argument(
        "--max-error", type=operation_options.share, metavar="X", help="how far fitted motion may be off"
    )
    operation_options.add_keys(group)
    operation_options.add_models(group)
    group.add_argument("--core-only", action="store_true", help="use no glTF extensions")
    group.add_argument(
        "--unit", type=operation_options.unit, metavar="LENGTH", help="how long a unit is, as for keyframer convert"
    )
    operation_options.add_arguments(parser)
    shared_arguments.add_textures(parser)


def _check(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("check")
    group.add_argument(
        "--fail-on",
        choices=("error", "warning", "info"),
        default="error",
        help="the least severity that makes the exit code 1 (default: error)",
    )
    group.add_argument("--ignore", action="append", default=[], metavar="CODE", help="leave this out (may be repeated)")
    group.add_argument("--only", action="append", default=[], metavar="CODE", help="just this (may be repeated)")


def _info(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("info")
    shared_arguments.add_table(group)
    record_output.add_encoding(parser)
    shared_arguments.add_textures(parser)


def _thumbnail(parser: argparse.ArgumentParser) -> None:
    shared_arguments.add_picture(parser)
    shared_arguments.add_textures(parser)
    parser.add_argument("--to", choices=shared_arguments.PICTURE_KINDS, help="the kind of picture (default: png)")


def wanted_endings(options: argparse.Namespace) -> tuple[str, ...]:
    """What is taken from folders, archives and stores: as the command for one file does it."""
    if options.operation == "convert" and options.to in (None, "gltf"):
        return tuple(ending for ending in inputs.LOADABLE if ending not in (".glb", ".gltf"))
    return inputs.LOADABLE


def options_of(options: argparse.Namespace) -> dict[str, Any]:
    """Plain values, and only those that were given: they are hashed, and travel to workers. ValueError if wrong."""
    given = vars(options)
    found = {name: given.get(name) for name in ("dialect", "max_error", "keys", "core_only", "unit", "ignore")}
    found["only"] = given.get("only")
    found |= {name: given.get(name) for name in ("table", "encoding", "fail_on", "no_textures", "texture_recursive")}
    found["from"] = given.get("from_format")
    found["limit"] = dict(given.get("limit") or ())
    found["texture_path"] = [os.path.abspath(folder) for folder in given.get("texture_path") or ()]
    if options.operation in ("convert", "thumbnail"):
        found["scene"] = _scene(options)
        found["salvage"] = options.salvage
    if options.operation == "convert":
        found |= {"to": options.to, "fps": options.fps, "steps": _steps(options)}
        found["write"] = scene_loading.pairs_of(options.write, "--write")
    if options.operation == "thumbnail":
        found |= {"clip": options.clip, **_picture(options)}
    return {name: value for name, value in found.items() if value not in (None, False, [], {})}


def _scene(options: argparse.Namespace) -> dict[str, Any]:
    """Options of the format's bridge; for convert the exporter applies ``--fps``."""
    found = dict(scene_loading.options_of(options))
    if options.operation == "convert" and options.fps is not None:
        del found["fps"]
    for name in scene_loading.COMPANIONS:
        if isinstance(found.get(name), str):
            found[name] = os.path.abspath(str(found[name]))
    return found


def _steps(options: argparse.Namespace) -> dict[str, Any]:
    found = operation_options.wanted_of(options)
    found.pop("max_error", None)
    if "merge" in found:
        found["merge"] = os.path.abspath(str(found["merge"]))
    return found


def _picture(options: argparse.Namespace) -> dict[str, Any]:
    """What `Settings` and `Showing` have to say beyond what they say anyway."""
    from keyframer.cli import thumbnail  # loads the renderer

    order = thumbnail.Order(argparse.Namespace(**{**vars(options), "output": None}))
    found: dict[str, Any] = {}
    for name, part in (("settings", order.settings), ("showing", order.showing)):
        values = {field.name: getattr(part, field.name) for field in fields(part)}
        usual = {field.name: field.default for field in fields(part)}
        found[name] = {
            key: list(value) if isinstance(value, tuple) else value
            for key, value in values.items()
            if value != usual[key]
        }
    return found
