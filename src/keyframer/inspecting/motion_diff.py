"""The difference between the motions of two scenes: of each node that both have, at up to `MOST_TIMES` times.

Nodes are paired by name, those of the same name in order. Scenes with different axes are converted to right-handed,
Y up; if both have a unit of length, the second is converted to that of the first. The first clips are compared: at the
same frames if they have the same rate or one has no valid rate, else at the same seconds from the start of each clip.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from keyframer.arrays import Floats, Indices
from keyframer.formats.kit.coordinates import to_right_handed_y_up
from keyframer.inspecting.panels import Curve, Panel
from keyframer.inspecting.samples import blocks
from keyframer.maths import quat
from keyframer.posing import Pose, pose
from keyframer.posing.bounds_and_duration import clip_span, scene_size
from keyframer.scene import Clip, Mesh, Scene

MOST_TIMES = 201
SCALE_TOLERANCE = 1e-4
"""differences of scale below this are treated as equal"""
MOST_VERTICES = 2_000_000
"""maximum number of vertices x times compared of one node; larger meshes are compared by their nodes only"""


@dataclass(eq=False)
class NodeMotion:
    """The difference of one node at each time."""

    name: str
    position: Floats
    """(T,) distance"""
    rotation: Floats
    """(T,) degrees"""
    scale: Floats
    """(T,) largest difference of an axis' length"""
    visibility_differences: int
    """number of times at which the node is visible in one scene only"""
    vertices: Floats | None
    """(T,) largest distance of a vertex; None without a mesh, or if the meshes have other or too many vertices"""

    def within(self, distance: float, degrees: float) -> bool:
        """Return whether the motion is equal within these tolerances."""
        distances = [self.position, *([] if self.vertices is None else [self.vertices])]
        largest = max((float(part.max(initial=0.0)) for part in distances), default=0.0)
        return (
            largest <= distance
            and float(self.rotation.max(initial=0.0)) <= degrees
            and float(self.scale.max(initial=0.0)) <= SCALE_TOLERANCE
            and not self.visibility_differences
        )


@dataclass(eq=False)
class MotionDiff:
    """The difference of two scenes at the same times."""

    times: Floats
    unit: str
    """``frames`` or ``seconds``"""
    space: str
    """the axes in which the scenes are compared"""
    size: float
    """of the first scene (`posing.bounds_and_duration`), so that differences can be judged"""
    nodes: list[NodeMotion] = field(default_factory=list)
    only_a: list[str] = field(default_factory=list)
    only_b: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def changed(self, distance: float, degrees: float) -> list[NodeMotion]:
        """Return the nodes that move differently, the largest difference of position first."""
        changed = [node for node in self.nodes if not node.within(distance, degrees)]
        return sorted(changed, key=lambda node: (-float(node.position.max(initial=0.0)), node.name))


def diff_motion(a: Scene, b: Scene) -> MotionDiff:
    """Compare the motion of all nodes that both scenes have."""
    frames_a, frames_b, times, unit = _moments(a, b)
    pose_a, pose_b = pose(a, frames=frames_a), pose(b, frames=frames_b)
    same_space = (a.space.up, a.space.handedness) == (b.space.up, b.space.handedness)
    conversion_a, conversion_b = (
        (None, None) if same_space else (to_right_handed_y_up(a.space)[0], to_right_handed_y_up(b.space)[0])
    )
    unit_a, unit_b = a.space.metres_per_unit, b.space.metres_per_unit
    scale = unit_b / unit_a if unit_a and unit_b and unit_a != unit_b else 1.0
    difference = MotionDiff(times, unit, str(a.space) if same_space else "Y up, right-handed", scene_size(a))
    if scale != 1.0:
        difference.notes.append(f"the second scene is converted to the unit of the first (factor {scale:g})")
    by_name: dict[str, deque[int]] = {}
    for number, node in enumerate(b.nodes):
        by_name.setdefault(node.name, deque()).append(number)
    pairs: list[tuple[int, int]] = []
    for number, node in enumerate(a.nodes):
        same_name = by_name.get(node.name)
        if same_name:
            pairs.append((number, same_name.popleft()))
        else:
            difference.only_a.append(node.name)
    for block in blocks(pairs, len(times)):
        difference.nodes += _nodes(pose_a, conversion_a, pose_b, conversion_b, block, scale)
    unpaired = sorted(number for same_name in by_name.values() for number in same_name)
    difference.only_b.extend(b.nodes[number].name for number in unpaired)
    return difference


