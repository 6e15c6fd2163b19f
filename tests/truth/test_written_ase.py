"""ASE files written by Keyframer, read by assimp's importer: the same triangles and materials at the same positions."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

import keyframer
from keyframer.formats.kit.coordinates import in_space
from keyframer.scene import Scene, Space
from tests.corpus import CORPUS

ROOT = Path(__file__).parents[1]
SOURCES = [
    ROOT / "samples/3ds/windmill.3ds",
    ROOT / "samples/uto3d/maxscript.u3d",
    ROOT / "samples/hale3d/arm-length.mdl",
    ROOT / "samples/ase/textured.ase",
    ROOT / "samples/ase/skinned.ase",
    CORPUS / "3ds/OS2World__LIB-Lib3ds__2101.3DS",
    CORPUS / "3ds/blitz-research__blitz3d__hearse.3ds",
    CORPUS / "3ds/netpipe__IrrlichtDemos__wagon.3ds",
    CORPUS / "3ds/assimp__assimp__CameraRollAnimWithChildObject.3ds",
    CORPUS / "ase/assimp__ThreeCubesGreen.ASE",
]
Floats = npt.NDArray[np.float64]
Colors = dict[str, tuple[float, ...]]


def read_by_assimp(path: Path, folder: Path) -> tuple[dict[str, Floats], Colors]:
    """Corners of all faces (F, 3, 3) by the name of their material, and diffuse colours, as assimp reads them."""
    out = folder / "out.obj"
    command = ["assimp", "export", str(path), str(out), "-f", "obj"]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=120, check=False)
    assert done.returncode == 0, done.stdout[-300:]
    text = out.read_text(errors="replace")
    points = np.array([line.split()[1:4] for line in text.splitlines() if line.startswith("v ")], float)
    points = np.column_stack([points[:, 0], -points[:, 2], points[:, 1]])  # assimp converts to Y up
    faces: dict[str, list[list[int]]] = defaultdict(list)
    material = ""
    for line in text.splitlines():
        if line.startswith("usemtl "):
            material = line.split(None, 1)[1]
        elif line.startswith("f "):
            faces[material].append([int(word.split("/")[0]) - 1 for word in line.split()[1:]])
    colors: Colors = {}
    for name, red, green, blue in re.findall(
        r"newmtl (.*)\nKd (\S+) (\S+) (\S+)", out.with_suffix(".mtl").read_text(errors="replace")
    ):
        colors[name] = (float(red), float(green), float(blue))
    return {name: points[np.array(corners)] for name, corners in faces.items()}, colors


def expected(scene: Scene) -> tuple[dict[str, Floats], Colors]:
    """The same values from a scene at rest."""
    placed = replace(in_space(scene, Space("z")), clips=[])
    posed = keyframer.pose(placed, frames=[0.0])
    corners_by_material: dict[str, list[Floats]] = defaultdict(list)
    for number, node in enumerate(placed.nodes):
        if node.mesh is None:
            continue
        mesh = placed.meshes[node.mesh]
        corners = posed.vertices(number)[0][np.asarray(mesh.corners)]
        numbers = np.full(len(corners), -1) if mesh.face_materials is None else np.asarray(mesh.face_materials)
        for material in np.unique(numbers).tolist():
            name = placed.materials[material].name if material >= 0 else ""
            corners_by_material[name].append(corners[numbers == material])
    colors = {material.name: material.diffuse for material in placed.materials if material.diffuse is not None}
    return {name: np.concatenate(parts) for name, parts in corners_by_material.items() if name}, dict(colors)


@pytest.mark.parametrize("by_way_of", ["", ".glb"], ids=["directly", "through glTF"])
@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.name)
def test_assimp_reads_the_same(source: Path, by_way_of: str, tmp_path: Path) -> None:
    if shutil.which("assimp") is None:
        pytest.skip("assimp is not installed (Debian: assimp-utils)")
    if not source.is_file():
        pytest.skip("the shared corpus of real files is not on this machine")
    scene = replace(keyframer.load(source, salvage=True), origin=None)
    if by_way_of:
        keyframer.save(scene, tmp_path / f"made{by_way_of}")
        scene = keyframer.load(tmp_path / f"made{by_way_of}")
    keyframer.save(scene, tmp_path / "made.ase")
    wanted, wanted_colors = expected(scene)
    corners_by_material, colors = read_by_assimp(tmp_path / "made.ase", tmp_path)
    size = max((float(np.ptp(corners.reshape(-1, 3), axis=0).max()) for corners in wanted.values()), default=1.0)
    for name, corners in wanted.items():
        assert name in corners_by_material
        assert len(corners_by_material[name]) == len(corners), name
        if name in wanted_colors:  # U3D files have only names
            assert colors[name] == pytest.approx(wanted_colors[name], abs=1e-5)
        for direction in ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.3, 0.5, 0.81)):  # the same corners, in any order
            a, b = (
                np.sort((corners @ direction).reshape(-1)),
                np.sort((corners_by_material[name] @ direction).reshape(-1)),
            )
            np.testing.assert_allclose(a, b, atol=2e-6 * size)
    assert wanted or source.name in ("skinned.ase", "assimp__assimp__CameraRollAnimWithChildObject.3ds")
