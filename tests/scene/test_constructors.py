"""Constructors check their arguments with clear messages; help() shows the meaning of every field."""

from __future__ import annotations

import pydoc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import keyframer
from keyframer import Camera, Channel, Clip, Light, Material, Mesh, Node, Scene, Skin, Space, Track
from tests.building.scenes import as_read_from_a_file

TURN = Track("rotation", [0], [[0, 0, 0, 1]], form=keyframer.RotationForm.QUATERNION_ABSOLUTE)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (
            lambda: Track("rotate", [0], [[0, 0, 0]]),
            "must be one of position, .*not 'rotate'; did you mean 'rotation'",
        ),
        (lambda: Track("position", [0], [[1, 2, 3, 4]]), "'position': a key has 3 numbers, not 4"),
        (lambda: Track("fov", [0, 1], [[1, 2], [3, 4]]), "'fov': a key is a single number, not 2"),
        (lambda: Track("rotation", [0], [[0, 0, 0, 1]]), "form must say what the four numbers are"),
        (lambda: Track("fov", [0], [40], "linear"), "interpolation must be one of Interpolation.STEP, .*not 'linear'"),
        (lambda: Track("fov", [0], [40], wrap="loop"), "wrap must be one of Wrap.SINGLE"),
        (lambda: Node("a", "dummy"), "Node 'a': kind must be a NodeKind, not 'dummy'; did you mean NodeKind.DUMMY"),
        (lambda: Node("a", position=[1, 2, 3, 4]), "Node 'a': position must be 3 numbers, not 4 numbers"),
        (lambda: Node("a", rotation_xyzw=np.zeros(3)), "Node 'a': rotation_xyzw must be 4 numbers, not 3 numbers"),
        (lambda: Node("a", pivot=["x", 1, 2]), "Node 'a': pivot must be numbers, not"),
        (lambda: Node("a", parent="hub"), "Node 'a': parent must be the index of a node .*not 'hub'"),
        (lambda: Node("a", light=Light("l")), "Node 'a': light must be the index of a light in the scene"),
        (lambda: Mesh("m", [[1, 2]], [[0, 1, 2]]), "Mesh 'm': positions must be n x 3, not 1 x 2"),
        (lambda: Mesh("m", [[1, 2, 3]], [[0, 0]]), "Mesh 'm': corners must be n x 3, not 1 x 2"),
        (lambda: Mesh("m", [[1, 2, 3]], [[0, 0, 0]], uv=[0, 1]), "Mesh 'm': uv must be n x 2, not 2 numbers"),
        (lambda: Skin("s", [0], np.eye(4), [0], [0], [1.0]), "Skin 's': inverse_bind must be n x 4 x 4, not 4 x 4"),
        (lambda: Camera("c", "wide"), "Camera 'c': fov_degrees must be a number, not 'wide'"),
        (lambda: Light("l", "spot"), "Light 'l': type must be a LightType, not 'spot'; did you mean LightType.SPOT"),
        (lambda: Light("l", color=1.0), "Light 'l': color must be red, green and blue from 0 to 1, not 1.0"),
        (lambda: Material("m", diffuse=(1, 2)), r"Material 'm': diffuse must be .*, not \(1, 2\)"),
        (lambda: Channel("hub", TURN), "Channel: node must be the index of a node .*not 'hub'"),
        (lambda: Channel(0, [0, 1]), r"Channel: track must be a Track, not \[0, 1\]"),
        (lambda: Clip("c", unit="ms"), "Clip 'c': unit must be one of frame, tick, second, not 'ms'"),
        (lambda: Clip("c", TURN), "Clip 'c': channels must be a list of Channel, not <Track"),
        (lambda: Clip("c", [TURN]), "Clip 'c': channels must be a list of Channel, not a list with <Track"),
        (lambda: Track("fov", [0, 2, 1], [1, 2, 3]), "'fov': times must be sorted, but key 2 at 1 follows key 1 at 2"),
        (lambda: Track("fov", ["a"], [1]), "'fov': times must be numbers"),
        (lambda: Track("position", [0, 1], [[1, 2, 3], [1, 2]]), "'position': values must be numbers, all rows of the"),
        (lambda: Clip("c", rate=0), "Clip 'c': rate must be a number above 0, not 0"),
        (lambda: Clip("c", rate=float("nan")), "Clip 'c': rate must be a number above 0, not nan"),
        (lambda: Clip("c", units_per_frame=-1), "Clip 'c': units_per_frame must be a number above 0, not -1"),
        (lambda: Clip("c", rate="fast"), "Clip 'c': rate must be a number above 0, not 'fast'"),
        (
            lambda: Mesh("m", np.eye(3), [[0, 1, 3]]),
            "Mesh 'm': corners refer to index 3, but the number of vertices is 3",
        ),
        (lambda: Mesh("m", np.eye(3), [[0, 1, -1]]), "Mesh 'm': corners refer to index -1"),
        (lambda: Mesh("m", np.eye(3), [[0, 1, 1.5]]), "Mesh 'm': corners must be whole numbers"),
        (lambda: Mesh("m", np.eye(3), [[0, 1, 2]], edges=[1, 2]), "Mesh 'm': edges must be 1 number, not 2 numbers"),
        (lambda: Skin("s", [0], [np.eye(4)], [0], [1], [1.0]), "Skin 's': joint indices refer to index 1"),
        (lambda: Scene([Node("a", parent=3)]), "node 'a': parent 3 does not exist: the scene has 1 node"),
        (lambda: Scene([Node("a", target=-1)]), "node 'a': target -1 does not exist"),
        (lambda: Scene([Node("a", light=1)], lights=[Light("l")]), "node 'a': light 1 does not exist: .* has 1 light"),
        (
            lambda: Scene([Node("a")], clips=[Clip("c", [Channel(1, TURN)])]),
            "clip 'c': channels refer to index 1, but the number of nodes is 1",
        ),
        (lambda: Camera("c", target=[1, 2]), r"Camera 'c': target must be 3 numbers, not \[1, 2\]"),
        (lambda: keyframer.TextureMap("a", scale=2), "scale must be 2 numbers, not 2"),
        (lambda: Space("up"), "Space: up must be 'x', 'y' or 'z', not 'up'"),
        (lambda: Space("z", "left"), "Space: handedness must be a Handedness, not 'left'"),
        (lambda: Scene(nodes=Node("a")), "Scene: nodes must be a list of Node, not <Node"),
        (lambda: Scene(nodes=["a"]), "Scene: nodes must be a list of Node, not a list with 'a'"),
        (lambda: Scene(nodes=[Node("a", parent=0)]), "its own ancestor: 'a' below 'a'"),
        (
            lambda: Scene(nodes=[Node("x"), Node("a", parent=3), Node("b", parent=1), Node("c", parent=2)]),
            "its own ancestor: 'a' below 'c' below 'b' below 'a'",
        ),
    ],
)
def test_the_error_says_what_is_expected(make: Callable[[], Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        make()


def test_lists_become_arrays() -> None:
    node = Node("a", position=[1, 2, 3], rotation_xyzw=(0, 0, 0, 1))
    assert node.position.tolist() == [1.0, 2.0, 3.0]
    mesh = Mesh("m", [[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]], face_materials=[0])
    assert (mesh.positions.dtype, mesh.corners.dtype) == (np.float64, np.int64)
    scene = Scene(nodes=[Node("a", mesh=0)], meshes=[mesh], materials=[Material("red", diffuse=(1, 0, 0))])
    assert keyframer.pose(scene, frames=[0]).vertices(0).shape == (1, 3, 3)


MAKERS: dict[str, Callable[[Any], Any]] = {
    "list": list,
    "tuple": tuple,
    "array": np.array,
    "singles": lambda rows: np.array(rows, np.float32),
    "buffer": lambda rows: memoryview(np.array(rows, float)),
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_constructors_take_what_numpy_takes(make: Callable[[Any], Any]) -> None:
    node = Node("a", position=make([1, 2, 3]), scale=make([1, 1, 1]), pivot=make([0, 0, 1]))
    assert node.position.tolist() == [1.0, 2.0, 3.0]
    assert node.position.dtype.kind == "f"
    mesh = Mesh("m", make([[0, 0, 0], [1, 0, 0], [0, 1, 0]]), make([[0, 1, 2]]), face_materials=make([0]))
    assert mesh.corners.dtype.kind == "i"
    material = Material("red", diffuse=make([1, 0, 0]))
    assert material.diffuse == (1.0, 0.0, 0.0)
    light, camera = Light("l", color=make([1, 1, 0]), target=make([0, 0, 0])), Camera("c", target=make([1, 2, 3]))
    assert (light.color, light.target, camera.target) == ((1.0, 1.0, 0.0), (0.0, 0.0, 0.0), (1.0, 2.0, 3.0))
    texture = keyframer.TextureMap("a.png", scale=make([2, 2]), offset=make([0, 0.5]))
    assert (texture.scale, texture.offset) == ((2.0, 2.0), (0.0, 0.5))
    track = Track("position", make([0, 10]), make([[0, 0, 0], [1, 2, 3]]))
    assert track.values.tolist() == [[0.0, 0.0, 0.0], [1.0, 2.0, 3.0]]


def test_a_parent_may_follow_its_child() -> None:
    nodes = [Node("c", parent=2), Node("a"), Node("b", parent=1)]
    assert len(Scene(nodes=nodes).nodes) == 3


def test_an_empty_list_may_be_filled_later() -> None:
    scene = Scene([Node("a", camera=0)])
    scene.cameras.append(Camera("c"))
    assert keyframer.pose(scene, frames=[0]).camera_fov_degrees.tolist() == [[48.0]]


def test_parts_of_files_may_be_damaged() -> None:
    """While a file is read, constructors keep what it contains; the reader reports it."""
    with as_read_from_a_file():
        track = Track("fov", [2, 1], [40, 50])
        scene = Scene(nodes=[Node("far", parent=99)], clips=[Clip("c", [Channel(7, track)])])
    assert keyframer.pose(scene, frames=[0]).world.shape == (1, 1, 4, 4)


def test_nodes_are_found_by_name() -> None:
    scene = Scene(nodes=[Node("Hub"), Node("Sail1", parent=0), Node("Sail2", parent=0)])
    assert scene.find("Sail1") == 1
    assert scene.node("Sail2") is scene.nodes[2]
    assert scene.find_all("Sail*") == [1, 2]
    for look in (scene.find, scene.node, scene.find_all):
        with pytest.raises(LookupError, match="no node is named 'hub'; did you mean 'Hub'"):
            look("hub")


@pytest.mark.parametrize("cls", [Camera, Channel, Clip, Light, Material, Mesh, Node, Scene, Skin, Space, Track])
def test_help_shows_every_field_with_its_meaning(cls: type[Any]) -> None:
    import dataclasses

    text = pydoc.plain(pydoc.render_doc(cls))
    for field in dataclasses.fields(cls):
        assert f"{field.name} (" in text
        line = next(line for line in text.splitlines() if f" {field.name} (" in line)
        assert "): " in line, f"{cls.__name__}.{field.name} has no meaning"


def test_reprs_are_short_and_include_the_name() -> None:
    scene = keyframer.load("tests/samples/3ds/windmill.3ds")
    pose = keyframer.pose(scene, frames=[0])
    parts: list[Any] = [scene, pose, scene.nodes[0], scene.meshes[0], scene.materials[0], scene.cameras[0]]
    parts += [scene.lights[0], scene.clips[0], scene.clips[0].channels[0], scene.clips[0].channels[0].track]
    parts += [scene.space, scene.environment, scene.origin, scene.issues, keyframer.check("examples/windmill.3ds")]
    parts += [
        keyframer.read("examples/windmill.3ds"),
        keyframer.detect(b"MM"),
        pose.rig,
        keyframer.Limits(),
    ]
    for part in parts:
        shown = repr(part)
        assert len(shown) < 1_000, shown
        assert "object at 0x" not in shown, shown
