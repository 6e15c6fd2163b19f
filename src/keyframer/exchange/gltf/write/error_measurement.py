"""Error measurement: the written nodes are posed and compared with the pose of the scene."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from keyframer.arrays import Floats
from keyframer.curves.linear_fit import ROTATIONS, VECTORS
from keyframer.exchange.gltf.write.motion import Span
from keyframer.exchange.gltf.write.nodes import NodeParts
from keyframer.exchange.gltf.write.options import Context
from keyframer.exchange.gltf.write.sampler_keys import LINEAR, Sampler, SamplerGroup
from keyframer.limits import budget_left
from keyframer.maths import affine
from keyframer.maths.distinct_values import unique_values
from keyframer.posing import Rig

Samplers = Mapping[tuple[int, str], Sampler]
"""by node and path of a glTF channel"""

_MOST_MATRICES = 100_000
_MOST_TIMES = 1_000
_SAMPLES_PER_MATRIX = 64
"""samples of the budget that a matrix counts for: more than it uses, so that some are left for fitting again"""
_FRACTIONS = np.array((0.05, 0.5, 0.95))
"""fractions between two key times at which poses are compared"""
_DEFAULTS = {"translation": (0.0, 0.0, 0.0), "rotation": (0.0, 0.0, 0.0, 1.0), "scale": (1.0, 1.0, 1.0)}


def world_error(context: Context, rig: Rig, span: Span, parts: list[NodeParts], samplers: Samplers) -> float:
    """Return the largest measured distance along an axis between the written pose and the pose of the scene, in scene
    units: of the origins of moving nodes, and of the corners of boxes around their geometry.
    """
    key_times = unique_values(np.concatenate([sampler.times for sampler in samplers.values()])).astype(np.float64)
    gaps = span.wide_gaps(key_times, float(key_times[-1]))
    seconds = (key_times[gaps, None] + np.diff(key_times)[gaps, None] * _FRACTIONS).reshape(-1)
    nodes = _WrittenNodes(context, samplers)
    moving = [number for number, node_parts in enumerate(parts) if nodes.moving[node_parts.tail]]
    if not len(seconds) or not moving:
        return 0.0
    matrix_count = min(_MOST_MATRICES, budget_left("samples") // _SAMPLES_PER_MATRIX)
    most_times = max(24, min(_MOST_TIMES, matrix_count // max(len(context.scene.nodes), len(moving), 1)))
    if len(seconds) > most_times:
        seconds = seconds[np.linspace(0, len(seconds) - 1, most_times).astype(int)]
    scene_world = rig.world(rig.sample(seconds * span.rate + span.begin), len(seconds))
    has_linear_rotation = any(path == "rotation" and sampler.mode == LINEAR for (_, path), sampler in samplers.items())
    with np.errstate(all="ignore"):
        expected = context.axes.root_matrix() @ context.axes.matrices(scene_world[:, moving])
        tails = [parts[number].tail for number in moving]
        boxes = _boxes(context, moving)
        worst = max(
            _largest_distance(nodes.worlds(seconds, player, tails), expected, boxes)
            for player in range(1 + has_linear_rotation)
        )
    return worst / context.axes.unit


def _largest_distance(measured: Floats, expected: Floats, boxes: list[tuple[Floats, Floats]]) -> float:
    """Return how far apart two lists of matrices (T, nodes, 4, 4) place the same point: the largest distance along an
    axis, of the origins and of the corners of boxes. Boxes are centres and half sizes, (nodes, 3) each.

    The distance of the farthest corner is that of the centre plus the contribution of each axis of the box.
    """
    difference = measured - expected
    columns, origins = np.abs(difference[..., :3, :3]), difference[..., :3, 3]
    worst = [np.fmax.reduce(np.abs(origins), axis=None, initial=0.0)]  # NaN is ignored
    for centre, half in boxes:
        distances = origins.copy()
        for axis in range(3):
            distances += difference[..., :3, axis] * centre[:, axis, None]
        distances = np.abs(distances)
        for axis in range(3):
            distances += columns[..., axis] * half[:, axis, None]
        worst.append(np.fmax.reduce(distances, axis=None, initial=0.0))
    return float(np.nan_to_num(max(worst)))


def _parents(context: Context) -> list[int]:
    parents = [-1] * len(context.asset.nodes)
    for number, node in enumerate(context.asset.nodes):
        for child in node.get("children", ()):
            parents[child] = number
    return parents


class _WrittenNodes:
    """The written nodes, animated by samplers."""

    def __init__(self, context: Context, samplers: Samplers) -> None:
        self._nodes = context.asset.nodes
        self._samplers = samplers
        self._parents = _parents(context)
        self._levels = _levels(self._parents)
        animated = {node for node, _ in samplers}
        self.moving = [False] * len(self._nodes)
        for level in self._levels:
            for node in level:
                self.moving[node] = node in animated or (self._parents[node] >= 0 and self.moving[self._parents[node]])

    def worlds(self, seconds: Floats, player: int, nodes: list[int]) -> Floats:
        """Return (T, nodes, 4, 4) world matrices for a player that uses ``ROTATIONS.interpolations[player]``."""
        needed = set(nodes)
        for level in reversed(self._levels):
            needed.update(self._parents[node] for node in level if node in needed)
        used = [[node for node in level if node in needed] for level in self._levels]
        order = [node for level in used for node in level]
        row = {node: place for place, node in enumerate(order)}
        local = affine.compose(*(self._played(path, order, seconds, player) for path in _DEFAULTS))
        parents = np.array([row.get(self._parents[node], -1) for node in order])
        begin = len(used[0])
        for level in used[1:]:
            columns = slice(begin, begin + len(level))
            local[:, columns] = local[:, parents[columns]] @ local[:, columns]
            begin = columns.stop
        return np.asarray(local[:, [row[node] for node in nodes]])

    def _played(self, path: str, order: list[int], seconds: Floats, player: int) -> Floats:
        """Return (T, nodes, k) values of one property."""
        default = _DEFAULTS[path]
        out = np.empty((len(seconds), len(order), len(default)))
        out[:] = np.array([self._nodes[node].get(path, default) for node in order], np.float64)
        places_by_mode: dict[str, list[int]] = {}
        for place, node in enumerate(order):
            if (node, path) in self._samplers:
                places_by_mode.setdefault(self._samplers[node, path].mode, []).append(place)
        measure, interpolation = (ROTATIONS, player) if path == "rotation" else (VECTORS, 0)
        for places in places_by_mode.values():
            group = SamplerGroup([self._samplers[order[place], path] for place in places])
            keys = group.find(seconds).T.reshape(-1)
            values = group.evaluate(keys, np.repeat(seconds, len(places)), measure, interpolation)
            out[:, places] = values.reshape(len(seconds), len(places), -1)
        return out


def _levels(parents: list[int]) -> list[list[int]]:
    """Return nodes by depth, roots first."""
    children: dict[int, list[int]] = {}
    for node, parent in enumerate(parents):
        children.setdefault(parent, []).append(node)
    levels: list[list[int]] = []
    level = children.get(-1, [])
    while level:
        levels.append(level)
        level = [child for node in level for child in children.get(node, ())]
    return levels


def _boxes(context: Context, numbers: list[int]) -> list[tuple[Floats, Floats]]:
    """Return centres and half sizes (nodes, 3) of boxes around the geometry and skin vertices of nodes, in their own
    space. Nodes with fewer boxes than others get empty boxes at the origin.
    """
    boxes = [_boxes_of(context, number) for number in numbers]
    centred_boxes = []
    for slot in range(max(map(len, boxes))):
        with_box = [place for place, node_boxes in enumerate(boxes) if len(node_boxes) > slot]
        low, high = (np.array([boxes[place][slot][end] for place in with_box]) for end in (0, 1))
        centre, half = np.zeros((len(numbers), 3)), np.zeros((len(numbers), 3))
        centre[with_box], half[with_box] = context.axes.vectors((low + high) / 2), np.abs(high - low) / 2
        centred_boxes.append((centre, half))
    return centred_boxes


def _boxes_of(context: Context, number: int) -> list[tuple[Floats, Floats]]:
    node = context.scene.nodes[number]
    boxes = [context.joint_boxes[number]] if number in context.joint_boxes else []
    if node.mesh is not None and node.skin is None and len(context.scene.meshes[node.mesh].positions):
        pivot = np.asarray(node.pivot, np.float64)
        low, high = context.boxes[node.mesh]
        boxes.append((low - pivot, high - pivot))
    return boxes
