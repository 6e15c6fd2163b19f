"""Declare how fields of records map to a scene, for reading, writing and loss reports.

Fields that need several values, or depend on the dialect (targets, near and far of cameras), are read and written by
code.
"""

from __future__ import annotations

from typing import Any

from keyframer.fields import dataclass
from keyframer.formats.kit.declared_fields import Field
from keyframer.formats.uto3d import records as r
from keyframer.scene import Camera, LightType


@dataclass(eq=False, repr=False, slots=True)
class StoredField(Field[Any, tuple[str, Any]]):
    """An attribute that is stored in one field of a record."""

    stored: str
    """the field of the record; only finite numbers are read"""


def _same(name: str, stored: str) -> StoredField:
    return StoredField(name, lambda record: float(getattr(record, stored)), lambda value: [(stored, value)], stored)


def _range(name: str, stored: str) -> StoredField:
    return StoredField(
        name, lambda record: float(getattr(record, stored)), lambda value: [(stored, value or 0.0)], stored
    )


LIGHT = (
    StoredField(
        "color", lambda record: tuple(map(float, record.colour)), lambda value: [("colour", tuple(value))], "colour"
    ),
    _same("multiplier", "multiplier"),
    StoredField(
        "attenuated",
        lambda record: bool(record.use_attenuation),
        lambda value: [("use_attenuation", int(value))],
        "use_attenuation",
    ),
    _range("inner_range", "attenuation_start"),
    _range("outer_range", "attenuation_end"),
)

CONE = (
    StoredField(
        "falloff_degrees",
        lambda record: 2 * float(record.cut_off),
        lambda value: [("cut_off", 0.5 * (45.0 if value is None else value))],
        "cut_off",
    ),
    _range("hotspot_degrees", "exponent"),
)
"""fields of spot lights, which the Flexporter does not store; the cut-off is half of the angle"""


def _fov(record: r.Camera) -> float:
    return float(record.fov) if 0 < record.fov < 180 else Camera("").fov_degrees


CAMERA = (StoredField("fov_degrees", _fov, lambda value: [("fov", value)], "fov"),)

MESH_FLAGS = {"casts_shadows": r.CASTS_SHADOWS, "dynamic": r.DYNAMIC}

_LIGHT_WORDS = {"omni": LightType.OMNI, "directional": LightType.DIRECTIONAL, "spot": LightType.SPOT}


def light_type(record: r.AnyLight, number: int) -> LightType:
    """Return the light type of a stored number; unknown numbers are omni lights."""
    return _LIGHT_WORDS[record.types.get(number, "omni").split()[-1]]


def light_number(kind: type[r.AnyLight], type: LightType, *, aims: bool) -> int:
    """Return the number of a light type in records of a kind; some distinguish lights with and without a target."""
    word = next(word for word, known in _LIGHT_WORDS.items() if known is type)
    numbers = {type_name: number for number, type_name in kind.types.items()}
    return next(numbers[name] for name in (f"{'target' if aims else 'free'} {word}", word) if name in numbers)
