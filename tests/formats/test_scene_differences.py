"""The differences between two scenes, as paths; arrays of different lengths are named as a whole."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from keyframer.curves import Interpolation, Track
from keyframer.formats._matching import Comparison, tracks_by_node_and_kind
from keyframer.scene import Channel, Clip, Material, Node, Scene, TextureMap


def position(*values: float) -> Track:
    times = np.arange(float(len(values)))
    return Track("position", times, np.array([[value, 0.0, 0.0] for value in values]), Interpolation.LINEAR)


def scene() -> Scene:
    paint = Material("paint", maps={"texture1": TextureMap("A.TGA")})
    clip = Clip("walk", [Channel(0, position(0, 1)), Channel(1, position(0, 2))])
    return Scene([Node("hip"), Node("knee", parent=0)], materials=[paint], clips=[clip], title="walk")


EDITS: dict[str, tuple[Callable[[Scene], object], list[tuple[object, ...]]]] = {
    "nothing": (lambda scene: None, []),
    "one more node": (lambda scene: scene.nodes.append(Node("toe")), [("nodes",)]),
    "one material less": (lambda scene: scene.materials.clear(), [("materials",)]),
    "one more clip": (lambda scene: scene.clips.append(Clip("run")), [("clips",)]),
    "no clip": (lambda scene: scene.clips.clear(), [("clips",)]),
    "a field": (lambda scene: setattr(scene.nodes[1], "hidden", True), [("nodes", 1, "hidden")]),
    "a map": (
        lambda scene: setattr(scene.materials[0].maps["texture1"], "file_name", "B.TGA"),
        [("materials", 0, "maps", "texture1", "file_name")],
    ),
    "maps": (lambda scene: scene.materials[0].maps.clear(), [("materials", 0, "maps")]),
    "surroundings": (lambda scene: setattr(scene.environment, "ambient", (1, 0, 0)), [("environment", "ambient")]),
    "title": (lambda scene: setattr(scene, "title", "run"), [("title",)]),
    "keys": (
        lambda scene: setattr(scene.clips[0].channels[1], "track", position(0, 3)),
        [("clips", 0, "channels", 1, "position")],
    ),
    "one channel less": (lambda scene: scene.clips[0].channels.pop(0), [("clips", 0, "channels", 0, "position")]),
    "two channels of one kind": (
        lambda scene: scene.clips[0].channels.append(Channel(1, position(5))),
        [("clips", 0, "channels")],
    ),
}


@pytest.mark.parametrize("name", EDITS)
def test_paths_of_differences(name: str) -> None:
    edit, wanted = EDITS[name]
    other = scene()
    edit(other)
    assert Comparison().scenes(scene(), other) == wanted
    assert Comparison().scenes(other, scene()) == wanted


def test_tracks_with_different_tangents_differ() -> None:
    a, b = (
        Track("fov", [0.0, 1.0], [1.0, 2.0], Interpolation.CUBIC, tangents_in=[0.0, slope], tangents_out=[slope, 0.0])
        for slope in (1.0, 2.0)
    )
    assert Comparison().same_tracks(a, a)
    assert not Comparison().same_tracks(a, b)


def test_two_tracks_of_one_kind_cannot_be_compared() -> None:
    clip = scene().clips[0]
    assert list(tracks_by_node_and_kind(clip) or {}) == [(0, "position"), (1, "position")]
    clip.channels.append(Channel(1, position(5)))
    assert tracks_by_node_and_kind(clip) is None


@pytest.mark.parametrize(("relative", "same"), [(0.0, False), (1e-6, False), (1e-5, True)])
def test_the_tolerance_is_relative_to_the_largest_number(relative: float, same: bool) -> None:
    numbers = np.array([1000.0, 0.0])
    assert Comparison(relative).same(numbers, numbers + np.array([0.0, 0.005])) is same
    assert not Comparison(relative).same(numbers, numbers[:1])
