"""3D Studio files with one edit: the bytes equal those of a file built with the edit."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import keyframer
from keyframer.curves import Interpolation, Track
from keyframer.formats.threeds import FORMAT
from keyframer.formats.threeds import records as r
from keyframer.formats.threeds.chunk import Chunk, RawChunk
from keyframer.scene import Channel, Fog, Gradient, LightType, Morph, Scene, TextureMap
from keyframer.scene.loss_report import Outcome
from tests.building import editing
from tests.building import threeds_records as make
from tests.building.editing import Edit, Merge, NewFile, merged, rewrite_reasons, set_fields, set_node

STILL = ((0.0, 0.0, 0.0),)
RED, GREEN, BLUE = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
BYTES = ((255, 0, 0), (0, 255, 0), (0, 0, 255))
MOVED = np.add(make.TRIANGLE, (5.0, 6.0, 7.0))


def parts() -> SimpleNamespace:
    """The chunks of a file with one of each kind, and unknown chunks between them."""
    strange = RawChunk(0x7777, b"nobody knows")
    chunks = SimpleNamespace()
    chunks.image = r.TextureMap1(children=[r.PercentInt(50), r.MapName(b"A.TGA"), r.MapParameters(0x4000)])
    chunks.diffuse = r.MaterialDiffuse(children=[r.ColorByte((255, 0, 0)), r.ColorByteGamma((255, 0, 0))])
    chunks.paint = r.Material(children=[r.MaterialName(b"paint"), chunks.diffuse, chunks.image, strange])
    chunks.glow = r.Material(children=[r.MaterialName(b"glow"), r.MaterialSelfIlluminated()])
    chunks.fog = r.Fog(1.0, 2.0, 3.0, 4.0, children=[r.ColorFloat(RED), r.FogBackground()])
    chunks.gradient = r.BackgroundGradient(0.5, children=[r.ColorByte((255, 0, 0)) for _ in range(3)])
    chunks.before = [chunks.paint, chunks.glow, r.MasterScale(1.0), chunks.fog, chunks.gradient]
    chunks.box = make.mesh("Box", make.TRIANGLE, RawChunk(0x7777, b"box"))
    chunks.faces = next(child for child in chunks.box.children[0].children if isinstance(child, r.FaceArray))
    chunks.faces.faces = np.array([[0, 1, 2, 0x0107], [2, 1, 0, 7]], "<u2")
    chunks.group = r.MaterialGroup(b"PAINT", np.array([0], "<u2"))
    chunks.faces.children = [chunks.group, r.MaterialGroup(b"gone", np.array([1], "<u2"))]
    chunks.cloud = make.mesh("Cloud")
    del chunks.cloud.children[0].children[1]
    chunks.lid = make.mesh("Lid")
    chunks.lid.children.insert(0, r.ObjectHidden())
    chunks.cam = make.camera("Cam", (0.0, -9.0, 0.0), (0.0, 5.0, 0.0))
    chunks.eye = chunks.cam.children[0]
    chunks.eye.children = [strange]
    chunks.spot = make.spot("Spot", (0.0, 0.0, 9.0), (1.0, 0.0, 0.0))
    chunks.lamp = chunks.spot.children[0]
    chunks.cone = chunks.lamp.children[0]
    chunks.cone.children = [strange]
    chunks.lamp.children = [r.ColorFloat((1.0, 1.0, 1.0)), chunks.cone, r.LightExclude(b"Box"), r.LightExclude(b"Lid")]
    chunks.omni = r.NamedObject(b"Omni", children=[r.Light((3.0, 0.0, 0.0), children=[r.ColorByte((255, 0, 0))])])
    chunks.bulb = chunks.omni.children[0]
    chunks.alone = make.camera("Alone", (1.0, 1.0, 1.0), (0.0, 0.0, 0.0))
    chunks.lone = r.NamedObject(b"Lone", children=[r.Light((1.0, 0.0, 0.0))])
    move = make.track("position", (0, 10), ((0.0, 0.0, 0.0), (1.0, 2.0, 3.0)))
    chunks.box_node = make.node("object", "Box", 0, move, strange)
    chunks.lid_node = make.node("object", "Lid", 1, make.track("position", (0,), STILL), flags1=0x4800)
    chunks.joint = make.node("object", "$$$DUMMY", 2, r.InstanceName(b"joint"), parent=0)
    chunks.cam_node = make.node("camera", "Cam", 3, make.track("position", (0,), ((0.0, -9.0, 0.0),)))
    chunks.cam_goal = make.node("camera target", "Cam", 4, make.track("position", (0,), ((0.0, 5.0, 0.0),)))
    chunks.spot_node = make.node("spot", "Spot", 5, make.track("position", (0,), ((0.0, 0.0, 9.0),)))
    chunks.spot_goal = make.node("spot target", "Spot", 6, make.track("position", (0,), ((1.0, 0.0, 0.0),)))
    chunks.omni_node = make.node("omni", "Omni", 7, make.hide((4,)), make.track("position", (0,), ((3.0, 0.0, 0.0),)))
    return chunks


def file_of(chunks: SimpleNamespace) -> bytes:
    objects = [*chunks.before, chunks.box, chunks.lid, chunks.cloud, chunks.cam, chunks.spot]
    nodes = [chunks.box_node, chunks.lid_node, chunks.joint, chunks.cam_node, chunks.cam_goal, chunks.spot_node]
    return make.file_bytes(
        [*objects, chunks.omni, chunks.alone, chunks.lone], [*nodes, chunks.spot_goal, chunks.omni_node]
    )


def edited(*edits: Callable[[SimpleNamespace], object]) -> bytes:
    """The file with edits of its chunks."""
    chunks = parts()
    for edit in edits:
        edit(chunks)
    return file_of(chunks)


load = partial(editing.load, "3ds")
save_edited = partial(editing.save_edited, "3ds", file_of(parts()))


def number(scene: Scene, name: str) -> int:
    return next(i for i, node in enumerate(scene.nodes) if node.name == name)


set_camera = partial(set_fields, lambda scene: scene.cameras[0])
set_spot = partial(set_fields, lambda scene: next(lamp for lamp in scene.lights if lamp.type is LightType.SPOT))
set_omni = partial(set_fields, lambda scene: next(lamp for lamp in scene.lights if lamp.type is LightType.OMNI))


def set_chunk(which: str, /, **values: Any) -> Callable[[SimpleNamespace], None]:
    """The same edit in the chunks."""

    def apply(chunks: SimpleNamespace) -> None:
        for field, value in values.items():
            setattr(getattr(chunks, which), field, value)

    return apply


def add_chunks(name: str, *added: Chunk, at: int | None = None) -> Callable[[SimpleNamespace], None]:
    def apply(chunks: SimpleNamespace) -> None:
        children = getattr(chunks, name).children
        place = len(children) if at is None else at
        children[place:place] = added

    return apply


def remove_chunks(name: str, kind: type[Chunk]) -> Callable[[SimpleNamespace], None]:
    def apply(chunks: SimpleNamespace) -> None:
        home = getattr(chunks, name)
        home.children = [child for child in home.children if not isinstance(child, kind)]

    return apply


def set_header(which: str, /, **values: Any) -> Callable[[SimpleNamespace], None]:
    def apply(chunks: SimpleNamespace) -> None:
        (chunk,) = [child for child in getattr(chunks, which).children if isinstance(child, r.NodeHeader)]
        for field, value in values.items():
            setattr(chunk, field, value)

    return apply


set_material = partial(set_fields, lambda scene: scene.materials[0])
set_environment = partial(set_fields, lambda scene: scene.environment)
set_mesh = partial(set_fields, lambda scene: scene.meshes[0])


def set_children(name: str, *added: Chunk) -> Callable[[SimpleNamespace], None]:
    return set_chunk(name, children=list(added))


def add_second_map(scene: Scene) -> None:
    scene.materials[0].maps["bump"] = TextureMap("B.TGA", b"B.TGA", 0.25)
    scene.materials[0].maps["texture1"].amount = 0.75


def set_visibility(name: str, times: tuple[float, ...], values: tuple[float, ...]) -> Callable[[Scene], None]:
    """Replaces the visibility track; as read, it has a key one frame before the first change."""

    def edit(scene: Scene) -> None:
        place, clip = number(scene, name), scene.clips[0]
        clip.channels = [
            channel for channel in clip.channels if (channel.node, channel.track.kind) != (place, "visible")
        ]
        if times:
            track = Track("visible", np.array(times), np.array(values), Interpolation.STEP)
            clip.channels.append(Channel(place, track))

    return edit


HIDE_AT_5 = make.hide((5,))
BUMP = r.BumpMap(children=[r.PercentInt(25), r.MapName(b"B.TGA"), r.MapParameters(0)])

EDITS: dict[str, tuple[Edit, *tuple[Callable[[SimpleNamespace], object], ...]]] = {
    "nothing": (lambda scene: None,),
    # nodes
    "hidden": (set_node("Box", hidden=True), set_header("box_node", flags1=0x4800)),
    "shown": (
        set_node("Lid", hidden=False),
        set_header("lid_node", flags1=0x4000),
        remove_chunks("lid", r.ObjectHidden),
    ),
    "name of a camera": (
        set_node("Cam", name="Eye"),
        set_chunk("cam", name=b"Eye"),
        set_header("cam_node", name=b"Eye"),
        set_header("cam_goal", name=b"Eye"),
    ),
    "rest rotation": (
        set_node("joint", rotation_xyzw=np.array([0.0, 0, 1, 0])),
        add_chunks("joint", make.track("rotation", (0,), ((np.pi, -0.0, -0.0, -1.0),))),
    ),
    # tracks
    "first visibility track": (set_visibility("Box", (4.0, 5.0), (1.0, 0.0)), add_chunks("box_node", HIDE_AT_5)),
    "first visibility track, with a key at the start": (
        set_visibility("Box", (0.0, 5.0), (1.0, 0.0)),
        add_chunks("box_node", HIDE_AT_5),
    ),
    "another visibility track": (
        set_visibility("Omni", (4.0, 5.0), (1.0, 0.0)),
        lambda chunks: chunks.omni_node.children.__setitem__(2, HIDE_AT_5),
    ),
    "no visibility track": (set_visibility("Omni", (), ()), remove_chunks("omni_node", r.HideTrack)),
    "hidden from the start": (
        set_visibility("Omni", (4.0, 5.0), (0.0, 1.0)),
        lambda chunks: chunks.omni_node.children.__setitem__(2, HIDE_AT_5),
        set_header("omni_node", flags1=0x4800),
    ),
    # lights
    "colour": (
        set_spot(color=(0.5, 0.25, 0.0)),
        lambda chunks: setattr(chunks.lamp.children[0], "rgb", (0.5, 0.25, 0.0)),
    ),
    "colour in bytes": (
        set_omni(color=(0.0, 1.0, 0.2)),
        lambda chunks: setattr(chunks.bulb.children[0], "rgb", (0, 255, 51)),
    ),
    "colour that bytes cannot store": (
        set_omni(color=(0.0, 1.0, 0.21)),
        lambda chunks: chunks.bulb.children.__setitem__(0, r.ColorFloat((0.0, 1.0, 0.21))),
    ),
    "excluded": (
        set_spot(excludes=["Lid", "joint"]),
        lambda chunks: chunks.lamp.children.__setitem__(
            slice(2, 4), [chunks.lamp.children[3], r.LightExclude(b"joint")]
        ),
    ),
    "names that follow the name of the node": (
        lambda scene: (set_spot(name="x")(scene), set_camera(name="y")(scene), setattr(scene.meshes[0], "name", "z")),
    ),
    "hidden without a node": (set_node("Lone", hidden=True), add_chunks("lone", r.ObjectHidden(), at=0)),
    # materials
    "two colours in bytes": (
        set_material(diffuse=GREEN),
        set_children("diffuse", r.ColorByte((0, 255, 0)), r.ColorByteGamma((0, 255, 0))),
    ),
    "two colours that bytes cannot store": (
        set_material(diffuse=(0.5, 0.25, 0.125)),
        set_children("diffuse", r.ColorFloat((0.5, 0.25, 0.125)), r.ColorFloatGamma((0.5, 0.25, 0.125))),
    ),
    "first percentage": (
        set_material(shininess=0.25),
        add_chunks("paint", r.MaterialShininess(children=[r.PercentInt(25)])),
    ),
    "name of a material": (
        set_material(name="steel"),
        lambda chunks: setattr(chunks.paint.children[0], "name", b"steel"),
        set_chunk("group", material=b"steel"),
    ),
    "not tiled": (
        set_fields(lambda scene: scene.materials[0].maps["texture1"], tiled=False),
        lambda chunks: chunks.image.children.__setitem__(2, r.MapParameters(0x4010)),
    ),
    "two images": (
        add_second_map,
        lambda chunks: chunks.image.children.__setitem__(0, r.PercentInt(75)),
        add_chunks("paint", BUMP),
    ),
    # surroundings
    "gradient": (
        set_environment(gradient=Gradient(0.25, [RED, GREEN, BLUE])),
        set_chunk("gradient", midpoint=0.25, children=[r.ColorByte(each) for each in BYTES]),
    ),
    "no gradient": (set_environment(gradient=None), lambda chunks: chunks.before.pop()),
    "fog without colour": (set_environment(fog=Fog(1.0, 2.0, 3.0, 4.0, None, False)), set_children("fog")),
    # faces
    "edges": (
        set_mesh(edges=np.array([1, 6])),
        set_chunk("faces", faces=np.array([[0, 1, 2, 0x0104], [2, 1, 0, 3]], "<u2")),
    ),
    "no face materials": (set_mesh(face_materials=None), lambda chunks: chunks.faces.children.remove(chunks.group)),
    "face materials": (
        set_mesh(face_materials=np.array([1, 0])),
        set_chunk("group", faces=np.array([1], "<u2")),
        add_chunks("faces", r.MaterialGroup(b"glow", np.array([0], "<u2"))),
    ),
    "first faces": (
        set_fields(lambda scene: scene.meshes[2], corners=np.array([[0, 1, 2]]), edges=np.array([7])),
        lambda chunks: chunks.cloud.children[0].children.append(r.FaceArray(np.array([[0, 1, 2, 7]], "<u2"))),
    ),
}
GRADIENT = r.BackgroundGradient(0.25, children=[r.ColorFloat(each) for each in (RED, GREEN, BLUE)])
MERGED: dict[str, Merge] = {
    **{name: Merge(file_of(parts()), edit, edited(*applied)) for name, (edit, *applied) in EDITS.items()},
    "new gradient": Merge(
        edited(lambda chunks: chunks.before.pop()),
        set_environment(gradient=Gradient(0.25, [RED, GREEN, BLUE])),
        edited(lambda chunks: chunks.before.__setitem__(4, GRADIENT)),
    ),
    "another percentage": Merge(
        edited(add_chunks("paint", r.MaterialShininess(children=[r.PercentInt(25)]))),
        set_material(shininess=0.3333),
        edited(add_chunks("paint", r.MaterialShininess(children=[r.PercentFloat(0.3333)]))),
    ),
}


def test_moving_a_mesh_moves_its_stored_vertices() -> None:
    """Stored vertices are those of frame 0: both change, and so does the matrix."""

    def edit(scene: Scene) -> None:
        channel = next(channel for channel in scene.clips[0].channels if channel.node == number(scene, "Lid"))
        channel.track.values = np.array([[5.0, 6.0, 7.0]])

    written = save_edited(edit)
    loaded = load(merged(written))
    place = number(loaded, "Lid")
    assert np.allclose(keyframer.pose(loaded, frames=[0.0]).vertices(place)[0], MOVED)
    raw = [record.points for record in written.document.find(r.PointArray)][1]
    assert raw.tolist() == MOVED.tolist()


def blender_file(second: tuple[float, ...]) -> bytes:
    """A file as written by Blender: rotation keys are relative to rest, not to the key before."""
    keys = make.track("rotation", (0, 10, 20), ((0.25, 0.0, 0.0, 1.0), second, (0.75, 0.0, 0.0, 1.0)))
    return make.file_bytes([make.mesh("Box")], [make.node("object", "Box", 0, keys)], writer=b"Blender")


def test_absolute_keys_stay_absolute() -> None:
    scene = load(blender_file((0.5, 0.0, 0.0, 1.0)))
    (channel,) = scene.clips[0].channels
    values = channel.track.values.copy()
    values[1] = (0.0, 1.0, 0.0, -0.5)  # the file counts clockwise
    channel.track.values = values
    assert merged(FORMAT.from_scene(scene)) == blender_file((0.5, 0.0, 1.0, 0.0))


NEW_FILES: dict[str, NewFile] = {
    "scale axes": NewFile(
        file_of(parts()), set_node("Box", scale_axes_xyzw=np.array([0.0, 0, 1, 0])), "a node has scale axes"
    ),
    "kind of a light": NewFile(file_of(parts()), set_omni(type=LightType.DIRECTIONAL), "the type of a light changed"),
}


@pytest.mark.parametrize(
    ("wanted", "name"), [("Lid", "Lid2"), ("something very long", "something "), ("DUMMY", "DUMMY2"), ("lamp", "lamp")]
)
def test_names_are_shortened_made_unique_and_reported(wanted: str, name: str) -> None:
    """At most ten characters, as in a new file."""
    written = save_edited(set_node("Box", name=wanted))
    raw = name.encode()
    data = merged(written)
    assert raw + b"\0" in data
    assert load(data).nodes[0].name == name
    reported = [(loss.type.key, loss.args) for loss in written.report.of(Outcome.BAKED)]
    told = {"name": name, "rule": ": names have at most 10 characters and must be unique"}
    assert reported == ([] if wanted == name else [("NAME_CHANGED:rule", told)])


def test_material_names_are_shortened_and_reported() -> None:
    paint = r.Material(children=[r.MaterialName(b"paint")])
    scene = load(make.file_bytes([paint, make.mesh("Box")], [make.node("object", "Box", 0)]))
    scene.materials[0].name = "a coat of grey paint"
    written = FORMAT.from_scene(scene)
    assert b"a coat of grey p\0" in merged(written)
    assert len(written.report.of(Outcome.BAKED)) == 1


NOT_STORABLE: dict[str, Callable[[Scene], object]] = {
    "turned camera": set_node("Cam", rotation_xyzw=np.array([0.0, 0, 1, 0])),
    "shadows of an omni": set_omni(casts_shadows=True),
    "name of a target": set_node("Cam.target", name="goal"),
    "shapes that no key uses": set_node(
        "Box", morph=Morph(["Box", "Lid"], [np.array(make.TRIANGLE), np.array(make.TRIANGLE)])
    ),
}


@pytest.mark.parametrize("name", NOT_STORABLE)
def test_edits_that_the_format_cannot_store_are_dropped(name: str) -> None:
    written = save_edited(NOT_STORABLE[name])
    assert merged(written) == file_of(parts())
    assert len(written.report.of(Outcome.DROPPED)) == 1


def test_a_hundred_unknown_parts_are_named_and_the_others_counted() -> None:
    strange = [RawChunk(0x7777, bytes(10 + place % 2)) for place in range(150)]
    scene = load(make.file_bytes([*strange, make.mesh("Box")], [make.node("object", "Box", 0)]))
    written = FORMAT.from_scene(scene, {"fps": 24.0})
    assert len(rewrite_reasons(written)) == 1
    reported = [loss for loss in written.report if loss.code == "ORIGINAL_DATA_LOST"]
    assert {loss.path.partition("[")[0] for loss in reported[:100]} == {"/4d4d/3d3d/7777"}
    assert (reported[1].case, reported[1].args) == ("bytes", {"count": 11})
    (summary,) = reported[100:]
    assert (summary.path, summary.case, summary.args) == ("/", "more bytes", {"count": 525, "places": 50})


def morphing() -> bytes:
    """A box that becomes a tower and a box again."""
    tall = make.mesh("Tall", np.array(make.TRIANGLE) * 2)
    keys = make.morph((0, 10, 20), (b"Box", b"Tall", b"Box"))
    return make.file_bytes([make.mesh("Box"), tall], [make.node("object", "Box", 0, keys)])


def test_blended_shapes_are_dropped_and_reported() -> None:
    scene = load(morphing())
    track = next(channel.track for channel in scene.clips[0].channels if channel.track.kind == "morph")
    values = track.values.copy()
    values[1] = 0.5
    track.values = values
    written = FORMAT.from_scene(scene)
    assert rewrite_reasons(written) == []
    assert "/nodes/Box/morph" in [loss.path for loss in written.report.of(Outcome.DROPPED)]
