"""Aims at targets as rotations: most of today's formats have no targets.

The rotation of aimed cameras and lights is baked. The node stays below its parent if the scale of its ancestors is
uniform, positive and constant; otherwise it moves below the root, with its position baked too.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from keyframer.arrays import Floats
from keyframer.maths import affine, quat
from keyframer.posing import Rig
from keyframer.posing.evaluation_order import Order, reachable
from keyframer.posing.local_matrices import stored_target
from keyframer.scene import Channel, Clip, Scene
from keyframer.scene.cameras_lights import is_aimed

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
