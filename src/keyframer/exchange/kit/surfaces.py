"""The surface of a material as today's formats describe it: metalness, roughness, images and how they are placed."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from keyframer.arrays import Floats
from keyframer.exchange.kit.numbers import fraction
from keyframer.scene import Material, TextureMap

DEFAULT_DIFFUSE = (0.8, 0.8, 0.8)
"""colour of a material without one"""
METALNESS = 0.5
"""metallic factor of metal: 3D Studio draws it darker, with highlights in its own colour. At 1, nothing but highlights
is visible in a player that has no surroundings to reflect
"""


def roughness(material: Material) -> float:
    """Return roughness from the width of Phong highlights: shininess 0..1 is an exponent of 1 to 1024, as in the
    programs of the time; without strength there is no highlight.
    """
    shininess = fraction(material.shininess)
    exponent = 2.0 ** (10.0 * shininess)
    narrowness = 1.0 - math.sqrt(2.0 / (exponent + 2.0))
    return 1.0 - narrowness * fraction(material.shininess_strength, 1.0)


def metalness(material: Material) -> float:
    """Return the metallic factor of the shading of a material."""
    return METALNESS if material.shading == "metal" else 0.0


def image_matrix(texture_map: TextureMap, v_up: bool) -> Floats:
    """Return the (2, 3) matrix from texture coordinates to places in the image, v down: w' = R S (w - 1/2 - offset) +
    1/2, about its centre (`scene.TextureMap`); the identity for non-finite and huge numbers.
    """
    numbers = (*texture_map.scale, *texture_map.offset, texture_map.rotation_degrees)
    if not all(math.isfinite(number) and abs(number) < 1e6 for number in numbers):
        numbers = (1.0, 1.0, 0.0, 0.0, 0.0)
    su, sv, ou, ov, degrees = numbers
    cosine, sine = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    turn = np.array([[cosine, -sine], [sine, cosine]]) @ np.diag([su, sv])
    shift = np.array([0.5, 0.5]) - turn @ np.array([0.5 + ou, 0.5 + ov])
    if v_up:  # the given coordinates run up: 1 - v is down
        shift, turn = shift + turn[:, 1], turn * (1.0, -1.0)
    return np.column_stack([turn, shift])


@dataclass(frozen=True, slots=True)
class GltfMaterial:
    """What a material that was read from glTF says and `Material` has no field for; its extras have it as ``gltf``.

    A value is None if the material does not have it, or if the extras have something invalid there.
    """

    metallic: float | None = None
    roughness: float | None = None
    alpha_mode: str | None = None
    """``OPAQUE``, ``MASK`` or ``BLEND``"""
    emissive: list[float] | None = None
    """linear red, green and blue"""
    alpha_cutoff: float | None = None
    emissive_strength: float | None = None
    unlit: bool | None = None

    @classmethod
    def of(cls, material: Material) -> GltfMaterial:
        content = _gltf_extras(material.extras)
        names = ("metallic", "roughness", "alpha_cutoff", "emissive_strength")
        numbers = {name: content[name] for name in names if _is_number(content.get(name))}
        mode, glow = content.get("alpha_mode"), content.get("emissive")
        return cls(
            alpha_mode=mode if mode in ("OPAQUE", "MASK", "BLEND") else None,
            emissive=glow if isinstance(glow, list) and len(glow) == 3 and all(map(_is_number, glow)) else None,
            unlit=True if content.get("unlit") is True else None,
            **numbers,
        )


@dataclass(frozen=True, slots=True)
class GltfMap:
    """What the extras of a map that was read from glTF have as ``gltf``."""

    image: int | None = None
    """number of the image in the file"""
    embedded: bool | None = None
    role: str | None = None
    """what the pixels mean: ``color``, ``normal``, ``emission`` …"""
    sampler: dict[str, Any] | None = None
    """the stated wrap modes and filters"""

    @classmethod
    def of(cls, texture_map: TextureMap) -> GltfMap | None:
        """Return the values of a map; None if it was not read from glTF."""
        if "gltf" not in texture_map.extras:
            return None
        content = _gltf_extras(texture_map.extras)
        image, embedded, role, sampler = (content.get(field.name) for field in fields(cls))
        return cls(
            image if type(image) is int else None,
            embedded if type(embedded) is bool else None,
            role if isinstance(role, str) else None,
            sampler if type(sampler) is dict else None,
        )


def gltf_extras(values: GltfMaterial | GltfMap) -> dict[str, Any]:
    """Return the known values, for ``extras["gltf"]``."""
    given = {field.name: getattr(values, field.name) for field in fields(values)}
    return {name: value for name, value in given.items() if value is not None}


def _gltf_extras(extras: dict[str, Any]) -> dict[str, Any]:
    content = extras.get("gltf")
    return content if type(content) is dict else {}


def _is_number(value: object) -> bool:
    return type(value) in (int, float) and math.isfinite(value)  # type: ignore[arg-type]
