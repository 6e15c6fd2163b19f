"""The meshes of a U3D document changed in place: the fields of their records, and the skins that go with them."""

from __future__ import annotations

from typing import Any

import numpy as np

from keyframer.formats.kit.scene_writing import Tolerance, Unpatchable
from keyframer.formats.uto3d import records as r
from keyframer.formats.uto3d.bridge.write_skins import write_skin
from keyframer.formats.uto3d.bridge.write_things import write_surface
from keyframer.scene import Mesh, Node, Scene
from keyframer.scene.report import LossReport

_FLAGS = {"casts_shadows": r.CASTS_SHADOWS, "dynamic": r.DYNAMIC}
_PLAIN = {"positions", "corners", "uv", "uv_corners", "colors", "color_corners", "edges", "face_materials"}


def patch_surface(record: r.Mesh, before: Mesh, mesh: Mesh, names: set[str], materials: list[int]) -> None:
    """Change what ``names`` say; ``materials`` are the ids of the scene's."""
    unknown = names - _PLAIN - set(_FLAGS) - {"name", "bounding_sphere"}
    if unknown:
        raise Unpatchable(f"{min(unknown)} of meshes")
    for name in names & set(_FLAGS):
        record.flags = record.flags | _FLAGS[name] if getattr(mesh, name) else record.flags & ~_FLAGS[name]
    if "bounding_sphere" in names:
        _set_sphere(record, mesh)
    if not names & _PLAIN:
        return
    old = {name: getattr(record, name) for name in ("faces", "edges", "face_materials", "flags")}
    sphere = (record.sphere_centre, record.sphere_radius)
    fresh = r.MeshWithUvFaces() if isinstance(record, r.MeshWithUvFaces) else r.Mesh()
    write_surface(fresh, mesh, np.zeros(3), materials)
    fields = ("vertices", "faces", "uvs", "uv_faces", "colours", "colour_faces", "edges", "face_materials")
    for name in fields:
        if name != "vertices" or "positions" in names:  # those of rigid skins stand in the space of bones
            setattr(record, name, _unless_same(getattr(record, name), getattr(fresh, name)))
    for name in ("vertex_count", "face_count", "uv_count", "colour_count"):
        setattr(record, name, getattr(fresh, name))
    record.sphere_centre, record.sphere_radius = sphere
    _keep_rows(record, before, mesh, old)


def _unless_same(old: Any, new: Any) -> Any:
    """Stored numbers stay where they say the same."""
    return old if old.shape == new.shape and np.array_equal(old, new, equal_nan=False) else new


def _keep_rows(record: r.Mesh, before: Mesh, mesh: Mesh, old: dict[str, Any]) -> None:
    """Faces that stay keep the bits of edges that only the file knows, and the id that their material has there."""
    if len(before.corners) != len(old["faces"]):
        return  # faces that point nowhere were left out: rows do not correspond
    common = min(len(old["faces"]), len(record.faces))
    edges, owners = np.array(record.edges), np.array(record.face_materials)
    edges[:common] = edges[:common] & 7 | np.asarray(old["edges"])[:common] & 0xF8
    record.edges = edges
    if before.face_materials is not None and mesh.face_materials is not None:
        was = np.asarray(before.face_materials, np.int64)[:common]
        now = np.asarray(mesh.face_materials, np.int64)[:common]
        same = was == now
        owners[:common][same] = np.asarray(old["face_materials"])[:common][same]
        record.face_materials = owners


def _set_sphere(record: r.Mesh, mesh: Mesh) -> None:
    if mesh.bounding_sphere is None:
        record.flags &= ~r.HAS_BOUNDING_SPHERE
        return
    centre, radius = mesh.bounding_sphere
    record.flags |= r.HAS_BOUNDING_SPHERE
    record.sphere_centre = tuple(float(value) for value in centre)  # type: ignore[assignment]
    record.sphere_radius = float(radius)


def patch_skin(record: r.Mesh, scene: Scene, node: Node, ids: dict[int, int], tolerance: Tolerance) -> None:
    """Bones and weights of a mesh, and its vertices where they are stored in the space of bones."""
    rigid = record.flags & r.SKINNED and record.skin_type == r.SIMPLE_SKIN
    if node.skin is None:
        if rigid:
            raise Unpatchable("vertices that a rigid skin placed")
        record.flags &= ~r.SKINNED
        return
    if bool(rigid) != scene.skins[node.skin].rigid:
        raise Unpatchable("a rigid skin that became a weighted one, or the other way round")
    write_skin(record, scene, node, ids, tolerance, LossReport("uto3d"))
