"""The evaluation order of nodes: a node comes after its parent and after the parent of its target. Everything is
iterative and takes linear time, even for a chain of 100,000 nodes. A cycle, which a scene built by hand may contain, is
cut.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from keyframer.arrays import Indices
from keyframer.scene import Node


@dataclass(eq=False, repr=False)
class Order:
    """An evaluation order: ``flat`` has each node after all that it depends on; nodes of one level can be placed at
    once.

    ``parents`` and ``targets`` have -1 for none. A parent or target that would close a cycle is -1 here: ``cut`` has
    the nodes that lost their parent, ``untargeted`` those that lost their target, because both depend on a cycle.
    """

    flat: Indices
    level_of: Indices
    """(nodes,) level of each node, from 0"""
    parents: Indices
    targets: Indices
    cut: list[int]
    untargeted: list[int]


def evaluation_order(nodes: Sequence[Node]) -> Order:
    """Return the evaluation order of nodes. Invalid indices count as none."""
    count = len(nodes)
    parents = [-1 if (parent := node.parent) is None or not 0 <= parent < count else parent for node in nodes]
    targets = [-1 if (target := node.target) is None or not 0 <= target < count else target for node in nodes]
    if max(parents, default=-1) < 0 and max(targets, default=-1) < 0:  # as in most files: no node depends on another
        none = np.full(count, -1, np.int64)
        return Order(np.arange(count), np.zeros(count, np.int64), none, none, [], [])
    cut = _cut_cycles(parents)
    # A node depends on the position of its target, not on the target's rotation: so only on the target's parent.
    target_parents = [parents[target] if target >= 0 else -1 for target in targets]
    placed, sizes = _levels(parents, target_parents)
    untargeted: list[int] = []
    if len(placed) < count:
        left_out = set(range(count)) - set(placed)
        untargeted = [node for node in sorted(left_out) if target_parents[node] in left_out]
        for node in untargeted:
            targets[node] = target_parents[node] = -1
        placed, sizes = _levels(parents, target_parents)
    flat = np.array(placed, np.int64).reshape(count)
    level_of = np.empty(count, np.int64)
    level_of[flat] = np.repeat(np.arange(len(sizes)), np.array(sizes, np.intp))
    return Order(
        flat,
        level_of,
        np.array(parents, np.int64).reshape(count),
        np.array(targets, np.int64).reshape(count),
        cut,
        untargeted,
    )


def reachable(numbers: Iterable[int], links: Callable[[int], Iterable[int | None]]) -> list[int]:
    """Return the given nodes and all nodes reached from them over ``links``; None and negative numbers are ignored."""
    waiting = list(numbers)
    seen = set(waiting)
    reached = []
    while waiting:
        node = waiting.pop()
        reached.append(node)
        for other in links(node):
            if other is not None and other >= 0 and other not in seen:
                seen.add(other)
                waiting.append(other)
    return reached


def _cut_cycles(parents: list[int]) -> list[int]:
    """Remove, in place, a parent from each cycle; return the nodes that lost their parent."""
    state = bytearray(len(parents))  # 0 not seen, 1 on the way up, 2 done
    cut: list[int] = []
    for start in range(len(parents)):
        if state[start]:
            continue
        path: list[int] = []
        node = start
        while node >= 0 and state[node] == 0:
            state[node] = 1
            path.append(node)
            node = parents[node]
        if node >= 0 and state[node] == 1:
            cut.append(path[-1])
            parents[path[-1]] = -1
        for node in path:
            state[node] = 2
    return cut


def _levels(parents: list[int], target_parents: list[int]) -> tuple[list[int], list[int]]:
    """Return the nodes sorted by level, and the size of each level.

    A node depends on its parent and on the parent of its target; its level is the length of the longest chain of such
    dependencies. Nodes that are in a cycle, or depend on one, are left out. A list for each node or level would take
    more memory than the nodes of a small file.
    """
    count = len(parents)
    waiting_for = bytearray((parent >= 0) + (aim >= 0) for parent, aim in zip(parents, target_parents, strict=True))
    placed = [node for node, needed in enumerate(waiting_for) if needed == 0]
    if len(placed) == count:
        return placed, [count] if count else []
    # Dependents of a node: a chain of edges. Edge 2 n leads from node n to its parent, edge 2 n + 1 to the
    # parent of its target.
    first, following = array("i", [-1]) * count, array("i", [-1]) * (2 * count)
    for node in range(count - 1, -1, -1):
        for edge, dependency in ((2 * node + 1, target_parents[node]), (2 * node, parents[node])):
            if dependency >= 0:
                following[edge] = first[dependency]
                first[dependency] = edge
    sizes: list[int] = []
    begin = 0
    while begin < len(placed):
        end = len(placed)
        sizes.append(end - begin)
        for at in range(begin, end):
            edge = first[placed[at]]
            while edge >= 0:
                follower = edge >> 1
                waiting_for[follower] -= 1
                if waiting_for[follower] == 0:
                    placed.append(follower)
                edge = following[edge]
        begin = end
    return placed, sizes