def _moments(a: Scene, b: Scene) -> tuple[list[float], list[float], Floats, str]:
    """Return the compared times as frames of each scene, and in a common unit, with its name."""
    clip_a, clip_b = (scene.clips[0] if scene.clips else Clip() for scene in (a, b))
    rates = [clip.frames_per_second for clip in (clip_a, clip_b)]
    (start_a, end_a), (start_b, end_b) = _segment(clip_a), _segment(clip_b)
    have_rates = all(0 < rate < math.inf for rate in rates)
    if not have_rates or math.isclose(rates[0], rates[1]):
        start, end = min(start_a, start_b), max(end_a, end_b)
        frames = _spread(start, end)
        return frames, frames, np.array(frames), "frames"
    length = max((end_a - start_a) / rates[0], (end_b - start_b) / rates[1])
    seconds = [length * number / (MOST_TIMES - 1) for number in range(MOST_TIMES)] if length > 0 else [0.0]
    return (
        [start_a + second * rates[0] for second in seconds],
        [start_b + second * rates[1] for second in seconds],
        np.array(seconds),
        "seconds",
    )


def _segment(clip: Clip) -> tuple[float, float]:
    scale = clip.units_per_frame or 1.0
    start, end = clip_span(clip)
    return start / scale, end / scale


def _spread(start: float, end: float) -> list[float]:
    """Return every frame from ``start`` to ``end`` if ``start`` is whole and there are at most `MOST_TIMES`, else that
    many evenly spaced times."""
    if end - start + 1 <= MOST_TIMES and start == round(start):
        return [start + number for number in range(math.floor(end - start) + 1)]
    return [float(frame) for frame in np.linspace(start, end, MOST_TIMES)]


def _nodes(
    pose_a: Pose,
    conversion_a: Floats | None,
    pose_b: Pose,
    conversion_b: Floats | None,
    pairs: Sequence[tuple[int, int]],
    scale: float,
) -> list[NodeMotion]:
    """Compare pairs of nodes, all at once."""
    nodes_a, nodes_b = [a for a, _ in pairs], [b for _, b in pairs]
    with np.errstate(all="ignore"):
        world_a, world_b = _converted(pose_a, nodes_a, conversion_a), _converted(pose_b, nodes_b, conversion_b)
        world_b[..., :3, 3] *= scale
        angles, lengths = _axes_apart(world_a, world_b)
        if conversion_a is not None and conversion_b is not None:
            # A program that converts the axes of a scene rotates the axes of each node and its vertices, or leaves
            # them unchanged: a node that is equal in one of these two ways has not moved.
            other_a = conversion_a @ np.nan_to_num(pose_a.world[:, nodes_a])
            other_b = (
                conversion_b @ np.nan_to_num(pose_b.world[:, nodes_b]) @ np.linalg.inv(conversion_b) @ conversion_a
            )
            other_angles, other_lengths = _axes_apart(other_a, other_b)
            nearer = other_angles.max(axis=0, initial=0.0) < angles.max(axis=0, initial=0.0)
            angles, lengths = np.where(nearer, other_angles, angles), np.where(nearer, other_lengths, lengths)
        distances = np.nan_to_num(np.sqrt(np.sum((world_a[..., :3, 3] - world_b[..., :3, 3]) ** 2, axis=-1)))
        visibility_changes = np.count_nonzero(pose_a.visible[:, nodes_a] != pose_b.visible[:, nodes_b], axis=0).tolist()
        return [
            NodeMotion(
                pose_a.scene.nodes[a].name,
                distances[:, column],
                angles[:, column],
                lengths[:, column],
                visibility_changes[column],
                _vertices(pose_a, a, conversion_a, pose_b, b, conversion_b, scale),
            )
            for column, (a, b) in enumerate(pairs)
        ]


def _axes_apart(world_a: Floats, world_b: Floats) -> tuple[Floats, Floats]:
    """Return (T, n) rotations in degrees between the axes of nodes, and (T, n) the largest differences of length."""
    lengths_a, lengths_b = (np.sqrt(np.sum(world[..., :3, :3] ** 2, axis=-2)) for world in (world_a, world_b))
    return (
        _angles(world_a[..., :3, :3], lengths_a, world_b[..., :3, :3], lengths_b),
        np.nan_to_num(np.abs(lengths_a - lengths_b).max(axis=-1)),
    )


