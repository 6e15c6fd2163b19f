"""3D Studio files of odd make in which one thing is edited: the bytes of the same file with the edit in it, or the
reason why all was written anew."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import keyframer
from keyframer.curves import Interpolation, Track
from keyframer.formats.kit.scene_reading import scene_of
from keyframer.formats.kit.scene_writing import Written
from keyframer.formats.threeds import FORMAT
from keyframer.formats.threeds import records as r
from keyframer.formats.threeds.chunk import Chunk
from keyframer.formats.threeds.document import new_document
from keyframer.scene import Channel, Clip, Gradient, LayeredFog, LightType, Material, Morph, Scene, TextureMap
from keyframer.scene.loss_report import Outcome
from tests.formats.editing import put, why_anew
from tests.formats.threeds.bridge import make

SAMPLES = Path(__file__).parents[2] / "samples/3ds"
RED, GREEN, BLUE = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
STILL = ((0.0, 0.0, 0.0),)
AWAY = ((9.0, 9.0, 9.0),)
MOVED = ((5.0, 6.0, 7.0),)
TALL = np.array(make.TRIANGLE) * 2
MORPH = Track("morph", np.array([0.0, 10.0]), np.eye(2), Interpolation.TCB)
LONG = np.array([[0.0, 0, 0], [1, 0, 0], [0, 2, 0], [4, 4, 4]])


def loaded(data: bytes) -> Scene:
    return scene_of(keyframer.decode(data, format="3ds"))


def written(data: bytes, edit: Callable[[Scene], object]) -> Written:
    scene = loaded(data)
    edit(scene)
    return FORMAT.from_scene(scene)


def around(**values: Any) -> Callable[[Scene], None]:
    return put(lambda scene: scene.environment, **values)


def node(which: str, /, **values: Any) -> Callable[[Scene], None]:
    return put(lambda scene: scene.node(which), **values)


def mesh(**values: Any) -> Callable[[Scene], None]:
    return put(lambda scene: scene.meshes[0], **values)


def moved(which: str) -> Callable[[Scene], None]:
    """Another value for the only key of a node's place."""

    def edit(scene: Scene) -> None:
        place = scene.nodes.index(scene.node(which))
        channel = next(channel for channel in scene.clips[0].channels if channel.node == place)
        channel.track.values = np.array(MOVED)

    return edit


def first_track(which: str, track: Track) -> Callable[[Scene], None]:
    return lambda scene: scene.clips[0].channels.append(Channel(scene.nodes.index(scene.node(which)), track))


def file_with(*before: Chunk, nodes: Sequence[Chunk] = ()) -> bytes:
    """What is given and a box."""
    return make.file_bytes([*before, make.mesh("Box")], [make.node("object", "Box", 0), *nodes])


def body(*parts: Chunk) -> r.NamedObject:
    return r.NamedObject(b"Box", children=[r.Mesh(children=list(parts))])


def box(*objects: Chunk, nodes: Sequence[Chunk] | None = None) -> bytes:
    return make.file_bytes(objects, [make.node("object", "Box", 0)] if nodes is None else nodes)


def points(values: Any = make.TRIANGLE) -> r.PointArray:
    return r.PointArray(np.array(values, "<f4"))


FACES = r.FaceArray(np.array([[0, 1, 2, 7]], "<u2"))


def gradient(*colors: tuple[float, float, float]) -> r.BackgroundGradient:
    return r.BackgroundGradient(0.5, children=[r.ColorFloat(each) for each in colors])


def material(*maps: Chunk, name: bytes | None = b"paint") -> r.Material:
    return r.Material(children=[*([] if name is None else [r.MaterialName(name)]), *maps])


def second_map(scene: Scene) -> None:
    scene.materials[0].maps["bump"] = TextureMap("B.TGA", b"B.TGA", 0.25)


BUMP = r.BumpMap(children=[r.PercentInt(25), r.MapName(b"B.TGA"), r.MapParameters(0)])


def at(values: Any, name: str = "Box", number: int | None = 0, *inside: Chunk, parent: int = -1) -> r.Node:
    return make.node("object", name, number, make.track("position", (0,), values), *inside, parent=parent)


