"""Declare how fields of a scene are stored in single chunks, for reading and writing.

Reading, writing, the list of known chunks, and loss reports use the tables below. Names, targets, maps, morphs and
positions need the rest of the document and are read and written by code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from keyframer.arrays import Array
from keyframer.formats.kit.declared_fields import Capabilities, Field, FieldGroup, StoredAs
from keyframer.formats.threeds import records as r
from keyframer.formats.threeds.bridge.context import FirstChunks, child, children, color, percent, rgb_of
from keyframer.formats.threeds.chunk import Chunk
from keyframer.scene import Fog, Gradient, LayeredFog, LightType
from keyframer.text import encode_name
from keyframer.wire.record import Record


@dataclass(eq=False, repr=False, slots=True)
class ChunkField(Field[FirstChunks, Chunk]):
    """An attribute stored in sub-chunks of a part's chunk; the first of each kind is read."""

    kinds: tuple[type[Chunk], ...]
    """the kinds of these sub-chunks"""
    wraps: bool = False
    """whether the value is in a colour or percentage chunk inside the sub-chunk"""


def kinds_of(fields: Iterable[ChunkField], *, wraps: bool) -> frozenset[type[Record]]:
    """Return the kinds of chunks that fields with this value of ``wraps`` are read from."""
    return frozenset(kind for field in fields if field.wraps is wraps for kind in field.kinds)


def fields_by_kind(fields: Iterable[ChunkField]) -> dict[type[Record], ChunkField]:
    """Map each kind of chunk to its field, for `read_stored_fields`."""
    return {kind: field for field in fields for kind in field.kinds}


def read_stored_fields(part: Any, chunks: FirstChunks, fields: Mapping[type[Record], ChunkField]) -> None:
    """Set the attributes of a new part that have a chunk; the others keep their defaults."""
    for kind in chunks:
        declared = fields.get(kind)
        if declared is not None:
            setattr(part, declared.name, declared.get(chunks))


def color_chunk(value: Sequence[float]) -> r.ColorFloat:
    return r.ColorFloat((float(value[0]), float(value[1]), float(value[2])))


def percent_chunk(value: float) -> Chunk:
    """Return the chunk of a fraction: a whole percentage if possible, which all readers understand, else a float."""
    percentage = value * 100
    if abs(percentage) < 1 << 15 and abs(percentage - round(percentage)) < 1e-4:  # false for NaN
        return r.PercentInt(round(percentage))
    return r.PercentFloat(value)


def _color(name: str, kind: type[Chunk]) -> ChunkField:
    return ChunkField(
        name,
        lambda chunks: color(chunks.get(kind)),
        lambda value: [] if value is None else [kind(children=[color_chunk(value)])],
        (kind,),
        wraps=True,
    )


def _percentage(
    name: str, kind: type[Chunk], *, default: float | None = None, writes_default: bool = True
) -> ChunkField:
    """Declare a percentage. ``default`` is the value without a chunk; it is written only with ``writes_default``."""

    def get(chunks: FirstChunks) -> float | None:
        value = percent(chunks.get(kind))
        return value or default if default is not None else value

    def put(value: float | None) -> list[Chunk]:
        if value is None or (value == default and not writes_default):
            return []
        return [kind(children=[percent_chunk(value)])]

    return ChunkField(name, get, put, (kind,), wraps=True)


def _flag(name: str, kind: type[Chunk], *, means: bool = True) -> ChunkField:
    """Declare a field whose value is ``means`` if its chunk is present."""
    return ChunkField(
        name, lambda chunks: (kind in chunks) is means, lambda value: [kind()] if bool(value) is means else [], (kind,)
    )


def _number(
    name: str, kind: Any, field: str, default: float | None = None, *, writes_default: bool = False
) -> ChunkField:
    """Declare a number that has its own chunk."""

    def get(chunks: FirstChunks) -> Any:
        return getattr(chunks[kind], field) if kind in chunks else default

    def put(value: Any) -> list[Chunk]:
        return [] if value is None or (value == default and not writes_default) else [kind(value)]

    return ChunkField(name, get, put, (kind,))


def _file_name(name: str, kind: Any) -> ChunkField:
    """Declare a file name as stored; see `read_file_names` and `write_file_names`."""
    return ChunkField(
        name,
        lambda chunks: chunks[kind].name if kind in chunks else None,
        lambda raw: [] if raw is None else [kind(raw)],
        (kind,),
    )


def read_file_names(part: Any, chunks: FirstChunks, fields: Iterable[ChunkField], text: Callable[[bytes], str]) -> None:
    """Set the attributes of a part that are file names."""
    for field in fields:
        raw = field.get(chunks)
        setattr(part, field.name, None if raw is None else text(raw))


