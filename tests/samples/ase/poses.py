"""The poses of ASE samples: sampled tracks and TCB keys, from the numbers they were made of."""

from __future__ import annotations

from tests.posing.plain import Matrix, product, transform_point, translation, turn
from tests.posing.plain import local as placed
from tests.reference_curves.slow import SlowTrack
from tests.samples.poses import Expected, expected_node

SOURCE = "tests/samples/ase/poses.py: tracks of 3ds Max as docs/formats/ase.md has them, tests/reference_curves/slow.py"
FRAMES = [0.0, 1.0, 2.0, 3.0, 4.0]


def poses() -> dict[str, Expected]:
    keyed = [0.0, 1.0, 2.5, 3.0, 4.0]
    slide = SlowTrack([0.0, 4.0], [[0.0, 0.0, 0.0], [4.0, 0.0, 0.0]], "LINEAR")
    grow = SlowTrack([0.0, 4.0], [[1.0, 1.0, 1.0], [2.0, 1.0, 1.0]], "LINEAR")
    curve = SlowTrack([0.0, 2.0, 4.0], [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [2.0, 2.0, 0.0]])
    curve.tension, curve.continuity, curve.bias = [0.0, 0.5, 0.0], [0.0, -0.5, 0.0], [0.0, 0.25, 0.0]
    spin = SlowTrack([0.0, 4.0], [[0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 1.0, 6.2832]], form="AXIS_ANGLE_RELATIVE")
    nodes = [
        expected_node("Linear", [placed(frame, slide, None, grow) for frame in keyed]),
        expected_node("Tcb", [placed(frame, curve, spin) for frame in keyed]),
    ]
    flag = [flag_at(frame) for frame in FRAMES]
    corners = {0: [0.0, 0.0, 0.0], 1: [1.0, 0.0, 0.0], 2: [0.0, 1.0, 0.0]}
    vertices = {number: [transform_point(matrix, point) for matrix in flag] for number, point in corners.items()}
    return {
        "controllers.ase": Expected(keyed, nodes),
        "textured.ase": Expected(FRAMES, [expected_node("Flag", flag, vertices)]),
    }


def flag_at(frame: float) -> Matrix:
    """Samples at 0, 1 and 4; two turns by 45 degrees, left-handed and each after the one before, at 1 and 2."""
    place = 10.0 + min(frame, 1.0) if frame < 4 else 12.0
    return product(translation([place, 0.0, 0.0]), turn([0, 0, 1], 0.7854 * min(frame, 2.0)))
