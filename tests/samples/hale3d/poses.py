"""The poses of the Hale3D samples: the components of a frame, joint by joint, from the numbers they were made of."""

from __future__ import annotations

import math

from tests.building.files import single
from tests.posing.plain import Matrix, product, rotation, transform_point, translation
from tests.reference_curves.slow import Quaternion
from tests.samples.poses import Expected, expected_node

SOURCE = "tests/samples/hale3d/poses.py: formulas of the specification, and the numbers of tests/building"
JOINTS = [
    ("root", -1, 0b000110, 0, [0.0, 1.0, 2.0], [0.0, 0.0, 0.0, 1.0]),
    ("arm", 0, 0b100000, 2, [0.5, 0.0, 0.0], [0.0, 0.0, 0.5, -0.8660254]),
    ("hand", 1, 0b001000, 3, [1.5, 0.0, 0.0], [0.25, 0.0, 0.0, -0.9682458]),
]
"""name, parent, animated components, first of them, base position and orientation; see `tests.building.hale3d.wave`"""


def poses() -> dict[str, Expected]:
    frames = [0.0, 1.0, 3.0, 4.0]
    waving = [wave(int(frame)) for frame in frames]
    nodes = [expected_node(joint[0], [worlds[number] for worlds in waving]) for number, joint in enumerate(JOINTS)]
    bound = model()
    arm = [expected_node(name, [bound[number]]) for number, name in enumerate(("root", "arm", "hand"))]
    middle = [(a + b) / 2 for a, b in zip(placed(bound[1], 1, 1, 0), placed(bound[2], 0, 1, 0), strict=True)]
    meshes = {
        "mesh0": {0: placed(bound[0], 0, 0, 0), 1: placed(bound[1], 1, 0, 0), 2: middle, 3: placed(bound[0], 0, 1, 0)},
        "mesh1": {0: placed(bound[2], 0, 0, 0), 1: placed(bound[2], 1, 0, 0), 2: placed(bound[2], 0, 1, 0)},
    }
    for name, points in meshes.items():
        still = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
        arm.append(expected_node(name, [still], {number: [point] for number, point in points.items()}))
    return {"wave-nul-ended.anim": Expected(frames, nodes), "arm-nul-ended.mdl": Expected([0.0], arm)}


def with_w(x: float, y: float, z: float) -> Quaternion:
    """The fourth component, which is not stored, is negative."""
    return [x, y, z, -math.sqrt(max(0.0, 1 - x * x - y * y - z * z))]


def wave(frame: int) -> list[Matrix]:
    components = [single(number) for number in (0.25 * frame, 2.0, 0.1 * frame - 0.2, 0.125)]
    worlds: list[Matrix] = []
    for _, parent, flags, first, base_position, base_orientation in JOINTS:
        values = [single(number) for number in (*base_position, *base_orientation)]
        animated = [bit for bit in range(6) if flags >> bit & 1]
        for place, bit in enumerate(animated):
            values[bit] = components[first + place]
        turn = with_w(*values[3:6]) if flags >> 3 else values[3:]
        own = product(translation(values[:3]), rotation(turn))
        worlds.append(own if parent < 0 else product(worlds[parent], own))
    return worlds


def model() -> list[Matrix]:
    """The joints of a model are stored in the space of the model."""
    places = [
        ((0.0, 1.0, 2.0), (0.0, 0.0, 0.0)),
        ((0.5, 1.0, 2.0), (0.0, 0.0, 0.5)),
        ((2.0, 1.0, 2.0), (0.25, 0.0, 0.0)),
    ]
    return [product(translation(list(place)), rotation(with_w(*turn))) for place, turn in places]


def placed(matrix: Matrix, x: float, y: float, z: float) -> list[float]:
    return transform_point(matrix, [x, y, z])
