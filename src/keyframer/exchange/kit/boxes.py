"""Boxes around meshes, joints and what is visible."""

from __future__ import annotations

import numpy as np

from keyframer.arrays import Floats
from keyframer.exchange.kit.numbers import bounds
from keyframer.maths import affine
from keyframer.maths.distinct_values import unique_values
from keyframer.posing.bounds_and_duration import GrowingBox
from keyframer.posing.vertices import posed_vertices
from keyframer.scene import Scene

Box = tuple[Floats, Floats]


def mesh_boxes(scene: Scene) -> list[Box]:
    """Return lower and upper corner of the box around each mesh, in its own space.

    Vertices with non-finite numbers are ignored; the box then includes the origin.
    """
    boxes: list[Box] = []
    for mesh in scene.meshes:
        points = np.asarray(mesh.positions)
        if not len(points):
            boxes.append((np.zeros(3), np.zeros(3)))
            continue
        with np.errstate(invalid="ignore"):  # for signalling NaNs in files
            low, high = map(np.array, bounds(points))
        if not (np.isfinite(low).all() and np.isfinite(high).all()):
            finite = points[np.isfinite(points).all(axis=1)]
            low = finite.min(axis=0, initial=0.0).astype(np.float64)
            high = finite.max(axis=0, initial=0.0).astype(np.float64)
        boxes.append((low, high))
    return boxes


def joint_boxes(scene: Scene) -> dict[int, Box]:
    """Return the bounding box of the vertices that each joint moves, in the space of the joint.

    The keys are node numbers.
    """
    boxes: dict[int, Box] = {}
    for node in scene.nodes:
        if node.mesh is None or node.skin is None:
            continue
        skin, points = scene.skins[node.skin], np.asarray(scene.meshes[node.mesh].positions, np.float64)
        vertex, joint = np.asarray(skin.vertex_indices, np.intp), np.asarray(skin.joint_indices, np.intp)
        usable = (vertex >= 0) & (vertex < len(points)) & (joint >= 0) & (joint < len(skin.joints))
        usable &= np.nan_to_num(np.asarray(skin.weights, np.float64)) > 0
        with np.errstate(all="ignore"):
            matrices = np.asarray(skin.inverse_bind, np.float64)[joint[usable]]
            bound = affine.transform_each(matrices, points[vertex[usable]])
        in_range = (np.abs(bound) < 1e30).all(axis=1)
        owner, bound = joint[usable][in_range], bound[in_range]
        low, high = np.full((len(skin.joints), 3), np.inf), np.full((len(skin.joints), 3), -np.inf)
        np.minimum.at(low, owner, bound)
        np.maximum.at(high, owner, bound)
        for number in unique_values(owner).tolist():
            box = boxes.get(skin.joints[number], (low[number], high[number]))
            boxes[skin.joints[number]] = np.minimum(box[0], low[number]), np.maximum(box[1], high[number])
    return boxes


def shown_extent(scene: Scene, world: Floats, shown: list[bool]) -> tuple[float, Floats]:
    """Return diagonal and centre of the box around the faces of the ``shown`` nodes at ``world`` (nodes, 4, 4).

    Without such faces the result is 1 and the origin. Meshes with a scale of 0 are ignored, unless they are skinned.
    """
    box = GrowingBox()
    with np.errstate(all="ignore"):
        scales = np.abs(affine.determinant(world))
        for number, node in enumerate(scene.nodes):
            if node.mesh is None or not shown[number] or (node.skin is None and not scales[number] > 0):
                continue
            corners = np.asarray(scene.meshes[node.mesh].corners).reshape(-1)
            used = np.zeros(len(scene.meshes[node.mesh].positions), np.bool_)
            used[corners[(corners >= 0) & (corners < len(used))]] = True
            box.add(posed_vertices(scene, number, world[None], None)[0][used])
    return box.diagonal, box.middle


def largest_distance(measured: Floats, expected: Floats, boxes: list[tuple[Floats, Floats]]) -> float:
    """Return how far apart two lists of matrices (T, nodes, 4, 4) place the same point: the largest distance along an
    axis, of the origins and of the corners of boxes. Boxes are centres and half sizes, (nodes, 3) each.

    The distance of the farthest corner is that of the centre plus the contribution of each axis of the box.
    """
    # entries first: numpy is slow on short last axes
    x, y, z, origins = (measured - expected)[..., :3, :].transpose(3, 2, 0, 1).copy()  # (3, T, nodes) each
    worst = [np.fmax.reduce(np.abs(origins), axis=None, initial=0.0)]  # NaN is ignored
    for centre, half in boxes:
        centres, halves = centre.T.copy(), half.T.copy()
        distances = np.abs(origins + x * centres[0] + y * centres[1] + z * centres[2])
        distances += np.abs(x) * halves[0] + np.abs(y) * halves[1] + np.abs(z) * halves[2]
        worst.append(np.fmax.reduce(distances, axis=None, initial=0.0))
    return float(np.nan_to_num(max(worst)))
