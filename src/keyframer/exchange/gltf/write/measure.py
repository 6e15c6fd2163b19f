"""How far what is written is from what was meant: the written tree is moved and compared with the scene's pose."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from keyframer.curves.lines import ROTATIONS, VECTORS
from keyframer.exchange.gltf.write.keys import LINEAR, Sampler, sample
from keyframer.exchange.gltf.write.motion import Span
from keyframer.exchange.gltf.write.nodes import Placed
from keyframer.exchange.gltf.write.options import Context
from keyframer.limits import left
from keyframer.maths import affine
from keyframer.posing import Rig

Floats = npt.NDArray[np.float64]
Samplers = Mapping[tuple[int, str], Sampler]
"""by node and path of a glTF channel"""

_MOST_MATRICES = 100_000
_MOST_TIMES = 1_000
_NUMBERS = 64
"""of the budget of samples that a matrix takes at most, so that something is left for the next round"""
_SHARES = np.array((0.05, 0.5, 0.95))
_CORNERS = np.array([(x, y, z) for x in (0, 1) for y in (0, 1) for z in (0, 1)], np.float64)
_REST = {"translation": (0.0, 0.0, 0.0), "rotation": (0.0, 0.0, 0.0, 1.0), "scale": (1.0, 1.0, 1.0)}


def world_error(context: Context, rig: Rig, span: Span, placed: list[Placed], samplers: Samplers) -> float:
    """The largest distance, in scene units, of origins and of the corners of boxes around geometry."""
    written = np.unique(np.concatenate([sampler.times for sampler in samplers.values()])).astype(np.float64)
    seconds = span.between_keys(written, _SHARES)
    parents = _parents(context)
    moving = _moving(context, parents, samplers)
    watched = [number for number, nodes in enumerate(placed) if moving[nodes.tail]]
    if not len(seconds) or not watched:
        return 0.0
    matrices = min(_MOST_MATRICES, left("samples") // _NUMBERS)
    most = max(24, min(_MOST_TIMES, matrices // max(len(context.scene.nodes), len(watched), 1)))
    if len(seconds) > most:
        seconds = seconds[np.linspace(0, len(seconds) - 1, most).astype(int)]
    meant = rig.world(rig.sample(seconds * span.rate + span.begin), len(seconds))
    to_file = context.axes.root_matrix()
    worst = 0.0
    straight = any(path == "rotation" and sampler.mode == LINEAR for (_, path), sampler in samplers.items())
    with np.errstate(all="ignore"):
        found = [_worlds(context, parents, moving, samplers, seconds, player) for player in range(1 + straight)]
        for number in watched:
            wanted = to_file @ context.axes.matrices(meant[:, number])
            points = _points(context, number)
            there = affine.transform_points(wanted, points)
            for worlds in found:
                away = affine.transform_points(worlds[placed[number].tail], points) - there
                worst = max(worst, float(np.nan_to_num(np.abs(away)).max(initial=0.0)))
    return worst / context.axes.unit


def _parents(context: Context) -> list[int]:
    parents = [-1] * len(context.asset.nodes)
    for number, node in enumerate(context.asset.nodes):
        for child in node.get("children", ()):
            parents[child] = number
    return parents


def _order(parents: list[int]) -> list[int]:
    """Parents first."""
    children: dict[int, list[int]] = {}
    for node, parent in enumerate(parents):
        children.setdefault(parent, []).append(node)
    order: list[int] = list(children.get(-1, ()))
    for node in order:  # grows while it is walked
        order += children.get(node, ())
    return order


def _moving(context: Context, parents: list[int], samplers: Samplers) -> list[bool]:
    own = {node for node, _ in samplers}
    moving = [False] * len(context.asset.nodes)
    for node in _order(parents):
        moving[node] = node in own or (parents[node] >= 0 and moving[parents[node]])
    return moving


def _worlds(
    context: Context, parents: list[int], moving: list[bool], samplers: Samplers, seconds: Floats, player: int
) -> dict[int, Floats]:
    """(T, 4, 4) of every node that moves, (1, 4, 4) of what they hang on, as a player of `ROTATIONS` turns them."""
    worlds: dict[int, Floats] = {}
    for number in _order(parents):
        node = context.asset.nodes[number]
        if not moving[number] and not node.get("children"):
            continue
        parts = []
        for path, rest in _REST.items():
            sampler = samplers.get((number, path))
            if sampler is None:
                parts.append(np.array([node.get(path, rest)], np.float64))
            else:
                turning = path == "rotation"
                parts.append(sample(sampler, seconds, ROTATIONS if turning else VECTORS, player if turning else 0))
        local = affine.compose(*parts)
        parent = parents[number]
        worlds[number] = local if parent < 0 else worlds[parent] @ local
    return worlds


def _points(context: Context, number: int) -> Floats:
    """The origin, and the corners of boxes around what the node draws and moves as a joint, in its own space."""
    node = context.scene.nodes[number]
    boxes = [context.joint_boxes[number]] if number in context.joint_boxes else []
    if node.mesh is not None and node.skin is None and len(context.scene.meshes[node.mesh].positions):
        pivot = np.asarray(node.pivot, np.float64)
        low, high = context.boxes[node.mesh]
        boxes.append((low - pivot, high - pivot))
    corners = [low + _CORNERS * (high - low) for low, high in boxes]
    return np.concatenate([np.zeros((1, 3)), *(context.axes.vectors(each) for each in corners)])
