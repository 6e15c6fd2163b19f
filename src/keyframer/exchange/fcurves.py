"""Converts a clip to F-curves for programs such as Blender: a cubic, linear or stepped curve for each component.

A track is kept if the host can play it exactly, otherwise it is fitted, also between frames. If the fit needs several
times as many keys as there are frames, or is not near enough, the track is sampled at the frames.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from keyframer.arrays import Flags, Floats
from keyframer.curves.cubic_fit import fit_cubic
from keyframer.curves.key_reduction import PROBES, Distance
from keyframer.curves.vector_curves import Hermite
from keyframer.exchange.kit.aims import AimConstraint, AimMotion, find_aim_constraints, matrices_in_parent
from keyframer.exchange.kit.motion import (
    CUBIC,
    LINEAR,
    ROTATIONS,
    STEP,
    VECTORS,
    Measure,
    Motion,
    TrackFunction,
    breaks_of,
    track_motions,
)
from keyframer.exchange.kit.spans import Span, most_keys, written_span
from keyframer.limits import Limits, budgeted, charge
from keyframer.maths import quat
from keyframer.posing import Rig
from keyframer.posing.bounds_and_duration import scene_size
from keyframer.posing.local_matrices import usable_rows
from keyframer.scene import Clip, Node, Scene
from keyframer.scene.loss_report import Outcome

_TRANSFORM_KINDS = ("position", "rotation", "scale", "scale_axes")
_TRACK_SHARE = 0.2
"""fraction of the allowed error for one track: errors add up along a chain, and long arms magnify rotations"""
_MOST_FRAMES = 100_000
"""maximum number of frames of a clip that is sampled or verified at every frame"""
_KEYS_PER_FRAME = 8
"""maximum number of fitted keys per frame; tracks of real files need at most 1.25, those of our samples 1.9"""
_FRAME_FACTOR = 1.5
"""the error at whole frames may be this many times the tolerance, because fits are checked at other times"""
JUMP = 0.02
"""longest duration of a jump in frames: hosts do not keep two keys at one time"""
_FIT_MARGIN = 0.8
"""fraction of the tolerance that fits may use: the largest error may be between the probes"""
_SINGLE_PRECISION = 5e-7
"""relative error of single precision"""


@dataclass(eq=False)
class FCurves:
    """The curves of one property of one node; n keys, k components."""

    node: int
    name: str
    """a kind of track such as ``position`` or ``rotation`` (x, y, z, w), or the name of a `DerivedProperty`"""
    mode: str
    """``STEP``, ``LINEAR`` or ``CUBICSPLINE``, between a key and the next one"""
    frames: Floats
    """(n,) ascending, in frames of the host"""
    values: Floats
    """(n, k)"""
    tangents_in: Floats
    """(n, k) per frame; (0, k) unless cubic"""
    tangents_out: Floats
    how: str = "exact"
    """``exact``: the keys of the track; ``fitted``: other keys; ``sampled``: values at frames"""
    error: float = 0.0
    """largest error where it was measured, 0 if nowhere; degrees for rotations"""

    def at(self, frames: Floats) -> Floats:
        """Return (T, k) values as a host plays them: each component separately."""
        last = len(self.frames) - 1
        if last == 0:
            return np.repeat(self.values, len(frames), axis=0)
        before = np.clip(np.searchsorted(self.frames, frames, side="right") - 1, 0, last)
        after = np.minimum(before + 1, last)
        begin, end = self.values[before], self.values[after]
        length = np.where(after > before, self.frames[after] - self.frames[before], 1.0)
        u = np.clip((frames - self.frames[before]) / length, 0.0, 1.0)[:, None]
        if self.mode == STEP:
            return begin
        if self.mode == LINEAR:
            return np.asarray(begin + u * (end - begin))
        start, stop = self.tangents_out[before] * length[:, None], self.tangents_in[after] * length[:, None]
        chord = end - begin
        cubic = begin + u * (start + u * (3 * chord - 2 * start - stop + u * (start + stop - 2 * chord)))
        return np.asarray(np.where(after[:, None] > before[:, None], cubic, begin))


class DerivedProperty(NamedTuple):
    """A property of the host that is a non-linear function of tracks of a camera or light."""

    name: str
    kinds: tuple[str, ...]
    """kinds of the source tracks: ``fov``, ``color``, ``multiplier``, ``hotspot``, ``falloff``"""
    compute: Callable[..., Floats]
    """function of the node and the values (T, k) of each kind, returns (T, m)"""
    tolerance: float


@dataclass(eq=False)
class ClipCurves:
    """All curves of one clip."""

    name: str
    fps: float
    """frames per second of the host"""
    first: float
    """first played frame"""
    last: float
    curves: list[FCurves]


@dataclass(frozen=True)
class NodeTransform:
    """The transform of a node at the start of a clip: ``T(position) . R . Q . diag(scale) . Q^-1`` under the parent."""

    parent: int | None
    """None for roots, and for aimed nodes that must leave their parent (`AimConstraint.detached`)"""
    position: Floats
    rotation_xyzw: Floats
    scale: Floats
    scale_axes_xyzw: Floats | None
    """Q, if it has an effect at any time of any clip"""


def initial_transforms(scene: Scene, clip: int = 0) -> list[NodeTransform]:
    """Return the transforms of all nodes at the start of a clip; aimed nodes are rotated towards their target."""
    rig = Rig(scene, clip)
    samples = rig.sample([written_span(rig.clip, None).begin])
    world = rig.world(samples, 1)[0]
    aims = find_aim_constraints(scene, rig.order)
    with_scale_axes = _nodes_with_scale_axes(scene)

    def start_value(number: int, kind: str, rest_value: npt.ArrayLike | None, default: tuple[float, ...]) -> Floats:
        animated = rig.channels.node_values(samples, kind, number)
        if animated is not None:
            return np.asarray(animated[0])
        return np.asarray(usable_rows([default if rest_value is None else rest_value], default)[0])

    transforms: list[NodeTransform] = []
    for number, node in enumerate(scene.nodes):
        parent = int(rig.order.parents[number])
        aim = aims.get(number)
        if aim is not None:
            parent_world = None if aim.detached or parent < 0 else world[None, parent]
            matrix = matrices_in_parent(world[None, number], parent_world)[0]
            rotation = quat.from_matrix3(matrix[:3, :3])
            parent = -1 if aim.detached else parent
            scale = np.full(3, aim.scale)
            transforms.append(NodeTransform(_index_or_none(parent), matrix[:3, 3], rotation, scale, None))
            continue
        axes = start_value(number, "scale_axes", node.scale_axes_xyzw, (0.0, 0.0, 0.0, 1.0))
        transforms.append(
            NodeTransform(
                _index_or_none(parent),
                start_value(number, "position", node.position, (0.0, 0.0, 0.0)),
                quat.normalise(start_value(number, "rotation", node.rotation_xyzw, (0.0, 0.0, 0.0, 1.0))),
                start_value(number, "scale", node.scale, (1.0, 1.0, 1.0)),
                quat.normalise(axes) if number in with_scale_axes else None,
            )
        )
    return transforms


def _index_or_none(parent: int) -> int | None:
    return None if parent < 0 else parent


def _nodes_with_scale_axes(scene: Scene) -> set[int]:
    """Return nodes whose scale axes have an effect: the axes are rotated, and the scale is not always uniform."""
    tracks = [channel for clip in scene.clips for channel in clip.channels if 0 <= channel.node < len(scene.nodes)]
    rotated = {channel.node for channel in tracks if channel.track.kind == "scale_axes"}
    rotated |= {number for number, node in enumerate(scene.nodes) if _has_rotated_scale_axes(node)}
    uneven = {number for number in rotated if np.ptp(scene.nodes[number].scale) > 0}
    for channel in tracks:
        if channel.node in rotated and channel.track.kind == "scale":
            values = channel.track.values
            if (values != values[:, :1]).any():
                uneven.add(channel.node)
    return uneven


def _has_rotated_scale_axes(node: Node) -> bool:
    return node.scale_axes_xyzw is not None and bool(np.any(np.abs(node.scale_axes_xyzw[:3]) > 1e-9))


def clip_curves(
    scene: Scene,
    number: int,
    *,
    fps: float | None = None,
    max_error: float = 1e-4,
    bake: bool = False,
    derived: Sequence[DerivedProperty] = (),
    limits: Limits | None = None,
) -> ClipCurves:
    """Return the curves of a clip for a host with ``fps`` frames per second (None: the rate of the clip).

    Curves of tracks are fitted within a part of ``max_error``, which is relative to the size of the scene. ``bake``
    samples everything at the frames. Constant properties have no curve: their values are in `initial_transforms` and in
    the scene.
    """
    with budgeted(limits, scene.stored_bytes):
        return _ClipConverter(scene, number, fps, max_error, bake).convert(derived)


class _ClipConverter:
    """Converts one clip to curves."""

    def __init__(self, scene: Scene, number: int, fps: float | None, max_error: float, bake: bool) -> None:
        self._scene = scene
        self._rig = Rig(scene, number)
        self._clip: Clip = self._rig.clip
        self._span: Span = written_span(self._clip, None)
        clip_fps = self._span.rate / self._span.frame
        self._fps = clip_fps if fps is None else fps
        self._frames_per_unit = self._fps / self._span.rate
        """frames of the host per time unit of the clip"""
        self._bake = bake
        self._length_tolerance = max_error * scene_size(scene, self._rig if number == 0 else None) * _TRACK_SHARE
        """allowed error of a track in scene units"""
        self._relative_tolerance = max_error * _TRACK_SHARE
        """allowed error of a track without a unit, or in radians"""
        begin, end = self._ends()
        first, last = math.floor(begin + 1e-6), math.ceil(end - 1e-6)
        self._frames: Floats | None = np.arange(first, last + 1.0) if last - first < _MOST_FRAMES else None
        """all frames of the clip; None if there are too many"""
        self._aims = find_aim_constraints(scene, self._rig.order)
        self._tracks = self._moving_tracks()

    def _moving_tracks(self) -> dict[tuple[int, str], int]:
        """Return the animated tracks by node and kind, as indices in the bank of the rig.

        If a node has several tracks of a kind, the last one is used.
        """
        channels = self._rig.channels
        moving = {
            (kind, node)
            for kind, animated in channels.animated.items()
            for group in animated
            for node in group.nodes.tolist()
        }
        numbers = {id(track): number for number, track in enumerate(channels.bank.tracks)}
        return {
            (channel.node, channel.track.kind): numbers[id(channel.track)]
            for channel in self._clip.channels
            if (channel.track.kind, channel.node) in moving
        }

    def convert(self, derived: Sequence[DerivedProperty]) -> ClipCurves:
        tracks = {
            node_and_kind: number
            for node_and_kind, number in self._tracks.items()
            if node_and_kind[1] in (*_TRANSFORM_KINDS, "morph", "roll")
        }
        motions = {
            node_and_kind: motion
            for node_and_kind, motion in zip(tracks, self._motions(*tracks.values()), strict=True)
            if motion is not None
        }
        curves = [
            self._curves(node, kind, motion, self._tolerance(node, kind))
            for (node, kind), motion in motions.items()
            if kind != "roll" and (node not in self._aims or kind == "morph" or self._keeps_track(node, kind))
        ]
        for aim in self._aims.values():
            curves += self._aim_curves(aim, motions)
        curves += [self._visible(node) for node, kind in self._tracks if kind == "visible"]
        for derived_property in derived:
            curves += self._derived(derived_property)
        moving = [curve for curve in curves if (curve.values != curve.values[0]).any() or curve.tangents_out.any()]
        return ClipCurves(self._clip.name, self._fps, *self._ends(), moving)

    def _keeps_track(self, node: int, kind: str) -> bool:
        """Return whether an aimed node keeps a transform track: only its position, and only if it keeps its parent."""
        return kind == "position" and not self._aims[node].detached

    def _tolerance(self, node: int, kind: str) -> float:
        if kind in ("rotation", "scale_axes"):
            return math.degrees(self._relative_tolerance)
        if kind == "position":
            parent = int(self._rig.order.parents[node])
            parent_scale = 1.0 if parent < 0 else float(np.abs(self._rig.world_at_rest[0, parent, :3, :3]).max())
            return self._length_tolerance / max(parent_scale, 1.0)
        return self._relative_tolerance

    def _motions(self, *tracks: int) -> list[Motion | None]:
        """Return tracks as functions. Those that are repeated start again at the end of the clip, as in the pose, but
        not rotations, whose sign must be continuous.
        """
        motions = track_motions(self._rig.channels.bank, tracks, self._span, cubic=True)
        for number, motion in zip(tracks, motions, strict=True):
            if motion is not None and motion.measure is VECTORS:
                motion.truth = TrackFunction(self._rig.channels.bank, number)
        return motions

    def _curves(self, node: int, name: str, motion: Motion, tolerance: float) -> FCurves:
        if not self._bake:
            if motion.mode in (STEP, CUBIC) or (motion.mode == LINEAR and not motion.jumps.any()):
                curves = self._authored(node, name, motion)
                if self._verify(curves, motion, tolerance):
                    return curves
            curves, complete = self._fitted(node, name, motion, tolerance)
            if complete and motion.repeated_until is None and self._verify(curves, motion, tolerance):
                return curves
            if self._frames is None:
                return curves
        return self._sampled(node, name, motion.truth, motion.measure)

    def _authored(self, node: int, name: str, motion: Motion) -> FCurves:
        """Return the authored keys of a motion."""
        if motion.cubic is not None:
            return self._from_keys(node, name, CUBIC, motion.cubic, motion.measure)
        values = motion.truth(motion.breaks)
        keys = Hermite(motion.breaks, values, values[:0], values[:0])
        return self._from_keys(node, name, motion.mode, keys, motion.measure)

    def _fitted(self, node: int, name: str, motion: Motion, tolerance: float) -> tuple[FCurves, bool]:
        """Return cubic curves within the tolerance, and whether limits permitted all keys."""
        if motion.measure is VECTORS:
            largest = float(np.nan_to_num(np.abs(motion.truth(motion.breaks))).max(initial=0.0))
            tolerance = max(tolerance, _SINGLE_PRECISION * largest)
        shortest = 4e-7 * max(float(motion.breaks[-1]) - self._span.begin, 1e-30)
        with np.errstate(all="ignore"):
            fit = fit_cubic(
                motion.truth,
                motion.breaks,
                motion.jumps,
                motion.measure.distance,
                tolerance=_FIT_MARGIN * tolerance,
                shortest=shortest,
                most_keys=most_keys(),
            )
        curves = self._from_keys(node, name, CUBIC, fit.keys, motion.measure)
        curves.how = "fitted"
        return curves, charge("keys", len(fit.keys.times)) and fit.complete

    def _from_keys(self, node: int, name: str, mode: str, keys: Hermite, measure: Measure) -> FCurves:
        """Return curves of keys, with times in frames of the host."""
        frames = keys.times * self._frames_per_unit
        rounded = np.rint(frames)
        frames = np.where(np.abs(frames - rounded) < 1e-6, rounded, frames)
        columns = [keys.values, keys.tangents_in / self._frames_per_unit, keys.tangents_out / self._frames_per_unit]
        jumps = np.flatnonzero(frames[1:] == frames[:-1])
        if measure is ROTATIONS and len(jumps):
            columns = _with_continuous_signs(columns, jumps)
        curves = FCurves(node, name, mode, frames, columns[0], columns[1], columns[2])
        return _without_jumps(curves, jumps) if len(jumps) else curves

    def _verify(self, curves: FCurves, motion: Motion, tolerance: float) -> bool:
        """Measure the error at every frame, unless there are too many; return whether the fit is good enough."""
        if self._frames is None:
            return True
        if len(curves.frames) > max(_KEYS_PER_FRAME * len(self._frames), len(motion.breaks)):
            return False
        frames = self._frames
        if curves.mode == LINEAR and motion.measure is ROTATIONS:  # hosts do not rotate at constant speed between keys
            lengths = np.diff(curves.frames)
            between = curves.frames[:-1, None] + lengths[:, None] * PROBES
            frames = np.concatenate([frames, between[lengths > JUMP].reshape(-1)])
        expected = motion.truth(frames / self._frames_per_unit)
        curves.error = _largest_distance(motion.measure.distance, curves.at(frames), expected)
        if motion.measure is VECTORS:
            tolerance = max(tolerance, _SINGLE_PRECISION * float(np.nan_to_num(np.abs(expected)).max(initial=0.0)))
        return curves.error <= _FRAME_FACTOR * tolerance

    def _sampled(self, node: int, name: str, truth: Callable[[Floats], Floats], measure: Measure) -> FCurves:
        frames = self._frames if self._frames is not None else np.linspace(*self._ends(), _MOST_FRAMES)
        values = truth(frames / self._frames_per_unit)
        if measure is ROTATIONS:
            values = quat.continuous(values)
        needed = _needed_keys(values)
        return FCurves(node, name, LINEAR, frames[needed], values[needed], values[:0], values[:0], "sampled")

    def _ends(self) -> tuple[float, float]:
        """Return the times of the two ends of the clip in frames of the host."""
        return self._span.begin * self._frames_per_unit, self._span.end * self._frames_per_unit

    def _aim_curves(self, aim: AimConstraint, motions: Mapping[tuple[int, str], Motion]) -> list[FCurves]:
        """Return the rotation of an aimed node, and its position if it leaves its parent; empty if nothing moves."""
        nodes_and_kinds = [(other, kind) for other in aim.involved for kind in _TRANSFORM_KINDS] + [(aim.node, "roll")]
        involved = [motions[node_and_kind] for node_and_kind in nodes_and_kinds if node_and_kind in motions]
        if not involved:
            return []
        breaks, jumps = breaks_of(involved, self._span)
        aim_motion = AimMotion(self._scene, self._rig.order, self._clip, aim)
        aim_motion.follow_signs(breaks)
        baked = {"rotation": Motion(aim_motion.rotations, ROTATIONS, breaks, jumps, Outcome.BAKED)}
        if aim.detached:
            baked["position"] = Motion(aim_motion.positions, VECTORS, breaks, jumps, Outcome.BAKED)
        return [self._curves(aim.node, name, motion, self._tolerance(aim.node, name)) for name, motion in baked.items()]

    def _visible(self, node: int) -> FCurves:
        """Return the visibility of a node as steps of 0 and 1."""
        (motion,) = self._motions(self._tracks[node, "visible"])
        assert motion is not None
        if motion.mode == STEP and not self._bake:
            curves = self._authored(node, "visible", motion)
        else:
            curves = self._sampled(node, "visible", motion.truth, VECTORS)
        values = np.where(curves.values > 0.5, 1.0, 0.0)
        return FCurves(node, "visible", STEP, curves.frames, values, values[:0], values[:0], curves.how)

    def _derived(self, derived_property: DerivedProperty) -> list[FCurves]:
        nodes = dict.fromkeys(node for node, kind in self._tracks if kind in derived_property.kinds)
        return [curves for node in nodes if (curves := self._derived_of(derived_property, node)) is not None]

    def _derived_of(self, derived_property: DerivedProperty, node: int) -> FCurves | None:
        scene_node = self._scene.nodes[node]
        camera_or_light = scene_node.camera if scene_node.camera is not None else scene_node.light
        if camera_or_light is None:
            return None
        numbers = {kind: self._tracks[node, kind] for kind in derived_property.kinds if (node, kind) in self._tracks}
        tracks = zip(numbers, self._motions(*numbers.values()), strict=True)
        motions = {kind: motion for kind, motion in tracks if motion is not None}
        samples = self._rig.sample([self._span.begin])
        not_animated = [kind for kind in derived_property.kinds if kind not in motions]
        constants = {
            kind: getattr(self._rig.properties, kind).at(samples, 1)[:, camera_or_light] for kind in not_animated
        }

        def truth(times: Floats) -> Floats:
            values = [
                motions[kind].truth(times) if kind in motions else np.repeat(constants[kind], len(times), axis=0)
                for kind in derived_property.kinds
            ]
            return derived_property.compute(node, *values)

        breaks, jumps = breaks_of(list(motions.values()), self._span)
        motion = Motion(truth, VECTORS, breaks, jumps, Outcome.APPROXIMATED)
        return self._curves(node, derived_property.name, motion, derived_property.tolerance)


def _with_continuous_signs(columns: Sequence[Floats], jumps: npt.NDArray[np.intp]) -> list[Floats]:
    """Return quaternions and tangents, negated after a jump if that is nearer to the value before it."""
    values = columns[0]
    signs = np.ones(len(values))
    for before in jumps.tolist():
        if np.dot(values[before] * signs[before], values[before + 1] * signs[before + 1]) < 0:
            signs[before + 1 :] *= -1.0
    return [column * signs[:, None] if len(column) else column for column in columns]


def _without_jumps(curves: FCurves, jumps: npt.NDArray[np.intp]) -> FCurves:
    """Return keys at different times: equal ones become one, and the earlier key of a jump moves to a slightly earlier
    point of the curve, or is removed if there is no earlier time.
    """
    frames, values, into, out = (
        column.copy() for column in (curves.frames, curves.values, curves.tangents_in, curves.tangents_out)
    )
    removed = np.zeros(len(frames), np.bool_)
    for before in jumps.tolist():
        if np.allclose(values[before], values[before + 1], rtol=0, atol=1e-6 * max(1.0, np.abs(values[before]).max())):
            removed[before + 1] = True
            if len(out):
                out[before] = out[before + 1]
        elif before and frames[before - 1] < frames[before]:
            earlier_frame = frames[before] - min(JUMP, 0.5 * (frames[before] - frames[before - 1]))
            values[before] = curves.at(np.array([earlier_frame]))[0]
            frames[before] = earlier_frame
        else:
            removed[before] = True
    remaining = ~removed
    into, out = (column[remaining] if len(column) else column for column in (into, out))
    return FCurves(curves.node, curves.name, curves.mode, frames[remaining], values[remaining], into, out)


def _largest_distance(distance: Distance, samples: Floats, expected: Floats) -> float:
    with np.errstate(all="ignore"):
        return float(np.nan_to_num(distance(samples, expected)).max(initial=0.0))


def _needed_keys(values: Floats) -> Flags:
    """Return which keys of a linear curve are needed: all except those equal to both neighbours."""
    equal = (values[1:] == values[:-1]).all(axis=1)
    needed = np.ones(len(values), np.bool_)
    needed[1:-1] = ~(equal[:-1] & equal[1:])
    return needed
