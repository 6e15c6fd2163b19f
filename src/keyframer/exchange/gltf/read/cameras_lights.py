"""Reads cameras and lights, from glTF or, in our own files, from the original values in extras."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from keyframer.catalogue import SEM_UNKNOWN_ENUM
from keyframer.exchange.gltf.conventions import shown_rgb
from keyframer.exchange.gltf.read import extras_reading
from keyframer.exchange.gltf.read.json_text import Findings, Item
from keyframer.exchange.gltf.write.cameras_lights import ASPECT_RATIO, unit_intensities
from keyframer.issues import Severity
from keyframer.posing import Rig
from keyframer.scene import Camera, Light, LightType, Scene

_TYPES = {"point": LightType.OMNI, "spot": LightType.SPOT, "directional": LightType.DIRECTIONAL}
_LIGHT_NUMBERS = "multiplier inner_range outer_range hotspot_degrees falloff_degrees roll_degrees aspect"
_LIGHT_FLAGS = "on attenuated rectangular casts_shadows"


def horizontal_fov(vertical_radians: npt.ArrayLike, aspect: float = ASPECT_RATIO) -> Any:
    """Return the horizontal field of view in degrees."""
    half = np.clip(np.asarray(vertical_radians, np.float64), 0.0, math.pi - 1e-6) / 2
    return np.degrees(2 * np.arctan(np.tan(half) * aspect))


class CameraReader:
    """Reads the cameras of one file."""

    def __init__(self, root: Item, issues: Findings) -> None:
        self.items = root.children("cameras")
        self._issues = issues
        self.lost: set[int] = set()
        """indices of cameras that could not be read, with salvage; empty cameras take their places"""
        self.aspects = [ASPECT_RATIO] * len(self.items)

    def read(self, *, from_keyframer: bool) -> list[Camera]:
        cameras = [
            self._issues.attempt(self._camera, number, item, from_keyframer) for number, item in enumerate(self.items)
        ]
        self.lost = {number for number, camera in enumerate(cameras) if camera is None}
        return [Camera("") if camera is None else camera for camera in cameras]

    def _camera(self, number: int, item: Item, from_keyframer: bool) -> Camera:
        camera = Camera(item.text("name", ""))
        extras = item.keyframer_extras
        if from_keyframer and item.has("perspective"):
            if extras is not None:
                extras_reading.restore(camera, extras, "fov_degrees roll_degrees", "shows_cone")
                camera.target = extras_reading.triple(extras, "target")
                for name in ("ranges", "clip"):
                    if extras.value.get(name) is not None and None not in extras.entries(name):
                        near, far = extras.numbers(name, 2)
                        setattr(camera, name, (near, far))
                camera.raw_name, camera.extras = extras_reading.raw_name(extras), extras_reading.format_extras(extras)
            return camera
        kind = item.choice("type", ("perspective", "orthographic"))
        lens = item.child(kind)
        if lens is None:
            raise item.missing(kind)
        near, far = lens.number("znear"), lens.number("zfar", math.inf)
        camera.clip = (near, far)
        if kind == "perspective":
            self.aspects[number] = aspect = lens.number("aspectRatio", ASPECT_RATIO)
            camera.fov_degrees = float(horizontal_fov(lens.number("yfov"), aspect))
            camera.extras = {"gltf": {"aspect": aspect}}
        else:
            camera.extras = {"gltf": {"orthographic": [lens.number("xmag"), lens.number("ymag")]}}
            self._issues.add(
                SEM_UNKNOWN_ENUM, item.at("type"), 0, severity=Severity.WARNING, value=kind, known="perspective"
            )
        return camera


class LightReader:
    """Reads the lights of one file."""

    def __init__(self, root: Item, issues: Findings) -> None:
        extension = root.extension("KHR_lights_punctual")
        self.items = [] if extension is None else extension.children("lights")
        self._issues = issues
        self.lost: set[int] = set()
        self.intensities: dict[int, float] = {}
        """intensities of the lights whose multiplier is not in extras"""

    def read(self, *, from_keyframer: bool) -> list[Light]:
        lights = [
            self._issues.attempt(self._light, number, item, from_keyframer) for number, item in enumerate(self.items)
        ]
        self.lost = {number for number, light in enumerate(lights) if light is None}
        return [Light("", LightType.OMNI) if light is None else light for light in lights]

    def _light(self, number: int, item: Item, from_keyframer: bool) -> Light:
        if from_keyframer and item.keyframer_extras is not None:
            return restored_light(item.keyframer_extras, item.text("name", ""))
        kind = item.choice("type", tuple(_TYPES))
        light = Light(item.text("name", ""), _TYPES[kind], shown_rgb(item.numbers("color", 3, (1.0, 1.0, 1.0))))
        intensity = item.number("intensity", 1.0)
        light.extras = {"gltf": {"intensity": intensity}}
        if item.has("range"):
            light.attenuated, light.outer_range = True, item.number("range")
        if kind == "spot":
            cone = item.child("spot")
            if cone is None:
                raise item.missing("spot")
            light.hotspot_degrees = 2 * math.degrees(cone.number("innerConeAngle", 0.0))
            light.falloff_degrees = 2 * math.degrees(cone.number("outerConeAngle", math.pi / 4))
        self.intensities[number] = intensity
        return light

    def set_multipliers(self, scene: Scene) -> list[float]:
        """Set multipliers from intensities; returns the intensity that each light has with a multiplier of 1."""
        rig = Rig(scene)
        shown = [not node.hidden for node in scene.nodes]
        units = unit_intensities(scene, rig.world(rig.sample([0.0]), 1)[0], shown)
        for number, intensity in self.intensities.items():
            scene.lights[number].multiplier = intensity / units[number]
        return units


def restored_light(extras: Item, name: str) -> Light:
    """Return a light with its original values, from extras."""
    light = Light(name, LightType(extras.choice("type", tuple(kind.value for kind in LightType), "omni")))
    color = extras_reading.triple(extras, "color")
    if color is not None:
        light.color = color
    light.target = extras_reading.triple(extras, "target")
    extras_reading.restore(light, extras, _LIGHT_NUMBERS, _LIGHT_FLAGS, "projector")
    light.excludes = [entry for entry in extras.entries("excludes") if type(entry) is str]
    light.raw_name, light.extras = extras_reading.raw_name(extras), extras_reading.format_extras(extras)
    return light
