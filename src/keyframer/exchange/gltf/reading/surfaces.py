"""Materials: metallic-roughness ones in the terms of the old programs, or the old numbers of a file of ours."""

from __future__ import annotations

import math
from typing import Any

from keyframer.exchange.gltf.reading import unpacking
from keyframer.exchange.gltf.reading.colors import shown_rgb
from keyframer.exchange.gltf.reading.embedded import ImageReader
from keyframer.exchange.gltf.reading.findings import Findings
from keyframer.exchange.gltf.reading.laying import TextureReader
from keyframer.exchange.gltf.reading.values import Item
from keyframer.scene import Material, TextureMap

_SLOTS = (
    ("texture1", "baseColorTexture", "color"),
    ("bump", "normalTexture", "normal"),
    ("self_illumination", "emissiveTexture", "emission"),
    ("metallic_roughness", "metallicRoughnessTexture", "metallic_roughness"),
    ("occlusion", "occlusionTexture", "occlusion"),
)
"""maps, glTF's words for them, and what their pixels are; the old programs know the first three"""
_OF_SURFACES = ("texture1", "metallic_roughness")


class MaterialReader:
    def __init__(self, root: Item, images: ImageReader, issues: Findings) -> None:
        self._images = images
        self._issues = issues
        self._textures = TextureReader(root, images, issues)
        self._items = root.children("materials")
        self.numbers: list[int] = []

    def read(self, *, ours: bool) -> list[Material]:
        """The materials; `numbers` then leads from those of the file to them, -1 for the one of faces without any."""
        made: list[Material] = []
        self.numbers = [-1] * len(self._items)
        stands_for: dict[int, int] = {}
        for number, item in enumerate(self._items):
            kept = item.kept if ours else None
            if kept is not None and kept.has("helper"):
                other = self._issues.attempt(self._stands_for, kept)
                if other is not None:
                    stands_for[number] = other
                continue
            material = self._issues.attempt(*((self._material, item) if kept is None else (self._restored, item, kept)))
            if material is not None:
                self.numbers[number] = len(made)
                made.append(material)
        for number, other in stands_for.items():
            self.numbers[number] = self.numbers[other]
        return made

    def _stands_for(self, kept: Item) -> int | None:
        if kept.choice("helper", ("default", "unmapped")) == "default":
            return None
        return kept.needed_index("of", len(self._items), "material")

    def _material(self, item: Item) -> Material:
        surface = _surface(item)
        color = surface.numbers("baseColorFactor", 4, (1.0, 1.0, 1.0, 1.0))
        mode = item.choice("alphaMode", ("OPAQUE", "MASK", "BLEND"), "OPAQUE")
        glow = item.numbers("emissiveFactor", 3, (0.0, 0.0, 0.0))
        brighter = item.extension("KHR_materials_emissive_strength")
        strength = 1.0 if brighter is None else brighter.number("emissiveStrength", 1.0)
        unlit = item.extension("KHR_materials_unlit") is not None
        roughness, metallic = surface.number("roughnessFactor", 1.0), surface.number("metallicFactor", 1.0)
        shining = max(glow) * strength / max(*color[:3], 1e-6)
        material = Material(
            item.text("name", ""),
            diffuse=shown_rgb(color[:3]),
            transparency=min(max(1.0 - color[3], 0.0), 1.0) if mode == "BLEND" else 0.0,
            self_illumination=1.0 if unlit else min(max(shining, 0.0), 1.0),
            two_sided=item.flag("doubleSided"),
            shininess=_shininess(roughness),
        )
        about = {"metallic": metallic, "roughness": roughness, "alpha_mode": mode, "emissive": list(glow)}
        if mode == "MASK" and item.has("alphaCutoff"):
            about["alpha_cutoff"] = item.number("alphaCutoff")
        if strength != 1.0:
            about["emissive_strength"] = strength
        if unlit:
            about["unlit"] = True
        material.extras = {"gltf": about}
        for slot, name, role in _SLOTS:
            reference = (surface if slot in _OF_SURFACES else item).child(name)
            if reference is not None:
                texture = self._issues.attempt(self._textures.read, reference, role, mode != "OPAQUE")
                if texture is not None:
                    material.maps[slot] = texture
        if "texture1" in material.maps:
            material.maps["texture1"].ignore_alpha = mode == "OPAQUE"
        return material

    def _restored(self, item: Item, kept: Item) -> Material:
        """An old material, with the images that were made for glTF of its maps."""
        material = _restored(item, kept)
        surface = item.child("pbrMetallicRoughness")
        makes_holes = item.value.get("alphaMode", "OPAQUE") != "OPAQUE"
        for slot, name, role in _SLOTS:
            home = surface if slot in _OF_SURFACES else item
            reference = None if home is None else home.child(name)
            if slot == "texture1" and (slot not in material.maps or kept.value.get("base_color_of") == "opacity"):
                slot, role = "opacity", "alpha"  # white, with the opacity in its alpha
            if reference is not None and slot in material.maps:
                source = self._issues.attempt(self._textures.source, reference)
                if source is not None:
                    material.maps[slot].embedded = self._issues.attempt(self._images.take, source, role, makes_holes)
        return material


