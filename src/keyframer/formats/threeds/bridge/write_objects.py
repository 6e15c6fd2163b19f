"""Write meshes, cameras and lights of the editor section: positions at frame 0, in scene space."""

from __future__ import annotations

from typing import Any

import numpy as np

from keyframer.arrays import Floats, Ints
from keyframer.formats.kit.declared_fields import put_fields
from keyframer.formats.kit.mesh_writing import MeshPiece
from keyframer.formats.kit.scene_writing import encode_name
from keyframer.formats.threeds import records as r
from keyframer.formats.threeds.bridge.declared_fields import CAMERA, LIGHT, LIGHT_COLOR, SPOT, SPOT_NUMBERS
from keyframer.formats.threeds.bridge.objects import TURNED_EDGES, fov_of_lens, lens_of_fov
from keyframer.formats.threeds.bridge.write_materials import MapNames
from keyframer.formats.threeds.chunk import Chunk
from keyframer.scene import Camera, Light, LightType, Mesh


def write_mesh(
    mesh: Mesh, piece: MeshPiece, points: Floats, matrix: Floats, materials: list[bytes], *, reverse: bool
) -> r.Mesh:
    """Write one piece of a mesh.

    ``points`` (V, 3) are those of the whole mesh in scene space, ``matrix`` is that of the node. ``reverse`` flips
    faces.
    """
    order = [0, 2, 1] if reverse else [0, 1, 2]
    faces = np.zeros((len(piece.faces), 4), np.uint16)
    faces[:, :3] = piece.corners[:, order]
    faces[:, 3] = _face_flags(mesh, piece, reverse)
    groups: list[Chunk] = []
    if mesh.face_materials is not None and materials:
        owners = np.asarray(mesh.face_materials, np.int64)[piece.faces]
        for number in np.unique(owners[(owners >= 0) & (owners < len(materials))]).tolist():
            groups.append(r.MaterialGroup(materials[number], np.flatnonzero(owners == number).astype(np.uint16)))
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


def _face_flags(mesh: Mesh, piece: MeshPiece, reverse: bool) -> Ints:
    """Return visible edges, stored as CA, BC, AB; all edges if the mesh has no flags."""
    if mesh.edges is None:
        return np.full(len(piece.faces), 7)
    edges = np.asarray(mesh.edges, np.int64)[piece.faces] & 7
    return edges if reverse else TURNED_EDGES[edges]  # A, C, B: the first edge becomes the last, in stored order


def write_camera(camera: Camera, position: Floats, target: Floats) -> r.Camera:
    lens = lens_of_fov(camera.fov_degrees)
    stored = camera.extras.get("3ds", {}).get("lens")
    if isinstance(stored, float) and fov_of_lens(stored) == camera.fov_degrees:
        lens = stored
    chunk = r.Camera(_tuple(position), _tuple(target), camera.roll_degrees, lens)
    chunk.children = [*put_fields(camera, CAMERA)]
    return chunk


def write_light(light: Light, position: Floats, target: Floats | None, maps: MapNames) -> r.Light:
    parts: list[Chunk] = [*put_fields(light, LIGHT_COLOR), *put_fields(light, LIGHT)]
    parts += [r.LightExclude(encode_name(name)) for name in light.excludes]
    if target is not None:
        parts.append(_spot(light, target, maps))
    return r.Light(_tuple(position), children=list(parts))


def cones(light: Light) -> tuple[float, float]:
    """Return hotspot and falloff in degrees, as stored for a light with a target."""
    if light.type is LightType.DIRECTIONAL:
        return 80.0, 90.0
    falloff = light.falloff_degrees if light.falloff_degrees is not None else 45.0
    return light.hotspot_degrees if light.hotspot_degrees is not None else max(falloff - 1.0, 0.0), falloff


def _spot(light: Light, target: Floats, maps: MapNames) -> r.Spotlight:
    hotspot, falloff = cones(light)
    parts = put_fields(light, SPOT)
    if light.projector is not None:
        parts.append(r.SpotMap(maps.claim(light.projector)))
    if light.roll_degrees:
        parts.append(r.SpotRoll(light.roll_degrees))
    parts += put_fields(light, SPOT_NUMBERS)
    return r.Spotlight(_tuple(target), hotspot, falloff, children=list(parts))


def _tuple(values: Any) -> tuple[float, ...]:
    return tuple(float(value) for value in values)
