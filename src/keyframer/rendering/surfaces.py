"""Surfaces of faces: colours and images of the materials as arrays, looked up for many pixels at once."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from keyframer.arrays import Flags, Indices, Numbers, Singles
from keyframer.exchange.kit.colors import shown_rgb
from keyframer.exchange.kit.images import IGNORED, OPACITY, alpha_use, covering, is_shown_once, role_of
from keyframer.exchange.kit.surfaces import GltfMap, GltfMaterial, image_matrix, metalness
from keyframer.scene import Material, Scene, TextureMap
from keyframer.textures import TextureSource

if TYPE_CHECKING:
    from PIL.Image import Image


LARGEST_TEXTURE_SIDE = 1024
"""maximum number of pixels along the longer side of a texture; larger images are reduced"""


class MipMaps:
    """An image and its reductions by 2, 4 …"""

    def __init__(self, image: Image) -> None:
        self.has_alpha = image.mode == "RGBA"
        base = image.convert("RGBA")
        if max(base.size) > LARGEST_TEXTURE_SIDE:
            scale = LARGEST_TEXTURE_SIDE / max(base.size)
            size = (max(1, round(base.width * scale)), max(1, round(base.height * scale)))
            base = base.resize(size, resample=4, reducing_gap=2.0)  # 4: box
        self.levels: list[Singles] = [np.asarray(base, np.float32) / np.float32(255)]
        while max(self.levels[-1].shape[:2]) > 1:
            self.levels.append(_halved(self.levels[-1]))

    @property
    def size(self) -> tuple[int, int]:
        height, width = self.levels[0].shape[:2]
        return width, height

    def sizes(self, level: Indices) -> tuple[Indices, Indices]:
        """Return the width and height of the image at each level."""
        of_levels = np.array([image.shape[:2] for image in self.levels])
        height, width = of_levels[np.clip(level, 0, len(self.levels) - 1)].T
        return width, height

    def lookup(self, u: Singles, v: Singles, level: Indices) -> Singles:
        """Return (n, 4) colours at u to the right and v down, 0 to 1, repeating; ``level`` 0 is the image itself."""
        out = np.empty((len(u), 4), np.float32)
        level = np.clip(level, 0, len(self.levels) - 1)
        for number in np.unique(level).tolist():
            pixels = np.flatnonzero(level == number)
            out[pixels] = _bilinear(self.levels[number], u[pixels], v[pixels])
        return out


def _halved(image: Singles) -> Singles:
    """Return means of 2 x 2 pixels; a side of one pixel stays, an odd last row or column is dropped."""
    height, width = image.shape[:2]
    rows = (image[0 : height - 1 : 2] + image[1:height:2]) / 2 if height > 1 else image
    return np.asarray((rows[:, 0 : width - 1 : 2] + rows[:, 1:width:2]) / 2 if width > 1 else rows, np.float32)


def _bilinear(image: Singles, u: Singles, v: Singles) -> Singles:
    """Return (n, 4) colours, interpolated between the four nearest pixels."""
    height, width = image.shape[:2]
    x = (u - np.floor(u)) * width - np.float32(0.5)
    y = (v - np.floor(v)) * height - np.float32(0.5)
    left, top = np.floor(x), np.floor(y)
    share_x, share_y = (x - left)[:, None], (y - top)[:, None]
    x0, y0 = left.astype(np.int64) % width, top.astype(np.int64) % height
    x1, y1 = (x0 + 1) % width, (y0 + 1) % height
    flat = image.reshape(-1, 4)
    upper = flat[y0 * width + x0] * (1 - share_x) + flat[y0 * width + x1] * share_x
    lower = flat[y1 * width + x0] * (1 - share_x) + flat[y1 * width + x1] * share_x
    return np.asarray(upper * (1 - share_y) + lower * share_y, np.float32)


Rgb = tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class GltfSurface:
    """How a glTF material differs from one of the original programs."""

    tinted: bool = False
    """whether the base colour image is multiplied by the colour of the material instead of replacing it"""
    cutoff: float | None = None
    """pixels with less opacity are transparent, all others opaque"""
    emission: Rgb | None = None
    """light of the surface, added to the reflected light"""


def gltf_surface_of(material: Material) -> GltfSurface:
    """Return how a material differs if it was read from glTF, or has an emission map; otherwise the defaults."""
    original, base = GltfMaterial.of(material), material.maps.get("texture1")
    emission: Rgb | None = (1.0, 1.0, 1.0) if emits(material.maps.get("self_illumination")) else None
    if original.unlit:
        emission = None
    elif original.emissive is not None:
        strength = 1.0 if original.emissive_strength is None else original.emissive_strength
        emission = shown_rgb([component * strength for component in original.emissive])
    cutoff = None
    if original.alpha_mode == "MASK":
        cutoff = 0.5 if original.alpha_cutoff is None else original.alpha_cutoff
    return GltfSurface(base is not None and GltfMap.of(base) is not None, cutoff, emission)


def emits(map: TextureMap | None) -> bool:
    """Return whether the pixels of a map are light, not fractions of the colour of the surface."""
    return map is not None and role_of(map) == "emission"


PLAIN = (0.70, 0.71, 0.74)
"""colour of faces without a material, and of materials without a colour"""
BLACK = 0.12
"""darker surfaces without an image become this bright if ``lift_black``"""
STICK = (0.93, 0.62, 0.20)
"""colour of skeletons"""


@dataclass(eq=False)
class Layer:
    """An image on a material."""

    mip_maps: MipMaps
    matrix: Singles
    """(2, 3) from texture coordinates to image coordinates, v down"""
    amount: float
    once: bool
    """whether the image is shown once and is transparent outside (decals)"""
    mirror: bool
    tiled: bool
    """whether the image repeats; otherwise its border continues"""
    negative: bool
    opaque: bool
    """whether the alpha of the image is ignored"""
    levels_from_alpha: bool
    """whether the alpha of the image says how much a map of levels has an effect, instead of its colours"""

    def lookup(self, uv: Singles, level: Indices) -> tuple[Singles, Flags]:
        """Return (n, 4) colours, and where the image covers the surface."""
        m = self.matrix
        u = uv[:, 0] * m[0, 0] + uv[:, 1] * m[0, 1] + m[0, 2]
        v = uv[:, 0] * m[1, 0] + uv[:, 1] * m[1, 1] + m[1, 2]
        inside = (u >= 0) & (u <= 1) & (v >= 0) & (v <= 1) if not self.tiled else np.ones(len(u), np.bool_)
        if not self.tiled:
            level = np.where(inside, level, 0)  # the border may have another colour
            width, height = self.mip_maps.size
            u, v = (_clamped(value, pixels) for value, pixels in ((u, width), (v, height)))
        if self.mirror:
            u, v = (np.abs((value + 1) % 2 - 1).astype(np.float32) for value in (u, v))
            widths, heights = self.mip_maps.sizes(level)
            u, v = _clamped(u, widths), _clamped(v, heights)
        colors = self.mip_maps.lookup(u, v, level)
        if self.negative:
            colors[:, :3] = 1 - colors[:, :3]
        if self.opaque:
            colors[:, 3] = 1
        return colors, inside | (not self.once)

    def levels(self, uv: Singles, level: Indices) -> Singles:
        """Return (n,) levels of a map that is not one of colours, 0 to 1."""
        colors, _ = self.lookup(uv, level)
        if not self.levels_from_alpha:
            return _grey(colors)
        return np.asarray(1 - colors[:, 3] if self.negative else colors[:, 3])


class Surfaces:
    """All materials of a scene, then one for faces without a material, then that of skeletons."""

    def __init__(self, scene: Scene, source: TextureSource | None, lift_black: bool = True) -> None:
        """``lift_black``: black surfaces without an image become dark grey, so that their shape is visible."""
        materials = [*scene.materials, Material(""), Material("", diffuse=STICK, two_sided=True)]
        self._v_up = scene.space.v_up
        self._mip_maps: dict[int, MipMaps] = {}
        self._source = source
        self.diffuse = np.array([_color(material.diffuse, PLAIN) for material in materials], np.float32)
        specular = np.array([_color(material.specular, (0.0, 0.0, 0.0)) for material in materials], np.float32)
        self.strength = np.array([_fraction(m.shininess_strength, 0.4) for m in materials], np.float32)
        self.specular = specular * self.strength[:, None]
        self.metal = np.array([metalness(material) for material in materials], np.float32)
        """how far a surface is of metal, which reflects light in its own colour instead of scattering it"""
        self.exponent = np.array([2.0 ** (1 + 9 * _fraction(m.shininess, 0.25)) for m in materials], np.float32)
        self.opacity = np.array([1 - _fraction(material.transparency, 0.0) for material in materials], np.float32)
        self.glow = np.array([_fraction(material.self_illumination, 0.0) for material in materials], np.float32)
        self.two_sided = np.array([material.two_sided for material in materials], np.bool_)
        self.wire = np.array([material.wire or material.shading == "wire" for material in materials], np.bool_)
        self.flat = np.array([material.shading == "flat" for material in materials], np.bool_)
        self.base = [self._layer(material.maps.get("texture1")) for material in materials]
        self.second = [self._layer(material.maps.get("texture2")) for material in materials]
        self.opacity_maps = [self._layer(_own_opacity(material)) for material in materials]
        self.gltf_surfaces = [gltf_surface_of(material) for material in materials]
        self.self_illumination = [self._layer(material.maps.get("self_illumination")) for material in materials]
        self.glow[[surface.emission is not None for surface in self.gltf_surfaces]] = 0
        self._emits = any(surface.emission is not None for surface in self.gltf_surfaces)
        if lift_black:
            black = (self.diffuse.max(axis=1) < BLACK) & np.array([layer is None for layer in self.base])
            self.diffuse[black] = np.maximum(self.diffuse[black], np.float32(BLACK))
        self.translucent = np.array(
            [
                self.opacity[at] < 0.999 or self.wire[at] or opacity_map is not None or _uses_alpha(material, base)
                for at, (material, base, opacity_map) in enumerate(
                    zip(materials, self.base, self.opacity_maps, strict=True)
                )
            ],
            np.bool_,
        )
        self._cut_out = np.array([_uses_alpha(m, base) for m, base in zip(materials, self.base, strict=True)])

    @property
    def any_image(self) -> bool:
        return any(
            layer is not None
            for layers in (self.base, self.second, self.opacity_maps, self.self_illumination)
            for layer in layers
        )

    def colors(
        self, material: Numbers, uv: Singles | None, level: Indices
    ) -> tuple[Singles, Singles, Singles, Singles | None]:
        """Return the surface at n pixels: (3, n) colour, (n,) opacity, (3, n) light that is multiplied by the colour,
        and (3, n) added light, None if no material emits light. Without images the multiplied light is (1, n), equal in
        all components.
        """
        alpha = self.opacity.take(material)
        if uv is None or not self.any_image:
            emitted: Singles | None = None
            if self._emits:
                emission = np.array([surface.emission or (0, 0, 0) for surface in self.gltf_surfaces], np.float32)
                emitted = emission.T.take(material, axis=1)
            return self.diffuse.T.take(material, axis=1), alpha, self.glow.take(material)[None], emitted
        color = self.diffuse[material]
        glow = np.repeat(self.glow[material][:, None], 3, axis=1)
        emission = np.zeros_like(glow)
        for number in np.unique(material).tolist():
            pixels = np.flatnonzero(material == number)
            levels, surface = level[pixels], self.gltf_surfaces[number]
            for layer, over in ((self.base[number], False), (self.second[number], True)):
                if layer is None:
                    continue
                layer_colors, inside = layer.lookup(uv[pixels], levels + _level_offset(layer))
                share = np.where(inside, np.float32(layer.amount), 0)
                if self._cut_out[number] and not over:
                    alpha[pixels] *= np.where(inside, layer_colors[:, 3], 0)
                else:
                    share = share * layer_colors[:, 3]
                shown = layer_colors[:, :3] * color[pixels] if surface.tinted and not over else layer_colors[:, :3]
                color[pixels] += (shown - color[pixels]) * share[:, None]
            opacity_map = self.opacity_maps[number]
            if opacity_map is not None:
                covering_share = opacity_map.levels(uv[pixels], levels + _level_offset(opacity_map))
                alpha[pixels] *= 1 - np.float32(opacity_map.amount) * (1 - covering_share)
            if surface.cutoff is not None:
                alpha[pixels] = alpha[pixels] >= surface.cutoff
            illumination_layer = self.self_illumination[number]
            light = np.float32(1)
            if illumination_layer is not None:
                layer_colors, inside = illumination_layer.lookup(uv[pixels], levels + _level_offset(illumination_layer))
                light = layer_colors[:, :3] * (inside * np.float32(illumination_layer.amount))[:, None]
            if surface.emission is not None:
                emission[pixels] = light * np.array(surface.emission, np.float32)
            elif illumination_layer is not None:
                glow[pixels] = np.maximum(glow[pixels], light)
        return color.T, alpha, glow.T, emission.T if self._emits else None

    def _layer(self, texture: TextureMap | None) -> Layer | None:
        mip_maps = None if texture is None or not texture.file_name else self._mip_maps_of(texture)
        if texture is None or mip_maps is None:
            return None
        role = role_of(texture)
        # what the exporter put into the pixels of an image is not done again
        amount = 1.0 if role in ("alpha", "emission") else covering(texture)
        return Layer(
            mip_maps,
            image_matrix(texture, self._v_up).astype(np.float32),
            amount,
            is_shown_once(texture),
            texture.mirror,
            texture.mirror or (texture.tiled and not texture.decal),
            texture.negative and role is None,
            alpha_use(texture) == IGNORED,
            role == "alpha" or (texture.alpha_source and mip_maps.has_alpha),
        )

    def _mip_maps_of(self, texture: TextureMap) -> MipMaps | None:
        opened = None if self._source is None else self._source.open_map(texture).texture
        if opened is None:
            return None
        key = id(opened.image)  # kept by the source
        if key not in self._mip_maps:
            self._mip_maps[key] = MipMaps(opened.image)
        return self._mip_maps[key]


def _own_opacity(material: Material) -> TextureMap | None:
    """Return the opacity map, unless the image of the colour, which was read from glTF, has it in its alpha."""
    base, opacity = material.maps.get("texture1"), material.maps.get("opacity")
    is_merged = base is not None and opacity is not None and role_of(base) is not None and role_of(opacity) is None
    return None if is_merged else opacity


def _clamped(value: Singles, pixels: int | Indices) -> Singles:
    """Clamp coordinates to half a pixel inside the image, so that the opposite edge is not mixed in."""
    half = np.asarray(0.5 / pixels, np.float32)
    return np.clip(value, half, np.float32(1) - half)


def _uses_alpha(material: Material, base: Layer | None) -> bool:
    """Return whether the image has an alpha that is opacity; otherwise the material is visible through it."""
    texture = material.maps.get("texture1")
    return texture is not None and base is not None and base.mip_maps.has_alpha and alpha_use(texture) == OPACITY


def _level_offset(layer: Layer) -> int:
    """Return the mip level offset: log2 of the image's size times its repetitions per unit of texture coordinates."""
    m = layer.matrix
    tiles = math.sqrt(abs(float(m[0, 0] * m[1, 1] - m[0, 1] * m[1, 0])))
    return round(math.log2(max(layer.mip_maps.size)) + math.log2(min(max(tiles, 1e-3), 1e3)))


def _grey(colors: Singles) -> Singles:
    return np.asarray(0.299 * colors[:, 0] + 0.587 * colors[:, 1] + 0.114 * colors[:, 2], np.float32)


def _color(color: tuple[float, float, float] | None, default: tuple[float, float, float]) -> tuple[float, ...]:
    if color is None or not all(map(math.isfinite, color)):
        return default
    return tuple(min(max(part, 0.0), 1.0) for part in color)


def _fraction(value: float | None, default: float) -> float:
    return default if value is None or not math.isfinite(value) else min(max(value, 0.0), 1.0)
