"""Fit authored tracks to the keys of a format: its time grid, its interpolations and its rotations.

A track whose keys fit keeps them: values, tension, continuity, bias and ease stay unchanged. Step keys become pairs of
linear keys; if times must be whole, a step between two frames moves to the later one, so that every frame shows its
value. Other tracks (sampled frames, keys with tangents, turns or interpolations that the format lacks, keys between
frames) are sampled on the format's grid and fitted with as few keys as the tolerance allows. Only if rounding the times
of the keys is exact enough, or nearer than sampling, are they rounded. Tracks that repeat are written out, cycle by
cycle, if the format cannot repeat them. Unless the keys are the same, they are compared with the track, at and between
keys, and the report states the error.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from keyframer.arrays import Flags, Floats, Indices
from keyframer.curves import Interpolation, RotationForm, Track, Wrap, compile_track, even_times
from keyframer.curves.key_reduction import Between, Sampling, fewest_keys, sample_together, subframes, values_of
from keyframer.curves.rotation_forms import absolute, finite_keys, has_full_turns, increments, with_form
from keyframer.formats import properties_of
from keyframer.formats.kit.frame_times import SINGLE, rate_of_times
from keyframer.formats.kit.key_table import EXTRAS, Keys
from keyframer.formats.kit.repeated_tracks import (
    AFTER_KEY,
    SPLINES,
    count_cycles,
    cut,
    is_periodic,
    key_times,
    last_moment,
    repeated,
)
from keyframer.formats.kit.scene_writing import Tolerance, plain_path, units_per_second
from keyframer.limits import budget_left, spend
from keyframer.posing.bounds_and_duration import clip_span
from keyframer.scene import Clip, Node
from keyframer.scene.loss_report import LossReport, LossType, Outcome
from keyframer.scene.losses import (
    KEYS_CONVERTED,
    MOTION_INCOMPLETE,
    MOTION_WRITTEN,
    NUMBERS_UNUSABLE,
    SCALE_AXES_UNSUPPORTED,
    TIMES_ROUNDED,
)
from keyframer.text import counted

_ABSOLUTE = (RotationForm.QUATERNION_ABSOLUTE, RotationForm.AXIS_ANGLE_ABSOLUTE)
_SNAP = 1e-6
"""a time this close to a whole number is rounded to it; it may also differ by `SINGLE` of itself"""
_EXTRA_BITS = (1 << len(EXTRAS)) - 1
_USUAL_SAMPLES = 40
"""estimated samples for each time of a grid while keys are fitted"""
_FINER = (2, 4, 8)
"""divisions of a frame tried for keys if whole frames are too coarse"""
_CHECKED = np.linspace(0, 1, 9)[1:-1]
"""points between frames at which the reported error is measured"""
_MOST_CHECKED = 4_000
"""largest number of moments at which it is measured"""
_NOISE = 1e-7
"""smaller errors, of values of 1, are those of rounding"""
_NOISE_OF_DOUBLES = 1e-12
_HALF_TURN = math.pi - 1e-3
"""absolute keys turn the shorter way: up to this angle it is certain which one that is"""


@dataclass(frozen=True, slots=True)
class KeyRules:
    """What kinds of keys a format can store."""

    per_second: float
    """time units per second"""
    step: float
    """time units per frame: the sampling step"""
    whole_times: bool = True
    """whether times are whole numbers"""
    wraps: bool = False
    """whether tracks can repeat and loop"""
    full_turns: bool = True
    """whether a rotation key can turn by 360 degrees and more"""
    largest_change_degrees: float = 90.0
    """largest angle, approximately, between two rotation keys that are fitted"""
    interpolations: tuple[Interpolation, ...] = (Interpolation.TCB, Interpolation.LINEAR, Interpolation.BEZIER)
    """interpolations of keys: linear ones at least. Without TCB there is no ease; without Bezier its keys become TCB"""
    jumps: bool = True
    """whether two keys can be at one time; without them a jump takes one frame"""
    rotations: RotationForm | None = None
    """the form of all rotation keys; None: any. Turns of half a turn and more are divided if it is absolute"""
    rate_advice: str = ""
    """advice on how to find a higher frame rate, if times are frames and the caller can choose the rate"""
    find_rate: bool = False
    """if frames are too coarse, fit again at higher rates and report one that is sufficient (up to three more fits)"""


class KeyFitter:
    """Fits the tracks of one clip."""

    def __init__(self, clip: Clip, rules: KeyRules, tolerance: Tolerance, report: LossReport) -> None:
        self.clip = clip
        self.rules = rules
        self.tolerance = tolerance
        self.report = report
        self.factor = rules.per_second / units_per_second(clip)
        self.span = clip_span(clip)
        self._ahead: dict[int, tuple[Track, tuple[Track | None, LossReport]]] = {}
        """tracks fitted in advance, by id()"""

    def times(self, clip_times: npt.ArrayLike) -> Floats:
        """Convert times of the clip to the format's unit; rounding errors near whole numbers are removed."""
        times = np.asarray(clip_times, np.float64) * self.factor
        rounded = np.rint(times)
        return np.where(np.abs(times - rounded) <= np.maximum(_SNAP, SINGLE * np.abs(times)), rounded, times)

    def fit_ahead(self, tracks: Iterable[Track]) -> None:
        """Fit all these tracks together, which is much faster; `fit` then returns the stored results."""
        different = list({id(track): track for track in tracks}.values())
        for track, fitted in zip(different, sample_together(map(self._fitted, different)), strict=True):
            self._ahead[id(track)] = track, fitted

    def fit(self, track: Track, path: str) -> Track | None:
        """Return the track in the format's time unit, with interpolation TCB, LINEAR or BEZIER; report its outcome.

        The result is None if no key is finite.
        """
        if id(track) not in self._ahead:
            self.fit_ahead([track])
        _, (fitted, report) = self._ahead.pop(id(track))
        self.report.losses += [replace(loss, path=path) for loss in report]
        return fitted

    def _fitted(self, track: Track) -> Sampling[tuple[Track | None, LossReport]]:
        """Return the fitted track and a report of it."""
        report = LossReport(self.report.target)
        return (yield from self._fit(track, report)), report

    def _fit(self, track: Track, report: LossReport) -> Sampling[Track | None]:
        source = usable_keys(track, "", report)
        if not len(source.times):
            return None
        if is_periodic(source) and not self._keeps_wrap(source):
            fitted = yield from self._written_out(source, report)
        else:
            fitted = yield from self._fit_keys(source, report)
        if self.rules.rotations is not None and fitted.is_rotation:
            fitted = with_form(fitted, self.rules.rotations)
        return fitted if self.rules.jumps else self._without_jumps(fitted, report)

    def _without_jumps(self, track: Track, report: LossReport) -> Track:
        """Return linear keys with one key at each time: a jump begins at the frame before it, and every frame keeps its
        value."""
        jumps = np.unique(track.times[1:][np.diff(track.times) == 0])
        if not len(jumps):
            return track
        times = np.unique(np.concatenate([track.times, np.maximum(jumps - self.rules.step, track.times[0])]))
        values = compile_track(track)(times)
        seconds = self.rules.step / self.rules.per_second
        report.losses = [loss for loss in report if loss.outcome is not Outcome.EXACT]
        report.add(TIMES_ROUNDED["jumps"], "", error=seconds, count=len(jumps))
        return Track(track.kind, times, values, track.interpolation, form=track.form)

    def _fit_keys(self, source: Track, report: LossReport) -> Sampling[Track]:
        """Return the keys of a track that need not be written out."""
        reason = self._reason_to_bake(source)
        if reason is not None:
            return (yield from self._baked(source, report, reason))
        times = self.times(source.times)
        if source.interpolation is Interpolation.STEP:
            return self._steps(source, times, report)
        if source.interpolation is Interpolation.SAMPLED:
            source = replace(source, interpolation=Interpolation.LINEAR)
        if source.interpolation not in self.rules.interpolations:
            source = as_tcb(source)
        if self.rules.whole_times and (np.rint(times) != times).any():
            return (yield from self._on_frames(source, times, report))
        report.add(MOTION_WRITTEN["keys"], "", keys=_counted_keys(source))
        return replace(source, times=times)

    def _keeps_wrap(self, track: Track) -> bool:
        """Return whether the format can repeat a track: its period must be a time of the format."""
        period = float(self.times(track.times[-1:])[0])
        return self.rules.wraps and (not self.rules.whole_times or period == round(period))

    def _written_out(self, source: Track, report: LossReport) -> Sampling[Track]:
        """Return a track that repeats as one that does not, with its cycles up to the end of the clip.

        If that takes more keys than a file of this size may have, one cycle is written.
        """
        of_keys = LossReport(report.target)
        if self.span[0] < 0 or source.times[0] < 0:  # a lead-in: the first cycle differs from the others
            fitted, error = yield from self._sampled(source)
        else:
            cycles = yield from self._cycles(source, report)
            fitted = yield from self._fit_keys(cycles, of_keys)
            differences, _ = yield from self._differences(source, fitted, float(cycles.times[-1]))
            error = float(differences.max())
        _, _, unit = self.tolerance.for_track(source)
        kind, advice = KEYS_CONVERTED["wrap"], ""
        if self.rules.wraps:
            kind, advice = KEYS_CONVERTED["wrap between frames"], self._exact_rate(self.times(source.times))
        words: dict[str, Any] = {"wrap": source.wrap.value, "keys": _counted_keys(fitted)}
        outcome = Outcome.BAKED if error <= _NOISE * _extent(source) else Outcome.APPROXIMATED
        report.add(kind, "", outcome=outcome, advice=advice, error=error, unit=unit, **words)
        report.losses += [loss for loss in of_keys if loss.unit == "second"]
        return fitted

    def _cycles(self, source: Track, report: LossReport) -> Sampling[Track]:
        """Return the cycles of a track up to the end of the clip, in the time of the clip."""
        count, rest = count_cycles(source, self.span[1])
        is_plain = self._reason_to_bake(source) is None
        if source.interpolation is Interpolation.SAMPLED:
            source, is_plain = replace(source, interpolation=Interpolation.LINEAR), True
        cycle = source
        if not is_plain or (source.interpolation in SPLINES and source.wrap is Wrap.LOOP):
            cycle = yield from self._sampled_cycle(source, float(source.times[-1]))
        keys = len(cycle.times) * (count + 1)
        if keys > budget_left("keys") or keys * _USUAL_SAMPLES > budget_left("samples"):
            reason = f"its {source.wrap.value} plays once, and would need {keys} keys (LIMIT_KEYS)"
            report.add(MOTION_INCOMPLETE, "", reason=reason)
            return repeated(cycle, 1, None)
        if count > 1 or rest:
            spend("keys", keys)
        partial = None
        if rest and (cycle.interpolation is Interpolation.STEP or _is_straight(cycle)):
            partial = cut(cycle, rest)
        elif rest:
            partial = yield from self._sampled_cycle(source, rest)
            if partial.interpolation is not cycle.interpolation:
                cycle, partial = as_tcb(cycle), as_tcb(partial)
        return repeated(cycle, count, partial)

    def _sampled_cycle(self, track: Track, end: float) -> Sampling[Track]:
        """Return keys fitted to a periodic track from its first key to ``end``, in the time of the clip."""
        begin = min(float(track.times[0]), end)
        fitted, _ = yield from self._finest(track, begin, end)
        return replace(fitted, times=fitted.times / self.factor)

    def _differences(self, source: Track, fitted: Track, end: float) -> Sampling[tuple[Floats, Floats]]:
        """Return the differences of a track and its keys up to ``end``, at the keys of both and between them, and the
        times of these moments.
        """
        begin = min(float(source.times[0]), self.span[0] if is_periodic(source) else math.inf)
        most = _MOST_CHECKED // (1 + len(_CHECKED))
        keys = np.concatenate([key_times(source, end, most), fitted.times[:most] / self.factor, [begin, end]])
        moments = np.unique(keys[(keys >= begin) & (keys <= end)])
        if is_periodic(source):
            moments = np.minimum(moments + AFTER_KEY * source.times[-1], end)
            if source.interpolation is Interpolation.STEP:  # at a seam that ends the range, the last key is written
                moments = moments[moments <= last_moment(source, end)]
        moments = np.unique(np.concatenate([moments, subframes(moments, _CHECKED)]))
        distance = self.tolerance.for_track(source)[1]
        expected = yield source, np.minimum(moments, last_moment(source, end))
        samples = yield fitted, self.times(moments)
        return distance(samples, expected), moments

    def _steps(self, track: Track, times: Floats, report: LossReport) -> Track:
        """Return step keys as jumps; if times must be whole, at the first frame that shows the new value."""
        frames = np.ceil(times) if self.rules.whole_times else times
        last_at_time = np.flatnonzero(np.append(np.diff(frames) > 0, True))
        values = absolute(track) if track.is_rotation else track.values
        form = RotationForm.QUATERNION_ABSOLUTE if track.is_rotation else RotationForm.NONE
        jumps = _jumps(replace(track, times=frames, values=values, form=form), last_at_time)
        later = float(np.max(frames - times))
        if len(times) == 1 or not later:
            report.add(MOTION_WRITTEN["keys"], "", keys=_counted_keys(jumps))
        else:
            seconds = later / self.rules.per_second
            report.add(TIMES_ROUNDED["steps"], "", advice=self._exact_rate(times), error=seconds, seconds=seconds)
        return jumps

    def _on_frames(self, track: Track, times: Floats, report: LossReport) -> Sampling[Track]:
        """Return keys on frames for keys between frames: sampled, or rounded if that is within the tolerance or nearer,
        and report the resulting error.
        """
        tolerance, _, unit = self.tolerance.for_track(track)
        rounded = replace(track, times=np.rint(times))
        sampled, error, avoidable = None, math.inf, math.inf
        if not ((np.diff(rounded.times) == 0) & (np.diff(times) > 0)).any():
            differences, moments = yield from self._differences(track, rounded, float(track.times[-1]))
            error = float(differences.max())
            avoidable = float(differences[~_at_moved_jumps(moments, track.times, times, self.factor)].max(initial=0.0))
        if avoidable > tolerance and self._can_sample(track):
            sampled, sampled_error = yield from self._sampled(track)
            if sampled_error < error:
                advice = self._exact_rate(times) or (yield from self._coarse(track, sampled_error))
                keys = _counted_keys(sampled)
                report.add(
                    KEYS_CONVERTED["between frames"], "", advice=advice, error=sampled_error, unit=unit, keys=keys
                )
                return sampled
        seconds = float(np.abs(rounded.times - times).max()) / self.rules.per_second
        outcome = Outcome.APPROXIMATED if error else Outcome.EXACT
        advice = self._exact_rate(times) if error > tolerance else ""
        report.add(TIMES_ROUNDED["keys"], "", outcome=outcome, advice=advice, error=error, unit=unit, seconds=seconds)
        return rounded

    def _exact_rate(self, times: Floats) -> str:
        """Return advice: the frame rate at which all these times are frames, if the caller can choose."""
        rate = rate_of_times(times / self.rules.per_second) if self.rules.rate_advice else None
        return "" if rate is None else f"fps={rate} would store them exactly"

    def _reason_to_bake(self, track: Track) -> LossType | None:
        """Return why keys cannot be kept; None if they can be kept."""
        interpolations = self.rules.interpolations
        if track.interpolation is Interpolation.SAMPLED:
            return KEYS_CONVERTED["frames"] if len(track.times) > 1 else None
        if track.interpolation is Interpolation.CUBIC:
            return KEYS_CONVERTED["tangents"]
        if Interpolation.TCB not in interpolations and len(track.times) > 1:
            if track.interpolation in SPLINES and track.interpolation not in interpolations:
                return KEYS_CONVERTED["kind"]
            if track.interpolation is Interpolation.LINEAR and is_eased(track):
                return KEYS_CONVERTED["ease"]
        if not self.rules.full_turns and has_full_turns(track):
            return KEYS_CONVERTED["full turns"]
        turns_the_shorter_way = self.rules.rotations in _ABSOLUTE and track.interpolation is not Interpolation.STEP
        if turns_the_shorter_way and track.is_rotation and (np.abs(increments(track)[1][1:]) > _HALF_TURN).any():
            return KEYS_CONVERTED["half turns"]
        return None

    def _baked(self, track: Track, report: LossReport, reason: LossType) -> Sampling[Track]:
        """Fit as few keys as the tolerance allows to samples on the format's grid, and report them."""
        _, _, unit = self.tolerance.for_track(track)
        fitted, error = yield from self._sampled(track)
        advice = yield from self._coarse(track, error)
        is_exact = reason is KEYS_CONVERTED["frames"] and error <= _NOISE_OF_DOUBLES * _extent(track)
        outcome = Outcome.EXACT if is_exact else Outcome.APPROXIMATED
        words: dict[str, Any] = {"frames": len(track.times), "kind": _name(track), "keys": _counted_keys(fitted)}
        report.add(reason, "", outcome=outcome, advice=advice, error=error, unit=unit, **words)
        return fitted

    def _coarse(self, track: Track, error: float) -> Sampling[str]:
        """Return advice if the error is above the limit, because the times of the format are too coarse."""
        tolerance, _, _ = self.tolerance.for_track(track)
        if error <= tolerance:
            return ""
        message = f"the error is above the requested {tolerance:.2g}: the times of the format are too coarse"
        if self.rules.find_rate:
            rate = yield from self._sufficient_rate(track, *self._range(track))
            return message + ("" if rate is None else f"; fps={rate:g} would be sufficient")
        return message + (f"; {self.rules.rate_advice}" if self.rules.rate_advice else "")

    def _range(self, track: Track) -> tuple[float, float]:
        """Return the first and last time at which a track is sampled: that of one cycle if the format can repeat it."""
        begin, end = float(track.times[0]), float(track.times[-1])
        if not is_periodic(track) or self._keeps_wrap(track):
            return begin, end
        return min(begin, self.span[0]), max(end, self.span[1])

    def _can_sample(self, track: Track) -> bool:
        """Return whether the budget allows to sample a track on the format's grid."""
        begin, end = self._range(track)
        return self._can_fit((end - begin) * self.factor / self.rules.step)

    @staticmethod
    def _can_fit(times: float) -> bool:
        return times * _USUAL_SAMPLES < budget_left("samples")

    def _sampled(self, track: Track) -> Sampling[tuple[Track, float]]:
        """Return few keys fitted to samples on the format's grid, and their error."""
        fitted, error = yield from self._finest(track, *self._range(track))
        repeats = is_periodic(track) and self._keeps_wrap(track)  # keys are fitted to one cycle, with its own ends
        return replace(fitted, wrap=Wrap.REPEAT if repeats else Wrap.SINGLE), error

    def _finest(self, track: Track, begin: float, end: float) -> Sampling[tuple[Track, float]]:
        """Return keys fitted on frames, or on parts of frames if whole ones are too coarse, and their error."""
        tolerance, _, _ = self.tolerance.for_track(track)
        fitted, error = yield from self._fewest(track, self._grid(track, begin, end))
        for parts in _FINER:  # keys may lie between frames if the format's times are finer
            finer = self._grid(track, begin, end, parts)
            if error <= tolerance or track.interpolation is Interpolation.SAMPLED or not len(finer):
                break
            if not self._can_fit(4.0 * len(finer)):
                break
            finer_fit = yield from self._fewest(track, finer)
            fitted, error = min((fitted, error), finer_fit, key=lambda result: result[1])
        return fitted, error

    def _sufficient_rate(self, track: Track, begin: float, end: float) -> Sampling[float | None]:
        """Return a frame rate at which keys meet the tolerance; None if none is known."""
        for parts in _FINER:
            first, last = (float(value) for value in self.times([begin, end]))
            count = math.ceil((last - first) * parts / self.rules.step)
            if count * track.values[:1].size < budget_left("samples") // _USUAL_SAMPLES:
                grid = np.append(even_times(first, last, self.rules.step / parts)[:-1], last)
                _, error = yield from self._fewest(track, np.unique(grid))
                if error <= self.tolerance.for_track(track)[0]:
                    return self.rules.per_second * parts
        return None

    def _fewest(self, track: Track, grid: Floats) -> Sampling[tuple[Track, float]]:
        """Fit keys at some times of a grid.

        Return the track and its error, measured on the grid, at the original keys, and between them if the values there
        are known.
        """
        grid_moments = grid / self.factor
        tolerance, distance, _ = self.tolerance.for_track(track)
        form = RotationForm.QUATERNION_ABSOLUTE if track.is_rotation else RotationForm.NONE
        largest_change = self.rules.largest_change_degrees if track.is_rotation else math.inf
        between = self._between(track, grid)
        until = last_moment(track, float(grid_moments[-1]))
        values, allowed = (yield from values_of(track, np.minimum(grid_moments, until))), 0.9 * tolerance
        smooth = Interpolation.TCB in self.rules.interpolations
        fitted, _ = yield from fewest_keys(
            track.kind, grid, values, form, allowed, distance, largest_change, between, smooth
        )
        own = track.times[track.times <= grid_moments[-1]] if is_periodic(track) else track.times
        moments = np.unique(np.concatenate([own, grid_moments]))
        if between is not None:
            moments = np.unique(np.concatenate([moments, subframes(moments, _CHECKED)]))
        expected = yield track, np.minimum(moments, until)
        samples = yield fitted, self.times(moments)
        return fitted, float(distance(samples, expected).max())

    def _between(self, track: Track, grid: Floats) -> Between | None:
        """Return a function that evaluates the track at any time of the format.

        The result is None for a sampled track if its program showed only whole frames, or if its frames are not those
        of the grid: fitted keys cannot follow the corners of linear motion between other frames.
        """
        if track.interpolation is Interpolation.SAMPLED:
            frames = np.unique(self.times(track.times))
            plays_between = all(properties_of(name).plays_between_frames for name in self.clip.extras)
            if not plays_between or not np.array_equal(frames, grid):
                return None
        until = last_moment(track, float(grid[-1]) / self.factor)
        return lambda times: values_of(track, np.minimum(times / self.factor, until))

    def _grid(self, track: Track, begin: float, end: float, parts: int = 1) -> Floats:
        """Return the times at which the track is sampled.

        For a sampled track these are its frames, if the format can store their times. Otherwise they are the frames of
        the format, divided into ``parts``, and the times of the keys; none if whole times are too coarse for ``parts``.
        """
        own = np.unique(self.times(track.times))
        storable = not self.rules.whole_times or not np.mod(own, 1).any()
        if track.interpolation is Interpolation.SAMPLED and storable:
            return own
        first, last = (float(value) for value in self.times([begin, end]))
        step = self.rules.step / parts
        if self.rules.whole_times and step < 1:
            return np.empty(0)
        if self.rules.whole_times and track.wrap is Wrap.SINGLE:
            first, last = math.floor(first), math.ceil(last)
        frames, keys = even_times(first, last, step), own[own <= last]
        grid = np.concatenate([frames[_distances(frames, keys) > _SNAP * step], keys])
        grid = grid if track.wrap is Wrap.SINGLE else np.minimum(grid, last)
        return np.unique(np.rint(grid) if self.rules.whole_times else grid)


