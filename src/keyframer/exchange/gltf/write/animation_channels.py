"""Writes the channels of one glTF animation: samplers, visibility, and animated properties of cameras and lights. Equal
samplers are written once. Hidden geometry has a scale of 0, which every viewer supports, unless it is skinned; it also
has KHR_node_visibility. Animated properties need KHR_animation_pointer; they are in an animation of their own, because
VTK drops every animation with a channel that it does not know. With `GltfOptions.core_only` neither is used.
"""

from __future__ import annotations

import numpy as np

from keyframer.arrays import Array
from keyframer.exchange.gltf.conventions import Json
from keyframer.exchange.gltf.write.asset import Asset
from keyframer.exchange.gltf.write.cameras_lights import Lights
from keyframer.exchange.gltf.write.compact import ROTATION_FRACTIONS, rotation_fractions
from keyframer.exchange.gltf.write.nodes import NodeParts
from keyframer.exchange.gltf.write.options import Context
from keyframer.exchange.kit.cameras_lights import FIELDS_OF_VIEW, cone_angles, vertical_fov
from keyframer.exchange.kit.clip_motions import ClipMotions
from keyframer.exchange.kit.colors import linear_color
from keyframer.exchange.kit.motion import STEP, Motion, Sampler
from keyframer.exchange.kit.numbers import single
from keyframer.exchange.kit.property_motions import COLOR_ERROR, PropertyMotions
from keyframer.scene import LightType, Node
from keyframer.scene.loss_report import LossType
from keyframer.scene.losses import FIELD_KEPT, HIDING_LIMITED, MOTION_WRITTEN


class Channels:
    """Collects the channels of one animation."""

    def __init__(self, asset: Asset) -> None:
        self._asset = asset
        self._channels: list[tuple[Sampler, Json, str]] = []
        """samplers, targets, and types of numbers"""

    def __len__(self) -> int:
        return len(self._channels)

    def node(self, node: int, path: str, sampler: Sampler, number_type: str = "<f4") -> None:
        """Add a channel for a property of a node."""
        self._channels.append((sampler, {"node": node, "path": path}, number_type))

    def pointer(self, pointer: str, sampler: Sampler, number_type: str = "<f4") -> None:
        """Add a channel for any property, with KHR_animation_pointer."""
        self._asset.extensions.add("KHR_animation_pointer")
        target = {"path": "pointer", "extensions": {"KHR_animation_pointer": {"pointer": pointer}}}
        self._channels.append((sampler, target, number_type))

    def finish(self, name: str, end: float) -> Json:
        """Append the animation to the asset and return it. Equal samplers are written once. If all channels end before
        ``end``, in seconds, one property keeps its value until then, so that the animation is as long as the clip.
        """
        last = max(range(len(self._channels)), key=lambda place: float(self._channels[place][0].times[-1]))
        sampler, target, number_type = self._channels[last]
        if end > float(sampler.times[-1]) * (1 + 1e-6):
            self._channels[last] = sampler.extended(single([end])), target, number_type
        samplers: list[Json] = []
        numbers: dict[tuple[int, int, str], int] = {}
        channels = []
        for sampler, target, number_type in self._channels:
            is_fraction = number_type == ROTATION_FRACTIONS
            output: Array = sampler.output()
            output = rotation_fractions(output) if is_fraction else output.astype(number_type, copy=False)
            if target["path"] == "weights" or output.shape[1] == 1:
                output = output.reshape(-1)
            buffers = self._asset.buffers
            values = buffers.values(np.ascontiguousarray(output), normalized=is_fraction)
            key = buffers.times(sampler.times), values, sampler.mode
            if key not in numbers:
                numbers[key] = len(samplers)
                entry: Json = {"input": key[0], "output": key[1]}
                if sampler.mode != "LINEAR":
                    entry["interpolation"] = sampler.mode
                samplers.append(entry)
            channels.append({"sampler": numbers[key], "target": target})
        animation: Json = {"samplers": samplers, "channels": channels, "name": name}
        self._asset.animations.append(animation)
        return animation


