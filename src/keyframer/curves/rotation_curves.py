"""Interpolation of rotations: at constant speed, and squad in log space with TCB weights.

With L the turn of a segment seen from its first key, a_0 = q_0 exp(A) and b_1 = q_1 exp(B), the squad
slerp(slerp(q_0, q_1, u), slerp(a_0, b_1, u), 2u(1-u)) is computed as q_0 exp(uL) exp(2u(1-u) N) with
N = ln(exp(-uL) exp(A) exp(uM)) near A + u (P - L), M = ln(exp(-A) exp(L) exp(B)) near P = L + B - A.

L is the turn of the key: its direction, and as many turns as it says. A and B are computed from turns that take the
short way. That is what 3D Studio does: tests/truth/test_secondreality.py. A segment of a full turn or more has three
pieces, as in other implementations of its controller: half a turn in which A has an effect, constant speed, and half a
turn in which B has an effect.

In a loop the key before the first is q_(-1) = exp(-turn_n) · q_0 and the one after the last exp(turn_1) ·
q_n: as with vectors, the seam has the increments of the last and the first segment, in the parent's frame.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from keyframer.arrays import Flags, Floats

from ..maths import quat
from ..maths.trigonometry import arctan2, sine_and_cosine
from .key_columns import Indices, KeyColumns
from .timeline import Segments
from .track import Interpolation, Wrap
from .vector_curves import tcb_weights

Parts = tuple[Floats, Floats, Floats]

# The direction of a shorter vector part has an error above 1e-10, which adding 2 pi k would magnify.
_VANISHED = 1e-6
# A turn of pi in single precision is 8.7e-8 above pi. Real files have many; they keep their direction.
_HALF_TURN = np.pi * (1 + 1e-6)
# From here on 3D Studio's controller counts a turn as full.
_FULL_TURN = 2 * np.pi - 2e-5


def log_near(v: Parts, w: Floats, predicted: Parts) -> tuple[Parts, Floats]:
    """Return unit axis and half angle of quaternions (v, w), in separate components, nearest to the predicted vectors.

    The logarithm of a quaternion is defined up to 2 pi k along its axis. The spline formulas predict an approximate
    value; that decides k, so that whole turns are not lost. If the quaternion is almost 1 or -1, its axis is noise and
    the predicted axis is used.
    """
    length = np.sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2])
    vanished = np.flatnonzero(length <= _VANISHED)
    angle = arctan2(length, w)
    if len(vanished):
        length[vanished] = 1.0
    axis = (v[0] / length, v[1] / length, v[2] / length)
    aim = axis[0] * predicted[0] + axis[1] * predicted[1] + axis[2] * predicted[2]
    angle += 2 * np.pi * np.rint((aim - angle) * (0.5 / np.pi))
    if len(vanished):
        _use_prediction(vanished, v, w, predicted, axis, angle)
    return axis, angle


def _use_prediction(rows: Indices, v: Parts, w: Floats, predicted: Parts, axis: Parts, angle: Floats) -> None:
    """Overwrite axis and angle in rows whose vector part is almost zero."""
    short = np.stack([part[rows] for part in v])
    wanted = np.stack([part[rows] for part in predicted])
    front = w[rows] > 0
    expected = np.sqrt(np.sum(wanted * wanted, axis=0))
    known = expected > 0
    direction = np.where(known, wanted / np.where(known, expected, 1.0), 0.0)
    along = np.sum(direction * short, axis=0)
    base = np.where(front, along, np.pi - along)
    whole_turns = np.rint((expected - base) * (0.5 / np.pi))
    turned = base + 2 * np.pi * whole_turns
    # No whole turn, or no prediction: the vector part is the logarithm (of -q, if q is near -1).
    plain = (front & (whole_turns == 0)) | ~known
    length = np.sqrt(np.sum(short * short, axis=0))
    plain_axis = short / np.where(length > 0, length, 1.0) * np.where(front, 1.0, -1.0)
    for i in range(3):
        axis[i][rows] = np.where(plain, plain_axis[i], direction[i])
    angle[rows] = np.where(plain, length, turned)


Quaternion = tuple[Any, Any, Any, Any]


def still_rotations(columns: KeyColumns, turns: Floats) -> Flags:
    """Return (n,) flags: true if no key after the first rotates."""
    moving = (turns != 0).any(axis=1)
    moving[columns.starts[columns.counts > 0]] = False
    return np.asarray(np.bincount(columns.track[moving], minlength=len(columns.counts)) == 0)


def has_constant_speed(columns: KeyColumns) -> bool:
    """Return whether TCB rotations have constant speed: no loops, at most two keys, no tension, continuity or bias."""
    return not (columns.has_tcb or Wrap.LOOP in columns.wraps) and bool(columns.counts.max() <= 2)


class ConstantSpeedTable:
    """Step, linear and sampled rotations, and others of constant speed: q_0 exp(uL)."""

    def __init__(self, columns: KeyColumns, segments: Segments, rotations: Floats, turns: Floats) -> None:
        steps = columns.where([kind is Interpolation.STEP for kind in columns.interpolations])
        ahead = np.where(steps[:, None], 0.0, _turns_ahead(segments, turns))
        local_turns = quat.rotate(quat.conjugate(rotations), ahead)
        self._columns = np.concatenate([rotations, *_axis_and_angle(local_turns)], axis=1).T.copy()

    def sample(self, rows: Indices, u: Floats, out: Floats) -> None:
        """Write rotation_xyzw at u (P,) of the segments `rows` (P,) into out (P, 4)."""
        table = self._columns.take(rows, axis=1).T  # columns stay contiguous
        _write(out, _product(_columns4(table, 0), _turn(_columns3(table, 4), table[:, 7] * u)))


class SquadTable:
    """TCB and Bezier rotations: see the formula of the module."""

    def __init__(self, columns: KeyColumns, segments: Segments, rotations: Floats, turns: Floats) -> None:
        local_turn, leave, arrive = _turns_and_tangents(columns, segments, rotations, turns)
        table = _squad_rows(rotations, local_turn, leave, arrive)
        half_angle = _axis_and_angle(local_turn)[1][:, 0]
        full = np.flatnonzero(half_angle >= _FULL_TURN / 2)
        self._full_turns = len(full)
        if len(full):
            # the rows of full turns are their first pieces; second and third pieces follow after all rows
            turn, zero = local_turn[full], np.zeros((len(full), 3))
            quarter = turn * (0.5 * np.pi / half_angle[full])[:, None]  # half-angle vector of half a turn
            before_last = quat.multiply(rotations[full], quat.exp(turn - quarter))
            table[full] = _squad_rows(rotations[full], quarter, leave[full], zero)
            middle = _squad_rows(rotations[full], turn, zero, zero)
            last = _squad_rows(before_last, quarter, zero, arrive[full])
            self._second_pieces = np.zeros(len(table), np.intp)
            self._second_pieces[full] = len(table) + np.arange(len(full))
            self._half_turns = np.zeros(len(table))  # 0 for less than a full turn
            self._half_turns[full] = half_angle[full] / (0.5 * np.pi)
            table = np.concatenate([table, middle, last])
        self._columns = table.T.copy()

    def _within_full_turns(self, rows: Indices, u: Floats) -> tuple[Indices, Floats]:
        """Return rows and u with the pieces of full turns instead of the segments."""
        half_turns = self._half_turns.take(rows)
        passed = u * half_turns
        remaining = half_turns - passed
        full = half_turns > 0
        in_last, in_middle = full & (remaining < 1), full & (passed >= 1)
        second = self._second_pieces.take(rows)
        rows = np.where(in_last, second + self._full_turns, np.where(in_middle, second, rows))
        return rows, np.where(in_last, 1 - remaining, np.where(full & ~in_middle, passed, u))

    def sample(self, rows: Indices, u: Floats, out: Floats) -> None:
        """Write rotation_xyzw at u (P,) of the segments `rows` (P,) into out (P, 4)."""
        if self._full_turns:
            rows, u = self._within_full_turns(rows, u)
        table = self._columns.take(rows, axis=1).T  # columns stay contiguous
        local_turn = _turn(_columns3(table, 4), table[:, 7] * u)
        back = (-local_turn[0], -local_turn[1], -local_turn[2], local_turn[3])
        exp_um = _turn(_columns3(table, 12), table[:, 15] * u)
        exp_n = _product(_product(back, _columns4(table, 8)), exp_um)
        a, change = _columns3(table, 16), _columns3(table, 19)
        predicted = (a[0] + u * change[0], a[1] + u * change[1], a[2] + u * change[2])
        axis, angle = log_near(exp_n[:3], exp_n[3], predicted)
        angle *= 2 * u * (1 - u)
        _write(out, _product(_product(_columns4(table, 0), local_turn), _turn(axis, angle)))


def _squad_rows(rotations: Floats, local_turn: Floats, leave: Floats, arrive: Floats) -> Floats:
    """Return the rows of the table: q_0, L, A and B as the formula needs them."""
    turned, start, end = quat.exp(np.stack([local_turn, leave, arrive]))
    exp_m = quat.multiply(quat.multiply(quat.conjugate(start), turned), end)
    axis, angle = log_near(_columns3(exp_m, 0), exp_m[:, 3], _columns3(local_turn + arrive - leave, 0))
    return np.concatenate(
        [
            *(rotations, *_axis_and_angle(local_turn), start),  # columns 0, 4, 7, 8
            *(np.stack(axis, axis=1), angle[:, None]),  # 12, 15: M
            *(leave, arrive - leave),  # 16, 19: A, P - L
        ],
        axis=1,
    )


def _turns_ahead(segments: Segments, turns: Floats) -> Floats:
    """Return (K, 3) the turn of each segment, 0 where no segment starts."""
    ahead = np.zeros(turns.shape)
    ahead[:-1] = turns[1:]
    ahead[~segments.exists] = 0.0
    return ahead


def _turns_and_tangents(
    columns: KeyColumns, segments: Segments, rotations: Floats, turns: Floats
) -> tuple[Floats, Floats, Floats]:
    """Return (K, 3) L of each segment, A at its start and B at its end, 0 where no segment starts."""
    before, after = segments.before, segments.after
    # at an end of a piece, the turn of the one adjacent segment is used for both sides
    short = _short_turns(turns)
    back = short[np.where(before < 0, after, before) + 1]
    ahead = short[np.where(after < 0, before, after) + 1]
    seen_from_parent = np.stack([_turns_ahead(segments, turns), back, ahead])
    local_turn, back, ahead = quat.rotate(quat.conjugate(rotations), seen_from_parent)
    weights = tcb_weights(columns, segments)
    leave = 0.5 * (weights.out_back[:, None] * back + (weights.out_ahead - 1)[:, None] * ahead)
    arrive_at_key = 0.5 * ((1 - weights.in_back)[:, None] * back - weights.in_ahead[:, None] * ahead)
    arrive = np.zeros(arrive_at_key.shape)
    arrive[:-1] = arrive_at_key[1:]
    exists = segments.exists[:, None]
    return local_turn, np.where(exists, leave, 0.0), np.where(exists, arrive, 0.0)


def _short_turns(half_turns: Floats) -> Floats:
    """Return turns (K, 3) that take the short way, for tangents; a full turn or more counts as half a turn."""
    axis, angle = _axis_and_angle(half_turns)
    shorter = np.where(angle >= 0.5 * _FULL_TURN, 0.5 * np.pi, angle - np.pi)
    return np.where(angle > 0.5 * _HALF_TURN, shorter * axis, half_turns)


def _axis_and_angle(half_turns: Floats) -> tuple[Floats, Floats]:
    x, y, z = _columns3(half_turns, 0)
    angle = np.sqrt(x * x + y * y + z * z)[:, None]
    return half_turns / np.where(angle > 0, angle, 1.0), angle


def _columns3(table: Floats, first: int) -> Parts:
    return table[:, first], table[:, first + 1], table[:, first + 2]


def _columns4(table: Floats, first: int) -> Quaternion:
    return table[:, first], table[:, first + 1], table[:, first + 2], table[:, first + 3]


def _turn(axis: Parts, half_angle: Floats) -> Quaternion:
    sine, cosine = sine_and_cosine(half_angle)
    return axis[0] * sine, axis[1] * sine, axis[2] * sine, cosine


def _product(a: Quaternion, b: Quaternion) -> Quaternion:
    ax, ay, az, aw = a
    bx, by, bz, bw = b
    return (
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
        aw * bw - ax * bx - ay * by - az * bz,
    )


def _write(out: Floats, quaternion: Quaternion) -> None:
    for i, part in enumerate(quaternion):
        out[:, i] = part
