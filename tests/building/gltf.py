"""glTF files written by hand for the tests: a JSON object and a buffer, as .glb or as .gltf with a data URI."""

from __future__ import annotations

import base64
import io
import json
import struct
from typing import Any

import numpy as np

import keyframer
from keyframer.scene import Scene

Json = dict[str, Any]


def glb(root: Json | bytes, binary: bytes = b"") -> bytes:
    text = root if isinstance(root, bytes) else json.dumps(root).encode()
    text += b" " * (-len(text) % 4)
    binary += bytes(-len(binary) % 4)
    chunks = struct.pack("<II", len(text), 0x4E4F534A) + text
    if binary:
        chunks += struct.pack("<II", len(binary), 0x004E4942) + binary
    return struct.pack("<4sII", b"glTF", 2, 12 + len(chunks)) + chunks


def split_glb(data: bytes) -> tuple[Json, bytes]:
    """Return the JSON and the buffer of a .glb."""
    size = struct.unpack_from("<I", data, 12)[0]
    return json.loads(data[20 : 20 + size]), data[28 + size :]


def data_uri(content: bytes) -> str:
    return "data:application/octet-stream;base64," + base64.b64encode(content).decode()


def loaded(data: bytes, **options: Any) -> Scene:
    return keyframer.load(io.BytesIO(data), **options)


def triangle() -> tuple[Json, bytes]:
    """Return one triangle on one node: positions (3 x VEC3 of floats) and indices (3 of 16 bits)."""
    binary = np.array([(0, 0, 0), (1, 0, 0), (0, 2, 0)], "<f4").tobytes() + np.array([0, 1, 2, 0], "<u2").tobytes()
    root: Json = {
        "asset": {"version": "2.0"},
        "scene": 0,
        "scenes": [{"nodes": [0]}],
        "nodes": [{"name": "tri", "mesh": 0}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}, "indices": 1}]}],
        "accessors": [
            {"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3", "min": [0, 0, 0], "max": [1, 2, 0]},
            {"bufferView": 1, "componentType": 5123, "count": 3, "type": "SCALAR"},
        ],
        "bufferViews": [
            {"buffer": 0, "byteLength": 36},
            {"buffer": 0, "byteOffset": 36, "byteLength": 8},
        ],
        "buffers": [{"byteLength": 44}],
    }
    return root, binary
