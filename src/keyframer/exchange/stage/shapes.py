"""Simple bodies for models without a file: each fills a box of size 1, which the model's dimensions scale."""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt

from keyframer.scene import Mesh

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_SIDES = 24
_RINGS = 12
_BOX_CORNERS = np.array([(x, y, z) for z in (-0.5, 0.5) for y in (-0.5, 0.5) for x in (-0.5, 0.5)])
_BOX_FACES = np.array(
    [
        *((0, 2, 3), (0, 3, 1), (4, 5, 7), (4, 7, 6), (0, 1, 5), (0, 5, 4)),
        *((2, 6, 7), (2, 7, 3), (0, 4, 6), (0, 6, 2), (1, 3, 7), (1, 7, 5)),
    ]
)
_FLAT, _ROUND, _CAP = 0, 1, 2
_ARM = 0.15
"""thickness of a yoke's arms and bridge, as a part of its box"""


def shape_of(primitive_type: str) -> Mesh | None:
    """The body for a primitive type of a GDTF model; None for a type that has none (``Undefined``).

    Bases hang: their upper side is at the origin. All others are centred.
    """
    kind = primitive_type.partition("1_1")[0]
    make = _MAKERS.get(kind)
    if make is None:
        return None
    positions, corners, smoothing = make()
    return Mesh(kind, positions, corners, smoothing=smoothing)


@cache
def _box() -> tuple[Floats, Ints, Ints]:
    return _BOX_CORNERS, _BOX_FACES, np.zeros(len(_BOX_FACES), np.int64)


@cache
def _hanging_box() -> tuple[Floats, Ints, Ints]:
    positions, corners, smoothing = _box()
    return positions - (0.0, 0.0, 0.5), corners, smoothing


@cache
def _cylinder() -> tuple[Floats, Ints, Ints]:
    """Along z."""
    angles = np.arange(_SIDES) * (2.0 * np.pi / _SIDES)
    ring = np.column_stack([np.cos(angles) / 2, np.sin(angles) / 2])
    lower, upper = (np.column_stack([ring, np.full(_SIDES, z)]) for z in (-0.5, 0.5))
    positions = np.concatenate([lower, upper, [(0.0, 0.0, -0.5), (0.0, 0.0, 0.5)]])
    here = np.arange(_SIDES)
    after = (here + 1) % _SIDES
    bottom, top = np.full(_SIDES, 2 * _SIDES), np.full(_SIDES, 2 * _SIDES + 1)
    corners = np.concatenate(
        [
            np.column_stack([here, after, after + _SIDES]),
            np.column_stack([here, after + _SIDES, here + _SIDES]),
            np.column_stack([after, here, bottom]),
            np.column_stack([here + _SIDES, after + _SIDES, top]),
        ]
    )
    smoothing = np.repeat([_ROUND, _ROUND, _CAP, _CAP * 2], _SIDES)
    return positions, corners, smoothing


@cache
def _sphere() -> tuple[Floats, Ints, Ints]:
    tilts = np.arange(1, _RINGS) * (np.pi / _RINGS)
    turns = np.arange(_SIDES) * (2.0 * np.pi / _SIDES)
    tilt, turn = (part.ravel() for part in np.meshgrid(tilts, turns, indexing="ij"))
    rings = np.column_stack([np.sin(tilt) * np.cos(turn), np.sin(tilt) * np.sin(turn), np.cos(tilt)]) / 2
    positions = np.concatenate([rings, [(0.0, 0.0, 0.5), (0.0, 0.0, -0.5)]])
    here = np.arange(_SIDES)
    after = (here + 1) % _SIDES
    north, south = np.full(_SIDES, len(rings)), np.full(_SIDES, len(rings) + 1)
    faces = [np.column_stack([north, here, after])]
    for ring in range(_RINGS - 2):
        above, below = ring * _SIDES, (ring + 1) * _SIDES
        faces += [np.column_stack([here + above, here + below, after + below])]
        faces += [np.column_stack([here + above, after + below, after + above])]
    last = (_RINGS - 2) * _SIDES
    faces.append(np.column_stack([south, after + last, here + last]))
    corners = np.concatenate(faces)
    return positions, corners, np.full(len(corners), _ROUND)


@cache
def _yoke() -> tuple[Floats, Ints, Ints]:
    """Two arms at the ends of x, the tilt axis, and a bridge above them."""
    boxes = (
        ((-0.5, -0.5, -0.5), (-0.5 + _ARM, 0.5, 0.5 - _ARM)),
        ((0.5 - _ARM, -0.5, -0.5), (0.5, 0.5, 0.5 - _ARM)),
        ((-0.5, -0.5, 0.5 - _ARM), (0.5, 0.5, 0.5)),
    )
    parts = [np.asarray(low) + (_BOX_CORNERS + 0.5) * np.subtract(high, low) for low, high in boxes]
    corners = np.concatenate([_BOX_FACES + 8 * number for number in range(len(boxes))])
    return np.concatenate(parts), corners, np.zeros(len(corners), np.int64)


_MAKERS = {
    "Cube": _box,
    "Cylinder": _cylinder,
    "Sphere": _sphere,
    "Base": _hanging_box,
    "Yoke": _yoke,
    "Head": _cylinder,
    "Scanner": _box,
    "Conventional": _cylinder,
    "Pigtail": _box,
}
