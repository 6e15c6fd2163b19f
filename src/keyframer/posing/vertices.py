"""Vertices of a posed mesh: mixed from shapes, carried by bones, placed in the scene."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from keyframer.maths import affine
from keyframer.scene import Scene, Skin

Floats = npt.NDArray[np.float64]


def posed_vertices(scene: Scene, number: int, world: Floats, weights: Floats | None) -> Floats:
    """(T, V, 3) in scene space; (T, 0, 3) for a node without a mesh."""
    node = scene.nodes[number]
    count = len(world)
    if node.mesh is None:
        return np.empty((count, 0, 3))
    base = np.asarray(scene.meshes[node.mesh].positions, np.float64)
    shaped = base[None]
    if weights is not None and node.morph is not None and node.morph.positions:
        shapes = np.stack([np.asarray(shape, np.float64) for shape in node.morph.positions])
        shaped = np.tensordot(weights, shapes, axes=1)
    if node.skin is not None:
        return skinned(scene.skins[node.skin], shaped, world)
    return affine.transform_points(world[:, number], np.broadcast_to(shaped - node.pivot, (count, *base.shape)))


def skinned(skin: Skin, shaped: Floats, world: Floats) -> Floats:
    """(T, V, 3): each vertex where its bones carry it. Weights are normalised here and nowhere else."""
    count, vertices = len(world), shaped.shape[1]
    weights = np.asarray(skin.weights, np.float64)
    owner = np.asarray(skin.vertices, np.int64)
    total = np.bincount(owner, weights, vertices)
    share = weights / np.where(total == 0, 1.0, total)[owner]
    joints = np.asarray(skin.joints, np.int64)
    bones = world[:, joints]
    if skin.positions is None:
        bones = np.matmul(bones, np.asarray(skin.inverse_bind, np.float64))
        source = np.broadcast_to(shaped, (count, *shaped.shape[1:]))[:, owner]
    else:
        source = np.broadcast_to(np.asarray(skin.positions, np.float64), (count, len(owner), 3))
    out = np.zeros((count, vertices, 3))
    chosen = np.asarray(skin.influences, np.int64)
    starts = np.flatnonzero(np.diff(owner, prepend=-1)) if len(owner) else np.empty(0, np.int64)
    for time in range(count):
        matrices = bones[time, chosen]
        moved = np.einsum("nij,nj->ni", matrices[:, :3, :3], source[time]) + matrices[:, :3, 3]
        if len(starts):
            out[time, owner[starts]] = np.add.reduceat(moved * share[:, None], starts, axis=0)
    free = total == 0
    if free.any():
        out[:, free] = np.broadcast_to(shaped, (count, *shaped.shape[1:]))[:, free]
    return out
