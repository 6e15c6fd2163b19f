"""How large a scene is, which errors, near planes and lights are measured by, and the time range of a clip."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from keyframer.curves import Interpolation, Track
from keyframer.curves.lazy_fields import stored
from keyframer.exchange.gltf.conventions import bounds
from keyframer.exchange.gltf.write.motion import Span
from keyframer.maths import affine
from keyframer.maths.counting import unique_values
from keyframer.posing import Rig
from keyframer.posing.vertices import posed_vertices
from keyframer.scene import Clip, Scene

Floats = npt.NDArray[np.float64]
Box = tuple[Floats, Floats]

_TIMES = 17
_BLOCK = 1024
"""nodes that are looked at together"""
_NOWHERE = (0.0, 0.0, 0.0)
_CORNERS = np.array([(x, y, z) for x in (0, 1) for y in (0, 1) for z in (0, 1)], np.float64)


def mesh_boxes(scene: Scene) -> list[Box]:
    """Lower and upper corner of each mesh, in its own space; numbers that are none do not count."""
    boxes: list[Box] = []
    for mesh in scene.meshes:
        points = np.asarray(mesh.positions)
        if not len(points):
            boxes.append((np.zeros(3), np.zeros(3)))
            continue
        with np.errstate(invalid="ignore"):  # of signalling NaNs, which a file may hold
            low, high = map(np.array, bounds(points))
        if not (np.isfinite(low).all() and np.isfinite(high).all()):
            clean = points[np.isfinite(points).all(axis=1)]
            low = clean.min(axis=0, initial=0.0).astype(np.float64)
            high = clean.max(axis=0, initial=0.0).astype(np.float64)
        boxes.append((low, high))
    return boxes


def joint_boxes(scene: Scene) -> dict[int, Box]:
    """Lower and upper corner of what each joint moves, in the joint's own space, by its node."""
    boxes: dict[int, Box] = {}
    for node in scene.nodes:
        if node.mesh is None or node.skin is None:
            continue
        skin, points = scene.skins[node.skin], np.asarray(scene.meshes[node.mesh].positions, np.float64)
        vertex, joint = np.asarray(skin.vertices, np.intp), np.asarray(skin.influences, np.intp)
        usable = (vertex >= 0) & (vertex < len(points)) & (joint >= 0) & (joint < len(skin.joints))
        usable &= np.nan_to_num(np.asarray(skin.weights, np.float64)) > 0
        with np.errstate(all="ignore"):
            matrices = np.asarray(skin.inverse_bind, np.float64)[joint[usable]]
            bound = np.einsum("nij,nj->ni", matrices[:, :3, :3], points[vertex[usable]]) + matrices[:, :3, 3]
        fine = (np.abs(bound) < 1e30).all(axis=1)
        owner, bound = joint[usable][fine], bound[fine]
        low, high = np.full((len(skin.joints), 3), np.inf), np.full((len(skin.joints), 3), -np.inf)
        np.minimum.at(low, owner, bound)
        np.maximum.at(high, owner, bound)
        for number in unique_values(owner).tolist():
            known = boxes.get(skin.joints[number], (low[number], high[number]))
            boxes[skin.joints[number]] = np.minimum(known[0], low[number]), np.maximum(known[1], high[number])
    return boxes


def scene_size(scene: Scene, rig: Rig, span: Span | None, boxes: list[Box]) -> float:
    """The diagonal of the box around all that is drawn, at some times of the clip; of the nodes' origins where nothing
    is drawn. It is never 0."""
    times = np.zeros(1) if span is None else np.linspace(span.begin, span.end, _TIMES if span.end > span.begin else 1)
    drawn = [number for number, node in enumerate(scene.nodes) if node.mesh is not None]
    world = rig.world(rig.sample(times), len(times))
    if not drawn:
        every = _usable(world[..., :3, 3].reshape(-1, 3))
    else:
        with np.errstate(all="ignore"):
            parts = [
                _usable(_corners(scene, drawn[begin : begin + _BLOCK], boxes, world))
                for begin in range(0, len(drawn), _BLOCK)
            ]
        every = parts[0] if len(parts) == 1 else np.array([row for part in parts if len(part) for row in bounds(part)])
    return _diagonal_and_middle(every)[0]


