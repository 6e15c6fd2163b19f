"""Edits of nodes, materials, meshes and environment: all other bytes of the original stay.

Files are compared chunk by chunk with an independent reader (`walker`); every container has an unknown chunk.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import keyframer
from keyframer.curves import Interpolation, Track
from keyframer.editing import choose_nodes, cut, reverse
from keyframer.scene import (
    Camera,
    Channel,
    Clip,
    Light,
    LightType,
    Material,
    Mesh,
    Morph,
    Node,
    NodeKind,
    Scene,
    Space,
    TextureMap,
)
from keyframer.scene.loss_report import Outcome
from tests.building.editing import save_in_place
from tests.formats.threeds.walker import compare_chunks, entries, unknown_chunks, with_unknown_chunks

WINDMILL = Path(__file__).parents[2] / "samples/3ds/windmill.3ds"
SQUARE = np.array([[0.0, 0, 0], [2, 0, 0], [2, 3, 0], [0, 3, 1]])
FRAMES = [0.0, 13.0, 50.0, 100.0]


@pytest.fixture
def mill(tmp_path: Path) -> Path:
    """The windmill with an unknown chunk in every container."""
    path = tmp_path / "mill.3ds"
    path.write_bytes(with_unknown_chunks(WINDMILL.read_bytes()))
    assert len(unknown_chunks(path.read_bytes())) > 30
    return path


def parent_name(scene: Scene, node: Node) -> str | None:
    return None if node.parent is None else scene.nodes[node.parent].name


def face_material_names(scene: Scene, mesh: Mesh) -> list[str]:
    """The name of each face's material."""
    return ["" if n < 0 else scene.materials[n].name for n in np.asarray(mesh.face_materials).tolist()]


def assert_same_poses(wanted: Scene, path: Path, *, but: tuple[str, ...] = ()) -> Scene:
    """Check that the file has no errors, shows every node as the scene does, and is saved again unchanged."""
    loaded = keyframer.load(path)
    assert not [issue for issue in keyframer.check(path).issues if issue.severity is keyframer.Severity.ERROR]
    numbers = {node.name: i for i, node in enumerate(loaded.nodes)}
    frames = FRAMES if wanted.clips else [0.0]
    ours, theirs = keyframer.pose(wanted, frames=frames), keyframer.pose(loaded, frames=frames)
    for number, node in enumerate(wanted.nodes):
        if node.name in but:
            continue
        place = numbers[node.name]
        loaded_node = loaded.nodes[place]
        assert parent_name(wanted, node) == parent_name(loaded, loaded_node), node.name
        assert np.allclose(ours.world[:, number], theirs.world[:, place], atol=1e-3), node.name
        if node.mesh is not None:
            assert np.allclose(ours.vertices(number), theirs.vertices(place), atol=1e-3), node.name
            mesh, stored = wanted.meshes[node.mesh], loaded.meshes[loaded_node.mesh or 0]
            assert np.array_equal(mesh.corners, stored.corners)
            if mesh.face_materials is not None:
                assert face_material_names(wanted, mesh) == face_material_names(loaded, stored)
    second_path = path.with_name("again.3ds")
    keyframer.save(loaded, second_path, overwrite=True)
    assert second_path.read_bytes() == path.read_bytes()
    return loaded


def new_mesh(name: str = "roof") -> Mesh:
    return Mesh(name, SQUARE, np.array([[0, 1, 2], [0, 2, 3]]), face_materials=np.array([0, 1]))


def add_dummy(scene: Scene) -> None:
    scene.nodes.append(Node("helper", NodeKind.DUMMY, position=np.array([1.0, 2, 3])))


def add_moving_mesh(scene: Scene) -> None:
    parent = [node.name for node in scene.nodes].index("Rotor")
    scene.meshes.append(new_mesh())
    scene.nodes.insert(0, Node("roof", mesh=len(scene.meshes) - 1, position=np.array([1.0, 0, 2])))
    for node in scene.nodes:
        node.parent = None if node.parent is None else node.parent + 1
        node.target = None if node.target is None else node.target + 1
    scene.clips[0].channels = [Channel(channel.node + 1, channel.track) for channel in scene.clips[0].channels]
    scene.nodes[0].parent = parent + 1
    values = np.array([[1.0, 0, 2], [3, 1, 2], [1, 0, 2]])
    scene.clips[0].channels.append(Channel(0, Track("position", np.array([0.0, 20, 60]), values, Interpolation.TCB)))


