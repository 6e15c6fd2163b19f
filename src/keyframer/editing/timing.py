"""Edits of the time of an animation: cut, reverse, change the rate."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from keyframer.arrays import Floats
from keyframer.curves import Interpolation, RotationForm, Track, Wrap, compile_track, even_times
from keyframer.curves.key_reduction import Sampling, fewest_keys, sample_together, values_of
from keyframer.curves.rotation_forms import absolute, finite_keys, increments, select_keys
from keyframer.editing._results import edit
from keyframer.formats.kit.scene_writing import DEFAULT_MAX_ERROR, Tolerance, units_per_second
from keyframer.maths import quat
from keyframer.posing.bounds_and_duration import clip_span
from keyframer.scene import Channel, Clip, Scene


def map_tracks(scene: Scene, change: Callable[[Track], Track | None], **clip: object) -> Scene:
    """Return the scene with every track of its first clip changed (None removes it), and new clip fields."""
    if not scene.clips:
        return scene
    return replace_tracks(scene, [change(channel.track) for channel in scene.clips[0].channels], **clip)


def replace_tracks(scene: Scene, tracks: Iterable[Track | None], **clip: object) -> Scene:
    """Return the scene with other tracks for the channels of its first clip (None removes one).

    ``clip`` are new values of fields of the clip.
    """
    first = scene.clips[0]
    changed = zip(first.channels, tracks, strict=True)
    channels = [Channel(channel.node, track) for channel, track in changed if track is not None]
    clip_with_tracks: Clip = replace(first, channels=channels, **clip)  # type: ignore[arg-type]
    return replace(scene, clips=[clip_with_tracks, *scene.clips[1:]])


def sampled(track: Track, times: Floats, tolerance: Tolerance) -> Sampling[Track]:
    """Return few keys through the values of a track at these times.

    The error between these times is limited, too, if they include all keys in their range and the track does not
    repeat. Otherwise the curve may have corners between the times, which the result cannot follow.
    """
    values = yield from values_of(track, times)
    if track.interpolation is Interpolation.STEP and not track.is_rotation:
        changes = np.concatenate([[True], np.any(np.diff(values.reshape(len(times), -1), axis=0) != 0, axis=1)])
        return Track(track.kind, times[changes], values[changes], Interpolation.STEP)
    form = RotationForm.QUATERNION_ABSOLUTE if track.is_rotation else RotationForm.NONE
    allowed, distance, _ = tolerance.for_track(track)
    largest_change = 90.0 if track.is_rotation else np.inf
    key_times = track.times[(track.times >= times[0]) & (track.times <= times[-1])]
    includes_keys = track.wrap is Wrap.SINGLE and bool(np.isin(key_times, times).all())
    between = partial(values_of, track) if includes_keys else None
    return (yield from fewest_keys(track.kind, times, values, form, allowed, distance, largest_change, between))[0]


@edit
def cut(scene: Scene, first: float, last: float, *, max_error: float = DEFAULT_MAX_ERROR) -> Scene:
    """Return frames ``first`` to ``last``, which become 0 to ``last - first``.

    A track keeps its keys if all are inside; a sampled track with keys at both ends keeps those inside. Other tracks,
    and tracks that repeat, get new keys, with an error of at most ``max_error`` times the size of the scene (and 0.01
    degree at the default of 1e-4). Raises ValueError without a clip or for an invalid range.
    """
    if not scene.clips:
        raise ValueError("the scene has no clip to cut")
    if not (math.isfinite(first) and math.isfinite(last) and first < last):
        raise ValueError(f"frames from {first:g} to {last:g} are not a range")
    clip = scene.clips[0]
    unit = clip.units_per_frame or 1.0
    begin, end = first * unit, last * unit
    tolerance = Tolerance.of(scene, max_error)
    changes: dict[str, object] = {"start": 0.0, "end": end - begin}
    if clip.current is not None:
        changes["current"] = min(max(clip.current - begin, 0.0), end - begin)
    if clip.bounds is not None:
        changes["bounds"] = clip.bounds[math.ceil(first) : math.floor(last) + 1]
    changes["raw_channels"] = [
        replace(raw_channel, values=raw_channel.values[math.ceil(first) : math.floor(last) + 1])
        for raw_channel in clip.raw_channels
    ]
    parts = sample_together(_cut(channel.track, begin, end, unit, tolerance) for channel in clip.channels)
    return replace_tracks(scene, parts, **changes)


def _cut(track: Track, begin: float, end: float, unit: float, tolerance: Tolerance) -> Sampling[Track]:
    """Return the part of a track from ``begin`` to ``end``, moved to time 0; ``unit`` is the length of a frame."""
    track = finite_keys(track)
    if len(track.times) < 2 and track.wrap is Wrap.SINGLE:
        return replace(track, times=np.zeros(len(track.times)))
    inside = bool((track.times >= begin).all() and (track.times <= end).all()) and track.wrap is Wrap.SINGLE
    if inside:
        return replace(track, times=track.times - begin)
    has_keys_at_ends = begin in track.times and end in track.times
    if track.interpolation is Interpolation.SAMPLED and track.wrap is Wrap.SINGLE and has_keys_at_ends:
        chosen = np.flatnonzero((track.times >= begin) & (track.times <= end))
        sampled_track = select_keys(track, chosen)
        return replace(sampled_track, times=sampled_track.times - begin)
    key_times = track.times[(track.times > begin) & (track.times < end)]
    times = np.unique(np.concatenate([even_times(begin, end, unit)[:-1], key_times, [end]]))
    sampled_track = yield from sampled(track, times, tolerance)
    return replace(sampled_track, times=sampled_track.times - begin)


@edit
def reverse(scene: Scene, *, max_error: float = DEFAULT_MAX_ERROR) -> Scene:
    """Return the scene with its active segment reversed: values at ``start + t`` move to ``end - t``.

    Keys stay keys: tension and continuity keep their sign, bias changes it, the two eases are exchanged, relative
    rotations are inverted. Repeating tracks are first converted to keys for the whole segment, within ``max_error``.
    """
    if not scene.clips:
        return scene
    clip = scene.clips[0]
    begin, end = clip_span(clip)
    if begin < clip.start or end > clip.end:
        begin, end = clip.start, clip.end
    total = begin + end
    tolerance = Tolerance.of(scene, max_error)
    unit = clip.units_per_frame or 1.0

    def change(track: Track) -> Sampling[Track]:
        source = finite_keys(track)
        if source.wrap is not Wrap.SINGLE and len(source.times) > 1:
            frames = np.append(even_times(begin, end, unit)[:-1], end)
            source = yield from sampled(source, frames, tolerance)
        return _reversed(source, total) if len(source.times) else source

    backwards = None if clip.bounds is None else clip.bounds[::-1]
    raw = [replace(raw_channel, values=raw_channel.values[::-1]) for raw_channel in clip.raw_channels]
    tracks = sample_together(change(channel.track) for channel in clip.channels)
    return replace_tracks(scene, tracks, bounds=backwards, raw_channels=raw)


def _reversed(track: Track, total: float) -> Track:
    if track.interpolation is Interpolation.STEP:
        return _reversed_steps(track, total)

    def flipped(name: str, sign: float = 1.0) -> object:
        column = getattr(track, name)
        return None if column is None else sign * column[::-1]

    columns = {
        "tension": flipped("tension"),
        "continuity": flipped("continuity"),
        "bias": flipped("bias", -1.0),
        "ease_to": flipped("ease_from"),
        "ease_from": flipped("ease_to"),
        "tangents_in": flipped("tangents_out", -1.0),
        "tangents_out": flipped("tangents_in", -1.0),
        "flags": None,
    }
    reversed_track = replace(track, times=total - track.times[::-1], values=track.values[::-1], **columns)  # type: ignore[arg-type]
    relative = (RotationForm.AXIS_ANGLE_RELATIVE, RotationForm.QUATERNION_RELATIVE)
    if track.form in relative:
        reversed_track.values, reversed_track.form = _reversed_rotations(track), RotationForm.AXIS_ANGLE_RELATIVE
    return reversed_track


def _reversed_rotations(track: Track) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """Return the last rotation, then the inverted increments from the last to the first."""
    axes, angles = increments(track)
    axis, angle = quat.to_axis_angle(absolute(track)[-1:])
    return np.column_stack([np.concatenate([axis, axes[:0:-1]]), np.concatenate([angle, -angles[:0:-1]])])


def _reversed_steps(track: Track, total: float) -> Track:
    """Return the steps reversed: a value that was held until the next key is now held from that key on, and the last
    value from the start.
    """
    values = absolute(track) if track.is_rotation else track.values
    form = RotationForm.QUATERNION_ABSOLUTE if track.is_rotation else RotationForm.NONE
    times = total - track.times[:0:-1]
    first = (times[0] if len(times) else total - track.times[0]) - 1.0
    return Track(track.kind, np.append(first, times), values[::-1], Interpolation.STEP, form=form)


@edit
def change_rate(scene: Scene, frames_per_second: float) -> Scene:
    """Return the same motion with another frame rate.

    Keys stay at their times, which may be between frames; values stored for every frame are sampled again at the new
    frames. Bounding boxes and raw channels cannot be sampled: they are dropped.
    """
    if not (math.isfinite(frames_per_second) and frames_per_second > 0):
        raise ValueError(f"expected a positive number of frames per second, not {frames_per_second}")
    if not scene.clips:
        return scene
    clip = scene.clips[0]
    factor = frames_per_second / units_per_second(clip)

    def change(track: Track) -> Track:
        times = np.asarray(track.times * factor)
        near = np.rint(times)
        times = np.where(np.abs(times - near) < 1e-9 * np.maximum(1.0, np.abs(near)), near, times)
        if track.interpolation is not Interpolation.SAMPLED or len(times) < 2 or not np.mod(times, 1).any():
            return replace(track, times=times, **_scaled_tangents(track, factor))
        frames = even_times(math.ceil(times[0]), math.ceil(times[-1]))
        values = compile_track(track)(frames / factor)
        return replace(track, times=frames, values=values)

    current = None if clip.current is None else clip.current * factor
    times = {"start": clip.start * factor, "end": clip.end * factor, "current": current}
    frame = {"rate": frames_per_second, "unit": "frame", "units_per_frame": 1.0}
    dropped: dict[str, object] = {} if factor == 1 else {"bounds": None, "raw_channels": []}
    return map_tracks(scene, change, **times, **frame, **dropped)


def _scaled_tangents(track: Track, factor: float) -> dict[str, Any]:
    """Scale tangents, which are slopes, with the unit of time."""
    if track.tangents_in is None or track.tangents_out is None:
        return {}
    return {"tangents_in": track.tangents_in / factor, "tangents_out": track.tangents_out / factor}
