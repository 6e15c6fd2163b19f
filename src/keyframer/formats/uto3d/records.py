"""The records of a U3D (UTO!) scene in the order and the terms of the specification (translated from Spanish).

A record with several layouts has a class for each: two for meshes, three for lights.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from keyframer.arrays import Bytes, Singles
from keyframer.catalogue import SEM_UNSUPPORTED_SCHEME
from keyframer.formats.kit.key_table import KeyLayout, Keys, LayoutBy, linked_keys
from keyframer.wire.field_types import (
    ExactFloats,
    Expression,
    array_of_counts,
    choice,
    declare,
    i32,
    linked_array,
    strz,
    u8,
    u32,
)
from keyframer.wire.record import Record, record

Integers = npt.NDArray[np.int32]
Vector = tuple[float, float, float]
Quaternion = tuple[float, float, float, float]

HAS_BOUNDING_SPHERE, DYNAMIC, SKINNED, CASTS_SHADOWS = 1, 2, 4, 8
"""mesh flags"""
SIMPLE_SKIN, WEIGHTED_SKIN = 0, 1
POSITION, ROTATION, SCALE, FOV, ROLL, NOTHING = range(6)
"""controller types"""
LINEAR, TCB, BEZIER = range(3)
"""interpolation schemes"""

_TRIPLE = ("<f4", (3,))
_CORNERS = ("<i4", (3,))
_NO_ROTATION = (0.0, 0.0, 0.0, 1.0)
_ONES = (1.0, 1.0, 1.0)


def _floats(description: str, count: int | None = None, *, default: Any = None, when: Any = None) -> Any:
    return declare(ExactFloats(count), description, default, when)


_HAS_SPHERE = "(flags & 1) != 0"
_SKINNED = "(flags & 4) != 0"
_SIMPLE = "(flags & 4) != 0 and skin_type == 0"
_WEIGHTED = "(flags & 4) != 0 and skin_type == 1"
_INFLUENCES = Expression("total(bones_per_vertex)")


@record
class Placed(Record):
    """A record that becomes a node, with its transform."""

    repeats = True

    name: bytes = strz("object name")
    id: int = i32("object ID")
    parent_id: int = i32("parent ID; 0 or -1 for none", default=-1)
    hidden: int = u8("is hidden?")
    position: Vector = _floats("position, local to the parent", 3)
    rotation: Quaternion = _floats("rotation quaternion x, y, z, w, local to the parent", 4, default=_NO_ROTATION)
    scale: Vector = _floats("scale, local to the parent", 3, default=_ONES)
    pivot: Vector = _floats("pivot point, in the world", 3)


@record
class Aimed(Record):
    """A record that becomes a node and may have a target."""

    repeats = True

    name: bytes = strz("object name")
    id: int = i32("object ID")
    parent_id: int = i32("parent ID; 0 or -1 for none", default=-1)
    target_id: int = i32("target ID", default=-1)
    hidden: int = u8("is hidden?")
    position: Vector = _floats("position, local to the parent", 3)
    rotation: Quaternion = _floats("rotation quaternion x, y, z, w, local to the parent", 4, default=_NO_ROTATION)
    scale: Vector = _floats("scale, local to the parent", 3, default=_ONES)
    pivot: Vector = _floats("pivot point, in the world", 3)


@record
class Mesh(Placed):
    """An object. Without UVs it has no UV faces, as written by the MAXScript exporter."""

    segment = "objects"

    flags: int = i32(
        "bit 0: has bounding sphere, 1: dynamic object (will be modified externally), 2: skinned object, "
        "3: cast shadows"
    )
    vertex_count: int = i32("number of vertices")
    face_count: int = i32("number of faces")
    uv_count: int = i32("number of mapping coordinates")
    colour_count: int = i32("number of vertex colours")
    skin_type: int = choice(
        "B", {SIMPLE_SKIN: "simple (1 bone per vertex)", WEIGHTED_SKIN: "weighted"}, "skin type", when=_SKINNED
    )
    vertex_bones: Integers = linked_array("<i4", "vertex_count", "bone id of each vertex (simple skin)", when=_SIMPLE)
    bones_per_vertex: Integers = array_of_counts(
        "<i4", "vertex_count", 8, "number of bones of each vertex (weighted skin)", when=_WEIGHTED
    )
    bone_ids: Integers = linked_array("<i4", _INFLUENCES, "bone id of each influence, vertex by vertex", when=_WEIGHTED)
    bone_weights: Singles = linked_array(
        "<f4", _INFLUENCES, "weight of each influence, vertex by vertex", when=_WEIGHTED
    )
    vertices: Singles = linked_array(_TRIPLE, "vertex_count", "vertex coordinates")
    uvs: Singles = linked_array(("<f4", (2,)), "uv_count", "mapping coordinates; V runs up")
    colours: Singles = linked_array(_TRIPLE, "colour_count", "vertex colours")
    faces: Integers = linked_array(_CORNERS, "face_count", "indices into vertices for the corners of each face")
    uv_faces: Integers = linked_array(
        _CORNERS,
        "face_count",
        "indices into uvs for the corners of each face, if there are mapping coordinates",
        when="len(uvs) > 0",
    )
    colour_faces: Integers = linked_array(
        _CORNERS,
        "face_count",
        "indices into colours for the corners of each face, if there are vertex colours",
        when="len(colours) > 0",
    )
    edges: Bytes = linked_array(
        "u1", "face_count", "edge visibility of each face; bit 0: edge 0-1, 1: edge 1-2, 2: edge 2-0"
    )
    face_materials: Integers = linked_array("<i4", "face_count", "material id for the face")
    sphere_centre: Vector = _floats("bounding sphere centre, if and only if flags & 1", 3, when=_HAS_SPHERE)
    sphere_radius: float = _floats("bounding sphere radius, if and only if flags & 1", when=_HAS_SPHERE)


@record
class MeshWithUvFaces(Mesh):
    """An object that always has UV faces (-1 without UVs), as in the specification, the Flexporter and the engine."""

    uv_faces: Integers = linked_array(
        _CORNERS, "face_count", "indices into uvs for the corners of each face; -1 without mapping coordinates"
    )


@record
class Camera(Aimed):
    """A camera."""

    segment = "cameras"

    name: bytes = strz("camera name")
    fov: float = _floats("field of view, in degrees", default=45.0)
    near: float = _floats("near clip (the Flexporter stores the near atmosphere range)", default=1.0)
    far: float = _floats("far clip (the Flexporter stores the far atmosphere range)", default=1000.0)


@record
class CameraTarget(Placed):
    """The target of a camera; the Flexporter stores the targets of lights here too."""

    segment = "targets"


@record(kw_only=True)
class AnyLight(Record):
    """A light in any of the three layouts: ``document.find(AnyLight)`` finds them all."""

    repeats = True
    segment = "lights"
    types: ClassVar[dict[int, str]] = {0: "omni", 1: "directional", 2: "spot"}


_AIMS = "type == 1 or type == 2"
_IS_SPOT = "type == 2"


@record
class Light(Aimed, AnyLight):
    """A light as in the MAXScript exporter, its importer and the engine: target id and a type of four bytes."""

    name: bytes = strz("light name")
    id: int = i32("light ID")
    target_id: int = i32("target ID; -1 for lights without a target (omni lights)", default=-1)
    type: int = u32("light type; 0: omni, 1: directional, 2: spot")
    colour: Vector = _floats("light colour, 0 to 1", 3, default=_ONES)
    attenuation_start: float = _floats("attenuation start")
    attenuation_end: float = _floats("attenuation end")
    use_attenuation: int = u8("use attenuation")
    multiplier: float = _floats("multiplier", default=1.0)
    target_position: Vector = _floats("target position, if the type is 1 (directional) or 2 (spot)", 3, when=_AIMS)
    cut_off: float = _floats("cut-off, half the angle of the cone in degrees, if the type is 2 (spot)", when=_IS_SPOT)
    exponent: float = _floats("exponent, if the type is 2 (spot)", when=_IS_SPOT)


@record
class LiteralLight(Light):
    """A light exactly as the specification describes it, with a type of one byte; no known program writes it."""

    type: int = u8("light type; 0: omni, 1: directional, 2: spot")


@record
class FlexporterLight(Placed, AnyLight):
    """A light of the Flexporter plug-in: a type of one byte with its own numbering, without target and cone."""

    types: ClassVar[dict[int, str]] = {
        0: "omni",
        1: "target spot",
        2: "directional",
        3: "free spot",
        4: "target directional",
    }

    name: bytes = strz("light name")
    id: int = i32("light ID")
    type: int = u8("light type; 0: omni, 1: target spot, 2: directional, 3: free spot, 4: target directional")
    colour: Vector = _floats("light colour, 0 to 1", 3, default=_ONES)
    attenuation_start: float = _floats("attenuation start")
    attenuation_end: float = _floats("attenuation end")
    use_attenuation: int = u8("use attenuation")
    multiplier: float = _floats("multiplier", default=1.0)


@record
class Material(Record):
    """A material: only its name and id are stored."""

    repeats = True
    segment = "materials"

    name: bytes = strz("material name")
    id: int = i32("material ID")


@record
class Bone(Placed):
    """A bone."""

    segment = "bones"


CONTROLLED = {POSITION: "position", ROTATION: "rotation", SCALE: "scale", FOV: "fov", ROLL: "roll"}
_WIDTHS = {POSITION: 3, ROTATION: 4, SCALE: 7, FOV: 1, ROLL: 1}
_LINEAR_KEYS = {
    kind: KeyLayout(width, ("time", "value"), extras=(), time_name="time") for kind, width in _WIDTHS.items()
}
_TCB_KEYS = {
    kind: KeyLayout(width, ("time", "value", "flags", "extras"), flags="u1", time_name="time")
    for kind, width in _WIDTHS.items()
}


def key_layout(controller_type: int, scheme: int) -> KeyLayout:
    """Return the layout of linear or TCB keys of a controller type."""
    return (_TCB_KEYS if scheme == TCB else _LINEAR_KEYS)[controller_type]


@record(kw_only=True)
class AnyController(Record):
    """A controller of any kind: ``document.find(AnyController)`` finds them all."""

    repeats = True
    segment = "controllers"


@record
class Controller(AnyController):
    """A controller with its keys. Bezier controllers of the Flexporter have only a header, whatever their count is."""

    type: int = choice("B", CONTROLLED, "controller type")
    id: int = i32("controller ID")
    owner_id: int = i32("owner ID: an object, light, camera, target or bone")
    key_count: int = i32("number of keyframes")
    scheme: int = choice(
        "B",
        {TCB: "tcb", LINEAR: "linear", BEZIER: "bezier"},
        "interpolation scheme",
        unknown_issue=SEM_UNSUPPORTED_SCHEME,
    )
    keys: Keys = linked_keys(
        LayoutBy(
            "16 * type + scheme",
            {16 * kind + scheme: key_layout(kind, scheme) for kind in CONTROLLED for scheme in (LINEAR, TCB)},
        ),
        "key_count",
        "i32 time, value; TCB keys only: u8 flags, f32 for each flag bit 0-4",
        "for each keyframe the time in ticks (4800 per second) and the value: position (3 x f32), rotation quaternion "
        "(4 x f32), scale and the quaternion of its axes (7 x f32), fov in degrees (linear keys of the Flexporter: "
        "radians) or roll in radians (f32); "
        "TCB flags: bit 0: tension follows, 1: continuity, 2: bias, 3: ease in, 4: ease out",
        when="scheme != 2",
    )

    @property
    def has_keys(self) -> bool:
        return self.scheme != BEZIER


@record
class BezierController(Controller):
    """A Bezier controller with keys. No document has their layout; here it is that of linear keys."""

    keys: Keys = linked_keys(
        LayoutBy("type", {kind: key_layout(kind, LINEAR) for kind in CONTROLLED}),
        "key_count",
        "i32 time, value",
        "for each keyframe the time in ticks and the value, as in linear controllers",
    )

    @property
    def has_keys(self) -> bool:
        return True


@record
class SampledController(AnyController):
    """A controller that is not in keyframe mode: the Flexporter ends it after the owner (rare)."""

    type: int = choice("B", CONTROLLED, "controller type")
    id: int = i32("controller ID")
    owner_id: int = i32("owner ID")


@record
class NoController(AnyController):
    """An empty controller that the Flexporter writes and counts if nothing is exported; not in the specification."""

    type: int = choice("B", {NOTHING: "nothing"}, "controller type")
    filler: int = i32("always 255", default=255)
