"""A glTF file as another program might write it: interleaved, sparse, cubic, with names that are not ASCII."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

from tests.building.gltf import data_uri, glb

TIMES = (0.0, 0.5, 2.0)
MOVES = ((1.0, 2.0, 3.0), (4.0, 5.0, 6.0), (7.0, 8.0, 9.0))
TURNS = ((0.0, 0.0, 0.0, 1.0), (0.6, 0.0, 0.0, 0.8), (0.0, 1.0, 0.0, 0.0))
WEIGHTS = ((0.0, 1.0), (0.25, 0.5), (0.75, 0.125))
CUBIC = tuple(tuple(float(10 * key + 3 * part + axis) for axis in range(3)) for key in range(3) for part in range(3))
SPARSE_VALUE = (2.5, 3.5, 4.5)
"""the one scale that is not zero, and the one place that is another than the view has"""


def numbers() -> tuple[bytes, list[dict[str, int]]]:
    """Return a buffer with all numbers, after five unused bytes, and its views."""
    rows = b"".join(struct.pack("<7f", *move, *turn) for move, turn in zip(MOVES, TURNS, strict=True))
    parts = [
        (struct.pack("<3f", *TIMES), {}),
        (rows, {"byteStride": 28}),
        (struct.pack("<6f", *(weight for row in WEIGHTS for weight in row)), {}),
        (struct.pack("<27f", *(weight for row in CUBIC for weight in row)), {}),
        (struct.pack("<Hxx", 1), {}),
        (struct.pack("<3f", *SPARSE_VALUE), {}),
        (struct.pack("<9f", 0, 0, 0, 1, 0, 0, 0, 1, 0), {}),
    ]
    content, views = b"?????", []
    for part, more in parts:
        views.append({"buffer": 0, "byteOffset": len(content), "byteLength": len(part), **more})
        content += part
    return content + bytes(-len(content) % 4), views


def described(content: bytes, views: list[dict[str, int]], uri: str | None) -> dict[str, Any]:
    def accessor(view: int | None, kind: str, count: int, **more: Any) -> dict[str, Any]:
        content = {"componentType": 5126, "type": kind, "count": count, **more}
        return content if view is None else {"bufferView": view, **content}

    sparse = {
        "count": 1,
        "indices": {"bufferView": 4, "componentType": 5123},
        "values": {"bufferView": 5},
    }
    animated = [
        (0, "translation", 1, "LINEAR"),
        (0, "rotation", 2, "LINEAR"),
        (1, "translation", 4, "CUBICSPLINE"),
        (1, "scale", 5, "STEP"),
        (3, "translation", 6, "LINEAR"),
        (2, "weights", 3, "LINEAR"),
    ]
    return {
        "asset": {"version": "2.0", "copyright": "Käse & Söhne"},
        "scene": 0,
        "scenes": [{"nodes": [0, 2, 3]}],
        "nodes": [
            {"name": "Größe", "children": [1]},
            {"name": "日本", "extras": {"note": "}]{["}},
            {"name": "Shape", "mesh": 0},
            {"name": 'Quo"te', "camera": 0},
        ],
        "cameras": [{"type": "perspective", "perspective": {"yfov": 1.0, "znear": 0.1}}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 7}, "targets": [{"POSITION": 7}, {"POSITION": 7}]}]}],
        "animations": [
            {
                "samplers": [{"input": 0, "output": output, "interpolation": mode} for _, _, output, mode in animated],
                "channels": [
                    {"sampler": number, "target": {"node": node, "path": path}}
                    for number, (node, path, _, _) in enumerate(animated)
                ],
            }
        ],
        "accessors": [
            accessor(0, "SCALAR", 3),
            accessor(1, "VEC3", 3),
            accessor(1, "VEC4", 3, byteOffset=12),
            accessor(2, "SCALAR", 6),
            accessor(3, "VEC3", 9),
            accessor(None, "VEC3", 3, sparse=sparse),
            accessor(6, "VEC3", 3, sparse=sparse),
            accessor(6, "VEC3", 3, min=[0, 0, 0], max=[1, 1, 0]),
        ],
        "bufferViews": views,
        "buffers": [{"byteLength": len(content), **({} if uri is None else {"uri": uri})}],
    }


def write_foreign(folder: Path, way: str) -> Path:
    r"""Write the file as ``glb``, ``beside`` (numbers in a file), ``inline`` (base64) or ``escaped`` (base64 with
    ``\/``)."""
    content, views = numbers()
    encoded = data_uri(content)
    uri = {"glb": None, "beside": "some%20numbers.bin"}.get(way, encoded)
    text = json.dumps(described(content, views, uri), ensure_ascii=False, indent=None if way == "glb" else 1)
    if way == "glb":
        path = folder / "foreign.glb"
        path.write_bytes(glb(text.encode(), content))
        return path
    if way == "beside":
        (folder / "some numbers.bin").write_bytes(content)
    path = folder / f"{way}.gltf"
    path.write_text(text.replace(encoded, encoded.replace("/", "\\/")) if way == "escaped" else text, "utf-8")
    return path
