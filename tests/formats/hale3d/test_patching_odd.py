"""Edits that a Hale3D pair has no place for: the reason why all was written anew."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import keyframer
from keyframer.formats.hale3d import FORMAT
from keyframer.formats.kit.scene_reading import scene_of
from keyframer.scene import Mesh, Node, NodeKind, Scene, Skin
from tests.formats.editing import put, why_anew
from tests.formats.hale3d import writer as w


def sleeve(scene: Scene) -> Any:
    return scene.meshes[0]


def new_flag(scene: Scene) -> None:
    corners = np.array([[0, 1, 2]], np.int32)
    scene.nodes.append(Node("flag", NodeKind.OBJECT, mesh=len(scene.meshes), skin=len(scene.skins)))
    scene.meshes.append(Mesh("flag", np.eye(3), corners))
    scene.skins.append(Skin("flag", [0], np.eye(4)[None], np.arange(2), np.zeros(2, np.int64), np.ones(2)))


REFUSED: dict[str, tuple[Callable[[Scene], None], str]] = {
    "two materials": (put(sleeve, face_materials=np.array([0, 1])), "a mesh of several materials"),
    "no texture vertices": (put(sleeve, uv=None), "texture vertices of meshes"),
    "no places in joints": (
        put(lambda scene: scene.skins[0], positions=None),
        "vertices without places in their joints of skins",
    ),
    "a new mesh with a vertex that no joint carries": (new_flag, "vertices that no joint carries"),
    "no clip": (put(lambda scene: scene, clips=[]), "an animation without a clip"),
    "joints bound otherwise in one skin": (
        put(lambda scene: scene.skins[0], inverse_bind=np.tile(np.diag([1.0, 1, 1, 1]), (3, 1, 1))),
        "a skin with another bind pose",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_place_is_said_and_all_written_anew(name: str) -> None:
    edit, words = REFUSED[name]
    model = keyframer.decode(w.arm(), format="hale3d")
    scene = scene_of(keyframer.decode(w.wave(), format="hale3d"), {"model": model})
    edit(scene)
    written = FORMAT.from_scene(scene)
    (why,) = why_anew(written)
    assert f"({words})" in why
