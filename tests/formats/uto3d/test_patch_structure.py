"""Adding and removing records in U3D documents: the bytes equal those of an independent writer.

The files also have data that the package does not interpret: Bezier and sampled controllers without keys, empty
controllers, wrong counts in MAIN, unknown edge bits, trailing bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import keyframer
from keyframer.curves import Interpolation, RotationForm, Track
from keyframer.editing import choose_nodes
from keyframer.scene import Channel, Light, LightType, Material, Mesh, Node, NodeKind, Scene
from tests.building import uto3d as w
from tests.building.editing import save_in_place

TRAILING = b"\x01\x02 what nobody knows"
PLACE = (4.0, 5.0, 6.0)
NO_TURN = (0.0, 0.0, 0.0, 1.0)

MANNERS: dict[str, tuple[Callable[[], w.Scene], w.Manner]] = {
    "flexporter": (w.flexporter_scene, w.A),
    "maxscript": (w.maxscript_scene, w.B),
    "literal": (w.small_scene, w.LITERAL),
}


def original(manner: str) -> w.Scene:
    plain = MANNERS[manner][0]()
    plain.meshes[0]["edges"] = [3 | 0xA0, 6 | 0x48]
    return plain


@contextmanager
def edited(manner: str, folder: Path, plain: w.Scene | None = None, *said: str) -> Iterator[tuple[Scene, w.Scene]]:
    """The scene of a file and the data it was written from. Both are edited inside; then the saved scene has the bytes
    that the independent writer gives the data. ``said`` is what the report says about parts.
    """
    plain = plain or original(manner)
    path, how = folder / "original.u3d", MANNERS[manner][1]
    path.write_bytes(w.write(plain, how) + TRAILING)
    scene = keyframer.load(path)
    yield scene, plain
    data, report = save_in_place(scene, folder / "edited.u3d")
    assert data == w.write(plain, how) + TRAILING
    assert not [
        issue for issue in keyframer.check(folder / "edited.u3d").issues if issue.severity is keyframer.Severity.ERROR
    ]
    lines = {f"{loss.path}: {loss.case}" for loss in report if loss.case in ("added", "removed")}
    assert not said or lines == set(said)


def new_node(name: bytes, id: int, **fields: Any) -> dict[str, Any]:
    data = w.node(name, id, **fields)
    return data | {"position": PLACE, "rotation": NO_TURN, "scale": (1.0, 1.0, 1.0), "pivot": PLACE}


@pytest.mark.parametrize("manner", MANNERS)
def test_a_new_bone_is_written_after_the_others_with_its_keys(manner: str, tmp_path: Path) -> None:
    with edited(manner, tmp_path, None, "/nodes/Tail: added") as (scene, plain):
        scene.nodes.append(Node("Tail", NodeKind.BONE, position=np.array(PLACE)))
        values = np.array([[1.0, 2, 3], [3, 2, 1]])
        track = Track("position", np.array([0.0, 320.0]), values, Interpolation.LINEAR)
        scene.clips[0].channels.append(Channel(len(scene.nodes) - 1, track))
        plain.bones.append(new_node(b"Tail", 52))
        keys = [(0, (1.0, 2.0, 3.0)), (320, (3.0, 2.0, 1.0))]
        plain.controllers.append({"type": 0, "id": 53, "owner": 52, "scheme": 0, "keys": keys})


@pytest.mark.parametrize("manner", MANNERS)
def test_a_new_mesh_and_its_material(manner: str, tmp_path: Path) -> None:
    with edited(manner, tmp_path) as (scene, plain):
        scene.materials.append(Material("Moss"))
        square = w.SQUARE
        mesh = Mesh("Roof", np.array(square["vertices"]), np.array(square["faces"]), face_materials=np.array([2, 0]))
        mesh.casts_shadows, mesh.edges = False, np.array([3, 6])
        scene.meshes.append(mesh)
        scene.nodes.insert(0, Node("Roof", mesh=len(scene.meshes) - 1, position=np.array(PLACE)))
        for node in scene.nodes[1:]:
            node.parent = None if node.parent is None else node.parent + 1
            node.target = None if node.target is None else node.target + 1
        for skin in scene.skins:
            skin.joints = [joint + 1 for joint in skin.joints]
        scene.clips[0].channels = [Channel(channel.node + 1, channel.track) for channel in scene.clips[0].channels]
        plain.materials.append((b"Moss", 9))
        plain.meshes.append({**new_node(b"Roof", 52), **square, "edges": [3, 6], "materials": [9, 7]})
        if "materials" in plain.claims:
            plain.claims = {}  # a section whose records change gets its true number


@pytest.mark.parametrize("manner", MANNERS)
def test_a_removed_bone_loses_its_controllers(manner: str, tmp_path: Path) -> None:
    plain = original(manner)
    plain.bones.append(w.node(b"Tail", 77, 50))
    plain.bones.append(w.node(b"Tip", 78, 77))
    plain.controllers.insert(1, w.tcb(1, 90, 77, (0, 3)))
    with edited(manner, tmp_path, plain, "/nodes/Tail: removed") as (scene, _):
        gone = [node.name for node in scene.nodes].index("Tail")
        assert scene.nodes[-1].parent == gone
        scene.nodes[-1].parent = None
        assert gone == len(scene.nodes) - 2
        del scene.nodes[gone]
        remaining = [channel for channel in scene.clips[0].channels if channel.node != gone]
        scene.clips[0].channels = [Channel(each.node - (each.node > gone), each.track) for each in remaining]
        del plain.bones[2], plain.controllers[1]
        plain.bones[2]["parent"] = -1


@pytest.mark.parametrize("manner", MANNERS)
def test_a_mesh_with_more_faces(manner: str, tmp_path: Path) -> None:
    with edited(manner, tmp_path) as (scene, plain):
        mesh = scene.meshes[1]
        mesh.positions = np.concatenate([mesh.positions, [[7.0, 8, 9]]])
        mesh.corners = np.concatenate([mesh.corners, [[0, 1, 4]]])
        mesh.uv_corners = np.concatenate([np.asarray(mesh.uv_corners), [[2, 1, 0]]])
        mesh.color_corners = np.concatenate([np.asarray(mesh.color_corners), [[0, 0, 0]]])
        mesh.edges = np.append(np.asarray(mesh.edges), 5)
        mesh.face_materials = np.append(np.asarray(mesh.face_materials), 0)
        shape = plain.meshes[1]
        shape["vertices"] = [*shape["vertices"], (7.0, 8.0, 9.0)]
        shape["faces"] = [*shape["faces"], (0, 1, 4)]
        shape["uv_faces"] = [*shape["uv_faces"], (2, 1, 0)]
        shape["colour_faces"] = [*shape["colour_faces"], (0, 0, 0)]
        shape["edges"], shape["materials"] = [*shape["edges"], 5], [*shape["materials"], 7]


def test_edge_bits_and_spheres_are_kept_with_their_faces(tmp_path: Path) -> None:
    with edited("literal", tmp_path) as (scene, plain):
        mesh = scene.meshes[0]
        mesh.corners = np.concatenate([mesh.corners, [[1, 2, 3]]])
        mesh.edges = np.append(np.asarray(mesh.edges), 1)
        mesh.face_materials = np.append(np.asarray(mesh.face_materials), 1)
        shape = plain.meshes[0]
        shape["faces"] = [*shape["faces"], (1, 2, 3)]
        shape["edges"], shape["materials"] = [3 | 0xA0, 6 | 0x48, 1], [7, 8, 8]


def test_edited_weights_of_a_skin(tmp_path: Path) -> None:
    with edited("maxscript", tmp_path) as (scene, plain):
        skin = scene.skins[0]
        weights = np.array(skin.weights)
        weights[1:3] = (0.25, 0.75)
        skin.weights = weights
        plain.meshes[0]["weights"] = [[(50, 1.0)], [], [(50, 0.25), (51, 0.75)], [(51, 1.0)]]


@pytest.mark.parametrize("scale", [1.0, 0.5, 0.3])
def test_position_keys_in_the_flexporter_dialect(scale: float, tmp_path: Path) -> None:
    """Readers multiply them by the global scale, so they are stored divided by it; unchanged keys keep their bits."""
    plain = original("flexporter")
    plain.scale = scale
    with edited("flexporter", tmp_path, plain) as (scene, _):
        track = next(channel.track for channel in scene.clips[0].channels if channel.track.kind == "position")
        values = track.values.copy()
        values[1] = (3.0, 6.0, 9.0)
        track.values = values
        first, second = plain.controllers[0]["keys"]
        single = float(np.float32(scale))
        plain.controllers[0]["keys"] = [first, (second[0], [3.0 / single, 6.0 / single, 9.0 / single], *second[2:])]


def test_the_active_segment(tmp_path: Path) -> None:
    with edited("maxscript", tmp_path) as (scene, plain):
        scene.clips[0].end = 80 * 160.0
        plain.frames = (0, 80, 30, 160)


def test_a_camera_aimed_at_another_node(tmp_path: Path) -> None:
    with edited("maxscript", tmp_path) as (scene, plain):
        scene.node("Camera01").target = [node.name for node in scene.nodes].index("Bip01 Arm")
        plain.cameras[0]["target"] = 51


def test_removing_a_material(tmp_path: Path) -> None:
    with edited("literal", tmp_path) as (scene, plain):
        scene.materials = scene.materials[1:]
        for mesh in scene.meshes:
            mesh.face_materials = np.array([-1, 0])
        plain.materials = plain.materials[1:]
        for shape in plain.meshes:
            shape["materials"] = [-1, 8]


def test_removing_the_target_of_a_camera(tmp_path: Path) -> None:
    with edited("maxscript", tmp_path) as (scene, plain):
        scene.node("Camera01").target = None
        chosen = choose_nodes(scene, [node.name for node in scene.nodes if node.name != "Camera01.Target"])
        scene.nodes, scene.clips, scene.skins = chosen.nodes, chosen.clips, chosen.skins
        plain.targets = []
        plain.cameras[0]["target"] = -1


def test_removing_a_material_that_one_mesh_does_not_use(tmp_path: Path) -> None:
    plain = original("literal")
    plain.meshes[1]["materials"] = [8, 8]
    with edited("literal", tmp_path, plain) as (scene, _):
        scene.materials = scene.materials[1:]
        scene.meshes[0].face_materials = np.array([-1, 0])
        scene.meshes[1].face_materials = np.array([0, 0])
        plain.materials = plain.materials[1:]
        plain.meshes[0]["materials"] = [-1, 8]


def test_a_new_bone_that_only_rotates(tmp_path: Path) -> None:
    with edited("maxscript", tmp_path) as (scene, plain):
        scene.nodes.append(Node("Tail", NodeKind.BONE, position=np.array(PLACE)))
        turns = np.array([[0.0, 0, 0, 1], [0, 0, 1, 0]])
        track = Track(
            "rotation", np.array([0.0, 320.0]), turns, Interpolation.LINEAR, form=RotationForm.QUATERNION_ABSOLUTE
        )
        scene.clips[0].channels.append(Channel(len(scene.nodes) - 1, track))
        plain.bones.append(new_node(b"Tail", 52))
        keys = [(0, (0.0, 0.0, 0.0, 1.0)), (320, (0.0, 0.0, 1.0, 0.0))]
        plain.controllers.append({"type": 1, "id": 53, "owner": 52, "scheme": 0, "keys": keys})


@pytest.mark.parametrize("manner", ["flexporter", "maxscript"])
def test_the_first_light_is_written_in_the_dialect_of_the_file(manner: str, tmp_path: Path) -> None:
    """Without lights only the other records show the dialect; the Flexporter does not even write an empty section."""
    plain = w.Scene(meshes=[w.mesh(b"Square", 10)], materials=[(b"Steel", 7)])
    with edited(manner, tmp_path, plain) as (scene, _):
        lamp = Light("Lamp", LightType.OMNI, (1.0, 0.75, 0.5), attenuated=True, inner_range=10.0, outer_range=20.0)
        lamp.multiplier = 1.5
        scene.lights.append(lamp)
        scene.nodes.append(Node("Lamp", NodeKind.LIGHT, light=0, position=np.array(PLACE)))
        plain.lights = [w.light(b"Lamp", 11) | new_node(b"Lamp", 11)]


def test_edited_keys_keep_the_ids_and_the_position_of_their_controller(tmp_path: Path) -> None:
    with edited("literal", tmp_path) as (scene, plain):
        (channel,) = [channel for channel in scene.clips[0].channels if channel.track.kind == "fov"]
        channel.track = Track("fov", np.array([0.0, 320.0]), np.array([40.0, 50.0]), Interpolation.LINEAR)
        plain.controllers[2] = {"type": 3, "id": 2, "owner": 20, "scheme": 0, "keys": [(0, (40.0,)), (320, (50.0,))]}


def test_removing_a_track_removes_its_controller(tmp_path: Path) -> None:
    with edited("literal", tmp_path) as (scene, plain):
        scene.clips[0].channels = [each for each in scene.clips[0].channels if each.track.kind != "fov"]
        del plain.controllers[2]
