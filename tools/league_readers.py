"""Readers for the league, one for each program: what it makes of a file, as `tools.league` wants it.

    python -m tools.league_readers PROGRAM FILE OUT FRAMES TIMES

PROGRAM is one of `READERS`. Each is used as its documentation says, and its answer is brought back to the axes of the
file, where the program has others. What a program needs besides itself is in the folder ``LEAGUE_FOLDER`` of the
environment (`prepare`). Programs that do not play motion show the same at all frames.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from tests.blender.outside import NEWEST, ROOT, Case, ask, builder, python_of
from tests.oracles.lib3ds import build
from tests.truth.test_lib3ds import evaluate, kind_in_lib3ds
from tools.assimp_scenes import read_scene

import keyframer
from keyframer.scene import NodeKind

ADDON = "io_scene_3ds==2.8.6"
"""the 3DS importer of Blender"""
NEW_ASSIMP = str(Path(sys.executable).with_name("assimp"))
"""of the package cmeel-assimp"""
ORACLES = ROOT / "tests" / "oracles"
Y_UP = np.array([[1.0, 0, 0], [0, 0, 1], [0, 1, 0]])
Answer = dict[str, Any]
Floats = list[float]


class Refused(Exception):
    """The program does not read the file; the message says why."""


class Reader(NamedTuple):
    """A program that reads formats of the pack."""

    read: Callable[[Path, Floats, Floats], Answer]
    version: Callable[[], str | None]
    """None if it is not installed"""
    needs: str
    """how it is installed"""
    prepare: Callable[[Path], object] = lambda folder: None
    """puts what it needs into a folder"""
    suffixes: tuple[str, ...] = (".3ds",)
    """extensions of formats that it reads; none: it finds out itself"""


def prepared(name: str) -> Path:
    return Path(os.environ["LEAGUE_FOLDER"]) / name


def run(command: list[str], **more: Any) -> str:
    """Return what a program prints; ends like a program that a signal ended."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, **more)
    if done.returncode < 0:
        sys.exit(128 - done.returncode)
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["no message"]
        raise Refused(next((line for line in reversed(lines) if "Error" in line), lines[-1]))
    return done.stdout


def still(meshes: list[tuple[str, Any]], frames: Floats) -> list[dict[str, Any]]:
    """Return the nodes of meshes that do not move."""
    return [{"name": name, "vertices": [np.reshape(points, (-1, 3)).tolist()] * len(frames)} for name, points in meshes]


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


def extension_reader(path: Path, frames: Floats, _: Floats) -> Answer:
    """Our extension in Blender: what Blender shows is its own evaluation of curves, bones and shapes."""
    case = Case(path, keyframer.load(path), frames)
    (archive,) = prepared("extension").glob("*.zip")
    with tempfile.TemporaryDirectory() as folder:
        (answer,) = ask(archive, [case.request()], Path(folder), NEWEST)
    if not answer.arrays:
        raise Refused(answer.said["said"])
    axes = np.eye(4)
    axes[:3, :3] = case.axes
    nodes: list[dict[str, Any]] = []
    for number, node in enumerate(case.scene.nodes):
        shown: dict[str, Any] = {"name": node.name}
        if f"world {number}" in answer.arrays:
            shown["world"] = (axes.T @ answer.arrays[f"world {number}"] @ axes).reshape(-1, 16).tolist()
        if f"vertices {number}" in answer.arrays:
            shown["vertices"] = (answer.arrays[f"vertices {number}"] @ case.axes).tolist()
        nodes.append(shown)
    return {"nodes": nodes, "materials": list(answer.said["materials"])}


def blender_reader(path: Path, frames: Floats, _: Floats) -> Answer:
    """Blender's importer with its default settings, but for the size of the scene, which it would change."""
    script = ORACLES / "blender" / "own_importer.py"
    with tempfile.TemporaryDirectory() as name:
        requests, answers = Path(name) / "requests", Path(name) / "answers"
        requests.write_text(json.dumps({"file": str(path), "frames": frames}), encoding="utf-8")
        run([str(python_of(NEWEST)), str(script), str(prepared("addon")), str(requests), str(answers)])
        _, applied = json.loads(answers.read_text(encoding="utf-8"))
    return {"nodes": [{"name": name, **shown} for name, shown in applied.items()]}


def assimp_reader(program: str) -> Callable[[Path, Floats, Floats], Answer]:
    def read(path: Path, frames: Floats, times: Floats) -> Answer:
        with tempfile.TemporaryDirectory() as folder:
            scene = read_scene(program, path, Path(folder))
        if scene is None:
            raise Refused("assimp does not read the file")
        ticks = scene.ticks_per_second
        nodes: dict[str, dict[str, Any]] = {}
        for time in [second * ticks for second in times] if ticks else frames:
            for node, matrix in scene.nodes(time):
                shown = nodes.setdefault(node["name"], {"name": node["name"], "world": []})
                shown["world"].append(matrix.ravel().tolist())
            points: dict[str, list[Any]] = {}
            for name, _, vertices in scene.placed(time):
                points.setdefault(name, []).extend(vertices.tolist())
            for name, rows in points.items():
                nodes[name].setdefault("vertices", []).append(rows)
        alone = [node for node in nodes.values() if len(node["world"]) == len(frames)]  # no other has its name
        return {"nodes": alone, "materials": scene.materials}

    return read


