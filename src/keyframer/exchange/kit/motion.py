"""The animated properties of a clip as functions of time: tracks, and whatever is computed from them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from keyframer.arrays import Flags, Floats, Singles
from keyframer.curves import CurveBank, Interpolation, RotationForm
from keyframer.curves.curve_bank import family_of
from keyframer.curves.key_columns import KeyColumns, gather
from keyframer.curves.key_reduction import BEFORE_JUMP, Distance, turn_degrees, vector_distance
from keyframer.curves.vector_curves import Hermite, hermite_columns
from keyframer.exchange.kit.numbers import single
from keyframer.exchange.kit.spans import Span, most_keys
from keyframer.limits import charge
from keyframer.maths import quat
from keyframer.maths.distinct_values import unique_values
from keyframer.maths.trigonometry import arctan2, sine_and_cosine
from keyframer.scene.loss_report import Outcome

Indices = npt.NDArray[np.intp]
Function = Callable[[Floats], Floats]
"""times (T,) in the unit of the clip to values (T, k)"""
ErrorBetween = Callable[[Floats, Floats, Floats, Floats], Floats]
"""errors (...) from first values (..., k) to last values (..., k), at u (...), where the values should be (..., k)"""

STEP, LINEAR, CUBIC = "STEP", "LINEAR", "CUBICSPLINE"
_STRAIGHT = (Interpolation.LINEAR, Interpolation.SAMPLED)


@dataclass(frozen=True)
class Measure:
    """How the error between linear keys is measured: the largest for any of the ways in which players interpolate."""

    distance: Distance
    error: ErrorBetween
    in_units: Callable[[Floats], Floats] = np.asarray
    """errors as `error` returns them to errors in the unit of tolerances; grows with its argument"""
    from_units: Callable[[Floats], Floats] = np.asarray
    """the reverse"""

    def largest(self, first: Floats, last: Floats, u: Floats, wanted: Floats) -> Floats:
        """Return (n,) the largest errors from keys (n, k) to keys (n, k) where the values at the fractions u (m,)
        should be (n, m, k). NaN counts as no error.
        """
        errors = self.error(first[:, None], last[:, None], u, wanted).max(axis=1)
        return np.asarray(np.fmin(np.fmax(errors, 0.0), _LARGEST))


_LARGEST = np.finfo(np.float64).max


def lerp(first: Floats, last: Floats, u: Floats) -> Floats:
    """Interpolate linearly at u (...) between values (..., k)."""
    return np.asarray(first + u[..., None] * (last - first))


def _vector_error(first: Floats, last: Floats, u: Floats, wanted: Floats) -> Floats:
    first, last, wanted = _components(first, last, wanted)
    off = first + u[:, None] * (last - first)
    off -= wanted
    off *= off
    return np.asarray(np.sqrt(np.add.reduce(off)).T)


def _rotation_error(first_xyzw: Floats, last_xyzw: Floats, u: Floats, wanted_xyzw: Floats) -> Floats:
    """Return the largest distance from wanted unit quaternions to interpolated ones: at constant speed, as glTF wants
    it, and each component separately, as Blender does.
    """
    first, last, wanted = _components(first_xyzw, last_xyzw, wanted_xyzw)
    u = u[:, None]
    cosine = np.add.reduce(first * last)
    last = np.where(cosine < 0, -last, last)  # the shorter way
    cosine = np.minimum(np.abs(cosine), 1.0)
    sine = np.sqrt(1.0 - cosine * cosine)
    sine_u, cosine_u = sine_and_cosine(u * arctan2(sine, cosine))
    at_last = np.where(sine > 0, sine_u / np.where(sine > 0, sine, 1.0), u)
    fast = (cosine_u - cosine * at_last) * first + at_last * last
    straight = ((1.0 - u) * first + u * last) / np.sqrt(1.0 - 2.0 * u * (1.0 - u) * (1.0 - cosine))
    wanted = np.where(np.add.reduce(fast * wanted) < 0, -wanted, wanted)
    fast -= wanted
    straight -= wanted
    fast *= fast
    straight *= straight
    return np.asarray(np.sqrt(np.maximum(np.add.reduce(fast), np.add.reduce(straight))).T)


def _components(*arrays: Floats) -> Iterator[Floats]:
    """Yield arrays (n, m, k) as (k, m, n): numpy is slow on short last axes."""
    return (values.transpose(2, 1, 0).copy() for values in arrays)


def _degrees_of_chord(chord: Floats) -> Floats:
    """Return the angle of the rotation between unit quaternions at a distance."""
    half = np.minimum(0.5 * chord, 1.0)
    return np.asarray(np.degrees(4.0 * arctan2(half, np.sqrt(1.0 - half * half))))


def _chord_of_degrees(degrees: Floats) -> Floats:
    return 2.0 * sine_and_cosine(np.radians(np.minimum(degrees, 360.0)) / 4.0)[0]


VECTORS = Measure(vector_distance, _vector_error)
ROTATIONS = Measure(turn_degrees, _rotation_error, _degrees_of_chord, _chord_of_degrees)
"""in degrees"""


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

    @property
    def is_still(self) -> bool:
        """Whether the value never changes."""
        return bool((self.values == self.values[0]).all()) and not (self.tangents_in.any() or self.tangents_out.any())

    def mirrored(self, signs: Singles) -> Sampler:
        """Return the sampler with every component multiplied by 1 or -1."""
        return Sampler(self.mode, self.times, self.values * signs, self.tangents_in * signs, self.tangents_out * signs)

    def extended(self, end: Singles) -> Sampler:
        """Return the sampler with its last value kept until ``end`` (1,)."""
        still = np.zeros_like(self.tangents_in[:1])
        tangents = (np.concatenate([column, still]) for column in (self.tangents_in, self.tangents_out))
        times, values = np.concatenate([self.times, end]), np.concatenate([self.values, self.values[-1:]])
        return Sampler(self.mode, times, values, *tangents)

    def output(self) -> Singles:
        """Return the values as glTF stores them: tangent, value, tangent for each key of a cubic."""
        if self.mode != CUBIC:
            return self.values
        return np.stack([self.tangents_in, self.values, self.tangents_out], axis=1).reshape(-1, self.values.shape[1])


def cubic_sampler(keys: Hermite, span: Span) -> Sampler:
    """Return cubic keys in seconds. Tangents are adapted to the rounded distances, so that curves keep their shape. A
    jump becomes two keys as close as single precision allows; the second one is at the time of the jump.
    """
    times = single(np.maximum(span.seconds(keys.times), 0.0))
    changes = np.concatenate([[True], times[1:] != times[:-1], [True]])
    is_first, is_last = changes[:-1], changes[1:]
    times[is_first & ~is_last] = np.nextafter(times[is_first & ~is_last], np.float32(-1.0))
    keep = (is_first | is_last) & (times >= 0) & np.concatenate([[True], times[1:] > times[:-1]])
    into, out = keys.tangents_in[keep], keys.tangents_out[keep]
    units, seconds = np.diff(keys.times[keep]), np.diff(times[keep].astype(np.float64))
    factor = np.concatenate([[0.0], units / seconds, [0.0]])[:, None]
    columns = keys.values[keep], into * factor[:-1], out * factor[1:]
    return Sampler(CUBIC, times[keep], *(single(column) for column in columns))


@dataclass(eq=False, repr=False, frozen=True)
class TrackFunction:
    """A track of a compiled bank as a function of time, constant from the time ``until`` on."""

    bank: CurveBank
    number: int
    until: float = np.inf

    def __call__(self, times: Floats) -> Floats:
        return self.bank.evaluate_pairs(np.full(len(times), self.number), np.minimum(times, self.until))


@dataclass(eq=False, repr=False)
class Motion:
    """A function of time that becomes a sampler; times are in the unit of the clip."""

    truth: Function
    measure: Measure
    breaks: Floats
    """(n,) ascending times between which the function is smooth: the authored keys"""
    jumps: Flags
    """(n,) whether it jumps there"""
    outcome: Outcome
    mode: str = ""
    """how the authored keys interpolate, if glTF can store that: STEP, LINEAR or CUBICSPLINE"""
    cubic: Hermite | None = None
    """the authored keys of the mode CUBICSPLINE; two equal times are a jump"""
    has_track_keys: bool = False
    """whether the keys are those of the track, one for one"""
    repeated_until: float | None = None
    """where a limit cut the repetition of a track short"""
    is_limited: bool = False
    """whether a limit made the motion less exact"""
    is_too_fast: bool = False
    """whether keys do not follow the motion: the error exceeds a hundredth of its extent, a degree for rotations"""
    error: float = 0.0
    """largest error between keys, except next to jumps, for any player; degrees for rotations"""
    worst: tuple[float, float] | None = None
    """begin and end of the piece between two keys that has the largest error"""
    sampler: Sampler = field(init=False)
    """the keys as they are written"""

    def missing_motion(self, span: Span) -> str:
        """Return why the keys do not follow the motion: a limit cut it short, or it is too fast; empty if they do."""
        if self.repeated_until is not None:
            return f"repeated only up to {self.repeated_until:g} of {span.end:g} (LIMIT_KEYS)"
        if self.is_limited:
            return "less exact than requested (LIMIT_KEYS)"
        return "it changes faster than keys can follow" if self.is_too_fast else ""


def track_motions(bank: CurveBank, numbers: Sequence[int], span: Span, *, cubic: bool) -> list[Motion | None]:
    """Return tracks of a bank over a span, not sampled yet; None for those without a usable key. If ``cubic``, tracks
    that are cubic splines get the keys of these.
    """
    groups: dict[tuple[str, RotationForm, Interpolation], list[int]] = {}
    for place, number in enumerate(numbers):
        track = bank.tracks[number]
        groups.setdefault((family_of(track), track.form, track.interpolation), []).append(place)
    motions: list[Motion | None] = [None] * len(numbers)
    for places in groups.values():
        tracks = [bank.tracks[numbers[place]] for place in places]
        columns = gather(tracks, 1 if tracks[0].values.ndim == 1 else tracks[0].values.shape[1])
        eased = np.bincount(columns.track[(columns.ease_to != 0) | (columns.ease_from != 0)], minlength=len(tracks)) > 0
        splines = _splines(columns, tracks[0].is_rotation) if cubic else None
        flags = zip(columns.periodic.tolist(), eased.tolist(), strict=True)
        for place, first, count, (is_periodic, is_eased) in zip(
            places, columns.starts.tolist(), columns.counts.tolist(), flags, strict=True
        ):
            rows = slice(first, first + count)
            if count:
                spline = None if splines is None or is_eased else Hermite(*(column[rows] for column in splines))
                truth = TrackFunction(bank, numbers[place])
                motions[place] = _track_motion(truth, columns.times[rows], is_periodic, is_eased, spline, span)
    return motions


def _splines(columns: KeyColumns, is_rotation: bool) -> Hermite | None:
    """Return keys of one interpolation as cubic splines, without regard to ease; None if they are not."""
    interpolation = columns.interpolations[0]
    if is_rotation and interpolation is Interpolation.CUBIC:
        return Hermite(columns.times, quat.normalise(columns.values), columns.tangents_in, columns.tangents_out)
    return None if is_rotation or interpolation in (*_STRAIGHT, Interpolation.STEP) else hermite_columns(columns)


def _track_motion(
    truth: TrackFunction, times: Floats, periodic: bool, eased: bool, spline: Hermite | None, span: Span
) -> Motion:
    """Return the motion of a track with keys at ``times``, which are sorted; two equal times are a jump."""
    track = truth.bank.tracks[truth.number]
    measure = ROTATIONS if track.is_rotation else VECTORS
    whole = not periodic and span.begin <= times[0] and times[-1] <= span.end
    repeated_until: float | None = None
    if periodic:
        breaks, jumps = _unrolled(truth, times, measure, span)
        charge("keys", len(breaks))
        repeated_until = float(breaks[-1]) if breaks[-1] < span.end else None
        if len(breaks) > 1:  # time may start again at the end, so the last value is only approached
            truth = replace(truth, until=float(breaks[-1] - BEFORE_JUMP * (breaks[-1] - breaks[-2])))
    else:
        breaks = np.minimum(np.maximum(times, span.begin), span.end)
        jumps = np.zeros(len(breaks), np.bool_)
        if not (breaks[1:] > breaks[:-1]).all():
            breaks, counts = np.unique(breaks, return_counts=True)
            jumps = (counts > 1) & ((breaks > span.begin) & (breaks < span.end) | whole)
    motion = Motion(truth, measure, breaks, jumps, Outcome.APPROXIMATED, repeated_until=repeated_until)
    if track.interpolation is Interpolation.STEP or len(breaks) == 1:
        motion.mode, motion.jumps = STEP, np.ones(len(breaks), np.bool_)
    elif not eased and track.interpolation in _STRAIGHT:
        motion.mode = LINEAR
        is_absolute = track.form in (RotationForm.NONE, RotationForm.QUATERNION_ABSOLUTE)
        motion.has_track_keys = whole and is_absolute and len(breaks) == len(track.times)
    elif whole and spline is not None:
        motion.mode, motion.cubic = CUBIC, spline
        motion.has_track_keys = track.interpolation is Interpolation.CUBIC and len(spline.times) == len(track.times)
    return motion


def _unrolled(truth: TrackFunction, times: Floats, measure: Measure, span: Span) -> tuple[Floats, Flags]:
    """Return the breaks of a track that is repeated over the span, and whether it jumps there; fewer periods if they
    have more keys than allowed.

    The period is the time of the last key. Keys before 0 come first and are not repeated (see
    `keyframer.curves.timeline`).
    """
    period = float(times[-1])
    leads_in = times[0] < 0 and span.begin < 0
    first = 0 if leads_in else math.floor(span.begin / period)
    cycle = times[times > 0]
    last = min(max(math.ceil(span.end / period), first + 1), first + max(1, most_keys() // (len(cycle) + 1)))
    starts = np.arange(first, last) * period
    all_times = [times[times < 0] if leads_in else times[:0], starts[:1], (cycle + starts[:, None]).reshape(-1)]
    end = min(span.end, last * period)
    breaks, counts = np.unique(np.clip(np.concatenate(all_times), span.begin, end), return_counts=True)
    seam = np.array([period * (1 - BEFORE_JUMP), period])  # the end of a period and the start of the next
    before, after = truth(seam)
    jumps = (counts > 1) & (breaks > span.begin) & (breaks < end)
    if measure.distance(before, after) > 1e-6 * max(1.0, float(np.abs(truth(cycle)).max())):
        jumps |= np.isin(breaks, starts + period)
    return breaks, jumps


def breaks_of(motions: list[Motion], span: Span) -> tuple[Floats, Flags]:
    """Return the times at which any motion has a break, and whether one jumps there."""
    if not motions:
        return np.array([span.begin]), np.zeros(1, np.bool_)
    times = unique_values(np.concatenate([motion.breaks for motion in motions]))
    return times, np.isin(times, np.concatenate([motion.breaks[motion.jumps] for motion in motions]))
