"""U3D documents: built, edited, and refused if no file could store them."""

from __future__ import annotations

import numpy as np
import pytest

import keyframer
from keyframer.formats.kit.key_table import Keys
from keyframer.formats.kit.scene_reading import Reporter
from keyframer.formats.uto3d.document import new_document
from keyframer.formats.uto3d.records import (
    LINEAR,
    POSITION,
    SCALE,
    TCB,
    Camera,
    Controller,
    FlexporterLight,
    Light,
    Material,
    Mesh,
    MeshWithUvFaces,
    NoController,
)
from keyframer.formats.uto3d.sections import Dialect, FileHeader, LightLayout, Main, MeshSection
from keyframer.issues import IssueLog
from tests.building import uto3d as writers
from tests.samples import unhex


def triangle(kind: type[Mesh] = Mesh) -> Mesh:
    return kind(
        name=b"Triangle",
        id=1,
        vertices=np.eye(3, dtype=np.float32),
        faces=np.array([[0, 1, 2]]),
        edges=np.array([7]),
        face_materials=np.array([0]),
    )


def test_building_a_document() -> None:
    document = new_document(
        triangle(),
        Material(b"Red", 0),
        Controller(POSITION, 0, 1, scheme=TCB, keys=Keys.make([0, 160], [[0, 0, 0], [1, 2, 3]], tension=[0.5, 0])),
        last_frame=1,
    )
    decoded = keyframer.decode(keyframer.encode(document))
    assert not decoded.issues
    main, controller = decoded.first(Main), decoded.first(Controller)
    assert (main.object_count, main.material_count, main.controller_count, main.delta_time) == (1, 1, 1, 160)
    assert controller.keys.tension.tolist() == [0.5, 0.0]
    assert controller.keys.value.tolist() == [[0, 0, 0], [1, 2, 3]]
    assert [str(place) for place, _ in decoded.walk()][:4] == [
        "/uto3d",
        "/uto3d/main",
        "/uto3d/mesh",
        "/uto3d/mesh/objects[0]",
    ]


def test_the_bytes_of_a_small_scene() -> None:
    document = new_document(Material(b"Red", 7), NoController(), last_frame=250, frame_rate=25)
    assert keyframer.encode(document) == unhex("""
        55 54 4f 21  00 09                                   # UTO!, version 0.9
        4d 41 49 4e  00 00 00 00  fa 00 00 00  19 00 00 00   # MAIN, first frame, last frame 250, 25 a second
        c0 00 00 00  00 00 80 3f                             # 192 ticks a frame, scale 1
        00 00 00 00  00 00 00 00  00 00 00 00                # objects, cameras, lights
        01 00 00 00  01 00 00 00  00 00 00 00                # materials, controllers, bones
        4d 45 53 48  43 41 4d 53  43 54 47 54  4c 49 54 45   # MESH, CAMS, CTGT, LITE: empty
        4d 41 54 53  52 65 64 00  07 00 00 00                # MATS, "Red", id 7
        42 4f 4e 45                                          # BONE: empty
        43 54 52 4c  05  ff 00 00 00                         # CTRL, type 5, 255
    """)


def test_editing_updates_the_counts() -> None:
    document = keyframer.decode(writers.samples()["maxscript.u3d"])
    section = document.first(MeshSection)
    section.children.append(triangle())
    mesh = section.children[0]
    assert isinstance(mesh, Mesh)
    mesh.uvs = np.zeros((3, 2), np.float32)
    mesh.uv_faces = np.zeros((2, 3), np.int32)
    decoded = keyframer.decode(keyframer.encode(document))
    assert decoded.first(Main).object_count == 3
    assert [len(record.uvs) for record in decoded.find(Mesh)] == [3, 3, 0]


def test_values_that_cannot_be_stored_are_refused() -> None:
    with pytest.raises(ValueError, match="several layouts"):
        new_document(Light(), FlexporterLight())
    with pytest.raises(ValueError, match="meshes without UVs must all have UV faces"):
        new_document(triangle(), triangle(MeshWithUvFaces))
    with pytest.raises(ValueError, match="does not belong"):
        new_document(FileHeader())
    document = new_document(Light())
    document.dialect = Dialect(LightLayout.FLEXPORTER)
    with pytest.raises(ValueError, match="flexporter lights"):
        keyframer.encode(document)
    document = new_document()
    document.records[0].children.reverse()
    with pytest.raises(ValueError, match="out of place"):
        keyframer.encode(document)
    document = new_document()
    document.records[0].children[1].children.append(Camera())
    with pytest.raises(ValueError, match="does not belong in MESH"):
        keyframer.encode(document)
    mesh = triangle()
    mesh.edges = np.zeros(2)
    with pytest.raises(ValueError, match="face_count"):
        keyframer.encode(new_document(mesh))
    keys = Keys.make([0], [[1, 2, 3]])
    with pytest.raises(ValueError, match="value"):
        keyframer.encode(new_document(Controller(SCALE, scheme=LINEAR, keys=keys)))


def test_only_a_file_header_is_allowed_at_the_top_level() -> None:
    document = new_document()
    document.records.append(Camera())
    with pytest.raises(ValueError, match=r"cannot be at the top level of a U3D \(UTO!\) scene"):
        keyframer.encode(document)


def test_records_are_checked_without_a_scene() -> None:
    document = new_document(Camera(name=b"a\x1b[2J"), Material(name=b"m"), Material(name=b"m"))
    reporter = Reporter(document, IssueLog())
    document.format.apply_rules(document, None, reporter)
    assert sorted(issue.code for issue in reporter.issues) == ["SEC_NAME_CONTROL_CHARS", "SEM_DUPLICATE_NAME"]
