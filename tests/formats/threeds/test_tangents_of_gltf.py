"""Keys with tangents, as in glTF, in a 3D Studio file: the reported error, and a frame rate that meets the limit.

Keys are on whole frames, and their tangents lie in the plane of the adjacent chords: a corner between two arcs, or an
arc that begins at full speed, cannot be followed there however tension, continuity and bias are chosen (a random
search over all three at every frame around the corner of this track found nothing better than 0.0022, and 0.0013 where
the values of the keys could move as well).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import keyframer
from keyframer.curves import Interpolation, Track
from keyframer.scene import Channel, Clip, Node, NodeKind, Scene
from keyframer.scene.loss_report import Loss

TIMES = np.array([0.0, 1.0, 3.0])
VALUES = np.array([[1.0, 2, 3], [4, 0, 1], [0, 0, 0]])
INTO = np.array([[0.0, 0, 0], [0, 1, 0], [2, 2, 0]])
OUT = np.array([[1.0, 0, 2], [0, -1, 0], [0, 0, 0]])


def arcs(seconds: np.ndarray) -> np.ndarray:
    """The curve of the keys by the definition of glTF."""
    points = []
    for time in seconds:
        k = 0 if time < 1 else 1
        span = TIMES[k + 1] - TIMES[k]
        t = (time - TIMES[k]) / span
        points.append(
            (2 * t**3 - 3 * t**2 + 1) * VALUES[k]
            + span * (t**3 - 2 * t**2 + t) * OUT[k]
            + (-2 * t**3 + 3 * t**2) * VALUES[k + 1]
            + span * (t**3 - t**2) * INTO[k + 1]
        )
    return np.array(points)


PATH = np.vstack([arcs(np.linspace(0.0, 3.0, 3001)), [[5.0, 0.0, 0.0]]])
SIZE = float(np.linalg.norm(np.ptp(PATH, axis=0)))
"""of the scene below: the box of all places that its two nodes take"""
MAX_DISTANCE = 1e-4 * SIZE


def save(path: Path, **options: object) -> tuple[float, Loss]:
    """The largest error of the file at 3,001 times, and its entry in the report."""
    track = Track("position", TIMES, VALUES, Interpolation.CUBIC, tangents_in=INTO, tangents_out=OUT)
    far = Node("far", NodeKind.DUMMY, position=np.array([5.0, 0.0, 0.0]))
    clip = Clip(channels=[Channel(0, track)], end=3.0, rate=1.0, unit="second", units_per_frame=1 / 30)
    scene = Scene(nodes=[Node("sheet", NodeKind.DUMMY), far], clips=[clip])
    (loss,) = [entry for entry in keyframer.save(scene, path, **options) if entry.path == "/nodes/sheet/position"]
    reading = {"fps": options["fps"]} if "fps" in options else {}
    loaded = keyframer.load(path, **reading)
    seconds = np.linspace(0.0, 3.0, 3001)
    place = loaded.nodes.index(loaded.node("sheet"))
    world = np.asarray(keyframer.pose(loaded, times=seconds).world)[:, place, :3, 3]
    return float(np.linalg.norm(world - arcs(seconds), axis=1).max()), loss


def test_an_error_above_the_limit_is_reported(tmp_path: Path) -> None:
    error, loss = save(tmp_path / "out.3ds")
    assert loss.error is not None
    assert MAX_DISTANCE < error <= 1.05 * loss.error
    assert "the times of the format are too coarse; find_rate=true searches for a sufficient frame rate" in loss.advice


def test_a_sufficient_frame_rate_is_found_on_request(tmp_path: Path) -> None:
    _, loss = save(tmp_path / "out.3ds", find_rate=True)
    assert "the times of the format are too coarse; fps=120 would be sufficient" in loss.advice


def test_a_higher_frame_rate_meets_the_limit(tmp_path: Path) -> None:
    error, loss = save(tmp_path / "out.3ds", fps=120.0)
    assert error <= MAX_DISTANCE
    assert "coarse" not in loss.advice


@pytest.mark.parametrize("max_error", [1e-3, 1e-2])
def test_a_larger_error_is_met_on_whole_frames(max_error: float, tmp_path: Path) -> None:
    error, loss = save(tmp_path / "out.3ds", max_error=max_error)
    assert error <= SIZE * max_error
    assert "coarse" not in loss.advice
