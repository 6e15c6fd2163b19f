"""Constructors check their arguments with clear messages; help() shows the meaning of every field."""

from __future__ import annotations

import pydoc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import keyframer
from keyframer import Camera, Channel, Clip, Light, Material, Mesh, Node, Scene, Skin, Space, Track

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


def test_a_parent_may_follow_its_child() -> None:
    nodes = [Node("c", parent=2), Node("a"), Node("b", parent=1), Node("far", parent=99)]
    assert len(Scene(nodes=nodes).nodes) == 4


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
