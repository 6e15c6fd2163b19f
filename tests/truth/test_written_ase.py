"""ASE files written by Keyframer, read by assimp's importer: the same triangles, materials and motion."""

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
from tests.building.scenes import rotation_matrix
from tests.corpus import CORPUS

pytestmark = pytest.mark.skipif(shutil.which("assimp") is None, reason="assimp is not installed (Debian: assimp-utils)")
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


Channels = dict[str, dict[str, Floats]]


def motion_by_assimp(path: Path, folder: Path) -> Channels:
    """Times in seconds and keys of every channel that assimp finds, by node and kind: rows of time, value."""
    out = folder / "out.assxml"
    done = subprocess.run(["assimp", "dump", str(path), str(out)], capture_output=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout[-300:]
    text = out.read_text(errors="replace")
    rates = re.findall(r'<Animation name="[^"]*" duration="[^"]*" tick_cnt="([^"]*)"', text)
    assert len(rates) <= 1
    channels: Channels = {}
    for node, body in re.findall(r'<NodeAnim node="([^"]*)">(.*?)</NodeAnim>', text, re.DOTALL):
        channels[node] = {}
        for kind, tag in (("position", "PositionKey"), ("rotation", "RotationKey"), ("scale", "ScalingKey")):
            keys = re.findall(rf'<{tag} time="([^"]*)">([^<]*)</{tag}>', body)
            channels[node][kind] = np.array(
                [[float(time) / float(rates[0]), *map(float, row.split())] for time, row in keys]
            )
    return channels


def local_motion(scene: Scene, number: int, seconds: Floats) -> Floats:
    """The matrices (T, 4, 4) of a node relative to its parent, from the pose of the scene."""
    posed = keyframer.pose(scene, frames=seconds * scene.clips[0].frames_per_second)
    parent = scene.nodes[number].parent
    world = np.asarray(posed.world)
    return world[:, number] if parent is None else np.linalg.inv(world[:, parent]) @ world[:, number]


@pytest.mark.parametrize(
    ("source", "moving"),
    [
        (
            ROOT / "samples/3ds/windmill.3ds",
            {"Camera": "position rotation", "Camera.target": "position", "Lamp": "rotation", "Rotor": "rotation"}
            | {"Cock": "rotation"},
        ),
        (CORPUS / "3ds/assimp__assimp__RotatingCube.3DS", {"Box01": "rotation"}),
        (ROOT / "samples/hale3d/wave-nul-ended.anim", None),
        (ROOT / "samples/midtown/retail.anim", None),
    ],
    ids=lambda value: value.name if isinstance(value, Path) else "",
)
def test_assimp_finds_the_motion(source: Path, moving: dict[str, str] | None, tmp_path: Path) -> None:
    """Every node that moves has a channel, whose keys are those of the source at all frames, to float32 and to the five
    digits that assimp prints."""
    if not source.is_file():
        pytest.skip("the shared corpus of real files is not on this machine")
    scene = in_space(replace(keyframer.load(source), origin=None), Space("z"))
    keyframer.save(scene, tmp_path / "made.ase")
    channels = motion_by_assimp(tmp_path / "made.ase", tmp_path)
    clip = scene.clips[0]
    names = [node.name for node in scene.nodes]
    if moving is None:
        found = np.arange(clip.end + 1) / clip.frames_per_second
        moving = {}
        for number, name in enumerate(names):
            local = local_motion(scene, number, found)
            kinds = (("position", local[:, :3, 3]), ("rotation", local[:, :3, :3]))
            changes = [kind for kind, values in kinds if np.ptp(values, axis=0).max() > 1e-6]
            if changes:
                moving[name] = " ".join(changes)
        assert moving
    channels = {name.replace(".Target", ".target"): keys for name, keys in channels.items()}
    assert moving.keys() <= channels.keys()
    for name, kinds in moving.items():
        for kind in kinds.split():
            rows = channels[name][kind]
            local = local_motion(scene, names.index(name), rows[:, 0])
            np.testing.assert_allclose(np.diff(rows[:, 0]) * clip.frames_per_second, 1.0, atol=1e-4)
            assert len(rows) > 2
            if kind == "position":
                np.testing.assert_allclose(rows[:, 1:], local[:, :3, 3], atol=2e-5 * np.abs(local[:, :3, 3]).max())
            else:
                turned = np.array([rotation_matrix(*row) for row in rows[:, 1:]])
                np.testing.assert_allclose(turned, local[:, :3, :3], atol=5e-5)
