"""Which fields of a scene are the same in the scene of the written file, whatever its records are."""

from __future__ import annotations

from typing import Any

import numpy as np

from keyframer.curves import Track, compile_track
from keyframer.formats._matching import NODE_LINKS, Comparison, Path, tracks_by_node_and_kind
from keyframer.scene import Scene

_ROUNDED = Comparison(1e-6)
"""files store float32 numbers"""
_NAMED = ("nodes", "materials")


class Arrival:
    """Compares fields of a ``wanted`` scene with those of the ``loaded`` one; nodes and materials pair by name."""

    def __init__(self, wanted: Scene, loaded: Scene) -> None:
        self._wanted, self._loaded = wanted, loaded
        self._numbers = {
            kind: {part.name: number for number, part in reversed(list(enumerate(getattr(loaded, kind))))}
            for kind in _NAMED
        }
        scenes = (wanted, loaded)
        self._tracks = [tracks_by_node_and_kind(scene.clips[0]) or {} if scene.clips else {} for scene in scenes]

    def of(self, path: Path) -> bool:
        """Return whether the field at a path of the wanted scene has the same value in the loaded one."""
        match path:
            case ("nodes", int(number), "parent" | "target" as link):
                other = self._number("nodes", number)
                return other is not None and _linked(self._wanted, number, link) == _linked(self._loaded, other, link)
            case ("nodes", int(), link) if link in NODE_LINKS:
                return False  # which part it is cannot be compared by numbers
            case ("nodes" | "materials" as kind, int(number), *fields):
                other = self._number(kind, number)
                parts = getattr(self._wanted, kind), getattr(self._loaded, kind)
                return other is not None and _same(parts[0][number], parts[1][other], fields)
            case ("clips", 0, "channels", int(number), str(kind)):
                other = self._number("nodes", number)
                wanted, loaded = self._tracks[0].get((number, kind)), self._tracks[1].get((other or 0, kind))
                if other is None or wanted is None or loaded is None:
                    return other is not None and wanted is loaded
                return _ROUNDED.same_tracks(wanted, loaded) or _same_curve(wanted, loaded)
            case ("meshes" | "cameras" | "lights" | "skins" as kind, int(number), *fields) if fields != ["name"]:
                return self._same_linked(kind, number, fields)
            case ("environment" | "title" | "author" | "copyright", *_):
                return _same(self._wanted, self._loaded, list(path))
            case ("clips", 0, str(name)) if self._loaded.clips:
                return _same(self._wanted.clips[0], self._loaded.clips[0], [name])
        return False

    def _number(self, kind: str, number: int) -> int | None:
        return self._numbers[kind].get(getattr(self._wanted, kind)[number].name)

    def _same_linked(self, kind: str, number: int, fields: list[Any]) -> bool:
        """Compare a mesh, camera, light or skin of each node that has it."""
        link = next(name for name, parts in NODE_LINKS.items() if parts == kind)
        users = [i for i, node in enumerate(self._wanted.nodes) if getattr(node, link) == number]
        for user in users:
            other = self._number("nodes", user)
            loaded = None if other is None else getattr(self._loaded.nodes[other], link)
            parts = getattr(self._wanted, kind), getattr(self._loaded, kind)
            if loaded is None or not _same(parts[0][number], parts[1][loaded], fields):
                return False
        return bool(users)


def _same_curve(wanted: Track, loaded: Track) -> bool:
    """Return whether two tracks have the same values at all keys and between them, whatever their keys are."""
    if (wanted.kind, wanted.wrap) != (loaded.kind, loaded.wrap) or not (len(wanted.times) and len(loaded.times)):
        return False
    keys = np.unique(np.concatenate([wanted.times, loaded.times]))
    times = np.concatenate([keys, *(keys[:-1] + part * np.diff(keys) for part in _BETWEEN)])
    first, second = compile_track(wanted)(times), compile_track(loaded)(times)
    if first.shape != second.shape:
        return False
    if wanted.kind in ("rotation", "scale_axes"):
        return bool(np.allclose(np.abs((first * second).sum(axis=1)), 1.0, rtol=0, atol=1e-9))
    return _ROUNDED.same(first, second)


_BETWEEN = (0.2, 0.5, 0.7)
"""where curves are compared between two keys: ease at both ends does not change the middle"""


def _linked(scene: Scene, number: int, link: str) -> str | None:
    """Return the name of the parent or target of a node."""
    other = getattr(scene.nodes[number], link)
    return None if other is None or not 0 <= other < len(scene.nodes) else scene.nodes[other].name


def _same(wanted: Any, loaded: Any, fields: list[Any]) -> bool:
    """Compare a field of two parts: an attribute, or a map and its attribute."""
    for name in fields:
        if isinstance(wanted, dict) != isinstance(loaded, dict):
            return False
        if isinstance(wanted, dict):
            if (name in wanted) != (name in loaded):
                return False
            wanted, loaded = wanted.get(name), loaded.get(name)
        else:
            wanted, loaded = getattr(wanted, name, None), getattr(loaded, name, None)
    return _ROUNDED.same(wanted, loaded)
