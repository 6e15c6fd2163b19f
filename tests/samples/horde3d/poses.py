"""The poses of the Horde3D samples, from the evaluator of the tests."""

from __future__ import annotations

from tests.oracles import horde3d as evaluator
from tests.samples.horde3d.make import arm_scene, old, wave
from tests.samples.poses import Expected, expected_node

SOURCE = "tests/oracles/horde3d.py: a slow computation after the source of the engine"


def poses() -> dict[str, Expected]:
    parts = evaluator.parts_of(arm_scene())
    places = zip(parts, evaluator.world_matrices(parts, {}, 0), strict=True)
    still = [expected_node(part.name, [place.tolist()]) for part, place in places if part.tag == "Joint"]
    return {"wave.anim": side_by_side(wave()), "old.anim": side_by_side(old()), "arm.scene.xml": Expected([0.0], still)}


def side_by_side(data: bytes) -> Expected:
    entities = evaluator.animation(data)
    frames = range(max(map(len, entities.values())))
    nodes = []
    for name, rows in entities.items():
        worlds = [evaluator.of_frame(rows[min(frame, len(rows) - 1)]).tolist() for frame in frames]
        nodes.append(expected_node(name.decode(), worlds))
    return Expected([float(frame) for frame in frames], nodes)
