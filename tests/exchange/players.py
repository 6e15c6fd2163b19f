"""Compares what players show of exported files with the poses of the scenes: Blender, three.js, independent sampler."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import keyframer
from keyframer.scene import Scene
from keyframer.scene.loss_report import LossReport
from tests.building.gltf import glb, split_glb
from tests.exchange.truth import (
    ORACLES,
    animation_of,
    between_jumps,
    frames_of,
    geometry,
    glb_of,
    gltf_node_of,
    key_seconds,
    mirror_of,
    node_lines,
    settings_of,
    sources_of,
    to_file_axes,
)
from tests.oracles.gltf.sampler import Gltf

PYTHON = Path(__file__).resolve().parents[2] / ".venv-blender" / "bin" / "python"

needs_blender = pytest.mark.skipif(
    not any(PYTHON.parents[1].glob(".bpy-*")),
    reason="Blender's bpy is not installed (tools/install_blender.sh installs it where it can be had)",
)


@dataclass
class Case:
    """One exported clip."""

    name: str
    scene: Scene
    data: bytes
    size: float
    clip: int = 0
    fov_error: float = 0.0
    """degrees, as reported by the exporter"""

    def __post_init__(self) -> None:
        self.gltf = Gltf(self.data)
        self.animation = animation_of(self.gltf, self.clip)
        self.settings = None if self.animation is None else settings_of(self.gltf, self.animation)

    def seconds(self, generator: np.random.Generator, most: int) -> np.ndarray:
        """Return frames of Blender's 24 a second, keys, and times between."""
        if self.animation is None:
            return np.zeros(1)
        keys = key_seconds(self.gltf, self.animation)
        frames = np.arange(int(keys[-1] * 24) + 1) / 24
        chosen = [generator.permutation(some)[:most] for some in (frames, keys, generator.uniform(0, keys[-1], most))]
        return between_jumps(self.gltf, np.unique(np.concatenate([*chosen, keys[-1:]])), self.animation)


@dataclass
class Difference:
    """The largest differences of a clip: positions in sizes of the scene, angles of cameras in degrees."""

    places: float = 0.0
    vertices: float = 0.0
    aim: float = 0.0
    up: float = 0.0
    fov: float = 0.0


def in_sampler(case: Case, seconds: np.ndarray) -> Difference:
    """Compare with the independent sampler."""
    gltf = case.gltf
    worlds = gltf.worlds(seconds, case.animation)
    animations = [gltf.json["animations"][number] for number in (case.animation, case.settings) if number is not None]
    pointers = {
        channel["target"]["extensions"]["KHR_animation_pointer"]["pointer"]: animation["samplers"][channel["sampler"]]
        for animation in animations
        for channel in animation["channels"]
        if channel["target"]["path"] == "pointer"
    }
    cameras = {}
    for number, node in enumerate(gltf.nodes):
        if "camera" in node:
            moved = pointers.get(f"/cameras/{node['camera']}/perspective/yfov")
            yfov = np.full(len(seconds), gltf.json["cameras"][node["camera"]]["perspective"]["yfov"])
            yfov = yfov if moved is None else gltf.sampled(moved, seconds, "yfov")[:, 0]
            turn = worlds[:, number, :3, :3] / np.linalg.norm(worlds[:, number, :3, :3], axis=1, keepdims=True)
            cameras[f"n{number}"] = list(zip(-turn[:, :, 2], turn[:, :, 1], yfov, strict=True))
    places = {f"n{number}": worlds[:, number, :3, 3] for number in range(len(gltf.nodes))}
    return _compared(case, seconds, {}, {"places": places, "cameras": cameras})


def in_three(cases: Iterable[Case], folder: Path, most: int) -> Iterator[tuple[Case, Difference]]:
    """Compare with the loader and mixer of three.js, all cases in one process. They do not support
    KHR_animation_pointer, so fields of view are not compared."""
    generator = np.random.default_rng(3)
    waiting, lines = [], []
    for number, case in enumerate(cases):
        path = folder / f"{number}.glb"
        path.write_bytes(case.data)
        seconds = case.seconds(generator, most)
        waiting.append((case, seconds))
        lines.append(json.dumps({"file": str(path), "seconds": seconds.tolist(), "animation": case.animation or 0}))
    for line, (case, seconds) in zip(node_lines("play.mjs", lines), waiting, strict=True):
        answer = json.loads(line)
        places = {f"n{number}": place for number, place in enumerate(zip(*answer["places"], strict=True))}
        cameras = {
            f"n{number}": [(*angles, np.nan) for angles in column] for number, column in answer["cameras"].items()
        }
        yield case, _compared(case, seconds, {}, {"places": places, "cameras": cameras})


def in_blender(
    cases: Iterable[Case], folder: Path, most: int = 5, python: Path = PYTHON
) -> Iterator[tuple[Case, Difference]]:
    """Compare with the importer and animation system of Blender, all cases in one process."""
    generator = np.random.default_rng(24)
    waiting = []
    with open(folder / "requests", "w", encoding="utf-8") as requests:
        for number, case in enumerate(cases):
            path = folder / f"{number}.glb"
            path.write_bytes(with_plain_names(case.data))
            seconds = case.seconds(generator, most)
            shapes = _shapes(case)
            request = {
                "file": str(path),
                "names": [f"n{index}" for index in range(len(case.gltf.nodes))],
                "seconds": seconds.tolist(),
                "animations": [f"a{number}" for number in (case.animation, case.settings) if number is not None],
                "vertices": {f"n{place}": numbers.tolist() for place, (_, numbers, _) in shapes.items()},
            }
            requests.write(json.dumps(request) + "\n")
            waiting.append((case, seconds, shapes))
    command = [str(python), str(ORACLES / "blender" / "play.py"), str(folder / "requests"), str(folder / "answers")]
    completed = subprocess.run(command, capture_output=True, text=True, check=False)
    assert completed.returncode == 0, completed.stdout[-2000:] + completed.stderr[-4000:]
    with open(folder / "answers", encoding="utf-8") as answers:
        for line, (case, seconds, shapes) in zip(answers, waiting, strict=True):
            yield case, _compared(case, seconds, shapes, json.loads(line))


