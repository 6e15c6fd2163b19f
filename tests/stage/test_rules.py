"""Rules of check for archives: each on a small archive, with the exact messages."""

from __future__ import annotations

import io
from typing import Any
from zipfile import ZIP_BZIP2, ZipFile

import pytest

import keyframer
from tests.building.gltf import glb, split_glb
from tests.stage.archives import (
    MOVING_HEAD_GEOMETRIES,
    MOVING_HEAD_MODELS,
    fixture,
    model,
    moving_head,
    pack,
    scene_object,
    show,
)

BOX = scene_object('<Geometry3D fileName="box.3ds"/>')
LAYER = "GeneralSceneDescription.xml/GeneralSceneDescription/Scene[0]/Layers[0]/Layer[0]/ChildList[0]"


def lines(data: bytes) -> list[str]:
    """Return the messages about an archive, without offsets, which depend on the compression."""
    report = keyframer.check(io.BytesIO(data))
    return [f"{issue.severity.label}: {issue.code} in {issue.path}: {issue.message}" for issue in report.issues]


def in_glb(data: bytes, **changes: object) -> bytes:
    """Return a binary glTF with other values in its JSON."""
    root, binary = split_glb(data)
    return glb({**root, **changes}, binary)


GLB = model(".glb", (200.0, 200.0, 300.0))
CASES: dict[str, tuple[bytes, list[str]]] = {
    "clean.mvr": (show(BOX, {"box.3ds": model(".3ds")}), []),
    "clean.gdtf": (moving_head(), []),
    "missing.mvr": (
        show(BOX),
        [
            f"warning: STAGE_FILE_MISSING in {LAYER}/SceneObject[0]/Geometries[0]/Geometry3D[0]/@fileName: "
            "a geometry needs the file box.3ds, which is not in the archive"
        ],
    ),
    "missing.gdtf": (
        fixture(MOVING_HEAD_MODELS, MOVING_HEAD_GEOMETRIES),
        [
            "warning: STAGE_FILE_MISSING in description.xml/GDTF/FixtureType[0]/Models[0]/Model[2]/@File: "
            "the model 'Head' needs the file head, which is not in the archive"
        ],
    ),
    "unused.mvr": (
        show(BOX, {"box.3ds": model(".3ds"), "old.3ds": model(".3ds")}),
        ["info: STAGE_FILE_UNUSED in old.3ds: nothing in the archive refers to this file"],
    ),
    "unused.gdtf": (
        fixture("", '<Geometry Name="Base"/>', {"thumbnail.png": b"", "models/3ds/old.3ds": model(".3ds")}),
        ["info: STAGE_FILE_UNUSED in models/3ds/old.3ds: nothing in the archive refers to this file"],
    ),
    "extension.mvr": (
        show(scene_object('<Geometry3D fileName="box"/>'), {"box.3ds": model(".3ds")}),
        [
            f"info: STAGE_EXTENSION_MISSING in {LAYER}/SceneObject[0]/Geometries[0]/Geometry3D[0]/@fileName: "
            "'box' has no extension: .3ds is used"
        ],
    ),
    "spec.mvr": (
        show('<Fixture name="S" uuid="f"><GDTFSpec>s</GDTFSpec></Fixture>', {"s.gdtf": moving_head()}),
        [f"info: STAGE_EXTENSION_MISSING in {LAYER}/Fixture[0]/GDTFSpec[0]: 's' has no extension: .gdtf is used"],
    ),
    "case.mvr": (
        show(
            BOX + scene_object('<Geometry3D fileName="BOX.3ds"/>'), {"box.3ds": model(".3ds"), "BOX.3ds": model(".3ds")}
        ),
        ["warning: STAGE_CASE_COLLISION in BOX.3ds: the name differs from box.3ds only by case"],
    ),
    "folder.mvr": (
        show(scene_object('<Geometry3D fileName="models/box.3ds"/>'), {"models/box.3ds": model(".3ds")}),
        ["warning: STAGE_FILE_IN_FOLDER in models/box.3ds: files of a show must not be in folders"],
    ),
    "packing.mvr": (
        show(BOX, {"box.3ds": model(".3ds")}, packed={"notes.txt": ZIP_BZIP2}),
        [
            "warning: STAGE_PACKING in notes.txt: compressed by method 12: members must be stored or deflated, "
            "and not encrypted",
            "info: STAGE_FILE_UNUSED in notes.txt: nothing in the archive refers to this file",
        ],
    ),
    "nested.mvr": (
        show(BOX, {"box.3ds": model(".3ds"), "more.zip": pack({"a": b""})}),
        [
            "info: STAGE_FILE_UNUSED in more.zip: nothing in the archive refers to this file",
            "warning: STAGE_NESTED_ARCHIVE in more.zip: archives inside archives are not opened",
        ],
    ),
    "nested.gdtf": (
        fixture("", '<Geometry Name="Base"/>', {"more.gdtf": moving_head()}),
        [
            "info: STAGE_FILE_UNUSED in more.gdtf: nothing in the archive refers to this file",
            "warning: STAGE_NESTED_ARCHIVE in more.gdtf: archives inside archives are not opened",
        ],
    ),
    "scale.gdtf": (
        moving_head(".3ds", (2000.0, 2000.0, 3000.0)),
        [
            "warning: STAGE_MODEL_SCALE in models/3ds/head.3ds: the file is 10 times as large as the stated "
            "dimensions 0.2 m x 0.2 m x 0.3 m of the model 'Head'"
        ],
    ),
    "metres.gdtf": (
        moving_head(".3ds", (0.2, 0.2, 0.3)),
        [
            "warning: STAGE_MODEL_SCALE in models/3ds/head.3ds: the file is 0.001 times as large as the stated "
            "dimensions 0.2 m x 0.2 m x 0.3 m of the model 'Head'"
        ],
    ),
    "animation.gdtf": (
        fixture(
            MOVING_HEAD_MODELS,
            MOVING_HEAD_GEOMETRIES,
            {"models/gltf/head.glb": in_glb(GLB, extensionsUsed=["KHR_materials_unlit"])},
        ),
        [
            "warning: STAGE_GLTF_RULE in models/gltf/head.glb: it uses the extension KHR_materials_unlit, which is "
            "not allowed for glTF files in stage archives"
        ],
    ),
    "required.mvr": (
        show(
            scene_object('<Geometry3D fileName="box.glb"/>'),
            {
                "box.glb": in_glb(
                    GLB, extensionsRequired=["KHR_texture_transform"], extensionsUsed=["KHR_texture_transform"]
                )
            },
        ),
        [
            "warning: STAGE_GLTF_RULE in box.glb: it requires the extension KHR_texture_transform, which is not "
            "allowed for glTF files in stage archives"
        ],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_rule_has_exactly_these_messages(name: str) -> None:
    data, expected = CASES[name]
    assert sorted(lines(data)) == sorted(expected)


@pytest.mark.parametrize(
    "odd",
    [
        {"meshes": [5]},
        {"meshes": [{"primitives": [{"attributes": 7}, {"attributes": {"POSITION": "x", "NORMAL": 99}}]}]},
        {"accessors": 3, "images": [None, {"mimeType": 4}]},
        {"extensionsUsed": "KHR_none"},
    ],
)
def test_rules_do_not_fail_on_invalid_gltf_models(odd: dict[str, Any]) -> None:
    """Loading, which salvages what it can, reports their problems."""
    damaged = in_glb(GLB, **odd)
    in_fixture = fixture(MOVING_HEAD_MODELS, MOVING_HEAD_GEOMETRIES, {"models/gltf/head.glb": damaged})
    in_show = show(scene_object('<Geometry3D fileName="box.glb"/>'), {"box.glb": damaged})
    assert all(any("error: " in line for line in lines(data)) for data in (in_fixture, in_show))


def test_more_than_1200_vertices() -> None:
    models = '<Model Name="M" Length="1" Width="1" Height="1" PrimitiveType="Undefined" File="ball"/>'
    from tests.stage.dense import dense_model

    data = fixture(models, '<Geometry Name="Base" Model="M"/>', {"models/3ds/ball.3ds": dense_model(1201)})
    messages = [line for line in lines(data) if "VERTICES" in line]
    assert messages == [
        "warning: STAGE_MODEL_VERTICES in description.xml/GDTF: the models of the fixture have 1201 vertices, more "
        "than 1200"
    ]


def test_other_compression_methods_are_reported() -> None:
    archive = ZipFile(io.BytesIO(show(BOX, {"box.3ds": model(".3ds")})))
    data = pack({name: archive.read(name) for name in archive.namelist()}, ZIP_BZIP2)
    (line,) = lines(data)
    assert "compressed by method 12: only stored or deflated members without encryption are read" in line


def test_encryption_is_reported() -> None:
    data = bytearray(show(BOX, {"box.3ds": model(".3ds")}))
    for mark, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        position = -1
        while (position := data.find(mark, position + 1)) >= 0:
            data[position + place] |= 1
    (line,) = lines(bytes(data))
    assert "encrypted: only stored or deflated members without encryption are read" in line


def test_damaged_model_is_reported_with_member_offset_and_path() -> None:
    data = show(BOX, {"box.3ds": model(".3ds")[:120]})
    report = keyframer.check(io.BytesIO(data))
    assert report.issues
    assert all(issue.path.startswith("box.3ds") for issue in report.issues)
