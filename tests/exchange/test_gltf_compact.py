"""Compact GLB files: what players show, what is read again, how large they are, and what the report says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import keyframer
from keyframer.formats import FORMATS
from keyframer.scene import Clip, Material, Mesh, Node, Scene
from keyframer.scene.loss_report import Outcome
from tests.building.gltf import glb, split_glb
from tests.building.gltf_scenes import SCENES, cube, moved, tcb, turning
from tests.exchange.players import Case, cases, in_blender, in_sampler, in_three, needs_blender, troubles
from tests.exchange.test_gltf_samples import loadable
from tests.exchange.truth import assert_valid, glb_of, needs_node_tools
from tests.exchange.vertex_players import in_babylon, in_vtk, needs_babylon, needs_vtk
from tests.oracles.gltf.sampler import Gltf


def ball(name: str = "ball", rows: int = 16, size: float = 3.0) -> Mesh:
    """Return a ball of (2 rows)² vertices, smooth, with texture coordinates."""
    u, v = (axis.reshape(-1) for axis in np.meshgrid(np.linspace(0, 1, 2 * rows), np.linspace(0, 1, 2 * rows)))
    around, down = 2 * np.pi * u, np.pi * v
    points = np.stack([np.cos(around) * np.sin(down), np.sin(around) * np.sin(down), np.cos(down)], axis=1)
    first = (np.arange(2 * rows - 1)[:, None] * 2 * rows + np.arange(2 * rows - 1)).reshape(-1, 1)
    faces = np.concatenate([first + np.array(corners) for corners in ((0, 2 * rows, 1), (1, 2 * rows, 2 * rows + 1))])
    mesh = Mesh(name, size * points + (5.0, 0.0, 1.0), faces, smoothing=np.ones(len(faces), np.int64))
    mesh.uv = np.stack([u, v], axis=1)
    return mesh


def balls() -> Scene:
    """Return two nodes with one mesh, one of them shifted by a pivot, below a third one, a small mesh and motion."""
    nodes = [
        Node("base", mesh=1),
        Node("first", mesh=0, parent=0, pivot=np.array([1.0, 2.0, 3.0])),
        Node("second", mesh=0, parent=1, position=np.array([9.0, 0.0, 0.0]), scale=np.array([2.0, 1.0, 1.0])),
        Node("small", mesh=2, parent=2),
    ]
    turns = turning([0, 10, 30], [(0, 0, 1, 0.0), (0, 1, 1, 1.0), (1, 0, 0, 2.0)])
    moves = tcb("position", [0, 15, 30], [(0, 0, 0), (3, 5, 1), (-4, 0, 0)])
    clip = moved((0, turns), (1, moves), (1, turns), end=30.0)
    return Scene(nodes, [ball(), ball("globe", 8, 20.0), cube()], materials=[Material("red")], clips=[clip])


def scenes() -> list[tuple[str, Scene]]:
    """Return all scenes and animated samples that are played."""
    built = [(name, make()) for name, make in SCENES.items() if name not in ("sick", "nothing")]
    samples = [(path.name, scene) for known in FORMATS for path, scene in loadable(known.name)]
    example = Path(__file__).resolve().parents[2] / "examples" / "windmill.3ds"
    return [("balls", balls()), (example.name, keyframer.load(example)), *built, *samples]


def compact_cases() -> list[Case]:
    named = [(name, scene) for name, scene in scenes() if scene.clips]
    found = [case for name, scene in named for case in cases(name, scene, *glb_of(scene, compact=True))]
    return [case for case in found if case.animation is not None]


def test_large_meshes_are_on_a_grid_and_rotations_are_fractions() -> None:
    gltf = Gltf(glb_of(balls(), compact=True)[0])
    accessors = gltf.json["accessors"]
    types = {
        mesh["name"]: {
            name: (accessors[number]["componentType"], accessors[number].get("normalized", False))
            for name, number in mesh["primitives"][0]["attributes"].items()
        }
        for mesh in gltf.json["meshes"]
    }
    assert types["ball"] == {"POSITION": (5123, False), "NORMAL": (5120, True), "TEXCOORD_0": (5123, True)}
    assert types["cube"]["POSITION"] == (5126, False)
    assert gltf.json["extensionsRequired"] == ["KHR_mesh_quantization"]
    outputs = {
        channel["target"]["path"]: accessors[animation["samplers"][channel["sampler"]]["output"]]["componentType"]
        for animation in gltf.json["animations"]
        for channel in animation["channels"]
    }
    assert outputs == {"rotation": 5122, "translation": 5126}


def test_a_large_mesh_takes_half_the_bytes() -> None:
    scene = Scene([Node("ball", mesh=0)], [ball(rows=40)])
    scene.meshes[0].smoothing = None
    whole, compact = (len(glb_of(scene, compact=compact, smooth=True)[0]) for compact in (False, True))
    vertices, triangles = 6400, 2 * 79 * 79
    assert whole - compact == pytest.approx(16 * vertices, rel=0.02)
    assert compact == pytest.approx(16 * vertices + 6 * triangles, rel=0.02)


def test_the_report_says_what_was_rounded() -> None:
    report = glb_of(balls(), compact=True)[1]
    losses = {loss.path: loss for loss in report if loss.path.startswith("/meshes/") and loss.path.count("/") == 2}
    assert losses["/meshes/ball"].outcome is Outcome.APPROXIMATED
    assert losses["/meshes/ball"].args == {"rounded": "positions of 16 bits, normals of 8"}
    assert losses["/meshes/ball"].error == pytest.approx(0.5 * 6 / 65535, rel=1e-3)
    assert losses["/meshes/cube"].args == {"rounded": "normals of 8 bits"}


@pytest.mark.parametrize(("max_error", "expected"), [(1e-4, (5123, 5122)), (5e-5, (5123, 5126)), (1e-6, (5126, 5126))])
def test_nothing_is_rounded_beyond_the_allowed_error(max_error: float, expected: tuple[int, int]) -> None:
    data, report = glb_of(balls(), compact=True, max_error=max_error)
    gltf = Gltf(data)
    sampler = next(
        animation["samplers"][channel["sampler"]]
        for animation in gltf.json["animations"]
        for channel in animation["channels"]
        if channel["target"]["path"] == "rotation"
    )
    numbers = gltf.json["meshes"][0]["primitives"][0]["attributes"]["POSITION"], sampler["output"]
    assert tuple(gltf.json["accessors"][number]["componentType"] for number in numbers) == expected
    assert report.measured["world_error"] <= report.measured["world_error_allowed"]


def test_rotations_stay_whole_where_a_chain_would_add_up_their_rounding() -> None:
    turns = turning([0, 50], [(0, 0, 1, 0.01), (0, 0, 1, 0.02)])
    place = np.array([1.0, 0.0, 0.0])
    nodes = [Node(f"n{number}", parent=number - 1 if number else None, position=place) for number in range(100)]
    scene = Scene(nodes, clips=[moved(*((number, turns) for number in range(100)), end=50.0)])
    data, report = glb_of(scene, compact=True)
    assert {entry["componentType"] for entry in Gltf(data).json["accessors"]} == {5126}
    assert report.measured["world_error"] <= report.measured["world_error_allowed"]


def test_compact_files_without_extensions_are_refused() -> None:
    with pytest.raises(ValueError, match="KHR_mesh_quantization"):
        glb_of(balls(), compact=True, core_only=True)


@needs_node_tools
def test_validator_finds_no_errors_and_no_warnings(tmp_path: Path) -> None:
    paths = []
    for number, (_, scene) in enumerate(scenes()):
        paths.append(tmp_path / f"{number}.glb")
        paths[-1].write_bytes(glb_of(scene, compact=True)[0])
    assert_valid(paths)


@needs_node_tools
def test_three_js_and_the_sampler_match_the_pose(tmp_path: Path) -> None:
    played = compact_cases()
    assert len(played) > 40
    differences = [*in_three(played, tmp_path, 8)]
    differences += [(case, in_sampler(case, case.seconds(np.random.default_rng(5), 40))) for case in played]
    assert [trouble for case, difference in differences for trouble in troubles(case, difference)] == []


@needs_babylon
def test_babylon_draws_the_pose(tmp_path: Path) -> None:
    found = list(in_babylon(compact_cases(), tmp_path))
    assert len(found) > 40
    assert [difference for _, differences in found for difference in differences] == []


@needs_vtk
def test_vtk_draws_those_that_need_no_extension_and_no_others(tmp_path: Path) -> None:
    """It does not know KHR_mesh_quantization and refuses files that require it: docs/gltf.md says so."""
    played = compact_cases()
    known = [case for case in played if "extensionsRequired" not in case.gltf.json]
    assert len(known) > 5
    assert [difference for _, differences in in_vtk(known, tmp_path) for difference in differences] == []
    with pytest.raises(KeyError):
        list(in_vtk([case for case in played if case.name == "balls"], tmp_path))


@needs_blender
def test_blender_plays_compact_files_like_the_pose(tmp_path: Path) -> None:
    differences = list(in_blender(compact_cases(), tmp_path))
    assert [
        trouble for case, found in differences for trouble in troubles(case, found, ("morphing", "maxscript.u3d"))
    ] == []


def _read(data: bytes, folder: Path) -> Scene:
    path = folder / "compact.glb"
    path.write_bytes(data)
    return keyframer.load(path)


def test_reading_gives_the_meshes_in_their_place(tmp_path: Path) -> None:
    scene = balls()
    again = _read(glb_of(scene, compact=True)[0], tmp_path)
    assert [node.name for node in again.nodes] == [node.name for node in scene.nodes]
    for node, read in zip(scene.nodes, again.nodes, strict=True):
        assert node.mesh is not None
        assert read.mesh is not None
        positions, wanted = again.meshes[read.mesh].positions, np.asarray(scene.meshes[node.mesh].positions)
        assert np.abs(np.asarray(read.pivot) - node.pivot).max() < 1e-6
        assert (
            np.abs(np.sort(np.unique(positions, axis=0), axis=0)[[0, -1]] - np.sort(wanted, axis=0)[[0, -1]]).max()
            < 1e-3
        )


def _rescaled(text: dict) -> None:  # type: ignore[type-arg]
    node = next(node for node in text["nodes"] if node["name"] == "first_geo")
    node["scale"] = [2 * number for number in node["scale"]]


def _unmarked(text: dict) -> None:  # type: ignore[type-arg]
    next(node for node in text["nodes"] if node["name"] == "second_geo").pop("extras")


@pytest.mark.parametrize("edit", [_rescaled, _unmarked])
def test_what_another_program_changed_is_shown(edit: Callable[[dict], None], tmp_path: Path) -> None:  # type: ignore[type-arg]
    """If a node of a grid is not as we wrote it, it is a node like any other."""
    text, binary = split_glb(glb_of(balls(), compact=True)[0])
    edit(text)
    data = glb(text, binary)
    gltf, again = Gltf(data), _read(data, tmp_path)
    assert {"first_geo", "second_geo"} <= {node.name for node in again.nodes}
    pose = keyframer.pose(again, frames=[0])
    turn = np.array([[1, 0, 0], [0, 0, 1], [0, -1, 0]])
    worlds = gltf.worlds(np.zeros(1), 0)
    for name in ("first_geo", "second_geo"):
        shown = gltf.vertices(gltf.named(name), np.zeros(1), worlds, 0)[0]
        number = [node.name for node in again.nodes].index(name)
        points = pose.vertices(number)[0] @ turn.T
        assert np.abs(points.min(axis=0) - shown.min(axis=0)).max() < 1e-4
        assert np.abs(points.max(axis=0) - shown.max(axis=0)).max() < 1e-4


def test_a_clip_of_a_compact_file_is_read_with_its_rotations(tmp_path: Path) -> None:
    scene = balls()
    again = _read(glb_of(scene, compact=True)[0], tmp_path)
    frames = np.linspace(0, 30, 7)
    clip: Clip = again.clips[0]
    assert clip.end == 30
    assert np.abs(keyframer.pose(scene, frames=frames).world - keyframer.pose(again, frames=frames).world).max() < 1e-2
