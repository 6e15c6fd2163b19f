"""Pictures of shows: the fixtures are visible, also those without a shape and those in a closed building."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import keyframer
from keyframer.scene import Material, Scene
from tests.corpus import CORPUS, needs_corpus
from tests.stage.archives import fixture, model, scene_object, show
from tests.stage.boxes import world_matrices

BARE_MODEL = '<Model Name="Base"/>'
BARE_GEOMETRY = '<Geometry Name="Base" Model="Base" Position="{1,0,0,0}{0,1,0,0}{0,0,1,0}{0,0,0,1}"/>'
ROOM = (8000.0, 6000.0, 4000.0)
LAMPS = [(x, y, 3000.0) for x in (1500.0, 4000.0, 6500.0) for y in (2000.0, 4000.0)]


def room_with_fixtures() -> Scene:
    """Return a closed room with fixtures that state no shape, as shows of Capture have them."""
    room = scene_object('<Geometry3D fileName="room.3ds"/>', name="Room")
    lamps = [
        f"<Fixture name='Lamp' uuid='{number}'><Matrix>{{1,0,0}}{{0,1,0}}{{0,0,1}}{{{x},{y},{z}}}</Matrix>"
        "<GDTFSpec>Bare.gdtf</GDTFSpec></Fixture>"
        for number, (x, y, z) in enumerate(LAMPS)
    ]
    bare = fixture(BARE_MODEL, BARE_GEOMETRY)
    scene = keyframer.load(show(room + "".join(lamps), {"room.3ds": model(".3ds", ROOM), "Bare.gdtf": bare}))
    paint_fixtures_red(scene)
    return scene


def paint_fixtures_red(scene: Scene) -> None:
    scene.materials.append(Material("Red", diffuse=(1.0, 0.0, 0.0)))
    for node in scene.nodes:
        if node.mesh is not None and "stand-in" in node.name:
            mesh = scene.meshes[node.mesh]
            mesh.face_materials = np.full(len(mesh.corners), len(scene.materials) - 1)


def red_pixels(scene: Scene) -> int:
    red, green, blue = np.asarray(keyframer.render(scene, size=(300, 240), lights="studio"), np.int16).T
    return int(((red > green + 40) & (red > blue + 40)).sum())


def test_fixture_without_a_shape_is_a_box_that_hangs_from_its_place() -> None:
    scene = room_with_fixtures()
    worlds = world_matrices(scene)
    boxes = []
    for number, node in enumerate(scene.nodes):
        if "stand-in" in node.name:
            assert node.mesh is not None
            points = scene.meshes[node.mesh].positions @ worlds[number][:3, :3].T + worlds[number][:3, 3]
            boxes.append((points.min(axis=0), points.max(axis=0)))
    assert len(boxes) == len(LAMPS)
    for (low, high), place in zip(boxes, LAMPS, strict=True):
        assert low == pytest.approx(np.array(place) - np.array([150, 150, 300]))
        assert high == pytest.approx(np.array(place) + np.array([150, 150, 0]))


def test_what_hides_the_fixtures_is_left_out_of_the_picture() -> None:
    scene = room_with_fixtures()
    assert red_pixels(replace(scene, source_format="")) == 0  # any other scene: only the room
    assert red_pixels(scene) > 200


@needs_corpus
def test_fixtures_of_a_real_show_are_visible() -> None:
    """A venue with 2,000 objects around 76 fixtures that state no shape."""
    scene = keyframer.load(CORPUS / "stage" / "open-stage__python-mvr__capture_demo_show.mvr")
    assert sum("stand-in" in node.name for node in scene.nodes) == 76
    paint_fixtures_red(scene)
    assert red_pixels(scene) > 60
