"""Read meshes, lights and cameras of the editor, before the keyframer positions them."""

from __future__ import annotations

import math
from collections.abc import Sequence
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
from keyframer.fields import dataclass
from keyframer.formats.kit.declared_fields import get_fields
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
    get_file_names,
    kinds_of,
)
from keyframer.formats.threeds.chunk import Chunk
from keyframer.scene import Camera, Light, LightType, Mesh

_ORIGIN = (0.0, 0.0, 0.0)
_IDENTITY = np.eye(4)
_IDENTITY.flags.writeable = False
_NO_POINTS = np.empty((0, 3), np.float32)
_NO_CORNERS = np.empty((0, 3), np.int32)

_FLAG_KEYS: dict[type[Chunk], str] = {
    r.ObjectHidden: "hidden",
    r.ObjectInLofter: "visible in lofter",
    r.ObjectMatte: "matte",
    r.ObjectFast: "fast",
    r.ObjectProcedural: "external process on",
    r.ObjectFrozen: "frozen",
}


Corner = list[float]


@dataclass(eq=False, repr=False, slots=True)
class MeshObject:
    """A mesh with its stored vertices and the matrix to its local axes."""

    name: bytes
    chunk: r.NamedObject
    mesh: Mesh
    """the mesh with stored vertices as positions"""
    stated: StatedMatrix | None
    """contents of 4160; None if it is missing"""
    matrix: Floats
    """(4, 4) M = 4160, identity if it is missing; set by `find_axes`"""
    to_local: Floats | None
    """(4, 4) from stored to local vertices, F . M^-1; None if 4160 is singular; set by `find_axes`"""
    hidden: bool = False
    _box: tuple[Corner, Corner] | None = None

    @property
    def box(self) -> tuple[Corner, Corner] | None:
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
    siblings = first_chunks(chunk)
    body: r.Mesh | None = siblings.get(r.Mesh)
    if body is None:
        return None
    inside = first_chunks(body)
    points_chunk: r.PointArray | None = inside.get(r.PointArray)
    points = _NO_POINTS if points_chunk is None else points_chunk.points
    mesh: Mesh = _new_mesh(context.text(chunk.name), points, _NO_CORNERS, raw_name=chunk.name)
    if points_chunk is not None and not np.isfinite(points).all():
        odd = np.flatnonzero(~np.isfinite(points).all(axis=1))
        context.report(DATA_NON_FINITE, points_chunk, "points", count=len(odd), index=int(odd[0]))
        mesh.positions = np.where(np.isfinite(points), points, 0.0)
    face_chunk: r.FaceArray | None = inside.get(r.FaceArray)
    if face_chunk is not None:
        _read_faces(context, body, face_chunk, mesh, materials)
    _read_uv(context, inside.get(r.TextureVertices), mesh)
    stated = _read_matrix(context, inside.get(r.MeshMatrix))
    kept = unread_chunks(body, _MESH_KNOWN)
    if len(siblings) > 1 or chunk.tail or body.tail or len(chunk.children) > 1:
        mesh.casts_shadows = r.ObjectDoesNotCast not in siblings
        mesh.receives_shadows = r.ObjectReceivesNoShadow not in siblings
        flags = [name for kind, name in _FLAG_KEYS.items() if kind in siblings]
        if flags:
            add_extras(mesh, "3ds", {"flags": flags})
        kept += unread_chunks(chunk, _OBJECT_KNOWN)
    if face_chunk is not None:
        kept += unread_chunks(face_chunk, _FACES_KNOWN)
    if kept:
        add_extras(mesh, "3ds", {"chunks": kept})
    context.mark(mesh, "3ds", chunk)
    return MeshObject(chunk.name, chunk, mesh, stated, _IDENTITY, _IDENTITY, r.ObjectHidden in siblings)


