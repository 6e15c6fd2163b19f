"""The tree of nodes: who is below whom, which nodes the scene shows, and which are only helpers of ours."""

from __future__ import annotations

from collections.abc import Sequence

from keyframer.catalogue import LINK_NOT_SHOWN, LINK_PARENT_CYCLE, LINK_RANGE_OVERLAP
from keyframer.exchange.gltf.read.json_text import Findings, Item

HELPERS = ("root", "geo", "scale", "shape")


class Hierarchy:
    def __init__(self, root: Item, issues: Findings, *, ours: bool) -> None:
        self._issues = issues
        self.items = root.children("nodes")
        self.parents: list[int | None] = [None] * len(self.items)
        self._link()
        self.above = self._topological()
        """all nodes, parents first"""
        self.joints = [self._issues.attempt(self._joints, skin) or [] for skin in root.children("skins")]
        """the nodes of each skin"""
        self.shown = self._shown(root)
        self.roots: set[int] = set()
        """helper nodes that only turn and scale everything"""
        self.helpers: dict[int, dict[str, int]] = {}
        """for nodes with helpers, where each kind of them is"""
        self._owner: dict[int, int] = {}
        if ours:
            self._find_helpers()
        self.order = [
            number
            for number in range(len(self.items))
            if number in self.shown and number not in self.roots and number not in self._owner
        ]
        self._places = {number: place for place, number in enumerate(self.order)}
        self._parent_places = [self._parent_place(number) for number in self.order]
        if ours:  # helpers stand for other nodes, and that may close a circle
            self._cut(self._parent_places, self.order)

    def place(self, number: int) -> int | None:
        """The number in the scene of a node of the file; helpers stand for the node they help."""
        return self._places.get(self._owner.get(number, number))

    def parent_place(self, number: int) -> int | None:
        """The number in the scene of the node that one in `order` hangs on."""
        return self._parent_places[self._places[number]]

    def _parent_place(self, number: int) -> int | None:
        parent = self.parents[number]
        return None if parent is None else self.place(parent)

    def parts(self, number: int) -> dict[str, Item]:
        """The nodes of the file that one node of the scene is made of; ``head`` is itself."""
        found = {kind: self.items[helper] for kind, helper in self.helpers.get(number, {}).items()}
        return {"head": self.items[number], **found}

    def _link(self) -> None:
        for number, item in enumerate(self.items):
            for place in range(len(item.entries("children"))):
                self._issues.attempt(self._hang, number, item, place)

    def _hang(self, number: int, item: Item, place: int) -> None:
        child = item.indices("children", len(self.items), "node", place)[0]
        other = self.parents[child]
        if other is not None:
            args = {"what": "node", "item": number, "kind": "child", "index": child, "other": other}
            raise LINK_RANGE_OVERLAP.failure(0, f"{item.path}/children[{place}]", **args)
        self.parents[child] = number

    def _joints(self, skin: Item) -> list[int]:
        return skin.indices("joints", len(self.items), "node")

    def _topological(self) -> list[int]:
        """All nodes, parents first. A circle is an error; to save it, its first node hangs on none."""
        found = self._downwards()
        if len(found) < len(self.items):
            self._cut(self.parents, range(len(self.items)))
            found = self._downwards()
        return found

    def _cut(self, parents: list[int | None], numbers: Sequence[int]) -> None:
        """Fail for every circle of parents, or cut it; ``numbers`` of nodes of the file by number in ``parents``."""
        for circle in circles(parents):
            place = min(circle)
            item = self.items[numbers[place]]
            name = item.value.get("name")
            shown = name if type(name) is str and name else f"node {numbers[place]}"
            self._issues.left_out(LINK_PARENT_CYCLE.failure(0, item.path, name=shown))
            parents[place] = None

    def _downwards(self) -> list[int]:
        below: list[list[int]] = [[] for _ in self.items]
        waiting: list[int] = []
        for number, parent in enumerate(self.parents):
            (waiting if parent is None else below[parent]).append(number)
        found: list[int] = []
        while waiting:
            number = waiting.pop()
            found.append(number)
            waiting += below[number]
        return found

    def _shown(self, root: Item) -> set[int]:
        """Everything below the roots of the scene to show, and what skins need besides."""
        scenes = root.children("scenes")
        number = self._issues.attempt(root.index, "scene", len(scenes), "scene")
        if not scenes:
            return set(range(len(self.items)))
        chosen = scenes[number or 0]
        shown: set[int] = set()
        for place in range(len(chosen.entries("nodes"))):
            shown.update(self._issues.attempt(chosen.indices, "nodes", len(self.items), "node", place) or ())
        for node in self.above:
            if self.parents[node] in shown:
                shown.add(node)
        for joints in self.joints:
            for joint in joints:
                above: int | None = joint
                while above is not None and above not in shown:
                    shown.add(above)
                    above = self.parents[above]
        if len(shown) < len(self.items):
            total = len(self.items)
            self._issues.add(LINK_NOT_SHOWN, chosen.at("nodes"), 0, count=total - len(shown), total=total, what="nodes")
        return shown

    def _find_helpers(self) -> None:
        heads: dict[str, int] = {}
        marked: list[tuple[int, str, str]] = []
        for number, item in enumerate(self.items):
            kept = item.kept
            if kept is None or not kept.has("helper"):
                heads.setdefault(self._issues.attempt(item.text, "name", "") or "", number)
                continue
            kind = self._issues.attempt(kept.choice, "helper", HELPERS)
            if kind == "root":
                self.roots.add(number)
            elif kind is not None:
                marked.append((number, kind, self._issues.attempt(kept.text, "of") or ""))
        for number, kind, name in marked:
            if name in heads:
                self._owner[number] = heads[name]
                self.helpers.setdefault(heads[name], {})[kind] = number


def circles(parents: Sequence[int | None]) -> list[list[int]]:
    """Nodes that hang on each other in a circle: each circle once, those with low numbers first; in linear time."""
    seen: set[int] = set()
    found: list[list[int]] = []
    for start in range(len(parents)):
        way: dict[int, None] = {}
        above: int | None = start
        while above is not None and above not in seen:
            seen.add(above)
            way[above] = None
            above = parents[above]
        if above in way:
            nodes = list(way)
            found.append(nodes[nodes.index(above) :])
    return sorted(found, key=min)