class Properties:
    """Writes the channels of one clip that animate cameras and lights."""

    def __init__(self, context: Context, lights: Lights, channels: Channels, motions: ClipMotions) -> None:
        self._context = context
        self._lights = lights
        self._channels = channels
        self._bank = motions.rig.channels.bank
        self._motions = PropertyMotions(motions, context.report)

    def write(self, node: int, tracks: dict[str, int]) -> None:
        """Write the tracks of one node; ``tracks`` maps kinds to indices in the curve bank."""
        scene = self._context.scene
        if not self._context.may_use_extensions:
            for kind, number in tracks.items():
                path, extras = f"/nodes/{scene.nodes[node].name}/{kind}", self._bank.tracks[number].extras
                self._context.report.add(FIELD_KEPT["track"], path, extras=extras)
            return
        camera, light = scene.nodes[node].camera, scene.nodes[node].light
        degrees = self._context.options.max_degrees
        if camera is not None and "fov" in tracks:
            motion = self._motions.converted(tracks["fov"], np.radians(degrees), vertical_fov, FIELDS_OF_VIEW)
            self._write_motion(node, "fov", f"/cameras/{camera}/perspective/yfov", motion, np.degrees(1.0), "degree")
        if light is not None and light in self._lights.numbers:
            self._light(node, light, tracks, degrees)

    def _light(self, node: int, number: int, tracks: dict[str, int], degrees: float) -> None:
        light = self._context.scene.lights[number]
        base = f"/extensions/KHR_lights_punctual/lights/{self._lights.numbers[number]}"
        if "color" in tracks:
            brightest = self._lights.brightest(number)
            motion = self._motions.converted(tracks["color"], COLOR_ERROR, lambda v: linear_color(v / brightest))
            self._write_motion(node, "color", f"{base}/color", motion, 1.0, "of full light")
        if "multiplier" in tracks:
            factor = self._lights.unit_intensities[number] * self._lights.brightest(number) if light.on else 0.0
            motion = self._motions.converted(
                tracks["multiplier"], COLOR_ERROR * factor, lambda v: factor * np.maximum(v, 0.0)
            )
            self._write_motion(node, "multiplier", f"{base}/intensity", motion, 1.0 / (factor or 1.0), "of full light")
        if light.type is LightType.SPOT and ("hotspot" in tracks or "falloff" in tracks):
            kinds = {"innerConeAngle": "hotspot", "outerConeAngle": "falloff"}
            tolerances = dict.fromkeys(kinds, float(np.radians(degrees)))
            cones = self._motions.cones(
                tracks,
                self._lights.starts[number],
                tolerances,
                lambda *full: dict(zip(kinds, cone_angles(*full), strict=True)),
            )
            for name, motion in cones.items():
                self._write_motion(node, kinds[name], f"{base}/spot/{name}", motion, np.degrees(1.0), "degree")

    def _write_motion(
        self, node: int, kind: str, pointer: str, motion: Motion | None, factor: float, unit: str
    ) -> None:
        """Write a channel if the property moves, and report its error, multiplied by ``factor``, in ``unit``."""
        if motion is None or motion.sampler.is_still:
            return
        self._channels.pointer(pointer, motion.sampler)
        self._motions.report(node, kind, motion, "; players need KHR_animation_pointer", factor, unit)


_EXTENSION = "KHR_node_visibility"


def hide_node(context: Context, number: int, parts: NodeParts, visible: bool) -> None:
    """Hide the geometry of a node that is not visible at the start."""
    if parts.geometry is None or visible:
        return
    node: Json = context.asset.nodes[parts.geometry]
    if context.may_use_extensions:
        node.setdefault("extensions", {})[_EXTENSION] = {"visible": False}
        context.asset.extensions.add(_EXTENSION)
    scene_node = context.scene.nodes[number]
    path = f"/nodes/{scene_node.name}/hidden"
    if scene_node.skin is None:
        node["scale"] = [0.0, 0.0, 0.0]
    context.report.add(_hidden(scene_node), path, extras=scene_node.extras)


def _hidden(node: Node) -> LossType:
    """Return how a node is hidden: by a scale of 0, which does not affect skinned meshes."""
    return MOTION_WRITTEN["hidden"] if node.skin is None else HIDING_LIMITED


def animate_visibility(
    context: Context, number: int, parts: NodeParts, motion: Motion, channels: Channels, settings: Channels
) -> None:
    """Write a visibility track, steps of 0 and 1: as a scale to ``channels``, as KHR_node_visibility to
    ``settings``."""
    if parts.geometry is None:
        return
    steps = motion.sampler
    visible = (steps.values[:, :1] > 0.5).astype(np.float32)
    if context.scene.nodes[number].skin is None:
        channels.node(parts.geometry, "scale", Sampler.of(STEP, steps.times, np.repeat(visible, 3, axis=1)))
    if context.may_use_extensions:
        node: Json = context.asset.nodes[parts.geometry]
        # Babylon.js never shows a node that is not visible at the start: until it is animated, its scale hides it
        node.setdefault("extensions", {})[_EXTENSION] = {"visible": True}
        context.asset.extensions.add(_EXTENSION)
        pointer = f"/nodes/{parts.geometry}/extensions/{_EXTENSION}/visible"
        settings.pointer(pointer, Sampler.of(STEP, steps.times, visible), "|u1")
    scene_node = context.scene.nodes[number]
    context.report.add(_hidden(scene_node), f"/nodes/{scene_node.name}/visible", extras=scene_node.extras)
