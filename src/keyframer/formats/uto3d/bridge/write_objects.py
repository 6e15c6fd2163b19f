"""Make records for the nodes of a scene: their kinds, and their fields other than the transform."""

from __future__ import annotations

from enum import Enum
from typing import Any

import numpy as np
import numpy.typing as npt

from keyframer.formats.kit.declared_fields import put_fields
from keyframer.formats.kit.scene_writing import plain_path
from keyframer.formats.uto3d import records as r
from keyframer.formats.uto3d.bridge.declared_fields import CAMERA, CONE, LIGHT, MESH_FLAGS, light_number
from keyframer.limits import spend
from keyframer.scene import Camera, Light, LightType, Mesh, Node, NodeKind, Scene
from keyframer.scene.loss_report import LossReport, Outcome
from keyframer.text import plural
from keyframer.wire.record import Record


class WriterLayout(Enum):
    """The program whose layout is written."""

    FLEXPORTER = "A"
    MAXSCRIPT = "B"
    LITERAL = "literal"


_LIGHTS = {
    WriterLayout.FLEXPORTER: r.FlexporterLight,
    WriterLayout.MAXSCRIPT: r.Light,
    WriterLayout.LITERAL: r.LiteralLight,
}


def record_of(scene: Scene, node: Node, sort: WriterLayout, report: LossReport) -> Record:
    """Return a new record for a node, without name, ids and transform."""
    path = plain_path("nodes", node.name)
    if node.camera is not None:
        return _camera(scene.cameras[node.camera], sort, path, report)
    if node.light is not None and scene.lights[node.light].type is not LightType.AMBIENT:
        return _light(scene.lights[node.light], node.target is not None, sort, path, report)
    if node.mesh is not None or node.kind is NodeKind.OBJECT:
        return r.Mesh() if sort is WriterLayout.MAXSCRIPT else r.MeshWithUvFaces()
    if node.kind is NodeKind.TARGET:
        return r.CameraTarget()
    if node.kind is not NodeKind.BONE:
        detail = f"written as a bone: U3D (UTO!) has no {plural(node.kind.value)}"
        report.add(Outcome.BAKED, path, detail, extras=node.extras)
    return r.Bone()


def _camera(camera: Camera, sort: WriterLayout, path: str, report: LossReport) -> r.Camera:
    record = r.Camera(**dict(put_fields(camera, CAMERA)))
    kept, lost = (camera.ranges, camera.clip) if sort is WriterLayout.FLEXPORTER else (camera.clip, camera.ranges)
    if kept is not None:
        record.near, record.far = kept
    if lost is not None:
        what = "clip planes" if sort is WriterLayout.FLEXPORTER else "atmosphere ranges"
        report.add(Outcome.DROPPED, f"{path}/camera", f"this dialect cannot store {what}")
    return record


def _light(light: Light, has_target: bool, sort: WriterLayout, path: str, report: LossReport) -> r.AnyLight:
    kind: Any = _LIGHTS[sort]
    number = light_number(kind, light.type, aims=has_target or light.target is not None)
    stored = put_fields(light, LIGHT)
    if sort is not WriterLayout.FLEXPORTER:
        stored += put_fields(light, CONE) if light.type is LightType.SPOT else []
    elif light.falloff_degrees is not None:
        report.add(Outcome.DROPPED, f"{path}/cone", "this dialect cannot store the angles of spot lights")
    return kind(type=number, **dict(stored))  # type: ignore[no-any-return]


def write_surface(record: r.Mesh, mesh: Mesh, pivot: npt.ArrayLike, materials: list[int]) -> None:
    """Write vertices, faces and their attributes."""
    faces = len(mesh.corners)
    spend("faces", faces)
    record.vertices = np.asarray(mesh.positions, np.float64) - np.asarray(pivot, np.float64)  # type: ignore[assignment]
    record.vertices = record.vertices.astype("<f4")
    record.faces = np.asarray(mesh.corners).astype("<i4")
    if mesh.uv is not None and len(mesh.uv):
        record.uvs = np.asarray(mesh.uv).astype("<f4")
        record.uv_faces = np.asarray(mesh.corners if mesh.uv_corners is None else mesh.uv_corners).astype("<i4")
    elif isinstance(record, r.MeshWithUvFaces):
        record.uv_faces = np.full((faces, 3), -1, "<i4")
    if mesh.colors is not None and len(mesh.colors):
        record.colours = np.asarray(mesh.colors)[:, :3].astype("<f4")
        corners = mesh.corners if mesh.color_corners is None else mesh.color_corners
        record.colour_faces = np.asarray(corners).astype("<i4")
    edges = np.full(faces, 7, np.uint8) if mesh.edges is None else np.asarray(mesh.edges)
    record.edges = (edges & 7).astype(np.uint8)
    numbers = np.full(faces, -1) if mesh.face_materials is None else np.asarray(mesh.face_materials, np.int64)
    ids = np.array([*materials, -1], np.int64)
    record.face_materials = ids[np.where((numbers < 0) | (numbers >= len(materials)), -1, numbers)].astype("<i4")
    record.flags = sum(bit for name, bit in MESH_FLAGS.items() if getattr(mesh, name))
    if mesh.bounding_sphere is not None:
        centre, radius = mesh.bounding_sphere
        record.flags |= r.HAS_BOUNDING_SPHERE
        record.sphere_centre = tuple(float(value) for value in centre)  # type: ignore[assignment]
        record.sphere_radius = float(radius)
    record.vertex_count, record.face_count = len(record.vertices), faces
    record.uv_count, record.colour_count = len(record.uvs), len(record.colours)
