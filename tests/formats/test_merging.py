"""Merging three trees of records (rows, bits, keys, added and removed records), and new parts in all formats."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import keyframer
from keyframer.curves import Interpolation, Track
from keyframer.formats.kit.key_table import Keys
from keyframer.formats.kit.scene_reading import scene_of
from keyframer.formats.kit.scene_writing import Written
from keyframer.formats.merging import RecordRules, Tree, apply_changes, equal
from keyframer.formats.threeds import FORMAT
from keyframer.formats.threeds import records as r
from keyframer.formats.threeds.chunk import RawChunk
from keyframer.formats.threeds.document import new_document
from keyframer.scene import Channel, Material, Mesh, Node, NodeKind, Scene
from keyframer.scene.loss_report import Outcome
from keyframer.wire.record import Record
from tests.building import threeds_records as make
from tests.building.editing import load_sample, merged, read_again, rewrite_reasons, save, set_fields
from tests.samples import FOLDER


def test_nans_are_equal() -> None:
    assert equal(float("nan"), float("nan"))
    assert equal((1.0, float("nan")), (1.0, float("nan")))
    assert not equal(np.zeros(2), np.zeros(3))
    assert not equal(Keys.make([0], [[1.0]]), Keys.make([0], [[2.0]]))


def tree(*chunks: Record) -> Tree:
    return Tree(new_document(r.Version(3), r.Editor(children=list(chunks))), {})


def editor(document: keyframer.Document) -> list[Record]:
    return document.first(r.Editor).children


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
    assert merged(FORMAT.from_scene(scene)) == wanted


def dropped_paths(written: Written) -> list[str]:
    return [loss.path for loss in written.report.of(Outcome.DROPPED)]


def add_material(scene: Scene) -> None:
    scene.materials.append(Material("fresh", diffuse=(1.0, 0.0, 0.0), shininess=0.5))


NEW_MATERIALS = {
    "3ds/windmill.3ds": [],
    "ase/textured.ase": [],
    "uto3d/maxscript.u3d": ["/materials/diffuse", "/materials/shininess"],
    "midtown/retail.anim": ["/materials"],
    "nodeanim/default_mixed.nanim": ["/materials"],
}


@pytest.mark.parametrize("name", NEW_MATERIALS)
def test_losses_of_a_new_material_are_reported(name: str) -> None:
    scene = load_sample(name)
    add_material(scene)
    written = save(scene)
    assert rewrite_reasons(written) == []
    assert dropped_paths(written) == NEW_MATERIALS[name]
    added = "/materials/fresh" in [loss.path for loss in written.report.of(Outcome.EXACT)]
    assert added is (dropped_paths(written) != ["/materials"])
    assert ("fresh" in [material.name for material in read_again(written).materials]) is added


def test_a_material_without_a_mesh_is_reported() -> None:
    """Hale3D stores materials only as names in meshes."""
    scene = load_sample("hale3d/arm-length.mdl")
    gone = next(number for number, node in enumerate(scene.nodes) if node.mesh == 1)
    scene.nodes.pop(gone)
    scene.meshes.pop(1)
    scene.skins.pop(1)
    written = save(scene)
    assert rewrite_reasons(written) == []
    assert dropped_paths(written) == [f"/materials/{scene.materials[1].name}"]


def test_a_material_replaced_on_its_mesh_is_reported() -> None:
    scene = load_sample("hale3d/arm-length.mdl")
    scene.meshes[0].face_materials = np.ones(len(scene.meshes[0].corners), np.int32)
    written = save(scene)
    assert rewrite_reasons(written) == []
    assert [material.name for material in read_again(written).materials] == [scene.materials[1].name] * 2
    assert dropped_paths(written) == [f"/materials/{scene.materials[0].name}"]


def test_a_removed_material_that_a_mesh_still_needs_is_reported() -> None:
    scene = load_sample("hale3d/arm-length.mdl")
    name = scene.materials.pop(0).name
    scene.meshes[0].face_materials = np.full(len(scene.meshes[0].corners), -1, np.int32)
    scene.meshes[1].face_materials = np.zeros(len(scene.meshes[1].corners), np.int32)
    written = save(scene)
    assert rewrite_reasons(written) == []
    assert name in [material.name for material in read_again(written).materials]
    assert dropped_paths(written) == [f"/materials/{name}"]


@pytest.mark.parametrize("name", ["3ds/windmill.3ds", "uto3d/maxscript.u3d", "ase/textured.ase"])
def test_a_new_mesh_is_not_reported_as_unused(name: str) -> None:
    scene = load_sample(name)
    scene.nodes.append(Node("flag", NodeKind.OBJECT, mesh=len(scene.meshes)))
    scene.meshes.append(Mesh("flag", np.eye(3), np.array([[0, 1, 2]], np.int32)))
    written = save(scene)
    assert rewrite_reasons(written) == []
    assert dropped_paths(written) == []


NOT_STORABLE: dict[str, Callable[[Scene], None]] = {
    "uto3d/empty.u3d": set_fields(lambda scene: scene, title="Something"),
    "nodeanim/default_empty_clip.nanim": set_fields(lambda scene: scene.environment, ambient=(1.0, 0.0, 0.0)),
}


@pytest.mark.parametrize("name", NOT_STORABLE)
def test_an_edit_that_no_new_file_could_store_leaves_the_file_unchanged(name: str) -> None:
    scene = load_sample(name)
    NOT_STORABLE[name](scene)
    written = save(scene)
    assert keyframer.encode(written.document) == (FOLDER / name).read_bytes()
    assert len(dropped_paths(written)) == 1


def test_a_new_dummy_in_a_file_without_keyframer_causes_a_new_file() -> None:
    """A new file can store the dummy, so it is not dropped."""
    scene = load_sample("3ds/bare_editor.3ds")
    scene.nodes.append(Node("joint", NodeKind.DUMMY, position=np.array([1.0, 2.0, 3.0])))
    written = save(scene)
    (why,) = rewrite_reasons(written)
    assert "the file is only an editor section" in why
    assert read_again(written).node("joint").position.tolist() == [1.0, 2.0, 3.0]


@pytest.mark.parametrize("name", ["nodeanim/default_mixed.nanim", "nodeanim/big_u32_u32_u16_text.nanim"])
def test_a_new_node_is_placed_as_in_a_new_file(name: str) -> None:
    """Node animations have no hierarchy: a child gets another position, in a new file and in a merged one."""
    scene = load_sample(name)
    scene.nodes.append(Node("hand", NodeKind.BONE, parent=0))
    track = Track("position", np.zeros(1), np.array([[1.0, 2.0, 3.0]]), Interpolation.LINEAR)
    scene.clips[0].channels.append(Channel(len(scene.nodes) - 1, track))
    written = save(scene)
    assert rewrite_reasons(written) == []
    assert dropped_paths(written) == ["/parents"]


@pytest.mark.parametrize(
    "name", ["nodeanim/u16_u16.nanim", "nodeanim/u8_u32_inside.nanim", "nodeanim/id_only_u8.nanim"]
)
def test_moving_the_last_key_moves_the_end(name: str) -> None:
    """Whatever the time unit of a new file would be. The end is that of the last key."""
    scene = load_sample(name)
    clip = scene.clips[0]
    track = max((channel.track for channel in clip.channels), key=lambda track: float(track.times[-1]))
    late = float(track.times[-1]) + 0.25 * clip.units_per_frame
    track.times = np.append(track.times[:-1], late)
    written = save(scene)
    assert rewrite_reasons(written) == []
    assert read_again(written).clips[0].end == pytest.approx(late)
    assert dropped_paths(written) == []


def test_a_new_material_does_not_get_an_id_that_faces_already_use() -> None:
    """Faces of the sample refer to a missing material: they must not get the new one."""
    scene = load_sample("uto3d/sampled.u3d")
    before = np.asarray(scene.meshes[0].face_materials)
    assert (before < 0).any()
    add_material(scene)
    written = save(scene)
    assert rewrite_reasons(written) == []
    assert np.array_equal(np.asarray(read_again(written).meshes[0].face_materials), before)


def test_a_track_of_a_missing_light_can_be_removed() -> None:
    """Keyframer nodes whose object is missing keep the tracks of their kind."""
    scene = load_sample("3ds/tracks.3ds")
    kinds = [channel.track.kind for channel in scene.clips[0].channels]
    assert "hotspot" in kinds
    scene.clips[0].channels = [channel for channel in scene.clips[0].channels if channel.track.kind != "hotspot"]
    written = save(scene)
    assert rewrite_reasons(written) == []
    kinds.remove("hotspot")
    assert [channel.track.kind for channel in read_again(written).clips[0].channels] == kinds
