"""Writes textures and materials. A material becomes a similar metallic-roughness one; extras have what that cannot
store.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator

from keyframer.exchange.gltf.conventions import Json, attach_extras, non_default_fields, raw_name
from keyframer.exchange.gltf.write.asset import Asset
from keyframer.exchange.gltf.write.options import Context
from keyframer.exchange.kit.images import SLOTS, Image, Notes, is_shown_once
from keyframer.exchange.kit.material_images import MaterialImages, Surface
from keyframer.exchange.kit.numbers import fraction
from keyframer.exchange.kit.surfaces import (
    METALNESS,
    GltfMap,
    GltfMaterial,
)
from keyframer.maths.trigonometry import sine_and_cosine
from keyframer.scene import Material, TextureMap
from keyframer.scene.loss_report import Outcome
from keyframer.scene.losses import (
    FIELD_KEPT,
    IMAGE_BORDERS,
    IMAGE_MISSING,
    IMAGE_WRITTEN,
    IMAGES_KEPT,
    MATERIAL_CONVERTED,
)
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
_MAP_FIELDS_IN_GLTF = ("scale", "offset", "rotation_degrees", "mirror", "tiled", "second_coordinates")
_NOT_IN_GLTF = {
    "additive": "",
    "wire": "drawn as solid faces",
    "face_map": "",
    "soften": "",
    "supersample": "",
    "transparency_falloff": "",
    "reflection_blur": "",
    "ambient": "",
    "specular": "highlights are white; those of metal have its colour",
    "shininess_strength": "part of the roughness",
}
"""properties that glTF cannot express and that affect the picture, and what it shows instead"""
_SHADINGS = {
    "wire": (Outcome.EXTRAS, "wire shading: drawn as solid faces"),
    "flat": (Outcome.BAKED, "flat shading: its faces have flat normals"),
    "gouraud": (
        Outcome.APPROXIMATED,
        "Gouraud shading: players compute light for each pixel, so highlights are sharper",
    ),
    "metal": (Outcome.APPROXIMATED, f"metal shading: a metallic factor of {METALNESS:g}"),
}
"""how shadings are written; Phong is the usual one"""
_FRACTIONS = ("transparency", "shininess", "shininess_strength", "self_illumination")
_COLORS = ("ambient", "diffuse", "specular")


class Materials:
    """Writes every material of the scene in order, then, on demand, a default material and materials without images."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._textures = Textures(context.asset, context.may_use_extensions)
        self._default: int | None = None
        self._unmapped: dict[int, int] = {}
        """materials without images, for meshes without texture coordinates"""
        self.flat = [number for number, material in enumerate(context.scene.materials) if material.shading == "flat"]
        """materials whose faces have flat normals"""
        found = MaterialImages(context.scene, context.options.images, context.report)
        self._images, self._missing = found.of_materials, found.missing
        for material, images in zip(context.scene.materials, self._images, strict=True):
            context.asset.materials.append(self._material(material, images))

    @property
    def any_normal_map(self) -> bool:
        return any("normal" in images for images in self._images)

    def needs_tangents(self, number: int) -> bool:
        """Return whether a material of the scene has a normal map."""
        return 0 <= number < len(self._images) and "normal" in self._images[number]

    def can_show_images(self, number: int, attributes: Collection[str]) -> bool:
        """Return whether meshes with these attributes have the texture coordinates that the images of a material of the
        scene are placed by."""
        images = self._images[number] if 0 <= number < len(self._images) else {}
        maps = (self._context.scene.materials[number].maps[SLOTS[slot]] for slot in images)
        return all(("TEXCOORD_1" if map.second_coordinates else "TEXCOORD_0") in attributes for map in maps)

    def write(self, number: int, *, mapped: bool = True, translucent: bool = False) -> int:
        """Return the glTF material for a material of the scene; ``mapped``: for a mesh with texture coordinates;
        ``translucent``: for vertices that are not opaque.

        The default material of glTF is metal, so faces without a material (-1) get another one.
        """
        if 0 <= number < len(self._images):
            chosen = number if mapped or not self._images[number] else self._without_images(number)
            if translucent:
                self._context.asset.materials[chosen].setdefault("alphaMode", "BLEND")
            return chosen
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
            self._context.report.add(
                MATERIAL_CONVERTED["no coordinates"], f"/materials/{material.name}", extras=material.extras
            )
        return self._unmapped[number]

    def _material(self, material: Material, images: dict[str, Image]) -> Json:
        written = self._gltf_material(material, images)
        attach_extras(written, self._extras(material, images, written.get("name")))
        self._report(material, images)
        return written

    def _gltf_material(self, material: Material, images: dict[str, Image]) -> Json:
        """Return the material: its numbers, then its textures, then its extensions."""
        shown = Surface(material, images)
        surface: Json = {"metallicFactor": shown.metallic, "roughnessFactor": shown.roughness}
        written: Json = {"name": safe_text(material.name)} if safe_text(material.name) else {}
        written["pbrMetallicRoughness"] = surface
        if min(shown.color) < 1.0 or shown.alpha < 1.0:
            surface["baseColorFactor"] = [*shown.color, shown.alpha]
        if shown.alpha_mode != "opaque":
            written["alphaMode"] = shown.alpha_mode.upper()
        if shown.alpha_mode == "mask":
            _set_unless_default(written, "alphaCutoff", shown.alpha_cutoff, 0.5)
        if any(shown.emissive):
            written["emissiveFactor"] = shown.emissive
        if material.two_sided:
            written["doubleSided"] = True
        self._add_textures(written, surface, material, images, shown.emissive_slot)
        self._add_extensions(written, GltfMaterial.of(material))
        return written

    def _add_textures(
        self, written: Json, surface: Json, material: Material, images: dict[str, Image], emissive_slot: str
    ) -> None:
        """Write the images, and refer to them; ``emissive_slot`` is that of the image that glows."""
        textures = {slot: self._textures.write(image, material.maps[SLOTS[slot]]) for slot, image in images.items()}
        for slot in ("alpha", "base_color"):  # the second if there are both
            if slot in images:
                surface["baseColorTexture"] = textures[slot]
        if "metallic_roughness" in images:
            surface["metallicRoughnessTexture"] = textures["metallic_roughness"]
        if "normal" in images:
            written["normalTexture"] = textures["normal"]
            if GltfMap.of(material.maps["bump"]) is not None:  # in a map made from heights the amount is in the pixels
                _set_unless_default(written["normalTexture"], "scale", material.maps["bump"].amount)
        if "occlusion" in images:
            written["occlusionTexture"] = textures["occlusion"]
            amount = fraction(material.maps["occlusion"].amount, 1.0)
            _set_unless_default(written["occlusionTexture"], "strength", amount)
        if emissive_slot:
            written["emissiveTexture"] = textures[emissive_slot]

    def _add_extensions(self, written: Json, original: GltfMaterial) -> None:
        """Restore emissive strength and unlit surfaces, which need extensions."""
        if not self._context.may_use_extensions:
            return
        strength = original.emissive_strength
        if strength is not None and strength >= 0 and "emissiveFactor" in written:
            self._extend(written, "KHR_materials_emissive_strength", emissiveStrength=strength)
        if original.unlit:
            self._extend(written, "KHR_materials_unlit")

    def _extend(self, written: Json, extension: str, **values: float) -> None:
        written.setdefault("extensions", {})[extension] = values
        self._context.asset.extensions.add(extension)

    def _extras(self, material: Material, images: dict[str, Image], written_name: str | None) -> Json:
        """Return what glTF has no place for."""
        content = {
            **raw_name(material.raw_name, material.name, written_name),
            **non_default_fields(material, *_FIELDS_IN_EXTRAS),
        }
        if not fraction(material.shininess_strength, 1.0):
            content.update(non_default_fields(material, "shininess"))
        absent = [name for name in ("diffuse", "shininess") if getattr(material, name) is None]
        if absent:
            content["absent"] = absent
        if "base_color" in images:
            content.update(non_default_fields(material, "diffuse"))
        if "emissive" in images:
            content.update(non_default_fields(material, "self_illumination"))
        textures = {SLOTS[slot]: _TEXTURES[slot] for slot in images}
        maps = {
            slot: self._map_extras(slot, texture_map, textures.get(slot))
            for slot, texture_map in material.maps.items()
            if slot not in textures or GltfMap.of(texture_map) is None  # those of glTF are in the texture
        }
        if maps:
            content["maps"] = maps
        if material.extras:
            content["extras"] = material.extras
        return content

    def _map_extras(self, slot: str, texture_map: TextureMap, texture: str | None) -> Json:
        """Return what glTF has no place for; ``texture`` is the texture of the map, None if it has no image."""
        content: Json = {"file_name": texture_map.file_name}
        if texture_map.raw_file_name:
            content["raw_file_name"] = texture_map.raw_file_name
        content.update(non_default_fields(texture_map, *_MAP_FIELDS))
        if texture == "baseColorTexture" and slot == "texture1":
            content.pop("amount", None)  # the pixels have it
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
        extras = material.extras
        report.add(MATERIAL_CONVERTED["model"], path, extras=extras, model="a metallic-roughness material")
        for attribute in non_default_fields(material, *_NOT_IN_GLTF):
            if shown := _NOT_IN_GLTF[attribute]:
                report.add(FIELD_KEPT["value"], f"{path}/{attribute}", extras=extras, shown=shown)
            else:
                report.add(FIELD_KEPT["field"], f"{path}/{attribute}", extras=extras)
        if material.shading in _SHADINGS:
            outcome, shown = _SHADINGS[material.shading]
            report.add(MATERIAL_CONVERTED["shading"], f"{path}/shading", outcome=outcome, extras=extras, shown=shown)
        for attribute, levels in _out_of_range(material):
            report.add(MATERIAL_CONVERTED["levels"], f"{path}/{attribute}", extras=extras, levels=levels)
        notes: Notes = {SLOTS[slot]: (IMAGE_WRITTEN["embedded"], "embedded") for slot in images}
        for image in images.values():
            notes.update(image.notes)
        missing = self._missing.get(id(material), {})
        for slot, texture_map in material.maps.items():
            source_extras = texture_map.extras or material.extras
            if slot in notes:
                kind, note = notes[slot]
                report.add(kind, f"{path}/maps/{slot}", extras=source_extras, image=note)
                if kind is not IMAGE_MISSING:
                    self._report_map_options(f"{path}/maps/{slot}", texture_map)
            elif not texture_map.file_name:
                report.add(IMAGES_KEPT["without file"], f"{path}/maps/{slot}", extras=source_extras)
            elif slot in missing:
                report.add(IMAGE_MISSING, f"{path}/maps/{slot}", extras=source_extras, image=missing[slot])
            else:
                reason = "" if slot in SLOTS.values() else ", because this format has no map of this kind"
                name = safe_text(texture_map.file_name)
                report.add(IMAGES_KEPT["name"], f"{path}/maps/{slot}", extras=source_extras, name=name, reason=reason)

    def _report_map_options(self, path: str, texture_map: TextureMap) -> None:
        """Report options of a map that glTF cannot express."""
        report, slot = self._context.report, path.rpartition("/")[2]
        if is_shown_once(texture_map) and slot != "texture1":
            name = "decal" if texture_map.decal else "tiled"
            report.add(IMAGE_BORDERS["repeated"], f"{path}/{name}", extras=texture_map.extras)
        elif texture_map.mirror and not texture_map.tiled:
            report.add(IMAGE_BORDERS["mirrored"], f"{path}/tiled", extras=texture_map.extras)
        for name in non_default_fields(texture_map, "blur", "summed_area"):
            report.add(FIELD_KEPT["image filter"], f"{path}/{name}", extras=texture_map.extras)
        if texture_map.tints:
            report.add(FIELD_KEPT["field"], f"{path}/tints", extras=texture_map.extras)
        if not self._context.may_use_extensions and transform(texture_map):
            report.add(FIELD_KEPT["texture transform"], f"{path}/transform", extras=texture_map.extras)


