"""Read materials and their maps."""

from __future__ import annotations

from keyframer.curves.lazy_fields import add_extras, unchecked_constructor
from keyframer.formats.kit.declared_fields import read_declared_fields
from keyframer.formats.threeds import records as r
from keyframer.formats.threeds.bridge.context import (
    Context,
    children,
    first_chunks,
    unread_extras,
    value_kinds,
)
from keyframer.formats.threeds.bridge.declared_fields import (
    MAP,
    MAP_AMOUNT,
    MAP_FLAGS,
    MATERIAL,
    fields_by_kind,
    kinds_of,
    read_stored_fields,
)
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

_KNOWN = kinds_of(MATERIAL, wraps=False) | {*SLOTS, r.MaterialName}
_WRAPPERS = kinds_of(MATERIAL, wraps=True)

_MAP_KNOWN = kinds_of(MAP, wraps=False) | {r.MapName, r.MapParameters}


_new_material = unchecked_constructor(Material)
_MATERIAL_FIELDS = fields_by_kind(MATERIAL)
_MAP_FIELDS = fields_by_kind(MAP)


def read_material(context: Context, chunk: r.Material) -> Material:
    """Read one material block."""
    chunks = first_chunks(chunk)
    name: r.MaterialName | None = chunks.get(r.MaterialName)
    raw_name = name.name if name else None
    material: Material = _new_material(context.text(raw_name or b""), raw_name=raw_name)
    read_stored_fields(material, chunks, _MATERIAL_FIELDS)
    if r.MaterialSelfIlluminated in chunks:  # the flag of older releases
        material.self_illumination = material.self_illumination or 1.0
    shading = chunks.get(r.MaterialShading)
    if shading is not None and material.shading is None:
        add_extras(material, "3ds", {"shading": shading.shading})
    if not chunks.keys().isdisjoint(SLOTS):
        for child in children(chunk, r.Map):
            material.maps.setdefault(SLOTS[type(child)], _read_map(context, child))
    context.mark(material, "3ds", chunk, unread_extras(chunk, _KNOWN, _WRAPPERS).get("3ds"))
    return material


def _read_map(context: Context, chunk: r.Map) -> TextureMap:
    chunks = first_chunks(chunk)
    name: r.MapName | None = chunks.get(r.MapName)
    raw_name = name.name if name else b""
    texture = TextureMap(context.text(raw_name), raw_name)
    read_declared_fields(texture, chunk, MAP_AMOUNT)
    parameters = chunks.get(r.MapParameters)
    if parameters is not None:
        read_declared_fields(texture, parameters, MAP_FLAGS)
        add_extras(texture, "3ds", {"flags": parameters.flags})
    read_stored_fields(texture, chunks, _MAP_FIELDS)
    context.mark(texture, "3ds", chunk, unread_extras(chunk, _MAP_KNOWN | value_kinds(chunk)).get("3ds"))
    return texture