def write_file_names(part: Any, fields: Iterable[ChunkField], claim: Callable[[str], bytes]) -> list[Chunk]:
    """Return the chunks of file names; ``claim`` returns the name to store."""
    names = ((field, getattr(part, field.name)) for field in fields)
    return [chunk for field, name in names if name is not None for chunk in field.put(claim(name))]


def _pair(name: str, first: Any, second: Any, default: float) -> ChunkField:
    """Declare an attribute of two numbers, each with its own chunk."""

    def number(chunks: FirstChunks, kind: Any) -> float:
        return float(chunks[kind].value) if kind in chunks else default

    def get(chunks: FirstChunks) -> tuple[float, float]:
        return number(chunks, first), number(chunks, second)

    def put(values: tuple[float, float]) -> list[Chunk]:
        pairs = zip((first, second), values, strict=True)
        return [kind(value) for kind, value in pairs if value != default]

    return ChunkField(name, get, put, (first, second))


def _amount(chunk: Chunk) -> float:
    value = percent(chunk)
    return 1.0 if value is None else value


def _ranges(chunks: FirstChunks) -> tuple[float, float] | None:
    ranges = chunks.get(r.CameraRanges)
    return None if ranges is None else (ranges.near, ranges.far)


SHADINGS = ("wire", "flat", "gouraud", "phong", "metal")


def _shading(chunks: FirstChunks) -> str | None:
    chunk = chunks.get(r.MaterialShading)
    return SHADINGS[chunk.shading] if chunk is not None and 0 <= chunk.shading < len(SHADINGS) else None


TINTS: dict[Any, str] = {
    r.MapTint1: "first",
    r.MapTint2: "second",
    r.MapTintRed: "red",
    r.MapTintGreen: "green",
    r.MapTintBlue: "blue",
}


def _tints(chunks: FirstChunks) -> dict[str, tuple[float, ...]]:
    return {
        tint: tuple(component / 255 for component in chunks[kind].rgb) for kind, tint in TINTS.items() if kind in chunks
    }


def _put_tints(tints: dict[str, tuple[float, ...]]) -> list[Chunk]:
    stored = {
        tint: tuple(min(max(round(component * 255), 0), 255) for component in value) for tint, value in tints.items()
    }
    return [kind(stored[tint]) for kind, tint in TINTS.items() if tint in stored]


MATERIAL = (
    _color("ambient", r.MaterialAmbient),
    _color("diffuse", r.MaterialDiffuse),
    _color("specular", r.MaterialSpecular),
    _percentage("shininess", r.MaterialShininess),
    _percentage("shininess_strength", r.MaterialShininessStrength),
    _percentage("transparency", r.MaterialTransparency, default=0.0),
    _percentage("transparency_falloff", r.MaterialTransparencyFalloff),
    _percentage("reflection_blur", r.MaterialReflectionBlur),
    _percentage("self_illumination", r.MaterialSelfIllumination, default=0.0, writes_default=False),
    _flag("two_sided", r.MaterialTwoSided),
    _flag("additive", r.MaterialAdditive),
    _flag("wire", r.MaterialWire),
    _flag("wire_in_units", r.MaterialWireInUnits),
    _flag("face_map", r.MaterialFaceMap),
    _flag("soften", r.MaterialSoften),
    _flag("supersample", r.MaterialSupersample),
    _flag("falloff_inwards", r.MaterialFalloffIn),
    _number("wire_size", r.MaterialWireSize, "size"),
    ChunkField(
        "shading",
        _shading,
        lambda value: [r.MaterialShading(SHADINGS.index(value))] if value in SHADINGS else [],
        (r.MaterialShading,),
    ),
)

MAP_AMOUNT: tuple[Field[Chunk, Chunk], ...] = (Field("amount", _amount, lambda value: [percent_chunk(value)]),)
"""read from the chunk of the map itself"""

MAP = (
    _number("blur", r.MapBlur, "value", 0.0),
    _pair("scale", r.MapUScale, r.MapVScale, 1.0),
    _pair("offset", r.MapUOffset, r.MapVOffset, 0.0),
    _number("rotation_degrees", r.MapRotation, "value", 0.0),
    ChunkField("tints", _tints, _put_tints, tuple(TINTS)),
)

LIGHT_COLOR: tuple[Field[Chunk, Chunk], ...] = (
    Field("color", lambda chunk: color(chunk) or (1.0, 1.0, 1.0), lambda value: [color_chunk(value)]),
)
"""read from the chunk of the light itself"""

LIGHT = (
    _flag("on", r.LightOff, means=False),
    _flag("attenuated", r.LightAttenuates),
    _number("inner_range", r.LightInnerRange, "range"),
    _number("outer_range", r.LightOuterRange, "range"),
    _number("multiplier", r.LightMultiplier, "multiplier", 1.0, writes_default=True),
)