def _out_of_range(material: Material) -> Iterator[tuple[str, str]]:
    """Yield the colours and fractions of a material that are not from 0 to 1, as text."""
    for name in (*_COLORS, *_FRACTIONS):
        value = getattr(material, name)
        levels = value if name in _COLORS else [value]
        if value is not None and not all(-_ROUNDING <= level <= 1 + _ROUNDING for level in levels):
            yield name, ", ".join(f"{level:.4g}" for level in levels)


_ROUNDING = 1e-6


def _set_unless_default(target: Json, name: str, number: float, default: float = 1.0) -> None:
    """Store a number unless it is non-finite or the default of glTF."""
    if math.isfinite(number) and number != default:
        target[name] = float(number)


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
        self._textures: dict[tuple[int | str, int], int] = {}

    def write(self, image: Image, texture_map: TextureMap) -> Json:
        """Return the texture reference for a material."""
        source: int | str = self._image(image) if image.data else image.name
        key = (source, self._sampler(_sampling(texture_map, image.has_border)))
        if key not in self._textures:
            self._textures[key] = len(self._asset.textures)
            stated = {"source": source} if image.data else {"name": safe_text(image.name)}
            self._asset.textures.append({**stated, "sampler": key[1]})
        reference: Json = {"index": self._textures[key]}
        if texture_map.second_coordinates:
            reference["texCoord"] = 1
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


def _sampling(texture_map: TextureMap, has_border: bool) -> Json:
    """Return wrap modes and filters for a map; those of the original glTF file if its wrap mode is still the same."""
    wrap = MIRRORED if texture_map.mirror else REPEAT if texture_map.tiled and not texture_map.decal else CLAMP
    original = GltfMap.of(texture_map)
    if original is not None and original.sampler is not None:
        stated = original.sampler
        known = {name: int(stated[name]) for name, allowed in _ALLOWED.items() if stated.get(name) in allowed}
        if known.get("wrapS", REPEAT) == wrap:
            return known
    return {"magFilter": _LINEAR, "minFilter": _LINEAR if has_border else _LINEAR_MIPMAPS, "wrapS": wrap, "wrapT": wrap}


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
