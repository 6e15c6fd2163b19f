"""Cameras and lights as today's formats know them: vertical fields of view, cones, light that dims with distance."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from keyframer.arrays import Floats
from keyframer.curves.key_reduction import vector_distance
from keyframer.exchange.kit.boxes import shown_extent
from keyframer.exchange.kit.motion import Measure, lerp
from keyframer.maths import quat
from keyframer.posing.channels import Samples
from keyframer.posing.rig import AnimatedProperties
from keyframer.scene import Light, LightType, Scene

_GAP = math.radians(0.25)
"""smallest difference between the half angles of the cones: in glTF the inner cone must be smaller"""
_WIDEST_CONE = 1.5707963
"""the largest half angle of a cone: a float32 that is not above pi / 2"""


def cone_angles(hotspot_degrees: npt.ArrayLike, falloff_degrees: npt.ArrayLike) -> tuple[Floats, Floats]:
    """Return valid inner and outer half angles in radians from the full angles of the cones."""
    outer = np.nan_to_num(np.radians(np.asarray(falloff_degrees, np.float64)) / 2, nan=0.5)
    outer = np.clip(outer, 2 * _GAP, _WIDEST_CONE)
    inner = np.nan_to_num(np.radians(np.asarray(hotspot_degrees, np.float64)) / 2, nan=0.0)
    return np.clip(inner, 0.0, outer - _GAP), outer


def unit_intensities(scene: Scene, world: Floats, shown: list[bool], unit: float = 1.0) -> list[float]:
    """Return the glTF intensity of each light for a multiplier of 1, with nodes at ``world`` (nodes, 4, 4) and ``unit``
    metres per unit. The distance of a light to the centre (`shown_extent`) is at least a hundredth of the extent.
    """
    intensities = [math.pi] * len(scene.lights)
    light_nodes = [
        (number, node.light)
        for number, node in enumerate(scene.nodes)
        if node.light is not None and scene.lights[node.light].type in (LightType.OMNI, LightType.SPOT)
    ]
    if light_nodes:
        size, middle = shown_extent(scene, world, shown)
    for node, light in light_nodes:
        with np.errstate(all="ignore"):
            distance = float(quat.length_of(world[node, :3, 3] - middle))
        if not math.isfinite(distance):
            distance = size
        intensities[light] = math.pi * (max(distance, 0.01 * size) * unit) ** 2
    return intensities


@dataclass(eq=False, repr=False, slots=True)
class LightStart:
    """Values of a light at the start of the clip, from tracks or else from the light itself."""

    color: tuple[float, ...]
    multiplier: float
    hotspot_degrees: float
    falloff_degrees: float


def light_starts(properties: AnimatedProperties, samples: Samples) -> list[LightStart]:
    """Return the values of all lights at the first of the sampled times."""
    color, *numbers = (
        animated.at(samples, 1)[0].tolist()
        for animated in (properties.color, properties.multiplier, properties.hotspot, properties.falloff)
    )
    return [LightStart(rgb, *(row[0] for row in rows)) for rgb, *rows in zip(color, *numbers, strict=True)]


def dimming_difference(light: Light) -> str:
    """Return the text for the loss report on how a written light dims, and how the original one does."""
    if light.type is LightType.DIRECTIONAL:
        return "does not dim: this format has no ranges of directional lights"
    if light.attenuated:
        return "dims with the square of the distance; the original light dims between its two ranges"
    return "dims with the square of the distance; the original light does not dim"


ASPECT_RATIO = 4.0 / 3.0
"""aspect ratio of pictures: the original formats do not store it, and screens of the time had this one"""
_WIDEST = 179.0
_NARROWEST = 1e-4


def vertical_fov(horizontal_degrees: npt.ArrayLike) -> Floats:
    """Return the vertical field of view in radians."""
    finite = np.nan_to_num(np.asarray(horizontal_degrees, np.float64), nan=48.0, posinf=_WIDEST, neginf=_NARROWEST)
    half = np.radians(np.clip(finite, _NARROWEST, _WIDEST)) / 2
    return np.asarray(2 * np.arctan(np.tan(half) / ASPECT_RATIO))


def _field_of_view_error(first: Floats, last: Floats, u: Floats, wanted: Floats) -> Floats:
    """Return the larger error of a linear angle and of a linear focal length, which Blender interpolates."""
    with np.errstate(all="ignore"):
        focal = 2 * np.arctan(1 / lerp(1 / np.tan(first / 2), 1 / np.tan(last / 2), u))
        return np.maximum(vector_distance(lerp(first, last, u), wanted), vector_distance(focal, wanted))


FIELDS_OF_VIEW = Measure(vector_distance, _field_of_view_error)
"""measure of errors of vertical fields of view, in radians"""
