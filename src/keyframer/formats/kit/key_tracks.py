"""Authored tracks made fit for a format with keys of its own: times on its grid, curves it has, turns it can say.

A track whose keys fit keeps them: values, tension, continuity, bias and ease are not touched. What does not fit
(frames, curves of another kind, whole turns where keys are quaternions, keys that fall on one time) is sampled on the
format's grid and put through as few keys as the tolerance allows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from keyframer.curves import Interpolation, RotationForm, Track, Wrap, compile_track
from keyframer.curves.key_reduction import Between, Sampling, fewest_keys, sample_together, subframes, values_of
from keyframer.curves.rotation_forms import absolute, has_full_turns, increments, usable_keys, with_form
from keyframer.formats import facts_of
from keyframer.formats.kit.scene_writing import Tolerance, plain_path, units_per_second
from keyframer.limits import expect, left
from keyframer.posing.bounds_and_duration import clip_span
from keyframer.scene import Clip, Node
from keyframer.scene.loss_report import Loss, LossReport, Outcome
from keyframer.wire.key_table import EXTRAS, Keys

Floats = npt.NDArray[np.float64]

_SNAP = 1e-6
"""of a grid step, or of a large time: closer is the grid's own time, rounded on the way"""
_EXTRA_BITS = (1 << len(EXTRAS)) - 1
_LEAST, _LOOKS = 8, 40
"""numbers that are sampled for each time of a grid until keys are found, at least and about"""
_FINER = (2, 4, 8)
"""parts of a frame that keys may stand at, where frames are too far apart"""
_CHECKED = np.linspace(0, 1, 9)[1:-1]
"""between frames: where the error that is reported is measured"""


@dataclass(frozen=True, slots=True)
class KeyRules:
    """What kinds of keys a format can store."""

    per_second: float
    """its time units a second"""
    step: float
    """time units from one frame to the next: where what does not fit is sampled"""
    whole: bool = True
    """times are whole numbers"""
    wraps: bool = False
    """tracks can repeat and loop"""
    full_turns: bool = True
    """a rotation key can turn by 360 degrees and more"""
    widest_degrees: float = 90.0
    """how far one rotation key made here may be from the next"""
    more_frames: str = ""
    """where times are frames, and whoever writes may ask for more of them a second: advice on how to find how many"""
    find_rate: bool = False
    """where frames are too far apart, fit again at finer rates, to say which would do (up to three fits more)"""


