"""Read controllers as authored tracks, and write them: samples stay samples, keys stay keys if ASE supports them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from keyframer.arrays import Array, Floats
from keyframer.catalogue import DATA_ZERO_AXIS
from keyframer.curves import Interpolation, RotationForm, Track, Wrap, compile_track
from keyframer.curves.rotation_forms import increments, select_keys, usable_keys, with_form
from keyframer.formats.ase.bridge.options import Options
from keyframer.formats.ase.bridge.write_lines import short
from keyframer.formats.ase.records import Keys
from keyframer.formats.kit.key_tracks import KeyFitter, as_tcb, axes_of_keys, constant_axes, is_eased, single_key
from keyframer.formats.kit.scene_reading import Reporter, check_keys
from keyframer.formats.kit.scene_writing import plain_path
from keyframer.limits import expect
from keyframer.maths import quat
from keyframer.scene import Node
from keyframer.scene.loss_report import Outcome

_SAMPLED, _LINEAR, _TCB, _BEZIER = (
    Interpolation.SAMPLED,
    Interpolation.LINEAR,
    Interpolation.TCB,
    Interpolation.BEZIER,
)
_INTERPOLATIONS = {b"TRACK": _SAMPLED, b"SAMPLE": _SAMPLED, b"LINEAR": _LINEAR, b"TCB": _TCB, b"BEZIER": _BEZIER}
TCB_COLUMNS = ("tension", "continuity", "bias", "ease_to", "ease_from")


def interpolation_of(keys: Keys) -> Interpolation:
    """Return the interpolation of a controller from the end of its keyword."""
    return _INTERPOLATIONS[keys.keyword.rpartition(b"_")[2]]


def sample_step(tables: list[Keys], ticks: float) -> float:
    """Return the ticks between two samples: the exporter uses one sampling step for all objects."""
    placing = [keys for keys in tables if keys.keyword.endswith(b"_TRACK")]
    gaps = [np.diff(keys.times) for keys in placing if len(keys.times) > 1]
    steps = [int(gap[gap > 0].min()) for gap in gaps if (gap > 0).any()]
    return float(min(steps, default=ticks))


def read_tracks(reporter: Reporter, keys: Keys, options: Options, start: float, step: float) -> list[Track]:
    """Return the tracks of one controller: none without keys, two for a scale with rotated axes."""
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
    """Return samples, constant where the exporter left out unchanged ones."""
    times, values = fill_gaps(times, values, step)
    return Track(kind, times, values, _SAMPLED)


def fill_gaps(times: Floats, values: Floats, step: float, relative: bool = False) -> tuple[Floats, Floats]:
    """Add a sample at the end of each gap: the value before the gap; for relative rotations, no rotation."""
    late = np.flatnonzero(np.diff(times) > 1.5 * step) + 1
    if not len(late):
        return times, values
    kept = values[late - 1].copy()
    if relative:
        kept[:, 3] = 0.0
    return np.insert(times, late, times[late] - step), np.insert(values, late, kept, axis=0)


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
    """Return axis and angle; angles are left-handed.

    Sampled rotations are increments of at most half a turn: 3ds Max writes the reverse rotation if its quaternion
    changes sign.
    """
    interpolation, times = interpolation_of(keys), np.asarray(keys.times, np.float64)
    turns = np.array(keys.values[:, :4])
    turns[:, 3] = 0.0 - turns[:, 3]
    without_axis = ~turns[:, :3].any(axis=1) & (turns[:, 3] != 0)
    if without_axis.any():
        reporter.report(DATA_ZERO_AXIS, keys, "values", count=int(without_axis.sum()))
    if interpolation is _SAMPLED:
        with np.errstate(invalid="ignore"):
            turns[:, 3] = np.remainder(turns[:, 3] + np.pi, 2 * np.pi) - np.pi
        times, turns = fill_gaps(times, turns, step, relative=True)
        if times[0] > start:  # no sample at the start: not rotated there
            before = max(start, times[0] - step)
            times, turns = np.insert(times, 0, before), np.insert(turns, 0, [0.0, 0.0, 1.0, 0.0], axis=0)
        return Track("rotation", times, turns, interpolation, form=RotationForm.AXIS_ANGLE_RELATIVE)
    relative = options.rotation_keys == "relative" or (
        options.rotation_keys == "auto" and interpolation in (_TCB, _BEZIER)
    )
    form = RotationForm.AXIS_ANGLE_RELATIVE if relative else RotationForm.AXIS_ANGLE_ABSOLUTE
    return _with_tcb(keys, Track("rotation", times, turns, interpolation, form=form))


def _scale(keys: Keys, step: float) -> list[Track]:
    """Return scale, and the rotation of its axes, if any."""
    track = _track(keys, "scale", 3, step)
    width = keys.values.shape[1]
    if width < 7 or not np.any(keys.values[:, 6]):
        return [track]
    turns = np.array(keys.values[:, 3:7])
    turns[:, 3] = 0.0 - turns[:, 3]
    times = np.asarray(keys.times, np.float64)
    interpolation = interpolation_of(keys)
    if interpolation is _SAMPLED:
        times, turns = fill_gaps(times, turns, step)
    interpolation = interpolation if interpolation in (_SAMPLED, _LINEAR) else _LINEAR
    return [track, Track("scale_axes", times, turns, interpolation, form=RotationForm.AXIS_ANGLE_ABSOLUTE)]


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
                followed = self._original_samples(replace(given, times=times))
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
        message = f"{np.count_nonzero(outside)} of {len(outside)} keys are at times that ASE cannot store"
        self.fitter.report.add(Outcome.DROPPED, path, message)
        return select_keys(track, np.flatnonzero(~outside))

    def _original_samples(self, track: Track) -> Track | None:
        """Return the samples of the original document; None if the track does not have its samples.

        Samples that the reader added in gaps (`fill_gaps`) are left out.
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
        interpolation = track.interpolation
        values = track.values.reshape(len(track.times), -1)
        if track.kind == "rotation":
            relative = interpolation is not Interpolation.LINEAR
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
        if interpolation is Interpolation.TCB:
            zeros = np.zeros(len(values))
            shapes = [
                zeros if (column := getattr(track, column_name)) is None else column for column_name in TCB_COLUMNS
            ]
            columns.append(short(np.column_stack(shapes)))
        elif interpolation is Interpolation.CUBIC:
            assert track.tangents_in is not None
            assert track.tangents_out is not None
            columns += [short(-track.tangents_in), short(track.tangents_out), np.zeros((len(values), 1))]
        endings = {Interpolation.TCB: "TCB", Interpolation.CUBIC: "BEZIER", Interpolation.SAMPLED: "TRACK"}
        keyword = f"CONTROL_{name}_{endings.get(interpolation, 'LINEAR')}"
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
