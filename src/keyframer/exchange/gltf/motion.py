"""One moving property: a track, or any function of time, as keys that glTF can hold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from keyframer.curves import Curve, Interpolation, RotationForm, Track, compile_track
from keyframer.curves.columns import KeyColumns, gather
from keyframer.curves.fit import fit_cubic, largest_difference, turn_degrees
from keyframer.curves.turns import absolute_rotations
from keyframer.curves.vector import hermite_keys
from keyframer.exchange.gltf.keys import CUBIC, LINEAR, STEP, Keys, Sampler, in_seconds, sample
from keyframer.exchange.report import Outcome
from keyframer.maths import quat

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Function = Callable[[Floats], Floats]

_WIDEST_HALF_TURN = np.radians(60.0)
"""LINEAR takes the shortest way: steps of 180 degrees or more are parted so that none comes near it"""

_MARGIN = 0.8
"""of the error allowed: the largest error may stand between the places where it is looked for"""

_SINGLE = 5e-7
"""of a number: what single precision and some arithmetic leave of it"""

_STRAIGHT = (Interpolation.LINEAR, Interpolation.SAMPLED)


@dataclass(frozen=True)
class Span:
    """The stretch of a clip that is written, in its own unit; ``rate`` units make a second."""

    begin: float
    end: float
    rate: float

    def seconds(self, times: npt.ArrayLike) -> Floats:
        return np.asarray((np.asarray(times, np.float64) - self.begin) / self.rate)

    def shortest(self, last: float) -> float:
        """Intervals below this are lost in the rounding of seconds to single precision, up to the time ``last``."""
        return 4e-7 * max(last - self.begin, 1e-30)


@dataclass(eq=False)
class Motion:
    """Keys, and the function they stand for; both take the clip's own times."""

    keys: Keys
    truth: Function
    outcome: Outcome
    repeats_keys: bool = False
    """whether keys are those of the track, one for one, and need not be kept elsewhere"""

    def mapped(self, factor: npt.ArrayLike) -> Motion:
        """Every value multiplied, component by component."""
        truth = self.truth
        factors = np.asarray(factor, np.float64)
        return replace(self, keys=self.keys.mapped(factors), truth=lambda times: truth(times) * factors)

    def written(self, span: Span) -> Sampler:
        return in_seconds(self.keys, span.begin, span.rate)

    def error(self, sampler: Sampler, span: Span) -> float:
        """The largest difference between what is written and what was meant, between and at keys; degrees for turns.

        Jumps are left out: there the difference of a rounded time is the whole jump.
        """
        written = sampler.times.astype(np.float64)
        gaps = np.diff(written)
        wide = gaps > 1e-6 * written[1:]
        begins, spans = written[:-1][wide], gaps[wide]
        shares = np.array((0.03, 0.31, 0.5, 0.69, 0.97))
        seconds = (begins[:, None] + spans[:, None] * shares).reshape(-1)
        if not len(seconds):
            return 0.0
        found = sample(sampler, seconds, self.keys.is_rotation)
        wanted = self.truth(seconds * span.rate + span.begin)
        distance = turn_degrees if self.keys.is_rotation else largest_difference
        with np.errstate(all="ignore"):
            return float(np.nan_to_num(distance(found, wanted)).max(initial=0.0))


def track_motion(track: Track, span: Span, tolerance: float) -> Motion | None:
    """A track over the span; None if it has no usable key. ``tolerance`` is in degrees for rotations."""
    width = 1 if track.values.ndim == 1 else track.values.shape[1]
    columns = gather([track], width)
    if not len(columns.times):
        return None
    truth = _function(track)
    keys, outcome = _keys(track, columns, truth, tolerance, span)
    periodic = bool(columns.periodic[0])
    if periodic:
        keys = keys.repeated(span.begin, span.end)
    elif keys.times[-1] > span.end or keys.times[0] < span.begin:
        keys = keys.cut(max(float(keys.times[0]), span.begin), min(float(keys.times[-1]), span.end))
    same = outcome is Outcome.EXACT and not periodic and track.interpolation in (*_STRAIGHT, Interpolation.CUBIC)
    same &= len(keys.times) == len(track.times) and track.form in (
        RotationForm.NONE,
        RotationForm.QUATERNION_ABSOLUTE,
    )
    return Motion(keys, truth, outcome, same)


