"""The evaluation order of nodes: parents first, and targets before nodes aimed at them. Everything is iterative and
linear: a chain of 100,000 nodes costs the same as a flat scene, and a cycle, which a scene built by hand may contain,
is cut.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from keyframer.arrays import Indices
from keyframer.fields import dataclass
from keyframer.scene import Node


@dataclass(eq=False, repr=False)
class Order:
    """An evaluation order: ``flat`` has each node after all that it depends on; nodes of one level can be placed at
    once.

    ``parents`` and ``targets`` have -1 for none. A parent or target that would close a cycle is -1 here: ``cut`` has
    the nodes that lost their parent, ``untargeted`` those that lost their target.
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
    # A node depends on the position of its target only, not on its rotation: that is, on the parent of the target.
    aims = [parents[target] if target >= 0 else -1 for target in targets]
    placed, sizes = _levels(parents, aims)
    untargeted: list[int] = []
    if len(placed) < count:
        component_of = _components(parents, aims)
        for node in range(count):
            if aims[node] >= 0 and component_of[node] == component_of[aims[node]]:
                targets[node] = aims[node] = -1
                untargeted.append(node)
        placed, sizes = _levels(parents, aims)
    flat = np.array(placed, np.int64).reshape(count)
    level_of = np.empty(count, np.int64)
    level_of[flat] = np.repeat(np.arange(len(sizes)), np.array(sizes, np.int64))
    return Order(
        flat,
        level_of,
        np.array(parents, np.int64).reshape(count),
        np.array(targets, np.int64).reshape(count),
        cut,
        untargeted,
    )


def reachable(numbers: Iterable[int], links: Callable[[int], Iterable[int | None]]) -> list[int]:
    """Return nodes and all that can be reached from them over ``links``; None and negative numbers are ignored."""
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
    """Cut cycles of parents where they return to the node reached first; return the nodes that lost their parent."""
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


def _levels(parents: list[int], aims: list[int]) -> tuple[list[int], list[int]]:
    """Return nodes by the longest path from a root over both kinds of edge, and the size of each level.

    Nodes in or after a cycle are left out. A list for each node or level would take more memory than the nodes of a
    small file.
    """
    count = len(parents)
    waiting_for = bytearray((parent >= 0) + (aim >= 0) for parent, aim in zip(parents, aims, strict=True))
    placed = [node for node, needed in enumerate(waiting_for) if needed == 0]
    if len(placed) == count:
        return placed, [count] if count else []
    # Dependents of a node: a chain of edges. Edge 2 n leads from node n to its parent, edge 2 n + 1 to its aim.
    first, following = array("i", [-1]) * count, array("i", [-1]) * (2 * count)
    for node in range(count - 1, -1, -1):
        for edge, goal in ((2 * node + 1, aims[node]), (2 * node, parents[node])):
            if goal >= 0:
                following[edge] = first[goal]
                first[goal] = edge
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


def _components(parents: list[int], aims: list[int]) -> list[int]:
    """Return a number for each node, equal for nodes that reach each other (Tarjan's components, without recursion)."""
    count = len(parents)
    component = [-1] * count
    seen_at = [-1] * count
    lowest = [0] * count
    open_nodes: list[int] = []
    clock = 0
    for start in range(count):
        if seen_at[start] >= 0:
            continue
        stack = [(start, 0)]
        while stack:
            node, edge = stack.pop()
            if edge == 0:
                seen_at[node] = lowest[node] = clock
                clock += 1
                open_nodes.append(node)
            if edge < 2:
                stack.append((node, edge + 1))
                goal = aims[node] if edge else parents[node]
                if goal < 0:
                    continue
                if seen_at[goal] < 0:
                    stack.append((goal, 0))
                elif component[goal] < 0:
                    lowest[node] = min(lowest[node], seen_at[goal])
                continue
            if lowest[node] == seen_at[node]:
                while True:
                    member = open_nodes.pop()
                    component[member] = node
                    if member == node:
                        break
            if stack:
                before = stack[-1][0]
                lowest[before] = min(lowest[before], lowest[node])
    return component
