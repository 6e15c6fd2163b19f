"""Fitting tracks to the rules of a format: which keys are kept, which are sampled, and what the report says."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from keyframer.curves import Interpolation, RotationForm, Track, Wrap, compile_track
from keyframer.formats.kit.key_tracks import KeyFitter, KeyRules, as_tcb, is_eased, single_key, tcb_keys
from keyframer.formats.kit.scene_writing import Tolerance
from keyframer.scene import Channel, Clip
from keyframer.scene.loss_report import Loss, LossReport, Outcome

TICKS = KeyRules(4800.0, 160.0)
TOLERANCE = Tolerance(0.001, 0.01, 0.001)


def line(*times: float, kind: str = "position", how: Interpolation = Interpolation.TCB, **fields: object) -> Track:
    values = np.array([[index, 2.0 * index, 0.0] for index in range(len(times))])
    return Track(kind, np.array(times), values, how, **fields)  # type: ignore[arg-type]


def spin(*angles: float, wrap: Wrap = Wrap.SINGLE, how: Interpolation = Interpolation.TCB) -> Track:
    """Rotations about Z, each relative to the one before, a second apart."""
    values = np.array([[0.0, 0.0, 1.0, angle] for angle in angles])
    return Track("rotation", 30.0 * np.arange(len(angles)), values, how, wrap, RotationForm.AXIS_ANGLE_RELATIVE)


def fit(track: Track, rules: KeyRules = TICKS, end: float = 0.0) -> tuple[Track | None, list[Loss]]:
    """The fitted track of a clip with 30 frames per second, and the report."""
    report = LossReport("any")
    clip = Clip(channels=[Channel(0, track)], end=end)
    fitted_track = KeyFitter(clip, rules, TOLERANCE, report).fit(track, "/nodes/box/position")
    return fitted_track, list(report)


def fitted(track: Track, rules: KeyRules = TICKS, end: float = 0.0) -> tuple[Track, Loss]:
    fitted_track, (loss,) = fit(track, rules, end)
    assert fitted_track is not None
    assert loss.path == "/nodes/box/position"
    return fitted_track, loss


def difference(a: Track, b: Track, frames: np.ndarray[tuple[int], np.dtype[np.float64]], factor: float) -> float:
    """The largest difference of two curves at the given frames; the second has ``factor`` units per frame."""
    return float(np.abs(compile_track(a)(frames) - compile_track(b)(frames * factor)).max())


# --- keys that fit are unchanged -------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", [Interpolation.TCB, Interpolation.LINEAR, Interpolation.BEZIER])
def test_keys_that_fit_are_unchanged(how: Interpolation) -> None:
    track = line(0.0, 10.0, 30.0, how=how)
    fitted_track, loss = fitted(track)
    assert fitted_track.times.tolist() == [0, 1600, 4800]
    assert fitted_track.values is track.values
    assert fitted_track.interpolation is how
    assert (loss.outcome, loss.args["keys"]) == (
        Outcome.EXACT,
        f"3 {'TCB' if how is Interpolation.TCB else how.value} keys",
    )


def test_times_with_rounding_errors_are_put_on_frames() -> None:
    track = line(0.0, 10.0 + 1e-10, 30.0 - 1e-10)
    fitted_track, loss = fitted(track)
    assert fitted_track.times.tolist() == [0, 1600, 4800]
    assert loss.outcome is Outcome.EXACT


def test_times_between_frames_are_rounded_and_reported() -> None:
    """The error in the report is that of the values: here 2 units in 10 frames, along Y, at the key."""
    fitted_track, loss = fitted(line(0.0, 10.001, 30.0, how=Interpolation.LINEAR))
    assert fitted_track.times.tolist() == [0, 1600, 4800]
    assert (loss.outcome, loss.unit) == (Outcome.APPROXIMATED, "scene unit")
    assert loss.type.key == "TIMES_ROUNDED:keys"
    assert loss.args["seconds"] == pytest.approx(0.001 / 30)
    assert loss.error == pytest.approx(2.0 * 0.001 / 10, rel=0.5)


FRAMES = KeyRules(30.0, 1.0, rate_advice="more")


def test_keys_between_frames_are_sampled_on_frames() -> None:
    """The line has a corner at 10.5. Frames 10 and 11 are on it; the straight piece between them cuts the corner."""
    fitted_track, loss = fitted(line(0.0, 10.5, 30.0, how=Interpolation.LINEAR), FRAMES)
    assert fitted_track.times.tolist() == [0, 10, 11, 30]
    heights = np.interp([0, 10, 11, 30], [0, 10.5, 30], [0, 2, 4])
    np.testing.assert_allclose(fitted_track.values[:, 1], heights)
    assert (loss.type.key, loss.args) == ("KEYS_CONVERTED:between frames", {"keys": "4 linear keys"})
    assert loss.advice == "fps=20 would store them exactly"
    cut = 2 - (heights[1] + heights[2]) / 2
    assert (loss.outcome, loss.unit) == (Outcome.APPROXIMATED, "scene unit")
    assert loss.error == pytest.approx(cut * math.hypot(1, 0.5))


def test_constant_speed_is_exact_although_its_keys_are_between_frames() -> None:
    """A quarter of a second is 7.5 frames: rounding would be wrong by half a frame, 6 degrees."""
    quarters = spin(0.0, *[math.pi / 2] * 4, how=Interpolation.LINEAR)
    fitted_track, loss = fitted(replace(quarters, times=7.5 * np.arange(5)), FRAMES)
    assert not np.mod(fitted_track.times, 1).any()
    assert loss.error == pytest.approx(0.0, abs=1e-6)
    angles = compile_track(fitted_track)(np.arange(31.0))
    np.testing.assert_allclose(np.abs(angles[:, 2]), np.abs(np.sin(np.arange(31.0) * 2 * math.pi / 60)), atol=1e-9)


def test_rounding_is_kept_if_it_is_nearer() -> None:
    """A peak just after frame 10, high and narrow: the frames on both sides of it are far below it."""
    track = Track("position", np.array([0.0, 9.0, 10.05, 11.0, 30.0]), np.zeros((5, 3)), Interpolation.LINEAR)
    track.values[2] = 100.0
    fitted_track, loss = fitted(track, FRAMES)
    assert fitted_track.times.tolist() == [0, 9, 10, 11, 30]
    assert loss.type.key == "TIMES_ROUNDED:keys"
    assert loss.args["seconds"] == pytest.approx(0.05 / 30)
    assert loss.error is not None
    assert loss.error < 9.1


def test_times_of_single_precision_are_on_frames() -> None:
    seconds = (np.arange(1000) / 24).astype(np.float32).astype(np.float64)
    track = Track("position", seconds * 30, np.random.default_rng(1).random((1000, 3)))
    fitted_track, loss = fitted(track, replace(FRAMES, per_second=24.0))
    assert fitted_track.times.tolist() == list(range(1000))
    assert loss.outcome is Outcome.EXACT


def test_steps_between_frames_move_to_the_next_frame() -> None:
    """So every frame shows its value, of several steps that of the last."""
    track = Track("position", np.array([0.0, 3.2, 3.6, 7.0]), 5.0 * np.eye(4)[:, :3], Interpolation.STEP)
    fitted_track, loss = fitted(track, FRAMES)
    assert fitted_track.times.tolist() == [0, 4, 4, 7, 7]
    frames = np.arange(10.0)
    np.testing.assert_array_equal(compile_track(fitted_track)(frames), compile_track(track)(frames))
    assert loss.outcome is Outcome.APPROXIMATED
    assert loss.type.key == "TIMES_ROUNDED:steps"
    assert loss.args["seconds"] == pytest.approx(0.8 / 30)


def test_a_single_key_between_frames_is_exact() -> None:
    fitted_track, loss = fitted(line(10.5), KeyRules(30.0, 1.0))
    assert fitted_track.times.tolist() == [10]
    assert (loss.outcome, loss.error) == (Outcome.EXACT, 0.0)


def test_formats_with_float_times_keep_them() -> None:
    fitted_track, loss = fitted(line(0.0, 10.001, 30.0), KeyRules(1.0, 1 / 30, whole_times=False))
    assert fitted_track.times.tolist() == pytest.approx([0, 10.001 / 30, 1])
    assert loss.outcome is Outcome.EXACT


def test_one_key_is_reported_in_the_singular() -> None:
    assert fitted(line(5.0))[1].args == {"keys": "1 TCB key"}


def test_a_single_sample_becomes_a_key() -> None:
    fitted_track, loss = fitted(Track.sampled("position", np.array([[1.0, 2.0, 3.0]])))
    assert (fitted_track.interpolation, fitted_track.values.tolist()) == (Interpolation.LINEAR, [[1, 2, 3]])
    assert loss.outcome is Outcome.EXACT


# --- invalid keys ----------------------------------------------------------------------------------------------------


def test_non_finite_keys_are_left_out_and_reported() -> None:
    track = line(0.0, 10.0, 30.0)
    track.values[1, 2] = math.nan
    fitted_track, losses = fit(track)
    assert fitted_track.times.tolist() == [0, 4800]
    assert [(loss.type.key, loss.args) for loss in losses] == [
        ("NUMBERS_UNUSABLE:keys", {"unusable": 1, "count": 3}),
        ("MOTION_WRITTEN:keys", {"keys": "2 TCB keys"}),
    ]


def test_a_track_without_finite_keys_is_left_out() -> None:
    fitted_track, (loss,) = fit(line(math.nan, math.inf))
    assert fitted_track is None
    assert (loss.type.key, loss.args) == ("NUMBERS_UNUSABLE:keys", {"unusable": 2, "count": 2})
    assert fit(line()) == (None, [])


# --- curves of another kind ------------------------------------------------------------------------------------------


def test_step_keys_become_jumps() -> None:
    """Each value has two keys: at its own time, and just before the next one."""
    fitted_track, loss = fitted(line(0.0, 10.0, 30.0, how=Interpolation.STEP))
    assert fitted_track.interpolation is Interpolation.LINEAR
    assert fitted_track.times.tolist() == [0, 1600, 1600, 4800, 4800]
    assert fitted_track.values[:, 0].tolist() == [0, 0, 1, 1, 2]
    assert loss.outcome is Outcome.EXACT


def test_step_keys_of_rotations_become_jumps_of_absolute_keys() -> None:
    fitted_track, _ = fitted(spin(0.0, 1.0, 1.0, how=Interpolation.STEP))
    assert fitted_track.form is RotationForm.QUATERNION_ABSOLUTE
    turned = 2 * np.arctan2(fitted_track.values[:, 2], fitted_track.values[:, 3])
    assert turned == pytest.approx([0, 0, 1, 1, 2])


LINEAR_FRAMES = KeyRules(
    30.0,
    1.0,
    full_turns=False,
    interpolations=(Interpolation.LINEAR,),
    rotations=RotationForm.QUATERNION_ABSOLUTE,
    jumps=False,
)
"""what B3D, MD5 and other formats of games store"""


def test_a_jump_takes_one_frame_where_keys_have_different_times() -> None:
    fitted_track, loss = fitted(line(0, 10, 30, how=Interpolation.STEP), LINEAR_FRAMES)
    assert fitted_track.times.tolist() == [0, 9, 10, 29, 30]
    assert fitted_track.values[:, 0].tolist() == [0, 0, 1, 1, 2]
    assert (loss.outcome, loss.error, loss.unit) == (Outcome.APPROXIMATED, 1 / 30, "second")


def test_the_frame_before_a_jump_may_have_a_key() -> None:
    track = line(0, 9, 10, 10, how=Interpolation.LINEAR)
    fitted_track, _ = fitted(track, LINEAR_FRAMES)
    assert (fitted_track.times.tolist(), fitted_track.values[:, 0].tolist()) == ([0, 9, 10], [0, 1, 3])


@pytest.mark.parametrize("how", [Interpolation.TCB, Interpolation.BEZIER, Interpolation.LINEAR, Interpolation.STEP])
def test_relative_turns_become_what_formats_of_games_store(how: Interpolation) -> None:
    """Linear keys with absolute rotations at whole frames, which turn as far as the report says."""
    track = spin(0.0, 2.0, 5.0, -3.5, how=how)
    fitted_track, losses = fit(track, LINEAR_FRAMES)
    assert fitted_track is not None
    assert (fitted_track.interpolation, fitted_track.form) == (Interpolation.LINEAR, RotationForm.QUATERNION_ABSOLUTE)
    assert not np.mod(fitted_track.times, 1).any()
    frames = np.arange(91.0)
    turned = (compile_track(track)(frames) * compile_track(fitted_track)(frames)).sum(axis=1)
    off = np.degrees(2 * np.arccos(np.minimum(np.abs(turned), 1.0))).max()
    stated = (
        max(loss.error or 0.0 for loss in losses if loss.unit == "degree") if how is not Interpolation.STEP else 0.0
    )
    assert off <= stated * 1.01 + 1e-5
    assert Outcome.EXACT not in {loss.outcome for loss in losses}


def test_cubic_keys_are_sampled_within_the_tolerance() -> None:
    ends = np.array([[0.0, 0, 0], [1, 2, 0]])
    swing = np.array([[0.02, 0.0, 0.03], [-0.02, 0.01, 0.03]])
    track = Track(
        "position", np.array([0.0, 30.0]), ends, Interpolation.CUBIC, tangents_in=swing, tangents_out=swing[::-1].copy()
    )
    fitted_track, loss = fitted(track)
    assert loss.outcome is Outcome.APPROXIMATED
    assert loss.type.key == "KEYS_CONVERTED:tangents"
    assert loss.error is not None
    assert 0 < loss.error <= TOLERANCE.length
    assert difference(track, fitted_track, np.arange(31.0), 160.0) <= TOLERANCE.length


def test_keys_that_would_coincide_are_sampled() -> None:
    """30 frames per second in a format that has ten: the middle key would coincide with another."""
    fitted_track, loss = fitted(line(0.0, 1.0, 2.0, 30.0), KeyRules(10.0, 1.0))
    assert loss.type.key == "KEYS_CONVERTED:between frames"
    assert len(set(fitted_track.times.tolist())) == len(fitted_track.times)
    assert not np.mod(fitted_track.times, 1).any()


def test_samples_on_frames_become_few_keys() -> None:
    track = Track.sampled("position", np.array([[float(frame), 0.0, 0.0] for frame in range(31)]))
    fitted_track, loss = fitted(track)
    assert len(fitted_track.times) <= 3, "a straight line"
    assert (loss.type.key, loss.args["frames"]) == ("KEYS_CONVERTED:frames", 31)
    assert difference(track, fitted_track, np.arange(31.0), 160.0) <= TOLERANCE.length


def test_rounding_errors_of_doubles_are_no_approximation() -> None:
    """A turn at constant speed about an odd axis, whose quaternions are rounded."""
    half = np.radians(np.arange(31.0)) / 2
    axis = np.array([1.0, 2.0, 3.0]) / math.sqrt(14)
    quaternions = np.column_stack([np.sin(half)[:, None] * axis, np.cos(half)])
    _, loss = fitted(Track.sampled("rotation", quaternions, form=RotationForm.QUATERNION_ABSOLUTE))
    assert loss.error is not None
    assert 0 < loss.error < 1e-9
    assert loss.outcome is Outcome.EXACT


def test_samples_between_frames_are_resampled() -> None:
    """30 frames per second in a format that has 25."""
    values = np.column_stack([np.sin(np.arange(31.0) / 5), np.zeros(31), np.zeros(31)])
    fitted_track, loss = fitted(Track.sampled("position", values), KeyRules(25.0, 1.0))
    assert not np.mod(fitted_track.times, 1).any()
    assert (fitted_track.times[0], fitted_track.times[-1]) == (0.0, 25.0)
    assert loss.error is not None
    assert loss.error < 0.05


# --- repeat, loop and full turns -------------------------------------------------------------------------------------


def test_a_repeat_that_ends_with_the_clip_keeps_its_keys() -> None:
    fitted_track, loss = fitted(line(0.0, 30.0, wrap=Wrap.REPEAT), end=30.0)
    assert (fitted_track.wrap, fitted_track.values.tolist()) == (Wrap.SINGLE, [[0, 0, 0], [1, 2, 0]])
    assert loss.outcome is Outcome.BAKED
    assert (loss.type.key, loss.args) == ("KEYS_CONVERTED:wrap", {"wrap": "repeat", "keys": "2 TCB keys"})


@pytest.mark.parametrize("wrap", [Wrap.REPEAT, Wrap.LOOP])
def test_repeat_and_loop_are_unrolled(wrap: Wrap) -> None:
    track = line(0.0, 10.0, 30.0, wrap=wrap)
    fitted_track, loss = fitted(track, end=75.0)
    assert (loss.type.key, loss.args["wrap"]) == ("KEYS_CONVERTED:wrap", wrap.value)
    assert fitted_track.times[-1] == 75 * 160
    assert difference(track, fitted_track, np.arange(30.0), 160.0) <= TOLERANCE.length
    assert difference(track, fitted_track, np.arange(31.0, 60.0), 160.0) <= TOLERANCE.length


@pytest.mark.parametrize("wrap", [Wrap.REPEAT, Wrap.LOOP])
def test_repeat_and_loop_are_kept_by_formats_that_have_them(wrap: Wrap) -> None:
    fitted_track, loss = fitted(line(0.0, 10.0, 30.0, wrap=wrap), replace(TICKS, wraps=True), end=75.0)
    assert (fitted_track.wrap, len(fitted_track.times), loss.outcome) == (wrap, 3, Outcome.EXACT)


@pytest.mark.parametrize("wrap", [Wrap.REPEAT, Wrap.LOOP])
@pytest.mark.parametrize("how", [Interpolation.STEP, Interpolation.SAMPLED, Interpolation.CUBIC])
def test_fitted_keys_repeat_in_formats_that_can_store_it(how: Interpolation, wrap: Wrap) -> None:
    tangents = {"tangents_in": np.zeros((3, 3)), "tangents_out": np.zeros((3, 3))} if how is Interpolation.CUBIC else {}
    track = line(0.0, 10.0, 30.0, how=how, wrap=wrap, **tangents)
    fitted_track, _ = fitted(track, replace(TICKS, wraps=True), end=75.0)
    assert difference(track, fitted_track, np.arange(0.5, 75.0), 160.0) <= TOLERANCE.length


def test_full_turns_are_split_if_keys_cannot_store_them() -> None:
    track = spin(0.0, 2 * math.pi, 1.0)
    fitted_track, loss = fitted(track, replace(TICKS, full_turns=False))
    assert loss.type.key == "KEYS_CONVERTED:full turns"
    assert loss.unit == "degree"
    steps = np.abs((fitted_track.values[1:] * fitted_track.values[:-1]).sum(axis=1))
    assert np.degrees(2 * np.arccos(np.clip(steps, 0, 1))).max() <= 90.0 + 1e-6
    assert fitted(track)[0].values is track.values


@pytest.mark.parametrize("wrap", [Wrap.REPEAT, Wrap.LOOP])
def test_in_an_endless_clip_a_loop_plays_once(wrap: Wrap) -> None:
    track = spin(0.0, 1.0, wrap=wrap)
    fitted_track, losses = fit(track, end=9e6)
    assert fitted_track.times.tolist() == [0, 4800]
    assert difference(track, fitted_track, np.arange(30.0), 160.0) <= 1e-6
    assert [loss.outcome for loss in losses] == [Outcome.DROPPED, Outcome.BAKED]
    reason = f"its {wrap.value} plays once, and would need 600002 keys (LIMIT_KEYS)"
    assert (losses[0].code, losses[0].args) == ("MOTION_INCOMPLETE", {"reason": reason})


# --- TCB rows --------------------------------------------------------------------------------------------------------


def test_linear_tracks_as_tcb_stay_straight() -> None:
    track = line(0.0, 10.0, 13.0, 40.0, how=Interpolation.LINEAR)
    tcb_track = as_tcb(track)
    assert tcb_track.interpolation is Interpolation.TCB
    assert tcb_track.continuity.tolist() == [-1, -1, -1, -1]
    assert difference(track, tcb_track, np.linspace(0, 40, 201), 1.0) < 1e-12
    assert as_tcb(tcb_track) is tcb_track
    assert as_tcb(line(0.0, 10.0, how=Interpolation.LINEAR)).continuity is None, "two keys are straight anyway"


def test_bezier_keys_as_tcb_lose_unused_ease_and_tension() -> None:
    track = line(0.0, 10.0, 30.0, how=Interpolation.BEZIER, ease_to=np.ones(3), tension=np.ones(3))
    tcb_track = as_tcb(track)
    assert (tcb_track.ease_to, tcb_track.tension) == (None, None)
    assert difference(track, tcb_track, np.linspace(0, 30, 201), 1.0) < 1e-12


def test_absolute_rotations_as_tcb_are_the_shortest_increments() -> None:
    half = math.sqrt(0.5)
    quaternions = np.array([[0.0, 0, 0, 1], [0, 0, half, half], [0, 0, -half, -half]])
    track = Track("rotation", np.arange(3.0), quaternions, form=RotationForm.QUATERNION_ABSOLUTE)
    tcb_track = as_tcb(track)
    assert tcb_track.form is RotationForm.AXIS_ANGLE_RELATIVE
    assert np.abs(tcb_track.values[:, 3]) == pytest.approx([0, math.pi / 2, 0], abs=1e-7)


def test_flagged_values_are_written_even_if_they_are_zero() -> None:
    """A 3D Studio key may have a flag for tension and the value 0. Five bits are such flags; the bits above are
    ignored.
    """
    track = line(0.0, 10.0, flags=np.array([0x8001, 0]))
    keys = tcb_keys(track, track.values, keep_flags=True)
    assert keys.flags.tolist() == [1, 0]
    assert keys.extras.tolist() == [[0.0] * 5, [0.0] * 5]
    plain = tcb_keys(track, track.values, keep_flags=False)
    assert plain.flags.tolist() == [0, 0]
    handled = tcb_keys(line(0.0, 10.0, flags=np.array([0x8000, 0])), track.values, keep_flags=True)
    assert (handled.flags.tolist(), handled.extras) == ([0, 0], None)


def test_flagged_zeros_and_other_values_together() -> None:
    track = line(0.0, 10.0, flags=np.array([4, 0]), tension=np.array([0.5, 0.0]))
    keys = tcb_keys(track, track.values, keep_flags=True)
    assert keys.flags.tolist() == [5, 0]
    assert keys.column("tension").tolist() == [0.5, 0]
    assert keys.column("bias").tolist() == [0, 0]


def test_single_key() -> None:
    vector, number = single_key("position", [1.0, 2.0, 3.0]), single_key("roll", 5.0)
    assert (vector.times.tolist(), vector.values.tolist()) == ([0], [[1, 2, 3]])
    assert number.values.tolist() == [5]


@pytest.mark.parametrize(
    ("columns", "eased"),
    [({}, False), ({"ease_to": [0.0, 0.0]}, False), ({"ease_to": [0.0, 0.5]}, True), ({"ease_from": [1.0, 0.0]}, True)],
)
def test_ease_values_that_are_not_zero_count(columns: dict[str, list[float]], eased: bool) -> None:
    assert is_eased(line(0.0, 1.0, **{name: np.array(column) for name, column in columns.items()})) is eased
