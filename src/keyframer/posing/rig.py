"""A scene compiled for posing, and its poses at given times: constant parts are placed once, animated ones level by
level for blocks of times.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from keyframer.arrays import Flags, Floats, Indices
from keyframer.limits import spend
from keyframer.posing.channels import Channels, Samples, as_slice
from keyframer.posing.rest_pose import Level, RestPose
from keyframer.posing.vertices import posed_vertices
from keyframer.scene import Clip, Scene
from keyframer.text import counted


class AnimatedProperty:
    """One property of many owners (nodes, cameras or lights): its values at rest (owners, k), and animated channels.

    ``owner_of`` maps nodes to owners; None if the nodes themselves are the owners.
    """

    def __init__(
        self, channels: Channels, kind: str, rest: npt.ArrayLike, width: int, owner_of: Mapping[int, int] | None
    ) -> None:
        self._rest = np.array(rest, np.float64).reshape(-1, width)
        if owner_of is None:
            channels.set_still(kind, self._rest)
        else:
            for node, value in channels.still_by_node(kind).items():
                if node in owner_of:
                    self._rest[owner_of[node]] = value
        self._animated: list[tuple[str, Indices, Indices | slice]] = []
        for animated in channels.animated.get(kind, ()):
            owners = animated.nodes
            slots = (
                np.arange(animated.slots.start, animated.slots.stop)
                if isinstance(animated.slots, slice)
                else animated.slots
            )
            if owner_of is not None:
                has_owner = np.array([node in owner_of for node in owners.tolist()], bool)
                slots = slots[has_owner]
                owners = np.array([owner_of[node] for node in owners[has_owner].tolist()], np.int64)
            if len(owners):
                self._animated.append((animated.family, owners, as_slice(slots)))

    def at(self, samples: Samples, count: int) -> Floats:
        """Return (T, owners, k)."""
        out = np.empty((count, *self._rest.shape))
        out[:] = self._rest
        for family, owners, slots in self._animated:
            out[:, owners] = samples[family][:, slots]
        return out


class AnimatedProperties:
    """The properties of a scene that a clip can animate, without transforms and roll."""

    def __init__(self, scene: Scene, channels: Channels) -> None:
        cameras = {i: node.camera for i, node in enumerate(scene.nodes) if node.camera is not None}
        lights = {i: node.light for i, node in enumerate(scene.nodes) if node.light is not None}
        self.visible = AnimatedProperty(
            channels, "visible", [0.0 if node.hidden else 1.0 for node in scene.nodes], 1, None
        )
        self.fov = AnimatedProperty(channels, "fov", [camera.fov_degrees for camera in scene.cameras], 1, cameras)
        self.color = AnimatedProperty(channels, "color", [light.color for light in scene.lights], 3, lights)
        self.multiplier = AnimatedProperty(
            channels, "multiplier", [light.multiplier for light in scene.lights], 1, lights
        )
        cones = [light.hotspot_degrees or 0.0 for light in scene.lights]
        self.hotspot = AnimatedProperty(channels, "hotspot", cones, 1, lights)
        cones = [light.falloff_degrees or 0.0 for light in scene.lights]
        self.falloff = AnimatedProperty(channels, "falloff", cones, 1, lights)
        self._channels = channels
        self._morphing = sorted({*channels.still_by_node("morph"), *channels.moving_nodes(("morph",)).tolist()})

    def morph_weights(self, samples: Samples, count: int) -> dict[int, Floats]:
        """Return the weights (T, shapes) by node, for nodes whose channel has usable keys."""
        by_node: dict[int, Floats] = {}
        for node in self._morphing:
            weights = self._channels.node_values(samples, "morph", node)
            if weights is not None:
                by_node[node] = np.array(np.broadcast_to(weights, (count, weights.shape[1])))
        return by_node


MATRICES_PER_BLOCK = 8_192
"""matrices placed at once: 1 MB, so that a block and its products stay in the cache of the processor"""
MATRICES_PER_LEVEL = 32
"""least average number of matrices of a level that are placed at once: fewer take as long, and a chain of nodes has as
many levels as nodes
"""
_SAMPLES_PER_AIM = 1_500
"""cost of aiming one node at its target for a block of times, in the budget of samples, besides its matrices"""


class Rig(RestPose):
    """One clip of a scene, compiled for evaluation at any times. The scene must not change while the rig is used. All
    matrices are finite: unusable keys are ignored, unusable rest values are replaced by identity, and a node whose
    matrix would overflow is placed as if it had no parent.
    """

    def __init__(self, scene: Scene, clip: int | str = 0) -> None:
        """``clip`` is the index or the name of a clip; raises LookupError if there is none."""
        index = scene.clip_index(clip)
        self.clip = scene.clips[index] if scene.clips else Clip()
        super().__init__(scene, Channels(self.clip, len(scene.nodes)))
        self._moving_levels: list[Level] = []
        self.moving_nodes: Indices = np.empty(0, np.int64)
        """nodes that move, or may: they or an ancestor are animated, or they are aimed at something that moves"""
        self._times_per_block = MATRICES_PER_BLOCK
        if not self.channels.animated:
            return
        rows = np.full(len(scene.nodes), -1, np.int64)
        rows[self.locals.moving] = np.arange(len(self.locals.moving))
        self.moving_nodes = np.flatnonzero(self._find_moving(rows))
        self._moving_levels = self._plan(self.moving_nodes, rows)
        matrices = max(MATRICES_PER_BLOCK, MATRICES_PER_LEVEL * len(self._moving_levels))
        self._times_per_block = max(1, matrices // max(1, len(self.moving_nodes)))

    @cached_property
    def properties(self) -> AnimatedProperties:
        """What a clip animates besides transforms: many rigs are made for matrices only."""
        return AnimatedProperties(self.scene, self.channels)

    def __repr__(self) -> str:
        return f"<Rig of {self.clip!r}>"

    def sample(self, times: npt.ArrayLike) -> Samples:
        """Sample the animated channels at times in the unit of the clip."""
        return self.channels.bank.evaluate_moving(times)

    def local(self, samples: Samples, count: int) -> Floats:
        """Return the matrices (T, nodes, 4, 4) relative to the parents."""
        spend("samples", count * self.locals.rest.size)
        out = np.empty((count, *self.locals.rest.shape))
        out[:] = self.locals.rest
        if len(self.locals.moving):
            out[:, self.locals.moving] = self.locals.at(samples, count)
        return out

    def world(self, samples: Samples, count: int) -> Floats:
        """Return the matrices (T, nodes, 4, 4) in scene space, with cameras and lights aimed at their targets."""
        aims = sum(len(level.aimed) for level in self._moving_levels)
        blocks = -(-count // self._times_per_block)
        spend("samples", count * self.locals.rest.size + blocks * aims * _SAMPLES_PER_AIM)
        out = np.empty((count, *self.locals.rest.shape))
        out[:] = self.world_at_rest
        if not self._moving_levels:
            return out
        step = self._times_per_block
        with np.errstate(all="ignore"):  # extreme but finite keys may overflow; other nodes must not be affected
            for begin in range(0, count, step):
                part = out[begin : begin + step]
                block_samples = samples if step >= count else {k: v[begin : begin + step] for k, v in samples.items()}
                self._place(self._moving_levels, self.locals.at(block_samples, len(part)), part, block_samples)
        return out

    def _find_moving(self, rows: Indices) -> Flags:
        """Return which nodes move: they or an ancestor have animated channels, or are aimed at something that moves."""
        moves_itself = (rows >= 0).tolist()
        moving = list(moves_itself)
        for node in self.channels.moving_nodes(("roll",)).tolist():
            moving[node] = True
        parents, targets, aimed = self.order.parents.tolist(), self.order.targets.tolist(), self._aimed.tolist()
        for node in self.order.flat.tolist():
            parent, target = parents[node], targets[node]
            if parent >= 0 and moving[parent]:
                moving[node] = True
            elif aimed[node] and target >= 0:
                target_parent = parents[target]
                moving[node] = moving[node] or moves_itself[target] or (target_parent >= 0 and moving[target_parent])
        return np.array(moving, bool)


@dataclass(eq=False, repr=False)
class Pose:
    """A scene at T times, in the scene's own space. N nodes, C cameras, L lights."""

    scene: Scene
    times_seconds: Floats
    """(T,) seconds from time 0 of the clip; NaN if the clip has no valid rate"""
    frames: Floats
    """(T,) the same times in frames"""
    world: Floats
    """(T, N, 4, 4); the mesh of a node without a skin is placed by ``world . translation(-pivot)``"""
    visible: Flags
    """(T, N); a hidden node does not hide its children"""
    camera_fov_degrees: Floats
    """(T, C) horizontal"""
    light_colors: Floats
    """(T, L, 3)"""
    light_multipliers: Floats
    """(T, L)"""
    light_hotspot_degrees: Floats
    """(T, L) full angle of the inner cone, 0 for lights without one"""
    light_falloff_degrees: Floats
    """(T, L) full angle of the outer cone, 0 for lights without one"""
    morph_weights: dict[int, Floats]
    """(T, shapes) by node index, for nodes with a morph channel"""
    rig: Rig = field(repr=False)
    samples: Samples = field(repr=False)

    @cached_property
    def local(self) -> Floats:
        """(T, N, 4, 4) relative to the parent, computed on first use; cameras and lights are not aimed at targets."""
        return self.rig.local(self.samples, len(self.frames))

    def vertices(self, node: int | str) -> Floats:
        """Return the vertices (T, V, 3) of a node, given by its index or name, in scene space: morphed, skinned and
        transformed. Raises LookupError if there is no such node.
        """
        number = self.scene.node_index(node)
        with np.errstate(over="ignore", invalid="ignore"):  # non-finite positions of damaged files
            return posed_vertices(self.scene, number, self.world, self.morph_weights.get(number))

    def __repr__(self) -> str:
        return f"<Pose of {counted(len(self.scene.nodes), 'node')} at {counted(len(self.frames), 'time')}>"


