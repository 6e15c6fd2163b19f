"""Vertices of a posed mesh: morphed, skinned, transformed to scene space."""

from __future__ import annotations

import numpy as np

from keyframer.arrays import Floats, Indices
from keyframer.limits import spend
from keyframer.maths import affine
from keyframer.scene import Scene, Skin

BLOCKS = (128, 16)
"""numbers of vertices processed at once: 128, because neighbours in a mesh usually follow the same few bones; 16 if the
128 follow more than `BONES_PER_BLOCK`
"""
BONES_PER_BLOCK = 64
"""with more bones, most products would be zero"""
TIMES_PER_BLOCK = 128
"""times at once, so that the data of a block stays in the cache of the processor"""
SHAPES_PER_SAMPLE = 32
"""number of shapes that are blended into a vertex in the time that one sample takes"""
PRODUCTS_AT_ONCE = 1 << 18
"""multiplications in one matrix product: beyond this OpenBLAS uses several threads, which is slower for matrices this
thin, and ten times slower if other programs use the processor, too
"""


def posed_vertices(scene: Scene, number: int, world: Floats, weights: Floats | None) -> Floats:
    """Return vertices (T, V, 3) in scene space; (T, 0, 3) for a node without a mesh."""
    node = scene.nodes[number]
    count = len(world)
    if node.mesh is None:
        return np.empty((count, 0, 3))
    base = np.asarray(scene.meshes[node.mesh].positions, np.float64)
    spend("samples", count * len(base))
    shaped = base[None]
    if weights is not None and node.morph is not None and node.morph.positions:
        spend("samples", count * len(base) * len(node.morph.positions) // SHAPES_PER_SAMPLE)
        shaped = _morphed(weights, np.stack([np.asarray(shape, np.float64) for shape in node.morph.positions]))
    if node.skin is not None:
        return skinned(scene.skins[node.skin], shaped, world)
    return affine.transform_points(world[:, number], np.broadcast_to(shaped - node.pivot, (count, *base.shape)))


def _morphed(weights: Floats, shapes: Floats) -> Floats:
    """Return (T, V, 3) from weights (T, S) and shapes (S, V, 3)."""
    flat = shapes.reshape(len(shapes), -1)
    out = np.empty((len(weights), flat.shape[1]))
    step = max(1, PRODUCTS_AT_ONCE // max(flat.size, 1))
    for start in range(0, len(weights), step):
        np.matmul(weights[start : start + step], flat, out=out[start : start + step])
    return out.reshape(len(weights), *shapes.shape[1:])


def skinned(skin: Skin, shaped: Floats, world: Floats) -> Floats:
    """Return (T, V, 3): vertices moved by their bones, with normalised weights.

    ``shaped`` is (1, V, 3), or (T, V, 3) if the mesh is morphed. Bones move these vertices, or the positions of the
    skin if it has some; vertices whose weights sum to 0 stay as in ``shaped``.
    """
    influences = SortedInfluences(skin, shaped.shape[1])
    bones = world[:, np.asarray(skin.joints, np.int64)]
    if skin.positions is not None:
        out = influences.skinned_positions(bones, np.asarray(skin.positions, np.float64)[influences.order])
    else:
        bones = affine.multiply(bones, skin.inverse_bind)
        if len(shaped) == 1:
            out = influences.skinned_positions(bones, shaped[0, influences.vertex_indices])
        else:
            parts = [
                influences.skinned_positions(bones[at : at + 1], positions[influences.vertex_indices])
                for at, positions in enumerate(shaped)
            ]
            out = np.concatenate(parts) if parts else np.empty((0, *shaped.shape[1:]))
    if influences.unweighted.any():
        out[:, influences.unweighted] = shaped[:, influences.unweighted]
    return out


def turned_by_bones(skin: Skin, vertices: Indices, directions: Floats, world: Floats) -> Floats:
    """Return directions (n, 3), each at a vertex (n,), turned by the bones of the vertex at the time of ``world``
    (1, N, 4, 4); those at a vertex without weights stay."""
    bones = affine.multiply(world[0, np.asarray(skin.joints, np.int64)], skin.inverse_bind)[:, :3, :3]
    influences = SortedInfluences(skin, int(vertices.max(initial=-1)) + 1)
    turned = np.zeros((len(influences.unweighted), 3, 3))
    np.add.at(turned, influences.vertex_indices, bones[influences.joints] * influences.weights[:, None, None])
    turned[influences.unweighted] = np.eye(3)
    return np.asarray(np.einsum("nij,nj->ni", turned[vertices], directions))


class SortedInfluences:
    """Influences sorted by vertex, with weights that sum to 1, or to 0, for each vertex."""

    def __init__(self, skin: Skin, vertex_count: int) -> None:
        vertex_indices = np.asarray(skin.vertex_indices, np.int64)
        self.order: Indices = np.argsort(vertex_indices, kind="stable")
        self.vertex_indices = vertex_indices[self.order]
        self.joints = np.asarray(skin.joint_indices, np.int64)[self.order]
        weights = np.nan_to_num(np.asarray(skin.weights, np.float64), nan=0.0, posinf=0.0, neginf=0.0)[self.order]
        total = np.bincount(self.vertex_indices, weights, vertex_count)
        self.unweighted = total == 0
        """(V,) whether the weights of a vertex sum to 0"""
        self.weights: Floats = weights / np.where(self.unweighted, 1.0, total)[self.vertex_indices]

    def skinned_positions(self, bones: Floats, positions: Floats) -> Floats:
        """Return (T, V, 3) from bones (T, J, 4, 4) and a position for each influence.

        A vertex is the sum of ``bone . (weight . position, weight)`` over its influences, and only the bones change
        with time. So a block of vertices is one matrix, and all its times are one product.
        """
        vertices = len(self.unweighted)
        out = np.empty((len(bones), vertices, 3))
        rows = np.ascontiguousarray(np.swapaxes(bones[:, :, :3], 1, 2))  # (T, 3, J, 4)
        weighted = np.column_stack([positions, np.ones(len(positions))]) * self.weights[:, None]
        begin = 0
        while begin < vertices:
            for size in BLOCKS:
                end = min(begin + size, vertices)
                first, last = np.searchsorted(self.vertex_indices, (begin, end))
                used, places = np.unique(self.joints[first:last], return_inverse=True)
                if len(used) <= BONES_PER_BLOCK:
                    break
            cells = (4 * places.reshape(-1, 1) + np.arange(4)) * (end - begin)
            cells += (self.vertex_indices[first:last] - begin)[:, None]
            block = np.bincount(cells.ravel(), weighted[first:last].ravel(), 4 * len(used) * (end - begin)).reshape(
                -1, end - begin
            )
            _multiply(rows, used, np.asarray(block, np.float64), out[:, begin:end])
            begin = end
        return out


def _multiply(rows: Floats, used: Indices, block: Floats, out: Floats) -> None:
    """Multiply one block of vertices (4 x bones, vertices) by the bones it uses, at all times."""
    height, width = block.shape
    step = max(1, PRODUCTS_AT_ONCE // max(3 * block.size, 1))
    for start in range(0, len(rows), TIMES_PER_BLOCK):
        count = min(TIMES_PER_BLOCK, len(rows) - start)
        bone_rows = rows[start : start + count, :, used].reshape(count, 3, height)
        moved = np.empty((count, 3, width))
        in_full_steps = count - count % step
        stacked_shape = (in_full_steps // step, 3 * step)
        stacked = bone_rows[:in_full_steps].reshape(*stacked_shape, height)
        np.matmul(stacked, block, out=moved[:in_full_steps].reshape(*stacked_shape, width))
        np.matmul(bone_rows[in_full_steps:], block, out=moved[in_full_steps:])
        for axis in range(3):  # numpy is slow on a last axis of length 3
            out[start : start + count, :, axis] = moved[:, axis]
