"""Shared by both directions of glTF: numbers in JSON, names, and our extras.

Files are right-handed with Y up. If necessary, a root node rotates the up axis and scales to metres.

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

from keyframer.exchange.kit.numbers import single
from keyframer.formats.kit.scene_reading import UniqueNames
from keyframer.text import safe_text
from keyframer.wire.lossless_json import array_to_json


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


PACKED_FROM = 64
"""smallest number of entries of an array that is packed: masks of fewer faces are longer packed than listed"""

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
        name = safe_text(wanted)  # with spaces at its end, too: scripts address bones by name
        return super().claim(name if name.strip() else fallback)


ROOT_NAME = "Y_up"
"""the name of the helper node that turns a whole scene; other programs keep it, but not always our extras"""
