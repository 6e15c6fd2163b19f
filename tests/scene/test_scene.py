"""The scene: plain data that can be built from scratch, copied, and shown in one line."""

from __future__ import annotations

import copy
import dataclasses
import pickle

import numpy as np
import pytest

import keyframer
from keyframer import scene as scene_package
from keyframer.curves import Interpolation, Track
from keyframer.scene import (
    Camera,
    Channel,
    Clip,
    EmbeddedImage,
    Environment,
    Fog,
    Gradient,
    Handedness,
    LayeredFog,
    Light,
    LightType,
    Material,
    Mesh,
    Morph,
    Node,
    NodeKind,
    RawChannel,
    Scene,
    Skin,
    Space,
    TextureMap,
)

MANY = 5_000


def full_scene() -> Scene:
    """A scene that uses every part of the model."""
    points = np.random.default_rng(1).normal(size=(MANY, 3))
    corners = np.arange(MANY - MANY % 3).reshape(-1, 3)
    faces = len(corners)
    mesh = Mesh(
        "m",
        points,
        corners,
        uv=points[:, :2],
        uv_corners=corners,
        colors=np.abs(points),
        color_corners=corners,
        smoothing=np.ones(faces, np.uint32),
        edges=np.full(faces, 7),
        face_materials=np.zeros(faces, int),
        axes=np.eye(4),
        bounding_sphere=(np.zeros(3), 2.0),
        casts_shadows=False,
        receives_shadows=False,
        dynamic=True,
    )
    times = np.arange(MANY, dtype=float)
    track = Track("position", times, points, Interpolation.TCB, tension=times / MANY, flags=np.ones(MANY, int))
    everyone = np.arange(MANY)
    return Scene(
        nodes=[Node("a", mesh=0, skin=0, morph=Morph(["m"], [points])), Node("b", NodeKind.BONE, parent=0)],
        meshes=[mesh],
        materials=[
            Material(
                "red",
                maps={
                    "texture1": TextureMap("A.PNG", tints={"first": (1, 0, 0)}),
                    "bump": TextureMap("B.PNG", embedded=EmbeddedImage("B.PNG", b"\x89PNG", "image/png", "normal")),
                },
            )
        ],
        cameras=[Camera("c", target=(0, 0, 0), ranges=(1, 2), clip=(3, 4))],
        lights=[Light("l", LightType.SPOT, excludes=["x"] * 9)],
        skins=[Skin("s", [1], np.eye(4)[None], everyone, np.zeros(MANY, int), np.ones(MANY), rigid=True)],
        clips=[
            Clip(
                "walk",
                [Channel(0, track)],
                0,
                MANY,
                bounds=np.zeros((MANY, 2, 3)),
                raw_channels=[RawChannel("r", points)],
            )
        ],
        environment=Environment(
            (0, 0, 0),
            (1, 1, 1),
            "SKY.GIF",
            Gradient(0.5, [(0, 0, 0)] * 3),
            Fog(0, 0, 1, 1),
            Fog(0, 0, 1, 1),
            LayeredFog(0, 1, 1),
        ),
        space=Space("y", Handedness.LEFT, 0.01, v_up=False),
        title="t",
        author="a",
        copyright="c",
        source_format="3ds",
        extras={"3ds": {"chunks": [{"chunk": "0001"}] * 100}},
    )


def parts(value: object) -> list[object]:
    """Every object in a scene whose class is declared in scene or curves."""
    objects, stack = [], [value]
    while stack:
        current = stack.pop()
        if dataclasses.is_dataclass(current) and not isinstance(current, type):
            objects.append(current)
            stack += [getattr(current, item.name) for item in dataclasses.fields(current)]
        elif isinstance(current, dict):
            stack += list(current.values())
        elif isinstance(current, (list, tuple)):
            stack += list(current)
    return objects


def test_the_full_scene_uses_every_class() -> None:
    declared = {
        item for name in scene_package.__all__ if dataclasses.is_dataclass(item := getattr(scene_package, name))
    }
    declared.remove(scene_package.Origin)  # where a scene came from: only loading a file makes one
    assert {type(part) for part in parts(full_scene())} >= declared


def test_repr_of_every_part_is_one_short_line() -> None:
    for part in parts(full_scene()):
        shown = repr(part)
        assert len(shown) <= 160, shown[:200]
        assert "\n" not in shown
    posed = keyframer.pose(full_scene(), frames=[0])
    assert repr(posed) == "<Pose of 2 nodes at 1 time>"


def test_repr_uses_the_singular_for_one() -> None:
    track = Track("position", [0], [[0, 0, 0]], Interpolation.LINEAR)
    mesh = Mesh("dot", np.zeros((1, 3)), np.zeros((1, 3), np.int64))
    skin = Skin("dot", [0], np.eye(4)[None], [0], [0], [1.0])
    morph = Morph(["dot"], [np.zeros((1, 3))])
    clip = Clip("still", [Channel(0, track)])
    scene = Scene(
        nodes=[Node("dot", mesh=0, skin=0, morph=morph)],
        meshes=[mesh],
        materials=[Material("dot")],
        skins=[skin],
        clips=[clip],
    )
    assert repr(scene).startswith("<Scene: 1 node, 1 mesh, 1 material, 1 key; ")
    assert repr(mesh) == "<Mesh 'dot': 1 vertex, 1 face>"
    assert repr(skin) == "<Skin 'dot': 1 joint, 1 influence>"
    assert repr(morph) == "<Morph of 1 shape>"
    assert repr(clip).startswith("<Clip 'still': 1 channel, ")
    assert repr(clip.channels[0]) == "<Channel position of node 0: 1 key>"
    assert repr(keyframer.pose(scene, frames=[0])) == "<Pose of 1 node at 1 time>"


def test_an_empty_scene_is_valid() -> None:
    scene = Scene()
    assert keyframer.pose(scene, frames=[0]).world.shape == (1, 0, 4, 4)
    assert scene.space == Space("z", Handedness.RIGHT, None)
    assert str(scene.space) == "Z up, right-handed, unknown unit"
    node = Node("alone")
    assert (node.parent, node.mesh, node.hidden, node.extras) == (None, None, False, {})


def test_scenes_can_be_copied_and_pickled() -> None:
    scene = full_scene()
    for twin in (copy.deepcopy(scene), pickle.loads(pickle.dumps(scene))):
        assert np.array_equal(twin.meshes[0].positions, scene.meshes[0].positions)
        assert np.array_equal(twin.clips[0].channels[0].track.tension, scene.clips[0].channels[0].track.tension)
        assert twin.meshes[0].positions is not scene.meshes[0].positions


def test_defaults_are_not_shared() -> None:
    for make in (lambda: Node("a"), Scene, Clip, lambda: Material("m"), lambda: Light("l"), Environment):
        one, two = make(), make()
        for item in dataclasses.fields(one):
            value = getattr(one, item.name)
            if isinstance(value, (list, dict, set, np.ndarray)):
                assert value is not getattr(two, item.name), item.name


def test_lookup_by_name() -> None:
    scene = full_scene()
    assert scene.node("b") is scene.nodes[1]
    with pytest.raises(LookupError, match="no node is named 'x'"):
        scene.node("x")
    assert [channel.track.kind for channel in scene.channels_of(0)] == ["position"]
    assert list(scene.channels_of(1)) == []
    assert list(Scene().channels_of(0)) == []
