"""Compares assimp, lib3ds and Blender's 3DS importer with the conformance pack, for docs/conformance.md.

    .venv/bin/python -m tools.compare_conformance

It prints the table of that page. assimp (``assimp export``) gives keys, which are interpolated here: linearly, and
rotations along the shortest arc. lib3ds evaluates tracks itself. Blender runs the add-on io_scene_3ds, which pip
installs in a temporary folder.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial import cKDTree
from scipy.spatial.transform import Rotation, Slerp
from tests.blender.outside import OLDEST, python_of
from tests.oracles.lib3ds import build
from tests.truth.test_lib3ds import difference, evaluate, kind_in_lib3ds
from tools.make_conformance import FRAMES, ROOT, Case, cases

import keyframer
from keyframer.scene import NodeKind, Scene

ADDON = "io_scene_3ds==2.8.6"
"""the 3DS importer of Blender"""
RIGHT = 1e-3
"""largest error, relative to the size of the scene, that counts as right"""
Errors = list[float]
"""the error at each of `FRAMES`"""


def vertices_of(scene: Scene) -> list[Any]:
    """Return the expected vertices of all meshes at each frame."""
    posed = keyframer.pose(scene, frames=FRAMES)
    numbers = [number for number, node in enumerate(scene.nodes) if node.mesh is not None]
    return [np.concatenate([posed.vertices(number)[index] for number in numbers]) for index in range(len(FRAMES))]


def distances(expected: list[Any], found: list[Any]) -> Errors:
    """Return how far the farthest vertex is from any vertex of the other set, relative to the size of the scene."""
    size = float(np.ptp(np.concatenate(expected), axis=0).max())
    return [
        max(cKDTree(one).query(two)[0].max() for one, two in ((mine, theirs), (theirs, mine))) / size
        for mine, theirs in zip(expected, found, strict=True)
    ]


def assimp_scene(path: Path, folder: Path) -> dict[str, Any] | None:
    """Return what assimp reads; None if it does not read the file."""
    out = folder / "assimp.json"
    out.unlink(missing_ok=True)
    command = ["assimp", "export", str(path), str(out), "-f", "assjson"]
    subprocess.run(command, capture_output=True, timeout=60, check=False)
    return json.loads(out.read_text(encoding="utf-8")) if out.exists() else None


def assimp_placed(read: dict[str, Any], time: float) -> Iterator[tuple[str, Any, Any]]:
    """Yield the name of the node, the vertices and the world matrix of each mesh at a time in ticks."""
    animation = (read.get("animations") or [{"channels": []}])[0]
    channels = {channel["name"]: channel for channel in animation["channels"]}
    # The root only converts to Y up.
    waiting = [(child, np.eye(4)) for child in read["rootnode"].get("children", [])]
    while waiting:
        node, parent = waiting.pop()
        matrix = parent @ _local(node, channels.get(node["name"]), time)
        for number in node.get("meshes", []):
            yield node["name"], np.reshape(read["meshes"][number]["vertices"], (-1, 3)), matrix
        waiting += [(child, matrix) for child in node.get("children", [])]


def assimp(path: Path, scene: Scene, folder: Path) -> Errors | None:
    """Return the errors of assimp; None if it does not read the file."""
    read = assimp_scene(path, folder)
    if read is None:
        return None
    ticks = (read.get("animations") or [{}])[0].get("tickspersecond")  # 0 in 3D Studio files: times are frames
    seconds = keyframer.pose(scene, frames=FRAMES).times_seconds
    found = []
    for time in (seconds * ticks).tolist() if ticks else FRAMES:
        placed = assimp_placed(read, time)
        points = [vertices @ matrix[:3, :3].T + matrix[:3, 3] for _, vertices, matrix in placed]
        if not points:
            return None
        found.append(np.concatenate(points))
    return distances(vertices_of(scene), found)


def _local(node: dict[str, Any], channel: dict[str, Any] | None, time: float) -> Any:
    if channel is None:
        return np.reshape(node["transformation"], (4, 4))
    matrix = np.eye(4)
    times, turns = zip(*channel["rotationkeys"], strict=True)
    rotations = Rotation.from_quat(np.roll(turns, -1, axis=1))  # stored as w, x, y, z
    inside = np.clip(time, times[0], times[-1])
    turn = Slerp(times, rotations)(inside) if len(times) > 1 else rotations[0]
    matrix[:3, :3] = turn.as_matrix() * _linear(channel["scalingkeys"], time)
    matrix[:3, 3] = _linear(channel["positionkeys"], time)
    return matrix


def _linear(keys: list[Any], time: float) -> Any:
    times, values = zip(*keys, strict=True)
    return np.array([np.interp(time, times, column) for column in np.transpose(values)])


def lib3ds(path: Path, scene: Scene, program: Path) -> Errors | None:
    """Return the errors of the world matrices of lib3ds; None if it does not read the file or finds no nodes."""
    if path.suffix != ".3ds":
        return None
    theirs = evaluate(program, path, FRAMES)
    if not theirs:
        return None
    posed = keyframer.pose(scene, frames=FRAMES)
    errors = [0.0] * len(FRAMES)
    for number, node in enumerate(scene.nodes):
        if node.file_id is None or node.kind is NodeKind.AMBIENT:
            continue
        for index, frame in enumerate(FRAMES):
            matrix = theirs[frame, kind_in_lib3ds(scene, number), node.file_id]
            errors[index] = max(errors[index], difference(scene, number, posed.world[index, number], matrix))
    return errors


def blender(paths: dict[Path, Scene], folder: Path) -> dict[Path, Errors | None]:
    """Return the errors of Blender's 3DS importer, with the better of its two ways to place objects."""
    command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(folder / "addon"), ADDON]
    subprocess.run(command, check=True)
    results: dict[Path, Errors | None] = {}
    script = ROOT / "tests" / "oracles" / "blender" / "own_importer.py"
    files = [str(folder / name) for name in ("addon", "requests", "answers")]
    for path, scene in paths.items():
        (folder / "requests").write_text(json.dumps({"file": str(path), "frames": FRAMES}), encoding="utf-8")
        (folder / "answers").write_text("")
        subprocess.run([str(python_of(OLDEST)), str(script), *files], check=False, capture_output=True, timeout=120)
        answer = (folder / "answers").read_text(encoding="utf-8")
        readings = [
            [np.concatenate([rows[index] for rows in shown.values()]) for index in range(len(FRAMES))]
            for shown in (json.loads(answer) if answer else [])
            if shown
        ]
        results[path] = min((distances(vertices_of(scene), found) for found in readings), key=max, default=None)
    return results


