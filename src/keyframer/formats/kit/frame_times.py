"""Convert the times of a clip to another unit, or its tracks to a value for every frame."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from keyframer.arrays import Floats
from keyframer.curves import Interpolation, RotationForm, Track, compile_track, even_times
from keyframer.curves.rotation_forms import finite_keys
from keyframer.formats.kit.scene_writing import CannotMerge, frames_per_second, plain_path, units_per_second
from keyframer.limits import ensure_budget
from keyframer.posing.bounds_and_duration import LONGEST, clip_span
from keyframer.scene import Channel, Clip, Scene
from keyframer.scene.loss_report import LossReport
from keyframer.scene.losses import (
    CLIP_RANGE_UNSUPPORTED,
    KEYS_LEFT_OUT,
    MOTION_SAMPLED,
    RATE_CHANGED,
    RATE_UNSUPPORTED,
)

_KINDS = ("position", "rotation")


SINGLE = 2.0**-23
"""times of glTF and of many other files are single precision: they may differ by this fraction of themselves"""
_SLOWEST, _FASTEST = 24, 120
"""the lowest and the highest frame rate that is chosen for keys between frames"""
_NEAR = 2e-3
"""frames: a key this close to a frame is on it (1/24 s, written as 0.0417 s, is 8e-4 frames late)"""
_STRAIGHT = (Interpolation.LINEAR, Interpolation.STEP, Interpolation.SAMPLED)


def rate_of_times(seconds: Floats, least: int = 1) -> int | None:
    """Return the lowest frame rate from ``least`` to 120 at which all these times are frames; None if there is none."""
    return next((rate for rate in range(least, _FASTEST + 1) if _are_frames(seconds * rate)), None)


def _are_frames(times: Floats) -> bool:
    return bool((np.abs(times - np.rint(times)) <= _NEAR + SINGLE * np.abs(times)).all())


def rate_of_keys(clip: Clip) -> int:
    """Return whole frames per second for a format that stores the frame rate and a value for every frame.

    This is the rate of the clip, rounded. If its times are seconds, its source has no frames: then it is another rate
    if that one has no keys between frames, the lowest from 24 to 120, or from that of the clip for curves, which are
    straight between frames afterwards.
    """
    clip_rate = max(round(frames_per_second(clip)), 1)
    tracks = [finite_keys(channel.track) for channel in clip.channels]
    moving = [
        track for track in tracks if len(track.times) > 1 and (track.is_rotation or np.ptp(track.values, 0).any())
    ]
    seconds = np.unique(np.concatenate([np.zeros(1), *(track.times for track in moving)])) / units_per_second(clip)
    if clip.unit != "second" or _are_frames(seconds * clip_rate):
        return clip_rate
    straight = all(track.interpolation in _STRAIGHT for track in moving)
    return rate_of_times(seconds, min(clip_rate, _SLOWEST if straight else _FASTEST)) or clip_rate


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
        report.add(RATE_CHANGED["sampled"], "/clips/rate", fps=fps, clip_fps=frames_per_second(original))
    frames = even_times(0.0, frame_count(clip) - 1)
    if any(np.any(channel.track.times > LONGEST) for channel in clip.channels):
        report.add(KEYS_LEFT_OUT["too late"], "/clips/keys", last=LONGEST)
    channels = [_at_frames(scene, channel, frames, report) for channel in clip.channels]
    last = float(len(frames) - 1)
    if clip.end <= last - 1:
        report.add(CLIP_RANGE_UNSUPPORTED["end"], "/clips/end", last=last)
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
        report.add(MOTION_SAMPLED["filled"], path)
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


def in_time_unit_of(scene: Scene, other: Scene, report: LossReport | None = None) -> Scene:
    """Return the scene with clip times in the unit of the other scene's clip, and report another frame rate.

    It is the same object if they match or a clip is missing.
    """
    if not scene.clips or not other.clips:
        return scene
    target_clip = other.clips[0]
    rates = frames_per_second(scene.clips[0]), frames_per_second(target_clip)
    if report is not None and not math.isclose(*rates, rel_tol=1e-6):
        report.add(RATE_UNSUPPORTED["kept"], "/clips/rate", fps=rates[1], clip_fps=rates[0])
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
