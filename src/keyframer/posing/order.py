"""In which order nodes can be placed: parents first, and what is looked at before what looks.

Everything is iterative and linear: a chain of 100,000 nodes is as good as a flat scene, and a circle, which a scene
made by hand may contain, is cut instead of followed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from keyframer.scene import Node

Indices = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Order:
    """``flat`` has the nodes so that each comes after all it needs; nodes of one level can be placed at once.

    ``parents`` and ``targets`` have -1 for none. A parent or target that would close a circle is -1 here: ``cut`` names
    the nodes that lost their parent, ``blind`` those that lost the target they look at.
    """

    flat: Indices
    level_of: Indices
    """(nodes,) counted from 0"""
    parents: Indices
    targets: Indices
    cut: list[int]
    blind: list[int]


def placing_order(nodes: Sequence[Node]) -> Order:
    """The order for these nodes. Numbers that are no node count as none."""
    count = len(nodes)
    parents = [_valid(node.parent, count) for node in nodes]
    targets = [_valid(node.target, count) for node in nodes]
    cut = _cut_circles(parents)
    # A node needs the place of its target only, not the way the target looks: that is, the target's parent.
    looks = [parents[target] if target >= 0 else -1 for target in targets]
    levels = _levels(parents, looks)
    blind: list[int] = []
    if sum(map(len, levels)) < count:
        circle_of = _circles(parents, looks)
        for node in range(count):
            if looks[node] >= 0 and circle_of[node] == circle_of[looks[node]]:
                targets[node] = looks[node] = -1
                blind.append(node)
        levels = _levels(parents, looks)
    flat = np.fromiter((node for level in levels for node in level), np.int64, count)
    level_of = np.empty(count, np.int64)
    level_of[flat] = np.repeat(np.arange(len(levels)), [len(level) for level in levels])
    return Order(
        flat,
        level_of,
        np.array(parents, np.int64).reshape(count),
        np.array(targets, np.int64).reshape(count),
        cut,
        blind,
    )


def _valid(number: int | None, count: int) -> int:
    return number if number is not None and 0 <= number < count else -1


def _cut_circles(parents: list[int]) -> list[int]:
    """Make every circle of parents a root where it was entered first; returns the nodes that lost their parent."""
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


def _levels(parents: list[int], looks: list[int]) -> list[list[int]]:
    """Nodes by the longest way from a root over both kinds of edge; nodes in or behind a circle are left out."""
    waiting_for = [(parent >= 0) + (look >= 0) for parent, look in zip(parents, looks, strict=True)]
    level = [node for node, count in enumerate(waiting_for) if count == 0]
    if len(level) == len(parents):
        return [level] if level else []
    followers: list[list[int]] = [[] for _ in parents]
    for node, (parent, look) in enumerate(zip(parents, looks, strict=True)):
        if parent >= 0:
            followers[parent].append(node)
        if look >= 0:
            followers[look].append(node)
    levels: list[list[int]] = []
    while level:
        levels.append(level)
        following: list[int] = []
        for node in level:
            for follower in followers[node]:
                waiting_for[follower] -= 1
                if waiting_for[follower] == 0:
                    following.append(follower)
        level = following
    return levels


def _circles(parents: list[int], looks: list[int]) -> list[int]:
    """A number for each node, the same for nodes that reach each other (Tarjan's components, without recursion)."""
    count = len(parents)
    circle = [-1] * count
    seen_at = [-1] * count
    lowest = [0] * count
    open_nodes: list[int] = []
    clock = 0
    for start in range(count):
        if seen_at[start] >= 0:
            continue
        way = [(start, 0)]
        while way:
            node, edge = way.pop()
            if edge == 0:
                seen_at[node] = lowest[node] = clock
                clock += 1
                open_nodes.append(node)
            if edge < 2:
                way.append((node, edge + 1))
                goal = looks[node] if edge else parents[node]
                if goal < 0:
                    continue
                if seen_at[goal] < 0:
                    way.append((goal, 0))
                elif circle[goal] < 0:
                    lowest[node] = min(lowest[node], seen_at[goal])
                continue
            if lowest[node] == seen_at[node]:
                while True:
                    member = open_nodes.pop()
                    circle[member] = node
                    if member == node:
                        break
            if way:
                before = way[-1][0]
                lowest[before] = min(lowest[before], lowest[node])
    return circle
