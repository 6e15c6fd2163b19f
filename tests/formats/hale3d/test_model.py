"""Hale3D models: annotated bytes, dialects, damage, building."""

from __future__ import annotations

import numpy as np
import pytest

import keyframer
from keyframer.formats.document import RawRun
from keyframer.formats.hale3d.document import new_model
from keyframer.formats.hale3d.records import VERTEX, WEIGHT, Mesh, Model, ModelJoint
from keyframer.wire.record import dump_fields, restore_fields
from tests.building.hale3d import TEXTS, arm, mesh, model
from tests.samples import unhex

TINY = unhex(
    """
    48 33 44 4d              # H3DM
    01 00 00 00              # version 1
    01 00 00 00              # 1 mesh
    01 00 00 00              # 1 joint
    01 00 00 00              # mesh 0: 1 vertex
    01 00 00 00              #         1 weight
    01 00 00 00              #         1 triangle
    61 2e 6d 61 74 00        #         a.mat
    00 00 00 3f  00 00 80 3e                          # vertex 0: s 0.5, t 0.25
    00 00 00 00  01 00 00 00                          #           1 weight from weight 0
    00 00 80 3f  00 00 00 00                          # weight 0: bias 1, joint 0
    00 00 80 3f  00 00 00 40  00 00 40 40             #           at 1 2 3 of the joint
    00 00 00 00  00 00 00 00  00 00 00 00             # triangle 0: 0 0 0
    ff ff ff ff                                       # joint 0: no parent
    00 00 00 00  00 00 80 3f  00 00 00 00             #          at 0 1 0
    00 00 00 00  00 00 00 00  00 00 00 3f             #          orientation 0 0 0.5
    68 69 70 00                                       #          hip
    """
)


def test_every_field() -> None:
    document = keyframer.decode(TINY)
    assert document.format.name == "hale3d"
    assert not list(document.issues)
    top = document.records[0]
    assert isinstance(top, Model)
    assert (top.id, top.version, top.mesh_count, top.joint_count) == (b"H3DM", 1, 1, 1)
    surface, hip = top.children
    assert isinstance(surface, Mesh)
    assert surface.material == b"a.mat"
    assert surface.vertices["st"].tolist() == [[0.5, 0.25]]
    assert surface.vertices[["first_weight", "weight_count"]].tolist() == [(0, 1)]
    assert surface.weights["bias"].tolist() == [1]
    assert surface.weights["joint"].tolist() == [0]
    assert surface.weights["position"].tolist() == [[1, 2, 3]]
    assert surface.triangles.tolist() == [[0, 0, 0]]
    assert isinstance(hip, ModelJoint)
    assert (hip.parent, hip.position, hip.orientation, hip.name) == (-1, (0, 1, 0), (0, 0, 0.5), b"hip")
    assert [str(place) for place, _ in document.walk()] == ["/model", "/model/mesh[0]", "/model/joint[0]"]
    assert keyframer.encode(document) == TINY


@pytest.mark.parametrize("name", TEXTS)
def test_dialects(name: str) -> None:
    document = keyframer.decode(arm(TEXTS[name]))
    assert str(document.dialect) == name
    assert [record.shown_name for record in document.find(ModelJoint)] == ["root", "arm", "hand"]
    assert keyframer.encode(document) == arm(TEXTS[name])


def test_counts_are_updated() -> None:
    document = keyframer.decode(arm())
    surface = document.first(Mesh)
    surface.triangles = surface.triangles[:1]
    del document.records[0].children[1]
    decoded = keyframer.decode(keyframer.encode(document))
    top, smaller = decoded.records[0], decoded.first(Mesh)
    assert isinstance(top, Model)
    assert (top.mesh_count, top.joint_count) == (1, 3)
    assert smaller.triangle_count == 1
    assert decoded.issues.total == 0


def test_building_a_model() -> None:
    vertices = np.zeros(1, VERTEX)
    vertices["st"], vertices["weight_count"] = [0.5, 0.25], 1
    weights = np.zeros(1, WEIGHT)
    weights["bias"], weights["position"] = 1, [1, 2, 3]
    surface = Mesh(material=b"a.mat", vertices=vertices, weights=weights, triangles=np.zeros((1, 3), np.uint32))
    document = new_model([surface], [ModelJoint(-1, (0, 1, 0), (0, 0, 0.5), b"hip")])
    assert keyframer.encode(document) == TINY


def test_a_table_of_the_wrong_type_is_refused() -> None:
    document = keyframer.decode(TINY)
    surface = document.first(Mesh)
    surface.vertices = np.zeros((1, 4), "<f4")
    with pytest.raises(ValueError, match=r"Mesh\.vertices"):
        keyframer.encode(document)


def test_meshes_before_the_damage_are_kept() -> None:
    whole = mesh(b"a", [(0, 0, 0, 1)], [(1, 0, 0, 0, 0)], [])
    data = model([whole, whole[:20]], [])
    document = keyframer.decode(data)
    first, raw = document.records[0].children
    assert isinstance(first, Mesh)
    assert isinstance(raw, RawRun)
    assert raw.data == whole[:20]
    assert raw.reason == "STRUCT_COUNT_EXCEEDS_DATA"
    assert keyframer.encode(document) == data


@pytest.mark.parametrize("rows", [{}, [1], [{"st": [0, 0]}], [{"st": [0], "first_weight": 0, "weight_count": 0}]])
def test_text_forms_that_are_no_table_are_refused(rows: object) -> None:
    with pytest.raises(ValueError):
        restore_fields(Mesh(), dump_fields(Mesh()) | {"vertices": rows})
