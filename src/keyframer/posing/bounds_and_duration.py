"""The played time range of a clip, and the size of a scene.

The size of a scene is the diagonal of the box around all its vertices (morphed, skinned, placed) and the origins of all
its nodes, over the first clip. The clip is sampled at up to `MOMENTS` times: its first, its last, and moments spaced by
the golden ratio, so that no regular motion falls in step with them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np

from keyframer.arrays import Floats
from keyframer.curves import Interpolation, Track
from keyframer.curves.lazy_fields import stored
from keyframer.limits import budget_left
from keyframer.maths import affine, quat
from keyframer.posing.channels import Samples
from keyframer.posing.rig import Rig
from keyframer.posing.vertices import posed_vertices
from keyframer.scene import Clip, Scene

LONGEST = 1e7
"""frames (92 hours at 30 per second): longer segments and later keys are ignored"""
FARTHEST = 1e30
"""points with a coordinate beyond this are ignored"""
MOMENTS = 33
LEAST_MOMENTS = 5
"""smallest number of moments for animated parts, however large they are, if the budget of samples allows it"""
MOST_MATRICES = 100_000
"""nodes x moments; larger scenes are sampled at fewer moments"""
MOST_VERTICES = 1_000_000
"""moving vertices x moments; if there are more, the vertices are placed at fewer moments"""
_BUDGET_SHARE, _SAMPLES_PER_NODE = 8, 64
"""matrices, and each deformed mesh, may take one eighth of the remaining budget of samples; a node takes up to 64
samples at each moment"""
_POINTS_PER_BLOCK = 1 << 18
_GOLDEN = (math.sqrt(5) - 1) / 2
_CORNERS = np.array([(x, y, z) for x in (0, 1) for y in (0, 1) for z in (0, 1)], np.float64)


def clip_span(clip: Clip) -> tuple[float, float]:
    """Return the first and the last played time, in the unit of the clip: the active segment (only its start if it is
    invalid), extended to keys outside of it.

    A single key does not extend the segment: its track is constant. Neither does the first key of a step track: its
    value holds before it, too.
    """
    longest = LONGEST * max(clip.units_per_frame, 1.0) if math.isfinite(clip.units_per_frame) else LONGEST
    begin, end = clip.start, clip.end
    if not (math.isfinite(begin) and math.isfinite(end) and 0 <= end - begin <= longest):
        begin = end = begin if math.isfinite(begin) else 0.0
    for channel in clip.channels:
        times = channel.track.times
        if len(times) > 1 and len(times := _playing_times(channel.track, longest)):
            begin, end = min(begin, float(times.min())), max(end, float(times.max()))
    return begin, end


def active_segment(clip: Clip) -> tuple[float, float] | None:
    """Return the first and last frame of the active segment, if it is only a part of the motion of a clip; else None.

    3D Studio plays and renders only these frames.
    """
    begin, end = clip_span(clip)
    if not (math.isfinite(clip.start) and begin <= clip.start < clip.end <= end):
        return None
    unit = clip.units_per_frame or 1.0
    return None if (begin, end) == (clip.start, clip.end) else (clip.start / unit, clip.end / unit)


def _playing_times(track: Track, longest: float) -> Floats:
    """Return the times of a track that extend a clip; empty with fewer than two usable keys."""
    times = track.times[np.abs(track.times) <= longest]  # false for NaN, too
    if len(times) < 2:
        return times[:0]
    return np.sort(times)[1:] if track.interpolation is Interpolation.STEP else times


_MEASURED: ContextVar[list[float] | None] = ContextVar("_MEASURED", default=None)


@contextmanager
def measured_once() -> Iterator[None]:
    """Measure only the first scene in this block: `scene_size` returns its size for all later scenes, too.

    The later scenes must be derived from the first one; changing the axes of a scene does not change its size.
    """
    if _MEASURED.get() is not None:
        yield
        return
    token = _MEASURED.set([])
    try:
        yield
    finally:
        _MEASURED.reset(token)


def scene_size(scene: Scene, rig: Rig | None = None, poses: Poses | None = None) -> float:
    """Return the size of a scene, as defined above, in its unit; 1 if it is 0. ``rig`` is a rig of its first clip, and
    ``poses`` are its `poses_of_size`."""
    measured = _MEASURED.get()
    if measured:
        return measured[0]
    rig = rig or Rig(scene)
    size = _diagonal(scene, rig, *(poses or poses_of_size(rig)))
    if measured is not None:
        measured.append(size)
    return size


Poses = tuple[Samples, Floats]
"""samples, and world matrices (T, nodes, 4, 4)"""


def poses_of_size(rig: Rig) -> Poses:
    """Return the poses that `scene_size` looks at; the first one is the start of the clip."""
    moments = _moments(rig.clip, max(len(rig.scene.nodes), 1)) if rig.channels.animated else np.zeros(1)
    samples = rig.sample(moments)
    return samples, rig.world(samples, len(moments))


def _diagonal(scene: Scene, rig: Rig, samples: Samples, world: Floats) -> float:
    box = GrowingBox()
    with np.errstate(all="ignore"):
        box.add(world[:, :, :3, 3].reshape(-1, 3))
        _add_vertices(box, scene, rig.properties.morph_weights(samples, len(world)), world)
    return box.diagonal


def _moments(clip: Clip, node_count: int) -> Floats:
    """Return times in the unit of the clip, both ends first, so that the first few are spread over the clip, too."""
    begin, end = clip_span(clip)
    if not end > begin:
        return np.array([begin])
    fractions = (np.arange(1, MOMENTS - 1) * _GOLDEN) % 1.0
    affordable = max(1, budget_left("samples") // (_BUDGET_SHARE * _SAMPLES_PER_NODE * node_count))
    count = min(max(LEAST_MOMENTS, MOST_MATRICES // node_count), affordable)
    return np.asarray(begin + (end - begin) * np.concatenate([[0.0, 1.0], fractions])[:count])


class GrowingBox:
    """A bounding box that grows around points; points that are not finite or beyond `FARTHEST` are ignored. Corners
    are plain floats, which are faster than arrays of three.
    """

    def __init__(self) -> None:
        self.low, self.high = [math.inf] * 3, [-math.inf] * 3

    def add(self, points: Floats) -> None:
        """Add points (n, 3)."""
        if not len(points):
            return
        columns = points.T.copy()  # numpy is slow on a last axis of length 3
        low: list[float] = np.minimum.reduce(columns, axis=1).tolist()
        high: list[float] = np.maximum.reduce(columns, axis=1).tolist()
        if all(-FARTHEST < number < FARTHEST for number in (*low, *high)):  # false for NaN, too
            self.low, self.high = [*map(min, self.low, low)], [*map(max, self.high, high)]
        else:
            self.add(points[(np.abs(points) < FARTHEST).all(axis=1)])

    @property
    def is_empty(self) -> bool:
        return self.low[0] == math.inf

    @property
    def diagonal(self) -> float:
        """The length of the diagonal; 1 if that is 0 or the box is empty."""
        return 1.0 if self.is_empty else float(quat.length_of(np.subtract(self.high, self.low))) or 1.0

    @property
    def middle(self) -> Floats:
        """The centre; the origin if the box is empty."""
        return np.zeros(3) if self.is_empty else 0.5 * np.add(self.low, self.high)


def _add_vertices(box: GrowingBox, scene: Scene, weights: dict[int, Floats], world: Floats) -> None:
    """Add the vertices of all meshes, at fewer moments if many of them move. For a deformed mesh that would exceed the
    budget, the box of its stored vertices is added."""
    with_mesh = [number for number, node in enumerate(scene.nodes) if node.mesh is not None]
    if not with_mesh:
        return
    moves = (world[1:] != world[0]).any(axis=(0, 2, 3))
    deformed = [number for number in with_mesh if scene.nodes[number].skin is not None or number in weights]
    rigid = [number for number in with_mesh if scene.nodes[number].skin is None and number not in weights]
    still, moving = ([number for number in rigid if moves[number] == wanted] for wanted in (False, True))
    count = sum(_vertex_count(scene, number) for number in (*moving, *deformed))
    world_at_few = world[: max(LEAST_MOMENTS, MOST_VERTICES // max(count, 1))]
    _add_rigid(box, scene, still, world[:1])
    _add_rigid(box, scene, moving, world_at_few)
    for number in deformed:
        if _vertex_count(scene, number) * len(world_at_few) > budget_left("samples") // _BUDGET_SHARE:
            box.add(_corners(np.asarray(scene.meshes[scene.nodes[number].mesh or 0].positions, np.float64)))
            continue
        node_weights = weights.get(number)
        few_weights = None if node_weights is None else node_weights[: len(world_at_few)]
        posed = posed_vertices(scene, number, world_at_few, few_weights)
        box.add(posed.reshape(-1, 3))


def _vertex_count(scene: Scene, number: int) -> int:
    return len(scene.meshes[scene.nodes[number].mesh or 0].positions)


def _add_rigid(box: GrowingBox, scene: Scene, numbers: list[int], world: Floats) -> None:
    """Add rigid meshes; those with equal vertex counts together: scenes of thousands of nodes use the same few
    meshes."""
    by_count: dict[int, list[int]] = {}
    for number in numbers:
        by_count.setdefault(_vertex_count(scene, number), []).append(number)
    for count, members in by_count.items():
        step = max(1, _POINTS_PER_BLOCK // max(count * len(world), 1))
        for begin in range(0, len(members) if count else 0, step):
            block = members[begin : begin + step]
            point_arrays = [_points_of_node(scene, number) for number in block]
            points = np.stack(point_arrays) if len(block) > 1 else point_arrays[0][None]
            box.add(affine.transform_points(world[:, block], points).reshape(-1, 3))


def _points_of_node(scene: Scene, number: int) -> Floats:
    """Return the vertices (V, 3) of a node, in the space of the node."""
    node = scene.nodes[number]
    points = np.asarray(scene.meshes[node.mesh or 0].positions, np.float64)
    pivot = stored(node, "pivot")
    return points if pivot is None else points - pivot


def _corners(points: Floats) -> Floats:
    """Return (8, 3) corners of the box around points."""
    box = GrowingBox()
    box.add(points)
    return np.empty((0, 3)) if box.is_empty else box.low + _CORNERS * np.subtract(box.high, box.low)
