"""The named curves, as plain lists: each shows one feature of keys."""

from __future__ import annotations

import math

from .slow import SlowTrack, Vector

NAN, INF = math.nan, math.inf
X, Y, Z = [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]


def column(*numbers: float) -> list[Vector]:
    """Scalar values."""
    return [[x] for x in numbers]


def turns(*keys: tuple[Vector, float]) -> list[Vector]:
    """Axis-angle values from axes and degrees."""
    return [[*axis, math.radians(degrees)] for axis, degrees in keys]


def quaternions(*keys: tuple[Vector, float]) -> list[Vector]:
    """x, y, z, w from unit axes and degrees."""
    halves = [(axis, math.radians(degrees) / 2) for axis, degrees in keys]
    return [[*(a * math.sin(half) for a in axis), math.cos(half)] for axis, half in halves]


RELATIVE, ABSOLUTE = "AXIS_ANGLE_RELATIVE", "AXIS_ANGLE_ABSOLUTE"
Q_RELATIVE, Q_ABSOLUTE = "QUATERNION_RELATIVE", "QUATERNION_ABSOLUTE"

EVEN = [0.0, 10.0, 20.0, 30.0]
UNEVEN = [0.0, 3.0, 20.0, 30.0]
WAVE = column(0, 5, -3, 2)
PATH: list[Vector] = [[0, 0, 0], [5, 2, -1], [3, 8, 4], [-2, 6, 1]]
TUMBLE = turns((Z, 30), (X, 80), (Y, -60), ([1, 1, 0], 100))
SIZE = math.sqrt(0.5)
POSES = quaternions((Z, 20), (X, 80), (Y, 120), ([SIZE, SIZE, 0], 50))


def vectors() -> dict[str, SlowTrack]:
    """Scalars and vectors, without wrap."""
    return {
        "step_scalar": SlowTrack(EVEN, WAVE, "STEP"),
        "step_vector": SlowTrack(UNEVEN, PATH, "STEP"),
        "linear_scalar": SlowTrack(EVEN, WAVE, "LINEAR"),
        "linear_vector_uneven": SlowTrack(UNEVEN, PATH, "LINEAR"),
        "linear_ease": SlowTrack(EVEN, WAVE, "LINEAR", ease_to=[0, 0.5, 0, 1], ease_from=[0.3, 0, 1, 0]),
        "sampled_scalar": SlowTrack([2, 3, 4, 5, 6], column(1, 4, 2, 2, 7), "SAMPLED"),
        "sampled_vector": SlowTrack([0, 0.5, 1, 1.5], PATH, "SAMPLED"),
        "bezier": SlowTrack(UNEVEN, PATH, "BEZIER"),
        "bezier_ignores_shape": SlowTrack(EVEN, WAVE, "BEZIER", tension=[1] * 4, ease_to=[1] * 4, bias=[1] * 4),
        "cubic_scalar": SlowTrack(
            UNEVEN, WAVE, "CUBIC", tangents_in=column(9, 1, -0.5, 0), tangents_out=column(1, -2, 0.5, 9)
        ),
        "single_key": SlowTrack([7], column(3)),
        "empty": SlowTrack([], []),
        "two_keys": SlowTrack([0, 10], column(1, 4)),
        "two_keys_tension": SlowTrack([0, 10], column(1, 4), tension=[1, -1]),
        "tcb_plain": SlowTrack(EVEN, WAVE),
        "tcb_vector": SlowTrack(EVEN, PATH),
        "tcb_uneven": SlowTrack(UNEVEN, WAVE),
        "tcb_very_uneven": SlowTrack([0, 1, 1.001, 300], PATH),
        "tcb_negative_times": SlowTrack([-30, -12, -5, 4], WAVE),
        "tcb_uneven_continuity": SlowTrack(UNEVEN, WAVE, continuity=[0.4, -0.6, 0.8, 0]),
        **{
            f"tcb_{name}_{'plus' if sign > 0 else 'minus'}": SlowTrack(UNEVEN, WAVE, **{name: [sign] * 4})
            for name in ("tension", "continuity", "bias")
            for sign in (1.0, -1.0)
        },
        "tcb_all_extremes": SlowTrack(
            EVEN, WAVE, tension=[1, -1, -1, 1], continuity=[-1, 1, -1, 1], bias=[1, -1, 1, -1]
        ),
        "tcb_absurd": SlowTrack(EVEN, WAVE, tension=[5, -9, NAN, 0], continuity=[INF, -7, 0, NAN], bias=[3] * 4),
        "equal_times": SlowTrack([0, 10, 10, 20, 30], column(0, 4, -2, 1, 0)),
        "equal_times_triple": SlowTrack([0, 5, 10, 10, 10, 20, 25], column(0, 1, 4, 99, -2, 1, 3)),
        "equal_times_at_both_ends": SlowTrack([0, 0, 10, 20, 20], column(5, 0, 3, 1, -4)),
        "equal_times_only": SlowTrack([4, 4], column(1, 2)),
        "equal_times_linear": SlowTrack([0, 10, 10, 20], PATH, "LINEAR"),
        "unsorted": SlowTrack([20, 0, 30, 10, 10], column(-3, 0, 2, 5, 6), tension=[0.5, 0, 0, -0.5, 0.2]),
        "broken_keys": SlowTrack([0, NAN, 10, 20, INF, 30], column(0, 7, 5, NAN, 8, 2)),
        "all_broken": SlowTrack([0, NAN], column(INF, 1)),
        "huge_frames": SlowTrack([0, 2.0**31 - 2, 2.0**31 - 1], column(0, 1, 5)),
    }


