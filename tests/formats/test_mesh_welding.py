"""Stated normals written to formats that have only smoothing groups: what is seen stays the same, or is reported."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import keyframer
from keyframer import Mesh, Node, Scene
from keyframer.formats.kit.mesh_welding import weld
from keyframer.formats.kit.mesh_writing import smooth_normals
from keyframer.scene.loss_report import Outcome

ROOF = np.array([[0.0, 0, 0], [0, 2, 0], [1, 0, 1], [1, 2, 1], [1, 0, 1], [1, 2, 1], [2, 0, 0], [2, 2, 0]])
"""two planes that meet at a ridge; its vertices are stored twice"""
FACES = np.array([[0, 2, 1], [1, 2, 3], [4, 6, 7], [4, 7, 5]])
LEFT, RIGHT, UP = np.array([-1.0, 0, 1]) / 2**0.5, np.array([1.0, 0, 1]) / 2**0.5, np.array([0.0, 0, 1])
EDGE = np.array([LEFT] * 4 + [RIGHT] * 4)
ROUND = np.array([LEFT] * 2 + [UP] * 4 + [RIGHT] * 2)
UV = np.array([[0.0, 0], [0, 1], [0.5, 0], [0.5, 1], [0.6, 0], [0.6, 1], [1, 0], [1, 1]])


def shading(mesh: Mesh, smooth_without_groups: bool = False) -> np.ndarray:
    """The normal at each corner of each face, sorted by where it is."""
    normals, numbers = smooth_normals(mesh, smooth_without_groups)
    rows = [
        (*mesh.positions[vertex], *normals[number])
        for vertex, number in zip(mesh.corners.flat, numbers.flat, strict=True)
    ]
    return np.array(sorted(np.round(rows, 4).tolist()))


@pytest.mark.parametrize(("normals", "vertices"), [(EDGE, 8), (ROUND, 6)], ids=["edge", "round"])
def test_a_ridge_keeps_its_shading_as_3ds(normals: np.ndarray, vertices: int, tmp_path: Path) -> None:
    scene = Scene([Node("roof", mesh=0)], [Mesh("roof", ROOF, FACES, normals=normals)])
    report = keyframer.save(scene, tmp_path / "roof.3ds")
    (loss,) = [loss for loss in report if loss.path == "/normals"]
    assert loss.outcome is Outcome.BAKED
    mesh = keyframer.load(tmp_path / "roof.3ds").meshes[0]
    assert len(mesh.positions) == vertices
    stated = sorted(np.round(np.column_stack([ROOF[FACES.flat], normals[FACES.flat]]), 4).tolist())
    np.testing.assert_allclose(shading(mesh), np.array(stated), atol=1e-3)


def test_the_report_says_how_far_other_normals_are(tmp_path: Path) -> None:
    scene = Scene([Node("roof", mesh=0)], [Mesh("roof", ROOF, FACES, normals=np.tile(UP, (8, 1)))])
    report = keyframer.save(scene, tmp_path / "roof.3ds")
    (loss,) = [loss for loss in report if loss.path == "/normals"]
    assert loss.outcome is Outcome.APPROXIMATED
    assert loss.args["degrees"] == pytest.approx(45)  # the gutters; the ridge is as stated


def test_corners_keep_their_texture_where_vertices_are_joined() -> None:
    mesh = Mesh("roof", ROOF, FACES, uv=UV)
    kept = weld(mesh, normals=ROUND)
    assert kept is not None
    assert kept.tolist() == [0, 1, 2, 3, 6, 7]
    assert mesh.uv_corners is not None
    assert np.array_equal(UV[mesh.uv_corners], UV[FACES])
    assert np.array_equal(mesh.positions[mesh.corners], ROOF[FACES])


def test_labels_keep_vertices_apart() -> None:
    assert weld(Mesh("roof", ROOF, FACES), labels=[np.arange(8, dtype=np.float32)[:, None]]) is None
