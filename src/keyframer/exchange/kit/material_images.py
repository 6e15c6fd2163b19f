"""What today's formats show of a material: its images, and a metallic-roughness surface."""

from __future__ import annotations

import copy
from collections.abc import Iterable

import numpy as np

from keyframer.exchange.kit.colors import linear_level
from keyframer.exchange.kit.images import SLOTS, Image, ImageSource, Missing, Pictures, is_shown_once
from keyframer.exchange.kit.numbers import fraction
from keyframer.exchange.kit.surfaces import DEFAULT_DIFFUSE, GltfMap, GltfMaterial, image_matrix, metalness, roughness
from keyframer.scene import Material, Scene, TextureMap
from keyframer.scene.loss_report import LossReport

_LEAST_OUTSIDE = 1 / 512
"""fraction of an image that is too narrow to be seen outside of it"""
_ROUNDING = 1e8
"""colours are rounded to eight decimals: colours that were read are written as they were"""


class MaterialImages:
    """The images of all materials of a scene."""

    def __init__(self, scene: Scene, source: ImageSource, report: LossReport) -> None:
        self._scene, self._source = scene, source
        self.missing: dict[int, dict[str, str]] = {}
        """by id() of the material: maps without an image, with the reason"""
        self._missing_names: set[str] = set()
        self.of_materials = [self._find(material) for material in scene.materials]
        """by slot (`images.SLOTS`), for each material"""
        missing = source.not_found(scene) if isinstance(source, Pictures) else self._missing_names
        if missing:
            report.measured["missing_images"] = len(missing)

    def _find(self, material: Material) -> dict[str, Image]:
        images: dict[str, Image] = {}
        for slot, map_name in SLOTS.items():
            texture_map = material.maps.get(map_name)
            if texture_map is None or not texture_map.file_name or (slot == "alpha" and "base_color" in images):
                continue
            if slot == "base_color" and is_shown_once(texture_map):  # no border where nobody would see it
                texture_map = copy.copy(texture_map)
                texture_map.tiled = not self._shows_outside(material, texture_map)
            image = self._source(material, slot, texture_map)
            if isinstance(image, Missing):
                self.missing.setdefault(id(material), {})[map_name] = image.reason
                self._missing_names.add(texture_map.file_name)
            elif image is not None:
                images[slot] = image
        return images

    def _shows_outside(self, material: Material, texture_map: TextureMap) -> bool:
        """Return whether a face of a material has texture coordinates outside of its image."""
        scene = self._scene
        number = next(at for at, other in enumerate(scene.materials) if other is material)
        matrix = image_matrix(texture_map, scene.space.v_up)
        for mesh in scene.meshes:
            second = texture_map.second_coordinates
            table, corners = (mesh.uv2, mesh.uv2_corners) if second else (mesh.uv, mesh.uv_corners)
            if table is None or mesh.face_materials is None:
                continue
            corners = np.asarray(mesh.corners if corners is None else corners)
            used = corners[np.asarray(mesh.face_materials) == number].reshape(-1)
            uv = np.asarray(table, np.float64)[used[(used >= 0) & (used < len(table))]]
            with np.errstate(all="ignore"):
                shown = uv @ matrix[:, :2].T + matrix[:, 2]
            if (np.abs(shown - 0.5) > 0.5 + _LEAST_OUTSIDE).any():
                return True
        return False


class Surface:
    """The metallic-roughness surface of a material with its images, in linear colours.

    Values of a material that was read from glTF, which `Material` only approximates, are restored.
    """

    def __init__(self, material: Material, images: dict[str, Image]) -> None:
        original = GltfMaterial.of(material)
        diffuse = DEFAULT_DIFFUSE if material.diffuse is None else material.diffuse
        factor = [linear_level(float(level)) for level in diffuse]
        # today's formats multiply image and colour; in the original programs the image covers the colour, and the
        # pixels have what is left of it
        if "base_color" in images and GltfMap.of(material.maps["texture1"]) is None:
            factor = [1.0, 1.0, 1.0]
        glow = 0.0 if original.unlit else fraction(material.self_illumination)
        reflected = factor
        if "emissive" not in images and original.emissive is None:
            reflected = [level * (1.0 - glow) for level in factor]  # a surface that glows fully reflects no light
        self.color = _rounded(reflected)
        """factor of the base colour, which an image may have"""
        self.alpha = 1.0 - fraction(material.transparency)
        self.metallic, self.roughness = metalness(material), round(roughness(material), 6)
        self.emissive = _rounded(level * (1.0 if "emissive" in images else glow) for level in factor)
        """factor of the emission, which the image ``emissive_slot`` may have"""
        self.emissive_slot = "emissive" if "emissive" in images else ""
        if not self.emissive_slot and glow > 0 and "base_color" in images and original.emissive is None:
            self.emissive_slot = "base_color"
        if original.metallic is not None:
            self.metallic = round(fraction(original.metallic), 6)
        if original.roughness is not None:
            self.roughness = round(fraction(original.roughness), 6)
        if original.emissive is not None:
            self.emissive = [round(fraction(level), 6) for level in original.emissive]
        image = images.get("base_color", images.get("alpha"))
        self.alpha_mode = "opaque" if image is None else image.alpha
        """``opaque``, ``mask`` or ``blend``"""
        if self.alpha < 1.0:
            self.alpha_mode = "blend"
        self.alpha_cutoff = 0.5 if original.alpha_cutoff is None else max(original.alpha_cutoff, 0.0)


def _rounded(levels: Iterable[float]) -> list[float]:
    return [round(level * _ROUNDING) / _ROUNDING for level in levels]
