"""A glTF asset under construction: its JSON lists, its binary buffer, and the files of both.

Arrays of equal layout share a buffer view (a pool), so that thousands of meshes need only a few views. Equal arrays are
written once. Arrays are not concatenated in memory: the file is written part by part, atomically.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote
from zlib import crc32

import numpy as np

from keyframer import __version__
from keyframer.arrays import Array
from keyframer.exchange.gltf.conventions import (
    Json,
    attach_extras,
    content_hash,
    json_encoder_default,
    json_value,
    with_singles,
)
from keyframer.exchange.kit.numbers import bounds as column_bounds
from keyframer.files import content_name, write_bytes, write_set
from keyframer.wire.lossless_json import array_to_json

VERTICES = 34962
INDICES = 34963

_COMPONENTS = {"i1": 5120, "u1": 5121, "i2": 5122, "u2": 5123, "u4": 5125, "f4": 5126}
_TYPES = {1: "SCALAR", 2: "VEC2", 3: "VEC3", 4: "VEC4", 16: "MAT4"}


@dataclass(eq=False, repr=False)
class _Pool:
    """The content of one buffer view."""

    target: int | None
    stride: int | None
    parts: list[Array] = field(default_factory=list)
    size: int = 0

    def add(self, array: Array) -> int:
        """Append data; returns its offset. The next part starts at a multiple of four."""
        offset = self.size
        self.parts.append(array)
        self.size += array.nbytes
        if self.size % 4:
            padding = np.zeros(4 - self.size % 4, np.uint8)
            self.parts.append(padding)
            self.size += len(padding)
        return offset


class Buffers:
    """Collects arrays. The result is in `accessors` and `parts()`; `finish()` returns the buffer views."""

    def __init__(self) -> None:
        self.accessors: list[dict[str, Any]] = []
        self._pools: dict[tuple[int | None, int | None, str], _Pool] = {}
        self._accessor_pools: list[_Pool] = []
        self._known: dict[tuple[object, ...], tuple[int, Array]] = {}
        """accessor and content of the first array of each layout, length and checksum"""
        self._blobs: list[_Pool] = []
        self._blob_sizes: dict[int, int] = {}

    def vertices(self, array: Array, *, normalized: bool = False, bounds: bool = False) -> int:
        """Add a vertex attribute (V, k); each row begins at a multiple of four."""
        extra: dict[str, Any] = {"normalized": True} if normalized else {}
        if bounds:
            extra["min"], extra["max"] = column_bounds(array)
        width = array.shape[1]
        padding = -array.itemsize * width % 4 // array.itemsize
        return self._add(np.pad(array, ((0, 0), (0, padding))) if padding else array, VERTICES, extra, width=width)

    def indices(self, array: Array) -> int:
        """Add triangle corners (n,), with 16 bits if possible, else 32; the largest number of a type is reserved."""
        highest = int(array.max(initial=0))
        return self._add(array.astype("<u2" if highest < 0xFFFF else "<u4"), INDICES, {})

    def times(self, array: Array) -> int:
        """Add ascending key times; their first and last are stored as minimum and maximum."""
        return self._add(array, None, {"min": [float(array[0])], "max": [float(array[-1])]})

    def values(self, array: Array, *, normalized: bool = False) -> int:
        """Add key values."""
        return self._add(array, None, {"normalized": True} if normalized else {})

    def matrices(self, array: Array) -> int:
        """Add inverse bind matrices (n, 16), column by column; they do not share a view with other arrays."""
        return self._add(array, None, {}, "matrices")

    def blob(self, data: bytes) -> int:
        """Add bytes of another format, such as an image; returns a temporary number for `blob_view`."""
        pool = _Pool(None, None)
        pool.add(np.frombuffer(data, np.uint8))
        self._blobs.append(pool)
        self._blob_sizes[id(pool)] = len(data)
        return -len(self._blobs)

    def _add(
        self, array: Array, target: int | None, extra: dict[str, Any], use: str = "", width: int | None = None
    ) -> int:
        """Add an array, of whose columns only ``width`` have a meaning."""
        array = np.ascontiguousarray(array)
        kind = array.dtype.str[1:]
        stride = array.itemsize * _width(array) if target == VERTICES else None
        width = width or _width(array)
        key = (target, use, kind, width, *extra, array.nbytes, crc32(array.data))
        first, first_array = self._known.setdefault(key, (len(self.accessors), array))
        if first < len(self.accessors) and first_array.tobytes() == array.tobytes():
            return first
        pool = self._pools.get((target, stride, use or kind))
        if pool is None:
            pool = self._pools[target, stride, use or kind] = _Pool(target, stride)
        accessor: dict[str, Any] = {
            "bufferView": 0,
            "byteOffset": pool.add(array),
            "componentType": _COMPONENTS[kind],
            "count": len(array),
            "type": _TYPES[width],
            **extra,
        }
        self._accessor_pools.append(pool)
        self.accessors.append(accessor)
        return len(self.accessors) - 1

    def finish(self) -> tuple[list[dict[str, Any]], int]:
        """Return the buffer views and the length of the buffer; sets the views of accessors."""
        views: list[dict[str, Any]] = []
        view_numbers: dict[int, int] = {}
        offset = 0
        for pool in self._all_pools():
            view_numbers[id(pool)] = len(views)
            view: dict[str, Any] = {"buffer": 0, "byteOffset": offset, "byteLength": pool.size}
            if id(pool) in self._blob_sizes:  # without padding to the next one
                view["byteLength"] = self._blob_sizes[id(pool)]
            if pool.stride is not None:
                view["byteStride"] = pool.stride
            if pool.target is not None:
                view["target"] = pool.target
            views.append(view)
            offset += pool.size
        self._shorten_bounds()
        for accessor, pool in zip(self.accessors, self._accessor_pools, strict=True):
            accessor["bufferView"] = view_numbers[id(pool)]
            if accessor["byteOffset"] == 0:
                del accessor["byteOffset"]
        return views, offset

    def _shorten_bounds(self) -> None:
        """Replace minima and maxima of single precision by the shortest decimals that single precision reads back."""
        rows = [
            accessor[name]
            for accessor in self.accessors
            if accessor["componentType"] == _COMPONENTS["f4"]
            for name in ("min", "max")
            if name in accessor
        ]
        numbers = iter(array_to_json(np.array([number for row in rows for number in row], np.float32)))
        for row in rows:
            row[:] = itertools.islice(numbers, len(row))

    def blob_view(self, blob_number: int) -> int:
        """Return the buffer view of a blob from the number that `blob` returned: blobs follow the pools."""
        return len(self._pools) - blob_number - 1

    def _all_pools(self) -> Iterator[_Pool]:
        yield from self._pools.values()
        yield from self._blobs

    def parts(self) -> Iterator[memoryview]:
        """Yield the parts of the buffer."""
        for pool in self._all_pools():
            for part in pool.parts:
                yield part.reshape(-1).view(np.uint8).data


def _width(array: Array) -> int:
    width = 1
    for size in array.shape[1:]:
        width *= size
    return width


_LISTS = ("nodes", "meshes", "materials", "textures", "images", "samplers", "cameras", "skins", "animations")


class Asset:
    """The lists of a glTF asset. Parts refer to each other by index, so each list only grows."""

    def __init__(self) -> None:
        self.buffers = Buffers()
        self.nodes: list[Json] = []
        self.meshes: list[Json] = []
        self.materials: list[Json] = []
        self.textures: list[Json] = []
        self.images: list[Json] = []
        self.samplers: list[Json] = []
        self.cameras: list[Json] = []
        self.skins: list[Json] = []
        self.animations: list[Json] = []
        self.lights: list[Json] = []
        """of KHR_lights_punctual"""
        self.extensions: set[str] = set()
        """used extensions"""
        self.required_extensions: set[str] = set()
        """those that players must support, of compact files only"""
        self.roots: list[int] = []
        """nodes without a parent"""
        self.properties: Json = {"version": "2.0", "generator": f"keyframer {__version__}"}
        self.scene: Json = {}
        """name and extras of the scene"""
        self.embedded: Json | None = None
        """the source file, for the extras of the asset: its format, and its files with the blobs of their content"""
        self._finished: tuple[list[Json], int] | None = None

    def add_node(self, node: Json, parent: int | None = None) -> int:
        """Append a node below a parent, or to the scene; returns its index."""
        number = len(self.nodes)
        self.nodes.append(node)
        if parent is None:
            self.roots.append(number)
        else:
            self.nodes[parent].setdefault("children", []).append(number)
        return number

    def _finish(self) -> tuple[list[Json], int]:
        if self._finished is None:
            self._finished = self.buffers.finish()
            for image in self.images:
                image["bufferView"] = self.buffers.blob_view(image["bufferView"])
            for file in () if self.embedded is None else self.embedded["files"]:
                file["bufferView"] = self.buffers.blob_view(file["bufferView"])
        return self._finished

    @property
    def buffer_size(self) -> int:
        return self._finish()[1]

    def root(self, buffers: list[Json]) -> Json:
        """Return the whole JSON object with the given buffers; empty lists are left out, as glTF requires."""
        views, _ = self._finish()
        root: Json = {"asset": self.properties}
        if self.extensions:
            root["extensionsUsed"] = sorted(self.extensions)
        if self.required_extensions:
            root["extensionsRequired"] = sorted(self.required_extensions)
        if self.lights:
            root["extensions"] = {"KHR_lights_punctual": {"lights": with_singles(self.lights)}}
        root["scene"] = 0
        root["scenes"] = [{**self.scene, "nodes": self.roots} if self.roots else self.scene]
        for name in _LISTS:
            if getattr(self, name):
                root[name] = getattr(self, name)
        for name in ("materials", "cameras"):
            if name in root:
                root[name] = with_singles(root[name])
        if self.buffers.accessors:
            root["accessors"] = self.buffers.accessors
        if views:
            root["bufferViews"] = views
        if buffers:
            root["buffers"] = buffers
        return root


_GLB_MAGIC, _JSON_CHUNK, _BIN_CHUNK = 0x46546C67, 0x4E4F534A, 0x004E4942
_LARGEST_GLB = 0xFFFFFFFF


def glb_parts(asset: Asset) -> Iterator[bytes | memoryview]:
    """Yield the parts of a binary glTF file; raises ValueError if it would exceed 4 GiB, the limit of its header."""
    size = asset.buffer_size
    text = _text(asset, [{"byteLength": size}] if size else [])
    text += b" " * (-len(text) % 4)
    total = 12 + 8 + len(text) + (8 + size if size else 0)
    if total > _LARGEST_GLB:
        raise ValueError(f"{total} bytes do not fit in a .glb file, which is limited to 4 GiB; write a .gltf")
    yield struct.pack("<III", _GLB_MAGIC, 2, total)
    yield struct.pack("<II", len(text), _JSON_CHUNK)
    yield text
    if size:
        yield struct.pack("<II", size, _BIN_CHUNK)
        yield from asset.buffers.parts()


def write_glb(asset: Asset, path: Path, *, overwrite: bool) -> list[str]:
    write_bytes(path, glb_parts(asset), overwrite=overwrite)
    return [str(path)]


def write_gltf(asset: Asset, path: Path, *, overwrite: bool) -> list[str]:
    """Write the JSON text and the buffer file.

    The buffer file has a hash of its content in its name, so that the JSON file never refers to the buffer of another
    version, even if writing is interrupted.
    """
    size = asset.buffer_size
    buffer_files: list[tuple[Path, Iterator[bytes | memoryview]]] = []
    buffers: list[dict[str, Any]] = []
    if size:
        digest = hashlib.sha256()
        for part in asset.buffers.parts():
            digest.update(part)
        binary = Path(content_name(path, digest.hexdigest(), ".bin"))
        buffer_files.append((binary, asset.buffers.parts()))
        buffers.append({"byteLength": size, "uri": quote(binary.name)})
    write_set((path, _text(asset, buffers, indent=1)), named=buffer_files, overwrite=overwrite)
    return [str(path), *(str(file) for file, _ in buffer_files)]


def _text(asset: Asset, buffers: list[Json], indent: int | None = None) -> bytes:
    """Return the JSON text, with a hash of the content if the source is embedded."""
    root = asset.root(buffers)
    if asset.embedded is not None:
        sha256 = content_hash(json.loads(_json(root)), asset.buffers.parts())
        attach_extras(asset.properties, {"embedded": {**asset.embedded, "sha256": sha256}})
    return _json(root, indent)


def _json(root: Json, indent: int | None = None) -> bytes:
    """Return the JSON text.

    Extras contain values of the scene, which the encoder converts as it finds them. If some have numbers or keys that
    JSON does not support, all extras are converted first.
    """
    separators = (",", ":") if indent is None else (",", ": ")

    def text(root: Json) -> str:
        return json.dumps(
            root,
            ensure_ascii=False,
            check_circular=False,
            allow_nan=False,
            indent=indent,
            separators=separators,
            default=json_encoder_default,
        )

    try:
        encoded = text(root)
    except (TypeError, ValueError):
        encoded = text(_with_json_extras(root))
    return encoded.encode("utf-8", "backslashreplace")


def _with_json_extras(value: Any) -> Any:
    if type(value) is list:
        return [_with_json_extras(element) for element in value]
    if type(value) is not dict:
        return value
    return {
        key: json_value(element) if key == "extras" else _with_json_extras(element) for key, element in value.items()
    }