def add_camera(scene: Scene) -> None:
    count = len(scene.nodes)
    scene.cameras.append(Camera("spy", 50.0))
    scene.nodes.append(Node("spy", NodeKind.CAMERA, camera=len(scene.cameras) - 1, target=count + 1))
    scene.nodes[-1].position = np.array([9.0, -9, 4])
    scene.nodes.append(Node("spy.target", NodeKind.TARGET, position=np.array([0.0, 1, 1])))


def add_light(scene: Scene) -> None:
    scene.lights.append(Light("bulb", LightType.OMNI, (1.0, 0.5, 0.25)))
    scene.nodes.append(Node("bulb", NodeKind.LIGHT, light=len(scene.lights) - 1, position=np.array([4.0, 4, 4])))


NEW = {
    "dummy": (add_dummy, {"b002:$$$DUMMY.helper"}),
    "mesh": (add_moving_mesh, {"4000:roof", "b002:roof"}),
    "camera": (add_camera, {"4000:spy", "b003:spy", "b004:spy"}),
    "light": (add_light, {"4000:bulb", "b005:bulb"}),
}


@pytest.mark.parametrize("what", NEW)
def test_new_nodes_are_written_after_the_others(what: str, mill: Path, tmp_path: Path) -> None:
    edit, words = NEW[what]
    scene = keyframer.load(mill)
    edit(scene)
    data, report = save_in_place(scene, tmp_path / "new.3ds")
    gone, added, changed = compare_chunks(mill.read_bytes(), data)
    assert (gone, changed) == ([], [])
    assert {path[2] for path in added} == words
    assert [loss for loss in report if loss.type.key == "EDIT_WRITTEN:added"]
    assert_same_poses(scene, tmp_path / "new.3ds")


@pytest.mark.skipif(shutil.which("assimp") is None, reason="assimp is not installed (Debian: assimp-utils)")
def test_another_program_sees_the_new_nodes(mill: Path, tmp_path: Path) -> None:
    before = keyframer.load(mill)
    scene = without_nodes(before, "Cock")
    add_light(scene)
    scene.meshes.append(new_mesh())
    scene.nodes.append(Node("roof", mesh=len(scene.meshes) - 1, position=np.array([1.0, 0, 2])))
    save_in_place(scene, tmp_path / "new.3ds")
    outputs = [
        subprocess.run(["assimp", "info", str(path)], capture_output=True, text=True, check=True).stdout
        for path in (mill, tmp_path / "new.3ds")
    ]
    assert "roof" in outputs[1]
    assert "Cock" in outputs[0]
    assert "Cock" not in outputs[1]
    lights = [int(line.split()[-1]) for text in outputs for line in text.splitlines() if line.startswith("Lights:")]
    assert lights[1] == lights[0] + 1


def without_nodes(scene: Scene, *names: str) -> Scene:
    """The scene without these nodes; their children become roots."""
    left = [i for i, node in enumerate(scene.nodes) if node.name not in names]
    place = {old: new for new, old in enumerate(left)}
    nodes = [replace(scene.nodes[i]) for i in left]
    for node in nodes:
        node.parent = place.get(-1 if node.parent is None else node.parent)
        node.target = place.get(-1 if node.target is None else node.target)
    clip = scene.clips[0]
    channels = [Channel(place[channel.node], channel.track) for channel in clip.channels if channel.node in place]
    return replace(scene, nodes=nodes, clips=[replace(clip, channels=channels)])


