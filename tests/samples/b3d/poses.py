"""The poses of the Blitz3D samples, from the evaluator of the tests."""

from __future__ import annotations

from tests.formats.b3d import evaluator
from tests.samples.b3d.make import layered, swaying
from tests.samples.poses import Expected, expected_node

SOURCE = "tests/formats/b3d/evaluator.py: a slow computation from the specification and the behaviour of the engine"


def poses() -> dict[str, Expected]:
    return {"swaying.b3d": expected(swaying()), "layered.b3d": expected(layered())}


def expected(data: bytes) -> Expected:
    parts = evaluator.parts_of(data)
    last = max((frame for part in parts for keys in part.keys.values() for frame in keys), default=0)
    frames = sorted({-1.0, 0.0, last * 0.37, last / 2, float(last), last + 3.0})
    worlds = [evaluator.world_matrices(parts, frame) for frame in frames]
    placed = [evaluator.vertices(parts, frame) for frame in frames]
    nodes = []
    for number, part in enumerate(parts):
        count = len(part.vertices or ())
        vertices = {vertex: [points[number][vertex] for points in placed] for vertex in range(count)}
        nodes.append(expected_node(part.name.decode(), [world[number] for world in worlds], vertices))
    return Expected(frames, nodes)
