"""The surface of a material as today's formats describe it: metalness, roughness, images and how they are placed."""

from __future__ import annotations

import math
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


def original_gltf_values(extras: dict[str, Any]) -> dict[str, Any]:
    """Return the original values of a part that was read from glTF; empty for other parts."""
    content = extras.get("gltf")
    return content if type(content) is dict else {}
