"""Writes cameras, and lights as KHR_lights_punctual; without extensions lights are in extras only.

The original programs store the horizontal field of view, glTF stores the vertical one. The original lights do not dim
with distance unless they are `attenuated`; those of glTF dim with its square, except directional ones. The intensity
is chosen so that the centre of the visible scene at the start is as bright as with the original light; it includes a
factor of pi, because a white surface reflects 1 / pi. Reading computes the same factors from the file.
"""

from __future__ import annotations

import math

import numpy as np

from keyframer.arrays import Floats
from keyframer.exchange.gltf.conventions import Json, attach_extras, non_default_fields, raw_name
from keyframer.exchange.gltf.write.options import Context
from keyframer.exchange.kit.cameras_lights import (
    ASPECT_RATIO,
    LightStart,
    cone_angles,
    dimming_difference,
    vertical_fov,
)
from keyframer.exchange.kit.colors import linear_color
from keyframer.exchange.kit.numbers import LARGEST_SINGLE
from keyframer.scene import Camera, Light, LightType
from keyframer.scene.losses import (
    FIELD_KEPT,
    LIGHT_CHANGED,
    LIGHTS_KEPT,
    PART_WRITTEN,
)
from keyframer.text import safe_text

_TYPES = {LightType.OMNI: "point", LightType.SPOT: "spot", LightType.DIRECTIONAL: "directional"}
_FIELDS_IN_EXTRAS = (
    "inner_range",
    "target",
    "roll_degrees",
    "rectangular",
    "aspect",
    "casts_shadows",
    "projector",
    "excludes",
)
"""fields of a light that glTF has no place for, which are stored in extras"""
_FIELDS_IN_GLTF = ("multiplier", "on", "attenuated", "outer_range", "hotspot_degrees", "falloff_degrees")
"""fields that are in extras only if the light cannot be written"""
_NOT_IN_GLTF = ("rectangular", "casts_shadows", "projector", "excludes", "inner_range")


class Lights:
    """Writes all lights except ambient ones, if extensions are allowed; `numbers` maps scene to glTF indices."""

    def __init__(self, context: Context, unit_intensities: list[float], starts: list[LightStart]) -> None:
        self.numbers: dict[int, int] = {}
        self.unit_intensities = unit_intensities
        self.starts = starts
        self._context = context
        for number, light in enumerate(context.scene.lights):
            path = f"/lights/{light.name}"
            if light.type not in _TYPES:
                context.report.add(LIGHTS_KEPT, path, extras=light.extras, lights="ambient lights")
                continue
            if not context.may_use_extensions:
                context.report.add(LIGHTS_KEPT, path, extras=light.extras, lights="lights without extensions")
                continue
            self.numbers[number] = len(context.asset.lights)
            context.asset.lights.append(self._light(number, light, path))
            context.asset.extensions.add("KHR_lights_punctual")

    def brightest(self, number: int) -> float:
        """Return the divisor of colours and factor of the intensity: the largest component at the start, at least 1."""
        return max(float(np.nan_to_num(np.asarray(self.starts[number].color)).max()), 1.0)

    def _light(self, number: int, light: Light, path: str) -> Json:
        report = self._context.report
        start = self.starts[number]
        color, brightest = np.nan_to_num(np.asarray(start.color, np.float64)), self.brightest(number)
        multiplier = start.multiplier if light.on and math.isfinite(start.multiplier) else 0.0
        if multiplier < 0:
            report.add(LIGHT_CHANGED["negative"], f"{path}/multiplier", extras=light.extras, multiplier=multiplier)
            multiplier = 0.0
        written: Json = {
            "type": _TYPES[light.type],
            "color": np.round(linear_color(color / brightest), 8).tolist(),
            "intensity": min(multiplier * brightest * self.unit_intensities[number], LARGEST_SINGLE),
        }
        name = safe_text(light.name)
        if name:
            written["name"] = name
        outer_range = light.outer_range or 0.0
        if light.attenuated and light.type is not LightType.DIRECTIONAL and 0 < outer_range < math.inf:
            written["range"] = outer_range * self._context.axes.unit
            unwritten: Json = {}
        else:
            unwritten = non_default_fields(light, "attenuated", "outer_range")
        if not multiplier:
            unwritten.update({"multiplier": light.multiplier, **non_default_fields(light, "on")})
        if light.type is LightType.SPOT:
            inner, outer = cone_angles(start.hotspot_degrees, start.falloff_degrees or 45.0)
            written["spot"] = {"innerConeAngle": float(inner), "outerConeAngle": float(outer)}
            self._report_cone(light, start, path)
        attach_extras(written, {**_fields_without_place(light, written.get("name")), **unwritten})
        if light.type is LightType.DIRECTIONAL and not light.attenuated:
            report.add(PART_WRITTEN["part"], path, extras=light.extras)
        else:
            report.add(LIGHT_CHANGED["dimming"], path, extras=light.extras, difference=dimming_difference(light))
        for attribute in non_default_fields(light, *_NOT_IN_GLTF):
            report.add(FIELD_KEPT["field"], f"{path}/{attribute}", extras=light.extras)
        return written

    def _report_cone(self, light: Light, start: LightStart, path: str) -> None:
        """Report cones that glTF cannot store: wider than half a turn, or with the bright one wider than the outer."""
        report, hotspot, falloff = self._context.report, start.hotspot_degrees, start.falloff_degrees
        if falloff > 180:
            report.add(LIGHT_CHANGED["cone"], f"{path}/falloff_degrees", extras=light.extras, degrees=falloff)
        if hotspot > falloff > 0:
            path, extras = f"{path}/hotspot_degrees", light.extras
            report.add(LIGHT_CHANGED["bright cone"], path, extras=extras, degrees=hotspot, outer=falloff)


