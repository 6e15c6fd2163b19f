"""CurveBank: many tracks give the same values as each alone, in blocks or at once, by table or by search."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from keyframer.curves import (
    CurveBank,
    Interpolation,
    RotationForm,
    Track,
    Wrap,
    compile_track,
    curve_bank,
    timeline,
)
from tests.building.scenes import as_read_from_a_file

FORMS = list(RotationForm)


@as_read_from_a_file()
def random_tracks(seed: int, count: int, on_frames: bool = True) -> list[Track]:
    """Tracks of every kind, some of them constant or empty."""
    rng = np.random.default_rng(seed)
    tracks = []
    for _ in range(count):
        keys = int(rng.integers(0, 9))
        form = FORMS[rng.integers(len(FORMS))]
        shapes: list[tuple[int, ...]] = [(keys,), (keys, 3), (keys, 2)]
        shape = (keys, 4) if form is not RotationForm.NONE else shapes[rng.integers(3)]
        values = rng.normal(size=shape)
        if rng.random() < 0.2:
            values[...] = 0.5
        interpolation = list(Interpolation)[rng.integers(6)]
        columns: dict[str, Any] = {}
        if interpolation is Interpolation.CUBIC:
            form = form if form is RotationForm.NONE else RotationForm.QUATERNION_ABSOLUTE
            columns = {"tangents_in": rng.normal(size=shape), "tangents_out": rng.normal(size=shape)}
        elif rng.random() < 0.5:
            names = ("tension", "continuity", "bias", "ease_to", "ease_from")
            columns = {name: rng.uniform(-1, 1, keys) for name in names if rng.random() < 0.6}
        times = rng.integers(0, 40, keys).astype(float) if on_frames else rng.uniform(-5, 40, keys)
        tracks.append(Track("morph", times, values, interpolation, list(Wrap)[rng.integers(3)], form, **columns))
    return tracks


TIMES = np.array([-3.0, 0.0, 1.5, 7.0, 22.25, 40.0, 61.0, np.nan, np.inf, -np.inf])


def assert_same_as_single_curves(tracks: list[Track], compiled: CurveBank, **options: int) -> None:
    sampled = compiled.evaluate(TIMES, **options)
    for track, place in zip(tracks, compiled.places, strict=True):
        alone = compile_track(track)(TIMES).reshape(len(TIMES), -1)
        np.testing.assert_allclose(sampled[place.family][:, place.slot], alone, rtol=0, atol=1e-13)


@pytest.mark.parametrize("on_frames", [True, False])
def test_a_bank_gives_the_values_of_single_curves(on_frames: bool) -> None:
    tracks = random_tracks(1, 300, on_frames)
    assert_same_as_single_curves(tracks, CurveBank(tracks))


@pytest.mark.parametrize("table", [True, False])
@pytest.mark.parametrize("on_frames", [True, False])
def test_pairs_of_track_and_time_give_the_values_of_single_curves(
    on_frames: bool, table: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not table:
        monkeypatch.setattr(timeline, "SMALL_TABLE", 0)
        monkeypatch.setattr(timeline, "ENTRIES_PER_KEY", 0)
    tracks = random_tracks(3, 200, on_frames)
    compiled = CurveBank(tracks)
    for family in compiled.families:
        members = [number for number, place in enumerate(compiled.places) if place.family == family]
        chosen = np.random.default_rng(4).permutation(np.repeat(members, len(TIMES)))
        times = np.resize(TIMES, len(chosen))
        values = compiled.evaluate_pairs(chosen, times, block=50)
        for number in members:
            alone = compile_track(tracks[number])(times[chosen == number])
            np.testing.assert_allclose(values[chosen == number], alone.reshape(len(alone), -1), rtol=0, atol=1e-13)


def test_single_keys_are_never_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """A single key needs no curve; only its values are checked."""
    compiled: list[int] = []
    gather = curve_bank.gather
    monkeypatch.setattr(
        curve_bank, "gather", lambda tracks, width: compiled.append(len(tracks)) or gather(tracks, width)
    )
    values = {RotationForm.NONE: [[1.0, 2.0, 3.0]]}
    single = [
        Track("morph", [7.0], values.get(form, [[0.5, -1.0, 0.25, 2.0]]), Interpolation.TCB, form=form)
        for form in FORMS
    ]
    together = CurveBank(single)
    assert not compiled
    for track, place in zip(single, together.places, strict=True):
        row = together.evaluate([3.0])[place.family][0, place.slot]
        twice = Track("morph", [7.0, 8.0], np.repeat(track.values, 2, axis=0), Interpolation.TCB, form=track.form)
        np.testing.assert_allclose(row, compile_track(twice)(7.0).reshape(-1), rtol=0, atol=1e-15)
    compiled.clear()
    assert CurveBank([Track("morph", [np.nan], [1.0]), Track("morph", [0.0], [np.inf])]).empty == {0, 1}
    assert compiled == [2]


@pytest.mark.parametrize("moment", [-3.0, 0.0, 5.0, 17.0])
def test_a_bank_for_one_moment_gives_the_values_of_that_moment(moment: float) -> None:
    tracks = [
        Track(track.kind, np.sort(track.times) + shift, track.values, track.interpolation, track.wrap, track.form)
        for shift in (0.0, 5.0)
        for track in random_tracks(6, 150)
        if track.interpolation is not Interpolation.CUBIC
    ]
    full_bank, moment_bank = CurveBank(tracks), CurveBank(tracks, moment=moment)
    assert full_bank.empty == moment_bank.empty
    for number, (full_place, moment_place) in enumerate(zip(full_bank.places, moment_bank.places, strict=True)):
        wanted = full_bank.evaluate([moment])[full_place.family][0, full_place.slot]
        np.testing.assert_allclose(
            moment_bank.evaluate([moment])[moment_place.family][0, moment_place.slot],
            wanted,
            rtol=0,
            atol=1e-14,
            err_msg=str(number),
        )


def test_places_and_families() -> None:
    tracks = random_tracks(2, 100)
    compiled = CurveBank(tracks)
    assert set(compiled.families) == {"rotation", "scalar", "vector2", "vector3"}
    sampled = compiled.evaluate([0.0, 1.0])
    for name, (count, width) in compiled.families.items():
        assert sampled[name].shape == (2, count, width)
        slots = sorted(place.slot for place in compiled.places if place.family == name)
        assert slots == list(range(count))


@pytest.mark.parametrize("block", [1, 7, 100, 10**9])
def test_block_size_does_not_change_the_values(block: int) -> None:
    tracks = random_tracks(3, 120)
    compiled = CurveBank(tracks)
    whole = compiled.evaluate(TIMES)
    for name, values in compiled.evaluate(TIMES, block=block).items():
        np.testing.assert_array_equal(values, whole[name])


def test_group_size_does_not_change_the_values(monkeypatch: pytest.MonkeyPatch) -> None:
    tracks = random_tracks(4, 150)
    monkeypatch.setattr(curve_bank, "KEYS_PER_GROUP", 20)
    assert_same_as_single_curves(tracks, CurveBank(tracks))


@as_read_from_a_file()
def test_search_and_table_give_the_same_values(monkeypatch: pytest.MonkeyPatch) -> None:
    tracks = random_tracks(5, 200, on_frames=False)
    whole = CurveBank(tracks).evaluate(TIMES)
    monkeypatch.setattr(timeline, "SMALL_TABLE", 0)
    monkeypatch.setattr(timeline, "ENTRIES_PER_KEY", 0)
    for name, values in CurveBank(tracks).evaluate(TIMES).items():
        np.testing.assert_array_equal(values, whole[name])


def test_few_and_many_times_give_the_same_values(monkeypatch: pytest.MonkeyPatch) -> None:
    tracks = random_tracks(8, 60)
    few = CurveBank(tracks).evaluate(TIMES)
    monkeypatch.setattr(timeline, "FEW_PAIRS", -1)
    for name, values in CurveBank(tracks).evaluate(TIMES).items():
        np.testing.assert_array_equal(values, few[name])


def test_the_spline_between_two_keys_without_tcb_has_constant_speed(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(9)
    ease = {"ease_to": np.array([0.2, 0.3]), "ease_from": np.array([0.5, 0.1])}
    tracks = [
        Track("rotation", [3.0, 30.0], rng.normal(size=(2, 4)) * 3, Interpolation.TCB, wrap, form, **eases)
        for form in FORMS[1:]
        for wrap in (Wrap.SINGLE, Wrap.REPEAT)
        for eases in ({}, ease)
    ]
    simple = CurveBank(tracks).evaluate(TIMES)["rotation"]
    monkeypatch.setattr(curve_bank, "has_constant_speed", lambda columns: False)
    spline = CurveBank(tracks).evaluate(TIMES)["rotation"]
    np.testing.assert_allclose(simple, spline, rtol=0, atol=1e-13)
    assert not np.array_equal(simple, spline)  # rounding differs: both formulas were used


def test_constant_tracks_are_not_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    still = [
        Track("morph", [], []),
        Track("morph", [5], [3.0], Interpolation.TCB),
        Track("morph", [0, 1, 2], [[1, 2, 3]] * 3, Interpolation.TCB),
        Track("morph", [0, 1], [[0, 0, 1, 0.3], [0, 0, 1, 0]], form=RotationForm.AXIS_ANGLE_RELATIVE),
        Track("morph", [0, 1], [[0.1, 0.2, 0.3, 0.4]] * 2, form=RotationForm.QUATERNION_ABSOLUTE),
    ]

    def refuse(*_: object) -> None:
        raise AssertionError("a still track was located in time")

    monkeypatch.setattr(timeline.Timeline, "locate", refuse)
    sampled = CurveBank(still).evaluate([0, 0.5, 99])
    assert (sampled["scalar"][:, CurveBank(still).places[1].slot] == 3).all()
    with pytest.raises(AssertionError):
        CurveBank([*still, Track("morph", [0, 1], [0, 1])]).evaluate([0])


def test_coefficients_are_computed_once_and_only_for_sampling(monkeypatch: pytest.MonkeyPatch) -> None:
    """Computing coefficients is most of the work of compiling, and finding the animated tracks needs none."""
    created: list[str] = []
    for name in ("CubicTable", "SquadTable", "ConstantSpeedTable", "Timeline"):
        real = getattr(curve_bank, name)
        monkeypatch.setattr(curve_bank, name, lambda *given, real=real, name=name: created.append(name) or real(*given))
    tracks = random_tracks(6, 200)
    bank = CurveBank(tracks)
    moving = [place for place in bank.places if bank.still_value(place) is None]
    assert moving
    assert not created
    first = bank.evaluate(TIMES)
    assert {"CubicTable", "SquadTable", "ConstantSpeedTable"} < set(created)
    count = len(created)
    for name, values in bank.evaluate(TIMES).items():
        np.testing.assert_array_equal(values, first[name])
    assert len(created) == count


def test_a_full_turn_is_not_constant() -> None:
    track = Track("morph", [0, 1], [[0, 0, 1, 0], [0, 0, 1, 2 * np.pi]], form=RotationForm.AXIS_ANGLE_RELATIVE)
    np.testing.assert_allclose(compile_track(track).at(0.5), [0, 0, 1, 0], atol=1e-15)


def test_no_tracks_and_no_times() -> None:
    assert CurveBank([]).evaluate([0, 1]) == {}
    assert CurveBank([Track("morph", [0, 1], [0, 1])]).evaluate([])["scalar"].shape == (0, 1, 1)


@pytest.mark.parametrize("seed", range(6))
@as_read_from_a_file()
def test_a_bank_for_one_moment_gives_the_values_of_a_full_bank(seed: int) -> None:
    """At keys, between them, before the first and after the last."""
    tracks = random_tracks(seed, 60)
    whole = CurveBank(tracks)
    for moment in (-3.0, 0.0, 1.0, 2.5, 4.0, 7.0, 1e6):
        only = CurveBank(tracks, moment=moment)
        assert only.empty == whole.empty
        expected, values = whole.evaluate([moment]), only.evaluate([moment])
        for number, (place, other) in enumerate(zip(whole.places, only.places, strict=True)):
            value = values[other.family][0, other.slot]
            np.testing.assert_allclose(
                value, expected[place.family][0, place.slot], atol=1e-12, err_msg=f"track {number} at {moment}"
            )
