"""Unusual 3D Studio files with one edit: the bytes equal those of a file built with the edit, or the report gives the
reason for a new file.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import keyframer
from keyframer.curves import Interpolation, Track
from keyframer.formats.threeds import records as r
from keyframer.formats.threeds.chunk import Chunk
from keyframer.formats.threeds.document import new_document
from keyframer.scene import Channel, Clip, Gradient, LightType, Material, Morph, Scene, TextureMap
from keyframer.scene.loss_report import Outcome
from tests.building import editing
from tests.building import threeds_records as make
from tests.building.editing import Merge, NewFile, merged, rewrite_reasons, set_fields, set_node

SAMPLES = Path(__file__).parents[2] / "samples/3ds"
RED, GREEN, BLUE = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
STILL = ((0.0, 0.0, 0.0),)
AWAY = ((9.0, 9.0, 9.0),)
MOVED = ((5.0, 6.0, 7.0),)
TALL = np.array(make.TRIANGLE) * 2
MORPH = Track("morph", np.array([0.0, 10.0]), np.eye(2), Interpolation.TCB)
LONG = np.array([[0.0, 0, 0], [1, 0, 0], [0, 2, 0], [4, 4, 4]])


load = partial(editing.load, "3ds")
save_edited = partial(editing.save_edited, "3ds")
set_environment = partial(set_fields, lambda scene: scene.environment)
set_mesh = partial(set_fields, lambda scene: scene.meshes[0])


def move_key(which: str) -> Callable[[Scene], None]:
    """Another value for the only position key of a node."""

    def edit(scene: Scene) -> None:
        place = scene.nodes.index(scene.node(which))
        channel = next(channel for channel in scene.clips[0].channels if channel.node == place)
        channel.track.values = np.array(MOVED)

    return edit


def set_first_track(which: str, track: Track) -> Callable[[Scene], None]:
    return lambda scene: scene.clips[0].channels.append(Channel(scene.nodes.index(scene.node(which)), track))


def file_with(*before: Chunk, nodes: Sequence[Chunk] = ()) -> bytes:
    """A file with a box and the given nodes."""
    return make.file_bytes([*before, make.mesh("Box")], [make.node("object", "Box", 0), *nodes])


def body(*parts: Chunk) -> r.NamedObject:
    return r.NamedObject(b"Box", children=[r.Mesh(children=list(parts))])


def box(*objects: Chunk, nodes: Sequence[Chunk] | None = None) -> bytes:
    return make.file_bytes(objects, [make.node("object", "Box", 0)] if nodes is None else nodes)


def points(values: Any = make.TRIANGLE) -> r.PointArray:
    return r.PointArray(np.array(values, "<f4"))


FACES = r.FaceArray(np.array([[0, 1, 2, 7]], "<u2"))


def gradient(*colors: tuple[float, float, float]) -> r.BackgroundGradient:
    return r.BackgroundGradient(0.5, children=[r.ColorFloat(color) for color in colors])


def material(*maps: Chunk, name: bytes | None = b"paint") -> r.Material:
    return r.Material(children=[*([] if name is None else [r.MaterialName(name)]), *maps])


def add_second_map(scene: Scene) -> None:
    scene.materials[0].maps["bump"] = TextureMap("B.TGA", b"B.TGA", 0.25)


BUMP = r.BumpMap(children=[r.PercentInt(25), r.MapName(b"B.TGA"), r.MapParameters(0)])


def at(values: Any, name: str = "Box", number: int | None = 0, *inside: Chunk, parent: int = -1) -> r.Node:
    return make.node("object", name, number, make.track("position", (0,), values), *inside, parent=parent)


def two_nodes_of_one_mesh(first_position: Any, second_position: Any, revision: int = 5) -> bytes:
    """Two nodes that show one mesh; in files of old revisions its stored vertices are those that are drawn."""
    return make.file_bytes(
        [make.mesh("Box")], [at(first_position), at(second_position, "Box", 1, r.InstanceName(b"twin"))], revision
    )


def without_frames(*frames: Chunk) -> bytes:
    inside = [r.KeyframerHeader(revision=5, name=b"", length=100), *frames, at(STILL)]
    editor = r.Editor(children=[make.mesh("Box")])
    return keyframer.encode(new_document(r.Version(3), editor, r.Keyframer(children=inside)))


def without_keyframer(*objects: Chunk) -> bytes:
    return keyframer.encode(new_document(r.Version(3), r.Editor(children=list(objects))))


def without_editor(*nodes: Chunk) -> bytes:
    inside = [r.KeyframerHeader(revision=5, name=b"", length=100), r.Frames(0, 100), *nodes]
    return keyframer.encode(new_document(r.Version(3), r.Keyframer(children=inside)))


def editor_only(*objects: Chunk) -> bytes:
    """An editor section without a main chunk."""
    document = new_document()
    document.records[:] = [r.Editor(children=list(objects))]
    return keyframer.encode(document)


def add_first_clip(which: str, start: tuple[float, ...] = STILL[0]) -> Callable[[Scene], None]:
    """Adds the first clip, in which one node moves."""

    def edit(scene: Scene) -> None:
        track = Track("position", np.array([0.0, 10.0]), np.array([start, MOVED[0]]), Interpolation.TCB)
        scene.clips = [Clip(channels=[Channel(scene.nodes.index(scene.node(which)), track)], end=10.0)]

    return edit


def joint(flags1: int) -> r.Node:
    return make.node("object", "$$$DUMMY", 1, r.InstanceName(b"joint"), flags1=flags1)


MERGED: dict[str, Merge] = {
    # surroundings
    "a gradient of one colour": Merge(
        file_with(gradient(RED)),
        set_environment(gradient=Gradient(0.5, [RED, GREEN, BLUE])),
        file_with(gradient(RED, GREEN, BLUE)),
    ),
    # materials
    "a second map next to one without settings": Merge(
        file_with(material(r.TextureMap1(children=[r.MapName(b"A.TGA")]))),
        add_second_map,
        file_with(material(r.TextureMap1(children=[r.MapName(b"A.TGA")]), BUMP)),
    ),
    # meshes
    "first vertices": Merge(
        box(body()),
        set_mesh(positions=np.array(make.TRIANGLE)),
        box(body(points())),
    ),
    "flags of vertices": Merge(
        box(body(points(), r.PointFlags(np.array([1, 2, 3], "<u2")), FACES)),
        set_mesh(positions=LONG),
        box(body(points(LONG), r.PointFlags(np.array([1, 2, 3, 0], "<u2")), FACES)),
    ),
    "a moving mesh without vertices": Merge(
        box(body(), nodes=[at(STILL)]),
        move_key("Box"),
        box(body(), nodes=[at(MOVED)]),
    ),
    "a mesh stored away from its node": Merge(
        box(make.mesh("Box"), nodes=[at(AWAY)]),
        move_key("Box"),
        box(make.mesh("Box"), nodes=[at(MOVED)]),
    ),
    # nodes
    "name of a node without an object": Merge(
        file_with(nodes=[make.node("camera", "Ghost", 1)]),
        set_node("Ghost", name="Spirit"),
        file_with(nodes=[make.node("camera", "Spirit", 1)]),
    ),
    # keyframer
    "the first segment": Merge(
        without_frames(),
        set_fields(lambda scene: scene.clips[0], start=5.0, end=50.0),
        without_frames(r.Frames(5, 50)),
    ),
    "the first current frame": Merge(
        without_frames(r.Frames(0, 100)),
        set_fields(lambda scene: scene.clips[0], current=7.0),
        without_frames(r.Frames(0, 100), r.CurrentTime(7)),
    ),
    "a file without keyframer": Merge(
        without_keyframer(make.mesh("Box")),
        set_environment(background_color=BLUE),
        without_keyframer(r.BackgroundColor(children=[r.ColorFloat(BLUE)]), make.mesh("Box")),
    ),
}


NEW_FILES: dict[str, NewFile] = {
    "one mesh at two positions": NewFile(
        two_nodes_of_one_mesh(AWAY, MOVED, revision=3),
        set_mesh(positions=TALL),
        "several nodes show the object of 'Box'",
    ),
    "one mesh of two nodes, of which one moves": NewFile(
        two_nodes_of_one_mesh(STILL, STILL),
        move_key("Box"),
        "several nodes show the object of 'Box'",
    ),
    "name of a mesh with two nodes": NewFile(
        two_nodes_of_one_mesh(STILL, STILL),
        set_node("Box", name="Case"),
        "several nodes show the object of 'Box",
    ),
    "the first shapes": NewFile(
        box(make.mesh("Box"), make.mesh("Tall", TALL)),
        lambda scene: (
            set_node("Box", morph=Morph(["Box", "Tall"], [np.array(make.TRIANGLE), TALL]))(scene),
            set_first_track("Box", MORPH)(scene),
        ),
        "the shapes of a morph changed",
    ),
    "a first track in a file without a main chunk": NewFile(
        editor_only(make.mesh("Box")),
        add_first_clip("Box"),
        "the file is only an editor section",
    ),
    "parent by name": NewFile(
        file_with(nodes=[joint(0x4000), at(STILL, "Lid", 2, r.ParentName(b"Box"))]),
        set_node("Lid", parent=None),
        "the parent of 'Lid' is stored by name",
    ),
}


NEW_CHUNKS: dict[str, tuple[bytes, Callable[[Scene], object], Callable[[Scene], object]]] = {
    "no editor": (
        without_editor(joint(0x4000)),
        set_environment(background_color=BLUE),
        lambda scene: scene.environment.background_color == BLUE,
    ),
    "a material without a name": (
        file_with(material(r.MaterialTwoSided(), name=None)),
        set_fields(lambda scene: scene.materials[0], name="steel"),
        lambda scene: (scene.materials[0].name, scene.materials[0].two_sided) == ("steel", True),
    ),
    "a first track of an object without a node": (
        file_with(make.mesh("Lid")),
        set_first_track("Lid", Track("position", np.zeros(1), np.array(MOVED), Interpolation.TCB)),
        lambda scene: scene.node("Lid").position.tolist() == list(MOVED[0]),
    ),
    "another current frame in a file of 3ds Max": (
        make.file_bytes([make.mesh("Box")], [r.CurrentTime(160), at(STILL)], writer=b"MAXSCENE"),
        set_fields(lambda scene: scene.clips[0], current=7.0),
        lambda scene: scene.clips[0].current == 7.0,
    ),
    "name of a clip without a header": (
        keyframer.encode(
            new_document(r.Version(3), r.Editor(children=[make.mesh("Box")]), r.Keyframer(children=[at(STILL)]))
        ),
        set_fields(lambda scene: scene.clips[0], name="run"),
        lambda scene: scene.clips[0].name == "run",
    ),
    "position of a mesh without a node": (
        without_keyframer(make.mesh("Box")),
        set_node("Box", position=np.array([1.0, 2, 3])),
        lambda scene: scene.node("Box").position.tolist() == [1.0, 2.0, 3.0],
    ),
}


@pytest.mark.parametrize("name", NEW_CHUNKS)
def test_missing_chunks_are_added(name: str) -> None:
    data, edit, holds = NEW_CHUNKS[name]
    written = save_edited(data, edit)
    assert not written.report.of(Outcome.DROPPED)
    assert holds(load(merged(written)))


NOT_STORABLE: dict[str, tuple[bytes, Callable[[Scene], object], str]] = {
    "embedded images": (
        file_with(material(r.TextureMap1(children=[r.MapName(b"A.TGA")]))),
        set_fields(lambda scene: scene.materials[0].maps["texture1"], embedded=b"\x89PNG"),
        "/materials/0/maps/texture1/embedded",
    ),
    "shapes without animation": (
        without_keyframer(make.mesh("Box"), make.mesh("Tall", TALL)),
        set_node("Box", morph=Morph(["Box", "Tall"], [np.array(make.TRIANGLE), TALL])),
        "/nodes/Box/morph",
    ),
    "parent without an id": (
        file_with(nodes=[make.node("ambient", "$AMBIENT$", None)]),
        set_node("Box", parent=1),
        "/nodes/0/parent",
    ),
}


@pytest.mark.parametrize("name", NOT_STORABLE)
def test_edits_that_a_new_file_could_not_store_either_are_reported(name: str) -> None:
    data, edit, path = NOT_STORABLE[name]
    written = save_edited(data, edit)
    assert rewrite_reasons(written) == []
    assert [loss.path for loss in written.report.of(Outcome.DROPPED)] == [path]


def ambient_light(color: tuple[float, float, float]) -> bytes:
    return file_with(r.AmbientColor(children=[r.ColorFloat(color)]), nodes=[make.node("ambient", "$AMBIENT$", None)])


def test_ambient_light_is_stored_in_the_editor() -> None:
    """It is a light of the scene and a part of the environment, and the file stores it once."""

    def edit(scene: Scene) -> None:
        (light,) = [light for light in scene.lights if light.type is LightType.AMBIENT]
        light.color = scene.environment.ambient = BLUE

    assert merged(save_edited(ambient_light(RED), edit)) == ambient_light(BLUE)


def test_a_mesh_with_a_singular_matrix_is_drawn_as_stored() -> None:
    data = box(make.mesh("Box", matrix=np.zeros((4, 3))), nodes=[at(AWAY)])
    triangle = np.array(make.TRIANGLE)
    assert np.allclose(keyframer.pose(load(data), frames=[0.0]).vertices(0)[0], triangle)
    written = save_edited(data, lambda scene: setattr(scene.meshes[0], "positions", scene.meshes[0].positions * 2))
    assert rewrite_reasons(written) == []
    (stored,) = written.document.find(r.PointArray)
    assert np.allclose(stored.points, 2 * (triangle - 9) + 9)  # twice as large about the node, which is at 9 9 9


def test_an_object_that_starts_to_move_gets_a_matrix() -> None:
    written = save_edited(without_keyframer(make.mesh("Lid", TALL)), add_first_clip("Lid", AWAY[0]))
    (lid,) = written.document.find(r.NamedObject)
    (stored,) = lid.children
    assert [type(child) for child in stored.children] == [r.PointArray, r.FaceArray, r.MeshMatrix]
    posed = keyframer.pose(load(merged(written)), frames=[10.0])
    assert np.allclose(posed.vertices(0)[0], TALL + np.array(MOVED))


def test_a_camera_that_starts_to_move_keeps_its_chunk() -> None:
    eye = make.camera("Eye", STILL[0], (0.0, 5.0, 0.0))
    written = save_edited(without_keyframer(eye), add_first_clip("Eye"))
    assert [record.lens for record in written.document.find(r.Camera)] == [50.0]
    assert [type(record) for record in written.document.find(r.Node)] == [r.CameraNode, r.CameraTargetNode]
    posed = keyframer.pose(load(merged(written)), frames=[10.0])
    assert np.allclose(posed.world[0][0][:3, 3], MOVED[0])


def test_an_object_without_a_node_is_removed_from_the_editor() -> None:
    lamp = r.NamedObject(b"Lamp", children=[r.Light((1.0, 0.0, 0.0))])

    def edit(scene: Scene) -> None:
        assert scene.nodes.pop().name == "Lamp"

    assert merged(save_edited(file_with(lamp), edit)) == file_with()


def test_a_new_material_with_a_long_name_is_renamed_and_reported() -> None:
    name = "a very long name of a paint"
    written = save_edited(file_with(material()), lambda scene: scene.materials.append(Material(name)))
    assert rewrite_reasons(written) == []
    assert [record.name for record in written.document.find(r.MaterialName)] == [b"paint", name[:16].encode()]
    (reported,) = [loss for loss in written.report.of(Outcome.BAKED) if loss.path == f"/materials/{name}"]
    assert (reported.type.key, reported.args["name"]) == ("NAME_CHANGED:rule", name[:16])
    assert str(reported.args["rule"]).startswith(": names have 1 to 16 characters")


FRAMES: dict[str, Callable[[Scene], object]] = {
    "project.prj": set_fields(lambda scene: scene.materials[0], two_sided=False),
    "library.mli": set_fields(lambda scene: scene.materials[0], two_sided=True),
    "bare_editor.3ds": set_fields(lambda scene: scene.cameras[0], roll_degrees=5.0),
}


@pytest.mark.parametrize("name", FRAMES)
def test_projects_libraries_and_bare_editors_keep_their_structure(name: str) -> None:
    data = (SAMPLES / name).read_bytes()
    written = save_edited(data, FRAMES[name])
    assert rewrite_reasons(written) == []
    before = keyframer.decode(data, format="3ds")
    kinds = [type(record) for record in before.find(Chunk) if type(record) is not r.MaterialTwoSided]
    assert [type(record) for record in written.document.find(Chunk) if type(record) is not r.MaterialTwoSided] == kinds
