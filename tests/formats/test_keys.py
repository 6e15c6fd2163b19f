"""Authored tracks made fit for a format: what stays key for key, what is sampled, and what the report says of it."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from keyframer.curves import Interpolation, RotationForm, Track, Wrap, compile_track
from keyframer.errors import FormatError
from keyframer.formats.kit.key_tracks import KeyFitter, KeyRules, as_tcb, is_eased, single_key, tcb_keys
from keyframer.formats.kit.scene_writing import Tolerance
from keyframer.scene import Channel, Clip
from keyframer.scene.loss_report import Loss, LossReport, Outcome

TICKS = KeyRules(4800.0, 160.0)
TOLERANCE = Tolerance(0.001, 0.01, 0.001)


def line(*times: float, kind: str = "position", how: Interpolation = Interpolation.TCB, **more: object) -> Track:
    values = np.array([[index, 2.0 * index, 0.0] for index in range(len(times))])
    return Track(kind, np.array(times), values, how, **more)  # type: ignore[arg-type]


def spin(*angles: float, wrap: Wrap = Wrap.SINGLE, how: Interpolation = Interpolation.TCB) -> Track:
    """Turns about Z, each from the one before, a second apart."""
    values = np.array([[0.0, 0.0, 1.0, angle] for angle in angles])
    return Track("rotation", 30.0 * np.arange(len(angles)), values, how, wrap, RotationForm.AXIS_ANGLE_RELATIVE)


def fit(track: Track, rules: KeyRules = TICKS, end: float = 0.0) -> tuple[Track | None, list[Loss]]:
    """The fitted track of a clip of 30 frames a second, and what the report says."""
    report = LossReport("any")
    clip = Clip(channels=[Channel(0, track)], end=end)
    made = KeyFitter(clip, rules, TOLERANCE, report).fit(track, "/nodes/box/position")
    return made, list(report)


def fitted(track: Track, rules: KeyRules = TICKS, end: float = 0.0) -> tuple[Track, Loss]:
    made, (loss,) = fit(track, rules, end)
    assert made is not None
    assert loss.path == "/nodes/box/position"
    return made, loss


def difference(a: Track, b: Track, frames: np.ndarray[tuple[int], np.dtype[np.float64]], factor: float) -> float:
    """How far two curves are apart at the given frames; the second counts ``factor`` units a frame."""
    return float(np.abs(compile_track(a)(frames) - compile_track(b)(frames * factor)).max())


# --- what fits is not touched ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", [Interpolation.TCB, Interpolation.LINEAR, Interpolation.BEZIER])
def test_keys_that_fit_stay_as_they_are(how: Interpolation) -> None:
    track = line(0.0, 10.0, 30.0, how=how)
    made, loss = fitted(track)
    assert made.times.tolist() == [0, 1600, 4800]
    assert made.values is track.values
    assert made.interpolation is how
    assert (loss.outcome, loss.detail) == (Outcome.EXACT, f"3 {how.value} keys")


def test_times_that_only_rounding_took_off_the_grid_are_on_it() -> None:
    track = line(0.0, 10.0 + 1e-10, 30.0 - 1e-10)
    made, loss = fitted(track)
    assert made.times.tolist() == [0, 1600, 4800]
    assert loss.outcome is Outcome.EXACT


def test_times_between_whole_ones_are_rounded_and_said() -> None:
    """What rounding does to the values is what counts: here 2 units in 10 frames, along Y, at the key."""
    made, loss = fitted(line(0.0, 10.001, 30.0, how=Interpolation.LINEAR))
    assert made.times.tolist() == [0, 1600, 4800]
    assert (loss.outcome, loss.unit) == (Outcome.APPROXIMATED, "scene unit")
    assert loss.detail == "times were rounded by up to 3.3e-05 s"
    assert loss.error == pytest.approx(2.0 * 0.001 / 10, rel=0.5)


def test_times_between_frames_are_reported_in_scene_units_with_the_rate_that_holds_them() -> None:
    rules = KeyRules(30.0, 1.0, rate_advice="more")
    made, loss = fitted(line(0.0, 10.5, 30.0, how=Interpolation.LINEAR), rules)
    assert made.times.tolist() == [0, 10, 30]
    assert loss.detail == "times were rounded by up to 0.017 s: fps=60 would store them exactly"
    frames = np.linspace(0, 30, 3001)
    wanted = np.interp(frames, [0, 10.5, 30], [0, 2, 4]) - np.interp(frames, [0, 10, 30], [0, 2, 4])
    assert (loss.error, loss.unit) == (pytest.approx(np.abs(wanted).max(), rel=0.1), "scene unit")
    _, loss = fitted(spin(0.0, 1.0, how=Interpolation.LINEAR), KeyRules(29.97, 1.0, rate_advice="more"))
    assert loss.unit == "degree"


def test_a_single_key_between_frames_is_exact() -> None:
    made, loss = fitted(line(10.5), KeyRules(30.0, 1.0))
    assert made.times.tolist() == [10]
    assert (loss.outcome, loss.error) == (Outcome.EXACT, 0.0)


def test_formats_with_float_times_keep_them() -> None:
    made, loss = fitted(line(0.0, 10.001, 30.0), KeyRules(1.0, 1 / 30, whole_times=False))
    assert made.times.tolist() == pytest.approx([0, 10.001 / 30, 1])
    assert loss.outcome is Outcome.EXACT


def test_one_key_is_not_called_keys() -> None:
    assert fitted(line(5.0))[1].detail == "1 tcb key"


def test_a_single_frame_is_a_key() -> None:
    made, loss = fitted(Track.sampled("position", np.array([[1.0, 2.0, 3.0]])))
    assert (made.interpolation, made.values.tolist()) == (Interpolation.LINEAR, [[1, 2, 3]])
    assert loss.outcome is Outcome.EXACT


# --- keys that are none ----------------------------------------------------------------------------------------------


def test_keys_that_are_no_numbers_are_left_out_and_said() -> None:
    track = line(0.0, 10.0, 30.0)
    track.values[1, 2] = math.nan
    made, losses = fit(track)
    assert made is not None
    assert made.times.tolist() == [0, 4800]
    assert [(loss.outcome, loss.detail) for loss in losses] == [
        (Outcome.DROPPED, "1 of 3 keys with non-finite numbers"),
        (Outcome.EXACT, "2 tcb keys"),
    ]


def test_a_track_of_no_numbers_at_all_is_no_track() -> None:
    made, (loss,) = fit(line(math.nan, math.inf))
    assert made is None
    assert loss.detail == "2 of 2 keys with non-finite numbers"
    assert fit(line()) == (None, [])


# --- curves of another kind ------------------------------------------------------------------------------------------


def test_steps_become_jumps() -> None:
    """Each value stands twice: at its own time, and where the next takes over."""
    made, loss = fitted(line(0.0, 10.0, 30.0, how=Interpolation.STEP))
    assert made.interpolation is Interpolation.LINEAR
    assert made.times.tolist() == [0, 1600, 1600, 4800, 4800]
    assert made.values[:, 0].tolist() == [0, 0, 1, 1, 2]
    assert loss.outcome is Outcome.EXACT


def test_steps_of_turns_become_jumps_of_absolute_ones() -> None:
    made, _ = fitted(spin(0.0, 1.0, 1.0, how=Interpolation.STEP))
    assert made.form is RotationForm.QUATERNION_ABSOLUTE
    turned = 2 * np.arctan2(made.values[:, 2], made.values[:, 3])
    assert turned == pytest.approx([0, 0, 1, 1, 2])


def test_tangents_of_gltf_are_sampled_within_the_tolerance() -> None:
    ends = np.array([[0.0, 0, 0], [1, 2, 0]])
    swing = np.array([[0.02, 0.0, 0.03], [-0.02, 0.01, 0.03]])
    track = Track(
        "position", np.array([0.0, 30.0]), ends, Interpolation.CUBIC, tangents_in=swing, tangents_out=swing[::-1].copy()
    )
    made, loss = fitted(track)
    assert loss.outcome is Outcome.APPROXIMATED
    assert loss.detail.startswith("keys with tangents: now ")
    assert loss.error is not None
    assert 0 < loss.error <= TOLERANCE.length
    assert difference(track, made, np.arange(31.0), 160.0) <= TOLERANCE.length


def test_keys_that_would_fall_together_are_sampled() -> None:
    """Frames of 30 a second in a format that has ten: the middle key has no place of its own."""
    made, loss = fitted(line(0.0, 1.0, 2.0, 30.0), KeyRules(10.0, 1.0))
    assert "several keys would have the same time: now " in loss.detail
    assert len(set(made.times.tolist())) == len(made.times)
    assert not np.mod(made.times, 1).any()


def test_frames_on_the_grid_become_few_keys() -> None:
    track = Track.sampled("position", np.array([[float(frame), 0.0, 0.0] for frame in range(31)]))
    made, loss = fitted(track)
    assert len(made.times) <= 3, "a straight line"
    assert loss.detail.startswith("31 frames became ")
    assert difference(track, made, np.arange(31.0), 160.0) <= TOLERANCE.length


def test_frames_off_the_grid_are_sampled_on_it() -> None:
    """Frames of 30 a second in a format that has 25 whole ones."""
    values = np.column_stack([np.sin(np.arange(31.0) / 5), np.zeros(31), np.zeros(31)])
    made, loss = fitted(Track.sampled("position", values), KeyRules(25.0, 1.0))
    assert not np.mod(made.times, 1).any()
    assert (made.times[0], made.times[-1]) == (0.0, 25.0)
    assert loss.error is not None
    assert loss.error < 0.05


# --- rounds and whole turns ------------------------------------------------------------------------------------------


def test_a_round_that_is_never_played_needs_no_sampling() -> None:
    made, loss = fitted(line(0.0, 30.0, wrap=Wrap.REPEAT), end=30.0)
    assert len(made.times) == 2
    assert loss.outcome is Outcome.EXACT


@pytest.mark.parametrize("wrap", [Wrap.REPEAT, Wrap.LOOP])
def test_rounds_are_played_out(wrap: Wrap) -> None:
    track = line(0.0, 10.0, 30.0, wrap=wrap)
    made, loss = fitted(track, end=75.0)
    assert loss.detail.startswith(f"the format cannot store {wrap.value} tracks: now ")
    assert made.times[-1] == 75 * 160
    assert difference(track, made, np.arange(30.0), 160.0) <= TOLERANCE.length
    assert difference(track, made, np.arange(31.0, 60.0), 160.0) <= TOLERANCE.length


@pytest.mark.parametrize("wrap", [Wrap.REPEAT, Wrap.LOOP])
def test_formats_that_have_rounds_keep_them(wrap: Wrap) -> None:
    made, loss = fitted(line(0.0, 10.0, 30.0, wrap=wrap), replace(TICKS, wraps=True), end=75.0)
    assert (made.wrap, len(made.times), loss.outcome) == (wrap, 3, Outcome.EXACT)


def test_whole_turns_are_split_where_keys_cannot_say_them() -> None:
    track = spin(0.0, 2 * math.pi, 1.0)
    made, loss = fitted(track, replace(TICKS, full_turns=False))
    assert loss.detail.startswith("turns of 360 degrees and more: now ")
    assert loss.unit == "degree"
    steps = np.abs((made.values[1:] * made.values[:-1]).sum(axis=1))
    assert np.degrees(2 * np.arccos(np.clip(steps, 0, 1))).max() <= 90.0 + 1e-6
    assert fitted(track)[0].values is track.values


def test_a_clip_that_never_ends_is_refused() -> None:
    track = spin(0.0, 1.0, wrap=Wrap.LOOP)
    with pytest.raises(FormatError, match="LIMIT_SAMPLES"):
        fit(track, end=9e6)


# --- TCB rows --------------------------------------------------------------------------------------------------------


def test_straight_lines_as_tcb_are_straight() -> None:
    track = line(0.0, 10.0, 13.0, 40.0, how=Interpolation.LINEAR)
    made = as_tcb(track)
    assert made.interpolation is Interpolation.TCB
    assert made.continuity is not None
    assert made.continuity.tolist() == [-1, -1, -1, -1]
    assert difference(track, made, np.linspace(0, 40, 201), 1.0) < 1e-12
    assert as_tcb(made) is made
    assert as_tcb(line(0.0, 10.0, how=Interpolation.LINEAR)).continuity is None, "two keys are straight anyway"


def test_bezier_keys_as_tcb_lose_the_ease_that_has_no_say() -> None:
    track = line(0.0, 10.0, 30.0, how=Interpolation.BEZIER, ease_to=np.ones(3), tension=np.ones(3))
    made = as_tcb(track)
    assert (made.ease_to, made.tension) == (None, None)
    assert difference(track, made, np.linspace(0, 30, 201), 1.0) < 1e-12


def test_absolute_turns_as_tcb_are_the_shortest_increments() -> None:
    half = math.sqrt(0.5)
    quaternions = np.array([[0.0, 0, 0, 1], [0, 0, half, half], [0, 0, -half, -half]])
    track = Track("rotation", np.arange(3.0), quaternions, form=RotationForm.QUATERNION_ABSOLUTE)
    made = as_tcb(track)
    assert made.form is RotationForm.AXIS_ANGLE_RELATIVE
    assert np.abs(made.values[:, 3]) == pytest.approx([0, math.pi / 2, 0], abs=1e-7)


def test_floats_that_flags_select_are_stored_even_if_zero() -> None:
    """A 3D Studio key may say that it has a tension and then say 0: five bits, and bits above them are not ours."""
    track = line(0.0, 10.0, flags=np.array([0x8001, 0]))
    keys = tcb_keys(track, track.values, keep_flags=True)
    assert keys.flags.tolist() == [1, 0]
    assert keys.extras is not None
    assert keys.extras.tolist() == [[0.0] * 5, [0.0] * 5]
    plain = tcb_keys(track, track.values, keep_flags=False)
    assert plain.flags.tolist() == [0, 0]
    handled = tcb_keys(line(0.0, 10.0, flags=np.array([0x8000, 0])), track.values, keep_flags=True)
    assert (handled.flags.tolist(), handled.extras) == ([0, 0], None)


def test_floats_that_flags_select_next_to_non_zero_ones() -> None:
    track = line(0.0, 10.0, flags=np.array([4, 0]), tension=np.array([0.5, 0.0]))
    keys = tcb_keys(track, track.values, keep_flags=True)
    assert keys.flags.tolist() == [5, 0]
    assert keys.column("tension").tolist() == [0.5, 0]
    assert keys.column("bias").tolist() == [0, 0]


def test_still_keys() -> None:
    vector, number = single_key("position", [1.0, 2.0, 3.0]), single_key("roll", 5.0)
    assert (vector.times.tolist(), vector.values.tolist()) == ([0], [[1, 2, 3]])
    assert number.values.tolist() == [5]


@pytest.mark.parametrize(
    ("columns", "eased"),
    [({}, False), ({"ease_to": [0.0, 0.0]}, False), ({"ease_to": [0.0, 0.5]}, True), ({"ease_from": [1.0, 0.0]}, True)],
)
def test_ease_is_what_is_not_zero(columns: dict[str, list[float]], eased: bool) -> None:
    assert is_eased(line(0.0, 1.0, **{name: np.array(each) for name, each in columns.items()})) is eased
