"""Change the frame rate of an animation."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from keyframer.curves import Interpolation, Track, compile_track
from keyframer.formats.kit.scene_writing import units_per_second
from keyframer.operating._tracks import with_tracks
from keyframer.scene import Scene


def change_rate(scene: Scene, frames_per_second: float) -> Scene:
    """The same motion in the same time, counted in frames of another length.

    Keys stay where they are, which may be between frames; values that stand at every frame are taken anew at the new
    frames. Boxes and raw numbers of frames cannot be: they are left out.
    """
    if not (math.isfinite(frames_per_second) and frames_per_second > 0):
        raise ValueError(f"expected a positive number of frames, not {frames_per_second}")
    if not scene.clips:
        return scene
    clip = scene.clips[0]
    factor = frames_per_second / units_per_second(clip)

    def change(track: Track) -> Track:
        times = np.asarray(track.times * factor)
        near = np.rint(times)
        times = np.where(np.abs(times - near) < 1e-9 * np.maximum(1.0, np.abs(near)), near, times)
        if track.interpolation is not Interpolation.SAMPLED or len(times) < 2 or not np.mod(times, 1).any():
            return replace(track, times=times, **_steeper(track, factor))
        frames = np.arange(math.ceil(times[0]), math.ceil(times[-1]) + 1.0)
        values = compile_track(track)(frames / factor)
        return replace(track, times=frames, values=values)

    current = None if clip.current is None else clip.current * factor
    times = {"start": clip.start * factor, "end": clip.end * factor, "current": current}
    frame = {"rate": frames_per_second, "unit": "frame", "units_per_frame": 1.0}
    lost: dict[str, object] = {} if factor == 1 else {"bounds": None, "raw_channels": []}
    return with_tracks(scene, change, **times, **frame, **lost)


def _steeper(track: Track, factor: float) -> dict[str, Any]:
    """Scale tangents, which are slopes, with the unit of time."""
    if track.tangents_in is None or track.tangents_out is None:
        return {}
    return {"tangents_in": track.tangents_in / factor, "tangents_out": track.tangents_out / factor}
