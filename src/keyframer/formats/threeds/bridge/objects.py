"""Read meshes, lights and cameras of the editor, before the keyframer positions them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from keyframer.arrays import Flags, Floats
from keyframer.catalogue import (
    DATA_MATRIX_SINGULAR,
    DATA_NON_FINITE,
    LINK_COUNT_MISMATCH,
    LINK_INDEX_OUT_OF_RANGE,
    LINK_UNRESOLVED_NAME,
)
from keyframer.curves.lazy_fields import add_extras, unchecked_constructor
from keyframer.formats.kit.declared_fields import read_declared_fields
from keyframer.formats.threeds import records as r
from keyframer.formats.threeds.bridge.context import (
    Context,
    child,
    first_chunks,
    has,
    unread_chunks,
    value_kinds,
)
from keyframer.formats.threeds.bridge.declared_fields import (
    CAMERA,
    CAMERA_NUMBERS,
    CONE,
    EDGES,
    EXCLUDES,
    LIGHT,
    LIGHT_COLOR,
    PROJECTOR,
    SPOT,
    SPOT_NUMBERS,
    kinds_of,
    read_file_names,
)
from keyframer.formats.threeds.chunk import Chunk
from keyframer.scene import Camera, Light, LightType, Mesh

_ORIGIN = (0.0, 0.0, 0.0)
_IDENTITY = np.eye(4)
_IDENTITY.flags.writeable = False
_NO_POINTS = np.empty((0, 3), np.float32)
_NO_CORNERS = np.empty((0, 3), np.int32)

_FLAG_NAMES: dict[type[Chunk], str] = {
    r.ObjectHidden: "hidden",
    r.ObjectInLofter: "visible in lofter",
    r.ObjectMatte: "matte",
    r.ObjectFast: "fast",
    r.ObjectProcedural: "external process on",
    r.ObjectFrozen: "frozen",
}


BoxCorner = list[float]


@dataclass(eq=False, repr=False, slots=True)
class MeshObject:
    """A mesh with its stored vertices and the matrix to its local axes."""

    name: bytes
    chunk: r.NamedObject
    mesh: Mesh
    """the mesh with stored vertices as positions"""
    stored_matrix: StoredMatrix | None
    """contents of 4160; None if it is missing"""
    matrix: Floats
    """(4, 4) M = 4160, identity if it is missing or not finite; set by `find_axes`"""
    to_local: Floats | None
    """(4, 4) from stored to local vertices, F . M^-1; None if M is singular or not finite; set by `find_axes`"""
    hidden: bool = False
    _box: tuple[BoxCorner, BoxCorner] | None = None

    @property
    def box(self) -> tuple[BoxCorner, BoxCorner] | None:
        """Return lower and upper corner of the stored vertices; None without vertices."""
        if self._box is None and len(self.mesh.positions):
            columns = np.ascontiguousarray(self.mesh.positions.T)  # numpy is ten times faster along rows
            self._box = columns.min(axis=1).tolist(), columns.max(axis=1).tolist()
        return self._box


@dataclass(eq=False, repr=False, slots=True)
class PlacedCamera:
    """A camera with its position in the editor."""

    name: bytes
    camera: Camera
    position: list[float]
    hidden: bool
    chunk: r.NamedObject


@dataclass(eq=False, repr=False, slots=True)
class PlacedLight:
    """A light with its position in the editor."""

    name: bytes
    light: Light
    position: list[float]
    hidden: bool
    chunk: r.NamedObject


_new_mesh = unchecked_constructor(Mesh)


def read_mesh(context: Context, chunk: r.NamedObject, materials: dict[bytes, int]) -> MeshObject | None:
    """Read the mesh of an object; None if the object is not a mesh. Faces with invalid vertex indices are left out."""
    object_chunks = first_chunks(chunk)
    body: r.Mesh | None = object_chunks.get(r.Mesh)
    if body is None:
        return None
    mesh_chunks = first_chunks(body)
    points_chunk: r.PointArray | None = mesh_chunks.get(r.PointArray)
    points = _NO_POINTS if points_chunk is None else points_chunk.points
    mesh: Mesh = _new_mesh(context.text(chunk.name), points, _NO_CORNERS, raw_name=chunk.name)
    if points_chunk is not None and not np.isfinite(points).all():
        non_finite = ~np.isfinite(points)
        first = int(non_finite.any(axis=1).argmax())
        context.report(DATA_NON_FINITE, points_chunk, "points", count=int(non_finite.sum()), index=first)
        mesh.positions = np.where(np.isfinite(points), points, 0.0)
    face_chunk: r.FaceArray | None = mesh_chunks.get(r.FaceArray)
    if face_chunk is not None:
        _read_faces(context, body, face_chunk, mesh, materials)
    _read_uv(context, mesh_chunks.get(r.TextureVertices), mesh)
    stored_matrix = _read_matrix(context, mesh_chunks.get(r.MeshMatrix))
    unread = unread_chunks(body, _MESH_KNOWN)
    if len(object_chunks) > 1 or chunk.tail or body.tail or len(chunk.children) > 1:
        mesh.casts_shadows = r.ObjectDoesNotCast not in object_chunks
        mesh.receives_shadows = r.ObjectReceivesNoShadow not in object_chunks
        flags = [name for kind, name in _FLAG_NAMES.items() if kind in object_chunks]
        if flags:
            add_extras(mesh, "3ds", {"flags": flags})
        unread += unread_chunks(chunk, _OBJECT_KNOWN)
    if face_chunk is not None:
        unread += unread_chunks(face_chunk, _FACES_KNOWN)
    if unread:
        add_extras(mesh, "3ds", {"chunks": unread})
    context.mark(mesh, "3ds", chunk)
    return MeshObject(chunk.name, chunk, mesh, stored_matrix, _IDENTITY, _IDENTITY, r.ObjectHidden in object_chunks)


def _read_faces(context: Context, body: r.Mesh, chunk: r.FaceArray, mesh: Mesh, materials: dict[bytes, int]) -> None:
    faces = chunk.faces
    corners = faces[:, :3].astype(np.int32)
    valid: slice | Flags = slice(None)  # all faces, without a copy
    if corners.max(initial=-1) >= len(mesh.positions):
        outside = (corners >= len(mesh.positions)).any(axis=1)
        valid = np.asarray(~outside)
        context.report_each(
            LINK_INDEX_OUT_OF_RANGE,
            chunk,
            "faces",
            np.flatnonzero(outside),
            lambda at: {
                "what": "face",
                "item": at,
                "kind": "vertex",
                "index": int(corners[at].max()),
                "count": len(mesh.positions),
            },
        )
    flags = faces[:, 3]
    face_materials = np.empty(len(faces), np.int32)
    face_materials.fill(-1)
    faces_by_missing_material = {}
    smooth_groups = None
    for sub_chunk in (*chunk.children, *body.children):
        if isinstance(sub_chunk, r.MaterialGroup):
            if not _assign_material(context, sub_chunk, face_materials, materials):
                faces_by_missing_material[context.text(sub_chunk.material)] = sub_chunk.faces
        elif smooth_groups is None and isinstance(sub_chunk, r.SmoothGroups):
            smooth_groups = sub_chunk
    if faces_by_missing_material:
        add_extras(mesh, "3ds", {"faces_of_missing_materials": faces_by_missing_material})
    mesh.corners = corners[valid]
    read_declared_fields(mesh, flags[valid], EDGES)
    mesh.face_materials = face_materials[valid]
    if smooth_groups is not None:
        masks = np.zeros(len(faces), np.uint32)
        stored = smooth_groups.groups[: len(faces)]
        masks[: len(stored)] = stored
        mesh.smoothing = masks[valid]
        if len(smooth_groups.groups) != len(faces):
            context.report(
                LINK_COUNT_MISMATCH,
                smooth_groups,
                claimed=len(faces),
                what="smoothing masks",
                found=len(smooth_groups.groups),
            )
    if flags.max(initial=0) > 7:  # wrap and selection bits contain garbage in many files; they are kept unchanged
        add_extras(mesh, "3ds", {"face_flags": flags[valid]})


def _assign_material(
    context: Context, group: r.MaterialGroup, face_materials: npt.NDArray[np.int32], materials: dict[bytes, int]
) -> bool:
    """Set the material of the faces in a group; return False if the material does not exist."""
    material_number = materials.get(group.material, materials.get(group.material.lower()))
    if material_number is None:
        context.report(LINK_UNRESOLVED_NAME, group, "material", kind="material", name=context.shown(group.material))
        return False
    face_numbers = group.faces
    if len(face_numbers) and face_numbers.max() >= len(face_materials):
        outside = face_numbers >= len(face_materials)
        context.report_each(
            LINK_INDEX_OUT_OF_RANGE,
            group,
            "faces",
            np.flatnonzero(outside),
            lambda entry: {
                "what": "entry",
                "item": entry,
                "kind": "face",
                "index": int(group.faces[entry]),
                "count": len(face_materials),
            },
        )
        face_numbers = face_numbers[~outside]
    face_materials[face_numbers] = material_number
    return True


def _read_uv(context: Context, chunk: r.TextureVertices | None, mesh: Mesh) -> None:
    if chunk is None:
        return
    uv = np.zeros((len(mesh.positions), 2), np.float32)
    stored = chunk.uv[: len(uv)]
    # Uninitialised memory occurs (0xFEFEFEFE, NaN, 1e30): no texture is tiled a million times.
    usable = np.abs(stored) < 1e6  # false for NaN
    all_usable = bool(usable.all())
    uv[: len(stored)] = stored if all_usable else np.where(usable, stored, 0.0)
    mesh.uv = uv
    if len(chunk.uv) != len(uv):
        context.report(LINK_COUNT_MISMATCH, chunk, "uv", claimed=len(uv), what="texture vertices", found=len(chunk.uv))
    if not all_usable:
        first = int((~usable).any(axis=1).argmax())
        context.report(DATA_NON_FINITE, chunk, "uv", count=int((~usable).sum()), index=first)


class StoredMatrix(NamedTuple):
    """The matrix M of 4160, with the properties needed before it is inverted."""

    rows: tuple[tuple[float, float, float, float], ...]
    singular: bool
    mirrored: bool


_UNIT_ROWS = ((1.0, 0.0, 0.0, 0.0), (0.0, 1.0, 0.0, 0.0), (0.0, 0.0, 1.0, 0.0), (0.0, 0.0, 0.0, 1.0))


def _read_matrix(context: Context, chunk: r.MeshMatrix | None) -> StoredMatrix | None:
    if chunk is None:
        return None
    (ax, ay, az), (bx, by, bz), (cx, cy, cz) = chunk.x_axis, chunk.y_axis, chunk.z_axis
    x, y, z = chunk.origin
    determinant = ax * (by * cz - bz * cy) + ay * (bz * cx - bx * cz) + az * (bx * cy - by * cx)
    numbers = (ax, ay, az, bx, by, bz, cx, cy, cz)
    finite = math.isfinite(sum(numbers) + x + y + z)  # 32-bit numbers do not overflow here
    rows = ((ax, bx, cx, x), (ay, by, cy, y), (az, bz, cz, z), (0.0, 0.0, 0.0, 1.0))
    singular = not finite or abs(determinant) <= 1e-12 * max(map(abs, numbers)) ** 3
    if singular:
        context.report(DATA_MATRIX_SINGULAR, chunk)
    return StoredMatrix(rows if finite else _UNIT_ROWS, singular, determinant < 0)


def find_axes(mesh_objects: Sequence[MeshObject]) -> None:
    """Set the matrices of meshes with chunk 4160: M, and F . M^-1 from stored to local vertices.

    F mirrors X if M is mirrored. One call takes as long for ten meshes as for one.
    """
    pairs = [(mesh_object, stored) for mesh_object in mesh_objects if (stored := mesh_object.stored_matrix) is not None]
    if not pairs:
        return
    matrices = np.array([stored.rows for _, stored in pairs])
    inverses = np.linalg.inv(np.array([_UNIT_ROWS if stored.singular else stored.rows for _, stored in pairs]))
    for (mesh_object, stored), matrix, inverse in zip(pairs, matrices, inverses, strict=True):
        mesh_object.matrix = mesh_object.mesh.axes = matrix
        if stored.mirrored:
            inverse[0] = -inverse[0]
        mesh_object.to_local = None if stored.singular else inverse


_MESH_KNOWN = frozenset((r.PointArray, r.FaceArray, r.MaterialGroup, r.SmoothGroups, r.TextureVertices, r.MeshMatrix))
_FACES_KNOWN = frozenset((r.MaterialGroup, r.SmoothGroups))
_OBJECT_KNOWN = frozenset((r.Mesh, r.Light, r.Camera, r.ObjectDoesNotCast, r.ObjectReceivesNoShadow, *_FLAG_NAMES))
_LIGHT_OR_CAMERA_KNOWN = frozenset((r.Mesh, r.Light, r.Camera, r.ObjectHidden))
"""chunks of a light or camera object that are read"""


def read_camera(context: Context, chunk: r.NamedObject) -> PlacedCamera | None:
    """Read the camera of an object; None if the object is not a camera."""
    body = child(chunk, r.Camera)
    if body is None:
        return None
    target = context.finite(body, "target", body.target, _ORIGIN)
    camera = Camera(
        context.text(chunk.name),
        target=(target[0], target[1], target[2]),
        raw_name=chunk.name,
    )
    read_declared_fields(camera, body, CAMERA_NUMBERS)
    camera.roll_degrees = context.finite(body, "bank", [camera.roll_degrees], [0.0])[0]
    read_declared_fields(camera, first_chunks(body), CAMERA)
    camera.extras["3ds"] = {"lens": body.lens, **context.location_of(chunk)}
    unread = unread_chunks(body, kinds_of(CAMERA, wraps=False)) + _unread_siblings(chunk)
    if unread:
        camera.extras["3ds"]["chunks"] = unread
    position = context.finite(body, "position", body.position, _ORIGIN)
    return PlacedCamera(chunk.name, camera, position, has(chunk, r.ObjectHidden), chunk)


def _unread_siblings(chunk: r.NamedObject) -> list[dict[str, Any]]:
    """Return unread chunks next to a light or camera; empty if the object has a mesh too, which then keeps them."""
    return [] if has(chunk, r.Mesh) else unread_chunks(chunk, _LIGHT_OR_CAMERA_KNOWN)


_LIGHT_KNOWN = kinds_of(LIGHT, wraps=False) | {r.Spotlight, r.LightExclude}
_SPOT_KNOWN = kinds_of((*SPOT, *PROJECTOR, *SPOT_NUMBERS), wraps=False)


def read_light(context: Context, chunk: r.NamedObject) -> PlacedLight | None:
    """Read the light of an object; None if the object is not a light."""
    body = child(chunk, r.Light)
    if body is None:
        return None
    light = Light(context.text(chunk.name), raw_name=chunk.name)
    read_declared_fields(light, body, LIGHT_COLOR)
    read_declared_fields(light, first_chunks(body), LIGHT)
    read_declared_fields(light, (body, context.text), EXCLUDES)
    unread = unread_chunks(body, _LIGHT_KNOWN | value_kinds(body)) + _unread_siblings(chunk)
    spot = child(body, r.Spotlight)
    if spot is not None:
        _read_spot(context, spot, light)
        unread += unread_chunks(spot, _SPOT_KNOWN)
    light.extras["3ds"] = {**({"chunks": unread} if unread else {}), **context.location_of(chunk)}
    position = context.finite(body, "position", body.position, _ORIGIN)
    return PlacedLight(chunk.name, light, position, has(chunk, r.ObjectHidden), chunk)


def _read_spot(context: Context, spot: r.Spotlight, light: Light) -> None:
    light.type = LightType.SPOT
    target = context.finite(spot, "target", spot.target, _ORIGIN)
    light.target = (target[0], target[1], target[2])
    read_declared_fields(light, spot, CONE)
    chunks = first_chunks(spot)
    read_declared_fields(light, chunks, (*SPOT, *SPOT_NUMBERS))
    read_file_names(light, chunks, PROJECTOR, context.text)
    if r.SpotRoll in chunks:
        light.roll_degrees = context.finite(chunks[r.SpotRoll], "roll", [light.roll_degrees], [0.0])[0]
