"""Writes materials: a UsdPreviewSurface, with a texture for each of its images."""

from __future__ import annotations

import math

import numpy as np

from keyframer.exchange.kit.images import SLOTS, Image, Notes
from keyframer.exchange.kit.material_images import MaterialImages, Surface
from keyframer.exchange.kit.numbers import fraction
from keyframer.exchange.kit.surfaces import GltfMap
from keyframer.exchange.usd.context import Context
from keyframer.exchange.usd.layer import Prim, asset, number, row
from keyframer.scene import Material, TextureMap
from keyframer.scene.loss_report import Outcome
from keyframer.scene.losses import (
    IMAGE_MISSING,
    IMAGE_WRITTEN,
    IMAGES_KEPT,
    IMAGES_UNSUPPORTED,
    MATERIAL_CONVERTED,
    TEXTURES_UNSUPPORTED,
)

_RAW = ("normal", "metallic_roughness", "occlusion")
"""slots of images that are not colours"""
_SHADINGS = {
    "flat": (Outcome.BAKED, "flat shading: its faces have flat normals"),
    "wire": (Outcome.DROPPED, "wire frame: drawn as solid faces"),
    "gouraud": (Outcome.APPROXIMATED, "Gouraud shading: renderers compute light for each pixel"),
    "metal": (Outcome.APPROXIMATED, "metal shading: a metallic surface"),
}


