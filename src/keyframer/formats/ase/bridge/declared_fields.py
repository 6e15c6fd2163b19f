"""Declare how fields of a scene are stored in lines: for reading, writing and loss reports; make lines and blocks.

Names and targets are not declared; other modules of the bridge read and write them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from keyframer.arrays import Array
from keyframer.formats.ase.records import BLOCK_TYPES, AseRecord, Block, Line
from keyframer.formats.kit.declared_fields import Capabilities, Field, FieldGroup, StoredAs
from keyframer.formats.kit.scene_writing import without_quotes
from keyframer.scene import Camera, LightType
from keyframer.text import encode_name
from keyframer.wire.lossless_json import array_to_json

_LARGEST = 3e38
_FEW = 16
"""fewer numbers than this are shortened one by one, which is faster: most lines of a node have three"""


def shortest_decimals(values: npt.ArrayLike) -> Array:
    """Return numbers rounded to as few digits as float32 needs; NaN becomes 0, the limit is ±3e38."""
    numbers = np.asarray(values, np.float64)
    if not (np.abs(numbers) <= _LARGEST).all():
        numbers = np.clip(np.nan_to_num(numbers, nan=0.0), -_LARGEST, _LARGEST)
    singles = numbers.astype(np.float32) + np.float32(0)  # normalises -0.0
    flat = singles.reshape(-1)
    shortest = [float(str(single)) for single in flat] if len(flat) < _FEW else array_to_json(flat)
    return np.array(shortest, np.float64).reshape(singles.shape)


def line(keyword: str, *values: Any) -> Line:
    """Return a line with integers, names (bytes) and floats."""
    plain = (value if isinstance(value, (int, bytes)) else float(value) for value in values)
    return Line(keyword.encode(), tuple(plain))


def float_line(keyword: str, values: npt.ArrayLike) -> Line:
    """Return a line of floats, shortened by `shortest_decimals`."""
    return Line(keyword.encode(), tuple(shortest_decimals(np.asarray(values, np.float64).reshape(-1)).tolist()))


def block(keyword: str, *children: AseRecord | None, values: tuple[Any, ...] = ()) -> Block:
    """Return a block with these lines and blocks inside; None is left out."""
    record = BLOCK_TYPES[keyword.encode()](values)
    record.children = [child for child in children if child is not None]
    return record


def quotable(name: str) -> bytes:
    """Return a name as UTF-8 that can be written in quotes: quotes and line ends are replaced."""
    return encode_name(without_quotes(name), "utf-8")


LineField = Field[Block, AseRecord]


def _color(name: str, keyword: str, default: Any = None) -> LineField:
    return LineField(
        name,
        lambda block: block.vector(keyword.encode()) or default,
        lambda value: [] if value is None else [float_line(keyword, value)],
    )


def _number(name: str, keyword: str, default: float | None = None) -> LineField:
    """Declare a number; ``default`` is the value of a block without the line."""

    def get(block: Block) -> float | None:
        stated = block.get(keyword.encode()) is not None
        return block.number(keyword.encode(), 0.0 if default is None else default) if stated else default

    return LineField(name, get, lambda value: [] if value is None else [float_line(keyword, value)])


def _angle(name: str, keyword: str) -> LineField:
    """Declare optional degrees; a missing line or a negative number means None."""

    def get(block: Block) -> float | None:
        value = block.number(keyword.encode(), -1.0)
        return value if value >= 0 else None

    return LineField(name, get, lambda value: [] if value is None else [float_line(keyword, value)])


def _flag(name: str, keyword: str) -> LineField:
    """Declare a field that is true if its line is present."""
    return LineField(name, lambda block: block.has(keyword.encode()), lambda value: [line(keyword)] if value else [])


def _word(name: str, keyword: str, yes: bytes, no: bytes) -> LineField:
    """Declare a field that is true or false, stored as one of two words."""
    return LineField(
        name,
        lambda block: block.name(keyword.encode()) == yes,
        lambda value: [line(keyword, yes if value else no)],
    )


def _pair(name: str, first: str, second: str, default: float | None = None) -> LineField:
    """Declare two numbers, each on its own line; without ``default`` the field is None unless both are present."""
    keywords = (first.encode(), second.encode())

    def get(block: Block) -> tuple[float, ...] | None:
        if default is None and not all(block.get(keyword) for keyword in keywords):
            return None
        return tuple(block.number(keyword, default or 0.0) for keyword in keywords)

    def put(value: Sequence[float] | None) -> list[AseRecord]:
        return [] if value is None else [float_line(first, value[0]), float_line(second, value[1])]

    return LineField(name, get, put)


def _falls_inwards(block: Block) -> bool:
    return bool(block.number(b"MATERIAL_XP_FALLOFF", 0.0)) and block.name(b"MATERIAL_FALLOFF") == b"In"


SHADINGS = {b"Constant": "flat", b"Phong": "phong", b"Blinn": "phong", b"Metal": "metal"}
"""the shading of each word; if a shading has two words, that of the source file is written, or else the first"""


def _put_shading(shading: str | None, extras: Mapping[str, Any]) -> list[AseRecord]:
    """Return the line of a shading; an unknown shading is written as the default of 3ds Max."""
    if shading is None:
        return []
    words = [word for word, name in SHADINGS.items() if name == shading] or [b"Blinn"]
    stored = extras.get("ase", {}).get("shading", "").encode("latin-1")
    return [line("MATERIAL_SHADING", stored if stored in words else words[0])]


MATERIAL: tuple[LineField | FieldGroup[Block, AseRecord], ...] = (
    _color("ambient", "MATERIAL_AMBIENT"),
    _color("diffuse", "MATERIAL_DIFFUSE"),
    _color("specular", "MATERIAL_SPECULAR"),
    _number("shininess", "MATERIAL_SHINE"),
    _number("shininess_strength", "MATERIAL_SHINESTRENGTH"),
    _number("transparency", "MATERIAL_TRANSPARENCY", 0.0),
    _number("wire_size", "MATERIAL_WIRESIZE"),
    FieldGroup(
        ("shading",), lambda block: (SHADINGS.get(block.name(b"MATERIAL_SHADING") or b""),), _put_shading, ("extras",)
    ),
    _number("transparency_falloff", "MATERIAL_XP_FALLOFF"),
    _number("self_illumination", "MATERIAL_SELFILLUM", 0.0),
    _flag("two_sided", "MATERIAL_TWOSIDED"),
    _flag("wire", "MATERIAL_WIRE"),
    _flag("wire_in_units", "MATERIAL_WIREUNITS"),
    _flag("face_map", "MATERIAL_FACEMAP"),
    _flag("soften", "MATERIAL_SOFTEN"),
    LineField("falloff_inwards", _falls_inwards, lambda value: [line("MATERIAL_FALLOFF", b"In" if value else b"Out")]),
    _word("additive", "MATERIAL_XP_TYPE", b"Additive", b"Filter"),
)

# 3ds Max reverses V and angles compared with 3D Studio, whose convention the scene uses
MAP = (
    _number("amount", "MAP_AMOUNT", 1.0),
    LineField(
        "offset",
        lambda block: (block.number(b"UVW_U_OFFSET", 0.0), 0.0 - block.number(b"UVW_V_OFFSET", 0.0)),
        lambda value: [float_line("UVW_U_OFFSET", value[0]), float_line("UVW_V_OFFSET", 0.0 - value[1])],
    ),
    _pair("scale", "UVW_U_TILING", "UVW_V_TILING", 1.0),
    LineField(
        "rotation_degrees",
        lambda block: 0.0 - math.degrees(block.number(b"UVW_ANGLE", 0.0)),
        lambda value: [float_line("UVW_ANGLE", 0.0 - math.radians(value))],
    ),
    _flag("negative", "BITMAP_INVERT"),
    _word("summed_area", "BITMAP_FILTER", b"SAT", b"Pyramidal"),
)

LIGHT = (
    LineField(
        "casts_shadows",
        lambda block: (block.name(b"LIGHT_SHADOWS") or b"Off") != b"Off",
        lambda value: [line("LIGHT_SHADOWS", b"Mapped" if value else b"Off")],
    ),
    LineField(
        "on", lambda block: block.number(b"LIGHT_USELIGHT", 1) != 0, lambda value: [line("LIGHT_USELIGHT", int(value))]
    ),
    _word("rectangular", "LIGHT_SPOTSHAPE", b"Rect", b"Circle"),
)


def _aspect(block: Block) -> float:
    value = block.number(b"LIGHT_ASPECT", -1.0)
    return value if value > 0 else 1.0


LIGHT_SETTINGS = (
    _color("color", "LIGHT_COLOR", (1.0, 1.0, 1.0)),
    _number("multiplier", "LIGHT_INTENS", 1.0),
    LineField("aspect", _aspect, lambda value: [float_line("LIGHT_ASPECT", -1.0 if value == 1.0 else value)]),
)

CONE = (_angle("hotspot_degrees", "LIGHT_HOTSPOT"), _angle("falloff_degrees", "LIGHT_FALLOFF"))
"""fields of spot lights"""


def _attenuation(block: Block) -> tuple[bool, float | None, float | None]:
    if not (block.get(b"LIGHT_ATTNSTART") and block.get(b"LIGHT_ATTNEND")):
        return False, None, None
    return True, block.number(b"LIGHT_ATTNSTART", 0.0), block.number(b"LIGHT_ATTNEND", 0.0)


def _put_attenuation(attenuated: bool, inner: float | None, outer: float | None) -> list[AseRecord]:
    if not attenuated:
        return []
    return [float_line("LIGHT_ATTNSTART", inner or 0.0), float_line("LIGHT_ATTNEND", outer or 0.0)]


ATTENUATION = (FieldGroup(("attenuated", "inner_range", "outer_range"), _attenuation, _put_attenuation),)

LIGHT_TYPES = {
    b"Omni": LightType.OMNI,
    b"Target": LightType.SPOT,
    b"Free": LightType.SPOT,
    b"Directional": LightType.DIRECTIONAL,
}
"""the type of each word; if a type has two words, the second is for lights without a target"""


def _fov(block: Block) -> float:
    radians = block.number(b"CAMERA_FOV", 0.0)
    return math.degrees(radians) if 0 < radians < math.pi else Camera("").fov_degrees


CAMERA = (
    _pair("clip", "CAMERA_HITHER", "CAMERA_YON"),
    _pair("ranges", "CAMERA_NEAR", "CAMERA_FAR"),
    LineField("fov_degrees", _fov, lambda value: [float_line("CAMERA_FOV", math.radians(value))]),
)

CAMERA_TRACKS = {"fov": "CAMERA_FOV"}
LIGHT_TRACKS = {
    "multiplier": "LIGHT_INTENS",
    "color": "LIGHT_COLOR",
    "hotspot": "LIGHT_HOTSPOT",
    "falloff": "LIGHT_FALLOFF",
}
"""the keyword of each animated setting, by the kind of track"""


def _uses(block: Block) -> set[str]:
    return {"background_color"} if block.vector(b"SCENE_BACKGROUND_STATIC") is not None else set()


ENVIRONMENT = (
    _color("background_color", "SCENE_BACKGROUND_STATIC"),
    _color("ambient", "SCENE_AMBIENT_STATIC"),
    LineField("uses", _uses, lambda value: []),
)
"""a background colour is in use if it is stored"""

_ROLL = StoredAs(("roll_degrees",), "the matrix of the node, turned about its line of sight")

CAPABILITIES = Capabilities(
    (
        *("parents", "names", "dummies", "hidden nodes", "pivots", "scale axes", "meshes", "smoothing", "morphs"),
        *(
            "vertex colours",
            "normals",
            "cast shadows",
            "received shadows",
            "skins",
            "materials",
            "textures",
            "other maps",
        ),
        *("cameras", "lights", "environment", "title", "segment", "roll", "scale_axes", "visible"),
        *(*CAMERA_TRACKS, *LIGHT_TRACKS),
    ),
    {
        "materials": MATERIAL,
        "maps": MAP,
        "lights": (
            *(*LIGHT, *LIGHT_SETTINGS, *CONE, *ATTENUATION, _ROLL),
            StoredAs(("excludes",), "a list of names in the block of the light"),
        ),
        "cameras": (*CAMERA, _ROLL),
        "environment": ENVIRONMENT,
        "meshes": (StoredAs(("edges",), "three columns of the table of faces"),),
    },
)
