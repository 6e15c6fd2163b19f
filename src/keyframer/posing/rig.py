"""A scene compiled for posing: curves in a bank, nodes in placing order, what moves apart from what rests."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from keyframer.curves import CurveBank
from keyframer.maths import affine
from keyframer.posing.order import Order, placing_order
from keyframer.scene import Clip, Handedness, LightType, Node, Scene

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Indices = npt.NDArray[np.int64]

_UP = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}
_OTHER_UP = {"x": (0.0, 1.0, 0.0), "y": (0.0, 0.0, 1.0), "z": (0.0, 1.0, 0.0)}
_IDENTITY = np.eye(4)


@dataclass(frozen=True)
class _Driven:
    """Where a bank keeps the channels of one kind, and whose they are."""

    nodes: Indices
    family: str
    slots: Indices


class Rig:
    """One clip of a scene, ready to be placed at any times. The scene must not change meanwhile."""

    def __init__(self, scene: Scene, clip: int = 0) -> None:
        self.scene = scene
        self.clip = scene.clips[clip] if scene.clips else Clip()
        self.order: Order = placing_order(scene.nodes)
        channels = [channel for channel in self.clip.channels if 0 <= channel.node < len(scene.nodes)]
        rests = [_rest_value(scene, channel.node, channel.track.kind) for channel in channels]
        self.bank = CurveBank([channel.track for channel in channels], rests)
        grouped: dict[tuple[str, str], tuple[list[int], list[int]]] = {}
        for channel, place in zip(channels, self.bank.places, strict=True):
            nodes, slots = grouped.setdefault((channel.track.kind, place.family), ([], []))
            nodes.append(channel.node)
            slots.append(place.slot)
        self._driven: dict[str, list[_Driven]] = {}
        for (kind, family), (nodes, slots) in grouped.items():
            driven = _Driven(np.array(nodes, np.int64), family, np.array(slots, np.int64))
            self._driven.setdefault(kind, []).append(driven)
        self._looking = np.array([_looks(scene, node) for node in scene.nodes], bool)
        self._moving = self._find_moving()

    def sample(self, times: npt.ArrayLike) -> dict[str, Floats]:
        """The bank's values at times in the clip's own unit (see `CurveBank.evaluate`)."""
        return self.bank.evaluate(times)

    def values(self, samples: dict[str, Floats], kind: str, rest: npt.ArrayLike) -> Floats:
        """(T, nodes, k) of one kind for every node: ``rest`` (nodes, k) where no channel moves it."""
        resting = np.asarray(rest, np.float64)
        count = len(next(iter(samples.values()))) if samples else 1
        out = np.array(np.broadcast_to(resting, (count, *resting.shape)))
        for driven in self._driven.get(kind, ()):
            out[:, driven.nodes] = samples[driven.family][:, driven.slots]
        return out

    def driven_nodes(self, kind: str) -> set[int]:
        """The nodes that have a channel of this kind."""
        return {node for driven in self._driven.get(kind, ()) for node in driven.nodes.tolist()}

    def one(self, samples: dict[str, Floats], kind: str, node: int) -> Floats | None:
        """(T, k) of the channel of one node, or None if it has none."""
        for driven in self._driven.get(kind, ()):
            found = np.flatnonzero(driven.nodes == node)
            if len(found):
                return samples[driven.family][:, driven.slots[found[-1]]]
        return None

    def local(self, samples: dict[str, Floats], count: int) -> Floats:
        """(T, nodes, 4, 4) of each node under its parent."""
        nodes = self.scene.nodes
        rest = _rest_locals(nodes)
        out = np.empty((count, len(nodes), 4, 4))
        out[:] = rest
        moved = sorted(
            set().union(*(self.driven_nodes(kind) for kind in ("position", "rotation", "scale", "scale_axes")))
        )
        if not moved:
            return out
        index = np.array(moved, np.int64)
        position = self._part(samples, "position", index, np.array([nodes[i].position for i in moved]))
        rotation = self._part(samples, "rotation", index, np.array([nodes[i].rotation_xyzw for i in moved]))
        scale = self._part(samples, "scale", index, np.array([nodes[i].scale for i in moved]))
        axes = None
        if self._driven.get("scale_axes") or any(nodes[i].scale_axes_xyzw is not None for i in moved):
            resting = [_IDENTITY_TURN if (q := nodes[i].scale_axes_xyzw) is None else q for i in moved]
            axes = self._part(samples, "scale_axes", index, np.array(resting))
        out[:, index] = affine.compose(position, rotation, scale, axes)
        return out

    def _part(self, samples: dict[str, Floats], kind: str, index: Indices, rest: Floats) -> Floats:
        """(T, moved, k): one kind for the nodes in ``index`` (sorted); (1, moved, k) if no channel moves it."""
        groups = self._driven.get(kind)
        if not groups:
            return rest[None]
        count = len(samples[groups[0].family])
        out = np.empty((count, *rest.shape))
        out[:] = rest
        for driven in groups:
            out[:, np.searchsorted(index, driven.nodes)] = samples[driven.family][:, driven.slots]
        return out

    def world(self, local: Floats, samples: dict[str, Floats]) -> Floats:
        """(T, nodes, 4, 4) of each node in scene space; what looks at a target is turned towards it."""
        world = local.copy()
        resting = ~self._moving
        with np.errstate(all="ignore"):  # absurd but finite keys may overflow; the nodes beside them must not notice
            for level in self.order.levels:
                still, live = level[resting[level]], level[~resting[level]]
                if len(still):
                    one = world[:1]
                    self._place(still, local[:1], one, {})
                    world[1:, still] = one[:, still]
                if len(live):
                    self._place(live, local, world, samples)
        return world

    def _place(self, level: Indices, local: Floats, world: Floats, samples: dict[str, Floats]) -> None:
        parents = self.order.parents[level]
        under = parents >= 0
        if under.any():
            nodes = level[under]
            world[:, nodes] = np.matmul(world[:, parents[under]], local[:, nodes])
        for node in level[self._looking[level]].tolist():
            world[:, node] = self._look(node, local, world, samples)

    def _look(self, node: int, local: Floats, world: Floats, samples: dict[str, Floats]) -> Floats:
        """The frame of a camera or light that looks at its target: X right, Y up, along -Z (+Z if left-handed)."""
        eye = world[:, node, :3, 3]
        goal = self._target_position(node, local, world)
        if goal is None:
            return world[:, node]
        if self.scene.space.handedness is Handedness.LEFT:
            goal = 2 * eye - goal
        roll = self.one(samples, "roll", node) if samples else None
        degrees = np.full(1, _rest_roll(self.scene, node)) if roll is None else roll[:, 0]
        up = self.scene.space.up
        return affine.look_at(eye, goal, _UP[up], np.radians(degrees), _OTHER_UP[up])

    def _target_position(self, node: int, local: Floats, world: Floats) -> Floats | None:
        target = int(self.order.targets[node])
        if target < 0:
            stored = _stored_target(self.scene, node)
            return None if stored is None else np.asarray(stored, np.float64)
        parent = int(self.order.parents[target])
        place: Floats = local[:, target, :3, 3]
        return place if parent < 0 else affine.transform_points(world[:, parent], place[:, None])[:, 0]

    def _find_moving(self) -> Flags:
        """Which nodes move in the world: they or an ancestor have channels, or look at something that moves."""
        moving = np.zeros(len(self.scene.nodes), bool)
        for kind in ("position", "rotation", "scale", "scale_axes", "roll"):
            for driven in self._driven.get(kind, ()):
                moving[driven.nodes] = True
        own = moving.copy()
        parents, targets = self.order.parents, self.order.targets
        for level in self.order.levels:
            under = parents[level]
            moving[level] |= (under >= 0) & moving[under]
            for node in level[targets[level] >= 0].tolist():
                target = int(targets[node])
                parent = int(parents[target])
                moving[node] |= own[target] or (parent >= 0 and moving[parent])
        return moving


_IDENTITY_TURN = np.array([0.0, 0.0, 0.0, 1.0])


def _rest_locals(nodes: list[Node]) -> Floats:
    if not nodes:
        return np.empty((0, 4, 4))
    axes = None
    if any(node.scale_axes_xyzw is not None for node in nodes):
        axes = np.array([_IDENTITY_TURN if (q := node.scale_axes_xyzw) is None else q for node in nodes])
    return affine.compose(
        np.array([node.position for node in nodes]),
        np.array([node.rotation_xyzw for node in nodes]),
        np.array([node.scale for node in nodes]),
        axes,
    )


def _looks(scene: Scene, node: Node) -> bool:
    """Cameras, spot and directional lights look at their target, if they have one."""
    if node.camera is not None:
        return node.target is not None or scene.cameras[node.camera].target is not None
    if node.light is not None:
        light = scene.lights[node.light]
        aims = light.type in (LightType.SPOT, LightType.DIRECTIONAL)
        return aims and (node.target is not None or light.target is not None)
    return False


def _stored_target(scene: Scene, number: int) -> tuple[float, float, float] | None:
    node = scene.nodes[number]
    if node.camera is not None:
        return scene.cameras[node.camera].target
    return scene.lights[node.light].target if node.light is not None else None


def _rest_roll(scene: Scene, number: int) -> float:
    node = scene.nodes[number]
    if node.camera is not None:
        return scene.cameras[node.camera].roll_degrees
    return scene.lights[node.light].roll_degrees if node.light is not None else 0.0


def _rest_value(scene: Scene, number: int, kind: str) -> npt.ArrayLike | None:
    """What a channel without usable keys leaves in place."""
    node = scene.nodes[number]
    if kind == "position":
        return node.position
    if kind == "rotation":
        return node.rotation_xyzw
    if kind == "scale":
        return node.scale
    if kind == "visible":
        return [0.0 if node.hidden else 1.0]
    if kind == "roll":
        return [_rest_roll(scene, number)]
    if kind == "fov" and node.camera is not None:
        return [scene.cameras[node.camera].fov_degrees]
    if node.light is not None:
        light = scene.lights[node.light]
        rests: dict[str, npt.ArrayLike] = {
            "color": light.color,
            "multiplier": [light.multiplier],
            "hotspot": [light.hotspot_degrees or 0.0],
            "falloff": [light.falloff_degrees or 0.0],
        }
        return rests.get(kind)
    return None
