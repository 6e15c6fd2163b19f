"""The rest pose of a scene: nodes in evaluation order, their local matrices and world matrices."""

from __future__ import annotations

import math
from collections.abc import Sequence, Set
from dataclasses import dataclass

import numpy as np

from keyframer.arrays import Floats, Indices
from keyframer.curves.lazy_fields import stored
from keyframer.maths import affine
from keyframer.maths.distinct_values import unique_values
from keyframer.posing.channels import Channels, Samples, as_slice
from keyframer.posing.evaluation_order import Order, evaluation_order
from keyframer.posing.local_matrices import LocalMatrices, aim_matrices, rest_roll, stored_target
from keyframer.scene import Clip, Node, Scene
from keyframer.scene.cameras_lights import is_aimed

RowIndices = Indices | slice
"""rows of an array: indices or a slice"""


@dataclass(eq=False, repr=False)
class Group:
    """Nodes of one level that are placed together: indices, parents, and rows in the local matrices."""

    nodes: RowIndices
    parents: RowIndices | None
    rows: RowIndices
    resting: bool
    """whether ``rows`` index the rest matrices: the nodes only move with their parents"""


@dataclass(eq=False, repr=False)
class Level:
    """Groups of nodes of one level, and the nodes of this level that are aimed at a target."""

    groups: list[Group]
    aimed: list[int]


