"""What single chunks mean in a scene, declared once: how a value is got from the chunks inside a parent, and put there.

Reading, writing, the lists of chunks that are read, and loss reports follow from the tables below. What needs more than
one value or the rest of the document (names, targets, maps, morphs, places) is code beside them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from keyframer.formats.kit.declared_fields import Field, Holdings
from keyframer.formats.threeds import records as r
from keyframer.formats.threeds.bridge.context import Firsts, color, percent
from keyframer.formats.threeds.chunk import Chunk
from keyframer.wire.record import Record


@dataclass(eq=False, repr=False, slots=True)
class ChunkField(Field[Firsts, Chunk]):
    """An attribute that chunks inside that of the part say; it is got from the first of each kind."""

    kinds: tuple[type[Chunk], ...]
    """those chunks"""
    wraps: bool = False
    """whether a colour or percentage inside the chunk is what is read of it"""


def kinds_of(fields: Iterable[ChunkField], *, wraps: bool) -> frozenset[type[Record]]:
    """The chunks that some fields are read from: those that wrap a colour or percentage, or the others."""
    return frozenset(kind for field in fields if field.wraps is wraps for kind in field.kinds)


def fields_by_kind(fields: Iterable[ChunkField]) -> dict[type[Record], ChunkField]:
    """The field that each chunk says: for `get_stated_fields`."""
    return {kind: field for field in fields for kind in field.kinds}


def get_stated_fields(part: Any, chunks: Firsts, fields: Mapping[type[Record], ChunkField]) -> None:
    """Set the attributes that chunks say; ``part`` is fresh, and its defaults are what a missing chunk means."""
    for kind in chunks:
        declared = fields.get(kind)
        if declared is not None:
            setattr(part, declared.name, declared.get(chunks))


def rgb(value: Sequence[float]) -> r.ColorFloat:
    return r.ColorFloat((float(value[0]), float(value[1]), float(value[2])))


def share(value: float) -> Chunk:
    """Return a percentage chunk: an integer if it is whole, as all readers know, else a float."""
    whole = value * 100
    if abs(whole) < 1 << 15 and abs(whole - round(whole)) < 1e-4:  # neither for what an i16 cannot hold, nor NaN
        return r.PercentInt(round(whole))
    return r.PercentFloat(value)


def _color(name: str, kind: type[Chunk]) -> ChunkField:
    return ChunkField(
        name,
        lambda chunks: color(chunks.get(kind)),
        lambda value: [] if value is None else [kind(children=[rgb(value)])],
        (kind,),
        wraps=True,
    )


def _share(name: str, kind: type[Chunk], *, least: float | None = None, says_least: bool = True) -> ChunkField:
    """A percentage; ``least`` is what a part means that says none, which is written all the same or not."""

    def get(chunks: Firsts) -> float | None:
        value = percent(chunks.get(kind))
        return value or least if least is not None else value

    def put(value: float | None) -> list[Chunk]:
        return [] if value is None or (value == least and not says_least) else [kind(children=[share(value)])]

    return ChunkField(name, get, put, (kind,), wraps=True)


def _flag(name: str, kind: type[Chunk], *, means: bool = True) -> ChunkField:
    """Declare a field that is true if its chunk is present."""
    return ChunkField(
        name, lambda chunks: (kind in chunks) is means, lambda value: [kind()] if bool(value) is means else [], (kind,)
    )


def _number(name: str, kind: Any, field: str, usual: float | None = None, *, says_usual: bool = False) -> ChunkField:
    """The only number of a chunk."""

    def get(chunks: Firsts) -> Any:
        return getattr(chunks[kind], field) if kind in chunks else usual

    def put(value: Any) -> list[Chunk]:
        return [] if value is None or (value == usual and not says_usual) else [kind(value)]

    return ChunkField(name, get, put, (kind,))


def _pair(name: str, first: Any, second: Any, usual: float) -> ChunkField:
    """Two chunks with a number each."""

    def one(chunks: Firsts, kind: Any) -> float:
        return float(chunks[kind].value) if kind in chunks else usual

    def get(chunks: Firsts) -> tuple[float, float]:
        return one(chunks, first), one(chunks, second)

    def put(value: tuple[float, float]) -> list[Chunk]:
        pairs = zip((first, second), value, strict=True)
        return [kind(number) for kind, number in pairs if number != usual]

    return ChunkField(name, get, put, (first, second))


def _ranges(chunks: Firsts) -> tuple[float, float] | None:
    ranges = chunks.get(r.CameraRanges)
    return None if ranges is None else (ranges.near, ranges.far)


MATERIAL = (
    _color("ambient", r.MaterialAmbient),
    _color("diffuse", r.MaterialDiffuse),
    _color("specular", r.MaterialSpecular),
    _share("shininess", r.MaterialShininess),
    _share("shininess_strength", r.MaterialShininessStrength),
    _share("transparency", r.MaterialTransparency, least=0.0),
    _share("transparency_falloff", r.MaterialTransparencyFalloff),
    _share("reflection_blur", r.MaterialReflectionBlur),
    _share("self_illumination", r.MaterialSelfIllumination, least=0.0, says_least=False),
    _flag("two_sided", r.MaterialTwoSided),
    _flag("additive", r.MaterialAdditive),
    _flag("wire", r.MaterialWire),
    _flag("wire_in_units", r.MaterialWireInUnits),
    _flag("face_map", r.MaterialFaceMap),
    _flag("soften", r.MaterialSoften),
    _flag("supersample", r.MaterialSupersample),
    _flag("falloff_inwards", r.MaterialFalloffIn),
    _number("wire_size", r.MaterialWireSize, "size"),
)

MAP = (
    _number("blur", r.MapBlur, "value", 0.0),
    _pair("scale", r.MapUScale, r.MapVScale, 1.0),
    _pair("offset", r.MapUOffset, r.MapVOffset, 0.0),
    _number("rotation_degrees", r.MapRotation, "value", 0.0),
)

LIGHT = (
    _flag("on", r.LightOff, means=False),
    _flag("attenuated", r.LightAttenuates),
    _number("inner_range", r.LightInnerRange, "range"),
    _number("outer_range", r.LightOuterRange, "range"),
    _number("multiplier", r.LightMultiplier, "multiplier", 1.0, says_usual=True),
)

SPOT = (_flag("casts_shadows", r.SpotShadowed), _flag("rectangular", r.SpotRectangular))

SPOT_NUMBERS = (_number("aspect", r.SpotAspect, "aspect", 1.0),)

CAMERA = (
    _flag("shows_cone", r.CameraSeeCone),
    ChunkField("ranges", _ranges, lambda value: [] if value is None else [r.CameraRanges(*value)], (r.CameraRanges,)),
)

MAP_FLAGS = {
    "decal": 0x1,
    "mirror": 0x2,
    "negative": 0x8,
    "summed_area": 0x20,
    "alpha_source": 0x40,
    "ignore_alpha": 0x100,
}
"""bits of A351; 0x10 says that a map is not tiled"""

AMBIENT = _color("ambient", r.AmbientColor)
BACKGROUND = _color("background_color", r.BackgroundColor)

HOLDINGS = Holdings(
    (
        *("tree", "meshes", "materials", "textures", "other maps", "cameras", "lights", "smoothing", "hidden"),
        *("environment", "pivots", "cast shadows", "received shadows", "names"),
        "scale axes",  # the vertices are placed by them
        *("segment", "morphs", "fov", "roll", "color", "hotspot", "falloff", "visible", "kinds"),
    ),
    {"materials": MATERIAL, "maps": MAP, "lights": (*LIGHT, *SPOT, *SPOT_NUMBERS), "cameras": CAMERA},
    {
        "materials": ("shading",),
        "maps": ("amount", "tints", "tiled", *MAP_FLAGS),
        "lights": ("color", "excludes", "projector", "roll_degrees", "hotspot_degrees", "falloff_degrees"),
        "cameras": ("fov_degrees", "roll_degrees"),
        "nodes": ("bounding_box",),
        "meshes": ("edges", "axes"),
        "clips": ("current",),
    },
    ("cameras.clip",),
)
