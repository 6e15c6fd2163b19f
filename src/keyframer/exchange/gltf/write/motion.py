"""One moving property: a track, or any function of time, as keys that glTF can hold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from keyframer.curves import Curve, Interpolation, RotationForm, Track, compile_track
from keyframer.curves.columns import KeyColumns, gather
from keyframer.curves.fit import BEFORE, fit_cubic
from keyframer.curves.lines import ROTATIONS, VECTORS, Measure, place_keys, whole_frames
from keyframer.curves.turns import absolute_rotations
from keyframer.curves.vector import hermite_keys
from keyframer.exchange.gltf.write.keys import CUBIC, LINEAR, STEP, Keys, Sampler, in_seconds, sample
from keyframer.exchange.report import Outcome
from keyframer.limits import allows, left, room
from keyframer.maths import quat

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Function = Callable[[Floats], Floats]

_MOTIONS = 10
"""that may use up the budget of keys together"""

_SAMPLES_PER_KEY = 50
"""numbers that are sampled until a key is placed, about"""

_MARGIN = 0.8
"""of the error allowed: the largest error may stand between the places where it is looked for"""

_CLOSEST = 5e-4
"""seconds between two straight keys: Blender, at 24 frames a second, makes one key of two within 0.01 frames"""

_SINGLE = 5e-7
"""of a number: what single precision and some arithmetic leave of it"""

_WORST_SHARE = 0.2113
"""of the way between two rotations: where components that run straight are farthest from a steady turn"""

_SHARES = np.array((0.03, 0.31, 0.5, 0.69, 0.97))
"""of the way between two keys: where errors are measured"""

_STRAIGHT = (Interpolation.LINEAR, Interpolation.SAMPLED)


def _most_keys() -> int:
    """How many keys one motion may have: a share of the budget, as far as that is left, and as far as the samples last
    that it takes to find them; half of the samples are for measuring."""
    samples = left("samples") - room("samples") // 2
    return max(0, min(room("keys") // _MOTIONS, left("keys"), samples // _SAMPLES_PER_KEY))


@dataclass(frozen=True)
class Span:
    """The stretch of a clip that is written, in its own unit; ``rate`` units make a second, ``frame`` a frame."""

    begin: float
    end: float
    rate: float
    frame: float = 1.0

    def seconds(self, times: npt.ArrayLike) -> Floats:
        return np.asarray((np.asarray(times, np.float64) - self.begin) / self.rate)

    def shortest(self, last: float) -> float:
        """Intervals below this are lost in the rounding of seconds to single precision, up to the time ``last``."""
        return 4e-7 * max(last - self.begin, 1e-30)

    def closest(self, last: float) -> float:
        """How near two straight keys may come, up to the time ``last``: what a jump takes."""
        return max(self.shortest(last), _CLOSEST * self.rate)

    def between_keys(self, seconds: Floats, shares: Floats) -> Floats:
        """Seconds between keys at rising seconds (n,), as shares of the gaps. Jumps are left out: there the
        difference of a rounded time is the whole jump."""
        gaps = np.diff(seconds)
        last = float(seconds[-1]) * self.rate + self.begin
        wide = gaps > 1.1 * self.closest(last) / self.rate
        return np.asarray((seconds[:-1][wide, None] + gaps[wide, None] * shares).reshape(-1))

    def frames(self) -> Floats | None:
        """All whole frames, and the two ends; None if there are more than a channel may have."""
        inner = whole_frames(self.begin, self.end, self.frame, _most_keys())
        if not len(inner) and self.end - self.begin > 2 * self.frame:
            return None
        return np.unique(np.concatenate([[self.begin], inner, [self.end]]))


@dataclass(eq=False)
class Motion:
    """Keys, and the function they stand for; both take the clip's own times."""

    keys: Keys
    truth: Function
    outcome: Outcome
    measure: Measure
    breaks: Floats
    """(n,) rising times between which the function is smooth"""
    jumps: Flags
    """(n,) whether it jumps there"""
    repeats_keys: bool = False
    """whether keys are those of the track, one for one, and need not be kept elsewhere"""
    complete: bool = True
    """whether they are as many as the motion wants: not where the budget ends it early, or leaves it rough"""

    def mapped(self, factor: npt.ArrayLike) -> Motion:
        """Every value multiplied, component by component."""
        truth = self.truth
        factors = np.asarray(factor, np.float64)
        return replace(self, keys=self.keys.mapped(factors), truth=lambda times: truth(times) * factors)

    def shortcoming(self, span: Span) -> str:
        """What is missing where it is not complete."""
        last = float(self.keys.times[-1])
        return f"repeated only up to {last:g} of {span.end:g}" if last < span.end else "not as close as was asked for"

    def written(self, span: Span) -> Sampler:
        return in_seconds(self.keys, span.begin, span.rate)

    def error(self, sampler: Sampler, span: Span) -> float:
        """The largest difference between what is written and what was meant, between and at keys, for any player;
        degrees for turns."""
        seconds = span.between_keys(sampler.times.astype(np.float64), _SHARES)
        if not len(seconds):
            return 0.0
        with np.errstate(all="ignore"):
            wanted = self.truth(seconds * span.rate + span.begin)
            shown = [sample(sampler, seconds, self.measure, player) for player in range(len(self.measure.between))]
            return max(float(np.nan_to_num(self.measure.distance(found, wanted)).max()) for found in shown)


