"""Shared by both directions of glTF: axes and units, single precision, linear colours, names, and our extras.

A scene's axes become right-handed, Y up, metres. Left-handed data is mirrored along one axis, so that no node needs a
negative scale; one root node rotates the up axis and applies the unit. Triangles keep their winding: it is
counter-clockwise seen from outside in either handedness.

Data that glTF cannot store is plain JSON under ``extras.keyframer``. Parts of the scene are stored there unchanged and
become JSON when the file is written: bytes become hex digits, sets sorted lists, non-finite numbers ``null``. Long
arrays are packed: base64 of the zlib stream of their little-endian bytes, with type and shape. Names of nodes are never
empty, unique and safe to show.
"""

from __future__ import annotations

import base64
import math
import zlib
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

import numpy as np
import numpy.typing as npt

from keyframer.arrays import Array, Floats, Singles
from keyframer.curves import Track
from keyframer.formats.kit.scene_reading import UniqueNames
from keyframer.maths import affine
from keyframer.scene import Handedness, Space
from keyframer.text import decode_name, safe_text

_HALF = math.sqrt(0.5)
_TURNS = {"x": (0.0, 0.0, _HALF, _HALF), "y": None, "z": (-_HALF, 0.0, 0.0, _HALF)}


class Axes:
    """The conversion of axes of one scene."""

    def __init__(self, space: Space, metres_per_unit: float = 1.0) -> None:
        self.turn_xyzw = _TURNS[space.up]
        """rotation of the root node, None for none"""
        self.unit = metres_per_unit
        self.mirrored = space.handedness is Handedness.LEFT
        self.axis = 1 if space.up == "z" else 2
        """the axis that is negated if ``mirrored``"""
        signs = np.ones(3)
        turn_signs = np.ones(4)
        if self.mirrored:
            signs[self.axis] = -1.0
            turn_signs[:3] = -signs
        self._signs = signs
        self._turn_signs = turn_signs

    @property
    def needs_root(self) -> bool:
        return self.turn_xyzw is not None or self.unit != 1.0

    def vectors(self, values: npt.ArrayLike) -> Floats:
        """Convert positions and directions (..., 3)."""
        given = np.asarray(values, np.float64)
        return given * self._signs if self.mirrored else given

    def turns(self, rotation_xyzw: npt.ArrayLike) -> Floats:
        """Convert quaternions (..., 4), and their derivatives."""
        given = np.asarray(rotation_xyzw, np.float64)
        return given * self._turn_signs if self.mirrored else given

    def matrices(self, values: npt.ArrayLike) -> Floats:
        """Convert matrices (..., 4, 4) between two spaces that are both mirrored."""
        given = np.asarray(values, np.float64)
        if not self.mirrored:
            return given
        signs = np.append(self._signs, 1.0)
        return np.asarray(given * signs[:, None] * signs)

    def root_matrix(self) -> Floats:
        """Return the (4, 4) matrix of the root node; identity without one."""
        turn = (0.0, 0.0, 0.0, 1.0) if self.turn_xyzw is None else self.turn_xyzw
        return affine.compose(np.zeros(3), turn, np.full(3, self.unit))


LARGEST = float(np.finfo(np.float32).max)


def single(values: npt.ArrayLike) -> Singles:
    """Convert to single precision; NaN becomes 0, numbers out of range the largest number of their sign."""
    given = np.asarray(values)
    if given.dtype != np.float32:
        with np.errstate(all="ignore"):
            given = given.astype(np.float32)
    if not np.isfinite(given).all():
        given = np.nan_to_num(given, nan=0.0, posinf=LARGEST, neginf=-LARGEST)
    return np.asarray(given, np.float32)


def unusable(values: npt.ArrayLike) -> int:
    """Return how many numbers `single` has to replace."""
    given = np.asarray(values)
    if not given.size or (given.min() >= -LARGEST and given.max() <= LARGEST):  # false if there is a NaN
        return 0
    if given.dtype != np.float32:
        with np.errstate(all="ignore"):
            given = given.astype(np.float32)
    return given.size - int(np.count_nonzero(np.isfinite(given)))


def json_numbers(values: npt.ArrayLike) -> list[Any]:
    """Return numbers for JSON, within the range of single precision: a list, nested for rows."""
    given = np.asarray(values, np.float64)
    if not np.abs(given).max(initial=0.0) <= LARGEST:  # true if there is a NaN
        given = np.clip(np.nan_to_num(given, nan=0.0, posinf=LARGEST, neginf=-LARGEST), -LARGEST, LARGEST)
    plain: list[Any] = given.tolist()
    return plain


def fraction(value: float | None, default: float = 0.0) -> float:
    """Clamp a number to 0..1."""
    number = default if value is None or not math.isfinite(value) else float(value)
    return min(max(number, 0.0), 1.0)


def bounds(rows: Array) -> tuple[list[float], list[float]]:
    """Return the minimum and the maximum of each column of (n, k) rows, n > 0."""
    columns = rows.T.copy()  # numpy is several times slower along columns of a few
    return np.minimum.reduce(columns, axis=1).tolist(), np.maximum.reduce(columns, axis=1).tolist()


def linear_color(rgb: npt.ArrayLike) -> Any:
    """Convert display colours (..., 3) to linear light, as used by colour factors and vertex colours of glTF.

    The original programs showed their numbers directly: 0.5 was half of the screen signal, not half of the light.
    """
    given = np.asarray(rgb, np.float64)
    shown = np.minimum(np.maximum(np.where(given == given, given, 0.0), 0.0), 1.0)
    return np.where(shown <= 0.04045, shown / 12.92, ((shown + 0.055) / 1.055) ** 2.4)


