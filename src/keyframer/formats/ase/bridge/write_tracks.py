"""Write tracks as controllers: samples stay samples; keys stay keys if ASE supports them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from keyframer.arrays import Array, Floats
from keyframer.curves import Interpolation, RotationForm, Track, Wrap, compile_track
from keyframer.curves.rotation_forms import increments, select_keys, usable_keys, with_form
from keyframer.formats.ase.bridge.tracks import TCB_COLUMNS
from keyframer.formats.ase.bridge.write_lines import short
from keyframer.formats.ase.records import Keys
from keyframer.formats.kit.key_tracks import KeyFitter, as_tcb, axes_of_keys, constant_axes, is_eased, single_key
from keyframer.formats.kit.scene_writing import plain_path
from keyframer.limits import expect
from keyframer.maths import quat
from keyframer.scene import Node
from keyframer.scene.loss_report import Outcome

_LAST_TICK = 2**31 - 1
_NAMES = {"position": "POS", "rotation": "ROT", "scale": "SCALE"}


class TrackWriter:
    """Writes the tracks of one clip; times are ticks."""

    def __init__(self, fitter: KeyFitter, step: int, samples: Mapping[int, Array] | None = None) -> None:
        self.fitter = fitter
        self.step = step
        self.samples = samples or {}
        """sample times of the original document, by offset"""

    def controllers(self, node: Node, tracks: dict[str, Track]) -> list[Keys]:
        """Return the position, rotation and scale controllers of a node."""
        fitted = {
            kind: fitted_track
            for kind, track in tracks.items()
            if (fitted_track := self._fit(node, kind, track)) is not None
        }
        if node.scale_axes_xyzw is not None and "scale_axes" not in fitted and "scale" in fitted:
            fitted["scale_axes"] = constant_axes(node, fitted["scale"])
        elif "scale_axes" in fitted and "scale" not in fitted:
            times = fitted["scale_axes"].times
            fitted["scale"] = Track("scale", times, np.tile(np.asarray(node.scale), (len(times), 1)))
        axes = fitted.pop("scale_axes", None)
        return [self._keys(node, fitted[kind], axes) for kind in _NAMES if kind in fitted]

    def _fit(self, node: Node, kind: str, track: Track) -> Track | None:
        """Return the track in ticks, with its own keys if ASE has such keys, else converted."""
        path = f"{plain_path('nodes', node.name)}/{kind}"
        track = self._within_range(track, path)
        given = usable_keys(track)
        if len(given.times) == len(track.times) and len(given.times) and given.wrap is Wrap.SINGLE:
            times = self.fitter.times(given.times)
            whole = bool((times == np.rint(times)).all()) and bool((np.diff(times) > 0).all())
            sampled = given.interpolation is Interpolation.SAMPLED and bool((np.diff(times) == self.step).all())
            tangents = given.interpolation is Interpolation.CUBIC and kind in ("position", "scale")
            if whole and given.interpolation is Interpolation.SAMPLED:
                followed = self._followed(replace(given, times=times))
                if followed is not None:
                    return followed
            if whole and (sampled or tangents) and len(times) > 1:
                self.fitter.report.add(Outcome.EXACT, path, f"{len(times)} {given.interpolation.value} keys")
                rounded = replace(given, times=times)
                for side in ("tangents_in", "tangents_out") if tangents else ():
                    setattr(rounded, side, getattr(rounded, side) / self.fitter.factor)
                return rounded
        made_keys = self.fitter.fit(track, path)
        if made_keys is None or kind == "scale_axes":
            return made_keys
        return self._writable(made_keys)

    def _within_range(self, track: Track, path: str) -> Track:
        """Return the track without keys at ticks that do not fit into 32 bits, which are reported."""
        outside = np.abs(self.fitter.times(track.times)) > _LAST_TICK
        if not outside.any():
            return track
        words = f"{np.count_nonzero(outside)} of {len(outside)} keys are at times that ASE cannot store"
        self.fitter.report.add(Outcome.DROPPED, path, words)
        return select_keys(track, np.flatnonzero(~outside))

    def _followed(self, track: Track) -> Track | None:
        """Return the samples of the original document; None if the track does not have its samples.

        Samples that readers add in gaps (`tracks.fill_gaps`) are left out.
        """
        stored = self.samples.get(track.extras.get("ase", {}).get("offset", -1))
        if stored is None:
            return None
        values = track.values.reshape(len(track.times), -1)
        still = values[:, 3] == 0 if track.is_rotation else np.append(False, (values[1:] == values[:-1]).all(axis=1))
        known = np.isin(track.times, stored)
        kept = known | ~still
        if (kept & ~known).any():
            return None
        return replace(track, times=track.times[kept], values=track.values[kept])

    def _writable(self, track: Track) -> Track:
        """Return linear keys if they are equivalent, else TCB keys."""
        straight = track.interpolation is Interpolation.LINEAR and not is_eased(track)
        wide = straight and track.is_rotation and (np.abs(increments(track)[1][1:]) > math.pi - 1e-3).any()
        return track if straight and not wide else as_tcb(track)

    def _keys(self, node: Node, track: Track, axes: Track | None) -> Keys:
        way = track.interpolation
        values = track.values.reshape(len(track.times), -1)
        if track.kind == "rotation":
            relative = way is not Interpolation.LINEAR
            form = RotationForm.AXIS_ANGLE_RELATIVE if relative else RotationForm.AXIS_ANGLE_ABSOLUTE
            values = _left_handed(with_form(track, form).values)
        elif track.kind == "scale":
            turned = axes_of_keys(axes, track, node, self.fitter.report)
            turns = np.zeros((len(values), 4))
            if turned is not None:
                given = Track("scale_axes", track.times, turned, form=RotationForm.QUATERNION_ABSOLUTE)
                turns = _left_handed(with_form(given, RotationForm.AXIS_ANGLE_ABSOLUTE).values)
            values = np.column_stack([values, turns])
        name = _NAMES[track.kind]
        columns = [short(values)]
        if way is Interpolation.TCB:
            zeros = np.zeros(len(values))
            shapes = [
                zeros if (column := getattr(track, column_name)) is None else column for column_name in TCB_COLUMNS
            ]
            columns.append(short(np.column_stack(shapes)))
        elif way is Interpolation.CUBIC:
            assert track.tangents_in is not None
            assert track.tangents_out is not None
            columns += [short(-track.tangents_in), short(track.tangents_out), np.zeros((len(values), 1))]
        endings = {Interpolation.TCB: "TCB", Interpolation.CUBIC: "BEZIER", Interpolation.SAMPLED: "TRACK"}
        keyword = f"CONTROL_{name}_{endings.get(way, 'LINEAR')}"
        return Keys(keyword.encode(), np.rint(track.times).astype(np.int64), np.column_stack(columns))

    def sampled_turns(self, frames: Floats, turns: Floats) -> Keys:
        """Return a sampled rotation from matrices (T, 3, 3) at ticks."""
        track = Track(
            "rotation", frames, quat.from_matrix3(turns), Interpolation.SAMPLED, form=RotationForm.QUATERNION_ABSOLUTE
        )
        values = _left_handed(with_form(track, RotationForm.AXIS_ANGLE_RELATIVE).values)
        return Keys(b"CONTROL_ROT_TRACK", np.rint(frames).astype(np.int64), short(values))

    def straight(self, node: Node, kind: str, track: Track) -> Track | None:
        """Return a track of numbers with linear keys."""
        path = f"{plain_path('nodes', node.name)}/{kind}"
        fitted = self.fitter.fit(track, path)
        if fitted is None or (fitted.interpolation is Interpolation.LINEAR and not is_eased(fitted)):
            return fitted
        self.fitter.report.forget(path)
        begin, end = float(track.times.min()), float(track.times.max())
        count = math.ceil((end - begin) * self.fitter.factor / self.step) + 1
        expect("keys", count)
        frames = np.minimum(begin + np.arange(count) * self.step / self.fitter.factor, end)
        values = compile_track(track)(frames)
        sampled = Track(kind, np.unique(frames), values[: len(np.unique(frames))], Interpolation.SAMPLED)
        if len(sampled.times) < 2:
            return single_key(kind, values[0])
        return self.fitter.fit(sampled, path)


def _left_handed(turns: Floats) -> Floats:
    """Return axes and angles with reversed angles, as in ASE; a rotation by 0 has an axis too."""
    out = np.array(turns)
    out[~out[:, :3].any(axis=1), 2] = 1.0
    out[:, 3] = 0.0 - out[:, 3]
    return out