def test_a_removed_node_removes_only_its_own_chunks(mill: Path, tmp_path: Path) -> None:
    scene = without_nodes(keyframer.load(mill), "Cock")
    data, report = save_in_place(scene, tmp_path / "less.3ds")
    gone, added, changed = compare_chunks(mill.read_bytes(), data)
    assert (added, changed) == ([], [])
    assert {path[2] for path in gone} == {"4000:Cock", "b002:Cock"}
    assert "Cock" not in [node.name for node in assert_same_poses(scene, tmp_path / "less.3ds").nodes]
    assert {loss.type.key: loss.args for loss in report if loss.path == "/nodes/Cock"} == {
        "EDIT_WRITTEN:removed": {},
        "ORIGINAL_DATA_LOST:removed": {"count": 4},
    }


def test_removing_a_node_changes_only_the_parent_of_its_children(mill: Path, tmp_path: Path) -> None:
    before = keyframer.load(mill)
    rotor = [node.name for node in before.nodes].index("Rotor")
    below = [node.raw_name.decode() for node in before.nodes if node.parent == rotor and node.raw_name]
    assert below
    scene = without_nodes(before, "Rotor")
    data, _ = save_in_place(scene, tmp_path / "less.3ds")
    gone, added, changed = compare_chunks(mill.read_bytes(), data)
    assert added == []
    assert {path[2] for path in gone} == {p[2] for p, _ in entries(mill.read_bytes()) if p[-1].endswith("Rotor")}
    kinds = {(path[2].split("#")[0].split(":")[1].split(".")[0], path[-1]) for path in changed}
    assert {name for name, kind in kinds if kind == "b010"} == set(below)
    assert {kind for _, kind in kinds} <= {"b010", "4110", "4160"}  # vertices at rest go where the keyframer has them
    assert_same_poses(scene, tmp_path / "less.3ds")


def test_choosing_nodes_turns_their_parents_into_dummies(mill: Path, tmp_path: Path) -> None:
    """With the place and the id of the original node."""
    scene = choose_nodes(keyframer.load(mill), ["Sail3"])
    data, _ = save_in_place(scene, tmp_path / "sail.3ds")
    gone, added, changed = compare_chunks(mill.read_bytes(), data)
    assert changed == []
    assert {path[2] for path in added} <= {f"b002:$$$DUMMY.{node.name}" for node in scene.nodes}
    assert not [path for path in gone if "Sail3" in path[2]]
    assert_same_poses(scene, tmp_path / "sail.3ds")


def test_materials_can_be_added_and_removed(mill: Path, tmp_path: Path) -> None:
    scene = keyframer.load(mill)
    first = scene.materials[0].name
    scene.materials = [*scene.materials[1:], Material("moss", diffuse=(0.25, 0.5, 0.125))]
    for mesh in scene.meshes:
        owners = np.asarray(mesh.face_materials)
        mesh.face_materials = np.where(owners == 0, len(scene.materials) - 1, owners - 1)
    scene.materials[-1].maps["texture1"] = TextureMap("MOSS.TGA")
    data, report = save_in_place(scene, tmp_path / "moss.3ds")
    gone, added, changed = compare_chunks(mill.read_bytes(), data)
    assert {path[2] for path in added if path[2].startswith("afff")} == {"afff:moss"}
    assert {path[-1].split("#")[0] for path in gone if not path[2].startswith(f"afff:{first}")} <= {"4130"}
    assert {path[-1].split("#")[0] for path in changed} <= {"4130"}
    loaded = assert_same_poses(scene, tmp_path / "moss.3ds")
    assert {material.name for material in loaded.materials} == {material.name for material in scene.materials}
    assert {"/materials/moss", f"/materials/{first}"} <= {loss.path for loss in report}


# --- fields ----------------------------------------------------------------------------------------------------------


def more_faces(scene: Scene) -> None:
    mesh = scene.meshes[0]
    mesh.positions = np.concatenate([mesh.positions, [[5.0, 5, 5]]])
    extra = np.array([[0, 1, len(mesh.positions) - 1]])
    mesh.corners = np.concatenate([np.asarray(mesh.corners), extra])
    for name, value in (("edges", 7), ("face_materials", 0), ("smoothing", 1)):
        column = getattr(mesh, name)
        if column is not None:
            setattr(mesh, name, np.append(column, value))
    if mesh.uv is not None:
        mesh.uv = np.concatenate([mesh.uv, [[0.5, 0.25]]])


