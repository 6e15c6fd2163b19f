"""Materials, faces and surroundings edited in place: the bytes are those of the same file made with the edit in it."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import keyframer
from keyframer.formats.kit.scene_reading import scene_of
from keyframer.formats.threeds import FORMAT
from keyframer.formats.threeds import records as r
from keyframer.formats.threeds.chunk import Chunk, RawChunk
from keyframer.scene import Fog, Gradient, LayeredFog, Morph, Scene, TextureMap
from keyframer.scene.loss_report import Outcome
from tests.formats.editing import put, why_anew
from tests.formats.threeds.bridge import make

BYTES = ((255, 0, 0), (0, 255, 0), (0, 0, 255))
WHITE, RED, GREEN, BLUE = (1.0, 1.0, 1.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)


def parts() -> SimpleNamespace:
    """Two materials, two meshes (one without faces), fog with its colour, a gradient in bytes; strange chunks."""
    found = SimpleNamespace()
    found.image = r.TextureMap1(children=[r.PercentInt(50), r.MapName(b"A.TGA"), r.MapParameters(0x4000)])
    found.diffuse = r.MaterialDiffuse(children=[r.ColorByte((255, 0, 0)), r.ColorByteGamma((255, 0, 0))])
    found.paint = r.Material(children=[r.MaterialName(b"paint"), found.diffuse, found.image, RawChunk(0x7777, b"?")])
    found.glow = r.Material(children=[r.MaterialName(b"glow"), r.MaterialSelfIlluminated()])
    found.fog = r.Fog(1.0, 2.0, 3.0, 4.0, children=[r.ColorFloat(RED), r.FogBackground()])
    found.gradient = r.BackgroundGradient(0.5, children=[r.ColorByte((255, 0, 0)) for _ in range(3)])
    found.box = make.mesh("Box")
    found.faces = found.box.children[0].children[1]
    found.faces.faces = np.array([[0, 1, 2, 0x0107], [2, 1, 0, 7]], "<u2")
    found.group = r.MaterialGroup(b"PAINT", np.array([0], "<u2"))
    found.lost = r.MaterialGroup(b"gone", np.array([1], "<u2"))
    found.faces.children = [found.group, found.lost]
    found.cloud = make.mesh("Cloud")
    del found.cloud.children[0].children[1]
    found.nodes = [
        make.node(kind, name, place) for place, (kind, name) in enumerate([("object", "Box"), ("object", "Cloud")])
    ]
    found.before = [found.paint, found.glow, r.MasterScale(1.0), found.fog, found.gradient]
    return found


def file_of(found: SimpleNamespace) -> bytes:
    return make.file_bytes([*found.before, found.box, found.cloud], found.nodes)


def loaded(data: bytes) -> Scene:
    return scene_of(keyframer.decode(data, format="3ds"))


def edited(*edits: Callable[[Scene], object]) -> bytes:
    """The bytes after edits that are made one after the other, each in the file that the one before left."""
    data = file_of(parts())
    for edit in edits:
        scene = loaded(data)
        edit(scene)
        written = FORMAT.from_scene(scene)
        assert why_anew(written) == []
        data = keyframer.encode(written.document)
    return data


def paint(**values: Any) -> Callable[[Scene], None]:
    return put(lambda scene: scene.materials[0], **values)


def image(**values: Any) -> Callable[[Scene], None]:
    return put(lambda scene: scene.materials[0].maps["texture1"], **values)


def around(**values: Any) -> Callable[[Scene], None]:
    return put(lambda scene: scene.environment, **values)


def box(**values: Any) -> Callable[[Scene], None]:
    return put(lambda scene: scene.meshes[0], **values)


def add(name: str, *made: Chunk) -> Callable[[SimpleNamespace], None]:
    return lambda found: getattr(found, name).children.extend(made)


def into_editor(*made: Chunk) -> Callable[[SimpleNamespace], None]:
    """What belongs to the whole stands before the objects."""
    return lambda found: found.before.extend(made)


def children(name: str, *made: Chunk) -> Callable[[SimpleNamespace], None]:
    return lambda found: setattr(getattr(found, name), "children", list(made))


def numbers(name: str, /, **values: Any) -> Callable[[SimpleNamespace], None]:
    def same(found: SimpleNamespace) -> None:
        for field, value in values.items():
            setattr(getattr(found, name), field, value)

    return same


def flags(value: int) -> Callable[[SimpleNamespace], None]:
    return lambda found: found.image.children.__setitem__(2, r.MapParameters(value))


def no_image(scene: Scene) -> None:
    scene.materials[0].maps = {}


def second_image(scene: Scene) -> None:
    scene.materials[0].maps["bump"] = TextureMap("B.TGA", b"B.TGA", 0.25)
    scene.materials[0].maps["texture1"].amount = 0.75


MERGED: dict[str, tuple[tuple[Callable[[Scene], object], ...], Callable[[SimpleNamespace], Any]]] = {
    # materials
    "colour in bytes": (
        (paint(diffuse=GREEN),),
        children("diffuse", r.ColorByte((0, 255, 0)), r.ColorByteGamma((0, 255, 0))),
    ),
    "colour that bytes cannot say": (
        (paint(diffuse=(0.5, 0.25, 0.125)),),
        children("diffuse", r.ColorFloat((0.5, 0.25, 0.125)), r.ColorFloatGamma((0.5, 0.25, 0.125))),
    ),
    "no colour": (
        (paint(diffuse=None),),
        lambda found: found.paint.children.remove(found.diffuse),
    ),
    "first colour": ((paint(ambient=BLUE),), add("paint", r.MaterialAmbient(children=[r.ColorFloat(BLUE)]))),
    "first share": ((paint(shininess=0.25),), add("paint", r.MaterialShininess(children=[r.PercentInt(25)]))),
    "another share": (
        (paint(shininess=0.25), paint(shininess=0.3333)),
        add("paint", r.MaterialShininess(children=[r.PercentFloat(0.3333)])),
    ),
    "no share": ((paint(shininess=0.25), paint(shininess=None)), lambda found: None),
    "glow": (
        (put(lambda scene: scene.materials[1], self_illumination=0.5),),
        children("glow", r.MaterialName(b"glow"), r.MaterialSelfIllumination(children=[r.PercentInt(50)])),
    ),
    "flag": ((paint(two_sided=True),), add("paint", r.MaterialTwoSided())),
    "flag taken back": ((paint(two_sided=True), paint(two_sided=False)), lambda found: None),
    "wire": ((paint(wire_size=2.5),), add("paint", r.MaterialWireSize(2.5))),
    "shading": ((paint(shading="metal"),), add("paint", r.MaterialShading(4))),
    "no shading": ((paint(shading="metal"), paint(shading=None)), lambda found: None),
    "name": (
        (paint(name="steel"),),
        lambda found: (setattr(found.paint.children[0], "name", b"steel"), setattr(found.group, "material", b"steel")),
    ),
    # maps
    "image": ((image(file_name="B.TGA"),), lambda found: setattr(found.image.children[1], "name", b"B.TGA")),
    "amount": ((image(amount=0.75),), lambda found: found.image.children.__setitem__(0, r.PercentInt(75))),
    "scale": ((image(scale=(2.0, 3.0)),), add("image", r.MapUScale(2.0), r.MapVScale(3.0))),
    "offset": ((image(offset=(0.5, 0.25)),), add("image", r.MapUOffset(0.5), r.MapVOffset(0.25))),
    "turned": ((image(rotation_degrees=45.0),), add("image", r.MapRotation(45.0))),
    "blur": ((image(blur=0.5),), add("image", r.MapBlur(0.5))),
    "not tiled": ((image(tiled=False),), flags(0x4010)),
    "mirrored": ((image(mirror=True),), flags(0x4002)),
    "no image": ((no_image,), lambda found: found.paint.children.remove(found.image)),
    "two images": (
        (second_image,),
        lambda found: (
            found.image.children.__setitem__(0, r.PercentInt(75)),
            found.paint.children.append(
                r.BumpMap(children=[r.PercentInt(25), r.MapName(b"B.TGA"), r.MapParameters(0)])
            ),
        ),
    ),
    # surroundings
    "background": (
        (around(background_color=BLUE),),
        into_editor(r.BackgroundColor(children=[r.ColorFloat(BLUE)])),
    ),
    "background image": ((around(background_image="SKY.TGA"),), into_editor(r.BackgroundBitmap(b"SKY.TGA"))),
    "ambient": ((around(ambient=BLUE),), into_editor(r.AmbientColor(children=[r.ColorFloat(BLUE)]))),
    "in use": ((around(uses={"fog"}),), into_editor(r.UseFog())),
    "gradient": (
        (around(gradient=Gradient(0.25, [RED, GREEN, BLUE])),),
        lambda found: (
            setattr(found.gradient, "midpoint", 0.25),
            setattr(found.gradient, "children", [r.ColorByte(each) for each in BYTES]),
        ),
    ),
    "no gradient": ((around(gradient=None),), lambda found: found.before.remove(found.gradient)),
    "new gradient": (
        (around(gradient=None), around(gradient=Gradient(0.25, [RED, GREEN, BLUE]))),
        lambda found: found.before.__setitem__(
            4, r.BackgroundGradient(0.25, children=[r.ColorFloat(each) for each in (RED, GREEN, BLUE)])
        ),
    ),
    "fog": (
        (around(fog=Fog(5.0, 6.0, 7.0, 8.0, GREEN, True)),),
        lambda found: (
            numbers("fog", near=5.0, near_density=6.0, far=7.0, far_density=8.0)(found),
            setattr(found.fog.children[0], "rgb", GREEN),
        ),
    ),
    "fog without colour": (
        (around(fog=Fog(1.0, 2.0, 3.0, 4.0, None, False)),),
        children("fog"),
    ),
    "no fog": ((around(fog=None),), lambda found: found.before.remove(found.fog)),
    "cue": (
        (around(distance_cue=Fog(1.0, 2.0, 3.0, 4.0, None, True)),),
        into_editor(r.DistanceCue(1.0, 2.0, 3.0, 4.0, children=[r.DimBackground()])),
    ),
    "layers": (
        (around(layered_fog=LayeredFog(1.0, 2.0, 0.5, 3, BLUE)),),
        into_editor(r.LayerFog(1.0, 2.0, 0.5, 3, children=[r.ColorFloat(BLUE)])),
    ),
    "layers without colour": (
        (around(layered_fog=LayeredFog(1.0, 2.0, 0.5, 3, BLUE)), around(layered_fog=LayeredFog(1.0, 2.0, 0.5, 3))),
        into_editor(r.LayerFog(1.0, 2.0, 0.5, 3)),
    ),
    # faces
    "edges": (
        (box(edges=np.array([1, 6])),),
        numbers("faces", faces=np.array([[0, 1, 2, 0x0104], [2, 1, 0, 3]], "<u2")),
    ),
    "edges that are not said": ((box(edges=None),), lambda found: None),
    "materials that are not said": (
        (box(face_materials=None),),
        lambda found: found.faces.children.remove(found.group),
    ),
    "corners": (
        (box(corners=np.array([[0, 1, 2], [0, 2, 1]])),),
        numbers("faces", faces=np.array([[0, 1, 2, 0x0107], [0, 2, 1, 7]], "<u2")),
    ),
    "materials": (
        (box(face_materials=np.array([1, 0])),),
        lambda found: (
            numbers("group", faces=np.array([1], "<u2"))(found),
            found.faces.children.append(r.MaterialGroup(b"glow", np.array([0], "<u2"))),
        ),
    ),
    "smoothing": (
        (box(smoothing=np.array([1, 2])),),
        add("faces", r.SmoothGroups(np.array([1, 2], "<u4"))),
    ),
    "no smoothing": ((box(smoothing=np.array([1, 2])), box(smoothing=None)), lambda found: None),
    "texture vertices": (
        (box(uv=np.array([[0.0, 0.5], [1, 0], [1, 1]])),),
        lambda found: found.box.children[0].children.append(
            r.TextureVertices(np.array([[0.0, 0.5], [1, 0], [1, 1]], "<f4"))
        ),
    ),
    "shadows": (
        (box(casts_shadows=False),),
        lambda found: found.box.children.insert(0, r.ObjectDoesNotCast()),
    ),
    "first faces": (
        (put(lambda scene: scene.meshes[1], corners=np.array([[0, 1, 2]]), edges=np.array([7])),),
        lambda found: found.cloud.children[0].children.append(r.FaceArray(np.array([[0, 1, 2, 7]], "<u2"))),
    ),
}


@pytest.mark.parametrize("name", MERGED)
def test_one_edit_is_one_change_of_the_bytes(name: str) -> None:
    edits, same = MERGED[name]
    found = parts()
    same(found)
    assert edited(*edits) == file_of(found)


def morphing() -> bytes:
    """A box that becomes a tower and a box again."""
    tall = make.mesh("Tall", np.array(make.TRIANGLE) * 2)
    keys = make.morph((0, 10, 20), (b"Box", b"Tall", b"Box"))
    return make.file_bytes([make.mesh("Box"), tall], [make.node("object", "Box", 0, keys)])


def test_shapes_in_another_order_are_the_same_shapes() -> None:
    scene = loaded(morphing())
    node = next(node for node in scene.nodes if node.morph is not None)
    track = next(channel.track for channel in scene.clips[0].channels if channel.track.kind == "morph")
    node.morph = Morph(node.morph.names[::-1], list(node.morph.positions)[::-1])  # type: ignore[union-attr]
    track.values = track.values[:, ::-1].copy()
    written = FORMAT.from_scene(scene)
    assert why_anew(written) == []
    assert keyframer.encode(written.document) == morphing()


def test_shapes_that_mix_are_dropped_and_told() -> None:
    scene = loaded(morphing())
    track = next(channel.track for channel in scene.clips[0].channels if channel.track.kind == "morph")
    values = track.values.copy()
    values[1] = 0.5
    track.values = values
    written = FORMAT.from_scene(scene)
    assert why_anew(written) == []
    assert "/nodes/Box/morph" in [loss.path for loss in written.report.of(Outcome.DROPPED)]


UNHELD: dict[str, Callable[[Scene], object]] = {
    "texture vertices": box(uv=np.zeros((2, 2))),
    "corners of their own": box(uv=np.zeros((3, 2)), uv_corners=np.array([[0, 1, 2]] * 2)),
}


@pytest.mark.parametrize("name", UNHELD)
def test_what_a_new_file_would_not_hold_either_is_told(name: str) -> None:
    scene = loaded(file_of(parts()))
    UNHELD[name](scene)
    written = FORMAT.from_scene(scene)
    assert why_anew(written) == []
    assert [loss.path.rpartition("/")[0] for loss in written.report.of(Outcome.DROPPED)] == ["/meshes/0"]
    assert [material.name for material in loaded(keyframer.encode(written.document)).materials] == ["paint", "glow"]
