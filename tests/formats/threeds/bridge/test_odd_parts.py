"""Unusual parts of 3D Studio files: unusable data is kept in extras, and excessive cost is refused."""

from __future__ import annotations

import io
import struct
from typing import Any

import numpy as np
import pytest

import keyframer
from keyframer.formats.threeds import records as r
from keyframer.formats.threeds.chunk import RawChunk
from tests.building import files as w
from tests.building import threeds_records as make

NAN = float("nan")


def extras(part: Any) -> dict[str, Any]:
    values: dict[str, Any] = part.extras["3ds"]
    return values


@pytest.mark.parametrize(("stored", "word"), [(3, "phong"), (77, None), (-1, None)])
def test_an_unknown_shading_is_kept_as_a_number(stored: int, word: str | None) -> None:
    material = r.Material(children=[r.MaterialName(b"paint"), r.MaterialShading(stored)])
    loaded_material = make.load([material], []).materials[0]
    assert loaded_material.shading == word
    assert loaded_material.extras.get("3ds", {}).get("shading") == (stored if word is None else None)


def test_a_track_without_finite_keys_leaves_the_node_at_rest() -> None:
    keys = make.track("position", (0, 10), ((NAN, 0.0, 0.0), (NAN, NAN, 2.0)))
    scene = make.load([make.mesh("Box")], [make.node("object", "Box", 0, keys)])
    assert scene.nodes[0].position.tolist() == [0, 0, 0]
    (issue,) = [issue for issue in scene.issues if issue.code == "DATA_NON_FINITE"]
    assert issue.path.endswith("/keys[0]")
    assert issue.message == "3 non-finite or too large numbers, the first at entry 0"


@pytest.mark.parametrize("track", [make.hide(()), make.morph((), ())], ids=["hide", "morph"])
def test_tracks_without_keys_are_kept_in_extras(track: r.Track) -> None:
    scene = make.load([make.mesh("Box")], [make.node("object", "Box", 0, track)])
    assert scene.clips[0].channels == []
    assert len(extras(scene.nodes[0])["tracks"]) == 1
    assert keyframer.pose(scene, frames=[0.0]).visible.all()


def test_a_flattened_node_cannot_have_stored_vertices() -> None:
    """With raw geometry and a scale of zero, stored vertices cannot be converted to the space of the node."""
    flat = make.track("scale", (0,), ((1.0, 1.0, 0.0),))
    scene = make.load([make.mesh("Box")], [make.node("object", "Box", 0, flat)], geometry="raw")
    assert [node.mesh for node in scene.nodes if node.name == "Box"] == [None]


def test_a_mesh_of_thousands_of_nodes_is_refused_before_it_is_copied() -> None:
    """No node is where its stored vertices are, so each would need its own copy."""
    points = np.random.default_rng(1).random((200, 3)).tolist()
    nodes = [
        make.node("object", "Box", place, make.track("position", (0,), ((float(place), 0.0, 0.0),)))
        for place in range(20)
    ]
    limits = keyframer.Limits(copies=0)
    with pytest.raises(keyframer.FormatError, match=r"^LIMIT_COPIES\b"):
        make.load([make.mesh("Box", points)], nodes, geometry="raw", limits=limits)
    saved = make.load([make.mesh("Box", points)], nodes, geometry="raw", limits=limits, salvage=True)
    carried = [node.mesh is not None for node in saved.nodes]
    assert 0 < sum(carried) < 20
    whole = make.load([make.mesh("Box", points)], nodes, geometry="raw")
    assert sum(node.mesh is not None for node in whole.nodes) == 20


def test_too_many_morph_shapes_are_refused() -> None:
    count = 40
    shapes = [make.mesh(f"s{place}") for place in range(count)]
    keys = make.morph(tuple(range(count)), tuple(b"s%d" % place for place in range(count)))
    nodes = [make.node("object", "s0", 0, keys)]
    with pytest.raises(keyframer.FormatError, match=r"^LIMIT_COPIES\b"):
        make.load(shapes, nodes, limits=keyframer.Limits(copies=0))
    assert len(make.load(shapes, nodes).nodes[0].morph.names) == count  # type: ignore[union-attr]


def test_the_number_of_unknown_chunks_in_extras_is_limited() -> None:
    strange = [RawChunk(0x7777, b"") for _ in range(10_050)]
    scene = make.load([], [make.node("object", "$$$DUMMY", 0, *strange)])
    kept = extras(scene.nodes[0])["chunks"]
    assert len(kept) == 10_001
    assert kept[-1]["chunk"] == "more"
    assert kept[-1]["count"] >= 50


@pytest.mark.parametrize(("second", "noted"), [((10, 20, 30), None), ((10, 20, 31), [[10, 20, 31]])])
def test_a_second_colour_is_noted_if_it_is_another(second: tuple[int, int, int], noted: list[list[int]] | None) -> None:
    """The one with gamma correction is read."""
    colors = [r.ColorByte(second), r.ColorByteGamma((10, 20, 30))]
    material = r.Material(children=[r.MaterialName(b"paint"), r.MaterialAmbient(children=colors)])
    scene = make.load([material], [])
    assert scene.materials[0].ambient == (10 / 255, 20 / 255, 30 / 255)
    kept = extras(scene.materials[0]).get("chunks")
    assert (kept and [entry["rgb"] for entry in kept[0]["children"]]) == noted


def test_large_meshes_of_many_nodes_are_compared_by_samples() -> None:
    """The choice between stored and keyframed vertices is the same for all nodes, and they share the mesh."""
    points = (np.random.default_rng(2).random((3000, 3)) * 10).tolist()
    nodes = [make.node("object", "Box", place, make.track("position", (0,), ((0.0, 0.0, 0.0),))) for place in range(30)]
    scene = make.load([make.mesh("Box", points)], nodes)
    assert {node.mesh for node in scene.nodes} == {0}
    assert len(scene.meshes) == 1


SHORT_FLAGS = {
    "count larger than the chunk": (w.chunk(0x4111, struct.pack("<2H", 3, 0)), "STRUCT_COUNT_EXCEEDS_DATA"),
    "no room for the count": (w.chunk(0x4111, b"\3"), "STRUCT_CHUNK_TOO_SMALL"),
    "fewer than the vertices": (w.chunk(0x4111, struct.pack("<3H", 2, 0, 0)), "LINK_COUNT_MISMATCH"),
}


@pytest.mark.parametrize("kind", SHORT_FLAGS)
def test_too_few_vertex_flags_do_not_refuse_the_mesh(kind: str) -> None:
    flags, code = SHORT_FLAGS[kind]
    data = w.editor(w.mesh(w.points(*w.TRIANGLE), flags, w.faces((0, 1, 2))))
    scene = keyframer.load(io.BytesIO(data))
    assert [len(mesh.corners) for mesh in scene.meshes] == [1]
    assert keyframer.encode(keyframer.decode(data)) == data
    (issue,) = keyframer.check(data).issues
    assert (issue.code, issue.severity.label) == (code, "warning")
    assert issue.path.startswith("/4d4d/3d3d/4000[0]/4100/4111")


def test_other_lists_that_are_too_short_refuse_the_mesh() -> None:
    data = w.editor(w.mesh(w.points(*w.TRIANGLE, count=9), w.faces((0, 1, 2))))
    with pytest.raises(keyframer.FormatError, match="STRUCT_COUNT_EXCEEDS_DATA"):
        keyframer.load(io.BytesIO(data))
