"""Each version of Blender plays every sample and example as `keyframer.pose` does, at frames and between them."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import keyframer
from keyframer import Channel, Clip, Interpolation, Mesh, Node, RotationForm, Scene, Track
from keyframer.errors import FormatError
from keyframer.exchange import IMPORTERS
from keyframer.formats import FORMATS
from tests.blender.outside import NEWEST, OLDEST, ROOT, Answer, Case, ask, frames_to_play, needs_version

SAMPLES = [*sorted((ROOT / "tests" / "samples").glob("*/*")), *sorted((ROOT / "examples").glob("*"))]


def cases() -> list[Case]:
    cases = []
    for path in SAMPLES:
        if path.is_dir() or path.suffix in (".py", ".pyc"):
            continue
        try:
            scene = keyframer.load(path, salvage=True)
        except FormatError:
            continue
        for clip in range(max(1, len(scene.clips))):
            cases.append(Case(path, scene, frames_to_play(scene, clip), clip, {"salvage": True}))
    return cases


def two_clips(folder: Path) -> list[Case]:
    """Write a file with two clips of different nodes: each clip animates nodes that the other leaves at rest."""
    turn = [(0, 0, 0, 1), (0, 0, 0.6, 0.8), (0, 0, 1, 0)]
    first = Track("position", [0, 10, 30], [(0, 0, 0), (4, 0, 1), (0, 3, 0)], Interpolation.LINEAR)
    second = Track("rotation", [0, 20, 40], turn, form=RotationForm.QUATERNION_ABSOLUTE)
    mesh = Mesh("Square", [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)], [(0, 1, 2), (0, 2, 3)])
    nodes = [Node("Base", mesh=0, position=[1, 2, 3]), Node("Arm", parent=0, mesh=0, position=[0, 0, 2])]
    clips = [Clip("slide", [Channel(0, first)], 0, 30), Clip("turn", [Channel(1, second)], 0, 40)]
    path = folder / "clips.glb"
    keyframer.save(Scene(nodes=nodes, meshes=[mesh], clips=clips), path)
    scene = keyframer.load(path)
    return [Case(path, scene, frames_to_play(scene, clip), clip) for clip in range(2)]


def fixtures(folder: Path) -> list[Case]:
    """Write the lamps that are inside the example show."""
    with zipfile.ZipFile(ROOT / "examples" / "stage.mvr") as show:
        paths = [Path(show.extract(name, folder)) for name in show.namelist() if name.endswith(".gdtf")]
    scenes = [keyframer.load(path) for path in paths]
    return [Case(path, scene, frames_to_play(scene)) for path, scene in zip(paths, scenes, strict=True)]


def play_all(archive: Path, folder: Path, version: str) -> list[tuple[Case, Answer]]:
    every = [*cases(), *two_clips(folder), *fixtures(folder)]
    answers = ask(archive, [case.request() for case in every], folder, version)
    return list(zip(every, answers, strict=True))


@pytest.fixture(scope="module")
def played(archive: Path, tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Case, Answer]]:
    return play_all(archive, tmp_path_factory.mktemp("samples"), OLDEST)


@needs_version(OLDEST)
def test_blender_plays_every_sample_as_keyframer_does(played: list[tuple[Case, Answer]]) -> None:
    check_playback(played)


@needs_version(NEWEST)
def test_newer_blender_plays_every_sample_as_keyframer_does(archive: Path, tmp_path: Path) -> None:
    check_playback(play_all(archive, tmp_path, NEWEST))


def check_playback(played: list[tuple[Case, Answer]]) -> None:
    assert len(played) > 40
    refused = [(case.path.name, answer.said) for case, answer in played if "FINISHED" not in answer.said["result"]]
    assert not refused
    troubles = [trouble for case, answer in played for trouble in case.troubles(answer)]
    assert not troubles, "\n".join(troubles)


@needs_version(OLDEST)
def test_every_clip_is_a_separate_action(played: list[tuple[Case, Answer]]) -> None:
    first, second = (answer for case, answer in played if case.path.name == "clips.glb")
    assert first.said["actions"] == second.said["actions"] == ["slide", "turn"]


@needs_version(OLDEST)
def test_files_include_every_format_that_can_be_read(played: list[tuple[Case, Answer]]) -> None:
    known = {format.name for format in (*FORMATS, *IMPORTERS)}
    assert {case.scene.source_format for case, _ in played} >= known


@needs_version(OLDEST)
def test_corners_have_texture_coordinates_colours_and_normals(played: list[tuple[Case, Answer]]) -> None:
    compared = dict.fromkeys(("uv", "colors", "normals"), 0)
    for case, answer in played:
        for number in map(int, answer.said["meshes"]):
            mesh = case.scene.meshes[case.scene.nodes[number].mesh or 0]
            for what, wanted in expected_corners(mesh, case):
                values = answer.arrays[f"{what} {number}"][..., : wanted.shape[-1]]
                assert np.abs(values - wanted).max(initial=0.0) < 2e-3, (case.path.name, what, mesh.name)
                compared[what] += len(wanted)
    assert all(compared.values()), compared


def expected_corners(mesh: Mesh, case: Case) -> Iterator[tuple[str, np.ndarray]]:
    """Return (faces, 3, k) expected values at the corners of faces that have an area."""
    corners = np.asarray(mesh.corners, np.int64)
    whole = (np.diff(np.sort(corners, axis=1), axis=1) > 0).all(axis=1)
    if mesh.uv is not None and len(mesh.uv):
        numbers = corners if mesh.uv_corners is None else np.asarray(mesh.uv_corners)
        uv = np.asarray(mesh.uv, np.float64)[numbers[whole]]
        yield "uv", uv if case.scene.space.v_up else uv * (1, -1) + (0, 1)
    if mesh.colors is not None and len(mesh.colors):
        numbers = corners if mesh.color_corners is None else np.asarray(mesh.color_corners)
        shown = np.asarray(mesh.colors, np.float64)[numbers[whole]]
        yield "colors", np.where(shown <= 0.04045, shown / 12.92, ((shown + 0.055) / 1.055) ** 2.4)
    smooth = None if mesh.smoothing is None else np.asarray(mesh.smoothing)[whole]
    if smooth is not None and len(smooth) and (smooth == smooth[0]).all() and smooth[0]:
        # One group for all: each vertex has one normal, the sum of those of its faces.
        points = np.asarray(mesh.positions, np.float64) @ case.axes.T
        faces = corners[whole]
        across = np.cross(points[faces[:, 1]] - points[faces[:, 0]], points[faces[:, 2]] - points[faces[:, 0]])
        sizes = np.linalg.norm(across, axis=1, keepdims=True)
        total = np.zeros_like(points)
        np.add.at(total, faces.reshape(-1), np.repeat(across / np.where(sizes > 0, sizes, 1.0), 3, axis=0))
        lengths = np.linalg.norm(total, axis=1, keepdims=True)
        if (sizes > 0).all() and (lengths[np.unique(faces)] > 1e-3).all():
            yield "normals", (total / np.where(lengths > 0, lengths, 1.0))[faces]


@needs_version(OLDEST)
def test_materials_have_colour_opacity_and_emission(played: list[tuple[Case, Answer]]) -> None:
    compared = 0
    for case, answer in played:
        names = [material.name for material in case.scene.materials]
        for material in case.scene.materials:
            shown_material = answer.said["materials"].get(material.name)
            if shown_material is None or names.count(material.name) > 1 or material.diffuse is None:
                continue
            shown = np.clip(np.asarray(material.diffuse, np.float64), 0, 1)
            linear = np.where(shown <= 0.04045, shown / 12.92, ((shown + 0.055) / 1.055) ** 2.4)
            assert np.abs(np.array(shown_material["Base Color"][:3]) - linear).max() < 1e-4, (
                case.path.name,
                material.name,
            )
            assert abs(shown_material["Alpha"] - (1 - np.clip(material.transparency, 0, 1))) < 1e-5
            assert shown_material["Emission Strength"] >= np.clip(material.self_illumination, 0, 1) - 1e-5
            compared += 1
    assert compared > 10


@needs_version(OLDEST)
def test_meshes_have_all_data_of_the_file(played: list[tuple[Case, Answer]]) -> None:
    seen = dict.fromkeys(("uv", "colors", "shape_keys", "groups", "smooth"), 0)
    for case, answer in played:
        for number, described in answer.said["meshes"].items():
            node = case.scene.nodes[int(number)]
            mesh = case.scene.meshes[node.mesh or 0]
            corners = np.sort(np.asarray(mesh.corners), axis=1)
            whole = (np.diff(corners, axis=1) > 0).all(axis=1)
            shapes = 0 if node.morph is None or not node.morph.names else 1 + len(node.morph.names)
            wanted = {
                "faces": int(whole.sum()),
                "uv": int(mesh.uv is not None and len(mesh.uv) > 0),
                "colors": int(mesh.colors is not None and len(mesh.colors) > 0),
                "shape_keys": shapes,
                "smooth": 0 if mesh.smoothing is None else int(np.count_nonzero(np.asarray(mesh.smoothing)[whole])),
            }
            assert {name: described[name] for name in wanted} == wanted, (case.path.name, node.name)
            assert (described["groups"] > 0) == (node.skin is not None), (case.path.name, node.name)
            for name in seen:
                seen[name] += described[name]
    assert all(seen.values()), seen
