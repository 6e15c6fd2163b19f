"""Every combination of the differences between writers is read correctly and written back unchanged."""

from __future__ import annotations

from itertools import product

import pytest

import keyframer
from keyframer.formats.uto3d.records import AnyLight
from keyframer.formats.uto3d.sections import Dialect, LightLayout
from keyframer.issues import Severity
from tests.building import uto3d as writers
from tests.building.uto3d import Manner, Scene, write
from tests.formats.uto3d.compare import assert_matches

LAYOUTS = {"a": LightLayout.FLEXPORTER, "b": LightLayout.MAXSCRIPT, "literal": LightLayout.LITERAL}
MANNERS = [Manner(*facts) for facts in product("ab", (False, True), (False, True))]
MANNERS += [Manner("literal", *facts) for facts in product((False, True), (False, True))]
per_manner = pytest.mark.parametrize("manner", MANNERS, ids=str)

MAPPINGS = [(), (writers.UVS,), (writers.COLOURS,), (writers.UVS, writers.COLOURS)]
SKINS = [(), (writers.SIMPLE, writers.SPHERE), (writers.WEIGHTED,)]
CONTROLLERS = {
    "tcb": [writers.tcb(kind, kind, 10, (0, 31, kind, 16)) for kind in range(5)],
    "tcb alike": [writers.tcb(kind, kind, 10, (21, 21)) for kind in range(5)],
    "linear": [writers.linear(kind, kind, 10) for kind in range(5)],
    "bezier": [writers.bezier(kind, kind, 10, count) for kind, count in zip(range(5), (0, 1, 7, 900, 2), strict=True)],
    "nothing": [writers.NOTHING, writers.tcb(0, 1, 10), writers.NOTHING, writers.NOTHING],
    "sampled": [writers.sampled(0, 5, 10), writers.tcb(1, 6, 10, (0, 3)), writers.sampled(4, 7, 20)],
    "none": [],
}


def read_back(scene: Scene, manner: Manner) -> keyframer.Document:
    data = write(scene, manner)
    document = keyframer.decode(data)
    assert keyframer.encode(document) == data
    assert_matches(document, scene, manner)
    assert document.issues.worst() is not Severity.ERROR, list(document.issues)
    assert document.trailing == b""
    return document


@per_manner
@pytest.mark.parametrize("controllers", CONTROLLERS.values(), ids=CONTROLLERS)
def test_every_combination(manner: Manner, controllers: list[dict[str, object]]) -> None:
    light_types = (0, 1, 2, 3, 4) if manner.lights == "a" else (0, 1, 2)
    for mapping, skin, more_targets, fewer_materials in product(MAPPINGS, SKINS, (False, True), (False, True)):
        scene = writers.small_scene()
        scene.meshes = [writers.mesh(b"First", 10, *mapping, *skin), writers.mesh(b"Second", 11, *skin)]
        scene.lights = [writers.light(b"Light", 30 + kind, kind) for kind in light_types]
        scene.controllers = controllers
        if more_targets:
            scene.targets += [writers.node(b"Light.Target", 40), writers.node(b"LITE it up", 41)]
        if fewer_materials:
            scene.claims["materials"] = 5
        document = read_back(scene, manner)
        assert document.dialect == Dialect(LAYOUTS[manner.lights], manner.uv_faces)
        assert document.issues.counts == (
            {"LINK_COUNT_MISMATCH": more_targets + fewer_materials} if more_targets or fewer_materials else {}
        )


@per_manner
def test_every_subset_of_sections(manner: Manner) -> None:
    whole = writers.small_scene()
    for present in product((False, True), repeat=6):
        meshes, cameras, lights, materials, bones, controllers = present
        scene = Scene(
            whole.meshes if meshes else [],
            whole.cameras if cameras else [],
            whole.targets if cameras else [],
            whole.lights if lights else [],
            whole.materials if materials else [],
            whole.bones if bones else [],
            whole.controllers if controllers else [],
        )
        document = read_back(scene, manner)
        assert document.dialect == Dialect(
            LAYOUTS[manner.lights] if lights else None, manner.uv_faces if meshes else None
        )
        assert set(document.issues.counts) <= {"SEM_EMPTY_DOCUMENT"}


