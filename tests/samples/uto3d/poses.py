"""The poses of the U3D samples, from the scenes they were made of and the slow evaluator of U3D."""

from __future__ import annotations

from tests.building.uto3d import Scene, maxscript_scene, small_scene
from tests.formats.uto3d import slow
from tests.samples.poses import Expected, expected_node

SOURCE = "tests/formats/uto3d/slow.py: a slow computation from the specification"
FRAMES = [0.0, 2.0, 7.5, 40.0]


def poses() -> dict[str, Expected]:
    return {"literal.u3d": expected(small_scene()), "maxscript.u3d": expected(maxscript_scene())}


def expected(scene: Scene) -> Expected:
    """Cameras and lights, which are aimed, are tested on their own."""
    ticks = [160 * frame for frame in FRAMES]
    nodes = []
    for data in (*scene.meshes, *scene.targets, *scene.bones):
        world = [slow.world(scene, data["id"], tick) for tick in ticks]
        placed = [slow.skinned(scene, data, tick) for tick in ticks] if data.get("flags", 0) & 4 else []
        count = len(data["vertices"]) if placed else 0
        vertices = {vertex: [points[vertex] for points in placed] for vertex in range(count)}
        nodes.append(expected_node(data["name"].decode("latin-1"), world, vertices))
    return Expected(FRAMES, nodes)
