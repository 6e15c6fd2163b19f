"""Remove mirrors from nodes: move them into children and meshes.

Readers of 3D Studio files disagree about matrices with a negative determinant (some flip X, some do not), so none is
written: the frame of a node with negative scale is mirrored along X, ``W' = W . X``, and with it the frames of all
nodes below.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from keyframer.arrays import Flags
from keyframer.curves import Track
from keyframer.formats.kit.scene_writing import plain_path
from keyframer.posing.evaluation_order import evaluation_order
from keyframer.scene import Channel, Node, Scene
from keyframer.scene.loss_report import LossReport, Outcome

_FLIP = np.array([-1.0, 1.0, 1.0])
_TURN_FLIP = np.array([1.0, -1.0, -1.0, 1.0])
"""signs for quaternions, and for axes with angles: a mirror reverses rotations about axes in its plane"""


def without_mirrors(scene: Scene, report: LossReport) -> tuple[Scene, Flags]:
    """Return the scene without mirrored nodes, and which frames were mirrored (meshes are unchanged)."""
    signs = np.array([_sign(scene, number, node) for number, node in enumerate(scene.nodes)], np.float64)
    flipped = np.zeros(len(scene.nodes), bool)
    if not (signs < 0).any():
        return scene, flipped
    order = evaluation_order(scene.nodes)
    for number in order.flat.tolist():
        node, parent = scene.nodes[number], int(order.parents[number])
        above = bool(parent >= 0 and flipped[parent])
        aims = node.camera is not None or node.light is not None
        flipped[number] = not aims and above != (signs[number] < 0)
    nodes = list(scene.nodes)
    for number, node in enumerate(scene.nodes):
        parent = int(order.parents[number])
        nodes[number] = _node(node, bool(parent >= 0 and flipped[parent]), bool(flipped[number]))
        if flipped[number] and (signs[number] < 0):
            path = f"{plain_path('nodes', node.name)}/scale"
            report.add(Outcome.BAKED, path, "the mirroring was moved from the node to its mesh and children")
    clips = list(scene.clips)
    if clips:
        parents = order.parents
        channels = [
            Channel(
                channel.node,
                _track(
                    channel.track, parents[channel.node] >= 0 and flipped[parents[channel.node]], flipped[channel.node]
                ),
            )
            for channel in clips[0].channels
        ]
        clips[0] = replace(clips[0], channels=channels)
    return replace(scene, nodes=nodes, clips=clips), flipped


def _sign(scene: Scene, number: int, node: Node) -> float:
    """Return -1 if a node mirrors, at rest and at every key; 1 if it does not, or not always."""
    for channel in scene.channels_of(number):
        if channel.track.kind == "scale" and channel.track.values.ndim == 2 and len(channel.track.times):
            return -1.0 if (np.prod(channel.track.values, axis=1) < 0).all() else 1.0
    return -1.0 if np.prod(np.asarray(node.scale, np.float64)) < 0 else 1.0


def _node(node: Node, above: bool, here: bool) -> Node:
    if not above and not here:
        return node
    mirrored = replace(node)
    if above:
        mirrored.position = np.asarray(node.position) * _FLIP
        mirrored.rotation_xyzw = np.asarray(node.rotation_xyzw) * _TURN_FLIP
    if above != here:
        mirrored.scale = np.asarray(node.scale) * _FLIP
    if here:
        mirrored.pivot = np.asarray(node.pivot) * _FLIP
        if node.scale_axes_xyzw is not None:
            mirrored.scale_axes_xyzw = np.asarray(node.scale_axes_xyzw) * _TURN_FLIP
    return mirrored


def _track(track: Track, above: bool, here: bool) -> Track:
    if track.kind == "position" and above:
        return replace(track, values=track.values * _FLIP)
    if track.kind == "rotation" and above:
        return replace(track, values=track.values * _TURN_FLIP)
    if track.kind == "scale" and above != here:
        return replace(track, values=track.values * _FLIP)
    return track
