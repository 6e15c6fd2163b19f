"""Write out the cycles of tracks that repeat, as keys of tracks that do not.

A seam, where one cycle ends and the next begins, belongs to the next: it shows the value at time 0. Only at the end of
the played range the cycle is closed: it shows the value of the last key, which the motion approaches. Written out, a
seam is a jump, two keys at one time, with the tangents of ends on both sides.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from keyframer.arrays import Floats
from keyframer.curves import Interpolation, RotationForm, Track, Wrap
from keyframer.curves.key_reduction import BEFORE_JUMP, subframes
from keyframer.curves.rotation_forms import absolute, select_keys, with_form
from keyframer.maths import quat

SPLINES = (Interpolation.TCB, Interpolation.BEZIER)
"""interpolations with other tangents at the ends of a loop than at those of a repeated track"""
_ROUNDING = 1e-9
"""fraction of a period: a time this close to a seam is at the seam"""
_SIDE = 0.02
"""fraction of a frame: distance of moments on both sides of a key"""
AFTER_KEY = 1e-7
"""fraction of a period or of a frame: a moment so much later is certainly after a key, whose time is a rounded sum of
periods and a time of the cycle
"""
_PROBES = np.linspace(0, 1, 9)[1:-1]
"""fractions between two frames at which values are compared"""
_COLUMNS = ("tension", "continuity", "bias", "ease_to", "ease_from")


def is_periodic(track: Track) -> bool:
    """Return whether a track with sorted keys repeats; the time of its last key is its period."""
    return track.wrap is not Wrap.SINGLE and len(track.times) > 0 and bool(track.times[-1] > 0)


def count_cycles(track: Track, end: float) -> tuple[int, float]:
    """Return the number of whole cycles of a periodic track from 0 to ``end``, and the time from the last seam on."""
    period = float(track.times[-1])
    cycles = end / period
    whole = math.floor(cycles + _ROUNDING * max(cycles, 1.0))
    rest = end - whole * period
    return whole, rest if rest > _ROUNDING * period * max(whole, 1) else 0.0


def last_moment(track: Track, end: float) -> float:
    """Return the last time at which a track is sampled in a range: just before ``end`` if a cycle ends there."""
    if not is_periodic(track):
        return math.inf
    whole, rest = count_cycles(track, end)
    return end if rest or not whole else (whole - BEFORE_JUMP) * float(track.times[-1])


def key_times(track: Track, end: float, most: int) -> Floats:
    """Return the times of the keys and seams of a track up to ``end``: at most about ``most``, the first ones."""
    if not is_periodic(track):
        return track.times
    whole, rest = count_cycles(track, end)
    cycles = min(whole + (rest > 0), max(1, most // len(track.times)))
    times = (np.append(0.0, track.times) + track.times[-1] * np.arange(cycles)[:, None]).reshape(-1)
    return np.asarray(times[times <= end])


def moments_to_check(tracks: Iterable[Track], frames: Floats, most: int) -> Floats:
    """Return the moments at which values of these frames are compared with tracks: between the frames, and at keys and
    seams and on both sides of them. There are at most about ``most`` of each, spread evenly.
    """
    if len(frames) < 2:
        return frames
    begin, end, side = frames[0], frames[-1], _SIDE * (frames[1] - frames[0])
    times = [key_times(track, float(end), most) + AFTER_KEY * side * is_periodic(track) for track in tracks]
    keys = np.concatenate([np.empty(0), *times])
    keys = _spread(np.unique(keys[(keys >= begin) & (keys <= end)]), most)
    between = _spread(subframes(frames, _PROBES), most)
    return np.unique(np.clip(np.concatenate([between, keys - side, keys, keys + side]), begin, end))


def _spread(moments: Floats, most: int) -> Floats:
    return moments[np.linspace(0, len(moments) - 1, min(len(moments), most)).astype(int)] if most > 0 else moments[:0]


def repeated(cycle: Track, count: int, partial: Track | None) -> Track:
    """Return the keys of a cycle ``count`` times, then those of a partial one; both end with their last key.

    The first cycle begins with its first key, further ones at time 0 with the value of that key.
    """
    cycle = _plain_form(cycle)
    pieces = [cycle, *[_from_zero(cycle)] * (count - 1)]
    if partial is not None:
        pieces.append(_from_zero(_plain_form(partial)))
    if cycle.is_rotation and len({piece.form for piece in pieces}) > 1:
        pieces = [with_form(piece, RotationForm.AXIS_ANGLE_RELATIVE) for piece in pieces]
    values = [np.array(piece.values) for piece in pieces]
    if pieces[0].form is RotationForm.AXIS_ANGLE_RELATIVE:
        _turn_at_seams(pieces, values)
    columns: dict[str, Any] = {}
    for name in _COLUMNS:
        of_pieces = [getattr(piece, name) for piece in pieces]
        if any(column is not None for column in of_pieces):
            zeros = (np.zeros(len(piece.times)) for piece in pieces)
            filled = [zero if column is None else column for zero, column in zip(zeros, of_pieces, strict=True)]
            columns[name] = np.concatenate(filled)
    period = cycle.times[-1]
    times = np.concatenate(  # the sum of a start and the period can be rounded to after the next start
        [
            np.where(piece.times == period, (number + 1) * period, piece.times + number * period)
            for number, piece in enumerate(pieces)
        ]
    )
    written = Track(cycle.kind, times, np.concatenate(values), cycle.interpolation, form=pieces[0].form, **columns)
    if written.interpolation is not Interpolation.LINEAR or {"ease_to", "ease_from"} & columns.keys():
        return written
    return _without_doubles(written)


def cut(track: Track, end: float) -> Track:
    """Return the keys of a linear track without ease, or of a step track, up to ``end``, with a key there."""
    track = _plain_form(track)
    kept = int(np.searchsorted(track.times, end, side="right"))
    if kept == 0:
        return replace(select_keys(track, np.arange(1)), times=np.array([end]))
    if kept == len(track.times) or track.interpolation is Interpolation.STEP or track.times[kept - 1] == end:
        return select_keys(track, np.arange(kept))
    if track.form is RotationForm.QUATERNION_ABSOLUTE:
        track = with_form(track, RotationForm.AXIS_ANGLE_RELATIVE)
    share = (end - track.times[kept - 1]) / (track.times[kept] - track.times[kept - 1])
    values = np.array(track.values[: kept + 1])
    if track.is_rotation:
        values[-1, 3] *= share
    else:
        values[-1] = values[-2] + share * (values[-1] - values[-2])
    kept_keys = select_keys(track, np.arange(kept + 1))
    return replace(kept_keys, times=np.append(track.times[:kept], end), values=values)


def _plain_form(track: Track) -> Track:
    """Return a track that does not repeat; its rotations are increments about axes, or absolute quaternions."""
    track = replace(track, wrap=Wrap.SINGLE)
    if track.form is RotationForm.AXIS_ANGLE_ABSOLUTE:
        return with_form(track, RotationForm.QUATERNION_ABSOLUTE)
    relative = track.form is RotationForm.QUATERNION_RELATIVE
    return with_form(track, RotationForm.AXIS_ANGLE_RELATIVE) if relative else track


def _from_zero(track: Track) -> Track:
    """Return a track with a key at time 0: where its first key is later, that value holds until there."""
    if track.times[0] <= 0:
        return track
    doubled = select_keys(track, np.array([0, 0, *range(len(track.times))]))
    times, values = np.array(doubled.times), np.array(doubled.values)
    times[0] = 0.0
    if track.form is RotationForm.AXIS_ANGLE_RELATIVE:
        values[1:3, 3] = 0.0
    return replace(doubled, times=times, values=values)


def _turn_at_seams(pieces: Sequence[Track], values: list[Floats]) -> None:
    """Set the first increment of each piece after the first: from the end of the piece before to its own start."""
    turns = {id(piece): absolute(piece)[[0, -1]] for piece in {id(piece): piece for piece in pieces}.values()}
    for number in range(1, len(pieces)):
        begin, before = turns[id(pieces[number])][0], turns[id(pieces[number - 1])][1]
        seam = quat.multiply(begin, quat.conjugate(before))
        axis, angle = quat.to_axis_angle(seam if seam[3] >= 0 else -seam)
        values[number][0] = [*axis, angle]


def _without_doubles(track: Track) -> Track:
    """Return linear keys without the second of two equal keys at one time."""
    keys = track.values.reshape(len(track.times), -1)
    if track.form is RotationForm.AXIS_ANGLE_RELATIVE:
        same_value = np.abs(keys[1:, 3]) < _ROUNDING
    else:
        same_value = (keys[1:] == keys[:-1]).all(axis=1)
    doubled = (track.times[1:] == track.times[:-1]) & same_value
    return select_keys(track, np.flatnonzero(~np.append(False, doubled)))
