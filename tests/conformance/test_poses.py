"""Files of every format mean what independent sources say: see `tests.samples.poses`."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import keyframer
from keyframer.formats import FORMATS
from tests.samples import all_samples, sample_files
from tests.samples.poses import computed, pose_file

WITH_POSES = [(name, path) for name, path in all_samples() if pose_file(path).exists()]
TOLERANCE = 1e-6
"""of the largest expected number: files store single precision"""


@pytest.mark.parametrize("name", [known.name for known in FORMATS if known.bridge() is not None])
def test_a_sample_has_expected_poses(name: str) -> None:
    """With a source that says so, and some motion or form: a pose that is the same without any file proves nothing."""
    files = [pose_file(path) for path in sample_files(name)]
    texts = [json.loads(file.read_text(encoding="utf-8")) for file in files if file.exists()]
    assert texts, "no sample of the format has a file NAME.pose.json"
    assert all(text["source"].strip() for text in texts)
    shown = [node for text in texts for node in text["nodes"]]
    moves = any(np.ptp(np.array(node["world"]), axis=0).any() for node in shown)
    assert moves or any(node.get("vertices") for node in shown)


@pytest.mark.parametrize("name", [known.name for known in FORMATS])
def test_expected_poses_are_as_their_modules_compute_them(name: str) -> None:
    """``python -m tests.samples.poses`` writes them again."""
    for file, text in computed(name).items():
        expected, written = json.loads(text), json.loads(file.read_text(encoding="utf-8"))
        assert written["source"] == expected["source"]
        assert written["frames"] == expected["frames"]
        assert len(written["nodes"]) == len(expected["nodes"])
        for node, wanted in zip(written["nodes"], expected["nodes"], strict=True):
            assert node["name"] == wanted["name"]
            np.testing.assert_allclose(node["world"], wanted["world"], atol=1e-8)


@pytest.mark.parametrize(("name", "path"), WITH_POSES, ids=[f"{name}-{path.name}" for name, path in WITH_POSES])
def test_a_sample_poses_as_expected(name: str, path: Path) -> None:
    expected = json.loads(pose_file(path).read_text(encoding="utf-8"))
    scene = keyframer.load(path, format=name, salvage=True)
    posed = keyframer.pose(scene, frames=expected["frames"])
    for node in expected["nodes"]:
        number = scene.find(node["name"])
        world = np.array(node["world"])
        largest = max(float(np.abs(world).max()), 1.0)
        found = posed.world[:, number, :3, : world.shape[2]]
        np.testing.assert_allclose(found, world, rtol=0, atol=TOLERANCE * largest, err_msg=node["name"])
        if "vertices" in node:
            vertices = posed.vertices(number)
            for row, points in node["vertices"].items():
                largest = max(float(np.abs(points).max()), 1.0)
                message = f"vertex {row} of {node['name']}"
                np.testing.assert_allclose(
                    vertices[:, int(row)], points, rtol=0, atol=TOLERANCE * largest, err_msg=message
                )
