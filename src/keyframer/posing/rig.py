"""A scene compiled for posing: what never changes is placed once, what moves level by level for blocks of times."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from keyframer.maths import affine
from keyframer.posing.channels import Channels, Samples, as_slice
from keyframer.posing.locals import Locals
from keyframer.posing.looking import look, looks, rest_roll, stored_target
from keyframer.posing.order import Order, placing_order
from keyframer.posing.states import States
from keyframer.scene import Clip, Scene

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Indices = npt.NDArray[np.int64]
Picks = npt.NDArray[np.int64] | slice

MATRICES_PER_BLOCK = 8_192
"""matrices placed at once: 1 MB, so that a block and its products stay in the processor's cache"""


@dataclass(frozen=True)
class _Group:
    """Nodes of one level that are placed in one go: numbers, parents, and rows among the local matrices."""

    nodes: Picks
    parents: Picks | None
    rows: Picks
    resting: bool
    """``rows`` are those of the matrices at rest: the nodes are only carried along"""


@dataclass(frozen=True)
class _Level:
    groups: list[_Group]
    looking: list[int]


class Rig:
    """One clip of a scene, ready to be placed at any times. The scene must not change meanwhile.

    Every matrix it gives is finite: unusable keys are left out, unusable rest values count as identity, and a node
    whose place would overflow stands as if it had no parent.
    """

    def __init__(self, scene: Scene, clip: int = 0) -> None:
        self.scene = scene
        self.clip = scene.clips[clip] if scene.clips else Clip()
        self.order: Order = placing_order(scene.nodes)
        self.channels = Channels(self.clip, len(scene.nodes))
        self.states = States(scene, self.channels)
        with np.errstate(all="ignore"):
            self.locals = Locals(scene.nodes, self.channels)
            self._looking = np.array([looks(scene, node) for node in scene.nodes], bool)
            everything = np.arange(len(scene.nodes))
            self._world_at_rest = self.locals.rest[None].copy()
            self._place(self._plan(everything, everything), self.locals.rest[None], self._world_at_rest, None)
            own = np.full(len(scene.nodes), -1, np.int64)
            own[self.locals.moving] = np.arange(len(self.locals.moving))
            moving = np.flatnonzero(self._find_moving(own))
            self._moving_levels = self._plan(moving, own)
            self._times_per_block = max(1, MATRICES_PER_BLOCK // max(1, len(moving)))

    def sample(self, times: npt.ArrayLike) -> Samples:
        """The channels that change, at times in the clip's own unit."""
        return self.channels.bank.evaluate_moving(times)

    def local(self, samples: Samples, count: int) -> Floats:
        """(T, nodes, 4, 4) of each node under its parent."""
        out = np.empty((count, *self.locals.rest.shape))
        out[:] = self.locals.rest
        if len(self.locals.moving):
            out[:, self.locals.moving] = self.locals.at(samples, count)
        return out

    def world(self, samples: Samples, count: int) -> Floats:
        """(T, nodes, 4, 4) of each node in scene space; what looks at a target is turned towards it."""
        out = np.empty((count, *self.locals.rest.shape))
        out[:] = self._world_at_rest
        if not self._moving_levels:
            return out
        step = self._times_per_block
        with np.errstate(all="ignore"):  # absurd but finite keys may overflow; the nodes beside them must not notice
            for begin in range(0, count, step):
                part = out[begin : begin + step]
                some = samples if step >= count else {k: v[begin : begin + step] for k, v in samples.items()}
                self._place(self._moving_levels, self.locals.at(some, len(part)), part, some)
        return out

    def _place(self, levels: list[_Level], local: Floats, world: Floats, samples: Samples | None) -> None:
        """Fill ``world`` level by level. ``local`` are the matrices of moving nodes; of all, where samples is None."""
        for level in levels:
            for group in level.groups:
                own = self.locals.rest[group.rows] if group.resting else local[:, group.rows]
                if group.parents is None:
                    world[:, group.nodes] = own
                    continue
                placed = np.matmul(world[:, group.parents], own)
                if not math.isfinite(np.add.reduce(placed, axis=None)):
                    own = np.broadcast_to(own, placed.shape)
                    broken = ~np.isfinite(placed).all(axis=(-2, -1))
                    placed[broken] = own[broken]
                world[:, group.nodes] = placed
            for node in level.looking:
                self._turn(node, local, world, samples)

    def _turn(self, number: int, local: Floats, world: Floats, samples: Samples | None) -> None:
        """Turn a camera or light that is placed already towards its target."""
        node = self.scene.nodes[number]
        goal = self._target_position(number, local, world, samples)
        if goal is None:
            return
        roll = None
        if samples is not None or number in self.channels.still.get("roll", {}):
            roll = self.channels.one(samples or {}, "roll", number)
        degrees = np.array([rest_roll(self.scene, node)]) if roll is None else roll[:, 0]
        turned = look(self.scene, world[:, number, :3, 3], goal, degrees)
        if np.isfinite(turned).all():
            world[:, number] = turned
        else:
            usable = np.isfinite(turned).all(axis=(-2, -1))
            world[usable, number] = turned[usable]

    def _target_position(self, number: int, local: Floats, world: Floats, samples: Samples | None) -> Floats | None:
        target = int(self.order.targets[number])
        if target < 0:
            return stored_target(self.scene, self.scene.nodes[number])
        place: Floats = self.locals.rest[None, target, :3, 3]
        if samples is not None:
            row = int(np.searchsorted(self.locals.moving, target))
            if row < len(self.locals.moving) and self.locals.moving[row] == target:
                place = local[:, row, :3, 3]
        parent = int(self.order.parents[target])
        return place if parent < 0 else affine.transform_points(world[:, parent], place[:, None])[:, 0]

    def _plan(self, nodes: Indices, row_of: Indices) -> list[_Level]:
        """How to place some nodes; ``row_of`` has the row of each node's local matrix, -1 for those at rest."""
        if not len(nodes):
            return []
        order = self.order
        chosen = np.zeros(len(row_of), bool)
        chosen[nodes] = True
        some = order.flat[chosen[order.flat]]
        level, parents, rows = order.level_of[some], order.parents[some], row_of[some]
        sort = np.where(parents < 0, 0, np.where(rows >= 0, 1, 2))
        sort[(parents < 0) & (rows < 0)] = 3  # a root at rest that only looks about: it stands already
        key = level * 4 + sort
        by_key = np.argsort(key, kind="stable")
        some, parents, rows, key = some[by_key], parents[by_key], rows[by_key], key[by_key]
        starts = np.flatnonzero(np.diff(key, prepend=-1))
        plan = [_Level([], []) for _ in range(int(level.max()) + 1)]
        for start, end, what in zip(starts, [*starts[1:], len(key)], key[starts].tolist(), strict=True):
            if what % 4 < 3:
                carried = what % 4 == 2
                numbers = as_slice(some[start:end])
                over = None if what % 4 == 0 else _shared(parents[start:end])
                plan[what // 4].groups.append(
                    _Group(numbers, over, numbers if carried else as_slice(rows[start:end]), carried)
                )
        for node in some[self._looking[some]].tolist():
            plan[int(order.level_of[node])].looking.append(node)
        return [each for each in plan if each.groups or each.looking]

    def _find_moving(self, own: Indices) -> Flags:
        """Which nodes move in the world: they or an ancestor have channels, or look at something that moves."""
        moves = (own >= 0).tolist()
        moving = list(moves)
        for node in self.channels.moving_nodes(("roll",)).tolist():
            moving[node] = True
        parents, targets, looking = self.order.parents.tolist(), self.order.targets.tolist(), self._looking.tolist()
        for node in self.order.flat.tolist():
            parent, target = parents[node], targets[node]
            if parent >= 0 and moving[parent]:
                moving[node] = True
            elif looking[node] and target >= 0:
                above = parents[target]
                moving[node] = moving[node] or moves[target] or (above >= 0 and moving[above])
        return np.array(moving, bool)


def _shared(parents: Indices) -> Picks:
    """One parent of all is enough: numpy repeats it without a copy."""
    if len(parents) == 1 or (parents == parents[0]).all():
        return slice(int(parents[0]), int(parents[0]) + 1)
    return as_slice(parents)
