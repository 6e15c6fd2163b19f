"""Find the differences between two scenes, as paths of fields.

A path is a tuple: ``("nodes", 3, "position")``, ``("materials", 0, "maps", "texture1", "file_name")``,
``("environment", "fog")``. A channel is named by its node and kind: ``("clips", 0, "channels", 3, "rotation")``. Lists
of different lengths are one difference: ``("nodes",)``. Extras, and names and ids as stored in a file, are not
compared.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from keyframer.curves import Track
from keyframer.scene import Clip, Scene

Path = tuple[str | int, ...]

_LISTS = ("nodes", "meshes", "materials", "cameras", "lights", "skins")
_SINGLE = ("environment", "title", "author", "copyright", "space")
_SKIPPED = {"extras", "raw_name", "raw_file_name", "file_id", "channels"}
_KEYS = ("times", "values", "tangents_in", "tangents_out")
_TCB_COLUMNS = ("tension", "continuity", "bias", "ease_to", "ease_from")


_compared: dict[type[Any], tuple[str, ...]] = {}
"""names of the compared fields of each type, found on first use"""


def _field_names(kind: type[Any]) -> tuple[str, ...]:
    if kind not in _compared:
        _compared[kind] = tuple(field.name for field in fields(kind) if field.name not in _SKIPPED)
    return _compared[kind]


class Comparison:
    """Compares scenes.

    ``relative`` is the allowed difference of numbers, relative to the numbers and to the largest one of their array; 0
    means exact comparison.
    """

    def __init__(self, relative: float = 0.0) -> None:
        self.relative = relative

    def scenes(self, a: Scene, b: Scene) -> list[Path]:
        """Return the paths of all differences."""
        paths: list[Path] = []
        for name in _LISTS:
            parts_a, parts_b = getattr(a, name), getattr(b, name)
            if len(parts_a) != len(parts_b):
                paths.append((name,))
                continue
            for number, (value_a, value_b) in enumerate(zip(parts_a, parts_b, strict=True)):
                paths += [(name, number, *field) for field in self._fields(value_a, value_b)]
        for name in _SINGLE:
            value_a, value_b = getattr(a, name), getattr(b, name)
            if name == "environment":
                paths += [(name, *field) for field in self._fields(value_a, value_b)]
            elif not self.same(value_a, value_b):
                paths.append((name,))
        if len(a.clips) != len(b.clips):
            return [*paths, ("clips",)]
        for number, (clip, other_clip) in enumerate(zip(a.clips, b.clips, strict=True)):
            paths += [("clips", number, *field) for field in self._fields(clip, other_clip)]
            paths += [("clips", number, "channels", *field) for field in self._channels(clip, other_clip)]
        return paths

    def _fields(self, a: Any, b: Any) -> list[Path]:
        paths: list[Path] = []
        for name in _field_names(type(a)):
            value_a, value_b = getattr(a, name), getattr(b, name)
            if value_a is value_b:
                continue
            if name == "maps" and set(value_a) == set(value_b):
                for slot in value_a:
                    paths += [("maps", slot, *field) for field in self._fields(value_a[slot], value_b[slot])]
            elif not self.same(value_a, value_b):
                paths.append((name,))
        return paths

    def _channels(self, a: Clip, b: Clip) -> list[Path]:
        tracks_a, tracks_b = tracks_by_node_and_kind(a), tracks_by_node_and_kind(b)
        if tracks_a is None or tracks_b is None:
            return [()]
        keys = sorted(set(tracks_a) | set(tracks_b))
        return [
            key
            for key in keys
            if key not in tracks_a or key not in tracks_b or not self.same_tracks(tracks_a[key], tracks_b[key])
        ]

    def same_tracks(self, a: Track, b: Track) -> bool:
        """Return whether two tracks are the same; a missing column of TCB parameters equals zeros."""
        if (a.kind, a.interpolation, a.wrap, a.form) != (b.kind, b.interpolation, b.wrap, b.form):
            return False
        if not all(self.same(getattr(a, name), getattr(b, name)) for name in _KEYS):
            return False
        present = [name for name in _TCB_COLUMNS if getattr(a, name) is not None or getattr(b, name) is not None]
        return all(self.same(_or_zeros(a, name), _or_zeros(b, name)) for name in present)

    def same(self, a: Any, b: Any) -> bool:
        """Return whether two values of a field are the same."""
        if a is b:
            return True
        if is_dataclass(a) and type(a) is type(b):
            return not self._fields(a, b)
        if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
            return a is not None and b is not None and self._same_arrays(np.asarray(a), np.asarray(b))
        if isinstance(a, float) or isinstance(b, float):
            numeric = isinstance(a, (int, float)) and isinstance(b, (int, float))
            return numeric and self._same_arrays(np.asarray(a), np.asarray(b))
        if isinstance(a, (tuple, list)) and isinstance(b, (tuple, list)):
            return len(a) == len(b) and all(self.same(value_a, value_b) for value_a, value_b in zip(a, b, strict=True))
        return bool(a == b)

    def _same_arrays(self, a: Any, b: Any) -> bool:
        if a.shape != b.shape:
            return False
        if a.dtype == b.dtype and a.tobytes() == b.tobytes():  # ten times faster than comparing numbers
            return True
        if a.dtype.kind != "f" and b.dtype.kind != "f":
            return bool(np.array_equal(a, b))
        if not self.relative:
            return bool(np.array_equal(a, b, equal_nan=True))
        finite = np.abs(np.nan_to_num(a, nan=0.0, posinf=0.0, neginf=0.0))
        size = max(float(finite.max(initial=0.0)), 1e-3)
        return bool(np.allclose(a, b, rtol=self.relative, atol=self.relative * size, equal_nan=True))


def tracks_by_node_and_kind(clip: Clip) -> dict[tuple[int, str], Track] | None:
    """Return the tracks by node and kind; None if a node has two of one kind, which paths cannot distinguish."""
    tracks = {(channel.node, channel.track.kind): channel.track for channel in clip.channels}
    return tracks if len(tracks) == len(clip.channels) else None


def path_text(path: Path) -> str:
    """Return a path as text: ``/nodes/3/position``."""
    return "/" + "/".join(map(str, path))


def _or_zeros(track: Track, name: str) -> Any:
    column = getattr(track, name)
    return np.zeros(len(track.times)) if column is None else column
