"""What only glTF says of surfaces: images that are tinted, edges that are cut, light that is added."""

from __future__ import annotations

import math
from dataclasses import dataclass

from keyframer.exchange.gltf.conventions import said_in_gltf, shown_rgb
from keyframer.exchange.gltf.write.images import role_of
from keyframer.scene import Material, TextureMap

Rgb = tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class GltfSurface:
    """How a material differs from one of the old programs."""

    tinted: bool = False
    """the image of the base colour is multiplied with the material's, which it replaced of old"""
    cutoff: float | None = None
    """what is less opaque is not there, all else is whole"""
    emission: Rgb | None = None
    """light of its own, added to what is reflected"""


def modern(material: Material) -> GltfSurface:
    said = said_in_gltf(material.extras)
    base, glow = material.maps.get("texture1"), said.get("emissive")
    emission: Rgb | None = (1.0, 1.0, 1.0) if emits(material.maps.get("self_illumination")) else None
    if said.get("unlit") is True:
        emission = None
    elif isinstance(glow, list) and len(glow) == 3 and all(map(_is_number, glow)):
        strength = said.get("emissive_strength", 1.0)
        emission = shown_rgb([each * (strength if _is_number(strength) else 1.0) for each in glow])
    cutoff = said.get("alpha_cutoff", 0.5) if said.get("alpha_mode") == "MASK" else None
    return GltfSurface(base is not None and "gltf" in base.extras, cutoff if _is_number(cutoff) else None, emission)


def emits(map: TextureMap | None) -> bool:
    """Whether the pixels of a map are light, not shares of the surface's own colour."""
    return map is not None and role_of(map) == "emission"


def _is_number(value: object) -> bool:
    return type(value) in (int, float) and math.isfinite(value)  # type: ignore[arg-type]
