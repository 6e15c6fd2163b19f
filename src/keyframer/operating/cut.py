"""Cut a range of frames out of an animation."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from keyframer.curves import Interpolation, Track, Wrap
from keyframer.curves.key_reduction import Sampling, sample_together
from keyframer.curves.rotation_forms import picked, usable_keys
from keyframer.formats.kit.scene_writing import DEFAULT_MAX_ERROR, Tolerance
from keyframer.operating._tracks import sampled, with_these_tracks
from keyframer.scene import Scene

Floats = npt.NDArray[np.float64]


def cut(scene: Scene, first: float, last: float, *, max_error: float = DEFAULT_MAX_ERROR) -> Scene:
    """Frames ``first`` to ``last``, which become 0 to ``last - first``.

    A track whose keys all lie inside keeps them. One that reaches outside is bent by keys that go: what it does inside
    is put through new keys, within ``max_error`` of the scene's size (and 0.01 degree at the usual 1e-4).
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
    return with_these_tracks(scene, parts, **changes)


def _cut(track: Track, begin: float, end: float, unit: float, tolerance: Tolerance) -> Sampling[Track]:
    track = usable_keys(track)
    if len(track.times) < 2 and track.wrap is Wrap.SINGLE:
        return replace(track, times=np.zeros(len(track.times)))
    inside = bool((track.times >= begin).all() and (track.times <= end).all()) and track.wrap is Wrap.SINGLE
    if inside:
        return replace(track, times=track.times - begin)
    if track.interpolation is Interpolation.SAMPLED and track.wrap is Wrap.SINGLE and _on_frames(track, begin, end):
        chosen = np.flatnonzero((track.times >= begin) & (track.times <= end))
        sampled_track = picked(track, chosen)
        return replace(sampled_track, times=sampled_track.times - begin)
    steps = math.ceil((end - begin) / unit - 1e-9)
    key_times = track.times[(track.times > begin) & (track.times < end)]
    times = np.unique(np.concatenate([begin + unit * np.arange(steps), key_times, [end]]))
    sampled_track = yield from sampled(track, times, tolerance)
    return replace(sampled_track, times=sampled_track.times - begin)


def _on_frames(track: Track, begin: float, end: float) -> bool:
    return begin in track.times and end in track.times
