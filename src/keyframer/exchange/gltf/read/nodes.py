"""Reads the node tree, its parts and skins; our helper nodes are merged into the node they help."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from keyframer.arrays import Floats
from keyframer.catalogue import (
    DATA_QUATERNION_LENGTH,
    LINK_INDEX_OUT_OF_RANGE,
    LINK_NOT_SHOWN,
    LINK_PARENT_CYCLE,
    LINK_RANGE_OVERLAP,
    STRUCT_SYNTAX,
)
from keyframer.curves import Interpolation, Track
from keyframer.exchange.gltf.conventions import Axes, Names
from keyframer.exchange.gltf.read import extras_reading
from keyframer.exchange.gltf.read.accessors import Accessors
from keyframer.exchange.gltf.read.cameras_lights import restored_light
from keyframer.exchange.gltf.read.json_text import Findings, Item, TrackSource
from keyframer.exchange.gltf.read.meshes import Shape
from keyframer.issues import Severity
from keyframer.limits import Budget
from keyframer.maths import affine
from keyframer.scene import Channel, Clip, Morph, Node, NodeKind, Scene, Skin
from keyframer.text import counted

HELPERS = ("root", "geo", "scale", "shape")


class Hierarchy:
    """The node tree of one file: order, parents, joints and helper nodes."""

    def __init__(self, root: Item, issues: Findings, *, ours: bool) -> None:
        self._issues = issues
        self.items = root.children("nodes")
        self.parents: list[int | None] = [None] * len(self.items)
        self._link()
        self.parents_first = self._topological()
        """all nodes, parents first"""
        self.joints = [self._issues.attempt(self._joints, skin) or [] for skin in root.children("skins")]
        """the joints of each skin"""
        self.shown = self._shown(root)
        self.roots: set[int] = set()
        """helper nodes that only rotate and scale the whole scene"""
        self.helpers: dict[int, dict[str, int]] = {}
        """for nodes with helpers, the index of each kind of helper"""
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
        if ours:  # helpers stand for other nodes, and that may close a cycle
            self._cut(self._parent_places, self.order)

    def place(self, number: int) -> int | None:
        """Return the index in the scene of a node of the file; helpers have that of the node they help."""
        return self._places.get(self._owner.get(number, number))

    def parent_place(self, number: int) -> int | None:
        """Return the index in the scene of the parent of a node in `order`."""
        return self._parent_places[self._places[number]]

    def _parent_place(self, number: int) -> int | None:
        parent = self.parents[number]
        return None if parent is None else self.place(parent)

    def parts(self, number: int) -> dict[str, Item]:
        """Return the nodes of the file that make up one node of the scene; ``head`` is the node itself."""
        items = {kind: self.items[helper] for kind, helper in self.helpers.get(number, {}).items()}
        return {"head": self.items[number], **items}

    def _link(self) -> None:
        for number, item in enumerate(self.items):
            for place in range(len(item.entries("children"))):
                self._issues.attempt(self._set_parent, number, item, place)

    def _set_parent(self, number: int, item: Item, place: int) -> None:
        child = item.indices("children", len(self.items), "node", place)[0]
        first_parent = self.parents[child]
        if first_parent is not None:
            args = {"what": "node", "item": number, "kind": "child", "index": child, "other": first_parent}
            raise LINK_RANGE_OVERLAP.failure(0, f"{item.path}/children[{place}]", **args)
        self.parents[child] = number

    def _joints(self, skin: Item) -> list[int]:
        return skin.indices("joints", len(self.items), "node")

    def _topological(self) -> list[int]:
        """Return all nodes, parents first. A cycle is an error; with salvage its first node loses its parent."""
        order = self._downwards()
        if len(order) < len(self.items):
            self._cut(self.parents, range(len(self.items)))
            order = self._downwards()
        return order

    def _cut(self, parents: list[int | None], numbers: Sequence[int]) -> None:
        """Raise an error for every cycle of parents, or cut it; ``numbers`` are indices of the file by index in
        ``parents``.
        """
        for cycle in parent_cycles(parents):
            place = min(cycle)
            item = self.items[numbers[place]]
            name = item.value.get("name")
            shown = name if type(name) is str and name else f"node {numbers[place]}"
            self._issues.left_out(LINK_PARENT_CYCLE.failure(0, item.path, name=shown))
            parents[place] = None

    def _downwards(self) -> list[int]:
        """Return nodes, parents first; those of cycles and below them are missing."""
        below: list[list[int]] = [[] for _ in self.items]
        waiting: list[int] = []
        for number, parent in enumerate(self.parents):
            (waiting if parent is None else below[parent]).append(number)
        order: list[int] = []
        while waiting:
            number = waiting.pop()
            order.append(number)
            waiting += below[number]
        return order

    def _shown(self, root: Item) -> set[int]:
        """Return the descendants of the roots of the shown scene, and other nodes that skins need."""
        scenes = root.children("scenes")
        number = self._issues.attempt(root.index, "scene", len(scenes), "scene")
        if not scenes:
            return set(range(len(self.items)))
        chosen = scenes[number or 0]
        shown: set[int] = set()
        for place in range(len(chosen.entries("nodes"))):
            shown.update(self._issues.attempt(chosen.indices, "nodes", len(self.items), "node", place) or ())
        for node in self.parents_first:
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
            extras = item.keyframer_extras
            if extras is None or not extras.has("helper"):
                heads.setdefault(self._issues.attempt(item.text, "name", "") or "", number)
                continue
            kind = self._issues.attempt(extras.choice, "helper", HELPERS)
            if kind == "root":
                self.roots.add(number)
            elif kind is not None:
                marked.append((number, kind, self._issues.attempt(extras.text, "of") or ""))
        for number, kind, name in marked:
            if name in heads:
                self._owner[number] = heads[name]
                self.helpers.setdefault(heads[name], {})[kind] = number


def parent_cycles(parents: Sequence[int | None]) -> list[list[int]]:
    """Return each cycle of parents once, those with low indices first; in linear time."""
    seen: set[int] = set()
    cycles: list[list[int]] = []
    for start in range(len(parents)):
        way: dict[int, None] = {}
        above: int | None = start
        while above is not None and above not in seen:
            seen.add(above)
            way[above] = None
            above = parents[above]
        if above in way:
            nodes = list(way)
            cycles.append(nodes[nodes.index(above) :])
    return sorted(cycles, key=min)


_KINDS = tuple(kind.value for kind in NodeKind)
_NOT_UNIT = 1e-2
"""largest difference from 1 of the length of a rotation that rounding explains; rotations in bytes are within 0.008"""
_HUGE = 1e100
"""largest number of a matrix: its square must be finite"""


class Shapes(Protocol):
    """Supplies meshes for nodes."""

    def __len__(self) -> int: ...

    def take(self, number: int) -> tuple[int, Shape, Morph | None] | None: ...


class NodeReader:
    """Reads the nodes of one file."""

    def __init__(self, hierarchy: Hierarchy, axes: Axes, budget: Budget, issues: Findings, *, ours: bool) -> None:
        self._issues = issues
        self._hierarchy = hierarchy
        self._axes = axes
        self._budget = budget
        self._ours = ours
        self._weights: dict[int, tuple[tuple[float, ...], TrackSource]] = {}
        """rest weights of morph targets and their location, by node"""

    def read(self, scene: Scene, shapes: Shapes, skins: SkinReader) -> None:
        names, attempt = Names(), self._issues.attempt
        joints = {joint for skin in self._hierarchy.joints for joint in skin}
        for number in self._hierarchy.order:
            parts = self._hierarchy.parts(number)
            node = Node("", parent=self._hierarchy.parent_place(number))
            attempt(self._set_transform, node, parts)
            attempt(self._attach_camera_and_light, scene, node, parts.get("shape", parts["head"]))
            attempt(self._attach_mesh, scene, node, parts, shapes, skins)
            node.kind = _kind(node, number in joints)
            if self._ours:
                attempt(self._restore, scene, node, parts["head"])
            node.name = names.claim(attempt(parts["head"].text, "name", "") or "", node.kind.value)
            scene.nodes.append(node)
        if self._ours:
            self._restore_links(scene)
        else:
            self._hide(scene)

    def animated_nodes(self, number: int) -> dict[str, int]:
        """Return the node of the file that each kind of motion animates."""
        helpers = self._hierarchy.helpers.get(number, {})
        return {"position": number, "rotation": number, "scale": helpers.get("scale", number)}

    def _set_transform(self, node: Node, parts: dict[str, Item]) -> None:
        """Set position, rotation, scale and scale axes of a node at rest."""
        head, scaled = parts["head"], parts.get("scale", parts["head"])
        if head.has("matrix"):
            position, rotation = self._decompose_matrix(node, head)
        else:
            position = np.array(head.numbers("translation", 3, (0.0, 0.0, 0.0)))
            rotation = np.array(head.numbers("rotation", 4, (0.0, 0.0, 0.0, 1.0)))
            length = math.hypot(*rotation)
            if abs(length - 1.0) > _NOT_UNIT:
                self._issues.add(DATA_QUATERNION_LENGTH, head.at("rotation"), 0, length=length)
            node.scale = np.array(scaled.numbers("scale", 3, (1.0, 1.0, 1.0)))
        node.position, node.rotation_xyzw = self._axes.vectors(position), self._axes.turns(rotation)
        if "scale" in parts:
            node.scale_axes_xyzw = self._axes.turns(scaled.numbers("rotation", 4, (0.0, 0.0, 0.0, 1.0)))

    def _decompose_matrix(self, node: Node, head: Item) -> tuple[Floats, Floats]:
        """Return position and rotation of a matrix; sets the scale, and scale axes if it has shear."""
        matrix = np.array(head.numbers("matrix", 16)).reshape(4, 4).T
        if matrix[3].tolist() != [0.0, 0.0, 0.0, 1.0]:
            row = " ".join(f"{number:g}" for number in matrix[3])
            args = {"wanted": "0 0 0 1 as the last row", "found": row}
            self._issues.add(STRUCT_SYNTAX, head.at("matrix"), 0, severity=Severity.WARNING, **args)
        if np.abs(matrix).max() > _HUGE:
            raise head.fail(STRUCT_SYNTAX, "matrix", wanted="an affine matrix", found="huge numbers")
        position, rotation, node.scale, axes, sheared = affine.decompose_with_axes(matrix)
        if sheared:
            node.scale_axes_xyzw = self._axes.turns(axes)
        return position, rotation

    def _attach_camera_and_light(self, scene: Scene, node: Node, item: Item) -> None:
        node.camera = item.index("camera", len(scene.cameras), "camera")
        light = item.extension("KHR_lights_punctual")
        if light is not None:
            node.light = light.needed_index("light", len(scene.lights), "light")

    def _attach_mesh(self, scene: Scene, node: Node, parts: dict[str, Item], shapes: Shapes, skins: SkinReader) -> None:
        geometry = parts.get("geo", parts.get("shape", parts["head"]))
        number = geometry.index("mesh", len(shapes), "mesh")
        taken = None if number is None else shapes.take(number)
        if number is None or taken is None:
            return
        node.mesh, shape, node.morph = taken
        skin = geometry.index("skin", len(skins.items), "skin")
        if skin is not None:
            node.skin = self._issues.attempt(skins.read, skin, number, shape)
        weights = geometry.numbers("weights", None, shape.weights)
        if shape.targets and any(weights) and not self._ours:
            if len(weights) != len(shape.targets):
                wanted = counted(len(shape.targets), "weight")
                raise geometry.fail(STRUCT_SYNTAX, "weights", wanted=wanted, found=f"{len(weights)}")
            holder = geometry.path if geometry.has("weights") else f"/meshes[{number}]"
            self._weights[len(scene.nodes)] = weights, TrackSource(f"{holder}/weights")

    def _restore(self, scene: Scene, node: Node, head: Item) -> None:
        extras = head.keyframer_extras
        node.kind = NodeKind.OBJECT
        if extras is None:
            return
        node.kind = NodeKind(extras.choice("kind", _KINDS, "object"))
        node.raw_name, node.extras = extras_reading.raw_name(extras), extras_reading.format_extras(extras)
        for name, width in (("pivot", 3), ("position", 3), ("scale_axes_xyzw", 4)):
            if extras.has(name) and None not in extras.entries(name):
                setattr(node, name, np.array(extras.numbers(name, width)))
        node.hidden = extras.flag("hidden")
        node.file_id = extras.integer("file_id", least=-(2**63), most=2**63) if extras.has("file_id") else None
        box = extras_reading.array(extras, "bounding_box", self._budget)
        if box is not None and box.shape == (2, 3):
            node.bounding_box = (box[0], box[1])
        light = extras.child("light")
        if light is not None:
            scene.lights.append(restored_light(light, head.text("name", "")))
            node.light = len(scene.lights) - 1

    def _restore_links(self, scene: Scene) -> None:
        """Restore targets, and the original parents of detached nodes; remove the baked rotation of aimed nodes."""
        named = {node.name: place for place, node in enumerate(scene.nodes)}
        moved: set[int] = set()
        for place, number in enumerate(self._hierarchy.order):
            node, extras = scene.nodes[place], self._hierarchy.items[number].keyframer_extras
            if extras is None:
                continue
            target = self._issues.attempt(extras.index, "target", len(self._hierarchy.items), "node")
            node.target = None if target is None else self._hierarchy.place(target)
            if extras.has("parent"):
                node.parent = named.get(self._issues.attempt(extras.text, "parent") or "")
                moved.add(place)
        for cycle in parent_cycles([node.parent for node in scene.nodes]):  # a name may refer to a descendant
            scene.nodes[next(place for place in cycle if place in moved)].parent = None
        for node in scene.nodes:
            stored = node.camera is not None and scene.cameras[node.camera].target is not None
            stored |= node.light is not None and scene.lights[node.light].target is not None
            if node.target is not None or stored:
                node.rotation_xyzw, node.scale = np.array([0.0, 0.0, 0.0, 1.0]), np.ones(3)

    def _hide(self, scene: Scene) -> None:
        """Hide the nodes with KHR_node_visibility, with their descendants."""
        for number in self._hierarchy.parents_first:
            place = self._hierarchy.place(number)
            if place is None:
                continue
            parent = scene.nodes[place].parent
            above = parent is not None and scene.nodes[parent].hidden
            scene.nodes[place].hidden = above or self._issues.attempt(_is_hidden, self._hierarchy.items[number]) is True

    def add_rest_weights(self, scene: Scene, fps: float) -> None:
        """Add a clip with one key for weights without animation: scenes store weights only in clips."""
        if self._weights and not scene.clips:
            scene.clips.append(Clip(rate=1.0, unit="second", units_per_frame=1.0 / fps))
        for clip in scene.clips:
            moved = {channel.node for channel in clip.channels if channel.track.kind == "morph"}
            for place, (weights, source) in self._weights.items():
                if place not in moved:
                    values = np.array([[1.0 - sum(weights), *weights]])
                    track = Track("morph", np.zeros(1), values, Interpolation.LINEAR)
                    self._issues.sources.tracks[track] = source
                    clip.channels.append(Channel(place, track))


def _is_hidden(item: Item) -> bool:
    stated = item.extension("KHR_node_visibility")
    return stated is not None and not stated.flag("visible", True)


def _kind(node: Node, is_joint: bool) -> NodeKind:
    if node.mesh is not None:
        return NodeKind.OBJECT
    if node.camera is not None:
        return NodeKind.CAMERA
    if node.light is not None:
        return NodeKind.LIGHT
    return NodeKind.BONE if is_joint else NodeKind.DUMMY


class SkinReader:
    """Reads skins: a skin of the file becomes one skin of the scene for each mesh that uses it."""

    def __init__(self, root: Item, accessors: Accessors, hierarchy: Hierarchy, axes: Axes, budget: Budget) -> None:
        self.items = root.children("skins")
        self.skins: list[Skin] = []
        self._accessors = accessors
        self._hierarchy = hierarchy
        self._axes = axes
        self._budget = budget
        self._made: dict[tuple[int, int], int | None] = {}

    def read(self, number: int, mesh: int, shape: Shape) -> int | None:
        """Return the index of the skin in the scene; None if the mesh has no influences."""
        key = (number, mesh)
        if key not in self._made:
            self._made[key] = self._skin(number, mesh, shape)
        return self._made[key]

    def _skin(self, number: int, mesh: int, shape: Shape) -> int | None:
        item = self.items[number]
        joints = self._hierarchy.joints[number]
        if not joints:
            raise item.missing("joints")
        if shape.joints is None or shape.shares is None:
            return None
        self._budget.spend("copies", 4 * shape.joints.size + 16 * len(joints), item.path)
        matrices = self._matrices(item, len(joints))
        weights = np.where(np.isfinite(shape.shares), shape.shares, 0.0)
        vertex, column = np.nonzero(weights > 0)
        influence = shape.joints[vertex, column]
        if len(influence) and int(influence.max()) >= len(joints):
            args = {"what": "vertex", "item": int(vertex[np.argmax(influence)]), "kind": "joint"}
            where = f"/meshes[{mesh}]/primitives"
            raise LINK_INDEX_OUT_OF_RANGE.failure(0, where, **args, index=int(influence.max()), count=len(joints))
        joint_places = [place for place, joint in enumerate(joints) if joint not in self._hierarchy.roots]
        if len(joint_places) < len(joints):  # our extra joint for vertices without weights
            new = np.full(len(joints), -1)
            new[joint_places] = np.arange(len(joint_places))
            moved = new[influence] >= 0
            vertex, column, influence = vertex[moved], column[moved], new[influence[moved]]
        places = [self._hierarchy.place(joints[place]) for place in joint_places]
        assert None not in places, "joints and their ancestors are always shown"
        skin = Skin(
            item.text("name", ""),
            [place for place in places if place is not None],
            self._axes.matrices(matrices[joint_places]),
            vertex,
            influence,
            weights[vertex, column],
        )
        skin.extras = extras_reading.format_extras(item.keyframer_extras)
        self.skins.append(skin)
        return len(self.skins) - 1

    def _matrices(self, item: Item, joints: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
        accessor = item.index("inverseBindMatrices", len(self._accessors), "accessor")
        if accessor is None:
            return np.broadcast_to(np.eye(4), (joints, 4, 4)).copy()
        matrices = self._accessors.floats(accessor, "MAT4")
        if len(matrices) < joints:
            raise item.fail(
                STRUCT_SYNTAX, "inverseBindMatrices", wanted=counted(joints, "matrix"), found=f"{len(matrices)}"
            )
        columns = matrices[:joints].astype(np.float64).reshape(-1, 4, 4)
        return np.ascontiguousarray(np.swapaxes(columns, -1, -2))