def eases() -> dict[str, SlowTrack]:
    """Ease in and ease out, and every combination of the five spline flags of 3DS keys."""
    tracks = {
        "ease_to": SlowTrack(EVEN, WAVE, ease_to=[0.5] * 4),
        "ease_from": SlowTrack(EVEN, WAVE, ease_from=[0.5] * 4),
        "ease_both": SlowTrack(EVEN, WAVE, ease_to=[0.25] * 4, ease_from=[0.4] * 4),
        "ease_sum_is_one": SlowTrack(EVEN, WAVE, ease_to=[0.75] * 4, ease_from=[0.25] * 4),
        "ease_sum_beyond_one": SlowTrack(EVEN, WAVE, ease_to=[1, 0.9, 0.7, 1], ease_from=[1, 0.6, 0.7, 1]),
        "ease_absurd": SlowTrack(EVEN, WAVE, ease_to=[0, -3, NAN, 8], ease_from=[INF, 7, 0.5, 0]),
    }
    shapes = {
        "tension": [0.5, -0.5, 0.8, 0.2],
        "continuity": [0.0, -0.7, 0.5, 0.0],
        "bias": [0.3, 0.6, -0.9, 0.0],
        "ease_to": [0.0, 0.6, 0.3, 0.8],
        "ease_from": [0.7, 0.2, 0.5, 0.0],
    }
    for flags in range(32):
        present = {name: numbers for bit, (name, numbers) in enumerate(shapes.items()) if flags >> bit & 1}
        tracks[f"flags_{flags:05b}"] = SlowTrack(UNEVEN, WAVE, **present)
    return tracks