def linear_level(level: float) -> float:
    """Return `linear_color` of one number, without the cost of an array."""
    shown = min(max(0.0, level), 1.0) if level == level else 0.0
    return float(shown / 12.92 if shown <= 0.04045 else ((shown + 0.055) / 1.055) ** 2.4)


def shown_color(linear: npt.ArrayLike) -> Floats:
    """Convert linear light to display colours: the inverse of `linear_color`."""
    given = np.clip(np.nan_to_num(np.asarray(linear, np.float64)), 0.0, 1.0)
    return np.asarray(np.where(given <= 0.0031308, given * 12.92, 1.055 * given ** (1 / 2.4) - 0.055))


def shown_rgb(linear: npt.ArrayLike) -> tuple[float, float, float]:
    """Return the display colour of one linear colour, rounded to nine decimals."""
    red, green, blue = np.round(shown_color(linear), 9).tolist()[:3]
    rgb: tuple[Any, Any, Any] = red, green, blue
    return rgb


PACKED_FROM = 256
"""smallest number of entries of an array that is packed"""

Json = dict[str, Any]


def plain(value: Any) -> Any:
    """Convert a value of the scene model to JSON. Recursive: not for structures whose depth a file determines."""
    kind = type(value)
    if kind in _AS_THEY_ARE:
        return value
    if kind is float:
        return value if math.isfinite(value) else None
    if kind is dict:
        return {
            key if type(key) is str else str(key): element if type(element) in _AS_THEY_ARE else plain(element)
            for key, element in value.items()
        }
    if kind is list or kind is tuple:
        return [element if type(element) in _AS_THEY_ARE else plain(element) for element in value]
    if isinstance(value, np.ndarray):
        return _plain_array(value)
    return _plain_other(value)


def plain_inside_json(value: Any) -> Any:
    """Convert a value like `plain`, but keep non-finite numbers of short arrays: the JSON encoder rejects them."""
    if type(value) is np.ndarray and value.size < PACKED_FROM:
        return value.tolist()
    return plain(value)


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
        parts = (item.name for item in fields(value) if not item.metadata.get("not_in_extras"))
        return {name: plain(getattr(value, name)) for name in parts}
    return str(value)


def packed(array: Any) -> Json:
    """Return an array as text that survives every tool that keeps extras."""
    little = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    data = base64.b64encode(zlib.compress(little.reshape(-1).view(np.uint8).data, 1)).decode("ascii")
    return {"dtype": little.dtype.str, "shape": list(array.shape), "zlib": data}


def non_default_fields(part: Any, *names: str) -> Json:
    """Return the named attributes of a dataclass that differ from their defaults."""
    kind = type(part)
    defaults = _DEFAULTS.get(kind)
    if defaults is None:
        defaults = _DEFAULTS[kind] = {field.name: field.default for field in fields(kind)}
    stated_values: Json = {}
    for name in names:
        value = getattr(part, name)
        if value is None or (type(value) in (list, dict, set) and not value):
            continue
        if type(value) is not np.ndarray and value == defaults.get(name):
            continue
        stated_values[name] = value
    return stated_values


_DEFAULTS: dict[type[Any], dict[str, Any]] = {}
"""default values of the fields of each dataclass, determined once"""


def raw_name(raw: bytes | None, shown: str) -> Json:
    """Return the stored name for extras; nothing if the shown name has the same bytes."""
    if raw is None or raw == shown.encode("utf-8", "surrogatepass"):
        return {}
    return {"name": decode_name(raw), "raw_name": raw.hex()} if raw else {"raw_name": ""}


def shown_name(name: str) -> str:
    """Return a name that is safe to show in any program."""
    return safe_text(name)


def original_gltf_values(extras: Json) -> Json:
    """Return the values that a glTF file had for a part that was read from it."""
    content = extras.get("gltf")
    return content if type(content) is dict else {}


def attach_extras(target: Json, content: Json) -> None:
    """Store content under ``extras.keyframer``, if there is any."""
    if content:
        target.setdefault("extras", {}).setdefault("keyframer", {}).update(content)


_COLUMNS = ("tension", "continuity", "bias", "ease_to", "ease_from", "flags", "tangents_in", "tangents_out")


def track_extras(track: Track, clip: int, in_sampler: bool) -> Json:
    """Return authored keys for extras; if the glTF sampler has the same keys, only what it cannot store."""
    content: Json = {"clip": clip, "kind": track.kind, "interpolation": track.interpolation.value}
    if track.wrap.value != "single":
        content["wrap"] = track.wrap.value
    if track.is_rotation:
        content["form"] = track.form.value
    if in_sampler:
        content["keys_in_sampler"] = True
        content["count"] = len(track.times)
    else:
        content["times"], content["values"] = track.times, track.values
    for name in _COLUMNS:
        column = getattr(track, name)
        if column is not None and column.any():
            content[name] = column
    if track.extras:
        content["extras"] = track.extras
    return content


class Names(UniqueNames):
    """Makes names unique and safe to show: the second ``Box`` becomes ``Box.002``."""

    numbered = "{}.{:03d}"

    def claim(self, wanted: str, fallback: str = "node") -> str:
        return super().claim(safe_text(wanted).strip() or fallback)