def usable_keys(track: Track, path: str, report: LossReport) -> Track:
    """Return the finite keys of a track, sorted, after reporting how many others there are."""
    source = finite_keys(track)
    if len(source.times) < len(track.times):
        non_finite = len(track.times) - len(source.times)
        report.add(NUMBERS_UNUSABLE["keys"], path, unusable=non_finite, count=len(track.times))
    return source


def _distances(times: Floats, others: Floats) -> Floats:
    """Return how far each time is from the nearest of others, which are sorted."""
    ends = np.concatenate([[-np.inf], others, [np.inf]])
    place = np.searchsorted(ends, times)
    return np.asarray(np.minimum(times - ends[place - 1], ends[place] - times))


def _counted_keys(track: Track) -> str:
    return counted(len(track.times), f"{_name(track)} key")


def _name(track: Track) -> str:
    return "TCB" if track.interpolation is Interpolation.TCB else track.interpolation.value


def _at_moved_jumps(moments: Floats, key_times: Floats, stored: Floats, factor: float) -> Flags:
    """Return which moments are between a jump and the whole time that it moves to, where samples are no nearer."""
    jumps = np.flatnonzero(np.diff(key_times) == 0)
    ends = np.sort(np.stack([key_times[jumps], np.rint(stored[jumps]) / factor]), axis=0)
    starts, stops = np.searchsorted(moments, ends[0] - _SNAP), np.searchsorted(moments, ends[1] + _SNAP)
    inside = np.zeros(len(moments) + 1, np.intp)
    np.add.at(inside, starts, 1)
    np.add.at(inside, stops, -1)
    return np.asarray(np.cumsum(inside[:-1]) > 0)


