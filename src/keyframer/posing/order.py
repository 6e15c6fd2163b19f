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
    """``levels`` are groups of nodes that can be placed at once; ``parents`` and ``targets`` have -1 for none.

    A parent or target that would close a circle is -1 here; ``cut`` names the nodes that lost one.
    """

    levels: list[Indices]
    parents: Indices
    targets: Indices
    cut: list[int]


def placing_order(nodes: Sequence[Node]) -> Order:
    """The order for these nodes. Numbers that are no node count as none."""
    count = len(nodes)
    parents = [_valid(node.parent, count) for node in nodes]
    targets = [_valid(node.target, count) for node in nodes]
    cut = _cut_circles(parents)
    # A node needs the place of its target only, not the way the target looks: that is, the target's parent.
    looks = [parents[target] if target >= 0 else -1 for target in targets]
    levels = _levels(parents, looks)
    if sum(map(len, levels)) < count:
        placed = {node for level in levels for node in level}
        for node in range(count):
            if node not in placed and looks[node] >= 0:
                targets[node] = looks[node] = -1
                cut.append(node)
        levels = _levels(parents, looks)
    return Order(
        [np.array(level, np.int64) for level in levels],
        np.array(parents, np.int64).reshape(count),
        np.array(targets, np.int64).reshape(count),
        cut,
    )


def _valid(number: int | None, count: int) -> int:
    return number if number is not None and 0 <= number < count else -1


def _cut_circles(parents: list[int]) -> list[int]:
    """Make every circle of parents a root where it was entered first; returns the nodes that lost their parent."""
    state = [0] * len(parents)  # 0 not seen, 1 on the way up, 2 done
    cut: list[int] = []
    for start in range(len(parents)):
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
    followers: list[list[int]] = [[] for _ in parents]
    for node, (parent, look) in enumerate(zip(parents, looks, strict=True)):
        if parent >= 0:
            followers[parent].append(node)
        if look >= 0:
            followers[look].append(node)
    level = [node for node, count in enumerate(waiting_for) if count == 0]
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
