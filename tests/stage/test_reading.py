"""Shows and fixtures are loaded as scenes."""

from __future__ import annotations

import struct
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import keyframer
from keyframer.scene import LightType, NodeKind, Scene, Space
from tests.building.gltf import glb, split_glb
from tests.exchange.test_gltf_lights import without_extras
from tests.stage.archives import (
    MOVING_HEAD_GEOMETRIES,
    MOVING_HEAD_MODELS,
    MOVING_HEAD_MODES,
    box_scene,
    fixture,
    model,
    moving_head,
    scene_object,
    show,
)
from tests.stage.boxes import boxes, world_matrices

GEOMETRY = '<Geometry3D fileName="box.3ds"/>'


def load(data: bytes, **options: object) -> Scene:
    return keyframer.load(data, **options)


def world_of(scene: Scene, name: str) -> np.ndarray:
    number = next(number for number, node in enumerate(scene.nodes) if node.name == name)
    return world_matrices(scene)[number]


def test_show_is_in_millimetres_with_z_up() -> None:
    scene = load(show(scene_object(GEOMETRY), {"box.3ds": model(".3ds")}))
    assert (scene.space.up, scene.space.metres_per_unit) == ("z", 0.001)
    ((low, high),) = boxes(scene)
    assert low == pytest.approx([0, 0, 0], abs=1e-4)
    assert high == pytest.approx([100, 200, 300], abs=1e-3)


def test_matrix_rows_are_axes_and_origin() -> None:
    matrix = "{0,1,0}{-1,0,0}{0,0,1}{1000,2000,3000}"
    scene = load(show(scene_object(GEOMETRY, matrix), {"box.3ds": model(".3ds")}))
    ((low, high),) = boxes(scene)  # x of the box runs along y of the show, its y along -x
    assert low == pytest.approx([800, 2000, 3000], abs=1e-2)
    assert high == pytest.approx([1000, 2100, 3300], abs=1e-2)


def test_matrices_of_groups_objects_and_geometries_are_multiplied() -> None:
    geometry = '<Geometry3D fileName="box.3ds"><Matrix>{2,0,0}{0,2,0}{0,0,2}{0,0,10}</Matrix></Geometry3D>'
    child = scene_object(geometry, "{0,1,0}{-1,0,0}{0,0,1}{0,0,100}")
    group = (
        '<GroupObject name="Group" uuid="g"><Matrix>{1,0,0}{0,1,0}{0,0,1}{1000,0,0}</Matrix>'
        f"<ChildList>{child}</ChildList></GroupObject>"
    )
    ((low, high),) = boxes(load(show(group, {"box.3ds": model(".3ds")})))
    assert low == pytest.approx([600, 0, 110], abs=1e-2)
    assert high == pytest.approx([1000, 200, 710], abs=1e-2)


@pytest.mark.parametrize(("metres", "unit"), [(0.0254, None), (None, None), (0.0254, "file"), (None, "cm")])
def test_exported_gltf_models_are_in_metres(metres: float | None, unit: str | None, tmp_path: Path) -> None:
    """Their extras may state the unit of the original scene, but other programs use the numbers alone."""
    original = replace(box_scene((1.0, 2.0, 3.0)), space=Space("z", metres_per_unit=metres))
    keyframer.save(original, tmp_path / "box.glb", unit=unit)
    ours = (tmp_path / "box.glb").read_bytes()
    root, binary = split_glb(ours)
    theirs = glb(without_extras(root), binary)
    placed = [
        boxes(load(show(scene_object('<Geometry3D fileName="box.glb"/>'), {"box.glb": data})))
        for data in (ours, theirs)
    ]
    factor = 1000 * {None: 1.0, "file": 0.0254, "cm": 0.01}[unit]
    for ((low, high),) in placed:
        assert low == pytest.approx([0, 0, 0], abs=1e-3)
        assert high == pytest.approx([factor, 2 * factor, 3 * factor], rel=1e-5)


