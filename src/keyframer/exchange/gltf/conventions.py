"""Shared by both directions of glTF: axes and units, single precision, linear colours, names, and our extras.

Files are right-handed with Y up. If necessary, a root node rotates the up axis and scales to metres. Left-handed data
is mirrored along one axis, so that no node needs a negative scale. Triangles keep their winding: it is
counter-clockwise seen from outside in either handedness.

Data that glTF cannot store goes to ``extras.keyframer``, as values of the scene that become JSON when the file is
written: bytes become hex digits, sets become sorted lists, non-finite numbers become ``null``. Long arrays are packed:
base64 of the zlib stream of their little-endian bytes, with type and shape. Names of nodes are unique, safe to show and
never empty.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import zlib
from collections.abc import Iterable
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

import numpy as np
import numpy.typing as npt

from keyframer.arrays import Array, Floats, Singles
from keyframer.formats.kit.scene_reading import UniqueNames
from keyframer.maths import affine
from keyframer.scene import Handedness, Space
from keyframer.text import safe_text
from keyframer.wire.lossless_json import array_to_json

_SQRT_HALF = math.sqrt(0.5)
_UP_ROTATIONS = {"x": (0.0, 0.0, _SQRT_HALF, _SQRT_HALF), "y": None, "z": (-_SQRT_HALF, 0.0, 0.0, _SQRT_HALF)}


class Axes:
    """Converts between the axes of one scene and those of glTF."""

    def __init__(self, space: Space, metres_per_unit: float = 1.0) -> None:
        self.up_rotation_xyzw = _UP_ROTATIONS[space.up]
        """rotation of the root node; None if it needs no rotation"""
        self.unit = metres_per_unit
        """metres per unit of the scene"""
        self.mirrored = space.handedness is Handedness.LEFT
        signs = np.ones(3)
        rotation_signs = np.ones(4)
        if self.mirrored:
            signs[1 if space.up == "z" else 2] = -1.0
            rotation_signs[:3] = -signs
        self._signs = signs
        self._rotation_signs = rotation_signs

    @property
    def needs_root(self) -> bool:
        return self.up_rotation_xyzw is not None or self.unit != 1.0

    def vectors(self, values: npt.ArrayLike) -> Floats:
        """Convert positions and directions (..., 3)."""
        array = np.asarray(values, np.float64)
        return array * self._signs if self.mirrored else array

    def rotations(self, rotation_xyzw: npt.ArrayLike) -> Floats:
        """Convert quaternions (..., 4), and their derivatives."""
        array = np.asarray(rotation_xyzw, np.float64)
        return array * self._rotation_signs if self.mirrored else array

    def matrices(self, values: npt.ArrayLike) -> Floats:
        """Convert matrices (..., 4, 4) that map one space of the scene to another."""
        array = np.asarray(values, np.float64)
        if not self.mirrored:
            return array
        signs = np.append(self._signs, 1.0)
        return np.asarray(array * signs[:, None] * signs)

    def root_matrix(self) -> Floats:
        """Return the (4, 4) matrix of the root node; the identity if there is no root node."""
        rotation = (0.0, 0.0, 0.0, 1.0) if self.up_rotation_xyzw is None else self.up_rotation_xyzw
        return affine.compose(np.zeros(3), rotation, np.full(3, self.unit))


LARGEST_SINGLE = float(np.finfo(np.float32).max)


def single(values: npt.ArrayLike) -> Singles:
    """Convert to single precision; NaN becomes 0, a number that is too large becomes the largest one of its sign."""
    array = np.asarray(values)
    if array.dtype != np.float32:
        with np.errstate(all="ignore"):
            array = array.astype(np.float32)
    if not np.isfinite(array).all():
        array = np.nan_to_num(array, nan=0.0, posinf=LARGEST_SINGLE, neginf=-LARGEST_SINGLE)
    return np.asarray(array, np.float32)


def count_unusable(values: npt.ArrayLike) -> int:
    """Return how many numbers `single` has to replace."""
    array = np.asarray(values)
    if not array.size or (array.min() >= -LARGEST_SINGLE and array.max() <= LARGEST_SINGLE):  # false if there is a NaN
        return 0
    if array.dtype != np.float32:
        with np.errstate(all="ignore"):
            array = array.astype(np.float32)
    return array.size - int(np.count_nonzero(np.isfinite(array)))


def json_numbers(values: npt.ArrayLike) -> list[Any]:
    """Return a vector, or rows of vectors, as a list for JSON: the shortest decimals that `single` reads back.

    Components that are rounding errors of the others become 0.
    """
    singles = single(values)
    sizes = np.abs(singles)
    noise = sizes < np.float32(1e-12) * sizes.max(axis=-1, initial=0.0, keepdims=True)
    return array_to_json(np.where(noise, np.float32(0.0), singles + np.float32(0.0)))  # -0 is 0


def with_singles(value: Any) -> Any:
    """Return a JSON value whose numbers are the shortest decimals of float32; those of extras are unchanged."""
    if type(value) is float:
        return float(str(single(value)))
    if type(value) is list:
        return [with_singles(element) for element in value]
    if type(value) is dict:
        return {key: element if key == "extras" else with_singles(element) for key, element in value.items()}
    return value


def fraction(value: float | None, default: float = 0.0) -> float:
    """Clamp a number to 0..1; None and non-finite numbers become the default."""
    number = default if value is None or not math.isfinite(value) else float(value)
    return min(max(number, 0.0), 1.0)


def bounds(rows: Array) -> tuple[list[float], list[float]]:
    """Return the minimum and the maximum of each column of (n, k) rows, n > 0."""
    columns = rows.T.copy()  # numpy is several times slower along short rows
    low, high = np.minimum.reduce(columns, axis=1), np.maximum.reduce(columns, axis=1)
    return (low + 0.0).tolist(), (high + 0.0).tolist()  # whether 0 or -0 is found depends on the processor


def linear_color(rgb: npt.ArrayLike) -> Any:
    """Convert display colours (..., 3), clamped to 0..1, to linear light, as used by glTF.

    The original programs showed their numbers directly: 0.5 was half of the screen signal, not half of the light.
    """
    array = np.asarray(rgb, np.float64)
    levels = np.minimum(np.maximum(np.where(array == array, array, 0.0), 0.0), 1.0)
    return np.where(levels <= 0.04045, levels / 12.92, ((levels + 0.055) / 1.055) ** 2.4)


def linear_level(level: float) -> float:
    """Return `linear_color` of one number, without the cost of an array."""
    clamped = min(max(0.0, level), 1.0) if level == level else 0.0
    return float(clamped / 12.92 if clamped <= 0.04045 else ((clamped + 0.055) / 1.055) ** 2.4)


def shown_color(linear: npt.ArrayLike) -> Floats:
    """Convert linear light to display colours: the inverse of `linear_color`."""
    array = np.clip(np.nan_to_num(np.asarray(linear, np.float64)), 0.0, 1.0)
    return np.asarray(np.where(array <= 0.0031308, array * 12.92, 1.055 * array ** (1 / 2.4) - 0.055))


def shown_rgb(linear: npt.ArrayLike) -> tuple[float, float, float]:
    """Return the display colour of one linear colour, rounded to nine decimals."""
    red, green, blue = np.round(shown_color(linear), 9).tolist()[:3]
    rgb: tuple[Any, Any, Any] = red, green, blue
    return rgb


PACKED_FROM = 256
"""smallest number of entries of an array that is packed"""

Json = dict[str, Any]


def json_value(value: Any) -> Any:
    """Convert a value of the scene model to JSON. Recursive: not for structures whose depth a file determines."""
    kind = type(value)
    if kind in _JSON_TYPES:
        return value
    if kind is float:
        return value if math.isfinite(value) else None
    if kind is dict:
        return {
            key if type(key) is str else str(key): element if type(element) in _JSON_TYPES else json_value(element)
            for key, element in value.items()
        }
    if kind is list or kind is tuple:
        return [element if type(element) in _JSON_TYPES else json_value(element) for element in value]
    if isinstance(value, np.ndarray):
        return _json_array(value)
    return _json_other(value)


def json_encoder_default(value: Any) -> Any:
    """Convert a value like `json_value`, but do not replace non-finite numbers in short arrays.

    The JSON encoder raises ValueError for them.
    """
    if type(value) is np.ndarray and value.size < PACKED_FROM:
        return value.tolist()
    return json_value(value)


_JSON_TYPES = frozenset((str, int, bool, type(None)))


def _json_array(array: Any) -> Any:
    if array.size >= PACKED_FROM:
        return packed(array)
    numbers = array.tolist()
    if array.dtype.kind == "f" and not all(map(math.isfinite, numbers if array.ndim == 1 else array.ravel().tolist())):
        return json_value(numbers)
    return numbers


def _json_other(value: Any) -> Any:
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value).hex()
    if isinstance(value, np.generic):
        return json_value(value.item())
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, dict):
        return json_value(dict(value))
    if isinstance(value, (set, frozenset)):
        return sorted(json_value(item) for item in value)
    if isinstance(value, (list, tuple)):
        return json_value(list(value))
    if is_dataclass(value):
        parts = (item.name for item in fields(value) if not item.metadata.get("not_in_extras"))
        return {name: json_value(getattr(value, name)) for name in parts}
    return str(value)


def packed(array: Any) -> Json:
    """Return an array as a JSON object: type, shape and compressed bytes."""
    little = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    data = base64.b64encode(zlib.compress(little.reshape(-1).view(np.uint8).data, 1)).decode("ascii")
    return {"dtype": little.dtype.str, "shape": list(array.shape), "zlib": data}


def non_default_fields(part: Any, *names: str) -> Json:
    """Return the named fields of a dataclass, without those that are None, empty or the default; arrays are kept."""
    kind = type(part)
    defaults = _DEFAULTS.get(kind)
    if defaults is None:
        defaults = _DEFAULTS[kind] = {field.name: field.default for field in fields(kind)}
    values: Json = {}
    for name in names:
        value = getattr(part, name)
        if value is None or (type(value) in (list, dict, set) and not value):
            continue
        if type(value) is not np.ndarray and value == defaults.get(name):
            continue
        values[name] = value
    return values


_DEFAULTS: dict[type[Any], dict[str, Any]] = {}
"""default values of the fields of each dataclass, determined once"""


def raw_name(raw: bytes | None, name: str, written_name: str | None) -> Json:
    """Return the raw name for extras; empty if there is none or if ``name`` has the same bytes. It belongs to the
    ``written_name`` (None if the part has no name): if another program renames the part, reading ignores it.
    """
    if raw is None or raw == name.encode("utf-8", "surrogatepass"):
        return {}
    return {"raw_name": raw.hex()} if written_name is None else {"name": written_name, "raw_name": raw.hex()}


def original_gltf_values(extras: Json) -> Json:
    """Return the original values of a part that was read from glTF; empty for other parts."""
    content = extras.get("gltf")
    return content if type(content) is dict else {}


def content_hash(root: Json, buffers: Iterable[bytes | memoryview]) -> str:
    """Return the SHA-256 of everything that a file shows: its parsed JSON without the embedded source and the locations
    of buffers, and the content of the buffers.
    """
    extras = root["asset"]["extras"]
    ours = {name: value for name, value in extras["keyframer"].items() if name != "embedded"}
    entries = [{name: value for name, value in entry.items() if name != "uri"} for entry in root.get("buffers", ())]
    content = {**root, "asset": {**root["asset"], "extras": {**extras, "keyframer": ours}}, "buffers": entries}
    digest = hashlib.sha256(json.dumps(content, sort_keys=True, separators=(",", ":")).encode("ascii"))
    for part in buffers:
        digest.update(part)
    return digest.hexdigest()


def attach_extras(target: Json, content: Json) -> None:
    """Add content to ``extras.keyframer``, unless it is empty."""
    if content:
        target.setdefault("extras", {}).setdefault("keyframer", {}).update(content)


class Names(UniqueNames):
    """Makes names unique and safe to show: the second ``Box`` becomes ``Box.002``."""

    numbered = "{}.{:03d}"

    def claim(self, wanted: str, fallback: str = "node") -> str:
        return super().claim(safe_text(wanted).strip() or fallback)