def light_extras(light: Light) -> Json:
    """Return a light that cannot be written, for extras."""
    content: Json = {"type": light.type.value, "color": light.color, **non_default_fields(light, *_FIELDS_IN_GLTF)}
    return {**content, **_fields_without_place(light, safe_text(light.name))}


def _fields_without_place(light: Light, written_name: str | None) -> Json:
    content: Json = raw_name(light.raw_name, light.name, written_name)
    content.update(non_default_fields(light, *_FIELDS_IN_EXTRAS))
    if light.extras:
        content["extras"] = light.extras
    return content


def write_cameras(context: Context, fov_degrees: Floats) -> None:
    """Write all cameras of the scene in order, with the fields of view (C,) at the start."""
    for camera, fov in zip(context.scene.cameras, fov_degrees.tolist(), strict=True):
        context.asset.cameras.append(_camera(context, camera, fov))


def _camera(context: Context, camera: Camera, fov: float) -> Json:
    unit = context.axes.unit
    near = max(context.size * unit * 1e-3, 1e-6)
    lens: Json = {"yfov": float(vertical_fov(fov)), "aspectRatio": ASPECT_RATIO, "znear": near}
    if camera.clip is not None and all(map(math.isfinite, camera.clip)) and 0 < camera.clip[0] < camera.clip[1]:
        lens["znear"], lens["zfar"] = camera.clip[0] * unit, camera.clip[1] * unit
    written: Json = {"type": "perspective", "perspective": lens}
    name = safe_text(camera.name)
    if name:
        written["name"] = name
    content = raw_name(camera.raw_name, camera.name, written.get("name"))
    content.update(non_default_fields(camera, "roll_degrees", "target", "ranges", "shows_cone"))
    if "zfar" not in lens:
        content["znear"] = near  # glTF requires it
    if camera.extras:
        content["extras"] = camera.extras
    attach_extras(written, content)
    path = f"/cameras/{camera.name}"
    context.report.add(PART_WRITTEN["camera"], f"{path}/fov", extras=camera.extras)
    if camera.ranges is not None:
        context.report.add(FIELD_KEPT["field"], f"{path}/ranges", extras=camera.extras)
    return written
