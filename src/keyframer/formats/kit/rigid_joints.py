"""Sample a scene as rigid joints: for formats that store a position and rotation for every frame, and no scale.

A joint has the position and rotation of its node. Scale, of the node and of its ancestors, is removed from the joint;
world positions and rotations do not change.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping

import numpy as np

from keyframer.arrays import Floats
from keyframer.curves import Interpolation
from keyframer.fields import dataclass
from keyframer.formats.kit.scene_writing import CannotMerge, frames_per_second, plain_path, units_per_second
from keyframer.formats.kit.unsupported_features import has_moving_kind
from keyframer.limits import expect, spend
from keyframer.maths import affine, quat
from keyframer.posing import Rig
from keyframer.posing.bounds_and_duration import clip_span
from keyframer.posing.evaluation_order import evaluation_order
from keyframer.scene import Clip, Scene
from keyframer.scene.loss_report import LossReport, Outcome
from keyframer.text import counted, plural

_NUMBERS = 48
"""numbers sampled for each joint and frame in addition to the node matrix: matrices with scale, without it, and
relative to the parent
"""
_SCALE = 1e-6
"""larger changes of a scale, and larger differences from 1, are reported"""
_NOISE = 1e-9
"""scales that differ less from 1 are rounding errors"""


@dataclass(eq=False)
class Joints:
    """J joints at T frames, parents before children."""

    nodes: list[int]
    """node of each joint"""
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
    def place_of(self) -> dict[int, int]:
        """Map node numbers to joint numbers."""
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
    """Sample the joints of a scene at ``fps`` frames per second from time 0, or from an earlier first key."""
    nodes, parents = _choose(scene, depth_first)
    _report_left_out(scene, set(nodes), report)
    times = _frames(clip, fps, len(nodes), report)
    joints, sizes = joints_at(scene, nodes, parents, times)
    _report_scales(scene, nodes, sizes, report)
    return joints


def joints_in_original_order(
    scene: Scene, kept: Mapping[int, int], *, depth_first: bool
) -> tuple[list[int], list[int]]:
    """Return the joints of an edited scene in the order of the original, and the place of each parent (-1 for none).

    ``kept`` has the original number of each remaining joint. New joints follow, but parents precede children.
    """
    wanted, above = find_joint_nodes(scene)
    new = wanted - kept.keys()
    return _ordered(above, [*sorted(kept, key=lambda node: kept[node]), *sorted(new)], depth_first)


def unscaled_joints_at(scene: Scene, nodes: list[int], times: Floats, kept: Collection[int]) -> Joints:
    """Sample some joints of an edited scene; raises `CannotMerge` if one of the original (``kept``) is scaled."""
    above = evaluation_order(scene.nodes).parents.tolist()
    joints, sizes = joints_at(scene, nodes, parent_places(nodes, above), times)
    changed = np.abs(sizes - 1).max(axis=(0, 2), initial=0.0) > _SCALE
    if any(changed[place] and node in kept for place, node in enumerate(nodes)):
        raise CannotMerge("scale of joints")
    return joints


def joints_at(scene: Scene, nodes: list[int], parents: list[int], times: Floats) -> tuple[Joints, Floats]:
    """Sample nodes as joints at these times of the clip. Return the joints and the scale (T, J, 3) of their nodes.

    If neither a joint nor its parent is scaled, the joint has exactly the local transform of its node.
    """
    spend("samples", len(times) * len(nodes) * _NUMBERS)
    rig = Rig(scene)
    samples = rig.sample(times)
    world = rig.world(samples, len(times))
    origins, turns, sizes = affine.decompose(world[:, nodes])
    plain = np.abs(sizes - 1).max(axis=(0, 2), initial=0.0) < _NOISE
    plain &= np.array([has_moving_kind(scene.nodes[node]) for node in nodes], bool)
    chosen = np.array(nodes, np.int64)
    rigid = affine.compose(origins, turns, np.ones(3))
    rigid[:, plain] = world[:, chosen[plain]]
    above = np.array(parents, np.int64)
    exact = plain & ((above < 0) | plain[above])
    local = rigid.copy()
    local[:, exact] = rig.local(samples, len(times))[:, chosen[exact]]
    inexact = np.flatnonzero(~exact & (above >= 0))
    if len(inexact):
        local[:, inexact] = affine.inverse(rigid[:, above[inexact]]) @ rigid[:, inexact]
    rotations = quat.from_matrix3(local[..., :3, :3])
    if len(rotations) > 1:
        flips = np.where((rotations[1:] * rotations[:-1]).sum(axis=-1) < 0, -1.0, 1.0)
        rotations[1:] *= np.cumprod(flips, axis=0)[..., None]
    return Joints(nodes, parents, world, rigid, local[..., :3, 3].copy(), rotations, rig, times), sizes


def _choose(scene: Scene, depth_first: bool) -> tuple[list[int], list[int]]:
    """Return the nodes that become joints, parents first, and the parent joint of each."""
    wanted, above = find_joint_nodes(scene)
    return _ordered(above, sorted(wanted), depth_first)


def _ordered(above: list[int], wanted: list[int], depth_first: bool) -> tuple[list[int], list[int]]:
    order = nodes_depth_first(above, wanted) if depth_first else parents_first(above, wanted)
    return order, parent_places(order, above)


def find_joint_nodes(scene: Scene) -> tuple[set[int], list[int]]:
    """Return the nodes that become joints, and the parent of each node (-1 for none).

    Joints are objects, dummies, bones and their ancestors.
    """
    above = evaluation_order(scene.nodes).parents.tolist()
    has_children = set(above)
    bones = {joint for skin in scene.skins for joint in skin.joints}
    wanted: set[int] = set()
    for number, node in enumerate(scene.nodes):
        # A skinned mesh does not move with its own node.
        if number not in bones and (
            not has_moving_kind(node) or (node.skin is not None and number not in has_children)
        ):
            continue
        at = number
        while at >= 0 and at not in wanted:
            wanted.add(at)
            at = above[at]
    return wanted, above


def parent_places(order: list[int], above: list[int]) -> list[int]:
    """Return for nodes in some order the index of each parent in that order, -1 for none."""
    place = {node: joint for joint, node in enumerate(order)}
    return [place.get(above[node], -1) for node in order]


def parents_first(above: list[int], wanted: list[int]) -> list[int]:
    """Return nodes in the order given, but parents before children."""
    done: set[int] = set()
    order: list[int] = []
    for number in wanted:
        chain = []
        at = number
        while at >= 0 and at not in done:
            chain.append(at)
            done.add(at)
            at = above[at]
        order += reversed(chain)
    return order


def nodes_depth_first(above: list[int], wanted: Collection[int]) -> list[int]:
    """Return nodes in pre-order, children in the order given; ``above`` has the parent of each, -1 for none."""
    below: dict[int, list[int]] = {}
    for number in reversed(list(wanted)):
        below.setdefault(above[number], []).append(number)
    order: list[int] = []
    todo = below.get(-1, [])
    while todo:
        number = todo.pop()
        order.append(number)
        todo += below.get(number, [])
    return order


def _frames(clip: Clip, fps: float, joints: int, report: LossReport) -> Floats:
    """Return the times of the frames in the clip's unit; the last frame is at or after the end."""
    begin, end = clip_span(clip)
    step = units_per_second(clip) / fps
    first = 0.0
    if begin < 0:
        first = math.floor(begin / step + 1e-6) * step
        message = f"frames begin at 0: {-first / units_per_second(clip):g} seconds were added to all times"
        report.add(Outcome.APPROXIMATED, "/clips/start", message)
    count = math.ceil((max(end, first) - first) / step - 1e-6) + 1
    expect("samples", count * max(joints, 1) * _NUMBERS)
    return np.asarray(first + step * np.arange(count), np.float64)


