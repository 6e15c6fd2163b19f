"""Write tracks as controllers: with their own keys if ASE can store them, else sampled or fitted."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from keyframer.arrays import Floats
from keyframer.curves import Curve, Interpolation, RotationForm, Track, Wrap, compile_track, even_times
from keyframer.curves.key_reduction import BEFORE_JUMP, PROBES, subframes
from keyframer.curves.rotation_forms import finite_keys, increments, select_keys, with_form
from keyframer.formats.ase.bridge.declared_fields import shortest_decimals
from keyframer.formats.ase.records import Keys
from keyframer.formats.kit.key_table import EXTRAS
from keyframer.formats.kit.key_tracks import (
    KeyFitter,
    as_tcb,
    axes_of_keys,
    constant_axes,
    is_eased,
    usable_keys,
)
from keyframer.formats.kit.repeated_tracks import key_times, last_moment, moments_to_check
from keyframer.formats.kit.scene_writing import plain_path
from keyframer.limits import budget_left, budget_total, spend
from keyframer.maths import affine
from keyframer.maths.quat import IDENTITY_XYZW
from keyframer.scene import Node
from keyframer.scene.loss_report import Outcome
from keyframer.scene.losses import KEYS_LEFT_OUT, MOTION_SAMPLED, MOTION_WRITTEN
from keyframer.text import counted

_MOST_CHECKED = 2_000
"""moments between frames, and keys, at which the error of samples is measured"""
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
        linear_rules = replace(fitter.rules, interpolations=(Interpolation.LINEAR,))
        self._linear_fitter = KeyFitter(fitter.clip, linear_rules, fitter.tolerance, fitter.report)
        self.ticks_per_frame = ticks_per_frame
        self.sample_step = sample_step
        """in a merge: ticks between two samples of the original, which leaves out samples without a change"""

    def controllers(self, node: Node, tracks: dict[str, Track], rest: Rest) -> list[Keys]:
        """Return the position, rotation and scale controllers of a node.

        A part of the rest pose gets one, too, if readers do not get it from ``rest``, the transform in the file: the
        parts of a matrix are ambiguous (two negative scales are half a turn), and a track replaces only its own part.
        """
        fitted = {
            kind: fitted_track
            for kind, track in tracks.items()
            if (fitted_track := self._fit(node, kind, track, tracks)) is not None
        }
        fitted |= self._rest_tracks(node, fitted, rest)
        axes = fitted.pop("scale_axes", None)
        if node.scale_axes_xyzw is not None and axes is None and "scale" in fitted:
            axes = constant_axes(node, fitted["scale"])
        elif axes is not None and "scale" not in fitted:
            fitted["scale"] = Track("scale", axes.times, np.tile(np.asarray(node.scale), (len(axes.times), 1)))
        return [self._keys(node, fitted[kind], axes) for kind in _CONTROLLER_NAMES if kind in fitted]

    def _rest_tracks(self, node: Node, fitted: Mapping[str, Track], rest: Rest) -> dict[str, Track]:
        """Return constant tracks of the parts of the rest pose that neither a track nor the rest transform gives."""
        tracks: dict[str, Track] = {}
        is_scaled = "scale" in fitted or "scale_axes" in fitted
        moved = rest.differs_from(node)
        if "position" in moved and "position" not in fitted:
            tracks["position"] = self._still("position", node.position)
        if (
            ("scale" in moved or (rest.is_moved and moved))
            and not is_scaled
            and ("rotation" in fitted or rest.is_moved)
        ):
            tracks["scale"] = self._still("scale", node.scale)
        if "rotation" in moved and "rotation" not in fitted and (is_scaled or rest.is_moved):
            tracks["rotation"] = self._still("rotation", node.rotation_xyzw, RotationForm.QUATERNION_ABSOLUTE)
        return tracks

    def _still(self, kind: str, value: npt.ArrayLike, form: RotationForm = RotationForm.NONE) -> Track:
        """Return two equal samples: programs ignore a single one. Readers expect rotations from the start on."""
        (first,) = self.fitter.times([self.fitter.clip.start]).tolist()
        ticks = math.floor(first / self.ticks_per_frame) * self.ticks_per_frame + self.ticks_per_frame * np.arange(2.0)
        return Track(kind, ticks, np.repeat([np.asarray(value)], 2, axis=0), Interpolation.SAMPLED, form=form)

    def _fit(self, node: Node, kind: str, track: Track, tracks: Mapping[str, Track]) -> Track | None:
        """Return the track in ticks: its samples if it has one for every frame, else new samples, or keys.

        Keys are its own if ASE can store them, else fitted to it. The result is None if no key is usable. ``tracks``
        are all tracks of the node.
        """
        path = f"{plain_path('nodes', node.name)}/{kind}"
        track = self._within_range(track, path)
        stored = self._as_stored(kind, track)
        if stored is not None:
            self.report.add(
                MOTION_WRITTEN["keys"], path, keys=counted(len(stored.times), f"{stored.interpolation.value} key")
            )
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
        self.report.add(KEYS_LEFT_OUT["out of range"], path, outside=np.count_nonzero(outside), count=len(outside))
        return select_keys(track, np.flatnonzero(~outside))

    def _as_stored(self, kind: str, track: Track) -> Track | None:
        """Return the track in ticks if ASE stores it as it is: samples at every frame, or keys with tangents."""
        usable = finite_keys(track)
        if kind == "rotation" and self.sample_step is None and (usable.times[:1] > self.fitter.clip.start).any():
            return None  # readers assume that the node is not rotated before the first sample
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
        step = float(self.ticks_per_frame)
        form = RotationForm.QUATERNION_ABSOLUTE if track.is_rotation else RotationForm.NONE
        ends = np.concatenate([other.times for other in range_of if len(other.times)])
        begin, end = float(ends.min()), float(ends.max())
        if any(other.wrap is not Wrap.SINGLE for other in range_of):
            begin, end = min(begin, self.fitter.span[0]), max(end, self.fitter.span[1])
        if track.kind == "rotation":  # rotations are increments: readers expect the first at the start
            begin = min(begin, self.fitter.clip.start)
        first, last = self.fitter.times([begin, end]).tolist()
        compiled, until = compile_track(track), last_moment(track, end)

        def curve(times: Floats) -> Floats:
            return compiled(np.minimum(times, until))

        values = curve(np.unique(np.concatenate([track.times, subframes(track.times, PROBES)])))
        values = values.reshape(len(values), -1)
        if len(range_of) == 1 and (values == values[:1]).all():
            rest = {"position": node.position, "rotation": node.rotation_xyzw, "scale": node.scale}.get(track.kind)
            differs = rest is not None and not np.allclose(values[0], rest, atol=1e-6)
            ticks = np.rint(first) + step * np.arange(2 if differs else 1)
            self.report.add(MOTION_WRITTEN["still"], path)
            return Track(track.kind, ticks, np.repeat(values[:1], len(ticks), axis=0), Interpolation.SAMPLED, form=form)
        frames = (last - first) / step + 2
        samples_left = budget_left("samples") - budget_total("samples") // 2  # the other half is for keys
        if frames > budget_left("keys") or frames * _SAMPLES_PER_FRAME > samples_left:
            return None
        ticks = even_times(math.floor(first / step + 1e-9) * step, math.ceil(last / step - 1e-9) * step, step)
        spend("keys", len(ticks))
        spend("samples", _SAMPLES_PER_TRACK)
        samples = Track(track.kind, ticks, curve(ticks / self.fitter.factor), Interpolation.SAMPLED, form=form)
        samples = self._with_jumps(samples, track, end, compiled)
        moments = moments_to_check([track], np.unique(samples.times) / self.fitter.factor, _MOST_CHECKED)
        moments = moments[moments <= end]
        _, distance, unit = self.fitter.tolerance.for_track(track)
        error = float(distance(compile_track(samples)(self.fitter.times(moments)), curve(moments)).max())
        if error <= _NOISE * max(float(np.abs(values).max()), 1.0):
            self.report.add(MOTION_SAMPLED["track"], path, outcome=Outcome.BAKED, count=len(ticks))
        else:
            self.report.add(MOTION_SAMPLED["track"], path, error=error, unit=unit, count=len(ticks))
        return samples

    def _with_jumps(self, samples: Track, track: Track, end: float, curve: Curve) -> Track:
        """Return samples with a second one, the value before, where the track jumps at a frame."""
        if track.interpolation is Interpolation.STEP:
            changes = np.flatnonzero((samples.values[1:] != samples.values[:-1]).any(axis=1)) + 1
            places, before = changes, samples.values[changes - 1]
        else:
            jumps = np.unique(key_times(track, end, len(samples.times)))
            ticks = self.fitter.times(jumps)
            jumps = jumps[np.isin(ticks, samples.times[1:-1])]
            sides = curve(jumps * (1 - BEFORE_JUMP)), curve(jumps)
            _, distance, _ = self.fitter.tolerance.for_track(track)
            wide = distance(*sides) > _NOISE * max(float(np.abs(samples.values).max()), 1.0)
            places, before = np.searchsorted(samples.times, self.fitter.times(jumps[wide])), sides[0][wide]
        times = np.insert(samples.times, places, samples.times[places])
        return replace(samples, times=times, values=np.insert(samples.values, places, before, axis=0))

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
        return self._linear_fitter.fit(track, path)


@dataclass(frozen=True, slots=True)
class Rest:
    """The transform of a node in the file, relative to its parent there, as readers decompose it."""

    position: Floats
    rotation_xyzw: Floats
    scale: Floats
    axes_xyzw: Floats
    is_moved: bool
    """whether the node rests in another pose than in the scene: that in which its skin was bound"""

    def differs_from(self, node: Node) -> set[str]:
        """Return the parts that are not those of the scene."""
        axes = IDENTITY_XYZW if node.scale_axes_xyzw is None else node.scale_axes_xyzw
        position = np.asarray(node.position, np.float64)
        differences = {
            "position": np.abs(self.position - position).max() / max(float(np.abs(position).max()), 1.0),
            "rotation": np.abs(_linear(self.rotation_xyzw) - _linear(node.rotation_xyzw)).max(),
            "scale": np.abs(_stretch(self.scale, self.axes_xyzw) - _stretch(node.scale, axes)).max(),
        }
        return {kind for kind, difference in differences.items() if difference > _NOISE}


def _linear(rotation_xyzw: npt.ArrayLike) -> Floats:
    return affine.compose(np.zeros(3), rotation_xyzw, np.ones(3))[:3, :3]


def _stretch(scale: npt.ArrayLike, axes_xyzw: npt.ArrayLike) -> Floats:
    axes = _linear(axes_xyzw)
    return np.asarray((axes * np.asarray(scale)) @ axes.T)


def _left_handed(axis_angles: Floats) -> Floats:
    """Return axes and angles with reversed angles, as in ASE; a rotation without an axis gets the Z axis."""
    reversed_angles = np.array(axis_angles)
    reversed_angles[~reversed_angles[:, :3].any(axis=1), 2] = 1.0
    reversed_angles[:, 3] = 0.0 - reversed_angles[:, 3]
    return reversed_angles
