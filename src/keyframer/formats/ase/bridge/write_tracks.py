"""Write tracks as controllers: with their own keys if ASE can store them, else sampled or fitted."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from keyframer.arrays import Floats
from keyframer.curves import Interpolation, RotationForm, Track, Wrap, compile_track, even_times
from keyframer.curves.key_reduction import subframes
from keyframer.curves.rotation_forms import finite_keys, increments, select_keys, with_form
from keyframer.formats.ase.bridge.declared_fields import shortest_decimals
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
from keyframer.formats.kit.scene_writing import plain_path
from keyframer.limits import budget_left, budget_total, ensure_budget, spend
from keyframer.scene import Node
from keyframer.scene.loss_report import Outcome
from keyframer.text import counted
from keyframer.wire.key_table import EXTRAS

_CHECKED = np.array([0.25, 0.5, 0.75])
"""points between frames at which the error of samples is measured"""
_SAMPLES_PER_FRAME = 40
"""numbers sampled for each frame: its value, and those between frames of the track and of its samples"""
_SAMPLES_PER_TRACK = 8_000
"""fixed cost of a track, in samples of the budget"""
_NOISE = 1e-5
"""smaller errors, of values of 1, are those of single precision"""
_LAST_TICK = 2**31 - 1
_CONTROLLER_NAMES = {"position": "POS", "rotation": "ROT", "scale": "SCALE"}
_ENDINGS = {Interpolation.TCB: "TCB", Interpolation.CUBIC: "BEZIER", Interpolation.SAMPLED: "TRACK"}


class TrackWriter:
    """Writes the tracks of one clip; times are ticks."""

    def __init__(self, fitter: KeyFitter, ticks_per_frame: int, keys: bool, sample_step: float | None) -> None:
        self.fitter = fitter
        self.report = fitter.report
        self.keys = keys
        """whether keys are written, instead of a value for every frame"""
        linear_rules = replace(fitter.rules, smooth=False)
        self._linear_fitter = KeyFitter(fitter.clip, linear_rules, fitter.tolerance, fitter.report)
        self.ticks_per_frame = ticks_per_frame
        self.sample_step = sample_step
        """in a merge: ticks between two samples of the original, which leaves out samples without a change"""

    def controllers(self, node: Node, tracks: dict[str, Track]) -> list[Keys]:
        """Return the position, rotation and scale controllers of a node."""
        fitted = {
            kind: fitted_track
            for kind, track in tracks.items()
            if (fitted_track := self._fit(node, kind, track, tracks)) is not None
        }
        axes = fitted.pop("scale_axes", None)
        if node.scale_axes_xyzw is not None and axes is None and "scale" in fitted:
            axes = constant_axes(node, fitted["scale"])
        elif axes is not None and "scale" not in fitted:
            fitted["scale"] = Track("scale", axes.times, np.tile(np.asarray(node.scale), (len(axes.times), 1)))
        return [self._keys(node, fitted[kind], axes) for kind in _CONTROLLER_NAMES if kind in fitted]

    def _fit(self, node: Node, kind: str, track: Track, tracks: Mapping[str, Track]) -> Track | None:
        """Return the track in ticks: its samples if it has one for every frame, else new samples, or keys.

        Keys are its own if ASE can store them, else fitted to it. The result is None if no key is usable. ``tracks``
        are all tracks of the node.
        """
        path = f"{plain_path('nodes', node.name)}/{kind}"
        track = self._within_range(track, path)
        stored = self._as_stored(kind, track)
        if stored is not None:
            self.report.add(Outcome.EXACT, path, counted(len(stored.times), f"{stored.interpolation.value} key"))
            return stored
        if not self.keys:
            usable = usable_keys(track, path, self.report)
            if not len(usable.times):
                return None
            paired = ("scale", "scale_axes") if kind in ("scale", "scale_axes") else (kind,)
            range_of = [finite_keys(tracks[name]) for name in paired if name in tracks]
            samples = self._samples(node, usable, range_of, path)
            if samples is not None:
                return samples
        fitted = self.fitter.fit(track, path)
        if fitted is None or kind == "scale_axes":
            return fitted
        linear = fitted.interpolation is Interpolation.LINEAR and not is_eased(fitted)
        wide_turns = linear and fitted.is_rotation and (np.abs(increments(fitted)[1][1:]) > math.pi - 1e-3).any()
        return fitted if linear and not wide_turns else as_tcb(fitted)

    def _within_range(self, track: Track, path: str) -> Track:
        """Return the track without keys whose ticks do not fit into 32 bits; these are reported."""
        outside = np.abs(self.fitter.times(track.times)) > _LAST_TICK
        if not outside.any():
            return track
        message = f"ASE cannot store the times of {np.count_nonzero(outside)} of {counted(len(outside), 'key')}"
        self.report.add(Outcome.DROPPED, path, message)
        return select_keys(track, np.flatnonzero(~outside))

    def _as_stored(self, kind: str, track: Track) -> Track | None:
        """Return the track in ticks if ASE stores it as it is: samples at every frame, or keys with tangents."""
        usable = finite_keys(track)
        least = 1 if self.sample_step is not None else 2
        if not least <= len(usable.times) == len(track.times) or usable.wrap is not Wrap.SINGLE:
            return None
        times = self.fitter.times(usable.times)
        steps = np.diff(times)
        has_tangents = self.keys and usable.interpolation is Interpolation.CUBIC and kind in ("position", "scale")
        expected = steps == (self.sample_step or self.ticks_per_frame)
        if self.sample_step is not None:
            values = usable.values.reshape(len(times), -1)
            relative = usable.form is RotationForm.AXIS_ANGLE_RELATIVE
            expected |= values[1:, 3] == 0 if relative else (values[1:] == values[:-1]).all(axis=1)
        is_sampled = usable.interpolation is Interpolation.SAMPLED and expected.all()
        if not (has_tangents or is_sampled) or (times != np.rint(times)).any() or not (steps > 0).all():
            return None
        in_ticks = replace(usable, times=times)
        for side in ("tangents_in", "tangents_out") if has_tangents else ():
            setattr(in_ticks, side, getattr(in_ticks, side) / self.fitter.factor)
        return in_ticks

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
            self.report.add(Outcome.EXACT, path, "constant")
            return Track(track.kind, ticks, np.repeat(values[:1], len(ticks), axis=0), Interpolation.SAMPLED, form=form)
        frames = (last - first) / step + 2
        samples_left = budget_left("samples") - budget_total("samples") // 2  # the other half is for keys
        if frames > budget_left("keys") or frames * _SAMPLES_PER_FRAME > samples_left:
            return None
        ticks = even_times(math.floor(first / step + 1e-9) * step, math.ceil(last / step - 1e-9) * step, step)
        spend("keys", len(ticks))
        spend("samples", _SAMPLES_PER_TRACK)
        samples = Track(track.kind, ticks, curve(ticks / self.fitter.factor), Interpolation.SAMPLED, form=form)
        samples = _with_jumps(samples, track, self.fitter.times(track.times), values)
        moments = np.unique(np.concatenate([track.times, subframes(ticks / self.fitter.factor, _CHECKED)]))
        _, distance, unit = self.fitter.tolerance.for_track(track)
        error = float(distance(compile_track(samples)(moments * self.fitter.factor), curve(moments)).max())
        message = f"sampled at {counted(len(ticks), 'frame')}"
        if error <= _NOISE * max(float(np.abs(values).max()), 1.0):
            self.report.add(Outcome.BAKED, path, message)
        else:
            self.report.add(Outcome.APPROXIMATED, path, message, error=error, unit=unit)
        return samples

    def _keys(self, node: Node, track: Track, axes: Track | None) -> Keys:
        interpolation = track.interpolation
        values = track.values.reshape(len(track.times), -1)
        if track.kind == "rotation":
            relative = interpolation is not Interpolation.LINEAR
            form = RotationForm.AXIS_ANGLE_RELATIVE if relative else RotationForm.AXIS_ANGLE_ABSOLUTE
            values = _left_handed(with_form(track, form).values)
        elif track.kind == "scale":
            axes_xyzw = axes_of_keys(axes, track, node, self.report)
            axis_angles = np.zeros((len(values), 4))
            if axes_xyzw is not None:
                axes_track = Track("scale_axes", track.times, axes_xyzw, form=RotationForm.QUATERNION_ABSOLUTE)
                axis_angles = _left_handed(with_form(axes_track, RotationForm.AXIS_ANGLE_ABSOLUTE).values)
            values = np.column_stack([values, axis_angles])
        columns = [shortest_decimals(values)]
        if interpolation is Interpolation.TCB:
            zeros = np.zeros(len(values))
            tcb = [zeros if (column := getattr(track, name)) is None else column for name in EXTRAS]
            columns.append(shortest_decimals(np.column_stack(tcb)))
        elif interpolation is Interpolation.CUBIC:
            assert track.tangents_in is not None
            assert track.tangents_out is not None
            columns += [shortest_decimals(-track.tangents_in), shortest_decimals(track.tangents_out)]
            columns.append(np.zeros((len(values), 1)))  # flags
        keyword = f"CONTROL_{_CONTROLLER_NAMES[track.kind]}_{_ENDINGS.get(interpolation, 'LINEAR')}"
        return Keys(keyword.encode(), np.rint(track.times).astype(np.int64), np.column_stack(columns))

    def sampled_rotation(self, ticks: Floats, rotations_xyzw: Floats) -> Keys:
        """Return a sampled rotation controller from rotations (T, 4) at these ticks."""
        form = RotationForm.QUATERNION_ABSOLUTE
        track = Track("rotation", ticks, rotations_xyzw, Interpolation.SAMPLED, form=form)
        values = _left_handed(with_form(track, RotationForm.AXIS_ANGLE_RELATIVE).values)
        return Keys(b"CONTROL_ROT_TRACK", np.rint(ticks).astype(np.int64), shortest_decimals(values))

    def linear_track(self, node: Node, kind: str, track: Track) -> Track | None:
        """Return a track in ticks with linear keys; None if no key is usable."""
        path = f"{plain_path('nodes', node.name)}/{kind}"
        fitted = self.fitter.fit(track, path)
        if fitted is None or (fitted.interpolation is Interpolation.LINEAR and not is_eased(fitted)):
            return fitted
        self.report.forget(path)
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
