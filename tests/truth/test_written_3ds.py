"""3D Studio files written by Keyframer, read by other programs: lib3ds, assimp, three.js.

All of them read the same vertices, faces and box; lib3ds also evaluates the keyframer, and agrees except for its known
errors (see `test_lib3ds`).
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

import keyframer
from keyframer.scene import NodeKind, Scene
from tests.corpus import CORPUS, needs_corpus
from tests.truth.test_lib3ds import RELATIVE, difference, evaluate, frames_of, kind_in_lib3ds, reasons

ROOT = Path(__file__).parents[1]
ORACLES = ROOT / "oracles"
SOURCES = [
    ROOT / "samples/3ds/windmill.3ds",
    ROOT / "samples/uto3d/maxscript.u3d",
    CORPUS / "makbot/mak_running.3DS",
    CORPUS / "hale3d/bob_lamp_update.anim",
    CORPUS / "3ds/assimp__assimp__RotatingCube.3DS",
    CORPUS / "3ds/debian__gl-117-data__gl-14b.3ds",
    CORPUS / "3ds/blitz-research__blitz3d__warrior.3ds",
    CORPUS / "3ds/netpipe__IrrlichtDemos__mainrotor.3ds",
    CORPUS / "3ds/assimp__assimp__CameraRollAnimWithChildObject.3ds",
]
Box = tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]
Found = dict[str, tuple[int, int, Box]]

pytestmark = needs_corpus


def write(source: Path, folder: Path) -> tuple[Path, Scene, float]:
    """Write a new file from a scene. Return its path, the scene, and the reported error of skins: 3D Studio has
    none.
    """
    scene = replace(keyframer.load(source, salvage=True), origin=None)
    path = folder / "written.3ds"
    report = keyframer.save(scene, path)
    bent = [loss.error or 0.0 for loss in report if loss.path.endswith("/skin")]
    return path, scene, max(bent, default=0.0)


def expected(scene: Scene) -> tuple[int, int, Box]:
    """Faces, meshes and the box of all vertices at frame 0, in the axes of 3D Studio."""
    from keyframer.formats.kit.coordinates import in_space
    from keyframer.scene import Space

    placed = in_space(scene, Space("z"))
    posed = keyframer.pose(placed, frames=[0.0])
    carriers = [number for number, node in enumerate(placed.nodes) if node.mesh is not None]
    points = np.concatenate([np.empty((0, 3)), *(posed.vertices(number)[0] for number in carriers)])
    faces = sum(len(placed.meshes[placed.nodes[number].mesh or 0].corners) for number in carriers)
    return faces, len(carriers), (points.min(axis=0), points.max(axis=0))


def joint_box(meshes: Found) -> Box:
    boxes = [box for vertices, _, box in meshes.values() if vertices]
    return np.min([low for low, _ in boxes], axis=0), np.max([high for _, high in boxes], axis=0)


def same_box(a: Box, b: Box, off: float = 0.0) -> bool:
    near = off + 1e-5 * float((a[1] - a[0]).max())
    return bool(np.allclose(a[0], b[0], atol=near) and np.allclose(a[1], b[1], atol=near))


def stored(path: Path) -> Found:
    """Vertex count, face count and box of each mesh, as our own reader sees them."""
    from keyframer.formats.threeds import records as r

    meshes: Found = {}
    for named_object in keyframer.read(path).find(r.NamedObject):
        points = [child for child in named_object.children[-1].children if isinstance(child, r.PointArray)]
        faces = [child for child in named_object.children[-1].children if isinstance(child, r.FaceArray)]
        if points:
            table = points[0].points.astype(np.float64).reshape(-1, 3)
            box = (table.min(axis=0, initial=np.inf), table.max(axis=0, initial=-np.inf))
            meshes[named_object.name.decode("latin-1")] = (len(table), len(faces[0].faces), box)
    return meshes


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.name)
def test_lib3ds_reads_the_same_meshes(source: Path, meshes_program: Path, tmp_path: Path) -> None:
    path, scene, off = write(source, tmp_path)
    done = subprocess.run([str(meshes_program), str(path)], capture_output=True, text=True, timeout=20, check=True)
    theirs: Found = {}
    for line in done.stdout.splitlines():
        name, vertices, faces, *corners = line.split("\t")
        values = np.array(corners, float)
        theirs[name] = (int(vertices), int(faces), (values[:3], values[3:]))
    mine = stored(path)
    assert {name: entry[:2] for name, entry in theirs.items()} == {name: entry[:2] for name, entry in mine.items()}
    faces, _, box = expected(scene)
    assert sum(entry[1] for entry in theirs.values()) == faces
    assert same_box(joint_box(theirs), box, off)


# three.js decomposes a matrix into rotation and scale and loses shear: a part here has unevenly scaled parents.
UNSKEWED = [source for source in SOURCES if source.name != "maxscript.u3d"]


@pytest.mark.parametrize("source", UNSKEWED, ids=lambda path: path.name)
def test_three_reads_the_same_meshes(source: Path, tmp_path: Path) -> None:
    if shutil.which("node") is None or not (ORACLES / "node_modules/three").is_dir():
        pytest.skip("three is not installed (npm ci in tests/oracles)")
    path, scene, off = write(source, tmp_path)
    command = ["node", str(ORACLES / "three/tds.mjs"), str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    theirs = {
        mesh["name"]: (mesh["vertices"], mesh["faces"], (np.array(mesh["low"]), np.array(mesh["high"])))
        for mesh in json.loads(done.stdout)
    }
    mine = stored(path)
    assert {name: entry[:2] for name, entry in theirs.items()} == {name: entry[:2] for name, entry in mine.items()}
    assert same_box(joint_box(theirs), expected(scene)[2], off)


# assimp does not know that children of cameras live in the camera's frame.
@pytest.mark.parametrize("source", SOURCES[:-1], ids=lambda path: path.name)
def test_assimp_reads_the_same_meshes(source: Path, tmp_path: Path) -> None:
    if shutil.which("assimp") is None:
        pytest.skip("assimp is not installed (Debian: assimp-utils)")
    path, scene, off = write(source, tmp_path)
    out = tmp_path / "out.obj"
    command = ["assimp", "export", str(path), str(out), "-f", "obj"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout[-300:]
    text = out.read_text(errors="replace")
    vertices = np.array([line.split()[1:4] for line in text.splitlines() if line.startswith("v ")], float)
    faces = len(re.findall(r"^f ", text, re.MULTILINE))
    wanted, _, box = expected(scene)
    assert faces == wanted
    command = ["assimp", "info", str(path), "-r"]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=60, check=True)
    assert re.search(rf"Vertices:\s+{3 * wanted}\n", done.stdout)  # it gives every corner a separate vertex
    turned = np.column_stack([vertices[:, 0], -vertices[:, 2], vertices[:, 1]])  # assimp converts to Y up
    assert same_box((turned.min(axis=0), turned.max(axis=0)), box, off)


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.name)
def test_lib3ds_poses_the_same(source: Path, lib3ds: Path, tmp_path: Path) -> None:
    path, _, _ = write(source, tmp_path)
    written = keyframer.load(path)
    frames = frames_of(written)
    theirs = evaluate(lib3ds, path, frames)
    assert theirs is not None, "lib3ds refuses, crashes or hangs"
    posed = keyframer.pose(written, frames=frames)
    agreed, excused = 0, 0
    for number, node in enumerate(written.nodes):
        if node.file_id is None or node.kind is NodeKind.AMBIENT:
            continue
        for index, frame in enumerate(frames):
            matrix = theirs[frame, kind_in_lib3ds(written, number), node.file_id]
            if difference(written, number, posed.world[index, number], matrix) <= RELATIVE:
                agreed += 1
                continue
            why = set(reasons(written, number, frame))
            assert why, f"{node} at {frame}: nothing explains the difference"
            excused += 1
    assert agreed > excused / 2
