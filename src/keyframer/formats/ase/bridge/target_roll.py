"""Find the roll of cameras and lights about the line of sight to their target, and world matrices over time."""

from __future__ import annotations

import numpy as np

from keyframer.arrays import Floats
from keyframer.curves import Interpolation, RotationForm, Track, compile_track
from keyframer.limits import budget_total
from keyframer.maths import affine, quat
from keyframer.posing.aim_constraints import aim_matrices
from keyframer.scene import Channel, Node, NodeKind, Scene

_NO_ROLL = 0.05
"""degrees: smaller rolls are rounding errors of four decimals"""
_AIM_TOLERANCE = 2.0
"""degrees: a node that points further away from its target is not aimed at it"""
_COST_OF_ANCESTOR = 2_000
"""cost of each ancestor in addition to its matrices, in samples"""


class Motion:
    """The tracks of a scene's first clip by node and kind; if a node has several of a kind, the first."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.most_samples = budget_total("samples") // 4
        """maximum number of samples computed here: a quarter of the budget, so that some is left for later steps"""
        self.requested_samples = 0
        self.tracks: dict[int, dict[str, Track]] = {}
        for channel in scene.clips[0].channels if scene.clips else ():
            self.tracks.setdefault(channel.node, {}).setdefault(channel.track.kind, channel.track)

    def world_at(self, number: int, times: Floats) -> Floats | None:
        """Return (T, 4, 4) world matrices of a node at times of the clip; None if `most_samples` is exceeded.

        Targets of the node and of its ancestors are ignored.
        """
        world: Floats = np.broadcast_to(np.eye(4), (len(times), 4, 4))
        ancestor: int | None = number
        while ancestor is not None:
            self.requested_samples += 16 * len(times) + _COST_OF_ANCESTOR
            if self.requested_samples > self.most_samples:
                return None
            world = affine.multiply(self._local_at(ancestor, times), world)
            ancestor = self.scene.nodes[ancestor].parent
        return world

    def _local_at(self, number: int, times: Floats) -> Floats:
        node, tracks = self.scene.nodes[number], self.tracks.get(number, {})
        count = len(times)
        parts = {
            "position": np.broadcast_to(node.position, (count, 3)),
            "rotation": np.broadcast_to(quat.normalise(node.rotation_xyzw), (count, 4)),
            "scale": np.broadcast_to(node.scale, (count, 3)),
        }
        if node.scale_axes_xyzw is not None or "scale_axes" in tracks:
            rest_axes = (0.0, 0.0, 0.0, 1.0) if node.scale_axes_xyzw is None else node.scale_axes_xyzw
            parts["scale_axes"] = np.broadcast_to(rest_axes, (count, 4))
        for kind in parts:
            track = tracks.get(kind)
            if track is not None and (track.form is not RotationForm.NONE or track.values.shape[1:] == (3,)):
                parts[kind] = compile_track(track, parts[kind][0])(times)
        return affine.compose(parts["position"], parts["rotation"], parts["scale"], parts.get("scale_axes"))


def aim(scene: Scene, motion: Motion, rest_matrices: Floats) -> None:
    """Set the roll of cameras and lights with a target, from their rotation track or their rest matrix.

    A rotation track is replaced by a roll track, or removed if there is no roll. If it does not point at the target (or
    `Motion.most_samples` is exceeded), the track is kept and the target is removed.
    """
    roll_tracks: dict[int, Track | None] = {}
    for number, node in enumerate(scene.nodes):
        if node.target is None or node.kind not in (NodeKind.CAMERA, NodeKind.LIGHT):
            continue
        rotation = motion.tracks.get(number, {}).get("rotation")
        times = np.zeros(1) if rotation is None else rotation.times
        if rotation is None:
            roll = _roll(scene, rest_matrices[[number]], rest_matrices[[node.target], :3, 3])
        else:
            eye, target = motion.world_at(number, times), motion.world_at(node.target, times)
            roll = None if eye is None or target is None else _roll(scene, eye, target[:, :3, 3])
        if roll is None:
            node.target = node.target if rotation is None else None
            continue
        _set_roll(scene, node, float(roll[0]) if abs(roll[0]) > _NO_ROLL else 0.0)
        if rotation is not None:
            roll_tracks[number] = None
            if (np.abs(roll) > _NO_ROLL).any():
                roll_tracks[number] = track = Track("roll", times, roll, Interpolation.SAMPLED)
                track.extras.update(rotation.extras)
    channels: list[Channel] = []
    for channel in scene.clips[0].channels:
        if channel.node not in roll_tracks or channel.track.kind != "rotation":
            channels.append(channel)
        elif (replacement := roll_tracks[channel.node]) is not None:
            channels.append(Channel(channel.node, replacement))
    scene.clips[0].channels = channels


def _roll(scene: Scene, eye: Floats, target: Floats) -> Floats | None:
    """Return the roll about the line of sight in degrees, from matrices of a node and positions of its target.

    The result is None if the node does not point at the target.
    """
    unrolled = aim_matrices(scene, eye[:, :3, 3], target, np.zeros(len(eye)))
    lengths = np.linalg.norm(eye[:, :3, :3], axis=-2, keepdims=True)
    axes = eye[:, :3, :3] / np.where(lengths > 0, lengths, 1.0)
    difference = np.matmul(np.swapaxes(unrolled[:, :3, :3], -1, -2), axes)
    aim_error = np.degrees(np.arccos(np.clip(difference[:, 2, 2], -1.0, 1.0)))
    if not (aim_error <= _AIM_TOLERANCE).all():
        return None
    return np.asarray(0.0 - np.degrees(np.unwrap(np.arctan2(difference[:, 1, 0], difference[:, 0, 0]))))


def _set_roll(scene: Scene, node: Node, degrees: float) -> None:
    if node.camera is not None:
        scene.cameras[node.camera].roll_degrees = degrees
    elif node.light is not None:
        scene.lights[node.light].roll_degrees = degrees
