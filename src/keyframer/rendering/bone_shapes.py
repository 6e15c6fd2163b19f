"""Skeletons as sticks: a slim pointed solid from each node to its children, a small one where a node stands alone."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from keyframer.scene import NodeKind, Scene

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]

_KNOT = 0.12
"""where along a stick it is thickest"""
_SHARP = np.array(
    [[0, 1, 2], [0, 2, 3], [0, 3, 4], [0, 4, 1], [5, 2, 1], [5, 3, 2], [5, 4, 3], [5, 1, 4]], np.int64
)  # eight faces: both ends to the four corners of the thickest place


def stick_nodes(scene: Scene) -> tuple[Indices, Indices]:
    """(S, 2) nodes that a stick joins, and (K,) nodes that stand alone. Cameras, lights and targets have none."""
    count = len(scene.nodes)
    plain = [
        node.kind not in (NodeKind.CAMERA, NodeKind.LIGHT, NodeKind.TARGET, NodeKind.AMBIENT) for node in scene.nodes
    ]
    joined = [
        (node.parent, number)
        for number, node in enumerate(scene.nodes)
        if node.parent is not None and 0 <= node.parent < count and plain[number] and plain[node.parent]
    ]
    touched = {number for pair in joined for number in pair}
    alone = [number for number in range(count) if plain[number] and number not in touched]
    return np.array(joined, np.int64).reshape(-1, 2), np.array(alone, np.int64)


def stick_points(world: Floats, joined: Indices, alone: Indices) -> Floats:
    """(6 (S + K), 3) corners of the solids for nodes at ``world`` (N, 4, 4)."""
    places = np.nan_to_num(world[:, :3, 3])
    begin, end = places[joined[:, 0]], places[joined[:, 1]]
    lengths = _length(end - begin)
    used = places[np.unique(np.concatenate([joined.reshape(-1), alone]))]
    size = float(_length(np.ptp(used, axis=0)[None])[0]) if len(used) else 0.0
    size = size or 1.0
    typical = float(np.median(lengths[lengths > 0])) if (lengths > 0).any() else size * 0.1
    mark = min(typical * 0.25, size * 0.045) if len(joined) else size * 0.03
    thick = np.minimum(np.maximum(lengths * 0.1, 0.0), mark)
    long = _solids(begin, end, np.maximum(thick, mark * 0.15), _KNOT)
    up = np.array([0.0, 0.0, 1.0])
    short = _solids(places[alone] - up * mark, places[alone] + up * mark, np.full(len(alone), mark * 0.7), 0.5)
    return np.concatenate([long, short]).reshape(-1, 3)


def stick_corners(count: int) -> Indices:
    """(8 count, 3) corners of the faces."""
    return (np.arange(count)[:, None, None] * 6 + _SHARP).reshape(-1, 3)


def _solids(begin: Floats, end: Floats, thick: Floats, knot: float) -> Floats:
    """(n, 6, 3): one end, four corners around the thickest place, the other end."""
    way = end - begin
    length = _length(way)[:, None]
    way = np.where(length > 0, way / np.where(length > 0, length, 1.0), (0.0, 0.0, 1.0))
    spare = np.eye(3)[np.argmin(np.abs(way), axis=1)]
    side = np.cross(way, spare)
    side /= _length(side)[:, None]
    other = np.cross(way, side)
    middle = begin + (end - begin) * knot
    out = np.empty((len(begin), 6, 3))
    out[:, 0], out[:, 5] = begin, end
    for place, direction in enumerate((side, other, -side, -other), start=1):
        out[:, place] = middle + direction * thick[:, None]
    return out


def _length(vectors: Floats) -> Floats:
    return np.asarray(np.sqrt(np.sum(vectors * vectors, axis=-1)))
