"""Materials of the old programs as metallic-roughness ones that look alike; the old numbers stay in extras."""

from __future__ import annotations

import math

import numpy as np

from keyframer.exchange.gltf.asset import Json
from keyframer.exchange.gltf.context import Context
from keyframer.exchange.gltf.extras import attach, plain, raw_name, shown_name, stated
from keyframer.exchange.gltf.images import Image
from keyframer.exchange.gltf.numbers import fraction, linear_color
from keyframer.exchange.gltf.textures import Textures
from keyframer.exchange.report import Outcome
from keyframer.scene import Material

_KEPT = (
    "ambient",
    "diffuse",
    "specular",
    "shininess",
    "shininess_strength",
    "transparency",
    "transparency_falloff",
    "falloff_inwards",
    "reflection_blur",
    "self_illumination",
    "two_sided",
    "additive",
    "wire",
    "wire_size",
    "wire_in_units",
    "face_map",
    "soften",
    "supersample",
    "shading",
    "maps",
)
_UNSAID = (
    "additive",
    "wire",
    "face_map",
    "soften",
    "supersample",
    "transparency_falloff",
    "reflection_blur",
    "ambient",
)
"""what glTF has no word for, and the picture may miss"""

SLOTS = {"base_color": "texture1", "normal": "bump", "emissive": "self_illumination"}
"""glTF's slots and the maps they are made of"""


class Materials:
    """Every material of the scene, in its order; one more where faces have none."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._textures = Textures(context.asset, context.extensions, context.scene.space.v_up)
        self._default: int | None = None
        self._images = [self._find_images(material) for material in context.scene.materials]
        for material, images in zip(context.scene.materials, self._images, strict=True):
            context.asset.materials.append(self._material(material, images))

    @property
    def any_normal_map(self) -> bool:
        return any("normal" in images for images in self._images)

    def needs_tangents(self, number: int) -> bool:
        """Whether a material of the scene has a normal map."""
        return 0 <= number < len(self._images) and "normal" in self._images[number]

    def write(self, number: int, *, colored: bool = False) -> int:
        """The glTF material for a number of the scene. glTF's own default is metal, so faces without a material get one
        that is not. Vertex colours are multiplied with the material's, which is what the old engines did."""
        if 0 <= number < len(self._images):
            return number
        if self._default is None:
            self._default = len(self._context.asset.materials)
            surface = {"metallicFactor": 0.0, "roughnessFactor": 1.0}
            self._context.asset.materials.append({"name": "default", "pbrMetallicRoughness": surface})
        return self._default

    def _find_images(self, material: Material) -> dict[str, Image]:
        found = {}
        for slot, map_name in SLOTS.items():
            texture = material.maps.get(map_name)
            image = None if texture is None else self._context.options.images(material, slot, texture)
            if image is not None:
                found[slot] = image
        return found

    def _material(self, material: Material, images: dict[str, Image]) -> Json:
        diffuse = (0.8, 0.8, 0.8) if material.diffuse is None else material.diffuse
        color = linear_color(diffuse)
        alpha = 1.0 - fraction(material.transparency)
        surface: Json = {"metallicFactor": 0.0, "roughnessFactor": round(_roughness(material), 6)}
        written: Json = {"pbrMetallicRoughness": surface}
        name = shown_name(material.name)
        if name:
            written = {"name": name, **written}
        factor = color
        if "base_color" in images:
            texture = material.maps["texture1"]
            surface["baseColorTexture"] = self._textures.write(images["base_color"], texture)
            factor = color + (1.0 - color) * fraction(texture.amount, 1.0)  # a full map replaces the colour
        if (factor < 1.0).any() or alpha < 1.0:
            surface["baseColorFactor"] = [*np.round(factor, 6).tolist(), alpha]
        self._alpha(written, alpha, images)
        if "normal" in images:
            written["normalTexture"] = self._textures.write(images["normal"], material.maps["bump"])
        glow = fraction(material.self_illumination)
        if "emissive" in images:
            written["emissiveTexture"] = self._textures.write(images["emissive"], material.maps["self_illumination"])
            written["emissiveFactor"] = np.round(color, 6).tolist()
        elif glow > 0:
            written["emissiveFactor"] = np.round(color * glow, 6).tolist()
        if material.two_sided:
            written["doubleSided"] = True
        attach(written, self._extras(material))
        self._report(material, images)
        return written

    def _alpha(self, written: Json, alpha: float, images: dict[str, Image]) -> None:
        wanted = images["base_color"].alpha if "base_color" in images else "opaque"
        if alpha < 1.0 or wanted == "blend":
            written["alphaMode"] = "BLEND"
        elif wanted == "mask":
            written["alphaMode"] = "MASK"

    def _extras(self, material: Material) -> Json:
        content = {**raw_name(material.raw_name, material.name), **stated(material, *_KEPT)}
        if material.extras:
            content["extras"] = plain(material.extras)
        return content

    def _report(self, material: Material, images: dict[str, Image]) -> None:
        path = f"/materials/{material.name}"
        report = self._context.report
        report.add(
            Outcome.APPROXIMATED,
            path,
            "as a metallic-roughness material; old numbers in extras",
            extras=material.extras,
        )
        for attribute in stated(material, *_UNSAID):
            report.add(Outcome.EXTRAS, f"{path}/{attribute}", extras=material.extras)
        used = {SLOTS[slot] for slot in images}
        for slot, texture in material.maps.items():
            if slot not in used:
                detail = f"{texture.file_name!r}: not embedded, the name is kept"
                report.add(Outcome.EXTRAS, f"{path}/maps/{slot}", detail, extras=texture.extras or material.extras)


def _roughness(material: Material) -> float:
    """Phong highlights by their width: 0..1 of shininess is an exponent of 1 to 1024, as the programs of the time had
    it; a highlight of no strength is none."""
    shininess = fraction(material.shininess)
    exponent = 2.0 ** (10.0 * shininess)
    narrow = 1.0 - math.sqrt(2.0 / (exponent + 2.0))
    return 1.0 - narrow * fraction(material.shininess_strength, 1.0)