def twins(one: Any, other: Any, revision: int = 5) -> bytes:
    """Two nodes that show one mesh; in files of old revisions its vertices are where they are drawn."""
    return make.file_bytes([make.mesh("Box")], [at(one), at(other, "Box", 1, r.InstanceName(b"twin"))], revision)


def without_frames(*frames: Chunk) -> bytes:
    inside = [r.KeyframerHeader(revision=5, name=b"", length=100), *frames, at(STILL)]
    editor = r.Editor(children=[make.mesh("Box")])
    return keyframer.encode(new_document(r.Version(3), editor, r.Keyframer(children=inside)))


def without_keyframer(*objects: Chunk) -> bytes:
    return keyframer.encode(new_document(r.Version(3), r.Editor(children=list(objects))))


def without_editor(*nodes: Chunk) -> bytes:
    inside = [r.KeyframerHeader(revision=5, name=b"", length=100), r.Frames(0, 100), *nodes]
    return keyframer.encode(new_document(r.Version(3), r.Keyframer(children=inside)))


def editor_alone(*objects: Chunk) -> bytes:
    """The editor's section without anything around it."""
    document = new_document()
    document.records[:] = [r.Editor(children=list(objects))]
    return keyframer.encode(document)


def first_motion(which: str, start: tuple[float, ...] = STILL[0]) -> Callable[[Scene], None]:
    """The first clip, in which one node moves."""

    def edit(scene: Scene) -> None:
        track = Track("position", np.array([0.0, 10.0]), np.array([start, MOVED[0]]), Interpolation.TCB)
        scene.clips = [Clip(channels=[Channel(scene.nodes.index(scene.node(which)), track)], end=10.0)]

    return edit


def joint(flags1: int) -> r.Node:
    return make.node("object", "$$$DUMMY", 1, r.InstanceName(b"joint"), flags1=flags1)


MERGED: dict[str, tuple[bytes, Callable[[Scene], object], bytes]] = {
    # surroundings
    "a gradient of one colour": (
        file_with(gradient(RED)),
        around(gradient=Gradient(0.5, [RED, GREEN, BLUE])),
        file_with(gradient(RED, GREEN, BLUE)),
    ),
    "no layers of fog": (
        file_with(r.LayerFog(1.0, 2.0, 0.5, 3, children=[r.ColorFloat(BLUE)])),
        around(layered_fog=None),
        file_with(),
    ),
    "other layers of fog": (
        file_with(r.LayerFog(1.0, 2.0, 0.5, 3)),
        around(layered_fog=LayeredFog(2.0, 3.0, 0.25, 1, BLUE)),
        file_with(r.LayerFog(2.0, 3.0, 0.25, 1, children=[r.ColorFloat(BLUE)])),
    ),
    # materials
    "a second map beside one of which nothing is said": (
        file_with(material(r.TextureMap1(children=[r.MapName(b"A.TGA")]))),
        second_map,
        file_with(material(r.TextureMap1(children=[r.MapName(b"A.TGA")]), BUMP)),
    ),
    # meshes
    "first vertices": (
        box(body()),
        mesh(positions=np.array(make.TRIANGLE)),
        box(body(points())),
    ),
    "flags of vertices": (
        box(body(points(), r.PointFlags(np.array([1, 2, 3], "<u2")), FACES)),
        mesh(positions=LONG),
        box(body(points(LONG), r.PointFlags(np.array([1, 2, 3, 0], "<u2")), FACES)),
    ),
    "shadows again": (
        box(r.NamedObject(b"Box", children=[r.ObjectDoesNotCast(), *make.mesh("Box").children])),
        mesh(casts_shadows=True),
        box(make.mesh("Box")),
    ),
    "a mesh without vertices that moves": (
        box(body(), nodes=[at(STILL)]),
        moved("Box"),
        box(body(), nodes=[at(MOVED)]),
    ),
    "a mesh that never stood where its node does": (
        box(make.mesh("Box"), nodes=[at(AWAY)]),
        moved("Box"),
        box(make.mesh("Box"), nodes=[at(MOVED)]),
    ),
    "first shapes": (
        box(make.mesh("Box"), make.mesh("Tall", TALL)),
        lambda scene: (
            node("Box", morph=Morph(["Box", "Tall"], [np.array(make.TRIANGLE), TALL]))(scene),
            first_track("Box", MORPH)(scene),
        ),
        box(
            make.mesh("Box"),
            make.mesh("Tall", TALL),
            nodes=[make.node("object", "Box", 0, make.morph((0, 10), (b"Box", b"Tall")))],
        ),
    ),
    "a map of which nothing at all is said": (
        file_with(material(r.TextureMap1())),
        second_map,
        file_with(material(r.TextureMap1(), BUMP)),
    ),
    "name of a light": (
        file_with(r.NamedObject(b"Omni", children=[r.Light((3.0, 0.0, 0.0))])),
        put(lambda scene: scene.lights[0], name="x"),
        file_with(r.NamedObject(b"Omni", children=[r.Light((3.0, 0.0, 0.0))])),
    ),
    # nodes
    "name of a node that shows nothing": (
        file_with(nodes=[make.node("camera", "Ghost", 1)]),
        node("Ghost", name="Spirit"),
        file_with(nodes=[make.node("camera", "Spirit", 1)]),
    ),
    "a dummy that is shown": (
        file_with(nodes=[joint(0x4800)]),
        node("joint", hidden=False),
        file_with(nodes=[joint(0x4000)]),
    ),
    # keyframer
    "the first segment": (
        without_frames(),
        put(lambda scene: scene.clips[0], start=5.0, end=50.0),
        without_frames(r.Frames(5, 50)),
    ),
    "the first frame to show": (
        without_frames(r.Frames(0, 100)),
        put(lambda scene: scene.clips[0], current=7.0),
        without_frames(r.Frames(0, 100), r.CurrentTime(7)),
    ),
    "another frame to show": (
        without_frames(r.Frames(0, 100), r.CurrentTime(3)),
        put(lambda scene: scene.clips[0], current=7.0),
        without_frames(r.Frames(0, 100), r.CurrentTime(7)),
    ),
    "name of the clip": (
        make.file_bytes([make.mesh("Box")], [at(STILL)], writer=b"walk"),
        put(lambda scene: scene.clips[0], name="run"),
        make.file_bytes([make.mesh("Box")], [at(STILL)], writer=b"run"),
    ),
    "a file without keyframer": (
        without_keyframer(make.mesh("Box")),
        around(background_color=BLUE),
        without_keyframer(r.BackgroundColor(children=[r.ColorFloat(BLUE)]), make.mesh("Box")),
    ),
}


