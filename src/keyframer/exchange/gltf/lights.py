"""Lights as KHR_lights_punctual. Without extensions they are in extras only: core glTF has none.

The old lights do not weaken with distance. glTF's do, by its square, so that their strength is chosen to be the old
one at the middle of what is shown at the beginning (and pi times it, because a white surface gives back the pi-th
part). Reading divides by the same numbers: all that they depend on is in core glTF.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from keyframer.exchange.gltf.asset import Json
from keyframer.exchange.gltf.context import Context
from keyframer.exchange.gltf.extent import shown_extent
from keyframer.exchange.gltf.extras import attach, plain, raw_name, shown_name, stated
from keyframer.exchange.gltf.numbers import LARGEST, linear_color
from keyframer.exchange.report import Outcome
from keyframer.scene import Light, LightType, Scene

Floats = npt.NDArray[np.float64]

_TYPES = {LightType.OMNI: "point", LightType.SPOT: "spot", LightType.DIRECTIONAL: "directional"}
_KEPT = (
    "multiplier",
    "on",
    "attenuated",
    "inner_range",
    "outer_range",
    "target",
    "hotspot_degrees",
    "falloff_degrees",
    "roll_degrees",
    "rectangular",
    "aspect",
    "casts_shadows",
    "projector",
    "excludes",
)
_UNSAID = ("rectangular", "casts_shadows", "projector", "excludes", "inner_range")
_GAP = math.radians(0.25)
"""between the cones: glTF wants the inner one smaller"""


def cone_angles(hotspot_degrees: npt.ArrayLike, falloff_degrees: npt.ArrayLike) -> tuple[Floats, Floats]:
    """Inner and outer half angles in radians from the full angles of the cones."""
    outer = np.nan_to_num(np.radians(np.asarray(falloff_degrees, np.float64)) / 2, nan=0.5)
    outer = np.clip(outer, 2 * _GAP, math.pi / 2)
    inner = np.nan_to_num(np.radians(np.asarray(hotspot_degrees, np.float64)) / 2, nan=0.0)
    return np.clip(inner, 0.0, outer - _GAP), outer


def strengths(scene: Scene, world: Floats, shown: npt.NDArray[np.bool_], unit: float = 1.0) -> list[float]:
    """What a multiplier of 1 of each light is in glTF's units, where ``world`` (nodes, 4, 4) puts the nodes. A light
    that is nearer to the middle than a hundredth of the scene's size counts as that far away."""
    found = [math.pi] * len(scene.lights)
    shining = [
        (number, node.light)
        for number, node in enumerate(scene.nodes)
        if node.light is not None and scene.lights[node.light].type in (LightType.OMNI, LightType.SPOT)
    ]
    if shining:
        size, middle = shown_extent(scene, world, shown)
    for node, light in shining:
        with np.errstate(all="ignore"):
            distance = float(np.linalg.norm(world[node, :3, 3] - middle))
        if not math.isfinite(distance):
            distance = size
        found[light] = math.pi * (max(distance, 0.01 * size) * unit) ** 2
    return found


@dataclass(frozen=True, slots=True)
class Beginning:
    """What tracks say of a light at the beginning; the values of the light itself where there are none."""

    color: tuple[float, ...]
    multiplier: float
    hotspot_degrees: float
    falloff_degrees: float


class Lights:
    """All lights but ambient ones; `numbers` leads from the scene's numbers to glTF's."""

    def __init__(self, context: Context, strengths: list[float], beginnings: list[Beginning]) -> None:
        self.numbers: dict[int, int] = {}
        self.strengths = strengths
        self.beginnings = beginnings
        self._context = context
        for number, light in enumerate(context.scene.lights):
            path = f"/lights/{light.name}"
            if light.type not in _TYPES:
                context.report.add(Outcome.EXTRAS, path, "ambient light", extras=light.extras)
                continue
            if not context.extensions:
                context.report.add(Outcome.EXTRAS, path, "core glTF has no lights", extras=light.extras)
                continue
            self.numbers[number] = len(context.asset.lights)
            context.asset.lights.append(self._light(number, light, path))
            context.asset.extensions.add("KHR_lights_punctual")

    def brightest(self, number: int) -> float:
        """What the colours of a light are divided by, so that none is above 1, and its intensity multiplied with."""
        return max(float(np.nan_to_num(np.asarray(self.beginnings[number].color)).max()), 1.0)

    def _light(self, number: int, light: Light, path: str) -> Json:
        report = self._context.report
        begins = self.beginnings[number]
        shown, brightest = np.nan_to_num(np.asarray(begins.color, np.float64)), self.brightest(number)
        power = begins.multiplier if light.on and math.isfinite(begins.multiplier) else 0.0
        if power < 0:
            report.add(Outcome.APPROXIMATED, f"{path}/multiplier", f"{power:g} becomes 0", extras=light.extras)
            power = 0.0
        written: Json = {
            "type": _TYPES[light.type],
            "color": np.round(linear_color(shown / brightest), 6).tolist(),
            "intensity": min(power * brightest * self.strengths[number], LARGEST),
        }
        name = shown_name(light.name)
        if name:
            written["name"] = name
        reach = light.outer_range or 0.0
        if light.attenuated and light.type is not LightType.DIRECTIONAL and 0 < reach < math.inf:
            written["range"] = reach * self._context.axes.unit
        if light.type is LightType.SPOT:
            inner, outer = cone_angles(begins.hotspot_degrees, begins.falloff_degrees or 45.0)
            written["spot"] = {"innerConeAngle": float(inner), "outerConeAngle": float(outer)}
        attach(written, light_extras(light))
        report.add(
            Outcome.APPROXIMATED, path, "weakens with distance, which the old light did not", extras=light.extras
        )
        for attribute in stated(light, *_UNSAID):
            report.add(Outcome.EXTRAS, f"{path}/{attribute}", extras=light.extras)
        return written


def light_extras(light: Light) -> Json:
    """The old light, whole."""
    content = {"type": light.type.value, "color": plain(light.color)}
    content.update({**raw_name(light.raw_name, light.name), **stated(light, *_KEPT)})
    if light.extras:
        content["extras"] = plain(light.extras)
    return content