def _converted(posed: Pose, nodes: list[int], conversion: Floats | None) -> Floats:
    world: Floats = np.nan_to_num(posed.world[:, nodes])
    if conversion is None:
        return world
    _, mirror = to_right_handed_y_up(posed.scene.space)
    return np.asarray(conversion @ world @ mirror)


def _angles(a: Floats, lengths_a: Floats, b: Floats, lengths_b: Floats) -> Floats:
    """Return the rotations in degrees between two sets of axes; 0 if an axis has no length."""
    good = (lengths_a > 1e-12).all(axis=-1) & (lengths_b > 1e-12).all(axis=-1)
    out = np.zeros(good.shape)
    if good.any():
        rotation_a = quat.from_matrix3(_rigid(a[good] / lengths_a[good][:, None, :]))
        rotation_b = quat.from_matrix3(_rigid(b[good] / lengths_b[good][:, None, :]))
        between = quat.multiply(quat.conjugate(rotation_a), rotation_b)
        half = np.arctan2(np.sqrt(np.sum(between[:, :3] ** 2, axis=1)), np.abs(between[:, 3]))
        out[good] = np.degrees(2 * half)
    return out


def _rigid(matrices: Floats) -> Floats:
    """Return axes of nodes as rotations: those of mirrored nodes are negated."""
    mirrored = np.linalg.det(matrices) < 0
    return np.asarray(np.where(mirrored[:, None, None], -matrices, matrices))


def _vertices(
    pose_a: Pose, a: int, conversion_a: Floats | None, pose_b: Pose, b: int, conversion_b: Floats | None, scale: float
) -> Floats | None:
    meshes = [pose.scene.nodes[number].mesh for pose, number in ((pose_a, a), (pose_b, b))]
    if meshes[0] is None or meshes[1] is None:
        return None
    pairings = _pairings(pose_a.scene.meshes[meshes[0]], pose_b.scene.meshes[meshes[1]])
    pairings = [pairs for pairs in pairings if len(pairs[0]) * len(pose_a.frames) <= MOST_VERTICES]
    if not pairings:
        return None
    points_a, points_b = pose_a.vertices(a), pose_b.vertices(b)
    if conversion_a is not None and conversion_b is not None:
        points_a, points_b = points_a @ conversion_a[:3, :3].T, points_b @ conversion_b[:3, :3].T
    distances = (
        np.sqrt(np.sum((points_a[:, first] - points_b[:, second] * scale) ** 2, axis=2)).max(axis=1)
        for first, second in pairings
    )
    return min((np.asarray(np.nan_to_num(each)) for each in distances), key=lambda each: float(each.max()))


def _pairings(a: Mesh, b: Mesh) -> list[tuple[Indices, Indices]]:
    """Return which vertices of two meshes may be the same ones: those of equal numbers; and those of the corners of the
    faces, because other formats split vertices and number them anew."""
    counts = len(a.positions), len(b.positions)
    by_number = [(np.arange(counts[0]), np.arange(counts[1]))] if counts[0] == counts[1] and counts[0] else []
    if len(a.corners) != len(b.corners) or not len(a.corners) or (by_number and np.array_equal(a.corners, b.corners)):
        return by_number
    first, second = (np.asarray(mesh.corners, np.int64).reshape(-1) for mesh in (a, b))
    valid = (first >= 0) & (first < counts[0]) & (second >= 0) & (second < counts[1])
    pairs = np.unique(first[valid] * counts[1] + second[valid])
    return [*by_number, *([(pairs // counts[1], pairs % counts[1])] if len(pairs) else [])]


def motion_panels(diff: MotionDiff, distance: float, degrees: float, most: int = 8) -> list[Panel]:
    """Return panels of the largest differences of position, rotation and vertices over time."""
    worst = diff.changed(distance, degrees)[:most]
    times = diff.times
    span = (float(times[0]), float(times[-1]) if len(times) > 1 else float(times[0]) + 1)
    panels: list[Panel] = []
    for property_name, unit in (
        ("position", "distance in file units"),
        ("rotation", "degrees"),
        ("vertices", "largest distance"),
    ):
        curves = [
            Curve(node.name[:24], times, values)
            for node in worst
            if (values := getattr(node, property_name)) is not None
        ]
        if any(curve.values.any() for curve in curves):
            panels.append(Panel(f"difference of {property_name}", diff.unit, unit, span, curves))
    return panels
