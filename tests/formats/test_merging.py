"""Merging three trees of records: rows, bits, keys, added and removed records, and records next to each other."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import keyframer
from keyframer.formats.kit.scene_reading import scene_of
from keyframer.formats.kit.scene_writing import CannotMerge
from keyframer.formats.merging import FrameTable, RecordRules, Tree, equal, merge, merge_rows, merge_tables
from keyframer.formats.threeds import FORMAT
from keyframer.formats.threeds import records as r
from keyframer.formats.threeds.chunk import RawChunk
from keyframer.formats.threeds.document import new_document
from keyframer.scene import Scene
from keyframer.wire.key_table import Keys
from keyframer.wire.record import Record
from tests.formats.editing import rewrite_reasons, set_fields
from tests.formats.threeds.bridge import make


def test_unchanged_rows_keep_the_values_of_the_file() -> None:
    ours = np.array([[1.0, 1], [2, 2], [3, 3]], "<f4")
    base = np.array([[0.0, 0], [2, 2], [9, np.nan]])
    theirs = np.array([[0.0, 0], [2, 5], [9, np.nan], [7, 7]])
    assert merge_rows(ours, base, theirs).tolist() == [[1, 1], [2, 5], [3, 3], [7, 7]]
    assert merge_rows(ours, base, theirs[:1]).tolist() == [[1, 1]]
    assert merge_rows(ours[:2], base, theirs).tolist()[:2] == theirs[:2].tolist(), "rows do not correspond"


def test_a_column_of_flags_is_merged_bit_by_bit() -> None:
    ours = np.array([[5, 0x107], [6, 0x207]])
    base = np.array([[5, 7], [6, 7]])
    theirs = np.array([[5, 3], [9, 7]])
    assert merge_rows(ours, base, theirs, 1).tolist() == [[5, 0x103], [9, 7]]
    assert merge_rows(ours[:, 1], base[:, 1], theirs[:, 1], 0).tolist() == [0x103, 0x207]


def test_keys_are_matched_by_their_times() -> None:
    ours = Keys.make([0, 10, 20], [[1.0], [2.0], [3.0]], tension=[0.5, 0.0, 0.0])
    base = Keys.make([0, 10, 20], [[1.5], [2.5], [3.5]], tension=[0.5, 0.0, 0.0])
    theirs = Keys.make([0, 15, 20], [[1.5], [9.0], [4.0]], tension=[0.5, 0.0, 0.0])
    moved = merge_tables(ours, base, theirs).columns()
    assert moved["time"].tolist() == [0, 15, 20]
    assert moved["value"].ravel().tolist() == [1.0, 9.0, 4.0]
    fewer = merge_tables(ours, base, Keys.make([0, 20], [[1.5], [3.5]])).columns()
    assert fewer["value"].ravel().tolist() == [1.0, 3.0]
    assert "extras" not in fewer


def test_new_keys_cannot_be_added_to_keys_with_columns_unknown_to_the_scene() -> None:
    ours = Keys.make([0], [[1.0]], tension=[0.5])
    base = Keys.make([0], [[1.0]])
    with pytest.raises(CannotMerge, match="new keys have no extras, but the original keys do"):
        merge_tables(ours, base, Keys.make([0, 5], [[1.0], [2.0]]))


def test_frames_are_merged_by_rows_and_columns() -> None:
    """Reversed, with one changed cell, a new column, a removed one, and one that only the file has."""
    forth, back = np.arange(3), np.array([2, 1, 0])
    ours = FrameTable({"a": [1.25, 2.25, 3.25], "gone": [4, 5, 6], "unknown to the scene": [7, 8, np.nan]}, forth)
    base = FrameTable({"a": [1, 2, 3], "gone": [4, 5, 6]}, forth)
    theirs = FrameTable({"a": [3, 9, 1], "new": [0, 1, 2]}, back)
    merged = merge_tables(ours, base, theirs).columns()
    assert {name: column.tolist()[1:] for name, column in merged.items()} == {
        "time": [1, 0],
        "a": [9.0, 1.25],
        "unknown to the scene": [8.0, 7.0],
        "new": [1.0, 2.0],
    }
    assert merged["a"][0] == 3.25
    assert np.isnan(merged["unknown to the scene"][0])


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
    merged = merge(ours, base, theirs, RecordRules()).document
    assert [type(child) for child in editor(merged)] == [r.MeshVersion, r.MasterScale, r.UseLayerFog, RawChunk]
    assert editor(merged)[0] is editor(ours.document)[0], "what did not change is shared"
    assert [record.scale for record in merged.find(r.MasterScale)] == [2.0]
    assert [record.scale for record in ours.document.find(r.MasterScale)] == [1.0], "the original is not touched"


def test_a_record_missing_in_the_file_is_inserted_only_if_it_changes() -> None:
    ours, base = tree(r.MeshVersion(3)), tree(r.MeshVersion(3), r.MasterScale(1.0))
    unchanged = merge(ours, base, tree(r.MeshVersion(3), r.MasterScale(1.0)), RecordRules()).document
    assert [type(record) for record in editor(unchanged)] == [r.MeshVersion]
    changed = merge(ours, base, tree(r.MeshVersion(3), r.MasterScale(2.0)), RecordRules()).document
    assert [type(record) for record in editor(changed)] == [r.MeshVersion, r.MasterScale]


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
