"""Write tracks as chunks: curves as TCB keys, rotations as clockwise increments about unit axes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from keyframer.arrays import Floats
from keyframer.curves import Interpolation, RotationForm, Track
from keyframer.curves.rotation_forms import finite_keys, increments, with_form
from keyframer.formats.kit.key_tracks import as_tcb, tcb_keys
from keyframer.formats.threeds import records as r
from keyframer.formats.threeds.bridge.tracks import KINDS, WRAPS
from keyframer.wire.key_table import Keys

_WRAPS = {wrap: bits for bits, wrap in WRAPS.items()}
_CHUNKS = {kind: chunk for chunk, kind in KINDS.items()}


def write_track(track: Track, keep_flags: bool, *, absolute: bool = False) -> r.Track:
    """Return the chunk of a track of numbers, with times in frames.

    With ``absolute``, rotation keys are absolute, as in Blender's files, instead of increments. `tcb_keys` describes
    ``keep_flags``.
    """
    tcb_track = as_tcb(track)
    if absolute and tcb_track.is_rotation:
        values = with_form(tcb_track, RotationForm.AXIS_ANGLE_ABSOLUTE).values
        keys = tcb_keys(tcb_track, np.column_stack([-values[:, 3], values[:, :3]]), keep_flags)
        return r.RotationTrack(_WRAPS[track.wrap], 0, 0, keys)
    values = _rotations(tcb_track) if tcb_track.is_rotation else tcb_track.values.reshape(len(tcb_track.times), -1)
    keys = tcb_keys(tcb_track, values, keep_flags)
    chunk_class: Any = _CHUNKS[track.kind]
    chunk: r.Track = chunk_class(_WRAPS[track.wrap], 0, 0, keys)
    return chunk


def _rotations(track: Track) -> Floats:
    """Return angle and axis as stored: clockwise, not negative, with an axis of length 1."""
    axes, angles = increments(track)
    lengths = np.sqrt((axes * axes).sum(axis=1))
    usable = lengths > 0
    unit = np.where(usable[:, None], axes / np.where(usable, lengths, 1.0)[:, None], (0.0, 0.0, 1.0))
    is_unit = np.abs(lengths - 1.0) < 1e-6  # a unit axis keeps its digits
    unit = np.where(is_unit[:, None], axes, unit)
    clockwise = np.where(usable, -angles, 0.0)
    sign = np.where(clockwise < 0, -1.0, 1.0)
    return np.column_stack([np.abs(clockwise), unit * sign[:, None]])


def write_hide_track(track: Track, frames: Floats, hidden: bool) -> tuple[bool, r.HideTrack | None]:
    """Return whether the node is hidden at first, and a chunk with the times of changes (None without changes).

    ``frames`` are the times of the track in frames. ``hidden`` is returned if the track has no usable key.
    """
    steps = finite_keys(replace(track, times=frames))
    if not len(steps.times):
        return hidden, None
    visible = steps.values.reshape(len(steps.times), -1)[:, 0] > 0.5
    is_last = np.append(steps.times[1:] != steps.times[:-1], True)  # the last of several keys at one frame is used
    times, visible = steps.times[is_last], visible[is_last]
    changes = np.flatnonzero(visible[1:] != visible[:-1]) + 1
    if not len(changes):
        return not visible[0], None
    keys = Keys.make(np.rint(times[changes]).astype(np.int64))
    return not visible[0], r.HideTrack(_WRAPS[track.wrap], 0, 0, keys)


def names_shapes(track: Track) -> bool:
    """Return whether a morph track has TCB keys with one shape each; keys of the format cannot blend shapes."""
    weights = track.values.reshape(len(track.times), -1)
    shapes = weights.argmax(axis=1)
    return track.interpolation is Interpolation.TCB and np.array_equal(weights, np.eye(weights.shape[1])[shapes])


def write_morph_track(track: Track, names: list[bytes], keep_flags: bool) -> r.MorphTrack | None:
    """Return a chunk with keys that name shapes; None if the format cannot store the keys (see `names_shapes`)."""
    if not names_shapes(track):
        return None
    weights = track.values.reshape(len(track.times), -1)
    shapes = weights.argmax(axis=1)
    keys = tcb_keys(track, np.empty((len(weights), 0)), keep_flags)
    text = tuple(names[number] for number in shapes.tolist())
    return r.MorphTrack(_WRAPS[track.wrap], 0, 0, keys.replace(text=text))


def rotation_key(rotation_xyzw: npt.ArrayLike) -> Track:
    """Return a rotation track with one key."""
    values = np.asarray(rotation_xyzw, np.float64)[None]
    return Track("rotation", np.zeros(1), values, Interpolation.LINEAR, form=RotationForm.QUATERNION_ABSOLUTE)
