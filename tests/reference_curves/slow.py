"""The slow evaluator: one key track at one time in plain Python floats, written from the formulas alone.

It shares nothing with keyframer.curves (no import, no numpy, no helper) and was written before it.
Everything is recomputed for every time, so that each line can be compared with its formula.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

Vector = list[float]
Quaternion = list[float]  # x, y, z, w

WILD = 1e150  # numbers beyond this are left out like infinities: their squares must stay finite
VANISHED = 1e-6  # a vector part shorter than this has no direction worth trusting
HALF_PI = math.pi / 2 * (1 + 1e-6)  # a turn of pi in single precision is slightly more than pi, and is no long way
FULL_TURN = 2 * math.pi - 2e-5


@dataclass
class SlowTrack:
    """A track in plain lists; missing columns are empty."""

    times: list[float]
    values: list[Vector]
    interpolation: str = "TCB"
    wrap: str = "SINGLE"
    form: str = "NONE"
    tension: list[float] = field(default_factory=list)
    continuity: list[float] = field(default_factory=list)
    bias: list[float] = field(default_factory=list)
    ease_to: list[float] = field(default_factory=list)
    ease_from: list[float] = field(default_factory=list)
    tangents_in: list[Vector] = field(default_factory=list)
    tangents_out: list[Vector] = field(default_factory=list)


@dataclass
class Key:
    """One usable key with its TCB and ease values clamped."""

    time: float
    value: Vector
    tension: float
    continuity: float
    bias: float
    ease_to: float
    ease_from: float
    tangent_in: Vector
    tangent_out: Vector


class Margin:
    """How close the nearest branch decision was to the other outcome; tests skip comparisons that are too close."""

    def __init__(self) -> None:
        self.smallest = math.inf

    def saw(self, distance: float) -> None:
        self.smallest = min(self.smallest, abs(distance))


def evaluate(track: SlowTrack, t: float, default: Vector, margin: Margin | None = None) -> Vector:
    """The track's value at time t: the components, or a quaternion x, y, z, w for rotation forms."""
    margin = margin or Margin()
    keys = usable_keys(track)
    if not keys:
        return list(default)
    looping = track.wrap == "LOOP" and keys[-1].time > 0
    t = wrapped(track.wrap, keys, t)
    if track.form == "NONE":
        return vector_value(track.interpolation, keys, looping, t)
    if track.interpolation == "CUBIC":
        return unit(vector_value("CUBIC", keys, looping, t))
    return rotation_value(track, keys, looping, t, margin)


# --- keys -----------------------------------------------------------------------------------------


def usable_keys(track: SlowTrack) -> list[Key]:
    n = len(track.times)

    def number(column: list[float], i: int, low: float, high: float) -> float:
        if not column or math.isnan(column[i]):
            return 0.0
        return min(max(column[i], low), high)

    def tangent(column: list[Vector], i: int) -> Vector:
        if not column:
            return [0.0] * len(track.values[i])
        return [x if usable(x) else 0.0 for x in column[i]]

    keys = [
        Key(
            time=track.times[i],
            value=list(track.values[i]),
            tension=number(track.tension, i, -1, 1),
            continuity=number(track.continuity, i, -1, 1),
            bias=number(track.bias, i, -1, 1),
            ease_to=number(track.ease_to, i, 0, 1),
            ease_from=number(track.ease_from, i, 0, 1),
            tangent_in=tangent(track.tangents_in, i),
            tangent_out=tangent(track.tangents_out, i),
        )
        for i in range(n)
        if usable(track.times[i]) and all(usable(x) for x in track.values[i])
    ]
    keys.sort(key=lambda key: key.time)  # Python's sort is stable
    if track.interpolation == "BEZIER":  # without handles: TCB with zeros
        for key in keys:
            key.tension = key.continuity = key.bias = 0.0
    if track.interpolation not in ("TCB", "LINEAR"):
        for key in keys:
            key.ease_to = key.ease_from = 0.0
    return keys


def usable(x: float) -> bool:
    return math.isfinite(x) and abs(x) <= WILD


def wrapped(wrap: str, keys: list[Key], t: float) -> float:
    if math.isnan(t):
        return -math.inf
    first, last = keys[0].time, keys[-1].time
    if wrap == "SINGLE" or math.isinf(t) or last <= 0:
        return t
    if t < 0 and first < 0:
        return t
    return t % last


