"""Finds the images of a scene, and reports guessed, missing and refused images."""

from __future__ import annotations

import argparse
from contextlib import suppress
from typing import TYPE_CHECKING

from keyframer.cli.inputs import Input
from keyframer.cli.messages import detail, note
from keyframer.cli.scene_loading import path_of
from keyframer.files import note_input
from keyframer.text import counted, safe_text
from keyframer.textures import ImageRefused, TextureFinder, TextureSource
from keyframer.textures.texture_source import first_of_list, is_image_list

if TYPE_CHECKING:
    from keyframer.scene import Scene


def finder_for(item: Input, options: argparse.Namespace) -> TextureFinder | None:
    """Return a finder for the folder of the file and those of ``--texture-path``; None with ``--no-textures``."""
    if options.no_textures:
        return None
    path = path_of(item)
    return TextureFinder(
        [*([] if path is None else [path.parent]), *options.texture_path], recursive=options.texture_recursive
    )


def note_inputs(item: Input, scene: Scene, options: argparse.Namespace) -> None:
    """Register the existing images of a scene as inputs, without opening them."""
    finder = finder_for(item, options)
    if finder is None:
        return
    for map in [map for material in scene.materials for map in material.maps.values()]:
        path = finder.find(map.file_name).path
        if path is None:
            continue
        note_input(path)
        if is_image_list(path):
            with suppress(ImageRefused):
                note_input(first_of_list(finder, path))


_NAMED = 3
"""maximum number of missing images that are named without ``-v``"""


def report(item: Input, source: TextureSource | None, options: argparse.Namespace) -> None:
    """Report images on stderr: missing ones in one line, guessed and refused ones in one line each; with ``-v`` the
    names of all missing ones, and those found by their exact name.
    """
    missing: list[str] = []
    for opened in source.opened if source is not None else ():
        is_missing = opened.match.how == "missing"
        if is_missing:
            missing.append(safe_text(opened.match.name)[:200])
        if not is_missing and (opened.texture is None or opened.match.is_guess or opened.reason):
            note(options, f"{item.name}: {opened}")
        else:
            detail(options, f"{item.name}: {opened}")
    if source is not None and missing:
        folders = [safe_text(str(folder)) for folder in source.finder.folders]
        more = len(folders) - _NAMED
        searched = ", ".join(folders[:_NAMED]) + (f" and {more} more" if more > 0 else "")
        where = f" beside the file (searched: {searched};" if searched else " (no folder searched;"
        names = f": {', '.join(missing)}" if len(missing) <= _NAMED else ""
        hint = "see --texture-path, --texture-recursive)"
        note(options, f"{item.name}: {counted(len(missing), 'image')} not found{where} {hint}{names}")
