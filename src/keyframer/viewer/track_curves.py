"""Tracks for the graph editor: authored keys with all their values, and the curve through them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property
from itertools import pairwise

import numpy as np

from keyframer.arrays import Floats
from keyframer.curves import CurveBank, Interpolation, Track
from keyframer.scene import Clip, RawChannel
from keyframer.text import counted
from keyframer.viewer.json_data import columns, numbers, table_of

MOST_SAMPLES = 20_000
"""maximum number of keys that become points of a line; of more keys only this many are used"""
FEW_SAMPLES = 2_000
"""number of points above which a line has fewer steps per segment, but at least 2"""
PER_SEGMENT, FEWEST_PER_SEGMENT = 24, 6
"""steps of a line between two keys, and the fewest for a clip with many keys; `FEW_SAMPLES` may reduce them further"""
MOST_POINTS = 400_000
"""approximate maximum number of points of all lines of a clip, unless `FEWEST_PER_SEGMENT` needs more"""
PORTION = 20_000
"""points of the lines that are computed at once"""
MOST_LINES = 24
"""maximum number of columns of a raw channel that are drawn"""
_SHAPES = ("tension", "continuity", "bias", "ease_to", "ease_from")

_COMPONENTS = {
    "position": ("x", "y", "z"),
    "scale": ("x", "y", "z"),
    "color": ("red", "green", "blue"),
}
_QUATERNION = ("x", "y", "z", "w")
_UNITS = {"fov": "degrees", "roll": "degrees", "hotspot": "degrees", "falloff": "degrees"}


def component_names(track: Track) -> list[str]:
    """Return the names of the lines of the graph."""
    if track.is_rotation:
        return list(_QUATERNION)
    width = 1 if track.values.ndim == 1 else track.values.shape[1]
    known = _COMPONENTS.get(track.kind, ())
    if len(known) == width:
        return list(known)
    return [track.kind] if width == 1 else [f"{track.kind} {index}" for index in range(width)]


class ClipCurves:
    """The tracks of a clip, compiled together on first use.

    Consecutive tracks are sampled and rounded together: a standalone page requests all of them in order. The last
    portion is kept.
    """

    def __init__(self, clip: Clip, begin: float, end: float) -> None:
        self._tracks = [channel.track for channel in clip.channels]
        self._begin, self._end = begin, end
        self._unit = clip.units_per_frame or 1.0
        segments = sum(len(track.times) for track in self._tracks)
        self._per_segment = max(FEWEST_PER_SEGMENT, min(PER_SEGMENT, MOST_POINTS // max(1, segments)))
        self._portion: dict[int, dict[str, object]] = {}

    @cached_property
    def _bank(self) -> CurveBank:
        return CurveBank(self._tracks)

    @cached_property
    def _portions(self) -> list[range]:
        """The tracks of each portion, by index."""
        points = np.array([len(track.times) * self._per_segment for track in self._tracks])
        portions = np.cumsum(points) // PORTION
        starts = [0, *(np.flatnonzero(np.diff(portions)) + 1).tolist(), len(points)]
        return [range(first, stop) for first, stop in pairwise(starts)]

    def moves(self, number: int) -> bool:
        """Return whether the value of a track changes."""
        return number not in self._bank.empty and self._bank.still_value(self._bank.places[number]) is None

    def curve(self, number: int) -> dict[str, object]:
        """Return all data of one track, with times in frames."""
        if number not in self._portion:
            at = bisect_right(self._portions, number, key=lambda portion: portion.start) - 1
            families: dict[str, list[int]] = {}
            for track in self._portions[at]:
                families.setdefault(self._bank.places[track].family, []).append(track)
            self._portion = {}
            for members in families.values():
                self._portion.update(zip(members, self._family_curves(members), strict=True))
        return self._portion[number]

    def _family_curves(self, members: list[int]) -> Iterator[dict[str, object]]:
        """Yield all data of tracks that the curve bank can evaluate together."""
        tracks = [self._tracks[number] for number in members]
        lines = self._line_times(tracks)
        keys = [np.where(np.isfinite(track.times), track.times, 0.0) for track in tracks]
        line_ends, key_ends = (np.cumsum([0, *map(len, parts)]).tolist() for parts in (lines, keys))
        times = np.concatenate([*lines, *keys])
        requested = np.concatenate([np.repeat(members, list(map(len, parts))) for parts in (lines, keys)])
        sampled, at_keys = np.split(self._bank.evaluate_pairs(requested, times), [line_ends[-1]])
        line_times, line_values = numbers(times[: line_ends[-1]] / self._unit), columns(sampled)
        key_times = numbers(np.concatenate([track.times for track in tracks]) / self._unit)
        key_values = columns(np.concatenate([track.values for track in tracks]))
        shown = columns(at_keys)
        ends = zip(pairwise(line_ends), pairwise(key_ends), strict=True)
        for track, ((begin, end), (first, stop)) in zip(tracks, ends, strict=True):
            yield {
                "components": component_names(track),
                "unit": _UNITS.get(track.kind, ""),
                "form": track.form.value,
                "keys": {
                    "times": key_times[first:stop],
                    "values": [column[first:stop] for column in key_values],
                    **_shapes(track),
                    "shown": [column[first:stop] for column in shown],
                },
                "curve": {"times": line_times[begin:end], "values": [column[begin:end] for column in line_values]},
            }

    def _line_times(self, tracks: list[Track]) -> list[Floats]:
        """Return the times of the points of each line, computed once for tracks with the same key times."""
        known: dict[object, Floats] = {}
        lines = []
        for track in tracks:
            key = track.times.tobytes(), track.interpolation, track.wrap
            if key not in known:
                known[key] = _sample_times(track, self._begin, self._end, self._per_segment)
            lines.append(known[key])
        return lines


def _shapes(track: Track) -> dict[str, object]:
    """Return the flags of the keys, and the shape parameters that are not zero for all keys."""
    shape_values = {name: column for name in _SHAPES if (column := getattr(track, name)) is not None and np.any(column)}
    flags = {} if track.flags is None else {"flags": track.flags.tolist()}
    return {**{name: numbers(column) for name, column in shape_values.items()}, **flags}


def raw_moves(channel: RawChannel) -> bool:
    """Return whether any number changes from frame to frame."""
    rows = table_of(channel.values)
    return bool(np.any(rows[1:] != rows[:-1]))


def raw_curve(channel: RawChannel) -> dict[str, object]:
    """Return a raw channel: the first columns as lines from frame to frame."""
    rows = table_of(channel.values)
    times, lines = numbers(np.arange(len(rows))), columns(rows[:, :MOST_LINES])
    return {
        "components": [str(index) for index in range(len(lines))],
        "unit": "",
        "note": counted(rows.shape[1], "column") + (f", {MOST_LINES} drawn" if len(lines) < rows.shape[1] else ""),
        "form": "none",
        "keys": {"times": times, "values": lines, "shown": lines},
        "curve": {"times": times, "values": lines},
    }


def _sample_times(track: Track, begin: float, end: float, per_segment: int) -> Floats:
    """Return enough times for a smooth line: the keys, several times between keys, and both sides of steps."""
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
    count = max(2, min(per_segment, FEW_SAMPLES // max(1, len(corners) - 1)))
    between = (corners[:-1, None] + np.diff(corners)[:, None] * (np.arange(count) / count)).reshape(-1)
    if track.wrap.value == "single" or end <= begin:
        return np.append(between, corners[-1])
    # a repeated line also changes direction where it has no keys
    return np.unique(np.concatenate([between, corners[-1:], np.linspace(begin, end, 400)]))
