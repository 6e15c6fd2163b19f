"""Reads materials, their textures and embedded images.

Metallic-roughness materials are converted to the parameters of the original programs; extras of our own files have
those that glTF has no place for. Embedded images are extracted as bytes and not decoded.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import unquote

import numpy as np

from keyframer.catalogue import SEM_EXTENSION_UNKNOWN, SEM_UNKNOWN_ENUM
from keyframer.exchange.gltf.read import extras_reading
from keyframer.exchange.gltf.read.container import Buffers, advice, decode_data_uri
from keyframer.exchange.gltf.read.json_text import Findings, Item
from keyframer.exchange.gltf.write.materials import CLAMP, MIRRORED, REPEAT
from keyframer.exchange.kit.colors import shown_rgb
from keyframer.exchange.kit.surfaces import DEFAULT_DIFFUSE, GltfMap, GltfMaterial, gltf_extras, metalness
from keyframer.exchange.kit.surfaces import roughness as derived_roughness
from keyframer.issues import Severity
from keyframer.limits import Budget
from keyframer.maths.trigonometry import sine_and_cosine
from keyframer.scene import EmbeddedImage, Material, TextureMap

_SLOTS = (
    ("texture1", "baseColorTexture", "color"),
    ("bump", "normalTexture", "normal"),
    ("self_illumination", "emissiveTexture", "emission"),
    ("metallic_roughness", "metallicRoughnessTexture", "metallic_roughness"),
    ("occlusion", "occlusionTexture", "occlusion"),
)
"""maps, their names in glTF, and the role of their pixels; the original programs have the first three"""
_IN_PBR_OBJECT = ("texture1", "metallic_roughness")
"""maps inside ``pbrMetallicRoughness``"""


class MaterialReader:
    """Reads the materials of one file."""

    def __init__(self, root: Item, images: ImageReader, issues: Findings, *, from_keyframer: bool) -> None:
        self._issues = issues
        self._from_keyframer = from_keyframer
        self._textures = TextureReader(root, images, issues)
        self._items = root.children("materials")
        self.numbers: list[int] = []

    def read(self) -> list[Material]:
        """Read the materials; `numbers` then maps each material of the file to its index in the result, or -1."""
        read = [self._issues.attempt(self._material, item) for item in self._items]
        materials: list[Material] = []
        self.numbers = [-1] * len(self._items)
        replaced: dict[int, int] = {}
        for number, (item, material) in enumerate(zip(self._items, read, strict=True)):
            original = self._issues.attempt(self._original, item)
            if original == -1 and _is_default(item):
                continue
            if original is not None and original >= 0 and self._looks_alike(number, original, material, read[original]):
                replaced[number] = original
            elif material is not None:
                self.numbers[number] = len(materials)
                materials.append(material)
        for number, other in replaced.items():
            self.numbers[number] = self.numbers[other]
        return materials

    def _original(self, item: Item) -> int | None:
        """Return the index of the material that a helper material of our exporter replaces; -1 if it replaces none,
        None for materials that are no helpers.
        """
        extras = item.keyframer_extras
        if extras is None or not extras.has("helper"):
            return None
        if extras.choice("helper", ("default", "unmapped")) == "default":
            return -1
        return extras.needed_index("of", len(self._items), "material")

    def _looks_alike(self, number: int, original: int, helper: Material | None, material: Material | None) -> bool:
        """Return whether a helper material still looks like the one that it replaces, apart from images."""
        if helper is None or material is None or helper.maps:
            return False
        roughness = [_surface(self._items[place]).value.get("roughnessFactor") for place in (number, original)]
        numbers = [
            [*(part.diffuse or DEFAULT_DIFFUSE), part.transparency, part.self_illumination, float(part.two_sided)]
            for part in (helper, material)
        ]
        return roughness[0] == roughness[1] and bool(np.allclose(numbers[0], numbers[1], atol=1e-4))

    def _material(self, item: Item) -> Material:
        surface = _surface(item)
        extras = item.keyframer_extras or Item({}, item.at("extras/keyframer"))
        color = surface.numbers("baseColorFactor", 4, (1.0, 1.0, 1.0, 1.0))
        mode = item.choice("alphaMode", ("OPAQUE", "MASK", "BLEND"), "OPAQUE")
        glow = item.numbers("emissiveFactor", 3, (0.0, 0.0, 0.0))
        emissive_strength = item.extension("KHR_materials_emissive_strength")
        strength = 1.0 if emissive_strength is None else emissive_strength.number("emissiveStrength", 1.0)
        unlit = item.extension("KHR_materials_unlit") is not None
        roughness, metallic = surface.number("roughnessFactor", 1.0), surface.number("metallicFactor", 1.0)
        image, glow_image = surface.value.get("baseColorTexture"), item.value.get("emissiveTexture")
        glows_itself = strength == 1.0 and not unlit and _is_part_of_own_color(color, glow)
        glows_itself &= glow_image == (image if any(glow) else None)
        if glows_itself:
            color = (*(base + level for base, level in zip(color, glow, strict=False)), color[3])
        emission = max(glow) * strength / max(*color[:3], 1e-6)
        material = Material(
            item.text("name", ""),
            diffuse=shown_rgb(color[:3]),
            transparency=min(max(1.0 - color[3], 0.0), 1.0) if mode == "BLEND" else 0.0,
            self_illumination=1.0 if unlit else min(max(round(emission, 6), 0.0), 1.0),
            two_sided=item.flag("doubleSided"),
            shininess=_shininess(roughness),
        )
        original = GltfMaterial(
            metallic,
            roughness,
            mode,
            emissive=None if glows_itself else list(glow),
            alpha_cutoff=item.number("alphaCutoff") if mode == "MASK" and item.has("alphaCutoff") else None,
            emissive_strength=None if strength == 1.0 else strength,
            unlit=unlit or None,
        )
        self._restore(material, item, extras, roughness)
        if self._from_keyframer:
            is_from_map = glow_image is not None and _is_close(glow, color)
            original = _not_expressed(original, material, is_from_map=is_from_map)
        if values := gltf_extras(original):
            material.extras["gltf"] = values
        self._add_maps(material, item, mode, color[:3], except_glow=glows_itself)
        _remove_absent(material, extras)
        return material

    def _add_maps(
        self, material: Material, item: Item, mode: str, factor: tuple[float, ...], *, except_glow: bool
    ) -> None:
        """Add the maps of all textures; ``except_glow``: the image that glows is that of the colour."""
        for slot, name, role in _SLOTS:
            reference = (_surface(item) if slot in _IN_PBR_OBJECT else item).child(name)
            if reference is None or (slot == "self_illumination" and except_glow):
                continue
            if self._use_map(material, item, reference, slot, name, role, factor):
                continue
            texture = self._issues.attempt(self._textures.read, reference, role, mode != "OPAQUE")
            if texture is not None:
                material.maps[slot] = texture
                if slot == "texture1":
                    texture.ignore_alpha = mode == "OPAQUE"

    def _restore(self, material: Material, item: Item, extras: Item, roughness: float) -> None:
        """Set what glTF has no place for: properties of the original programs, maps without an image."""
        numbers = "shininess_strength transparency_falloff reflection_blur wire_size"
        flags = "falloff_inwards additive wire wire_in_units face_map soften supersample"
        extras_reading.restore(material, extras, numbers, flags, "shading")
        material.raw_name = extras_reading.raw_name(extras, item.value.get("name"))
        material.extras = extras_reading.format_extras(extras)
        material.extras.pop("gltf", None)  # those of an earlier file
        material.ambient = extras_reading.triple(extras, "ambient")
        material.specular = extras_reading.triple(extras, "specular")
        if material.shininess_strength is not None:
            if material.shininess_strength > 0:
                material.shininess = _shininess(1.0 - (1.0 - roughness) / min(material.shininess_strength, 1.0))
            elif roughness == 1.0:  # without a highlight, its size is not visible
                extras_reading.restore(material, extras, "shininess")
        maps = extras.child("maps")
        for slot in maps.value if maps is not None else ():
            content = maps.child(slot) if maps is not None else None
            if content is not None and not content.has("texture"):
                material.maps[slot] = _map(content)

    def _use_map(
        self,
        material: Material,
        item: Item,
        reference: Item,
        slot: str,
        name: str,
        role: str,
        factor: tuple[float, ...],
    ) -> bool:
        """Add the map of the original material that a texture was written for; returns False if there is none."""
        extras = item.keyframer_extras
        maps = None if extras is None else extras.child("maps")
        if extras is None or maps is None:
            return False
        for map_slot in (slot, "opacity") if slot == "texture1" else (slot,):
            content = maps.child(map_slot)
            if content is not None and content.value.get("texture") == name:
                break
        else:
            return False
        if map_slot == "opacity":
            role = "alpha"  # white, with the opacity in its alpha
        texture_map = _map(content)
        if map_slot == "texture1" and min(factor) < 1.0 - 1e-6:
            return False  # another program set it: image and factor are multiplied as in any glTF file
        if map_slot == "texture1":
            material.diffuse = extras_reading.triple(extras, "diffuse")  # the image covers it
        mode = item.value.get("alphaMode", "OPAQUE")
        written_map = self._issues.attempt(self._textures.read, reference, role, mode != "OPAQUE")
        if written_map is None:
            return True
        for field in ("embedded", "scale", "offset", "rotation_degrees", "mirror"):
            if field in ("embedded", "mirror") or not content.has(field):
                setattr(texture_map, field, getattr(written_map, field))
        texture_map.decal &= not written_map.tiled
        texture_map.tiled = written_map.tiled or (texture_map.decal and texture_map.tiled)
        if slot == "self_illumination" and _is_close(item.numbers("emissiveFactor", 3, (0.0, 0.0, 0.0)), factor):
            material.self_illumination = extras_reading.number(extras, "self_illumination", 0.0)
        material.maps[map_slot] = texture_map
        return True


def _remove_absent(material: Material, extras: Item) -> None:
    """Remove the diffuse colour and the shininess that our exporter had to invent, unless they were changed since."""
    absent = extras.entries("absent") if extras.has("absent") else []
    if "diffuse" in absent and material.diffuse is not None and _is_close(material.diffuse, DEFAULT_DIFFUSE):
        material.diffuse = None
    if "shininess" in absent and material.shininess is not None and abs(material.shininess) <= 1e-6:
        material.shininess = None


def _is_part_of_own_color(color: tuple[float, ...], glow: tuple[float, ...]) -> bool:
    """Return whether a surface glows in its own colour and reflects the rest of it, as self-illuminated ones do."""
    whole = [base + level for base, level in zip(color, glow, strict=False)]
    share = max(glow) / (max(whole) or 1.0)
    return max(whole) <= 1.0 + 1e-6 and _is_close(glow, [share * level for level in whole])


def _is_close(color: Sequence[float], other: Sequence[float]) -> bool:
    return all(abs(level - wanted) <= 1e-6 for level, wanted in zip(color[:3], other[:3], strict=True))


def _is_default(item: Item) -> bool:
    """Return whether a material is still the one that our exporter gives to faces without a material."""
    surface = {"metallicFactor": 0, "roughnessFactor": 1}
    return item.value.keys() <= {"name", "extras", "pbrMetallicRoughness"} and (
        item.value.get("pbrMetallicRoughness") == surface
    )


def _not_expressed(original: GltfMaterial, material: Material, *, is_from_map: bool) -> GltfMaterial:
    """Return the values of a file of our own that its material does not express; ``is_from_map``: the emission is
    written as with a map."""
    stated = original.roughness or 0.0
    return replace(
        original,
        metallic=None if original.metallic == metalness(material) else original.metallic,
        roughness=None if abs(derived_roughness(material) - stated) <= 1e-5 else original.roughness,
        alpha_mode=None if original.alpha_cutoff is None else original.alpha_mode,
        emissive=None if is_from_map else original.emissive,
    )


def _surface(item: Item) -> Item:
    """Return the object ``pbrMetallicRoughness``, or one made from KHR_materials_pbrSpecularGlossiness."""
    glossiness = item.extension("KHR_materials_pbrSpecularGlossiness")
    if glossiness is None:
        return item.child("pbrMetallicRoughness") or Item({}, item.at("pbrMetallicRoughness"))
    roughness = 1.0 - glossiness.number("glossinessFactor", 1.0)
    surface: dict[str, Any] = {"metallicFactor": 0.0, "roughnessFactor": roughness}
    for name, glossiness_name in (("baseColorFactor", "diffuseFactor"), ("baseColorTexture", "diffuseTexture")):
        if glossiness.has(glossiness_name):
            surface[name] = glossiness.value[glossiness_name]
    return Item(surface, glossiness.path, glossiness.findings)


def _shininess(roughness: float) -> float:
    """Return shininess from roughness: the inverse of `write.materials.roughness` for highlights of full strength."""
    width = min(max(roughness, 1e-3), 1.0)
    exponent = max(2.0 / (width * width) - 2.0, 1.0)
    return min(math.log2(exponent) / 10.0, 1.0)


def _map(content: Item) -> TextureMap:
    texture_map = TextureMap(content.text("file_name", ""))
    try:
        texture_map.raw_file_name = bytes.fromhex(content.text("raw_file_name", ""))
    except ValueError:
        raise content.wrong("raw_file_name", "hex digits", content.value["raw_file_name"]) from None
    flags = "mirror negative decal tiled second_coordinates summed_area alpha_source ignore_alpha"
    extras_reading.restore(texture_map, content, "amount rotation_degrees blur", flags)
    for name in ("scale", "offset"):
        if content.has(name) and None not in content.entries(name):
            u, v = content.numbers(name, 2)
            setattr(texture_map, name, (u, v))
    tints = content.child("tints")
    for name in tints.value if tints is not None else ():
        color: Any = None if tints is None else extras_reading.triple(tints, name)
        if color is not None:
            texture_map.tints[name] = color
    texture_map.extras = extras_reading.format_extras(content)
    return texture_map


_SAMPLING = ("magFilter", "minFilter", "wrapS", "wrapT")


class TextureReader:
    """Reads texture references of materials."""

    def __init__(self, root: Item, images: ImageReader, issues: Findings) -> None:
        self.images = images
        self._issues = issues
        self._samplers = root.children("samplers")
        self._textures = root.children("textures")

    def read(self, reference: Item, role: str, alpha_is_opacity: bool) -> TextureMap | None:
        source = self.source(reference)
        if source is None:
            return None
        is_embedded = self.images.is_embedded(source)
        name = self.images.name(source) if is_embedded else unquote(self.images.items[source].text("uri"))
        texture_map = TextureMap(name)
        texture_map.embedded = self._issues.attempt(self.images.take, source, role, alpha_is_opacity)
        texture_map.second_coordinates = self._coordinates(reference) == 1
        sampling = self._sampling(self._texture(reference))
        wrap = sampling.get("wrapS", REPEAT)  # that of U: maps of a scene have one
        texture_map.mirror, texture_map.tiled = wrap == MIRRORED, wrap != CLAMP
        texture_map.extras["gltf"] = gltf_extras(GltfMap(source, is_embedded, role, sampling or None))
        _apply_transform(texture_map, reference.extension("KHR_texture_transform"))
        if reference.has("scale") or reference.has("strength"):
            texture_map.amount = reference.number("scale", reference.number("strength", 1.0))
        return texture_map

    def source(self, reference: Item) -> int | None:
        """Return the index of the image of a texture; None if it has no supported image."""
        texture = self._texture(reference)
        webp = texture.extension("EXT_texture_webp")
        if not texture.has("source") and webp is not None:
            texture = webp
        image = texture.index("source", len(self.images.items), "image")
        if image is None:
            extensions = sorted((texture.child("extensions") or Item({}, texture.path)).value)
            if extensions:
                effect = "the texture has no other image"
                hint = advice(extensions[0])
                effect += f"; {hint}" if hint else ""
                self._issues.add(SEM_EXTENSION_UNKNOWN, texture.path, 0, name=", ".join(extensions)[:80], effect=effect)
        return image

    def _texture(self, reference: Item) -> Item:
        return self._textures[reference.needed_index("index", len(self._textures), "texture")]

    def _sampling(self, texture: Item) -> dict[str, int]:
        """Return the wrap modes and filters that a texture states."""
        number = texture.index("sampler", len(self._samplers), "sampler")
        sampler = Item({}, texture.path) if number is None else self._samplers[number]
        return {name: sampler.integer(name) for name in _SAMPLING if sampler.has(name)}

    def _coordinates(self, reference: Item) -> int:
        """Return the number of the set of texture coordinates; report a third one: meshes of a scene have two."""
        transform = reference.extension("KHR_texture_transform")
        number = reference.integer("texCoord", 0)
        number = number if transform is None else transform.integer("texCoord", number)
        if number > 1:
            args = {"value": f"TEXCOORD_{number}", "known": "TEXCOORD_0, TEXCOORD_1"}
            self._issues.add(SEM_UNKNOWN_ENUM, reference.at("texCoord"), 0, severity=Severity.WARNING, **args)
        return number


def _apply_transform(texture_map: TextureMap, transform: Item | None) -> None:
    """Invert `write.materials.transform`: rotate about the centre instead of the corner, and in the other direction."""
    if transform is None:
        return
    (su, sv), (x, y) = transform.numbers("scale", 2, (1.0, 1.0)), transform.numbers("offset", 2, (0.0, 0.0))
    angle = transform.number("rotation", 0.0)
    sine, cosine = map(float, sine_and_cosine(angle))
    u, v = cosine * (0.5 - x) - sine * (0.5 - y), sine * (0.5 - x) + cosine * (0.5 - y)
    texture_map.scale = (su, sv)
    texture_map.offset = (round(u / su - 0.5, 9) if su else 0.0, round(v / sv - 0.5, 9) if sv else 0.0)
    texture_map.rotation_degrees = -math.degrees(angle)


_IMAGE_SIGNATURES = (
    (b"\x89PNG", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"RIFF", "image/webp"),
    (b"\xabKTX", "image/ktx2"),
)


class ImageReader:
    """Reads the images of one file; each embedded image is extracted once."""

    def __init__(self, root: Item, buffers: Buffers, budget: Budget) -> None:
        self.items = root.children("images")
        self._buffers = buffers
        self._budget = budget
        self._extracted: dict[int, tuple[bytes, str]] = {}

    def name(self, number: int) -> str:
        """Return the name of an image; ``image 3`` if the file has none."""
        return self.items[number].text("name", "") or f"image {number}"

    def is_embedded(self, number: int) -> bool:
        uri = self.items[number].text("uri", "")
        return not uri or uri[:5].lower() == "data:"

    def take(self, number: int, role: str, alpha_is_opacity: bool = True) -> EmbeddedImage | None:
        """Return the embedded image; None if it is a separate file."""
        if not self.is_embedded(number):
            return None
        if number not in self._extracted:
            self._extracted[number] = self._extract(self.items[number])
        data, kind = self._extracted[number]
        return EmbeddedImage(self.name(number), data, kind, role, alpha_is_opacity)

    def _extract(self, item: Item) -> tuple[bytes, str]:
        if item.has("uri"):
            uri = item.text("uri")
            data = decode_data_uri(item, uri)
            stated_type = uri[5:].partition(",")[0].partition(";")[0]
        else:
            view = item.needed_index("bufferView", self._buffers.view_count, "buffer view")
            content, _ = self._buffers.view(view)
            self._budget.spend("copies", len(content), item.at("bufferView"))
            data, stated_type = bytes(content), ""
        detected_type = next((kind for head, kind in _IMAGE_SIGNATURES if data.startswith(head)), None)
        return data, detected_type or item.text("mimeType", stated_type)
