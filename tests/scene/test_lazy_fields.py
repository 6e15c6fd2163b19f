"""Lazy fields are created on first access, which users cannot notice except by memory."""

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
from keyframer.curves.lazy_fields import (
    Lazy,
    add_extras,
    defer_fields,
    extras_without_keeping,
    set_extras,
    stored,
    unchecked_constructor,
)
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
def test_reading_a_field_never_returns_a_lazy_placeholder(part: object) -> None:
    for item in dataclasses.fields(part):  # type: ignore[arg-type]
        assert not isinstance(getattr(part, item.name), Lazy)


def test_defaults_are_not_shared_between_objects() -> None:
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


def test_given_values_are_kept() -> None:
    place, extras = np.array([1.0, 2.0, 3.0]), {"x": {}}
    node = Node("a", position=place, extras=extras)
    assert node.position is place
    assert node.extras is extras


def test_stored_does_not_create_the_default() -> None:
    node = Node("a")
    assert stored(node, "position") is None
    assert stored(node, "position") is None
    position = node.position
    assert stored(node, "position") is position


def test_added_extras_become_extras() -> None:
    node = Node("a")
    add_extras(node, "3ds", {"flags": 1, "offset": 6})
    add_extras(node, "3ds", {"offset": 7, "geometry": "raw"})
    assert stored(node, "extras") is None
    assert node.extras == {"3ds": {"flags": 1, "offset": 7, "geometry": "raw"}}
    assert list(node.extras["3ds"]) == ["flags", "offset", "geometry"]
    add_extras(node, "3ds", {"flags": 2})
    add_extras(node, "uto3d", {"id": 3})
    assert node.extras == {"3ds": {"flags": 2, "offset": 7, "geometry": "raw"}, "uto3d": {"id": 3}}


def test_added_extras_of_two_formats() -> None:
    node = Node("a")
    add_extras(node, "3ds", {"flags": 1})
    add_extras(node, "uto3d", {"id": 3})
    assert node.extras == {"3ds": {"flags": 1}, "uto3d": {"id": 3}}


def test_assigned_extras_replace_added_extras() -> None:
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
    duplicate = twin(node)  # type: ignore[operator]
    assert duplicate.extras == {"3ds": {"flags": 1}}
    assert duplicate.parent == 3
    assert duplicate.pivot.tolist() == [0, 0, 0]
    changed = dataclasses.replace(node, name="b")
    assert changed.extras == {"3ds": {"flags": 1}}


def test_undeclared_attributes_do_not_exist() -> None:
    node = Node("a")
    with pytest.raises(AttributeError, match="'Node' object has no attribute 'colour'"):
        node.colour  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(AttributeError):
        node.colour = 1  # type: ignore[attr-defined]


def test_a_node_with_defaults_is_small() -> None:
    """An empty node takes only 30 bytes in a hostile file."""
    assert sys.getsizeof(Node("a")) < 220
    assert all(stored(Node("a"), name) is None for name in ("position", "rotation_xyzw", "scale", "pivot", "extras"))


def test_lazy_fields_are_not_visible_in_signature_and_dir() -> None:
    assert "position: 'Floats' = <factory>" in str(inspect.signature(Node))
    assert {name for name in dir(Node("a")) if not name.startswith("_")} == {
        item.name for item in dataclasses.fields(Node)
    }


@pytest.mark.parametrize("part", PARTS, ids=lambda part: type(part).__name__)
def test_an_object_made_without_checks_equals_a_checked_one(part: Any) -> None:
    given = {item.name for item in dataclasses.fields(part) if item.default is dataclasses.MISSING}
    make = unchecked_constructor(type(part))
    copy = make(**{name: getattr(part, name) for name in given})
    assert type(copy) is type(part)
    for item in dataclasses.fields(part):
        assert repr(getattr(copy, item.name)) == repr(getattr(part, item.name))
    copy = make(**{name: getattr(part, name) for name in given})
    set_extras(copy, ("3ds", "flags"), 5)
    assert copy.extras == {"3ds": {"flags": 5}}


def test_a_look_at_extras_keeps_them_compact() -> None:
    track = Track("fov", [0.0], [1.0])
    set_extras(track, ("3ds", "flags"), 5)
    assert extras_without_keeping(track) == {"3ds": {"flags": 5}}
    assert stored(track, "extras") is None
    track.extras["3ds"]["flags"] = 6
    assert extras_without_keeping(track) == {"3ds": {"flags": 6}}


def deferred_track(asked: list[tuple[int, ...]]) -> Track:
    def columns(*known: int) -> dict[str, Any]:
        asked.append(known)
        return {"times": np.array([1.0, 2.0]), "values": np.array([3.0, 4.0])}

    track: Track = unchecked_constructor(Track, without=("times", "values"))("fov")
    defer_fields(track, columns, 6, 7)
    return track


def test_deferred_fields_are_created_when_one_of_them_is_read() -> None:
    asked: list[tuple[int, ...]] = []
    track = deferred_track(asked)
    assert track.tension is None
    assert not asked
    assert track.values.tolist() == [3, 4]
    assert track.times.tolist() == [1, 2]
    assert asked == [(6, 7)]
    with pytest.raises(AttributeError, match="no attribute 'colour'"):
        track.colour  # type: ignore[attr-defined]  # noqa: B018


def test_a_field_assigned_earlier_is_not_replaced() -> None:
    track = deferred_track([])
    track.values = np.array([8.0, 9.0])
    assert track.times.tolist() == [1, 2]
    assert track.values.tolist() == [8, 9]


@pytest.mark.parametrize("twin", [copy.copy, copy.deepcopy, dataclasses.replace])
def test_copies_of_deferred_fields(twin: Callable[[Track], Track]) -> None:
    duplicate = twin(deferred_track([]))
    assert duplicate.times.tolist() == [1, 2]
    assert duplicate.values.tolist() == [3, 4]
