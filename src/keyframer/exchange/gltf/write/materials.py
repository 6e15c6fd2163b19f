"""Writes textures and materials. A material becomes a similar metallic-roughness one; extras have what that cannot
store.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from keyframer.exchange.gltf.conventions import (
    Json,
    attach_extras,
    fraction,
    linear_level,
    non_default_fields,
    original_gltf_values,
    raw_name,
)
from keyframer.exchange.gltf.write.asset import Asset
from keyframer.exchange.gltf.write.images import SLOTS, Image, Missing
from keyframer.exchange.gltf.write.options import Context
from keyframer.maths.trigonometry import sine_and_cosine
from keyframer.scene import Material, TextureMap
from keyframer.scene.loss_report import Outcome
from keyframer.text import safe_text

_FIELDS_IN_EXTRAS = (
    "ambient",
    "specular",
    "shininess_strength",
    "transparency_falloff",
    "falloff_inwards",
    "reflection_blur",
    "additive",
    "wire",
    "wire_size",
    "wire_in_units",
    "face_map",
    "soften",
    "supersample",
    "shading",
)
"""fields of a material that glTF has no place for, which are stored in extras"""
_TEXTURES = {
    "base_color": "baseColorTexture",
    "alpha": "baseColorTexture",
    "normal": "normalTexture",
    "emissive": "emissiveTexture",
    "metallic_roughness": "metallicRoughnessTexture",
    "occlusion": "occlusionTexture",
}
"""names of the textures in glTF, by slot"""
_MAP_FIELDS = ("amount", "blur", "negative", "decal", "summed_area", "alpha_source", "ignore_alpha", "tints")
_MAP_FIELDS_IN_GLTF = ("scale", "offset", "rotation_degrees", "mirror", "tiled")
_NOT_IN_GLTF = (
    "additive",
    "wire",
    "face_map",
    "soften",
    "supersample",
    "transparency_falloff",
    "reflection_blur",
    "ambient",
)
"""properties that glTF cannot express and that affect the picture"""


class Materials:
    """Writes every material of the scene in order, then, on demand, a default material and materials without images."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._textures = Textures(context.asset, context.may_use_extensions)
        self._default: int | None = None
        self._unmapped: dict[int, int] = {}
        """materials without images, for meshes without texture coordinates"""
        self._missing: dict[int, dict[str, str]] = {}
        """by id() of the material: maps without an image, with the reason"""
        self._images = [self._find_images(material) for material in context.scene.materials]
        for material, images in zip(context.scene.materials, self._images, strict=True):
            context.asset.materials.append(self._material(material, images))

    @property
    def any_normal_map(self) -> bool:
        return any("normal" in images for images in self._images)

    def needs_tangents(self, number: int) -> bool:
        """Return whether a material of the scene has a normal map."""
        return 0 <= number < len(self._images) and "normal" in self._images[number]

    def write(self, number: int, *, mapped: bool = True) -> int:
        """Return the glTF material for a material of the scene; ``mapped``: for a mesh with texture coordinates.

        The default material of glTF is metal, so faces without a material (-1) get another one.
        """
        if 0 <= number < len(self._images):
            return number if mapped or not self._images[number] else self._without_images(number)
        if self._default is None:
            self._default = len(self._context.asset.materials)
            surface = {"metallicFactor": 0.0, "roughnessFactor": 1.0}
            written: Json = {"name": "default", "pbrMetallicRoughness": surface}
            attach_extras(written, {"helper": "default"})
            self._context.asset.materials.append(written)
        return self._default

    def _without_images(self, number: int) -> int:
        if number not in self._unmapped:
            self._unmapped[number] = len(self._context.asset.materials)
            material = self._context.scene.materials[number]
            written = self._gltf_material(material, {})
            written["name"] = f"{safe_text(material.name)}_unmapped"
            attach_extras(written, {"helper": "unmapped", "of": number})
            self._context.asset.materials.append(written)
            detail = "meshes without texture coordinates show the material without its images"
            self._context.report.add(
                Outcome.APPROXIMATED, f"/materials/{material.name}", detail, extras=material.extras
            )
        return self._unmapped[number]

    def _find_images(self, material: Material) -> dict[str, Image]:
        images: dict[str, Image] = {}
        for slot, map_name in SLOTS.items():
            texture_map = material.maps.get(map_name)
            if texture_map is None or not texture_map.file_name or (slot == "alpha" and "base_color" in images):
                continue
            image = self._context.options.images(material, slot, texture_map)
            if isinstance(image, Missing):
                self._missing.setdefault(id(material), {})[map_name] = image.reason
            elif image is not None:
                images[slot] = image
        return images

    def _material(self, material: Material, images: dict[str, Image]) -> Json:
        written = self._gltf_material(material, images)
        attach_extras(written, self._extras(material, images, written.get("name")))
        self._report(material, images)
        return written

    def _gltf_material(self, material: Material, images: dict[str, Image]) -> Json:
        diffuse = (0.8, 0.8, 0.8) if material.diffuse is None else material.diffuse
        color = [linear_level(float(level)) for level in diffuse]
        alpha = 1.0 - fraction(material.transparency)
        surface: Json = {"metallicFactor": 0.0, "roughnessFactor": round(roughness(material), 6)}
        written: Json = {"pbrMetallicRoughness": surface}
        name = safe_text(material.name)
        if name:
            written = {"name": name, **written}
        factor = color
        if "base_color" in images:
            texture_map = material.maps["texture1"]
            surface["baseColorTexture"] = self._textures.write(images["base_color"], texture_map)
            # glTF multiplies image and colour; in the original programs a map of full amount replaces the colour
            if "gltf" not in texture_map.extras:
                amount = fraction(texture_map.amount, 1.0)
                factor = [level + (1.0 - level) * amount for level in color]
        elif "alpha" in images:
            surface["baseColorTexture"] = self._textures.write(images["alpha"], material.maps["opacity"])
        original = original_gltf_values(material.extras)
        glow = 0.0 if original.get("unlit") is True else fraction(material.self_illumination)
        reflected = factor
        if "emissive" not in images and "emissive" not in original:
            reflected = [level * (1.0 - glow) for level in factor]  # a surface that glows fully reflects no light
        if min(reflected) < 1.0 or alpha < 1.0:
            surface["baseColorFactor"] = [*_rounded(reflected), alpha]
        self._set_alpha_mode(written, alpha, images)
        if "normal" in images:
            written["normalTexture"] = self._textures.write(images["normal"], material.maps["bump"])
            if "gltf" in material.maps["bump"].extras:  # in a map made from heights the amount is in the pixels
                _set_unless_default(written["normalTexture"], "scale", material.maps["bump"].amount)
        if "metallic_roughness" in images:
            texture_map = material.maps["metallic_roughness"]
            surface["metallicRoughnessTexture"] = self._textures.write(images["metallic_roughness"], texture_map)
        if "occlusion" in images:
            texture_map = material.maps["occlusion"]
            written["occlusionTexture"] = self._textures.write(images["occlusion"], texture_map)
            _set_unless_default(written["occlusionTexture"], "strength", fraction(texture_map.amount, 1.0))
        if "emissive" in images:
            written["emissiveTexture"] = self._textures.write(images["emissive"], material.maps["self_illumination"])
            written["emissiveFactor"] = _rounded(factor)
        elif glow > 0:
            if "base_color" in images and "emissive" not in original:
                written["emissiveTexture"] = surface["baseColorTexture"]
            written["emissiveFactor"] = _rounded(level * glow for level in factor)
        if material.two_sided:
            written["doubleSided"] = True
        self._restore_gltf_values(material, written, surface)
        return written

    def _restore_gltf_values(self, material: Material, written: Json, surface: Json) -> None:
        """Restore values of a material that was read from glTF, which `Material` only approximates."""
        original = original_gltf_values(material.extras)
        for name, factor in (("metallic", "metallicFactor"), ("roughness", "roughnessFactor")):
            if type(original.get(name)) is float:
                surface[factor] = round(fraction(original[name]), 6)
        glow = original.get("emissive")
        if isinstance(glow, list) and len(glow) == 3 and all(type(component) is float for component in glow):
            written.pop("emissiveFactor", None)
            if any(glow):
                written["emissiveFactor"] = [round(fraction(component), 6) for component in glow]
        if written.get("alphaMode") == "MASK" and type(original.get("alpha_cutoff")) is float:
            _set_unless_default(written, "alphaCutoff", max(original["alpha_cutoff"], 0.0), 0.5)
        self._add_extensions(written, original)

    def _add_extensions(self, written: Json, original: Json) -> None:
        """Restore emissive strength and unlit surfaces, which need extensions."""
        strength = original.get("emissive_strength")
        if not self._context.may_use_extensions:
            return
        if type(strength) is float and math.isfinite(strength) and strength >= 0 and "emissiveFactor" in written:
            name = "KHR_materials_emissive_strength"
            written.setdefault("extensions", {})[name] = {"emissiveStrength": strength}
            self._context.asset.extensions.add(name)
        if original.get("unlit") is True:
            written.setdefault("extensions", {})["KHR_materials_unlit"] = {}
            self._context.asset.extensions.add("KHR_materials_unlit")

    def _set_alpha_mode(self, written: Json, alpha: float, images: dict[str, Image]) -> None:
        image = images.get("base_color", images.get("alpha"))
        image_alpha = "opaque" if image is None else image.alpha
        if alpha < 1.0 or image_alpha == "blend":
            written["alphaMode"] = "BLEND"
        elif image_alpha == "mask":
            written["alphaMode"] = "MASK"

    def _extras(self, material: Material, images: dict[str, Image], written_name: str | None) -> Json:
        """Return what glTF has no place for."""
        content = {
            **raw_name(material.raw_name, material.name, written_name),
            **non_default_fields(material, *_FIELDS_IN_EXTRAS),
        }
        if not fraction(material.shininess_strength, 1.0):
            content.update(non_default_fields(material, "shininess"))
        if "base_color" in images:
            content.update(non_default_fields(material, "diffuse"))
        if "emissive" in images:
            content.update(non_default_fields(material, "self_illumination"))
        textures = {SLOTS[slot]: _TEXTURES[slot] for slot in images}
        maps = {
            slot: self._map_extras(texture_map, textures.get(slot))
            for slot, texture_map in material.maps.items()
            if slot not in textures or "gltf" not in texture_map.extras  # those of glTF are in the texture
        }
        if maps:
            content["maps"] = maps
        if material.extras:
            content["extras"] = material.extras
        return content

    def _map_extras(self, texture_map: TextureMap, texture: str | None) -> Json:
        """Return what glTF has no place for; ``texture`` is the texture of the map, None if it has no image."""
        content: Json = {"file_name": texture_map.file_name}
        if texture_map.raw_file_name:
            content["raw_file_name"] = texture_map.raw_file_name
        content.update(non_default_fields(texture_map, *_MAP_FIELDS))
        if texture is None:
            content.update(non_default_fields(texture_map, *_MAP_FIELDS_IN_GLTF))
        else:
            content["texture"] = texture
            if not self._context.may_use_extensions:
                content.update(non_default_fields(texture_map, "scale", "offset", "rotation_degrees"))
            if texture_map.decal:
                content.update(non_default_fields(texture_map, "tiled"))
        if texture_map.extras:
            content["extras"] = texture_map.extras
        return content

    def _report(self, material: Material, images: dict[str, Image]) -> None:
        path = f"/materials/{material.name}"
        report = self._context.report
        report.add(
            Outcome.APPROXIMATED,
            path,
            "as a metallic-roughness material",
            extras=material.extras,
        )
        for attribute in non_default_fields(material, *_NOT_IN_GLTF):
            report.add(Outcome.EXTRAS, f"{path}/{attribute}", extras=material.extras)
        notes = {SLOTS[slot]: (Outcome.EXACT, "embedded") for slot in images}
        for image in images.values():
            notes.update(image.notes)
        missing = self._missing.get(id(material), {})
        for slot, texture_map in material.maps.items():
            source_extras = texture_map.extras or material.extras
            if slot in notes:
                outcome, detail = notes[slot]
                report.add(outcome, f"{path}/maps/{slot}", detail, extras=source_extras)
                if outcome is not Outcome.EXTRAS:
                    self._report_map_options(f"{path}/maps/{slot}", texture_map)
            else:
                reason = "" if slot in SLOTS.values() else ", because glTF has no map of this kind"
                not_embedded = f"{safe_text(texture_map.file_name)}: not embedded{reason}"
                detail = f"{missing.get(slot, not_embedded)}; the name is kept"
                if not texture_map.file_name:
                    detail = "the map has no file name"
                report.add(Outcome.EXTRAS, f"{path}/maps/{slot}", detail, extras=source_extras)

    def _report_map_options(self, path: str, texture_map: TextureMap) -> None:
        """Report options of a map that glTF cannot express."""
        report = self._context.report
        if texture_map.decal:
            detail = "outside the image its border pixels are repeated"
            report.add(Outcome.APPROXIMATED, f"{path}/decal", detail, extras=texture_map.extras)
        if texture_map.tints:
            report.add(Outcome.EXTRAS, f"{path}/tints", extras=texture_map.extras)
        if not self._context.may_use_extensions and transform(texture_map):
            detail = "core glTF cannot offset, tile or rotate textures"
            report.add(Outcome.EXTRAS, f"{path}/transform", detail, extras=texture_map.extras)