def test_gltf_models_are_in_metres_with_y_up() -> None:
    scene = load(show(scene_object('<Geometry3D fileName="box.glb"/>'), {"box.glb": model(".glb")}))
    ((low, high),) = boxes(scene)
    assert low == pytest.approx([0, 0, 0], abs=1e-3)
    assert high == pytest.approx([100, 200, 300], abs=1e-3)


@pytest.mark.parametrize("folder", ["", "models/gltf/"])
def test_gltf_model_uses_its_buffer_in_the_archive(tmp_path: Path, folder: str) -> None:
    path = tmp_path / "box.gltf"
    keyframer.save(box_scene((0.1, 0.2, 0.3)), path)
    members = {f"{folder}{file.name}": file.read_bytes() for file in tmp_path.iterdir()}
    assert len(members) == 2
    if folder:
        models = '<Model Name="M" Length="1" Width="2" Height="3" PrimitiveType="Undefined" File="box"/>'
        data = fixture(models, '<Geometry Name="Base" Model="M"/>', members)
    else:
        data = show(scene_object('<Geometry3D fileName="box.gltf"/>'), members)
    assert len(boxes(load(data))) == 1
    assert not [issue for issue in keyframer.check(data).issues if issue.code == "STAGE_FILE_UNUSED"]


def test_name_without_extension_means_3ds_and_ignores_case() -> None:
    scene = load(show(scene_object('<Geometry3D fileName="BOX"/>'), {"box.3ds": model(".3ds")}))
    assert len(boxes(scene)) == 1


def test_symbols_share_their_mesh() -> None:
    shared = f'<Symdef uuid="s1" name="Truss"><ChildList>{GEOMETRY}</ChildList></Symdef>'
    twice = scene_object('<Symbol symdef="s1"/>', name="A") + scene_object(
        '<Symbol symdef="s1"><Matrix>{1,0,0}{0,1,0}{0,0,1}{500,0,0}</Matrix></Symbol>', name="B"
    )
    scene = load(show(twice, {"box.3ds": model(".3ds")}, shared))
    assert len(scene.meshes) == 1
    assert [low[0] for low, _ in boxes(scene)] == pytest.approx([0, 500], abs=1e-3)


def test_equal_materials_of_several_models_are_merged() -> None:
    both = '<Geometry3D fileName="a.3ds"/><Geometry3D fileName="b.3ds"/>'
    members = {"a.3ds": model(".3ds"), "b.3ds": model(".3ds", (1.0, 2.0, 3.0))}
    assert [material.name for material in load(show(scene_object(both), members)).materials] == ["Steel"]


def test_material_without_texture_does_not_get_that_of_an_equal_material() -> None:
    both = '<Geometry3D fileName="a.3ds"/><Geometry3D fileName="b.3ds"/>'
    members = {"a.3ds": model(".3ds", image="RUST.PNG"), "b.3ds": model(".3ds")}
    scene = load(show(scene_object(both), members))
    assert [len(material.maps) for material in scene.materials] == [1, 0]
    assert [int(scene.meshes[node.mesh].face_materials[0]) for node in scene.nodes if node.mesh is not None] == [0, 1]


def test_missing_model_is_a_warning_and_other_models_are_loaded() -> None:
    data = show(scene_object(GEOMETRY + '<Geometry3D fileName="gone.glb"/>'), {"box.3ds": model(".3ds")})
    scene = load(data)
    assert len(boxes(scene)) == 1
    assert [(issue.code, issue.severity.label) for issue in scene.issues] == [("STAGE_FILE_MISSING", "warning")]
    assert "gone.glb" in next(iter(scene.issues)).message


