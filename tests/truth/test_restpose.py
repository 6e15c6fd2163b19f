"""Where stored vertices and keyframer disagree, the right one of the two is used (RESTPOSE.tsv)."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest

import keyframer
from keyframer.scene import Scene
from tests.corpus import CORPUS, needs_corpus, table

pytestmark = needs_corpus

ALLOWED = {"KF": {"keyframer"}, "formula": {"keyframer"}, "raw": {"raw"}, "either": {"keyframer", "raw"}}


def rows_by_file() -> dict[str, list[dict[str, str]]]:
    files: dict[str, list[dict[str, str]]] = defaultdict(list)
    if CORPUS.is_dir():
        for row in table("3ds/RESTPOSE.tsv"):
            files[row["file"]].append(row)
    return dict(files)


ROWS = rows_by_file()


def choices(scene: Scene, name: str) -> set[str]:
    """What was chosen for the nodes with this name that have a mesh."""
    named = [node for node in scene.nodes if node.mesh is not None and (node.raw_name or b"").decode("latin-1") == name]
    return {node.extras["3ds"]["geometry"] for node in named if "geometry" in node.extras.get("3ds", {})}


@pytest.mark.parametrize("file", ROWS)
def test_the_expected_geometry_is_chosen(file: str) -> None:
    scene = keyframer.load(CORPUS / "3ds" / file, salvage=True)
    for row in ROWS[file]:
        chosen = choices(scene, row["node"])
        assert chosen, f"no node {row['node']!r} carries a mesh"
        assert chosen <= ALLOWED[row["trust"].split()[0]], (row["node"], row["cause"])


@pytest.mark.parametrize("file", list(ROWS)[::12])
@pytest.mark.parametrize("geometry", ["raw", "keyframer"])
def test_an_option_forces_either_geometry(file: str, geometry: str) -> None:
    scene = keyframer.load(CORPUS / "3ds" / file, salvage=True, geometry=geometry)
    chosen = {node.extras["3ds"]["geometry"] for node in scene.nodes if "geometry" in node.extras.get("3ds", {})}
    assert chosen == {geometry}


@pytest.mark.parametrize("file", [name for name, rows in ROWS.items() if any(row["trust"] == "raw" for row in rows)])
def test_raw_geometry_shows_the_stored_vertices(file: str) -> None:
    """With ``raw``, the vertices posed at rest are those of the file."""
    document = keyframer.read(CORPUS / "3ds" / file)
    scene = keyframer.load(CORPUS / "3ds" / file, salvage=True)
    moment = scene.clips[0].current if scene.clips[0].name == "MAXSCENE" else 0.0
    posed = keyframer.pose(scene, frames=[moment or 0.0])
    stored = {}
    for item in document.find(keyframer.formats.threeds.records.NamedObject):
        for points in document.find(keyframer.formats.threeds.records.PointArray):
            if any(points in body.children for body in item.children):
                stored.setdefault(item.name, points.points)
    for index, node in enumerate(scene.nodes):
        if node.mesh is not None and node.extras.get("3ds", {}).get("geometry") == "raw":
            points = np.nan_to_num(stored[node.raw_name], nan=0.0)
            size = max(float(np.ptp(points, axis=0).max()), float(np.abs(points).max()))
            assert np.abs(posed.vertices(index)[0] - points).max() <= 1e-6 * size, node
