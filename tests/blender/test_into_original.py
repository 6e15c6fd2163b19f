"""Exports into the imported file: what was not touched in Blender keeps its records, what was touched arrives."""

from __future__ import annotations

import math
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import keyframer
from keyframer.errors import FormatError
from keyframer.inspecting.record_diff import diff_documents
from tests.blender.outside import EACH_VERSION, ROOT, Answer, ask
from tests.corpus import CORPUS, animation_files, needs_corpus
from tests.samples import all_samples

WINDMILL = ROOT / "examples" / "windmill.3ds"
QUARTER = [math.cos(math.pi / 8), 0.0, 0.0, math.sin(math.pi / 8)]
"""a turn of 45 degrees about z, as Blender stores it"""
EDITS: dict[str, list[list[Any]]] = {
    "move": [["set", "Tower", "location", [10.0, 0.0, 0.0]]],
    "turn": [["set", "Tower", "rotation_quaternion", QUARTER]],
    "key": [["move key", "Camera", "location", 2, 1, 5.0]],
    "new key": [["insert key", "Camera", 70, [0.0, 0.0, 30.0]]],
    "color": [["color", 0, [1.0, 0.0, 0.0]]],
    "image": [["image", 0, "BRICK.TGA"]],
    "vertex": [["vertex", "Tower", 0, [0.0, 0.0, 3.0]]],
    "target": [["move key", "Camera.target", "location", 0, 0, 20.0]],
    "rename": [["rename", "Cock", "Hen"]],
    "add": [["add", "Tri", "Tower", [1.0, 2.0, 3.0]]],
    "copy": [["copy", "Sun", "Moon", [5.0, 0.0, 0.0]]],
    "delete": [["remove", "Sun"]],
}


