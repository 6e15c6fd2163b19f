"""Edges marked as visible in the file: the drawn edges, compared with a slow reading of the flags of every face."""

from __future__ import annotations

import struct
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from keyframer.viewer import Viewer
from tests.building.scenes import to_y_up
from tests.samples.make_3ds import chunk, f32, material, strz, u16, u32
from tests.viewer.browser import Browser
from tests.viewer.opening import EXAMPLE, viewed

Point = tuple[float, ...]
Edge = tuple[Point, Point]

DRAWN = """() => keyframerViewer.stage.model.meshes.flatMap(mesh => mesh.children.filter(each => each.userData.overlay)
    .flatMap(lines => {
        const { array } = lines.geometry.getIndex();
        const places = lines.geometry.getAttribute("position");
        const found = [];
        for (let at = 0; at < array.length; at += 3) {
            const ends = [array[at], array[at + 1], array[at + 2]].map(vertex =>
                lines.localToWorld(keyframerViewer.stage.controls.target.clone().fromBufferAttribute(places, vertex)));
            if (!ends[1].equals(ends[2])) throw new Error("a triangle with an area");
            found.push([ends[0].toArray(), ends[1].toArray()]);
        }
        return found;
    }))"""


def edge(ends: list[list[float]]) -> Edge:
    """Return an edge that is the same whichever end comes first."""
    first, second = sorted(tuple(round(number, 3) + 0.0 for number in point) for point in ends)
    return first, second


def marked_edges(data: bytes) -> Counter[Edge]:
    """Return the marked edges of all chunks 4110 and 4120: bit 2 of a face is its edge AB, bit 1 BC, bit 0 CA."""
    edges: Counter[Edge] = Counter()
    points: list[list[float]] = []
    waiting = [(0, len(data))]
    while waiting:
        at, end = waiting.pop()
        if at + 6 > end:
            continue
        identity, length = struct.unpack_from("<HI", data, at)
        waiting.append((at + length, end))
        if identity in (0x4D4D, 0x3D3D, 0x4100):
            waiting.append((at + 6, at + length))
        elif identity == 0x4000:
            waiting.append((data.index(b"\0", at + 6) + 1, at + length))
        elif identity == 0x4110:
            (count,) = struct.unpack_from("<H", data, at + 6)
            points = [list(struct.unpack_from("<3f", data, at + 8 + 12 * number)) for number in range(count)]
        elif identity == 0x4120:
            (count,) = struct.unpack_from("<H", data, at + 6)
            for number in range(count):
                a, b, c, flags = struct.unpack_from("<4H", data, at + 8 + 8 * number)
                for bit, first, second in ((4, a, b), (2, b, c), (1, c, a)):
                    if flags & bit:
                        edges[edge([points[first], points[second]])] += 1
    return edges


def all_sorts_of_faces() -> bytes:
    """Return 98 faces with every combination of marks and other bits, three alternating materials, eight smoothing
    groups."""
    rng = np.random.default_rng(12)
    side = 8
    points = [(float(x), float(y), float(rng.integers(-5, 5))) for y in range(side) for x in range(side)]
    corners = [y * side + x for y in range(side - 1) for x in range(side - 1)]
    faces = [face for at in corners for face in ((at, at + 1, at + side), (at + 1, at + side + 1, at + side))]
    flags = [number % 8 | int(rng.integers(0, 1 << 13)) << 3 for number in range(len(faces))]
    stored = b"".join(u16(*face, mark) for face, mark in zip(faces, flags, strict=True))
    names = ["red", "green", "blue"]
    owners = rng.integers(0, 4, len(faces))  # some have none
    groups = []
    for number, name in enumerate(names):
        own_faces = [int(face) for face in np.flatnonzero(owners == number)]
        groups.append(chunk(0x4130, strz(name), u16(len(own_faces)), u16(*own_faces)))
    smooth = chunk(0x4150, u32(*(1 << int(bit) for bit in rng.integers(0, 8, len(faces)))))
    mesh = chunk(
        0x4100,
        chunk(0x4110, u16(len(points)), f32(*(number for point in points for number in point))),
        chunk(0x4120, u16(len(faces)), stored, *groups, smooth),
    )
    return chunk(0x4D4D, chunk(0x3D3D, *(material(name) for name in names), chunk(0x4000, strz("Sheet"), mesh)))


def test_only_marked_edges_are_drawn(browser: Browser, tmp_path: Path) -> None:
    """A mesh without a keyframer section is where the file has it, so that its vertices can be compared."""
    path = tmp_path / "sheet.3ds"
    path.write_bytes(all_sorts_of_faces())
    wanted = marked_edges(path.read_bytes())
    assert sum(wanted.values()) == 12 * 12 + 0 + 1  # each eight faces mark twelve; two are left: none and CA
    (file,) = viewed(path)
    scene = file.loaded.scene
    back = np.linalg.inv(to_y_up(scene.space.up))
    viewer = Viewer([file])
    try:
        with browser.page(viewer.url) as shown:
            assert shown.page.evaluate(DRAWN) == []
            shown.page.click("#edges")
            shown.page.wait_for_function("() => keyframerViewer.stage.model.meshes.every(mesh => mesh.children.length)")
            drawn = [[(back @ [*end, 1.0])[:3].tolist() for end in ends] for ends in shown.page.evaluate(DRAWN)]
            assert Counter(map(edge, drawn)) == wanted
            shown.page.click("#edges")
            hidden = (
                "() => keyframerViewer.stage.model.meshes.every(mesh => mesh.children.every(each => !each.visible))"
            )
            assert shown.page.evaluate(hidden)
            assert shown.troubles == []
    finally:
        viewer.close()


def test_example_draws_as_many_edges_as_it_marks(browser: Browser) -> None:
    """Its meshes move, but the number and lengths of the edges are those of the file."""
    wanted = sorted(
        round(float(np.linalg.norm(np.subtract(*ends))), 2)
        for ends, count in marked_edges(EXAMPLE.read_bytes()).items()
        for _ in range(count)
    )
    viewer = Viewer(viewed(EXAMPLE))
    try:
        with browser.page(viewer.url) as shown:
            shown.page.click("#edges")
            shown.page.wait_for_function("() => keyframerViewer.stage.model.meshes.every(mesh => mesh.children.length)")
            drawn = shown.page.evaluate(DRAWN)
            assert len(drawn) == len(wanted)
            lengths = sorted(round(float(np.linalg.norm(np.subtract(*ends))), 2) for ends in drawn)
            assert lengths == pytest.approx(wanted, abs=0.02)
    finally:
        viewer.close()
