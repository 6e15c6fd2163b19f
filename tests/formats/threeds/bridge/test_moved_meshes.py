"""Edits of meshes whose stored vertices, matrix and node agree in different ways, or disagree, as in real files.

The file shows the edited mesh in its place, whatever rule of `vertex_space` decides about it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import keyframer
from keyframer import editing
from keyframer.formats.kit.coordinates import in_space
from keyframer.formats.threeds import records as r
from keyframer.scene import Scene
from keyframer.scene.loss_report import Outcome
from tests.building import threeds_records as make
from tests.corpus import CORPUS, needs_corpus, threeds_files

UNIT = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
TURNED = [[0, 1, 0], [-1, 0, 0], [0, 0, 1]]
MIRRORED = [[-1, 0, 0], [0, 1, 0], [0, 0, 1]]
PLACE, PIVOT = np.array([30.0, 4, 5]), np.array([3.0, -2, 1])
POINTS = PLACE + np.array([[0, 0, 0], [10, 0, 0], [0, 20, 0], [0, 0, 15.0]])
NEARBY = np.array([0.4, 0, 0])
"""two percent of the size of the mesh"""
FRAMES = [0.0, 12.0]


def moving() -> list[r.Track]:
    return [make.track("position", [0, 20], [[0, 0, 0], [0, 7, 0]])]


def held(place: Any) -> list[r.Track]:
    return [make.track("position", [0], [place])]


def scene_of(matrix: Any, tracks: list[r.Track], pivot: Any = None, *others: r.Track, revision: int = 5) -> Scene:
    """A file with one mesh, and an animated dummy if there are other tracks."""
    parts = [] if pivot is None else [r.Pivot(pivot=tuple(float(value) for value in pivot))]
    nodes = [make.node("object", "Box", 0, *parts, *tracks)]
    if others:
        nodes.append(make.node("object", "$$$DUMMY", 1, r.InstanceName(name=b"other"), *others))
    return make.load([make.mesh("Box", POINTS, matrix=matrix)], nodes, revision=revision)


KINDS: dict[str, Callable[[], Scene]] = {
    "both agree": lambda: scene_of([*UNIT, PLACE], held(PLACE)),
    "both agree by the pivot": lambda: scene_of([*UNIT, PLACE], held(PLACE + PIVOT), PIVOT),
    "both agree, apart from a little": lambda: scene_of([*UNIT, PLACE], held(PLACE + NEARBY / 3)),
    "a moved pivot": lambda: scene_of([*UNIT, PLACE], held(PLACE), PIVOT),
    "a moved pivot, and two percent": lambda: scene_of([*UNIT, PLACE], held(PLACE + NEARBY), 3 * PIVOT),
    "a mirror": lambda: scene_of([*MIRRORED, PLACE], [*held(PLACE), make.track("scale", [0], [[-1, 1, 1]])]),
    "animated, and the node is elsewhere": lambda: scene_of([*UNIT, PLACE], held([0, 0, 0]), None, *moving()),
    "animated, elsewhere, with a pivot": lambda: scene_of([*TURNED, PLACE], held([0, 1, 0]), PIVOT, *moving()),
    "the node is lost": lambda: scene_of([*UNIT, PLACE], held([0, 0, 0])),
    "the node is lost, with a pivot": lambda: scene_of([*TURNED, PLACE], held([0, 1, 0]), PIVOT),
    "vertices are local": lambda: scene_of([*UNIT, [0, 0, 0]], held(PLACE)),
    "an old keyframer": lambda: scene_of([*UNIT, [0, 0, 0]], held(PLACE), None, *moving(), revision=3),
    "without a matrix": lambda: scene_of(None, held(PLACE), PIVOT),
}


def edit(scene: Scene, **changes: Any) -> Scene:
    for name, value in changes.items():
        getattr(scene, name)("Box", **value)
    return scene


def own_axes(scene: Scene) -> Scene:
    scene.meshes[0].axes = np.diag([2.0, 2, 2, 1])
    return scene


def moved_pivot(scene: Scene) -> Scene:
    scene.node("Box").pivot = np.add(scene.node("Box").pivot, (1, 2, 3))
    return scene


EDITS: dict[str, Callable[[Scene], Scene]] = {
    "scale": lambda scene: editing.scale(scene, 2.0),
    "shrink": lambda scene: editing.scale(scene, 0.001),
    "axes": lambda scene: editing.change_axes(scene, up="y"),
    "move": lambda scene: edit(scene, move={"by": (1, 2, 3)}),
    "move far": lambda scene: edit(scene, move={"by": (100, 200, 300)}),
    "turn": lambda scene: edit(scene, turn={"axis": (1, 2, 2), "degrees": 40}),
    "resize": lambda scene: edit(scene, resize={"factor": 1.5}),
    "scale and move": lambda scene: edit(editing.scale(scene, 2.0), move={"by": (10, 20, 30)}),
    "scale and turn": lambda scene: edit(editing.scale(scene, 2.0), turn={"axis": (0, 0, 1), "degrees": 90}),
    "other axes of the mesh": own_axes,
    "another pivot": moved_pivot,
}


def vertices(scene: Scene) -> Any:
    return keyframer.pose(scene, frames=FRAMES).vertices("Box")


@pytest.mark.parametrize("name", EDITS)
@pytest.mark.parametrize("kind", KINDS)
def test_edited_mesh_is_where_the_scene_shows_it(kind: str, name: str, tmp_path: Path) -> None:
    scene = EDITS[name](KINDS[kind]())
    report = keyframer.save(scene, tmp_path / "out.3ds")
    loaded = keyframer.load(tmp_path / "out.3ds")
    wanted, got = vertices(in_space(scene, loaded.space)), vertices(loaded)
    np.testing.assert_allclose(got, wanted, atol=1e-5 * np.abs(wanted).max())
    assert not [loss for loss in report if loss.outcome is Outcome.DROPPED], report.summary()


@pytest.mark.parametrize("moved", [[0], [1], [2], [0, 1], [1, 2], [0, 1, 2]])
@pytest.mark.parametrize("name", ["move", "turn", "resize"])
def test_objects_of_one_name_do_not_move_each_other(name: str, moved: list[int], tmp_path: Path) -> None:
    """A node of the keyframer finds its object by name, so an object that gets one needs a name of its own."""
    change = {"move": {"by": (1, 2, 3)}, "turn": {"axis": (0, 0, 1), "degrees": 30}, "resize": {"factor": 2.0}}[name]
    objects = [make.mesh("Panel", np.add(POINTS, 100 * number)) for number in range(3)]
    scene = make.load(objects, [])
    for number in moved:
        getattr(scene, name)(number, **change)
    report = keyframer.save(scene, tmp_path / "out.3ds")
    loaded = keyframer.load(tmp_path / "out.3ds")
    wanted, got = (
        sorted(keyframer.pose(each, frames=[0]).vertices(number)[0].tolist() for number in range(3))
        for each in (scene, loaded)
    )
    np.testing.assert_allclose(got, wanted, atol=1e-3)
    assert sorted(node.name for node in loaded.nodes) == ["Panel", "Panel.2", "Panel.3"]
    assert not report.count(Outcome.DROPPED)


@needs_corpus
def test_scaled_real_files_show_the_same(tmp_path: Path) -> None:
    """Files with moved pivots, and nodes that are not where the vertices are: 11 of 540 files had a mesh in another
    place."""
    paths = [path for path in threeds_files() if path.name.endswith(("TOYDOG.3DS", "SKELETON.3DS", "Car.3DS"))]
    paths += sorted((CORPUS / "3ds").glob("*e112-e*.3ds"))
    assert len(paths) == 6
    for path in paths:
        scene = editing.scale(keyframer.load(path), 2.0)
        report = keyframer.save(scene, tmp_path / path.name)
        assert not report.count(Outcome.DROPPED), (path.name, report.summary())
        poses = [keyframer.pose(each, frames=FRAMES) for each in (scene, keyframer.load(tmp_path / path.name))]
        for number, node in enumerate(scene.nodes):
            if node.mesh is not None:
                wanted, got = (pose.vertices(number) for pose in poses)
                largest = 1e-4 * np.abs(wanted).max(initial=1e-9)
                np.testing.assert_allclose(got, wanted, atol=largest, err_msg=f"{path.name}: {node.name}")
