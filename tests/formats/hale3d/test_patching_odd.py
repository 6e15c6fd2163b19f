"""Edits that a Hale3D pair cannot store: what is dropped, or the reason why a new file was written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import keyframer
from keyframer.formats.hale3d import FORMAT
from keyframer.formats.kit.scene_reading import scene_of
from keyframer.formats.kit.scene_writing import Written
from keyframer.scene import Mesh, Node, NodeKind, Scene, Skin
from tests.formats.editing import rewrite_reasons, set_fields
from tests.formats.hale3d import writer as w


def sleeve(scene: Scene) -> Any:
    return scene.meshes[0]


def new_flag(scene: Scene) -> None:
    corners = np.array([[0, 1, 2]], np.int32)
    scene.nodes.append(Node("flag", NodeKind.OBJECT, mesh=len(scene.meshes), skin=len(scene.skins)))
    scene.meshes.append(Mesh("flag", np.eye(3), corners))
    scene.skins.append(Skin("flag", [0], np.eye(4)[None], np.arange(2), np.zeros(2, np.int64), np.ones(2)))


NOT_MERGEABLE: dict[str, tuple[Callable[[Scene], None], str]] = {
    "two materials": (set_fields(sleeve, face_materials=np.array([0, 1])), "a mesh has several materials"),
    "a new mesh with a vertex without a joint": (new_flag, "a mesh has vertices without a joint"),
    "no clip": (set_fields(lambda scene: scene, clips=[]), "the clip was removed"),
    "another bind pose in one skin": (
        set_fields(lambda scene: scene.skins[0], inverse_bind=np.tile(np.diag([1.0, 1, 1, 1]), (3, 1, 1))),
        "two skins have different bind poses",
    ),
}


def save_edited(edit: Callable[[Scene], None]) -> Written:
    model = keyframer.decode(w.arm(), format="hale3d")
    scene = scene_of(keyframer.decode(w.wave(), format="hale3d"), {"model": model})
    edit(scene)
    return FORMAT.from_scene(scene)


@pytest.mark.parametrize("name", NOT_MERGEABLE)
def test_edits_that_cannot_be_merged_cause_a_new_file(name: str) -> None:
    edit, words = NOT_MERGEABLE[name]
    (why,) = rewrite_reasons(save_edited(edit))
    assert f"({words})" in why
