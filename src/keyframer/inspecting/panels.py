"""The content of a plot as data: panels of curves with keys, tangents, ease and wrap. `charts` and `braille`
draw them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from keyframer.arrays import Floats
from keyframer.curves import Interpolation, Track, Wrap, compile_track
from keyframer.maths import quat
from keyframer.scene import Channel, Clip, RawChannel, Scene
from keyframer.text import counted, did_you_mean

SAMPLES_PER_SEGMENT, MOST_SAMPLES = 24, 6_000
MOST_COMPONENTS = 12
"""maximum number of curves in one panel"""
MOST_KEYS = 2_000
"""maximum number of keys marked in one panel"""
_NEAR = 1e-4
"""distance from a key at which its tangent is measured, as a fraction of the segment"""
_SHAPED = (Interpolation.TCB, Interpolation.BEZIER, Interpolation.CUBIC)
_UNITS = {
    "rotation": "degrees",
    "scale_axes": "degrees",
    "scale": "factor",
    "fov": "degrees",
    "roll": "degrees",
    "hotspot": "degrees",
    "falloff": "degrees",
    "color": "0 to 1",
    "multiplier": "factor",
    "visible": "0 hidden, 1 shown",
    "morph": "weight",
}
_COMPONENTS = {
    "position": ("x", "y", "z"),
    "scale": ("x", "y", "z"),
    "rotation": ("about x", "about y", "about z"),
    "scale_axes": ("about x", "about y", "about z"),
    "color": ("red", "green", "blue"),
}


@dataclass(eq=False)
class Curve:
    """One line of a panel."""

    name: str
    times: Floats
    values: Floats


@dataclass(frozen=True, slots=True)
class Key:
    """A key on a curve, with its tangent handles."""

    curve: int
    time: float
    value: float
    tooltip: str
    arriving: tuple[float, float] | None = None
    """end of the handle before the key (time, value); None without a tangent"""
    leaving: tuple[float, float] | None = None


@dataclass(eq=False)
class Panel:
    """Curves over one time axis."""

    title: str
    x_label: str
    y_label: str
    span: tuple[float, float]
    curves: list[Curve] = field(default_factory=list)
    keys: list[Key] = field(default_factory=list)
    eases: list[tuple[float, float]] = field(default_factory=list)
    """time ranges in which the motion is eased"""
    seams: list[float] = field(default_factory=list)
    """times at which a repeating track starts again"""
    keyed: tuple[float, float] | None = None
    """times of the first and the last key; outside them the wrap continues the curve"""


def choose_channels(scene: Scene, nodes: Sequence[str] = (), kinds: Sequence[str] = ()) -> list[Channel]:
    """Return channels of the first clip by node (a name, or a pattern such as ``Sail*``) and kind, in file order.

    Channels without keys are left out; without nodes and kinds, also those with one key. Raises LookupError for an
    unknown node or kind.
    """
    channels = scene.clips[0].channels if scene.clips else []
    numbers = {number for name in nodes for number in scene.find_all(name)}
    chosen = [
        channel
        for channel in channels
        if (not nodes or channel.node in numbers)
        and (not kinds or channel.track.kind in kinds)
        and len(channel.track.times)
    ]
    for kind in kinds:
        if kind != "raw" and not any(channel.track.kind == kind for channel in channels):
            known = list(dict.fromkeys(channel.track.kind for channel in channels))
            listed = ", ".join(known) or "none"
            raise LookupError(f"no track of the kind {kind!r} (available: {listed}){did_you_mean(kind, known)}")
    if nodes or kinds:
        return chosen
    return [channel for channel in chosen if len(channel.track.times) > 1]


def chosen_panels(
    scene: Scene,
    nodes: Sequence[str] = (),
    kinds: Sequence[str] = (),
    span: tuple[float, float] | None = None,
    most: int = 24,
) -> tuple[list[Panel], int]:
    """Return at most ``most`` panels of the first clip, and how many there would be without a maximum.

    They show the channels of `choose_channels`, and raw channels if the kind ``raw`` is requested, or if nothing is
    requested and there are no others.
    """
    channels = choose_channels(scene, nodes, kinds)
    raw = [channel for clip in scene.clips[:1] for channel in clip.raw_channels]
    raw = raw if "raw" in kinds or (not channels and not kinds) else []
    if "raw" in kinds and not raw:
        raise LookupError("the file has no raw channels")
    panels = [track_panel(scene, scene.clips[0], channel, span) for channel in channels[:most]]
    panels += [raw_panel(channel) for channel in raw[: most - len(panels)]]
    return panels, len(channels) + len(raw)


def time_label(clip: Clip) -> str:
    """Return the label of the time axis: the unit of the clip."""
    if clip.unit == "second":
        return "seconds"
    return f"{clip.unit}s ({clip.rate:g} per second)"


def value_label(kind: str, scene: Scene) -> str:
    """Return the label of the value axis: the unit of this kind of value."""
    if kind == "position":
        metres = scene.space.metres_per_unit
        return "file units" if metres is None else f"units of {metres:g} m"
    return _UNITS.get(kind, "")


def track_panel(scene: Scene, clip: Clip, channel: Channel, span: tuple[float, float] | None = None) -> Panel:
    """Return the panel of a channel; ``span`` limits the time axis (in the unit of the clip)."""
    track = channel.track
    return panel_of(
        track,
        f"{scene.nodes[channel.node].name}: {track.kind}",
        time_label(clip),
        value_label(track.kind, scene),
        (clip.start, clip.end),
        span,
    )


@np.errstate(all="ignore")  # extreme keys may overflow; non-finite values are not drawn
def panel_of(
    track: Track,
    title: str,
    x_label: str,
    y_label: str,
    segment: tuple[float, float] | None,
    span: tuple[float, float] | None = None,
) -> Panel:
    """Return the panel of a track."""
    keys = _usable(track.times)
    shown = span or _span(track, keys, segment)
    times = _sample_times(keys, shown)
    curve = compile_track(track)
    values = rotation_vectors_degrees(curve(times)) if track.is_rotation else curve(times).reshape(len(times), -1)
    summary = f"{track.interpolation.value}, {counted(len(track.times), 'key')}, {track.wrap.value}"
    panel = Panel(f"{title} ({summary})", x_label, y_label, shown)
    panel.keyed = (float(keys[0]), float(keys[-1])) if len(keys) else None
    for number in range(min(values.shape[1], MOST_COMPONENTS)):
        panel.curves.append(Curve(_component(track.kind, number, values.shape[1]), times, values[:, number]))
    _add_keys(panel, track, times, values)
    _add_eases(panel, track)
    if track.wrap is not Wrap.SINGLE and len(keys) and keys[-1] > 0:
        first, last = max(np.ceil(shown[0] / keys[-1]), -50), min(np.floor(shown[1] / keys[-1]), 50)
        panel.seams = [float(number * keys[-1]) for number in np.arange(first, last + 1) if number]
    return panel


def raw_panel(raw: RawChannel) -> Panel:
    """Return the panel of a raw channel: numbers per frame with unknown meaning."""
    rows = np.asarray(raw.values, np.float64).reshape(len(raw.values), -1)
    times = np.arange(len(rows), dtype=np.float64)
    title = f"{raw.name}: raw ({counted(rows.shape[1], 'float')} per frame)"
    panel = Panel(title, "frames", "as stored", (0.0, float(len(rows) or 1)))
    for number in range(min(rows.shape[1], MOST_COMPONENTS)):
        good = np.isfinite(rows[:, number])
        panel.curves.append(Curve(str(number), times[good], rows[good, number]))
    return panel


def _usable(times: Floats) -> Floats:
    good = times[np.isfinite(times) & (np.abs(times) < 1e12)]
    return np.sort(good)


def _span(track: Track, keys: Floats, segment: tuple[float, float] | None) -> tuple[float, float]:
    """Return the range of the keys and the active segment; a repeating track shows part of its next cycle."""
    ends = [*(keys[[0, -1]].tolist() if len(keys) else []), *(segment or ())]
    ends = [end for end in ends if np.isfinite(end) and abs(end) < 1e12]
    low, high = (min(ends), max(ends)) if ends else (0.0, 1.0)
    if track.wrap is not Wrap.SINGLE and len(keys):
        high = max(high, float(keys[-1]) * 1.25)
    return (low, high) if high > low else (low, low + 1)


def _sample_times(keys: Floats, span: tuple[float, float]) -> Floats:
    """Return evenly spaced sample times, the times of the keys, and times just before the keys."""
    low, high = span
    inside = keys[(keys >= low) & (keys <= high)]
    even = np.linspace(low, high, min(max(400, SAMPLES_PER_SEGMENT * (len(inside) + 1)), MOST_SAMPLES))
    near = inside[:MOST_SAMPLES]
    before = near - max(high - low, 1e-9) * 1e-9
    return np.unique(np.concatenate([even, near, before[before >= low]]))


def _component(kind: str, number: int, count: int) -> str:
    names = _COMPONENTS.get(kind, ())
    if len(names) == count:
        return names[number]
    return kind if count == 1 else str(number)


def _add_keys(panel: Panel, track: Track, times: Floats, values: Floats) -> None:
    """Add marks for the visible keys, with handles of a third of a segment if the curve has tangents."""
    order = np.argsort(track.times, kind="stable")
    order = order[np.isfinite(track.times[order]) & (np.abs(track.times[order]) < 1e12)]
    keys = track.times[order]
    visible = np.flatnonzero((keys >= panel.span[0]) & (keys <= panel.span[1]))[:MOST_KEYS]
    width = min(values.shape[1], MOST_COMPONENTS)
    segments = np.diff(keys) if track.interpolation in _SHAPED else np.zeros(max(len(keys) - 1, 0))
    lengths = np.column_stack([[0.0, *segments], [*segments, 0.0]])[visible]  # before and after each key
    nearby = keys[visible, None] + lengths * (-_NEAR, _NEAR)
    sampled = compile_track(track)(nearby.reshape(-1))
    nearby_values = sampled.reshape(len(visible), 2, *(sampled.shape[1:] or (1,)))
    for at, around, near_values in zip(visible.tolist(), lengths.tolist(), nearby_values, strict=True):
        time = float(keys[at])
        if track.is_rotation:
            ends_cycle = track.wrap is not Wrap.SINGLE and 0 < at == len(keys) - 1
            key_values = values[min(int(np.searchsorted(times, time)), len(times) - 1) - int(ends_cycle)]
        else:
            key_values = np.asarray(track.values, np.float64)[order[at]].reshape(-1)
        handles: list[tuple[float, Floats] | None] = []
        for sign, length, value in zip((-1.0, 1.0), around, near_values, strict=True):
            if length <= 0:
                handles.append(None)
                continue
            reached = rotation_vectors_degrees(value[None], key_values)[0] if track.is_rotation else value
            handles.append((time + sign * length / 3, key_values + (reached - key_values) / (3 * _NEAR)))
        for component in range(width):
            number = float(key_values[component])
            before, after = (
                None
                if handle is None or not np.isfinite(handle[1][component])
                else (handle[0], float(handle[1][component]))
                for handle in handles
            )
            tooltip = _description(track, int(order[at]), time, number)
            panel.keys.append(Key(component, time, number, tooltip, before, after))


def _description(track: Track, number: int, time: float, value: float) -> str:
    """Describe a key: its number, time, value and shape parameters."""
    parts = [f"key {number} at {time:g}: {value:g}"]
    for name in ("tension", "continuity", "bias", "ease_to", "ease_from"):
        column = getattr(track, name)
        if column is not None and column[number]:
            parts.append(f"{name.replace('_', ' ')} {column[number]:g}")
    return ", ".join(parts)


def _add_eases(panel: Panel, track: Track) -> None:
    """Add the eased parts of segments: after the left key and before the right key."""
    if track.interpolation not in (Interpolation.TCB, Interpolation.LINEAR) or (
        track.ease_to is None and track.ease_from is None
    ):
        return
    order = np.argsort(track.times, kind="stable")
    times = track.times[order]
    none = np.zeros(len(times))
    leaving = np.clip(np.nan_to_num(none if track.ease_from is None else track.ease_from[order]), 0, 1)
    arriving = np.clip(np.nan_to_num(none if track.ease_to is None else track.ease_to[order]), 0, 1)
    for at in range(min(len(times) - 1, 2_000)):
        length = times[at + 1] - times[at]
        total = max(leaving[at] + arriving[at + 1], 1.0)
        if not (0 < length < 1e12):
            continue
        if leaving[at]:
            panel.eases.append((float(times[at]), float(times[at] + length * leaving[at] / total)))
        if arriving[at + 1]:
            panel.eases.append((float(times[at + 1] - length * arriving[at + 1] / total), float(times[at + 1])))


_TURN = 2 * math.pi


def rotation_vectors_degrees(rotation_xyzw: npt.ArrayLike, before_degrees: npt.ArrayLike | None = None) -> Floats:
    """Return axis times angle in degrees, (n, 3), for consecutive rotations.

    Two full turns about x rise to 720: of all vectors for the same rotation, the one nearest to the previous vector is
    used. ``before_degrees`` is the vector before the first rotation.
    """
    halves = quat.log(quat.normalise(rotation_xyzw))
    out = np.empty((len(halves), 3))
    before = None if before_degrees is None else np.radians(np.asarray(before_degrees, np.float64))
    for number, half in enumerate(halves):
        full = 2 * half
        angle = math.sqrt(float(full @ full))
        if before is None:
            before = full if angle <= math.pi else full - full / angle * _TURN  # start with the shorter rotation
        elif angle > 1e-9:
            axis = full / angle
            before = full + axis * (_TURN * round(float((before - full) @ axis) / _TURN))
        else:  # no rotation or full turns: keep the previous axis
            size = math.sqrt(float(before @ before))
            before = before / size * (_TURN * round(size / _TURN)) if size > 1e-9 else full
        out[number] = before
    return np.degrees(out)
