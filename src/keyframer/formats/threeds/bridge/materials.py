"""Materials and their maps."""

from __future__ import annotations

from keyframer.curves.lazy_fields import add_extras
from keyframer.formats.kit.declared_fields import get_fields
from keyframer.formats.threeds import records as r
from keyframer.formats.threeds.bridge.context import (
    Context,
    child,
    children,
    firsts,
    has,
    leftovers,
    own_value,
    percent,
)
from keyframer.formats.threeds.bridge.declared_fields import MAP, MAP_FLAGS, MATERIAL, kinds_of
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

_KNOWN = kinds_of(MATERIAL, wraps=False) | {*SLOTS, r.MaterialName, r.MaterialShading}
_WRAPPED = kinds_of(MATERIAL, wraps=True)

TINTS: dict[type[Chunk], str] = {
    r.MapTint1: "first",
    r.MapTint2: "second",
    r.MapTintRed: "red",
    r.MapTintGreen: "green",
    r.MapTintBlue: "blue",
}

_MAP_KNOWN = kinds_of(MAP, wraps=False) | {*TINTS, r.MapName, r.MapParameters}


def read_material(context: Context, chunk: r.Material) -> Material:
    """One material block."""
    name = child(chunk, r.MaterialName)
    material = Material(context.text(name.name) if name else "", raw_name=name.name if name else None)
    get_fields(material, firsts(chunk), MATERIAL)
    if has(chunk, r.MaterialSelfIlluminated):  # the flag of older releases
        material.self_illumination = material.self_illumination or 1.0
    shading = child(chunk, r.MaterialShading)
    if shading is not None:
        if 0 <= shading.shading < len(SHADINGS):
            material.shading = SHADINGS[shading.shading]
        else:
            add_extras(material, "3ds", {"shading": shading.shading})
    for each in children(chunk, r.Map):
        material.maps.setdefault(SLOTS[type(each)], _read_map(context, each))
    context.mark(material, "3ds", chunk, leftovers(chunk, _KNOWN, _WRAPPED).get("3ds"))
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
    get_fields(found, firsts(chunk), MAP)
    inside = firsts(chunk)
    for kind, tint in TINTS.items():
        if kind in inside:
            rgb = inside[kind].rgb
            found.tints[tint] = (rgb[0] / 255, rgb[1] / 255, rgb[2] / 255)
    context.mark(found, "3ds", chunk, leftovers(chunk, _MAP_KNOWN | own_value(chunk)).get("3ds"))
    return found