EXCLUDES: tuple[Field[tuple[Chunk, Callable[[bytes], str]], Chunk], ...] = (
    Field(
        "excludes",
        lambda stored: [stored[1](exclude.name) for exclude in children(stored[0], r.LightExclude)],
        lambda names: [r.LightExclude(encode_name(name)) for name in names],
    ),
)
"""read from the chunk of the light, with a function that decodes names"""

SPOT = (_flag("casts_shadows", r.SpotShadowed), _flag("rectangular", r.SpotRectangular))

PROJECTOR = (_file_name("projector", r.SpotMap),)

SPOT_NUMBERS = (
    _number("roll_degrees", r.SpotRoll, "roll", 0.0),
    _number("aspect", r.SpotAspect, "aspect", 1.0),
)


def _put_cone(hotspot: float | None, falloff: float | None, type: LightType) -> list[float]:
    if type is LightType.DIRECTIONAL:
        return [80.0, 90.0]
    falloff = 45.0 if falloff is None else falloff
    return [max(falloff - 1.0, 0.0) if hotspot is None else hotspot, falloff]


CONE: tuple[FieldGroup[r.Spotlight, float], ...] = (
    FieldGroup(
        ("hotspot_degrees", "falloff_degrees"), lambda spot: (spot.hotspot, spot.falloff), _put_cone, needs=("type",)
    ),
)
"""numbers in the chunk of a spot light itself; a directional light is written as a spot light"""

_LONGEST_LENS = 1e7


def fov_of_lens(lens: float) -> float:
    """Return the field of view in degrees: 2400 / lens (true of 146 of 153 real cameras); 48 for an invalid lens."""
    fov = 2400.0 / lens if lens > 0 else 48.0
    return min(max(fov, 2400.0 / _LONGEST_LENS), 160.0)  # the range of Autodesk's toolkit


def lens_of_fov(fov_degrees: float) -> float:
    """Return the lens for a field of view, the inverse of `fov_of_lens` within its range."""
    return min(2400.0 / max(fov_degrees, 2400.0 / _LONGEST_LENS), _LONGEST_LENS)


def _put_fov(fov_degrees: float, extras: Mapping[str, Any]) -> list[float]:
    """Return the lens of the source file if it gives this field of view, else the result of `lens_of_fov`."""
    stored = extras.get("3ds", {}).get("lens")
    return [stored if isinstance(stored, float) and fov_of_lens(stored) == fov_degrees else lens_of_fov(fov_degrees)]


CAMERA_NUMBERS: tuple[Field[r.Camera, float] | FieldGroup[r.Camera, float], ...] = (
    Field("roll_degrees", lambda body: body.bank, lambda value: [value]),
    FieldGroup(("fov_degrees",), lambda body: (fov_of_lens(body.lens),), _put_fov, needs=("extras",)),
)
"""numbers in the chunk of the camera itself"""

CAMERA = (
    _flag("shows_cone", r.CameraSeeCone),
    ChunkField("ranges", _ranges, lambda value: [] if value is None else [r.CameraRanges(*value)], (r.CameraRanges,)),
)

_MAP_FLAGS = {
    "decal": (0x1, True),
    "mirror": (0x2, True),
    "negative": (0x8, True),
    "tiled": (0x10, False),
    "summed_area": (0x20, True),
    "alpha_source": (0x40, True),
    "ignore_alpha": (0x100, True),
}
"""bits of chunk A351, and the value of the attribute if the bit is set"""


def _put_map_flags(*values: bool) -> list[Chunk]:
    bits = zip(_MAP_FLAGS.values(), values, strict=True)
    return [r.MapParameters(sum(bit for (bit, meaning), value in bits if value is meaning))]


MAP_FLAGS: tuple[FieldGroup[r.MapParameters, Chunk], ...] = (
    FieldGroup(
        tuple(_MAP_FLAGS),
        lambda chunk: tuple(bool(chunk.flags & bit) is meaning for bit, meaning in _MAP_FLAGS.values()),
        _put_map_flags,
    ),
)

REVERSED_EDGES = np.array([0, 4, 2, 6, 1, 5, 3, 7], np.uint8)
"""the three edge bits in reverse order: from the stored order CA, BC, AB to AB, BC, CA, and back"""

EDGES: tuple[Field[Array, Array], ...] = (
    Field(
        "edges",
        lambda flags: REVERSED_EDGES.take(flags & 7),
        lambda edges: [] if edges is None else [REVERSED_EDGES[np.asarray(edges, np.int64) & 7]],
    ),
)
"""read from the flags of faces"""

