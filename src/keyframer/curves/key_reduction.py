"""Finds few keys for values sampled at every frame, within a tolerance if keys at frames can achieve it.

Keys are added where the error of the curve so far is largest, one in each interval that needs it, until all errors are
within the tolerance or no frame is left. This is tried with smooth and with linear keys. A track within the tolerance
is preferred, then the one with fewer keys, then the linear one. If the values between neighbouring frames are known,
they are checked, too: a smooth curve that deviates there gets a linear piece (continuity -1 at both keys), if that is
nearer.

Smooth keys have the slope of the parabola through each key and its neighbours. Plain TCB keys have this slope only if
they are evenly spaced: otherwise their slope is that of the chord, and many more keys are needed. With r the ratio of
the spans after and before a key, tension 1 - (r + 1/r)/2 and bias (r - 1/r)/(r + 1/r) give the slope of the parabola,
for r from 1/3.7 to 3.7.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from keyframer.arrays import Flags, Floats
from keyframer.limits import spend
from keyframer.maths import quat
from keyframer.maths.distinct_values import unique_values
from keyframer.maths.trigonometry import arctan2

from .curve_bank import CurveBank
from .key_columns import Indices
from .track import Interpolation, RotationForm, Track

Result = TypeVar("Result")
Sampling = Generator[tuple[Track, Floats], Floats, Result]
"""A computation that needs tracks sampled: it yields a track and times, and is sent the values (T, components)."""

Distance = Callable[[Floats, Floats], Floats]
"""two arrays (..., k) to differences (...)"""
Between = Callable[[Floats], Sampling[Floats]]
"""returns the exact values at any times"""


_STRIDES = (16, 8, 6, 4, 3, 2)
"""frames between the first keys of smooth curves: fewer keys are needed if they are evenly spaced"""
_LARGEST_RATIO = 2 + 3**0.5
_SMALLEST_RATIO = 2 - 3**0.5
"""ratios of neighbouring spans at which the tension is -1, its limit"""
_SAMPLES_PER_REQUEST = 1_500
"""fixed cost of one request, in samples of the budget"""
MOST_POINTS = 50_000
"""no further computation is started while this many samples are requested: a computation keeps several times as many
numbers in memory as it requests
"""
BEFORE_JUMP = 1e-9
"""fraction of an interval: distance of a sample just before a jump"""
PROBES = np.array((0.21, 0.5, 0.79))
"""fractions between two keys at which the difference from the line between them is largest: in the middle, at the two
extremes of an S, and where players differ most between two rotations
"""


def vector_distance(a: Floats, b: Floats) -> Floats:
    """Return the Euclidean distance between vectors."""
    return quat.length_of(a - b)


def turn_degrees(a_xyzw: Floats, b_xyzw: Floats) -> Floats:
    """Return the angle between rotations; they need not have unit length, and the sign of a quaternion is ignored."""
    a = a_xyzw / quat.length_of(a_xyzw)[..., None]
    b = b_xyzw / quat.length_of(b_xyzw)[..., None]
    near, far = quat.length_of(a - b), quat.length_of(a + b)
    return np.asarray(np.degrees(4.0 * arctan2(np.minimum(near, far), np.maximum(near, far))))


def sample_together(computations: Iterable[Sampling[Result]]) -> list[Result]:
    """Return the results of concurrent computations; their requests are compiled and sampled together.

    For a hundred short tracks that takes little longer than for one.
    """
    results: dict[int, Result] = {}
    waiting = enumerate(computations)
    running: list[tuple[int, Sampling[Result]]] = []
    requests: list[tuple[Track, Floats]] = []

    def advance(number: int, computation: Sampling[Result], values: Floats | None) -> int:
        """Continue one computation; returns how many samples it requests."""
        try:
            request = next(computation) if values is None else computation.send(values)
        except StopIteration as ended:
            results[number] = ended.value
            return 0
        running.append((number, computation))
        requests.append(request)
        return len(request[1])

    points = 0
    while True:
        while points < MOST_POINTS and (started := next(waiting, None)) is not None:
            points += advance(*started, None)
        if not running:
            return [results[number] for number in range(len(results))]
        resumed, answers = running, _sample(requests)
        running, requests = [], []
        points = sum(
            advance(number, generator, values) for (number, generator), values in zip(resumed, answers, strict=True)
        )


def _sample(requests: list[tuple[Track, Floats]]) -> list[Floats]:
    """Return (T, components) for each track and its times."""
    spend("samples", _SAMPLES_PER_REQUEST * len(requests))
    bank = CurveBank([track for track, _ in requests])
    members: dict[str, list[int]] = {}
    for number, place in enumerate(bank.places):
        members.setdefault(place.family, []).append(number)
    answers: dict[int, Floats] = {}
    for numbers in members.values():
        times = [requests[number][1] for number in numbers]
        lengths = [len(moments) for moments in times]
        values = bank.evaluate_pairs(np.repeat(numbers, lengths), np.concatenate(times))
        answers |= zip(numbers, np.split(values, np.cumsum(lengths)[:-1]), strict=True)
    return [answers[number] for number in range(len(requests))]


def values_of(track: Track, times: Floats) -> Sampling[Floats]:
    """Return the values of a track at times: (T,) for scalars, otherwise (T, components)."""
    values = yield track, times
    return values[:, 0] if track.values.ndim == 1 else values


def fewest_keys(
    kind: str,
    times: Floats,
    values: Floats,
    form: RotationForm,
    tolerance: float,
    distance: Distance,
    largest_change: float = np.inf,
    between: Between | None = None,
    smooth: bool = True,
) -> Sampling[tuple[Track, float]]:
    """Return a track with few keys, each at a frame, and its largest error at all frames and between them.

    ``times`` (n,) are ascending; ``values`` are (n,) or (n, k); rotations are absolute quaternions. From key to key the
    value changes by about ``largest_change`` at most, if frames permit. ``between`` returns the exact values at any
    time; without it nothing is measured between frames. If not ``smooth``, only linear keys are tried.
    """
    frames = values.reshape(len(times), -1)
    if len(times) < 2 or float(distance(frames, frames[:1]).max()) <= tolerance:
        error = float(distance(frames, frames[:1]).max(initial=0.0))
        still = Track(kind, times[:1], values[:1], Interpolation.LINEAR, form=form)
        if between is None or len(times) < 2:
            return still, error
        wanted = yield from between(subframes(times, PROBES))
        error = max(error, float(distance(wanted.reshape(len(wanted), -1), frames[:1]).max()))
        if error <= tolerance:
            return still, error
    travelled = np.concatenate([[0.0], np.cumsum(distance(frames[1:], frames[:-1]))])
    legs = np.floor(travelled / largest_change) if np.isfinite(largest_change) else np.zeros(len(travelled))
    first = unique_values(np.concatenate([[0], np.flatnonzero(np.diff(legs)), [len(times) - 1]]))
    task = _Task(kind, times, values, form, tolerance, distance, between)
    yield from task.prepare()
    best = yield from task.insert(Interpolation.LINEAR, first)
    assert best is not None
    if not smooth:
        return best
    possible = best[1] <= tolerance or (yield from task.is_possible())
    for stride in (len(times), *(_STRIDES if possible else ())):
        chosen = np.union1d(first, np.arange(0, len(times), stride))
        only_fewer = best[1] <= tolerance or not possible
        tcb = yield from task.insert(Interpolation.TCB, chosen, len(best[0].times) if only_fewer else np.inf)
        if tcb is not None:
            good = (tcb[1] <= tolerance, best[1] <= tolerance)
            if good[0] > good[1] or (good[0] == good[1] and len(tcb[0].times) < len(best[0].times)):
                best = tcb
    return best


def subframes(times: Floats, probes: Floats) -> Floats:
    """Return times at the fractions ``probes`` between neighbouring times, (n - 1) * len(probes) in ascending order."""
    return np.asarray((times[:-1, None] + np.diff(times)[:, None] * probes).reshape(-1))


@dataclass(eq=False, repr=False)
class _Task:
    """The values to approximate, and the tolerance."""

    kind: str
    times: Floats
    values: Floats
    form: RotationForm
    tolerance: float
    distance: Distance
    between: Between | None

    def prepare(self) -> Sampling[None]:
        """Compute all times that are checked, one row from each frame to the next, and the exact values there."""
        checks, wanted = self.times[:-1, None], self.values.reshape(len(self.times), -1)[:-1, None]
        if self.between is not None:
            times = subframes(self.times, PROBES)
            exact = (yield from self.between(times)).reshape(len(self.times) - 1, len(PROBES), -1)
            checks = np.concatenate([checks, times.reshape(-1, len(PROBES))], axis=1)
            wanted = np.concatenate([wanted, exact], axis=1)
        self.checks, self.wanted = checks, wanted

    def is_possible(self) -> Sampling[bool]:
        """Return whether with keys at all frames each interval, smooth or linear, is within the tolerance."""
        all_frames = np.arange(len(self.times))
        errors = []
        for kind in (Interpolation.LINEAR, Interpolation.TCB):
            error = yield from self._errors(self._track(kind, all_frames, np.zeros(len(all_frames), bool)), all_frames)
            errors.append(error.max(axis=1))
        return bool((np.minimum(*errors) <= self.tolerance).all())

    def insert(
        self, interpolation: Interpolation, chosen: Indices, fewer_than: float = np.inf
    ) -> Sampling[tuple[Track, float] | None]:
        """Return keys at the chosen frames and as many more as needed, and the final error; None if this takes
        ``fewer_than`` keys or more.
        """
        corners = np.zeros(len(self.times), bool)
        settled = np.zeros(len(self.times) - 1, bool)
        """intervals from one frame to the next that cannot be improved, because both frames are keys already"""
        while len(chosen) < fewer_than:
            track = self._track(interpolation, chosen, corners)
            error = yield from self._errors(track, chosen)
            worst_of_interval = error.max(axis=1)
            starts, ends = chosen[:-1], chosen[1:]
            wrong = np.where(settled, 0.0, worst_of_interval) > self.tolerance
            bad = np.logical_or.reduceat(wrong, starts)
            if not bad.any():
                return track, float(error.max())
            narrow = bad & (ends - starts == 1)
            added = [self._worst_frame(error, begin, end) for begin, end in self._pairs(starts, ends, bad & ~narrow)]
            chosen = unique_values(np.concatenate([chosen, np.array(added, np.intp)]))
            yield from self._straighten(interpolation, starts[narrow], worst_of_interval, corners, settled)
        return None

    @staticmethod
    def _pairs(starts: Indices, ends: Indices, chosen: Flags) -> list[tuple[int, int]]:
        return list(zip(starts[chosen].tolist(), ends[chosen].tolist(), strict=True))

    def _errors(self, track: Track, chosen: Indices) -> Sampling[Floats]:
        samples = (yield track, self.checks.reshape(-1)).reshape(self.wanted.shape)
        error = np.asarray(self.distance(samples, self.wanted), np.float64)
        error[chosen[:-1], 0] = 0.0
        return error

    @staticmethod
    def _worst_frame(error: Floats, begin: int, end: int) -> int:
        """Return the frame for the next key between two keys: at or next to the largest error."""
        worst = begin + int(np.argmax(error[begin:end].max(axis=1)))
        before, after = max(worst, begin + 1), min(worst + 1, end - 1)
        return before if error[before, 0] >= error[after, 0] else after

    def _straighten(
        self, interpolation: Interpolation, starts: Indices, worst: Floats, corners: Flags, settled: Flags
    ) -> Sampling[None]:
        """Make linear pieces of intervals that no key can divide, if that reduces the error."""
        settled[starts] = True
        if not len(starts) or interpolation is not Interpolation.TCB or self.between is None:
            return
        linear = Track(self.kind, self.times, self.values, Interpolation.LINEAR, form=self.form)
        samples = (yield linear, self.checks[starts].reshape(-1)).reshape(len(starts), self.checks.shape[1], -1)
        nearer = starts[self.distance(samples, self.wanted[starts]).max(axis=1) < worst[starts]]
        corners[nearer] = corners[nearer + 1] = True

    def _track(self, interpolation: Interpolation, chosen: Indices, corners: Flags) -> Track:
        track = Track(self.kind, self.times[chosen], self.values[chosen], interpolation, form=self.form)
        if interpolation is Interpolation.TCB:
            shape = _parabolic(self.times[chosen])
            sharp = corners[chosen]
            for name, column in shape.items():
                setattr(track, name, np.where(sharp, 0.0, column))
            if sharp.any():
                track.continuity = np.where(sharp, -1.0, 0.0)
        return track


def _parabolic(times: Floats) -> dict[str, Floats]:
    """Return tension and bias that give keys at these times the slopes of parabolas; empty if evenly spaced."""
    spans = np.diff(times)
    if len(spans) < 2 or np.ptp(spans) == 0:
        return {}
    ratio = np.clip(spans[1:] / spans[:-1], _SMALLEST_RATIO, _LARGEST_RATIO)
    total = ratio + 1 / ratio
    tension, bias = np.zeros(len(times)), np.zeros(len(times))
    tension[1:-1] = 1 - total / 2
    bias[1:-1] = (ratio - 1 / ratio) / total
    return {"tension": tension, "bias": bias}