class Materials:
    """Writes materials on demand."""

    def __init__(self, context: Context) -> None:
        self._context = context
        found = MaterialImages(context.scene, context.options.images, context.report)
        self._images, self._missing = found.of_materials, found.missing
        self._scope: Prim | None = None
        self._written: dict[tuple[int, bool], Prim] = {}
        self.flat = [number for number, material in enumerate(context.scene.materials) if material.shading == "flat"]
        """materials whose faces have flat normals"""
        for material, images in zip(context.scene.materials, self._images, strict=True):
            self._report(material, images)

    def prim(self, number: int, texture_sets: set[str]) -> Prim:
        """Return the prim of a material for a mesh with these texture coordinates; without images that need others."""
        material, images = self._context.scene.materials[number], self._images[number]
        maps = (material.maps[SLOTS[slot]] for slot in images)
        is_mapped = all(_coordinates(texture_map) in texture_sets for texture_map in maps)
        key = number, is_mapped or not images
        if key not in self._written:
            if self._scope is None:
                self._scope = self._context.root.add("Scope", "Materials")
            prim = self._scope.add("Material", material.name)
            self._written[key] = prim
            self._write(prim, material, images if is_mapped else {})
            if not is_mapped:
                self._context.report.add(
                    MATERIAL_CONVERTED["no coordinates"], f"/materials/{material.name}", extras=material.extras
                )
        return self._written[key]

    def color(self, number: int) -> str:
        """Return the display colour of a material."""
        material = self._context.scene.materials[number]
        return row(Surface(material, {}).color)

    def _write(self, prim: Prim, material: Material, images: dict[str, Image]) -> None:
        shown = Surface(material, images)
        surface = prim.add("Shader", "Surface")
        prim.set("token outputs:surface.connect", f"<{surface.path}.outputs:surface>")
        surface.set("uniform token info:id", '"UsdPreviewSurface"')
        textures = _Textures(self._context, prim, material, images)
        slot = "base_color" if "base_color" in images else "alpha" if "alpha" in images else ""
        scale = (*shown.color, shown.alpha)
        color = textures.output(slot, "BaseColor", "rgb", scale) if slot else ""
        _input(surface, "color3f inputs:diffuseColor", row(shown.color), color)
        opacity = ""
        if slot and images[slot].alpha != "opaque":
            opacity = textures.output(slot, "BaseColor", "a", scale)
        _input(surface, "float inputs:opacity", number(shown.alpha), opacity)
        if shown.alpha_mode == "mask":
            surface.set("float inputs:opacityThreshold", number(shown.alpha_cutoff))
        if any(shown.emissive):
            glow = ""
            if shown.emissive_slot:
                glow = textures.output(shown.emissive_slot, "Emission", "rgb", (*shown.emissive, 1.0))
            _input(surface, "color3f inputs:emissiveColor", row(shown.emissive), glow)
        factors = (1.0, shown.roughness, shown.metallic, 1.0)
        mapped = "metallic_roughness" in images
        for name, channel, value in (("metallic", "b", shown.metallic), ("roughness", "g", shown.roughness)):
            image = textures.output("metallic_roughness", "MetallicRoughness", channel, factors) if mapped else ""
            _input(surface, f"float inputs:{name}", number(value), image)
        if "occlusion" in images:
            amount = fraction(material.maps["occlusion"].amount, 1.0)
            image = textures.output("occlusion", "Occlusion", "r", (amount,) * 4, (1.0 - amount,) * 4)
            _input(surface, "float inputs:occlusion", "1", image)
        if "normal" in images:
            amount = material.maps["bump"].amount if GltfMap.of(material.maps["bump"]) is not None else 1.0
            amount = amount if math.isfinite(amount) else 1.0
            scale, bias = (2.0 * amount, 2.0 * amount, 2.0, 1.0), (-amount, -amount, -1.0, 0.0)
            _input(
                surface, "normal3f inputs:normal", "(0, 0, 1)", textures.output("normal", "Normal", "rgb", scale, bias)
            )
        surface.set("int inputs:useSpecularWorkflow", "0")
        surface.set("token outputs:surface")

    def _report(self, material: Material, images: dict[str, Image]) -> None:
        report, path = self._context.report, f"/materials/{material.name}"
        report.add(MATERIAL_CONVERTED["model"], path, extras=material.extras, model="a metallic-roughness material")
        if material.shading in _SHADINGS:
            outcome, shown = _SHADINGS[material.shading]
            report.add(
                MATERIAL_CONVERTED["shading"], f"{path}/shading", outcome=outcome, extras=material.extras, shown=shown
            )
        notes: Notes = {SLOTS[slot]: (IMAGE_WRITTEN["embedded"], "embedded") for slot in images}
        for image in images.values():
            notes.update(image.notes)
        missing = self._missing.get(id(material), {})
        for slot, texture_map in material.maps.items():
            place, extras = f"{path}/maps/{slot}", texture_map.extras or material.extras
            if slot in notes and notes[slot][0] is not IMAGE_MISSING:
                report.add(notes[slot][0], place, extras=extras, image=notes[slot][1])
            elif not texture_map.file_name:
                report.add(IMAGES_KEPT["without file"], place, outcome=Outcome.DROPPED, extras=extras)
            elif slot in SLOTS.values():
                reason = notes[slot][1] if slot in notes else missing.get(slot, "not embedded")
                report.add(IMAGES_UNSUPPORTED["not opened"], place, extras=extras, reason=reason)
            else:
                report.add(TEXTURES_UNSUPPORTED["slot"], place, extras=extras, slot=slot)


def _input(surface: Prim, declaration: str, value: str, connection: str) -> None:
    """Set an input to a value, or connect it."""
    surface.set(f"{declaration}.connect" if connection else declaration, connection or value)


def _coordinates(texture_map: TextureMap) -> str:
    """Return the name of the texture coordinates that an image is placed by."""
    return "st1" if texture_map.second_coordinates else "st"


