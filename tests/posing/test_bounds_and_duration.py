"""The size of a scene and the duration of a clip, compared with a slow and obvious evaluation."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import keyframer
from keyframer.curves import Interpolation, RotationForm, Track
from keyframer.exchange import EXPORTERS
from keyframer.formats.kit.scene_writing import DEFAULT_MAX_ERROR, Tolerance
from keyframer.limits import Budget
from keyframer.posing import Rig, bounds_and_duration, pose
from keyframer.posing.bounds_and_duration import clip_span, measured_once, scene_size
from keyframer.scene import Channel, Clip, Mesh, Node, Scene
from tests.building.scenes import as_read_from_a_file
from tests.samples import all_samples
from tests.slow import SLOW

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "windmill.3ds"
NAN, INF = math.nan, math.inf


def slow_size(scene: Scene, moments: int) -> float:
    """Every vertex and every node origin at many moments, one after the other."""
    clip = scene.clips[0] if scene.clips else Clip()
    begin, end = clip_span(clip)
    low, high = [INF] * 3, [-INF] * 3
    for frame in np.linspace(begin, end, moments if end > begin else 1) / clip.units_per_frame:
        moment = pose(scene, frames=[frame])
        points = [moment.world[0, :, :3, 3], *(moment.vertices(number)[0] for number in range(len(scene.nodes)))]
        for point in np.concatenate(points).tolist():
            if all(abs(part) < 1e30 for part in point):
                low = [min(pair) for pair in zip(low, point, strict=True)]
                high = [max(pair) for pair in zip(high, point, strict=True)]
    return math.dist(low, high) if low[0] <= high[0] and low != high else 1.0


@pytest.mark.parametrize(("name", "path"), all_samples(), ids=lambda value: getattr(value, "name", value))
def test_samples_have_the_size_of_the_slow_evaluation(name: str, path: Path) -> None:
    scene = keyframer.load(path, salvage=True)
    slow = slow_size(scene, 61 if SLOW else 25)
    if slow > 1e20:  # keys beyond the largest accepted number: a few moments cannot show when
        assert scene_size(scene) < 2e30
    else:
        assert 0.97 * slow <= scene_size(scene) <= 1.03 * slow


def rotating_rod(turns: float) -> Scene:
    """A rod that rotates about one end: the box around it over time is a square."""
    rod = Mesh("rod", np.array([[0.0, 0, 0], [10, 0, 0]]), np.empty((0, 3), int))
    times = np.linspace(0.0, 100.0, 16 * max(1, round(turns)) + 1)
    half = np.pi * turns * times / 100.0
    turn = np.stack([0 * half, 0 * half, np.sin(half), np.cos(half)], axis=1)
    track = Track("rotation", times, turn, Interpolation.LINEAR, form=RotationForm.QUATERNION_ABSOLUTE)
    return Scene(
        nodes=[Node("rod", mesh=0)],
        meshes=[rod],
        clips=[Clip(channels=[Channel(0, track)], end=100.0)],
    )


@pytest.mark.parametrize("turns", [1, 2, 3, 4, 8, 16, 32, 33])
def test_size_is_right_for_any_number_of_turns(turns: int) -> None:
    assert scene_size(rotating_rod(turns)) == pytest.approx(math.hypot(20, 20), rel=0.03)


def test_size_includes_vertices_and_origins_also_of_hidden_nodes() -> None:
    box = Mesh("box", np.array([[0.0, 0, 0], [1, 7, 2], [NAN, 0, 900], [1e31, 0, 0]]), np.empty((0, 3), int))
    scene = Scene(nodes=[Node("a", mesh=0), Node("b", position=np.array([3.0, 0, 0]))], meshes=[box])
    assert scene_size(scene) == pytest.approx(math.hypot(3, 7, 2))
    away = Track("position", np.array([0.0, 10.0]), np.array([[3.0, 0, 0], [3, 0, -40]]), Interpolation.LINEAR)
    hidden = Track("visible", np.zeros(1), np.zeros((1, 1)), Interpolation.STEP)
    scene.clips = [Clip(channels=[Channel(1, away), Channel(1, hidden)], end=10.0)]
    assert scene_size(scene) == pytest.approx(math.hypot(3, 7, 42))
    scene.nodes[0] = replace(scene.nodes[0], pivot=np.array([0.0, -100, 0]))
    assert scene_size(scene) == pytest.approx(math.hypot(3, 107, 42))


def test_empty_and_unmeasurable_scenes_have_size_1() -> None:
    assert scene_size(Scene()) == 1.0
    assert scene_size(Scene(nodes=[Node("a")])) == 1.0
    assert scene_size(Scene(nodes=[Node("a"), Node("b", position=np.array([1e31, 0, 0]))])) == 1.0


def test_large_scenes_are_measured_at_fewer_moments(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = rotating_rod(1)
    wanted = scene_size(scene)
    monkeypatch.setattr(bounds_and_duration, "MOST_VERTICES", 1)
    monkeypatch.setattr(bounds_and_duration, "MOST_MATRICES", 1)
    assert 0.5 * wanted < scene_size(scene) <= wanted
    rig = Rig(scene)
    with Budget(keyframer.Limits(samples=10_000)).opened():
        assert scene_size(scene, rig) > 0  # the size is never a reason to refuse a file


def test_windmill_has_one_size_for_all_targets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scene = keyframer.load(EXAMPLE)
    size = scene_size(scene)
    assert size == pytest.approx(slow_size(scene, 201), rel=0.03)
    measured: list[float] = []
    allowed: list[float] = []
    measure, tolerance = bounds_and_duration._diagonal, Tolerance.of

    def counted(*arguments: object) -> float:
        measured.append(measure(*arguments))  # type: ignore[arg-type]
        return measured[-1]

    def noted(given: Scene, max_error: float) -> Tolerance:
        allowed_error = tolerance(given, max_error)
        allowed.append(allowed_error.length)
        return allowed_error

    monkeypatch.setattr(bounds_and_duration, "_diagonal", counted)
    monkeypatch.setattr(Tolerance, "of", staticmethod(noted))
    targets = [known for known in EXPORTERS if known.takes_any_scene]
    assert len(targets) >= 6
    for exporter in targets:
        measured.clear()
        allowed.clear()
        report = keyframer.save(scene, tmp_path / exporter.name, format=exporter.name)
        assert len(measured) <= 1, exporter.name
        assert measured == pytest.approx([size] * len(measured)), exporter.name
        assert allowed == pytest.approx([DEFAULT_MAX_ERROR * size] * len(allowed)), exporter.name
        assert report.measured.get("size", size) == pytest.approx(size)
    assert keyframer.save(scene, tmp_path / "a.glb").measured["size"] == pytest.approx(size)


def test_saving_an_unchanged_scene_measures_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds_and_duration, "_diagonal", lambda *_: pytest.fail("measured"))
    scene = keyframer.load(EXAMPLE)
    keyframer.save(scene, tmp_path / "same.3ds")
    assert (tmp_path / "same.3ds").read_bytes() == EXAMPLE.read_bytes()


def test_inside_measured_once_all_scenes_have_the_first_size() -> None:
    near, far = (Scene(nodes=[Node("a"), Node("b", position=np.array([size, 0, 0]))]) for size in (3.0, 5.0))
    with measured_once():
        assert scene_size(near) == 3.0
        with measured_once():
            assert scene_size(far) == 3.0
    assert scene_size(far) == 5.0


@as_read_from_a_file()
def position_track(*times: float, interpolation: Interpolation = Interpolation.LINEAR) -> Track:
    return Track("position", np.array(times), np.zeros((len(times), 3)), interpolation)


@pytest.mark.parametrize(
    ("start", "end", "times", "span"),
    [
        (0.0, 100.0, [], (0.0, 100.0)),
        (0.0, 0.0, [[-10.0, 20.0], [5.0, 60.0]], (-10.0, 60.0)),
        (10.0, 20.0, [[99.0]], (10.0, 20.0)),  # a single key does not move, whatever its time
        (NAN, 100.0, [[0.0, 7.0]], (0.0, 7.0)),
        (4.0, INF, [[0.0, 7.0]], (0.0, 7.0)),
        (50.0, 10.0, [], (50.0, 50.0)),
        (0.0, 1e12, [[0.0, 7.0]], (0.0, 7.0)),
        (0.0, 5.0, [[0.0, NAN, 1e13, 9.0]], (0.0, 9.0)),
    ],
)
def test_clip_span(start: float, end: float, times: list[list[float]], span: tuple[float, float]) -> None:
    clip = Clip(start=start, end=end, channels=[Channel(0, position_track(*time)) for time in times])
    assert clip_span(clip) == span


def test_the_first_step_key_does_not_extend_a_clip() -> None:
    clip = Clip(
        start=5.0, end=6.0, channels=[Channel(0, position_track(-10.0, 3.0, 9.0, interpolation=Interpolation.STEP))]
    )
    assert clip_span(clip) == (3.0, 9.0)


def test_the_longest_clip_is_limited_in_frames_not_in_ticks() -> None:
    clip = Clip(end=1e9, units_per_frame=200.0, rate=4800.0)
    assert clip_span(clip) == (0.0, 1e9)
    assert clip_span(replace(clip, units_per_frame=1.0)) == (0.0, 0.0)
