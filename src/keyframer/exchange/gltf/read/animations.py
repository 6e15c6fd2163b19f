"""Animations of any exporter: samplers as columns of keys, and clips whose times are seconds."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from keyframer.catalogue import DATA_KEYS_NOT_INCREASING, LINK_RANGE_OVERLAP, SEM_UNKNOWN_ENUM, STRUCT_SYNTAX
from keyframer.curves import Interpolation, RotationForm, Track
from keyframer.exchange.gltf.conventions import shown_color
from keyframer.exchange.gltf.read.accessors import Accessors
from keyframer.exchange.gltf.read.cameras_lights import horizontal_fov
from keyframer.exchange.gltf.read.hierarchy import Hierarchy
from keyframer.exchange.gltf.read.json_text import Findings, Item, TrackSource
from keyframer.issues import Severity
from keyframer.limits import Budget
from keyframer.scene import Channel, Clip, Scene
from keyframer.text import safe_text

DEFAULT_FPS = 30.0
"""glTF has no frames; they are counted as the exporter of this package does"""

_KINDS = {"translation": ("position", 3), "rotation": ("rotation", 4), "scale": ("scale", 3)}
_NODE = re.compile(r"/nodes/(0|[1-9][0-9]{0,8})/(translation|rotation|scale|weights)\Z")
_VISIBLE = re.compile(r"/nodes/(0|[1-9][0-9]{0,8})/extensions/KHR_node_visibility/visible\Z")
_FOV = re.compile(r"/cameras/(0|[1-9][0-9]{0,8})/perspective/yfov\Z")
_LIGHT = re.compile(
    r"/extensions/KHR_lights_punctual/lights/(0|[1-9][0-9]{0,8})/"
    r"(color|intensity|spot/innerConeAngle|spot/outerConeAngle)\Z"
)
_OF_LIGHTS: dict[str, tuple[str, int, Callable[[Any], Any]]] = {
    "color": ("color", 3, shown_color),
    "intensity": ("multiplier", 1, np.asarray),  # and divided by what 1 is there
    "spot/innerConeAngle": ("hotspot", 1, lambda values: np.degrees(2 * values)),
    "spot/outerConeAngle": ("falloff", 1, lambda values: np.degrees(2 * values)),
}


class AnimationReader:
    def __init__(
        self,
        scene: Scene,
        hierarchy: Hierarchy,
        accessors: Accessors,
        budget: Budget,
        issues: Findings,
        aspects: list[float],
        strengths: list[float],
    ) -> None:
        self._scene = scene
        self._hierarchy = hierarchy
        self._accessors = accessors
        self._budget = budget
        self._issues = issues
        self._aspects = aspects
        self._strengths = strengths
        self._below: list[list[int]] | None = None

    def read(self, item: Item, fps: float) -> Clip:
        samplers = SamplerReader(item, self._accessors, self._budget, self._issues)
        name = self._issues.attempt(item.text, "name", "") or ""
        clip = Clip(name, rate=1.0, unit="second", units_per_frame=1.0 / fps)
        moved: dict[tuple[int, str], int] = {}
        for place, channel in enumerate(item.children("channels")):
            self._issues.attempt(self._channel, clip, samplers, channel, place, moved)
        return clip

    def _channel(
        self, clip: Clip, samplers: SamplerReader, channel: Item, place: int, moved: dict[tuple[int, str], int]
    ) -> None:
        """``moved``: what the channels before this one move. Of two that move the same the first counts."""
        number = channel.needed_index("sampler", len(samplers.items), "sampler")
        target = channel.child("target")
        if target is None:
            raise channel.missing("target")
        source = TrackSource(channel.path, samplers.items[number].path)
        for node, kind, keys in self._moved(samplers, number, target):
            first = moved.setdefault((node, kind), place)
            if first != place and kind != "visible":  # that may be hidden by itself and by what is above
                what = f"{kind} of {safe_text(self._scene.nodes[node].name)}"
                args = {"what": "channel", "item": place, "kind": "the", "index": what, "other": first}
                self._issues.add(LINK_RANGE_OVERLAP, channel.path, 0, severity=None, **args)
                continue
            track = keys.track(kind)
            self._issues.sources.tracks[track] = source
            clip.channels.append(Channel(node, track))
            times = keys.times[np.isfinite(keys.times)]
            clip.end = max(clip.end, float(times.max(initial=0.0)))

    def _moved(self, samplers: SamplerReader, number: int, target: Item) -> Iterator[tuple[int, str, Keys]]:
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
            self._unknown(target.at("path"), path)
            return
        yield from self._node(samplers, number, node, path)

    def _node(self, samplers: SamplerReader, number: int, node: int, path: str) -> Iterator[tuple[int, str, Keys]]:
        place = self._hierarchy.place(node)
        if place is None:
            return  # not in the scene that is shown
        if path != "weights":
            kind, width = _KINDS[path]
            yield place, kind, samplers.read(number, width)
            return
        morph = self._scene.nodes[place].morph
        if morph is not None and len(morph.names) > 1:
            yield place, "morph", samplers.read(number, len(morph.names) - 1, flat=True).with_rest()

    def _pointed(self, samplers: SamplerReader, number: int, extension: Item) -> Iterator[tuple[int, str, Keys]]:
        pointer = extension.text("pointer")
        if match := _NODE.match(pointer):
            if int(match[1]) < len(self._hierarchy.items):
                yield from self._node(samplers, number, int(match[1]), match[2])
                return
        elif match := _VISIBLE.match(pointer):
            place = self._hierarchy.place(int(match[1]))
            if place is not None:
                keys = samplers.read(number, 1)
                shown = (keys.values > 0.5).astype(np.float64)
                for each in self._all_below(place):
                    self._budget.spend("copies", 2 * len(keys.times), extension.path)
                    yield each, "visible", Keys(keys.times, shown, keys.interpolation)
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
            kind, width, change = _OF_LIGHTS[match[2]]
            light = int(match[1])
            if light < len(self._strengths):
                if kind == "multiplier":
                    change = partial(np.multiply, 1.0 / self._strengths[light])
                yield from self._users("light", light, kind, samplers.read(number, width), change)
                return
        self._unknown(extension.at("pointer"), pointer)

    def _users(
        self, what: str, number: int, kind: str, keys: Keys, change: Callable[[Any], Any]
    ) -> Iterator[tuple[int, str, Keys]]:
        """Every node that holds the camera or light."""
        mapped = keys.mapped(change)
        for place, node in enumerate(self._scene.nodes):
            if getattr(node, what) == number:
                self._budget.spend("copies", mapped.values.size, f"/{what}s[{number}]")
                yield place, kind, mapped

    def _all_below(self, place: int) -> Iterator[int]:
        """A node and all below it: what glTF hides, it hides with its children."""
        if self._below is None:
            self._below = [[] for _ in self._scene.nodes]
            for number, node in enumerate(self._scene.nodes):
                if node.parent is not None:
                    self._below[node.parent].append(number)
        waiting = [place]
        while waiting:
            number = waiting.pop()
            yield number
            waiting += self._below[number]

    def _unknown(self, path: str, value: str) -> None:
        known = "what nodes, cameras and lights have"
        self._issues.add(SEM_UNKNOWN_ENUM, path, 0, severity=Severity.WARNING, value=value[:80], known=known)


Floats = npt.NDArray[np.float64]

MODES = {"LINEAR": Interpolation.LINEAR, "STEP": Interpolation.STEP, "CUBICSPLINE": Interpolation.CUBIC}
_TYPES = {1: "SCALAR", 3: "VEC3", 4: "VEC4"}


@dataclass(eq=False)
class Keys:
    """Times (n,) in seconds, values (n, k), and tangents where the sampler has them."""

    times: Floats
    values: Floats
    interpolation: Interpolation
    tangents_in: Floats | None = None
    tangents_out: Floats | None = None

    def mapped(self, change: Any) -> Keys:
        """Values changed by a function; tangents follow its slope."""
        if self.tangents_in is None or self.tangents_out is None:
            return Keys(self.times, change(self.values), self.interpolation)
        step = 1e-5
        slope = (change(self.values + step) - change(self.values - step)) / (2 * step)
        into, out = slope * self.tangents_in, slope * self.tangents_out
        return Keys(self.times, change(self.values), self.interpolation, into, out)

    def with_rest(self) -> Keys:
        """A column before the others, of what is missing to 1: the share of the mesh itself beside its targets."""

        def grown(rows: Floats, whole: float) -> Floats:
            return np.column_stack([whole - rows.sum(axis=1), rows])

        into = None if self.tangents_in is None else grown(self.tangents_in, 0.0)
        out = None if self.tangents_out is None else grown(self.tangents_out, 0.0)
        return Keys(self.times, grown(self.values, 1.0), self.interpolation, into, out)

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
    def __init__(self, animation: Item, accessors: Accessors, budget: Budget, issues: Findings) -> None:
        self.items = animation.children("samplers")
        self._accessors = accessors
        self._budget = budget
        self._issues = issues

    def read(self, number: int, width: int, *, flat: bool = False) -> Keys:
        """The keys of a sampler of values of a width; ``flat`` ones are written as single numbers (weights)."""
        item = self.items[number]
        accessors = self._accessors
        source = item.needed_index("input", len(accessors), "accessor")
        target = item.needed_index("output", len(accessors), "accessor")
        mode = item.choice("interpolation", tuple(MODES), "LINEAR")
        times = accessors.floats(source, "SCALAR")[:, 0].astype(np.float64)
        values = accessors.floats(target, "SCALAR" if flat else _TYPES[width]).astype(np.float64)
        parts = 3 if mode == "CUBICSPLINE" else 1
        wanted = len(times) * parts * (width if flat else 1)
        if len(values) != wanted:
            raise item.fail(STRUCT_SYNTAX, "output", wanted=f"{wanted} elements", found=f"{len(values)}")
        self._budget.spend("copies", values.size + len(times), item.path)
        falling = np.flatnonzero(np.diff(times) <= 0)
        if len(falling):
            key = int(falling[0]) + 1
            self._issues.add(DATA_KEYS_NOT_INCREASING, item.at("input"), 0, index=key, time=float(times[key]))
        if parts == 1:
            return Keys(times, values.reshape(-1, width), MODES[mode])
        rows = values.reshape(-1, 3, width)
        return Keys(times, rows[:, 1].copy(), MODES[mode], rows[:, 0].copy(), rows[:, 2].copy())
