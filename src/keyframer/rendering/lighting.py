"""Lighting of surfaces: the lights of the file, or studio lights around the viewer."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from keyframer.arrays import Floats, Indices, Singles
from keyframer.posing import Pose
from keyframer.rendering.viewpoint import View
from keyframer.scene import Handedness, LightType

MOST_LIGHTS = 64
"""maximum number of lights; the brightest are used"""
_STUDIO_AMBIENT = 0.30


@dataclass(frozen=True, slots=True)
class Lamp:
    """One light. With a ``position`` it is an omni or (with a ``cone``) spot light, otherwise it is directional."""

    color: tuple[float, float, float]
    position: Floats | None = None
    direction: Floats | None = None
    """direction in which the light travels"""
    cone: tuple[float, float] | None = None
    """cosines of the half angles: full light inside the first, no light outside the second"""
    ranges: tuple[float, float] | None = None
    """distances: full light within the first, no light beyond the second"""


@dataclass(frozen=True, slots=True)
class Place:
    """Where pixels are."""

    position: Singles
    """(3, n)"""
    to_eye: Singles
    """(3, n) directions to the eye"""


@dataclass(frozen=True, slots=True)
class Lighting:
    """The light on a scene: ambient light and lamps."""

    lamps: tuple[Lamp, ...]
    ambient: tuple[float, float, float]

    @property
    def has_places(self) -> bool:
        """Whether the light is not the same everywhere."""
        return any(lamp.position is not None for lamp in self.lamps)

    def illuminate(
        self, normals: Singles, exponent: Singles | None, place: Place | None
    ) -> tuple[Singles, Singles | None]:
        """Return (3, n) light on the surface, and (3, n) light reflected to the eye: 0 for surfaces with exponent 0,
        None if there is no exponent. Both an exponent and lamps with places need the ``place``.
        """
        diffuse = np.empty_like(normals)
        diffuse[:] = np.array(self.ambient, np.float32)[:, None]
        shine = None if exponent is None else np.zeros_like(normals)
        glossy: Indices | slice = slice(None)
        if exponent is not None:
            if not exponent.all():
                glossy = np.flatnonzero(exponent)
            exponent = exponent[glossy]
        for lamp in self.lamps:
            towards, strength = _arriving(lamp, place)
            facing = dot(normals, towards)
            color = np.array(lamp.color, np.float32)[:, None]
            diffuse += np.maximum(facing, 0) * strength * color
            if shine is None or exponent is None or place is None or not len(exponent):
                continue
            half = (towards if towards.shape[1] == 1 else towards[:, glossy]) + place.to_eye[:, glossy]
            length = np.sqrt(dot(half, half))
            gloss = np.maximum(dot(normals[:, glossy], half) / np.maximum(length, np.float32(1e-6)), 0) ** exponent
            gloss *= facing[glossy] > 0
            shine[:, glossy] += gloss * (strength if strength.ndim == 0 else strength[glossy]) * color
        return diffuse, shine

    def plus(self, other: Lighting, fraction: float) -> Lighting:
        """Return this lighting plus a fraction of another."""
        dimmed = tuple(
            Lamp(_times(lamp.color, fraction), lamp.position, lamp.direction, lamp.cone, lamp.ranges)
            for lamp in other.lamps
        )
        ambient = tuple(a + fraction * b for a, b in zip(self.ambient, other.ambient, strict=True))
        return Lighting(self.lamps + dimmed, (ambient[0], ambient[1], ambient[2]))

    def times(self, factor: float) -> Lighting:
        return Lighting((), (0.0, 0.0, 0.0)).plus(self, factor)


def studio_lighting(view: View) -> Lighting:
    """Return a key light from the upper left of the viewer, a fill light from the right, and some ambient light."""
    key = -0.55 * view.right + 0.75 * view.up - 0.75 * view.forward
    fill = 0.85 * view.right + 0.1 * view.up - 0.6 * view.forward
    lamps = (
        Lamp((0.68, 0.68, 0.67), direction=-key / np.sqrt(np.sum(key * key))),
        Lamp((0.22, 0.22, 0.24), direction=-fill / np.sqrt(np.sum(fill * fill))),
    )
    return Lighting(lamps, (_STUDIO_AMBIENT,) * 3)


def file_lighting(pose: Pose, at: int) -> Lighting | None:
    """Return the lights of the scene at time index ``at``; None if no usable one is on (ambient ones do not count)."""
    scene = pose.scene
    lamps: list[tuple[float, Lamp]] = []
    ambient = np.array(scene.environment.ambient or (0.0, 0.0, 0.0), np.float64)
    sign = 1.0 if scene.space.handedness is Handedness.LEFT else -1.0
    for number, node in enumerate(scene.nodes):
        if node.light is None or not scene.lights[node.light].on:
            continue
        light = scene.lights[node.light]
        color = pose.light_colors[at, node.light] * pose.light_multipliers[at, node.light]
        position, direction = pose.world[at, number, :3, 3], sign * pose.world[at, number, :3, 2]
        if not (np.isfinite(color).all() and np.isfinite(position).all()) or not np.any(color):
            continue
        rgb = (float(color[0]), float(color[1]), float(color[2]))
        length = float(np.sqrt(np.sum(direction * direction)))
        if light.type is LightType.AMBIENT:
            ambient = ambient + color
            continue
        if light.type is not LightType.OMNI and not 0 < length < math.inf:
            continue
        ranges = _ranges(light.inner_range, light.outer_range) if light.attenuated else None
        if light.type is LightType.DIRECTIONAL:
            lamp = Lamp(rgb, direction=direction / length)
        elif light.type is LightType.SPOT:
            cone = _cone(pose.light_hotspot_degrees[at, node.light], pose.light_falloff_degrees[at, node.light])
            lamp = Lamp(rgb, position, direction / length, cone, ranges)
        else:
            lamp = Lamp(rgb, position, ranges=ranges)
        lamps.append((-float(np.abs(color).sum()), lamp))
    ambient = np.clip(np.nan_to_num(ambient), 0, 1)
    if not lamps:
        return None
    brightest = sorted(range(len(lamps)), key=lambda index: (lamps[index][0], index))[:MOST_LIGHTS]
    return Lighting(
        tuple(lamps[index][1] for index in sorted(brightest)), (float(ambient[0]), float(ambient[1]), float(ambient[2]))
    )


def _arriving(lamp: Lamp, place: Place | None) -> tuple[Singles, Singles]:
    """Return (3, n) directions to the lamp, and (n,) the fraction of its light that arrives; (3, 1) and one number if
    these are the same everywhere.
    """
    if lamp.position is None:
        assert lamp.direction is not None
        return -lamp.direction.astype(np.float32)[:, None], np.ones((), np.float32)
    assert place is not None
    positions = place.position
    to_lamp = lamp.position.astype(np.float32)[:, None] - positions
    distance = np.sqrt(dot(to_lamp, to_lamp))
    towards: Singles = (to_lamp / np.maximum(distance, np.float32(1e-20))).astype(np.float32, copy=False)
    strength = np.ones(positions.shape[1], np.float32)
    if lamp.ranges is not None:
        inner, outer = lamp.ranges
        strength *= np.clip((outer - distance) / (outer - inner), 0, 1).astype(np.float32)
    if lamp.cone is not None and lamp.direction is not None:
        full, none = lamp.cone
        cosine = -dot(towards, lamp.direction.astype(np.float32)[:, None])
        fraction: Singles = np.clip((cosine - none) / max(full - none, 1e-6), 0, 1)
        strength *= (fraction * fraction * (3 - 2 * fraction)).astype(np.float32)
    return towards, strength


def _cone(hotspot: float, falloff: float) -> tuple[float, float] | None:
    if not (math.isfinite(hotspot) and math.isfinite(falloff)) or falloff <= 0:
        return None
    outer = min(falloff, 179.0)
    return math.cos(math.radians(min(max(hotspot, 0.0), outer) / 2)), math.cos(math.radians(outer / 2))


def _ranges(inner: float | None, outer: float | None) -> tuple[float, float] | None:
    if inner is None or outer is None or not (math.isfinite(inner) and math.isfinite(outer)) or outer <= inner:
        return None
    return inner, outer


def dot(a: Singles, b: Singles) -> Singles:
    """Return the (n,) products of (3, n) vectors."""
    return np.asarray(a[0] * b[0] + a[1] * b[1] + a[2] * b[2])


def _times(color: tuple[float, float, float], factor: float) -> tuple[float, float, float]:
    return color[0] * factor, color[1] * factor, color[2] * factor