def panda_reader(path: Path, frames: Floats, times: Floats) -> Answer:
    """Panda3D reads these formats by its plugin of assimp, whose own root node turns the scene."""
    from panda3d import core

    core.load_prc_file_data("", "window-type none\nload-file-type p3assimp\nnotify-level error")
    options = core.LoaderOptions(core.LoaderOptions.LF_convert_anim | core.LoaderOptions.LF_no_cache)
    loaded = core.Loader.get_global_ptr().load_sync(core.Filename.from_os_specific(str(path)), options)
    if loaded is None:
        raise Refused("Panda3D does not read the file")
    model = core.NodePath(loaded)
    first = model.get_child(0)
    root = first if first.get_name().startswith("<") else model
    mirror = np.diag([1.0, 1.0, -1.0, 1.0]) if path.suffix == ".b3d" else np.eye(4)
    controls = core.AnimControlCollection()
    core.auto_bind(loaded, controls, 0xFFFF)
    nodes: dict[str, dict[str, Any]] = {}
    for second in times:
        for number in range(controls.get_num_anims()):
            control = controls.get_anim(number)
            control.pose(second * control.get_frame_rate())
        for character in model.find_all_matches("**/+Character"):
            character.node().force_update()
        for path_to in root.find_all_matches("**"):
            if path_to == model or (path_to == root and root != model):
                continue
            matrix = np.array(path_to.get_mat(root)).T
            node = nodes.setdefault(path_to.get_name(), {"name": path_to.get_name(), "world": []})
            node["world"].append((mirror @ matrix @ mirror).ravel().tolist())
            if isinstance(path_to.node(), core.GeomNode):
                points = [point for geom in path_to.node().get_geoms() for point in panda_points(core, geom)]
                placed = np.c_[points, np.ones(len(points))] @ (mirror @ matrix).T
                node.setdefault("vertices", []).append(placed[:, :3].tolist())
    alone = [node for node in nodes.values() if len(node["world"]) == len(frames)]
    return {"nodes": alone, "materials": [material.get_name() for material in model.find_all_materials()]}


def panda_points(core: Any, geom: Any) -> list[tuple[float, float, float]]:
    data = geom.get_animated_vertex_data(True, core.Thread.get_current_thread())
    reader = core.GeomVertexReader(data, "vertex")
    points = []
    while not reader.is_at_end():
        points.append(tuple(reader.get_data3()))
    return points


def lib3ds_reader(path: Path, frames: Floats, _: Floats) -> Answer:
    """lib3ds gives matrices by number; names are ours."""
    theirs = evaluate(prepared("evaluate"), path, frames)
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


def irrlicht_reader(path: Path, frames: Floats, _: Floats) -> Answer:
    """Irrlicht gives one mesh. It counts the frames of Blitz3D from 1, and swaps the axes y and z of 3DS files."""
    lines = iter(run([str(prepared("irrlicht")), str(path), *(f"{frame - 1:g}" for frame in frames)]).splitlines())
    shown = [[[float(word) for word in next(lines).split()] for _ in range(int(next(lines)))] for _ in frames]
    axes = Y_UP if path.suffix == ".3ds" else np.eye(3)
    return {"nodes": [{"name": "", "vertices": [(np.reshape(points, (-1, 3)) @ axes).tolist() for points in shown]}]}


def three_reader(path: Path, frames: Floats, _: Floats) -> Answer:
    meshes = json.loads(run(["node", str(ORACLES / "three" / "tds.mjs"), str(path)]))
    return {"nodes": still([(mesh["name"], mesh["points"]) for mesh in meshes], frames)}


def online_3d_viewer_reader(path: Path, frames: Floats, _: Floats) -> Answer:
    found = json.loads(run(["node", str(ORACLES / "online_3d_viewer" / "3ds.mjs"), str(path)]))
    meshes = [(mesh["name"], mesh["points"]) for mesh in found["meshes"]]
    return {"nodes": still(meshes, frames), "materials": found["materials"]}


def npm_version(package: str) -> str | None:
    stated = ORACLES / "node_modules" / package / "package.json"
    if shutil.which("node") is None or not stated.exists():
        return None
    return str(json.loads(stated.read_text(encoding="utf-8"))["version"])


