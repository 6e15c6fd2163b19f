"""The poses of the MD5 samples, from the evaluator of the tests."""

from __future__ import annotations

from tests.oracles import md5 as evaluator
from tests.samples.md5.make import body, shots, wave
from tests.samples.poses import Expected, expected_node

SOURCE = "tests/oracles/md5.py: a slow computation after the source of the engine"


def poses() -> dict[str, Expected]:
    moving = evaluator.animation(wave())
    worlds = [evaluator.world_matrices(moving, frame) for frame in range(len(moving.frames))]
    nodes = [
        expected_node(name, [world[number].tolist() for world in worlds])
        for number, (name, *_) in enumerate(moving.joints)
    ]
    joints, meshes = evaluator.model(body())
    bind = [evaluator.matrix_of(numbers) for _, _, numbers in joints]
    still = []
    for number, mesh in enumerate(meshes):
        places = evaluator.vertices(mesh, bind).tolist()
        world = [[[1.0, 0, 0, 0], [0, 1.0, 0, 0], [0, 0, 1.0, 0], [0, 0, 0, 1.0]]]
        still.append(expected_node(f"mesh{number}", world, {row: [point] for row, point in enumerate(places)}))
    times = [0, 0.5, 1, 1.75, 2.5, 2.875, 3, 3.25, 4, 4.5]
    views = [evaluator.view(evaluator.camera(shots()), time)[0].tolist() for time in times]
    return {
        "shots.md5camera": Expected(times, [expected_node("camera", views)]),
        "wave.md5anim": Expected([float(frame) for frame in range(len(worlds))], nodes),
        "body.md5mesh": Expected([0.0], still),
    }
