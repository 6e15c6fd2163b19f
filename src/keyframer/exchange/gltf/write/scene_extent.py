"""Boxes around meshes and joints, the extent of what lights shine on, and the time range that is written."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from keyframer.exchange.gltf.conventions import bounds
from keyframer.exchange.gltf.write.motion import Span
from keyframer.maths.distinct_values import unique_values
from keyframer.posing.bounds_and_duration import clip_span
from keyframer.posing.vertices import posed_vertices
from keyframer.scene import Clip, Scene

Floats = npt.NDArray[np.float64]
Box = tuple[Floats, Floats]


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


def written_span(clip: Clip, fps: float | None) -> Span:
    """What is written of a clip, at ``fps`` frames a second (None: its own): who opens the file expects the whole
    animation."""
    rate = clip.rate if fps is None else fps * clip.units_per_frame
    if not (np.isfinite(rate) and rate > 0):
        rate = 30.0 * clip.units_per_frame
    return Span(*clip_span(clip), rate, _frame(clip))


def _frame(clip: Clip) -> float:
    length = float(clip.units_per_frame)
    return length if np.isfinite(length) and length > 0 else 1.0