class KeyFitter:
    """Fits the tracks of one clip."""

    def __init__(self, clip: Clip, rules: KeyRules, tolerance: Tolerance, report: LossReport) -> None:
        self.clip = clip
        self.rules = rules
        self.tolerance = tolerance
        self.report = report
        self.factor = rules.per_second / units_per_second(clip)
        self.span = clip_span(clip)
        self._ahead: dict[int, tuple[Track, tuple[Track | None, list[Loss]]]] = {}
        """by id(): tracks that were fitted before they were asked for"""

    def times(self, given: npt.ArrayLike) -> Floats:
        """Times of the clip in the format's unit, not rounded unless that is all that is wrong with them."""
        rough = np.asarray(given, np.float64) * self.factor
        near = np.rint(rough)
        return np.where(np.abs(rough - near) <= _SNAP * np.maximum(1.0, np.abs(rough) * 1e-3), near, rough)

    def fit_ahead(self, tracks: Iterable[Track]) -> None:
        """Fit these tracks now, all together, which is much faster; `fit` then has them at hand."""
        given = list({id(track): track for track in tracks}.values())
        for track, fitted in zip(given, sample_together(map(self._fitted, given)), strict=True):
            self._ahead[id(track)] = track, fitted

    def fit(self, track: Track, path: str) -> Track | None:
        """The track in the format's time unit, with interpolation TCB, LINEAR or BEZIER; None without usable keys."""
        if id(track) not in self._ahead:
            self.fit_ahead([track])
        _, (fitted, losses) = self._ahead.pop(id(track))
        self.report.losses += [replace(loss, path=path) for loss in losses]
        return fitted

    def _fitted(self, track: Track) -> Sampling[tuple[Track | None, list[Loss]]]:
        """The fitted track, and what is lost on the way."""
        report = LossReport(self.report.target)
        return (yield from self._fit(track, report)), report.losses

    def _fit(self, track: Track, report: LossReport) -> Sampling[Track | None]:
        given = len(track.times)
        source = usable_keys(track)
        if len(source.times) < given:
            lost = given - len(source.times)
            report.add(Outcome.DROPPED, "", f"{lost} of {given} keys are not finite")
        if not len(source.times):
            return None
        why = self._reason_to_bake(source)
        if why is not None:
            return (yield from self._baked(source, report, why))
        if source.interpolation is Interpolation.STEP:
            source = _steps_as_jumps(source)
        elif source.interpolation is Interpolation.SAMPLED:
            source = replace(source, interpolation=Interpolation.LINEAR)
        times = self.times(source.times)
        if self.rules.whole:
            whole = np.rint(times)
            if ((np.diff(whole) == 0) & (np.diff(times) > 0)).any():
                return (yield from self._baked(source, report, "several keys would have the same time"))
            if (whole != times).any():
                return self._rounded(source, times, report)
        report.add(Outcome.EXACT, "", _count(source))
        return replace(source, times=times)

    def _rounded(self, track: Track, times: Floats, report: LossReport) -> Track:
        """The same keys at whole times; what that does to the values is measured."""
        rounded = replace(track, times=np.rint(times))
        tolerance, distance, unit = self.tolerance.for_track(track)
        checks = np.unique(np.concatenate([track.times, subframes(track.times, _CHECKED)]))
        wanted = compile_track(track)(checks).reshape(len(checks), -1)
        samples = compile_track(rounded)(checks * self.factor).reshape(len(checks), -1)
        error = float(distance(samples, wanted).max())
        seconds = float(np.abs(rounded.times - times).max()) / self.rules.per_second
        words = f"times were rounded by up to {seconds:.2g} s"
        if error > tolerance and self.rules.more_frames:
            fine = next(
                (parts for parts in _FINER if np.abs(times * parts - np.rint(times * parts)).max() < _SNAP), None
            )
            words += "" if fine is None else f": fps={self.rules.per_second * fine:g} would store them exactly"
        report.add(Outcome.APPROXIMATED if error else Outcome.EXACT, "", words, error=error, unit=unit)
        return rounded

    def _reason_to_bake(self, track: Track) -> str | None:
        if track.interpolation is Interpolation.SAMPLED:
            return "" if len(track.times) > 1 else None
        if track.interpolation is Interpolation.CUBIC:
            return "keys with tangents"
        if track.wrap is not Wrap.SINGLE and not self.rules.wraps and track.times[-1] > 0:
            if self.span[0] >= 0 and self.span[1] <= track.times[-1] and track.wrap is Wrap.REPEAT:
                return None  # the second round is never played
            return f"the format cannot store {track.wrap.value} tracks"
        if not self.rules.full_turns and has_full_turns(track):
            return "turns of 360 degrees and more"
        return None

    def _baked(self, track: Track, report: LossReport, why: str) -> Sampling[Track]:
        """As few keys as the tolerance allows, through samples on the format's grid."""
        begin, end = float(track.times[0]), float(track.times[-1])
        if track.wrap is not Wrap.SINGLE and not self.rules.wraps:
            begin, end = min(begin, self.span[0]), max(end, self.span[1])
        tolerance, _, unit = self.tolerance.for_track(track)
        fitted, error = yield from self._fewest(track, self._grid(track, begin, end))
        for parts in _FINER:  # keys may stand between frames where the format's times are finer
            finer = self._grid(track, begin, end, parts)
            if error <= tolerance or track.interpolation is Interpolation.SAMPLED or not len(finer):
                break
            other = yield from self._fewest(track, finer)
            fitted, error = min((fitted, error), other, key=lambda result: result[1])
        words = f"{len(track.times)} frames became {_count(fitted)}" if not why else f"{why}: now {_count(fitted)}"
        if error > tolerance:
            words += f"; {tolerance:.2g} was requested, but the times of the format do not allow it"
            if self.rules.find_rate:
                enough = yield from self._enough(track, begin, end)
                words += "" if enough is None else f": fps={enough:g} would"
            elif self.rules.more_frames:
                words += f"; {self.rules.more_frames}"
        outcome = Outcome.EXACT if error == 0 and not why else Outcome.APPROXIMATED
        report.add(outcome, "", words, error=error, unit=unit)
        return fitted

    def _enough(self, track: Track, begin: float, end: float) -> Sampling[float | None]:
        """How many frames a second would hold the track as near as is asked; None where that is not known."""
        for parts in _FINER:
            first, last = (float(value) for value in self.times([begin, end]))
            count = math.ceil((last - first) * parts / self.rules.step)
            if count * track.values[:1].size < left("samples") // _LOOKS:
                grid = np.append(first + np.arange(count) * self.rules.step / parts, last)
                _, error = yield from self._fewest(track, np.unique(grid))
                if error <= self.tolerance.for_track(track)[0]:
                    return self.rules.per_second * parts
        return None

    def _fewest(self, track: Track, grid: Floats) -> Sampling[tuple[Track, float]]:
        """Keys at some times of a grid, and how far they are off: at the grid and the track's own times, and between
        them where that is known."""
        moments = grid / self.factor
        tolerance, distance, _ = self.tolerance.for_track(track)
        form = RotationForm.QUATERNION_ABSOLUTE if track.is_rotation else RotationForm.NONE
        widest = self.rules.widest_degrees if track.is_rotation else math.inf
        between = self._between(track, grid)
        values, allowed = (yield from values_of(track, moments)), 0.9 * tolerance
        fitted, _ = yield from fewest_keys(track.kind, grid, values, form, allowed, distance, widest, between)
        checks = np.unique(np.concatenate([track.times, moments]))
        if between is not None:
            checks = np.unique(np.concatenate([checks, subframes(checks, _CHECKED)]))
        wanted = yield track, checks
        samples = yield fitted, checks * self.factor
        return fitted, float(distance(samples, wanted).max())

    def _between(self, track: Track, grid: Floats) -> Between | None:
        """The track at any time of the format, where its own playback says what stands between two frames; None where
        frames are all there is, and where they are not on the grid: keys that stand
        beside them cannot follow their corners."""
        if track.interpolation is Interpolation.SAMPLED:
            key_times = np.unique(self.times(track.times))
            played = all(facts_of(name).plays_between_frames for name in self.clip.extras)
            if not played or not np.array_equal(key_times, grid):
                return None
        return lambda times: values_of(track, times / self.factor)

    def _grid(self, track: Track, begin: float, end: float, parts: int = 1) -> Floats:
        """Where the track is sampled: at its own frames if they are on the grid, else at the format's, or at so many
        parts of them; empty where its times do not go so fine."""
        key_times = np.unique(self.times(track.times))
        if track.interpolation is Interpolation.SAMPLED and (not self.rules.whole or not np.mod(key_times, 1).any()):
            return key_times
        first, last = (float(value) for value in self.times([begin, end]))
        step = self.rules.step / parts
        if self.rules.whole and step < 1:
            return np.empty(0)
        count = math.ceil((last - first) / step) + 1
        expect("samples", count * _LEAST)
        grid = first + step * np.arange(count)
        grid = np.concatenate([grid, key_times[key_times <= last]])
        return np.unique(np.rint(grid) if self.rules.whole else grid)