def _read_faces(context: Context, body: r.Mesh, chunk: r.FaceArray, mesh: Mesh, materials: dict[bytes, int]) -> None:
    faces = chunk.faces
    corners = faces[:, :3].astype(np.int32)
    good: slice | Flags = slice(None)  # all faces, without a copy
    if corners.max(initial=-1) >= len(mesh.positions):
        outside = (corners >= len(mesh.positions)).any(axis=1)
        good = np.asarray(~outside)
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
    owners = np.empty(len(faces), np.int32)
    owners.fill(-1)
    lost = {}
    smooth = None
    for part in (*chunk.children, *body.children):
        if isinstance(part, r.MaterialGroup):
            if not _assign_material(context, part, owners, materials):
                lost[context.text(part.material)] = part.faces
        elif smooth is None and isinstance(part, r.SmoothGroups):
            smooth = part
    if lost:
        add_extras(mesh, "3ds", {"faces_of_missing_materials": lost})
    mesh.corners = corners[good]
    get_fields(mesh, flags[good], EDGES)
    mesh.face_materials = owners[good]
    if smooth is not None:
        masks = np.zeros(len(faces), np.uint32)
        stored = smooth.groups[: len(faces)]
        masks[: len(stored)] = stored
        mesh.smoothing = masks[good]
        if len(smooth.groups) != len(faces):
            context.report(
                LINK_COUNT_MISMATCH, smooth, claimed=len(faces), what="smoothing masks", found=len(smooth.groups)
            )
    if flags.max(initial=0) > 7:  # wrap and selection bits contain garbage in many files; they are kept unchanged
        add_extras(mesh, "3ds", {"face_flags": flags[good]})


def _assign_material(
    context: Context, group: r.MaterialGroup, owners: npt.NDArray[np.int32], materials: dict[bytes, int]
) -> bool:
    """Set the material of the faces in a group; return False if the material does not exist."""
    number = materials.get(group.material, materials.get(group.material.lower()))
    if number is None:
        context.report(LINK_UNRESOLVED_NAME, group, "material", kind="material", name=context.shown(group.material))
        return False
    numbers = group.faces
    if len(numbers) and numbers.max() >= len(owners):
        outside = numbers >= len(owners)
        context.report_each(
            LINK_INDEX_OUT_OF_RANGE,
            group,
            "faces",
            np.flatnonzero(outside),
            lambda at: {
                "what": "entry",
                "item": at,
                "kind": "face",
                "index": int(group.faces[at]),
                "count": len(owners),
            },
        )
        numbers = numbers[~outside]
    owners[numbers] = number
    return True


def _read_uv(context: Context, chunk: r.TextureVertices | None, mesh: Mesh) -> None:
    if chunk is None:
        return
    uv = np.zeros((len(mesh.positions), 2), np.float32)
    stored = chunk.uv[: len(uv)]
    # Uninitialised memory occurs (0xFEFEFEFE, NaN, 1e30): no texture is tiled a million times.
    usable = np.abs(stored) < 1e6  # false for NaN
    whole = bool(usable.all())
    uv[: len(stored)] = stored if whole else np.where(usable, stored, 0.0)
    mesh.uv = uv
    if len(chunk.uv) != len(uv):
        context.report(LINK_COUNT_MISMATCH, chunk, "uv", claimed=len(uv), what="texture vertices", found=len(chunk.uv))
    if not whole:
        odd = np.flatnonzero(~usable.all(axis=1))
        context.report(DATA_NON_FINITE, chunk, "uv", count=len(odd), index=int(odd[0]))


class StatedMatrix(NamedTuple):
    """The matrix M of 4160, with the properties needed before it is inverted."""

    rows: tuple[tuple[float, float, float, float], ...]
    singular: bool
    mirrored: bool


_UNIT_ROWS = ((1.0, 0.0, 0.0, 0.0), (0.0, 1.0, 0.0, 0.0), (0.0, 0.0, 1.0, 0.0), (0.0, 0.0, 0.0, 1.0))


def _read_matrix(context: Context, chunk: r.MeshMatrix | None) -> StatedMatrix | None:
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
    return StatedMatrix(rows if finite else _UNIT_ROWS, singular, determinant < 0)


def find_axes(mesh_objects: Sequence[MeshObject]) -> None:
    """Set the matrices of all meshes: M, and F . M^-1 from stored to local vertices (F mirrors X if M is mirrored).

    One call takes as long for ten meshes as for one.
    """
    stating = [mesh_object for mesh_object in mesh_objects if mesh_object.stated is not None]
    if not stating:
        return
    stated = [mesh_object.stated for mesh_object in stating if mesh_object.stated is not None]
    matrices = np.array([axes.rows for axes in stated])
    inverses = np.linalg.inv(np.array([_UNIT_ROWS if axes.singular else axes.rows for axes in stated]))
    for mesh_object, axes, matrix, inverse in zip(stating, stated, matrices, inverses, strict=True):
        mesh_object.matrix = mesh_object.mesh.axes = matrix
        if axes.mirrored:
            inverse[0] = -inverse[0]
        mesh_object.to_local = None if axes.singular else inverse


