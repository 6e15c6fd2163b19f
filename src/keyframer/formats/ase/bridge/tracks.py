"""Read controllers as tracks, and write tracks as controllers: with their own keys if ASE can store them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from keyframer.arrays import Array, Floats
from keyframer.catalogue import DATA_ZERO_AXIS
from keyframer.curves import Interpolation, RotationForm, Track, Wrap, compile_track, even_times
from keyframer.curves.key_reduction import subframes
from keyframer.curves.rotation_forms import finite_keys, increments, select_keys, with_form
from keyframer.formats.ase.bridge.options import Options
from keyframer.formats.ase.bridge.write_lines import shortest_decimals
from keyframer.formats.ase.records import Keys
from keyframer.formats.kit.key_tracks import (
    KeyFitter,
    as_tcb,
    axes_of_keys,
    constant_axes,
    is_eased,
    single_key,
    usable_keys,
)
from keyframer.formats.kit.scene_reading import Reporter, check_keys
from keyframer.formats.kit.scene_writing import plain_path
from keyframer.limits import budget_left, budget_total, ensure_budget, spend
from keyframer.maths import quat
from keyframer.scene import Node
from keyframer.scene.loss_report import Outcome
from keyframer.text import counted

_SAMPLED, _LINEAR, _TCB, _BEZIER = (
    Interpolation.SAMPLED,
    Interpolation.LINEAR,
    Interpolation.TCB,
    Interpolation.BEZIER,
)
_INTERPOLATIONS = {b"TRACK": _SAMPLED, b"SAMPLE": _SAMPLED, b"LINEAR": _LINEAR, b"TCB": _TCB, b"BEZIER": _BEZIER}
_CHECKED = np.array([0.25, 0.5, 0.75])
"""points between frames at which the error of samples is measured"""
_SAMPLES_PER_FRAME = 40
"""numbers sampled for each frame: its value, and those between frames of the track and of its samples"""
_SAMPLES_PER_TRACK = 8_000
"""fixed cost of a track, in samples of the budget"""
_NOISE = 1e-5
"""smaller errors, of values of 1, are those of single precision"""
TCB_COLUMNS = ("tension", "continuity", "bias", "ease_to", "ease_from")


def interpolation_of(keys: Keys) -> Interpolation:
    """Return the interpolation of a controller from the end of its keyword."""
    return _INTERPOLATIONS[keys.keyword.rpartition(b"_")[2]]


def sample_step(tables: list[Keys], ticks_per_frame: float) -> float:
    """Return the smallest number of ticks between two samples, which is used for all objects.

    It is ``ticks_per_frame`` without samples.
    """
    sampled_tables = [keys for keys in tables if keys.keyword.endswith(b"_TRACK")]
    gaps = [np.diff(keys.times) for keys in sampled_tables if len(keys.times) > 1]
    steps = [int(gap[gap > 0].min()) for gap in gaps if (gap > 0).any()]
    return float(min(steps, default=ticks_per_frame))


def read_tracks(reporter: Reporter, keys: Keys, options: Options, start: float, step: float) -> list[Track]:
    """Return the tracks of one controller: two for a scale with rotated axes, none without keys.

    Only positions, rotations and scales are read. ``start`` is the start of the clip, ``step`` the time between two
    samples.
    """
    if not len(keys.times):
        return []
    check_keys(reporter, keys, "values", keys.times, keys.values)
    kind = keys.keyword.split(b"_")[1]
    if kind == b"POS":
        tracks = [_track(keys, "position", 3, step)]
    elif kind == b"ROT":
        tracks = [_rotation(reporter, keys, options, start, step)]
    elif kind == b"SCALE":
        tracks = _scale(keys, step)
    else:
        return []
    for track in tracks:
        reporter.mark(track, "ase", keys)
    return tracks


def visibility(reporter: Reporter, keys: Keys) -> Track | None:
    """Return a visibility track, visible if the value is above 0; None for fewer than two keys."""
    if len(keys.times) < 2 or not keys.values.shape[1]:
        return None
    check_keys(reporter, keys, "values", keys.times, keys.values)
    shown = (np.asarray(keys.values[:, 0]) > 0).astype(np.float64)
    track = Track("visible", np.asarray(keys.times, np.float64), shown, Interpolation.STEP)
    reporter.mark(track, "ase", keys)
    return track


def sampled(kind: str, times: Floats, values: Floats, step: float) -> Track:
    """Return a track of samples; it is constant where the exporter left out unchanged samples."""
    times, values = fill_gaps(times, values, step)
    return Track(kind, times, values, _SAMPLED)


def fill_gaps(times: Floats, values: Floats, step: float, relative: bool = False) -> tuple[Floats, Floats]:
    """Add a sample one step before the end of each gap, with the value before the gap (relative: no rotation)."""
    after_gaps = np.flatnonzero(np.diff(times) > 1.5 * step) + 1
    if not len(after_gaps):
        return times, values
    added = values[after_gaps - 1].copy()
    if relative:
        added[:, 3] = 0.0
    return np.insert(times, after_gaps, times[after_gaps] - step), np.insert(values, after_gaps, added, axis=0)


def _track(keys: Keys, kind: str, width: int, step: float) -> Track:
    """Return a track of vectors: the first ``width`` columns."""
    interpolation, times = interpolation_of(keys), np.asarray(keys.times, np.float64)
    values = np.array(keys.values[:, :width])
    if interpolation is _SAMPLED:
        return sampled(kind, times, values, step)
    start = 7 if kind == "scale" else width  # after the axes of a scale
    if interpolation is _BEZIER and keys.values.shape[1] >= start + 2 * width:
        # in tangent, out tangent, flags; tangents are per tick, and the in tangent points back
        incoming = -keys.values[:, start : start + width]
        outgoing = np.array(keys.values[:, start + width : start + 2 * width])
        return Track(kind, times, values, Interpolation.CUBIC, tangents_in=incoming, tangents_out=outgoing)
    return _with_tcb(keys, Track(kind, times, values, interpolation))


def _with_tcb(keys: Keys, track: Track) -> Track:
    if interpolation_of(keys) is _TCB and keys.values.shape[1] >= 5:
        for name, column in zip(TCB_COLUMNS, keys.values[:, -5:].T, strict=True):
            setattr(track, name, np.array(column))
    return track


def _rotation(reporter: Reporter, keys: Keys, options: Options, start: float, step: float) -> Track:
    """Return a rotation track of axes and angles; the angles in the file are left-handed.

    Sampled rotations are increments of at most half a turn. If the quaternion changes sign, 3ds Max writes the rest of
    the turn in the other direction.
    """
    interpolation, times = interpolation_of(keys), np.asarray(keys.times, np.float64)
    axis_angles = np.array(keys.values[:, :4])
    axis_angles[:, 3] = 0.0 - axis_angles[:, 3]
    without_axis = ~axis_angles[:, :3].any(axis=1) & (axis_angles[:, 3] != 0)
    if without_axis.any():
        reporter.report(DATA_ZERO_AXIS, keys, "values", count=int(without_axis.sum()))
    if interpolation is _SAMPLED:
        with np.errstate(invalid="ignore"):
            axis_angles[:, 3] = np.remainder(axis_angles[:, 3] + np.pi, 2 * np.pi) - np.pi
        times, axis_angles = fill_gaps(times, axis_angles, step, relative=True)
        if times[0] > start:  # no sample at the start: the node is not rotated there
            before = max(start, times[0] - step)
            times, axis_angles = np.insert(times, 0, before), np.insert(axis_angles, 0, [0.0, 0.0, 1.0, 0.0], axis=0)
        return Track("rotation", times, axis_angles, interpolation, form=RotationForm.AXIS_ANGLE_RELATIVE)
    relative = options.rotation_keys == "relative" or (
        options.rotation_keys == "auto" and interpolation in (_TCB, _BEZIER)
    )
    form = RotationForm.AXIS_ANGLE_RELATIVE if relative else RotationForm.AXIS_ANGLE_ABSOLUTE
    return _with_tcb(keys, Track("rotation", times, axis_angles, interpolation, form=form))


def _scale(keys: Keys, step: float) -> list[Track]:
    """Return the scale track, and the track of its rotated axes, if any."""
    track = _track(keys, "scale", 3, step)
    width = keys.values.shape[1]
    if width < 7 or not np.any(keys.values[:, 6]):
        return [track]
    axis_angles = np.array(keys.values[:, 3:7])
    axis_angles[:, 3] = 0.0 - axis_angles[:, 3]
    times = np.asarray(keys.times, np.float64)
    interpolation = interpolation_of(keys)
    if interpolation is _SAMPLED:
        times, axis_angles = fill_gaps(times, axis_angles, step)
    interpolation = interpolation if interpolation in (_SAMPLED, _LINEAR) else _LINEAR
    return [track, Track("scale_axes", times, axis_angles, interpolation, form=RotationForm.AXIS_ANGLE_ABSOLUTE)]


_LAST_TICK = 2**31 - 1
_CONTROLLER_NAMES = {"position": "POS", "rotation": "ROT", "scale": "SCALE"}


class TrackWriter:
    """Writes the tracks of one clip; times are ticks."""

    def __init__(
        self, fitter: KeyFitter, ticks_per_frame: int, keys: bool, sample_times: Mapping[int, Array] | None = None
    ) -> None:
        self.fitter = fitter
        self.keys = keys
        """whether keys are written, instead of a value for every frame"""
        linear_rules = replace(fitter.rules, smooth=False)
        self._linear_fitter = KeyFitter(fitter.clip, linear_rules, fitter.tolerance, fitter.report)
        self.ticks_per_frame = ticks_per_frame
        self.sample_times = sample_times or {}
        """times of sampled keys in the original document, by the offset of their record"""

    def controllers(self, node: Node, tracks: dict[str, Track]) -> list[Keys]:
        """Return the position, rotation and scale controllers of a node."""
        fitted = {
            kind: fitted_track
            for kind, track in tracks.items()
            if (fitted_track := self._fit(node, kind, track, tracks)) is not None
        }
        if node.scale_axes_xyzw is not None and "scale_axes" not in fitted and "scale" in fitted:
            fitted["scale_axes"] = constant_axes(node, fitted["scale"])
        elif "scale_axes" in fitted and "scale" not in fitted:
            times = fitted["scale_axes"].times
            fitted["scale"] = Track("scale", times, np.tile(np.asarray(node.scale), (len(times), 1)))
        axes = fitted.pop("scale_axes", None)
        return [self._keys(node, fitted[kind], axes) for kind in _CONTROLLER_NAMES if kind in fitted]

    def _fit(self, node: Node, kind: str, track: Track, tracks: Mapping[str, Track]) -> Track | None:
        """Return the track in ticks: its samples if it has one for every frame, else new samples, or keys.

        Keys are its own if ASE can store them, else fitted to it. The result is None if no key is usable. ``tracks``
        are all tracks of the node.
        """
        path = f"{plain_path('nodes', node.name)}/{kind}"
        track = self._within_range(track, path)
        usable = finite_keys(track)
        if len(usable.times) == len(track.times) and len(usable.times) and usable.wrap is Wrap.SINGLE:
            times = self.fitter.times(usable.times)
            whole_ticks = bool((times == np.rint(times)).all()) and bool((np.diff(times) > 0).all())
            every_frame = usable.interpolation is Interpolation.SAMPLED and bool(
                (np.diff(times) == self.ticks_per_frame).all()
            )
            has_tangents = self.keys and usable.interpolation is Interpolation.CUBIC and kind in ("position", "scale")
            if whole_ticks and usable.interpolation is Interpolation.SAMPLED:
                with_original_times = self._original_samples(replace(usable, times=times))
                if with_original_times is not None:
                    return with_original_times
            if whole_ticks and (every_frame or has_tangents) and len(times) > 1:
                self.fitter.report.add(Outcome.EXACT, path, counted(len(times), f"{usable.interpolation.value} key"))
                in_ticks = replace(usable, times=times)
                for side in ("tangents_in", "tangents_out") if has_tangents else ():
                    setattr(in_ticks, side, getattr(in_ticks, side) / self.fitter.factor)
                return in_ticks
        if not self.keys:
            usable = usable_keys(track, path, self.fitter.report)
            if not len(usable.times):
                return None
            paired = [
                tracks[name] for name in ("scale", "scale_axes") if kind in ("scale", "scale_axes") and name in tracks
            ]
            samples = self._samples(node, usable, [finite_keys(other) for other in paired] or [usable], path)
            if samples is not None:
                return samples
        fitted = self.fitter.fit(track, path)
        if fitted is None or kind == "scale_axes":
            return fitted
        return self._writable(fitted)

    def _samples(self, node: Node, track: Track, range_of: list[Track], path: str) -> Track | None:
        """Return a track with a value for every frame, in ticks, from the first to the last key of ``range_of``.

        A jump at a frame has two samples. A constant track gets one sample, or two if its value is not that of the rest
        pose: programs ignore a single one. The result is None if there are more frames than the budget allows.
        """
        curve, step = compile_track(track), float(self.ticks_per_frame)
        form = RotationForm.QUATERNION_ABSOLUTE if track.is_rotation else RotationForm.NONE
        ends = np.concatenate([other.times for other in range_of if len(other.times)])
        begin, end = float(ends.min()), float(ends.max())
        if any(other.wrap is not Wrap.SINGLE for other in range_of):
            begin, end = min(begin, self.fitter.span[0]), max(end, self.fitter.span[1])
        if track.kind == "rotation":  # rotations are increments: readers expect the first at the start
            begin = min(begin, self.fitter.clip.start)
        first, last = self.fitter.times([begin, end]).tolist()
        values = curve(track.times).reshape(len(track.times), -1)
        if len(range_of) == 1 and (values == values[:1]).all():
            rest = {"position": node.position, "rotation": node.rotation_xyzw, "scale": node.scale}.get(track.kind)
            differs = rest is not None and not np.allclose(values[0], rest, atol=1e-6)
            ticks = np.rint(first) + step * np.arange(2 if differs else 1)
            self.fitter.report.add(Outcome.EXACT, path, "constant")
            return Track(track.kind, ticks, np.repeat(values[:1], len(ticks), axis=0), _SAMPLED, form=form)
        frames = (last - first) / step + 2
        samples_left = budget_left("samples") - budget_total("samples") // 2  # the other half is for keys
        if frames > budget_left("keys") or frames * _SAMPLES_PER_FRAME > samples_left:
            return None
        ticks = even_times(math.floor(first / step + 1e-9) * step, math.ceil(last / step - 1e-9) * step, step)
        spend("keys", len(ticks))
        spend("samples", _SAMPLES_PER_TRACK)
        samples = Track(track.kind, ticks, curve(ticks / self.fitter.factor), _SAMPLED, form=form)
        samples = _with_jumps(samples, track, self.fitter.times(track.times), values)
        moments = np.unique(np.concatenate([track.times, subframes(ticks / self.fitter.factor, _CHECKED)]))
        _, distance, unit = self.fitter.tolerance.for_track(track)
        error = float(distance(compile_track(samples)(moments * self.fitter.factor), curve(moments)).max())
        message = f"sampled at {counted(len(ticks), 'frame')}"
        if error <= _NOISE * max(float(np.abs(values).max()), 1.0):
            self.fitter.report.add(Outcome.BAKED, path, message)
        else:
            self.fitter.report.add(Outcome.APPROXIMATED, path, message, error=error, unit=unit)
        return samples

    def _within_range(self, track: Track, path: str) -> Track:
        """Return the track without keys whose ticks do not fit into 32 bits; these are reported."""
        outside = np.abs(self.fitter.times(track.times)) > _LAST_TICK
        if not outside.any():
            return track
        message = f"ASE cannot store the times of {np.count_nonzero(outside)} of {counted(len(outside), 'key')}"
        self.fitter.report.add(Outcome.DROPPED, path, message)
        return select_keys(track, np.flatnonzero(~outside))

    def _original_samples(self, track: Track) -> Track | None:
        """Return the track with the sample times of the original; None without these, or if it changes at other times.

        Samples that the reader added in gaps (`fill_gaps`) are left out.
        """
        original_times = self.sample_times.get(track.extras.get("ase", {}).get("offset", -1))
        if original_times is None:
            return None
        values = track.values.reshape(len(track.times), -1)
        still = values[:, 3] == 0 if track.is_rotation else np.append(False, (values[1:] == values[:-1]).all(axis=1))
        at_original_times = np.isin(track.times, original_times)
        needed = at_original_times | ~still
        if (needed & ~at_original_times).any():
            return None
        return replace(track, times=track.times[needed], values=track.values[needed])

    def _writable(self, track: Track) -> Track:
        """Return the track with TCB keys, unless it is linear, without ease and with all turns below half a circle."""
        linear = track.interpolation is Interpolation.LINEAR and not is_eased(track)
        wide_turns = linear and track.is_rotation and (np.abs(increments(track)[1][1:]) > math.pi - 1e-3).any()
        return track if linear and not wide_turns else as_tcb(track)

    def _keys(self, node: Node, track: Track, axes: Track | None) -> Keys:
        interpolation = track.interpolation
        values = track.values.reshape(len(track.times), -1)
        if track.kind == "rotation":
            relative = interpolation is not Interpolation.LINEAR
            form = RotationForm.AXIS_ANGLE_RELATIVE if relative else RotationForm.AXIS_ANGLE_ABSOLUTE
            values = _left_handed(with_form(track, form).values)
        elif track.kind == "scale":
            axes_xyzw = axes_of_keys(axes, track, node, self.fitter.report)
            axis_angles = np.zeros((len(values), 4))
            if axes_xyzw is not None:
                axes_track = Track("scale_axes", track.times, axes_xyzw, form=RotationForm.QUATERNION_ABSOLUTE)
                axis_angles = _left_handed(with_form(axes_track, RotationForm.AXIS_ANGLE_ABSOLUTE).values)
            values = np.column_stack([values, axis_angles])
        name = _CONTROLLER_NAMES[track.kind]
        columns = [shortest_decimals(values)]
        if interpolation is Interpolation.TCB:
            zeros = np.zeros(len(values))
            tcb_columns = [
                zeros if (column := getattr(track, column_name)) is None else column for column_name in TCB_COLUMNS
            ]
            columns.append(shortest_decimals(np.column_stack(tcb_columns)))
        elif interpolation is Interpolation.CUBIC:
            assert track.tangents_in is not None
            assert track.tangents_out is not None
            columns += [
                shortest_decimals(-track.tangents_in),
                shortest_decimals(track.tangents_out),
                np.zeros((len(values), 1)),
            ]
        endings = {Interpolation.TCB: "TCB", Interpolation.CUBIC: "BEZIER", Interpolation.SAMPLED: "TRACK"}
        keyword = f"CONTROL_{name}_{endings.get(interpolation, 'LINEAR')}"
        return Keys(keyword.encode(), np.rint(track.times).astype(np.int64), np.column_stack(columns))

    def sampled_rotation(self, ticks: Floats, matrices: Floats) -> Keys:
        """Return a sampled rotation controller from rotation matrices (T, 3, 3) at these ticks."""
        track = Track(
            "rotation", ticks, quat.from_matrix3(matrices), Interpolation.SAMPLED, form=RotationForm.QUATERNION_ABSOLUTE
        )
        values = _left_handed(with_form(track, RotationForm.AXIS_ANGLE_RELATIVE).values)
        return Keys(b"CONTROL_ROT_TRACK", np.rint(ticks).astype(np.int64), shortest_decimals(values))

    def linear_track(self, node: Node, kind: str, track: Track) -> Track | None:
        """Return a track in ticks with linear keys; None if no key is usable."""
        path = f"{plain_path('nodes', node.name)}/{kind}"
        fitted = self.fitter.fit(track, path)
        if fitted is None or (fitted.interpolation is Interpolation.LINEAR and not is_eased(fitted)):
            return fitted
        self.fitter.report.forget(path)
        begin, end = float(track.times.min()), float(track.times.max())
        frames = np.minimum(even_times(begin, end, self.ticks_per_frame / self.fitter.factor), end)
        ensure_budget("keys", len(frames))
        values = compile_track(track)(frames)
        sampled = Track(kind, np.unique(frames), values[: len(np.unique(frames))], Interpolation.SAMPLED)
        if len(sampled.times) < 2:
            return single_key(kind, values[0])
        return self._linear_fitter.fit(sampled, path)


def _with_jumps(samples: Track, track: Track, ticks: Floats, values: Floats) -> Track:
    """Return samples with a second one, the value before, where the track jumps at a frame; ``ticks`` and ``values``
    are those of its keys."""
    if track.interpolation is Interpolation.STEP:
        changes = np.flatnonzero((samples.values[1:] != samples.values[:-1]).any(axis=1)) + 1
        places, before = changes, samples.values[changes - 1]
    else:
        pairs = np.flatnonzero((np.diff(ticks) == 0) & np.isin(ticks[1:], samples.times))
        places, before = np.searchsorted(samples.times, ticks[pairs]), values[pairs]
    times = np.insert(samples.times, places, samples.times[places])
    return replace(samples, times=times, values=np.insert(samples.values, places, before, axis=0))


def _left_handed(axis_angles: Floats) -> Floats:
    """Return axes and angles with reversed angles, as in ASE; a rotation without an axis gets the Z axis."""
    reversed_angles = np.array(axis_angles)
    reversed_angles[~reversed_angles[:, :3].any(axis=1), 2] = 1.0
    reversed_angles[:, 3] = 0.0 - reversed_angles[:, 3]
    return reversed_angles