def vtk_reader(path: Path, frames: Floats, _: Floats) -> Answer:
    """The actors of vtk3DSImporter, by their names."""
    import vtkmodules.vtkRenderingOpenGL2  # noqa: F401  makes windows possible, which the importer needs
    from vtkmodules.util.numpy_support import vtk_to_numpy
    from vtkmodules.vtkIOImport import vtk3DSImporter

    importer = vtk3DSImporter()
    importer.SetFileName(str(path))
    if not importer.Update():
        raise Refused("VTK does not read the file")
    names = re.findall(r'label="([^"]*)" flat_actor_id="(\d+)"', str(importer.GetSceneHierarchy()))
    by_number = {int(number): name for name, number in names}
    meshes = []
    for number, actor in enumerate(importer.GetImportedActors()):
        actor.GetMapper().Update()
        points = actor.GetMapper().GetInputDataObject(0, 0).GetPoints()
        if points is not None:
            meshes.append((by_number[number], vtk_to_numpy(points.GetData())))
    return {"nodes": still(meshes, frames)}


def meshlab_reader(path: Path, frames: Floats, _: Floats) -> Answer:
    import pymeshlab

    meshes = pymeshlab.MeshSet()
    try:
        meshes.load_new_mesh(str(path))
    except pymeshlab.PyMeshLabException as error:
        raise Refused(str(error)) from error
    shown = []
    for mesh in meshes:
        if mesh.vertex_number():
            placed = np.c_[mesh.vertex_matrix(), np.ones(mesh.vertex_number())] @ mesh.transform_matrix().T
            shown.append((mesh.label(), placed[:, :3]))
    return {"nodes": still(shown, frames)}


def package_version(package: str) -> str | None:
    try:
        return installed(package)
    except PackageNotFoundError:
        return None


def blender_version() -> str | None:
    folder = python_of(NEWEST).parents[1]
    return next((marker.name.removeprefix(".bpy-") for marker in folder.glob(".bpy-*")), None)


def install_addon(folder: Path) -> None:
    command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(folder / "addon"), ADDON]
    subprocess.run(command, check=True)


def build_irrlicht(folder: Path) -> None:
    source = ORACLES / "irrlicht" / "play.cpp"
    subprocess.run(["g++", "-O1", "-o", str(folder / "irrlicht"), str(source), "-lIrrlicht"], check=True)


def debian_version(package: str) -> str | None:
    if shutil.which("dpkg-query") is None:
        return None
    command = ["dpkg-query", "-W", "-f", "${Version}", package]
    said = subprocess.run(command, capture_output=True, text=True, check=False)
    return None if said.returncode else re.split("[^0-9.]", said.stdout)[0] or None


READERS = {
    "Keyframer": Reader(keyframer_reader, lambda: keyframer.__version__, "", suffixes=()),
    "Keyframer in Blender": Reader(
        extension_reader,
        blender_version,
        "tools/install_blender.sh",
        lambda folder: builder().build(folder / "extension"),
        suffixes=(),
    ),
    "Blender": Reader(
        blender_reader,
        lambda: blender_version() and f"{blender_version()}, {ADDON.replace('==', ' ')}",
        "tools/install_blender.sh",
        install_addon,
    ),
    "assimp 5": Reader(
        assimp_reader("/usr/bin/assimp"), lambda: debian_version("assimp-utils"), "Debian: assimp-utils", suffixes=()
    ),
    "assimp 6": Reader(
        assimp_reader(NEW_ASSIMP), lambda: package_version("cmeel-assimp"), "PyPI: cmeel-assimp", suffixes=()
    ),
    "Panda3D": Reader(panda_reader, lambda: package_version("panda3d"), "PyPI: panda3d", suffixes=()),
    "lib3ds": Reader(lib3ds_reader, lambda: debian_version("lib3ds-dev"), "Debian: lib3ds-dev and gcc", build),
    "Irrlicht": Reader(
        irrlicht_reader,
        lambda: debian_version("libirrlicht-dev"),
        "Debian: libirrlicht-dev and g++",
        build_irrlicht,
        (".3ds", ".b3d"),
    ),
    "three.js": Reader(three_reader, lambda: npm_version("three"), "tools/install_node_tools.sh"),
    "Online3DViewer": Reader(
        online_3d_viewer_reader, lambda: npm_version("online-3d-viewer"), "tools/install_node_tools.sh"
    ),
    "VTK": Reader(vtk_reader, lambda: package_version("vtk"), "PyPI: vtk"),
    "MeshLab": Reader(meshlab_reader, lambda: package_version("pymeshlab"), "PyPI: pymeshlab"),
}


def main() -> None:
    program, file, out, *lists = sys.argv[1:]
    frames, times = ([float(value) for value in text.split(",")] for text in lists)
    try:
        answer = READERS[program].read(Path(file), frames, times)
    except Refused as error:
        sys.exit(str(error))
    Path(out).write_text(json.dumps(answer), encoding="utf-8")


if __name__ == "__main__":
    main()
