"""Read the editor section: settings, materials, and objects before the keyframer positions them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

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
from keyframer.formats.threeds.bridge import declared_fields as f
from keyframer.formats.threeds.bridge.context import (
    Context,
    FirstChunks,
    child,
    children,
    first_chunks,
    plain_record,
    unread_chunks,
    value_kinds,
)
from keyframer.formats.threeds.chunk import Chunk
from keyframer.maths import affine
from keyframer.scene import Camera, Environment, Light, LightType, Material, Mesh, Scene, Space, TextureMap
from keyframer.wire.record import Record

METRES_PER_INCH = 0.0254

_EDITOR_KNOWN = f.kinds_of((*f.BACKGROUND_IMAGE, *f.ENVIRONMENT), wraps=False) | {
    *(r.MasterScale, r.Material, r.NamedObject)
}
_EDITOR_WRAPPERS = f.kinds_of(f.ENVIRONMENT, wraps=True)


def read_settings(context: Context, editor: r.Editor, scene: Scene) -> None:
    """Read environment and unit; keep chunks without a field in the scene model (views, shadow settings) as extras."""
    chunks = first_chunks(editor)
    scale: r.MasterScale | None = chunks.get(r.MasterScale)
    metres, rule = None, "the file has no master scale; 3D Studio uses inches"
    if scale is not None:
        metres = (scale.scale or 1.0) * METRES_PER_INCH  # 0 occurs and means 1
        rule = f"master scale {scale.scale:g}, in inches"
    scene.space = Space("z", metres_per_unit=metres, unit_rule=rule)
    scene.environment = environment = Environment()
    f.read_stored_fields(environment, chunks, _ENVIRONMENT_FIELDS)
    f.read_file_names(environment, chunks, f.BACKGROUND_IMAGE, context.text)
    unread = []
    if r.BackgroundGradient in chunks:
        gradient = chunks[r.BackgroundGradient]
        kind = f.gradient_color_kind(gradient)
        unread += [plain_record(child) for child in gradient.children if not isinstance(child, kind)]
    for fog, inside in ((r.Fog, {r.FogBackground}), (r.DistanceCue, {r.DimBackground}), (r.LayerFog, set())):
        if fog in chunks:
            unread += unread_chunks(chunks[fog], inside | value_kinds(chunks[fog]))
    if unread:
        environment.extras["3ds"] = {"chunks": unread}
    unread = unread_chunks(editor, _EDITOR_KNOWN, _EDITOR_WRAPPERS)
    if unread:
        scene.extras.setdefault("3ds", {})["editor"] = unread


_ENVIRONMENT_FIELDS = f.fields_by_kind(f.ENVIRONMENT)

SLOTS: dict[type[Chunk], str] = {
    r.TextureMap1: "texture1",
    r.TextureMap2: "texture2",
    r.OpacityMap: "opacity",
    r.BumpMap: "bump",
    r.ShininessMap: "shininess",
    r.SpecularMap: "specular",
    r.SelfIlluminationMap: "self_illumination",
    r.ReflectionMap: "reflection",
    r.TextureMask1: "texture1_mask",
    r.TextureMask2: "texture2_mask",
    r.OpacityMask: "opacity_mask",
    r.BumpMask: "bump_mask",
    r.ShininessMask: "shininess_mask",
    r.SpecularMask: "specular_mask",
    r.SelfIlluminationMask: "self_illumination_mask",
    r.ReflectionMask: "reflection_mask",
}
_MATERIAL_KNOWN = f.kinds_of(f.MATERIAL, wraps=False) | {*SLOTS, r.MaterialName}
_MATERIAL_WRAPPERS = f.kinds_of(f.MATERIAL, wraps=True)
_MATERIAL_FIELDS = f.fields_by_kind(f.MATERIAL)
_MAP_KNOWN = f.kinds_of(f.MAP, wraps=False) | {r.MapName, r.MapParameters}
_MAP_FIELDS = f.fields_by_kind(f.MAP)
_new_material = unchecked_constructor(Material)


def read_material(context: Context, chunk: r.Material) -> Material:
    """Read one material block."""
    chunks = first_chunks(chunk)
    name: r.MaterialName | None = chunks.get(r.MaterialName)
    raw_name = name.name if name else None
    material: Material = _new_material(context.text(raw_name or b""), raw_name=raw_name)
    f.read_stored_fields(material, chunks, _MATERIAL_FIELDS)
    if r.MaterialSelfIlluminated in chunks:  # the flag of older releases
        material.self_illumination = material.self_illumination or 1.0
    shading = chunks.get(r.MaterialShading)
    if shading is not None and material.shading is None:
        add_extras(material, "3ds", {"shading": shading.shading})
    if not chunks.keys().isdisjoint(SLOTS):
        for child in children(chunk, r.Map):
            material.maps.setdefault(SLOTS[type(child)], _read_map(context, child))
    unread = unread_chunks(chunk, _MATERIAL_KNOWN, _MATERIAL_WRAPPERS)
    context.mark(material, "3ds", chunk, {"chunks": unread} if unread else None)
    return material


def _read_map(context: Context, chunk: r.Map) -> TextureMap:
    chunks = first_chunks(chunk)
    name: r.MapName | None = chunks.get(r.MapName)
    raw_name = name.name if name else b""
    texture = TextureMap(context.text(raw_name), raw_name)
    read_declared_fields(texture, chunk, f.MAP_AMOUNT)
    parameters = chunks.get(r.MapParameters)
    if parameters is not None:
        read_declared_fields(texture, parameters, f.MAP_FLAGS)
        add_extras(texture, "3ds", {"flags": parameters.flags})
    f.read_stored_fields(texture, chunks, _MAP_FIELDS)
    unread = unread_chunks(chunk, _MAP_KNOWN | value_kinds(chunk))
    context.mark(texture, "3ds", chunk, {"chunks": unread} if unread else None)
    return texture


Points = npt.NDArray[np.floating[Any]]

_SAMPLE = 250
"""meshes with more vertices are sampled"""
_ORIGIN = (0.0, 0.0, 0.0)
_IDENTITY = np.eye(4)
_IDENTITY.flags.writeable = False
_UNIT_ROWS = ((1.0, 0.0, 0.0, 0.0), (0.0, 1.0, 0.0, 0.0), (0.0, 0.0, 1.0, 0.0), (0.0, 0.0, 0.0, 1.0))
_NO_POINTS = np.empty((0, 3), np.float32)
_NO_CORNERS = np.empty((0, 3), np.int32)
_FLAG_NAMES: dict[type[Record], str] = {
    r.ObjectHidden: "hidden",
    r.ObjectInLofter: "visible in lofter",
    r.ObjectMatte: "matte",
    r.ObjectFast: "fast",
    r.ObjectProcedural: "external process on",
    r.ObjectFrozen: "frozen",
}
_MESH_KNOWN = frozenset((r.PointArray, r.FaceArray, r.MaterialGroup, r.SmoothGroups, r.TextureVertices, r.MeshMatrix))
_FACES_KNOWN = frozenset((r.MaterialGroup, r.SmoothGroups))
_OBJECT_KNOWN = frozenset((r.Mesh, r.Light, r.Camera, r.ObjectDoesNotCast, r.ObjectReceivesNoShadow, *_FLAG_NAMES))
_LIGHT_OR_CAMERA_KNOWN = frozenset((r.Mesh, r.Light, r.Camera, r.ObjectHidden))
"""chunks of a light or camera object that are read"""
_LIGHT_KNOWN = f.kinds_of(f.LIGHT, wraps=False) | {r.Spotlight, r.LightExclude}
_SPOT_KNOWN = f.kinds_of((*f.SPOT, *f.PROJECTOR, *f.SPOT_NUMBERS), wraps=False)
_CAMERA_KNOWN = f.kinds_of(f.CAMERA, wraps=False)


@dataclass(eq=False, repr=False, slots=True)
class MeshObject:
    """A mesh with its stored vertices and the matrix to its local axes."""

    chunk: r.NamedObject
    mesh: Mesh
    """the mesh with stored vertices as positions"""
    hidden: bool
    rows: tuple[tuple[float, ...], ...] | None = None
    """M, the matrix in 4160: None if it is missing, the identity if it is not finite"""
    singular: bool = False
    mirrored: bool = False
    matrix: Floats = field(default_factory=lambda: _IDENTITY)
    """(4, 4) M; set by `find_axes`"""
    to_local: Floats | None = field(default_factory=lambda: _IDENTITY)
    """(4, 4) from stored to local vertices, F . M^-1; None if M is singular or not finite; set by `find_axes`"""
    _box: tuple[list[float], list[float]] | None = None
    _sample: Points | None = None

    @property
    def box(self) -> tuple[list[float], list[float]] | None:
        """Return lower and upper corner of the stored vertices; None without vertices."""
        if self._box is None and len(self.mesh.positions):
            columns = np.ascontiguousarray(self.mesh.positions.T)  # numpy is ten times faster along rows
            self._box = columns.min(axis=1).tolist(), columns.max(axis=1).tolist()
        return self._box

    @property
    def sample(self) -> Points:
        """Return a sample of the stored vertices: all if they are few, else the extremes along each axis and others."""
        if self._sample is None:
            points = self._sample = self.mesh.positions
            if len(points) > _SAMPLE:
                furthest = [*points.argmin(axis=0), *points.argmax(axis=0)]
                self._sample = points[[*furthest, *range(0, len(points), len(points) // _SAMPLE)]]
        return self._sample


@dataclass(eq=False, repr=False, slots=True)
class PlacedObject:
    """A camera or light with its position in the editor."""

    chunk: r.NamedObject
    part: Camera | Light
    position: list[float]
    hidden: bool


EditorObject = MeshObject | PlacedObject
_new_mesh = unchecked_constructor(Mesh)


def read_objects(context: Context, chunk: r.NamedObject, materials: dict[bytes, int]) -> list[EditorObject]:
    """Read the mesh, camera and light of an object block, which usually has one of them.

    ``materials`` are the numbers of the materials by name.
    """
    chunks = first_chunks(chunk)
    objects: list[EditorObject] = []
    if r.Mesh in chunks:
        objects.append(_read_mesh(context, chunk, chunks, materials))
    if r.Camera in chunks:
        objects.append(_read_camera(context, chunk, chunks))
    if r.Light in chunks:
        objects.append(_read_light(context, chunk, chunks))
    return objects


def _read_mesh(
    context: Context, chunk: r.NamedObject, object_chunks: FirstChunks, materials: dict[bytes, int]
) -> MeshObject:
    """Read a mesh. Faces with invalid vertex indices are left out."""
    body: r.Mesh = object_chunks[r.Mesh]
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
    if r.TextureVertices in mesh_chunks:
        _read_uv(context, mesh_chunks[r.TextureVertices], mesh)
    mesh_object = MeshObject(chunk, mesh, r.ObjectHidden in object_chunks)
    if r.MeshMatrix in mesh_chunks:
        _read_matrix(context, mesh_chunks[r.MeshMatrix], mesh_object)
    unread = unread_chunks(body, _MESH_KNOWN)
    if len(chunk.children) > 1 or chunk.tail or body.tail:
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
    return mesh_object


def _read_faces(context: Context, body: r.Mesh, chunk: r.FaceArray, mesh: Mesh, materials: dict[bytes, int]) -> None:
    faces = chunk.faces
    corners = faces[:, :3].astype(np.int32)
    valid: slice | Flags = slice(None)  # all faces, without a copy
    if corners.max(initial=-1) >= len(mesh.positions):
        outside = (corners >= len(mesh.positions)).any(axis=1)
        valid = np.asarray(~outside)
        known = {"what": "face", "kind": "vertex", "count": len(mesh.positions)}
        context.report_each(
            LINK_INDEX_OUT_OF_RANGE,
            chunk,
            "faces",
            np.flatnonzero(outside),
            lambda at: {"item": at, "index": int(corners[at].max()), **known},
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
    read_declared_fields(mesh, flags[valid], f.EDGES)
    mesh.face_materials = face_materials[valid]
    if smooth_groups is not None:
        masks = np.zeros(len(faces), np.uint32)
        stored = smooth_groups.groups[: len(faces)]
        masks[: len(stored)] = stored
        mesh.smoothing = masks[valid]
        if len(smooth_groups.groups) != len(faces):
            found = len(smooth_groups.groups)
            context.report(LINK_COUNT_MISMATCH, smooth_groups, claimed=len(faces), what="smoothing masks", found=found)
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
        known = {"what": "entry", "kind": "face", "count": len(face_materials)}
        context.report_each(
            LINK_INDEX_OUT_OF_RANGE,
            group,
            "faces",
            np.flatnonzero(outside),
            lambda entry: {"item": entry, "index": int(group.faces[entry]), **known},
        )
        face_numbers = face_numbers[~outside]
    face_materials[face_numbers] = material_number
    return True


def _read_uv(context: Context, chunk: r.TextureVertices, mesh: Mesh) -> None:
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


def _read_matrix(context: Context, chunk: r.MeshMatrix, mesh_object: MeshObject) -> None:
    (ax, ay, az), (bx, by, bz), (cx, cy, cz) = chunk.x_axis, chunk.y_axis, chunk.z_axis
    x, y, z = chunk.origin
    determinant = ax * (by * cz - bz * cy) + ay * (bz * cx - bx * cz) + az * (bx * cy - by * cx)
    numbers = (ax, ay, az, bx, by, bz, cx, cy, cz)
    finite = math.isfinite(sum(numbers) + x + y + z)  # 32-bit numbers do not overflow here
    rows = ((ax, bx, cx, x), (ay, by, cy, y), (az, bz, cz, z), (0.0, 0.0, 0.0, 1.0))
    mesh_object.rows = rows if finite else _UNIT_ROWS
    mesh_object.singular = not finite or abs(determinant) <= 1e-12 * max(map(abs, numbers)) ** 3
    mesh_object.mirrored = determinant < 0
    if mesh_object.singular:
        context.report(DATA_MATRIX_SINGULAR, chunk)


def find_axes(mesh_objects: Sequence[MeshObject]) -> None:
    """Set the matrices of meshes with chunk 4160: M, and F . M^-1 from stored to local vertices.

    F mirrors X if M is mirrored. One call takes as long for ten meshes as for one.
    """
    stored = [mesh_object for mesh_object in mesh_objects if mesh_object.rows is not None]
    if not stored:
        return
    matrices = np.array([mesh_object.rows for mesh_object in stored])
    inverses = affine.inverse(np.array([_UNIT_ROWS if each.singular else each.rows for each in stored]))
    for mesh_object, matrix, inverse in zip(stored, matrices, inverses, strict=True):
        mesh_object.matrix = mesh_object.mesh.axes = matrix
        if mesh_object.mirrored:
            inverse[0] = -inverse[0]
        mesh_object.to_local = None if mesh_object.singular else inverse


def _read_camera(context: Context, chunk: r.NamedObject, object_chunks: FirstChunks) -> PlacedObject:
    body: r.Camera = object_chunks[r.Camera]
    target = context.finite(body, "target", body.target, _ORIGIN)
    camera = Camera(context.text(chunk.name), target=(target[0], target[1], target[2]), raw_name=chunk.name)
    read_declared_fields(camera, body, f.CAMERA_NUMBERS)
    camera.roll_degrees = context.finite(body, "bank", [camera.roll_degrees], [0.0])[0]
    read_declared_fields(camera, first_chunks(body), f.CAMERA)
    camera.extras["3ds"] = {"lens": body.lens, **context.location_of(chunk)}
    unread = unread_chunks(body, _CAMERA_KNOWN) + _unread_siblings(chunk, object_chunks)
    if unread:
        camera.extras["3ds"]["chunks"] = unread
    position = context.finite(body, "position", body.position, _ORIGIN)
    return PlacedObject(chunk, camera, position, r.ObjectHidden in object_chunks)


def _unread_siblings(chunk: r.NamedObject, object_chunks: FirstChunks) -> list[dict[str, Any]]:
    """Return unread chunks next to a light or camera; empty if the object has a mesh too, which then keeps them."""
    return [] if r.Mesh in object_chunks else unread_chunks(chunk, _LIGHT_OR_CAMERA_KNOWN)


def _read_light(context: Context, chunk: r.NamedObject, object_chunks: FirstChunks) -> PlacedObject:
    body: r.Light = object_chunks[r.Light]
    light = Light(context.text(chunk.name), raw_name=chunk.name)
    read_declared_fields(light, body, f.LIGHT_COLOR)
    read_declared_fields(light, first_chunks(body), f.LIGHT)
    read_declared_fields(light, (body, context.text), f.EXCLUDES)
    unread = unread_chunks(body, _LIGHT_KNOWN | value_kinds(body)) + _unread_siblings(chunk, object_chunks)
    spot = child(body, r.Spotlight)
    if spot is not None:
        light.type = LightType.SPOT
        target = context.finite(spot, "target", spot.target, _ORIGIN)
        light.target = (target[0], target[1], target[2])
        read_declared_fields(light, spot, f.CONE)
        chunks = first_chunks(spot)
        read_declared_fields(light, chunks, (*f.SPOT, *f.SPOT_NUMBERS))
        f.read_file_names(light, chunks, f.PROJECTOR, context.text)
        if r.SpotRoll in chunks:
            light.roll_degrees = context.finite(chunks[r.SpotRoll], "roll", [light.roll_degrees], [0.0])[0]
        unread += unread_chunks(spot, _SPOT_KNOWN)
    light.extras["3ds"] = {**({"chunks": unread} if unread else {}), **context.location_of(chunk)}
    position = context.finite(body, "position", body.position, _ORIGIN)
    return PlacedObject(chunk, light, position, r.ObjectHidden in object_chunks)