def _is_straight(track: Track) -> bool:
    return track.interpolation is Interpolation.LINEAR and not is_eased(track)


def _extent(track: Track) -> float:
    return 180.0 if track.is_rotation else max(float(np.abs(track.values).max()), 1.0)


def _jumps(track: Track, keys: Indices) -> Track:
    """Return these step keys as linear keys: two for each value, at its time and at the next key; one for the last."""
    order = np.repeat(np.arange(len(keys)), 2)[:-1]
    times = track.times[keys[(np.arange(len(order)) + 1) // 2]]
    return Track(track.kind, times, track.values[keys[order]], Interpolation.LINEAR, track.wrap, track.form)


def as_tcb(track: Track) -> Track:
    """Return the track with TCB keys; the same track if it has them. Other rotations become relative.

    Three or more linear keys get continuity -1 (tangents along both chords), Bezier keys 0.
    """
    if track.interpolation is Interpolation.TCB:
        return track
    if track.is_rotation and track.form is not RotationForm.AXIS_ANGLE_RELATIVE:
        axes, angles = increments(track)  # absolute keys mean the shortest rotation; relative keys store it
        track = replace(track, values=np.column_stack([axes, angles]), form=RotationForm.AXIS_ANGLE_RELATIVE)
    columns: dict[str, Any] = {"tension": None, "continuity": None, "bias": None, "flags": None}
    if track.interpolation is not Interpolation.LINEAR:
        columns |= {"ease_to": None, "ease_from": None}
    elif len(track.times) > 2:  # two keys are interpolated linearly anyway
        columns["continuity"] = np.full(len(track.times), -1.0)
    return replace(track, interpolation=Interpolation.TCB, **columns)


def single_key(kind: str, value: npt.ArrayLike, form: RotationForm = RotationForm.NONE) -> Track:
    """Return a track with one key at time 0."""
    values = np.asarray(value, np.float64)
    return Track(kind, np.zeros(1), values[None] if values.ndim else values.reshape(1), Interpolation.LINEAR, form=form)


def tcb_keys(track: Track, values: Floats, keep_flags: bool) -> Keys:
    """Return rows of TCB keys. With ``keep_flags``, floats that the track's flags select are stored even if 0."""
    columns = {name: column for name in EXTRAS if (column := getattr(track, name)) is not None}
    flags = track.flags & _EXTRA_BITS if keep_flags and track.flags is not None else 0
    return Keys.make(np.rint(track.times).astype(np.int64), values, flags=flags, **columns)


def is_eased(track: Track) -> bool:
    return bool(np.any(track.ease_to) or np.any(track.ease_from))


def constant_axes(node: Node, scale: Track) -> Track:
    """Return a track of scale axes: the rest value at the time of each scale key."""
    values = np.tile(np.asarray(node.scale_axes_xyzw, np.float64), (len(scale.times), 1))
    return Track("scale_axes", scale.times, values, Interpolation.LINEAR, form=RotationForm.QUATERNION_ABSOLUTE)


def axes_of_keys(axes: Track | None, scale: Track, node: Node, report: LossReport) -> Floats | None:
    """Return (K, 4) scale axes as quaternions, one for each scale key; None if there are no axes.

    The result is also None if the two tracks have keys at different times. The axes are then reported as dropped,
    instead of earlier reports about them.
    """
    if axes is None:
        return None
    if not np.array_equal(axes.times, scale.times):
        path = f"{plain_path('nodes', node.name)}/scale_axes"
        report.forget(path)
        report.add(SCALE_AXES_UNSUPPORTED["times"], path)
        return None
    return with_form(axes, RotationForm.QUATERNION_ABSOLUTE).values
