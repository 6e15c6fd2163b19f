"""Rotation keys as absolute quaternions and the turns that lead to them.

A turn is the half-angle vector of the increment in front of the rotation before it, q_j = exp(turn_j) ·
q_(j-1), taken from the key itself where keys are increments: direction and number of turns are the key's
own and never the shortest way. Absolute keys do take the shortest way: each key gets the sign nearest to
the one before.
"""

from __future__ import annotations

import numpy as np

from ..maths import quat
from .key_columns import KeyColumns
from .track import Floats, RotationForm

_AXIS_ANGLE = (RotationForm.AXIS_ANGLE_RELATIVE, RotationForm.AXIS_ANGLE_ABSOLUTE)
_RELATIVE = (RotationForm.AXIS_ANGLE_RELATIVE, RotationForm.QUATERNION_RELATIVE)


def absolute_rotations(columns: KeyColumns, form: RotationForm) -> tuple[Floats, Floats]:
    """rotation_xyzw (K, 4) of every key and the turn (K, 3) from the key before it."""
    if form in _AXIS_ANGLE:
        turns = quat.half_turn(columns.values[:, :3], columns.values[:, 3])
        keys = quat.exp(turns)
    else:
        keys = quat.normalise(columns.values)
        # A quaternion's own half angle is atan2(|v|, w), 0..pi: increments beyond 180 degrees stay what they
        # are. -1 has no axis to turn about and counts as no turn.
        turns = quat.log(keys)
    if form in _RELATIVE:
        increments = keys if form in _AXIS_ANGLE else quat.exp(turns)
        return _running_product(increments, columns), turns
    rotations = _sign_continuous(keys, columns)
    turns = np.zeros_like(turns)
    turns[1:] = quat.log(quat.multiply(rotations[1:], quat.conjugate(rotations[:-1])))
    turns[1:][np.all(rotations[1:] == rotations[:-1], axis=1)] = 0.0  # rounding would leave 1e-17
    return rotations, turns


def single_rotations(values: Floats, form: RotationForm) -> Floats:
    """rotation_xyzw (n, 4) of n tracks of one key each (n, 4): what `absolute_rotations` makes of first keys."""
    if form in _AXIS_ANGLE:
        keys = quat.exp(quat.half_turn(values[:, :3], values[:, 3]))
        return quat.normalise(keys) if form in _RELATIVE else keys
    keys = quat.normalise(values)
    return quat.normalise(quat.exp(quat.log(keys))) if form in _RELATIVE else keys


def _running_product(increments: Floats, columns: KeyColumns) -> Floats:
    """q_j = r_j r_(j-1) ... r_0 within each track, in log2(longest track) passes over all keys."""
    product = np.ascontiguousarray(increments.T)  # components apart: the passes read memory in order
    place = np.arange(len(increments)) - columns.starts[columns.track]
    step, longest = 1, int(columns.counts.max(initial=0))
    while step < longest:
        later = quat.multiply(product[:, step:].T, product[:, :-step].T).T
        np.copyto(product[:, step:], later, where=place[step:] >= step)
        step *= 2
    return quat.normalise(product.T)


def _sign_continuous(rotations: Floats, columns: KeyColumns) -> Floats:
    """Each quaternion or its negative, whichever is nearer to the one before; the first keeps its sign."""
    flip = np.ones(len(rotations))
    flip[1:] = np.where(np.sum(rotations[1:] * rotations[:-1], axis=1) < 0, -1.0, 1.0)
    running = np.cumprod(flip)
    relative_to_first = running * running[columns.starts[columns.track]]
    return rotations * relative_to_first[:, None]
