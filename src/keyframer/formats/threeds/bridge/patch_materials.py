"""Materials and their maps changed in place."""

from __future__ import annotations

from typing import Any

from keyframer.formats.document import Document
from keyframer.formats.kit.scene_writing import Unpatchable, encode_name
from keyframer.formats.threeds import records as r
from keyframer.formats.threeds.bridge import materials as reading
from keyframer.formats.threeds.bridge.context import child
from keyframer.formats.threeds.bridge.patch_values import (
    PERCENTAGES,
    put_share,
    set_color,
    set_field,
    set_flag,
    set_share,
    take_out,
)
from keyframer.formats.threeds.bridge.write_materials import MapNames, write_map
from keyframer.formats.threeds.chunk import Chunk
from keyframer.scene import Material, TextureMap
from keyframer.scene.report import LossReport

_COLORS: dict[str, type[Chunk]] = {
    "ambient": r.MaterialAmbient,
    "diffuse": r.MaterialDiffuse,
    "specular": r.MaterialSpecular,
}
_SHARES: dict[str, type[Chunk]] = {
    "shininess": r.MaterialShininess,
    "shininess_strength": r.MaterialShininessStrength,
    "transparency": r.MaterialTransparency,
    "transparency_falloff": r.MaterialTransparencyFalloff,
    "reflection_blur": r.MaterialReflectionBlur,
    "self_illumination": r.MaterialSelfIllumination,
}
_FLAG_CHUNKS = {attribute: kind for kind, attribute in reading.FLAGS.items()}
_SLOT_CHUNKS = {slot: kind for kind, slot in reading.SLOTS.items()}
_TINT_CHUNKS: dict[str, Any] = {name: kind for kind, name in reading.TINTS.items()}
_NOT_TILED = 0x10


def patch_material(
    document: Document, chunk: r.Material, material: Material, path: tuple[str, ...], report: LossReport
) -> None:
    name = path[0]
    if name == "maps":
        _patch_maps(chunk, material, path[1:], report)
    elif name in _COLORS:
        set_color(chunk, _COLORS[name], getattr(material, name))
    elif name in _SHARES:
        set_share(chunk, _SHARES[name], getattr(material, name))
        if name == "self_illumination":  # the flag of older releases says it, too
            set_flag(chunk, r.MaterialSelfIlluminated, False)
    elif name in _FLAG_CHUNKS:
        set_flag(chunk, _FLAG_CHUNKS[name], getattr(material, name))
    elif name == "wire_size":
        set_field(chunk, r.MaterialWireSize, "size", material.wire_size)
    elif name == "shading":
        word = material.shading
        set_field(chunk, r.MaterialShading, "shading", None if word is None else reading.SHADINGS.index(word))
    elif name == "name":
        _rename(document, chunk, material.name)
    else:
        raise Unpatchable(f"{name} of materials")


def _rename(document: Document, chunk: r.Material, name: str) -> None:
    """The material, and every group of faces that names it."""
    stored = child(chunk, r.MaterialName)
    raw = encode_name(name)
    if stored is None:
        raise Unpatchable("a material without a name")
    for group in document.find(r.MaterialGroup):
        if group.material.lower() == stored.name.lower():
            group.material = raw
    stored.name = raw


def _patch_maps(chunk: r.Material, material: Material, path: tuple[str, ...], report: LossReport) -> None:
    if path:
        _patch_map(chunk, material, path[0], path[1])
        return
    for slot, kind in _SLOT_CHUNKS.items():
        home = child(chunk, kind)
        if home is not None and slot not in material.maps:
            take_out(chunk, home)
        elif home is None and slot in material.maps:
            chunk.children.append(write_map(kind, material.maps[slot], MapNames(report)))
        elif home is not None:  # another slot came or went: this one may have changed as well
            for name in ("file_name", "amount", "scale", "offset", "rotation_degrees", "blur", "tints", "tiled"):
                _patch_map(chunk, material, slot, name, keep=True)


def _patch_map(chunk: r.Material, material: Material, slot: str, name: str, *, keep: bool = False) -> None:
    """One field of a map; with ``keep`` numbers that are not stored stay so where they have their usual value."""
    home = child(chunk, _SLOT_CHUNKS[slot])
    found = material.maps[slot]
    if home is None:
        raise Unpatchable(f"the map {slot}")
    pairs: dict[str, tuple[tuple[Any, float, float], ...]] = {
        "scale": ((r.MapUScale, found.scale[0], 1.0), (r.MapVScale, found.scale[1], 1.0)),
        "offset": ((r.MapUOffset, found.offset[0], 0.0), (r.MapVOffset, found.offset[1], 0.0)),
        "rotation_degrees": ((r.MapRotation, found.rotation_degrees, 0.0),),
        "blur": ((r.MapBlur, found.blur, 0.0),),
    }
    if name == "file_name":
        if child(home, r.MapName) is not None or found.file_name or not keep:
            set_field(home, r.MapName, "name", encode_name(found.file_name))
    elif name == "amount":
        if any(isinstance(each, PERCENTAGES) for each in home.children) or found.amount != 1.0 or not keep:
            put_share(home, found.amount)
    elif name in pairs:
        for kind, value, usual in pairs[name]:
            if child(home, kind) is not None or value != usual or not keep:
                set_field(home, kind, "value", value)
    elif name == "tints":
        for tint, make in _TINT_CHUNKS.items():
            color = found.tints.get(tint)
            whole = None if color is None else tuple(min(max(round(part * 255), 0), 255) for part in color)
            set_field(home, make, "rgb", whole)
    elif name == "tiled" or name in reading.MAP_FLAGS:
        _set_map_flags(home, found)
    else:
        raise Unpatchable(f"{name} of maps")


def _set_map_flags(home: Chunk, found: TextureMap) -> None:
    stored = child(home, r.MapParameters)
    known = sum(reading.MAP_FLAGS.values()) | _NOT_TILED
    flags = sum(bit for attribute, bit in reading.MAP_FLAGS.items() if getattr(found, attribute))
    flags |= 0 if found.tiled else _NOT_TILED
    if stored is None and not flags:
        return
    kept = 0 if stored is None else stored.flags & ~known
    set_field(home, r.MapParameters, "flags", flags | kept)
