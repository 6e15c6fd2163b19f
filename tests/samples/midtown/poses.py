"""The poses of the Midtown samples: the angles of a row, from the numbers they were made of."""

from __future__ import annotations

from tests.building.files import single
from tests.building.midtown import walk
from tests.posing.plain import Matrix, product, translation, turn
from tests.samples.poses import Expected, expected_node

SOURCE = "tests/samples/midtown/poses.py: two decompilations of the game: R = Ry Rz Rx, root at the first floats"


def poses() -> dict[str, Expected]:
    return {name: two_bones(rows) for name, rows in (("document.anim", walk(3, 2)), ("old.anim", walk(3, 2)))}


def two_bones(rows: list[list[float]]) -> Expected:
    """Without a companion the offsets are invented: only the rotation of the second bone follows from the file."""
    worlds: list[list[Matrix]] = [[], []]
    for row in rows:
        x, y, z, *angles = map(single, row)
        root = product(translation([x, y, z]), turned(*angles[:3]))
        worlds[0].append(root)
        worlds[1].append([numbers[:3] for numbers in product(root, turned(*angles[3:6]))[:3]])
    return Expected(
        [float(frame) for frame in range(len(rows))],
        [expected_node(f"bone_{number:02}", world) for number, world in enumerate(worlds)],
    )


def turned(roll: float, pitch: float, heading: float) -> Matrix:
    """About X first, then Z, then Y."""
    about_z_and_x = product(turn([0, 0, 1], heading), turn([1, 0, 0], roll))
    return product(turn([0, 1, 0], pitch), about_z_and_x)