_MESH_KNOWN = frozenset((r.PointArray, r.FaceArray, r.MaterialGroup, r.SmoothGroups, r.TextureVertices, r.MeshMatrix))
_FACES_KNOWN = frozenset((r.MaterialGroup, r.SmoothGroups))
_OBJECT_KNOWN = frozenset((r.Mesh, r.Light, r.Camera, r.ObjectDoesNotCast, r.ObjectReceivesNoShadow, *_FLAG_KEYS))
_BESIDE_KNOWN = frozenset((r.Mesh, r.Light, r.Camera, r.ObjectHidden))
"""chunks of a light or camera object that are read"""


def read_camera(context: Context, chunk: r.NamedObject) -> PlacedCamera | None:
    body = child(chunk, r.Camera)
    if body is None:
        return None
    target = context.finite(body, "target", body.target, _ORIGIN)
    camera = Camera(
        context.text(chunk.name),
        target=(target[0], target[1], target[2]),
        raw_name=chunk.name,
    )
    get_fields(camera, body, CAMERA_NUMBERS)
    camera.roll_degrees = context.finite(body, "bank", [camera.roll_degrees], [0.0])[0]
    get_fields(camera, first_chunks(body), CAMERA)
    camera.extras["3ds"] = {"lens": body.lens, **context.location_of(chunk)}
    kept = unread_chunks(body, kinds_of(CAMERA, wraps=False)) + _unknown_siblings(chunk)
    if kept:
        camera.extras["3ds"]["chunks"] = kept
    position = context.finite(body, "position", body.position, _ORIGIN)
    return PlacedCamera(chunk.name, camera, position, has(chunk, r.ObjectHidden), chunk)


def _unknown_siblings(chunk: r.NamedObject) -> list[dict[str, Any]]:
    """Return other chunks of a light or camera object; if it also has a mesh, the mesh keeps them."""
    return [] if has(chunk, r.Mesh) else unread_chunks(chunk, _BESIDE_KNOWN)


_LIGHT_KNOWN = kinds_of(LIGHT, wraps=False) | {r.Spotlight, r.LightExclude}
_SPOT_KNOWN = kinds_of((*SPOT, *PROJECTOR, *SPOT_NUMBERS), wraps=False)


def read_light(context: Context, chunk: r.NamedObject) -> PlacedLight | None:
    body = child(chunk, r.Light)
    if body is None:
        return None
    light = Light(context.text(chunk.name), raw_name=chunk.name)
    get_fields(light, body, LIGHT_COLOR)
    get_fields(light, first_chunks(body), LIGHT)
    get_fields(light, (body, context.text), EXCLUDES)
    kept = unread_chunks(body, _LIGHT_KNOWN | value_kinds(body)) + _unknown_siblings(chunk)
    spot = child(body, r.Spotlight)
    if spot is not None:
        _read_spot(context, spot, light)
        kept += unread_chunks(spot, _SPOT_KNOWN)
    light.extras["3ds"] = {**({"chunks": kept} if kept else {}), **context.location_of(chunk)}
    position = context.finite(body, "position", body.position, _ORIGIN)
    return PlacedLight(chunk.name, light, position, has(chunk, r.ObjectHidden), chunk)


def _read_spot(context: Context, spot: r.Spotlight, light: Light) -> None:
    light.type = LightType.SPOT
    target = context.finite(spot, "target", spot.target, _ORIGIN)
    light.target = (target[0], target[1], target[2])
    get_fields(light, spot, CONE)
    inside = first_chunks(spot)
    get_fields(light, inside, (*SPOT, *SPOT_NUMBERS))
    get_file_names(light, inside, PROJECTOR, context.text)
    if r.SpotRoll in inside:
        light.roll_degrees = context.finite(inside[r.SpotRoll], "roll", [light.roll_degrees], [0.0])[0]
