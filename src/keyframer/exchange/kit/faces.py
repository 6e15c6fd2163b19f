"""Faces of meshes that can be drawn, and the values of their corners."""

from __future__ import annotations

import numpy as np

from keyframer.arrays import Array, Flags, Floats, Indices, Singles
from keyframer.exchange.kit.colors import linear_color
from keyframer.exchange.kit.numbers import count_unusable, single
from keyframer.maths.distinct_values import unique_values
from keyframer.scene import Mesh
from keyframer.scene.loss_report import LossReport
from keyframer.scene.losses import GEOMETRY_LEFT_OUT, NUMBERS_UNUSABLE
from keyframer.scene.mesh import CORNER_TABLES

_UNIT_LENGTH = 1e-3
"""normals this close to unit length are written as they are"""


def colors_of(mesh: Mesh, *, linear: bool = False) -> Floats:
    """Return (C, 3) colours, or (C, 4) with their opacity, if some are not opaque."""
    colors = np.asarray(mesh.colors, np.float64)
    if linear:
        colors = linear_color(colors)
    if mesh.color_alpha is None or bool((np.asarray(mesh.color_alpha) == 1.0).all()):
        return colors
    return np.column_stack([colors, np.nan_to_num(np.asarray(mesh.color_alpha, np.float64)).clip(0.0, 1.0)])


def _valid_faces(numbers: Array, count: int, lowest: int) -> Flags | None:
    """Return (F,) whether the indices of each face are valid; None if all are valid."""
    if not numbers.size or (int(numbers.min()) >= lowest and int(numbers.max()) < count):
        return None
    return np.asarray(((numbers >= lowest) & (numbers < count)).all(axis=1))


class DrawableFaces:
    """The faces that can be drawn, with their data."""

    def __init__(self, faces: Indices, mesh: Mesh, valid: Flags | None, material_count: int) -> None:
        def valid_rows(column: Array | None) -> Array | None:
            return column if column is None or valid is None else np.asarray(column)[valid]

        self.faces = faces
        self.dropped = 0 if valid is None else len(valid) - len(faces)
        """faces with invalid indices"""
        self.numbers: dict[str, Indices | None] = {}
        """for each table of values of corners that the mesh has: the indices into it; None: those of the vertices"""
        for name, corners_name in CORNER_TABLES.items():
            values, numbers = getattr(mesh, name), getattr(mesh, corners_name)
            if values is not None and len(values):
                self.numbers[name] = None if numbers is None else np.asarray(valid_rows(numbers)).astype(np.int64)
        self.masks = valid_rows(mesh.smoothing)
        self.edges = valid_rows(mesh.edges)
        face_materials = valid_rows(mesh.face_materials)
        if face_materials is not None:
            numbers = np.asarray(face_materials).astype(np.int64)
            face_materials = np.where((numbers >= 0) & (numbers < material_count), numbers, -1)
        self.materials = face_materials

    def __len__(self) -> int:
        return len(self.faces)

    def used_materials(self) -> list[int]:
        """Return the indices of the used materials."""
        return [-1] if self.materials is None else unique_values(self.materials).tolist()


def drawable_faces(mesh: Mesh, material_count: int) -> DrawableFaces:
    """Return the faces with valid indices of a mesh in a scene with so many materials."""
    faces = np.asarray(mesh.corners).astype(np.int64).reshape(-1, 3)
    valid = _valid_faces(faces, len(mesh.positions), 0)
    for name, corners_name in CORNER_TABLES.items():
        table, numbers = getattr(mesh, name), getattr(mesh, corners_name)
        if table is not None and numbers is not None:  # -1: no value
            in_table = _valid_faces(np.asarray(numbers), len(table), -1)
            valid = in_table if valid is None else valid if in_table is None else valid & in_table
    return DrawableFaces(faces if valid is None else faces[valid], mesh, valid, material_count)


def smoothing_masks(drawable: DrawableFaces, flat_materials: list[int], smooth: bool) -> Array | None:
    """Return the smoothing groups of faces: none for those of flat materials; ``smooth`` is for meshes without any."""
    if drawable.materials is None or not flat_materials:
        return drawable.masks
    masks = np.full(len(drawable), int(smooth)) if drawable.masks is None else np.asarray(drawable.masks)
    return np.where(np.isin(drawable.materials, flat_materials), 0, masks)


def unit_normals(given: Floats, numbers: Indices, computed: Singles) -> Singles:
    """Return stated normals, (n,) ``numbers`` into ``given``; computed ones (n, 3) where they have no direction."""
    normals = single(given).take(numbers, axis=0)
    length = np.sqrt((normals.astype(np.float64) ** 2).sum(axis=1))
    usable = (length > 1e-6) & np.isfinite(length)
    inexact = usable & (np.abs(length - 1.0) > _UNIT_LENGTH)
    normals[inexact] = (normals[inexact] / length[inexact, None]).astype(np.float32)
    normals[~usable] = computed[~usable]
    return np.ascontiguousarray(normals)


def report_faces(mesh: Mesh, drawable: DrawableFaces, report: LossReport) -> None:
    """Report the faces and numbers of a mesh that cannot be written."""
    path = f"/meshes/{mesh.name}"
    if drawable.dropped:
        report.add(GEOMETRY_LEFT_OUT["faces"], f"{path}/corners", extras=mesh.extras, count=drawable.dropped)
    if not len(drawable):
        if len(mesh.positions):
            report.add(GEOMETRY_LEFT_OUT["vertices"], path, extras=mesh.extras, count=len(mesh.positions))
        return
    for name in ("positions", "uv", "uv2"):
        values = getattr(mesh, name)
        unusable = 0 if values is None else count_unusable(values)
        if unusable:
            report.add(NUMBERS_UNUSABLE["values"], f"{path}/{name}", extras=mesh.extras, count=unusable)