def wraps() -> dict[str, SlowTrack]:
    """Curves with repeat and loop."""
    closed = column(1, 5, -3, 1)
    return {
        "repeat_linear": SlowTrack(EVEN, WAVE, "LINEAR", "REPEAT"),
        "repeat_step": SlowTrack(EVEN, WAVE, "STEP", "REPEAT"),
        "repeat_tcb": SlowTrack(UNEVEN, closed, wrap="REPEAT"),
        "repeat_late_start": SlowTrack([8, 12, 20], column(1, 4, 2), wrap="REPEAT"),
        "repeat_lead_in": SlowTrack([-10, 5, 20], column(0, 4, 2), wrap="REPEAT"),
        "repeat_without_period": SlowTrack([-20, -10, 0], column(0, 4, 2), wrap="REPEAT"),
        "loop_tcb": SlowTrack(EVEN, closed, wrap="LOOP"),
        "loop_uneven": SlowTrack(UNEVEN, closed, wrap="LOOP", bias=[0.5, 0, 0, -0.5], tension=[0, 0.3, 0, 0.2]),
        "loop_open": SlowTrack(UNEVEN, PATH, wrap="LOOP"),
        "loop_two_keys": SlowTrack([0, 10], column(1, 4), wrap="LOOP"),
        "loop_jump_inside": SlowTrack([0, 10, 10, 20], column(1, 4, -2, 1), wrap="LOOP"),
        "loop_jump_at_start": SlowTrack([0, 0, 10, 20], column(1, 4, -2, 1), wrap="LOOP"),
        "loop_jump_at_end": SlowTrack([0, 10, 20, 20], column(1, 4, -2, 1), wrap="LOOP"),
        "loop_single_key": SlowTrack([5], column(2), wrap="LOOP"),
        "loop_ease": SlowTrack(EVEN, closed, wrap="LOOP", ease_to=[0.2] * 4, ease_from=[0.5] * 4),
        "loop_lead_in": SlowTrack([-10, 5, 20], column(0, 4, 2), wrap="LOOP"),
        "loop_turning": SlowTrack(EVEN, turns((Z, 0), (Z, 90), (Z, 120), (Z, 150)), wrap="LOOP", form=RELATIVE),
        "loop_tumble_open": SlowTrack(UNEVEN, TUMBLE, wrap="LOOP", form=RELATIVE, bias=[0.4, 0, 0, 0.2]),
        "loop_quaternions": SlowTrack(EVEN, [*POSES[:3], POSES[0]], wrap="LOOP", form=Q_ABSOLUTE),
        "repeat_tumble": SlowTrack(UNEVEN, TUMBLE, wrap="REPEAT", form=RELATIVE),
        "repeat_linear_turn": SlowTrack([0, 30], turns((Z, 0), (Z, 540)), "LINEAR", "REPEAT", RELATIVE),
    }