def _rounded(levels: Iterable[float]) -> list[float]:
    """Round to eight decimals: colours that were read are written as they were."""
    return [round(level * 1e8) / 1e8 for level in levels]


def _set_unless_default(target: Json, name: str, number: float, default: float = 1.0) -> None:
    """Store a number unless it is non-finite or the default of glTF."""
    if math.isfinite(number) and number != default:
        target[name] = float(number)


def roughness(material: Material) -> float:
    """Return roughness from the width of Phong highlights: shininess 0..1 is an exponent of 1 to 1024, as in the
    programs of the time; without strength there is no highlight.
    """
    shininess = fraction(material.shininess)
    exponent = 2.0 ** (10.0 * shininess)
    narrowness = 1.0 - math.sqrt(2.0 / (exponent + 2.0))
    return 1.0 - narrowness * fraction(material.shininess_strength, 1.0)


REPEAT, MIRRORED, CLAMP = 10497, 33648, 33071
"""wrap modes of samplers"""
_LINEAR, _LINEAR_MIPMAPS = 9729, 9987
_WRAPS = (REPEAT, MIRRORED, CLAMP)
_ALLOWED: dict[str, tuple[int, ...]] = {
    "magFilter": (9728, 9729),
    "minFilter": (9728, 9729, 9984, 9985, 9986, 9987),
    "wrapS": _WRAPS,
    "wrapT": _WRAPS,
}


