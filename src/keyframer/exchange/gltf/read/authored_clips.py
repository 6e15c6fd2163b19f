"""Files of our own: space, clips, authored keys and surroundings, as `extras.keyframer` keeps them."""

from __future__ import annotations

import numpy as np

from keyframer.catalogue import STRUCT_SYNTAX
from keyframer.curves import Interpolation, RotationForm, Track, Wrap
from keyframer.exchange.gltf.read import extras_reading
from keyframer.exchange.gltf.read.accessors import Accessors
from keyframer.exchange.gltf.read.animations import Floats, SamplerReader
from keyframer.exchange.gltf.read.json_text import Findings, Item, TrackSource
from keyframer.limits import Budget
from keyframer.scene import Clip, Environment, Fog, Gradient, Handedness, LayeredFog, RawChannel, Space

_WIDTHS = {
    **dict.fromkeys(("position", "scale", "color"), 3),
    **dict.fromkeys(("rotation", "scale_axes"), 4),
    **dict.fromkeys(("visible", "fov", "roll", "hotspot", "falloff", "multiplier"), 1),
    "morph": 0,
}
"""how many numbers a key of each kind has; 0: as many as there are shapes"""
_SAMPLED = {"position": ("translation", 3), "rotation": ("rotation", 4), "scale": ("scale", 3)}
_COLUMNS = ("tension", "continuity", "bias", "ease_to", "ease_from", "tangents_in", "tangents_out")
_NEAR = 1e-5
"""of a whole number: times went through seconds of single precision"""


def stated_space(root: Item) -> tuple[Space, Item] | None:
    """The space of a scene that this package wrote, and what else it says; None for files of others."""
    scenes = root.children("scenes")
    about = root.child("asset")
    if about is None or about.kept is None or not scenes:
        return None
    kept = scenes[root.index("scene", len(scenes), "scene") or 0].kept
    if kept is None or not kept.has("space"):
        return None
    content = kept.child("space")
    if content is None:
        return None
    unit = content.number("metres_per_unit") if content.value.get("metres_per_unit") is not None else None
    up = content.choice("up", ("x", "y", "z"))
    handedness = Handedness(content.choice("handedness", ("right", "left")))
    return Space(up, handedness, unit, content.flag("v_up", True)), kept


