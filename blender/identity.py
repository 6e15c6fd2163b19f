# SPDX-License-Identifier: GPL-3.0-or-later
"""Remembers which part of a file a data-block shows, in one custom property that Blender keeps with it."""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass
from typing import Any

from keyframer.scene import Material, TextureMap

PROPERTY = "keyframer"
HELPER = "helper"
"""an object that only the import needs, to show another one"""
AIM = "aim"
"""a helper in the place of a camera or light, which it aims"""


def mark(block: Any, name: str, **more: Any) -> None:
    """Note the name of a part of a file, the one that its data-block got, and more about it."""
    block[PROPERTY] = json.dumps({"name": name, "shown": block.name, **more})


def note(block: Any) -> dict[str, Any]:
    """Return what was noted about a data-block; nothing if it was not imported."""
    text = block.get(PROPERTY)
    try:
        values = json.loads(text) if isinstance(text, str) else {}
    except ValueError:
        return {}
    return values if isinstance(values, dict) else {}


def add_note(block: Any, **more: Any) -> None:
    block[PROPERTY] = json.dumps({**note(block), **more})


def name_of(block: Any) -> str:
    """Return the name in the file, unless a user gave the data-block another one."""
    noted = note(block)
    return str(noted["name"]) if noted.get("shown") == block.name and "name" in noted else str(block.name)


def is_own(block: Any) -> bool:
    """Return whether a data-block is the imported one itself, not a copy of it."""
    return bool(note(block).get("shown") == block.name)


def material_values(material: Material) -> dict[str, Any]:
    """Return a material as values for JSON, without bytes and images."""
    values = {item.name: _plain(getattr(material, item.name)) for item in fields(material) if item.name in _KEPT}
    for slot, texture in material.maps.items():
        if texture.embedded is not None:
            del values["maps"][slot]  # Blender has the image
    return values


def restored(material: Material, stored: dict[str, Any], seen: dict[str, Any]) -> Material:
    """Return a material as it was imported from ``stored``, with the values that are no longer those that were
    ``seen`` right after that."""
    now = material_values(material)
    result = Material(str(material.name))
    for item in fields(Material):
        if item.name not in _KEPT or item.name not in stored:
            continue
        is_edited = now.get(item.name) != seen.get(item.name)
        if item.name == "maps":
            result.maps = _restored_maps(material, stored["maps"], seen.get("maps", {}))
        elif is_edited:
            setattr(result, item.name, getattr(material, item.name))
        else:
            value = stored[item.name]
            setattr(result, item.name, tuple(value) if isinstance(value, list) else value)
    return result


def _restored_maps(material: Material, stored: dict[str, Any], seen: dict[str, Any]) -> dict[str, TextureMap]:
    """Return the maps of a material: those whose image Blender shows, or never could, as they were imported."""
    maps = {}
    for slot in [*stored, *(slot for slot in material.maps if slot not in stored)]:
        shown, was_shown = material.maps.get(slot), slot in seen
        if slot in stored and ((shown is None and not was_shown) or _file(shown) == _file_of(seen.get(slot))):
            maps[slot] = _map(stored[slot])
        elif shown is not None:
            maps[slot] = shown
    return maps


def _file(texture: TextureMap | None) -> str | None:
    return None if texture is None else texture.file_name


def _file_of(values: dict[str, Any] | None) -> str | None:
    return None if values is None else values["file_name"]


def _map(values: dict[str, Any]) -> TextureMap:
    known = {item.name for item in fields(TextureMap)}
    stated: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in values.items() if k in known}
    return TextureMap(**stated)


_KEPT = {item.name for item in fields(Material)} - {"name", "raw_name", "extras"}


def _plain(value: Any) -> Any:
    """Return a value for JSON; bytes, images and further data of the format are left out."""
    if is_dataclass(value) and not isinstance(value, type):
        left_out = ("raw_file_name", "embedded", "extras", "raw_name")
        return {item.name: _plain(getattr(value, item.name)) for item in fields(value) if item.name not in left_out}
    if isinstance(value, dict):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return value if isinstance(value, str | int | float | bool | None) else str(value)