def outcome(scene: Scene, errors: Errors | None) -> str:
    """Return the cell of a file: right at all frames, only at keys, or wrong, with the largest error."""
    if errors is None:
        return "not read"
    if max(errors) <= RIGHT:
        return "right"
    keys = {time for clip in scene.clips[:1] for channel in clip.channels for time in channel.track.times.tolist()}
    units = scene.clips[0].units_per_frame if scene.clips else 1.0
    at_keys = [error for frame, error in zip(FRAMES, errors, strict=True) if frame * units in keys]
    return f"{'at keys' if max(at_keys, default=1.0) <= RIGHT else 'wrong'} ({max(errors):.2g})"


def rows(folder: Path) -> Iterator[list[str]]:
    """Yield the table, its head first."""
    played: list[tuple[Case, Path, Scene]] = []
    for case in cases():
        path = folder / Path(case.name).name
        path.write_bytes(case.data)
        scene = keyframer.load(path)
        if any(node.mesh is not None for node in scene.nodes) and path.suffix in (".3ds", ".ase"):
            played.append((case, path, scene))
    columns: dict[str, Callable[[Path, Scene], Errors | None]] = {}
    if shutil.which("assimp"):
        columns["assimp"] = lambda path, scene: assimp(path, scene, folder)
    program = build(folder)
    columns["lib3ds"] = lambda path, scene: lib3ds(path, scene, program)
    if python_of(OLDEST).exists():
        answers = blender({path: scene for _, path, scene in played if path.suffix == ".3ds"}, folder)
        columns["Blender's importer"] = lambda path, scene: answers.get(path)
    yield ["file", *columns]
    for case, path, scene in played:
        yield [f"`{case.name}`", *(outcome(scene, find(path, scene)) for find in columns.values())]


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        for number, row in enumerate(rows(Path(name))):
            print(f"| {' | '.join(row)} |")
            if number == 0:
                print("|" + " --- |" * len(row))


if __name__ == "__main__":
    main()