def shown_extent(scene: Scene, world: Floats, shown: npt.NDArray[np.bool_]) -> tuple[float, Floats]:
    """Diagonal and middle of the box around the faces of the nodes that are ``shown``, where ``world`` (nodes, 4, 4)
    puts them; 1 and the origin where there is none. Meshes that are scaled to nothing do not count."""
    found: list[Floats] = []
    with np.errstate(all="ignore"):
        scales = np.abs(np.linalg.det(world[:, :3, :3]))
        for number, node in enumerate(scene.nodes):
            if node.mesh is None or not shown[number] or (node.skin is None and not scales[number] > 0):
                continue
            corners = np.asarray(scene.meshes[node.mesh].corners).reshape(-1)
            used = np.zeros(len(scene.meshes[node.mesh].positions), np.bool_)
            used[corners[(corners >= 0) & (corners < len(used))]] = True
            points = _usable(posed_vertices(scene, number, world[None], None)[0][used])
            found += [np.array(bounds(points))] if len(points) else []
    return _diagonal_and_middle(np.concatenate(found) if found else np.empty((0, 3)))


def _diagonal_and_middle(points: Floats) -> tuple[float, Floats]:
    if not len(points):
        return 1.0, np.zeros(3)
    low, high = map(np.array, bounds(points))
    return float(np.linalg.norm(high - low)) or 1.0, 0.5 * (low + high)


def _usable(points: Floats) -> Floats:
    return points[(np.abs(points) < 1e30).all(axis=1)]  # false for NaN, too


def _corners(scene: Scene, drawn: list[int], boxes: list[Box], world: Floats) -> Floats:
    """(n, 3) the corners of the boxes of nodes, in the scene; what has a skin is there already."""
    bare = [number for number in drawn if scene.nodes[number].skin is None]
    skinned = [number for number in drawn if scene.nodes[number].skin is not None]
    found = [_boxes(scene, skinned, boxes).reshape(-1, 3)] if skinned else []
    if bare:
        pivots = [stored(scene.nodes[number], "pivot") for number in bare]
        shifts = np.array([_NOWHERE if pivot is None else pivot for pivot in pivots], np.float64)
        box = _boxes(scene, bare, boxes) - shifts[:, None]
        found.append(affine.transform_points(world[:, bare], box).reshape(-1, 3))
    return found[0] if len(found) == 1 else np.concatenate(found)


def _boxes(scene: Scene, drawn: list[int], boxes: list[Box]) -> Floats:
    """(n, 8, 3) corners, each box in its own space."""
    low, high = (np.stack([boxes[scene.nodes[number].mesh or 0][side] for number in drawn]) for side in (0, 1))
    return np.asarray(low[:, None] + _CORNERS * (high - low)[:, None])


LONGEST = 1e7
"""units of time from 0, 92 hours of frames: segments and keys that claim more are not believed"""


def clip_span(clip: Clip, fps: float | None) -> Span:
    """The union of the active segment and the keys: who opens the file expects the whole animation.

    The first key of steps is no reason to begin earlier: its value holds before it too.
    """
    rate = clip.rate if fps is None else fps * clip.units_per_frame
    if not (np.isfinite(rate) and rate > 0):
        rate = 30.0 * clip.units_per_frame
    begin, end = _finite(clip.start), _finite(clip.end)
    if end < begin or end - begin > LONGEST:
        end = begin
    for channel in clip.channels:
        times = key_times(channel.track)
        if len(times):
            begin, end = min(begin, float(times.min())), max(end, float(times.max()))
    return Span(begin, end, rate, _frame(clip))


def key_times(track: Track) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """The times that count for the length of a clip; none of a track that holds still."""
    times = track.times
    if len(times) > 1:
        times = times[np.isfinite(times)]
    if len(times) < 2:
        return times[:0]
    if track.interpolation is Interpolation.STEP:
        times = np.sort(times)[1:]
    return times[np.abs(times) <= LONGEST]


def _frame(clip: Clip) -> float:
    length = float(clip.units_per_frame)
    return length if np.isfinite(length) and length > 0 else 1.0


def _finite(value: float) -> float:
    return float(value) if np.isfinite(value) else 0.0
