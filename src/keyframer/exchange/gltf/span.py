"""Which stretch of a clip is written: its active segment, and all keys if some stand outside."""

from __future__ import annotations

import numpy as np

from keyframer.curves import Interpolation, Track
from keyframer.exchange.gltf.motion import Span
from keyframer.scene import Clip

LONGEST = 1e7
"""units of time from 0, 92 hours of frames: segments and keys that claim more are not believed"""


def clip_span(clip: Clip, fps: float | None) -> Span:
    """The union of the active segment and the keys: who opens the file expects the whole animation.

    The first key of steps is no reason to begin earlier: its value holds before it too.
    """
    rate = clip.rate if fps is None else fps * clip.units_per_frame
    if not (np.isfinite(rate) and rate > 0):
        rate = 30.0 * clip.units_per_frame
    begin, end = _finite(clip.start), _finite(clip.end)
    if end < begin or end - begin > LONGEST:
        end = begin
    for channel in clip.channels:
        times = key_times(channel.track)
        if len(times):
            begin, end = min(begin, float(times.min())), max(end, float(times.max()))
    return Span(begin, end, rate, _frame(clip))


def key_times(track: Track) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """The times that count for the length of a clip; none of a track that holds still."""
    times = track.times
    if len(times) > 1:
        times = times[np.isfinite(times)]
    if len(times) < 2:
        return times[:0]
    if track.interpolation is Interpolation.STEP:
        times = np.sort(times)[1:]
    return times[np.abs(times) <= LONGEST]


def _frame(clip: Clip) -> float:
    length = float(clip.units_per_frame)
    return length if np.isfinite(length) and length > 0 else 1.0


def _finite(value: float) -> float:
    return float(value) if np.isfinite(value) else 0.0