@pytest.mark.parametrize("kind", ["show", "fixture"])
def test_left_handed_model_is_refused_with_its_place(kind: str) -> None:
    """A U3D file under the name of a 3D Studio file: neither specification allows it."""
    if kind == "show":
        place, data = "box.3ds", show(scene_object(GEOMETRY), {"box.3ds": model(".u3d")})
    else:
        place = "models/3ds/head.3ds"
        members = {place: model(".u3d")}
        data = fixture(MOVING_HEAD_MODELS, MOVING_HEAD_GEOMETRIES, members, MOVING_HEAD_MODES)
    expected = f"IO_UNRECOGNISED at 0x0 in {place}: models in shows and fixtures must be right-handed"
    with pytest.raises(keyframer.FormatError) as caught:
        load(data)
    assert str(caught.value) == expected
    assert [str(issue) for issue in keyframer.check(data).issues if issue.code == "IO_UNRECOGNISED"] == [
        f"error: {expected}"
    ]
    assert load(data, salvage=True).nodes


def test_damaged_model_is_named_and_salvage_keeps_the_others() -> None:
    members = {"box.3ds": model(".3ds"), "bad.3ds": model(".3ds")[:200]}
    data = show(scene_object('<Geometry3D fileName="bad.3ds"/>' + GEOMETRY), members)
    with pytest.raises(keyframer.FormatError) as caught:
        load(data)
    assert caught.value.path.startswith("bad.3ds")
    assert len(boxes(load(data, salvage=True))) >= 1


@pytest.mark.parametrize("ending", [".3ds", ".glb"])
def test_model_is_scaled_to_the_stated_dimensions(ending: str) -> None:
    """The head is 0.2 x 0.2 x 0.3 m, whatever its file says."""
    scene = load(moving_head(ending, (7.0, 9.0, 11.0)))
    assert (scene.space.up, scene.space.metres_per_unit) == ("z", 1.0)
    sizes = sorted(tuple(np.round(high - low, 6)) for low, high in boxes(scene))
    assert sizes == [(0.2, 0.2, 0.3), (0.3, 0.3, 0.1), (0.4, 0.1, 0.3)]


def test_geometries_are_placed_by_their_last_column() -> None:
    scene = load(moving_head())
    assert world_of(scene, "Head")[:3, 3] == pytest.approx([0, 0, -0.35])
    assert world_of(scene, "Head")[:3, 0] == pytest.approx([0, 1, 0])  # {0,-1,0,…}{1,0,0,…}: x runs along y
    assert world_of(scene, "Beam")[:3, 3] == pytest.approx([0, 0, -0.5])


def test_pan_and_tilt_are_detected_from_the_channels_of_the_mode() -> None:
    extras = {node.name: node.extras.get("gdtf", {}) for node in load(moving_head()).nodes}
    assert (extras["Yoke"]["turns"], extras["Yoke"]["about"]) == ("Pan", "z")
    assert (extras["Head"]["turns"], extras["Head"]["about"]) == ("Tilt", "x")


def test_beam_is_a_spot_light_that_points_down() -> None:
    scene = load(moving_head())
    (light,) = scene.lights
    assert (light.type, light.hotspot_degrees, light.falloff_degrees) == (LightType.SPOT, 20.0, 30.0)
    red, green, blue = light.color
    assert red == 1.0 > green > blue  # 3200 K is warm
    (node,) = [node for node in scene.nodes if node.kind is NodeKind.LIGHT]
    assert world_of(scene, node.name)[:3, 2] == pytest.approx([0, 0, 1])  # lights shine along -z


def test_fixture_in_a_show_is_loaded_and_placed() -> None:
    placed = """<Fixture name="Spot 1" uuid="f1"><Matrix>{1,0,0}{0,1,0}{0,0,1}{0,0,5000}</Matrix>
      <GDTFSpec>spot</GDTFSpec><GDTFMode>Default</GDTFMode></Fixture>"""
    scene = load(show(placed, {"spot.gdtf": moving_head()}))
    assert world_of(scene, "Head")[:3, 3] == pytest.approx([0, 0, 4650])
    sizes = sorted(tuple(np.round(high - low, 3)) for low, high in boxes(scene))
    assert sizes == [(200.0, 200.0, 300.0), (300.0, 300.0, 100.0), (400.0, 100.0, 300.0)]
    assert len(scene.lights) == 1


