"""An inconsistent scene is refused with a clear message, whatever format it is saved in."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import keyframer
from keyframer.scene import Material, Mesh, Morph, Node, Scene, Skin
from keyframer.scene.scene import check_consistency
from tests.building.editing import set_fields
from tests.samples import all_samples

Break = Callable[[Scene], object]


def consistent_scene() -> Scene:
    """A skinned triangle with every part that can be inconsistent."""
    square = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]])
    corners = np.array([[0, 1, 2]])
    mesh = Mesh("tri", square, corners, uv=square[:, :2], colors=square, color_corners=corners)
    mesh.smoothing, mesh.edges, mesh.face_materials = np.array([1]), np.array([7]), np.array([0])
    skin = Skin("skin", [1], np.eye(4)[None], np.arange(3), np.zeros(3, int), np.ones(3), square)
    nodes = [Node("body", mesh=0, skin=0, morph=Morph(["wide"], [square * 2])), Node("bone")]
    return Scene(nodes=nodes, meshes=[mesh], materials=[Material("red")], skins=[skin])


def node(scene: Scene) -> object:
    return scene.nodes[0]


def mesh(scene: Scene) -> object:
    return scene.meshes[0]


def skin(scene: Scene) -> object:
    return scene.skins[0]


def shape(*size: int) -> np.ndarray:
    return np.zeros(size)


BROKEN: list[tuple[Break, str]] = [
    (set_fields(node, mesh=3), "node 'body': mesh 3 does not exist: the scene has 1 mesh"),
    (set_fields(node, camera=0), "node 'body': camera 0 does not exist: the scene has 0 cameras"),
    (set_fields(node, light=-1), "node 'body': light -1 does not exist: the scene has 0 lights"),
    (set_fields(node, skin=1), "node 'body': skin 1 does not exist: the scene has 1 skin"),
    (
        set_fields(node, morph=Morph(["wide"], [shape(4, 3)])),
        "node 'body': morph shape 'wide' is 4 x 3, its mesh is 3 x 3",
    ),
    (set_fields(node, morph=Morph(["a", "b"], [shape(3, 3)])), "node 'body': 1 morph shape, but 2 names"),
    (set_fields(mesh, positions=shape(3)), "mesh 'tri': positions must be n x 3, not 3"),
    (set_fields(mesh, positions=shape(2, 3)), "mesh 'tri': corners refer to index 2, but the number of vertices is 2"),
    (
        set_fields(mesh, positions=shape(0, 3), corners=np.array([[0, 0, 0]])),
        "mesh 'tri': corners refer to index 0, but the number of vertices is 0",
    ),
    (set_fields(mesh, corners=np.array([[0, -1, 2]])), "mesh 'tri': corners refer to index -1"),
    (set_fields(mesh, corners=np.array([[0, 1]])), "mesh 'tri': corners must be 1 x 3, not 1 x 2"),
    (set_fields(mesh, corners=np.array(0)), "mesh 'tri': corners must be 0 x 3, not a single number"),
    (
        set_fields(mesh, uv=shape(2, 2)),
        "mesh 'tri': corners (used as uv_corners) refer to index 2, but the number of entries of uv is 2",
    ),
    (set_fields(mesh, uv=shape(3, 3)), "mesh 'tri': uv must be n x 2, not 3 x 3"),
    (set_fields(mesh, uv_corners=np.zeros((2, 3), int)), "mesh 'tri': uv_corners must be 1 x 3, not 2 x 3"),
    (
        set_fields(mesh, colors=shape(1, 3)),
        "mesh 'tri': color_corners refer to index 2, but the number of entries of colors is 1",
    ),
    (set_fields(mesh, smoothing=shape(2)), "mesh 'tri': smoothing must be 1 number, not 2 numbers"),
    (set_fields(mesh, edges=shape(1, 1)), "mesh 'tri': edges must be 1 number, not 1 x 1"),
    (
        set_fields(mesh, face_materials=np.array([1])),
        "mesh 'tri': face_materials refer to index 1, but the number of materials is 1",
    ),
    (set_fields(mesh, face_materials=np.array([-2])), "mesh 'tri': face_materials refer to index -2"),
    (set_fields(skin, joints=[2]), "skin 'skin': joints refer to index 2, but the number of nodes is 2"),
    (set_fields(skin, inverse_bind=shape(2, 4, 4)), "skin 'skin': inverse_bind must be 1 x 4 x 4, not 2 x 4 x 4"),
    (
        set_fields(skin, joint_indices=np.array([0, 0, 1])),
        "skin 'skin': joint indices refer to index 1, but the number of joints is 1",
    ),
    (set_fields(skin, weights=shape(2)), "skin 'skin': weights must be 3 numbers, not 2 numbers"),
    (set_fields(skin, positions=shape(2, 3)), "skin 'skin': positions must be 3 x 3, not 2 x 3"),
    (
        set_fields(skin, vertex_indices=np.array([0, 1, 3])),
        "node 'body': vertex indices of the skin refer to index 3, but the number of vertices is 3",
    ),
]


@pytest.mark.parametrize(("change", "words"), BROKEN, ids=[words[:60] for _, words in BROKEN])
@pytest.mark.parametrize("name", ["out.glb", "out.3ds"])
def test_the_error_names_the_inconsistency(change: Break, words: str, name: str, tmp_path: Path) -> None:
    scene = consistent_scene()
    change(scene)
    with pytest.raises(ValueError, match="the scene is inconsistent: ") as caught:
        keyframer.save(scene, tmp_path / name)
    assert words in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_missing_materials_and_links_to_missing_nodes_are_accepted(tmp_path: Path) -> None:
    scene = consistent_scene()
    scene.meshes[0].face_materials = np.array([-1])
    scene.materials = []
    scene.nodes[1].parent = scene.nodes[1].target = 99
    keyframer.save(scene, tmp_path / "out.glb")
    assert keyframer.load(tmp_path / "out.glb").meshes


@pytest.mark.parametrize(("name", "sample"), all_samples(), ids=lambda each: getattr(each, "name", each))
def test_loaded_scenes_are_consistent(name: str, sample: Path) -> None:
    check_consistency(keyframer.load(sample, format=name, salvage=True))
