"""Cameras and lights with a target: their sampled turns become the roll about the line of sight."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from keyframer.curves import Interpolation, RotationForm, Track, compile_track
from keyframer.formats.ase.records import Block
from keyframer.formats.kit.scene_reading import Reporter
from keyframer.limits import spend
from keyframer.maths import affine, quat
from keyframer.posing.looking import look
from keyframer.scene import Channel, Node, NodeKind, Scene

Floats = npt.NDArray[np.float64]

_NO_ROLL = 0.05
"""degrees: what four decimals may make of no roll"""
_ASTRAY = 2.0
"""degrees: who looks further away from the target does not look at it"""


def aim(reporter: Reporter, scene: Scene, blocks: list[Block]) -> None:
    """Give everything that looks at a target its roll; what turns otherwise keeps its turns and loses the target."""
    clip = scene.clips[0]
    for number, node in enumerate(scene.nodes):
        if node.target is None or node.kind not in (NodeKind.CAMERA, NodeKind.LIGHT):
            continue
        turning = next((each for each in scene.channels_of(number) if each.track.kind == "rotation"), None)
        times = np.zeros(1) if turning is None else turning.track.times
        eye, goal = world_at(scene, number, times), world_at(scene, node.target, times)[:, :3, 3]
        level = look(scene, eye[:, :3, 3], goal, np.zeros(len(times)))
        turned = np.matmul(np.swapaxes(level[:, :3, :3], -1, -2), _unscaled(eye[:, :3, :3]))
        astray = np.degrees(np.arccos(np.clip(turned[:, 2, 2], -1.0, 1.0)))
        if not (astray <= _ASTRAY).all():
            if turning is not None:
                node.target = None
            continue
        roll = 0.0 - np.degrees(np.unwrap(np.arctan2(turned[:, 1, 0], turned[:, 0, 0])))
        _set_roll(scene, node, float(roll[0]) if abs(roll[0]) > _NO_ROLL else 0.0)
        if turning is None:
            continue
        clip.channels.remove(turning)
        if (np.abs(roll) > _NO_ROLL).any():
            track = Track("roll", times, roll, Interpolation.SAMPLED)
            track.extras.update(turning.track.extras)
            clip.channels.append(Channel(number, track))


def _set_roll(scene: Scene, node: Node, degrees: float) -> None:
    if node.camera is not None:
        scene.cameras[node.camera].roll_degrees = degrees
    elif node.light is not None:
        scene.lights[node.light].roll_degrees = degrees


def _unscaled(axes: Floats) -> Floats:
    lengths = np.linalg.norm(axes, axis=-2, keepdims=True)
    return axes / np.where(lengths > 0, lengths, 1.0)


def world_at(scene: Scene, number: int, times: Floats) -> Floats:
    """(T, 4, 4) the place of a node at times of the clip, by way of its parents; targets are not looked at."""
    world = np.broadcast_to(np.eye(4), (len(times), 4, 4))
    at: int | None = number
    while at is not None:
        spend("samples", 16 * len(times))
        world = affine.multiply(_local_at(scene, at, times), world)
        at = scene.nodes[at].parent
    return world


def _local_at(scene: Scene, number: int, times: Floats) -> Floats:
    node = scene.nodes[number]
    tracks = {channel.track.kind: channel.track for channel in scene.channels_of(number)}
    count = len(times)
    parts = {
        "position": np.broadcast_to(node.position, (count, 3)),
        "rotation": np.broadcast_to(quat.normalise(node.rotation_xyzw), (count, 4)),
        "scale": np.broadcast_to(node.scale, (count, 3)),
    }
    if node.scale_axes_xyzw is not None or "scale_axes" in tracks:
        rest = (0.0, 0.0, 0.0, 1.0) if node.scale_axes_xyzw is None else node.scale_axes_xyzw
        parts["scale_axes"] = np.broadcast_to(rest, (count, 4))
    for kind in parts:
        track = tracks.get(kind)
        if track is not None and (track.form is not RotationForm.NONE or track.values.shape[1:] == (3,)):
            parts[kind] = compile_track(track, parts[kind][0])(times)
    return affine.compose(parts["position"], parts["rotation"], parts["scale"], parts.get("scale_axes"))
