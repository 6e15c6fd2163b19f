"""Read controllers as authored tracks."""

from __future__ import annotations

import numpy as np

from keyframer.arrays import Floats
from keyframer.catalogue import SCENE_NO_KEYS
from keyframer.curves import Interpolation, RotationForm, Track
from keyframer.formats.kit.scene_reading import Reporter, check_keys
from keyframer.formats.uto3d import records as r
from keyframer.formats.uto3d.bridge.options import Options
from keyframer.wire.key_table import EXTRAS

RADIANS_BELOW = 3.2
"""a field of view is less than pi"""

_COLUMNS = ("tension", "continuity", "bias", "ease_to", "ease_from", "flags")


def read_controller(
    reporter: Reporter, record: r.AnyController, options: Options, position_scale: float
) -> list[Track]:
    """Return the tracks of one controller: none without keys, two for a scale with rotated axes."""
    if not isinstance(record, r.Controller) or record.scheme == r.BEZIER:
        if not isinstance(record, r.NoController):
            reporter.report(SCENE_NO_KEYS, record)
        return []
    tracks = _tracks(reporter, record, options, position_scale)
    for track in tracks:
        reporter.mark(track, "uto3d", record, {"controller_id": record.id})
    return tracks


def _tracks(reporter: Reporter, record: r.Controller, options: Options, position_scale: float) -> list[Track]:
    keys = record.keys
    if len(keys) == 0:
        return []
    columns = [keys.extras] if keys.extras is not None else []
    check_keys(reporter, record, "keys", keys.time, keys.value, *columns)
    values = np.asarray(keys.value, np.float64)
    tcb = record.scheme == r.TCB
    if record.type == r.POSITION:
        return [_track(record, "position", values * position_scale)]
    if record.type == r.ROTATION:
        # 3ds Max returns TCB rotations as increments, linear ones as absolute values.
        form = RotationForm.QUATERNION_RELATIVE if tcb else RotationForm.QUATERNION_ABSOLUTE
        return [_track(record, "rotation", values, form)]
    if record.type == r.SCALE:
        tracks = [_track(record, "scale", values[:, :3])]
        axes = values[:, 3:]
        if (axes != 0).any():  # the MAXScript exporter writes zeros, which mean no rotation
            tracks.append(_track(record, "scale_axes", axes, RotationForm.QUATERNION_ABSOLUTE))
        return tracks
    if record.type == r.FOV:
        return [_track(record, "fov", _degrees(values[:, 0], tcb, options))]
    return [_track(record, "roll", 0.0 - np.degrees(values[:, 0]))]  # the sign of 3ds Max: positive if X points up


def _degrees(values: Floats, tcb: bool, options: Options) -> Floats:
    """Convert fields of view to degrees; linear keys of the Flexporter are in radians (only it writes linear keys)."""
    unit = options.fov_keys
    if unit == "auto":
        usable = values[np.isfinite(values)]
        small = len(usable) > 0 and bool((np.abs(usable) < RADIANS_BELOW).all())
        unit = "radians" if small and not tcb else "degrees"
    return np.degrees(values) if unit == "radians" else values


def _track(record: r.Controller, kind: str, values: Floats, form: RotationForm = RotationForm.NONE) -> Track:
    keys = record.keys
    interpolation = Interpolation.TCB if record.scheme == r.TCB else Interpolation.LINEAR
    track = Track(kind, np.asarray(keys.time, np.float64), values, interpolation, form=form)
    if record.scheme == r.TCB:
        track.flags = np.asarray(keys.flags, np.int64)
    if keys.extras is not None:
        for name in EXTRAS:
            setattr(track, name, np.asarray(keys.column(name), np.float64))
    return track


def plain_track(track: Track) -> dict[str, object]:
    """Return a track without a node as plain values, for the extras of its clip."""
    kept: dict[str, object] = {"kind": track.kind, "interpolation": track.interpolation.value, "form": track.form.value}
    kept |= {"times": track.times, "values": track.values}
    kept |= {name: column for name in _COLUMNS if (column := getattr(track, name)) is not None}
    return kept
