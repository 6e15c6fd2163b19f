"""Cameras and lights that look at something: where they are turned at any time, as a rotation of their node.

glTF has no targets, so the turn is baked. It stays below the node's parent if that is only moved, turned and scaled
evenly; else the node moves to the root, with its place baked too.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from keyframer.maths import affine, quat
from keyframer.posing import Rig
from keyframer.posing.aim_constraints import looks, stored_target
from keyframer.posing.evaluation_order import Order
from keyframer.scene import Channel, Clip, Scene

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

_SHARES = np.arange(16) / 16
"""how closely the signs of quaternions are followed between breaks"""


@dataclass(eq=False, repr=False)
class Look:
    """How one node looks."""

    node: int
    involved: tuple[int, ...]
    """the nodes whose motion decides it: itself, its target, and what they hang on"""
    detached: bool
    """whether it must leave its parent"""
    scale: float
    """what undoes the parent's scale"""


def find_looks(scene: Scene, order: Order) -> dict[int, Look]:
    """Every node that looks at something."""
    scaled = {channel.node for clip in scene.clips for channel in clip.channels if channel.track.kind == "scale"}
    lookers = [number for number in range(len(scene.nodes)) if _looks(scene, number, order)]
    looking = set(lookers)
    return {number: _look(scene, number, order, looking, scaled) for number in lookers}


def _looks(scene: Scene, number: int, order: Order) -> bool:
    """Whether it looks, and there is something to look at: a circle may have cost it its target."""
    node = scene.nodes[number]
    return looks(scene, node) and (bool(order.targets[number] >= 0) or stored_target(scene, node) is not None)


def _look(scene: Scene, number: int, order: Order, looking: set[int], scaled: set[int]) -> Look:
    involved: list[int] = []
    waiting = [number]
    seen = {number}
    while waiting:
        node = waiting.pop()
        involved.append(node)
        for other in (int(order.parents[node]), int(order.targets[node])):
            if other >= 0 and other not in seen:
                seen.add(other)
                waiting.append(other)
    factor, detached = 1.0, False
    parent = int(order.parents[number])
    while parent >= 0 and parent not in looking:  # what looks is never scaled
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
    return Look(number, tuple(sorted(involved)), detached, 1.0 if detached else 1.0 / factor)


class Gaze:
    """Place and turn of a looking node, in the space of its glTF parent (still with the scene's axes)."""

    def __init__(self, scene: Scene, order: Order, clip: Clip, look: Look) -> None:
        part = _part(scene, order, clip, look.involved)
        self._rig = Rig(part)
        self._place = look.involved.index(look.node)
        parent = part.nodes[self._place].parent
        self._parent = None if look.detached else parent
        self._reference: tuple[Floats, Floats] | None = None

    def frames(self, times: Floats) -> Floats:
        """(T, 4, 4) below the parent; the linear part is a rotation."""
        world = self._rig.world(self._rig.sample(times), len(times))
        return frames_below(world[:, self._place], None if self._parent is None else world[:, self._parent])

    def positions(self, times: Floats) -> Floats:
        return self.frames(times)[:, :3, 3]

    def follow_signs(self, breaks: Floats) -> None:
        """Choose the signs of quaternions so that they run on between breaks."""
        times = np.append((breaks[:-1, None] + np.diff(breaks)[:, None] * _SHARES).reshape(-1), breaks[-1:])
        turns = quat.from_matrix3(self.frames(times)[:, :3, :3])
        flip = np.where(np.sum(turns[1:] * turns[:-1], axis=1) < 0, -1.0, 1.0)
        self._reference = times, turns * np.concatenate([[1.0], np.cumprod(flip)])[:, None]

    def turns(self, times: Floats) -> Floats:
        """rotation_xyzw (T, 4)."""
        found = quat.from_matrix3(self.frames(times)[:, :3, :3])
        if self._reference is None:
            return found
        known, turns = self._reference
        near = turns[np.clip(np.searchsorted(known, times, side="right") - 1, 0, len(known) - 1)]
        return np.where(np.sum(found * near, axis=1, keepdims=True) < 0, -found, found)


def frames_below(own: Floats, above: Floats | None) -> Floats:
    """World frames (T, 4, 4) in the space of a parent; the linear part stays a rotation."""
    if above is None:
        return own
    with np.errstate(all="ignore"):
        size = np.sqrt(np.sum(above[:, :3, 0] ** 2, axis=1))[:, None, None]
        turn = np.swapaxes(above[:, :3, :3] / np.where(size > 0, size, 1.0), -1, -2)
        out = own.copy()
        out[:, :3, :3] = turn @ own[:, :3, :3]
        out[:, :3, 3] = (affine.inverse(above) @ own[:, :, 3:])[:, :3, 0]
    return out


def _part(scene: Scene, order: Order, clip: Clip, involved: tuple[int, ...]) -> Scene:
    """A scene of some nodes only, without anything that is drawn."""
    new = {old: place for place, old in enumerate(involved)}

    def link(old: int) -> int | None:
        return new[old] if old >= 0 else None

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
    channels = [Channel(new[channel.node], channel.track) for channel in clip.channels if channel.node in new]
    return Scene(
        nodes=nodes,
        cameras=scene.cameras,
        lights=scene.lights,
        clips=[replace(clip, channels=channels)],
        space=scene.space,
    )
