"""Convert the times of a clip to another unit, or its tracks to a value for every frame."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from keyframer.arrays import Floats
from keyframer.curves import Interpolation, RotationForm, Track, compile_track
from keyframer.formats.kit.scene_writing import CannotMerge, frames_per_second, plain_path, units_per_second
from keyframer.limits import ensure_budget
from keyframer.posing.bounds_and_duration import LONGEST, clip_span
from keyframer.scene import Channel, Clip, Scene
from keyframer.scene.loss_report import LossReport, Outcome

_KINDS = ("position", "rotation")


def frame_count(clip: Clip) -> int:
    """Return the number of frames from 0 to the end of a clip, whose times must be frames.

    Raises `CannotMerge` if the clip starts before frame 0.
    """
    begin, end = clip_span(clip)
    if begin < 0:
        raise CannotMerge("the clip starts before frame 0")
    ensure_budget("samples", int(end))
    return int(np.ceil(end - 1e-6)) + 1


def at_whole_frames(scene: Scene, fps: float, report: LossReport) -> Scene:
    """Return the scene with position and rotation values at whole frames, at ``fps`` frames per second.

    The frames are 0, 1, 2 … to the end of its clip. The scene is the same object if it has them already.
    """
    if not scene.clips:
        return scene
    original = scene.clips[0]
    clip = in_time_unit(original, "frame", fps, 1.0)
    if not math.isclose(fps, frames_per_second(original)):
        message = f"sampled at {fps:g} frames per second; the clip has {frames_per_second(original):g}"
        report.add(Outcome.APPROXIMATED, "/clips/rate", message)
    frames = np.arange(frame_count(clip), dtype=np.float64)
    if any(np.any(channel.track.times > LONGEST) for channel in clip.channels):
        report.add(Outcome.DROPPED, "/clips/keys", f"keys after frame {LONGEST:,.0f} are ignored")
    channels = [_at_frames(scene, channel, frames, report) for channel in clip.channels]
    last = float(len(frames) - 1)
    if clip.end <= last - 1:
        message = f"the format plays all frames: the clip ends at its last key, frame {last:g}"
        report.add(Outcome.DROPPED, "/clips/end", message)
    if clip is original and clip.end == last and all(a is b for a, b in zip(channels, clip.channels, strict=True)):
        return scene
    return replace(scene, clips=[replace(clip, channels=channels, end=last), *scene.clips[1:]])


def _at_frames(scene: Scene, channel: Channel, frames: Floats, report: LossReport) -> Channel:
    track = channel.track
    sampled = track.interpolation is Interpolation.SAMPLED
    if track.kind not in _KINDS or not len(track.times) or (sampled and np.array_equal(track.times, frames)):
        return channel
    form = RotationForm.QUATERNION_ABSOLUTE if track.is_rotation else RotationForm.NONE
    if not (sampled and np.isin(track.times, frames).all()):
        path = f"{plain_path('nodes', scene.nodes[channel.node].name)}/{track.kind}"
        report.add(Outcome.APPROXIMATED, path, "now has a value for every frame")
    return Channel(channel.node, Track.sampled(track.kind, compile_track(track)(frames), form=form))


_SNAP = 1e-9
"""a time is rounded to a whole number n if it differs from it by less than this times the larger of 1 and abs(n)"""


def in_time_unit(clip: Clip, unit: str, rate: float, units_per_frame: float) -> Clip:
    """Return the clip with times in another unit, ``rate`` of them per second; the same object if nothing changes."""
    factor = rate / units_per_second(clip)
    if factor == 1.0 and (clip.unit, clip.units_per_frame) == (unit, units_per_frame):
        return clip
    channels = [Channel(channel.node, _stretched(channel.track, factor)) for channel in clip.channels]
    converted = replace(clip, rate=rate, unit=unit, units_per_frame=units_per_frame, channels=channels)
    start, end, current = (float(time) for time in _scaled_times([clip.start, clip.end, clip.current or 0.0], factor))
    converted.start, converted.end, converted.current = start, end, None if clip.current is None else current
    return converted


def in_time_unit_of(scene: Scene, other: Scene) -> Scene:
    """Return the scene with clip times in the unit of the other scene's clip.

    It is the same object if they match or a clip is missing.
    """
    if not scene.clips or not other.clips:
        return scene
    target_clip = other.clips[0]
    clip = in_time_unit(scene.clips[0], target_clip.unit, target_clip.rate, target_clip.units_per_frame)
    return scene if clip is scene.clips[0] else replace(scene, clips=[clip, *scene.clips[1:]])


def _stretched(track: Track, factor: float) -> Track:
    tangents = {
        name: column / factor
        for name in ("tangents_in", "tangents_out")
        if (column := getattr(track, name)) is not None
    }
    return replace(track, times=_scaled_times(track.times, factor), **tangents)


def _scaled_times(times: npt.ArrayLike, factor: float) -> Floats:
    scaled = np.asarray(times, np.float64) * factor
    rounded = np.rint(scaled)
    return np.where(np.abs(scaled - rounded) < _SNAP * np.maximum(1.0, np.abs(rounded)), rounded, scaled)