def rotations() -> dict[str, SlowTrack]:
    """Rotations in every form."""
    tracks = {
        f"turn_{degrees}": SlowTrack(
            [0, 10, 25, 40, 50],
            turns((Y, 15), (Y, 40), (Y, degrees), (Y, -30), (Y, 20)),
            form=RELATIVE,
            tension=[0, 0.2, 0, -0.3, 0],
            bias=[0, 0, 0.4, 0, 0],
        )
        for degrees in (200, 240, 300, 360, 540, 720, 1000, -540)
    }
    tracks |= {
        "turn_two_keys_540": SlowTrack([0, 10], turns((Z, 0), (Z, 540)), form=RELATIVE),
        "turn_two_keys_360": SlowTrack([0, 10], turns((Z, 0), (Z, 360)), form=RELATIVE, tension=[0.5, -1]),
        "turn_linear_540": SlowTrack([0, 10], turns((X, 30), ([3, 0, 4], 540)), "LINEAR", form=RELATIVE),
        "turn_single_key": SlowTrack([5], turns((X, 300)), form=RELATIVE),
        "turn_still": SlowTrack([0, 10], turns((X, 70), (X, 0)), form=RELATIVE),
        "tumble_step": SlowTrack(EVEN, TUMBLE, "STEP", form=RELATIVE),
        "tumble_linear": SlowTrack(EVEN, TUMBLE, "LINEAR", form=RELATIVE),
        "tumble_tcb": SlowTrack(UNEVEN, TUMBLE, form=RELATIVE),
        "tumble_bezier": SlowTrack(UNEVEN, TUMBLE, "BEZIER", form=RELATIVE, tension=[1] * 4),
        "tumble_extremes": SlowTrack(
            EVEN,
            TUMBLE,
            form=RELATIVE,
            tension=[1, -1, 0, 0],
            continuity=[0, 1, -1, 0.5],
            bias=[1, 1, -1, -1],
        ),
        "tumble_ease": SlowTrack(EVEN, TUMBLE, form=RELATIVE, ease_to=[0.5] * 4, ease_from=[0.8, 0, 0.3, 0]),
        "tumble_long_way": SlowTrack(EVEN, turns((Z, 0), (X, 260), (Y, 50), (Z, 300)), form=RELATIVE),
        "tumble_many_turns": SlowTrack(EVEN, turns((Z, 0), (X, 800), (Y, 40), (Z, -500)), form=RELATIVE),
        "tumble_equal_times": SlowTrack([0, 10, 10, 20], TUMBLE, form=RELATIVE),
        "tumble_unsorted": SlowTrack([20, 0, 30, 10], TUMBLE, form=RELATIVE),
        "tumble_broken_keys": SlowTrack([0, 10, NAN, 20, 30], [*TUMBLE[:3], [0, 0, 1, NAN], TUMBLE[3]], form=RELATIVE),
        "tumble_zero_axis": SlowTrack(EVEN, [TUMBLE[0], [0, 0, 0, 2], *TUMBLE[2:]], form=RELATIVE),
        "tumble_long_axis": SlowTrack(EVEN, turns(([0, 0, 9], 30), ([2, -3, 6], 70), (X, 5), (Y, 9)), form=RELATIVE),
        "axis_angle_linear": SlowTrack(EVEN, TUMBLE, "LINEAR", form=ABSOLUTE),
        "axis_angle_tcb": SlowTrack(UNEVEN, turns((Z, 10), (Z, 350), (X, 700), (Y, 40)), form=ABSOLUTE),
        "quaternion_relative_linear": SlowTrack(EVEN, POSES, "LINEAR", form=Q_RELATIVE),
        "quaternion_relative_tcb": SlowTrack(UNEVEN, POSES, form=Q_RELATIVE, tension=[0, 0.4, -0.4, 0]),
        "quaternion_relative_long_way": SlowTrack(
            EVEN, quaternions((Z, 0), (X, 250), (Y, 60), (Z, 330)), form=Q_RELATIVE
        ),
        "quaternion_linear": SlowTrack(EVEN, POSES, "LINEAR", form=Q_ABSOLUTE),
        "quaternion_sampled": SlowTrack([0, 1, 2, 3], POSES, "SAMPLED", form=Q_ABSOLUTE),
        "quaternion_step": SlowTrack(EVEN, POSES, "STEP", form=Q_ABSOLUTE),
        "quaternion_tcb": SlowTrack(UNEVEN, POSES, form=Q_ABSOLUTE, continuity=[0, 0.5, -0.5, 0]),
        "quaternion_sign_flips": SlowTrack(
            EVEN, [POSES[0], [-x for x in POSES[1]], POSES[2], [-x for x in POSES[3]]], form=Q_ABSOLUTE
        ),
        "quaternion_not_unit": SlowTrack(
            EVEN, [[0, 0, 0, 0], [0, 0, 5, 5], [1, 2, 3, 4], [9, 0, 0, 1]], form=Q_ABSOLUTE
        ),
        "quaternion_cubic": SlowTrack(
            EVEN,
            POSES,
            "CUBIC",
            form=Q_ABSOLUTE,
            tangents_in=[[0.0, 0.02, 0.01, 0.0]] * 4,
            tangents_out=[[0.03, 0.0, 0.0, -0.05]] * 4,
        ),
    }
    return tracks


CURVES: dict[str, SlowTrack] = {**vectors(), **eases(), **wraps(), **rotations()}


def default_of(track: SlowTrack) -> Vector:
    """The value of a track without usable keys: different from the default of the library."""
    return [0.5] if track.form == "NONE" else [0.0, 0.0, 1.0, 0.0]


def sample_times(track: SlowTrack, count: int = 26) -> list[float]:
    """Times before, at, between and after the keys; three periods where the track repeats."""
    known = [t for t in track.times if math.isfinite(t)] or [0.0]
    low, high = min(known), max(known)
    room = (high - low) or 1.0
    before, after = (0.15, 0.15) if track.wrap == "SINGLE" else (1.2, 1.3)
    low, high = low - before * room, high + after * room
    spread = [low + (high - low) * i / (count - 1) for i in range(count)]
    return sorted({*spread, *known})
