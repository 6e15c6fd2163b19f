"""Sample a scene as rigid joints: for formats that store a position and rotation for every frame, and no scale.

A joint has the position and rotation of its node. Scale, of the node and of its ancestors, is removed from the joint;
world positions and rotations do not change.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from keyframer.arrays import Floats
from keyframer.curves import Interpolation, even_times
from keyframer.curves.key_reduction import turn_degrees, vector_distance
from keyframer.formats.kit.repeated_tracks import moments_to_check
from keyframer.formats.kit.scene_writing import CannotMerge, frames_per_second, plain_path, units_per_second
from keyframer.formats.kit.unsupported_features import can_be_joint
from keyframer.limits import budget_left, spend
from keyframer.maths import affine, quat
from keyframer.posing import Rig
from keyframer.posing.bounds_and_duration import clip_span
from keyframer.posing.evaluation_order import evaluation_order
from keyframer.scene import Clip, Scene
from keyframer.scene.loss_report import LossReport
from keyframer.scene.losses import (
    CLIP_RANGE_CHANGED,
    KEYS_RESAMPLED,
    MOTION_SAMPLED,
    MOTION_UNSUPPORTED,
    MOTION_WRITTEN,
    NODES_UNSUPPORTED,
    TRANSFORM_APPLIED,
)
from keyframer.text import counted, plural

_NUMBERS = 48
"""numbers sampled for each joint and frame in addition to the node matrix: matrices with scale, without it, and
relative to the parent
"""
_SCALE_TOLERANCE = 1e-6
"""larger changes of a scale, and larger differences from 1, are reported"""
_NOISE = 1e-9
"""scales that differ less from 1, and positions that differ less by this fraction, are rounding errors"""
_NOISY_DEGREES = 1e-5
"""rotations that differ less are rounding errors of times in single precision"""
_MOST_CHECKED = 512
"""moments between frames, and keys, at which the error is measured"""


@dataclass(eq=False)
class Joints:
    """J joints at T frames, parents before children."""

    nodes: list[int]
    """node of each joint; -1 for an anchor"""
    parents: list[int]
    """parent joint of each joint, -1 for none"""
    world: Floats
    """(T, nodes, 4, 4) world matrices of all nodes of the scene, with scale"""
    rigid: Floats
    """(T, J, 4, 4) world matrices without scale"""
    positions: Floats
    """(T, J, 3) relative to the parent"""
    rotations_xyzw: Floats
    """(T, J, 4) relative to the parent, with continuous signs"""
    rig: Rig
    times: Floats
    """(T,) in the clip's unit"""

    @property
    def joint_of_node(self) -> dict[int, int]:
        """Return the joint number of each node that is a joint."""
        return {node: joint for joint, node in enumerate(self.nodes)}

    def with_anchor(self) -> Joints:
        """Return a copy with one more joint, which belongs to no node and never moves: for vertices without a joint."""
        count = len(self.times)
        still = np.broadcast_to(np.eye(4), (count, 1, 4, 4))
        return Joints(
            [*self.nodes, -1],
            [*self.parents, -1],
            self.world,
            np.concatenate([self.rigid, still], axis=1),
            np.concatenate([self.positions, np.zeros((count, 1, 3))], axis=1),
            np.concatenate([self.rotations_xyzw, np.broadcast_to((0.0, 0.0, 0.0, 1.0), (count, 1, 4))], axis=1),
            self.rig,
            self.times,
        )

    def moves(self) -> bool:
        """Return whether any joint ever has another position or rotation than at the first frame."""
        return bool(
            (np.abs(self.positions - self.positions[:1]) > 0).any()
            or (np.abs(self.rotations_xyzw - self.rotations_xyzw[:1]) > 0).any()
        )


def sample_joints(scene: Scene, clip: Clip, fps: float, report: LossReport, *, depth_first: bool) -> Joints:
    """Sample the joints of a scene at ``fps`` frames per second from time 0 or an earlier start; report losses."""
    nodes, parents = _choose(scene, depth_first)
    _report_left_out(scene, set(nodes), report)
    times = _frames(clip, fps, len(nodes), report)
    joints, scales = joints_at(scene, nodes, parents, times)
    _report_scales(scene, nodes, scales, report)
    return joints


def joints_in_original_order(
    scene: Scene, original_joints: Mapping[int, int], *, depth_first: bool
) -> tuple[list[int], list[int]]:
    """Return the nodes of the joints of an edited scene in the original order, and the parent joint of each (-1: none).

    ``original_joints`` has the original joint number of each remaining node. New joints follow, but parents precede
    children.
    """
    joint_nodes, parents = find_joint_nodes(scene)
    new = joint_nodes - original_joints.keys()
    remaining = sorted(original_joints, key=lambda node: original_joints[node])
    return _ordered(parents, [*remaining, *sorted(new)], depth_first)


