# SPDX-License-Identifier: GPL-3.0-or-later
"""Builds meshes with normals, texture coordinates and colours, and their shape keys."""

from __future__ import annotations

from typing import Any

import bpy
import numpy as np

from keyframer.exchange.kit.colors import linear_color
from keyframer.rendering.drawable_scene import corner_normals, face_normals, normal_groups
from keyframer.scene import Mesh, Morph
from keyframer.text import safe_text

FARTHEST = 1e30
"""coordinates of at least this size become 0, as non-finite ones do; smaller ones are kept, although their squares may
overflow in single precision"""
WEIGHT_SUM_KEY = "(sum of weights)"
"""name of the shape key that corrects weights that do not sum to 1"""


def usable(points: Any) -> np.ndarray:
    """Return the coordinates with 0 for non-finite and huge ones: Blender does not draw a mesh that has any."""
    coordinates = np.asarray(points, np.float64)
    return np.where(np.abs(coordinates) < FARTHEST, coordinates, 0.0)  # false for NaN, too


def build_mesh(mesh: Mesh, name: str, points: np.ndarray, materials: list[Any], slot_of: dict[int, int]) -> Any:
    """Build a mesh of ``points`` (V, 3), without faces that use a vertex twice. ``slot_of`` has the slot of each
    material of the scene.
    """
    data = bpy.data.meshes.new(name)
    corners = np.asarray(mesh.corners, np.int64).reshape(-1, 3)
    valid = (corners[:, 0] != corners[:, 1]) & (corners[:, 1] != corners[:, 2]) & (corners[:, 2] != corners[:, 0])
    corners = corners[valid]
    count = len(corners)
    data.vertices.add(len(points))
    data.vertices.foreach_set("co", points.astype(np.float32).reshape(-1))
    data.loops.add(3 * count)
    data.loops.foreach_set("vertex_index", corners.astype(np.int32).reshape(-1))
    data.polygons.add(count)
    data.polygons.foreach_set("loop_start", np.arange(0, 3 * count, 3, dtype=np.int32))
    for material in materials:
        data.materials.append(material)
    if mesh.face_materials is not None and len(materials) > 1:
        chosen = [slot_of.get(number, 0) for number in np.asarray(mesh.face_materials)[valid].tolist()]
        data.polygons.foreach_set("material_index", np.array(chosen, np.int32))
    if mesh.uv is not None and len(mesh.uv):
        indices = corners if mesh.uv_corners is None else np.asarray(mesh.uv_corners)[valid]
        layer = data.attributes.new("UVMap", "FLOAT2", "CORNER")
        layer.data.foreach_set("vector", _rows(mesh.uv, indices).astype(np.float32).reshape(-1))
    if mesh.colors is not None and len(mesh.colors):
        indices = corners if mesh.color_corners is None else np.asarray(mesh.color_corners)[valid]
        colors = linear_color(_rows(mesh.colors, indices))
        layer = data.attributes.new("Color", "FLOAT_COLOR", "CORNER")
        layer.data.foreach_set("color", np.column_stack([colors, np.ones(3 * count)]).astype(np.float32).reshape(-1))
    masks = None if mesh.smoothing is None else np.asarray(mesh.smoothing)[valid].astype(np.int64)
    smooth = np.zeros(count, np.bool_) if masks is None else (masks & 0xFFFFFFFF) != 0
    data.polygons.foreach_set("use_smooth", smooth)
    data.update(calc_edges=True)
    if smooth.any() and count:
        groups = normal_groups(corners, masks, np.zeros(count, np.bool_), smooth=False)
        data.normals_split_custom_set(corner_normals(face_normals(points, corners), groups).reshape(-1, 3))
    return data


def _rows(values: Any, indices: np.ndarray) -> np.ndarray:
    """Return (3 F, k) values of all corners; invalid indices take the first value."""
    flat = np.asarray(indices).reshape(-1)
    return usable(values)[np.where((flat >= 0) & (flat < len(values)), flat, 0)]


def add_shape_keys(obj: Any, points: np.ndarray, morph: Morph, pivot: np.ndarray, *, sums: bool) -> list[str]:
    """Add a basis and a shape key for each shape of a morph; returns the names of all keys except the basis.

    Blender adds differences to the basis, which equals blending the shapes if the weights sum to 1. If they do not,
    ``sums`` adds a key whose value must be the sum of the weights minus 1.
    """
    obj.shape_key_add(name="Basis", from_mix=False)
    names = []
    shapes = [(name, usable(shape) - pivot) for name, shape in zip(morph.names, morph.positions, strict=True)]
    for name, shape in [*shapes, *([(WEIGHT_SUM_KEY, 2.0 * points)] if sums else [])]:
        key = obj.shape_key_add(name=safe_text(name), from_mix=False)
        key.slider_min, key.slider_max = -10.0, 10.0
        key.data.foreach_set("co", shape.astype(np.float32).reshape(-1))
        key.value = 0.0
        names.append(key.name)
    return names
