"""Reads cameras and lights; restores what glTF has no place for, and targets that cause the rotations of a file."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from keyframer.arrays import Floats
from keyframer.catalogue import SEM_UNKNOWN_ENUM
from keyframer.curves import Interpolation, Track
from keyframer.exchange.gltf.read import extras_reading
from keyframer.exchange.gltf.read.json_text import Findings, Item
from keyframer.exchange.kit.aims import scene_of_nodes
from keyframer.exchange.kit.cameras_lights import ASPECT_RATIO, unit_intensities
from keyframer.exchange.kit.colors import shown_rgb
from keyframer.issues import Severity
from keyframer.maths import affine, quat
from keyframer.maths.trigonometry import arctan2
from keyframer.posing import Rig
from keyframer.posing.bounds_and_duration import clip_span
from keyframer.posing.evaluation_order import evaluation_order, reachable
from keyframer.posing.local_matrices import aim_matrices
from keyframer.scene import Camera, Channel, Clip, Light, LightType, Node, NodeKind, Scene

_TYPES = {"point": LightType.OMNI, "spot": LightType.SPOT, "directional": LightType.DIRECTIONAL}
Position = tuple[float, float, float]


def horizontal_fov(vertical_radians: npt.ArrayLike, aspect: float = ASPECT_RATIO) -> Any:
    """Return the horizontal field of view in degrees."""
    half = np.clip(np.asarray(vertical_radians, np.float64), 0.0, math.pi - 1e-6) / 2
    return np.degrees(2 * np.arctan(np.tan(half) * aspect))


class CameraReader:
    """Reads the cameras of one file."""

    def __init__(self, root: Item, issues: Findings, unit: float) -> None:
        """``unit`` is the length of a unit of the scene in metres."""
        self.items = root.children("cameras")
        self._issues = issues
        self._unit = unit
        self.lost: set[int] = set()
        """indices of cameras that could not be read, with salvage; empty cameras take their places"""
        self.aspects = [ASPECT_RATIO] * len(self.items)
        self.targets: dict[int, Position] = {}
        """target positions by camera, for `TargetReader`"""

    def read(self) -> list[Camera]:
        cameras = [self._issues.attempt(self._camera, number, item) for number, item in enumerate(self.items)]
        self.lost = {number for number, camera in enumerate(cameras) if camera is None}
        return [Camera("") if camera is None else camera for camera in cameras]

    def _camera(self, number: int, item: Item) -> Camera:
        camera = Camera(item.text("name", ""))
        extras = item.keyframer_extras
        if extras is not None:
            if (target := extras_reading.triple(extras, "target")) is not None:
                self.targets[number] = target
            extras_reading.restore(camera, extras, "roll_degrees", "shows_cone")
            if extras.value.get("ranges") is not None and None not in extras.entries("ranges"):
                near, far = extras.numbers("ranges", 2)
                camera.ranges = (near, far)
            camera.raw_name = extras_reading.raw_name(extras, item.value.get("name"))
            camera.extras = extras_reading.format_extras(extras)
        kind = item.choice("type", ("perspective", "orthographic"))
        lens = item.child(kind)
        if lens is None:
            raise item.missing(kind)
        near, far = lens.number("znear"), lens.number("zfar", math.inf)
        if extras is None or extras.value.get("znear") != near or lens.has("zfar"):  # not the one that we had to add
            camera.clip = (near / self._unit, far / self._unit)
        if kind == "perspective":
            self.aspects[number] = aspect = lens.number("aspectRatio", ASPECT_RATIO)
            camera.fov_degrees = float(horizontal_fov(lens.number("yfov"), aspect))
            if extras is None or aspect != ASPECT_RATIO:
                camera.extras["gltf"] = {"aspect": aspect}
        else:
            camera.extras["gltf"] = {"orthographic": [lens.number("xmag"), lens.number("ymag")]}
            self._issues.add(
                SEM_UNKNOWN_ENUM, item.at("type"), 0, severity=Severity.WARNING, value=kind, known="perspective"
            )
        return camera


class LightReader:
    """Reads the lights of one file."""

    def __init__(self, root: Item, issues: Findings, unit: float) -> None:
        """``unit`` is the length of a unit of the scene in metres."""
        extension = root.extension("KHR_lights_punctual")
        self.items = [] if extension is None else extension.children("lights")
        self._issues = issues
        self._unit = unit
        self.lost: set[int] = set()
        self._intensities: dict[int, float] = {}
        self.targets: dict[int, Position] = {}
        """target positions by light, for `TargetReader`"""

    def read(self) -> list[Light]:
        lights = [self._issues.attempt(self._light, number, item) for number, item in enumerate(self.items)]
        self.lost = {number for number, light in enumerate(lights) if light is None}
        return [Light("", LightType.OMNI) if light is None else light for light in lights]

    def _light(self, number: int, item: Item) -> Light:
        kind = item.choice("type", tuple(_TYPES))
        light = Light(item.text("name", ""), _TYPES[kind], shown_rgb(item.numbers("color", 3, (1.0, 1.0, 1.0))))
        intensity = item.number("intensity", 1.0)
        extras = item.keyframer_extras
        if extras is None:
            light.extras = {"gltf": {"intensity": intensity}}
        else:
            _restore_light(light, extras, item.value.get("name"))
            if (target := extras_reading.triple(extras, "target")) is not None:
                self.targets[number] = target
        if item.has("range"):
            light.attenuated, light.outer_range = True, item.number("range") / self._unit
        if kind == "spot":
            cone = item.child("spot")
            if cone is None:
                raise item.missing("spot")
            light.hotspot_degrees = 2 * math.degrees(cone.number("innerConeAngle", 0.0))
            light.falloff_degrees = 2 * math.degrees(cone.number("outerConeAngle", math.pi / 4))
        if intensity or extras is None or not extras.has("multiplier"):
            light.on = True
            self._intensities[number] = intensity
        else:  # a light that is switched off, or a negative one, has no intensity in glTF
            extras_reading.restore(light, extras, "multiplier", "on")
        return light

    def set_multipliers(self, scene: Scene) -> None:
        """Set multipliers from intensities, and change tracks of intensities into tracks of multipliers."""
        rig = Rig(scene)
        samples = rig.sample([clip_span(rig.clip)[0]])
        shown = (rig.properties.visible.at(samples, 1)[0, :, 0] > 0.5).tolist()
        units = unit_intensities(scene, rig.world(samples, 1)[0], shown, self._unit)
        for number, intensity in self._intensities.items():
            scene.lights[number].multiplier = intensity / units[number]
        for channel in (channel for clip in scene.clips for channel in clip.channels):
            light = scene.nodes[channel.node].light
            if channel.track.kind == "multiplier" and light is not None:
                for name in ("values", "tangents_in", "tangents_out"):
                    if (column := getattr(channel.track, name)) is not None:
                        setattr(channel.track, name, column / units[light])


def restored_light(extras: Item, name: str) -> Light:
    """Return a light that glTF has no place for, from extras: an ambient one, or any if extensions were not allowed."""
    light = Light(name, LightType(extras.choice("type", tuple(kind.value for kind in LightType), "omni")))
    color = extras_reading.triple(extras, "color")
    if color is not None:
        light.color = color
    extras_reading.restore(light, extras, "multiplier hotspot_degrees falloff_degrees", "on")
    _restore_light(light, extras, extras.value.get("name"))
    light.target = extras_reading.triple(extras, "target")
    return light


def _restore_light(light: Light, extras: Item, name: object) -> None:
    """Set the properties that glTF lights do not have."""
    numbers, flags = "inner_range outer_range roll_degrees aspect", "attenuated rectangular casts_shadows"
    extras_reading.restore(light, extras, numbers, flags, "projector")
    light.excludes = [entry for entry in extras.entries("excludes") if type(entry) is str]
    light.raw_name, light.extras = extras_reading.raw_name(extras, name), extras_reading.format_extras(extras)


_CLOSEST = 6e-4
"""seconds between two keys that are a jump: nothing is compared inside"""
_MOST_DEGREES = 0.1
"""largest difference between a rotation and the aim at a target; two of 79 targets of real files are so close to their
camera that the error of places that the exporter allows turns it by more: these cameras keep their rotations
"""
_SAME_ROLL = 0.05
"""degrees between rolls that count as the same"""
_MOST_MATRICES = 2_000_000
"""maximum number of matrices that are computed to compare one target with the rotation of its node"""


class TargetReader:
    """Restores the targets of cameras and lights of our own files. glTF has none, it has the rotations that they cause.
    A target is restored only if it causes the rotations that the file shows, at all keys and halfway between them: then
    it replaces them. The roll follows from the rotations.
    """

    def __init__(self, scene: Scene, items: list[Item]) -> None:
        """``items`` are the nodes of the file that those of the scene were read from."""
        self._scene = scene
        self._items = items
        self._order = evaluation_order(scene.nodes)
        self._channels: list[dict[int, list[Channel]]] = []
        """for each clip: channels by node"""
        for clip in scene.clips:
            self._channels.append({})
            for channel in clip.channels:
                self._channels[-1].setdefault(channel.node, []).append(channel)
        self._aimed: dict[int, list[tuple[Floats, Floats]]] = {}
        """the rolls of the nodes whose targets are restored, for each clip"""
        self._places = {str(item.value.get("name")): place for place, item in enumerate(items)}

    def restore(self, of_cameras: dict[int, Position], of_lights: dict[int, Position]) -> None:
        """Restore targets that are nodes, and target positions by the index of a camera or light."""
        users = Counter((part, getattr(node, part)) for node in self._scene.nodes for part in ("camera", "light"))
        for place, (node, item) in enumerate(zip(self._scene.nodes, self._items, strict=True)):
            extras = item.keyframer_extras
            name = None if extras is None else extras.value.get("target")
            if extras is None and (node.camera is not None or node.light is not None):
                name = f"{item.value.get('name')}.target"  # our name for targets, if another program lost our extras
            target = self._places.get(name) if type(name) is str else None
            if target is not None:
                self._restore(place, node, target, None)
                goal = self._scene.nodes[target]
                if extras is None and node.target == target and goal.mesh is None:
                    goal.kind = NodeKind.TARGET
                continue
            for part, positions in (("camera", of_cameras), ("light", of_lights)):
                position = positions.get(getattr(node, part))
                if position is not None and users[part, getattr(node, part)] == 1:
                    self._restore(place, node, None, position)
        for number, clip in enumerate(self._scene.clips):
            clip.channels = [
                channel
                for channel in clip.channels
                if channel.node not in self._aimed or channel.track.kind not in ("rotation", "scale")
            ]
            for place, rolls in self._aimed.items():
                if rolls:
                    times, values = rolls[number]
                    clip.channels.append(Channel(place, Track("roll", times, values, Interpolation.LINEAR)))

    def _restore(self, place: int, node: Node, target: int | None, position: Position | None) -> None:
        part: Any = self._scene.cameras[node.camera] if node.camera is not None else None
        if part is None and node.light is not None:
            part = self._scene.lights[node.light]
        if part is None or (node.light is not None and part.type in (LightType.OMNI, LightType.AMBIENT)):
            node.target = target  # without effect
            return
        rolls = [
            self._rolls(place, clip, channels, target, position)
            for clip, channels in zip(self._scene.clips or [Clip()], self._channels or [{}], strict=True)
        ]
        known_rolls = [roll for roll in rolls if roll is not None]
        if len(known_rolls) < len(rolls):
            part.roll_degrees = 0.0
            return
        node.rotation_xyzw, node.scale = np.array([0.0, 0.0, 0.0, 1.0]), np.ones(3)
        node.target = target
        if position is not None:
            part.target = position
        self._aimed[place] = []
        for roll in (part.roll_degrees, float(known_rolls[0][1][0])):
            if all(np.abs(_difference(values, roll)).max() <= _SAME_ROLL for _, values in known_rolls):
                part.roll_degrees = roll
                return
        self._aimed[place] = known_rolls

    def _rolls(
        self, place: int, clip: Clip, channels: dict[int, list[Channel]], target: int | None, position: Position | None
    ) -> tuple[Floats, Floats] | None:
        """Return times, and the roll of a node in degrees at each; None if the target does not cause its rotations."""
        aimed_at = set() if target is None else self._with_ancestors(target)
        involved = sorted({*self._with_ancestors(place), *aimed_at})
        used = [channel for node in involved for channel in channels.get(node, ())]
        keys = np.unique(np.concatenate([[clip.start], *(channel.track.times for channel in used)]))
        keys = keys[np.isfinite(keys)]
        if 2 * len(keys) * len(involved) > _MOST_MATRICES or place in aimed_at:
            return None
        gaps = np.flatnonzero(np.diff(keys) > _CLOSEST * clip.rate)
        times = np.unique(np.concatenate([keys, (keys[gaps] + keys[gaps + 1]) / 2]))
        part = scene_of_nodes(self._scene, self._order, replace(clip, channels=used), tuple(involved))
        rig = Rig(part)
        world = rig.world(rig.sample(times), len(times))
        seen = world[:, involved.index(place)]
        goal = np.asarray(position, np.float64) if target is None else world[:, involved.index(target), :3, 3]
        with np.errstate(all="ignore"):
            goals = np.broadcast_to(goal, (len(times), 3))
            aimed = aim_matrices(self._scene, seen[:, :3, 3], goals, np.zeros(len(times)))[:, :3, :3]
            turned = seen[:, :3, :3] / np.sqrt(np.sum(seen[:, :3, :3] ** 2, axis=1, keepdims=True))
            between = affine.multiply(np.swapaxes(aimed, 1, 2), turned)
            off = np.degrees(arctan2(quat.length_of(between[:, :2, 2]), between[:, 2, 2]))
            rolls = np.degrees(np.unwrap(-arctan2(between[:, 1, 0], between[:, 0, 0])))
        return (times, rolls) if (off <= _MOST_DEGREES).all() else None

    def _with_ancestors(self, node: int) -> set[int]:
        return set(reachable([node], lambda other: [int(self._order.parents[other])]))


def _difference(degrees: Floats, other: float) -> Floats:
    """Return differences of angles, from -180 to 180."""
    return np.asarray((degrees - other + 180.0) % 360.0 - 180.0)
