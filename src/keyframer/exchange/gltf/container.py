"""The files: ``.glb``, or ``.gltf`` with a ``.bin`` beside it. Whole or not at all."""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

from keyframer.exchange.gltf.asset import Asset
from keyframer.files import content_name, write_bytes, write_set

_GLB_MAGIC, _JSON_CHUNK, _BIN_CHUNK = 0x46546C67, 0x4E4F534A, 0x004E4942
_LARGEST_GLB = 0xFFFFFFFF


def glb_parts(asset: Asset) -> Iterator[bytes | memoryview]:
    """The pieces of a binary glTF file; ValueError if it would pass the 4 GiB that its header can say."""
    size = asset.buffer_size
    text = _json(asset.root([{"byteLength": size}] if size else []))
    text += b" " * (-len(text) % 4)
    total = 12 + 8 + len(text) + (8 + size if size else 0)
    if total > _LARGEST_GLB:
        raise ValueError(f"{total} bytes do not fit a .glb file, which ends at 4 GiB; write a .gltf")
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
    """The text and the file with its numbers. That has a hash of its content in its name, so that no text ever names
    numbers of another one, whenever writing is cut short."""
    size = asset.buffer_size
    named: list[tuple[Path, Iterator[bytes | memoryview]]] = []
    buffers: list[dict[str, Any]] = []
    if size:
        digest = hashlib.sha256()
        for part in asset.buffers.parts():
            digest.update(part)
        binary = Path(content_name(path, digest.hexdigest(), ".bin"))
        named.append((binary, asset.buffers.parts()))
        buffers.append({"byteLength": size, "uri": quote(binary.name)})
    write_set((path, _json(asset.root(buffers), indent=1)), named=named, overwrite=overwrite)
    return [str(path), *(str(each) for each, _ in named)]


def _json(root: dict[str, Any], indent: int | None = None) -> bytes:
    separators = (",", ":") if indent is None else (",", ": ")
    text = json.dumps(root, ensure_ascii=False, allow_nan=False, indent=indent, separators=separators)
    return text.encode("utf-8", "backslashreplace")