@pytest.mark.parametrize("count", [0, 1, 2, 5])
def test_the_number_of_camera_targets_may_differ_from_that_of_cameras(count: int) -> None:
    scene = writers.small_scene()
    scene.cameras = [writers.camera(b"CTGT camera", 20 + index, 60 + index) for index in range(2)]
    scene.targets = [writers.node(b"Target", 60 + index) for index in range(count)]
    for manner in (writers.A, writers.B, writers.LITERAL):
        document = read_back(scene, manner)
        assert document.issues.counts["LINK_COUNT_MISMATCH"] == (count != 2)


def test_announced_free_cameras_may_be_missing() -> None:
    """The MAXScript exporter announces half of all cameras and targets but writes target cameras only."""
    for written in (0, 1):
        scene = writers.small_scene()
        scene.claims = {"cameras": 2}
        scene.cameras, scene.targets = scene.cameras[:written], scene.targets[:written]
        document = read_back(scene, writers.B)
        assert document.issues.counts["LINK_COUNT_MISMATCH"] == 1  # targets have no count


@pytest.mark.parametrize("name", [b"BONE", b"BONES", b"CTRL", b"MATS", b"LITE"])
def test_names_may_begin_like_tags(name: bytes) -> None:
    scene = writers.small_scene()
    for node in (scene.meshes[1], scene.cameras[0], scene.targets[0], scene.lights[1], scene.bones[1]):
        node["name"] = name
    scene.materials = [(b"Steel", 0), (name, 1), (b"Glass", 2), (b"Skin of a bear", 3)]
    for claims in ({}, {"materials": 6}):
        scene.claims = claims
        for manner in (writers.A, writers.B, writers.LITERAL):
            read_back(scene, manner)


def test_contradicting_counts_are_kept_until_records_change() -> None:
    from keyframer.formats.uto3d.records import Material
    from keyframer.formats.uto3d.sections import Main, MaterialSection

    document = keyframer.decode(write(writers.maxscript_scene(), writers.B))
    section = document.first(MaterialSection)
    assert section.claimed == (24, 2)
    section.children.append(Material(b"Third", 9))
    assert keyframer.decode(keyframer.encode(document)).first(Main).material_count == 3


def test_text_of_a_dialect() -> None:
    texts = {name: str(keyframer.decode(data).dialect) for name, data in writers.samples().items()}
    assert texts == {
        "flexporter.u3d": "flexporter lights, UV faces without UVs",
        "maxscript.u3d": "maxscript lights, no UV faces without UVs",
        "literal.u3d": "literal lights, UV faces without UVs",
        "sampled.u3d": "UV faces without UVs",
        "empty.u3d": "no evidence",
    }


@pytest.mark.parametrize("manner", [writers.A, writers.B, writers.LITERAL], ids=str)
def test_a_truncated_file_is_read_in_its_dialect(manner: Manner) -> None:
    """If no following section decides, plausible records do."""
    scene = writers.small_scene()
    scene.lights = [writers.light(b"Light", 30 + index, 0) for index in range(4)]
    data = write(scene, manner)
    cut = data.index(b"MATS") - 30
    document = keyframer.decode(data[:cut])
    assert document.dialect == Dialect(LAYOUTS[manner.lights], manner.uv_faces)
    assert set(document.issues.counts) <= {"STRUCT_TRUNCATED", "STRUCT_COUNT_EXCEEDS_DATA"}
    assert len(list(document.find(AnyLight))) == 3
    assert keyframer.encode(document) == data[:cut]


def test_trailing_bytes_do_not_change_the_dialect() -> None:
    scene = Scene(lights=[writers.light(b"Light", 30, 1)])
    for manner in (writers.A, writers.B, writers.LITERAL):
        data = write(scene, manner)[:-4] if manner.omits_empty else write(scene, manner).split(b"MATS")[0]
        document = keyframer.decode(data + b"\xff\xfe\xfd\xfc\xfb")
        assert document.dialect == Dialect(LAYOUTS[manner.lights], None)
        assert document.trailing == b"\xff\xfe\xfd\xfc\xfb"
        assert [issue.code for issue in document.issues] == ["STRUCT_TRAILING_DATA"]
