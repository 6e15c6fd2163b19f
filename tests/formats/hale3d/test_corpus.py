"""The only real pair of Hale3D files, compared with the MD5 pair it was made from."""

from __future__ import annotations

import re

import numpy as np

import keyframer
from keyframer.formats.hale3d.records import Animation, Dialect, Frames, Joint, Mesh, Model, ModelJoint
from tests.corpus import CORPUS, needs_corpus

pytestmark = needs_corpus
FOLDER = CORPUS / "hale3d"


def test_animation() -> None:
    data = (FOLDER / "bob_lamp_update.anim").read_bytes()
    document = keyframer.decode(data)
    assert document.dialect is Dialect.NUL_ENDED
    assert document.issues.total == 0
    assert document.trailing == b""
    top = document.records[0]
    assert isinstance(top, Animation)
    assert (top.version, top.frame_count, top.frame_rate) == (1, 141, 24)
    assert (top.joint_count, top.component_count) == (33, 198)
    joints = list(document.find(Joint))
    assert [joint.name for joint in joints] == [b'"origin"'] * 33
    assert {joint.shown_name for joint in joints} == {"origin"}
    assert [joint.start_index for joint in joints] == [6 * index for index in range(33)]
    frames = document.first(Frames)
    assert frames.rows.shape == (141, 204)
    assert np.isfinite(frames.rows).all()
    assert np.array_equal(frames.components[140], frames.components[0])
    assert keyframer.encode(document) == data


def test_the_hierarchy_is_that_of_the_md5_file() -> None:
    text = (FOLDER / "Bob.md5anim").read_text(encoding="utf-8", errors="replace")
    block = re.search(r"hierarchy\s*\{(.*?)\}", text, re.DOTALL)
    rows = re.findall(r'"([^"]*)"\s+(-?\d+)\s+(\d+)\s+(\d+)', block.group(1))
    animation = keyframer.read(FOLDER / "bob_lamp_update.anim")
    assert [(joint.parent, joint.flags, joint.start_index) for joint in animation.find(Joint)] == [
        tuple(map(int, row[1:])) for row in rows
    ]
    model = keyframer.read(FOLDER / "bob_lamp_update.mdl")
    assert [(joint.shown_name, joint.parent) for joint in model.find(ModelJoint)] == [
        (row[0], int(row[1])) for row in rows
    ]


def test_model() -> None:
    data = (FOLDER / "bob_lamp_update.mdl").read_bytes()
    document = keyframer.decode(data)
    assert document.issues.total == 0
    assert document.trailing == b""
    top = document.records[0]
    assert isinstance(top, Model)
    assert (top.version, top.mesh_count, top.joint_count) == (1, 6, 33)
    for mesh in document.find(Mesh):
        assert mesh.triangles.max() < mesh.vertex_count
        assert (mesh.vertices["first_weight"] + mesh.vertices["weight_count"]).max() <= mesh.weight_count
        assert mesh.weights["joint"].min() >= 0
        assert mesh.weights["joint"].max() < 33
        sums = np.add.reduceat(mesh.weights["bias"], mesh.vertices["first_weight"].astype(np.intp))
        assert np.allclose(sums, 1, atol=1e-3)
    assert keyframer.encode(document) == data