def eased(u: float, left: Key, right: Key) -> float:
    a, b = left.ease_from, right.ease_to
    if a + b > 1:
        a, b = a / (a + b), b / (a + b)
    k = 1 / (2 - a - b)
    if u < a:
        return k * u * u / a
    if u <= 1 - b:
        return k * (2 * u - a)
    return 1 - k * (1 - u) ** 2 / b


def segment_at(keys: list[Key], t: float) -> tuple[int, float] | None:
    """The index of the key before t and the eased fraction of the way to the next; None where the value of one key
    holds.
    """
    if t < keys[0].time or t >= keys[-1].time:
        return None
    i = max(j for j in range(len(keys)) if keys[j].time <= t)
    u = (t - keys[i].time) / (keys[i + 1].time - keys[i].time)
    return i, eased(u, keys[i], keys[i + 1])


def neighbours(keys: list[Key], looping: bool, j: int) -> tuple[int | None, int | None]:
    """The segments before and after key j (by the index of their first key), across the seam in a loop."""
    n = len(keys)

    def lasting(i: int) -> int | None:
        return i if 0 <= i < n - 1 and keys[i + 1].time > keys[i].time else None

    before = lasting(n - 2) if j == 0 and looping else lasting(j - 1)
    after = lasting(0) if j == n - 1 and looping else lasting(j)
    return before, after


def weights(key: Key, before_length: float, after_length: float) -> tuple[float, float, float, float]:
    """Weights of D- and D+ in the incoming tangent, then in the outgoing tangent."""
    h = (before_length + after_length) / 2
    fp, fn, c = before_length / h, after_length / h, abs(key.continuity)
    fp, fn = fp + c - c * fp, fn + c - c * fn
    m = (1 - key.tension) / 2
    up, down = 1 + key.continuity, 1 - key.continuity
    return (
        m * down * (1 + key.bias) * fp,
        m * up * (1 - key.bias) * fp,
        m * up * (1 + key.bias) * fn,
        m * down * (1 - key.bias) * fn,
    )


# --- vectors --------------------------------------------------------------------------------------


def vector_value(interpolation: str, keys: list[Key], looping: bool, t: float) -> Vector:
    where = segment_at(keys, t)
    if where is None:
        return list(keys[0].value if t < keys[0].time else keys[-1].value)
    i, u = where
    left, right = keys[i], keys[i + 1]
    length = right.time - left.time
    if interpolation == "STEP":
        return list(left.value)
    if interpolation in ("LINEAR", "SAMPLED"):
        return [a + u * (b - a) for a, b in zip(left.value, right.value, strict=True)]
    if interpolation == "CUBIC":
        start = [length * x for x in left.tangent_out]
        end = [length * x for x in right.tangent_in]
    else:
        start, end = tcb_tangents(keys, looping, i)
    h00, h10 = 2 * u**3 - 3 * u**2 + 1, u**3 - 2 * u**2 + u
    h01, h11 = 3 * u**2 - 2 * u**3, u**3 - u**2
    return [
        h00 * a + h10 * s + h01 * b + h11 * e for a, s, b, e in zip(left.value, start, right.value, end, strict=True)
    ]


def tcb_tangents(keys: list[Key], looping: bool, i: int) -> tuple[Vector, Vector]:
    """Tangents at both ends of the segment from key i to key i + 1, per segment."""
    chord = minus(keys[i + 1].value, keys[i].value)
    start = interior_tangents(keys, looping, i)
    end = interior_tangents(keys, looping, i + 1)
    if start is None and end is None:
        return times(1 - keys[i].tension, chord), times(1 - keys[i + 1].tension, chord)
    if start is None:
        return times((1 - keys[i].tension) / 2, minus(times(3, chord), end[0])), end[0]
    if end is None:
        return start[1], times((1 - keys[i + 1].tension) / 2, minus(times(3, chord), start[1]))
    return start[1], end[0]


def interior_tangents(keys: list[Key], looping: bool, j: int) -> tuple[Vector, Vector] | None:
    """Incoming and outgoing tangent of key j, or None if it is an end of its piece."""
    before, after = neighbours(keys, looping, j)
    if before is None or after is None:
        return None
    back = minus(keys[before + 1].value, keys[before].value)
    ahead = minus(keys[after + 1].value, keys[after].value)
    in_back, in_ahead, out_back, out_ahead = weights(
        keys[j], keys[before + 1].time - keys[before].time, keys[after + 1].time - keys[after].time
    )
    return (
        plus(times(in_back, back), times(in_ahead, ahead)),
        plus(times(out_back, back), times(out_ahead, ahead)),
    )


