"""Edits of Hale3D models, with and without an animation: the bytes equal those of an independent writer."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import keyframer
from keyframer.scene import Scene
from tests.formats.hale3d import writer as w

SLEEVE = {
    "vertices": [(0, 0, 0, 1), (1, 0, 1, 1), (1, 1, 2, 2), (0, 1, 4, 1)],
    "weights": [(1, 0, 0, 0, 0), (1, 1, 1, 0, 0), (0.5, 1, 1, 1, 0), (0.5, 2, 0, 1, 0), (1, 0, 0, 1, 0)],
    "triangles": [(0, 1, 2), (0, 2, 3)],
}
TRAILING = b"what nobody knows"


def arm(material: bytes = b"materials/sleeve.mat", hand: bytes = b'"hand"', **changes: object) -> bytes:
    """The model of the samples with one change; the second mesh is always the same."""
    shape = {**SLEEVE, **changes}
    first = w.mesh(material, shape["vertices"], shape["weights"], shape["triangles"])  # type: ignore[arg-type]
    glove = w.mesh(
        b"materials/glove.mat",
        [(0, 0, 0, 1), (0.5, 0, 1, 1), (0, 0.5, 2, 1)],
        [(1, 2, 0, 0, 0), (1, 2, 1, 0, 0), (1, 2, 0, 1, 0)],
        [(0, 1, 2)],
    )
    joints = [
        w.model_joint(b'"root"', -1, (0, 1, 2)),
        w.model_joint(b'"arm"', 0, (0.5, 1, 2), (0, 0, 0.5)),
        w.model_joint(hand, 1, (2, 1, 2), (0.25, 0, 0)),
    ]
    return w.model([first, glove], joints)


def test_the_model_of_this_test_is_that_of_the_samples() -> None:
    assert arm() == w.arm()


def test_saving_an_animation_also_saves_its_edited_model(edit_and_save: object) -> None:
    data, model = edit_and_save(lambda scene: None, "anim")  # type: ignore[operator]
    assert (data, model) == (w.wave(), arm() + TRAILING)


@pytest.fixture(params=["anim", "mdl"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def edit_and_save(tmp_path: Path) -> object:
    """Loads one of both files, edits and saves it under another name; saving that again must not change it."""

    def act(edit: object, kind: str) -> tuple[bytes, bytes]:
        (tmp_path / "arm.anim").write_bytes(w.wave())
        (tmp_path / "arm.mdl").write_bytes(w.arm() + TRAILING)
        scene = keyframer.load(tmp_path / f"arm.{kind}", format="hale3d")
        edit(scene)  # type: ignore[operator]
        folder = tmp_path / "out"
        folder.mkdir()
        for _ in range(2):
            report = keyframer.save(scene, folder / f"new.{kind}", format="hale3d", overwrite=True)
            assert not [str(loss) for loss in report if "a new file was written" in loss.detail]
            scene = keyframer.load(folder / f"new.{kind}", format="hale3d")
            saved = (folder / "new.anim").read_bytes(), (folder / "new.mdl").read_bytes()
        return saved

    return act


def texture(scene: Scene) -> None:
    scene.materials[0].maps["texture1"].file_name = "other/cloth.tga"


def name(scene: Scene) -> None:
    scene.node("hand").name = "fist"


def uv(scene: Scene) -> None:
    coordinates = np.array(scene.meshes[0].uv)
    coordinates[3] = (0.25, 0.5)
    scene.meshes[0].uv = coordinates


def faces(scene: Scene) -> None:
    mesh = scene.meshes[0]
    mesh.corners = np.concatenate([mesh.corners, [[0, 1, 3]]])
    mesh.face_materials = np.zeros(3, np.int32)
    mesh.smoothing = np.ones(3, np.uint32)


def weights(scene: Scene) -> None:
    skin = scene.skins[0]
    shares = np.array(skin.weights)
    shares[2:4] = (0.25, 0.75)
    skin.weights = shares
    mesh = scene.meshes[0]
    bind = np.linalg.inv(skin.inverse_bind)
    pairs = zip(skin.joint_indices, np.asarray(skin.positions), strict=True)
    placed = [bind[joint] @ np.array([*place, 1.0]) for joint, place in pairs]
    points = np.zeros((4, 3))
    for vertex, place, share in zip(skin.vertex_indices, placed, shares, strict=True):
        points[vertex] += share * place[:3]
    mesh.positions = points


EDITS = {
    "texture": (texture, {"material": b"other/cloth.tga"}),
    "name": (name, {"hand": b'"fist"'}),
    "uv": (uv, {"vertices": [*SLEEVE["vertices"][:3], (0.25, 0.5, 4, 1)]}),
    "faces": (faces, {"triangles": [*SLEEVE["triangles"], (0, 3, 1)]}),
    "weights": (
        weights,
        {"weights": [*SLEEVE["weights"][:2], (0.25, 1, 1, 1, 0), (0.75, 2, 0, 1, 0), SLEEVE["weights"][4]]},
    ),
}


@pytest.mark.parametrize("what", EDITS)
def test_only_the_edited_part_is_rewritten(what: str, kind: str, edit_and_save: object) -> None:
    edit, changes = EDITS[what]
    data, model = edit_and_save(edit, kind)  # type: ignore[operator]
    assert data == w.wave()
    assert model == arm(**changes) + TRAILING  # type: ignore[arg-type]
