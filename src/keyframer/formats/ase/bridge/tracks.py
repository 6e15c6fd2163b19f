"""Read controllers as tracks, and separate the roll of cameras and lights with a target from their rotation."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from keyframer.arrays import Floats
from keyframer.catalogue import DATA_ZERO_AXIS
from keyframer.curves import Interpolation, RotationForm, Track
from keyframer.formats.ase.bridge.declared_fields import CAMERA_TRACKS, LIGHT_TRACKS
from keyframer.formats.ase.records import Block, Keys
from keyframer.formats.kit.key_table import EXTRAS
from keyframer.formats.kit.scene_reading import Reporter, check_keys
from keyframer.limits import budget_total
from keyframer.maths import affine, quat
from keyframer.maths.trigonometry import arctan2
from keyframer.posing import Rig
from keyframer.posing.local_matrices import aim_matrices
from keyframer.scene import Channel, Clip, NodeKind, Scene

_SAMPLED, _LINEAR = Interpolation.SAMPLED, Interpolation.LINEAR
_TCB, _BEZIER = Interpolation.TCB, Interpolation.BEZIER
_INTERPOLATIONS = {b"TRACK": _SAMPLED, b"SAMPLE": _SAMPLED, b"LINEAR": _LINEAR, b"TCB": _TCB, b"BEZIER": _BEZIER}


def sample_step(tables: list[Keys], ticks_per_frame: float) -> float:
    """Return the smallest number of ticks between two samples, which is used for all objects.

    It is ``ticks_per_frame`` without samples.
    """
    sampled_tables = [keys for keys in tables if keys.keyword.endswith(b"_TRACK")]
    gaps = [np.diff(keys.times) for keys in sampled_tables if len(keys.times) > 1]
    steps = [int(gap[gap > 0].min()) for gap in gaps if (gap > 0).any()]
    return float(min(steps, default=ticks_per_frame))


def read_tracks(reporter: Reporter, keys: Keys, rotation_keys: str, start: float, step: float) -> list[Track]:
    """Return the tracks of one controller: two for a scale with rotated axes, none without keys.

    Only positions, rotations and scales are read. ``rotation_keys`` is an option of the reader, ``start`` the start of
    the clip, ``step`` the time between two samples.
    """
    if not len(keys.times):
        return []
    check_keys(reporter, keys, "values", keys.times, keys.values)
    kind = keys.keyword.split(b"_")[1]
    if kind == b"POS":
        tracks = [_track(keys, "position", step)]
    elif kind == b"ROT":
        tracks = [_rotation(reporter, keys, rotation_keys, start, step)]
    elif kind == b"SCALE":
        tracks = [_track(keys, "scale", step), *_scale_axes(keys, step)]
    else:
        return []
    for track in tracks:
        reporter.mark(track, "ase", keys)
    return tracks


def _interpolation(keys: Keys) -> Interpolation:
    return _INTERPOLATIONS[keys.keyword.rpartition(b"_")[2]]


def _track(keys: Keys, kind: str, step: float) -> Track:
    """Return a track of vectors."""
    interpolation, times = _interpolation(keys), np.asarray(keys.times, np.float64)
    values = np.array(keys.values[:, :3])
    if interpolation is _SAMPLED:
        return Track(kind, *_fill_gaps(times, values, step), _SAMPLED)
    start = 7 if kind == "scale" else 3  # after the axes of a scale
    if interpolation is _BEZIER and keys.values.shape[1] >= start + 6:
        # in tangent, out tangent, flags; tangents are per tick, and the in tangent points back
        incoming, outgoing = -keys.values[:, start : start + 3], np.array(keys.values[:, start + 3 : start + 6])
        return Track(kind, times, values, Interpolation.CUBIC, tangents_in=incoming, tangents_out=outgoing)
    return _with_tcb(keys, Track(kind, times, values, interpolation))


def _fill_gaps(times: Floats, values: Floats, step: float, relative: bool = False) -> tuple[Floats, Floats]:
    """Hold values where the exporter left out unchanged samples.

    A sample is added one step before the end of each gap, with the value before the gap (relative: no rotation).
    """
    after_gaps = np.flatnonzero(np.diff(times) > 1.5 * step) + 1
    if not len(after_gaps):
        return times, values
    added = values[after_gaps - 1].copy()
    if relative:
        added[:, 3] = 0.0
    return np.insert(times, after_gaps, times[after_gaps] - step), np.insert(values, after_gaps, added, axis=0)


def _with_tcb(keys: Keys, track: Track) -> Track:
    if track.interpolation is _TCB and keys.values.shape[1] >= 5:
        for name, column in zip(EXTRAS, keys.values[:, -5:].T, strict=True):
            setattr(track, name, np.array(column))
    return track


def _rotation(reporter: Reporter, keys: Keys, rotation_keys: str, start: float, step: float) -> Track:
    """Return a rotation track of axes and angles; the angles in the file are left-handed.

    Sampled rotations are increments of at most half a turn. If the quaternion changes sign, 3ds Max writes the rest of
    the turn in the other direction.
    """
    interpolation, times = _interpolation(keys), np.asarray(keys.times, np.float64)
    axis_angles = np.array(keys.values[:, :4])
    axis_angles[:, 3] = 0.0 - axis_angles[:, 3]
    without_axis = ~axis_angles[:, :3].any(axis=1) & (axis_angles[:, 3] != 0)
    if without_axis.any():
        reporter.report(DATA_ZERO_AXIS, keys, "values", count=int(without_axis.sum()))
    if interpolation is _SAMPLED:
        with np.errstate(invalid="ignore"):
            axis_angles[:, 3] = np.remainder(axis_angles[:, 3] + np.pi, 2 * np.pi) - np.pi
        times, axis_angles = _fill_gaps(times, axis_angles, step, relative=True)
        if times[0] > start:  # no sample at the start: the node is not rotated there
            before = max(start, times[0] - step)
            times, axis_angles = np.insert(times, 0, before), np.insert(axis_angles, 0, [0.0, 0.0, 1.0, 0.0], axis=0)
        return Track("rotation", times, axis_angles, interpolation, form=RotationForm.AXIS_ANGLE_RELATIVE)
    relative = rotation_keys == "relative" or (rotation_keys == "auto" and interpolation in (_TCB, _BEZIER))
    form = RotationForm.AXIS_ANGLE_RELATIVE if relative else RotationForm.AXIS_ANGLE_ABSOLUTE
    return _with_tcb(keys, Track("rotation", times, axis_angles, interpolation, form=form))


def _scale_axes(keys: Keys, step: float) -> list[Track]:
    """Return the track of the rotated axes of a scale, if it has any."""
    if keys.values.shape[1] < 7 or not np.any(keys.values[:, 6]):
        return []
    axis_angles, times = np.array(keys.values[:, 3:7]), np.asarray(keys.times, np.float64)
    axis_angles[:, 3] = 0.0 - axis_angles[:, 3]
    interpolation = _LINEAR
    if _interpolation(keys) is _SAMPLED:
        interpolation = _SAMPLED
        times, axis_angles = _fill_gaps(times, axis_angles, step)
    return [Track("scale_axes", times, axis_angles, interpolation, form=RotationForm.AXIS_ANGLE_ABSOLUTE)]


def visibility(reporter: Reporter, keys: Keys) -> Track | None:
    """Return a visibility track, visible if the value is above 0; None for fewer than two keys."""
    if len(keys.times) < 2 or not keys.values.shape[1]:
        return None
    check_keys(reporter, keys, "values", keys.times, keys.values)
    shown = (np.asarray(keys.values[:, 0]) > 0).astype(np.float64)
    track = Track("visible", np.asarray(keys.times, np.float64), shown, Interpolation.STEP)
    reporter.mark(track, "ase", keys)
    return track


def setting_tracks(reporter: Reporter, node: Block, what: str) -> list[Track]:
    """Return a track for each setting of a camera or light that changes, from its settings at several times.

    ``what`` is ``CAMERA`` or ``LIGHT``.
    """
    animation = node.block(f"{what}_ANIMATION".encode())
    settings = [] if animation is None else animation.blocks(f"{what}_SETTINGS".encode())
    if animation is None or not settings:
        return []
    times = np.array([block.number(b"TIMEVALUE", 0.0) for block in settings])
    tracks: list[Track] = []
    for kind, word in (CAMERA_TRACKS if what == "CAMERA" else LIGHT_TRACKS).items():
        keyword = word.encode()
        values = np.array(
            [block.vector(keyword) or (math.nan,) * 3 for block in settings]
            if kind == "color"
            else [block.number(keyword, math.nan) for block in settings]
        )
        usable = np.isfinite(values.reshape(len(times), -1)).all(axis=1)
        if not usable.any() or (values[usable] == values[usable][0]).all():
            continue
        values = np.degrees(values[usable]) if kind == "fov" else values[usable]
        tracks.append(Track(kind, times[usable], values, _SAMPLED))
        reporter.mark(tracks[-1], "ase", animation)
    return tracks


TRANSFORM = ("position", "rotation", "scale", "scale_axes")
"""kinds of tracks that move a node"""
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
        chain: list[int] = []
        ancestor: int | None = number
        while ancestor is not None:
            self.requested_samples += 16 * len(times) + _COST_OF_ANCESTOR
            if self.requested_samples > self.most_samples:
                return None
            chain.append(ancestor)
            ancestor = self.scene.nodes[ancestor].parent
        nodes, channels = [], []
        alone: Any = dict.fromkeys(("target", "camera", "light", "mesh", "skin", "morph"))
        for place, ancestor in enumerate(reversed(chain)):
            nodes.append(replace(self.scene.nodes[ancestor], parent=place - 1 if place else None, **alone))
            tracks = self.tracks.get(ancestor, {})
            channels += [Channel(place, tracks[kind]) for kind in TRANSFORM if kind in tracks]
        rig = Rig(Scene(nodes=nodes, clips=[Clip(channels=channels)], space=self.scene.space))
        return rig.world(rig.sample(times), len(times))[:, -1]


def separate_rolls(scene: Scene, motion: Motion, rest_matrices: Floats) -> None:
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
        part = scene.lights[node.light] if node.light is not None else scene.cameras[node.camera or 0]
        part.roll_degrees = float(roll[0]) if abs(roll[0]) > _NO_ROLL else 0.0
        if rotation is not None:
            roll_tracks[number] = None
            if (np.abs(roll) > _NO_ROLL).any():
                roll_tracks[number] = Track("roll", times, roll, _SAMPLED, extras=dict(rotation.extras))
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
    lengths = quat.length_of(np.swapaxes(eye[:, :3, :3], -1, -2))[:, None]
    axes = eye[:, :3, :3] / np.where(lengths > 0, lengths, 1.0)
    difference = affine.multiply(np.swapaxes(unrolled[:, :3, :3], -1, -2), axes)
    aim_error = np.degrees(np.arccos(np.clip(difference[:, 2, 2], -1.0, 1.0)))
    if not (aim_error <= _AIM_TOLERANCE).all():
        return None
    return np.asarray(0.0 - np.degrees(np.unwrap(arctan2(difference[:, 1, 0], difference[:, 0, 0]))))