class RestPose:
    """The scene with constant channels only. ``world_at_rest`` (1, nodes, 4, 4) is always finite: unusable rest values
    are replaced by identity, and a node whose matrix would overflow is placed as if it had no parent.

    Without ``keep_locals`` the world matrices overwrite the local ones.
    """

    def __init__(self, scene: Scene, channels: Channels, *, keep_locals: bool = True) -> None:
        self.scene = scene
        self.channels = channels
        self.order: Order = evaluation_order(scene.nodes)
        with np.errstate(all="ignore"):
            self.locals = LocalMatrices(scene.nodes, channels)
            self._aimed = np.array([is_aimed(scene, node) for node in scene.nodes], bool)
            has_aimed = bool(self._aimed.any())
            self._target_nodes = unique_values(self.order.targets) if has_aimed else np.empty(0, np.int64)
            """target nodes (and -1), in ascending order"""
            self._target_positions = self.locals.rest[self._target_nodes, :3, 3]
            local = self.locals.rest[None]
            self.world_at_rest: Floats = local.copy() if keep_locals else local
            if (self.order.parents >= 0).any():
                everything = np.arange(len(scene.nodes))
                self._place(self._plan(everything, everything), local, self.world_at_rest, None)
            else:  # the local matrix is the world matrix
                for node in self._aimed.nonzero()[0].tolist():
                    self._aim(node, local, self.world_at_rest, None)

    def _place(self, levels: list[Level], local: Floats, world: Floats, samples: Samples | None) -> None:
        """Compute ``world`` level by level. ``local`` are the matrices of animated nodes, or of all if samples is
        None."""
        for level in levels:
            for group in level.groups:
                local_matrices = self.locals.rest[group.rows] if group.resting else local[:, group.rows]
                if group.parents is None:
                    world[:, group.nodes] = local_matrices
                    continue
                placed = affine.multiply(world[:, group.parents], local_matrices)
                if not math.isfinite(np.add.reduce(placed, axis=None)):
                    local_matrices = np.broadcast_to(local_matrices, placed.shape)
                    broken = ~np.isfinite(placed).all(axis=(-2, -1))
                    placed[broken] = local_matrices[broken]
                world[:, group.nodes] = placed
            for node in level.aimed:
                self._aim(node, local, world, samples)

    def _aim(self, number: int, local: Floats, world: Floats, samples: Samples | None) -> None:
        """Aim a placed camera or light at its target."""
        node = self.scene.nodes[number]
        goal = self._target_position(number, local, world, samples)
        if goal is None:
            return
        roll = None
        if samples is not None or number in self.channels.still_by_node("roll"):
            roll = self.channels.node_values(samples or {}, "roll", number)
        degrees = np.array([rest_roll(self.scene, node)]) if roll is None else roll[:, 0]
        turned = aim_matrices(self.scene, world[:, number, :3, 3], goal, degrees)
        if np.isfinite(turned).all():
            world[:, number] = turned
        else:
            usable = np.isfinite(turned).all(axis=(-2, -1))
            world[usable, number] = turned[usable]

    def _target_position(self, number: int, local: Floats, world: Floats, samples: Samples | None) -> Floats | None:
        target = int(self.order.targets[number])
        if target < 0:
            return stored_target(self.scene, self.scene.nodes[number])
        position: Floats = self._target_positions[None, np.searchsorted(self._target_nodes, target)]
        if samples is not None:
            row = int(np.searchsorted(self.locals.moving, target))
            if row < len(self.locals.moving) and self.locals.moving[row] == target:
                position = local[:, row, :3, 3]
        parent = int(self.order.parents[target])
        return position if parent < 0 else affine.transform_points(world[:, parent], position[:, None])[:, 0]

    def _plan(self, nodes: Indices, row_of: Indices) -> list[Level]:
        """Plan the evaluation of some nodes; ``row_of`` has the row of each node's local matrix, -1 for those at
        rest."""
        if not len(nodes):
            return []
        order = self.order
        chosen = np.zeros(len(row_of), bool)
        chosen[nodes] = True
        ordered = order.flat[chosen[order.flat]]
        level, parents, rows = order.level_of[ordered], order.parents[ordered], row_of[ordered]
        priority = np.where(parents < 0, 0, np.where(rows >= 0, 1, 2))
        priority[(parents < 0) & (rows < 0)] = 3  # a root at rest that is only aimed: its position is known
        key = level * 4 + priority
        del level, priority
        if (key[1:] < key[:-1]).any():
            by_key = np.argsort(key, kind="stable")
            ordered, parents, rows, key = ordered[by_key], parents[by_key], rows[by_key], key[by_key]
        starts = [0, *(np.flatnonzero(key[1:] != key[:-1]) + 1).tolist()]
        plan = [Level([], []) for _ in range(int(key[-1]) // 4 + 1)]
        for start, end, group_key in zip(starts, [*starts[1:], len(key)], key[starts].tolist(), strict=True):
            group_level, group_priority = divmod(group_key, 4)
            if group_priority < 3:
                resting = group_priority == 2
                numbers = as_slice(ordered[start:end])
                group_parents = None if group_priority == 0 else _parent_rows(parents[start:end])
                plan[group_level].groups.append(
                    Group(numbers, group_parents, numbers if resting else as_slice(rows[start:end]), resting)
                )
        for node in ordered[self._aimed[ordered]].tolist():
            plan[int(order.level_of[node])].aimed.append(node)
        return [step for step in plan if step.groups or step.aimed]


def world_at(scene: Scene, clip: Clip, time: float) -> Floats:
    """Return (nodes, 4, 4) world matrices at one moment: the same as `Rig` computes, with less memory."""
    channels = Channels.at_moment(clip, len(scene.nodes), time)
    world: Floats = RestPose(scene, channels, keep_locals=False).world_at_rest[0]
    return world


MatrixRows = tuple[tuple[float, float, float, float], ...]
"""the upper three rows of a matrix"""


class RestTransforms:
    """World matrices of single nodes at rest as plain floats, for decisions that do not depend on rounding.

    For few nodes this is several times faster than arrays. A matrix is None if a node or an ancestor is a camera or
    light, has scale axes or a rotation without length, or is one of ``moved``, which are not at rest.
    """

    def __init__(self, nodes: Sequence[Node], moved: Set[int]) -> None:
        self._nodes = nodes
        self._known: dict[int, MatrixRows | None] = dict.fromkeys(moved)

    def world(self, number: int) -> MatrixRows | None:
        """Return the world matrix of one node. Parents must not form a cycle."""
        chain: list[int] = []
        world: MatrixRows | None = _IDENTITY
        ancestor: int | None = number
        while ancestor is not None:
            if ancestor in self._known:
                world = self._known[ancestor]
                break
            chain.append(ancestor)
            ancestor = self._nodes[ancestor].parent
        for index in reversed(chain):
            node = self._nodes[index]
            if world is not None:
                local = None if node.camera is not None or node.light is not None else _plain_matrix(node)
                world = local if local is None or node.parent is None else _plain_product(world, local)
            self._known[index] = world
        return world


_IDENTITY: MatrixRows = ((1.0, 0.0, 0.0, 0.0), (0.0, 1.0, 0.0, 0.0), (0.0, 0.0, 1.0, 0.0))


def _plain_matrix(node: Node) -> MatrixRows | None:
    """Return the stored matrix ``T(position) . R . S`` of a node; None if it has scale axes or no usable rotation."""
    if node.scale_axes_xyzw is not None:
        return None
    position, rotation, scale = stored(node, "position"), stored(node, "rotation_xyzw"), stored(node, "scale")
    px, py, pz = (0.0, 0.0, 0.0) if position is None else position.tolist()
    sx, sy, sz = (1.0, 1.0, 1.0) if scale is None else scale.tolist()
    if rotation is None:
        return (sx, 0.0, 0.0, px), (0.0, sy, 0.0, py), (0.0, 0.0, sz, pz)
    x, y, z, w = rotation.tolist()
    square = x * x + y * y + z * z + w * w
    if not square > 0:
        return None
    double = 2.0 / square
    return (
        ((1 - double * (y * y + z * z)) * sx, double * (x * y - z * w) * sy, double * (x * z + y * w) * sz, px),
        (double * (x * y + z * w) * sx, (1 - double * (x * x + z * z)) * sy, double * (y * z - x * w) * sz, py),
        (double * (x * z - y * w) * sx, double * (y * z + x * w) * sy, (1 - double * (x * x + y * y)) * sz, pz),
    )


def _plain_product(left: MatrixRows, right: MatrixRows) -> MatrixRows:
    (ax, ay, az, at), (bx, by, bz, bt), (cx, cy, cz, ct) = right
    return tuple(
        (x * ax + y * bx + z * cx, x * ay + y * by + z * cy, x * az + y * bz + z * cz, x * at + y * bt + z * ct + t)
        for x, y, z, t in left
    )


def _parent_rows(parents: Indices) -> RowIndices:
    """Return the rows of the parents; only one row if all nodes have the same parent, because numpy repeats it without
    a copy."""
    if len(parents) == 1 or (parents == parents[0]).all():
        return slice(int(parents[0]), int(parents[0]) + 1)
    return as_slice(parents)
