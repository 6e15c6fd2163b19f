"""Poses of Midtown Madness 2, slowly: from the texts of a skeleton and a model and the frames of a clip.

After the published descriptions of the game's code: a bone is turned about X, then Z, then Y by its three angles, it is
where its offset says, except for the root, which is where the frame says; a vertex is in the space of its bone.
"""

from __future__ import annotations

from collections.abc import Sequence

from tests.posing.plain import Matrix, product, translation, turn


def bones(text: str) -> list[tuple[str, int, list[float]]]:
    """Name, parent and offset of each bone, in the order of the text."""
    found: list[tuple[str, int, list[float]]] = []
    opened: list[int] = []
    words = text.split()
    for at, word in enumerate(words):
        if word == "bone":
            found.append((words[at + 1], opened[-1] if opened else -1, []))
            opened.append(len(found) - 1)
        elif word == "offset":
            found[opened[-1]][2].extend(map(float, words[at + 1 : at + 4]))
        elif word == "}":
            opened.pop()
    return found


def worlds(text: str, row: Sequence[float] | None = None) -> list[Matrix]:
    """The matrices of the bones in a frame, or at rest."""
    matrices: list[Matrix] = []
    for number, (_, parent, offset) in enumerate(bones(text)):
        angles = [0.0, 0.0, 0.0] if row is None else row[3 + 3 * number : 6 + 3 * number]
        place = row[:3] if row is not None and number == 0 else offset
        about_x, about_y, about_z = (turn(axis, angle) for axis, angle in zip(AXES, angles, strict=True))
        local = product(translation(list(place)), product(about_y, product(about_z, about_x)))
        matrices.append(local if parent < 0 else product(matrices[parent], local))
    return matrices


AXES = ([1, 0, 0], [0, 1, 0], [0, 0, 1])


def vertices(text: str, matrices: Sequence[Matrix]) -> list[list[float]]:
    """The vertices of a model in a pose, in the order of its ``v`` lines: ``mtxv`` has the vertices of each bone."""
    rows = [line.split() for line in text.splitlines() if line.split()]
    (counts,) = ([int(word) for word in words[1:]] for words in rows if words[0] == "mtxv")
    owners = [bone for bone, count in enumerate(counts) for _ in range(count)]
    places = [list(map(float, words[1:])) for words in rows if words[0] == "v"]
    return [
        [sum(matrices[bone][row][column] * value for column, value in enumerate([*place, 1.0])) for row in range(3)]
        for bone, place in zip(owners, places, strict=True)
    ]
