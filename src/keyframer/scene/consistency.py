"""Consistency checks for scenes, with clear messages for scenes that were built by hand."""

from __future__ import annotations

from collections.abc import Iterator, Sized

import numpy as np
import numpy.typing as npt

from keyframer.scene._arrays import describe_shape
from keyframer.scene.mesh import Mesh, Skin
from keyframer.scene.node import Node
from keyframer.scene.scene import Scene
from keyframer.text import counted


def check_consistency(scene: Scene) -> None:
    """Raise ValueError for the first mesh, skin or node with an invalid index or an array of the wrong shape.

    Parents, targets and channels may refer to nodes that do not exist: poses ignore such references.
    """
    for fault in _faults(scene):
        raise ValueError(f"the scene is inconsistent: {fault}")


def _faults(scene: Scene) -> Iterator[str]:
    for mesh in scene.meshes:
        yield from (f"mesh {mesh.name!r}: {fault}" for fault in _mesh_faults(mesh, len(scene.materials)))
    for skin in scene.skins:
        yield from (f"skin {skin.name!r}: {fault}" for fault in _skin_faults(skin, len(scene.nodes)))
    lists: dict[str, Sized] = {
        "mesh": scene.meshes,
        "camera": scene.cameras,
        "light": scene.lights,
        "skin": scene.skins,
    }
    for node in scene.nodes:
        yield from (f"node {node.name!r}: {fault}" for fault in _node_faults(node, scene, lists))


def _node_faults(node: Node, scene: Scene, lists: dict[str, Sized]) -> Iterator[str]:
    for name, parts in lists.items():
        index = getattr(node, name)
        if index is not None and not 0 <= index < len(parts):
            yield f"{name} {index} does not exist: the scene has {counted(len(parts), name)} (indices start at 0)"
    if node.mesh is None or not 0 <= node.mesh < len(scene.meshes):
        return
    shape = np.shape(scene.meshes[node.mesh].positions)
    if node.morph is not None:
        if len(node.morph.names) != len(node.morph.positions):
            yield f"{counted(len(node.morph.positions), 'morph shape')}, but {counted(len(node.morph.names), 'name')}"
        for name, positions in zip(node.morph.names, node.morph.positions, strict=False):
            if np.shape(positions) != shape:
                actual = describe_shape(np.shape(positions))
                yield f"morph shape {name!r} is {actual}, its mesh is {describe_shape(shape)}"
    if node.skin is not None and 0 <= node.skin < len(scene.skins):
        vertex_indices = scene.skins[node.skin].vertex_indices
        yield from _out_of_range("vertex indices of the skin", vertex_indices, shape[0], "vertices")


def _mesh_faults(mesh: Mesh, material_count: int) -> Iterator[str]:
    faces = np.shape(mesh.corners)[0] if np.ndim(mesh.corners) else 0
    yield from _wrong_shape("positions", mesh.positions, (None, 3))
    yield from _wrong_shape("corners", mesh.corners, (faces, 3))
    yield from _out_of_range("corners", mesh.corners, len(mesh.positions), "vertices")
    for name, values, width, corners_name in (
        ("uv", mesh.uv, 2, "uv_corners"),
        ("colors", mesh.colors, 3, "color_corners"),
    ):
        if values is not None:
            yield from _wrong_shape(name, values, (None, width))
            corners = getattr(mesh, corners_name)
            indices = mesh.corners if corners is None else corners
            source = f"corners (used as {corners_name})" if corners is None else corners_name
            yield from _wrong_shape(source, indices, (faces, 3))
            yield from _out_of_range(source, indices, len(values), f"entries of {name}")
    for name in ("smoothing", "edges", "face_materials"):
        column = getattr(mesh, name)
        if column is not None:
            yield from _wrong_shape(name, column, (faces,))
    if mesh.face_materials is not None:
        yield from _out_of_range("face_materials", mesh.face_materials, material_count, "materials", lowest=-1)


def _skin_faults(skin: Skin, node_count: int) -> Iterator[str]:
    joints, influences = len(skin.joints), len(skin.vertex_indices)
    yield from _out_of_range("joints", skin.joints, node_count, "nodes")
    yield from _wrong_shape("inverse_bind", skin.inverse_bind, (joints, 4, 4))
    yield from _wrong_shape("joint indices", skin.joint_indices, (influences,))
    yield from _wrong_shape("weights", skin.weights, (influences,))
    yield from _out_of_range("joint indices", skin.joint_indices, joints, "joints")
    if skin.positions is not None:
        yield from _wrong_shape("positions", skin.positions, (influences, 3))


def _wrong_shape(name: str, values: npt.ArrayLike, expected: tuple[int | None, ...]) -> Iterator[str]:
    """Yield a message if an array does not have the expected shape; None as the first length matches any length."""
    shape = np.shape(values)
    if shape[1:] != expected[1:] or len(shape) != len(expected) or expected[0] not in (None, shape[0]):
        yield f"{name} must be {describe_shape(expected)}, not {describe_shape(shape)}"


def _out_of_range(name: str, indices: npt.ArrayLike, count: int, kind: str, lowest: int = 0) -> Iterator[str]:
    """Yield a message if an index is out of range."""
    array = np.asarray(indices)
    if array.size and not lowest <= int(array.min()) <= int(array.max()) < count:
        wrong = int(array.max()) if int(array.max()) >= count else int(array.min())
        yield f"{name} refer to index {wrong}, but the number of {kind} is {count} (indices start at 0)"
