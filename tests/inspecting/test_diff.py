"""Differences: pairing of records, scenes of different formats, and motion measured against known differences."""

from __future__ import annotations

import copy
from pathlib import Path

import numpy as np
import pytest

import keyframer
from keyframer.curves import Track
from keyframer.formats.threeds.records import MapName, NamedObject, NodeHeader, PointArray
from keyframer.inspecting.comparison import compare, diff_scenes
from keyframer.inspecting.motion_diff import diff_motion, motion_panels
from keyframer.inspecting.record_diff import MOST_CHANGES, diff_documents
from keyframer.scene import Channel, Clip, Handedness, Mesh, Node, NodeKind, Scene, Space
from tests.cli.running import EXAMPLE
from tests.growth import assert_linear
from tests.samples import all_samples


@pytest.mark.parametrize(("known", "sample"), all_samples(), ids=lambda value: getattr(value, "name", value))
def test_file_does_not_differ_from_itself(known: str, sample: Path) -> None:
    data = sample.read_bytes()
    assert diff_documents(keyframer.decode(data, format=known), keyframer.decode(data, format=known)).total == 0


def changed_example() -> keyframer.Document:
    document = keyframer.read(EXAMPLE)
    next(document.find(MapName)).name = b"BRICK.PNG"
    return document


def test_changed_field() -> None:
    changes = diff_documents(keyframer.read(EXAMPLE), changed_example())
    (change,) = changes.listed
    assert (change.kind, change.record) == ("changed", "MapName")
    assert change.path_a == change.path_b == "/4d4d/3d3d/afff[0]/a200/a300"
    (field,) = change.fields
    assert (field.field, field.a, field.b) == ("name", "STONE.PNG", "BRICK.PNG")


def test_change_of_an_array_is_reported_with_its_size() -> None:
    document = keyframer.read(EXAMPLE)
    points = next(document.find(PointArray))
    moved = np.array(points.points)
    moved[3, 1] += 2.5
    points.points = moved
    (change,) = diff_documents(keyframer.read(EXAMPLE), document).listed
    (field,) = change.fields
    assert (field.field, field.entries) == ("points", 1)
    assert field.largest == pytest.approx(2.5)


def test_records_added_removed_and_moved() -> None:
    before, after = keyframer.read(EXAMPLE), keyframer.read(EXAMPLE)
    editor = after.records[0].children[1]
    objects = [child for child in editor.children if isinstance(child, NamedObject)]
    editor.children.remove(objects[1])
    changes = diff_documents(before, after)
    assert changes.counts == {"removed": 1}
    assert changes.listed[0].path_a == "/4d4d/3d3d/4000[1]"
    assert changes.listed[0].path_b is None
    assert diff_documents(after, before).counts == {"added": 1}
    shuffled = keyframer.read(EXAMPLE)
    inside = shuffled.records[0].children[1].children
    inside.reverse()
    moved = diff_documents(before, shuffled)
    assert set(moved.counts) == {"moved"}
    assert moved.counts["moved"] == len(inside) - 1


def test_added_first_record_does_not_change_the_others() -> None:
    before, after = keyframer.read(EXAMPLE), keyframer.read(EXAMPLE)
    after.records[0].children[1].children.insert(0, NamedObject(b"New"))
    changes = diff_documents(before, after)
    assert changes.counts == {"added": 1}


def test_records_are_paired_by_their_names() -> None:
    before, after = keyframer.read(EXAMPLE), keyframer.read(EXAMPLE)
    nodes = after.records[0].children[2].children
    headers = list(after.find(NodeHeader))
    headers[2].flags1 ^= 0x800
    nodes.insert(3, nodes.pop(6))
    changes = diff_documents(before, after)
    assert changes.counts["changed"] == 1
    (change,) = [change for change in changes.listed if change.kind == "changed"]
    assert change.fields[0].field == "flags1"


def test_trailing_bytes_are_compared() -> None:
    other = keyframer.decode(EXAMPLE.read_bytes() + b"tail")
    (change,) = diff_documents(keyframer.read(EXAMPLE), other).listed
    assert change.fields[0].field == "trailing"


def _with_objects(count: int) -> keyframer.Document:
    document = keyframer.read(EXAMPLE)
    editor = document.records[0].children[1]
    editor.children = [*editor.children, *(NamedObject(b"x%d" % number) for number in range(count))]
    return document


def test_many_changes_are_counted_in_linear_time() -> None:
    before = keyframer.read(EXAMPLE)
    few, many = _with_objects(1_250), _with_objects(5_000)
    changes = diff_documents(before, many)
    assert changes.counts == {"added": 5_000}
    assert changes.truncated
    assert len(changes.listed) == MOST_CHANGES
    assert_linear(lambda after: diff_documents(before, after), few, many, times=4)


def test_every_changed_byte_is_reported() -> None:
    data = bytearray(EXAMPLE.read_bytes())
    rng = np.random.default_rng(11)
    before = keyframer.decode(bytes(data))
    for at in rng.integers(6, len(data), 60):
        other = bytearray(data)
        other[at] ^= 0x41
        assert diff_documents(before, keyframer.decode(bytes(other))).total > 0, hex(at)


def simple(offset: float = 0.0, space: Space | None = None) -> Scene:
    points = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]])
    track = Track("position", np.array([0.0, 10]), np.array([[0.0, 0, 0], [10 + offset, 0, 0]]))
    return Scene(
        nodes=[Node("root"), Node("box", parent=0, mesh=0)],
        meshes=[Mesh("box", points, np.array([[0, 1, 2]]))],
        clips=[Clip("c", [Channel(1, track)], 0.0, 10.0, 30.0)],
        space=space or Space(),
    )


