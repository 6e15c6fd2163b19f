"""3D Studio files in which one thing is edited: the bytes are those of the same file made with the edit in it."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import keyframer
from keyframer.curves import Interpolation, RotationForm, Track
from keyframer.formats.kit.scene_reading import scene_of
from keyframer.formats.kit.scene_writing import Written
from keyframer.formats.threeds import FORMAT
from keyframer.formats.threeds import records as r
from keyframer.formats.threeds.chunk import Chunk, RawChunk
from keyframer.scene import Channel, Clip, LightType, Morph, Scene
from keyframer.scene.loss_report import Outcome
from tests.formats.editing import why_anew
from tests.formats.threeds.bridge import make

STILL = ((0.0, 0.0, 0.0),)
MOVED = np.add(make.TRIANGLE, (5.0, 6.0, 7.0))


def parts() -> SimpleNamespace:
    """Chunks of a file with one of each, and things nobody knows between them."""
    strange = RawChunk(0x7777, b"nobody knows")
    found = SimpleNamespace()
    found.box = make.mesh("Box", make.TRIANGLE, RawChunk(0x7777, b"box"))
    found.lid = make.mesh("Lid")
    found.lid.children.insert(0, r.ObjectHidden())
    found.cam = make.camera("Cam", (0.0, -9.0, 0.0), (0.0, 5.0, 0.0))
    found.eye = found.cam.children[0]
    found.eye.children = [strange]
    found.spot = make.spot("Spot", (0.0, 0.0, 9.0), (1.0, 0.0, 0.0))
    found.lamp = found.spot.children[0]
    found.cone = found.lamp.children[0]
    found.cone.children = [strange]
    found.lamp.children = [r.ColorFloat((1.0, 1.0, 1.0)), found.cone, r.LightExclude(b"Box"), r.LightExclude(b"Lid")]
    found.omni = r.NamedObject(b"Omni", children=[r.Light((3.0, 0.0, 0.0), children=[r.ColorByte((255, 0, 0))])])
    found.bulb = found.omni.children[0]
    found.alone = make.camera("Alone", (1.0, 1.0, 1.0), (0.0, 0.0, 0.0))
    found.lone = r.NamedObject(b"Lone", children=[r.Light((1.0, 0.0, 0.0))])
    move = make.track("position", (0, 10), ((0.0, 0.0, 0.0), (1.0, 2.0, 3.0)))
    found.box_node = make.node("object", "Box", 0, move, strange)
    found.lid_node = make.node("object", "Lid", 1, make.track("position", (0,), STILL), flags1=0x4800)
    found.joint = make.node("object", "$$$DUMMY", 2, r.InstanceName(b"joint"), parent=0)
    found.cam_node = make.node("camera", "Cam", 3, make.track("position", (0,), ((0.0, -9.0, 0.0),)))
    found.cam_goal = make.node("camera target", "Cam", 4, make.track("position", (0,), ((0.0, 5.0, 0.0),)))
    found.spot_node = make.node("spot", "Spot", 5, make.track("position", (0,), ((0.0, 0.0, 9.0),)))
    found.spot_goal = make.node("spot target", "Spot", 6, make.track("position", (0,), ((1.0, 0.0, 0.0),)))
    found.omni_node = make.node("omni", "Omni", 7, make.hide((4,)), make.track("position", (0,), ((3.0, 0.0, 0.0),)))
    return found


def file_of(found: SimpleNamespace) -> bytes:
    objects = [found.box, found.lid, found.cam, found.spot, found.omni, found.alone, found.lone]
    nodes = [found.box_node, found.lid_node, found.joint, found.cam_node, found.cam_goal, found.spot_node]
    return make.file_bytes(objects, [*nodes, found.spot_goal, found.omni_node])


def loaded(data: bytes) -> Scene:
    return scene_of(keyframer.decode(data, format="3ds"))


def edited(edit: Callable[[Scene], object]) -> Written:
    scene = loaded(file_of(parts()))
    edit(scene)
    return FORMAT.from_scene(scene)


def number(scene: Scene, name: str) -> int:
    return next(i for i, node in enumerate(scene.nodes) if node.name == name)


def node(which: str, /, **values: Any) -> Callable[[Scene], None]:
    """An edit that sets attributes of a node."""

    def edit(scene: Scene) -> None:
        for field, value in values.items():
            setattr(scene.node(which), field, value)

    return edit


def camera(**values: Any) -> Callable[[Scene], None]:
    def edit(scene: Scene) -> None:
        for field, value in values.items():
            setattr(scene.cameras[0], field, value)

    return edit


def light(kind: LightType, /, **values: Any) -> Callable[[Scene], None]:
    def edit(scene: Scene) -> None:
        lamp = next(light for light in scene.lights if light.type is kind)
        for field, value in values.items():
            setattr(lamp, field, value)

    return edit


def spot(**values: Any) -> Callable[[Scene], None]:
    return light(LightType.SPOT, **values)


def omni(**values: Any) -> Callable[[Scene], None]:
    return light(LightType.OMNI, **values)


def set_(which: str, /, **values: Any) -> Callable[[SimpleNamespace], None]:
    """The same edit in the chunks."""

    def same(found: SimpleNamespace) -> None:
        for field, value in values.items():
            setattr(getattr(found, which), field, value)

    return same


def add(name: str, *made: Chunk, at: int | None = None) -> Callable[[SimpleNamespace], None]:
    def same(found: SimpleNamespace) -> None:
        children = getattr(found, name).children
        place = len(children) if at is None else at
        children[place:place] = made

    return same


def without(name: str, kind: type[Chunk]) -> Callable[[SimpleNamespace], None]:
    def same(found: SimpleNamespace) -> None:
        home = getattr(found, name)
        home.children = [child for child in home.children if not isinstance(child, kind)]

    return same


def both(*edits: Callable[[SimpleNamespace], None]) -> Callable[[SimpleNamespace], None]:
    def same(found: SimpleNamespace) -> None:
        for each in edits:
            each(found)

    return same


def header(which: str, /, **values: Any) -> Callable[[SimpleNamespace], None]:
    def same(found: SimpleNamespace) -> None:
        (chunk,) = [child for child in getattr(found, which).children if isinstance(child, r.NodeHeader)]
        for field, value in values.items():
            setattr(chunk, field, value)

    return same


def seen(name: str, times: tuple[float, ...], values: tuple[float, ...]) -> Callable[[Scene], None]:
    """Another track of hiding, or the first; as the reader has it, with a key one frame before the first change."""

    def edit(scene: Scene) -> None:
        place, clip = number(scene, name), scene.clips[0]
        clip.channels = [
            channel for channel in clip.channels if (channel.node, channel.track.kind) != (place, "visible")
        ]
        if times:
            track = Track("visible", np.array(times), np.array(values), Interpolation.STEP)
            clip.channels.append(Channel(place, track))

    return edit


def keyed(name: str, kind: str, values: Any) -> Callable[[Scene], None]:
    """The first track of a kind, from frame 0 to 10."""

    def edit(scene: Scene) -> None:
        form = RotationForm.QUATERNION_ABSOLUTE if kind == "scale_axes" else RotationForm.NONE
        track = Track(kind, np.array([0.0, 10.0]), np.array(values), Interpolation.TCB, form=form)
        scene.clips[0].channels.append(Channel(number(scene, name), track))

    return edit


def without_keys(scene: Scene) -> None:
    scene.clips[0].channels = [channel for channel in scene.clips[0].channels if channel.node != number(scene, "Box")]


BOX = r.BoundBox((-1.0, -1.0, -1.0), (1.0, 1.0, 1.0))
HIDE_AT_5 = make.hide((5,))

MERGED: dict[str, tuple[Callable[[Scene], object], Callable[[SimpleNamespace], Any]]] = {
    "nothing": (lambda scene: None, lambda found: None),
    # nodes
    "hidden": (node("Box", hidden=True), header("box_node", flags1=0x4800)),
    "shown": (node("Lid", hidden=False), both(header("lid_node", flags1=0x4000), without("lid", r.ObjectHidden))),
    "pivot": (node("joint", pivot=np.array([1.0, 2, 3])), add("joint", r.Pivot((1.0, 2.0, 3.0)), at=2)),
    "bounding box": (node("joint", bounding_box=(np.full(3, -1.0), np.ones(3))), add("joint", BOX, at=2)),
    "parent": (node("joint", parent=1), header("joint", parent=1)),
    "no parent": (node("joint", parent=None), header("joint", parent=-1)),
    "name of a dummy": (
        node("joint", name="knee"),
        lambda found: set_("joint", children=[*found.joint.children[:2], r.InstanceName(b"knee")])(found),
    ),
    "name of a mesh": (node("Box", name="Case"), both(set_("box", name=b"Case"), header("box_node", name=b"Case"))),
    "name of a camera": (
        node("Cam", name="Eye"),
        both(set_("cam", name=b"Eye"), header("cam_node", name=b"Eye"), header("cam_goal", name=b"Eye")),
    ),
    "name of what the keyframer does not know": (node("Alone", name="Single"), set_("alone", name=b"Single")),
    "place of what the keyframer does not know": (
        node("Alone", position=np.array([7.0, 8, 9])),
        lambda found: set_("alone", children=[r.Camera((7.0, 8.0, 9.0), (0.0, 0.0, 0.0), 0.0, 50.0)])(found),
    ),
    "place at rest": (
        node("joint", position=np.array([1.0, 2, 3])),
        add("joint", make.track("position", (0,), ((1.0, 2.0, 3.0),))),
    ),
    "size at rest": (
        node("joint", scale=np.array([1.0, 2, 3])),
        add("joint", make.track("scale", (0,), ((1.0, 2.0, 3.0),))),
    ),
    "turn at rest": (
        node("joint", rotation_xyzw=np.array([0.0, 0, 1, 0])),
        add("joint", make.track("rotation", (0,), ((np.pi, -0.0, -0.0, -1.0),))),
    ),
    # tracks
    "first hiding": (seen("Box", (4.0, 5.0), (1.0, 0.0)), add("box_node", HIDE_AT_5)),
    "first hiding, with a key where it begins": (seen("Box", (0.0, 5.0), (1.0, 0.0)), add("box_node", HIDE_AT_5)),
    "other hiding": (
        seen("Omni", (4.0, 5.0), (1.0, 0.0)),
        lambda found: found.omni_node.children.__setitem__(2, HIDE_AT_5),
    ),
    "no hiding": (seen("Omni", (), ()), without("omni_node", r.HideTrack)),
    "hidden from the start": (
        seen("Omni", (4.0, 5.0), (0.0, 1.0)),
        both(
            lambda found: found.omni_node.children.__setitem__(2, HIDE_AT_5),
            header("omni_node", flags1=0x4800),
        ),
    ),
    "first fields of view": (
        keyed("Cam", "fov", [48.0, 60.0]),
        add("cam_node", make.track("fov", (0, 10), ((48.0,), (60.0,)))),
    ),
    # cameras
    "field of view": (camera(fov_degrees=60.0), set_("eye", lens=40.0)),
    "roll": (camera(roll_degrees=30.0), set_("eye", bank=30.0)),
    "stored target": (camera(target=(1.0, 2.0, 3.0)), set_("eye", target=(1.0, 2.0, 3.0))),
    "ranges": (camera(ranges=(1.0, 9.0)), add("eye", r.CameraRanges(1.0, 9.0))),
    "cone": (camera(shows_cone=True), add("eye", r.CameraSeeCone())),
    # lights
    "colour": (spot(color=(0.5, 0.25, 0.0)), lambda found: setattr(found.lamp.children[0], "rgb", (0.5, 0.25, 0.0))),
    "colour in bytes": (
        omni(color=(0.0, 1.0, 0.2)),
        lambda found: setattr(found.bulb.children[0], "rgb", (0, 255, 51)),
    ),
    "colour that bytes cannot say": (
        omni(color=(0.0, 1.0, 0.21)),
        lambda found: found.bulb.children.__setitem__(0, r.ColorFloat((0.0, 1.0, 0.21))),
    ),
    "strength": (spot(multiplier=2.0), add("lamp", r.LightMultiplier(2.0))),
    "range": (spot(inner_range=2.0), add("lamp", r.LightInnerRange(2.0))),
    "off": (spot(on=False), add("lamp", r.LightOff())),
    "attenuated": (spot(attenuated=True), add("lamp", r.LightAttenuates())),
    "excluded": (
        spot(excludes=["Lid", "joint"]),
        lambda found: setattr(
            found.lamp, "children", [*found.lamp.children[:2], found.lamp.children[3], r.LightExclude(b"joint")]
        ),
    ),
    "angles": (spot(hotspot_degrees=10.0, falloff_degrees=20.0), set_("cone", hotspot=10.0, falloff=20.0)),
    "aim": (spot(target=(4.0, 5.0, 6.0)), set_("cone", target=(4.0, 5.0, 6.0))),
    "shadows": (spot(casts_shadows=True), add("cone", r.SpotShadowed())),
    "rectangle": (spot(rectangular=True), add("cone", r.SpotRectangular())),
    "aspect": (spot(aspect=2.0), add("cone", r.SpotAspect(2.0))),
    "roll of a light": (spot(roll_degrees=15.0), add("cone", r.SpotRoll(15.0))),
    "names of what is called as its node": (
        lambda scene: (spot(name="x")(scene), camera(name="y")(scene), setattr(scene.meshes[0], "name", "z")),
        lambda found: None,
    ),
    "place of a light that the keyframer does not know": (
        node("Lone", position=np.array([7.0, 8, 9])),
        lambda found: set_("lone", children=[r.Light((7.0, 8.0, 9.0))])(found),
    ),
    "hidden outside the keyframer": (node("Lone", hidden=True), add("lone", r.ObjectHidden(), at=0)),
    "projector": (spot(projector="GOBO.TGA"), add("cone", r.SpotMap(b"GOBO.TGA"))),
}


@pytest.mark.parametrize("name", MERGED)
def test_one_edit_is_one_change_of_the_bytes(name: str) -> None:
    edit, same = MERGED[name]
    found = parts()
    same(found)
    written = edited(edit)
    assert why_anew(written) == []
    assert keyframer.encode(written.document) == file_of(found)


def undone(first: Callable[[Scene], object], second: Callable[[Scene], object]) -> bytes:
    """The bytes after an edit that is made, saved, loaded and taken back."""
    scene = loaded(keyframer.encode(edited(first).document))
    second(scene)
    written = FORMAT.from_scene(scene)
    assert why_anew(written) == []
    return keyframer.encode(written.document)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (camera(ranges=(1.0, 9.0)), camera(ranges=None)),
        (camera(shows_cone=True), camera(shows_cone=False)),
        (spot(inner_range=3.0, outer_range=4.0), spot(inner_range=None, outer_range=None)),
        (spot(projector="GOBO.TGA"), spot(projector=None)),
        (spot(casts_shadows=True, rectangular=True), spot(casts_shadows=False, rectangular=False)),
        (node("joint", bounding_box=(np.full(3, -1.0), np.ones(3))), node("joint", bounding_box=None)),
        (node("Box", hidden=True), node("Box", hidden=False)),
        (seen("Box", (4.0, 5.0), (1.0, 0.0)), seen("Box", (), ())),
    ],
    ids=["ranges", "cone", "light", "projector", "spot", "box", "hidden", "visible"],
)
def test_an_edit_that_is_taken_back_leaves_nothing(first: Any, second: Any) -> None:
    assert undone(first, second) == file_of(parts())


def test_a_number_that_was_said_stays_said() -> None:
    found = parts()
    found.lamp.children.append(r.LightMultiplier(1.0))
    assert undone(spot(multiplier=2.0), spot(multiplier=1.0)) == file_of(found)


def test_ranges_that_are_there_change_their_numbers() -> None:
    found = parts()
    found.eye.children.append(r.CameraRanges(2.0, 8.0))
    assert undone(camera(ranges=(1.0, 9.0)), camera(ranges=(2.0, 8.0))) == file_of(found)


def test_a_mesh_that_moves_takes_its_vertices_along() -> None:
    """Raw vertices stand where the keyframer has them at frame 0: both change, and the matrix says so."""

    def edit(scene: Scene) -> None:
        channel = next(channel for channel in scene.clips[0].channels if channel.node == number(scene, "Lid"))
        channel.track.values = np.array([[5.0, 6.0, 7.0]])

    written = edited(edit)
    assert why_anew(written) == []
    found = loaded(keyframer.encode(written.document))
    place = number(found, "Lid")
    assert np.allclose(keyframer.pose(found, frames=[0.0]).vertices(place)[0], MOVED)
    raw = [record.points for record in written.document.find(r.PointArray)][1]
    assert raw.tolist() == MOVED.tolist()


def test_keys_that_are_gone_leave_the_node_where_it_rests() -> None:
    written = edited(without_keys)
    assert why_anew(written) == []
    found = parts()
    without("box_node", r.PositionTrack)(found)
    assert keyframer.encode(written.document) == file_of(found)


def blender(second: tuple[float, ...]) -> bytes:
    """Rotation keys as Blender writes them: each from rest, not from the one before."""
    keys = make.track("rotation", (0, 10, 20), ((0.25, 0.0, 0.0, 1.0), second, (0.75, 0.0, 0.0, 1.0)))
    return make.file_bytes([make.mesh("Box")], [make.node("object", "Box", 0, keys)], writer=b"Blender")


def test_absolute_keys_stay_absolute() -> None:
    scene = loaded(blender((0.5, 0.0, 0.0, 1.0)))
    (channel,) = scene.clips[0].channels
    values = channel.track.values.copy()
    values[1] = (0.0, 1.0, 0.0, -0.5)  # the file counts clockwise
    channel.track.values = values
    written = FORMAT.from_scene(scene)
    assert why_anew(written) == []
    assert keyframer.encode(written.document) == blender((0.5, 0.0, 1.0, 0.0))


REFUSED: dict[str, tuple[Callable[[Scene], object], str]] = {
    "axes of scale": (node("Box", scale_axes_xyzw=np.array([0.0, 0, 1, 0])), "nodes with scale axes"),
    "kind of a light": (omni(type=LightType.DIRECTIONAL), "/lights/1/target would read back differently"),
}


@pytest.mark.parametrize(
    ("wanted", "name"), [("Lid", "Lid2"), ("something very long", "something "), ("DUMMY", "DUMMY2"), ("lamp", "lamp")]
)
def test_other_names_fit_and_are_told(wanted: str, name: str) -> None:
    """At most ten letters, and each its own: as in a new file."""
    written = edited(node("Box", name=wanted))
    assert why_anew(written) == []
    raw = name.encode()
    data = keyframer.encode(written.document)
    assert raw + b"\0" in data
    assert loaded(data).nodes[0].name == name
    told = [loss.detail for loss in written.report.of(Outcome.BAKED)]
    assert told == (
        [] if wanted == name else [f"renamed to {name!r}: names have at most 10 characters and must be unique"]
    )


def test_other_names_of_materials_fit_and_are_told() -> None:
    paint = r.Material(children=[r.MaterialName(b"paint")])
    scene = loaded(make.file_bytes([paint, make.mesh("Box")], [make.node("object", "Box", 0)]))
    scene.materials[0].name = "a coat of grey paint"
    written = FORMAT.from_scene(scene)
    assert why_anew(written) == []
    assert b"a coat of grey p\0" in keyframer.encode(written.document)
    assert len(written.report.of(Outcome.BAKED)) == 1


NOWHERE: dict[str, Callable[[Scene], object]] = {
    "turned camera": node("Cam", rotation_xyzw=np.array([0.0, 0, 1, 0])),
    "turned light": node("Alone", rotation_xyzw=np.array([0.0, 0, 1, 0])),
    "clip planes": camera(clip=(1.0, 2.0)),
    "shadows of an omni": omni(casts_shadows=True),
    "cone of an omni": omni(falloff_degrees=30.0),
    "colours": lambda scene: setattr(scene.meshes[0], "colors", np.zeros((3, 3))),
    "title": lambda scene: setattr(scene, "title", "mill"),
    "author": lambda scene: setattr(scene, "author", "somebody"),
    "another clip": lambda scene: scene.clips.append(Clip("walk")),
    "name of a target": node("Cam.target", name="goal"),
    "scale axes": keyed("Box", "scale_axes", [[0.0, 0, 0, 1]] * 2),
    "shapes that no key takes": node(
        "Box", morph=Morph(["Box", "Lid"], [np.array(make.TRIANGLE), np.array(make.TRIANGLE)])
    ),
}


@pytest.mark.parametrize("name", NOWHERE)
def test_what_no_file_can_say_is_dropped_and_the_original_kept(name: str) -> None:
    written = edited(NOWHERE[name])
    assert why_anew(written) == []
    assert keyframer.encode(written.document) == file_of(parts())
    assert len(written.report.of(Outcome.DROPPED)) == 1


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_place_is_said_and_all_written_anew(name: str) -> None:
    edit, words = REFUSED[name]
    written = edited(edit)
    found = loaded(keyframer.encode(written.document))
    assert len(found.nodes) >= 8
    (why,) = why_anew(written)
    assert f"({words})" in why


def test_a_hundred_unknown_parts_are_named_and_the_rest_counted() -> None:
    strange = [RawChunk(0x7777, bytes(10 + place % 2)) for place in range(150)]
    scene = loaded(make.file_bytes([*strange, make.mesh("Box")], [make.node("object", "Box", 0)]))
    written = FORMAT.from_scene(scene, {"fps": 24.0})
    assert len(why_anew(written)) == 1
    told = [loss for loss in written.report if "unknown bytes" in loss.detail]
    assert {loss.path.partition("[")[0] for loss in told[:100]} == {"/4d4d/3d3d/7777"}
    assert told[1].detail == "dropped 11 unknown bytes of the original"
    (rest,) = told[100:]
    assert (rest.path, rest.detail) == ("/", "dropped 525 more unknown bytes in 50 places")
