"""3D Studio for DOS wrote the transforms of each frame (its VUE renderer): poses must reproduce them.

The two scenes and the table are from the demo Second Reality, whose authors put everything into the public domain
(github.com/mtuomi/SecondReality, VISU/C). A row of an object is the 3x4 matrix that takes the stored vertices to the
frame: entries good to 2/16384, translations cut to 0.1. A row of a camera has the position (good to 1.6 units) and the
direction (good to 0.15 degrees). The table of the project has all rows of the node with rotation keys beyond 180
degrees and every fifth row of the others; the corpus has the complete one.
"""

from __future__ import annotations

import csv
import math
from collections import Counter
from pathlib import Path

import numpy as np

import keyframer
from keyframer.formats.threeds import records as r
from tests.corpus import CORPUS, needs_corpus

OURS = Path(__file__).parent / "secondreality"
BEYOND_HALF_A_TURN = ("U2A.PRJ", "s01.copy01")


def count_of_right_rows(folder: Path) -> tuple[Counter[tuple[str, str]], Counter[tuple[str, str]]]:
    """The number of rows, and of rows that our poses reproduce, by file and node."""
    all_rows: Counter[tuple[str, str]] = Counter()
    right_rows: Counter[tuple[str, str]] = Counter()
    with open(folder / "TRUTH.tsv", newline="", encoding="utf-8") as stream:
        table = list(csv.DictReader(stream, delimiter="\t"))
    for file in sorted({row["file"] for row in table}):
        scene = keyframer.load(folder / file)
        document = keyframer.read(folder / file)
        mesh_matrices = {
            item.name: np.array([record.x_axis, record.y_axis, record.z_axis, record.origin]).T
            for item in document.find(r.NamedObject)
            for body in item.children
            for record in body.children
            if isinstance(record, r.MeshMatrix)
        }
        number = {node.file_id: index for index, node in enumerate(scene.nodes)}
        rows = [row for row in table if row["file"] == file]
        frames = sorted({float(row["frame"]) for row in rows})
        posed = keyframer.pose(scene, frames=frames)
        for row in rows:
            index, moment = number[int(row["id"])], frames.index(float(row["frame"]))
            node = scene.nodes[index]
            expected = [float(row[name]) for name in list(row)[5:] if row[name]]
            all_rows[file, node.name] += 1
            if row["instance"] == "camera":
                right = camera_is_right(posed.world[moment, index], expected)
            else:
                placed = posed.world[moment, index] @ shift(-node.pivot)
                right = matrix_is_right(placed, mesh_matrices[node.raw_name], np.reshape(expected, (3, 4)))
            right_rows[file, node.name] += right
    return all_rows, right_rows


def shift(offset: np.ndarray) -> np.ndarray:
    matrix = np.eye(4)
    matrix[:3, 3] = offset
    return matrix


def matrix_is_right(placed: np.ndarray, mesh_matrix: np.ndarray, expected: np.ndarray) -> bool:
    """Whether the world matrix of a node times the inverse of its mesh matrix is the expected matrix."""
    matrix = placed @ np.linalg.inv(np.vstack([mesh_matrix, [0, 0, 0, 1]]))
    off = np.abs(matrix[:3] - expected)
    return bool((off[:, :3] <= 2 / 16384).all() and (off[:, 3] <= 0.1).all())


def camera_is_right(world: np.ndarray, expected: list[float]) -> bool:
    position, direction = np.array(expected[:3]), np.array(expected[3:])
    looks = -world[:3, 2] / np.linalg.norm(world[:3, 2])
    off = math.degrees(math.acos(min(1.0, looks @ direction / np.linalg.norm(direction))))
    return bool(np.linalg.norm(world[:3, 3] - position) <= 1.6) and off <= 0.15


def test_every_row_is_reproduced() -> None:
    all_rows, right_rows = count_of_right_rows(OURS)
    assert all_rows[BEYOND_HALF_A_TURN] == 65
    assert right_rows == all_rows


@needs_corpus
def test_every_row_of_the_complete_table_is_reproduced() -> None:
    all_rows, right_rows = count_of_right_rows(CORPUS / "secondreality")
    assert all_rows.total() == 857
    assert right_rows == all_rows
