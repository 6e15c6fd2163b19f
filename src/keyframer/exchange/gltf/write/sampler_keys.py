"""Keys in the form of glTF samplers, in the time unit of the clip: cutting, repeating, and rounding to seconds."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from keyframer.arrays import Flags, Floats, Singles
from keyframer.curves import Hermite
from keyframer.curves.linear_fit import ROTATIONS, Measure
from keyframer.exchange.gltf.conventions import single
from keyframer.maths import quat

Indices = npt.NDArray[np.intp]

STEP, LINEAR, CUBIC = "STEP", "LINEAR", "CUBICSPLINE"


@dataclass(eq=False, repr=False)
class Keys:
    """Keys: times (n,) that never decrease (two equal times are a jump), values (n, k), and tangents per unit of time,
    (n, k) or (0, k).
    """

    mode: str
    times: Floats
    values: Floats
    tangents_in: Floats
    tangents_out: Floats
    is_rotation: bool = False

    @classmethod
    def of(cls, mode: str, times: Floats, values: Floats, is_rotation: bool = False) -> Keys:
        """Return keys without tangents."""
        return cls(mode, times, values, values[:0], values[:0], is_rotation)

    @classmethod
    def cubic(cls, keys: Hermite, is_rotation: bool = False) -> Keys:
        shape = (len(keys.times), -1)
        parts = (keys.values.reshape(shape), keys.tangents_in.reshape(shape), keys.tangents_out.reshape(shape))
        return cls(CUBIC, keys.times, *parts, is_rotation)

    @cached_property
    def is_still(self) -> bool:
        """Whether the value never changes."""
        if len(self.times) < 2:
            return True
        all_equal = bool((self.values == self.values[0]).all())
        return all_equal and not (self.tangents_in.any() or self.tangents_out.any())

    def breaks(self) -> tuple[Floats, Flags]:
        """Return the distinct times (n,), and whether the value jumps there."""
        if self.mode != STEP and not (self.times[1:] == self.times[:-1]).any():
            return self.times, np.zeros(len(self.times), np.bool_)
        times, counts = np.unique(self.times, return_counts=True)
        return times, np.full(len(times), True) if self.mode == STEP else counts > 1

    def _changed(self, times: Floats, change: Callable[[Floats], Floats]) -> Keys:
        """Return keys with other times, and with values and tangents changed by a function."""
        values, into, out = (change(column) if len(column) else column for column in self._columns())
        return Keys(self.mode, times, values, into, out, self.is_rotation)

    def _columns(self) -> tuple[Floats, Floats, Floats]:
        return self.values, self.tangents_in, self.tangents_out

    def _take(self, rows: slice | Flags) -> Keys:
        return self._changed(self.times[rows], lambda column: column[rows])

    def _with_key_at(self, time: float) -> Keys:
        """Return the keys with a key at this time; an added key does not change the curve."""
        place = int(np.searchsorted(self.times, time, side="right"))
        if place and self.times[place - 1] == time:
            return self
        value, slope = self._at(place, time)
        values, into, out = (
            np.insert(column, place, row, axis=0) if len(column) else column
            for column, row in zip(self._columns(), (value, slope, slope), strict=True)
        )
        return Keys(self.mode, np.insert(self.times, place, time), values, into, out, self.is_rotation)

    def _at(self, place: int, time: float) -> tuple[Floats, Floats]:
        """Return value and slope at ``time``, which lies before the key ``place`` and not before its predecessor."""
        no_slope = np.zeros(self.values.shape[1])
        if place == 0 or place == len(self.times):
            return self.values[min(place, len(self.times) - 1)], no_slope
        a, b = self.values[place - 1], self.values[place]
        span = self.times[place] - self.times[place - 1]
        u = (time - self.times[place - 1]) / span
        if self.mode == STEP:
            return a, no_slope
        if self.mode == LINEAR:
            return (quat.slerp(a, b, u), no_slope) if self.is_rotation else (a + u * (b - a), no_slope)
        start, end = self.tangents_out[place - 1] * span, self.tangents_in[place] * span
        chord = b - a
        value = a + u * (start + u * (3 * chord - 2 * start - end + u * (start + end - 2 * chord)))
        slope = start + u * (2 * (3 * chord - 2 * start - end) + 3 * u * (start + end - 2 * chord))
        return value, slope / span

    def cut(self, begin: float, end: float) -> Keys:
        """Return the part between two times, with a key at both; a jump at the end is left out."""
        keys = self._with_key_at(begin)._with_key_at(end)
        first = int(np.searchsorted(keys.times, begin, side="right")) - 1
        last = int(np.searchsorted(keys.times, end, side="left")) if end > begin else first
        return keys._take(slice(first, last + 1))

    def repeated(self, begin: float, end: float, most_keys: int) -> Keys:
        """Return the keys repeated from ``begin`` to ``end``, but not more periods than fit in ``most_keys``.

        The period is the time of the last key. Keys before 0 come first and are not repeated (see
        `keyframer.curves.timeline`).
        """
        period = float(self.times[-1])
        first = math.floor(begin / period)
        leads_in = self.times[0] < 0 and begin < 0
        if leads_in:
            first = 0
        cycle = self.cut(0.0, period)
        most_periods = max(1, most_keys // len(cycle.times))
        last = min(max(math.ceil(end / period), first + 1), first + most_periods)
        cycles = cycle._tiled(first, last, period)
        keys = _joined(self.cut(begin, 0.0), cycles) if leads_in else cycles
        return keys.cut(begin, min(end, last * period))

    def _seam(self, later: Keys) -> tuple[float, bool]:
        """Return the sign with which rotations of ``later`` continue these keys, and whether ``later`` starts with the
        last value of these keys.
        """
        last, first = self.values[-1], later.values[0]
        sign = -1.0 if self.is_rotation and float(np.dot(last, first)) < 0 else 1.0
        near = np.abs(last - sign * first) <= 1e-9 * max(1.0, float(np.abs(last).max()))
        return sign, bool(near.all())

    def _tiled(self, first: int, last: int, period: float) -> Keys:
        """Return the periods from ``first`` up to, but not including, ``last``; if a period ends with the first value
        of the next one, they share a key.
        """
        sign, closed = self._seam(self)
        count = last - first
        times = (self.times + np.arange(first, last)[:, None] * period).reshape(-1)
        signs = np.where(np.arange(count) % 2, sign, 1.0)[:, None, None]
        keep = np.ones((count, len(self.times)), np.bool_)
        keep[1:, 0] = not closed
        kept_rows = keep.reshape(-1)

        def tiled(column: Floats, ends: Floats | None = None) -> Floats:
            columns = signs * column
            if closed and ends is not None:
                columns[:-1, -1] = signs[1:, 0] * ends
            return np.asarray(columns.reshape(-1, column.shape[1])[kept_rows])

        into, out = self.tangents_in, self.tangents_out
        if len(into):
            into, out = tiled(into), tiled(out, out[0])
        return Keys(self.mode, times[kept_rows], tiled(self.values), into, out, self.is_rotation)


def _joined(first: Keys, later: Keys) -> Keys:
    """Return concatenated keys; if ``first`` ends with the first value of ``later``, they share a key."""
    sign, closed = first._seam(later)
    skip = int(closed)
    values, into, out = (
        np.concatenate([column, (sign * later_column)[skip:]])
        for column, later_column in zip(first._columns(), later._columns(), strict=True)
    )
    if closed and len(out):
        out[len(first.times) - 1] = sign * later.tangents_out[0]
    times = np.concatenate([first.times, later.times[skip:]])
    return Keys(first.mode, times, values, into, out, first.is_rotation)


@dataclass(eq=False, repr=False)
class Sampler:
    """A sampler as written: ascending seconds (n,), values (n, k) and tangents per second, (n, k) or (0, k), in single
    precision.
    """

    mode: str
    times: Singles
    values: Singles
    tangents_in: Singles
    tangents_out: Singles

    @classmethod
    def of(cls, mode: str, times: Singles, values: Singles) -> Sampler:
        """Return a sampler without tangents."""
        return cls(mode, times, values, values[:0], values[:0])

    def mirrored(self, signs: Singles) -> Sampler:
        """Return the sampler with every component multiplied by 1 or -1."""
        return Sampler(self.mode, self.times, self.values * signs, self.tangents_in * signs, self.tangents_out * signs)

    def extended(self, end: Singles) -> Sampler:
        """Return the sampler with its last value kept until ``end`` (1,)."""
        times, values = np.concatenate([self.times, end]), np.concatenate([self.values, self.values[-1:]])
        if not len(self.tangents_in):
            return Sampler.of(self.mode, times, values)
        still = np.zeros_like(values[:1])
        tangents = (np.concatenate([column, still]) for column in (self.tangents_in, self.tangents_out))
        return Sampler(self.mode, times, values, *tangents)

    def output(self) -> Singles:
        """Return the values as glTF stores them: tangent, value, tangent for each key of a cubic."""
        if self.mode != CUBIC:
            return self.values
        return np.stack([self.tangents_in, self.values, self.tangents_out], axis=1).reshape(-1, self.values.shape[1])


def in_seconds(all_keys: Sequence[Keys], origin: float, rate: float) -> list[Sampler]:
    """Return a sampler for each of ``all_keys``: times in seconds, numbers in single precision."""
    groups: dict[tuple[str, int, bool], list[int]] = {}
    for number, keys in enumerate(all_keys):
        groups.setdefault((keys.mode, keys.values.shape[1], keys.is_rotation), []).append(number)
    samplers: dict[int, Sampler] = {}
    for numbers in groups.values():
        samplers.update(zip(numbers, _rounded([all_keys[number] for number in numbers], origin, rate), strict=True))
    return [samplers[number] for number in range(len(all_keys))]


def _rounded(all_keys: list[Keys], origin: float, rate: float) -> Iterator[Sampler]:
    """Yield samplers of keys of one mode and width. Tangents are adapted to the rounded distances, so that curves
    keep their shape. A jump becomes two keys as close as single precision allows; the second one is at the time of the
    jump.
    """
    counts = np.array([len(keys.times) for keys in all_keys])
    owner = np.repeat(np.arange(len(all_keys)), counts)
    clip_times = np.concatenate([keys.times for keys in all_keys])
    times = single(np.maximum((clip_times - origin) / rate, 0.0))
    differs = np.ones(len(times) + 1, np.bool_)
    differs[1:-1] = (times[1:] != times[:-1]) | (owner[1:] != owner[:-1])
    first, last = differs[:-1], differs[1:]
    earlier = first & ~last
    times[earlier] = np.nextafter(times[earlier], np.float32(-1.0))
    crowded = earlier.copy()
    crowded[1:] &= (times[1:] <= times[:-1]) & (owner[1:] == owner[:-1])
    crowded[:1] = False
    crowded[np.cumsum(counts[:-1])] = False
    keep = (first | last) & (times >= 0) & ~crowded
    times, owner, clip_times = times[keep], owner[keep], clip_times[keep]
    values = np.concatenate([keys.values for keys in all_keys])[keep]
    into, out = values[:0], values[:0]
    mode = all_keys[0].mode
    if mode == CUBIC:
        into = np.concatenate([keys.tangents_in for keys in all_keys])[keep]
        out = np.concatenate([keys.tangents_out for keys in all_keys])[keep]
        same_owner = owner[1:] == owner[:-1]
        spans = np.where(same_owner, np.diff(times.astype(np.float64)), 1.0)
        factor = np.where(same_owner & (np.diff(clip_times) > 0), np.diff(clip_times) / spans, 0.0)[:, None]
        out[:-1] *= factor
        into[1:] *= factor
        into[:1] = out[-1:] = 0.0
    elif all_keys[0].is_rotation:
        values = quat.normalise(values)
    columns = times, single(values), single(into), single(out)
    stops = np.searchsorted(owner, np.arange(len(all_keys)), side="right").tolist()
    start = 0
    for stop in stops:
        yield Sampler(mode, *(column[start:stop] for column in columns))
        start = stop


class SamplerGroup:
    """Samplers of one mode and width, evaluated together."""

    def __init__(self, samplers: Sequence[Sampler]) -> None:
        self.mode = samplers[0].mode
        self.counts = np.array([len(sampler.times) for sampler in samplers])
        self.starts = np.cumsum(self.counts) - self.counts
        self.owner: Indices = np.repeat(np.arange(len(self.counts)), self.counts)
        """(n,) the sampler of each key"""
        self._lasts = (self.starts + self.counts - 1)[self.owner]
        self.times: Floats = np.concatenate([sampler.times for sampler in samplers]).astype(np.float64)
        self._values: Floats = np.concatenate([sampler.values for sampler in samplers]).astype(np.float64)
        self._into: Floats = np.concatenate([sampler.tangents_in for sampler in samplers]).astype(np.float64)
        self._out: Floats = np.concatenate([sampler.tangents_out for sampler in samplers]).astype(np.float64)

    def find(self, seconds: Floats) -> Indices:
        """Return (samplers, T) the key at or before each time in seconds (T,); the first key for earlier times."""
        ranks, rank = np.unique(self.times, return_inverse=True)
        height = len(ranks) + 1
        pairs = self.owner * height + rank
        last_rank = np.searchsorted(ranks, seconds, side="right") - 1
        segments = np.searchsorted(pairs, np.arange(len(self.counts))[:, None] * height + last_rank, side="right") - 1
        return np.asarray(np.maximum(segments, self.starts[:, None]))

    def evaluate(self, place: Indices, seconds: Floats, measure: Measure, player: int) -> Floats:
        """Return (P, k) values at ``seconds`` (P,), each between the key ``place`` (P,) and the next one, for a player
        with the interpolation ``measure.interpolations[player]``.
        """
        after = np.minimum(place + 1, self._lasts[place])
        begin = self.times[place]
        span = self.times[after] - begin
        u = np.clip((seconds - begin) / np.where(span > 0, span, 1.0), 0.0, 1.0)
        a, b = self._values[place], self._values[after]
        if self.mode == STEP:
            return a
        if self.mode == LINEAR:
            return measure.interpolations[player](a, b, u)
        x = u[:, None]
        start, end = self._out[place] * span[:, None], self._into[after] * span[:, None]
        chord = b - a
        value = a + x * (start + x * (3 * chord - 2 * start - end + x * (start + end - 2 * chord)))
        return quat.normalise(value) if measure is ROTATIONS else value