def function_motion(
    truth: Function, breaks: Floats, jumps: Flags, tolerance: float, span: Span, *, is_rotation: bool, outcome: Outcome
) -> Motion:
    """Any function, fitted between breaks."""
    distance = turn_degrees if is_rotation else largest_difference
    with np.errstate(all="ignore"):
        if not is_rotation:  # closer than single precision is in vain
            tolerance = max(tolerance, _SINGLE * float(np.nan_to_num(np.abs(truth(breaks))).max(initial=0.0)))
        fit = fit_cubic(truth, breaks, jumps, _MARGIN * tolerance, distance, shortest=span.shortest(float(breaks[-1])))
    return Motion(Keys.cubic(fit.keys, is_rotation), truth, outcome)


def _function(track: Track) -> Function:
    """The track's values; it is compiled when somebody asks, because exact keys need none of it."""
    compiled: list[Curve] = []

    def values(times: Floats) -> Floats:
        if not compiled:
            compiled.append(compile_track(track))
        found = compiled[0](times)
        return found[:, None] if found.ndim == 1 else found

    return values


def _keys(track: Track, columns: KeyColumns, truth: Function, tolerance: float, span: Span) -> tuple[Keys, Outcome]:
    """One pass over the track's own keys, before any repetition."""
    turning = track.is_rotation
    if track.interpolation is Interpolation.STEP:
        values = absolute_rotations(columns, track.form)[0] if turning else columns.values
        return Keys.of(STEP, columns.times, values, turning), Outcome.EXACT
    eased = bool(columns.ease_to.any() or columns.ease_from.any())
    if turning and track.interpolation is Interpolation.CUBIC:
        parts = (quat.normalise(columns.values), columns.tangents_in, columns.tangents_out)
        return Keys(CUBIC, columns.times, *parts, True), Outcome.EXACT
    if turning and track.interpolation in _STRAIGHT and not eased:
        return _straight_turns(columns, track.form), Outcome.EXACT
    if not turning:
        exact = hermite_keys(track, columns)
        if exact is not None:
            keys = Keys.cubic(exact)
            return (replace(keys, mode=LINEAR) if track.interpolation in _STRAIGHT else keys), Outcome.EXACT
    breaks, first = np.unique(columns.times, return_index=True)
    jumps = np.diff(np.append(first, len(columns.times))) > 1
    jumps[-1] |= bool(columns.periodic[0])  # there time begins again, so the last value is only ever approached
    if len(breaks) == 1:
        return Keys.of(LINEAR, breaks, truth(breaks), turning), Outcome.EXACT
    fitted = function_motion(truth, breaks, jumps, tolerance, span, is_rotation=turning, outcome=Outcome.APPROXIMATED)
    return fitted.keys, Outcome.APPROXIMATED


def _straight_turns(columns: KeyColumns, form: RotationForm) -> Keys:
    """Turns at constant speed: a key at each key, and between keys where the way is long."""
    rotations, turns = absolute_rotations(columns, form)
    angles = np.sqrt(np.sum(turns * turns, axis=1))  # half the angle of the turn that leads to each key
    angles[0] = 0.0
    if np.all(angles < 0.5 * np.pi - 1e-6):
        return Keys.of(LINEAR, columns.times, rotations, True)
    times, values = [columns.times[:1]], [rotations[:1]]
    for key in range(1, len(rotations)):
        steps = int(np.ceil(angles[key] / _WIDEST_HALF_TURN)) if angles[key] >= 0.5 * np.pi - 1e-6 else 1
        if columns.times[key] == columns.times[key - 1]:
            steps = 1
        shares = np.arange(1, steps) / steps
        times.append(columns.times[key - 1] + shares * (columns.times[key] - columns.times[key - 1]))
        values.append(quat.multiply(quat.exp(shares[:, None] * turns[key]), rotations[key - 1]))
        times.append(columns.times[key : key + 1])
        values.append(rotations[key : key + 1])
    return Keys.of(LINEAR, np.concatenate(times), np.concatenate(values), True)
