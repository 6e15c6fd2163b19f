"""Read meshes, cameras, targets, lights and bones as nodes, and make their records without the transform.

Most fields are declared once. Names, links, transforms, targets and faces are read and written by code.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from keyframer.arrays import Flags, Ints
from keyframer.catalogue import DATA_NON_FINITE, LINK_UNRESOLVED_ID
from keyframer.formats.kit.declared_fields import (
    Capabilities,
    Field,
    FieldGroup,
    StoredAs,
    read_declared_fields,
    write_declared_fields,
)
from keyframer.formats.kit.scene_reading import Reporter, finite_rows, valid_faces
from keyframer.formats.kit.scene_writing import plain_path
from keyframer.formats.uto3d import records as r
from keyframer.formats.uto3d.sections import LIGHTS, LightLayout
from keyframer.limits import spend
from keyframer.scene import Camera, Light, LightType, Mesh, Node, NodeKind, Scene
from keyframer.scene.loss_report import LossReport
from keyframer.scene.losses import FIELD_UNSUPPORTED, KIND_CHANGED
from keyframer.text import plural
from keyframer.wire.record import Record

# How fields of records map to a scene: for reading, writing and loss reports


@dataclass(eq=False, repr=False, slots=True)
class StoredField(Field[Any, tuple[str, Any]]):
    """An attribute that is stored in fields of a record."""

    stored: tuple[str, ...]
    """the fields of the record; if one is not finite, the attribute keeps its default"""


def _number(name: str, stored: str) -> StoredField:
    return StoredField(name, lambda record: float(getattr(record, stored)), lambda value: [(stored, value)], (stored,))


def _optional(name: str, stored: str) -> StoredField:
    """Declare a number that may be None, which is stored as 0."""
    return StoredField(
        name, lambda record: float(getattr(record, stored)), lambda value: [(stored, value or 0.0)], (stored,)
    )


def _near_and_far(name: str) -> StoredField:
    return StoredField(
        name,
        lambda record: (float(record.near), float(record.far)),
        lambda value: [] if value is None else [("near", value[0]), ("far", value[1])],
        ("near", "far"),
    )


LIGHT = (
    StoredField(
        "color", lambda record: tuple(map(float, record.colour)), lambda value: [("colour", tuple(value))], ("colour",)
    ),
    _number("multiplier", "multiplier"),
    StoredField(
        "attenuated",
        lambda record: bool(record.use_attenuation),
        lambda value: [("use_attenuation", int(value))],
        ("use_attenuation",),
    ),
    _optional("inner_range", "attenuation_start"),
    _optional("outer_range", "attenuation_end"),
)

CONE = (
    StoredField(
        "falloff_degrees",
        lambda record: 2 * float(record.cut_off),
        lambda value: [("cut_off", 0.5 * (45.0 if value is None else value))],
        ("cut_off",),
    ),
    _optional("hotspot_degrees", "exponent"),
)
"""fields of spot lights, not stored by the Flexporter: cut-off is half the outer angle, exponent the whole inner one"""


def _fov(record: r.Camera) -> float:
    return float(record.fov) if 0 < record.fov < 180 else Camera("").fov_degrees


CAMERA = (StoredField("fov_degrees", _fov, lambda value: [("fov", value)], ("fov",)),)

DISTANCES = {True: _near_and_far("ranges"), False: _near_and_far("clip")}
"""near and far, by whether the Flexporter wrote the file: it stores the atmosphere ranges, others the clip planes"""


def _put_edges(edges: Ints | None, corners: Ints) -> list[tuple[str, Any]]:
    """Return the visible edges of faces; all edges if the mesh does not define them."""
    return [("edges", (np.full(len(corners), 7) if edges is None else np.asarray(edges) & 7).astype(np.uint8))]


def _flags(record: r.Mesh) -> tuple[Any, ...]:
    sphere = None
    if record.flags & r.HAS_BOUNDING_SPHERE:
        sphere = (np.array([float(number) for number in record.sphere_centre]), float(record.sphere_radius))
    return bool(record.flags & r.CASTS_SHADOWS), bool(record.flags & r.DYNAMIC), sphere


def _put_flags(casts_shadows: bool, dynamic: bool, sphere: tuple[Any, float] | None) -> list[tuple[str, Any]]:
    flags = r.CASTS_SHADOWS * bool(casts_shadows) | r.DYNAMIC * bool(dynamic)
    if sphere is None:
        return [("flags", flags)]
    centre = tuple(float(value) for value in sphere[0])
    stored = (("sphere_centre", centre), ("sphere_radius", float(sphere[1])))
    return [("flags", flags | r.HAS_BOUNDING_SPHERE), *stored]


MESH: tuple[FieldGroup[r.Mesh, tuple[str, Any]], ...] = (
    FieldGroup(("edges",), lambda record: (np.asarray(record.edges) & 7,), _put_edges, ("corners",)),
    FieldGroup(("casts_shadows", "dynamic", "bounding_sphere"), _flags, _put_flags),
)

CAPABILITIES = Capabilities(
    (
        *("parents", "meshes", "materials", "cameras", "lights", "skins", "vertex colours", "hidden nodes", "segment"),
        *("pivots", "fov", "roll", "scale_axes", "scale axes", "cast shadows", "names"),
    ),
    {
        "lights": (*LIGHT, *CONE),
        "cameras": (*CAMERA, *DISTANCES.values(), StoredAs(("roll_degrees",), "a key of the roll controller")),
        "meshes": MESH,
    },
    ("dummies",),
)

_LIGHT_WORDS = {"omni": LightType.OMNI, "directional": LightType.DIRECTIONAL, "spot": LightType.SPOT}


def light_type(record: r.AnyLight, number: int) -> LightType:
    """Return the light type of a stored number; unknown numbers are omni lights."""
    return _LIGHT_WORDS[record.types.get(number, "omni").split()[-1]]


def light_number(kind: type[r.AnyLight], type: LightType, *, aims: bool) -> int:
    """Return the number of a light type in records of a kind; it may depend on whether the light has a target."""
    word = next(word for word, known in _LIGHT_WORDS.items() if known is type)
    numbers = {type_name: number for number, type_name in kind.types.items()}
    return next(numbers[name] for name in (f"{'target' if aims else 'free'} {word}", word) if name in numbers)


# Reading


def read_node_fields(reporter: Reporter, record: Record, placed: r.Placed | r.Aimed, node: Node) -> None:
    """Set stored name, id, visibility, rest transform and extras of a node; non-finite transforms are left out."""
    node.raw_name, node.file_id, node.hidden = placed.name, placed.id, bool(placed.hidden)
    for field, attribute in (("position", "position"), ("rotation", "rotation_xyzw"), ("scale", "scale")):
        values = _finite(reporter, record, field, getattr(placed, field))
        if values is not None and (attribute != "rotation_xyzw" or any(values)):  # 0, 0, 0, 0 means no rotation
            setattr(node, attribute, np.array(values))
    # In 3ds Max the pivot is the origin of the node, so it moves nothing. The extras keep the stored value.
    pivot = tuple(float(number) for number in placed.pivot)
    reporter.mark(node, "uto3d", record, {"pivot": pivot, "parent_id": placed.parent_id})


def _finite(reporter: Reporter, record: Record, field: str, stored: Sequence[float]) -> list[float] | None:
    """Return the numbers of a field; None if one of them is non-finite, which is reported."""
    values = [float(number) for number in stored]
    non_finite = [not math.isfinite(number) for number in values]
    if not any(non_finite):
        return values
    reporter.report(DATA_NON_FINITE, record, field, count=sum(non_finite), index=non_finite.index(True))
    return None


def _are_finite(reporter: Reporter, record: Record, fields: Iterable[str]) -> bool:
    """Return whether all numbers of some fields are finite; non-finite numbers are reported."""
    finite = True
    for field in fields:
        value = getattr(record, field)
        finite &= _finite(reporter, record, field, value if isinstance(value, tuple) else (value,)) is not None
    return finite


def read_mesh(reporter: Reporter, record: r.Mesh, name: str, materials: dict[int, int], material_count: int) -> Mesh:
    """Read a mesh; faces with invalid vertex indices are left out."""
    vertices = finite_rows(reporter, record, "vertices", record.vertices)
    faces = np.asarray(record.faces, np.int64)
    valid = valid_faces(reporter, record, "faces", faces, len(vertices), "vertex")
    mesh = Mesh(name, vertices, faces[valid].astype(np.int32), raw_name=record.name)
    uvs = finite_rows(reporter, record, "uvs", record.uvs)
    if len(uvs) and len(record.uv_faces):
        mesh.uv, mesh.uv_corners = uvs, _corners(reporter, record, "uv_faces", valid, len(uvs), "UV")
    colours = finite_rows(reporter, record, "colours", record.colours)
    if len(colours) and len(record.colour_faces):
        mesh.colors = colours
        mesh.color_corners = _corners(reporter, record, "colour_faces", valid, len(colours), "colour")
    read_declared_fields(mesh, record, MESH)
    mesh.edges = np.asarray(mesh.edges)[valid]
    mesh.face_materials = _materials(reporter, record, materials, material_count)[valid]
    if mesh.bounding_sphere is not None and not _are_finite(reporter, record, ("sphere_centre", "sphere_radius")):
        mesh.bounding_sphere = None
    reporter.mark(mesh, "uto3d", record, {"flags": record.flags, "edges": np.asarray(record.edges)[valid]})
    return mesh


def _corners(reporter: Reporter, record: r.Mesh, field: str, selected: Flags, count: int, kind: str) -> Ints:
    """Return the UV or colour corners of the selected faces; a face with an invalid index has only zeros."""
    corners = np.asarray(getattr(record, field), np.int64)
    valid = valid_faces(reporter, record, field, corners, count, kind)
    return np.where(valid[:, None], corners, 0)[selected].astype(np.int32)


def _materials(reporter: Reporter, record: r.Mesh, materials: dict[int, int], count: int) -> npt.NDArray[np.int32]:
    """Return the material number of each face or -1; an unknown id is used as an index, as in the original importer."""
    ids, places = np.unique(np.asarray(record.face_materials, np.int64), return_inverse=True)
    numbers = np.array([materials.get(v, v if 0 <= v < count else -1) for v in ids.tolist()], np.int32)
    unresolved = ids[(numbers < 0) & (ids > 0)]  # 0 and -1 mean no material unless one has this id or index
    if len(unresolved):
        at = int(np.flatnonzero(np.asarray(record.face_materials) == unresolved[0])[0])
        reporter.report(LINK_UNRESOLVED_ID, record, f"face_materials[{at}]", kind="material", id=int(unresolved[0]))
    return numbers[places.reshape(-1)]


def read_camera(reporter: Reporter, record: r.Camera, name: str, flexporter: bool) -> Camera:
    camera = Camera(name, raw_name=record.name)
    _read_finite_fields(reporter, camera, record, (*CAMERA, DISTANCES[flexporter]))
    reporter.mark(camera, "uto3d", record, {"fov": float(record.fov)})
    return camera


def _read_finite_fields(reporter: Reporter, part: Any, record: Record, table: Iterable[StoredField]) -> None:
    """Set attributes of a part from fields of its record, unless they are non-finite."""
    read_declared_fields(part, record, (field for field in table if _are_finite(reporter, record, field.stored)))


def read_light(reporter: Reporter, record: r.AnyLight, name: str) -> Light:
    assert isinstance(record, (r.Light, r.FlexporterLight))
    light = Light(name, light_type(record, record.type), raw_name=record.name)
    _read_finite_fields(reporter, light, record, LIGHT)
    reporter.mark(light, "uto3d", record, {"type": record.type})
    if isinstance(record, r.Light) and light.type is not LightType.OMNI:
        target = _finite(reporter, record, "target_position", record.target_position)
        if target is not None:
            light.target = (target[0], target[1], target[2])
        if light.type is LightType.SPOT:
            _read_finite_fields(reporter, light, record, CONE)
    return light


# Writing


def record_of(scene: Scene, node: Node, layout: LightLayout, report: LossReport) -> Record:
    """Return a new record for a node, without name, ids and transform."""
    path = plain_path("nodes", node.name)
    if node.camera is not None:
        return _camera(scene.cameras[node.camera], layout, path, report)
    if node.light is not None and scene.lights[node.light].type is not LightType.AMBIENT:
        return _light(scene.lights[node.light], node.target is not None, layout, path, report)
    if node.mesh is not None or node.kind is NodeKind.OBJECT:
        return r.Mesh() if layout is LightLayout.MAXSCRIPT else r.MeshWithUvFaces()
    if node.kind is NodeKind.TARGET:
        return r.CameraTarget()
    if node.kind is not NodeKind.BONE:
        reason = f"U3D (UTO!) has no {plural(node.kind.noun)}"
        if node.light is not None:
            reason = "U3D (UTO!) has no ambient lights"
        elif node.kind in (NodeKind.CAMERA, NodeKind.LIGHT):
            reason = f"no {node.kind.noun} belongs to this node"
        report.add(KIND_CHANGED["reason"], path, extras=node.extras, kind="a bone", reason=reason)
    return r.Bone()


def _camera(camera: Camera, layout: LightLayout, path: str, report: LossReport) -> r.Camera:
    flexporter = layout is LightLayout.FLEXPORTER
    if getattr(camera, DISTANCES[not flexporter].name) is not None:
        ranges = "clip planes" if flexporter else "atmosphere ranges"
        report.add(FIELD_UNSUPPORTED["dialect"], f"{path}/camera", what=ranges)
    return r.Camera(**dict(write_declared_fields(camera, (*CAMERA, DISTANCES[flexporter]))))


def _light(light: Light, has_target: bool, layout: LightLayout, path: str, report: LossReport) -> r.AnyLight:
    kind: Any = LIGHTS[layout]
    number = light_number(kind, light.type, aims=has_target or light.target is not None)
    record_fields = write_declared_fields(light, LIGHT)
    if layout is not LightLayout.FLEXPORTER:
        record_fields += write_declared_fields(light, CONE) if light.type is LightType.SPOT else []
    elif light.falloff_degrees is not None:
        report.add(FIELD_UNSUPPORTED["dialect"], f"{path}/cone", what="the angles of spot lights")
    return kind(type=number, **dict(record_fields))  # type: ignore[no-any-return]


def write_surface(record: r.Mesh, mesh: Mesh, pivot: npt.ArrayLike, materials: list[int]) -> None:
    """Write vertices, faces and their attributes."""
    face_count = len(mesh.corners)
    spend("faces", face_count)
    record.vertices = np.asarray(mesh.positions, np.float64) - np.asarray(pivot, np.float64)  # type: ignore[assignment]
    record.vertices = record.vertices.astype("<f4")
    record.faces = np.asarray(mesh.corners).astype("<i4")
    if mesh.uv is not None and len(mesh.uv):
        record.uvs = np.asarray(mesh.uv).astype("<f4")
        record.uv_faces = np.asarray(mesh.corners if mesh.uv_corners is None else mesh.uv_corners).astype("<i4")
    elif isinstance(record, r.MeshWithUvFaces):
        record.uv_faces = np.full((face_count, 3), -1, "<i4")
    if mesh.colors is not None and len(mesh.colors):
        record.colours = np.asarray(mesh.colors)[:, :3].astype("<f4")
        corners = mesh.corners if mesh.color_corners is None else mesh.color_corners
        record.colour_faces = np.asarray(corners).astype("<i4")
    numbers = np.full(face_count, -1) if mesh.face_materials is None else np.asarray(mesh.face_materials, np.int64)
    ids = np.array([*materials, -1], np.int64)
    record.face_materials = ids[np.where((numbers < 0) | (numbers >= len(materials)), -1, numbers)].astype("<i4")
    for name, value in write_declared_fields(mesh, MESH):
        setattr(record, name, value)
    record.vertex_count, record.face_count = len(record.vertices), face_count
    record.uv_count, record.colour_count = len(record.uvs), len(record.colours)