# --- rotations ------------------------------------------------------------------------------------


def rotation_value(track: SlowTrack, keys: list[Key], looping: bool, t: float, margin: Margin) -> Quaternion:
    absolute, turns = absolute_rotations(track.form, keys, margin)
    where = segment_at(keys, t)
    if where is None:
        return absolute[0] if t < keys[0].time else absolute[-1]
    i, u = where
    q0, q1 = absolute[i], absolute[i + 1]
    way = turned(conjugate(q0), turns[i + 1])  # L: the rotation of the key, relative to q0
    if track.interpolation == "STEP":
        return q0
    if track.interpolation in ("LINEAR", "SAMPLED"):
        return product(q0, exp(times(u, way)))
    a = outgoing_half_exponent(keys, absolute, turns, looping, i, margin)
    b = incoming_half_exponent(keys, absolute, turns, looping, i + 1, margin)
    angle = 2 * math.sqrt(sum(x * x for x in way))
    margin.saw(angle - FULL_TURN)
    none = [0.0, 0.0, 0.0]
    if angle < FULL_TURN:
        return squad(q0, way, a, b, u, margin)
    axis = times(2 / angle, way)
    quarter = times(math.pi / 2, axis)  # of quaternion space: its product with q is q (axis, 0)
    s = u * angle / math.pi
    v = s + 1 - angle / math.pi
    if s < 1:
        return squad(q0, quarter, a, none, s, margin)  # squad(p, a, pp, pp, s)
    if v <= 0:
        return product(q0, exp(times(u, way)))
    qq = times(-1, product(q1, [*axis, 0.0]))
    return squad(qq, quarter, none, b, v, margin)


def squad(q0: Quaternion, way: Vector, a: Vector, b: Vector, u: float, margin: Margin) -> Quaternion:
    """slerp(slerp(q0, q1, u), slerp(a0, b1, u), 2u(1-u)), with q1 = q0 exp(way), a0 = q0 exp(a), b1 = q1 exp(b)."""
    q1 = product(q0, exp(way))
    a0, b1 = product(q0, exp(a)), product(q1, exp(b))
    predicted = minus(plus(way, b), a)  # P = L + B - A
    inner = log_near(product(conjugate(a0), b1), predicted, margin)
    chord = product(q0, exp(times(u, way)))
    other = product(a0, exp(times(u, inner)))
    outer = log_near(product(conjugate(chord), other), plus(a, times(u, minus(predicted, way))), margin)
    return product(chord, exp(times(2 * u * (1 - u), outer)))


def absolute_rotations(form: str, keys: list[Key], margin: Margin) -> tuple[list[Quaternion], list[Vector]]:
    """q_j of every key, and the half-angle vector (in the parent's frame) of the turn that leads to it."""
    absolute: list[Quaternion] = []
    turns: list[Vector] = []
    current = [0.0, 0.0, 0.0, 1.0]
    for key in keys:
        if form == "AXIS_ANGLE_RELATIVE":
            turn = half_turn(key.value)
            current = product(exp(turn), current)
        elif form == "QUATERNION_RELATIVE":
            turn = log(unit(key.value))
            current = product(exp(turn), current)
        else:
            q = exp(half_turn(key.value)) if form == "AXIS_ANGLE_ABSOLUTE" else unit(key.value)
            if absolute:  # the first key keeps its sign
                side = sum(a * b for a, b in zip(q, current, strict=True))
                margin.saw(side)
                if side < 0:
                    q = times(-1, q)
            turn = log(product(q, conjugate(current)))
            current = q
        absolute.append(current)
        turns.append(turn)
    return absolute, turns


def half_turn(axis_angle: Vector) -> Vector:
    x, y, z, angle = axis_angle
    length = math.sqrt(x * x + y * y + z * z)
    if length == 0:
        return [0.0, 0.0, 0.0]
    return times(angle / 2, [x / length, y / length, z / length])


def tangent_difference(turn: Vector, margin: Margin) -> Vector:
    """The turn by the short way: of q and -q the one nearer to the neighbour. A full turn or more: half pi."""
    half = math.sqrt(sum(x * x for x in turn))
    margin.saw(2 * half - FULL_TURN)
    margin.saw(half - HALF_PI)
    if 2 * half >= FULL_TURN:
        return times(math.pi / 2 / half, turn)
    if half > HALF_PI:
        return times((half - math.pi) / half, turn)
    return turn