def _surface(item: Item) -> Item:
    """Colour, roughness and metal; those of the older model with a specular colour, where a file has that, as such."""
    older = item.extension("KHR_materials_pbrSpecularGlossiness")
    if older is None:
        return item.child("pbrMetallicRoughness") or Item({}, item.at("pbrMetallicRoughness"))
    found: dict[str, Any] = {"metallicFactor": 0.0, "roughnessFactor": 1.0 - older.number("glossinessFactor", 1.0)}
    for name, theirs in (("baseColorFactor", "diffuseFactor"), ("baseColorTexture", "diffuseTexture")):
        if older.has(theirs):
            found[name] = older.value[theirs]
    return Item(found, older.path, older.findings)


def _shininess(roughness: float) -> float:
    """The way back from the exporter's roughness, for highlights of full strength."""
    width = min(max(roughness, 1e-3), 1.0)
    exponent = max(2.0 / (width * width) - 2.0, 1.0)
    return min(math.log2(exponent) / 10.0, 1.0)


def _restored(item: Item, kept: Item) -> Material:
    material = Material(item.text("name", ""), raw_name=unpacking.raw_name(kept), extras=unpacking.leftovers(kept))
    numbers = (
        "shininess shininess_strength transparency transparency_falloff reflection_blur self_illumination wire_size"
    )
    flags = "falloff_inwards two_sided additive wire wire_in_units face_map soften supersample"
    unpacking.restore(material, kept, numbers, flags, "shading")
    for name in ("ambient", "diffuse", "specular"):
        setattr(material, name, unpacking.triple(kept, name))
    maps = kept.child("maps")
    for slot in maps.value if maps is not None else ():
        content = maps.child(slot) if maps is not None else None
        if content is not None:
            material.maps[slot] = _map(content)
    return material


def _map(content: Item) -> TextureMap:
    made = TextureMap(content.text("file_name", ""))
    try:
        made.raw_file_name = bytes.fromhex(content.text("raw_file_name", ""))
    except ValueError:
        raise content.wrong("raw_file_name", "hex digits", content.value["raw_file_name"]) from None
    flags = "mirror negative decal tiled summed_area alpha_source ignore_alpha"
    unpacking.restore(made, content, "amount rotation_degrees blur", flags)
    for name in ("scale", "offset"):
        if content.has(name) and None not in content.entries(name):
            u, v = content.numbers(name, 2)
            setattr(made, name, (u, v))
    tints = content.child("tints")
    for name in tints.value if tints is not None else ():
        color: Any = None if tints is None else unpacking.triple(tints, name)
        if color is not None:
            made.tints[name] = color
    made.extras = unpacking.leftovers(content)
    return made
