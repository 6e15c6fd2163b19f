"""Bounding boxes in world space, computed step by step with one matrix product after another."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from typing import Any

import numpy as np

from keyframer.scene import Node, Scene
from tests.building.scenes import rotation_matrix

Box = tuple[np.ndarray, np.ndarray]


def rotation(quaternion: np.ndarray) -> np.ndarray:
    return rotation_matrix(*(quaternion / np.linalg.norm(quaternion)))


def local_matrix(node: Node) -> np.ndarray:
    scale = np.diag(node.scale)
    if node.scale_axes_xyzw is not None:
        axes = rotation(node.scale_axes_xyzw)
        scale = axes @ scale @ axes.T
    matrix = np.eye(4)
    matrix[:3, :3] = rotation(node.rotation_xyzw) @ scale
    matrix[:3, 3] = node.position
    return matrix


def world_matrices(scene: Scene) -> list[np.ndarray]:
    worlds: list[np.ndarray] = []
    for node in scene.nodes:
        local = local_matrix(node)
        worlds.append(local if node.parent is None else worlds[node.parent] @ local)
    return worlds


def boxes(scene: Scene) -> list[Box]:
    """Return the box of each node's mesh in world space, in the order of nodes."""
    node_boxes: list[Box] = []
    for node, world in zip(scene.nodes, world_matrices(scene), strict=True):
        if node.mesh is not None:
            points = np.asarray(scene.meshes[node.mesh].positions, np.float64) - node.pivot
            if not len(points):
                continue
            placed = points @ world[:3, :3].T + world[:3, 3]
            node_boxes.append((placed.min(axis=0), placed.max(axis=0)))
    return node_boxes


def glb_json(data: bytes) -> dict[str, Any]:
    assert data[:4] == b"glTF"
    length = struct.unpack_from("<I", data, 12)[0]
    return dict(json.loads(data[20 : 20 + length]))


def glb_points(data: bytes) -> np.ndarray:
    """Return all vertices of a binary glTF as any player shows them: metres, y up. Extras are ignored."""
    root = glb_json(data)
    start = 20 + struct.unpack_from("<I", data, 12)[0] + 8
    placed = [np.empty((0, 3))]
    for world, mesh in _meshes(root):
        for primitive in root["meshes"][mesh]["primitives"]:
            accessor = root["accessors"][primitive["attributes"]["POSITION"]]
            assert accessor["componentType"] == 5126
            view = root["bufferViews"][accessor["bufferView"]]
            assert view.get("byteStride", 12) == 12
            offset = start + view.get("byteOffset", 0) + accessor.get("byteOffset", 0)
            points = np.frombuffer(data, "<f4", accessor["count"] * 3, offset).reshape(-1, 3)
            placed.append(points @ world[:3, :3].T + world[:3, 3])
    return np.concatenate(placed)


def _meshes(root: dict[str, Any]) -> Iterator[tuple[np.ndarray, int]]:
    waiting = [(np.eye(4), number) for number in root["scenes"][root.get("scene", 0)]["nodes"]]
    while waiting:
        above, number = waiting.pop()
        node = root["nodes"][number]
        local = np.eye(4)
        if "matrix" in node:
            local = np.array(node["matrix"]).reshape(4, 4).T
        else:
            turn = rotation(np.array(node.get("rotation", (0, 0, 0, 1)), float))
            local[:3, :3] = turn @ np.diag(node.get("scale", (1, 1, 1)))
            local[:3, 3] = node.get("translation", (0, 0, 0))
        world = above @ local
        if "mesh" in node:
            yield world, node["mesh"]
        waiting += [(world, child) for child in node.get("children", ())]
