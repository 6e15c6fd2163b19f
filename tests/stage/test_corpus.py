"""Real shows and fixtures, compared with `pymvr` and `pygdtf`, which parse them independently."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
import pygdtf
import pymvr
import pytest

import keyframer
from keyframer.exchange import importer_for
from keyframer.scene import Scene
from tests.corpus import CORPUS, needs_corpus
from tests.exchange.truth import node_lines
from tests.stage.boxes import boxes, glb_json, glb_points, world_matrices

FOLDER = CORPUS / "stage"
SHOWS = sorted(FOLDER.glob("*.mvr"))
FIXTURES = sorted(FOLDER.glob("*.gdtf"))

pytestmark = needs_corpus


def name_of(path: Path) -> str:
    return path.name


@cache
def load(path: Path) -> Scene:
    """Load a file once for all tests, which do not change the scene."""
    return keyframer.load(path)


@pytest.fixture(scope="module")
def converted(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Write a file with its models as glTF; return the file and the written one."""
    written = tmp_path_factory.mktemp("converted") / request.param.name
    keyframer.save(load(request.param), written, models="gltf", replace=True)
    return request.param, written


def row_matrix(rows: list[list[float]]) -> np.ndarray:
    """Return the matrix with axes as columns; pymvr gives axes and origin as rows."""
    matrix = np.eye(4)
    matrix[:3] = np.array(rows)[:, :3].T
    return matrix