BOUNDING_BOX = ChunkField(
    "bounding_box",
    lambda chunks: (np.array(chunks[r.BoundBox].minimum), np.array(chunks[r.BoundBox].maximum)),
    lambda box: [] if box is None else [r.BoundBox(*(tuple(map(float, corner)) for corner in box))],
    (r.BoundBox,),
)

CURRENT_TIME: tuple[Field[tuple[r.CurrentTime, int], Chunk], ...] = (
    Field("current", lambda stored: stored[0].time / stored[1], lambda time: [r.CurrentTime(time)]),
)
"""read from the chunk of the current time and the number of time units per frame"""


def _atmosphere(name: str, make: Any, kind: Any, background: type[Chunk] | None = None) -> ChunkField:
    """Declare fog: the numbers of its chunk, a colour inside it, and a flag for the background inside or next to it."""
    stored = [plan.name for plan in kind.plan.fields]
    names = [field.name for field in fields(make)][: len(stored)]
    has_color = r.ColorFloat.ID in kind.valid_children

    def get(chunks: FirstChunks) -> Any:
        chunk = chunks.get(kind)
        if chunk is None:
            return None
        fog = make(*(getattr(chunk, number) for number in stored), color=color(chunk))
        if background is not None:
            fog.affects_background = child(chunk, background) is not None or background in chunks
        return fog

    def put(fog: Any) -> list[Chunk]:
        if fog is None:
            return []
        inside: list[Record] = [color_chunk(fog.color)] if has_color and fog.color is not None else []
        inside += [background()] if background is not None and fog.affects_background else []
        return [kind(*(getattr(fog, number) for number in names), children=inside)]

    return ChunkField(name, get, put, (kind,) if background is None else (kind, background))


def gradient_color_kind(chunk: r.BackgroundGradient) -> type[r.ColorFloat | r.ColorByte]:
    """Return the kind of the colour chunks that are read from a gradient: floats if present, else bytes."""
    return r.ColorFloat if child(chunk, r.ColorFloat) is not None else r.ColorByte


def _gradient(chunks: FirstChunks) -> Gradient | None:
    chunk = chunks.get(r.BackgroundGradient)
    if chunk is None:
        return None
    kind = gradient_color_kind(chunk)
    return Gradient(chunk.midpoint, [rgb_of(color) for color in chunk.children if isinstance(color, kind)])


def _put_gradient(gradient: Gradient | None) -> list[Chunk]:
    if gradient is None:
        return []
    return [r.BackgroundGradient(gradient.midpoint, children=[color_chunk(color) for color in gradient.colors])]


USES: dict[type[Chunk], str] = {
    r.UseBackgroundBitmap: "background_image",
    r.UseBackgroundColor: "background_color",
    r.UseBackgroundGradient: "gradient",
    r.UseFog: "fog",
    r.UseDistanceCue: "distance_cue",
    r.UseLayerFog: "layered_fog",
}
"""chunks that switch a setting on, and the name of that setting"""

BACKGROUND_IMAGE = (_file_name("background_image", r.BackgroundBitmap),)

ENVIRONMENT = (
    _color("background_color", r.BackgroundColor),
    ChunkField("gradient", _gradient, _put_gradient, (r.BackgroundGradient,)),
    _color("ambient", r.AmbientColor),
    _atmosphere("fog", Fog, r.Fog, r.FogBackground),
    _atmosphere("distance_cue", Fog, r.DistanceCue, r.DimBackground),
    _atmosphere("layered_fog", LayeredFog, r.LayerFog),
    ChunkField(
        "uses",
        lambda chunks: {name for kind, name in USES.items() if kind in chunks},
        lambda uses: [kind() for kind, name in USES.items() if name in uses],
        tuple(USES),
    ),
)

CAPABILITIES = Capabilities(
    (
        *("parents", "meshes", "materials", "textures", "other maps", "cameras", "lights", "smoothing", "hidden nodes"),
        *("environment", "pivots", "cast shadows", "received shadows", "names"),
        "scale axes",  # applied to the vertices
        *("segment", "morphs", "fov", "roll", "color", "hotspot", "falloff", "visible", "dummies"),
    ),
    {
        "materials": MATERIAL,
        "maps": (*MAP_AMOUNT, *MAP, *MAP_FLAGS),
        "lights": (*LIGHT_COLOR, *LIGHT, *EXCLUDES, *SPOT, *PROJECTOR, *SPOT_NUMBERS, *CONE),
        "cameras": (*CAMERA, *CAMERA_NUMBERS),
        "environment": (*BACKGROUND_IMAGE, *ENVIRONMENT),
        "nodes": (BOUNDING_BOX,),
        "meshes": (*EDGES, StoredAs(("axes",), "the matrix of the mesh")),
        "clips": CURRENT_TIME,
    },
    ("cameras.clip",),
)
