"""Rotating scenes saved as node animations play the same when loaded without options."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import keyframer
from keyframer.curves import Interpolation, RotationForm, Track, Wrap
from keyframer.scene import Node, NodeKind, Scene
from tests.building.nodeanim import LINEAR, TCB, Bone, Framing, Key, write
from tests.building.nodeanim import Clip as File
from tests.building.random_scenes import figures, largest_difference
from tests.building.scenes import one_node

MOMENTS = np.linspace(0.0, 40.0, 161)
SAME = (1e-4, 0.02)
"""scene units and degrees: 32-bit keys, and what is fitted holds 0.01 degree"""


def save_and_reload(scene: Scene, folder: Path) -> Scene:
    """The scene saved and loaded without options; `check` must not report an ambiguity."""
    path = folder / "made.nanim"
    report = keyframer.save(scene, path, overwrite=True)
    assert not [loss for loss in report if loss.path == "/reading"]
    assert "SCENE_ROTATION_GUESSED" not in keyframer.check(path).counts
    return keyframer.load(path)


def assert_plays_the_same(scene: Scene, folder: Path) -> None:
    length, degrees = largest_difference(scene, save_and_reload(scene, folder), MOMENTS)
    assert length <= SAME[0]
    assert degrees <= SAME[1]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("turning")


@settings(max_examples=60)
@given(scene=figures(widest=15.0))
def test_random_figures(folder: Path, scene: Scene) -> None:
    assert_plays_the_same(scene, folder)


def spinner(angles: list[float], how: Interpolation, frames: list[float] | None = None, **fields: object) -> Scene:
    times = np.arange(len(angles)) * 10.0 if frames is None else np.array(frames)
    values = np.array([[0.0, 0.0, 1.0, angle] for angle in angles])
    track = Track("rotation", times, values, how, form=RotationForm.AXIS_ANGLE_RELATIVE, **fields)  # type: ignore[arg-type]
    return one_node(track, node=Node("cube", NodeKind.DUMMY), end=40.0)


@settings(max_examples=100)
@given(
    first=st.sampled_from([0.0, 0.3, -1.5, math.pi, 7.0, -40.0]),
    step=st.sampled_from([15, 45, 60, 90, 120, 135, 180, 200, 270, 359, 360, 450, 720, 2000]),
    sign=st.sampled_from([1, -1]),
    count=st.integers(1, 5),
    how=st.sampled_from([Interpolation.TCB, Interpolation.LINEAR, Interpolation.STEP]),
)
def test_constant_rotation_speed(
    folder: Path, first: float, step: int, sign: int, count: int, how: Interpolation
) -> None:
    """Equal increments, which could be read as a pause: TCB, linear, or step."""
    assert_plays_the_same(spinner([first, *[sign * math.radians(step)] * (count - 1)], how), folder)


@pytest.mark.parametrize("step", [90.0, 120.0, 180.0, math.degrees(float(np.float32(math.pi)))])
def test_quarter_turn_increments_are_kept(step: float, folder: Path) -> None:
    scene = save_and_reload(spinner([0.0, *[math.radians(step)] * 3], Interpolation.TCB), folder)
    (channel,) = scene.clips[0].channels
    assert channel.track.form is RotationForm.AXIS_ANGLE_RELATIVE
    assert channel.track.values[1:, 3].tolist() == pytest.approx([math.radians(step)] * 3, abs=1e-6)
    world = keyframer.pose(scene, times=[0, 1 / 3, 2 / 3, 1.0]).world[:, 0]
    angles = np.degrees(np.arctan2(world[:, 1, 0], world[:, 0, 0])) % 360
    assert np.abs((angles - step * np.arange(4) + 180) % 360 - 180).max() < 1e-3


@pytest.mark.parametrize("wrap", [Wrap.REPEAT, Wrap.LOOP])
@pytest.mark.parametrize("last", [7.0, 40.0])
def test_repeat_and_loop(wrap: Wrap, last: float, folder: Path) -> None:
    """Unrolled keys lie between frames: the time unit must still be recognised."""
    scene = spinner([0.0, 1.0, 2.5], Interpolation.TCB, [0.0, 3.0, last], wrap=wrap)
    scene.clips[0].end = 90.0
    assert largest_difference(scene, save_and_reload(scene, folder), np.linspace(0.0, 90.0, 181))[1] <= SAME[1]


def test_the_windmill(folder: Path) -> None:
    scene = keyframer.load(Path(__file__).parents[2] / "samples/3ds/windmill.3ds")
    loaded = save_and_reload(scene, folder)
    ours, theirs = (keyframer.pose(posed_scene, times=np.linspace(0, 3.3, 100)) for posed_scene in (scene, loaded))
    places = {node.name: at for at, node in enumerate(loaded.nodes)}
    for at, node in enumerate(scene.nodes):
        if node.target is None and node.name in places:
            assert np.abs(ours.local[:, at] - theirs.local[:, places[node.name]]).max() < 2e-3, node.name


@pytest.mark.parametrize(
    ("flags", "angles", "choice"),
    [
        (TCB, (0, 90, 90, 90), "relative"),  # equal keys: habit decides
        (LINEAR, (0, 90, 90, 90), "absolute"),
        (TCB, (10, 90, 90.1, 90.2), "relative"),
        (LINEAR, (10, 90, 90.1, 90.2), "absolute"),
        (TCB, (0.2, 0.3), "relative"),
        (LINEAR, (0.2, 0.3), "absolute"),
        (TCB, (0.1, 0.2, -0.05, 0.1), "relative"),  # 0.35 against 0.5 radians
        (LINEAR, (0.1, 0.2, -0.05, 0.1), "relative"),
        (TCB, (0.5, 0.9, 0.2, 0.8), "relative"),  # 1.9 against 1.7 radians: a near tie
        (LINEAR, (0.5, 0.9, 0.2, 0.8), "relative"),
    ],
)
def test_ambiguous_keys_of_other_programs_cause_a_warning(flags: int, angles: tuple[float, ...], choice: str) -> None:
    keys = tuple(Key(0, at / 4, (angle, 0.0, 0.0, 1.0), (0.0,) * 5) for at, angle in enumerate(angles))
    report = keyframer.check(write(File((Bone(b"cube", flags, rotations=keys),)), Framing()))
    (issue,) = [issue for issue in report.issues if issue.code == "SCENE_ROTATION_GUESSED"]
    assert issue.severity is keyframer.Severity.WARNING
    assert f"read as {choice}; this is a guess" in issue.message


@pytest.mark.parametrize(
    "angles", [(0, 0, 0), (1.5,), (0, 1.5), (0, 0.5, 1, 1.5, 2, 2.5), (7, 0.5, 0.5), (0.1, -0.1, 0.1)]
)
def test_unambiguous_keys_cause_no_warning(angles: tuple[float, ...]) -> None:
    keys = tuple(Key(0, at / 4, (angle, 0.0, 0.0, 1.0), (0.0,) * 5) for at, angle in enumerate(angles))
    report = keyframer.check(write(File((Bone(b"cube", LINEAR, rotations=keys),)), Framing()))
    assert "SCENE_ROTATION_GUESSED" not in report.counts