def shown_objects(holder: Any, above: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """Yield kind, name and world matrix of every object of a show, parents before children."""
    if holder is None:
        return
    for kind in ("scene_objects", "group_objects", "fixtures", "trusses", "supports", "video_screens", "focus_points"):
        for item in getattr(holder, kind, None) or ():
            world = above @ row_matrix(item.matrix.matrix)
            yield item.uuid, world
            yield from shown_objects(getattr(item, "child_list", None), world)


@pytest.mark.parametrize("path", SHOWS, ids=name_of)
def test_objects_are_where_pymvr_reads_them(path: Path) -> None:
    scene = load(path)
    worlds = world_matrices(scene)
    ours = {
        node.extras["mvr"]["uuid"]: worlds[number]
        for number, node in enumerate(scene.nodes)
        if node.extras.get("mvr", {}).get("type") not in (None, "Layer")
    }
    theirs: dict[str, np.ndarray] = {}
    for layer in pymvr.GeneralSceneDescription(path).scene.layers:
        theirs.update(shown_objects(layer.child_list, row_matrix(layer.matrix.matrix)))
    assert theirs
    assert ours.keys() == theirs.keys()
    for uuid, world in theirs.items():
        assert ours[uuid] == pytest.approx(world, abs=0.05), uuid


def geometry_places(geometry: Any, above: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    world = above @ np.array(geometry.position.matrix)
    yield geometry.name, world
    for child in geometry.geometries:
        yield from geometry_places(child, world)


@pytest.mark.parametrize("path", FIXTURES, ids=name_of)
def test_geometries_are_where_pygdtf_reads_them(path: Path) -> None:
    theirs = pygdtf.FixtureType(str(path))
    scene = load(path)
    worlds = dict(zip((node.name for node in scene.nodes), world_matrices(scene), strict=True))
    mode = theirs.dmx_modes[0]
    root = next(geometry for geometry in theirs.geometries if geometry.name == mode.geometry)
    compared = 0
    for name, world in geometry_places(root, np.eye(4)):
        if name in worlds:
            assert worlds[name] == pytest.approx(world, abs=1e-5), name
            compared += 1
    assert compared


@pytest.mark.parametrize("path", FIXTURES, ids=name_of)
def test_models_have_the_dimensions_that_pygdtf_reads(path: Path) -> None:
    wanted = {model.name: (model.length, model.width, model.height) for model in pygdtf.FixtureType(str(path)).models}
    scene = load(path)
    sizes = [high - low for low, high in model_boxes(scene)]
    for size in sizes:
        fits = [np.allclose(np.sort(size), np.sort(dimensions), rtol=1e-3, atol=1e-5) for dimensions in wanted.values()]
        assert any(fits), size


def model_boxes(scene: Scene) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the box of each placed model: all meshes below the model node of a geometry together."""
    worlds = world_matrices(scene)
    groups: dict[int, list[np.ndarray]] = {}
    for number, node in enumerate(scene.nodes):
        if node.mesh is None:
            continue
        top = number
        while not scene.nodes[top].name.split(".")[0].endswith((" model", " body")):
            parent = scene.nodes[top].parent
            assert parent is not None
            top = parent
        points = np.asarray(scene.meshes[node.mesh].positions, np.float64) - node.pivot
        above = np.linalg.inv(worlds[scene.nodes[top].parent]) if scene.nodes[top].parent is not None else np.eye(4)
        local = above @ worlds[number]
        groups.setdefault(top, []).append(points @ local[:3, :3].T + local[:3, 3])
    stacked = [np.concatenate(points) for points in groups.values()]
    return [(points.min(axis=0), points.max(axis=0)) for points in stacked]


@pytest.mark.parametrize("converted", SHOWS + FIXTURES, ids=name_of, indirect=True)
def test_converted_models_do_not_change_the_scene(converted: tuple[Path, Path]) -> None:
    """Every reference resolves, and every box in world space keeps its place within 0.1 mm."""
    path, written = converted
    scene, again = load(path), keyframer.load(written)
    assert "STAGE_FILE_MISSING" not in again.issues.counts or "STAGE_FILE_MISSING" in scene.issues.counts
    before, after = boxes(scene), boxes(again)
    assert len(before) == len(after)
    tolerance = 0.1 if path.suffix == ".mvr" else 1e-4
    assert np.array(before) == pytest.approx(np.array(after), abs=tolerance)
    if path.suffix == ".mvr":
        pymvr.GeneralSceneDescription(written)
    else:
        pygdtf.FixtureType(str(written))


@pytest.mark.parametrize(
    "converted",
    [path for path in SHOWS + FIXTURES if "capture" in path.name or "test" in path.name],
    ids=name_of,
    indirect=True,
)
def test_converted_models_are_valid_and_keep_their_vertices(converted: tuple[Path, Path], tmp_path: Path) -> None:
    """The validator finds nothing, no extension is used, and other players see the old vertices in metres with y up."""
    path, written = converted
    old = {Path(name).stem: data for name, data in models(path) if name.lower().endswith(".3ds")}
    files = []
    for name, data in models(written):
        if name.endswith(".glb") and Path(name).stem in old:
            root = glb_json(data)
            assert not root.keys() & {"extensionsUsed", "extensionsRequired"}
            raw = keyframer.load(io.BytesIO(old[Path(name).stem]), geometry="raw")
            points = np.concatenate([np.asarray(mesh.positions, float) for mesh in raw.meshes])
            seen = glb_points(data)
            expected = points[:, [0, 2, 1]] * (0.001, 0.001, -0.001)
            if path.suffix == ".mvr":  # in fixtures nodes of the model are placed by their keyframer
                assert seen.min(axis=0) == pytest.approx(expected.min(axis=0), abs=1e-4), name
                assert seen.max(axis=0) == pytest.approx(expected.max(axis=0), abs=1e-4), name
            files.append(tmp_path / Path(name).name)
            files[-1].write_bytes(data)
    assert files
    for line in node_lines("validate.mjs", [str(file) for file in files]):
        report = json.loads(line)
        assert (report["errors"], report["warnings"]) == (0, 0), report


def models(path: Path) -> Iterator[tuple[str, bytes]]:
    with ZipFile(path) as archive:
        for name in archive.namelist():
            yield name, archive.read(name)


def stated_fixtures(holder: Any) -> Iterator[Any]:
    """Yield the fixtures of a show as pymvr reads them."""
    for item in getattr(holder, "fixtures", None) or ():
        yield item
    for kind in ("fixtures", "scene_objects", "group_objects", "trusses", "supports", "video_screens"):
        for item in getattr(holder, kind, None) or ():
            yield from stated_fixtures(getattr(item, "child_list", None))


def unpatched_or(addresses: list[str]) -> str:
    """Return the addresses of a fixture; none if all are 1.1, which pymvr reads for 0: no address."""
    return "" if set(addresses) <= {"1.1", ""} else ", ".join(addresses)


@pytest.mark.parametrize("path", SHOWS, ids=name_of)
def test_table_of_fixtures_is_what_pymvr_reads(path: Path) -> None:
    scene = load(path)
    table = importer_for(path.read_bytes(), path.name).summarise(scene)[0]
    places = world_matrices(scene)
    by_uuid = {node.extras["mvr"]["uuid"]: at for at, node in enumerate(scene.nodes) if "mvr" in node.extras}
    theirs = set()
    for layer in pymvr.GeneralSceneDescription(path).scene.layers:
        for item in stated_fixtures(layer.child_list):
            addresses = [f"{given.universe}.{given.address}" for given in item.addresses.addresses]
            place = places[by_uuid[item.uuid]][:3, 3]
            words = item.fixture_id, item.name, item.gdtf_spec.removesuffix(".gdtf"), item.gdtf_mode
            theirs.add((*words, unpatched_or(addresses), *(round(float(part)) for part in place)))
    rows = set()
    for row in table.rows:
        addresses = ["1.1" if address == "0" else address for address in (row[5] or "").split(", ")]
        rows.add((row[0] or "", *row[1:4], unpatched_or(addresses), *map(round, row[6:])))
    assert theirs
    assert rows == theirs
