"""Materials and their maps."""

from __future__ import annotations

from keyframer.curves.lazy_fields import add_extras
from keyframer.formats.threeds import records as r
from keyframer.formats.threeds.bridge.context import Context, child, children, color, has, leftovers, own_value, percent
from keyframer.formats.threeds.chunk import Chunk
from keyframer.scene import Material, TextureMap

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

SHADINGS = ("wire", "flat", "gouraud", "phong", "metal")

FLAGS: dict[type[Chunk], str] = {
    r.MaterialTwoSided: "two_sided",
    r.MaterialAdditive: "additive",
    r.MaterialWire: "wire",
    r.MaterialWireInUnits: "wire_in_units",
    r.MaterialFaceMap: "face_map",
    r.MaterialSoften: "soften",
    r.MaterialSupersample: "supersample",
    r.MaterialFalloffIn: "falloff_inwards",
}

_KNOWN: tuple[type[Chunk], ...] = (
    *SLOTS,
    *FLAGS,
    r.MaterialName,
    r.MaterialWireSize,
    r.MaterialShading,
)
_VALUES: tuple[type[Chunk], ...] = (
    r.MaterialAmbient,
    r.MaterialDiffuse,
    r.MaterialSpecular,
    r.MaterialShininess,
    r.MaterialShininessStrength,
    r.MaterialTransparency,
    r.MaterialTransparencyFalloff,
    r.MaterialReflectionBlur,
    r.MaterialSelfIllumination,
)

MAP_FLAGS = {
    "decal": 0x1,
    "mirror": 0x2,
    "negative": 0x8,
    "summed_area": 0x20,
    "alpha_source": 0x40,
    "ignore_alpha": 0x100,
}

TINTS: dict[type[Chunk], str] = {
    r.MapTint1: "first",
    r.MapTint2: "second",
    r.MapTintRed: "red",
    r.MapTintGreen: "green",
    r.MapTintBlue: "blue",
}

_MAP_KNOWN: tuple[type[Chunk], ...] = (
    *TINTS,
    r.MapName,
    r.MapParameters,
    r.MapBlur,
    r.MapUScale,
    r.MapVScale,
    r.MapUOffset,
    r.MapVOffset,
    r.MapRotation,
)


def read_material(context: Context, chunk: r.Material) -> Material:
    """One material block."""
    name = child(chunk, r.MaterialName)
    material = Material(context.text(name.name) if name else "", raw_name=name.name if name else None)
    material.ambient = color(child(chunk, r.MaterialAmbient))
    material.diffuse = color(child(chunk, r.MaterialDiffuse))
    material.specular = color(child(chunk, r.MaterialSpecular))
    material.shininess = percent(child(chunk, r.MaterialShininess))
    material.shininess_strength = percent(child(chunk, r.MaterialShininessStrength))
    material.transparency = percent(child(chunk, r.MaterialTransparency)) or 0.0
    material.transparency_falloff = percent(child(chunk, r.MaterialTransparencyFalloff))
    material.reflection_blur = percent(child(chunk, r.MaterialReflectionBlur))
    material.self_illumination = percent(child(chunk, r.MaterialSelfIllumination)) or 0.0
    if has(chunk, r.MaterialSelfIlluminated):  # the flag of older releases
        material.self_illumination = material.self_illumination or 1.0
    for kind, attribute in FLAGS.items():
        setattr(material, attribute, has(chunk, kind))
    wire = child(chunk, r.MaterialWireSize)
    if wire is not None:
        material.wire_size = wire.size
    shading = child(chunk, r.MaterialShading)
    if shading is not None:
        if 0 <= shading.shading < len(SHADINGS):
            material.shading = SHADINGS[shading.shading]
        else:
            add_extras(material, "3ds", {"shading": shading.shading})
    for each in children(chunk, r.Map):
        material.maps.setdefault(SLOTS[type(each)], _read_map(context, each))
    context.mark(material, "3ds", chunk, leftovers(chunk, _KNOWN, _VALUES).get("3ds"))
    return material


def _read_map(context: Context, chunk: r.Map) -> TextureMap:
    name = child(chunk, r.MapName)
    raw = name.name if name else b""
    amount = percent(chunk)
    found = TextureMap(context.text(raw), raw, 1.0 if amount is None else amount)
    parameters = child(chunk, r.MapParameters)
    if parameters is not None:
        for attribute, bit in MAP_FLAGS.items():
            setattr(found, attribute, bool(parameters.flags & bit))
        found.tiled = not parameters.flags & 0x10
        add_extras(found, "3ds", {"flags": parameters.flags})
    if has(chunk, r.MapUScale) or has(chunk, r.MapVScale):
        found.scale = (_number(chunk, r.MapUScale, 1.0), _number(chunk, r.MapVScale, 1.0))
    if has(chunk, r.MapUOffset) or has(chunk, r.MapVOffset):
        found.offset = (_number(chunk, r.MapUOffset, 0.0), _number(chunk, r.MapVOffset, 0.0))
    found.rotation_degrees = _number(chunk, r.MapRotation, 0.0)
    found.blur = _number(chunk, r.MapBlur, 0.0)
    for kind, tint in TINTS.items():
        stored = child(chunk, kind)
        if stored is not None:
            rgb = stored.rgb  # type: ignore[attr-defined]  # all tints have the same field
            found.tints[tint] = (rgb[0] / 255, rgb[1] / 255, rgb[2] / 255)
    context.mark(found, "3ds", chunk, leftovers(chunk, (*_MAP_KNOWN, *own_value(chunk))).get("3ds"))
    return found


def _number(chunk: Chunk, kind: type[Chunk], default: float) -> float:
    found = child(chunk, kind)
    return default if found is None else float(found.value)  # type: ignore[attr-defined]
