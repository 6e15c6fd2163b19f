"""Write meshes, cameras and lights of the editor section: positions at frame 0, in scene space."""

from __future__ import annotations

from typing import Any

import numpy as np

from keyframer.arrays import Array, Floats
from keyframer.formats.kit.declared_fields import write_declared_fields
from keyframer.formats.kit.mesh_writing import MeshPiece
from keyframer.formats.threeds import records as r
from keyframer.formats.threeds.bridge.declared_fields import (
    CAMERA,
    CAMERA_NUMBERS,
    CONE,
    EDGES,
    EXCLUDES,
    LIGHT,
    LIGHT_COLOR,
    PROJECTOR,
    REVERSED_EDGES,
    SPOT,
    SPOT_NUMBERS,
    write_file_names,
)
from keyframer.formats.threeds.bridge.write_materials import MapNames
from keyframer.formats.threeds.chunk import Chunk
from keyframer.scene import Camera, Light, Mesh


def write_mesh(
    mesh: Mesh, piece: MeshPiece, points: Floats, matrix: Floats, materials: list[bytes], *, reverse: bool
) -> r.Mesh:
    """Write one piece of a mesh.

    ``points`` (V, 3) are the vertices of the whole mesh as they are stored, ``matrix`` (4, 4) is the matrix to store,
    ``materials`` are stored names. With ``reverse``, the corners of faces are written in reverse order.
    """
    order = [0, 2, 1] if reverse else [0, 1, 2]
    faces = np.zeros((len(piece.faces), 4), np.uint16)
    faces[:, :3] = piece.corners[:, order]
    faces[:, 3] = _face_flags(mesh, piece, reverse)
    groups: list[Chunk] = []
    if mesh.face_materials is not None and materials:
        numbers = np.asarray(mesh.face_materials, np.int64)[piece.faces]
        for number in np.unique(numbers[(numbers >= 0) & (numbers < len(materials))]).tolist():
            groups.append(r.MaterialGroup(materials[number], np.flatnonzero(numbers == number).astype(np.uint16)))
    if mesh.smoothing is not None:
        groups.append(r.SmoothGroups(np.asarray(mesh.smoothing)[piece.faces].astype("<u4")))
    parts: list[Chunk] = [
        r.PointArray(points[piece.vertices].astype("<f4")),
        r.FaceArray(faces.astype("<u2"), children=list(groups)),
    ]
    if piece.uv is not None:
        parts.append(r.TextureVertices(piece.uv.astype("<f4")))
    parts.append(r.MeshMatrix(*(_tuple(matrix[:3, column]) for column in range(4))))
    return r.Mesh(children=list(parts))


def _face_flags(mesh: Mesh, piece: MeshPiece, reverse: bool) -> Array:
    """Return the flags of visible edges in the stored order CA, BC, AB; all edges if the mesh has no flags."""
    stored = write_declared_fields(mesh, EDGES)
    if not stored:
        return np.full(len(piece.faces), 7)
    flags = stored[0][piece.faces]
    return REVERSED_EDGES[flags] if reverse else flags  # corners A, C, B: the first edge becomes the last


def write_camera(camera: Camera, position: Floats, target: Floats) -> r.Camera:
    numbers = write_declared_fields(camera, CAMERA_NUMBERS)
    chunk = r.Camera(_tuple(position), _tuple(target), *numbers)
    chunk.children = [*write_declared_fields(camera, CAMERA)]
    return chunk


def write_light(light: Light, position: Floats, target: Floats | None, maps: MapNames) -> r.Light:
    parts: list[Chunk] = [*write_declared_fields(light, LIGHT_COLOR), *write_declared_fields(light, LIGHT)]
    parts += write_declared_fields(light, EXCLUDES)
    if target is not None:
        parts.append(_spot(light, target, maps))
    return r.Light(_tuple(position), children=list(parts))


def _spot(light: Light, target: Floats, maps: MapNames) -> r.Spotlight:
    parts = [
        *write_declared_fields(light, SPOT),
        *write_file_names(light, PROJECTOR, maps.claim),
        *write_declared_fields(light, SPOT_NUMBERS),
    ]
    return r.Spotlight(_tuple(target), *write_declared_fields(light, CONE), children=list(parts))


def _tuple(values: Any) -> tuple[float, ...]:
    return tuple(float(value) for value in values)
