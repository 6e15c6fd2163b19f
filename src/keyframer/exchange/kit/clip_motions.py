"""The motion of one clip of a scene, sampled within the allowed error; aims at targets become rotations."""

from __future__ import annotations

import numpy as np

from keyframer.arrays import Flags, Floats
from keyframer.curves.key_reduction import PROBES
from keyframer.exchange.kit.aims import AimConstraint, AimMotion
from keyframer.exchange.kit.motion import ROTATIONS, VECTORS, Motion, Sampler, breaks_of, track_motions
from keyframer.exchange.kit.options import SceneOptions
from keyframer.exchange.kit.sampling import sample
from keyframer.exchange.kit.spans import written_span
from keyframer.posing import Rig
from keyframer.scene.loss_report import LossReport, Outcome
from keyframer.scene.losses import MOTION_INCOMPLETE

PROPERTY_KINDS = ("fov", "color", "multiplier", "hotspot", "falloff")
"""kinds of tracks that animate cameras and lights (`keyframer.exchange.kit.property_motions`)"""
_TRANSFORM_KINDS = ("position", "rotation", "scale", "scale_axes")
_TRACK_SHARE = 0.5
"""fraction of the allowed error for one track: errors add up along a chain, and long arms magnify those of rotations"""
_MOST_WORST = 32
"""largest number of motions of a measure whose worst moments are compared"""


class ClipMotions:
    """The sampled motions of the clip of a rig, in the axes of the scene."""

    def __init__(
        self,
        rig: Rig,
        aims: dict[int, AimConstraint],
        options: SceneOptions,
        size: float,
        *,
        cubic: bool = False,
        every_frame: bool = False,
    ) -> None:
        """``size`` is that of the scene. With ``cubic``, tracks that are cubic splines keep them; with
        ``every_frame``, all frames get a key, unless they are too many.
        """
        self.rig, self.clip, self.aims = rig, rig.clip, aims
        self.span = written_span(self.clip, options.fps)
        self.frames = self.span.frames() if every_frame else None
        """if every frame gets a key: all frames"""
        self._options, self._size = options, size
        moving = {
            (kind, node)
            for kind, animated in rig.channels.animated.items()
            for group in animated
            for node in group.nodes.tolist()
        }
        numbers = {id(track): number for number, track in enumerate(rig.channels.bank.tracks)}
        self.tracks: dict[int, dict[str, int]] = {}
        """the animated tracks, as indices in the bank of the rig, by node and kind"""
        for channel in self.clip.channels:
            if (channel.track.kind, channel.node) in moving:
                self.tracks.setdefault(channel.node, {})[channel.track.kind] = numbers[id(channel.track)]
        self.motions: dict[tuple[int, str], Motion] = {}
        """by node and kind; the kinds ``aim`` and ``place`` are the baked rotation and position of aimed nodes"""
        self._make_motions(cubic)

    def _make_motions(self, cubic: bool) -> None:
        """Sample all tracks and aims, but not those of cameras and lights."""
        tracks = {
            (node, kind): number
            for node, numbers in self.tracks.items()
            for kind, number in numbers.items()
            if kind not in PROPERTY_KINDS
        }
        motions = track_motions(self.rig.channels.bank, list(tracks.values()), self.span, cubic=cubic)
        self.motions = {
            node_and_kind: motion for node_and_kind, motion in zip(tracks, motions, strict=True) if motion is not None
        }
        self._sample(self.motions)
        for node, aim in self.aims.items():
            involved = [self.motions.get((other, kind)) for other in aim.involved for kind in _TRANSFORM_KINDS]
            involved.append(self.motions.get((node, "roll")))
            moving = [motion for motion in involved if motion is not None and not motion.sampler.is_still]
            if moving:
                self._bake_aim(node, aim, *breaks_of(moving, self.span))

    def _sample(self, motions: dict[tuple[int, str], Motion]) -> None:
        options, tolerances = self._options, []
        for (_, kind), motion in motions.items():
            allowed = options.max_error * (self._size if kind in ("position", "place") else 1.0)
            tolerances.append(_TRACK_SHARE * (options.max_degrees if motion.measure is ROTATIONS else allowed))
        sample(list(motions.values()), tolerances, self.span, self.frames)

    def _bake_aim(self, node: int, aim: AimConstraint, breaks: Floats, jumps: Flags) -> None:
        """Bake the rotation of an aimed node, and its position if it was detached from its parent."""
        function = AimMotion(self.rig.scene, self.rig.order, self.clip, aim)
        baked = {(node, "aim"): Motion(function.rotations, ROTATIONS, breaks, jumps, Outcome.BAKED)}
        if aim.detached:
            baked[node, "place"] = Motion(function.positions, VECTORS, breaks, jumps, Outcome.BAKED)
        self._sample(baked)
        self.motions.update(baked)

    def property_of(self, node: int, kind: str) -> str:
        """Return what a motion animates: position, rotation, scale or scale_axes; empty for anything else, and for
        tracks that the target of a node overrides."""
        aim = self.aims.get(node)
        if aim is None:
            return kind if kind in _TRANSFORM_KINDS else ""
        if kind == "aim":
            return "rotation"
        return "position" if kind == ("place" if aim.detached else "position") else ""

    def samplers(self) -> dict[tuple[int, str], Sampler]:
        """Return the samplers of what moves, by node and `property_of` its motion."""
        return {
            (node, animated): motion.sampler
            for (node, kind), motion in self.motions.items()
            if not motion.sampler.is_still and (animated := self.property_of(node, kind))
        }

    def aim_error(self, node: int) -> float:
        """Return the largest error of the rotation of an aimed node, in degrees."""
        motion = self.motions.get((node, "aim"))
        return 0.0 if motion is None else motion.error

    def worst_moments(self) -> Floats:
        """Return moments, in seconds, at which the keys of the least exact motions differ most from the motion."""
        inexact = [motion for motion in self.motions.values() if motion.worst is not None and motion.error > 0]
        inexact.sort(key=lambda motion: -motion.error)
        turning = [motion for motion in inexact if motion.measure is ROTATIONS]
        others = [motion for motion in inexact if motion.measure is not ROTATIONS]
        chosen = turning[:_MOST_WORST] + others[:_MOST_WORST]
        pieces = np.array([motion.worst for motion in chosen]).reshape(-1, 2)
        return self.span.seconds(pieces[:, :1] + np.diff(pieces) * PROBES).reshape(-1)

    def report_incomplete(self, report: LossReport) -> None:
        """Report motions that the keys do not follow."""
        for (number, kind), motion in self.motions.items():
            if missing_motion := motion.missing_motion(self.span):
                node = self.rig.scene.nodes[number]
                path = f"/nodes/{node.name}/{kind}"
                report.add(MOTION_INCOMPLETE, path, extras=node.extras, reason=missing_motion)
