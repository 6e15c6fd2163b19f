"""U3D documents from scenes, in the dialect of each writer; edited originals."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import keyframer
from keyframer.curves import Interpolation, Track
from keyframer.formats.uto3d import FORMAT
from keyframer.formats.uto3d import records as r
from keyframer.formats.uto3d.sections import FileHeader, LightLayout, Section
from keyframer.scene import (
    Camera,
    Channel,
    Clip,
    Handedness,
    Light,
    LightType,
    Material,
    Mesh,
    Node,
    NodeKind,
    Scene,
    Skin,
    Space,
)
from tests.corpus import CORPUS, needs_corpus

LAYOUTS = {"A": LightLayout.FLEXPORTER, "B": LightLayout.MAXSCRIPT, "literal": LightLayout.LITERAL}


def scene() -> Scene:
    square = Mesh("square", np.array([[0.0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]]), np.array([[0, 1, 2], [0, 2, 3]]))
    square.face_materials = np.array([0, -1])
    mapped = replace(square, name="mapped", uv=np.array([[0.0, 0], [1, 0], [1, 1]]))
    mapped.uv_corners = np.array([[0, 1, 2], [0, 2, 1]])
    spot = Light("spot", LightType.SPOT, (1.0, 0.5, 0.25), 2.0, target=(0.0, 0.0, 0.0))
    spot.falloff_degrees, spot.hotspot_degrees = 40.0, 30.0
    nodes = [
        Node("square", mesh=0, position=np.array([1.0, 2, 3])),
        Node("mapped", mesh=1, parent=0, rotation_xyzw=np.array([0.0, 0.6, 0, 0.8])),
        Node("eye", NodeKind.CAMERA, camera=0, target=3, position=np.array([0.0, -5, 1])),
        Node("eye target", NodeKind.TARGET),
        Node("lamp", NodeKind.LIGHT, light=0, position=np.array([0.0, 0, 9])),
        Node("spot", NodeKind.LIGHT, light=1, position=np.array([4.0, 0, 9])),
        Node("bone", NodeKind.BONE, hidden=True),
    ]
    keys = Track("position", np.array([0.0, 30.0, 60.0]), np.arange(9.0).reshape(3, 3), Interpolation.TCB)
    keys.tension = np.array([0.0, 0.5, 0.0])
    clip = Clip(channels=[Channel(0, keys)], end=60.0)
    return Scene(
        nodes, [square, mapped], [Material("paint")], [Camera("eye", 50.0)], [Light("lamp"), spot], clips=[clip]
    )


@pytest.mark.parametrize("dialect", LAYOUTS)
def test_every_dialect_is_detected_when_read(dialect: str, tmp_path: Path) -> None:
    path = tmp_path / "made.u3d"
    keyframer.save(scene(), path, dialect=dialect)
    document = keyframer.read(path)
    assert document.dialect.lights is LAYOUTS[dialect]  # type: ignore[union-attr]
    assert document.dialect.uv_faces is (dialect != "B")  # type: ignore[union-attr]
    loaded = keyframer.load(path)
    assert loaded.space == Space("y", Handedness.LEFT)
    frames = [0.0, 10.0, 45.0]
    ours, theirs = keyframer.pose(scene(), frames=frames), keyframer.pose(loaded, frames=frames)
    numbers = {node.name: number for number, node in enumerate(loaded.nodes)}
    for name in ("square", "mapped"):
        mine = next(i for i, node in enumerate(scene().nodes) if node.name == name)
        assert np.allclose(theirs.vertices(numbers[name]), ours.vertices(mine)[..., [0, 2, 1]], atol=1e-5)
    track = next(channel.track for channel in loaded.clips[0].channels if channel.track.kind == "position")
    assert track.times.tolist() == [0, 4800, 9600]
    assert track.tension.tolist() == [0.0, 0.5, 0.0]
    assert (loaded.clips[0].start, loaded.clips[0].end) == (0.0, 9600.0)


def test_dialect_b_is_the_default_and_writes_all_sections() -> None:
    document = FORMAT.from_scene(scene()).document
    header = document.first(FileHeader)
    assert [child.segment for child in header.children] == [
        "main",
        "mesh",
        "cams",
        "ctgt",
        "lite",
        "mats",
        "bone",
        "ctrl",
    ]
    assert next(document.find(r.AnyLight)).__class__ is r.Light


def test_dialect_a_omits_empty_sections() -> None:
    document = FORMAT.from_scene(Scene(nodes=[Node("bone", NodeKind.BONE)]), {"dialect": "A"}).document
    header = document.first(FileHeader)
    assert [child.segment for child in header.children if isinstance(child, Section)] == ["bone"]


@needs_corpus
def test_a_skinned_figure_keeps_its_skin(tmp_path: Path) -> None:
    figure = keyframer.load(CORPUS / "hale3d/bob_lamp_update.anim")
    path = tmp_path / "bob.u3d"
    report = keyframer.save(figure, path)
    scene = keyframer.load(path)
    frames = [0.0, 33.0, 140.0]
    ours, theirs = keyframer.pose(figure, frames=frames), keyframer.pose(scene, frames=frames)
    numbers = {node.name: number for number, node in enumerate(scene.nodes)}
    for number, node in enumerate(figure.nodes):
        if node.mesh is not None:
            apart = np.abs(theirs.vertices(numbers[node.name])[..., [0, 2, 1]] - ours.vertices(number)).max()
            assert apart < 0.02, node.name  # the figure is 6 units high
    assert report.written == [str(path)]


def test_a_rigid_skin_stays_rigid(tmp_path: Path) -> None:
    mesh = Mesh("cloth", np.array([[0.0, 0, 1], [1, 0, 1], [0, 1, 1]]), np.array([[0, 1, 2]]))
    bones = [Node("a", NodeKind.BONE, position=np.array([1.0, 0, 0])), Node("b", NodeKind.BONE, parent=0)]
    inverse = np.stack([np.eye(4), np.eye(4)])
    inverse[:, 0, 3] = -1.0
    skin = Skin("cloth", [0, 1], inverse, np.arange(3), np.array([0, 1, 1]), np.ones(3), rigid=True)
    figure = Scene([*bones, Node("cloth", mesh=0, skin=0)], [mesh], skins=[skin])
    figure.clips = [Clip(channels=[Channel(1, Track.sampled("position", np.eye(3)))], end=2.0)]
    path = tmp_path / "cloth.u3d"
    keyframer.save(figure, path)
    record = next(keyframer.read(path).find(r.Mesh))
    assert record.skin_type == r.SIMPLE_SKIN
    loaded = keyframer.load(path)
    number = next(i for i, node in enumerate(loaded.nodes) if node.mesh is not None)
    ours = keyframer.pose(figure, frames=[0.0, 2.0]).vertices(2)
    assert np.allclose(keyframer.pose(loaded, frames=[0.0, 2.0]).vertices(number)[..., [0, 2, 1]], ours, atol=1e-5)


@pytest.mark.parametrize("dialect", ["A", "B", "literal"])
def test_targets_of_lights_are_not_counted_as_camera_targets(dialect: str, tmp_path: Path) -> None:
    """MAIN has the number of camera targets, but not that of light targets."""
    nodes = [
        Node("lamp", NodeKind.LIGHT, light=0, target=1, position=np.array([1.0, 2, 3])),
        Node("lamp.target", NodeKind.TARGET),
    ]
    scene = Scene(nodes=nodes, lights=[Light("lamp", LightType.SPOT)])
    keyframer.save(scene, tmp_path / "lamp.u3d", dialect=dialect)
    assert list(keyframer.check(tmp_path / "lamp.u3d").issues) == []
    lost = keyframer.read(tmp_path / "lamp.u3d")
    lost.first(r.AnyLight).name = b"other"  # type: ignore[union-attr]
    if dialect != "A":
        lost.first(r.Light).target_id = -1  # type: ignore[union-attr]
    decoded = keyframer.decode(keyframer.encode(lost), format="uto3d")
    assert [issue.code for issue in decoded.issues] == ["LINK_COUNT_MISMATCH"]
