"""Writes the node tree: every node of the scene, and helper nodes for properties that glTF nodes do not have.

N           has translation, rotation and scale, the children, the camera, the light and the mesh. Exceptions:
  N_scale   if scale axes have an effect: is rotated to these axes and has the scale
    N_shape below N_scale: is rotated back and has the children, the camera, the light and the mesh
  N_geo     if the geometry is ever hidden, is shifted by a pivot or has integers as positions, none of which must
            affect children: has the mesh; also for a skinned mesh, without a parent

glTF has no targets, so the rotation of aimed cameras and lights is baked (`keyframer.exchange.kit.aims`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from keyframer.arrays import Floats
from keyframer.curves.lazy_fields import stored
from keyframer.exchange.gltf.conventions import (
    ROOT_NAME,
    Json,
    attach_extras,
    json_numbers,
    non_default_fields,
    raw_name,
)
from keyframer.exchange.gltf.write.compact import Grid
from keyframer.exchange.gltf.write.options import Context
from keyframer.exchange.kit.aims import AimConstraint, matrices_in_parent
from keyframer.exchange.kit.start_transforms import FULL_SIZE, NO_ROTATION, ORIGIN, StartTransforms
from keyframer.maths import quat
from keyframer.posing import Rig
from keyframer.posing.channels import Samples
from keyframer.scene import Node, NodeKind
from keyframer.scene.losses import TRACK_WITHOUT_EFFECT, TRANSFORM_APPLIED


@dataclass(eq=False, repr=False)
class NodeParts:
    """The glTF nodes that make up one node of the scene."""

    head: int
    """has position and rotation"""
    scaled: int
    """has the scale: the head, or N_scale"""
    tail: int
    """parent of the children: the head, or N_shape"""
    geometry: int | None = None
    """has the mesh; None if there is none"""
    shape: int | None = None
    """N_shape, if the node has one"""


class Tree:
    """Writes the nodes as they are at the start of the first clip."""

    def __init__(
        self,
        context: Context,
        rig: Rig,
        aims: dict[int, AimConstraint],
        samples: Samples,
        world: Floats,
        grids: dict[int, Grid],
    ) -> None:
        """``samples`` and ``world`` (nodes, 4, 4) are those of the start, ``grids`` those of meshes on a grid."""
        self._context = context
        self._rig = rig
        self._aims = aims
        self.root: int | None = None
        self.parts: list[NodeParts] = []
        self.start = StartTransforms(context.scene, context.axes, rig, samples)
        self._world = world
        self._grids = grids
        if context.axes.needs_root or context.scene.skins:
            self.root = context.asset.add_node(self._root())
        self._write_nodes()

    def _root(self) -> Json:
        axes = self._context.axes
        node: Json = {"name": self._context.names.claim(ROOT_NAME if axes.up_rotation_xyzw else "root")}
        if axes.up_rotation_xyzw is not None:
            node["rotation"] = json_numbers(axes.up_rotation_xyzw)
        if axes.unit != 1.0:
            node["scale"] = json_numbers([axes.unit] * 3)
        attach_extras(node, {"helper": "root", **({"unit": axes.unit} if axes.unit != 1.0 else {})})
        return node

    def _write_nodes(self) -> None:
        asset, nodes = self._context.asset, self._context.scene.nodes
        for node in nodes:  # heads first, so that they are in the order of the scene
            name = self._context.names.claim(node.name, node.kind.value)
            self.parts.append(NodeParts(*[len(asset.nodes)] * 3))
            asset.nodes.append({"name": name})
        self._set_transforms()
        for number, parent in enumerate(self._rig.order.parents.tolist()):
            aim = self._aims.get(number)
            parent_node = self.parts[parent].tail if parent >= 0 and not (aim and aim.detached) else self.root
            head = self.parts[number].head
            if parent >= 0 and aim and aim.detached:
                self._context.report.add(TRANSFORM_APPLIED["node at root"], f"/nodes/{nodes[number].name}/parent")
            if parent_node is None:
                asset.roots.append(head)
            else:
                asset.nodes[parent_node].setdefault("children", []).append(head)
        self._add_geometry_nodes()

    def _set_transforms(self) -> None:
        """Set position, rotation and scale of the nodes, with helpers for scale axes, and attach extras."""
        start = self.start
        rows = zip(*(json_numbers(values) for values in (start.position, start.rotation, start.scale)), strict=True)
        for number, (position, rotation, scale) in enumerate(rows):
            parts = self.parts[number]
            head = self._context.asset.nodes[parts.head]
            if number in self._aims:
                self._set_aimed_transform(number, head)
            else:
                _set(head, "translation", position, ORIGIN)
                _set(head, "rotation", rotation, NO_ROTATION)
                if start.has_axes[number]:
                    self._add_scale_axes(parts, start.axes[number])
                _set(self._context.asset.nodes[parts.scaled], "scale", scale, FULL_SIZE)
            attach_extras(head, _node_extras(self._context, number, self.parts))

    def _add_scale_axes(self, parts: NodeParts, axes: Floats) -> None:
        """Add the helper nodes N_scale and N_shape."""
        asset, names = self._context.asset, self._context.names
        name = asset.nodes[parts.head]["name"]
        parts.scaled = asset.add_node({"name": names.claim(f"{name}_scale")}, parts.head)
        parts.tail = asset.add_node({"name": names.claim(f"{name}_shape")}, parts.scaled)
        parts.shape = parts.tail
        attach_extras(asset.nodes[parts.scaled], {"helper": "scale", "of": name})
        attach_extras(asset.nodes[parts.tail], {"helper": "shape", "of": name})
        _set(asset.nodes[parts.scaled], "rotation", json_numbers(axes), NO_ROTATION)
        _set(asset.nodes[parts.tail], "rotation", json_numbers(quat.conjugate(axes)), NO_ROTATION)

    def _set_aimed_transform(self, number: int, head: Json) -> None:
        aim = self._aims[number]
        parent = -1 if aim.detached else int(self._rig.order.parents[number])
        matrices = matrices_in_parent(self._world[None, number], None if parent < 0 else self._world[None, parent])
        axes = self._context.axes
        _set(head, "translation", json_numbers(axes.vectors(matrices[0, :3, 3])), ORIGIN)
        _set(head, "rotation", json_numbers(axes.rotations(quat.from_matrix3(matrices[:, :3, :3])[0])), NO_ROTATION)
        if abs(aim.scale - 1.0) > 1e-9:
            _set(head, "scale", json_numbers(np.full(3, aim.scale)), FULL_SIZE)

    def _add_geometry_nodes(self) -> None:
        """Add a node for geometry that is shifted, ever hidden, skinned or on a grid; skinned meshes have no parent."""
        asset, axes = self._context.asset, self._context.axes
        hideable = self._nodes_with_track("visible")
        for number, node in enumerate(self._context.scene.nodes):
            parts = self.parts[number]
            if node.mesh is None:
                continue
            parts.geometry = parts.tail
            shifted = node.skin is None and _is_shifted(node)
            grid = self._grids.get(node.mesh)
            if not (shifted or node.hidden or number in hideable or node.skin is not None or grid is not None):
                continue
            helper: Json = {"name": self._context.names.claim(f"{asset.nodes[parts.head]['name']}_geo")}
            place = axes.vectors(-np.asarray(node.pivot, np.float64)) if shifted else np.zeros(3)
            if grid is not None:
                place, helper["scale"] = place + grid.origin, json_numbers([grid.step] * 3)
            _set(helper, "translation", json_numbers(place), ORIGIN)
            attach_extras(helper, {"helper": "geo", "of": asset.nodes[parts.head]["name"]})
            parts.geometry = asset.add_node(helper, None if node.skin is not None else parts.tail)

    def _nodes_with_track(self, kind: str) -> set[int]:
        return {
            channel.node
            for clip in self._context.scene.clips
            for channel in clip.channels
            if channel.track.kind == kind
        }


def _set(node: Json, name: str, numbers: list[Any], default: list[float]) -> None:
    """Write a property unless it is the default of glTF."""
    if numbers != default:
        node[name] = numbers


def _is_shifted(node: Node) -> bool:
    pivot = stored(node, "pivot")
    return pivot is not None and bool(np.asarray(pivot).any())


def _node_extras(context: Context, number: int, parts: list[NodeParts]) -> Json:
    node: Node = context.scene.nodes[number]
    has_faces = node.mesh is not None and len(context.scene.meshes[node.mesh].corners) > 0
    content: Json = {} if node.kind is NodeKind.OBJECT and has_faces else {"kind": node.kind.value}
    content.update(raw_name(node.raw_name, node.name, context.asset.nodes[parts[number].head]["name"]))
    if node.target is not None and 0 <= node.target < len(parts):
        content["target"] = context.asset.nodes[parts[node.target].head]["name"]
    content.update(non_default_fields(node, "file_id"))
    if node.bounding_box is not None:
        content["bounding_box"] = json_numbers(node.bounding_box)
    if not has_faces:
        content.update(non_default_fields(node, "hidden"))
    if _is_shifted(node) and (node.skin is not None or not has_faces):
        content["pivot"] = np.asarray(node.pivot)
    if node.scale_axes_xyzw is not None and parts[number].shape is None:
        context.report.add(
            TRACK_WITHOUT_EFFECT["uniform scale"], f"/nodes/{node.name}/scale_axes_xyzw", extras=node.extras
        )
    if node.extras:
        content["extras"] = node.extras
    return content