class Textures:
    """Writes textures, images and samplers, each once."""

    def __init__(self, asset: Asset, may_use_extensions: bool) -> None:
        self._asset = asset
        self._may_use_extensions = may_use_extensions
        self._images: dict[bytes, int] = {}
        self._samplers: dict[str, int] = {}
        self._textures: dict[tuple[int, int], int] = {}

    def write(self, image: Image, texture_map: TextureMap) -> Json:
        """Return the texture reference for a material."""
        key = (self._image(image), self._sampler(_sampling(texture_map)))
        if key not in self._textures:
            self._textures[key] = len(self._asset.textures)
            self._asset.textures.append({"source": key[0], "sampler": key[1]})
        reference: Json = {"index": self._textures[key]}
        texture_transform = transform(texture_map)
        if texture_transform and self._may_use_extensions:
            self._asset.extensions.add("KHR_texture_transform")
            reference["extensions"] = {"KHR_texture_transform": texture_transform}
        return reference

    def _image(self, image: Image) -> int:
        if image.data not in self._images:
            self._images[image.data] = len(self._asset.images)
            view = self._asset.buffers.blob(image.data)
            self._asset.images.append({"name": image.name, "mimeType": image.mime_type, "bufferView": view})
        return self._images[image.data]

    def _sampler(self, entry: Json) -> int:
        key = repr(sorted(entry.items()))
        if key not in self._samplers:
            self._samplers[key] = len(self._asset.samplers)
            self._asset.samplers.append(entry)
        return self._samplers[key]