class ClipReader:
    """The clips of one file; ``animations`` are those that are clips of ours."""

    def __init__(self, root: Item, kept: Item, accessors: Accessors, budget: Budget, issues: Findings) -> None:
        self._animations = root.children("animations")
        self._items = kept.children("clips")
        self._accessors = accessors
        self._budget = budget
        self._issues = issues
        found = [issues.attempt(self._clip, item) for item in self._items]
        self.lost = {number for number, clip in enumerate(found) if clip is None}
        """clips that could not be read, when saving the rest: empty ones keep their places"""
        self.clips = [Clip() if clip is None else clip for clip in found]
        self.animations = [
            issues.attempt(item.index, "animation", len(self._animations), "animation") for item in self._items
        ]
        self._samplers: dict[int, dict[tuple[int, str], int]] = {}

    def _clip(self, item: Item) -> Clip:
        clip = Clip(item.text("name", ""), unit=item.choice("unit", ("frame", "tick", "second"), "frame"))
        extras_reading.restore(clip, item, "start end rate units_per_frame current")
        if clip.rate <= 0 or clip.units_per_frame <= 0:
            raise item.fail(STRUCT_SYNTAX, "rate", wanted="a positive number", found=f"{clip.rate:g}")
        bounds = extras_reading.array(item, "bounds", self._budget)
        clip.bounds = bounds if bounds is not None and bounds.shape[1:] == (2, 3) else None
        for channel in item.children("raw_channels"):
            values = extras_reading.array(channel, "values", self._budget)
            if values is not None and values.ndim == 2:
                made = RawChannel(channel.text("name", ""), values, extras_reading.leftovers(channel))
                self._issues.sources.tracks[made] = TrackSource(channel.at("values"))
                clip.raw_channels.append(made)
        clip.extras = extras_reading.leftovers(item)
        return clip

    def tracks(self, kept: Item, nodes: dict[str, int]) -> list[tuple[int, Track]]:
        """The keys of one node, with the clips they belong to; ``nodes`` of the file by what they hold."""
        found = []
        for item in kept.children("tracks"):
            one = self._issues.attempt(self._one, item, nodes)
            if one is not None:
                found.append(one)
        return found

    def _one(self, item: Item, nodes: dict[str, int]) -> tuple[int, Track] | None:
        clip = item.needed_index("clip", len(self.clips), "clip")
        track = None if clip in self.lost else self._track(item, clip, nodes)
        return None if track is None else (clip, track)

    def _track(self, item: Item, clip: int, nodes: dict[str, int]) -> Track | None:
        kind = item.choice("kind", tuple(_WIDTHS))
        interpolation = Interpolation(item.choice("interpolation", tuple(each.value for each in Interpolation)))
        form = RotationForm(item.choice("form", tuple(each.value for each in RotationForm), "none"))
        if (form is RotationForm.NONE) != (_WIDTHS[kind] != 4):
            raise item.fail(STRUCT_SYNTAX, "form", wanted=f"what {kind} keys are", found=form.value)
        if item.flag("keys_in_sampler"):
            keys = self._in_sampler(item, clip, kind, nodes)
            if keys is None:
                return None
            times, values, sampler = keys
        else:
            sampler = None
            moments, stated = (extras_reading.array(item, name, self._budget) for name in ("times", "values"))
            if moments is None or stated is None:
                raise item.missing("times" if moments is None else "values")
            times, values = moments, stated
        width = _WIDTHS[kind]
        if len(times) and width and values.shape[1:] not in ((width,), () if width == 1 else (width,)):
            raise item.fail(STRUCT_SYNTAX, "values", wanted=f"keys of {width} numbers", found=f"shape {values.shape}")
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
                Wrap(item.choice("wrap", tuple(each.value for each in Wrap), "single")),
                form,
                flags=extras_reading.array(item, "flags", self._budget, kind=int),
                extras=extras_reading.leftovers(item),
                **columns,
            )
        except ValueError as error:
            raise STRUCT_SYNTAX.failure(0, item.path, wanted="columns of equal length", found=str(error)) from None
        self._issues.sources.tracks[track] = TrackSource(item.path, sampler)
        return track

    def _in_sampler(self, item: Item, clip: int, kind: str, nodes: dict[str, int]) -> tuple[Floats, Floats, str] | None:
        """Times and values that the animation holds as they are, and its sampler; None where another program took
        them away."""
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
        near = np.round(times)
        times = np.where(np.abs(times - near) < _NEAR * np.maximum(1.0, np.abs(times)), near, times)
        return times, keys.values[:count], samplers.items[sampler].path

    def _channels(self, number: int, animation: Item) -> dict[tuple[int, str], int]:
        if number not in self._samplers:
            known: dict[tuple[int, str], int] = {}
            samplers = len(animation.entries("samplers"))
            for channel in animation.children("channels"):
                target = channel.child("target")
                if target is not None and target.has("node"):
                    key = (target.integer("node"), target.text("path"))
                    known[key] = channel.needed_index("sampler", samplers, "sampler")
            self._samplers[number] = known
        return self._samplers[number]


def environment(kept: Item) -> Environment:
    made = Environment()
    content = kept.child("environment")
    if content is None:
        return made
    made.ambient = extras_reading.triple(content, "ambient")
    made.background_color = extras_reading.triple(content, "background_color")
    extras_reading.restore(made, content, texts="background_image")
    gradient = content.child("gradient")
    if gradient is not None:
        colors = [Item({"rgb": each}, gradient.at("colors")) for each in gradient.entries("colors")]
        shown = [extras_reading.triple(each, "rgb") for each in colors]
        made.gradient = Gradient(
            extras_reading.number(gradient, "midpoint", 0.5), [each for each in shown if each is not None]
        )
    made.fog, made.distance_cue = _fog(content.child("fog")), _fog(content.child("distance_cue"))
    layered = content.child("layered_fog")
    if layered is not None:
        bounds = [extras_reading.number(layered, name, 0.0) for name in ("z_min", "z_max", "density")]
        flags, color = layered.integer("flags", 0), extras_reading.triple(layered, "color")
        made.layered_fog = LayeredFog(bounds[0], bounds[1], bounds[2], flags, color)
    made.uses = {each for each in content.entries("uses") if type(each) is str}
    made.extras = extras_reading.leftovers(content)
    return made


def _fog(item: Item | None) -> Fog | None:
    if item is None:
        return None
    near, near_density, far, far_density = (
        extras_reading.number(item, name, 0.0) for name in ("near", "near_density", "far", "far_density")
    )
    return Fog(
        near, near_density, far, far_density, extras_reading.triple(item, "color"), item.flag("affects_background")
    )
