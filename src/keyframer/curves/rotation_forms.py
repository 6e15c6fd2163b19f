"""Converts rotation keys between forms: increments or absolute rotations, axis and angle or quaternions.

If the form supports it, increments keep their angle, even over several turns: a quaternion cannot express 360 degrees
or more (see `has_full_turns`). Absolute keys imply the shortest way, so their increments are the shortest.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from keyframer.arrays import Floats

from ..maths import quat
from .key_columns import KeyColumns, gather
from .track import RotationForm, Track

FULL_TURN = 2 * np.pi * (1 - 1e-6)
"""angles from here on are treated as full turns: a quaternion this near to a full turn has lost its axis"""


def finite_keys(track: Track) -> Track:
    """Return the track without non-finite keys, sorted by time; the same track if nothing changes."""
    if not len(track.times):
        return track
    numbers = track.values.reshape(len(track.times), -1)
    good = np.isfinite(track.times) & np.isfinite(numbers).all(axis=1)
    order = np.flatnonzero(good)
    if len(order) == len(good) and not (np.diff(track.times) < 0).any():
        return track
    return select_keys(track, order[np.argsort(track.times[order], kind="stable")])


def select_keys(track: Track, keys: np.ndarray[tuple[int], np.dtype[np.intp]]) -> Track:
    """Return the track with only these keys, in this order."""
    columns = ("tension", "continuity", "bias", "ease_to", "ease_from", "flags", "tangents_in", "tangents_out")
    chosen = {name: column[keys] for name in columns if (column := getattr(track, name)) is not None}
    return replace(track, times=track.times[keys], values=track.values[keys], **chosen)


def absolute(track: Track) -> Floats:
    """Return rotation_xyzw (n, 4) of every key of a track whose keys are all usable and sorted."""
    return absolute_rotations(gather([track], 4), track.form)[0]


def increments(track: Track) -> tuple[Floats, Floats]:
    """Return axis (n, 3) and angle (n,) of each key relative to the key before; the first is absolute."""
    if track.form is RotationForm.AXIS_ANGLE_RELATIVE:
        return track.values[:, :3], track.values[:, 3]
    if track.form is RotationForm.QUATERNION_RELATIVE:
        return quat.to_axis_angle(track.values)
    rotations = absolute(track)
    steps = rotations.copy()
    steps[1:] = quat.multiply(rotations[1:], quat.conjugate(rotations[:-1]))
    unchanged = np.all(rotations[1:] == rotations[:-1], axis=1)
    steps[1:][unchanged] = quat.IDENTITY_XYZW  # rounding would leave 1e-17
    steps[steps[:, 3] < 0] *= -1  # absolute keys imply the shortest way
    return quat.to_axis_angle(steps)


def earliest_key(track: Track) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    """Return the index of the earliest usable key, which the others are relative to; empty if no key is usable."""
    usable = np.flatnonzero(np.isfinite(track.times) & np.isfinite(track.values).all(axis=1))
    return usable[np.argsort(track.times[usable], kind="stable")[:1]]


def turned_keys(track: Track, rotation_xyzw: Floats) -> Floats:
    """Return the values of rotation keys that are all rotated by one more rotation afterwards.

    Increments keep their angles; only their axes are rotated, and the earliest key includes the rotation.
    """
    if track.form is RotationForm.QUATERNION_ABSOLUTE:
        return quat.multiply(rotation_xyzw, track.values)
    values = track.values.copy()
    values[:, :3] = quat.rotate(rotation_xyzw, values[:, :3])
    keys: Any = slice(None) if track.form is RotationForm.AXIS_ANGLE_ABSOLUTE else earliest_key(track)
    if track.form is RotationForm.QUATERNION_RELATIVE:
        values[keys] = quat.multiply(rotation_xyzw, quat.normalise(track.values[keys]))
    else:
        rotations = quat.from_axis_angle(track.values[keys, :3], track.values[keys, 3])
        values[keys] = np.column_stack(quat.to_axis_angle(quat.multiply(rotation_xyzw, rotations)))
    return values


def has_full_turns(track: Track) -> bool:
    """Return whether an increment after the first key rotates by 360 degrees or more."""
    if track.form is not RotationForm.AXIS_ANGLE_RELATIVE:
        return False
    turning = (track.values[1:, :3] != 0).any(axis=1)
    return bool((np.abs(track.values[1:, 3][turning]) >= FULL_TURN).any())


def with_form(track: Track, form: RotationForm) -> Track:
    """Return the track with its keys in another form; the same track if they have it already."""
    if track.form is form:
        return track
    if form in (RotationForm.AXIS_ANGLE_RELATIVE, RotationForm.QUATERNION_RELATIVE):
        axes, angles = increments(track)
        if form is RotationForm.AXIS_ANGLE_RELATIVE:
            values = np.column_stack([axes, angles])
        else:
            values = quat.from_axis_angle(axes, angles)
    else:
        values = absolute(track)
        if form is RotationForm.AXIS_ANGLE_ABSOLUTE:
            values = np.column_stack([*_shortest(values)])
    return replace(track, values=values, form=form)


def _shortest(rotations: Floats) -> tuple[Floats, Floats]:
    """Return axes and angles up to 180 degrees."""
    return quat.to_axis_angle(np.where(rotations[:, 3:] < 0, -rotations, rotations))


_AXIS_ANGLE = (RotationForm.AXIS_ANGLE_RELATIVE, RotationForm.AXIS_ANGLE_ABSOLUTE)
_RELATIVE = (RotationForm.AXIS_ANGLE_RELATIVE, RotationForm.QUATERNION_RELATIVE)


def absolute_rotations(columns: KeyColumns, form: RotationForm) -> tuple[Floats, Floats]:
    """Return rotation_xyzw (K, 4) of every key and the turn (K, 3) from the key before it.

    A turn is a half-angle vector: q_j = exp(turn_j) · q_(j-1); that of the first key of a track has no meaning. The
    turns of increments have their full angles, with direction and revolutions. Absolute keys take the shortest way:
    each quaternion gets the sign that is nearer to the one before.
    """
    if form in _AXIS_ANGLE:
        turns = quat.half_angle_vector(columns.values[:, :3], columns.values[:, 3])
        keys = quat.exp(turns)
    else:
        keys = quat.normalise(columns.values)
        # The half angle of a quaternion is atan2(|v|, w), 0..pi: increments beyond 180 degrees are kept. The
        # quaternion -1 has no axis and counts as no turn.
        turns = quat.log(keys)
    if form in _RELATIVE:
        increments = keys if form in _AXIS_ANGLE else quat.exp(turns)
        return _running_product(increments, columns), turns
    rotations = _sign_continuous(keys, columns)
    turns = np.zeros(turns.shape)
    turns[1:] = quat.log(quat.multiply(rotations[1:], quat.conjugate(rotations[:-1])))
    turns[1:][np.all(rotations[1:] == rotations[:-1], axis=1)] = 0.0  # rounding would leave 1e-17
    return rotations, turns


def single_rotations(values: Floats, form: RotationForm) -> Floats:
    """Return rotation_xyzw (n, 4) of n tracks of one key each (n, 4), as `absolute_rotations` does for first keys."""
    if form in _AXIS_ANGLE:
        keys = quat.exp(quat.half_angle_vector(values[:, :3], values[:, 3]))
        return quat.normalise(keys) if form in _RELATIVE else keys
    keys = quat.normalise(values)
    return quat.normalise(quat.exp(quat.log(keys))) if form in _RELATIVE else keys


def _running_product(increments: Floats, columns: KeyColumns) -> Floats:
    """Return q_j = r_j r_(j-1) ... r_0 within each track, in log2(longest track) passes over all keys."""
    product = np.ascontiguousarray(increments.T)  # separate components: the passes read memory in order
    place = np.arange(len(increments)) - columns.starts[columns.track]
    step, longest = 1, int(columns.counts.max(initial=0))
    while step < longest:
        later = quat.multiply(product[:, step:].T, product[:, :-step].T).T
        np.copyto(product[:, step:], later, where=place[step:] >= step)
        step *= 2
    return quat.normalise(product.T)


def _sign_continuous(rotations: Floats, columns: KeyColumns) -> Floats:
    """Return each quaternion or its negative, whichever is nearer to the one before; the first keeps its sign."""
    flip = np.ones(len(rotations))
    flip[1:] = np.where(np.sum(rotations[1:] * rotations[:-1], axis=1) < 0, -1.0, 1.0)
    running = np.cumprod(flip)
    relative_to_first = running * running[columns.starts[columns.track]]
    return rotations * relative_to_first[:, None]