def fewer_faces(scene: Scene) -> None:
    mesh = scene.meshes[0]
    keep = np.arange(len(mesh.corners)) != 1
    for name in ("corners", "edges", "face_materials", "smoothing"):
        if getattr(mesh, name) is not None:
            setattr(mesh, name, np.asarray(getattr(mesh, name))[keep])


SURFACES = {
    "more": (more_faces, {"4110", "4120", "4130", "4140", "4150"}),
    "fewer": (fewer_faces, {"4120", "4130", "4150"}),
}


@pytest.mark.parametrize("what", SURFACES)
def test_an_edited_mesh_changes_only_the_affected_chunks(what: str, mill: Path, tmp_path: Path) -> None:
    edit, kinds = SURFACES[what]
    scene = keyframer.load(mill)
    edit(scene)
    data, _ = save_in_place(scene, tmp_path / "mesh.3ds")
    gone, added, changed = compare_chunks(mill.read_bytes(), data)
    assert gone == []
    touched = [*added, *changed]
    assert touched
    assert {path[2] for path in touched} == {f"4000:{scene.meshes[0].name}"}
    assert {path[-1].split("#")[0] for path in touched} <= kinds
    loaded = assert_same_poses(scene, tmp_path / "mesh.3ds")
    mine, theirs = scene.meshes[0], loaded.meshes[0]
    for name in ("uv", "smoothing", "edges"):
        one, other = getattr(mine, name), getattr(theirs, name)
        assert (one is None) == (other is None)
        assert one is None or np.allclose(one, other, atol=1e-6), name


@pytest.mark.parametrize("act", [reverse, lambda scene: cut(scene, 10, 60)], ids=["reversed", "cut"])
def test_edited_motion_changes_only_tracks_and_rest_positions(
    act: Callable[[Scene], Scene], mill: Path, tmp_path: Path
) -> None:
    """Tracks may have another form than in the file (absolute rotations, linear keys): the motion counts."""
    scene = act(keyframer.load(mill))
    data, _ = save_in_place(scene, tmp_path / "moved.3ds")
    gone, added, changed = compare_chunks(mill.read_bytes(), data)
    assert (gone, added) == ([], [])
    tracks = {f"b02{number:x}" for number in range(10)}
    assert {path[-1].split("#")[0] for path in changed} <= {*tracks, "b008", "b010", "4110", "4160", "4600", "4700"}
    loaded = keyframer.load(tmp_path / "moved.3ds")
    frames = np.linspace(0, scene.clips[0].end, 41)
    ours, theirs = (keyframer.pose(posed_scene, frames=frames).world for posed_scene in (scene, loaded))
    assert np.allclose(ours, theirs, atol=2e-3)


# --- shapes ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def morphing(tmp_path: Path) -> Path:
    shapes = [SQUARE, SQUARE * 2]
    node = Node("box", mesh=0, morph=Morph(["box", "large"], shapes), position=np.array([1.0, 1, 1]))
    track = Track("morph", np.array([0.0, 6, 12]), np.eye(2)[[0, 1, 0]], Interpolation.TCB)
    mesh = Mesh("box", SQUARE, np.array([[0, 1, 2], [0, 2, 3]]))
    scene = Scene(nodes=[node], meshes=[mesh], clips=[Clip(channels=[Channel(0, track)], end=12.0)], space=Space("z"))
    path = tmp_path / "morph.3ds"
    keyframer.save(scene, path, overwrite=True)
    path.write_bytes(with_unknown_chunks(path.read_bytes()))
    return path


def shapes_shown(scene: Scene) -> np.ndarray:
    number = [node.name for node in scene.nodes].index("box")
    return keyframer.pose(scene, frames=[0.0, 3.0, 6.0, 9.0, 12.0]).vertices(number)


