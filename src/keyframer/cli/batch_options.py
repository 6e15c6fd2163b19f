"""The options of each operation of ``keyframer batch``: those of the command for one file, as plain data for jobs."""

from __future__ import annotations

import argparse
import os
from dataclasses import fields
from typing import Any

from keyframer.cli import inputs, operation_options, reading_options, shared_arguments


def add_arguments(parser: argparse.ArgumentParser, operation: str) -> None:
    if operation in ("convert", "thumbnail"):
        reading_options.add_scene_arguments(parser)
    elif operation != "identify":
        reading_options.add_arguments(parser)
    adders = {"convert": _add_convert, "check": _add_check, "info": _add_info, "thumbnail": _add_thumbnail}
    if operation in adders:
        adders[operation](parser)


def _add_convert(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("convert")
    group.add_argument("--to", metavar="ID", help="format to write, as for keyframer convert (default: gltf)")
    operation_options.add_writing(group)
    operation_options.add_arguments(parser)
    shared_arguments.add_textures(parser)


def _add_check(parser: argparse.ArgumentParser) -> None:
    shared_arguments.add_issues(parser.add_argument_group("check"))


def _add_info(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("info")
    shared_arguments.add_table(group)
    shared_arguments.add_encoding(parser)
    shared_arguments.add_textures(parser)


def _add_thumbnail(parser: argparse.ArgumentParser) -> None:
    shared_arguments.add_picture(parser)
    shared_arguments.add_textures(parser)
    parser.add_argument("--to", choices=shared_arguments.PICTURE_KINDS, help="kind of picture (default: png)")


def wanted_extensions(options: argparse.Namespace) -> tuple[str, ...]:
    """Return the extensions of files that are taken from folders, archives and URLs, as in the command for one file."""
    if options.operation == "convert" and options.to in (None, "gltf"):
        return tuple(extension for extension in inputs.LOADABLE if extension not in (".glb", ".gltf"))
    return inputs.LOADABLE


def job_options(options: argparse.Namespace) -> dict[str, Any]:
    """Return the given options as plain values, which are hashed and sent to workers; raises ValueError."""
    given = vars(options)
    names = ("dialect", "max_error", "keys", "core_only", "embed_source", "unit", "ignore")
    values = {name: given.get(name) for name in names}
    values["only"] = given.get("only")
    values |= {name: given.get(name) for name in ("table", "encoding", "fail_on", "no_textures", "texture_recursive")}
    values["from"] = given.get("from_format")
    values["limit"] = dict(given.get("limit") or ())
    values["texture_path"] = [os.path.abspath(folder) for folder in given.get("texture_path") or ()]
    if options.operation in ("convert", "thumbnail"):
        values["scene"] = _scene(options)
        values["salvage"] = options.salvage
    if options.operation == "convert":
        values |= {"to": options.to, "fps": options.fps, "steps": _steps(options)}
        values["write"] = reading_options.pairs_of(options.write, "--write")
    if options.operation == "thumbnail":
        values |= {"clip": options.clip, **_picture(options)}
    return {name: value for name, value in values.items() if value not in (None, False, [], {})}


def _scene(options: argparse.Namespace) -> dict[str, Any]:
    """Return the options of the bridge, with absolute paths; convert applies ``--fps`` after loading."""
    values = dict(reading_options.bridge_options(options))
    if options.operation == "convert" and options.fps is not None:
        del values["fps"]
    for name in reading_options.COMPANIONS:
        if isinstance(values.get(name), str):
            values[name] = os.path.abspath(str(values[name]))
    return values


def _steps(options: argparse.Namespace) -> dict[str, Any]:
    values = operation_options.operations_of(options)
    values.pop("max_error", None)
    if "merge" in values:
        values["merge"] = os.path.abspath(str(values["merge"]))
    return values


def _picture(options: argparse.Namespace) -> dict[str, Any]:
    """Return the fields of `Settings` and `Presentation` that differ from their defaults."""
    from keyframer.cli import thumbnail  # loads the renderer

    request = thumbnail.PictureRequest(argparse.Namespace(**{**vars(options), "output": None}))
    values: dict[str, Any] = {}
    for name, part in (("settings", request.settings), ("presentation", request.presentation)):
        current = {field.name: getattr(part, field.name) for field in fields(part)}
        defaults = {field.name: field.default for field in fields(part)}
        values[name] = {
            key: list(value) if isinstance(value, tuple) else value
            for key, value in current.items()
            if value != defaults[key]
        }
    return values
