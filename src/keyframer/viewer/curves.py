"""A track for the graph editor: authored keys with all they hold, and the curve our sampler draws through them."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt

from keyframer.curves import Interpolation, Track, compile_track
from keyframer.curves.forms import absolute
from keyframer.scene import RawChannel
from keyframer.viewer.plain import columns, numbers, table_of

Floats = npt.NDArray[np.float64]

MOST_SAMPLES = 20_000
"""more keys than this are not all points of the line"""
FEW_SAMPLES = 2_000
"""up to which segments are drawn in several steps"""
PER_SEGMENT = 24
MOST_LINES = 24
"""columns of a raw channel that are drawn"""
_SHAPES = ("tension", "continuity", "bias", "ease_to", "ease_from")

_COMPONENTS = {
    "position": ("x", "y", "z"),
    "scale": ("x", "y", "z"),
    "color": ("red", "green", "blue"),
}
_QUATERNION = ("x", "y", "z", "w")
_UNITS = {"fov": "degrees", "roll": "degrees", "hotspot": "degrees", "falloff": "degrees"}


def component_names(track: Track) -> list[str]:
    """What the lines of the graph are called."""
    if track.is_rotation:
        return list(_QUATERNION)
    width = 1 if track.values.ndim == 1 else track.values.shape[1]
    known = _COMPONENTS.get(track.kind, ())
    if len(known) == width:
        return list(known)
    return [track.kind] if width == 1 else [f"{track.kind} {index}" for index in range(width)]


def track_curve(track: Track, begin: float, end: float, unit: float) -> dict[str, object]:
    """Everything about one track, with times in frames (``unit`` of the clip's own each)."""
    times = _sample_times(track, begin, end)
    usable = np.where(np.isfinite(track.times), track.times, 0.0)
    sampled, at_keys = np.split(_values(track, np.concatenate([times, usable])), [len(times)])
    keys: dict[str, object] = {"times": numbers(track.times / unit), "values": columns(track.values)}
    for name in _SHAPES:
        column = getattr(track, name)
        if column is not None and np.any(column):
            keys[name] = numbers(column)
    if track.flags is not None:
        keys["flags"] = track.flags.tolist()
    return {
        "components": component_names(track),
        "unit": _UNITS.get(track.kind, ""),
        "form": track.form.value,
        "keys": {**keys, "shown": columns(at_keys)},
        "curve": {"times": numbers(times / unit), "values": columns(sampled)},
    }


def _values(track: Track, times: Floats) -> Floats:
    """The track at these times. Most tracks of most files are a single key: that needs no curve."""
    if len(track.times) == 1 and np.isfinite(track.times).all() and np.isfinite(track.values).all():
        return np.repeat(absolute(track) if track.is_rotation else track.values, len(times), axis=0)
    with np.errstate(all="ignore"):
        return compile_track(track)(times)


def raw_curve(channel: RawChannel) -> dict[str, object]:
    """Rows of numbers without a meaning: the first columns as lines from frame to frame."""
    rows = table_of(channel.values)
    times, lines = numbers(np.arange(len(rows))), columns(rows[:, :MOST_LINES])
    return {
        "components": [str(index) for index in range(len(lines))],
        "unit": "",
        "note": f"{rows.shape[1]} columns" + (f", {MOST_LINES} drawn" if len(lines) < rows.shape[1] else ""),
        "form": "none",
        "keys": {"times": times, "values": lines, "shown": lines},
        "curve": {"times": times, "values": lines},
    }


def _sample_times(track: Track, begin: float, end: float) -> Floats:
    """Enough for a smooth line: several between any two keys, the keys themselves, and both sides of jumps."""
    keys = np.unique(track.times[np.isfinite(track.times)])
    inside = keys[(keys >= begin) & (keys <= end)]
    corners = np.unique(np.concatenate([[begin, end], inside]))
    if len(keys) < 2:
        return corners
    if len(corners) > MOST_SAMPLES:
        return np.asarray(corners[np.linspace(0, len(corners) - 1, MOST_SAMPLES).astype(np.int64)])
    if track.interpolation in (Interpolation.SAMPLED, Interpolation.STEP) and track.wrap.value == "single":
        steps = track.interpolation is Interpolation.STEP
        before = np.nextafter(inside, -np.inf) if steps else inside[:0]
        return np.unique(np.concatenate([corners, before]))
    count = max(2, min(PER_SEGMENT, FEW_SAMPLES // max(1, len(corners) - 1)))
    parts = [np.linspace(left, right, count, endpoint=False) for left, right in pairwise(corners.tolist())]
    if track.wrap.value != "single" and end > begin:  # keys say little about how often the line turns
        parts.append(np.linspace(begin, end, 400))
    return np.unique(np.concatenate([*parts, corners]))