@dataclass(frozen=True)
class MotionMaker:
    """Makes the motions of one clip; ``style`` is `GltfOptions.keys`."""

    span: Span
    style: str

    def track(self, track: Track, tolerance: float) -> Motion | None:
        """A track over the span; None if it has no usable key. ``tolerance`` is in degrees for rotations."""
        width = 1 if track.values.ndim == 1 else track.values.shape[1]
        columns = gather([track], width)
        if not len(columns.times):
            return None
        given, straight = _authored(track, columns, tolerance if self.style == "linear" else np.inf)
        keys = self._over_span(given, columns)
        breaks, jumps = keys.breaks()
        truth = _function(track)
        measure = ROTATIONS if track.is_rotation else VECTORS
        seams = jumps.copy()
        seams[-1] |= columns.periodic[0]
        complete = not columns.periodic[0] or float(keys.times[-1]) >= self.span.end
        exact = Motion(keys, truth, Outcome.EXACT, measure, breaks, seams, complete=complete)
        if given.mode == STEP or len(breaks) == 1:
            return exact
        if straight and (self.style == "cubic" or (self.style == "linear" and not jumps.any())):
            same = given is keys and track.form in (RotationForm.NONE, RotationForm.QUATERNION_ABSOLUTE)
            return replace(exact, repeats_keys=same and len(keys.times) == len(track.times))
        cubic = _cubic(track, columns) if self.style == "cubic" else None
        if cubic is not None:
            keys = self._over_span(cubic, columns)
            same = track.interpolation is Interpolation.CUBIC and len(keys.times) == len(track.times)
            return replace(exact, keys=keys, repeats_keys=same and not columns.periodic[0])
        if columns.periodic[0]:  # time may begin again at the end, so the last value is only ever approached
            last = breaks[-1] - BEFORE * (breaks[-1] - breaks[-2])
            truth = _until(last, truth)
        maker, outcome = self, Outcome.APPROXIMATED
        if self.style == "cubic" and track.interpolation in _STRAIGHT and not _is_eased(columns):
            maker, outcome = MotionMaker(self.span, "linear"), Outcome.EXACT  # more keys on the same way
        fitted = maker.function(truth, breaks, jumps, tolerance, measure, outcome)
        return replace(exact, keys=fitted.keys, outcome=outcome, complete=complete and fitted.complete)

    def function(
        self, truth: Function, breaks: Floats, jumps: Flags, tolerance: float, measure: Measure, outcome: Outcome
    ) -> Motion:
        """Any function, fitted between breaks."""
        turning = measure is ROTATIONS
        frames = self.span.frames() if self.style == "frames" else None
        with np.errstate(all="ignore"):
            if not turning:  # closer than single precision is in vain
                tolerance = max(tolerance, _SINGLE * float(np.nan_to_num(np.abs(truth(breaks))).max(initial=0.0)))
            tolerance *= _MARGIN
            if self.style == "cubic":
                shortest = self.span.shortest(float(breaks[-1]))
                fit = fit_cubic(
                    truth, breaks, jumps, tolerance, measure.distance, shortest=shortest, most_keys=_most_keys()
                )
                keys, complete = Keys.cubic(fit.keys, turning), fit.complete
            else:
                times, leaping = breaks, jumps
                if frames is not None:
                    times = np.union1d(frames, breaks[jumps])
                    leaping = np.isin(times, breaks[jumps])
                    tolerance = np.inf
                lines = place_keys(
                    truth,
                    times,
                    leaping,
                    tolerance,
                    measure,
                    frame=self.span.frame,
                    shortest=self.span.closest(float(breaks[-1])),
                    most_keys=_most_keys(),
                )
                keys, complete = Keys.of(LINEAR, lines.times, lines.values, turning), lines.complete
        complete &= allows("keys", len(keys.times))
        return Motion(keys, truth, outcome, measure, breaks, jumps, complete=complete)

    def _over_span(self, keys: Keys, columns: KeyColumns) -> Keys:
        """One pass over a track's own keys, repeated or cut as the span wants it."""
        begin, end = self.span.begin, self.span.end
        if columns.periodic[0]:
            unrolled = keys.repeated(begin, end, _most_keys())
            allows("keys", len(unrolled.times))
            return unrolled
        if keys.times[-1] > end or keys.times[0] < begin:
            return keys.cut(max(float(keys.times[0]), begin), min(float(keys.times[-1]), end))
        return keys