def report_frames(clip: Clip, fps: float, count: int, joints: str, report: LossReport) -> None:
    """Report the number of frames written: exact if the clip has these frames already, baked if keys were sampled."""
    moving = [channel.track for channel in clip.channels if len(channel.track.times) > 1]
    same = math.isclose(frames_per_second(clip), fps)
    report.measured["frames"] = float(count)
    if all(track.interpolation is Interpolation.SAMPLED and same for track in moving):
        report.add(Outcome.EXACT, "/clips/frames", f"{counted(count, 'frame')} of {joints}")
    else:
        report.add(Outcome.BAKED, "/clips/frames", f"{counted(count, 'frame')} of {joints}, sampled from keys")


def _report_left_out(scene: Scene, kept: set[int], report: LossReport) -> None:
    for number, node in enumerate(scene.nodes):
        if number not in kept:
            message = f"{plural(node.kind.value)} cannot be stored in this format"
            if node.mesh is not None:
                message = "skinned meshes have no node in this format"
            report.add(Outcome.DROPPED, plain_path("nodes", node.name), message, extras=node.extras)


def _report_scales(scene: Scene, nodes: list[int], sizes: Floats, report: LossReport) -> None:
    """Report scale: animated scale is lost, constant scale is applied to the positions of joints and vertices."""
    for joint, number in enumerate(nodes):
        scales = sizes[:, joint]
        path = f"{plain_path('nodes', scene.nodes[number].name)}/scale"
        change = float(np.abs(scales - scales[:1]).max())
        if change > _SCALE * max(float(np.abs(scales).max()), 1.0):
            report.add(Outcome.DROPPED, path, "joints cannot be scaled in this format", error=change, unit="of 1")
        elif float(np.abs(scales[0] - 1).max()) > _SCALE:
            report.add(Outcome.BAKED, path, "joints have no scale: it was applied to their meshes and children")