@pytest.mark.parametrize("name", MERGED)
def test_one_edit_is_one_change_of_the_bytes(name: str) -> None:
    data, edit, wanted = MERGED[name]
    found = written(data, edit)
    assert why_anew(found) == []
    assert keyframer.encode(found.document) == wanted


REFUSED: dict[str, tuple[bytes, Callable[[Scene], object], str]] = {
    "one mesh in two places": (twins(AWAY, MOVED, revision=3), mesh(positions=TALL), "/meshes/1/positions"),
    "one mesh of two nodes, of which one moves": (twins(STILL, STILL), moved("Box"), "/meshes/0/positions"),
    "name of a mesh that two nodes show": (twins(STILL, STILL), node("Box", name="Case"), "/nodes/1/mesh"),
    "shapes of another size": (
        box(make.mesh("Box"), make.mesh("Tall", LONG)),
        lambda scene: (
            node("Box", morph=Morph(["Box", "Tall"], [np.array(make.TRIANGLE), TALL]))(scene),
            first_track("Box", MORPH)(scene),
        ),
        "the number of vertices of the shape 'Tall' changed",
    ),
    "a shape whose matrix has no inverse": (
        box(make.mesh("Box"), make.mesh("Tall", TALL, matrix=np.zeros((4, 3)))),
        lambda scene: (
            node("Box", morph=Morph(["Box", "Tall"], [np.array(make.TRIANGLE), TALL * 2]))(scene),
            first_track("Box", MORPH)(scene),
        ),
        "the matrix of a shape is singular",
    ),
    "a first track in a file that is an editor's alone": (
        editor_alone(make.mesh("Box")),
        first_motion("Box"),
        "/clips would read back differently",
    ),
    "parent by name": (
        file_with(nodes=[joint(0x4000), at(STILL, "Lid", 2, r.ParentName(b"Box"))]),
        node("Lid", parent=None),
        "/nodes/2/parent",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_place_is_said_and_all_written_anew(name: str) -> None:
    data, edit, words = REFUSED[name]
    (why,) = why_anew(written(data, edit))
    assert words in why


MADE_ROOM: dict[str, tuple[bytes, Callable[[Scene], object], Callable[[Scene], object]]] = {
    "no editor": (
        without_editor(joint(0x4000)),
        around(background_color=BLUE),
        lambda scene: scene.environment.background_color == BLUE,
    ),
    "a material without a name": (
        file_with(material(r.MaterialTwoSided(), name=None)),
        put(lambda scene: scene.materials[0], name="steel"),
        lambda scene: (scene.materials[0].name, scene.materials[0].two_sided) == ("steel", True),
    ),
    "a first track of what a keyframer does not know": (
        file_with(make.mesh("Lid")),
        first_track("Lid", Track("position", np.zeros(1), np.array(MOVED), Interpolation.TCB)),
        lambda scene: scene.node("Lid").position.tolist() == list(MOVED[0]),
    ),
    "no frame to show": (
        without_frames(r.Frames(0, 100), r.CurrentTime(3)),
        put(lambda scene: scene.clips[0], current=None),
        lambda scene: scene.clips[0].current is None,
    ),
    "another frame to show in a file of 3ds Max": (
        make.file_bytes([make.mesh("Box")], [r.CurrentTime(160), at(STILL)], writer=b"MAXSCENE"),
        put(lambda scene: scene.clips[0], current=7.0),
        lambda scene: scene.clips[0].current == 7.0,
    ),
    "name of a clip without a header": (
        keyframer.encode(
            new_document(r.Version(3), r.Editor(children=[make.mesh("Box")]), r.Keyframer(children=[at(STILL)]))
        ),
        put(lambda scene: scene.clips[0], name="run"),
        lambda scene: scene.clips[0].name == "run",
    ),
    "place of a mesh outside": (
        without_keyframer(make.mesh("Box")),
        node("Box", position=np.array([1.0, 2, 3])),
        lambda scene: scene.node("Box").position.tolist() == [1.0, 2.0, 3.0],
    ),
}


@pytest.mark.parametrize("name", MADE_ROOM)
def test_what_the_file_had_no_chunk_for_gets_one(name: str) -> None:
    data, edit, holds = MADE_ROOM[name]
    found = written(data, edit)
    assert why_anew(found) == []
    assert not found.report.of(Outcome.DROPPED)
    assert holds(loaded(keyframer.encode(found.document)))


UNHELD: dict[str, tuple[bytes, Callable[[Scene], object], str]] = {
    "images inside": (
        file_with(material(r.TextureMap1(children=[r.MapName(b"A.TGA")]))),
        put(lambda scene: scene.materials[0].maps["texture1"], embedded=b"\x89PNG"),
        "/materials/0/maps/texture1/embedded",
    ),
    "vertices that no face has, too many": (
        box(make.mesh("Box")),
        mesh(positions=np.zeros((65_536, 3))),
        "/meshes/0/positions",
    ),
    "shapes where nothing moves": (
        without_keyframer(make.mesh("Box"), make.mesh("Tall", TALL)),
        node("Box", morph=Morph(["Box", "Tall"], [np.array(make.TRIANGLE), TALL])),
        "/nodes/Box/morph",
    ),
    "parent without a number": (
        file_with(nodes=[make.node("ambient", "$AMBIENT$", None)]),
        node("Box", parent=1),
        "/nodes/0/parent",
    ),
}


@pytest.mark.parametrize("name", UNHELD)
def test_what_a_new_file_would_not_hold_either_is_told(name: str) -> None:
    data, edit, path = UNHELD[name]
    found = written(data, edit)
    assert why_anew(found) == []
    assert [loss.path for loss in found.report.of(Outcome.DROPPED)] == [path]


def ambience(color: tuple[float, float, float]) -> bytes:
    return file_with(r.AmbientColor(children=[r.ColorFloat(color)]), nodes=[make.node("ambient", "$AMBIENT$", None)])


def test_light_from_everywhere_has_its_colour_in_the_editor() -> None:
    """It is a light of the scene and a part of its surroundings, and the file says it once."""

    def edit(scene: Scene) -> None:
        (light,) = [light for light in scene.lights if light.type is LightType.AMBIENT]
        light.color = scene.environment.ambient = BLUE

    found = written(ambience(RED), edit)
    assert why_anew(found) == []
    assert keyframer.encode(found.document) == ambience(BLUE)


def test_a_mesh_with_a_matrix_without_inverse_is_drawn_as_it_is_stored() -> None:
    data = box(make.mesh("Box", matrix=np.zeros((4, 3))), nodes=[at(AWAY)])
    triangle = np.array(make.TRIANGLE)
    assert np.allclose(keyframer.pose(loaded(data), frames=[0.0]).vertices(0)[0], triangle)
    found = written(data, lambda scene: setattr(scene.meshes[0], "positions", scene.meshes[0].positions * 2))
    assert why_anew(found) == []
    (stored,) = found.document.find(r.PointArray)
    assert np.allclose(stored.points, 2 * (triangle - 9) + 9)  # twice as large about the node, which stands at 9 9 9


def test_an_object_that_begins_to_move_gets_a_matrix_if_it_had_none() -> None:
    found = written(without_keyframer(make.mesh("Lid", TALL)), first_motion("Lid", AWAY[0]))
    assert why_anew(found) == []
    (lid,) = found.document.find(r.NamedObject)
    (stored,) = lid.children
    assert [type(child) for child in stored.children] == [r.PointArray, r.FaceArray, r.MeshMatrix]
    posed = keyframer.pose(loaded(keyframer.encode(found.document)), frames=[10.0])
    assert np.allclose(posed.vertices(0)[0], TALL + np.array(MOVED))


def test_a_camera_that_begins_to_move_keeps_its_chunk() -> None:
    eye = make.camera("Eye", STILL[0], (0.0, 5.0, 0.0))
    found = written(without_keyframer(eye), first_motion("Eye"))
    assert why_anew(found) == []
    assert [record.lens for record in found.document.find(r.Camera)] == [50.0]
    assert [type(record) for record in found.document.find(r.Node)] == [r.CameraNode, r.CameraTargetNode]
    posed = keyframer.pose(loaded(keyframer.encode(found.document)), frames=[10.0])
    assert np.allclose(posed.world[0][0][:3, 3], MOVED[0])


def test_what_the_keyframer_never_knew_goes_out_of_the_editor() -> None:
    lamp = r.NamedObject(b"Lamp", children=[r.Light((1.0, 0.0, 0.0))])

    def edit(scene: Scene) -> None:
        assert scene.nodes.pop().name == "Lamp"

    found = written(file_with(lamp), edit)
    assert why_anew(found) == []
    assert keyframer.encode(found.document) == file_with()


def test_a_new_material_with_too_long_a_name_says_what_it_is_called() -> None:
    name = "a very long name of a paint"
    found = written(file_with(material()), lambda scene: scene.materials.append(Material(name)))
    assert why_anew(found) == []
    assert [record.name for record in found.document.find(r.MaterialName)] == [b"paint", name[:16].encode()]
    (told,) = [loss for loss in found.report.of(Outcome.BAKED) if loss.path == f"/materials/{name}"]
    assert told.detail.startswith(f"renamed to '{name[:16]}': names have 1 to 16 characters")


FRAMES: dict[str, Callable[[Scene], object]] = {
    "project.prj": put(lambda scene: scene.materials[0], two_sided=False),
    "library.mli": put(lambda scene: scene.materials[0], two_sided=True),
    "bare_editor.3ds": put(lambda scene: scene.cameras[0], roll_degrees=5.0),
}


@pytest.mark.parametrize("name", FRAMES)
def test_projects_libraries_and_bare_editors_stay_what_they_are(name: str) -> None:
    data = (SAMPLES / name).read_bytes()
    found = written(data, FRAMES[name])
    assert why_anew(found) == []
    before = keyframer.decode(data, format="3ds")
    kinds = [type(record) for record in before.find(Chunk) if type(record) is not r.MaterialTwoSided]
    assert [type(record) for record in found.document.find(Chunk) if type(record) is not r.MaterialTwoSided] == kinds
