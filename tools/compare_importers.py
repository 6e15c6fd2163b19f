"""Measures how far programs place the vertices of five animated files from where they belong.

    .venv/bin/python -m tools.compare_importers

It prints the table of docs/comparison.md. The programs are our extension for Blender, ``keyframer convert`` with
Blender's glTF importer, Blender's 3DS importer (the add-on io_scene_3ds, which pip installs in a temporary folder),
assimp 6, lib3ds and three.js. Needs the newest bpy of tools/install_blender.sh, the shared corpus, the extra
`league`, and the programs of tools/install_test_tools.sh.

Where another program wrote down the motion, that is the truth (`truth_of`); otherwise it is our pose. The column of
glTF is always compared with our pose, by the tests of exported files.
"""

from __future__ import annotations

import csv
import json
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial import cKDTree
from tests.blender.outside import NEWEST, ROOT, Answer, Case, ask, builder, python_of, ten_frames
from tests.corpus import CORPUS
from tests.exchange.players import cases_of, in_blender
from tests.oracles.lib3ds import build
from tests.truth.test_lib3ds import evaluate, kind_in_lib3ds
from tests.truth.test_makbot import local, read_twin
from tools.assimp_scenes import read_scene
from tools.league_readers import NEW_ASSIMP, install_addon

import keyframer
from keyframer.scene import Scene

FILES = {
    "windmill": ROOT / "examples" / "windmill.3ds",
    "mak_running": CORPUS / "makbot" / "mak_running.3DS",
    "city": CORPUS / "secondreality" / "CITY.3DS",
    "red2": CORPUS / "3ds" / "jumalauta__red2.3ds",
    "cheese": CORPUS / "3ds" / "jumalauta__cheese.3ds",
}
HEAD = "file|against|Keyframer|its glTF|Blender|assimp|lib3ds|three.js"
Places = dict[int, Any]
"""(frames, vertices, 3) for each node with a mesh, in the order of the file; NaN where the place is not known"""


def mesh_points(scene: Scene, number: int) -> Any:
    """Return the vertices of a mesh in the space of its node."""
    node = scene.nodes[number]
    assert node.mesh is not None
    return scene.meshes[node.mesh].positions - node.pivot


def moved(matrices: Any, points: Any) -> Any:
    return np.einsum("tij,vj->tvi", matrices[:, :3, :3], points) + matrices[:, None, :3, 3]


def truth_of(path: Path, scene: Scene) -> tuple[str, list[float], Places]:
    """Return who says so, the frames, and where the vertices are."""
    meshes = [n for n, node in enumerate(scene.nodes) if node.mesh is not None and len(mesh_points(scene, n))]
    if path.name == "CITY.3DS":
        return "frames of 3D Studio", *frames_of_3d_studio(path, scene)
    frames = ten_frames(scene)
    if path.name == "mak_running.3DS":
        world = matrices_of_twin(path.with_suffix(".x"), frames)
        names = {number: scene.nodes[number].name.replace(" ", "_") for number in meshes}
        return "its DirectX twin", frames, {n: moved(world[name], mesh_points(scene, n)) for n, name in names.items()}
    posed = keyframer.pose(scene, frames=frames)
    return (
        "our pose",
        frames,
        {number: np.where(posed.visible[:, number, None, None], posed.vertices(number), np.nan) for number in meshes},
    )


def matrices_of_twin(path: Path, frames: list[float]) -> dict[str, Any]:
    """Return the world matrices that the same program wrote into a DirectX file, whose axes are x, z, y."""
    bones = read_twin(path.read_text(encoding="latin-1"))
    worlds: dict[str, Any] = {}
    for name, bone in bones.items():  # parents come before children
        own = np.array([local(bone, int(frame)) for frame in frames])
        worlds[name] = own if bone.parent is None else worlds[bone.parent] @ own
    order = [0, 2, 1, 3]
    return {name: world[:, order][:, :, order] for name, world in worlds.items()}


def frames_of_3d_studio(path: Path, scene: Scene) -> tuple[list[float], Places]:
    """Return where 3D Studio for DOS placed the stored vertices, for objects that the file does not repeat."""
    with open(path.with_name("TRUTH.tsv"), newline="", encoding="utf-8") as stream:
        rows = [row for row in csv.DictReader(stream, delimiter="\t") if row["file"] == path.name]
    used = [node.mesh for node in scene.nodes]
    nodes = {
        str(node.file_id): number
        for number, node in enumerate(scene.nodes)
        if node.mesh is not None and used.count(node.mesh) == 1
    }
    rows = [row for row in rows if row["id"] in nodes]
    frames = sorted({float(row["frame"]) for row in rows})
    places: Places = {}
    for row in rows:
        number = nodes[row["id"]]
        mesh = scene.meshes[scene.nodes[number].mesh or 0]
        stored = mesh.positions @ mesh.axes[:3, :3].T + mesh.axes[:3, 3]
        empty = np.full((len(frames), len(stored), 3), np.nan)
        matrix = np.reshape([float(row[name]) for name in list(row)[5:]], (1, 3, 4))
        places.setdefault(number, empty)[frames.index(float(row["frame"]))] = moved(matrix, stored)[0]
    return frames, places


