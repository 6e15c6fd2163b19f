"""An independent reader and player of glTF, from bytes: shares no code with the exporter that it tests.

Written from the specification (glTF 2.0, sections 3.6 buffers, 3.7.3 skins, 3.11 animations, appendix C interpolation).
Only numpy's arrays are used; matrices are built from quaternions by the specification's own formula.
"""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np

_TYPES = {5120: "i1", 5121: "u1", 5122: "<i2", 5123: "<u2", 5125: "<u4", 5126: "<f4"}
_WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT4": 16}


class Gltf:
    """A parsed file."""

    def __init__(self, data: bytes, folder: Path | None = None) -> None:
        if data[:4] == b"glTF":
            version, length = struct.unpack_from("<II", data, 4)
            assert version == 2
            assert length == len(data)
            chunks, offset = [], 12
            while offset < length:
                size, kind = struct.unpack_from("<II", data, offset)
                assert size % 4 == 0
                chunks.append((kind, data[offset + 8 : offset + 8 + size]))
                offset += 8 + size
            assert chunks[0][0] == 0x4E4F534A
            self.json: dict[str, Any] = json.loads(chunks[0][1], parse_constant=_refuse)
            self.buffer = chunks[1][1] if len(chunks) > 1 else b""
        else:
            self.json = json.loads(data, parse_constant=_refuse)
            buffers = self.json.get("buffers", [])
            assert folder is not None
            self.buffer = (folder / buffers[0]["uri"]).read_bytes() if buffers else b""
        self.nodes: list[dict[str, Any]] = self.json.get("nodes", [])
        self.parents = [-1] * len(self.nodes)
        for number, node in enumerate(self.nodes):
            for child in node.get("children", []):
                assert self.parents[child] == -1, "a node has two parents"
                self.parents[child] = number

    def accessor(self, number: int) -> np.ndarray:
        """(count, width) as stored; fractions of integers as floats."""
        entry = self.json["accessors"][number]
        view = self.json["bufferViews"][entry["bufferView"]]
        width = _WIDTHS[entry["type"]]
        dtype = np.dtype(_TYPES[entry["componentType"]])
        start = view.get("byteOffset", 0) + entry.get("byteOffset", 0)
        stride = view.get("byteStride", dtype.itemsize * width)
        assert entry.get("byteOffset", 0) + stride * (entry["count"] - 1) + dtype.itemsize * width <= view["byteLength"]
        rows = np.ndarray((entry["count"], width), dtype, self.buffer, start, (stride, dtype.itemsize))
        if dtype.kind == "f":
            assert np.isfinite(rows).all(), f"accessor {number} has a non-finite number"
        if entry.get("normalized"):
            return np.maximum(rows / np.iinfo(dtype).max, -1.0)
        return rows

    def named(self, name: str) -> int:
        return next(number for number, node in enumerate(self.nodes) if node.get("name") == name)

    def worlds(self, seconds: np.ndarray, animation: int | None = 0) -> np.ndarray:
        """(T, N, 4, 4) of all nodes."""
        moved = self._moved(seconds, animation)
        count = len(seconds)
        out = np.empty((count, len(self.nodes), 4, 4))
        done = [False] * len(self.nodes)
        for start in range(len(self.nodes)):
            way = []
            node = start
            while node >= 0 and not done[node]:
                way.append(node)
                node = self.parents[node]
            for node in reversed(way):
                local = self._local(node, moved, count)
                above = self.parents[node]
                out[:, node] = local if above < 0 else np.einsum("tij,tjk->tik", out[:, above], local)
                done[node] = True
        return out

    def _local(self, number: int, moved: dict[tuple[int, str], np.ndarray], count: int) -> np.ndarray:
        node = self.nodes[number]
        assert "matrix" not in node
        shift = moved.get((number, "translation"), np.array([node.get("translation", [0, 0, 0])], float))
        turn = moved.get((number, "rotation"), np.array([node.get("rotation", [0, 0, 0, 1])], float))
        scale = moved.get((number, "scale"), np.array([node.get("scale", [1, 1, 1])], float))
        x, y, z, w = turn.T
        out = np.zeros((count, 4, 4))
        rows = (
            (1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)),
            (2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)),
            (2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)),
        )
        for i in range(3):
            for j in range(3):
                out[:, i, j] = rows[i][j] * scale[:, j]
            out[:, i, 3] = shift[:, i]
        out[:, 3, 3] = 1
        return out

    def _moved(self, seconds: np.ndarray, animation: int | None) -> dict[tuple[int, str], np.ndarray]:
        animations = self.json.get("animations", [])
        if animation is None or animation >= len(animations):
            return {}
        entry = animations[animation]
        values = {}
        for channel in entry["channels"]:
            target = channel["target"]
            if target["path"] == "pointer":
                continue
            key = (target["node"], target["path"])
            assert key not in values, "a property is moved twice"
            values[key] = self.sampled(entry["samplers"][channel["sampler"]], seconds, target["path"])
        return values

    def sampled(self, sampler: dict[str, Any], seconds: np.ndarray, path: str) -> np.ndarray:
        """(T, k) the values of one sampler."""
        times = self.accessor(sampler["input"])[:, 0].astype(float)
        assert times[0] >= 0
        assert (np.diff(times) > 0).all(), "key times do not rise"
        mode = sampler.get("interpolation", "LINEAR")
        raw = self.accessor(sampler["output"]).astype(float)
        values = raw.reshape(len(times) * (3 if mode == "CUBICSPLINE" else 1), -1)
        here = np.searchsorted(times, seconds, side="right") - 1
        k = np.clip(here, 0, max(len(times) - 2, 0))
        after = np.minimum(k + 1, len(times) - 1)
        length = np.where(after > k, times[after] - times[k], 1.0)
        t = np.clip((seconds - times[k]) / length, 0, 1)[:, None]
        if mode == "STEP":
            return values[np.clip(here, 0, len(times) - 1)]
        if mode == "LINEAR":
            a, b = values[k], values[after]
            return _slerp(a, b, t) if path == "rotation" else a * (1 - t) + b * t
        triple = values.reshape(len(times), 3, -1)
        a, b = triple[k, 1], triple[after, 1]
        leaving, arriving = triple[k, 2] * length[:, None], triple[after, 0] * length[:, None]
        out = (
            (2 * t**3 - 3 * t**2 + 1) * a
            + (t**3 - 2 * t**2 + t) * leaving
            + (-2 * t**3 + 3 * t**2) * b
            + (t**3 - t**2) * arriving
        )
        return out / np.linalg.norm(out, axis=1, keepdims=True) if path == "rotation" else out

    def vertices(self, number: int, seconds: np.ndarray, worlds: np.ndarray, animation: int | None = 0) -> np.ndarray:
        """(T, V, 3) of a node's mesh in the world: all primitives in order, morphed, skinned, placed."""
        node = self.nodes[number]
        mesh = self.json["meshes"][node["mesh"]]
        moved = self._moved(seconds, animation)
        targets = len(mesh["primitives"][0].get("targets", []))
        usual = node.get("weights", mesh.get("weights", [0.0] * targets))
        weights = moved.get((number, "weights"), np.array([usual], float).reshape(1, -1))
        parts = []
        for primitive in mesh["primitives"]:
            points = self.accessor(primitive["attributes"]["POSITION"]).astype(float)[None]
            for index, target in enumerate(primitive.get("targets", [])):
                points = points + weights[:, index, None, None] * self.accessor(target["POSITION"]).astype(float)
            points = np.broadcast_to(points, (len(seconds), *points.shape[1:]))
            if "skin" in node:
                parts.append(self._skinned(node["skin"], primitive, points, worlds))
            else:
                place = worlds[:, number]
                parts.append(np.einsum("tij,tvj->tvi", place[:, :3, :3], points) + place[:, None, :3, 3])
        return np.concatenate(parts, axis=1)

    def _skinned(self, skin: int, primitive: dict[str, Any], points: np.ndarray, worlds: np.ndarray) -> np.ndarray:
        entry = self.json["skins"][skin]
        inverse = self.accessor(entry["inverseBindMatrices"]).reshape(-1, 4, 4).transpose(0, 2, 1).astype(float)
        joints = np.einsum("tjab,jbc->tjac", worlds[:, entry["joints"]], inverse)
        out = np.zeros_like(points)
        for part in range(8):
            if f"JOINTS_{part}" not in primitive["attributes"]:
                break
            numbers = self.accessor(primitive["attributes"][f"JOINTS_{part}"])
            weights = self.accessor(primitive["attributes"][f"WEIGHTS_{part}"]).astype(float)
            for column in range(4):
                matrices = joints[:, numbers[:, column]]
                moved = np.einsum("tvij,tvj->tvi", matrices[..., :3, :3], points) + matrices[..., :3, 3]
                out += weights[:, column, None] * moved
        return out


def _slerp(a: np.ndarray, b: np.ndarray, t: np.ndarray) -> np.ndarray:
    dot = np.sum(a * b, axis=1, keepdims=True)
    b = np.where(dot < 0, -b, b)
    angle = np.arccos(np.clip(np.abs(dot), 0, 1))
    sine = np.sin(angle)
    close = sine < 1e-6
    safe = np.where(close, 1, sine)
    out = np.where(close, a * (1 - t) + b * t, (np.sin((1 - t) * angle) * a + np.sin(t * angle) * b) / safe)
    return out / np.linalg.norm(out, axis=1, keepdims=True)


def _refuse(word: str) -> None:
    raise AssertionError(f"{word} in a JSON text")