def _count(track: Track) -> str:
    count = len(track.times)
    return f"{count} {track.interpolation.value} key{'' if count == 1 else 's'}"


def _steps_as_jumps(track: Track) -> Track:
    """Replace step keys by two keys each: at the time of the key and just before the next."""
    values = absolute(track) if track.is_rotation else track.values
    form = RotationForm.QUATERNION_ABSOLUTE if track.is_rotation else RotationForm.NONE
    order = np.repeat(np.arange(len(track.times)), 2)[:-1]
    times = track.times[(np.arange(len(order)) + 1) // 2]
    return Track(track.kind, times, values[order], Interpolation.LINEAR, form=form)


def as_tcb(track: Track) -> Track:
    """The same curve as TCB keys: straight lines are continuity -1 (tangents along both chords), Bezier is zeros."""
    if track.interpolation is Interpolation.TCB:
        return track
    if track.is_rotation and track.form is not RotationForm.AXIS_ANGLE_RELATIVE:
        axes, angles = increments(track)  # absolute keys mean the shortest way; relative ones say it
        track = replace(track, values=np.column_stack([axes, angles]), form=RotationForm.AXIS_ANGLE_RELATIVE)
    plain: dict[str, Any] = {"tension": None, "continuity": None, "bias": None, "flags": None}
    if track.interpolation is not Interpolation.LINEAR:
        plain |= {"ease_to": None, "ease_from": None}
    elif len(track.times) > 2:  # two keys are a straight line anyway
        plain["continuity"] = np.full(len(track.times), -1.0)
    return replace(track, interpolation=Interpolation.TCB, **plain)


def still_key(kind: str, value: npt.ArrayLike, form: RotationForm = RotationForm.NONE) -> Track:
    """Return a track with one key at time 0."""
    values = np.asarray(value, np.float64)
    return Track(kind, np.zeros(1), values[None] if values.ndim else values.reshape(1), Interpolation.LINEAR, form=form)


def tcb_keys(track: Track, values: Floats, announced: bool) -> Keys:
    """Rows of TCB keys. With ``announced`` the track's own flags say which floats stand there even if they are 0."""
    shapes = {name: column for name in EXTRAS if (column := getattr(track, name)) is not None}
    keys = Keys.make(np.rint(track.times).astype(np.int64), values, **shapes)
    if announced and track.flags is not None:
        keys.flags = keys.flags | (track.flags & _EXTRA_BITS).astype(keys.flags.dtype)
        if keys.flags.any() and keys.extras is None:
            keys.extras = np.zeros((len(keys), len(EXTRAS)), np.float32)
    return keys


def is_eased(track: Track) -> bool:
    return bool(np.any(track.ease_to) or np.any(track.ease_from))


def steady_axes(node: Node, scale: Track) -> Track:
    """Return the scale axes at rest, once for each key of the scale."""
    values = np.tile(np.asarray(node.scale_axes_xyzw, np.float64), (len(scale.times), 1))
    return Track("scale_axes", scale.times, values, Interpolation.LINEAR, form=RotationForm.QUATERNION_ABSOLUTE)


def axes_of_keys(axes: Track | None, scale: Track, node: Node, report: LossReport) -> npt.NDArray[np.float64] | None:
    """(K, 4) quaternions, one for each key of the scale; None where there are none, or where they stand at other times,
    which is reported in place of what became of them before."""
    if axes is None:
        return None
    if not np.array_equal(axes.times, scale.times):
        path = f"{plain_path('nodes', node.name)}/scale_axes"
        report.forget(path)
        report.add(Outcome.DROPPED, path, "its keys have other times than those of the scale")
        return None
    return with_form(axes, RotationForm.QUATERNION_ABSOLUTE).values
