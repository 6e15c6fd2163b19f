"""Edits that a Hale3D pair has no place for: what is lost, or the reason why all was written anew."""

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
from keyframer.scene.loss_report import Outcome
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
    "two materials": (put(sleeve, face_materials=np.array([0, 1])), "a mesh has several materials"),
    "a new mesh with a vertex that no joint carries": (new_flag, "a mesh has vertices without a joint"),
    "no clip": (put(lambda scene: scene, clips=[]), "the clip was removed"),
    "joints bound otherwise in one skin": (
        put(lambda scene: scene.skins[0], inverse_bind=np.tile(np.diag([1.0, 1, 1, 1]), (3, 1, 1))),
        "two skins have different bind poses",
    ),
}


def edited(edit: Callable[[Scene], None]) -> Written:
    model = keyframer.decode(w.arm(), format="hale3d")
    scene = scene_of(keyframer.decode(w.wave(), format="hale3d"), {"model": model})
    edit(scene)
    return FORMAT.from_scene(scene)


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_place_is_said_and_all_written_anew(name: str) -> None:
    edit, words = REFUSED[name]
    (why,) = why_anew(edited(edit))
    assert f"({words})" in why


NEVER_ABSENT: dict[str, tuple[Callable[[Scene], None], str]] = {
    "no texture vertices": (put(sleeve, uv=None), "/meshes/0/uv"),
    "no places in joints": (put(lambda scene: scene.skins[0], positions=None), "/skins/0/positions"),
}


@pytest.mark.parametrize("name", NEVER_ABSENT)
def test_what_files_always_have_is_made_and_said(name: str) -> None:
    """The animation and the other mesh are those of the original; places in joints follow from the bind pose."""
    edit, path = NEVER_ABSENT[name]
    written = edited(edit)
    assert why_anew(written) == []
    assert [loss.path for loss in written.report.of(Outcome.DROPPED)] == [path]
    assert keyframer.encode(written.document) == w.wave()
    ((_, model),) = written.companions
    before, after = (scene_of(keyframer.decode(data, format="hale3d")) for data in (w.arm(), model))
    assert np.allclose(before.meshes[0].positions, after.meshes[0].positions, atol=1e-6)
    assert model[model.index(b"materials/glove.mat") :] == w.arm()[w.arm().index(b"materials/glove.mat") :]