def test_motion_is_measured() -> None:
    difference = diff_motion(simple(), simple(offset=2.0))
    assert difference.unit == "frames"
    assert len(difference.times) == 11
    root, box = difference.nodes
    assert not root.position.any()
    assert np.allclose(box.position, np.arange(11) * 0.2)
    assert box.vertices is not None
    assert np.allclose(box.vertices, box.position)
    assert [node.name for node in difference.changed(1e-3, 0.01)] == ["box"]
    assert difference.changed(2.0, 0.01) == []
    (first, second) = motion_panels(difference, 1e-3, 0.01)
    assert first.title == "difference of position"
    assert second.title == "difference of vertices"


def test_rotations_scales_and_visibility_are_measured() -> None:
    other = simple()
    half = np.radians(30) / 2
    other.nodes[0].rotation_xyzw = np.array([0, 0, np.sin(half), np.cos(half)])
    other.nodes[1].scale = np.array([1.0, 1.0, 1.5])
    other.nodes[1].hidden = True
    root, box = diff_motion(simple(), other).nodes
    assert np.allclose(root.rotation, 30)
    assert np.allclose(box.scale, 0.5)
    assert box.visibility_differences == 11


def test_different_axes_rates_and_units_are_converted() -> None:
    upright = simple(space=Space("y", metres_per_unit=1.0))
    zed = simple(space=Space("z", metres_per_unit=0.5))
    zed.clips[0].channels[0].track.values *= 2
    zed.clips[0].rate = 60.0
    zed.clips[0].end = 20.0
    zed.clips[0].channels[0].track.times *= 2
    difference = diff_motion(upright, zed)
    assert difference.unit == "seconds"
    assert difference.space == "Y up, right-handed"
    assert difference.notes == ["the second scene is converted to the unit of the first (factor 0.5)"]
    assert difference.nodes[1].position.max() < 1e-9
    left = simple(space=Space("y", Handedness.LEFT))
    assert diff_motion(upright, left).nodes[1].position.max() < 1e-9  # along x nothing is mirrored


@pytest.mark.parametrize(("format", "suffix"), [("uto3d", ".u3d"), ("gltf", ".glb")])
def test_file_moves_like_its_export_in_another_format(tmp_path: Path, format: str, suffix: str) -> None:
    """UTO scenes have other axes: nodes and vertices are rotated, which is not a difference."""
    scene = keyframer.load(EXAMPLE)
    keyframer.save(scene, tmp_path / f"twin{suffix}", format=format)
    twin = keyframer.load(tmp_path / f"twin{suffix}")
    difference = diff_motion(scene, twin)
    assert len(difference.nodes) == len(scene.nodes)
    # glTF has sampled keys: within 1e-4 of the size of the scene, 406
    assert difference.changed(0.041, 0.02) == []
    sail = twin.node("Sail1")
    sail.rotation_xyzw = np.array([0.0, 0.0, np.sin(0.1), np.cos(0.1)])
    for clip in twin.clips:
        clip.channels = [c for c in clip.channels if twin.nodes[c.node] is not sail or c.track.kind != "rotation"]
    (turned,) = diff_motion(scene, twin).changed(0.041, 0.02)
    assert turned.name == "Sail1"
    assert turned.rotation.max() > 5


def test_nodes_with_the_same_name_are_paired_in_order() -> None:
    one, other = (Scene(nodes=[Node("a", position=np.array([float(x), 0, 0])) for x in (1, 2, 3)]) for _ in range(2))
    difference = diff_motion(one, other)
    assert [node.position.max() for node in difference.nodes] == [0, 0, 0]
    assert (difference.only_a, difference.only_b) == ([], [])
    other.nodes.pop(0)
    difference = diff_motion(one, other)
    assert [node.position.max() for node in difference.nodes] == [1, 1]
    assert (difference.only_a, difference.only_b) == (["a"], [])


def test_paths_of_scenes_do_not_repeat_names(tmp_path: Path) -> None:
    scene = keyframer.load(EXAMPLE)
    keyframer.save(scene, tmp_path / "twin.u3d", format="uto3d")
    twin = keyframer.load(tmp_path / "twin.u3d")
    sides = (keyframer.read(EXAMPLE), keyframer.read(tmp_path / "twin.u3d"))
    paths = {row[2] for row in compare(sides, (scene, twin)).rows() if row[0] == "structure"}
    assert {"/nodes/Rotor", "/tracks/Lamp/color"} <= paths


def test_scenes_of_different_formats() -> None:
    one, other = simple(), simple()
    other.nodes[1].kind = NodeKind.DUMMY
    other.nodes.append(Node("extra"))
    other.clips[0].channels[0].track.times = np.array([0.0, 5])
    changes = diff_scenes(one, other)
    reported = {(change.kind, change.path) for change in changes.listed}
    assert reported == {("changed", "/nodes/box"), ("added", "/nodes/extra"), ("changed", "/tracks/box/position")}
    assert diff_scenes(one, copy.deepcopy(one)).total == 0


def test_complete_comparison() -> None:
    document = keyframer.read(EXAMPLE)
    scene = keyframer.load(EXAMPLE)
    same = compare((document, document), (scene, scene))
    assert same.same
    assert list(same.rows()) == []
    changed = compare((document, changed_example()), None)
    assert not changed.same
    assert changed.record()["motion"] is None
    assert len(list(changed.rows())) == 1
