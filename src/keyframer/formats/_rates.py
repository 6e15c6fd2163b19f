"""A clip counted in another unit of time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from keyframer.curves import Track
from keyframer.formats._writing import units_per_second
from keyframer.scene import Channel, Clip, Scene

_SNAP = 1e-9
"""closer to a whole number is the number itself, rounded on the way"""


def counted(clip: Clip, unit: str, rate: float, units_per_frame: float) -> Clip:
    """The same motion with times in this unit, of which ``rate`` make a second; itself where they are."""
    factor = rate / units_per_second(clip)
    if factor == 1.0 and (clip.unit, clip.units_per_frame) == (unit, units_per_frame):
        return clip
    channels = [Channel(each.node, _stretched(each.track, factor)) for each in clip.channels]
    made = replace(clip, rate=rate, unit=unit, units_per_frame=units_per_frame, channels=channels)
    start, end, current = (float(time) for time in _times([clip.start, clip.end, clip.current or 0.0], factor))
    made.start, made.end, made.current = start, end, None if clip.current is None else current
    return made


def counted_like(scene: Scene, other: Scene) -> Scene:
    """The scene with the times of its clip in the unit of another's; itself where they are, or where one has none."""
    if not scene.clips or not other.clips:
        return scene
    like = other.clips[0]
    clip = counted(scene.clips[0], like.unit, like.rate, like.units_per_frame)
    return scene if clip is scene.clips[0] else replace(scene, clips=[clip, *scene.clips[1:]])


def _stretched(track: Track, factor: float) -> Track:
    slopes = {
        name: column / factor
        for name in ("tangents_in", "tangents_out")
        if (column := getattr(track, name)) is not None
    }
    return replace(track, times=_times(track.times, factor), **slopes)


def _times(given: npt.ArrayLike, factor: float) -> npt.NDArray[np.float64]:
    times = np.asarray(given, np.float64) * factor
    near = np.rint(times)
    return np.where(np.abs(times - near) < _SNAP * np.maximum(1.0, np.abs(near)), near, times)