def with_plain_names(data: bytes) -> bytes:
    """Return the file with nodes named n0, n1 … and animations a0, a1 …: Blender changes names that are long or
    equal."""
    text, binary = split_glb(data)
    for letter, kind in (("n", "nodes"), ("a", "animations")):
        for number, entry in enumerate(text.get(kind, ())):
            entry["name"] = f"{letter}{number}"
    return glb(text, binary)


Shapes = dict[int, tuple[int, np.ndarray, np.ndarray]]
"""by glTF node: the node of the scene, some vertices as the player numbers them, the same as the scene does"""


def _shapes(case: Case, some: int = 12) -> Shapes:
    shapes: Shapes = {}
    for number, node in enumerate(case.scene.nodes):
        place = None if node.mesh is None else geometry(case.gltf, gltf_node_of(case.gltf, case.scene, number))
        if place is None:
            continue
        kept, count = [], 0
        for primitive in case.gltf.json["meshes"][case.gltf.nodes[place]["mesh"]]["primitives"]:
            # Blender's importer keeps the vertices that faces use, primitive by primitive
            kept.append(count + np.unique(case.gltf.accessor(primitive["indices"])))
            count += len(case.gltf.accessor(primitive["attributes"]["POSITION"]))
        written = np.concatenate(kept)
        numbers = np.linspace(0, len(written) - 1, min(some, len(written))).astype(int)
        sources = sources_of(case.scene, case.gltf, place, node.mesh)
        shapes[place] = number, numbers, sources[written[numbers]]
    return shapes


def _compared(case: Case, seconds: np.ndarray, shapes: Shapes, answer: dict[str, Any]) -> Difference:
    scene, gltf = case.scene, case.gltf
    frames = frames_of(gltf, scene, seconds, case.clip) if scene.clips else seconds
    pose = keyframer.pose(scene, frames=frames, clip=case.clip)
    turn = to_file_axes(scene)[:3, :3]
    worst = Difference()
    for number, node in enumerate(scene.nodes):
        name = f"n{gltf_node_of(gltf, scene, number)}"
        away = np.array(answer["places"][name]) - pose.world[:, number, :3, 3] @ turn.T
        worst.places = max(worst.places, float(np.abs(away).max()) / case.size)
        if node.camera is not None and name in answer["cameras"]:
            aim, up, yfov = (np.array(column) for column in zip(*answer["cameras"][name], strict=True))
            matrix = turn @ pose.world[:, number, :3, :3] @ np.diag(mirror_of(scene))
            matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
            worst.aim = max(worst.aim, _degrees(aim, -matrix[:, :, 2]))
            worst.up = max(worst.up, _degrees(up, matrix[:, :, 1]))
            wide = np.tan(np.radians(pose.camera_fov_degrees[:, node.camera]) / 2)
            away = np.nan_to_num(np.degrees(yfov - 2 * np.arctan(wide * 3 / 4)))
            worst.fov = max(worst.fov, float(np.abs(away).max()))
    for place, (number, _, sources) in shapes.items():
        shown = pose.visible[:, number]
        if shown.any():
            away = np.array(answer["vertices"][f"n{place}"])[shown] - pose.vertices(number)[shown][:, sources] @ turn.T
            worst.vertices = max(worst.vertices, float(np.abs(away).max()) / case.size)
    return worst


def _degrees(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.degrees(2 * np.arcsin(np.clip(np.linalg.norm(a - b, axis=1) / 2, 0, 1))).max())


def cases_of(named: Iterable[tuple[str, Scene]], keys: str = "linear") -> Iterator[Case]:
    """Return every clip of named scenes, exported."""
    for name, scene in named:
        yield from cases(name, scene, *glb_of(scene, keys=keys))


def cases(name: str, scene: Scene, data: bytes, report: LossReport) -> Iterator[Case]:
    """Return every clip of an exported scene."""
    reached = [loss.error for loss in report if loss.path.endswith("/fov") and loss.error is not None]
    for clip in range(len(scene.clips)):
        yield Case(name, scene, data, report.measured["size"], clip, fov_error=max(reached, default=0.0))


def troubles(case: Case, found: Difference, other_vertices: Container[str] = ()) -> list[str]:
    """Return the differences of a player that exceed the default limits; the vertices of ``other_vertices`` do not
    count."""
    troubles = []
    if found.places > 1e-4:
        troubles.append(f"{case.name}: a node is {found.places:.2g} of the scene's size off")
    if found.vertices > 1e-4 and case.name not in other_vertices:
        troubles.append(f"{case.name}: a vertex is {found.vertices:.2g} of the scene's size off")
    troubles += [
        f"{case.name}: the {what} of a camera is {degrees:.2g} degrees off"
        for what, degrees, allowed in (
            ("aim", found.aim, 0.01),
            ("up", found.up, 0.01),
            ("field of view", found.fov, max(0.01, case.fov_error + 1e-3)),
        )
        if degrees > allowed
    ]
    return troubles
