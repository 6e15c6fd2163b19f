"""Declare how fields of records map to a scene, for reading, writing and loss reports.

Names, links, transforms, targets and faces are not declared here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from keyframer.arrays import Ints
from keyframer.formats.kit.declared_fields import Field, FieldGroup, StoredAs
from keyframer.formats.uto3d import records as r
from keyframer.scene import Camera, LightType


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

ROLL = StoredAs(("roll_degrees",), "a key of the roll controller")


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

_LIGHT_WORDS = {"omni": LightType.OMNI, "directional": LightType.DIRECTIONAL, "spot": LightType.SPOT}


def light_type(record: r.AnyLight, number: int) -> LightType:
    """Return the light type of a stored number; unknown numbers are omni lights."""
    return _LIGHT_WORDS[record.types.get(number, "omni").split()[-1]]


def light_number(kind: type[r.AnyLight], type: LightType, *, aims: bool) -> int:
    """Return the number of a light type in records of a kind; it may depend on whether the light has a target."""
    word = next(word for word, known in _LIGHT_WORDS.items() if known is type)
    numbers = {type_name: number for number, type_name in kind.types.items()}
    return next(numbers[name] for name in (f"{'target' if aims else 'free'} {word}", word) if name in numbers)
