"""The duration of a clip and the size of a scene, measured only here.

The size of a scene is the diagonal of the box around all its vertices (morphed, skinned, placed) and the origins of all
its nodes, over the first clip. The clip is sampled at up to `MOMENTS` times: its first, its last, and moments that
divide it by the golden ratio, so that no regular motion falls in step with them.
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
from keyframer.maths import affine
from keyframer.posing.rig import Rig
from keyframer.posing.vertices import posed_vertices
from keyframer.scene import Clip, Scene

LONGEST = 1e7
"""frames, 92 hours: segments and keys that claim more are ignored"""
FARTHEST = 1e30
"""positions beyond are ignored"""
MOMENTS = 33
LEAST_MOMENTS = 5
"""smallest number of moments for animated parts, however large they are, if the budget of samples allows it"""
MOST_MATRICES = 100_000
"""nodes x moments; larger scenes are sampled at fewer moments"""
MOST_VERTICES = 1_000_000
"""moving vertices x moments, likewise"""
_SHARE, _NUMBERS = 8, 64
"""at most one eighth of the budget of samples is spent; a node takes up to 64 samples at each moment"""
_AT_ONCE = 1 << 18
_GOLDEN = (math.sqrt(5) - 1) / 2
_CORNERS = np.array([(x, y, z) for x in (0, 1) for y in (0, 1) for z in (0, 1)], np.float64)


def clip_span(clip: Clip) -> tuple[float, float]:
    """Return the first and the last played time, in the unit of the clip: the active segment, extended to keys outside
    of it.

    A single key does not extend the segment: its track is constant. Neither does the first key of a step track: its
    value holds before it, too.
    """
    longest = LONGEST * max(clip.units_per_frame, 1.0) if math.isfinite(clip.units_per_frame) else LONGEST
    begin, end = clip.start, clip.end
    if not (math.isfinite(begin) and math.isfinite(end) and 0 <= end - begin <= longest):
        begin = end = begin if math.isfinite(begin) else 0.0
    for channel in clip.channels:
        times = _playing_times(channel.track, longest)
        if len(times):
            begin, end = min(begin, float(times.min())), max(end, float(times.max()))
    return begin, end


def _playing_times(track: Track, longest: float) -> Floats:
    """Return the times of a track that extend a clip; empty if it does not move."""
    times = track.times
    if len(times) > 1:
        times = times[np.abs(times) <= longest]  # false for NaN, too
    if len(times) < 2:
        return times[:0]
    return np.sort(times)[1:] if track.interpolation is Interpolation.STEP else times


_MEASURED: ContextVar[list[float] | None] = ContextVar("_MEASURED", default=None)


@contextmanager
def measured_once() -> Iterator[None]:
    """Measure the size once in this block: that of the first scene also applies to all scenes derived from it.

    Changing the axes of a scene does not change its size.
    """
    if _MEASURED.get() is not None:
        yield
        return
    token = _MEASURED.set([])
    try:
        yield
    finally:
        _MEASURED.reset(token)


def scene_size(scene: Scene, rig: Rig | None = None) -> float:
    """Return the diagonal of the box around everything during the first clip, in scene units; 1 if it is 0."""
    measured = _MEASURED.get()
    if measured:
        return measured[0]
    size = _diagonal(scene, rig or Rig(scene))
    if measured is not None:
        measured.append(size)
    return size


def _diagonal(scene: Scene, rig: Rig) -> float:
    moments = _moments(rig.clip, max(len(scene.nodes), 1)) if rig.channels.animated else np.zeros(1)
    samples = rig.sample(moments)
    world = rig.world(samples, len(moments))
    box = GrowingBox()
    with np.errstate(all="ignore"):
        box.add(world[:, :, :3, 3].reshape(-1, 3))
        _add_vertices(box, scene, rig.states.morph_weights(samples, len(moments)), world)
    return box.diagonal


def _moments(clip: Clip, nodes: int) -> Floats:
    """Return times in the unit of the clip, the ends first; any prefix of them is spread over the clip."""
    begin, end = clip_span(clip)
    if not end > begin:
        return np.array([begin])
    fractions = (np.arange(1, MOMENTS - 1) * _GOLDEN) % 1.0
    affordable = max(1, budget_left("samples") // (_SHARE * _NUMBERS * nodes))
    count = min(max(LEAST_MOMENTS, MOST_MATRICES // nodes), affordable)
    return np.asarray(begin + (end - begin) * np.concatenate([[0.0, 1.0], fractions])[:count])


class GrowingBox:
    """A bounding box that grows around points; non-finite points are ignored. Corners are plain floats, which are
    faster than arrays of three.
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
        return 1.0 if self.is_empty else float(np.linalg.norm(np.subtract(self.high, self.low))) or 1.0

    @property
    def middle(self) -> Floats:
        """The centre; the origin if the box is empty."""
        return np.zeros(3) if self.is_empty else 0.5 * np.add(self.low, self.high)


def _add_vertices(box: GrowingBox, scene: Scene, weights: dict[int, Floats], world: Floats) -> None:
    """Add the vertices of all meshes; at fewer moments if many of them move."""
    drawn = [number for number, node in enumerate(scene.nodes) if node.mesh is not None]
    if not drawn:
        return
    moves = (world[1:] != world[0]).any(axis=(0, 2, 3))
    deformed = [number for number in drawn if scene.nodes[number].skin is not None or number in weights]
    rigid = [number for number in drawn if scene.nodes[number].skin is None and number not in weights]
    still, moving = ([number for number in rigid if moves[number] == wanted] for wanted in (False, True))
    count = sum(_vertex_count(scene, number) for number in (*moving, *deformed))
    few = world[: max(LEAST_MOMENTS, MOST_VERTICES // max(count, 1))]
    _add_rigid(box, scene, still, world[:1])
    _add_rigid(box, scene, moving, few)
    for number in deformed:
        if _vertex_count(scene, number) * len(few) > budget_left("samples") // _SHARE:
            box.add(_corners(np.asarray(scene.meshes[scene.nodes[number].mesh or 0].positions, np.float64)))
            continue
        shapes = weights.get(number)
        posed = posed_vertices(scene, number, few, None if shapes is None else shapes[: len(few)])
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
        step = max(1, _AT_ONCE // max(count * len(world), 1))
        for begin in range(0, len(members) if count else 0, step):
            block = members[begin : begin + step]
            own_points = [_own_points(scene, number) for number in block]
            points = np.stack(own_points) if len(block) > 1 else own_points[0][None]
            box.add(affine.transform_points(world[:, block], points).reshape(-1, 3))


def _own_points(scene: Scene, number: int) -> Floats:
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
