"""The playback cursor: which two frames are shown now, and how they are mixed."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keyframer.posing import Direction, Playback


def shown(cursor: Playback) -> tuple[int, int, float]:
    return cursor.current, cursor.following, round(cursor.blend, 9)


def test_forward_once_stops_at_the_end() -> None:
    cursor = Playback(0, 10, rate=10, loop=False)
    assert shown(cursor) == (0, 1, 0)
    assert cursor.advance(0.25) == 2.5
    assert shown(cursor) == (2, 3, 0.5)
    assert not cursor.finished
    assert cursor.advance(100) == 10
    assert shown(cursor) == (10, 10, 0)
    assert cursor.finished
    assert cursor.advance(-0.1) == pytest.approx(9)
    assert not cursor.finished


def test_forward_loop_starts_again() -> None:
    cursor = Playback(5, 15, rate=10)
    assert cursor.advance(0.95) == 14.5
    assert shown(cursor) == (14, 15, 0.5)
    assert cursor.advance(0.1) == pytest.approx(5.5)
    assert shown(cursor) == (5, 6, 0.5)
    assert not cursor.finished


def test_backward() -> None:
    cursor = Playback(0, 10, rate=10, direction=Direction.BACKWARD)
    assert cursor.time == 10
    assert cursor.advance(0.25) == 7.5
    assert shown(cursor) == (7, 8, 0.5)
    assert cursor.advance(0.8) == pytest.approx(9.5)
    once = Playback(0, 10, rate=10, loop=False, direction=Direction.BACKWARD)
    assert once.advance(5) == 0
    assert once.finished
    assert shown(once) == (0, 1, 0)


def test_alternating_playback_reverses_at_both_ends() -> None:
    cursor = Playback(0, 4, rate=1, direction=Direction.ALTERNATING)
    assert [cursor.advance(1) for _ in range(9)] == [1, 2, 3, 4, 3, 2, 1, 0, 1]
    once = Playback(0, 4, rate=1, loop=False, direction=Direction.ALTERNATING)
    assert once.advance(4) == 4
    assert shown(once) == (4, 4, 0)
    assert not once.finished
    assert once.advance(99) == 0
    assert once.finished


@pytest.mark.parametrize("direction", [Direction.FORWARD, Direction.BACKWARD])
def test_the_seam_of_sampled_clips_mixes_the_last_frame_with_the_first(direction: Direction) -> None:
    """All of the frames 0 to 3 count: one frame's time lies between frame 3 and the next frame 0."""
    cursor = Playback(0, 3, rate=1, seam=1, direction=direction)
    cursor.seek(3)
    cursor.advance(0.25 if direction is Direction.FORWARD else 3.75)
    assert shown(cursor) == (3, 0, 0.25)
    cursor.advance(4)
    assert shown(cursor) == (3, 0, 0.25)  # four frames later the same


def test_seek() -> None:
    for direction in Direction:
        cursor = Playback(2, 8, rate=30, direction=direction)
        for time, expected in ((5.5, 5.5), (-4, 2), (3, 3), (math.nan, 3)):
            cursor.seek(time)
            assert cursor.time == expected
        cursor = Playback(2, 8, rate=30, loop=False, direction=direction)
        cursor.seek(math.inf)
        assert cursor.time == 8


def test_speed_and_invalid_steps() -> None:
    cursor = Playback(0, 100, rate=30, speed=2)
    assert cursor.advance(0.5) == 30
    assert cursor.advance(math.nan) == 30
    assert cursor.advance(math.inf) == 30


@pytest.mark.parametrize("loop", [True, False])
@pytest.mark.parametrize("direction", Direction)
@pytest.mark.parametrize("end", [7, 3])
def test_a_clip_of_length_zero_does_not_move(direction: Direction, loop: bool, end: float) -> None:
    cursor = Playback(7, end, rate=30, loop=loop, direction=direction)
    assert cursor.advance(1.7) == 7
    assert shown(cursor)[0] == 7
    assert cursor.blend == 0
    assert cursor.finished is not loop


@settings(max_examples=200)
@given(
    st.integers(-50, 50),
    st.integers(1, 60),
    st.sampled_from(Direction),
    st.booleans(),
    st.sampled_from([0.0, 1.0]),
    st.lists(st.floats(-20, 20), max_size=8),
)
def test_the_shown_frames_are_always_inside_the_clip(
    start: int, length: int, direction: Direction, loop: bool, seam: float, steps: list[float]
) -> None:
    cursor = Playback(start, start + length, rate=7.5, loop=loop, seam=seam, direction=direction)
    for step in steps:
        cursor.advance(step)
        assert start <= cursor.current <= start + length
        assert start <= cursor.following <= start + length
        assert -1e-9 <= cursor.blend <= 1 + 1e-9
        assert start - 1e-6 <= cursor.time <= start + length + seam + 1e-6
