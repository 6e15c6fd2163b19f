"""Sends requests to `inside.py`, and compares the answers with the expected values."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import keyframer
from keyframer.posing.bounds_and_duration import clip_span, scene_size
from keyframer.scene import Handedness, LightType, Scene

ROOT = Path(__file__).resolve().parents[2]
INSIDE = Path(__file__).with_name("inside.py")
BLENDERS = {"5.0": ROOT / ".venv-blender", "5.2": ROOT / ".venv-blender-5.2"}
"""the environment of each version, the oldest supported one first"""
OLDEST, NEWEST = BLENDERS


def needs_version(version: str) -> pytest.MarkDecorator:
    """Return a mark that skips tests if a version of Blender is not installed."""
    reason = f"bpy of Blender {version} is not installed (tools/install_blender.sh installs it where it can be had)"
    return pytest.mark.skipif(not any(BLENDERS[version].glob(".bpy-*")), reason=reason)


needs_blender = needs_version(OLDEST)
EACH_VERSION = [pytest.param(version, marks=needs_version(version), id=version) for version in BLENDERS]


def python_of(version: str) -> Path:
    return BLENDERS[version] / "bin" / "python"


def builder() -> Any:
    """Load tools/build_blender.py."""
    spec = importlib.util.spec_from_file_location("build_blender", ROOT / "tools" / "build_blender.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@dataclass
class Answer:
    """The answer of Blender to one request."""

    said: dict[str, Any]
    arrays: dict[str, np.ndarray]


def ask(archive: Path, requests: Sequence[dict[str, Any]], folder: Path, version: str = OLDEST) -> list[Answer]:
    """Send all requests to one Blender that has fresh settings."""
    (folder / "requests.json").write_text(json.dumps(requests), encoding="utf-8")
    command = [str(python_of(version)), str(INSIDE), str(archive), str(folder / "requests.json"), str(folder)]
    settings = {**os.environ, "BLENDER_USER_RESOURCES": str(folder / "settings")}
    settings.pop("PYTHONPATH", None)
    ran = subprocess.run(command, capture_output=True, text=True, check=False, env=settings)
    assert ran.returncode == 0, ran.stdout[-2000:] + ran.stderr[-4000:]
    answers = []
    for number in range(len(requests)):
        answer = json.loads((folder / f"{number}.json").read_text(encoding="utf-8"))
        assert "failed" not in answer, f"{requests[number]}\n{answer['failed']}"
        with np.load(folder / f"{number}.npz") as arrays:
            answers.append(Answer(answer, dict(arrays)))
    return answers


@cache
def to_blender_axes(up: str, handedness: Handedness) -> np.ndarray:
    """Return (3, 3) axes of a space in those of Blender (right-handed, Z up), written by hand."""
    right, left = Handedness.RIGHT, Handedness.LEFT
    rows = {
        ("z", right): [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
        ("y", right): [[1, 0, 0], [0, 0, -1], [0, 1, 0]],  # glTF's Y up: its Z comes towards the viewer, -Y here
        ("x", right): [[0, -1, 0], [0, 0, -1], [1, 0, 0]],
        ("z", left): [[1, 0, 0], [0, -1, 0], [0, 0, 1]],
        ("y", left): [[1, 0, 0], [0, 0, 1], [0, 1, 0]],
    }
    return np.array(rows[up, handedness], np.float64)


@dataclass
class Case:
    """A file that Blender plays, and the expected values."""

    path: Path
    scene: Scene
    frames: list[float]
    clip: int = 0
    operator: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.pose = keyframer.pose(self.scene, frames=self.frames, clip=self.clip)
        self.axes = to_blender_axes(self.scene.space.up, self.scene.space.handedness)
        self.size = scene_size(self.scene)

    def request(self) -> dict[str, Any]:
        return {
            "do": "play",
            "operator": {"filepath": str(self.path), **self.operator},
            "frames": self.frames,
            "points": {str(number): self.points(number).tolist() for number in self.cameras},
            **({"action": self.clip} if self.clip else {}),
        }

    @property
    def cameras(self) -> list[int]:
        return [number for number, node in enumerate(self.scene.nodes) if node.camera is not None]

    def in_blender(self, points: np.ndarray) -> np.ndarray:
        return points @ self.axes.T

    def points(self, number: int) -> np.ndarray:
        """Return (T, P, 3) points that a camera sees at `SEEN` of its image plane, in Blender's axes."""
        world = self.pose.world[:, number]
        away = 1.0 if self.scene.space.handedness is Handedness.LEFT else -1.0
        x, y, z = (
            world[:, None, :3, axis] / np.linalg.norm(world[:, None, :3, axis], axis=-1, keepdims=True)
            for axis in range(3)
        )
        ahead = world[:, None, :3, 3] + (away * z + SEEN[:, :1] * x + SEEN[:, 1:] * y) * 0.5 * self.size
        return self.in_blender(ahead)

    def differences(self, answer: Answer) -> Iterator[tuple[str, int, float]]:
        """Yield the quantity, the node and the difference, in sizes of the scene."""
        for name, found in answer.arrays.items():
            what, number = name.split()
            if what not in ("normals", "uv", "colors", "corners"):
                yield what, int(number), self._difference(what, int(number), found, answer)

    def troubles(self, answer: Answer) -> list[str]:
        """Return the quantities that are missing in Blender or off by more than 1e-4 of the scene's size."""
        differences = [
            f"{self.path.name}: {what} of {self.scene.nodes[number].name!r}: {away:.2g}"
            for what, number, away in self.differences(answer)
            if not away <= 1e-4  # NaN, too
        ]
        missing = [
            f"{self.path.name}: node {number} is missing"
            for number in range(len(self.scene.nodes))
            if not {f"world {number}", f"vertices {number}"} & set(answer.arrays)
        ]
        return differences + missing

    def _difference(self, what: str, number: int, found: np.ndarray, answer: Answer) -> float:
        """Return a difference in sizes of the scene; for yes-or-no quantities 0 if right, 1 if wrong."""
        shown = self.pose.visible[:, number] & self._has_direction(number)
        if what == "hidden":
            return float((found == self.pose.visible[:, number]).any())
        if not shown.any():
            return 0.0
        if what == "world":
            return self._matrix_difference(number, found[shown], shown)
        if what == "vertices":
            wanted = self.pose.vertices(number)[shown]
            wanted = wanted[:, :: max(1, wanted.shape[1] // 40)]
            off = found[shown] - self.in_blender(wanted)
            return float(np.abs(off).max(initial=0.0)) / self.size
        if what == "light":
            return self._light_difference(number, found[shown], shown)
        camera = self.scene.nodes[number].camera
        wide = np.tan(np.radians(np.clip(self.pose.camera_fov_degrees[:, camera], 0.01, 172)) / 2)[:, None]
        wanted = np.stack(
            [0.5 + SEEN[:, 0] / (2 * wide), 0.5 + SEEN[:, 1] / (2 * wide) * answer.said["aspect"]], axis=-1
        )
        return float(np.abs((found[shown][..., :2] - wanted[shown]) * wide[shown][:, None]).max())

    def _light_difference(self, number: int, found: np.ndarray, shown: np.ndarray) -> float:
        """Return the difference of multiplier, colour and cones; 1e-3 (0.1 degree) counts as 1e-4 of the scene's
        size."""
        light = self.scene.nodes[number].light
        assert light is not None
        pose, stated = self.pose, self.scene.lights[light]
        colors = np.clip(pose.light_colors[shown, light], 0, 1)
        linear = np.where(colors <= 0.04045, colors / 12.92, ((colors + 0.055) / 1.055) ** 2.4)
        power = pose.light_multipliers[shown, light] * stated.on
        off = [np.abs(found[:, 0] - power), *np.abs(found[:, 1:4] - linear).T]
        if stated.type is LightType.SPOT:
            outer = np.clip(pose.light_falloff_degrees[shown, light], 1, 180)
            inner = np.clip(pose.light_hotspot_degrees[shown, light], 0, outer)
            off += [np.abs(found[:, 4] - outer) / 100, np.abs(found[:, 5] - inner) / 100]
        return float(np.max(off)) / 20

    def _has_direction(self, number: int) -> np.ndarray:
        """Return (T,) false where a camera or light is at its target, and so has no direction."""
        target = self.scene.nodes[number].target
        if target is None:
            return np.ones(len(self.frames), np.bool_)
        return np.any(self.pose.world[:, number, :3, 3] != self.pose.world[:, target, :3, 3], axis=1)

    def _matrix_difference(self, number: int, found: np.ndarray, shown: np.ndarray) -> float:
        """Return the difference of origins, and of axes scaled to the scene's size. Cameras and lights keep their own
        axes."""
        world = self.pose.world[shown, number]
        node = self.scene.nodes[number]
        behind = self.axes.T
        if node.camera is not None or node.light is not None:
            behind = np.diag([1.0, 1.0, np.linalg.det(self.axes)])
        places = np.abs(found[:, :3, 3] - self.in_blender(world[:, :3, 3])).max() / self.size
        linear = self.axes @ world[:, :3, :3] @ behind
        largest = max(1.0, float(np.abs(linear).max()))
        return max(float(places), float(np.abs(found[:, :3, :3] - linear).max()) / largest)


SEEN = np.array([(0.0, 0.0), (0.2, 0.1), (-0.3, 0.2), (0.1, -0.25)])


def frames_to_play(scene: Scene, clip: int = 0) -> list[float]:
    """Return ten whole frames and as many times between frames, from the first to the last frame of a clip."""
    whole = ten_frames(scene, clip)
    between = [frame + 0.37 for frame in whole[:-1]] + [frame - 0.25 for frame in whole[1:]]
    return sorted({*whole, *between[::2]})


def ten_frames(scene: Scene, clip: int = 0) -> list[float]:
    """Return whole frames from the first to the last of a clip."""
    if not scene.clips:
        return [0.0]
    chosen = scene.clips[clip]
    begin, end = (time / (chosen.units_per_frame or 1.0) for time in clip_span(chosen))
    return sorted({float(frame) for frame in np.rint(np.linspace(begin, end, 10))})
