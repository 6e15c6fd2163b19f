"""Reads animations, and what extras of our own files say about clips, axes and environment."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from keyframer.arrays import Floats
from keyframer.catalogue import DATA_KEYS_NOT_INCREASING, LINK_RANGE_OVERLAP, SEM_UNKNOWN_ENUM, STRUCT_SYNTAX
from keyframer.curves import Interpolation, RotationForm, Track
from keyframer.exchange.gltf.read import extras_reading
from keyframer.exchange.gltf.read.accessors import Accessors
from keyframer.exchange.gltf.read.cameras_lights import horizontal_fov
from keyframer.exchange.gltf.read.json_text import Findings, Item
from keyframer.exchange.gltf.read.nodes import Hierarchy
from keyframer.exchange.kit.axes import Axes
from keyframer.exchange.kit.colors import shown_color
from keyframer.issues import Severity
from keyframer.limits import Budget
from keyframer.scene import Channel, Clip, Environment, Fog, Gradient, Handedness, LayeredFog, RawChannel, Scene, Space
from keyframer.text import counted, safe_text

DEFAULT_FPS = 30.0
"""frame rate of animations that we did not write, because glTF has no frames"""

_KINDS = {"translation": ("position", 3), "rotation": ("rotation", 4), "scale": ("scale", 3)}
_NODE = re.compile(r"/nodes/(0|[1-9][0-9]{0,8})/(translation|rotation|scale|weights)\Z")
_POINTED_NODE = re.compile(r"/nodes/(0|[1-9][0-9]{0,8})/.*?(translation|rotation|scale|weights|visible)\b")
_VISIBLE = re.compile(r"/nodes/(0|[1-9][0-9]{0,8})/extensions/KHR_node_visibility/visible\Z")
_FOV = re.compile(r"/cameras/(0|[1-9][0-9]{0,8})/perspective/yfov\Z")
_LIGHT = re.compile(
    r"/extensions/KHR_lights_punctual/lights/(0|[1-9][0-9]{0,8})/"
    r"(color|intensity|spot/innerConeAngle|spot/outerConeAngle)\Z"
)
_LIGHT_PROPERTIES: dict[str, tuple[str, int, Callable[[Any], Any]]] = {
    "color": ("color", 3, shown_color),
    "intensity": ("multiplier", 1, np.asarray),  # `LightReader.set_multipliers` makes multipliers of intensities
    "spot/innerConeAngle": ("hotspot", 1, lambda values: np.degrees(2 * values)),
    "spot/outerConeAngle": ("falloff", 1, lambda values: np.degrees(2 * values)),
}


class ClipSettings:
    """What our exporter writes about a clip that glTF has no place for; ``item`` is its entry in the extras."""

    def __init__(self, item: Item, budget: Budget, issues: Findings) -> None:
        self.animation = item.text("animation", "")
        """name of the animation with its motion; empty if nothing moves"""
        self.origin = item.number("origin", 0.0)
        """time of the clip at second 0"""
        self.duration = item.number("duration", 0.0)
        """seconds of the animation, as it was written"""
        clip = self.clip = Clip(item.text("name", ""), unit=item.choice("unit", ("frame", "tick", "second"), "frame"))
        extras_reading.restore(clip, item, "start end rate units_per_frame current")
        for name in ("rate", "units_per_frame"):
            if getattr(clip, name) <= 0:
                raise item.fail(STRUCT_SYNTAX, name, wanted="a positive number", found=f"{getattr(clip, name):g}")
        bounds = extras_reading.array(item, "bounds", budget)
        clip.bounds = bounds if bounds is not None and bounds.shape[1:] == (2, 3) else None
        for channel in item.children("raw_channels"):
            values = extras_reading.array(channel, "values", budget)
            if values is not None and values.ndim == 2:
                raw = RawChannel(channel.text("name", ""), values, extras_reading.format_extras(channel))
                clip.raw_channels.append(raw)
        clip.extras = extras_reading.format_extras(item)


class AnimationReader:
    """Reads animations as clips: in the frames of their source if `ClipSettings` has them, otherwise in seconds."""

    def __init__(
        self,
        scene: Scene,
        hierarchy: Hierarchy,
        axes: Axes,
        accessors: Accessors,
        budget: Budget,
        issues: Findings,
        aspects: list[float],
        light_count: int,
    ) -> None:
        self._scene = scene
        self._hierarchy = hierarchy
        self._axes = axes
        self._accessors = accessors
        self._budget = budget
        self._issues = issues
        self._aspects = aspects
        self._light_count = light_count
        self._children: list[list[int]] | None = None
        self._origin = 0.0

    def read(self, items: list[Item], fps: float, settings: ClipSettings | None) -> Clip:
        """Read a clip from its animations: one, or in our own files one with the motion and one with settings. Without
        ``settings`` a second has ``fps`` frames.
        """
        name = self._issues.attempt(items[0].text, "name", "") or ""
        clip = Clip(name, rate=1.0, unit="second", units_per_frame=1.0 / fps) if settings is None else settings.clip
        self._origin = 0.0 if settings is None else settings.origin
        end = clip.start
        for item in items:
            samplers = SamplerReader(item, self._accessors, self._budget, self._issues)
            animated: dict[tuple[int, str], int] = {}
            for number, channel in enumerate(item.children("channels")):
                last = self._issues.attempt(self._channel, clip, samplers, channel, number, animated)
                end = end if last is None else max(end, last)
        if settings is None or abs((end - settings.origin) / clip.rate - settings.duration) > _TIME_TOLERANCE * (
            1.0 + settings.duration
        ):
            clip.end = end  # otherwise it is as long as it was written
        return clip

    def _channel(
        self, clip: Clip, samplers: SamplerReader, channel: Item, number: int, animated: dict[tuple[int, str], int]
    ) -> float:
        """Read a channel; returns the time of its last key. ``animated`` has the first channel of each node and kind;
        later ones are ignored, except for visibility.
        """
        sampler = channel.needed_index("sampler", len(samplers.items), "sampler")
        target = channel.child("target")
        if target is None:
            raise channel.missing("target")
        last = clip.start
        for node, kind, keys in self._targets(samplers, sampler, target):
            first = animated.setdefault((node, kind), number)
            if first != number and kind != "visible":  # a node can be hidden itself or by an ancestor
                what = f"{kind} of {safe_text(self._scene.nodes[node].name)}"
                args = {"what": "channel", "item": number, "kind": "the", "index": what, "other": first}
                self._issues.add(LINK_RANGE_OVERLAP, channel.path, 0, severity=None, **args)
                continue
            track = keys.track(kind, self._origin, clip.rate)
            times = track.times[np.isfinite(track.times)]
            last = max(last, float(times.max(initial=last)))
            if kind == "visible" and _is_known(clip, node, track):
                continue
            clip.channels.append(Channel(node, track))
        return last

    def _targets(self, samplers: SamplerReader, number: int, target: Item) -> Iterator[tuple[int, str, Keys]]:
        """Yield the nodes of the scene that a channel animates, each with the kind of its track and the keys."""
        path = target.text("path")
        if path == "pointer":
            extension = target.extension("KHR_animation_pointer")
            if extension is None:  # glTF-Transform keeps the channel but not the extension
                self._report_unknown(target.at("path"), path)
            else:
                yield from self._pointed(samplers, number, extension)
            return
        node = target.index("node", len(self._hierarchy.items), "node")
        if node is None:
            return
        if path not in (*_KINDS, "weights"):
            self._report_unknown(target.at("path"), path)
            return
        yield from self._node(samplers, number, node, path)

    def _node(self, samplers: SamplerReader, number: int, node: int, path: str) -> Iterator[tuple[int, str, Keys]]:
        """Yield the keys of a property of a node, if the node is in the shown scene."""
        place, helper = self._hierarchy.scene_index(node), self._hierarchy.helper_kind(node)
        if place is None:
            return
        if path == "weights":
            morph = self._scene.nodes[place].morph
            if morph is not None and len(morph.names) > 1:
                yield place, "morph", samplers.read(number, len(morph.names) - 1, flat=True).with_base_weight()
            return
        kind, width = _KINDS[path]
        keys = samplers.read(number, width)
        if helper == "geo":  # a scale of 0 hides it
            yield place, "visible", Keys(keys.times, keys.values[:, :1], keys.interpolation)
        elif helper == "scale" and kind == "rotation":
            yield place, "scale_axes", keys.mapped(self._axes.rotations)
        elif helper != "shape":  # that is the inverse of the scale axes
            change = {"position": self._axes.vectors, "rotation": self._axes.rotations, "scale": np.asarray}[kind]
            yield place, kind, keys.mapped(change) if self._axes.mirrored else keys

    def _pointed(self, samplers: SamplerReader, number: int, extension: Item) -> Iterator[tuple[int, str, Keys]]:
        """Yield the keys of the nodes that a JSON pointer animates (KHR_animation_pointer)."""
        pointer = extension.text("pointer")
        if match := _NODE.match(pointer):
            if int(match[1]) < len(self._hierarchy.items):
                yield from self._node(samplers, number, int(match[1]), match[2])
                return
        elif match := _VISIBLE.match(pointer):
            place = self._hierarchy.scene_index(int(match[1]))
            if place is not None:
                keys = samplers.read(number, 1)
                visible = (keys.values > 0.5).astype(np.float64)
                hides_children = self._hierarchy.helper_kind(int(match[1])) != "geo"
                for node in self._with_descendants(place) if hides_children else (place,):
                    self._budget.spend("copies", 2 * len(keys.times), extension.path)
                    yield node, "visible", Keys(keys.times, visible, keys.interpolation)
                return
        elif match := _FOV.match(pointer):
            camera = int(match[1])
            if camera < len(self._aspects):
                aspect = self._aspects[camera]
                yield from self._users(
                    "camera", camera, "fov", samplers.read(number, 1), lambda v: horizontal_fov(v, aspect)
                )
                return
        elif match := _LIGHT.match(pointer):
            kind, width, change = _LIGHT_PROPERTIES[match[2]]
            light = int(match[1])
            if light < self._light_count:
                yield from self._users("light", light, kind, samplers.read(number, width), change)
                return
        self._report_unknown(extension.at("pointer"), pointer)

    def _users(
        self, part: str, number: int, kind: str, keys: Keys, change: Callable[[Any], Any]
    ) -> Iterator[tuple[int, str, Keys]]:
        """Yield the keys, changed by a function, for every node that uses the camera or light."""
        mapped = keys.mapped(change)
        for place, node in enumerate(self._scene.nodes):
            if getattr(node, part) == number:
                self._budget.spend("copies", mapped.values.size, f"/{part}s[{number}]")
                yield place, kind, mapped

    def _with_descendants(self, place: int) -> Iterator[int]:
        """Yield a node and its descendants: glTF hides a node with its children."""
        if self._children is None:
            self._children = [[] for _ in self._scene.nodes]
            for number, node in enumerate(self._scene.nodes):
                if node.parent is not None:
                    self._children[node.parent].append(number)
        waiting = [place]
        while waiting:
            number = waiting.pop()
            yield number
            waiting += self._children[number]

    def _report_unknown(self, path: str, value: str) -> None:
        known = "properties of nodes, cameras and lights"
        self._issues.add(SEM_UNKNOWN_ENUM, path, 0, severity=Severity.WARNING, value=value[:80], known=known)


MODES = {"LINEAR": Interpolation.LINEAR, "STEP": Interpolation.STEP, "CUBICSPLINE": Interpolation.CUBIC}
_TYPES = {1: "SCALAR", 3: "VEC3", 4: "VEC4"}


@dataclass(eq=False)
class Keys:
    """Times (n,) in seconds, values (n, k), and tangents if the sampler has them."""

    times: Floats
    values: Floats
    interpolation: Interpolation
    tangents_in: Floats | None = None
    tangents_out: Floats | None = None

    def mapped(self, change: Any) -> Keys:
        """Return the keys with values changed by a function; tangents are multiplied by its slope."""
        if self.tangents_in is None or self.tangents_out is None:
            return Keys(self.times, change(self.values), self.interpolation)
        step = 1e-5
        slope = (change(self.values + step) - change(self.values - step)) / (2 * step)
        into, out = slope * self.tangents_in, slope * self.tangents_out
        return Keys(self.times, change(self.values), self.interpolation, into, out)

    def with_base_weight(self) -> Keys:
        """Prepend the weight of the mesh itself: 1 minus the weights of its targets."""

        def with_column(rows: Floats, total: float) -> Floats:
            return np.column_stack([total - rows.sum(axis=1), rows])

        into = None if self.tangents_in is None else with_column(self.tangents_in, 0.0)
        out = None if self.tangents_out is None else with_column(self.tangents_out, 0.0)
        return Keys(self.times, with_column(self.values, 1.0), self.interpolation, into, out)

    def track(self, kind: str, origin: float, rate: float) -> Track:
        """Return a track in the time unit of a clip: ``origin`` is its time at second 0. Seconds have single precision,
        so times that are nearly whole are rounded.
        """
        is_rotation = kind in ("rotation", "scale_axes")
        times = self.times if (origin, rate) == (0.0, 1.0) else _rounded(self.times * rate + origin)
        shape = self.values.shape if self.values.shape[1] > 1 or kind == "morph" else (-1,)
        return Track(
            kind,
            times,
            self.values.reshape(shape),
            self.interpolation,
            form=RotationForm.QUATERNION_ABSOLUTE if is_rotation else RotationForm.NONE,
            tangents_in=None if self.tangents_in is None else self.tangents_in.reshape(shape) / rate,
            tangents_out=None if self.tangents_out is None else self.tangents_out.reshape(shape) / rate,
        )


_TIME_TOLERANCE = 1e-5
"""relative tolerance for whole frames or ticks: times were stored as seconds in single precision"""


def _rounded(times: Floats) -> Floats:
    whole = np.round(times)
    return np.where(np.abs(times - whole) < _TIME_TOLERANCE * np.maximum(1.0, np.abs(times)), whole, times)


def _is_known(clip: Clip, node: int, visible: Track) -> bool:
    """Return whether the clip already has the same visibility track, from the scale of the geometry."""
    tracks = (channel.track for channel in clip.channels if channel.node == node and channel.track.kind == "visible")
    return any(
        np.array_equal(track.times, visible.times) and np.array_equal(track.values, visible.values) for track in tracks
    )


Targets = dict[tuple[int, str], int]
"""samplers by node and path"""


class NodeAnimations:
    """Which properties of which nodes the animations of a file change, before anything of them is read."""

    def __init__(self, root: Item, accessors: Accessors, budget: Budget, issues: Findings) -> None:
        self._accessors, self._budget, self._issues = accessors, budget, issues
        self._animations = root.children("animations")
        self._targets = [_targets_of(animation) for animation in self._animations]
        self.moving: dict[int, set[str]] = {}
        """names of properties by node"""
        self._numbers: dict[int, set[int]] = {}
        """indices of animations by node"""
        for number, targets in enumerate(self._targets):
            for node, path in targets:
                self.moving.setdefault(node, set()).add(path)
                self._numbers.setdefault(node, set()).add(number)

    def only_helps(self, helpers: dict[str, int]) -> bool:
        """Return whether the helper nodes of a node, by kind, are animated as our exporter does it: geometry has a
        scale of 0 or 1 in steps, and scale axes are rotated back.
        """
        numbers = {number for node in helpers.values() for number in self._numbers.get(node, ())}
        return all(self._issues.attempt(self._animation_only_helps, number, helpers) for number in numbers)

    def _animation_only_helps(self, number: int, helpers: dict[str, int]) -> bool:
        targets = self._targets[number]
        samplers = SamplerReader(self._animations[number], self._accessors, self._budget, self._issues)
        steps = targets.get((helpers.get("geo", -1), "scale"))
        if steps is not None:
            keys = samplers.read(steps, 3)
            is_shown = (keys.values == 1.0).all(axis=1)
            if keys.interpolation is not Interpolation.STEP or not (is_shown | (keys.values == 0.0).all(axis=1)).all():
                return False
        turned = [targets.get((helpers.get(kind, -1), "rotation")) for kind in ("scale", "shape")]
        if turned[0] is None or turned[1] is None:
            return turned == [None, None]
        scale_axes, inverse_axes = (samplers.read(sampler, 4) for sampler in turned if sampler is not None)
        return np.array_equal(scale_axes.times, inverse_axes.times) and bool(
            (np.abs(scale_axes.values * (-1, -1, -1, 1) - inverse_axes.values) <= 1e-6).all()
        )


def _targets_of(animation: Item) -> Targets:
    """Return the samplers of an animation by node and path, without those that cannot be read; these fail later."""
    targets: Targets = {}
    count = len(animation.value["samplers"]) if type(animation.value.get("samplers")) is list else 0
    for channel in animation.children("channels"):
        target, sampler = channel.value.get("target"), channel.value.get("sampler")
        if type(target) is not dict or type(sampler) is not int or not 0 <= sampler < count:
            continue
        node, path = target.get("node"), target.get("path")
        pointer = str(target.get("extensions"))
        if path == "pointer" and (match := _POINTED_NODE.search(pointer)):
            node, path = int(match[1]), match[2]
        if type(node) is int and type(path) is str:
            targets.setdefault((node, path), sampler)
    return targets


class SamplerReader:
    """Reads the samplers of one animation."""

    def __init__(self, animation: Item, accessors: Accessors, budget: Budget, issues: Findings) -> None:
        self.items = animation.children("samplers")
        self._accessors = accessors
        self._budget = budget
        self._issues = issues

    def read(self, number: int, width: int, *, flat: bool = False) -> Keys:
        """Read the keys of a sampler, with ``width`` numbers each; ``flat``: stored as single numbers (weights)."""
        item = self.items[number]
        accessors = self._accessors
        input_accessor = item.needed_index("input", len(accessors), "accessor")
        output_accessor = item.needed_index("output", len(accessors), "accessor")
        mode = item.choice("interpolation", tuple(MODES), "LINEAR")
        times = accessors.floats(input_accessor, "SCALAR")[:, 0].astype(np.float64)
        values = accessors.floats(output_accessor, "SCALAR" if flat else _TYPES[width]).astype(np.float64)
        parts = 3 if mode == "CUBICSPLINE" else 1
        expected = len(times) * parts * (width if flat else 1)
        if len(values) != expected:
            raise item.fail(STRUCT_SYNTAX, "output", wanted=counted(expected, "element"), found=f"{len(values)}")
        self._budget.spend("copies", values.size + len(times), item.path)
        not_increasing = np.flatnonzero(np.diff(times) <= 0)
        if len(not_increasing):
            key = int(not_increasing[0]) + 1
            self._issues.add(DATA_KEYS_NOT_INCREASING, item.at("input"), 0, index=key, time=float(times[key]))
        if parts == 1:
            return Keys(times, values.reshape(-1, width), MODES[mode])
        rows = values.reshape(-1, 3, width)
        return Keys(times, rows[:, 1].copy(), MODES[mode], rows[:, 0].copy(), rows[:, 2].copy())


def stated_space(root: Item) -> tuple[Space, Item] | None:
    """Return the space of a scene that we wrote, and its extras; None for files of other programs."""
    scenes = root.children("scenes")
    asset = root.child("asset")
    if asset is None or asset.keyframer_extras is None or not scenes:
        return None
    extras = scenes[root.index("scene", len(scenes), "scene") or 0].keyframer_extras
    if extras is None or not extras.has("space"):
        return None
    content = extras.child("space")
    if content is None:
        return None
    unit = content.number("metres_per_unit") if content.value.get("metres_per_unit") is not None else None
    up = content.choice("up", ("x", "y", "z"))
    handedness = Handedness(content.choice("handedness", ("right", "left")))
    return Space(up, handedness, unit, content.flag("v_up", True)), extras


def environment(extras: Item) -> Environment:
    """Return the environment of a scene that we wrote."""
    result = Environment()
    content = extras.child("environment")
    if content is None:
        return result
    result.ambient = extras_reading.triple(content, "ambient")
    result.background_color = extras_reading.triple(content, "background_color")
    extras_reading.restore(result, content, texts="background_image")
    gradient = content.child("gradient")
    if gradient is not None:
        colors = [Item({"rgb": entry}, gradient.at("colors")) for entry in gradient.entries("colors")]
        triples = [extras_reading.triple(color, "rgb") for color in colors]
        result.gradient = Gradient(
            extras_reading.number(gradient, "midpoint", 0.5), [item for item in triples if item is not None]
        )
    result.fog, result.distance_cue = _fog(content.child("fog")), _fog(content.child("distance_cue"))
    layered = content.child("layered_fog")
    if layered is not None:
        low, high, density = (extras_reading.number(layered, name, 0.0) for name in ("z_min", "z_max", "density"))
        flags, color = layered.integer("flags", 0), extras_reading.triple(layered, "color")
        result.layered_fog = LayeredFog(low, high, density, flags, color)
    result.uses = {entry for entry in content.entries("uses") if type(entry) is str}
    result.extras = extras_reading.format_extras(content)
    return result


def _fog(item: Item | None) -> Fog | None:
    if item is None:
        return None
    near, near_density, far, far_density = (
        extras_reading.number(item, name, 0.0) for name in ("near", "near_density", "far", "far_density")
    )
    return Fog(
        near, near_density, far, far_density, extras_reading.triple(item, "color"), item.flag("affects_background")
    )
