"""Readers for the league, one for each program that tests use: what it makes of a file, as `tools.league` wants it.

    python -m tools.league_readers PROGRAM FILE OUT FRAMES TIMES

PROGRAM is one of `READERS`. assimp (``assimp export``) gives keys, which are interpolated here: linearly, and rotations
along the shortest arc. lib3ds evaluates tracks itself and gives matrices by number; names are ours. Blender runs the
add-on io_scene_3ds with its default settings, from the folder in the environment variable ``IO_SCENE_3DS``. three.js
does not read the keyframer: its vertices are the same at all frames.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation, Slerp
from tests.blender.outside import OLDEST, ROOT, python_of
from tests.oracles.lib3ds import build
from tests.truth.test_lib3ds import evaluate, kind_in_lib3ds

import keyframer
from keyframer.scene import NodeKind

ADDON = "io_scene_3ds==2.8.6"
"""the 3DS importer of Blender"""
Answer = dict[str, Any]
Floats = list[float]


class Refused(Exception):
    """The program does not read the file; the message says why."""


def keyframer_reader(path: Path, frames: Floats, _: Floats) -> Answer:
    """Our own reader: by way of the library that computed the expected values, so it tests the league and not us."""
    try:
        scene = keyframer.load(path)
    except keyframer.FormatError as error:
        raise Refused(str(error)) from error
    posed = keyframer.pose(scene, frames=frames)
    nodes: list[dict[str, Any]] = [
        {"name": node.name, "world": posed.world[:, number].reshape(-1, 16).tolist()}
        | ({} if node.mesh is None else {"vertices": posed.vertices(number).tolist()})
        for number, node in enumerate(scene.nodes)
    ]
    return {"nodes": nodes, "materials": [material.name for material in scene.materials]}


def assimp_scene(path: Path, folder: Path) -> dict[str, Any] | None:
    """Return what assimp reads; None if it does not read the file. Dies with the signal that killed assimp."""
    out = folder / "assimp.json"
    out.unlink(missing_ok=True)
    command = ["assimp", "export", str(path), str(out), "-f", "assjson"]
    done = subprocess.run(command, capture_output=True, timeout=60, check=False)
    if done.returncode < 0:
        sys.exit(128 - done.returncode)
    return json.loads(out.read_text(encoding="utf-8")) if out.exists() else None


def assimp_placed(read: dict[str, Any], time: float) -> Iterator[tuple[str, Any, Any]]:
    """Yield the name of the node, the vertices and the world matrix of each mesh at a time in ticks."""
    for node, matrix in _assimp_nodes(read, time):
        for number in node.get("meshes", []):
            yield node["name"], np.reshape(read["meshes"][number]["vertices"], (-1, 3)), matrix


def _assimp_nodes(read: dict[str, Any], time: float) -> Iterator[tuple[dict[str, Any], Any]]:
    animation = (read.get("animations") or [{"channels": []}])[0]
    channels = {channel["name"]: channel for channel in animation["channels"]}
    # The root only converts to Y up.
    waiting = [(child, np.eye(4)) for child in read["rootnode"].get("children", [])]
    while waiting:
        node, parent = waiting.pop()
        matrix = parent @ _local(node, channels.get(node["name"]), time)
        yield node, matrix
        waiting += [(child, matrix) for child in node.get("children", [])]


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


def assimp_reader(path: Path, frames: Floats, times: Floats) -> Answer:
    if path.suffix == ".b3d":
        raise Refused("assimp reads the format, but its skins are not played here")
    with tempfile.TemporaryDirectory() as folder:
        read = assimp_scene(path, Path(folder))
    if read is None:
        raise Refused("assimp does not read the file")
    ticks = (read.get("animations") or [{}])[0].get("tickspersecond")  # 0 in 3D Studio files: times are frames
    nodes: dict[str, dict[str, Any]] = {}
    for time in [second * ticks for second in times] if ticks else frames:
        for node, matrix in _assimp_nodes(read, time):
            shown = nodes.setdefault(node["name"], {"name": node["name"], "world": []})
            shown["world"].append(matrix.ravel().tolist())
        points: dict[str, list[Any]] = {}
        for name, vertices, matrix in assimp_placed(read, time):
            points.setdefault(name, []).extend((vertices @ matrix[:3, :3].T + matrix[:3, 3]).tolist())
        for name, rows in points.items():
            nodes[name].setdefault("vertices", []).append(rows)
    stored = (each for material in read.get("materials", []) for each in material["properties"])
    return {
        "nodes": [node for node in nodes.values() if len(node["world"]) == len(frames)],
        "materials": [each["value"] for each in stored if each["key"] == "?mat.name"],
    }


def lib3ds_reader(path: Path, frames: Floats, _: Floats) -> Answer:
    with tempfile.TemporaryDirectory() as folder:
        theirs = evaluate(build(Path(folder)), path, frames) if path.suffix == ".3ds" else None
    if not theirs:
        raise Refused("lib3ds does not read the file, or finds no nodes in it")
    scene = keyframer.load(path)
    nodes = []
    for number, node in enumerate(scene.nodes):
        if node.file_id is not None and node.kind is not NodeKind.AMBIENT:
            keys = [(frame, kind_in_lib3ds(scene, number), node.file_id) for frame in frames]
            if all(key in theirs for key in keys):
                nodes.append({"name": node.name, "world": [theirs[key].ravel().tolist() for key in keys]})
    return {"nodes": nodes}


def three_reader(path: Path, frames: Floats, _: Floats) -> Answer:
    if path.suffix != ".3ds":
        raise Refused("three.js has no loader for the format")
    command = ["node", str(ROOT / "tests" / "oracles" / "three" / "tds.mjs"), str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Refused(done.stderr.strip())
    meshes = json.loads(done.stdout)
    same = (np.reshape(mesh["points"], (-1, 3)).tolist() for mesh in meshes)
    return {
        "nodes": [
            {"name": mesh["name"], "vertices": [points] * len(frames)}
            for mesh, points in zip(meshes, same, strict=True)
        ]
    }


def blender_reader(path: Path, frames: Floats, _: Floats) -> Answer:
    if path.suffix != ".3ds":
        raise Refused("the add-on reads .3ds only")
    script = ROOT / "tests" / "oracles" / "blender" / "own_importer.py"
    with tempfile.TemporaryDirectory() as name:
        files = [os.environ["IO_SCENE_3DS"], *(str(Path(name) / part) for part in ("requests", "answers"))]
        Path(files[1]).write_text(json.dumps({"file": str(path), "frames": frames}), encoding="utf-8")
        command = [str(python_of(OLDEST)), str(script), *files]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        answer = Path(files[2]).read_text(encoding="utf-8") if Path(files[2]).exists() else ""
    if done.returncode < 0:
        sys.exit(128 - done.returncode)
    if not answer:
        raise Refused((done.stderr.strip().splitlines() or ["no message"])[-1])
    _, applied = json.loads(answer)
    return {"nodes": [{"name": name, "vertices": rows} for name, rows in applied.items()]}


READERS: dict[str, Callable[[Path, Floats, Floats], Answer]] = {
    "Keyframer": keyframer_reader,
    "assimp": assimp_reader,
    "lib3ds": lib3ds_reader,
    "three.js": three_reader,
    "Blender": blender_reader,
}


def main() -> None:
    program, file, out, *lists = sys.argv[1:]
    frames, times = ([float(value) for value in text.split(",")] for text in lists)
    try:
        answer = READERS[program](Path(file), frames, times)
    except Refused as error:
        sys.exit(str(error))
    Path(out).write_text(json.dumps(answer), encoding="utf-8")


if __name__ == "__main__":
    main()