@pytest.fixture(scope="module", params=EACH_VERSION)
def edited(request: pytest.FixtureRequest, archive: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The windmill after each edit: a scene, the kinds of changed records, and the answer of Blender."""
    folder = tmp_path_factory.mktemp("edits")
    targets = {name: folder / f"{name}.3ds" for name in EDITS}
    requests = [
        {"do": "edit", "source": str(WINDMILL), "target": str(targets[name]), "edits": edits}
        for name, edits in EDITS.items()
    ]
    answers = ask(archive, requests, folder, request.param)
    before = keyframer.read(WINDMILL)
    found = {}
    for name, answer in zip(EDITS, answers, strict=True):
        changes = diff_documents(before, keyframer.read(targets[name]))
        kinds = {(change.kind, change.record) for change in changes.listed}
        found[name] = keyframer.load(targets[name]), kinds, answer
    return found


def test_the_import_for_comparison_leaves_nothing_behind(edited: Any) -> None:
    assert {tuple(answer.said["left"]) for _, _, answer in edited.values()} == {(1, 0)}


def _still(scene: keyframer.Scene, name: str) -> Any:
    return keyframer.pose(scene, frames=[0.0]).world[0, scene.find(name)]


def test_a_moved_object_takes_its_children_along_and_keeps_its_key(edited: Any) -> None:
    scene, kinds, _ = edited["move"]
    before = keyframer.load(WINDMILL)
    for name in ("Tower", "Rotor", "Sail1"):
        assert np.allclose(_still(scene, name)[:3, 3] - _still(before, name)[:3, 3], [10, 0, 0], atol=1e-4)
    assert np.allclose(_still(scene, "Sun"), _still(before, "Sun"))
    assert {record for _, record in kinds} == {"PositionTrack", "PointArray", "MeshMatrix"}


def test_a_turned_object(edited: Any) -> None:
    scene, kinds, _ = edited["turn"]
    turn = _still(scene, "Tower")[:3, :3] @ _still(keyframer.load(WINDMILL), "Tower")[:3, :3].T
    half = math.sqrt(0.5)
    assert np.allclose(turn, [[half, -half, 0], [half, half, 0], [0, 0, 1]], atol=1e-6)
    assert {record for _, record in kinds} == {"RotationTrack", "PointArray", "MeshMatrix"}


def test_a_moved_key_changes_only_this_key(edited: Any) -> None:
    scene, kinds, _ = edited["key"]
    assert kinds == {("changed", "PositionTrack")}
    old, new = (
        next(channel.track for channel in each.channels_of("Camera") if channel.track.kind == "position")
        for each in (keyframer.load(WINDMILL), scene)
    )
    assert np.allclose(new.values - old.values, [[0, 0, 0], [0, 0, 5], [0, 0, 0]], atol=1e-4)
    assert np.array_equal(old.times, new.times)
    assert old.interpolation is new.interpolation is keyframer.Interpolation.TCB


def test_a_new_key_is_played(edited: Any) -> None:
    scene, kinds, _ = edited["new key"]
    assert kinds == {("changed", "PositionTrack")}
    before = keyframer.load(WINDMILL)
    old, new = (keyframer.pose(each, frames=[70]).world[0, each.find("Camera"), :3, 3] for each in (before, scene))
    assert np.allclose(new - old, [0, 0, 30], atol=0.01)


def test_a_colour_changes_only_its_chunk(edited: Any) -> None:
    scene, kinds, _ = edited["color"]
    assert kinds == {("changed", "ColorByte")}
    assert scene.materials[0].diffuse == (1.0, 0.0, 0.0)


def test_a_new_image_adds_a_map(edited: Any) -> None:
    scene, kinds, _ = edited["image"]
    assert {record for _, record in kinds} == {"TextureMap1"} or {record for _, record in kinds} == {"MapName"}
    assert scene.materials[0].maps["texture1"].file_name == "BRICK.TGA"


def test_a_moved_vertex(edited: Any) -> None:
    scene, kinds, _ = edited["vertex"]
    assert kinds == {("changed", "PointArray")}
    moved = np.asarray(scene.meshes[0].positions) - np.asarray(keyframer.load(WINDMILL).meshes[0].positions)
    assert np.allclose(moved[0], [0, 0, 3], atol=1e-4)
    assert not np.abs(moved[1:]).max()


def test_a_moved_target_turns_the_camera(edited: Any) -> None:
    scene, kinds, _ = edited["target"]
    assert kinds == {("changed", "PositionTrack")}
    world = keyframer.pose(scene, frames=[0.0]).world[0]
    eye, goal = world[scene.find("Camera"), :3, 3], world[scene.find("Camera.target"), :3, 3]
    assert np.allclose(-world[scene.find("Camera"), :3, 2], (goal - eye) / np.linalg.norm(goal - eye), atol=1e-6)
    old = keyframer.load(WINDMILL)
    assert np.allclose(goal - _still(old, "Camera.target")[:3, 3], [20, 0, 0], atol=1e-4)


def test_names_and_nodes(edited: Any) -> None:
    before = [node.name for node in keyframer.load(WINDMILL).nodes]
    renamed, kinds, _ = edited["rename"]
    assert [node.name for node in renamed.nodes] == [{"Cock": "Hen"}.get(name, name) for name in before]
    assert kinds == {("changed", "NamedObject"), ("changed", "NodeHeader")}
    assert {node.name for node in edited["delete"][0].nodes} == set(before) - {"Sun"}
    assert {kind for kind, _ in edited["delete"][1]} == {"removed"}
    assert {node.name for node in edited["copy"][0].nodes} == {*before, "Moon"}
    assert {kind for kind, _ in edited["copy"][1]} == {"added"}


def test_an_added_object_is_where_it_was_put(edited: Any) -> None:
    scene, kinds, _ = edited["add"]
    assert {kind for kind, _ in kinds} == {"added"}
    tower = _still(scene, "Tower")
    assert np.allclose(_still(scene, "Tri")[:3, 3], (tower @ [1, 2, 3, 1])[:3], atol=1e-4)
    assert scene.nodes[scene.node("Tri").parent].name == "Tower"


def unedited_files() -> list[Path]:
    """Every sample that can be loaded, and forty real files of different sizes."""
    samples = [path for _, path in all_samples()]
    real = [path for path in animation_files() if path.stat().st_size < 200_000] if CORPUS.is_dir() else []
    files = [*samples, *real[:: max(1, len(real) // 40)][:40]]
    files += sorted((CORPUS / "b3d").glob("*.b3d"))[:6] if CORPUS.is_dir() else []
    loaded = []
    for path in files:
        try:
            scene = keyframer.load(path)
        except FormatError:
            continue
        if scene.origin is not None and scene.origin.document.format.writes_scenes:
            loaded.append(path)
    return loaded


@pytest.mark.parametrize("version", EACH_VERSION)
def test_files_that_were_not_edited_keep_every_byte(archive: Path, tmp_path: Path, version: str) -> None:
    files = unedited_files()
    requests = []
    for number, path in enumerate(files):
        target = tmp_path / f"{number}{path.suffix.lower()}"
        format = keyframer.read(path).format.name
        requests.append({"do": "edit", "source": str(path), "target": str(target), "options": {"format": format}})
    answers = ask(archive, requests, tmp_path, version)
    different = [
        f"{path.name}: {answer.said}"
        for path, request, answer in zip(files, requests, answers, strict=True)
        if answer.said["result"] != ["FINISHED"] or Path(request["target"]).read_bytes() != path.read_bytes()
    ]
    assert different == []
    assert len(files) > (90 if CORPUS.is_dir() else 50)


@pytest.fixture(scope="module")
def others(archive: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, Answer]]:
    """Exports that are not into the original, and repeated ones."""
    folder = tmp_path_factory.mktemp("others")
    gone = folder / "gone.3ds"
    shutil.copy(WINDMILL, gone)
    requests: dict[str, dict[str, Any]] = {
        "new": {"source": str(WINDMILL), "options": {"into": "NEW"}},
        "gone": {"source": str(gone), "remove": True},
        "another format": {"source": str(WINDMILL), "suffix": ".ase"},
        "three times": {"source": str(WINDMILL), "again": 2, "edits": [["set", "Sun", "location", [1.0, 2.0, 3.0]]]},
        "three times new": {"source": str(WINDMILL), "again": 2, "options": {"into": "NEW"}},
    }
    for name, request in requests.items():
        request |= {"do": "edit", "target": str(folder / f"{name}{request.pop('suffix', '.3ds')}")}
    answers = ask(archive, list(requests.values()), folder)
    return {
        name: (Path(request["target"]), answer)
        for (name, request), answer in zip(requests.items(), answers, strict=True)
    }


pytestmark = pytest.mark.filterwarnings("default")


def test_a_source_that_is_gone_gives_a_new_file_that_says_so(others: Any) -> None:
    path, answer = others["gone"]
    assert "(a new file: gone.3ds, which was imported, is not there any more)" in answer.said["text"].splitlines()[0]
    assert len(keyframer.load(path).nodes) == len(keyframer.load(WINDMILL).nodes)


@pytest.mark.parametrize("name", ["new", "gone"])
def test_a_new_file_keeps_what_blender_has_no_place_for(others: Any, name: str) -> None:
    """Names of missing images, colours, shading and targets."""
    before, after = keyframer.load(WINDMILL), keyframer.load(others[name][0])
    for old in before.materials:
        new = next(material for material in after.materials if material.name == old.name)
        assert {slot: map.file_name for slot, map in new.maps.items()} == {
            slot: map.file_name for slot, map in old.maps.items()
        }
        for field in ("ambient", "specular", "shininess", "shininess_strength", "shading", "two_sided"):
            assert getattr(new, field) == pytest.approx(getattr(old, field), abs=0.01), field
    assert sorted(node.name for node in after.nodes) == sorted(node.name for node in before.nodes)
    camera = after.node("Camera")
    assert camera.target is not None
    assert after.nodes[camera.target].name == "Camera.target"


def test_generations_do_not_grow(others: Any) -> None:
    path, _ = others["three times"]
    assert path.stat().st_size == WINDMILL.stat().st_size
    grown, _ = others["three times new"]
    assert grown.stat().st_size == pytest.approx(others["new"][0].stat().st_size, rel=0.02)


def test_another_format_is_a_new_file_without_a_word(others: Any) -> None:
    path, answer = others["another format"]
    assert "a new file" not in answer.said["text"].splitlines()[0]
    assert keyframer.load(path).node("Rotor")


@needs_corpus
@pytest.mark.parametrize("version", EACH_VERSION)
def test_real_files_keep_their_keys_when_a_colour_changes(archive: Path, tmp_path: Path, version: str) -> None:
    """WALK and CITY had thirty and ten times as many keys."""
    files = [path for path in animation_files() if path.stem.upper() in ("WALK", "CITY")]
    files += [path for path in (CORPUS / "secondreality").glob("*.3DS") if path.stem.upper() == "CITY"]
    requests = [
        {
            "do": "edit",
            "source": str(path),
            "target": str(tmp_path / f"{number}.3ds"),
            "edits": [["color", 0, [1, 0, 0]]],
        }
        for number, path in enumerate(files)
    ]
    ask(archive, requests, tmp_path, version)
    assert files
    for path, request in zip(files, requests, strict=True):
        changes = diff_documents(keyframer.read(path), keyframer.read(Path(request["target"])))
        assert {change.record for change in changes.listed} <= {"ColorByte", "ColorFloat"}
        assert changes.total


@pytest.mark.parametrize("extras", [True, False])
def test_a_glb_that_went_through_blenders_own_gltf_has_no_helpers(archive: Path, tmp_path: Path, extras: bool) -> None:
    """Neither the node that turns Z up, nor targets as further objects; the motion is the same, also at 24 frames."""
    glb, back = tmp_path / "windmill.glb", tmp_path / "back.glb"
    keyframer.save(keyframer.load(WINDMILL), glb)
    ask(archive, [{"do": "own_gltf", "source": str(glb), "target": str(back), "extras": extras, "fps": 24}], tmp_path)
    keyframer.save(keyframer.load(back), tmp_path / "back.3ds")
    before, after = keyframer.load(WINDMILL), keyframer.load(tmp_path / "back.3ds")
    assert sorted(node.name for node in after.nodes) == sorted(node.name for node in before.nodes)
    frames = np.arange(0.0, 101.0, 5.0)
    first = keyframer.pose(before, frames=frames)
    second = keyframer.pose(after, times=first.times_seconds)
    for number, node in enumerate(before.nodes):
        world = second.world[:, after.find(node.name)]
        assert np.abs(world[:, :3, 3] - first.world[:, number, :3, 3]).max() < 0.05, node.name  # of 100 units
        turned = first.world[:, number, :3, :3].swapaxes(1, 2) @ world[:, :3, :3]
        cosine = (np.trace(turned, axis1=1, axis2=2) - 1) / 2
        assert np.degrees(np.arccos(np.clip(cosine, -1, 1))).max() < 0.5, node.name
