"""The poses of the Midtown samples: the angles of a row, from the numbers they were made of."""

from __future__ import annotations

from collections.abc import Sequence

from tests.building.files import single
from tests.building.midtown import model_text, skeleton_text, walk
from tests.oracles import midtown as evaluator
from tests.posing.plain import Matrix, product, translation, turn
from tests.samples.poses import Expected, expected_node

SOURCE = "tests/samples/midtown/poses.py: two decompilations of the game: R = Ry Rz Rx, root at the first floats"


def poses() -> dict[str, Expected]:
    alone = {name: two_bones(rows) for name, rows in (("document.anim", walk(3, 2)), ("old.anim", walk(3, 2)))}
    still = {name: figure([None]) for name in ("figure.skel", "flat.mod")}
    return alone | still | {"figure.anim": figure([[single(value) for value in row] for row in walk(3, 3)])}


def figure(rows: Sequence[Sequence[float] | None]) -> Expected:
    """With its companions, a figure has its offsets and its body."""
    skeleton, model = skeleton_text().decode(), model_text().decode()
    worlds = [evaluator.worlds(skeleton, row) for row in rows]
    nodes = [
        expected_node(name, [world[number] for world in worlds])
        for number, (name, _, _) in enumerate(evaluator.bones(skeleton))
    ]
    places = [evaluator.vertices(model, world) for world in worlds]
    identity = [[1.0, 0, 0, 0], [0, 1.0, 0, 0], [0, 0, 1.0, 0]]
    points = {number: [place[number] for place in places] for number in range(len(places[0]))}
    nodes.append(expected_node("body", [identity] * len(rows), points))
    return Expected([float(frame) for frame in range(len(rows))], nodes)


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