def _sampling(texture_map: TextureMap) -> Json:
    """Return wrap modes and filters for a map; those of the original glTF file if its wrap mode is still the same."""
    wrap = MIRRORED if texture_map.mirror else REPEAT if texture_map.tiled and not texture_map.decal else CLAMP
    original = original_gltf_values(texture_map.extras).get("sampler")
    if type(original) is dict:
        known = {name: int(original[name]) for name, allowed in _ALLOWED.items() if original.get(name) in allowed}
        if known.get("wrapS", REPEAT) == wrap:
            return known
    return {"magFilter": _LINEAR, "minFilter": _LINEAR_MIPMAPS, "wrapS": wrap, "wrapT": wrap}


def transform(texture_map: TextureMap) -> Json:
    """Return offset, rotation and scale for KHR_texture_transform; empty for the identity and for non-finite numbers.

    The original programs tile and rotate about the centre of the image, w' = R S (w - 1/2 - offset) + 1/2 with v
    running down and R = [c -s; s c] (`scene.TextureMap`). The extension computes T R S about the corner of the
    image, with [c s; -s c] as the rotation.
    """
    (su, sv), (ou, ov) = texture_map.scale, texture_map.offset
    numbers = (su, sv, ou, ov, texture_map.rotation_degrees)
    if not all(map(math.isfinite, numbers)) or numbers == (1.0, 1.0, 0.0, 0.0, 0.0):
        return {}
    angle = math.radians(-texture_map.rotation_degrees)
    sine, cosine = map(float, sine_and_cosine(angle))
    u, v = su * (0.5 + ou), sv * (0.5 + ov)
    offset = (0.5 - (cosine * u + sine * v), 0.5 - (cosine * v - sine * u))
    fields: Json = {}
    if any(abs(number) > 1e-9 for number in offset):
        fields["offset"] = [round(number, 9) for number in offset]
    if angle:
        fields["rotation"] = angle
    if (su, sv) != (1.0, 1.0):
        fields["scale"] = [su, sv]
    return fields
