"""Writes the node tree: every node of the scene, and helper nodes for properties that glTF nodes do not have.

N           has translation, rotation and scale, the children, the camera, the light and the mesh. Exceptions:
  N_scale   if scale axes have an effect: is rotated to these axes and has the scale
    N_shape below N_scale: is rotated back and has the children, the camera, the light and the mesh
  N_geo     if the geometry is ever hidden or is shifted by a pivot, which must not affect children: has the mesh;
            also for a skinned mesh, without a parent

glTF has no targets, so the rotation of aimed cameras and lights is baked. The node stays below its parent if the scale
of its ancestors is uniform, positive and constant; otherwise it moves below the root, with its position baked too.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from keyframer.arrays import Flags, Floats
from keyframer.curves.lazy_fields import stored, stored_values
from keyframer.exchange.gltf.conventions import Json, attach_extras, json_numbers, non_default_fields, raw_name
from keyframer.exchange.gltf.write.options import Context
from keyframer.maths import affine, quat
from keyframer.posing import Rig
from keyframer.posing.channels import Samples
from keyframer.posing.evaluation_order import Order, reachable
from keyframer.posing.local_matrices import stored_target, usable_rows
from keyframer.scene import Channel, Clip, Node, NodeKind, Scene
from keyframer.scene.cameras_lights import is_aimed
from keyframer.scene.loss_report import Outcome

_FRACTIONS = np.arange(16) / 16
"""fractions between breaks at which the signs of quaternions are followed"""


@dataclass(eq=False, repr=False)
class AimConstraint:
    """The aim constraint of one node."""

    node: int
    involved: tuple[int, ...]
    """the nodes that determine its rotation: itself, and all that it depends on by parents and targets"""
    detached: bool
    """whether its glTF node must leave its parent and move below the root"""
    scale: float
    """inverse of the scale that it would inherit; 1 if detached"""


def find_aim_constraints(scene: Scene, order: Order) -> dict[int, AimConstraint]:
    """Return the aim constraint of every aimed node."""
    scaled = {channel.node for clip in scene.clips for channel in clip.channels if channel.track.kind == "scale"}
    numbers = [number for number in range(len(scene.nodes)) if _has_aim(scene, number, order)]
    aimed = set(numbers)
    return {number: _aim_constraint(scene, number, order, aimed, scaled) for number in numbers}


def _has_aim(scene: Scene, number: int, order: Order) -> bool:
    """Return whether a node is aimed and has a target; targets that form a cycle are ignored."""
    node = scene.nodes[number]
    return is_aimed(scene, node) and (bool(order.targets[number] >= 0) or stored_target(scene, node) is not None)


def _aim_constraint(scene: Scene, number: int, order: Order, aimed: set[int], scaled: set[int]) -> AimConstraint:
    involved = reachable([number], lambda node: (int(order.parents[node]), int(order.targets[node])))
    factor, detached = 1.0, False
    parent = int(order.parents[number])
    while parent >= 0 and parent not in aimed:  # aimed nodes are never scaled
        scale = np.asarray(scene.nodes[parent].scale, np.float64)
        if parent in scaled:
            tracks = [
                channel.track.values
                for clip in scene.clips
                for channel in clip.channels
                if channel.node == parent and channel.track.kind == "scale"
            ]
            scale = np.concatenate([scale[None], *tracks])
            detached |= not bool(np.all(scale == scale[:1]))
            scale = scale[0]
        detached |= not (np.isfinite(scale).all() and scale.min() > 0 and np.ptp(scale) <= 1e-6 * scale.max())
        factor *= float(scale[0]) or 1.0
        parent = int(order.parents[parent])
    return AimConstraint(number, tuple(sorted(involved)), detached, 1.0 if detached else 1.0 / factor)


class AimMotion:
    """Position and rotation of an aimed node, in the space of its glTF parent (still in the axes of the scene)."""

    def __init__(self, scene: Scene, order: Order, clip: Clip, aim: AimConstraint) -> None:
        part = scene_of_nodes(scene, order, clip, aim.involved)
        self._rig = Rig(part)
        self._index = aim.involved.index(aim.node)
        parent = part.nodes[self._index].parent
        self._parent = None if aim.detached else parent
        self._reference: tuple[Floats, Floats] | None = None

    def matrices(self, times: Floats) -> Floats:
        """Return (T, 4, 4) matrices in the space of the parent; the linear part is a rotation."""
        world = self._rig.world(self._rig.sample(times), len(times))
        return matrices_in_parent(world[:, self._index], None if self._parent is None else world[:, self._parent])

    def positions(self, times: Floats) -> Floats:
        return self.matrices(times)[:, :3, 3]

    def follow_signs(self, breaks: Floats) -> None:
        """Choose the signs of quaternions so that they are continuous between breaks."""
        times = np.append((breaks[:-1, None] + np.diff(breaks)[:, None] * _FRACTIONS).reshape(-1), breaks[-1:])
        rotations = quat.from_matrix3(self.matrices(times)[:, :3, :3])
        flip = np.where(np.sum(rotations[1:] * rotations[:-1], axis=1) < 0, -1.0, 1.0)
        self._reference = times, rotations * np.concatenate([[1.0], np.cumprod(flip)])[:, None]

    def rotations(self, times: Floats) -> Floats:
        """Return rotation_xyzw (T, 4)."""
        rotations = quat.from_matrix3(self.matrices(times)[:, :3, :3])
        if self._reference is None:
            return rotations
        reference_times, references = self._reference
        last = len(reference_times) - 1
        near = references[np.clip(np.searchsorted(reference_times, times, side="right") - 1, 0, last)]
        return np.where(np.sum(rotations * near, axis=1, keepdims=True) < 0, -rotations, rotations)


def matrices_in_parent(world: Floats, parent_world: Floats | None) -> Floats:
    """Return world matrices (T, 4, 4) in the space of a parent; the linear part stays a rotation."""
    if parent_world is None:
        return world
    with np.errstate(all="ignore"):
        size = np.sqrt(np.sum(parent_world[:, :3, 0] ** 2, axis=1))[:, None, None]
        inverse_rotation = np.swapaxes(parent_world[:, :3, :3] / np.where(size > 0, size, 1.0), -1, -2)
        out = world.copy()
        out[:, :3, :3] = affine.multiply(inverse_rotation, world[:, :3, :3])
        out[:, :3, 3] = affine.transform_each(affine.inverse(parent_world), world[:, :3, 3])
    return out


def scene_of_nodes(scene: Scene, order: Order, clip: Clip, involved: tuple[int, ...]) -> Scene:
    """Return a scene with only some nodes, without geometry."""
    new_index = {old: new for new, old in enumerate(involved)}

    def link(old: int) -> int | None:
        return new_index[old] if old >= 0 else None

    nodes = [
        replace(
            scene.nodes[old],
            parent=link(int(order.parents[old])),
            target=link(int(order.targets[old])),
            mesh=None,
            skin=None,
            morph=None,
        )
        for old in involved
    ]
    channels = [
        Channel(new_index[channel.node], channel.track) for channel in clip.channels if channel.node in new_index
    ]
    return Scene(
        nodes=nodes,
        cameras=scene.cameras,
        lights=scene.lights,
        clips=[replace(clip, channels=channels)],
        space=scene.space,
    )


_ORIGIN, _NO_ROTATION, _FULL_SIZE = [0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0], [1.0, 1.0, 1.0]


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
        self, context: Context, rig: Rig, aims: dict[int, AimConstraint], samples: Samples, world: Floats
    ) -> None:
        """``samples`` and ``world`` (nodes, 4, 4) are those of the start."""
        self._context = context
        self._rig = rig
        self._aims = aims
        self.root: int | None = None
        self.parts: list[NodeParts] = []
        self.start = StartTransforms(context, rig, samples)
        self._world = world
        if context.axes.needs_root or context.scene.skins:
            self.root = context.asset.add_node(self._root())
        self._write_nodes()

    def _root(self) -> Json:
        axes = self._context.axes
        node: Json = {"name": self._context.names.claim("Y_up" if axes.up_rotation_xyzw else "root")}
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
                detail = "moved to the root, because the scale of its parent is uneven or changes"
                self._context.report.add(Outcome.BAKED, f"/nodes/{nodes[number].name}/parent", detail)
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
                _set(head, "translation", position, _ORIGIN)
                _set(head, "rotation", rotation, _NO_ROTATION)
                if start.has_axes[number]:
                    self._add_scale_axes(parts, start.axes[number])
                _set(self._context.asset.nodes[parts.scaled], "scale", scale, _FULL_SIZE)
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
        _set(asset.nodes[parts.scaled], "rotation", json_numbers(axes), _NO_ROTATION)
        _set(asset.nodes[parts.tail], "rotation", json_numbers(quat.conjugate(axes)), _NO_ROTATION)

    def _set_aimed_transform(self, number: int, head: Json) -> None:
        aim = self._aims[number]
        parent = -1 if aim.detached else int(self._rig.order.parents[number])
        matrices = matrices_in_parent(self._world[None, number], None if parent < 0 else self._world[None, parent])
        axes = self._context.axes
        _set(head, "translation", json_numbers(axes.vectors(matrices[0, :3, 3])), _ORIGIN)
        _set(head, "rotation", json_numbers(axes.rotations(quat.from_matrix3(matrices[:, :3, :3])[0])), _NO_ROTATION)
        if abs(aim.scale - 1.0) > 1e-9:
            _set(head, "scale", json_numbers(np.full(3, aim.scale)), _FULL_SIZE)

    def _add_geometry_nodes(self) -> None:
        """Add a node for geometry that is shifted, ever hidden or skinned; skinned meshes have no parent."""
        asset, axes = self._context.asset, self._context.axes
        hideable = self._nodes_with_track("visible")
        for number, node in enumerate(self._context.scene.nodes):
            parts = self.parts[number]
            if node.mesh is None:
                continue
            parts.geometry = parts.tail
            shifted = node.skin is None and _is_shifted(node)
            if not (shifted or node.hidden or number in hideable or node.skin is not None):
                continue
            helper: Json = {"name": self._context.names.claim(f"{asset.nodes[parts.head]['name']}_geo")}
            if shifted:
                _set(helper, "translation", json_numbers(axes.vectors(-np.asarray(node.pivot, np.float64))), _ORIGIN)
            attach_extras(helper, {"helper": "geo", "of": asset.nodes[parts.head]["name"]})
            parts.geometry = asset.add_node(helper, None if node.skin is not None else parts.tail)

    def _nodes_with_track(self, kind: str) -> set[int]:
        return {
            channel.node
            for clip in self._context.scene.clips
            for channel in clip.channels
            if channel.track.kind == kind
        }


class StartTransforms:
    """Transforms of all nodes at the start of a clip, in the axes of glTF: arrays over nodes."""

    def __init__(self, context: Context, rig: Rig, samples: Samples) -> None:
        nodes, axes = context.scene.nodes, context.axes

        def at(kind: str, field: str, default: list[float]) -> Floats:
            values = stored_values(nodes, field, None)
            rows = usable_rows([default if value is None else value for value in values], default)
            rig.channels.set_still(kind, rows)
            for animated in rig.channels.animated.get(kind, ()):
                rows[animated.nodes] = animated.values(samples)[0]
            return rows

        self.position = axes.vectors(at("position", "position", _ORIGIN))
        self.rotation = axes.rotations(quat.normalise(at("rotation", "rotation_xyzw", _NO_ROTATION)))
        self.scale = at("scale", "scale", _FULL_SIZE)
        channels = rig.channels
        if "scale_axes" in {*channels.still, *channels.animated} or any(
            node.scale_axes_xyzw is not None for node in nodes
        ):
            self.axes = axes.rotations(quat.normalise(at("scale_axes", "scale_axes_xyzw", _NO_ROTATION)))
            self.has_axes = _has_effective_axes(context, self.axes, self.scale).tolist()
        else:
            self.axes = np.tile(_NO_ROTATION, (len(nodes), 1))
            self.has_axes = [False] * len(nodes)


def _has_effective_axes(context: Context, axes: Floats, scale: Floats) -> Flags:
    """Return (nodes,) whether scale axes have an effect: they are rotated, and the scale is not always uniform."""
    rotated = np.asarray(np.any(np.abs(axes[:, :3]) > 1e-9, axis=1))
    channels = [channel for clip in context.scene.clips for channel in clip.channels if 0 <= channel.node < len(axes)]
    for channel in channels:
        if channel.track.kind == "scale_axes":
            rotated[channel.node] = True
    if not rotated.any():
        return rotated
    uneven = np.ptp(scale, axis=1) > 0
    for channel in channels:
        if channel.track.kind == "scale" and channel.track.values.ndim == 2:
            uneven[channel.node] |= bool(np.any(np.ptp(channel.track.values, axis=1) > 0))
    return np.asarray(rotated & uneven)


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
    content.update(non_default_fields(node, "file_id", "bounding_box"))
    if not has_faces:
        content.update(non_default_fields(node, "hidden"))
    if _is_shifted(node) and (node.skin is not None or not has_faces):
        content["pivot"] = np.asarray(node.pivot)
    if node.scale_axes_xyzw is not None and parts[number].shape is None:
        detail = "scale axes have no effect, because the scale is uniform"
        context.report.add(Outcome.DROPPED, f"/nodes/{node.name}/scale_axes_xyzw", detail, extras=node.extras)
    if node.extras:
        content["extras"] = node.extras
    return content
