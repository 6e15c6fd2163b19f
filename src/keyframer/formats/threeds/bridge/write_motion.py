"""Write motion: tracks as chunks of TCB keys, targets of cameras and lights, and nodes without mirrors.

Rotations are written as clockwise increments about unit axes. 3D Studio requires a target and a roll track for each
camera and spot light.

Readers of 3D Studio files disagree about matrices with a negative determinant (some flip X, some do not). A new
document avoids them: if a node is mirrored in scene space, its local axes are mirrored along X, ``W' = W . X``. Cameras
and lights keep their axes, and a scale that mirrors only at some of its keys is not changed.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from keyframer.arrays import Flags, Floats
from keyframer.curves import Interpolation, RotationForm, Track, compile_track
from keyframer.curves.rotation_forms import finite_keys, increments, with_form
from keyframer.formats.kit.free_aims import free_aim
from keyframer.formats.kit.key_table import Keys
from keyframer.formats.kit.key_tracks import KeyFitter, as_tcb, single_key, tcb_keys
from keyframer.formats.kit.scene_writing import plain_path
from keyframer.formats.threeds import records as r
from keyframer.formats.threeds.bridge.tracks import KINDS, WRAPS
from keyframer.posing.evaluation_order import evaluation_order
from keyframer.scene import Channel, LightType, Node, NodeKind, Scene
from keyframer.scene.loss_report import LossReport
from keyframer.scene.losses import AIM_CONVERTED, NODE_ADDED, TRANSFORM_APPLIED

_WRAPS = {wrap: bits for bits, wrap in WRAPS.items()}
_CHUNKS = {kind: chunk for chunk, kind in KINDS.items()}


def write_track(track: Track, keep_flags: bool, *, absolute: bool = False) -> r.Track:
    """Return the chunk of a track of numbers, with times in frames.

    With ``absolute``, rotation keys are absolute, as in Blender's files, instead of increments. `tcb_keys` describes
    ``keep_flags``.
    """
    tcb_track = as_tcb(track)
    if absolute and tcb_track.is_rotation:
        values = with_form(tcb_track, RotationForm.AXIS_ANGLE_ABSOLUTE).values
        keys = tcb_keys(tcb_track, np.column_stack([-values[:, 3], values[:, :3]]), keep_flags)
        return r.RotationTrack(_WRAPS[track.wrap], 0, 0, keys)
    values = _rotations(tcb_track) if tcb_track.is_rotation else tcb_track.values.reshape(len(tcb_track.times), -1)
    keys = tcb_keys(tcb_track, values, keep_flags)
    chunk_class: Any = _CHUNKS[track.kind]
    chunk: r.Track = chunk_class(_WRAPS[track.wrap], 0, 0, keys)
    return chunk


def _rotations(track: Track) -> Floats:
    """Return angle and axis as stored: clockwise, not negative, with an axis of length 1."""
    axes, angles = increments(track)
    lengths = np.sqrt((axes * axes).sum(axis=1))
    usable = lengths > 0
    unit = np.where(usable[:, None], axes / np.where(usable, lengths, 1.0)[:, None], (0.0, 0.0, 1.0))
    is_unit = np.abs(lengths - 1.0) < 1e-6  # a unit axis keeps its digits
    unit = np.where(is_unit[:, None], axes, unit)
    clockwise = np.where(usable, -angles, 0.0)
    sign = np.where(clockwise < 0, -1.0, 1.0)
    return np.column_stack([np.abs(clockwise), unit * sign[:, None]])


def write_hide_track(track: Track, frames: Floats, hidden: bool) -> tuple[bool, r.HideTrack | None]:
    """Return whether the node is hidden at first, and a chunk with the times of changes (None without changes).

    ``frames`` are the times of the track in frames. ``hidden`` is returned if the track has no usable key.
    """
    steps = finite_keys(replace(track, times=frames))
    if not len(steps.times):
        return hidden, None
    visible = steps.values.reshape(len(steps.times), -1)[:, 0] > 0.5
    is_last = np.append(steps.times[1:] != steps.times[:-1], True)  # the last of several keys at one frame is used
    times, visible = steps.times[is_last], visible[is_last]
    changes = np.flatnonzero(visible[1:] != visible[:-1]) + 1
    if not len(changes):
        return not visible[0], None
    keys = Keys.make(np.rint(times[changes]).astype(np.int64))
    return not visible[0], r.HideTrack(_WRAPS[track.wrap], 0, 0, keys)


def names_shapes(track: Track) -> bool:
    """Return whether a morph track has TCB keys with one shape each; keys of the format cannot blend shapes."""
    weights = track.values.reshape(len(track.times), -1)
    shapes = weights.argmax(axis=1)
    return track.interpolation is Interpolation.TCB and np.array_equal(weights, np.eye(weights.shape[1])[shapes])


def write_morph_track(track: Track, names: list[bytes], keep_flags: bool) -> r.MorphTrack:
    """Return a chunk with keys that name shapes, of a track for which `names_shapes` is true."""
    weights = track.values.reshape(len(track.times), -1)
    shapes = weights.argmax(axis=1)
    keys = tcb_keys(track, np.empty((len(weights), 0)), keep_flags)
    text = tuple(names[number] for number in shapes.tolist())
    return r.MorphTrack(_WRAPS[track.wrap], 0, 0, keys.replace(text=text))


def rotation_key(rotation_xyzw: npt.ArrayLike) -> Track:
    """Return a rotation track with one key."""
    values = np.asarray(rotation_xyzw, np.float64)[None]
    return Track("rotation", np.zeros(1), values, Interpolation.LINEAR, form=RotationForm.QUATERNION_ABSOLUTE)


@dataclass(eq=False)
class Aim:
    """The target of a camera or light: a node of the scene, a new node, or only a point in the editor."""

    point: Floats
    """the position of the target at frame 0, in scene space"""
    node: int | None = None
    """the target node in the scene"""
    parent: int | None = None
    """the parent of a new target"""
    position: Track | None = None
    """the position track of a new target, in frames"""
    roll: Track | None = None
    """the roll track that replaces the rotation of a free camera, in frames"""


def find_aims(scene: Scene, world: Floats, fitter: KeyFitter, existing: Collection[int]) -> dict[int, Aim]:
    """Return the target of every camera, spot light and directional light.

    ``world`` (nodes, 4, 4) are the matrices at frame 0. Nodes in ``existing`` are nodes of the original document.
    """
    aims: dict[int, Aim] = {}
    taken = {node.target for number, node in enumerate(scene.nodes) if number in existing}
    for number, node in enumerate(scene.nodes):
        if not _needs_aim(scene, node):
            continue
        if number in existing and (node.target is None or node.target in existing):
            aims[number] = Aim(np.array(_stored_target(scene, node) or (0.0, 0.0, 0.0)), node=node.target)
            continue
        path = f"{plain_path('nodes', node.name)}/target"
        if node.target is not None:
            point = world[node.target, :3, 3]
            if scene.nodes[node.target].kind is NodeKind.TARGET and node.target not in taken:
                taken.add(node.target)
                aims[number] = Aim(point, node=node.target)
            else:  # an object, or a target that another node uses too
                aims[number] = Aim(point, parent=node.target, position=single_key("position", np.zeros(3)))
                fitter.report.add(NODE_ADDED["target"], path)
            continue
        stored = _stored_target(scene, node)
        if stored is not None:
            aims[number] = Aim(np.array(stored), position=single_key("position", stored))
            fitter.report.add(NODE_ADDED["stored target"], path)
        else:
            aim = free_aim(scene, number, fitter)
            aims[number] = Aim(compile_track(aim.position)([0.0])[0], position=aim.position, roll=aim.roll)
            kind = AIM_CONVERTED["target"] if node.camera is None else AIM_CONVERTED["target and roll"]
            fitter.report.add(kind, path, outcome=aim.outcome, error=aim.error_degrees or None)
    return aims


def _needs_aim(scene: Scene, node: Node) -> bool:
    if node.camera is not None:
        return True
    return node.light is not None and scene.lights[node.light].type in (LightType.SPOT, LightType.DIRECTIONAL)


def _stored_target(scene: Scene, node: Node) -> tuple[float, float, float] | None:
    if node.camera is not None:
        return scene.cameras[node.camera].target
    return None if node.light is None else scene.lights[node.light].target


_FLIP = np.array([-1.0, 1.0, 1.0])
_ROTATION_FLIP = np.array([1.0, -1.0, -1.0, 1.0])
"""signs for quaternions, and for axes with angles: a mirror reverses rotations about axes in its plane"""


def without_mirrors(scene: Scene, report: LossReport) -> tuple[Scene, Flags]:
    """Return the scene with as few mirrored nodes as possible, and which nodes have mirrored axes now.

    Meshes are unchanged.
    """
    signs = np.array([_sign(scene, number, node) for number, node in enumerate(scene.nodes)], np.float64)
    flipped = np.zeros(len(scene.nodes), bool)
    if not (signs < 0).any():
        return scene, flipped
    order = evaluation_order(scene.nodes)
    for number in order.flat.tolist():
        node, parent = scene.nodes[number], int(order.parents[number])
        parent_flipped = bool(parent >= 0 and flipped[parent])
        keeps_axes = node.camera is not None or node.light is not None
        flipped[number] = not keeps_axes and parent_flipped != (signs[number] < 0)
    nodes = list(scene.nodes)
    for number, node in enumerate(scene.nodes):
        parent = int(order.parents[number])
        nodes[number] = _mirrored_node(node, bool(parent >= 0 and flipped[parent]), bool(flipped[number]))
        if flipped[number] and (signs[number] < 0):
            path = f"{plain_path('nodes', node.name)}/scale"
            report.add(TRANSFORM_APPLIED["mirror"], path)
    clips = list(scene.clips)
    if clips:
        parents = order.parents
        channels = [
            Channel(
                channel.node,
                _mirrored_track(
                    channel.track, parents[channel.node] >= 0 and flipped[parents[channel.node]], flipped[channel.node]
                ),
            )
            for channel in clips[0].channels
        ]
        clips[0] = replace(clips[0], channels=channels)
    return replace(scene, nodes=nodes, clips=clips), flipped


def _sign(scene: Scene, number: int, node: Node) -> float:
    """Return -1 if a node mirrors at every scale key (at rest, if it has none); else 1."""
    for channel in scene.channels_of(number):
        if channel.track.kind == "scale" and channel.track.values.ndim == 2 and len(channel.track.times):
            return -1.0 if (np.prod(channel.track.values, axis=1) < 0).all() else 1.0
    return -1.0 if np.prod(np.asarray(node.scale, np.float64)) < 0 else 1.0


def _mirrored_node(node: Node, parent_mirrored: bool, node_mirrored: bool) -> Node:
    if not parent_mirrored and not node_mirrored:
        return node
    mirrored = replace(node)
    if parent_mirrored:
        mirrored.position = np.asarray(node.position) * _FLIP
        mirrored.rotation_xyzw = np.asarray(node.rotation_xyzw) * _ROTATION_FLIP
    if parent_mirrored != node_mirrored:
        mirrored.scale = np.asarray(node.scale) * _FLIP
    if node_mirrored:
        mirrored.pivot = np.asarray(node.pivot) * _FLIP
        if node.scale_axes_xyzw is not None:
            mirrored.scale_axes_xyzw = np.asarray(node.scale_axes_xyzw) * _ROTATION_FLIP
    return mirrored


def _mirrored_track(track: Track, parent_mirrored: bool, node_mirrored: bool) -> Track:
    if track.kind == "position" and parent_mirrored:
        return replace(track, values=track.values * _FLIP)
    if track.kind == "rotation" and parent_mirrored:
        return replace(track, values=track.values * _ROTATION_FLIP)
    if track.kind == "scale" and parent_mirrored != node_mirrored:
        return replace(track, values=track.values * _FLIP)
    return track