def breaks_of(motions: list[Motion], span: Span) -> tuple[Floats, Flags]:
    """The times at which some motion has a break, and whether one jumps there."""
    if not motions:
        return np.array([span.begin]), np.zeros(1, np.bool_)
    times = np.unique(np.concatenate([motion.breaks for motion in motions]))
    return times, np.isin(times, np.concatenate([motion.breaks[motion.jumps] for motion in motions]))


def _until(last: float, function: Function) -> Function:
    return lambda times: function(np.minimum(times, last))


def _function(track: Track) -> Function:
    """The track's values; it is compiled when somebody asks, because exact keys need none of it."""
    compiled: list[Curve] = []

    def values(times: Floats) -> Floats:
        if not compiled:
            compiled.append(compile_track(track))
        found = compiled[0](times)
        return found[:, None] if found.ndim == 1 else found

    return values


def _is_eased(columns: KeyColumns) -> bool:
    return bool(columns.ease_to.any() or columns.ease_from.any())


def _authored(track: Track, columns: KeyColumns, tolerance: float) -> tuple[Keys, bool]:
    """The track's own keys, and whether steps or straight lines between them are all there is to it, for any player
    within ``tolerance``."""
    mode = STEP if track.interpolation is Interpolation.STEP else LINEAR
    straight = track.interpolation in _STRAIGHT and not _is_eased(columns)
    if not track.is_rotation:
        return Keys.of(mode, columns.times, columns.values), straight
    if track.interpolation is Interpolation.CUBIC:
        return Keys.of(mode, columns.times, quat.normalise(columns.values), True), False
    rotations, turns = absolute_rotations(columns, track.form)
    angles = np.sqrt(np.sum(turns[1:] * turns[1:], axis=1))  # half the angle of the turn that leads to each key
    u = _WORST_SHARE
    off = np.arctan2(u * np.sin(angles), 1 - u + u * np.cos(angles)) - u * angles
    near = np.degrees(2 * np.abs(off)) <= _MARGIN * tolerance
    # players take the shortest way: a turn of 180 degrees or more needs keys between
    straight &= bool(np.all(near & (angles < 0.5 * np.pi - 1e-6)))
    return Keys.of(mode, columns.times, rotations, True), straight


def _cubic(track: Track, columns: KeyColumns) -> Keys | None:
    """The cubic spline that a track is; None if it is none."""
    if not track.is_rotation:
        exact = hermite_keys(track, columns)
        return None if exact is None else Keys.cubic(exact)
    if track.interpolation is Interpolation.CUBIC:
        parts = (quat.normalise(columns.values), columns.tangents_in, columns.tangents_out)
        return Keys(CUBIC, columns.times, *parts, True)
    return None
