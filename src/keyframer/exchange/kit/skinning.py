"""Influences of skins as today's formats store them: a few for each vertex, with weights that sum to 1."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from keyframer.arrays import Array, Floats, Indices, Singles
from keyframer.exchange.kit.numbers import single
from keyframer.maths import affine
from keyframer.maths.distinct_values import unique_values
from keyframer.scene import Skin
from keyframer.scene.loss_report import LossReport
from keyframer.scene.losses import SKIN_CHANGED

MOST_INFLUENCES = 8
"""maximum number of influences of a vertex that are written: two sets of four"""


def influences(skin: Skin, vertex_count: int, report: LossReport) -> tuple[Array, Singles]:
    """Return (V, 4 or 8) joint indices and weights that sum to 1, heaviest first; joints without weight are 0.

    Vertices without influences follow an additional static joint after those of the skin.
    """
    vertex, joint, weight = _merged_influences(skin, vertex_count)
    rank = np.arange(len(vertex)) - np.searchsorted(vertex, vertex)
    widest = int(rank.max(initial=0)) + 1
    if widest > MOST_INFLUENCES:
        dropped = int(np.count_nonzero(rank >= MOST_INFLUENCES))
        path, most = f"/skins/{skin.name}/weights", MOST_INFLUENCES
        report.add(SKIN_CHANGED["weights"], path, extras=skin.extras, count=dropped, most=most)
        keep = rank < MOST_INFLUENCES
        vertex, joint, weight, rank = vertex[keep], joint[keep], weight[keep], rank[keep]
    width = 4 if widest <= 4 else MOST_INFLUENCES
    joints = np.zeros((vertex_count, width), np.uint8 if len(skin.joints) < 255 else np.uint16)
    weights = np.zeros((vertex_count, width))
    joints[vertex, rank], weights[vertex, rank] = joint, weight
    total = weights.sum(axis=1)
    unbound = total == 0
    joints[unbound, 0], weights[unbound, 0], total[unbound] = len(skin.joints), 1.0, 1.0
    written = single(weights / total[:, None])
    written[:, 0] += np.float32(1.0) - written.sum(axis=1, dtype=np.float32)  # the heaviest absorbs rounding
    joints[written == 0] = 0
    return joints, written


def _merged_influences(skin: Skin, vertex_count: int) -> tuple[Indices, Indices, Floats]:
    """Return vertex, joint and weight of each influence, by vertex, heaviest first; equal joints are added up."""
    vertex = np.asarray(skin.vertex_indices).astype(np.int64)
    joint = np.asarray(skin.joint_indices).astype(np.int64)
    weight = np.nan_to_num(np.asarray(skin.weights, np.float64))
    usable = (vertex >= 0) & (vertex < vertex_count) & (joint >= 0) & (joint < len(skin.joints)) & (weight > 0)
    vertex, joint, weight = vertex[usable], joint[usable], weight[usable]
    pairs, place = np.unique(vertex * max(len(skin.joints), 1) + joint, return_inverse=True)
    total: Floats = np.asarray(np.bincount(place.reshape(-1), weight, len(pairs)), np.float64)
    vertex, joint = np.divmod(pairs, max(len(skin.joints), 1))
    order = np.lexsort((-total, vertex))
    return vertex[order], joint[order], total[order]


def bind_error(skin: Skin, positions: npt.ArrayLike) -> float:
    """Return how far the positions that a skin stores for each influence are from those that its inverse bind matrices
    give: the largest difference along an axis, 0 if the skin stores no positions.
    """
    if skin.positions is None or not len(skin.vertex_indices):
        return 0.0
    joint = np.asarray(skin.joint_indices).astype(np.int64)
    bound = np.asarray(positions, np.float64)[np.asarray(skin.vertex_indices).astype(np.int64)]
    matrices = np.asarray(skin.inverse_bind, np.float64)[joint]
    bound_positions = affine.transform_each(matrices, bound)
    differences = np.abs(bound_positions - skin.positions).max(axis=1) * (np.asarray(skin.weights, np.float64) > 0)
    return float(np.nan_to_num(differences).max(initial=0.0))


def has_unbound_vertices(skin: Skin, vertex_count: int) -> bool:
    """Return whether some vertex follows no joint."""
    weight = np.asarray(skin.weights, np.float64)
    bound = np.asarray(skin.vertex_indices).astype(np.int64)[weight > 0]
    return len(unique_values(bound)) < vertex_count
