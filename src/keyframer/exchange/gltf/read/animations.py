"""Reads animations of any exporter, with times in seconds, and authored clips, axes and environment of our own
files."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from keyframer.arrays import Floats
from keyframer.catalogue import DATA_KEYS_NOT_INCREASING, LINK_RANGE_OVERLAP, SEM_UNKNOWN_ENUM, STRUCT_SYNTAX
from keyframer.curves import Interpolation, RotationForm, Track, Wrap
from keyframer.exchange.gltf.conventions import shown_color
from keyframer.exchange.gltf.read import extras_reading
from keyframer.exchange.gltf.read.accessors import Accessors
from keyframer.exchange.gltf.read.cameras_lights import horizontal_fov
from keyframer.exchange.gltf.read.json_text import Findings, Item, TrackSource
from keyframer.exchange.gltf.read.nodes import Hierarchy
from keyframer.fields import dataclass
from keyframer.issues import Severity
from keyframer.limits import Budget
from keyframer.scene import Channel, Clip, Environment, Fog, Gradient, Handedness, LayeredFog, RawChannel, Scene, Space
from keyframer.text import counted, safe_text

DEFAULT_FPS = 30.0
"""frame rate of animations that we did not write, because glTF has no frames"""

_KINDS = {"translation": ("position", 3), "rotation": ("rotation", 4), "scale": ("scale", 3)}
_NODE = re.compile(r"/nodes/(0|[1-9][0-9]{0,8})/(translation|rotation|scale|weights)\Z")
_VISIBLE = re.compile(r"/nodes/(0|[1-9][0-9]{0,8})/extensions/KHR_node_visibility/visible\Z")
_FOV = re.compile(r"/cameras/(0|[1-9][0-9]{0,8})/perspective/yfov\Z")
_LIGHT = re.compile(
    r"/extensions/KHR_lights_punctual/lights/(0|[1-9][0-9]{0,8})/"
    r"(color|intensity|spot/innerConeAngle|spot/outerConeAngle)\Z"
)
_LIGHT_PROPERTIES: dict[str, tuple[str, int, Callable[[Any], Any]]] = {
    "color": ("color", 3, shown_color),
    "intensity": ("multiplier", 1, np.asarray),  # then divided by the intensity of a multiplier of 1
    "spot/innerConeAngle": ("hotspot", 1, lambda values: np.degrees(2 * values)),
    "spot/outerConeAngle": ("falloff", 1, lambda values: np.degrees(2 * values)),
}


class AnimationReader:
    """Reads animations without our clip data, as clips in seconds."""

    def __init__(
        self,
        scene: Scene,
        hierarchy: Hierarchy,
        accessors: Accessors,
        budget: Budget,
        issues: Findings,
        aspects: list[float],
        unit_intensities: list[float],
    ) -> None:
        self._scene = scene
        self._hierarchy = hierarchy
        self._accessors = accessors
        self._budget = budget
        self._issues = issues
        self._aspects = aspects
        self._unit_intensities = unit_intensities
        self._children: list[list[int]] | None = None

    def read(self, items: list[Item], fps: float) -> Clip:
        """Read a clip from its animations: one, or in our own files one with the motion and one with settings."""
        name = self._issues.attempt(items[0].text, "name", "") or ""
        clip = Clip(name, rate=1.0, unit="second", units_per_frame=1.0 / fps)
        for item in items:
            samplers = SamplerReader(item, self._accessors, self._budget, self._issues)
            animated: dict[tuple[int, str], int] = {}
            for number, channel in enumerate(item.children("channels")):
                self._issues.attempt(self._channel, clip, samplers, channel, number, animated)
        return clip

    def _channel(
        self, clip: Clip, samplers: SamplerReader, channel: Item, number: int, animated: dict[tuple[int, str], int]
    ) -> None:
        """Read a channel. ``animated`` has the first channel of each node and kind; later ones are ignored, except for
        visibility.
        """
        sampler = channel.needed_index("sampler", len(samplers.items), "sampler")
        target = channel.child("target")
        if target is None:
            raise channel.missing("target")
        source = TrackSource(channel.path, samplers.items[sampler].path)
        for node, kind, keys in self._targets(samplers, sampler, target):
            first = animated.setdefault((node, kind), number)
            if first != number and kind != "visible":  # a node can be hidden itself or by an ancestor
                what = f"{kind} of {safe_text(self._scene.nodes[node].name)}"
                args = {"what": "channel", "item": number, "kind": "the", "index": what, "other": first}
                self._issues.add(LINK_RANGE_OVERLAP, channel.path, 0, severity=None, **args)
                continue
            track = keys.track(kind)
            self._issues.sources.tracks[track] = source
            clip.channels.append(Channel(node, track))
            times = keys.times[np.isfinite(keys.times)]
            clip.end = max(clip.end, float(times.max(initial=0.0)))

    def _targets(self, samplers: SamplerReader, number: int, target: Item) -> Iterator[tuple[int, str, Keys]]:
        """Yield the nodes of the scene that a channel animates, each with the kind of its track and the keys."""
        path = target.text("path")
        if path == "pointer":
            extension = target.extension("KHR_animation_pointer")
            if extension is None:
                raise target.missing("extensions/KHR_animation_pointer")
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
        place = self._hierarchy.scene_index(node)
        if place is None:
            return
        if path != "weights":
            kind, width = _KINDS[path]
            yield place, kind, samplers.read(number, width)
            return
        morph = self._scene.nodes[place].morph
        if morph is not None and len(morph.names) > 1:
            yield place, "morph", samplers.read(number, len(morph.names) - 1, flat=True).with_base_weight()

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
                for node in self._with_descendants(place):
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
            if light < len(self._unit_intensities):
                if kind == "multiplier":
                    change = partial(np.multiply, 1.0 / self._unit_intensities[light])
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

    def track(self, kind: str) -> Track:
        form = RotationForm.QUATERNION_ABSOLUTE if kind == "rotation" else RotationForm.NONE
        return Track(
            kind,
            self.times,
            self.values,
            self.interpolation,
            form=form,
            tangents_in=self.tangents_in,
            tangents_out=self.tangents_out,
        )


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


_WIDTHS = {
    **dict.fromkeys(("position", "scale", "color"), 3),
    **dict.fromkeys(("rotation", "scale_axes"), 4),
    **dict.fromkeys(("visible", "fov", "roll", "hotspot", "falloff", "multiplier"), 1),
    "morph": 0,
}
"""numbers per key of each kind; 0: one per shape"""
_SAMPLED = {"position": ("translation", 3), "rotation": ("rotation", 4), "scale": ("scale", 3)}
_COLUMNS = ("tension", "continuity", "bias", "ease_to", "ease_from", "tangents_in", "tangents_out")
_TIME_TOLERANCE = 1e-5
"""relative tolerance for whole frames or ticks: times were stored as seconds in single precision"""


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


class ClipReader:
    """Reads the authored clips of our own files; ``animations`` has the index of the glTF animation of each."""

    def __init__(self, root: Item, extras: Item, accessors: Accessors, budget: Budget, issues: Findings) -> None:
        self._animations = root.children("animations")
        self._items = extras.children("clips")
        self._accessors = accessors
        self._budget = budget
        self._issues = issues
        clips = [issues.attempt(self._clip, item) for item in self._items]
        self.lost = {number for number, clip in enumerate(clips) if clip is None}
        """indices of clips that could not be read, with salvage; empty clips take their places"""
        self.clips = [Clip() if clip is None else clip for clip in clips]
        numbers = {issues.attempt(item.text, "name", ""): number for number, item in enumerate(self._animations)}
        self.animations = [numbers.get(issues.attempt(item.text, "animation", "") or None) for item in self._items]
        self._samplers: dict[int, dict[tuple[int, str], int]] = {}

    def _clip(self, item: Item) -> Clip:
        clip = Clip(item.text("name", ""), unit=item.choice("unit", ("frame", "tick", "second"), "frame"))
        extras_reading.restore(clip, item, "start end rate units_per_frame current")
        for name in ("rate", "units_per_frame"):
            if getattr(clip, name) <= 0:
                raise item.fail(STRUCT_SYNTAX, name, wanted="a positive number", found=f"{getattr(clip, name):g}")
        bounds = extras_reading.array(item, "bounds", self._budget)
        clip.bounds = bounds if bounds is not None and bounds.shape[1:] == (2, 3) else None
        for channel in item.children("raw_channels"):
            values = extras_reading.array(channel, "values", self._budget)
            if values is not None and values.ndim == 2:
                raw = RawChannel(channel.text("name", ""), values, extras_reading.format_extras(channel))
                self._issues.sources.tracks[raw] = TrackSource(channel.at("values"))
                clip.raw_channels.append(raw)
        clip.extras = extras_reading.format_extras(item)
        return clip

    def tracks(self, extras: Item, nodes: dict[str, int]) -> list[tuple[int, Track]]:
        """Read the tracks of one node, each with the index of its clip; ``nodes`` has the node of the file that each
        kind of track animates.
        """
        tracks = []
        for track_item in extras.children("tracks"):
            clip_and_track = self._issues.attempt(self._clip_and_track, track_item, nodes)
            if clip_and_track is not None:
                tracks.append(clip_and_track)
        return tracks

    def _clip_and_track(self, item: Item, nodes: dict[str, int]) -> tuple[int, Track] | None:
        clip = item.needed_index("clip", len(self.clips), "clip")
        track = None if clip in self.lost else self._track(item, clip, nodes)
        return None if track is None else (clip, track)

    def _track(self, item: Item, clip: int, nodes: dict[str, int]) -> Track | None:
        kind = item.choice("kind", tuple(_WIDTHS))
        interpolation = Interpolation(
            item.choice("interpolation", tuple(interpolation.value for interpolation in Interpolation))
        )
        form = RotationForm(item.choice("form", tuple(form.value for form in RotationForm), "none"))
        if (form is RotationForm.NONE) != (_WIDTHS[kind] != 4):
            raise item.fail(STRUCT_SYNTAX, "form", wanted=f"the form of {kind} keys", found=form.value)
        if item.flag("keys_in_sampler"):
            keys = self._in_sampler(item, clip, kind, nodes)
            if keys is None:
                return None
            times, values, sampler = keys
        else:
            sampler = None
            stored_times, stored_values = (
                extras_reading.array(item, name, self._budget) for name in ("times", "values")
            )
            if stored_times is None or stored_values is None:
                raise item.missing("times" if stored_times is None else "values")
            times, values = stored_times, stored_values
        width = _WIDTHS[kind]
        if len(times) and width and values.shape[1:] not in ((width,), () if width == 1 else (width,)):
            raise item.fail(
                STRUCT_SYNTAX, "values", wanted=f"keys of {counted(width, 'number')}", found=f"shape {values.shape}"
            )
        if not len(times):
            values = np.empty((0, width or 1))
        columns = {name: extras_reading.array(item, name, self._budget) for name in _COLUMNS}
        if interpolation is Interpolation.CUBIC:
            for name in ("tangents_in", "tangents_out"):
                columns[name] = np.zeros_like(values) if columns[name] is None else columns[name]
        try:
            track = Track(
                kind,
                times,
                values,
                interpolation,
                Wrap(item.choice("wrap", tuple(wrap.value for wrap in Wrap), "single")),
                form,
                flags=extras_reading.array(item, "flags", self._budget, kind=int),
                extras=extras_reading.format_extras(item),
                **columns,
            )
        except ValueError as error:
            raise STRUCT_SYNTAX.failure(0, item.path, wanted="a valid track", found=f"an error ({error})") from None
        self._issues.sources.tracks[track] = TrackSource(item.path, sampler)
        return track

    def _in_sampler(self, item: Item, clip: int, kind: str, nodes: dict[str, int]) -> tuple[Floats, Floats, str] | None:
        """Return times and values that the animation stores unchanged, and their sampler; None if it does not have them
        (another program may have removed them).
        """
        number = self.animations[clip]
        if number is None or kind not in _SAMPLED:
            return None
        animation = self._animations[number]
        path, width = _SAMPLED[kind]
        sampler = self._channels(number, animation).get((nodes.get(kind, nodes["position"]), path))
        if sampler is None:
            return None
        samplers = SamplerReader(animation, self._accessors, self._budget, self._issues)
        keys = samplers.read(sampler, width)
        count = item.integer("count", len(keys.times))
        times = keys.times[:count] * self.clips[clip].rate + self._items[clip].number("origin", 0.0)
        rounded = np.round(times)
        times = np.where(np.abs(times - rounded) < _TIME_TOLERANCE * np.maximum(1.0, np.abs(times)), rounded, times)
        return times, keys.values[:count], samplers.items[sampler].path

    def _channels(self, number: int, animation: Item) -> dict[tuple[int, str], int]:
        """Return the sampler of each node and path that an animation has channels for."""
        if number not in self._samplers:
            channel_samplers: dict[tuple[int, str], int] = {}
            samplers = len(animation.entries("samplers"))
            for channel in animation.children("channels"):
                target = channel.child("target")
                if target is not None and target.has("node"):
                    key = (target.integer("node"), target.text("path"))
                    channel_samplers[key] = channel.needed_index("sampler", samplers, "sampler")
            self._samplers[number] = channel_samplers
        return self._samplers[number]


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
