"""The files: ``.glb``, or ``.gltf`` with its ``.bin`` beside it. Whole or not at all."""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

from keyframer.exchange.gltf.asset import Asset
from keyframer.files import write_bytes

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
    """Both files or neither: where the second cannot be written, the first goes and what it replaced comes back."""
    if not overwrite and os.path.lexists(path):
        raise FileExistsError(f"{path} exists (pass overwrite=True to replace it)")
    size = asset.buffer_size
    if not size:
        write_bytes(path, _json(asset.root([]), indent=1), overwrite=overwrite)
        return [str(path)]
    binary = path.with_suffix(".bin")
    text = _json(asset.root([{"byteLength": size, "uri": quote(binary.name)}]), indent=1)
    kept = path.parent / f".kf-{os.urandom(6).hex()}"
    replaced = overwrite and os.path.lexists(binary)
    if replaced:
        os.rename(binary, kept)
    try:
        write_bytes(binary, asset.buffers.parts(), overwrite=False)
        try:
            write_bytes(path, text, overwrite=overwrite)
        except BaseException:
            binary.unlink(missing_ok=True)
            raise
    except BaseException:
        if replaced:
            os.replace(kept, binary)
        raise
    if replaced:
        kept.unlink(missing_ok=True)
    return [str(path), str(binary)]


def _json(root: dict[str, Any], indent: int | None = None) -> bytes:
    separators = (",", ":") if indent is None else (",", ": ")
    text = json.dumps(root, ensure_ascii=False, allow_nan=False, indent=indent, separators=separators)
    return text.encode("utf-8", "backslashreplace")