def test_unknown_mode_is_reported_and_the_first_is_used() -> None:
    placed = '<Fixture name="S" uuid="f"><GDTFSpec>spot.gdtf</GDTFSpec><GDTFMode>Other</GDTFMode></Fixture>'
    scene = load(show(placed, {"spot.gdtf": moving_head()}))
    assert "LINK_UNRESOLVED_NAME" in scene.issues.counts
    assert len(boxes(scene)) == 3


@pytest.mark.parametrize("mode", ["Other", ""])
def test_chosen_mode_that_does_not_exist_lists_the_modes(mode: str) -> None:
    assert len(boxes(keyframer.load(moving_head(), mode="Default"))) == 3
    with pytest.raises(ValueError, match=rf"the fixture has no mode '{mode}' \(available: Default"):
        keyframer.load(moving_head(), mode=mode)


def test_geometry_reference_places_another_geometry() -> None:
    geometries = """<Geometry Name="Base">
    <GeometryReference Name="P1" Geometry="Pixel" Position="{1,0,0,1}{0,1,0,0}{0,0,1,0}{0,0,0,1}"/>
    <GeometryReference Name="P2" Geometry="Pixel" Position="{1,0,0,2}{0,1,0,0}{0,0,1,0}{0,0,0,1}"/></Geometry>
    <Geometry Name="Pixel" Model="Pixel"/>"""
    models = '<Model Name="Pixel" Length="0.1" Width="0.1" Height="0.1" PrimitiveType="Cube" File=""/>'
    lows = [low[0] for low, _ in boxes(load(fixture(models, geometries)))]
    assert lows == pytest.approx([0.95, 1.95])


@pytest.mark.parametrize("kind", ["Cube", "Cylinder", "Sphere", "Base", "Yoke", "Head", "Scanner", "Conventional"])
def test_primitive_types_have_meshes_of_the_stated_size(kind: str) -> None:
    models = f'<Model Name="M" Length="0.4" Width="0.5" Height="0.6" PrimitiveType="{kind}" File=""/>'
    scene = load(fixture(models, '<Geometry Name="Base" Model="M"/>'))
    ((low, high),) = boxes(scene)
    assert high - low == pytest.approx([0.4, 0.5, 0.6])
    (mesh,) = scene.meshes
    assert volume(mesh.positions, mesh.corners) > 0.2  # closed, and its faces look outwards


def volume(points: np.ndarray, corners: np.ndarray) -> float:
    a, b, c = (points[corners[:, number]] for number in range(3))
    return float(np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6)


def test_only_a_model_whose_file_is_missing_becomes_a_box() -> None:
    size = 'Length="1" Width="1" Height="1" PrimitiveType="Undefined"'
    models = f'<Model Name="A" {size} File="missing"/><Model Name="B" {size} File=""/>'
    geometries = '<Geometry Name="Base" Model="A"><Geometry Name="Empty" Model="B"/></Geometry>'
    assert len(boxes(load(fixture(models, geometries)))) == 1


def test_flat_model_is_not_scaled_on_its_flat_axis() -> None:
    models = '<Model Name="M" Length="0.2" Width="0.2" Height="0" PrimitiveType="Undefined" File="flat"/>'
    members = {"models/3ds/flat.3ds": model(".3ds", (200.0, 200.0, 50.0))}
    ((low, high),) = boxes(load(fixture(models, '<Geometry Name="Base" Model="M"/>', members)))
    assert high - low == pytest.approx([0.2, 0.2, 0.05], rel=1e-5)  # as large as the other axes say


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"<a><b></a>", "mismatched tag"),
        (b'<!DOCTYPE a [<!ENTITY e "x">]><a>&e;</a>', "DOCTYPE"),
        (b"", "no element found"),
        (b"<a>\xff</a>", "invalid token"),
    ],
)
def test_invalid_xml_is_refused_in_one_line(text: bytes, said: str) -> None:
    from tests.stage.archives import pack

    with pytest.raises(keyframer.FormatError) as caught:
        load(pack({"GeneralSceneDescription.xml": text}))
    assert caught.value.code == "STRUCT_SYNTAX"
    assert said in caught.value.message


