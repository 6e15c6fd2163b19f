"""The order in which nodes are evaluated: parents first, targets before aimed nodes, cycles cut where they close."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from keyframer.posing.evaluation_order import Order, evaluation_order, reachable
from keyframer.scene import Node
from tests.slow import SLOW


def order_of(parents: list[int | None], targets: dict[int, int] | None = None) -> Order:
    nodes = [Node(str(i), parent=parent) for i, parent in enumerate(parents)]
    for node, target in (targets or {}).items():
        nodes[node].target = target
    return evaluation_order(nodes)


def test_parents_come_first_whatever_their_order() -> None:
    order = order_of([2, 0, None, 1, None])
    assert order.level_of.tolist() == [1, 2, 0, 3, 0]
    assert sorted(order.flat.tolist()) == [0, 1, 2, 3, 4]
    assert order.cut == order.untargeted == []


def test_an_aimed_node_comes_after_the_parent_of_its_target() -> None:
    order = order_of([None, 0, 1, None], {3: 2})
    assert order.level_of[3] > order.level_of[1]


def test_links_to_missing_nodes_are_ignored() -> None:
    order = order_of([7, -3, 0], {0: 99, 1: -1})
    assert order.parents.tolist() == [-1, -1, 0]
    assert order.targets.tolist() == [-1, -1, -1]
    assert order.cut == []


def test_one_link_of_each_parent_cycle_is_cut() -> None:
    assert order_of([0]).cut == [0]
    assert len(order_of([1, 2, 0, None, 3]).cut) == 1
    assert len(order_of([1, 0, 3, 2, 0]).cut) == 2


def test_a_target_below_its_own_camera_is_not_followed() -> None:
    order = order_of([None, 0, 1], {1: 2})  # arm, camera, target
    assert order.untargeted == [1]
    assert order.cut == []
    assert order.parents.tolist() == [-1, 0, 1]


def test_only_cameras_in_a_cycle_lose_their_target() -> None:
    """Two cameras, each with its target below the other; a third camera below them has a target elsewhere."""
    parents: list[int | None] = [None, None, 1, 0, 0, 6, None]
    order = order_of(parents, {0: 2, 1: 3, 4: 5})
    assert order.untargeted == [0, 1]
    assert order.targets[4] == 5


def test_long_cycles_and_chains_need_no_recursion() -> None:
    count = 50_000
    order = order_of([(i + 1) % count for i in range(count)])
    assert len(order.cut) == 1
    assert order.level_of.max() == count - 1
    chain: list[int | None] = [None, *range(count - 1)]
    assert order_of(chain, {0: count - 1}).untargeted == [0]


@settings(max_examples=300 if SLOW else 100)
@given(st.data())
def test_any_graph_can_be_ordered(data: st.DataObject) -> None:
    count = data.draw(st.integers(0, 12))
    number = st.one_of(st.none(), st.integers(-2, count + 1))
    nodes = [Node(str(i), parent=data.draw(number), target=data.draw(number)) for i in range(count)]
    order = evaluation_order(nodes)
    assert sorted(order.flat.tolist()) == list(range(count))
    done: set[int] = set()
    for node in order.flat.tolist():
        parent, target = int(order.parents[node]), int(order.targets[node])
        assert parent == -1 or parent in done
        if target >= 0:
            above = int(order.parents[target])
            assert above == -1 or above in done
        done.add(node)
    for node in range(count):  # nothing is cut without need
        if order.parents[node] == -1 and node not in order.cut:
            wanted = nodes[node].parent
            assert wanted is None or not 0 <= wanted < count
        if order.targets[node] == -1 and node not in order.untargeted:
            wanted = nodes[node].target
            assert wanted is None or not 0 <= wanted < count


def test_reachable_nodes_follow_every_link_once() -> None:
    links = {0: (1, None), 1: (2, -1), 2: (0, 3), 3: (), 4: (0,)}  # 0, 1 and 2 form a cycle
    assert sorted(reachable([0], lambda node: links[node])) == [0, 1, 2, 3]
    assert reachable([3], lambda node: links[node]) == [3]
    assert sorted(reachable([4, 3], lambda node: links[node])) == [0, 1, 2, 3, 4]
