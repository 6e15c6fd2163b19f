"""Compares vertices and visibility in Babylon.js and VTK with the poses of the scenes, at ten times of each clip."""

from __future__ import annotations

import importlib.util
import json
import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import keyframer
from tests.exchange.players import Case, Shapes, with_plain_names
from tests.exchange.truth import ORACLES, frames_of, geometry, gltf_node_of, node_lines, sources_of, to_file_axes

needs_babylon = pytest.mark.skipif(
    shutil.which("node") is None or not (ORACLES / "node_modules" / "@babylonjs" / "loaders").is_dir(),
    reason="node or Babylon.js is missing (tools/install_node_tools.sh installs it where it may)",
)
needs_vtk = pytest.mark.skipif(
    importlib.util.find_spec("vtkmodules") is None, reason="VTK is not installed: pip install vtk"
)

Player = Callable[[Iterable[Case], Path], Iterator[tuple[Case, list[str]]]]
TIMES = 10
Played = dict[int, list[tuple[np.ndarray, bool]]]
"""by glTF node, for each time: some vertices, and whether the mesh is drawn"""


def in_babylon(cases: Iterable[Case], folder: Path) -> Iterator[tuple[Case, list[str]]]:
    """Compare with the loader and animation groups of Babylon.js, all cases in one process; returns the differences.

    A clip with settings plays twice: both animations, and the one with the motion alone, as in viewers that start only
    the first animation of a file.
    """
    waiting, lines = [], []
    for number, (case, seconds, shapes) in enumerate(_prepared(cases)):
        path = folder / f"{number}.glb"
        path.write_bytes(with_plain_names(case.data))
        vertices = {f"n{place}": numbers.tolist() for place, (_, numbers, _) in shapes.items()}
        motion = [f"a{case.animation}"]
        for animations in [motion] if case.settings is None else [motion, [*motion, f"a{case.settings}"]]:
            request = {"file": str(path), "seconds": seconds.tolist(), "animations": animations, "vertices": vertices}
            lines.append(json.dumps(request))
            waiting.append((case, seconds, shapes))
    for line, (case, seconds, shapes) in zip(node_lines("play_babylon.mjs", lines), waiting, strict=True):
        answer = json.loads(line)
        played = {place: [(np.array(vertices), shown) for vertices, shown in answer[f"n{place}"]] for place in shapes}
        yield case, _differences(case, seconds, shapes, played)


def in_vtk(cases: Iterable[Case], folder: Path) -> Iterator[tuple[Case, list[str]]]:
    """Compare with VTK's reader; returns the differences. F3D and ParaView play the same animations, shapes and
    skins. VTK knows no pointers, so settings do not play."""
    from vtkmodules.vtkCommonCore import vtkObject
    from vtkmodules.vtkIOGeometry import vtkGLTFReader

    vtkObject.GlobalWarningDisplayOff()  # it warns of extensions that it does not know
    path = folder / "case.glb"
    for case, seconds, shapes in _prepared(cases):
        path.write_bytes(with_plain_names(case.data))
        reader = vtkGLTFReader()
        reader.SetFileName(str(path))
        reader.UpdateInformation()
        names = [reader.GetAnimationName(number) for number in range(reader.GetNumberOfAnimations())]
        if f"a{case.animation}" in names:
            reader.EnableAnimation(names.index(f"a{case.animation}"))
        played: Played = {place: [] for place in shapes}
        for time in seconds:
            # a new output each time: in VTK 9.7, all primitives of a mesh replace the first one of an earlier output
            reader.ApplyDeformationsToGeometryOff()
            reader.ApplyDeformationsToGeometryOn()
            reader.UpdateTimeStep(float(time))
            points = _vtk_points(reader.GetOutput())
            for place, (_, numbers, _) in shapes.items():
                played[place].append((points[place][numbers], bool(np.ptp(points[place], axis=0).max() > 0)))
        yield case, _differences(case, seconds, shapes, played)


def _vtk_points(blocks: Any) -> dict[int, np.ndarray]:
    """Return the vertices of all primitives of each node of the file, from the blocks of VTK's output."""
    from vtkmodules.util.numpy_support import vtk_to_numpy
    from vtkmodules.vtkCommonDataModel import vtkCompositeDataSet, vtkMultiBlockDataSet

    found: dict[int, list[np.ndarray]] = {}
    waiting = [(-1, blocks)]
    while waiting:
        node, block = waiting.pop()
        if isinstance(block, vtkMultiBlockDataSet):
            inside = []
            for number in range(block.GetNumberOfBlocks()):
                name = block.GetMetaData(number).Get(vtkCompositeDataSet.NAME()) or ""
                kind, _, index = name.partition("_")
                inside.append((int(index) if kind == "Node" else node, block.GetBlock(number)))
            waiting += reversed(inside)
        elif block is not None:
            found.setdefault(node, []).append(vtk_to_numpy(block.GetPoints().GetData()))
    return {node: np.concatenate(parts) for node, parts in found.items()}


def _prepared(cases: Iterable[Case]) -> Iterator[tuple[Case, np.ndarray, Shapes]]:
    """Return the animated cases, each with ten times of its clip and some vertices of each mesh."""
    generator = np.random.default_rng(10)
    for case in cases:
        if case.animation is not None:
            seconds = case.seconds(generator, TIMES)
            chosen = np.unique(np.linspace(0, len(seconds) - 1, TIMES).astype(int))
            yield case, seconds[chosen], _shapes(case)


def _shapes(case: Case, some: int = 40) -> Shapes:
    """Return vertices as the file numbers them, primitive by primitive."""
    shapes: Shapes = {}
    for number, node in enumerate(case.scene.nodes):
        place = None if node.mesh is None else geometry(case.gltf, gltf_node_of(case.gltf, case.scene, number))
        if place is not None:
            sources = sources_of(case.scene, case.gltf, place, node.mesh)
            numbers = np.linspace(0, len(sources) - 1, min(some, len(sources))).astype(int)
            shapes[place] = number, numbers, sources[numbers]
    return shapes


def _differences(case: Case, seconds: np.ndarray, shapes: Shapes, played: Played) -> list[str]:
    """Return the meshes that a player does not draw where, or when, the pose has them."""
    pose = keyframer.pose(case.scene, frames=frames_of(case.gltf, case.scene, seconds, case.clip), clip=case.clip)
    turn = to_file_axes(case.scene)[:3, :3]
    found = []
    for place, (number, _, sources) in shapes.items():
        points = pose.vertices(number)
        wanted = pose.visible[:, number] & (np.ptp(points, axis=1).max(axis=1) > 0)
        vertices, shown = (np.array(column) for column in zip(*played[place], strict=True))
        name = f"{case.name}: {case.scene.nodes[number].name}"
        if (wrong := np.flatnonzero(wanted != shown)).size:
            found.append(f"{name} is {'hidden' if wanted[wrong[0]] else 'shown'} at {seconds[wrong[0]]:g} s")
        away = np.abs(vertices - points[:, sources] @ turn.T)[wanted].max(initial=0) / case.size
        if away > 1e-4:
            found.append(f"{name} is {away:.2g} of the scene's size off")
    return found
