"""Reads nodes and skins; our helper nodes are merged into the nodes they help."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Mapping, Sequence
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
from keyframer.exchange.gltf.conventions import ROOT_NAME, Names
from keyframer.exchange.gltf.read import extras_reading
from keyframer.exchange.gltf.read.accessors import Accessors
from keyframer.exchange.gltf.read.cameras_lights import restored_light
from keyframer.exchange.gltf.read.json_text import Findings, Item
from keyframer.exchange.gltf.read.meshes import ImportedMesh
from keyframer.exchange.kit.axes import Axes
from keyframer.issues import Severity
from keyframer.limits import Budget
from keyframer.maths import affine
from keyframer.scene import Channel, Clip, Morph, Node, NodeKind, Scene, Skin, Space
from keyframer.text import counted

_PROPERTIES = {
    "root": ("rotation", "scale", "children"),
    "geo": ("translation", "scale", "mesh", "skin", "weights", "extensions"),
    "scale": ("rotation", "scale", "children"),
    "shape": ("rotation", "children", "mesh", "weights", "camera", "extensions"),
}
"""kinds of helper nodes that our exporter adds, and the properties that each may have: for the axes and unit of the
whole scene; for a pivot, visibility or skinned geometry; for scale axes (two nodes)
"""
_MOVING = {
    "root": (),
    "geo": ("scale", "weights", "visible"),
    "scale": ("rotation", "scale"),
    "shape": ("rotation", "weights"),
}
"""the properties of helpers that our exporter animates"""
_DEFAULTS = {"translation": [0, 0, 0], "rotation": [0, 0, 0, 1], "scale": [1, 1, 1], "children": []}
_ROUNDING = 1e-6
_ROUNDING_OF_OTHERS = 1e-5
"""what is left of a rotation that another program converted to its axes and back"""


class Hierarchy:
    """The node tree of one file: order, parents, joints and helper nodes.

    A helper node of our exporter is merged into the node that it helps, as long as it does nothing else; if another
    program changed it, it is a node like any other. ``axes`` are those of the scene, if the file states them;
    ``moving`` has the properties that animations change, by node; ``only_helps`` returns whether the animation of
    helpers, by kind, is one that our exporter writes.
    """

    def __init__(
        self,
        root: Item,
        issues: Findings,
        axes: Axes | None,
        moving: Mapping[int, Collection[str]],
        only_helps: Callable[[dict[str, int]], bool],
    ) -> None:
        self._issues = issues
        self.items = root.children("nodes")
        self.parents: list[int | None] = [None] * len(self.items)
        self._link()
        self.parents_first = self._topological()
        """all nodes, parents first"""
        self.joints = [self._issues.attempt(self._joints, skin) or [] for skin in root.children("skins")]
        """the joints of each skin"""
        self.shown = self._shown(root)
        """the nodes that are read"""
        self.helpers: dict[int, dict[str, int]] = {}
        """for nodes with helpers, the index of each kind of helper"""
        self._moving = moving
        self._helped_node: dict[int, int] = {}
        self._meshes = root.children("meshes")
        self.grids: dict[int, Floats] = {}
        """for meshes of compact files, origin and step (4,) of the grid of their positions"""
        self._find_helpers(only_helps)
        self._find_grids()
        self.root_helper = self._find_root_helper(axes)
        """helper node that only rotates and scales the whole scene"""
        self.order = [
            number
            for number in range(len(self.items))
            if number in self.shown and number != self.root_helper and number not in self._helped_node
        ]
        """index in the file of each node of the scene"""
        self._scene_indices = {number: place for place, number in enumerate(self.order)}

    def scene_index(self, number: int) -> int | None:
        """Return the index in the scene of a node of the file, or of the node that it helps; None if there is none."""
        return self._scene_indices.get(self._helped_node.get(number, number))

    def helper_kind(self, number: int) -> str | None:
        """Return the kind of a helper that is merged into the node that it helps; None for other nodes."""
        helpers = self.helpers.get(self._helped_node.get(number, -1), {})
        return next((kind for kind, helper in helpers.items() if helper == number), None)

    def scene_parent(self, number: int) -> int | None:
        """Return the index in the scene of the parent of a node in `order`."""
        parent = self.parents[number]
        return None if parent is None else self.scene_index(parent)

    def parts(self, number: int) -> dict[str, Item]:
        """Return the nodes of the file that make up one node of the scene; ``head`` is the node itself."""
        items = {kind: self.items[helper] for kind, helper in self.helpers.get(number, {}).items()}
        return {"head": self.items[number], **items}

    def _link(self) -> None:
        for number, item in enumerate(self.items):
            for position in range(len(item.entries("children"))):
                self._issues.attempt(self._set_parent, number, item, position)

    def _set_parent(self, number: int, item: Item, position: int) -> None:
        child = item.indices("children", len(self.items), "node", position)[0]
        first_parent = self.parents[child]
        if first_parent is not None:
            args = {"what": "node", "item": number, "kind": "child", "index": child, "other": first_parent}
            raise LINK_RANGE_OVERLAP.failure(0, f"{item.path}/children[{position}]", **args)
        self.parents[child] = number

    def _joints(self, skin: Item) -> list[int]:
        return skin.indices("joints", len(self.items), "node")

    def _topological(self) -> list[int]:
        """Return all nodes, parents first. A cycle is an error; with salvage its first node loses its parent."""
        order = self._reachable_from_roots()
        if len(order) < len(self.items):
            self._cut_cycles()
            order = self._reachable_from_roots()
        return order

    def _cut_cycles(self) -> None:
        """Report every cycle of parents and cut it; without salvage it is an error."""
        for cycle in parent_cycles(self.parents):
            index = min(cycle)
            item = self.items[index]
            name = item.value.get("name")
            label = name if type(name) is str and name else f"node {index}"
            self._issues.leave_out(LINK_PARENT_CYCLE.failure(0, item.path, name=label))
            self.parents[index] = None

    def _reachable_from_roots(self) -> list[int]:
        """Return the nodes below roots, parents first; nodes of cycles and nodes below them are missing."""
        children: list[list[int]] = [[] for _ in self.items]
        waiting: list[int] = []
        for number, parent in enumerate(self.parents):
            (waiting if parent is None else children[parent]).append(number)
        order: list[int] = []
        while waiting:
            number = waiting.pop()
            order.append(number)
            waiting += children[number]
        return order

    def _shown(self, root: Item) -> set[int]:
        """Return the nodes of the shown scene, and joints with their ancestors; all nodes if the file has no scene."""
        scenes = root.children("scenes")
        number = self._issues.attempt(root.index, "scene", len(scenes), "scene")
        if not scenes:
            return set(range(len(self.items)))
        shown_scene = scenes[number or 0]
        shown: set[int] = set()
        for position in range(len(shown_scene.entries("nodes"))):
            shown.update(self._issues.attempt(shown_scene.indices, "nodes", len(self.items), "node", position) or ())
        for node in self.parents_first:
            if self.parents[node] in shown:
                shown.add(node)
        for joints in self.joints:
            for joint in joints:
                ancestor: int | None = joint
                while ancestor is not None and ancestor not in shown:
                    shown.add(ancestor)
                    ancestor = self.parents[ancestor]
        if len(shown) < len(self.items):
            total = len(self.items)
            self._issues.add(LINK_NOT_SHOWN, shown_scene.at("nodes"), 0, count=total - len(shown), total=total)
        return shown

    def _find_helpers(self, only_helps: Callable[[dict[str, int]], bool]) -> None:
        kinds = {number: kind for number in range(len(self.items)) if (kind := self._helper_kind(number)) is not None}
        heads: dict[int, dict[str, int]] = {}
        names = {str(item.value.get("name")): number for number, item in reversed(list(enumerate(self.items)))}
        for number, kind in kinds.items():
            head = self.parents[number]
            if kind == "geo" and head is None:  # skinned geometry has no parent
                extras = self.items[number].keyframer_extras
                head = None if extras is None else names.get(str(extras.value.get("of")))
            for _ in range(2):  # above a shape is a scale
                if head is not None and kinds.get(head) in ("scale", "shape"):
                    head = self.parents[head]
            if head is not None and head in self.shown and head not in kinds and kind != "root":
                heads.setdefault(head, {}).setdefault(kind, number)
        for head, helpers in heads.items():
            if self._fit_together(head, helpers) and only_helps(helpers):
                self.helpers[head] = helpers
                self._helped_node |= dict.fromkeys(helpers.values(), head)

    def _find_grids(self) -> None:
        """Find the meshes all of whose nodes are helpers that place their grid. Where another program changed one, all
        are nodes like any other, and the positions stay numbers of steps.
        """
        users: dict[int, list[int]] = {}
        for number, item in enumerate(self.items):
            if self._stated_grid(item) is not None:
                users.setdefault(int(item.value["mesh"]), []).append(number)
        for mesh, numbers in users.items():
            grid = self._stated_grid(self.items[numbers[0]])
            assert grid is not None
            placing = [self.helper_kind(number) == "geo" and self._is_scaled(number, grid[3]) for number in numbers]
            if all(placing):
                self.grids[mesh] = grid
            for number in () if all(placing) else itertools.compress(numbers, placing):
                del self.helpers[self._helped_node.pop(number)]["geo"]

    def _stated_grid(self, item: Item) -> Floats | None:
        """Return origin and step (4,) of the grid on which the mesh of a node is, by our extras."""
        mesh = item.value.get("mesh")
        extras = self._meshes[mesh].keyframer_extras if type(mesh) is int and 0 <= mesh < len(self._meshes) else None
        if extras is None or not extras.has("grid"):
            return None
        numbers = self._issues.attempt(extras.numbers, "grid", 4)
        return None if numbers is None or not numbers[3] > 0 else np.array(numbers)

    def _is_scaled(self, number: int, scale: float) -> bool:
        return bool((np.abs(self._numbers(number, "scale") / scale - 1.0) <= _ROUNDING).all())

    def _helper_kind(self, number: int) -> str | None:
        """Return the kind of a helper node; None for other nodes, and for one that does more than such a helper."""
        item = self.items[number]
        extras = item.keyframer_extras
        if extras is None or not extras.has("helper"):
            return None
        kind = self._issues.attempt(extras.choice, "helper", tuple(_PROPERTIES))
        return kind if kind is not None and self._is_plain(number, kind) else None

    def _is_plain(self, number: int, kind: str) -> bool:
        """Return whether a node does no more than a helper of a kind."""
        if not set(self._moving.get(number, ())) <= {*_MOVING[kind]}:
            return False
        stated = {name for name, value in self.items[number].value.items() if value != _DEFAULTS.get(name)}
        return stated <= {*_PROPERTIES[kind], "name", "extras"}

    def _fit_together(self, head: int, helpers: dict[str, int]) -> bool:
        """Return whether helpers of one node are connected and placed as our exporter does it."""
        tail = head
        if "scale" in helpers or "shape" in helpers:
            scale, shape = helpers.get("scale"), helpers.get("shape")
            if scale is None or shape is None or self.parents[shape] != scale or self.parents[scale] != head:
                return False
            children = [self.items[node].value.get("children") for node in (head, scale)]
            if children != [[scale], [shape]] or "scale" in self._moving.get(head, ()):
                return False
            if any(name in self.items[head].value for name in ("scale", "matrix", "mesh", "camera")):
                return False
            inverse = self._numbers(scale, "rotation") * (-1, -1, -1, 1)
            if np.abs(self._numbers(shape, "rotation") - inverse).max() > _ROUNDING:
                return False
            tail = shape
        geometry = helpers.get("geo")
        if geometry is None:
            return True
        grid = self._stated_grid(self.items[geometry])
        if grid is None and self._numbers(geometry, "scale").tolist() not in ([0, 0, 0], [1, 1, 1]):
            return False
        if grid is not None and not self._is_scaled(geometry, grid[3]):
            return False
        is_only_geometry = not {"mesh", "skin"} & (self.items[head].value.keys() | self.items[tail].value.keys())
        return is_only_geometry and self.parents[geometry] in (tail, None)

    def _find_root_helper(self, axes: Axes | None) -> int | None:
        """Return the node that rotates and scales the whole scene as our exporter does it; None if there is none.

        Without stated axes, another program has lost our extras: the node has our name, and turns Z up.
        """
        roots = [number for number in self.shown - self._helped_node.keys() if self.parents[number] is None]
        if len(roots) != 1 or (axes is None and self.items[roots[0]].value.get("name") != ROOT_NAME):
            return None
        if not self._is_plain(roots[0], "root") or (axes is not None and self._helper_kind(roots[0]) != "root"):
            return None
        extras = self.items[roots[0]].keyframer_extras
        unit = 1.0 if extras is None else self._issues.attempt(extras.number, "unit", 1.0) or 1.0
        rotation = np.array((axes or Axes(Space("z"))).up_rotation_xyzw or _DEFAULTS["rotation"])
        if np.abs(self._numbers(roots[0], "rotation") - rotation).max() > _ROUNDING_OF_OTHERS:
            return None
        scale = self._numbers(roots[0], "scale")
        if axes is None:
            unit = float(scale[0])
        is_even = unit > 0 and np.abs(scale / unit - 1.0).max() <= _ROUNDING_OF_OTHERS
        return roots[0] if is_even else None

    def _numbers(self, number: int, name: str) -> Floats:
        default = tuple(map(float, _DEFAULTS[name]))
        return np.array(self._issues.attempt(self.items[number].numbers, name, len(default), default) or default)


def parent_cycles(parents: Sequence[int | None]) -> list[list[int]]:
    """Return each cycle of parents once, ordered by their lowest indices."""
    seen: set[int] = set()
    cycles: list[list[int]] = []
    for start in range(len(parents)):
        path: dict[int, None] = {}
        ancestor: int | None = start
        while ancestor is not None and ancestor not in seen:
            seen.add(ancestor)
            path[ancestor] = None
            ancestor = parents[ancestor]
        if ancestor in path:
            nodes = list(path)
            cycles.append(nodes[nodes.index(ancestor) :])
    return sorted(cycles, key=min)


_KINDS = tuple(kind.value for kind in NodeKind)
_LENGTH_TOLERANCE = 1e-2
"""how far rounding may move the length of a quaternion from 1; quaternions stored as bytes are within 0.008"""
_LARGEST_NUMBER = 1e100
"""largest allowed number in a matrix: its square must be finite"""


class MeshSource(Protocol):
    """Supplies meshes for nodes."""

    def __len__(self) -> int: ...

    def take(self, number: int) -> tuple[int, ImportedMesh, Morph | None] | None: ...


class NodeReader:
    """Reads the nodes of one file."""

    def __init__(self, hierarchy: Hierarchy, axes: Axes, budget: Budget, issues: Findings) -> None:
        self._issues = issues
        self._hierarchy = hierarchy
        self._axes = axes
        self._budget = budget
        self._weights: dict[int, tuple[float, ...]] = {}
        """rest weights of morph targets, by node"""

    def read(self, scene: Scene, meshes: MeshSource, skins: SkinReader) -> None:
        """Add the nodes to the scene, with their cameras, lights, meshes and skins."""
        names, attempt = Names(), self._issues.attempt
        joints = {joint for skin in self._hierarchy.joints for joint in skin}
        for number in self._hierarchy.order:
            parts = self._hierarchy.parts(number)
            node = Node("", parent=self._hierarchy.scene_parent(number))
            attempt(self._set_transform, node, parts)
            attempt(self._attach_camera_and_light, scene, node, parts.get("shape", parts["head"]))
            attempt(self._attach_mesh, scene, node, parts, meshes, skins)
            node.kind = _kind(node, number in joints)
            attempt(self._restore, scene, node, parts["head"])
            node.name = names.claim(attempt(parts["head"].text, "name", "") or "", node.kind.value)
            scene.nodes.append(node)
        self._hide(scene)

    def _set_transform(self, node: Node, parts: dict[str, Item]) -> None:
        """Set position, rotation, scale and scale axes of a node at rest."""
        head, scaled = parts["head"], parts.get("scale", parts["head"])
        if head.has("matrix"):
            position, rotation = self._decompose_matrix(node, head)
        else:
            position = np.array(head.numbers("translation", 3, (0.0, 0.0, 0.0)))
            rotation = np.array(head.numbers("rotation", 4, (0.0, 0.0, 0.0, 1.0)))
            length = math.hypot(*rotation)
            if abs(length - 1.0) > _LENGTH_TOLERANCE:
                self._issues.add(DATA_QUATERNION_LENGTH, head.at("rotation"), 0, length=length)
            node.scale = np.array(scaled.numbers("scale", 3, (1.0, 1.0, 1.0)))
        node.position, node.rotation_xyzw = self._axes.vectors(position), self._axes.rotations(rotation)
        if "scale" in parts:
            node.scale_axes_xyzw = self._axes.rotations(scaled.numbers("rotation", 4, (0.0, 0.0, 0.0, 1.0)))
        if "geo" in parts and not parts["geo"].has("skin"):
            place = np.array(parts["geo"].numbers("translation", 3, (0.0, 0.0, 0.0)))
            grid = self._hierarchy.grids.get(parts["geo"].value.get("mesh", -1))
            node.pivot = -self._axes.vectors(place if grid is None else place - grid[:3])

    def _decompose_matrix(self, node: Node, head: Item) -> tuple[Floats, Floats]:
        """Return position and rotation of a matrix; sets the scale, and scale axes if it has shear."""
        matrix = np.array(head.numbers("matrix", 16)).reshape(4, 4).T
        if matrix[3].tolist() != [0.0, 0.0, 0.0, 1.0]:
            row = " ".join(f"{number:g}" for number in matrix[3])
            args = {"wanted": "0 0 0 1 as the last row", "found": row}
            self._issues.add(STRUCT_SYNTAX, head.at("matrix"), 0, severity=Severity.WARNING, **args)
        if np.abs(matrix).max() > _LARGEST_NUMBER:
            raise head.fail(STRUCT_SYNTAX, "matrix", wanted="an affine matrix", found="huge numbers")
        position, rotation, node.scale, axes, sheared = affine.decompose_with_axes(matrix)
        if sheared:
            node.scale_axes_xyzw = self._axes.rotations(axes)
        return position, rotation

    def _attach_camera_and_light(self, scene: Scene, node: Node, item: Item) -> None:
        node.camera = item.index("camera", len(scene.cameras), "camera")
        light = item.extension("KHR_lights_punctual")
        if light is not None:
            node.light = light.needed_index("light", len(scene.lights), "light")

    def _attach_mesh(
        self, scene: Scene, node: Node, parts: dict[str, Item], meshes: MeshSource, skins: SkinReader
    ) -> None:
        geometry = parts.get("geo", parts.get("shape", parts["head"]))
        number = geometry.index("mesh", len(meshes), "mesh")
        mesh_parts = None if number is None else meshes.take(number)
        if number is None or mesh_parts is None:
            return
        node.mesh, imported, node.morph = mesh_parts
        skin = geometry.index("skin", len(skins.items), "skin")
        if skin is not None:
            node.skin = self._issues.attempt(skins.read, skin, number, imported)
        weights = geometry.numbers("weights", None, imported.weights)
        if imported.targets and any(weights):
            if len(weights) != len(imported.targets):
                expected = counted(len(imported.targets), "weight")
                raise geometry.fail(STRUCT_SYNTAX, "weights", wanted=expected, found=f"{len(weights)}")
            self._weights[len(scene.nodes)] = weights

    def _restore(self, scene: Scene, node: Node, head: Item) -> None:
        """Set what only our own files have: what glTF has no place for."""
        extras = head.keyframer_extras
        if extras is None:
            return
        light = extras.child("light")
        if light is not None and node.light is None:
            scene.lights.append(restored_light(light, head.text("name", "")))
            node.light, node.kind = len(scene.lights) - 1, NodeKind.LIGHT
        kind = NodeKind(extras.choice("kind", _KINDS, node.kind.value))
        if kind is not NodeKind.DUMMY or (node.kind is not NodeKind.CAMERA and node.kind is not NodeKind.LIGHT):
            node.kind = kind  # otherwise another program added a camera or light to a dummy
        node.raw_name = extras_reading.raw_name(extras, head.value.get("name"))
        node.extras = extras_reading.format_extras(extras)
        node.hidden = extras.flag("hidden")
        if extras.has("pivot") and None not in extras.entries("pivot") and (node.mesh is None or node.skin is not None):
            node.pivot = np.array(extras.numbers("pivot", 3))
        node.file_id = extras.integer("file_id", least=-(2**63), most=2**63) if extras.has("file_id") else None
        box = extras_reading.array(extras, "bounding_box", self._budget)
        if box is not None and box.shape == (2, 3):
            node.bounding_box = (box[0], box[1])

    def _hide(self, scene: Scene) -> None:
        """Hide the nodes that KHR_node_visibility hides, with their descendants, and nodes whose geometry is in a node
        that is hidden or has a scale of 0, without theirs.
        """
        hides_children: set[int] = set()
        for number in self._hierarchy.parents_first:
            index = self._hierarchy.scene_index(number)
            if index is None:
                continue
            item = self._hierarchy.items[number]
            is_hidden = self._issues.attempt(_is_hidden, item) is True
            if self._hierarchy.helper_kind(number) == "geo":
                is_hidden |= not item.has("skin") and item.value.get("scale") == [0, 0, 0]
            elif is_hidden or scene.nodes[index].parent in hides_children:
                is_hidden = True
                hides_children.add(index)
            scene.nodes[index].hidden |= is_hidden

    def add_rest_weights(self, scene: Scene, fps: float) -> None:
        """Add the rest weights as one key to each clip that does not animate them; scenes store weights only in clips.

        If the scene has no clip, one is added.
        """
        if self._weights and not scene.clips:
            scene.clips.append(Clip(rate=1.0, unit="second", units_per_frame=1.0 / fps))
        for clip in scene.clips:
            animated = {channel.node for channel in clip.channels if channel.track.kind == "morph"}
            for index, weights in self._weights.items():
                if index not in animated:
                    values = np.array([[1.0 - sum(weights), *weights]])
                    track = Track("morph", np.zeros(1), values, Interpolation.LINEAR)
                    clip.channels.append(Channel(index, track))


def _is_hidden(item: Item) -> bool:
    visibility = item.extension("KHR_node_visibility")
    return visibility is not None and not visibility.flag("visible", True)


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
        self._skin_numbers: dict[tuple[int, int], int | None] = {}

    def read(self, number: int, mesh: int, imported: ImportedMesh) -> int | None:
        """Return the index of the skin in the scene; None if the mesh has no joints or weights."""
        key = (number, mesh)
        if key not in self._skin_numbers:
            self._skin_numbers[key] = self._skin(number, mesh, imported)
        return self._skin_numbers[key]

    def _skin(self, number: int, mesh: int, imported: ImportedMesh) -> int | None:
        item = self.items[number]
        joints = self._hierarchy.joints[number]
        if not joints:
            raise item.missing("joints")
        if imported.joints is None or imported.joint_weights is None:
            return None
        self._budget.spend("copies", 4 * imported.joints.size + 16 * len(joints), item.path)
        matrices = self._matrices(item, len(joints))
        weights = np.where(np.isfinite(imported.joint_weights), imported.joint_weights, 0.0)
        vertex, column = np.nonzero(weights > 0)
        influence = imported.joints[vertex, column]
        if len(influence) and int(influence.max()) >= len(joints):
            args = {"what": "vertex", "item": int(vertex[np.argmax(influence)]), "kind": "joint"}
            path = f"/meshes[{mesh}]/primitives"
            raise LINK_INDEX_OUT_OF_RANGE.failure(0, path, **args, index=int(influence.max()), count=len(joints))
        joint_numbers = [index for index, joint in enumerate(joints) if joint != self._hierarchy.root_helper]
        if len(joint_numbers) < len(joints):  # our extra joint for vertices without weights
            new_joint = np.full(len(joints), -1)
            new_joint[joint_numbers] = np.arange(len(joint_numbers))
            bound = new_joint[influence] >= 0
            vertex, column, influence = vertex[bound], column[bound], new_joint[influence[bound]]
        nodes = [self._hierarchy.scene_index(joints[index]) for index in joint_numbers]
        assert None not in nodes, "joints and their ancestors are always shown"
        skin = Skin(
            item.text("name", ""),
            [node for node in nodes if node is not None],
            self._axes.matrices(matrices[joint_numbers]),
            vertex,
            influence,
            weights[vertex, column],
        )
        skin.extras = extras_reading.format_extras(item.keyframer_extras)
        self.skins.append(skin)
        return len(self.skins) - 1

    def _matrices(self, item: Item, count: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
        accessor = item.index("inverseBindMatrices", len(self._accessors), "accessor")
        if accessor is None:
            return np.broadcast_to(np.eye(4), (count, 4, 4)).copy()
        matrices = self._accessors.floats(accessor, "MAT4")
        if len(matrices) < count:
            raise item.fail(
                STRUCT_SYNTAX, "inverseBindMatrices", wanted=counted(count, "matrix"), found=f"{len(matrices)}"
            )
        columns = matrices[:count].astype(np.float64).reshape(-1, 4, 4)
        return np.ascontiguousarray(np.swapaxes(columns, -1, -2))