def unscaled_joints_at(scene: Scene, nodes: list[int], times: Floats, original_nodes: Collection[int]) -> Joints:
    """Sample nodes of an edited scene as joints; raises `CannotMerge` if one of ``original_nodes`` is scaled."""
    node_parents = evaluation_order(scene.nodes).parents.tolist()
    joints, scales = joints_at(scene, nodes, parent_joints(nodes, node_parents), times)
    scaled = np.abs(scales - 1).max(axis=(0, 2), initial=0.0) > _SCALE_TOLERANCE
    if any(scaled[joint] and node in original_nodes for joint, node in enumerate(nodes)):
        raise CannotMerge("a joint is scaled")
    return joints


def joints_at(scene: Scene, nodes: list[int], parents: list[int], times: Floats) -> tuple[Joints, Floats]:
    """Sample nodes as joints at these times of the clip. Return the joints and the scale (T, J, 3) of their nodes.

    A joint has exactly the local transform of its node, unless the node or its parent is scaled or is a camera, light
    or target.
    """
    spend("samples", len(times) * len(nodes) * _NUMBERS)
    rig = Rig(scene)
    samples = rig.sample(times)
    world = rig.world(samples, len(times))
    world_positions, world_rotations, scales = affine.decompose(world[:, nodes])
    unscaled = np.abs(scales - 1).max(axis=(0, 2), initial=0.0) < _NOISE
    unscaled &= np.array([can_be_joint(scene.nodes[node]) for node in nodes], bool)
    node_of = np.array(nodes, np.int64)
    rigid = affine.compose(world_positions, world_rotations, np.ones(3))
    rigid[:, unscaled] = world[:, node_of[unscaled]]
    parent_of = np.array(parents, np.int64)
    exact = unscaled & ((parent_of < 0) | unscaled[parent_of])
    local = rigid.copy()
    local[:, exact] = rig.local(samples, len(times))[:, node_of[exact]]
    inexact = np.flatnonzero(~exact & (parent_of >= 0))
    if len(inexact):
        local[:, inexact] = affine.multiply(affine.inverse(rigid[:, parent_of[inexact]]), rigid[:, inexact])
    rotations = quat.from_matrix3(local[..., :3, :3])
    if len(rotations) > 1:
        flips = np.where((rotations[1:] * rotations[:-1]).sum(axis=-1) < 0, -1.0, 1.0)
        rotations[1:] *= np.cumprod(flips, axis=0)[..., None]
    return Joints(nodes, parents, world, rigid, local[..., :3, 3].copy(), rotations, rig, times), scales


def _choose(scene: Scene, depth_first: bool) -> tuple[list[int], list[int]]:
    """Return the nodes that become joints, parents first, and the parent joint of each."""
    joint_nodes, parents = find_joint_nodes(scene)
    return _ordered(parents, sorted(joint_nodes), depth_first)


def _ordered(parents: list[int], nodes: list[int], depth_first: bool) -> tuple[list[int], list[int]]:
    order = nodes_depth_first(parents, nodes) if depth_first else parents_first(parents, nodes)
    return order, parent_joints(order, parents)


def find_joint_nodes(scene: Scene) -> tuple[set[int], list[int]]:
    """Return the nodes that become joints, and the parent of each node (-1 for none).

    Joints are objects, dummies, bones, joints of skins, and their ancestors, but not skinned meshes without children.
    """
    parents = evaluation_order(scene.nodes).parents.tolist()
    has_children = set(parents)
    skin_joints = {joint for skin in scene.skins for joint in skin.joints}
    joint_nodes: set[int] = set()
    for number, node in enumerate(scene.nodes):
        # A skinned mesh does not move with its own node.
        if number not in skin_joints and (
            not can_be_joint(node) or (node.skin is not None and number not in has_children)
        ):
            continue
        at = number
        while at >= 0 and at not in joint_nodes:
            joint_nodes.add(at)
            at = parents[at]
    return joint_nodes, parents


def parent_joints(nodes: list[int], parents: list[int]) -> list[int]:
    """Return for each of these nodes the index of its parent in the same list, -1 for none."""
    joint_of = {node: joint for joint, node in enumerate(nodes)}
    return [joint_of.get(parents[node], -1) for node in nodes]


def parents_first(parents: list[int], nodes: list[int]) -> list[int]:
    """Return nodes and their ancestors in the order given, but parents before children."""
    seen: set[int] = set()
    order: list[int] = []
    for number in nodes:
        chain = []
        at = number
        while at >= 0 and at not in seen:
            chain.append(at)
            seen.add(at)
            at = parents[at]
        order += reversed(chain)
    return order


def nodes_depth_first(parents: list[int], nodes: Collection[int]) -> list[int]:
    """Return nodes in pre-order, children in the order given; ``parents`` has the parent of each, -1 for none."""
    children: dict[int, list[int]] = {}
    for number in reversed(list(nodes)):
        children.setdefault(parents[number], []).append(number)
    order: list[int] = []
    stack = children.get(-1, [])
    while stack:
        number = stack.pop()
        order.append(number)
        stack += children.get(number, [])
    return order


