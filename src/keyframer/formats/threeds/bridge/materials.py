"""Read and write materials and their maps."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence

from keyframer.curves.lazy_fields import add_extras, unchecked_constructor
from keyframer.formats.kit.declared_fields import get_fields, put_fields
from keyframer.formats.kit.scene_writing import UniqueByteNames, cut_name, encode_name, plain_path
from keyframer.formats.threeds import records as r
from keyframer.formats.threeds.bridge.context import (
    Context,
    children,
    firsts,
    own_value,
    unread_extras,
)
from keyframer.formats.threeds.bridge.declared_fields import (
    ENVIRONMENT,
    MAP,
    MAP_AMOUNT,
    MAP_FLAGS,
    MATERIAL,
    fields_by_kind,
    get_stated_fields,
    kinds_of,
)
from keyframer.formats.threeds.chunk import Chunk
from keyframer.scene import Environment, Material, TextureMap
from keyframer.scene.loss_report import LossReport, Outcome

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
_WRAPPED = kinds_of(MATERIAL, wraps=True)

_MAP_KNOWN = kinds_of(MAP, wraps=False) | {r.MapName, r.MapParameters}


_new_material = unchecked_constructor(Material)
_MATERIAL_FIELDS = fields_by_kind(MATERIAL)
_MAP_FIELDS = fields_by_kind(MAP)


def read_material(context: Context, chunk: r.Material) -> Material:
    """Read one material block."""
    inside = firsts(chunk)
    name: r.MaterialName | None = inside.get(r.MaterialName)
    raw = name.name if name else None
    material: Material = _new_material(context.text(raw or b""), raw_name=raw)
    get_stated_fields(material, inside, _MATERIAL_FIELDS)
    if r.MaterialSelfIlluminated in inside:  # the flag of older releases
        material.self_illumination = material.self_illumination or 1.0
    shading = inside.get(r.MaterialShading)
    if shading is not None and material.shading is None:
        add_extras(material, "3ds", {"shading": shading.shading})
    if not inside.keys().isdisjoint(SLOTS):
        for child in children(chunk, r.Map):
            material.maps.setdefault(SLOTS[type(child)], _read_map(context, child))
    context.mark(material, "3ds", chunk, unread_extras(chunk, _KNOWN, _WRAPPED).get("3ds"))
    return material


def _read_map(context: Context, chunk: r.Map) -> TextureMap:
    inside = firsts(chunk)
    name: r.MapName | None = inside.get(r.MapName)
    raw = name.name if name else b""
    texture = TextureMap(context.text(raw), raw)
    get_fields(texture, chunk, MAP_AMOUNT)
    parameters = inside.get(r.MapParameters)
    if parameters is not None:
        for attribute, (bit, meaning) in MAP_FLAGS.items():
            setattr(texture, attribute, bool(parameters.flags & bit) is meaning)
        add_extras(texture, "3ds", {"flags": parameters.flags})
    get_stated_fields(texture, inside, _MAP_FIELDS)
    context.mark(texture, "3ds", chunk, unread_extras(chunk, _MAP_KNOWN | own_value(chunk)).get("3ds"))
    return texture


_STEM, _SUFFIX = 8, 3
"""longest stem and suffix of DOS file names"""


class MapNames:
    """Makes DOS file names: eight letters, a dot, three letters, upper case; unique for each file."""

    def __init__(self, report: LossReport, *, as_given: bool = False) -> None:
        self._report = report
        self._as_given = as_given
        """whether names are kept, because the original file has long names"""
        self._made: dict[str, bytes] = {}
        self._taken: set[bytes] = set()

    def claim(self, name: str) -> bytes:
        known = encode_name(name) if self._as_given else self._made.get(name)
        if known is not None:
            return known
        stem, suffix = os.path.splitext(re.split(r"[\\/]", name)[-1])
        wanted = stem.upper().replace(" ", "_") or "MAP"
        ending = cut_name(suffix.upper(), _SUFFIX + 1)
        candidate = cut_name(wanted, _STEM) + ending
        number = 2
        while candidate in self._taken:
            mark = str(number).encode()
            candidate = cut_name(wanted, _STEM - len(mark)) + mark + ending
            number += 1
        self._taken.add(candidate)
        self._made[name] = candidate
        if candidate != encode_name(name):
            self._report.add(Outcome.BAKED, plain_path("maps", name), f"renamed to {candidate.decode('latin-1')}")
        return candidate


def write_material(material: Material, name: bytes, maps: MapNames) -> r.Material:
    parts: list[Chunk] = [r.MaterialName(name)]
    parts += put_fields(material, MATERIAL)
    for kind, slot in SLOTS.items():
        if slot in material.maps:
            parts.append(write_map(kind, material.maps[slot], maps))
    return r.Material(children=list(parts))


def write_map(kind: type[Chunk], texture: TextureMap, names: MapNames) -> Chunk:
    """Write one map of a material as a chunk of its slot."""
    flags = sum(bit for attribute, (bit, meaning) in MAP_FLAGS.items() if getattr(texture, attribute) is meaning)
    parts: list[Chunk] = [*put_fields(texture, MAP_AMOUNT), r.MapName(names.claim(texture.file_name))]
    parts += [r.MapParameters(flags), *put_fields(texture, MAP)]
    return kind(children=list(parts))


def material_names(materials: Sequence[Material], report: LossReport, known: Mapping[int, bytes]) -> list[bytes]:
    """Return the stored name of each material; ``known`` are names in the original document, by number."""
    names = UniqueByteNames(16, reserved=known.values())
    claimed = [
        known[number] if number in known else names.claim(material.name, material.raw_name, "material")
        for number, material in enumerate(materials)
    ]
    for material, name in zip(materials, claimed, strict=True):
        if names.shown(name) != material.name:
            path = plain_path("materials", material.name)
            words = f"renamed to {names.shown(name)!r}: names have 1 to 16 characters and must be unique"
            report.add(Outcome.BAKED, path, words)
    return claimed


def write_environment(environment: Environment, maps: MapNames) -> list[Chunk]:
    """Write background, fog and ambient light, with the flags of those that are switched on."""
    image = environment.background_image
    parts: list[Chunk] = [] if image is None else [r.BackgroundBitmap(maps.claim(image))]
    return parts + put_fields(environment, ENVIRONMENT)