class _Textures:
    """The textures of one material; each image has one for each use."""

    def __init__(self, context: Context, prim: Prim, material: Material, images: dict[str, Image]) -> None:
        self._context, self._prim, self._material, self._images = context, prim, material, images
        self._textures: dict[str, tuple[Prim, set[str]]] = {}
        self._placements: dict[object, Prim] = {}

    def output(
        self,
        slot: str,
        name: str,
        channel: str,
        scale: tuple[float, ...],
        bias: tuple[float, ...] = (0.0, 0.0, 0.0, 0.0),
    ) -> str:
        """Return the path of an output of the texture ``name``, which is made on first use."""
        if name not in self._textures:
            self._textures[name] = self._texture(slot, name, scale, bias), set()
        texture, outputs = self._textures[name]
        if channel not in outputs:
            outputs.add(channel)
            texture.set(f"{'float3' if channel == 'rgb' else 'float'} outputs:{channel}")
        return f"<{texture.path}.outputs:{channel}>"

    def _texture(self, slot: str, name: str, scale: tuple[float, ...], bias: tuple[float, ...]) -> Prim:
        texture_map, image = self._material.maps[SLOTS[slot]], self._images[slot]
        placement = self._placement(texture_map)
        texture = self._prim.add("Shader", name)
        texture.set("uniform token info:id", '"UsdUVTexture"')
        texture.set("asset inputs:file", asset(self._context.image_path(image)))
        texture.set("float2 inputs:st.connect", f"<{placement.path}.outputs:result>")
        texture.set("token inputs:sourceColorSpace", '"raw"' if slot in _RAW else '"sRGB"')
        is_clamped = image.has_border or texture_map.decal or not texture_map.tiled
        wrap = '"mirror"' if texture_map.mirror else '"clamp"' if is_clamped else '"repeat"'
        texture.set("token inputs:wrapS", wrap)
        texture.set("token inputs:wrapT", wrap)
        if scale != (1.0, 1.0, 1.0, 1.0):
            texture.set("float4 inputs:scale", row(scale))
        if any(bias):
            texture.set("float4 inputs:bias", row(bias))
        return texture

    def _placement(self, texture_map: TextureMap) -> Prim:
        """Return the prim that gives the texture coordinates."""
        primvar, transform = _coordinates(texture_map), placement(texture_map)
        key = primvar, transform
        if key in self._placements:
            return self._placements[key]
        reader = self._placements.get((primvar, None))
        if reader is None:
            reader = self._placements[primvar, None] = self._prim.add("Shader", primvar)
            reader.set("uniform token info:id", '"UsdPrimvarReader_float2"')
            reader.set("string inputs:varname", f'"{primvar}"')
            reader.set("float2 outputs:result")
        if transform is not None:
            moved = self._placements[key] = self._prim.add("Shader", "Placement")
            moved.set("uniform token info:id", '"UsdTransform2d"')
            moved.set("float2 inputs:in.connect", f"<{reader.path}.outputs:result>")
            for declaration, value in zip(("float2 inputs:scale", "float inputs:rotation"), transform[:2], strict=True):
                moved.set(declaration, value)
            moved.set("float2 inputs:translation", transform[2])
            moved.set("float2 outputs:result")
        return self._placements[key]


def placement(texture_map: TextureMap) -> tuple[str, str, str] | None:
    """Return scale, rotation and translation for UsdTransform2d; None for the identity and for non-finite numbers.

    The original programs tile and rotate about the centre of the image, w' = R S (w - 1/2 - offset) + 1/2 with v
    running down (`scene.TextureMap`). Here v runs up, so that the rotation and the offset of v change their signs.
    """
    (su, sv), (ou, ov), degrees = texture_map.scale, texture_map.offset, -texture_map.rotation_degrees
    numbers = (su, sv, ou, ov, degrees)
    if not all(map(math.isfinite, numbers)) or numbers == (1.0, 1.0, 0.0, 0.0, 0.0):
        return None
    cosine, sine = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    turn = np.array([[cosine, -sine], [sine, cosine]]) @ np.diag([su, sv])
    shift = np.array([0.5, 0.5]) - turn @ np.array([0.5 + ou, 0.5 - ov])
    return row((su, sv)), number(degrees), row(np.round(shift, 9).tolist())