@pytest.mark.parametrize(
    "matrix", ["{1,0}", "{1,0,0}{0,1,0}{0,0,1}{nan,0,0}", "words", "{1,0,0}{0,1,0}{0,0,1}{1e200,0,0}"]
)
def test_invalid_matrices_are_refused_with_their_path(matrix: str) -> None:
    with pytest.raises(keyframer.FormatError) as caught:
        load(show(scene_object(GEOMETRY, matrix), {"box.3ds": model(".3ds")}))
    assert caught.value.code == "STRUCT_SYNTAX"
    assert "/SceneObject[0]/Matrix[0]" in caught.value.path


def test_model_that_cannot_be_unpacked_is_named_once() -> None:
    data = bytearray(show(scene_object(GEOMETRY), {"box.3ds": model(".3ds")}))
    data[data.rindex(b"PK\x03\x04") + 60] ^= 0xFF  # in the packed bytes of the last member
    with pytest.raises(keyframer.FormatError) as caught:
        load(bytes(data))
    assert (caught.value.code, caught.value.path) == ("IO_READ_FAILED", "box.3ds")


def test_member_before_the_archive_is_refused() -> None:
    """Offsets of members are relative to the start of the archive; a wrong directory offset moves them before the
    file."""
    data = bytearray(show(scene_object(GEOMETRY), {"box.3ds": model(".3ds")}))
    (place,) = struct.unpack_from("<I", data, len(data) - 6)
    struct.pack_into("<I", data, len(data) - 6, place + 4)
    with pytest.raises(keyframer.FormatError) as caught:
        load(bytes(data), format="mvr")
    assert (caught.value.code, caught.value.offset) == ("IO_READ_FAILED", 0)
    assert "an offset outside the file" in caught.value.message


@pytest.mark.parametrize("name", ["../up.3ds", "/etc/x.3ds", "C:/x.3ds", "a/../../b.3ds"])
def test_member_names_with_paths_outside_the_archive_are_refused(name: str) -> None:
    with pytest.raises(keyframer.FormatError) as caught:
        load(show("", {name: b""}))
    assert "points outside it" in caught.value.message


LOOP = '<Symdef uuid="s1" name="Loop"><ChildList><Symbol symdef="s1"/></ChildList></Symdef>'
EIGHT_LEVELS_OF_TEN = "".join(
    f'<Symdef uuid="s{n}" name="S{n}"><ChildList>{f"""<Symbol symdef="s{n + 1}"/>""" * 10}</ChildList></Symdef>'
    for n in range(8)
)


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (show(scene_object('<Symbol symdef="s1"/>'), {}, LOOP), "LINK_PARENT_CYCLE"),
        (
            show(scene_object('<Symbol symdef="s0"/>'), {}, EIGHT_LEVELS_OF_TEN + '<Symdef uuid="s8" name="S8"/>'),
            "LIMIT_COPIES",
        ),
        (show(scene_object('<Geometry3D fileName="box.3ds"/>'), {"box.3ds": bytes(64 << 20)}), "LIMIT_ARCHIVE_BYTES"),
    ],
    ids=["symbol that contains itself", "a hundred million nodes in nested symbols", "zip bomb"],
)
def test_archives_that_grow_are_refused(data: bytes, code: str) -> None:
    with pytest.raises(keyframer.FormatError, match=rf"^{code}\b"):
        load(data)


def test_two_members_with_the_same_name_are_refused() -> None:
    import io
    import warnings
    from zipfile import ZipFile

    stream = io.BytesIO(show(BOX := scene_object(GEOMETRY), {"box.3ds": model(".3ds")}))
    with warnings.catch_warnings(), ZipFile(stream, "a") as archive:
        warnings.simplefilter("ignore")
        archive.writestr("box.3ds", BOX)
    with pytest.raises(keyframer.FormatError) as caught:
        load(stream.getvalue())
    assert "two members" in caught.value.message
