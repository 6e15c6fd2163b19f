"""3ds Max wrote the positions of its nodes: the keyframer evaluated at the stored time must reproduce them.

Each file has the matrix 4160 of its meshes at the moment of saving (B009), written by Autodesk's own code. 472 nodes
of 28 files are listed in GROUNDTRUTH.tsv; at many of them that time is between two keys.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest

import keyframer
from tests.corpus import CORPUS, needs_corpus, table

pytestmark = needs_corpus

RELATIVE = 1e-5
MAX_WRITES_FOR_ZERO = 0.0011  # 3ds Max replaces an exact 0 by 0.001


def truth() -> dict[str, list[dict[str, str]]]:
    files: dict[str, list[dict[str, str]]] = defaultdict(list)
    if CORPUS.is_dir():
        for row in table("3ds/GROUNDTRUTH.tsv"):
            if row["status"] == "match":
                files[row["file"]].append(row)
    return dict(files)


TRUTH = truth()


def test_the_table_is_complete() -> None:
    assert sum(map(len, TRUTH.values())) == 472


@pytest.mark.parametrize("file", TRUTH)
def test_every_node_is_where_3ds_max_placed_it(file: str) -> None:
    scene = keyframer.load(CORPUS / "3ds" / file)
    number = {node.file_id: index for index, node in enumerate(scene.nodes)}
    rig = keyframer.pose(scene, frames=[0]).rig
    for row in TRUTH[file]:
        # the file's axes X, Y, Z and the origin, three numbers each
        expected = np.array(row["world_matrix_4160_rows_X_Y_Z_O"].split(), float).reshape(4, 3).T
        worlds = keyframer.pose(scene, frames=[float(row["frame"])], rig=rig).world[0, number[int(row["node_id"])]]
        axes, origin = expected[:, :3], expected[:, 3]
        assert np.abs(worlds[:3, :3] - axes).max() <= RELATIVE * np.abs(axes).max(), row["node"]
        allowed = max(RELATIVE * float(np.linalg.norm(origin)), MAX_WRITES_FOR_ZERO)
        assert np.abs(worlds[:3, 3] - origin).max() <= allowed, row["node"]
