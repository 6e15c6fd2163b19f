"""Fields that are made when somebody asks for them: nobody can tell, but for the memory."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from keyframer.curves import Track
from keyframer.curves.lazy_fields import Lazy, add_extras, defer_fields, set_extras, stored, unchecked_constructor
from keyframer.scene import Camera, Light, Material, Mesh, Node, RawChannel, TextureMap

PARTS = [
    Node("a"),
    Camera("a"),
    Light("a"),
    Material("a"),
    TextureMap("a"),
    Mesh("a", np.zeros((1, 3)), np.zeros((0, 3), int)),
    RawChannel("a", np.zeros((1, 1))),
    Track("position", np.zeros(1), np.zeros((1, 3))),
]


@pytest.mark.parametrize("part", PARTS, ids=lambda part: type(part).__name__)
def test_no_field_is_ever_seen_as_lazy(part: object) -> None:
    for item in dataclasses.fields(part):  # type: ignore[arg-type]
        assert not isinstance(getattr(part, item.name), Lazy)


def test_defaults_belong_to_the_part() -> None:
    one, other = Node("a"), Node("b")
    one.position[0] = 5
    one.scale *= 2
    one.extras["x"] = {"y": 1}
    assert one.position.tolist() == [5, 0, 0]
    assert one.scale.tolist() == [2, 2, 2]
    assert other.position.tolist() == [0, 0, 0]
    assert other.rotation_xyzw.tolist() == [0, 0, 0, 1]
    assert other.extras == {}
    assert one.extras == {"x": {"y": 1}}


def test_what_is_given_is_kept() -> None:
    place, extras = np.array([1.0, 2.0, 3.0]), {"x": {}}
    node = Node("a", position=place, extras=extras)
    assert node.position is place
    assert node.extras is extras


def test_asking_whether_it_is_known_makes_nothing() -> None:
    node = Node("a")
    assert stored(node, "position") is None
    assert stored(node, "position") is None
    made = node.position
    assert stored(node, "position") is made


def test_notes_become_extras() -> None:
    node = Node("a")
    add_extras(node, "3ds", {"flags": 1, "offset": 6})
    add_extras(node, "3ds", {"offset": 7, "geometry": "raw"})
    assert stored(node, "extras") is None
    assert node.extras == {"3ds": {"flags": 1, "offset": 7, "geometry": "raw"}}
    assert list(node.extras["3ds"]) == ["flags", "offset", "geometry"]
    add_extras(node, "3ds", {"flags": 2})
    add_extras(node, "uto3d", {"id": 3})
    assert node.extras == {"3ds": {"flags": 2, "offset": 7, "geometry": "raw"}, "uto3d": {"id": 3}}


def test_notes_of_two_formats() -> None:
    node = Node("a")
    add_extras(node, "3ds", {"flags": 1})
    add_extras(node, "uto3d", {"id": 3})
    assert node.extras == {"3ds": {"flags": 1}, "uto3d": {"id": 3}}


def test_extras_that_are_set_replace_notes() -> None:
    node = Node("a")
    add_extras(node, "3ds", {"flags": 1})
    node.extras = {}
    assert node.extras == {}
    add_extras(node, "3ds", {"flags": 2})
    assert node.extras == {"3ds": {"flags": 2}}


@pytest.mark.parametrize("twin", [copy.copy, copy.deepcopy, lambda part: pickle.loads(pickle.dumps(part))])
def test_copies(twin: object) -> None:
    node = Node("a", parent=3)
    add_extras(node, "3ds", {"flags": 1})
    again = twin(node)  # type: ignore[operator]
    assert again.extras == {"3ds": {"flags": 1}}
    assert again.parent == 3
    assert again.pivot.tolist() == [0, 0, 0]
    changed = dataclasses.replace(node, name="b")
    assert changed.extras == {"3ds": {"flags": 1}}


def test_what_is_not_declared_does_not_exist() -> None:
    node = Node("a")
    with pytest.raises(AttributeError, match="'Node' object has no attribute 'colour'"):
        node.colour  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(AttributeError):
        node.colour = 1  # type: ignore[attr-defined]


def test_a_node_that_states_nothing_is_small() -> None:
    """An empty node of a hostile file takes 30 bytes there."""
    assert sys.getsizeof(Node("a")) < 220
    assert all(stored(Node("a"), name) is None for name in ("position", "rotation_xyzw", "scale", "pivot", "extras"))


def test_the_public_model_does_not_show_it() -> None:
    assert "position: 'Floats' = <factory>" in str(inspect.signature(Node))
    assert {name for name in dir(Node("a")) if not name.startswith("_")} == {
        item.name for item in dataclasses.fields(Node)
    }


@pytest.mark.parametrize("part", PARTS, ids=lambda part: type(part).__name__)
def test_a_part_made_without_checks_is_the_same(part: Any) -> None:
    given = {item.name for item in dataclasses.fields(part) if item.default is dataclasses.MISSING}
    make = unchecked_constructor(type(part))
    made = make(**{name: getattr(part, name) for name in given})
    assert type(made) is type(part)
    for item in dataclasses.fields(part):
        assert repr(getattr(made, item.name)) == repr(getattr(part, item.name))
    made = make(**{name: getattr(part, name) for name in given})
    set_extras(made, ("3ds", "flags"), 5)
    assert made.extras == {"3ds": {"flags": 5}}


def late_track(asked: list[tuple[int, ...]]) -> Track:
    def columns(*known: int) -> dict[str, Any]:
        asked.append(known)
        return {"times": np.array([1.0, 2.0]), "values": np.array([3.0, 4.0])}

    track: Track = unchecked_constructor(Track, without=("times", "values"))("fov")
    defer_fields(track, columns, 6, 7)
    return track


def test_fields_that_were_left_out_are_made_when_one_is_read() -> None:
    asked: list[tuple[int, ...]] = []
    track = late_track(asked)
    assert track.tension is None
    assert not asked
    assert track.values.tolist() == [3, 4]
    assert track.times.tolist() == [1, 2]
    assert asked == [(6, 7)]
    with pytest.raises(AttributeError, match="no attribute 'colour'"):
        track.colour  # type: ignore[attr-defined]  # noqa: B018


def test_what_was_set_before_is_not_replaced() -> None:
    track = late_track([])
    track.values = np.array([8.0, 9.0])
    assert track.times.tolist() == [1, 2]
    assert track.values.tolist() == [8, 9]


@pytest.mark.parametrize("twin", [copy.copy, copy.deepcopy, dataclasses.replace])
def test_copies_of_fields_that_were_left_out(twin: Callable[[Track], Track]) -> None:
    again = twin(late_track([]))
    assert again.times.tolist() == [1, 2]
    assert again.values.tolist() == [3, 4]
