"""What glTF cannot say, as plain JSON under ``extras.keyframer``.

Bytes become hex digits, sets sorted lists, numbers that JSON does not know ``null``. Long arrays are packed: base64 of
the zlib stream of their little-endian bytes, with type and shape beside it. Names of nodes are never empty, all
different and safe to show.
"""

from __future__ import annotations

import base64
import math
import zlib
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

import numpy as np

from keyframer.curves import Track
from keyframer.text import decode_name, safe_text

PACKED_FROM = 256
"""arrays of so many numbers are packed"""

Json = dict[str, Any]


def plain(value: Any) -> Any:
    """Any value of the scene model as JSON. Not for deep structures that a file decides: these are flat by design."""
    kind = type(value)
    if kind in _AS_THEY_ARE:
        return value
    if kind is float:
        return value if math.isfinite(value) else None
    if kind is dict:
        return {
            key if type(key) is str else str(key): item if type(item) in _AS_THEY_ARE else plain(item)
            for key, item in value.items()
        }
    if kind is list or kind is tuple:
        return [item if type(item) in _AS_THEY_ARE else plain(item) for item in value]
    if isinstance(value, np.ndarray):
        return _plain_array(value)
    return _plain_other(value)


_AS_THEY_ARE = frozenset((str, int, bool, type(None)))


def _plain_array(array: Any) -> Any:
    if array.size >= PACKED_FROM:
        return packed(array)
    numbers = array.tolist()
    if array.dtype.kind == "f" and not all(map(math.isfinite, numbers if array.ndim == 1 else array.ravel().tolist())):
        return plain(numbers)
    return numbers


def _plain_other(value: Any) -> Any:
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value).hex()
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, dict):
        return plain(dict(value))
    if isinstance(value, (set, frozenset)):
        return sorted(plain(item) for item in value)
    if isinstance(value, (list, tuple)):
        return plain(list(value))
    if is_dataclass(value):
        parts = (item.name for item in fields(value) if not item.metadata.get("apart"))
        return {name: plain(getattr(value, name)) for name in parts}
    return str(value)


def packed(array: Any) -> Json:
    """An array as text that survives every tool that keeps extras."""
    little = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    data = base64.b64encode(zlib.compress(little.reshape(-1).view(np.uint8).data, 1)).decode("ascii")
    return {"dtype": little.dtype.str, "shape": list(array.shape), "zlib": data}


def stated(item: Any, *names: str) -> Json:
    """The named attributes of a dataclass that differ from what it would have anyway."""
    kind = type(item)
    defaults = _DEFAULTS.get(kind)
    if defaults is None:
        defaults = _DEFAULTS[kind] = {field.name: field.default for field in fields(kind)}
    found: Json = {}
    for name in names:
        value = getattr(item, name)
        if value is None or (type(value) in (list, dict, set) and not value):
            continue
        if type(value) is not np.ndarray and value == defaults.get(name):
            continue
        found[name] = plain(value)
    return found


_DEFAULTS: dict[type[Any], dict[str, Any]] = {}
"""of the dataclasses of the scene, found once"""


def raw_name(raw: bytes | None, shown: str) -> Json:
    """The bytes of a name, where the shown name does not say them already."""
    if raw is None or raw == shown.encode("utf-8", "surrogatepass"):
        return {}
    return {"name": decode_name(raw), "raw_name": raw.hex()} if raw else {"raw_name": ""}


def shown_name(name: str) -> str:
    """A name fit for the name of anything: nothing in it steers a terminal or hides."""
    return safe_text(name)


def said_in_gltf(extras: Json) -> Json:
    """What a glTF file said in its own terms of a part that was read from it."""
    found = extras.get("gltf")
    return found if type(found) is dict else {}


def attach(target: Json, content: Json) -> None:
    """Put content under ``extras.keyframer``, if there is any."""
    if content:
        target.setdefault("extras", {}).setdefault("keyframer", {}).update(content)


_COLUMNS = ("tension", "continuity", "bias", "ease_to", "ease_from", "flags", "tangents_in", "tangents_out")


def track_extras(track: Track, clip: int, in_sampler: bool) -> Json:
    """Authored keys. Where the glTF sampler holds the very same keys, only what it cannot say is repeated."""
    content: Json = {"clip": clip, "kind": track.kind, "interpolation": track.interpolation.value}
    if track.wrap.value != "single":
        content["wrap"] = track.wrap.value
    if track.is_rotation:
        content["form"] = track.form.value
    if in_sampler:
        content["keys_in_sampler"] = True
        content["count"] = len(track.times)
    else:
        content["times"], content["values"] = plain(track.times), plain(track.values)
    for name in _COLUMNS:
        column = getattr(track, name)
        if column is not None and column.any():
            content[name] = plain(column)
    if track.extras:
        content["extras"] = plain(track.extras)
    return content


class Names:
    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._next: dict[str, int] = {}

    def claim(self, wanted: str, fallback: str = "node") -> str:
        """The wanted name, with a number behind it where it is taken."""
        base = safe_text(wanted).strip() or fallback
        name = base
        while name in self._taken:
            number = self._next.get(base, 2)
            self._next[base] = number + 1
            name = f"{base}.{number:03d}"
        self._taken.add(name)
        return name
