"""Skins: influences of vertices as joints and weights, inverse bind matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from keyframer.exchange.gltf.asset import Json
from keyframer.exchange.gltf.context import Context
from keyframer.exchange.gltf.extras import attach, plain, shown_name
from keyframer.exchange.gltf.numbers import single
from keyframer.exchange.report import Outcome
from keyframer.scene import Skin

Floats = npt.NDArray[np.float64]
MOST = 8
"""influences of a vertex that are written: two sets of four"""


def influences(context: Context, number: int, vertices: int) -> tuple[npt.NDArray[Any], npt.NDArray[np.float32]]:
    """(V, 4 or 8) joint numbers and weights that sum to 1, heaviest first; a joint of no weight is 0.

    Vertices that nothing moves follow the joint behind the skin's own, which stands still (see `Skins`).
    """
    skin = context.scene.skins[number]
    owner, joint, weight = _summed(skin, vertices)
    rank = np.arange(len(owner)) - np.searchsorted(owner, owner)
    widest = int(rank.max(initial=0)) + 1
    if widest > MOST:
        lost = int(np.count_nonzero(rank >= MOST))
        detail = f"{lost} influences beyond {MOST} for a vertex are left out"
        context.report.add(Outcome.APPROXIMATED, f"/skins/{skin.name}/weights", detail, extras=skin.extras)
        keep = rank < MOST
        owner, joint, weight, rank = owner[keep], joint[keep], weight[keep], rank[keep]
    width = 4 if widest <= 4 else MOST
    joints = np.zeros((vertices, width), np.uint8 if len(skin.joints) < 255 else np.uint16)
    weights = np.zeros((vertices, width))
    joints[owner, rank], weights[owner, rank] = joint, weight
    total = weights.sum(axis=1)
    free = total == 0
    joints[free, 0], weights[free, 0], total[free] = len(skin.joints), 1.0, 1.0
    written = single(weights / total[:, None])
    written[:, 0] += np.float32(1.0) - written.sum(axis=1, dtype=np.float32)  # the heaviest takes the rounding
    joints[written == 0] = 0
    return joints, written


def _summed(skin: Skin, vertices: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], Floats]:
    """Influences by vertex, heaviest first; one joint counts once, and only with weight."""
    owner = np.asarray(skin.vertices).astype(np.int64)
    joint = np.asarray(skin.influences).astype(np.int64)
    weight = np.nan_to_num(np.asarray(skin.weights, np.float64))
    usable = (owner >= 0) & (owner < vertices) & (joint >= 0) & (joint < len(skin.joints)) & (weight > 0)
    owner, joint, weight = owner[usable], joint[usable], weight[usable]
    pairs, place = np.unique(owner * max(len(skin.joints), 1) + joint, return_inverse=True)
    total: Floats = np.asarray(np.bincount(place.reshape(-1), weight, len(pairs)), np.float64)
    owner, joint = np.divmod(pairs, max(len(skin.joints), 1))
    order = np.lexsort((-total, owner))
    return owner[order], joint[order], total[order]


def bind_error(skin: Skin, positions: npt.ArrayLike) -> float:
    """How far positions given for each influence are from what the inverse bind matrices make of the mesh."""
    if skin.positions is None or not len(skin.vertices):
        return 0.0
    joint = np.asarray(skin.influences).astype(np.int64)
    bound = np.asarray(positions, np.float64)[np.asarray(skin.vertices).astype(np.int64)]
    matrices = np.asarray(skin.inverse_bind, np.float64)[joint]
    made = np.einsum("nij,nj->ni", matrices[:, :3, :3], bound) + matrices[:, :3, 3]
    differences = np.abs(made - skin.positions).max(axis=1) * (np.asarray(skin.weights, np.float64) > 0)
    return float(np.nan_to_num(differences).max(initial=0.0))


class Skins:
    """Writes skins; the joints are nodes of the tree, whose numbers are known by then."""

    def __init__(self, context: Context, joint_nodes: list[int], root: int) -> None:
        self._context = context
        self._joint_nodes = joint_nodes
        self._root = root
        self._written: dict[int, int] = {}

    def write(self, number: int, mesh: int) -> int:
        """The glTF skin for one of the scene; ``mesh`` is the mesh of the scene it moves."""
        if number not in self._written:
            self._written[number] = self._write(self._context.scene.skins[number], mesh)
        return self._written[number]

    def _write(self, skin: Skin, mesh: int) -> int:
        context = self._context
        joints = [self._joint_nodes[node] for node in skin.joints]
        matrices = context.axes.matrices(np.asarray(skin.inverse_bind, np.float64).reshape(-1, 4, 4))
        if _has_free_vertices(skin, len(context.scene.meshes[mesh].positions)):
            joints.append(self._root)
            matrices = np.concatenate([matrices, np.eye(4)[None]])
        columns = single(np.swapaxes(matrices, -1, -2))  # glTF stores columns
        columns[:, :, 3] = (0.0, 0.0, 0.0, 1.0)
        written: Json = {
            "joints": joints,
            "inverseBindMatrices": context.asset.buffers.matrices(np.ascontiguousarray(columns.reshape(-1, 16))),
        }
        if skin.name:
            written["name"] = shown_name(skin.name)
        if skin.extras:
            attach(written, {"extras": plain(skin.extras)})
        path = f"/skins/{skin.name}"
        error = bind_error(skin, context.scene.meshes[mesh].positions)
        if error > context.options.max_error * context.size:
            detail = "positions for each influence become one bind position"
            context.report.add(Outcome.APPROXIMATED, path, detail, error=error, unit="scene unit", extras=skin.extras)
        else:
            context.report.add(Outcome.EXACT, path, extras=skin.extras)
        context.asset.skins.append(written)
        return len(context.asset.skins) - 1


def _has_free_vertices(skin: Skin, vertices: int) -> bool:
    """Whether some vertex follows no joint."""
    weight = np.asarray(skin.weights, np.float64)
    owner = np.asarray(skin.vertices).astype(np.int64)[weight > 0]
    return len(np.unique(owner)) < vertices
