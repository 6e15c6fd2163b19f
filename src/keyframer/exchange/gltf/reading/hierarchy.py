"""The tree of nodes: who is below whom, which nodes the scene shows, and which are only helpers of ours."""

from __future__ import annotations

from keyframer.catalogue import LINK_COUNT_MISMATCH, LINK_PARENT_CYCLE, LINK_RANGE_OVERLAP
from keyframer.exchange.gltf.reading.values import Item
from keyframer.issues import IssueLog, Severity

HELPERS = ("root", "geo", "scale", "shape")


class Hierarchy:
    def __init__(self, root: Item, issues: IssueLog, *, ours: bool) -> None:
        self.items = root.children("nodes")
        self.parents: list[int | None] = [None] * len(self.items)
        self._link()
        self.above = self._topological()
        """all nodes, parents first"""
        self.shown = self._shown(root, issues)
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

    def place(self, number: int) -> int | None:
        """The number in the scene of a node of the file; helpers stand for the node they help."""
        return self._places.get(self._owner.get(number, number))

    def parent_place(self, number: int) -> int | None:
        parent = self.parents[number]
        return None if parent is None else self.place(parent)

    def parts(self, number: int) -> dict[str, Item]:
        """The nodes of the file that one node of the scene is made of; ``head`` is itself."""
        found = {kind: self.items[helper] for kind, helper in self.helpers.get(number, {}).items()}
        return {"head": self.items[number], **found}

    def _link(self) -> None:
        for number, item in enumerate(self.items):
            for place, child in enumerate(item.indices("children", len(self.items), "node")):
                other = self.parents[child]
                if other is not None:
                    args = {"what": "node", "item": number, "kind": "child", "index": child, "other": other}
                    raise LINK_RANGE_OVERLAP.failure(0, f"{item.path}/children[{place}]", **args)
                self.parents[child] = number

    def _topological(self) -> list[int]:
        below: list[list[int]] = [[] for _ in self.items]
        waiting: list[int] = []
        for number, parent in enumerate(self.parents):
            (waiting if parent is None else below[parent]).append(number)
        found: list[int] = []
        while waiting:
            number = waiting.pop()
            found.append(number)
            waiting += below[number]
        if len(found) < len(self.items):
            seen = set(found)
            lost = next(number for number in range(len(self.items)) if number not in seen)
            name = self.items[lost].text("name", "") or f"node {lost}"
            raise LINK_PARENT_CYCLE.failure(0, self.items[lost].path, name=name)
        return found

    def _shown(self, root: Item, issues: IssueLog) -> set[int]:
        """Everything below the roots of the scene to show, and what skins need besides."""
        scenes = root.children("scenes")
        number = root.index("scene", len(scenes), "scene")
        if not scenes:
            return set(range(len(self.items)))
        chosen = scenes[number or 0]
        shown = set(chosen.indices("nodes", len(self.items), "node"))
        for node in self.above:
            if self.parents[node] in shown:
                shown.add(node)
        for skin in root.children("skins"):
            for joint in skin.indices("joints", len(self.items), "node"):
                above: int | None = joint
                while above is not None and above not in shown:
                    shown.add(above)
                    above = self.parents[above]
        if len(shown) < len(self.items):
            args = {"claimed": len(self.items), "what": "nodes", "found": len(shown)}
            issues.add(LINK_COUNT_MISMATCH, chosen.at("nodes"), 0, severity=Severity.INFO, **args)
        return shown

    def _find_helpers(self) -> None:
        heads: dict[str, int] = {}
        marked: list[tuple[int, str, str]] = []
        for number, item in enumerate(self.items):
            kept = item.kept
            if kept is None or not kept.has("helper"):
                heads.setdefault(item.text("name", ""), number)
                continue
            kind = kept.choice("helper", HELPERS)
            if kind == "root":
                self.roots.add(number)
            else:
                marked.append((number, kind, kept.text("of")))
        for number, kind, name in marked:
            if name in heads:
                self._owner[number] = heads[name]
                self.helpers.setdefault(heads[name], {})[kind] = number