def log_pair(
    keys: list[Key], absolute: list[Quaternion], turns: list[Vector], looping: bool, j: int, margin: Margin
) -> tuple[Vector, Vector, tuple[float, float, float, float]]:
    """L- and L+ of key j seen from q_j, and the TCB weights."""
    before, after = neighbours(keys, looping, j)
    here = conjugate(absolute[j])

    def difference(segment: int) -> Vector:
        return turned(here, tangent_difference(turns[segment + 1], margin))

    if before is None or after is None:  # an end: the one existing difference twice
        only = before if after is None else after
        assert only is not None
        return difference(only), difference(only), weights(keys[j], 1, 1)
    lengths = (
        keys[before + 1].time - keys[before].time,
        keys[after + 1].time - keys[after].time,
    )
    return difference(before), difference(after), weights(keys[j], *lengths)


def outgoing_half_exponent(
    keys: list[Key], absolute: list[Quaternion], turns: list[Vector], looping: bool, j: int, margin: Margin
) -> Vector:
    back, ahead, (_, _, out_back, out_ahead) = log_pair(keys, absolute, turns, looping, j, margin)
    kdm, kdp = out_back, out_ahead - 1
    return times(0.5, plus(times(kdm, back), times(kdp, ahead)))


def incoming_half_exponent(
    keys: list[Key], absolute: list[Quaternion], turns: list[Vector], looping: bool, j: int, margin: Margin
) -> Vector:
    back, ahead, (in_back, in_ahead, _, _) = log_pair(keys, absolute, turns, looping, j, margin)
    ksm, ksp = 1 - in_back, -in_ahead
    return times(0.5, plus(times(ksm, back), times(ksp, ahead)))


def log_near(q: Quaternion, predicted: Vector, margin: Margin) -> Vector:
    """The logarithm of q on the branch (+ 2 pi k along its axis) nearest the prediction."""
    v, w = q[:3], q[3]
    length = math.sqrt(sum(x * x for x in v))
    expected = math.sqrt(sum(x * x for x in predicted))
    if length > VANISHED:
        axis = [x / length for x in v]
        angle = math.atan2(length, w)
        aim = sum(a * b for a, b in zip(axis, predicted, strict=True))
    elif expected == 0:
        return v if w > 0 else times(-1, v)
    else:
        axis = [x / expected for x in predicted]
        along = sum(a * b for a, b in zip(axis, v, strict=True))
        angle = along if w > 0 else math.pi - along
        aim = expected
    way = (aim - angle) / (2 * math.pi)
    turns = round(way)
    margin.saw(0.5 - abs(way - turns))
    if length <= VANISHED and w > 0 and turns == 0:
        return v
    return times(angle + 2 * math.pi * turns, axis)


# --- quaternions ----------------------------------------------------------------------------------


def plus(a: Vector, b: Vector) -> Vector:
    return [x + y for x, y in zip(a, b, strict=True)]


def minus(a: Vector, b: Vector) -> Vector:
    return [x - y for x, y in zip(a, b, strict=True)]


def times(factor: float, a: Vector) -> Vector:
    return [factor * x for x in a]


def product(p: Quaternion, q: Quaternion) -> Quaternion:
    a, b, c, d = p
    e, f, g, h = q
    return [
        d * e + a * h + b * g - c * f,
        d * f - a * g + b * h + c * e,
        d * g + a * f - b * e + c * h,
        d * h - a * e - b * f - c * g,
    ]


def conjugate(q: Quaternion) -> Quaternion:
    return [-q[0], -q[1], -q[2], q[3]]


def unit(q: Quaternion) -> Quaternion:
    length = math.sqrt(sum(x * x for x in q))
    return [x / length for x in q] if length > 0 else [0.0, 0.0, 0.0, 1.0]


def turned(q: Quaternion, v: Vector) -> Vector:
    return product(product(q, [*v, 0.0]), conjugate(q))[:3]


def exp(v: Vector) -> Quaternion:
    angle = math.sqrt(sum(x * x for x in v))
    if angle == 0:
        return [0.0, 0.0, 0.0, 1.0]
    s = math.sin(angle) / angle
    return [s * v[0], s * v[1], s * v[2], math.cos(angle)]


def log(q: Quaternion) -> Vector:
    length = math.sqrt(sum(x * x for x in q[:3]))
    if length == 0:
        return [0.0, 0.0, 0.0]
    return times(math.atan2(length, q[3]) / length, q[:3])