def _frames(clip: Clip, fps: float, joints: int, report: LossReport) -> Floats:
    """Return the times of the frames in the clip's unit; the last frame is at or after the end."""
    begin, end = clip_span(clip)
    step = units_per_second(clip) / fps
    first = 0.0
    if begin < 0:
        first = math.floor(begin / step + 1e-6) * step
        report.add(CLIP_RANGE_CHANGED["start"], "/clips/start", seconds=-first / units_per_second(clip))
    return even_times(first, max(end, first), step, numbers=max(joints, 1) * _NUMBERS)


def report_frames(
    scene: Scene, clip: Clip, fps: float, joints: Joints, noun: str, report: LossReport, positioned: int | None = None
) -> None:
    """Report the number of frames written: exact if all moving tracks are sampled at this rate already, else baked, or
    approximated with the error between frames. ``noun`` is what the format calls a joint; only the first
    ``positioned`` of them have a position (None: all).
    """
    moving = [channel.track for channel in clip.channels if len(channel.track.times) > 1]
    same_rate = math.isclose(frames_per_second(clip), fps)
    count = len(joints.times)
    report.measured["frames"] = float(count)
    words: dict[str, Any] = {"frames": count, "joints": counted(len(joints.nodes), noun)}
    if all(track.interpolation is Interpolation.SAMPLED and same_rate for track in moving):
        report.add(MOTION_WRITTEN["frames"], "/clips/frames", **words)
        return
    turned, moved = _errors_between_frames(scene, clip, joints, positioned)
    if not turned and not moved:
        report.add(KEYS_RESAMPLED["frames"], "/clips/frames", **words)
    for kind, error, unit in (("rotations", turned, "degree"), ("positions", moved, "scene unit")):
        if error:
            report.add(MOTION_SAMPLED["frames"], "/clips/frames", error=error, unit=unit, kind=kind, **words)


def _errors_between_frames(scene: Scene, clip: Clip, joints: Joints, positioned: int | None) -> tuple[float, float]:
    """Return the largest errors, in degrees and in lengths, of frames that are interpolated linearly: between frames,
    and at keys and on both sides of them, at about `_MOST_CHECKED` moments of each kind; 0 for noise.
    """
    count, times = sum(node >= 0 for node in joints.nodes), joints.times
    affordable = budget_left("samples") // (4 * max(count, 1) * (_NUMBERS + 16))
    most = min(_MOST_CHECKED, affordable // 4)
    if not most or not count or len(times) < 2:
        return 0.0, 0.0
    moments = moments_to_check((channel.track for channel in clip.channels), times, most)
    wanted, _ = joints_at(scene, joints.nodes[:count], joints.parents[:count], moments)
    after = np.clip(np.searchsorted(times, moments), 1, len(times) - 1)
    share = ((moments - times[after - 1]) / (times[after] - times[after - 1]))[:, None, None]
    before, later = joints.rotations_xyzw[after - 1, :count], joints.rotations_xyzw[after, :count]
    turned = float(turn_degrees(quat.slerp(before, later, share[..., 0]), wanted.rotations_xyzw).max())
    places = joints.positions[after - 1, :count] * (1 - share) + joints.positions[after, :count] * share
    moved = float(vector_distance(places, wanted.positions)[:, :positioned].max())
    size = float(np.abs(wanted.positions).max())
    return turned if turned > _NOISY_DEGREES else 0.0, moved if moved > _NOISE * max(size, 1.0) else 0.0


def _report_left_out(scene: Scene, joint_nodes: set[int], report: LossReport) -> None:
    for number, node in enumerate(scene.nodes):
        if number not in joint_nodes:
            nodes = "nodes of skinned meshes" if can_be_joint(node) else plural(node.kind.noun)
            report.add(NODES_UNSUPPORTED["kind"], plain_path("nodes", node.name), extras=node.extras, nodes=nodes)


def _report_scales(scene: Scene, nodes: list[int], all_scales: Floats, report: LossReport) -> None:
    """Report scale: animated scale is lost, constant scale is applied to the positions of joints and vertices."""
    for joint, number in enumerate(nodes):
        scales = all_scales[:, joint]
        path = f"{plain_path('nodes', scene.nodes[number].name)}/scale"
        change = float(np.abs(scales - scales[:1]).max())
        if change > _SCALE_TOLERANCE * max(float(np.abs(scales).max()), 1.0):
            report.add(MOTION_UNSUPPORTED["scale"], path, unit="1", error=change)
        elif float(np.abs(scales[0] - 1).max()) > _SCALE_TOLERANCE:
            report.add(TRANSFORM_APPLIED["scale"], path)
