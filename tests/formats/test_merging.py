"""Merging three trees of records: rows, bits, keys, added and removed records, and records next to each other."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import keyframer
from keyframer.formats.kit.scene_reading import scene_of
from keyframer.formats.merging import RecordRules, Tree, apply_changes, equal
from keyframer.formats.threeds import FORMAT
from keyframer.formats.threeds import records as r
from keyframer.formats.threeds.chunk import RawChunk
from keyframer.formats.threeds.document import new_document
from keyframer.scene import Scene
from keyframer.wire.key_table import Keys
from keyframer.wire.record import Record
from tests.building import threeds_records as make
from tests.building.editing import rewrite_reasons, set_fields


def test_nans_are_equal() -> None:
    assert equal(float("nan"), float("nan"))
    assert equal((1.0, float("nan")), (1.0, float("nan")))
    assert not equal(np.zeros(2), np.zeros(3))
    assert not equal(Keys.make([0], [[1.0]]), Keys.make([0], [[2.0]]))


def tree(*chunks: Record) -> Tree:
    return Tree(new_document(r.Version(3), r.Editor(children=list(chunks))), {})


def editor(document: keyframer.Document) -> list[Record]:
    record = document.first(r.Editor)
    assert record is not None
    return record.children


def test_new_records_follow_similar_ones_and_removed_ones_are_removed() -> None:
    strange = RawChunk(0x7777, b"?")
    ours = tree(r.MeshVersion(3), r.MasterScale(1.0), strange, r.UseFog())
    base = tree(r.MeshVersion(3), r.MasterScale(1.0), r.UseFog())
    theirs = tree(r.MeshVersion(3), r.MasterScale(2.0), r.UseLayerFog())
    merged = apply_changes(ours, base, theirs, RecordRules()).document
    assert [type(child) for child in editor(merged)] == [r.MeshVersion, r.MasterScale, r.UseLayerFog, RawChunk]
    assert editor(merged)[0] is editor(ours.document)[0], "what did not change is shared"
    assert [record.scale for record in merged.find(r.MasterScale)] == [2.0]
    assert [record.scale for record in ours.document.find(r.MasterScale)] == [1.0], "the original is not touched"


def test_a_record_missing_in_the_file_is_inserted_only_if_it_changes() -> None:
    ours, base = tree(r.MeshVersion(3)), tree(r.MeshVersion(3), r.MasterScale(1.0))
    unchanged = apply_changes(ours, base, tree(r.MeshVersion(3), r.MasterScale(1.0)), RecordRules()).document
    assert [type(record) for record in editor(unchanged)] == [r.MeshVersion]
    changed = apply_changes(ours, base, tree(r.MeshVersion(3), r.MasterScale(2.0)), RecordRules()).document
    assert [type(record) for record in editor(changed)] == [r.MeshVersion, r.MasterScale]


def meshes(*flags: int) -> Tree:
    """A file with triangles that differ in the flags of their edges."""
    faces = np.array([[place, 1, 2, bits] for place, bits in enumerate(flags)], "<u2")
    return tree(r.NamedObject(b"Box", children=[r.Mesh(children=[r.FaceArray(faces)])]))


class FaceFlags(RecordRules):
    flags = {(r.FaceArray, "faces"): 3}  # noqa: RUF012


def test_bits_that_scenes_do_not_model_stay() -> None:
    """The original has two bits that the writer never writes; the edit clears an edge and adds a face."""
    edited = apply_changes(meshes(0x107, 0x203), meshes(7, 3), meshes(6, 3, 7), FaceFlags())
    (faces,) = edited.document.find(r.FaceArray)
    assert faces.faces[:, 3].tolist() == [0x106, 0x203, 7]


def keys(*values: float) -> r.PositionTrack:
    return r.PositionTrack(0, 0, 0, Keys.make(range(len(values)), [[value] * 3 for value in values]))


def test_a_changed_table_is_written_anew() -> None:
    """Fields of the record that did not change stay: the flags and two unknown numbers."""
    ours, base, theirs = (
        Tree(new_document(r.Keyframer(children=[r.ObjectNode(children=[track])])), {})
        for track in (r.PositionTrack(8, 5, 6, keys(1.5, 2.5).keys), keys(1.0, 2.0), keys(1.0, 3.0))
    )
    (track,) = apply_changes(ours, base, theirs, RecordRules()).document.find(r.PositionTrack)
    assert (track.flags, [getattr(track, plan.name) for plan in track.plan.fields][1:3]) == (8, [5, 6])
    assert track.keys.value[:, 0].tolist() == [1.0, 3.0]


def test_changed_parts_are_named() -> None:
    trees = [tree(r.NamedObject(b"Box"), r.NamedObject(name), r.MasterScale(1.0)) for name in (b"Lid", b"Lid", b"Cap")]
    trees = [
        Tree(each.document, {id(record): ("nodes", n) for n, record in enumerate(each.document.find(r.NamedObject))})
        for each in trees
    ]
    assert apply_changes(*trees, RecordRules()).changed == {("nodes", 1)}
    assert apply_changes(trees[0], trees[1], trees[1], RecordRules()).changed == set()


def groups_outside_faces(groups: list[int]) -> bytes:
    """A mesh with smoothing groups next to the faces instead of inside them."""
    box = make.mesh("Box")
    box.children[0].children.append(r.SmoothGroups(np.array(groups, "<u4")))
    return make.file_bytes([box], [make.node("object", "Box", 0)])


BESIDE: dict[str, tuple[bytes, Callable[[Scene], object], bytes]] = {
    "changed": (
        groups_outside_faces([1]),
        set_fields(lambda scene: scene.meshes[0], smoothing=np.array([2], np.uint32)),
        groups_outside_faces([2]),
    ),
    "gone": (
        groups_outside_faces([1]),
        set_fields(lambda scene: scene.meshes[0], smoothing=None),
        make.file_bytes([make.mesh("Box")], [make.node("object", "Box", 0)]),
    ),
}


@pytest.mark.parametrize("name", BESIDE)
def test_records_next_to_the_record_they_belong_to(name: str) -> None:
    data, edit, wanted = BESIDE[name]
    scene = scene_of(keyframer.decode(data, format="3ds"))
    edit(scene)
    written = FORMAT.from_scene(scene)
    assert rewrite_reasons(written) == []
    assert keyframer.encode(written.document) == wanted