def pose(
    scene: Scene,
    times: npt.ArrayLike | None = None,
    *,
    frames: npt.ArrayLike | None = None,
    clip: int | str = 0,
    rig: Rig | None = None,
) -> Pose:
    """Return the pose at ``times`` (seconds) or ``frames`` (of the clip, which is given by its index or name); exactly
    one of them must be given.

    For many calls, make a `Rig` once and pass it; it replaces ``clip``.
    """
    if (times is None) == (frames is None):
        raise ValueError("give either times (seconds) or frames")
    rig = rig or Rig(scene, clip)
    seconds, clip_frames = _seconds_and_frames(rig.clip, times, frames)
    count = len(clip_frames)
    moments = clip_frames
    if rig.clip.units_per_frame != 1:
        with np.errstate(over="ignore", invalid="ignore"):  # extreme rates
            moments = clip_frames * rig.clip.units_per_frame
    samples = rig.sample(moments)
    properties = rig.properties
    return Pose(
        scene=scene,
        times_seconds=seconds,
        frames=clip_frames,
        world=rig.world(samples, count),
        visible=properties.visible.at(samples, count)[..., 0] > 0.5,
        camera_fov_degrees=properties.fov.at(samples, count)[..., 0],
        light_colors=properties.color.at(samples, count),
        light_multipliers=properties.multiplier.at(samples, count)[..., 0],
        light_hotspot_degrees=properties.hotspot.at(samples, count)[..., 0],
        light_falloff_degrees=properties.falloff.at(samples, count)[..., 0],
        morph_weights=properties.morph_weights(samples, count),
        rig=rig,
        samples=samples,
    )


def _seconds_and_frames(clip: Clip, times: npt.ArrayLike | None, frames: npt.ArrayLike | None) -> tuple[Floats, Floats]:
    """Return seconds and frames of the same moments.

    Seconds within rounding of a whole frame give exactly that frame, because it may have a jump or a visibility key.
    """
    rate = clip.frames_per_second
    has_rate = math.isfinite(rate) and rate > 0
    if frames is None and not has_rate:
        raise ValueError(f"the clip has no valid frame rate ({rate}): give frames instead of times")
    with np.errstate(over="ignore", invalid="ignore"):  # extreme rates
        if frames is not None:
            exact = np.atleast_1d(np.asarray(frames, np.float64))
            return exact / rate if has_rate else np.full(len(exact), np.nan), exact
        seconds = np.atleast_1d(np.asarray(times, np.float64))
        rough = seconds * rate
        near = np.round(rough)
        is_whole = np.abs(rough - near) <= 1e-9 * np.maximum(1.0, np.abs(near))
    return seconds, np.where(is_whole, near, rough)
