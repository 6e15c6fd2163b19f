"""An animation backwards."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from keyframer.curves import Interpolation, RotationForm, Track, Wrap
from keyframer.curves.key_reduction import Sampling, sample_together
from keyframer.curves.rotation_forms import absolute, increments, usable_keys
from keyframer.formats.kit.scene_writing import DEFAULT_MAX_ERROR, Tolerance
from keyframer.maths import quat
from keyframer.operating._tracks import sampled, with_these_tracks
from keyframer.posing.bounds_and_duration import clip_span
from keyframer.scene import Scene


def reverse(scene: Scene, *, max_error: float = DEFAULT_MAX_ERROR) -> Scene:
    """The active segment played from its end to its start: what was at ``start + t`` is at ``end - t``.

    Keys stay keys: tension and continuity keep their sign, bias changes it, the two eases change places, turns turn
    back. Tracks that repeat are played out first, within ``max_error``.
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
        source = usable_keys(track)
        if source.wrap is not Wrap.SINGLE and len(source.times) > 1:
            frames = np.append(begin + unit * np.arange(math.ceil((end - begin) / unit - 1e-9)), end)
            source = yield from sampled(source, frames, tolerance)
        return _reversed(source, total) if len(source.times) else source

    backwards = None if clip.bounds is None else clip.bounds[::-1]
    raw = [replace(raw_channel, values=raw_channel.values[::-1]) for raw_channel in clip.raw_channels]
    tracks = sample_together(change(channel.track) for channel in clip.channels)
    return with_these_tracks(scene, tracks, bounds=backwards, raw_channels=raw)


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
        reversed_track.values, reversed_track.form = _turned_back(track), RotationForm.AXIS_ANGLE_RELATIVE
    return reversed_track


def _turned_back(track: Track) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """The last turn as it is, then every increment undone."""
    axes, angles = increments(track)
    axis, angle = quat.to_axis_angle(absolute(track)[-1:])
    return np.column_stack([np.concatenate([axis, axes[:0:-1]]), np.concatenate([angle, -angles[:0:-1]])])


def _reversed_steps(track: Track, total: float) -> Track:
    """A value that held until the next key holds from there on; the last one holds from the beginning."""
    values = absolute(track) if track.is_rotation else track.values
    form = RotationForm.QUATERNION_ABSOLUTE if track.is_rotation else RotationForm.NONE
    times = total - track.times[:0:-1]
    first = (times[0] if len(times) else total - track.times[0]) - 1.0
    return Track(track.kind, np.append(first, times), values[::-1], Interpolation.STEP, form=form)