def error_of(scene: Scene, truth: Places, shown: Places) -> float:
    """Return the largest distance of a vertex from its place, relative to the size of the scene."""
    size = Case(Path(), scene, [0.0]).size
    return max(float(np.nanmax(np.linalg.norm(shown[number] - truth[number], axis=-1))) for number in truth) / size


def with_extension(case: Case, answer: Answer, truth: Places) -> float:
    """Return the error of our extension; Blender reports at most some 80 vertices of a mesh."""
    shown = {number: answer.arrays[f"vertices {number}"] @ case.axes for number in truth}
    some = {number: places[:, :: max(1, places.shape[1] // 40)] for number, places in truth.items()}
    return error_of(case.scene, some, shown)


def in_own_importer(cases: list[Case], folder: Path) -> list[list[dict[str, Any]]]:
    """Return what Blender's 3DS importer shows of each case, by name, with its two ways to place objects."""
    install_addon(folder)
    lines = (json.dumps({"file": str(case.path), "frames": case.frames}) for case in cases)
    (folder / "requests").write_text("\n".join(lines), encoding="utf-8")
    script = ROOT / "tests" / "oracles" / "blender" / "own_importer.py"
    files = [str(folder / name) for name in ("addon", "requests", "answers")]
    subprocess.run([str(python_of(NEWEST)), str(script), *files], check=True, stdout=subprocess.DEVNULL)
    return [json.loads(line) for line in (folder / "answers").read_text(encoding="utf-8").splitlines()]


def in_assimp(case: Case, truth: Places, folder: Path) -> Places:
    """Return what assimp shows. It gives corners instead of vertices: each is matched by its place in the mesh."""
    read = read_scene(NEW_ASSIMP, case.path, folder)
    assert read is not None
    at_times = []
    for time in case.frames:
        points: dict[str, list[Any]] = {}
        for name, stored, placed in read.placed(time):
            points.setdefault(name, []).append((stored, placed))
        at_times.append(
            {name: [np.concatenate(part) for part in zip(*parts, strict=True)] for name, parts in points.items()}
        )
    shown = {}
    for number in truth:
        name = case.scene.nodes[number].name
        away, corner = cKDTree(at_times[0][name][0]).query(mesh_points(case.scene, number))
        assert away.max() <= 1e-3, (name, away.max())
        shown[number] = np.array([places[name][1][corner] for places in at_times])
    return shown


def in_lib3ds(case: Case, truth: Places, program: Path) -> Places:
    matrices = evaluate(program, case.path, case.frames)
    assert matrices is not None
    shown = {}
    for number in truth:
        kind, file_id = kind_in_lib3ds(case.scene, number), case.scene.nodes[number].file_id
        assert file_id is not None
        world = np.array([matrices[frame, kind, file_id] for frame in case.frames])
        shown[number] = moved(world, mesh_points(case.scene, number))
    return shown


def in_three(case: Case, truth: Places) -> Places:
    """Return what three.js shows: the same at every frame, because it does not read the keyframer."""
    command = ["node", str(ROOT / "tests/oracles/three/tds.mjs"), str(case.path)]
    meshes = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    return by_name(case, truth, {mesh["name"]: {"vertices": [np.reshape(mesh["points"], (-1, 3))]} for mesh in meshes})


def by_name(case: Case, truth: Places, shown: dict[str, Any]) -> Places:
    return {number: np.array(shown[case.scene.nodes[number].name]["vertices"]) for number in truth}


def rows() -> Iterator[tuple[str, ...]]:
    """Yield the rows of the table, its head first."""
    yield tuple(HEAD.split("|"))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        scenes = {path: keyframer.load(path) for path in FILES.values()}
        truths = [truth_of(path, scene) for path, scene in scenes.items()]
        cases = [Case(*each, frames) for each, (_, frames, _) in zip(scenes.items(), truths, strict=True)]
        answers = ask(builder().build(folder), [case.request() for case in cases], folder, NEWEST)
        exported = cases_of((path.name, scene) for path, scene in scenes.items())
        gltf = {
            case.name: max(errors.places, errors.vertices)
            for case, errors in in_blender(exported, folder, python=python_of(NEWEST))
        }
        imported = in_own_importer(cases, folder)
        program = build(folder)
        for title, case, (source, _, truth), answer, both in zip(FILES, cases, truths, answers, imported, strict=True):
            errors = [
                with_extension(case, answer, truth),
                gltf[case.path.name],
                min(error_of(case.scene, truth, by_name(case, truth, shown)) for shown in both),
                error_of(case.scene, truth, in_assimp(case, truth, folder)),
                error_of(case.scene, truth, in_lib3ds(case, truth, program)),
                error_of(case.scene, truth, in_three(case, truth)),
            ]
            yield title, source, *(f"{100 * error:.2g}" if error >= 1e-5 else "<0.001" for error in errors)


def main() -> None:
    for number, row in enumerate(rows()):
        print(f"| {' | '.join(row)} |")
        if number == 0:
            print("|" + " --- |" * len(row))


if __name__ == "__main__":
    main()
