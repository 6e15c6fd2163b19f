"""Compares an exported file, played by the independent sampler, with the pose of its scene."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import keyframer
from keyframer.exchange.gltf.write import GltfOptions, export
from keyframer.exchange.gltf.write.asset import glb_parts
from keyframer.scene import Handedness, Scene
from keyframer.scene.loss_report import LossReport
from tests.oracles.gltf.sampler import Gltf

ORACLES = Path(__file__).resolve().parents[1] / "oracles"

needs_node_tools = pytest.mark.skipif(
    shutil.which("node") is None or not (ORACLES / "node_modules" / "gltf-validator").is_dir(),
    reason="node or its packages are missing (tools/install_node_tools.sh installs them where it may)",
)

ALLOWED_INFOS = {
    "ACCESSOR_INDEX_TRIANGLE_DEGENERATE",  # faces of the file that have no area
    "IMAGE_NPOT_DIMENSIONS",  # images of the time have any size
    "INCOMPLETE_EXTENSION_SUPPORT",  # KHR_animation_pointer is only partly known to the validator
    "NODE_EMPTY",  # dummies and targets
    "UNUSED_OBJECT",  # materials without faces, texture coordinates without textures
    "UNSUPPORTED_EXTENSION",  # KHR_node_visibility is newer than the validator
}


def glb_of(scene: Scene, **options: Any) -> tuple[bytes, LossReport]:
    asset, report = export(scene, GltfOptions(**options))
    return b"".join(glb_parts(asset)), report


def node_lines(script: str, lines: list[str]) -> list[str]:
    """Run a script of the oracles on all lines in one process."""
    completed = subprocess.run(
        ["node", str(ORACLES / "gltf" / script)],
        input="\n".join(lines) + "\n",
        capture_output=True,
        text=True,
        check=False,
        cwd=ORACLES,
        env={**os.environ, "NODE_NO_WARNINGS": "1"},
    )
    assert completed.returncode == 0, completed.stderr
    return completed.stdout.splitlines()


def assert_valid(paths: Sequence[Path]) -> None:
    """Assert that Khronos' validator finds no errors, no warnings, and only known infos in some files."""
    reports = [json.loads(line) for line in node_lines("validate.mjs", [str(path) for path in paths])]
    assert len(reports) == len(paths) > 0
    bad = {
        f"{Path(report['file']).name}: {message['code']}: {message['message']}"
        for report in reports
        for message in report["messages"]
        if message["severity"] < 2 or message["code"] not in ALLOWED_INFOS
    }
    assert bad == set()


