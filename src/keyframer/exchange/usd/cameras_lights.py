"""Writes cameras, and lights of UsdLux.

A light is as bright as its original at the centre of the visible scene (`keyframer.exchange.kit.cameras_lights`). With
``normalize``, a sphere light of the intensity I lights a surface at the distance d with I / (4 d^2), and a distant
light with I.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from keyframer.arrays import Floats
from keyframer.curves.key_reduction import vector_distance
from keyframer.exchange.kit.cameras_lights import ASPECT_RATIO, LightStart, cone_angles, dimming_difference
from keyframer.exchange.kit.colors import linear_color
from keyframer.exchange.kit.motion import Measure, Motion, lerp
from keyframer.exchange.kit.property_motions import COLOR_ERROR, PropertyMotions
from keyframer.exchange.usd.context import Context
from keyframer.exchange.usd.layer import Prim, number, row
from keyframer.maths.trigonometry import arctan2, sine_and_cosine
from keyframer.scene import Camera, Light, LightType
from keyframer.scene.losses import LIGHT_CHANGED, PART_WRITTEN

_APERTURE = 36.0
"""width of the picture of a camera, in tenths of a unit; focal lengths are in proportion"""
_RADIUS = 1e-3
"""radius of a lamp, as a fraction of the size of the scene"""
_NARROWEST, _WIDEST = 1e-4, 179.0
_KINDS = {
    LightType.OMNI: "SphereLight",
    LightType.SPOT: "SphereLight",
    LightType.DIRECTIONAL: "DistantLight",
    LightType.AMBIENT: "DomeLight",
}


def focal_length(horizontal_degrees: npt.ArrayLike) -> Floats:
    """Return the focal length for a horizontal field of view."""
    finite = np.nan_to_num(np.asarray(horizontal_degrees, np.float64), nan=48.0, posinf=_WIDEST, neginf=_NARROWEST)
    sine, cosine = sine_and_cosine(np.radians(np.clip(finite, _NARROWEST, _WIDEST)) / 2)
    return np.asarray(_APERTURE / 2 * cosine / sine)


def _angle_error(first: Floats, last: Floats, u: Floats, wanted: Floats) -> Floats:
    """Return the error of the field of view, in degrees, between linear focal lengths."""
    lengths = lerp(first, last, u), wanted
    angles = (np.degrees(2 * arctan2(np.full(np.shape(focal), _APERTURE / 2), focal)) for focal in lengths)
    return vector_distance(*angles)


_FOCAL_LENGTHS = Measure(vector_distance, _angle_error)


class CamerasAndLights:
    """Writes the cameras and lights of nodes, with their animation."""

    def __init__(
        self, context: Context, fov_degrees: list[float], starts: list[LightStart], intensities: list[float]
    ) -> None:
        """Fields of view and lights are those of the start; ``intensities`` are those for a multiplier of 1."""
        self._context = context
        self._fov_degrees, self._starts, self._intensities = fov_degrees, starts, intensities
        self._motions = PropertyMotions(context.motions, context.report)

    def write(self, node: int) -> None:
        """Write the camera and the light of a node below its prim."""
        scene, prim = self._context.scene, self._context.prims[node]
        camera, light = scene.nodes[node].camera, scene.nodes[node].light
        tracks = self._context.motions.tracks.get(node, {})
        if camera is not None:
            self._camera(prim, node, scene.cameras[camera], self._fov_degrees[camera], tracks)
        if light is not None:
            self._light(prim, node, light, tracks)

    def _animate(
        self, prim: Prim, declaration: str, value: str, motion: Motion | None, of: tuple[int, str, float, str]
    ) -> None:
        """Set an attribute; ``of`` is the node, the kind of the track, a factor and a unit for the error."""
        samples = None
        if motion is not None and not motion.sampler.is_still:
            values = motion.sampler.values
            samples = self._context.samples(motion.sampler, values[:, 0] if values.shape[1] == 1 else values)
            node, kind, factor, unit = of
            self._motions.report(node, kind, motion, "", factor, unit)
        prim.animate(declaration, value, samples)

    def _camera(self, parent: Prim, node: int, camera: Camera, fov: float, tracks: dict[str, int]) -> None:
        prim, size = parent.add("Camera", camera.name or parent.name), self._context.size
        motion = None
        if "fov" in tracks:
            degrees = self._context.options.max_degrees
            motion = self._motions.converted(tracks["fov"], degrees, focal_length, _FOCAL_LENGTHS)
        self._animate(prim, "float focalLength", number(float(focal_length(fov))), motion, (node, "fov", 1.0, "degree"))
        prim.set("float horizontalAperture", number(_APERTURE))
        prim.set("float verticalAperture", number(_APERTURE / ASPECT_RATIO))
        near, far = max(size * 1e-3, 1e-6), max(size * 1e3, 1.0)
        if camera.clip is not None and all(map(math.isfinite, camera.clip)) and 0 < camera.clip[0] < camera.clip[1]:
            near, far = camera.clip
        prim.set("float2 clippingRange", row((near, far)))
        self._context.report.add(PART_WRITTEN["camera"], f"/cameras/{camera.name}/fov", extras=camera.extras)

    def _light(self, parent: Prim, node: int, index: int, tracks: dict[str, int]) -> None:
        light, start, report = self._context.scene.lights[index], self._starts[index], self._context.report
        prim, path = parent.add(_KINDS[light.type], light.name or parent.name), f"/lights/{light.name}"
        color = np.nan_to_num(np.asarray(start.color, np.float64))
        brightest = max(float(color.max()), 1.0)
        unit = self._intensities[index] * brightest * (1.0 if light.on else 0.0)
        multiplier = start.multiplier if math.isfinite(start.multiplier) else 0.0
        if multiplier < 0:
            report.add(LIGHT_CHANGED["negative"], f"{path}/multiplier", extras=light.extras, multiplier=multiplier)
        motions: dict[str, Motion | None] = {}
        if "color" in tracks:
            motions["color"] = self._motions.converted(
                tracks["color"], COLOR_ERROR, lambda rgb: linear_color(rgb / brightest)
            )
        if "multiplier" in tracks:
            motions["multiplier"] = self._motions.converted(
                tracks["multiplier"], COLOR_ERROR * unit, lambda factor: unit * np.maximum(factor, 0.0)
            )
        shown = np.round(linear_color(color / brightest), 8)
        full = "of full light"
        self._animate(prim, "color3f inputs:color", row(shown), motions.get("color"), (node, "color", 1.0, full))
        intensity = number(float(f"{unit * max(multiplier, 0.0):.8g}"))
        of = node, "multiplier", 1.0 / (unit or 1.0), full
        self._animate(prim, "float inputs:intensity", intensity, motions.get("multiplier"), of)
        if light.type is LightType.DIRECTIONAL:
            prim.set("float inputs:angle", "0")
        if light.type is not LightType.AMBIENT:
            prim.set("bool inputs:normalize", "1")
        if light.type in (LightType.OMNI, LightType.SPOT):
            prim.set("float inputs:radius", number(_RADIUS * self._context.size))
            prim.set("bool treatAsPoint", "1")
            report.add(LIGHT_CHANGED["dimming"], path, extras=light.extras, difference=dimming_difference(light))
        else:
            report.add(PART_WRITTEN["part"], path, extras=light.extras)
        if light.type is LightType.SPOT:
            self._cone(prim, node, light, start, tracks)

    def _cone(self, prim: Prim, node: int, light: Light, start: LightStart, tracks: dict[str, int]) -> None:
        prim.schemas.append("ShapingAPI")
        motions: dict[str, Motion] = {}
        if "hotspot" in tracks or "falloff" in tracks:
            tolerances = {"angle": self._context.options.max_degrees, "softness": COLOR_ERROR}
            motions = self._motions.cones(tracks, start, tolerances, _cone)
        cone = _cone(start.hotspot_degrees, start.falloff_degrees or 45.0)
        for name, kind, unit in (("angle", "falloff", "degree"), ("softness", "hotspot", "of full light")):
            of = node, kind, 1.0, unit
            self._animate(prim, f"float inputs:shaping:cone:{name}", number(float(cone[name])), motions.get(name), of)
        report, extras, path = self._context.report, light.extras, f"/lights/{light.name}"
        hotspot, falloff = start.hotspot_degrees, start.falloff_degrees
        if falloff > 180:
            report.add(LIGHT_CHANGED["cone"], f"{path}/falloff_degrees", extras=extras, degrees=falloff)
        if hotspot > falloff > 0:
            report.add(
                LIGHT_CHANGED["bright cone"], f"{path}/hotspot_degrees", extras=extras, degrees=hotspot, outer=falloff
            )


def _cone(hotspot_degrees: npt.ArrayLike, falloff_degrees: npt.ArrayLike) -> dict[str, Floats]:
    """Return half the outer angle in degrees, and the fraction of it in which the light fades."""
    inner, outer = cone_angles(hotspot_degrees, falloff_degrees)
    return {"angle": np.degrees(outer), "softness": np.asarray(1.0 - inner / outer)}
