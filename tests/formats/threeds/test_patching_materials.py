"""Edits of materials, faces and environment in 3D Studio files: the bytes equal those of a file built with the edit."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import keyframer
from keyframer.formats.threeds import FORMAT
from keyframer.formats.threeds import records as r
from keyframer.formats.threeds.chunk import Chunk, RawChunk
from keyframer.scene import Fog, Gradient, Scene, TextureMap
from keyframer.scene.loss_report import Outcome
from tests.building import editing
from tests.building import threeds_records as make
from tests.building.editing import rewrite_reasons, set_fields

BYTES = ((255, 0, 0), (0, 255, 0), (0, 0, 255))
WHITE, RED, GREEN, BLUE = (1.0, 1.0, 1.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)


def parts() -> SimpleNamespace:
    """Two materials, two meshes (one without faces), fog with its colour, a gradient in bytes; unknown chunks."""
    chunks = SimpleNamespace()
    chunks.image = r.TextureMap1(children=[r.PercentInt(50), r.MapName(b"A.TGA"), r.MapParameters(0x4000)])
    chunks.diffuse = r.MaterialDiffuse(children=[r.ColorByte((255, 0, 0)), r.ColorByteGamma((255, 0, 0))])
    chunks.paint = r.Material(children=[r.MaterialName(b"paint"), chunks.diffuse, chunks.image, RawChunk(0x7777, b"?")])
    chunks.glow = r.Material(children=[r.MaterialName(b"glow"), r.MaterialSelfIlluminated()])
    chunks.fog = r.Fog(1.0, 2.0, 3.0, 4.0, children=[r.ColorFloat(RED), r.FogBackground()])
    chunks.gradient = r.BackgroundGradient(0.5, children=[r.ColorByte((255, 0, 0)) for _ in range(3)])
    chunks.box = make.mesh("Box")
    chunks.faces = chunks.box.children[0].children[1]
    chunks.faces.faces = np.array([[0, 1, 2, 0x0107], [2, 1, 0, 7]], "<u2")
    chunks.group = r.MaterialGroup(b"PAINT", np.array([0], "<u2"))
    chunks.lost = r.MaterialGroup(b"gone", np.array([1], "<u2"))
    chunks.faces.children = [chunks.group, chunks.lost]
    chunks.cloud = make.mesh("Cloud")
    del chunks.cloud.children[0].children[1]
    chunks.nodes = [
        make.node(kind, name, place) for place, (kind, name) in enumerate([("object", "Box"), ("object", "Cloud")])
    ]
    chunks.before = [chunks.paint, chunks.glow, r.MasterScale(1.0), chunks.fog, chunks.gradient]
    return chunks


def file_of(chunks: SimpleNamespace) -> bytes:
    return make.file_bytes([*chunks.before, chunks.box, chunks.cloud], chunks.nodes)


def save_edited(*edits: Callable[[Scene], object]) -> bytes:
    """The bytes after several edits, each saved and loaded before the next."""
    data = file_of(parts())
    for edit in edits:
        written = editing.save_edited("3ds", data, edit)
        assert rewrite_reasons(written) == []
        data = keyframer.encode(written.document)
    return data


load = partial(editing.load, "3ds")
set_material = partial(set_fields, lambda scene: scene.materials[0])
set_map = partial(set_fields, lambda scene: scene.materials[0].maps["texture1"])
set_environment = partial(set_fields, lambda scene: scene.environment)
set_mesh = partial(set_fields, lambda scene: scene.meshes[0])


def add_chunks(name: str, *added: Chunk) -> Callable[[SimpleNamespace], None]:
    return lambda chunks: getattr(chunks, name).children.extend(added)


def set_children(name: str, *added: Chunk) -> Callable[[SimpleNamespace], None]:
    return lambda chunks: setattr(getattr(chunks, name), "children", list(added))


def set_chunk(name: str, /, **values: Any) -> Callable[[SimpleNamespace], None]:
    def apply(chunks: SimpleNamespace) -> None:
        for field, value in values.items():
            setattr(getattr(chunks, name), field, value)

    return apply


def set_map_flags(value: int) -> Callable[[SimpleNamespace], None]:
    return lambda chunks: chunks.image.children.__setitem__(2, r.MapParameters(value))


def add_second_map(scene: Scene) -> None:
    scene.materials[0].maps["bump"] = TextureMap("B.TGA", b"B.TGA", 0.25)
    scene.materials[0].maps["texture1"].amount = 0.75


MERGED: dict[str, tuple[tuple[Callable[[Scene], object], ...], Callable[[SimpleNamespace], Any]]] = {
    # materials
    "colour in bytes": (
        (set_material(diffuse=GREEN),),
        set_children("diffuse", r.ColorByte((0, 255, 0)), r.ColorByteGamma((0, 255, 0))),
    ),
    "colour that bytes cannot store": (
        (set_material(diffuse=(0.5, 0.25, 0.125)),),
        set_children("diffuse", r.ColorFloat((0.5, 0.25, 0.125)), r.ColorFloatGamma((0.5, 0.25, 0.125))),
    ),
    "first percentage": (
        (set_material(shininess=0.25),),
        add_chunks("paint", r.MaterialShininess(children=[r.PercentInt(25)])),
    ),
    "another percentage": (
        (set_material(shininess=0.25), set_material(shininess=0.3333)),
        add_chunks("paint", r.MaterialShininess(children=[r.PercentFloat(0.3333)])),
    ),
    "name": (
        (set_material(name="steel"),),
        lambda chunks: (
            setattr(chunks.paint.children[0], "name", b"steel"),
            setattr(chunks.group, "material", b"steel"),
        ),
    ),
    # maps
    "not tiled": ((set_map(tiled=False),), set_map_flags(0x4010)),
    "two images": (
        (add_second_map,),
        lambda chunks: (
            chunks.image.children.__setitem__(0, r.PercentInt(75)),
            chunks.paint.children.append(
                r.BumpMap(children=[r.PercentInt(25), r.MapName(b"B.TGA"), r.MapParameters(0)])
            ),
        ),
    ),
    # surroundings
    "gradient": (
        (set_environment(gradient=Gradient(0.25, [RED, GREEN, BLUE])),),
        lambda chunks: (
            setattr(chunks.gradient, "midpoint", 0.25),
            setattr(chunks.gradient, "children", [r.ColorByte(each) for each in BYTES]),
        ),
    ),
    "new gradient": (
        (set_environment(gradient=None), set_environment(gradient=Gradient(0.25, [RED, GREEN, BLUE]))),
        lambda chunks: chunks.before.__setitem__(
            4, r.BackgroundGradient(0.25, children=[r.ColorFloat(each) for each in (RED, GREEN, BLUE)])
        ),
    ),
    "fog without colour": (
        (set_environment(fog=Fog(1.0, 2.0, 3.0, 4.0, None, False)),),
        set_children("fog"),
    ),
    # faces
    "edges": (
        (set_mesh(edges=np.array([1, 6])),),
        set_chunk("faces", faces=np.array([[0, 1, 2, 0x0104], [2, 1, 0, 3]], "<u2")),
    ),
    "no face materials": (
        (set_mesh(face_materials=None),),
        lambda chunks: chunks.faces.children.remove(chunks.group),
    ),
    "materials": (
        (set_mesh(face_materials=np.array([1, 0])),),
        lambda chunks: (
            set_chunk("group", faces=np.array([1], "<u2"))(chunks),
            chunks.faces.children.append(r.MaterialGroup(b"glow", np.array([0], "<u2"))),
        ),
    ),
    "first faces": (
        (set_fields(lambda scene: scene.meshes[1], corners=np.array([[0, 1, 2]]), edges=np.array([7])),),
        lambda chunks: chunks.cloud.children[0].children.append(r.FaceArray(np.array([[0, 1, 2, 7]], "<u2"))),
    ),
}


@pytest.mark.parametrize("name", MERGED)
def test_an_edit_changes_only_its_bytes(name: str) -> None:
    edits, apply = MERGED[name]
    chunks = parts()
    apply(chunks)
    assert save_edited(*edits) == file_of(chunks)


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
