"""Keys as glTF samplers have them, still in the clip's unit of time: cutting, repeating, and rounding to seconds."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from keyframer.curves import Hermite
from keyframer.curves.lines import ROTATIONS, Measure
from keyframer.exchange.gltf.conventions import single
from keyframer.maths import quat

Floats = npt.NDArray[np.float64]
Floats32 = npt.NDArray[np.float32]

STEP, LINEAR, CUBIC = "STEP", "LINEAR", "CUBICSPLINE"


@dataclass(eq=False)
class Keys:
    """Times (n,) that never fall, equal ones are a jump; values and tangents (n, k), tangents per unit of time."""

    mode: str
    times: Floats
    values: Floats
    tangents_in: Floats
    tangents_out: Floats
    is_rotation: bool = False

    @classmethod
    def of(cls, mode: str, times: Floats, values: Floats, is_rotation: bool = False) -> Keys:
        """Keys without tangents."""
        return cls(mode, times, values, np.zeros_like(values), np.zeros_like(values), is_rotation)

    @classmethod
    def cubic(cls, keys: Hermite, is_rotation: bool = False) -> Keys:
        shape = (len(keys.times), -1)
        parts = (keys.values.reshape(shape), keys.tangents_in.reshape(shape), keys.tangents_out.reshape(shape))
        return cls(CUBIC, keys.times, *parts, is_rotation)

    def mapped(self, linear: npt.ArrayLike) -> Keys:
        """Every value multiplied, component by component."""
        factor = np.asarray(linear, np.float64)
        return replace(
            self,
            values=self.values * factor,
            tangents_in=self.tangents_in * factor,
            tangents_out=self.tangents_out * factor,
        )

    @property
    def is_still(self) -> bool:
        """Whether nothing ever changes."""
        if len(self.times) < 2:
            return True
        alike = bool(np.all(self.values == self.values[0]))
        return alike and (self.mode != CUBIC or not (self.tangents_in.any() or self.tangents_out.any()))

    def breaks(self) -> tuple[Floats, npt.NDArray[np.bool_]]:
        """The times (n,), each once, and whether the value jumps there."""
        times, counts = np.unique(self.times, return_counts=True)
        return times, np.full(len(times), True) if self.mode == STEP else counts > 1

    def _take(self, which: slice | npt.NDArray[np.bool_]) -> Keys:
        return Keys(
            self.mode,
            self.times[which],
            self.values[which],
            self.tangents_in[which],
            self.tangents_out[which],
            self.is_rotation,
        )

    def shifted(self, by: float) -> Keys:
        return replace(self, times=self.times + by)

    def _with_key_at(self, time: float) -> Keys:
        """A key added where there is none, changing nothing."""
        place = int(np.searchsorted(self.times, time, side="right"))
        if place and self.times[place - 1] == time:
            return self
        value, slope = self._at(place, time)

        def inserted(column: Floats, row: Floats) -> Floats:
            return np.insert(column, place, row, axis=0)

        return Keys(
            self.mode,
            np.insert(self.times, place, time),
            inserted(self.values, value),
            inserted(self.tangents_in, slope),
            inserted(self.tangents_out, slope),
            self.is_rotation,
        )

    def _at(self, place: int, time: float) -> tuple[Floats, Floats]:
        """Value and slope before the key ``place``."""
        nothing = np.zeros(self.values.shape[1])
        if place == 0 or place == len(self.times):
            return self.values[min(place, len(self.times) - 1)], nothing
        a, b = self.values[place - 1], self.values[place]
        span = self.times[place] - self.times[place - 1]
        u = (time - self.times[place - 1]) / span
        if self.mode == STEP:
            return a, nothing
        if self.mode == LINEAR:
            return (quat.slerp(a, b, u), nothing) if self.is_rotation else (a + u * (b - a), nothing)
        start, end = self.tangents_out[place - 1] * span, self.tangents_in[place] * span
        chord = b - a
        value = a + u * (start + u * (3 * chord - 2 * start - end + u * (start + end - 2 * chord)))
        slope = start + u * (2 * (3 * chord - 2 * start - end) + 3 * u * (start + end - 2 * chord))
        return value, slope / span

    def cut(self, begin: float, end: float) -> Keys:
        """The part between two times, with a key at both; a jump at the end is left out."""
        whole = self._with_key_at(begin)._with_key_at(end)
        first = int(np.searchsorted(whole.times, begin, side="right")) - 1
        last = int(np.searchsorted(whole.times, end, side="left")) if end > begin else first
        return whole._take(slice(first, last + 1))

    def repeated(self, begin: float, end: float, most_keys: int) -> Keys:
        """From ``begin`` to ``end`` with time modulo the last key's, as far as ``most_keys`` last; where keys begin
        before 0, those come first and are not repeated (see `keyframer.curves.wrap`)."""
        period = float(self.times[-1])
        parts: list[Keys] = []
        first = math.floor(begin / period)
        if self.times[0] < 0 and begin < 0:
            parts.append(self.cut(begin, 0.0))
            first = 0
        cycle = self.cut(0.0, period)
        most = max(1, most_keys // len(cycle.times))
        last = min(max(math.ceil(end / period), first + 1), first + most)
        parts += [cycle.shifted(number * period) for number in range(first, last)]
        return _joined(parts).cut(begin, min(end, last * period))


def _joined(parts: list[Keys]) -> Keys:
    """Parts behind each other; where one ends as the next begins, one key serves both."""
    times: list[Floats] = []
    values: list[Floats] = []
    into: list[Floats] = []
    out: list[Floats] = []
    sign = 1.0
    for number, part in enumerate(parts):
        skip = 0
        here = sign * part.values
        if number:
            before = values[-1][-1]
            if part.is_rotation and float(np.dot(before, here[0])) < 0:
                sign, here = -sign, -here
            if np.allclose(before, here[0], rtol=0.0, atol=1e-9 * max(1.0, float(np.abs(before).max()))):
                out[-1][-1] = sign * part.tangents_out[0]
                skip = 1
        times.append(part.times[skip:])
        values.append(here[skip:])
        into.append(sign * part.tangents_in[skip:])
        out.append((sign * part.tangents_out[skip:]).copy())
    first = parts[0]
    return Keys(
        first.mode,
        np.concatenate(times),
        np.concatenate(values),
        np.concatenate(into),
        np.concatenate(out),
        first.is_rotation,
    )


@dataclass(eq=False)
class Sampler:
    """What is written: rising seconds (n,), and values with tangents per second (n, k), all of single precision."""

    mode: str
    times: Floats32
    values: Floats32
    tangents_in: Floats32
    tangents_out: Floats32

    def output(self) -> Floats32:
        """As glTF stores it: tangent, value, tangent for each key of a cubic."""
        if self.mode != CUBIC:
            return self.values
        return np.stack([self.tangents_in, self.values, self.tangents_out], axis=1).reshape(-1, self.values.shape[1])


def in_seconds(keys: Keys, origin: float, rate: float) -> Sampler:
    """Rounded to what a file holds. Tangents belong to the rounded distances, so that curves keep their shape.

    A jump becomes two keys as close as single precision allows; the later value stands at the time itself.
    """
    exact = np.maximum((keys.times - origin) / rate, 0.0)
    times = single(exact)
    first = np.searchsorted(times, times, side="left") == np.arange(len(times))
    last = np.searchsorted(times, times, side="right") == np.arange(len(times)) + 1
    earlier = first & ~last
    times[earlier] = np.nextafter(times[earlier], np.float32(-1.0))
    usable = (first | last) & (times >= 0)
    crowded = earlier.copy()
    crowded[1:] &= times[1:] <= times[:-1]
    crowded[:1] = False
    keep = usable & ~crowded
    times, chosen = times[keep], keys._take(keep)
    into, out = chosen.tangents_in.copy(), chosen.tangents_out.copy()
    if keys.mode == CUBIC:
        spans = np.diff(times.astype(np.float64))
        factor = np.where(np.diff(chosen.times) > 0, np.diff(chosen.times) / spans, 0.0)[:, None]
        out[:-1] *= factor
        into[1:] *= factor
        into[0] = out[-1] = 0.0
    values = quat.normalise(chosen.values) if keys.is_rotation and keys.mode != CUBIC else chosen.values
    return Sampler(keys.mode, times, single(values), single(into), single(out))


def sample(sampler: Sampler, seconds: Floats, measure: Measure, player: int) -> Floats:
    """(T, k) what a player makes of it: the one that goes by ``measure.between[player]`` from key to key."""
    times, values = sampler.times.astype(np.float64), sampler.values.astype(np.float64)
    place = np.clip(np.searchsorted(times, seconds, side="right") - 1, 0, len(times) - 1)
    after = np.minimum(place + 1, len(times) - 1)
    span = times[after] - times[place]
    u = np.clip((seconds - times[place]) / np.where(span > 0, span, 1.0), 0.0, 1.0)
    a, b = values[place], values[after]
    if sampler.mode == STEP:
        return a
    if sampler.mode == LINEAR:
        return measure.between[player](a, b, u)
    x = u[:, None]
    start = sampler.tangents_out.astype(np.float64)[place] * span[:, None]
    end = sampler.tangents_in.astype(np.float64)[after] * span[:, None]
    chord = b - a
    value = a + x * (start + x * (3 * chord - 2 * start - end + x * (start + end - 2 * chord)))
    return quat.normalise(value) if measure is ROTATIONS else value