def test_edited_shapes_are_shown_by_a_new_file(morphing: Path, tmp_path: Path) -> None:
    scene = keyframer.load(morphing)
    morph = scene.node("box").morph
    place = morph.names.index("large")
    shapes = list(morph.positions)
    shapes[place] = shapes[place] + [(1.0, 0.0, 2.0), (0, 0, 0), (0, 0, 0), (0, 0, 0)]
    scene.node("box").morph = Morph(morph.names, shapes)
    report = keyframer.save(scene, tmp_path / "shape.3ds", overwrite=True)
    assert any(loss.args.get("reason") == "the shapes of a morph changed" for loss in report)
    assert np.allclose(shapes_shown(keyframer.load(tmp_path / "shape.3ds")), shapes_shown(scene), atol=1e-5)


def test_removing_a_morph(morphing: Path, tmp_path: Path) -> None:
    scene = keyframer.load(morphing)
    scene.node("box").morph = None
    scene.clips[0].channels = [channel for channel in scene.clips[0].channels if channel.track.kind != "morph"]
    data, _ = save_in_place(scene, tmp_path / "still.3ds")
    gone, added, changed = compare_chunks(morphing.read_bytes(), data)
    assert [path[2:] for path in gone] == [("b002:box", "b026")]
    assert (added, changed) == ([], [])


# --- files without a keyframer, and edits that cannot be merged------------------------------------------------------


@pytest.fixture
def still(tmp_path: Path) -> Path:
    """Two objects without a keyframer, one of them with a matrix."""
    from tests.building.threeds import chunk

    points = np.array([[0.0, 0, 0], [4, 0, 0], [0, 5, 1]], "<f4").tobytes()
    faces = np.array([[0, 1, 2, 7]], "<u2").tobytes()
    matrix = np.array([[0.0, 1, 0], [-1, 0, 0], [0, 0, 1], [3, 2, 1]], "<f4").tobytes()
    body = chunk(0x4110, b"\x03\0", points) + chunk(0x4120, b"\x01\0", faces)
    one = chunk(0x4000, b"One\0", chunk(0x4100, body, chunk(0x4160, matrix)))
    two = chunk(0x4000, b"Two\0", chunk(0x4100, body))
    path = tmp_path / "still.3ds"
    path.write_bytes(with_unknown_chunks(chunk(0x4D4D, chunk(0x0002, b"\x03\0\0\0"), chunk(0x3D3D, one, two))))
    return path


def test_an_object_that_starts_to_move_gets_a_node(still: Path, tmp_path: Path) -> None:
    scene = keyframer.load(still)
    track = Track("position", np.array([0.0, 100.0]), np.array([[1.0, 0, 0], [8, 0, 0]]), Interpolation.TCB)
    scene.clips = [Clip(channels=[Channel(0, track)], end=100.0)]
    data, _ = save_in_place(scene, tmp_path / "moves.3ds")
    gone, added, changed = compare_chunks(still.read_bytes(), data)
    assert gone == []
    assert {path[1] for path in added} == {"b000"}
    assert {path[2:] for path in changed} == {("4000:One", "4100", "4110"), ("4000:One", "4100", "4160")}
    assert_same_poses(scene, tmp_path / "moves.3ds")


def test_edits_that_cannot_be_merged_cause_a_new_file_and_losses_are_reported(mill: Path, tmp_path: Path) -> None:
    scene = keyframer.load(mill)
    scene.nodes[0].scale_axes_xyzw = np.array([0.0, 0.0, 0.6, 0.8])  # they go into the vertices
    report = keyframer.save(scene, tmp_path / "other.3ds", overwrite=True)
    (why,) = [loss for loss in report.of(Outcome.BAKED) if loss.path == "/"]
    assert (why.code, why.args) == ("ORIGINAL_REWRITTEN", {"reason": "a node has scale axes"})
    lost = [loss for loss in report.of(Outcome.DROPPED) if loss.type.key == "ORIGINAL_DATA_LOST:bytes"]
    assert len(lost) == len(unknown_chunks(mill.read_bytes()))
    assert {loss.path.rsplit("/", 1)[1].split("[")[0] for loss in lost} == {"7e57"}
    assert not [loss for loss in report if loss.type.key == "ORIGINAL_DATA_LOST:records"]
