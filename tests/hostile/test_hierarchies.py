"""Hierarchies in every format that has them: long chains, cycles, missing parents, duplicate ids; no recursion."""

from __future__ import annotations

import inspect
import struct
import sys
from collections.abc import Callable

import pytest

import keyframer
from keyframer.formats.kit.scene_reading import scene_of
from tests.building import files as w
from tests.slow import SLOW

DEEP = 100_000 if SLOW else 2_000
MOST_IDS = 0x7FFF
"""of nodes in 3D Studio"""


def threeds(parents: list[int]) -> bytes:
    return w.keyframer(*(w.node(b"%d" % number, number, parent) for number, parent in enumerate(parents)))


def threeds_by_name(parents: list[int]) -> bytes:
    """Return nodes with parents given by name, as Autodesk's toolkit allows; ids are used more than once."""
    nodes = []
    for number, parent in enumerate(parents):
        by_name = b"" if parent < 0 else w.chunk(0x80F0, b"%d\0" % parent)
        header = w.chunk(0xB010, b"%d\0" % number, struct.pack("<HHh", 0, 0, -1), by_name)
        nodes.append(w.chunk(0xB002, w.chunk(0xB030, struct.pack("<h", number & 0x7FFF)), header))
    return w.keyframer(*nodes)


def hale3d(parents: list[int]) -> bytes:
    return w.h3da([w.joint(b"%d\0" % number, parent) for number, parent in enumerate(parents)])


def hale3d_model(parents: list[int]) -> bytes:
    return w.h3dm([], [w.model_joint(b"%d\0" % number, parent) for number, parent in enumerate(parents)])


def uto3d(parents: list[int]) -> bytes:
    ids = [(number + 1, -1 if parent == -1 else parent + 1) for number, parent in enumerate(parents)]
    return w.u3d(bones=[w.u3d_base(b"%d" % number, number, parent) for number, parent in ids])


WRITERS: dict[str, tuple[str, Callable[[list[int]], bytes]]] = {
    "3ds": ("3ds", threeds),
    "hale3d": ("hale3d", hale3d),
    "hale3d model": ("hale3d", hale3d_model),
    "uto3d": ("uto3d", uto3d),
}
CHAINS = {**WRITERS, "3ds by name": ("3ds", threeds_by_name)}
per_writer = pytest.mark.parametrize("kind", WRITERS)


def read(kind: str, parents: list[int]) -> keyframer.Document:
    name, write = CHAINS[kind]
    return keyframer.decode(write(parents), format=name)


def depths(scene: keyframer.Scene) -> list[int]:
    depths_of_nodes: list[int] = []
    for node in scene.nodes:
        depth, at = 0, node.parent
        while at is not None and depth <= len(scene.nodes):
            depth, at = depth + 1, scene.nodes[at].parent
        depths_of_nodes.append(depth)
    return depths_of_nodes


@pytest.mark.parametrize("kind", CHAINS)
@pytest.mark.parametrize("order", ["parents first", "children first"])
def test_long_chain(kind: str, order: str) -> None:
    deep = min(DEEP, MOST_IDS) if kind == "3ds" else DEEP
    parents = list(range(-1, deep - 1)) if order == "parents first" else [*range(1, deep), -1]
    document = read(kind, parents)
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack()) + 90)
    try:
        scene = scene_of(document, salvage=True)
        report = keyframer.check(document)
    finally:
        sys.setrecursionlimit(limit)
    assert [node.parent for node in scene.nodes] == [None if parent < 0 else parent for parent in parents]
    assert report.counts["SEM_DEEP_HIERARCHY"] == 1
    late = report.counts.get("LINK_PARENT_AFTER_CHILD", 0)
    assert late == (deep - 1 if order == "children first" and kind != "uto3d" else 0)


@per_writer
@pytest.mark.parametrize("length", [1, 2, 3, 1_000])
def test_cycles_are_cut(kind: str, length: int) -> None:
    """A cycle with a tail is reported once and cut at one place; all other links are kept."""
    parents = [(number + 1) % length for number in range(length)] + [0, length]
    document = read(kind, parents)
    with pytest.raises(keyframer.FormatError, match=r"^LINK_PARENT_CYCLE\b"):
        scene_of(document)
    scene = scene_of(document, salvage=True)
    assert scene.issues.counts["LINK_PARENT_CYCLE"] == 1
    assert max(depths(scene)) <= length + 2
    assert sum(node.parent is None for node in scene.nodes) == 1


@per_writer
def test_many_cycles(kind: str) -> None:
    parents = [number ^ 1 for number in range(2_000)]
    scene = scene_of(read(kind, parents), salvage=True)
    assert scene.issues.counts["LINK_PARENT_CYCLE"] == 1_000
    assert len(scene.issues) < 100


@per_writer
@pytest.mark.parametrize("parent", [5, 30_000, -2, -30_000])
def test_missing_parents_are_reported(kind: str, parent: int) -> None:
    document = read(kind, [-1, 0, parent])
    report = keyframer.check(document)
    if kind == "uto3d" and parent == -2:  # stored as -1: none
        assert "LINK_PARENT_MISSING" not in report.counts
        return
    assert report.counts["LINK_PARENT_MISSING"] == 1
    scene = scene_of(document, salvage=True)
    assert [node.parent for node in scene.nodes] == [None, 0, None]
    if kind in ("3ds", "uto3d"):  # exporters leave helpers out: a root with a warning
        assert scene_of(document).issues.first_unsafe() is None
    else:
        with pytest.raises(keyframer.FormatError):
            scene_of(document)


@pytest.mark.parametrize("used", [False, True])
@pytest.mark.parametrize("kind", ["3ds", "uto3d"])
def test_duplicate_ids_are_reported(kind: str, used: bool) -> None:
    if kind == "3ds":
        data = w.keyframer(w.node(b"a", 1), w.node(b"b", 1), w.node(b"c", 2, 1 if used else -1))
    else:
        data = w.u3d(bones=[w.u3d_base(b"a", 1), w.u3d_base(b"b", 1), w.u3d_base(b"c", 2, 1 if used else -1)])
    document = keyframer.decode(data)
    report = keyframer.check(document)
    assert report.counts["LINK_DUPLICATE_ID"] == 1
    assert report.count("error") == used
    scene = scene_of(document, salvage=True)
    assert scene.nodes[2].parent == (0 if used else None)  # the first wins