def to_file_axes(scene: Scene, unit: float = 1.0) -> np.ndarray:
    """Return the (4, 4) matrix from the scene's space to glTF's, written independently of the exporter."""
    left = scene.space.handedness is Handedness.LEFT
    matrix = {
        ("y", False): [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
        ("z", False): [[1, 0, 0], [0, 0, 1], [0, -1, 0]],
        ("x", False): [[0, -1, 0], [1, 0, 0], [0, 0, 1]],
        ("y", True): [[1, 0, 0], [0, 1, 0], [0, 0, -1]],
        ("z", True): [[1, 0, 0], [0, 0, 1], [0, 1, 0]],
    }[scene.space.up, left]
    out = np.eye(4)
    out[:3, :3] = np.array(matrix, float) * unit
    return out


JUMP = 6e-4
"""seconds: LINEAR has no jumps, so one is two keys that are nearer than this"""


def key_seconds(gltf: Gltf, animation: int = 0) -> np.ndarray:
    """Return the times of all keys. Of two keys that form a jump, only the later one: its value holds at that time."""
    times = _all_key_seconds(gltf, animation)
    return times[np.append(np.diff(times) > JUMP, True)]


def _all_key_seconds(gltf: Gltf, animation: int) -> np.ndarray:
    samplers = gltf.json["animations"][animation]["samplers"]
    return np.unique(np.concatenate([gltf.accessor(sampler["input"])[:, 0] for sampler in samplers])).astype(float)


def between_jumps(gltf: Gltf, seconds: np.ndarray, animation: int = 0) -> np.ndarray:
    """Return those of the times that are not inside a jump. Times are those of keys if single precision may not tell
    them apart: a player must not be asked for the value just before a step."""
    times = _all_key_seconds(gltf, animation)
    nearest = times[np.abs(times[:, None] - seconds).argmin(axis=0)]
    seconds = np.where(np.abs(nearest - seconds) <= 1e-7 * np.abs(seconds), nearest, seconds)
    after = np.clip(np.searchsorted(times, seconds, side="right"), 1, len(times) - 1)
    inside = (seconds > times[after - 1]) & (seconds < times[after])
    return seconds[~(inside & (times[after] - times[after - 1] <= JUMP))]


def moments(gltf: Gltf, generator: np.random.Generator, most: int = 300, animation: int = 0) -> np.ndarray:
    """Return times at keys, between keys and at random."""
    keys = key_seconds(gltf, animation)
    between = (keys[1:] + keys[:-1]) / 2
    chosen = [
        generator.permutation(keys)[: most // 3],
        generator.permutation(between)[: most // 3],
        generator.uniform(0, keys[-1], most // 3),
        keys[:1],
    ]
    return between_jumps(gltf, np.concatenate(chosen), animation)


def frames_of(gltf: Gltf, scene: Scene, seconds: np.ndarray, clip: int = 0) -> np.ndarray:
    """Return frames of the clip; seconds have single precision, so nearly whole frames are rounded."""
    about = gltf.json["scenes"][0]["extras"]["keyframer"]["clips"][clip]
    units = seconds * about["rate"] + about["origin"]
    near = np.round(units)
    units = np.where(np.abs(units - near) < 1e-6 * np.maximum(1.0, np.abs(units)), near, units)
    return units / scene.clips[clip].units_per_frame


def gltf_node_of(gltf: Gltf, scene: Scene, number: int) -> int:
    """Return the glTF node of a node of the scene: they have the scene's order, after the root if there is one."""
    first = gltf.json["scenes"][0]["nodes"][0]
    has_root = gltf.nodes[first].get("extras", {}).get("keyframer", {}).get("helper") == "root"
    return number + int(has_root)


def geometry(gltf: Gltf, number: int) -> int | None:
    """Return the node with the mesh: the node itself, or below its helper nodes."""
    waiting = [number]
    while waiting:
        node = gltf.nodes[waiting.pop()]
        if "mesh" in node:
            return gltf.nodes.index(node)
        helpers = ("_geo", "_scale", "_shape")
        waiting += [child for child in node.get("children", []) if gltf.nodes[child]["name"].endswith(helpers)]
    name = gltf.nodes[number]["name"] + "_geo"
    return next((i for i, node in enumerate(gltf.nodes) if node["name"] == name and "mesh" in node), None)


def animation_of(gltf: Gltf, clip: int) -> int | None:
    """Return the index of the animation with the motion of a clip; None if nothing moves."""
    clips = gltf.json["scenes"][0]["extras"]["keyframer"].get("clips", [])
    name = clips[clip].get("animation") if clips else None
    names = [animation["name"] for animation in gltf.json.get("animations", [])]
    assert len(set(names)) == len(names)
    return None if name is None else names.index(name)


def settings_of(gltf: Gltf, animation: int) -> int | None:
    """Return the index of the animation with the settings that belong to one with motion; None if there is none."""
    name = gltf.json["animations"][animation]["name"]
    for number, other in enumerate(gltf.json["animations"]):
        if other.get("extras", {}).get("keyframer", {}).get("settings_of") == name:
            return number
    return None


def largest_differences(
    scene: Scene, gltf: Gltf, seconds: np.ndarray, *, clip: int = 0, unit: float = 1.0, vertices: int = 24
) -> tuple[float, float]:
    """Return the differences of node origins and of vertices of visible meshes from the pose, in scene units."""
    animation = animation_of(gltf, clip) if scene.clips else None
    worlds = gltf.worlds(seconds, animation)
    frames = frames_of(gltf, scene, seconds, clip) if scene.clips else seconds
    pose = keyframer.pose(scene, frames=frames, clip=clip)
    turn = to_file_axes(scene, unit)
    origins = shapes = 0.0
    for number, node in enumerate(scene.nodes):
        wanted = turn[:3, :3] @ pose.world[:, number, :3, 3:]
        there = worlds[:, gltf_node_of(gltf, scene, number), :3, 3]
        origins = max(origins, float(np.abs(there - wanted[..., 0]).max()))
        place = None if node.mesh is None else geometry(gltf, gltf_node_of(gltf, scene, number))
        shown = pose.visible[:, number]
        if place is None or not shown.any():
            continue
        points = gltf.vertices(place, seconds[shown], worlds[shown], animation)
        sources = sources_of(scene, gltf, place, node.mesh)
        some = np.linspace(0, len(sources) - 1, min(vertices, len(sources))).astype(int)
        meant = pose.vertices(number)[shown][:, sources[some]] @ turn[:3, :3].T
        shapes = max(shapes, float(np.abs(points[:, some] - meant).max()))
    return origins / unit, shapes / unit


def mirror_of(scene: Scene) -> np.ndarray:
    """Return (3,) signs of a node's axes in the file: left-handed data is mirrored."""
    mirror = np.ones(3)
    if scene.space.handedness is Handedness.LEFT:
        mirror[1 if scene.space.up == "z" else 2] = -1
    return mirror


def sources_of(scene: Scene, gltf: Gltf, place: int, mesh: int) -> np.ndarray:
    """Return for each written vertex a vertex of the scene's mesh at the same position; the nearest one, if positions
    are integers.
    """
    original = (np.asarray(scene.meshes[mesh].positions) * mirror_of(scene)).astype(np.float32) + np.float32(0)
    primitives = gltf.json["meshes"][gltf.nodes[place]["mesh"]]["primitives"]
    if gltf.accessor(primitives[0]["attributes"]["POSITION"]).dtype.kind != "f":
        node, low = gltf.nodes[place], original.min(axis=0)
        rows = np.concatenate([gltf.accessor(primitive["attributes"]["POSITION"]) for primitive in primitives])
        return np.array([np.abs(original - low - row * node["scale"]).max(axis=1).argmin() for row in rows])
    known = {row.tobytes(): index for index, row in enumerate(original)}
    sources: list[int] = []
    for primitive in primitives:
        rows = np.ascontiguousarray(gltf.accessor(primitive["attributes"]["POSITION"])) + np.float32(0)
        sources += [known[row.tobytes()] for row in rows]
    return np.array(sources)
