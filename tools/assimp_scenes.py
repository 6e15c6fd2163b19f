"""Scenes that the command ``assimp`` reads, played: linearly between keys, rotations along the shortest arc.

assimp gives keys and leaves playing to the program that uses it. What is here follows its documentation: a channel
replaces the transformation of its node, but not before its first key (``aiAnimBehaviour_DEFAULT``), and a bone moves a
vertex by the world matrix of its node times the bone's offset matrix. After the last key its value holds, as in the
players that we know. assimp turns scenes by its own root node, whose name begins with "<", and mirrors the files of
Blitz3D to right-handed axes; both are undone, so all numbers are in the axes of the file.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

MIRROR = np.diag([1.0, 1.0, -1.0, 1.0])


class AssimpScene:
    """What assimp reads from a file."""

    def __init__(self, read: dict[str, Any], mirrored: bool) -> None:
        self._root = read["rootnode"]
        self._meshes = read.get("meshes", [])
        self._animation = (read.get("animations") or [{"channels": []}])[0]
        self._channels = {channel["name"]: channel for channel in self._animation["channels"]}
        self._mirror = MIRROR if mirrored else np.eye(4)
        stored = (each for material in read.get("materials", []) for each in material["properties"])
        self.materials = [each["value"] for each in stored if each["key"] == "?mat.name"]

    @property
    def ticks_per_second(self) -> float:
        """0 if times are frames, as in 3D Studio files."""
        return float(self._animation.get("tickspersecond", 0))

    def nodes(self, time: float) -> Iterator[tuple[dict[str, Any], Any]]:
        """Yield all nodes that the file has, and their world matrices at a time in ticks."""
        own = self._root["name"].startswith("<")
        waiting = self._root.get("children", []) if own else [self._root]
        found = [(node, np.eye(4)) for node in waiting]
        while found:
            node, parent = found.pop()
            matrix = parent @ _local(node, self._channels.get(node["name"]), time)
            yield node, self._mirror @ matrix @ self._mirror
            found += [(child, matrix) for child in node.get("children", [])]

    def placed(self, time: float) -> Iterator[tuple[str, Any, Any]]:
        """Yield the name of the node of each mesh, the stored vertices, and the vertices in the world."""
        nodes = list(self.nodes(time))
        matrices = {node["name"]: matrix for node, matrix in nodes}
        for node, matrix in nodes:
            for number in node.get("meshes", []):
                mesh = self._meshes[number]
                stored = np.reshape(mesh["vertices"], (-1, 3)) @ self._mirror[:3, :3]
                moved = _transformed(matrix, stored)
                if mesh.get("bones"):
                    moved = self._skinned(mesh["bones"], stored, matrices, moved)
                yield node["name"], stored, moved

    def _skinned(self, bones: list[Any], stored: Any, matrices: dict[str, Any], unmoved: Any) -> Any:
        moved, weighted = np.zeros_like(stored), np.zeros(len(stored), np.bool_)
        for bone in bones:
            offset = self._mirror @ np.reshape(bone["offsetmatrix"], (4, 4)) @ self._mirror
            places = _transformed(matrices[bone["name"]] @ offset, stored)
            for vertex, weight in bone["weights"]:
                moved[vertex] += weight * places[vertex]
                weighted[vertex] = True
        return np.where(weighted[:, None], moved, unmoved)


def _transformed(matrix: Any, points: Any) -> Any:
    return points @ matrix[:3, :3].T + matrix[:3, 3]


def read_scene(program: str, path: Path, folder: Path) -> AssimpScene | None:
    """Return what assimp reads; None if it does not read the file. Exits like assimp if a signal killed assimp."""
    out = folder / "assimp.json"
    out.unlink(missing_ok=True)
    command = [program, "export", str(path), str(out), "-f", "assjson"]
    done = subprocess.run(command, capture_output=True, timeout=60, check=False)
    if done.returncode < 0:
        sys.exit(128 - done.returncode)
    if not out.exists():
        return None
    return AssimpScene(json.loads(out.read_text(encoding="utf-8")), path.suffix.lower() == ".b3d")


def _local(node: dict[str, Any], channel: dict[str, Any] | None, time: float) -> Any:
    matrix = np.reshape(np.array(node["transformation"], float), (4, 4))
    if channel is None:
        return matrix
    scale = np.linalg.norm(matrix[:3, :3], axis=0)
    turn = matrix[:3, :3] / scale
    if time >= channel["rotationkeys"][0][0]:
        turn = _turned(channel["rotationkeys"], time)
    if time >= channel["scalingkeys"][0][0]:
        scale = _linear(channel["scalingkeys"], time)
    matrix[:3, :3] = turn * scale
    if time >= channel["positionkeys"][0][0]:
        matrix[:3, 3] = _linear(channel["positionkeys"], time)
    return matrix


def _turned(keys: list[Any], time: float) -> Any:
    from scipy.spatial.transform import Rotation, Slerp  # slow to load, and only few files turn

    times, turns = zip(*keys, strict=True)
    rotations = Rotation.from_quat(np.roll(turns, -1, axis=1))  # stored as w, x, y, z
    return (Slerp(times, rotations)(min(time, times[-1])) if len(times) > 1 else rotations[0]).as_matrix()


def _linear(keys: list[Any], time: float) -> Any:
    times, values = zip(*keys, strict=True)
    return np.array([np.interp(time, times, column) for column in np.transpose(values)])
