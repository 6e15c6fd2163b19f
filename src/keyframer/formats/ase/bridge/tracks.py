"""Read controllers as authored tracks: sampled values are repeated before gaps, all others keep their keys."""

from __future__ import annotations

import numpy as np

from keyframer.arrays import Floats
from keyframer.catalogue import DATA_ZERO_AXIS
from keyframer.curves import Interpolation, RotationForm, Track
from keyframer.formats.ase.bridge.options import Options
from keyframer.formats.ase.records import Keys
from keyframer.formats.kit.scene_reading import Reporter, check_keys

_SAMPLED, _LINEAR, _TCB, _BEZIER = (
    Interpolation.SAMPLED,
    Interpolation.LINEAR,
    Interpolation.TCB,
    Interpolation.BEZIER,
)
_WAYS = {b"TRACK": _SAMPLED, b"SAMPLE": _SAMPLED, b"LINEAR": _LINEAR, b"TCB": _TCB, b"BEZIER": _BEZIER}
TCB_COLUMNS = ("tension", "continuity", "bias", "ease_to", "ease_from")


def interpolation_of(keys: Keys) -> Interpolation:
    """Return the interpolation of a controller from the end of its keyword."""
    return _WAYS[keys.keyword.rpartition(b"_")[2]]


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
    way, times = interpolation_of(keys), np.asarray(keys.times, np.float64)
    values = np.array(keys.values[:, :width])
    if way is _SAMPLED:
        return sampled(kind, times, values, step)
    start = 7 if kind == "scale" else width  # after the axes of a scale
    if way is _BEZIER and keys.values.shape[1] >= start + 2 * width:
        # in tangent, out tangent, flags; tangents are per tick, and the in tangent points back
        incoming = -keys.values[:, start : start + width]
        outgoing = np.array(keys.values[:, start + width : start + 2 * width])
        return Track(kind, times, values, Interpolation.CUBIC, tangents_in=incoming, tangents_out=outgoing)
    return _with_tcb(keys, Track(kind, times, values, way))


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
    way, times = interpolation_of(keys), np.asarray(keys.times, np.float64)
    turns = np.array(keys.values[:, :4])
    turns[:, 3] = 0.0 - turns[:, 3]
    lost = ~turns[:, :3].any(axis=1) & (turns[:, 3] != 0)
    if lost.any():
        reporter.report(DATA_ZERO_AXIS, keys, "values", count=int(lost.sum()))
    if way is _SAMPLED:
        with np.errstate(invalid="ignore"):
            turns[:, 3] = np.remainder(turns[:, 3] + np.pi, 2 * np.pi) - np.pi
        times, turns = fill_gaps(times, turns, step, relative=True)
        if times[0] > start:  # no sample at the start: not rotated there
            before = max(start, times[0] - step)
            times, turns = np.insert(times, 0, before), np.insert(turns, 0, [0.0, 0.0, 1.0, 0.0], axis=0)
        return Track("rotation", times, turns, way, form=RotationForm.AXIS_ANGLE_RELATIVE)
    relative = options.rotation_keys == "relative" or (options.rotation_keys == "auto" and way in (_TCB, _BEZIER))
    form = RotationForm.AXIS_ANGLE_RELATIVE if relative else RotationForm.AXIS_ANGLE_ABSOLUTE
    return _with_tcb(keys, Track("rotation", times, turns, way, form=form))


def _scale(keys: Keys, step: float) -> list[Track]:
    """Return scale, and the rotation of its axes, if any."""
    track = _track(keys, "scale", 3, step)
    width = keys.values.shape[1]
    if width < 7 or not np.any(keys.values[:, 6]):
        return [track]
    turns = np.array(keys.values[:, 3:7])
    turns[:, 3] = 0.0 - turns[:, 3]
    times = np.asarray(keys.times, np.float64)
    way = interpolation_of(keys)
    if way is _SAMPLED:
        times, turns = fill_gaps(times, turns, step)
    way = way if way in (_SAMPLED, _LINEAR) else _LINEAR
    return [track, Track("scale_axes", times, turns, way, form=RotationForm.AXIS_ANGLE_ABSOLUTE)]
