"""Error measurement: the written nodes are posed and compared with the pose of the scene."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from keyframer.arrays import Floats
from keyframer.curves import Interpolation, RotationForm, Track
from keyframer.exchange.gltf.write.motion import CUBIC, LINEAR, STEP, Sampler, Span
from keyframer.exchange.gltf.write.nodes import NodeParts
from keyframer.exchange.gltf.write.options import Context
from keyframer.limits import budget_left
from keyframer.maths.distinct_values import unique_values
from keyframer.posing import Rig
from keyframer.scene import Channel, Clip, Node, Scene

Samplers = Mapping[tuple[int, str], Sampler]
"""by node and path of a glTF channel"""

_MOST_MATRICES = 100_000
_MOST_TIMES = 1_000
_SAMPLES_PER_MATRIX = 64
"""samples of the budget that a matrix counts for: more than it uses"""
_FRACTIONS = np.array((0.05, 0.5, 0.95))
"""fractions between two key times at which poses are compared"""
_INTERPOLATIONS = {STEP: Interpolation.STEP, LINEAR: Interpolation.LINEAR, CUBIC: Interpolation.CUBIC}
_KINDS = {"translation": "position", "rotation": "rotation", "scale": "scale"}


def world_error(context: Context, rig: Rig, span: Span, parts: list[NodeParts], samplers: Samplers) -> float:
    """Return the largest measured distance along an axis between the written pose and the pose of the scene, in scene
    units: of the origins of moving nodes, and of the corners of boxes around their geometry.
    """
    key_times = unique_values(np.concatenate([sampler.times for sampler in samplers.values()])).astype(np.float64)
    lengths = np.diff(key_times)
    wide = lengths > 1.1 * span.closest / span.rate  # others are jumps
    seconds = (key_times[:-1][wide, None] + lengths[wide, None] * _FRACTIONS).reshape(-1)
    if not len(seconds):
        return 0.0
    written = Rig(_written_scene(context, samplers))
    matrix_count = min(_MOST_MATRICES, budget_left("samples") // _SAMPLES_PER_MATRIX)
    most_times = max(24, min(_MOST_TIMES, matrix_count // len(context.asset.nodes)))
    if len(seconds) > most_times:
        seconds = seconds[np.linspace(0, len(seconds) - 1, most_times).astype(int)]
    with np.errstate(all="ignore"):
        found = written.world(written.sample(seconds), len(seconds))[:, [node.tail for node in parts]]
        moving = np.flatnonzero((found != found[:1]).any(axis=(0, 2, 3)))
        if not len(moving):
            return 0.0
        scene_world = rig.world(rig.sample(seconds * span.rate + span.begin), len(seconds))[:, moving]
        expected = context.axes.root_matrix() @ context.axes.matrices(scene_world)
        return _largest_distance(found[:, moving], expected, _boxes(context, moving.tolist())) / context.axes.unit


def _written_scene(context: Context, samplers: Samplers) -> Scene:
    """Return a scene of the written nodes, without geometry, animated by samplers in seconds."""
    nodes = []
    for item in context.asset.nodes:
        node = Node(item["name"], scale=np.array(item.get("scale", (1.0, 1.0, 1.0))))
        node.position = np.array(item.get("translation", (0.0, 0.0, 0.0)))
        node.rotation_xyzw = np.array(item.get("rotation", (0.0, 0.0, 0.0, 1.0)))
        nodes.append(node)
    for number, item in enumerate(context.asset.nodes):
        for child in item.get("children", ()):
            nodes[child].parent = number
    channels = []
    for (number, path), sampler in samplers.items():
        track = Track(
            _KINDS[path],
            sampler.times,
            sampler.values,
            _INTERPOLATIONS[sampler.mode],
            form=RotationForm.QUATERNION_ABSOLUTE if path == "rotation" else RotationForm.NONE,
            tangents_in=sampler.tangents_in if sampler.mode == CUBIC else None,
            tangents_out=sampler.tangents_out if sampler.mode == CUBIC else None,
        )
        channels.append(Channel(number, track))
    return Scene(nodes, clips=[Clip(channels=channels, rate=1.0)])


def _largest_distance(measured: Floats, expected: Floats, boxes: list[tuple[Floats, Floats]]) -> float:
    """Return how far apart two lists of matrices (T, nodes, 4, 4) place the same point: the largest distance along an
    axis, of the origins and of the corners of boxes. Boxes are centres and half sizes, (nodes, 3) each.

    The distance of the farthest corner is that of the centre plus the contribution of each axis of the box.
    """
    difference = measured - expected
    columns, origins = np.abs(difference[..., :3, :3]), difference[..., :3, 3]
    worst = [np.fmax.reduce(np.abs(origins), axis=None, initial=0.0)]  # NaN is ignored
    for centre, half in boxes:
        distances = origins.copy()
        for axis in range(3):
            distances += difference[..., :3, axis] * centre[:, axis, None]
        distances = np.abs(distances)
        for axis in range(3):
            distances += columns[..., axis] * half[:, axis, None]
        worst.append(np.fmax.reduce(distances, axis=None, initial=0.0))
    return float(np.nan_to_num(max(worst)))


def _boxes(context: Context, numbers: list[int]) -> list[tuple[Floats, Floats]]:
    """Return centres and half sizes (nodes, 3) of boxes around the geometry and skin vertices of nodes, in their own
    space. Nodes with fewer boxes than others get empty boxes at the origin.
    """
    boxes = [_boxes_of(context, number) for number in numbers]
    centred_boxes = []
    for slot in range(max(map(len, boxes))):
        with_box = [place for place, node_boxes in enumerate(boxes) if len(node_boxes) > slot]
        low, high = (np.array([boxes[place][slot][end] for place in with_box]) for end in (0, 1))
        centre, half = np.zeros((len(numbers), 3)), np.zeros((len(numbers), 3))
        centre[with_box], half[with_box] = context.axes.vectors((low + high) / 2), np.abs(high - low) / 2
        centred_boxes.append((centre, half))
    return centred_boxes


def _boxes_of(context: Context, number: int) -> list[tuple[Floats, Floats]]:
    node = context.scene.nodes[number]
    boxes = [context.joint_boxes[number]] if number in context.joint_boxes else []
    if node.mesh is not None and node.skin is None and len(context.scene.meshes[node.mesh].positions):
        pivot = np.asarray(node.pivot, np.float64)
        low, high = context.boxes[node.mesh]
        boxes.append((low - pivot, high - pivot))
    return boxes
