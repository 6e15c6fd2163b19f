"""Converts one animated property, a track or any function of time, to keys that glTF can store."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from keyframer.arrays import Flags, Floats
from keyframer.curves import CurveBank, Interpolation, RotationForm, Track
from keyframer.curves.cubic_fit import BEFORE_JUMP, Functions, fit_cubic
from keyframer.curves.curve_bank import family_of
from keyframer.curves.key_columns import KeyColumns, gather
from keyframer.curves.linear_fit import FRAMES_PROBED, ROTATIONS, VECTORS, Measure, place_keys, whole_frames
from keyframer.curves.rotation_forms import absolute_rotations
from keyframer.curves.vector_curves import Hermite, hermite_columns
from keyframer.exchange.gltf.write.sampler_keys import LINEAR, STEP, Keys, Sampler, SamplerGroup, in_seconds
from keyframer.limits import budget_left, budget_total, charge
from keyframer.maths import quat
from keyframer.maths.distinct_values import unique_values
from keyframer.scene.loss_report import Outcome

Indices = npt.NDArray[np.intp]
Function = Callable[[Floats], Floats]

_BUDGET_PARTS = 10
"""one motion may use the budget of keys divided by this number"""

_SAMPLES_PER_KEY = 50
"""numbers sampled for each key, approximately"""

_MARGIN = 0.8
"""fraction of the allowed error that fits may use: the largest error may be between the probes"""

_CLOSEST = 5e-4
"""shortest time between two linear keys, in seconds: Blender, at 24 frames per second, joins keys within 0.01 frames"""

_SINGLE_PRECISION = 5e-7
"""relative error of single precision and some arithmetic"""

_WORST_FRACTION = 0.2113
"""fraction between two rotations at which component-wise interpolation differs most from constant speed"""

_FRACTIONS = np.array((0.03, 0.31, 0.5, 0.69, 0.97))
"""fractions between two keys at which errors are measured"""

_POINTS_FITTED = 30_000
"""maximum number of breaks and frames of motions that are fitted together: some 100 numbers of temporaries each"""

_KEYS_MEASURED = 8_000
"""maximum number of keys of motions that are measured together"""

_LINEAR = (Interpolation.LINEAR, Interpolation.SAMPLED)


def _keys_left() -> int:
    """Return how many keys motions may still get: the rest of the budget, limited by the samples needed to find them.

    Half of the samples are reserved for measuring.
    """
    samples = budget_left("samples") - budget_total("samples") // 2
    return max(0, min(budget_left("keys"), samples // _SAMPLES_PER_KEY))


def _most_keys() -> int:
    """Return how many keys one motion may have: a share of the budget, if that much is left."""
    return min(budget_total("keys") // _BUDGET_PARTS, _keys_left())


@dataclass(frozen=True)
class Span:
    """The written time range of a clip, in its unit; ``rate`` units make a second, ``frame`` units a frame."""

    begin: float
    end: float
    rate: float
    frame: float = 1.0

    def seconds(self, times: npt.ArrayLike) -> Floats:
        return np.asarray((np.asarray(times, np.float64) - self.begin) / self.rate)

    def shortest(self, last: npt.ArrayLike) -> Floats:
        """Return the shortest interval that survives rounding of seconds to single precision, up to the time
        ``last``."""
        return np.asarray(4e-7 * np.maximum(np.asarray(last) - self.begin, 1e-30))

    def closest(self, last: npt.ArrayLike) -> Floats:
        """Return the shortest interval between two linear keys, up to the time ``last``: the duration of a jump."""
        return np.maximum(self.shortest(last), _CLOSEST * self.rate)

    def wide_gaps(self, seconds: Floats, lasts: Floats | float) -> Indices:
        """Return the indices (m,) of ascending key times (n,), in seconds, before a gap that is longer than a jump.

        A gap counts as a jump up to 1.1 times the duration of one, because times are rounded. ``lasts`` are the times
        of the last keys of their motions.
        """
        closest = self.closest(np.asarray(lasts) * self.rate + self.begin)
        return np.flatnonzero(np.diff(seconds) > 1.1 * closest / self.rate)

    def frames(self) -> Floats | None:
        """Return all whole frames and the two ends; None if there are more frames than one motion may have keys."""
        frames = whole_frames(self.begin, self.end, self.frame, _most_keys())
        if not len(frames) and self.end - self.begin > 2 * self.frame:
            return None
        return unique_values(np.concatenate([[self.begin], frames, [self.end]]))


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
    """Keys, and the function they represent; both use the time unit of the clip."""

    keys: Keys
    truth: Function
    outcome: Outcome
    measure: Measure
    breaks: Floats
    """(n,) ascending times between which the function is smooth"""
    jumps: Flags
    """(n,) whether it jumps there"""
    has_track_keys: bool = False
    """whether the keys are those of the track, one for one"""
    complete: bool = True
    """whether all necessary keys exist: false if the budget cut the motion short or made it less exact"""
    periodic: bool = False
    """whether the keys of a track are repeated"""
    too_fast: bool = False
    """whether the motion changes faster than keys at the shortest allowed interval can follow"""
    sampler: Sampler = field(init=False)
    """the keys as they are written"""

    def missing_motion(self, span: Span) -> str:
        """Return why the keys do not follow the motion: a limit cut it short, or it is too fast; empty if they do."""
        last = float(self.keys.times[-1])
        if not self.complete:
            cut_short = f"repeated only up to {last:g} of {span.end:g}"
            return f"{cut_short if self.periodic and last < span.end else 'less exact than requested'} (LIMIT_KEYS)"
        is_lost = self.too_fast and errors([self], span)[0] > self.unacceptable_error
        return f"it changes faster than keys {_CLOSEST:g} s apart can follow" if is_lost else ""

    @property
    def unacceptable_error(self) -> float:
        """The error above which keys do not follow the motion: a hundredth of its extent, a degree for rotations."""
        values = self.keys.values
        return 1.0 if self.measure is ROTATIONS else 0.01 * float((values.max(axis=0) - values.min(axis=0)).max())


def errors(motions: Sequence[Motion], span: Span) -> list[float]:
    """Return the largest error of each written motion between keys, for any player; degrees for rotations."""
    groups: dict[tuple[object, ...], list[int]] = {}
    for number, motion in enumerate(motions):
        bank = motion.truth.bank if isinstance(motion.truth, TrackFunction) else number
        sampler = motion.sampler
        groups.setdefault((bank, motion.measure, sampler.mode, sampler.values.shape[1]), []).append(number)
    largest = np.zeros(len(motions))
    with np.errstate(all="ignore"):
        for numbers in groups.values():
            for portion in _portions([len(motions[number].sampler.times) for number in numbers], _KEYS_MEASURED):
                members = [numbers[place] for place in portion]
                largest[members] = _errors_of([motions[number] for number in members], span)
    return largest.tolist()


def _errors_of(motions: list[Motion], span: Span) -> Floats:
    """Return (n,) errors of motions of one kind; in gaps as short as a jump, only those that are unacceptable."""
    samplers = SamplerGroup([motion.sampler for motion in motions])
    lasts = samplers.times[samplers.starts + samplers.counts - 1]
    wide = span.wide_gaps(samplers.times, lasts[samplers.owner[1:]])
    errors = _errors_in(wide[samplers.owner[wide] == samplers.owner[wide + 1]], motions, samplers, span)
    crowded_errors = _errors_in(_crowded_gaps(motions, samplers, span), motions, samplers, span)
    unacceptable = crowded_errors > [motion.unacceptable_error for motion in motions]
    return np.where(unacceptable, np.maximum(errors, crowded_errors), errors)


def _crowded_gaps(motions: list[Motion], samplers: SamplerGroup, span: Span) -> Indices:
    """Return all gaps of motions that are too fast or incomplete, except jumps."""
    crowded = [np.empty(0, np.intp)]
    for number, motion in enumerate(motions):
        if motion.too_fast or not motion.complete:
            first, count = int(samplers.starts[number]), int(samplers.counts[number])
            ends = samplers.times[first + 1 : first + count]
            jumps = np.concatenate([[-np.inf], span.seconds(motion.breaks[motion.jumps]), [np.inf]])
            following = np.searchsorted(jumps, ends)
            distances = np.minimum(ends - jumps[following - 1], jumps[following] - ends)
            crowded.append(first + np.flatnonzero(distances > 0.1 * _CLOSEST))
    return np.concatenate(crowded)


def _errors_in(gaps: Indices, motions: list[Motion], samplers: SamplerGroup, span: Span) -> Floats:
    """Return (n,) the largest error of each motion in gaps between its keys."""
    worst = np.zeros(len(motions))
    if not len(gaps):
        return worst
    measure = motions[0].measure
    place = np.repeat(gaps, len(_FRACTIONS))
    owner = samplers.owner[place]
    begin = samplers.times[place]
    seconds = begin + (samplers.times[place + 1] - begin) * np.tile(_FRACTIONS, len(gaps))
    expected = _function_of([motion.truth for motion in motions])(owner, seconds * span.rate + span.begin)
    for player in range(len(measure.interpolations)):
        distances = measure.distance(samplers.evaluate(place, seconds, measure, player), expected)
        np.maximum.at(worst, owner, np.nan_to_num(distances))
    return worst


def _function_of(functions: list[Function]) -> Callable[[Indices, Floats], Floats]:
    """Return a function of indices (P,) into ``functions`` and times (P,).

    ``functions`` are tracks of one bank, or a single function of any kind.
    """
    tracks = [function for function in functions if isinstance(function, TrackFunction)]
    if len(tracks) < len(functions):
        (only,) = functions
        return lambda _, times: only(times)
    bank = tracks[0].bank
    numbers = np.array([track.number for track in tracks])
    until = np.array([track.until for track in tracks])
    return lambda owner, times: bank.evaluate_pairs(numbers[owner], np.minimum(times, until[owner]))


def _portions(sizes: Sequence[int], most: int) -> Iterator[list[int]]:
    """Yield lists of consecutive indices whose sizes sum up to at most ``most``, or of a single larger size."""
    numbers: list[int] = []
    total = 0
    for number, size in enumerate(sizes):
        if numbers and total + size > most:
            yield numbers
            numbers, total = [], 0
        numbers.append(number)
        total += size
    if numbers:
        yield numbers


@dataclass(eq=False, repr=False)
class _FitRequest:
    """A function that needs keys between its breaks."""

    truth: Function
    breaks: Floats
    jumps: Flags
    tolerance: float
    measure: Measure


@dataclass(eq=False, repr=False)
class _Draft:
    """A motion of a track whose keys may have to be fitted."""

    motion: Motion
    style: str
    """style of the fitted keys"""
    request: _FitRequest | None = None


@dataclass(eq=False, repr=False)
class MotionMaker:
    """Makes the motions of one clip, whose compiled tracks are in ``bank``; ``style`` is `GltfOptions.keys`."""

    span: Span
    style: str
    bank: CurveBank

    def tracks(self, numbers: Sequence[int], tolerances: Sequence[float]) -> list[Motion | None]:
        """Return motions of tracks of the bank over the span; None for those without a usable key.

        Tolerances are in degrees for rotations.
        """
        drafts = self._all_drafts(numbers, tolerances)
        self._fit([draft for draft in drafts if draft is not None])
        self._set_samplers([draft.motion for draft in drafts if draft is not None])
        return [None if draft is None else draft.motion for draft in drafts]

    def without_fitting(self, numbers: Sequence[int]) -> list[Motion | None]:
        """Return tracks of the bank as functions with their breaks, without fitting keys."""
        drafts = self._all_drafts(numbers, [np.inf] * len(numbers))
        return [None if draft is None else draft.motion for draft in drafts]

    def _all_drafts(self, numbers: Sequence[int], tolerances: Sequence[float]) -> list[_Draft | None]:
        groups: dict[tuple[str, RotationForm, Interpolation], list[int]] = {}
        for place, number in enumerate(numbers):
            track = self.bank.tracks[number]
            groups.setdefault((family_of(track), track.form, track.interpolation), []).append(place)
        drafts: list[_Draft | None] = [None] * len(numbers)
        for places in groups.values():
            group_drafts = self._drafts([numbers[place] for place in places], [tolerances[place] for place in places])
            for place, draft in zip(places, group_drafts, strict=True):
                drafts[place] = draft
        return drafts

    def function(
        self, truth: Function, breaks: Floats, jumps: Flags, tolerance: float, measure: Measure, outcome: Outcome
    ) -> Motion:
        """Return a motion of any function, fitted between breaks."""
        ((keys, complete, too_fast),) = self._fitted(
            [_FitRequest(truth, breaks, jumps, tolerance, measure)], self.style
        )
        motion = Motion(keys, truth, outcome, measure, breaks, jumps, complete=complete, too_fast=too_fast)
        self._set_samplers([motion])
        return motion

    def _set_samplers(self, motions: list[Motion]) -> None:
        samplers = in_seconds([motion.keys for motion in motions], self.span.begin, self.span.rate)
        for motion, sampler in zip(motions, samplers, strict=True):
            motion.sampler = sampler

    def _drafts(self, numbers: list[int], tolerances: list[float]) -> Iterator[_Draft | None]:
        """Yield drafts of tracks of one family, form and interpolation; None for those without a usable key."""
        tracks = [self.bank.tracks[number] for number in numbers]
        first = tracks[0]
        columns = gather(tracks, 1 if first.values.ndim == 1 else first.values.shape[1])
        allowed = np.array(tolerances) if self.style == "linear" else np.full(len(tracks), np.inf)
        authored = _AuthoredKeys(first, columns, allowed, self.style == "cubic")
        stops = np.cumsum(columns.counts).tolist()
        start = 0
        for place, (number, stop) in enumerate(zip(numbers, stops, strict=True)):
            rows, start = slice(start, stop), stop
            yield self._draft(number, authored, place, rows, tolerances[place]) if rows.start < stop else None

    def _draft(self, number: int, authored: _AuthoredKeys, place: int, rows: slice, tolerance: float) -> _Draft:
        track = self.bank.tracks[number]
        authored_keys = authored.keys(rows)
        periodic, straight = authored.periodic[place], authored.straight[place]
        keys = self._over_span(authored_keys, periodic)
        breaks, jumps = keys.breaks()
        truth = TrackFunction(self.bank, number)
        measure = ROTATIONS if track.is_rotation else VECTORS
        seams = jumps
        if periodic:
            seams = jumps.copy()
            seams[-1] = True
        complete = not periodic or float(keys.times[-1]) >= self.span.end
        exact = Motion(keys, truth, Outcome.EXACT, measure, breaks, seams, complete=complete, periodic=periodic)
        draft = _Draft(exact, self.style)
        if authored_keys.mode == STEP or len(breaks) == 1:
            return draft
        if straight and (self.style == "cubic" or (self.style == "linear" and not jumps.any())):
            is_unchanged = authored_keys is keys and track.form in (RotationForm.NONE, RotationForm.QUATERNION_ABSOLUTE)
            exact.has_track_keys = is_unchanged and len(keys.times) == len(track.times)
            return draft
        cubic = authored.cubic(place, rows)
        if cubic is not None:
            exact.keys = self._over_span(cubic, periodic)
            is_unchanged = track.interpolation is Interpolation.CUBIC and len(exact.keys.times) == len(track.times)
            exact.has_track_keys = is_unchanged and not periodic
            return draft
        if periodic:  # time may start again at the end, so the last value is only approached
            truth = replace(truth, until=float(breaks[-1] - BEFORE_JUMP * (breaks[-1] - breaks[-2])))
        if self.style == "cubic" and track.interpolation in _LINEAR and not authored.eased[place]:
            draft.style = "linear"  # more keys on the same path
        else:
            exact.outcome = Outcome.APPROXIMATED
        draft.request = _FitRequest(truth, breaks, jumps, tolerance, measure)
        return draft

    def _fit(self, drafts: list[_Draft]) -> None:
        """Fit the keys of the drafts that need it, in groups of one style, measure and width."""
        groups: dict[tuple[str, Measure, int], list[_Draft]] = {}
        for draft in drafts:
            if draft.request is not None:
                group = draft.style, draft.motion.measure, draft.motion.keys.values.shape[1]
                groups.setdefault(group, []).append(draft)
        for (style, _, _), members in groups.items():
            fitted = self._fitted([draft.request for draft in members if draft.request is not None], style)
            for draft, (keys, complete, too_fast) in zip(members, fitted, strict=True):
                draft.motion.keys = keys
                draft.motion.complete &= complete
                draft.motion.too_fast = too_fast

    def _fitted(self, requests: list[_FitRequest], style: str) -> Iterator[tuple[Keys, bool, bool]]:
        """Yield the keys of each request, whether they are complete, and whether the motion is too fast for them.

        The requests are tracks of one measure and width, or one function.
        """
        frames = self.span.frames() if style == "frames" else None
        lengths = [(request.breaks[-1] - request.breaks[0]) / self.span.frame for request in requests]
        sizes = [
            len(request.breaks) + (int(length) if length <= FRAMES_PROBED else 0)
            for request, length in zip(requests, lengths, strict=True)
        ]
        for portion in _portions(sizes, _POINTS_FITTED):
            with np.errstate(all="ignore"):
                fitted_keys = self._keys_of([requests[place] for place in portion], style, frames)
            for keys, complete, too_fast in fitted_keys:
                yield keys, charge("keys", len(keys.times)) and complete, too_fast

    def _keys_of(self, requests: list[_FitRequest], style: str, frames: Floats | None) -> list[tuple[Keys, bool, bool]]:
        is_rotation = requests[0].measure is ROTATIONS
        function = _function_of([request.truth for request in requests])
        tolerances = np.array([request.tolerance for request in requests])
        lasts = np.array([request.breaks[-1] for request in requests])
        if not is_rotation:  # tolerances below single precision are useless
            owner = np.repeat(np.arange(len(requests)), [len(request.breaks) for request in requests])
            largest = np.zeros(len(requests))
            values = function(owner, np.concatenate([request.breaks for request in requests]))
            np.maximum.at(largest, owner, np.nan_to_num(np.abs(values)).max(axis=1))
            tolerances = np.maximum(tolerances, _SINGLE_PRECISION * largest)
        tolerances = _MARGIN * tolerances
        breaks, jumps = [request.breaks for request in requests], [request.jumps for request in requests]
        if frames is not None:
            jump_times = [times[jumping] for times, jumping in zip(breaks, jumps, strict=True)]
            breaks = [unique_values(np.concatenate([frames, times])) for times in jump_times]
            jumps = [np.isin(times, jumping) for times, jumping in zip(breaks, jump_times, strict=True)]
            tolerances = np.full(len(requests), np.inf)
        shortest = self.span.shortest(lasts) if style == "cubic" else self.span.closest(lasts)
        counts = np.array([len(times) for times in breaks])
        functions = Functions(function, np.concatenate(breaks), np.concatenate(jumps), counts, tolerances, shortest)
        most_keys, keys_left = _most_keys(), _keys_left()
        if style == "cubic":
            fits = fit_cubic(functions, requests[0].measure.distance, most_keys=most_keys, most_in_all=keys_left)
            return [(Keys.cubic(fit.keys, is_rotation), fit.complete, False) for fit in fits]
        lines = place_keys(
            functions, requests[0].measure, frame=self.span.frame, most_keys=most_keys, most_in_all=keys_left
        )
        return [(Keys.of(LINEAR, line.times, line.values, is_rotation), line.complete, line.too_fast) for line in lines]

    def _over_span(self, keys: Keys, periodic: bool) -> Keys:
        """Return the keys of a track, repeated or cut to the span."""
        begin, end = self.span.begin, self.span.end
        if periodic:
            unrolled = keys.repeated(begin, end, _most_keys())
            charge("keys", len(unrolled.times))
            return unrolled
        if keys.times[-1] > end or keys.times[0] < begin:
            return keys.cut(max(float(keys.times[0]), begin), min(float(keys.times[-1]), end))
        return keys


def breaks_of(motions: list[Motion], span: Span) -> tuple[Floats, Flags]:
    """Return the times at which any motion has a break, and whether one jumps there."""
    if not motions:
        return np.array([span.begin]), np.zeros(1, np.bool_)
    times = unique_values(np.concatenate([motion.breaks for motion in motions]))
    return times, np.isin(times, np.concatenate([motion.breaks[motion.jumps] for motion in motions]))


class _AuthoredKeys:
    """The authored keys of tracks of one form and interpolation, with absolute rotations."""

    def __init__(self, example: Track, columns: KeyColumns, tolerances: Floats, with_cubics: bool) -> None:
        self._mode = STEP if example.interpolation is Interpolation.STEP else LINEAR
        self._times = columns.times
        self._values = columns.values
        self._is_rotation = example.is_rotation
        count = len(columns.counts)
        self.periodic: list[bool] = columns.periodic.tolist()
        eased = _any_key(columns, (columns.ease_to != 0) | (columns.ease_from != 0))
        self.eased: list[bool] = eased.tolist()
        straight = np.full(count, example.interpolation in _LINEAR) & ~eased
        if example.is_rotation and example.interpolation is Interpolation.CUBIC:
            self._values = quat.normalise(columns.values)
        elif example.is_rotation:
            self._values, vectors = absolute_rotations(columns, example.form)
            angles = np.sqrt(np.sum(vectors * vectors, axis=1))  # half the angle of the rotation to each key
            u = _WORST_FRACTION
            differences = np.arctan2(u * np.sin(angles), 1 - u + u * np.cos(angles)) - u * angles
            inexact = np.degrees(2 * np.abs(differences)) > (_MARGIN * tolerances)[columns.track]
            # players rotate the shorter way: a rotation of 180 degrees or more needs keys in between
            inexact |= angles >= 0.5 * np.pi - 1e-6
            straight &= ~_any_key(columns, inexact & ~columns.is_first)
        self.straight: list[bool] = straight.tolist()
        """whether linear keys represent the track within the tolerances, in any player; false for steps"""

        self._cubics: Hermite | None = None
        if with_cubics and example.is_rotation and example.interpolation is Interpolation.CUBIC:
            self._cubics = Hermite(columns.times, self._values, columns.tangents_in, columns.tangents_out)
        elif with_cubics and not example.is_rotation and example.interpolation not in (*_LINEAR, Interpolation.STEP):
            self._cubics = hermite_columns(columns)

    def keys(self, rows: slice) -> Keys:
        return Keys.of(self._mode, self._times[rows], self._values[rows], self._is_rotation)

    def cubic(self, place: int, rows: slice) -> Keys | None:
        """Return the track as a cubic spline; None if it is not one or cubic keys are not requested."""
        if self._cubics is None or self.eased[place]:
            return None
        return Keys.cubic(Hermite(*(column[rows] for column in self._cubics)), self._is_rotation)


def _any_key(columns: KeyColumns, keys: Flags) -> Flags:
    """Return (n,) whether each track has any of the ``keys``."""
    return np.asarray(np.bincount(columns.track[keys], minlength=len(columns.counts)) > 0)
