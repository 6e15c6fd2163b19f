"""The motion of properties of cameras and lights, converted to the numbers of a format and sampled."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from keyframer.arrays import Flags, Floats
from keyframer.exchange.kit.cameras_lights import LightStart
from keyframer.exchange.kit.clip_motions import ClipMotions
from keyframer.exchange.kit.motion import VECTORS, Function, Measure, Motion, breaks_of, track_motions
from keyframer.exchange.kit.sampling import sample
from keyframer.scene.loss_report import LossReport, Outcome
from keyframer.scene.losses import MOTION_INCOMPLETE, MOTION_SAMPLED

ConeFunction = Callable[[Floats, Floats], Mapping[str, Floats]]
"""full angles of the bright and the outer cone (n, 1), in degrees, to numbers (n, 1) of the format"""
COLOR_ERROR = 1e-3
"""allowed error of colours and multipliers"""


class PropertyMotions:
    """Samples the tracks of cameras and lights of one clip."""

    def __init__(self, motions: ClipMotions, report: LossReport) -> None:
        self._motions, self._report = motions, report

    def converted(self, track: int, tolerance: float, convert: Function, measure: Measure = VECTORS) -> Motion | None:
        """Return the motion of a track, an index in the bank of the rig, whose values are converted by a function; None
        without a usable key."""
        (motion,) = self._of_tracks(track)
        if motion is None:
            return None
        truth = motion.truth
        return self._sampled(lambda times: convert(truth(times)), motion.breaks, motion.jumps, tolerance, measure)

    def cones(
        self, tracks: Mapping[str, int], start: LightStart, tolerances: Mapping[str, float], cone: ConeFunction
    ) -> dict[str, Motion]:
        """Return the motion of each number that ``cone`` makes of the full angles of both cones, by its name in
        ``tolerances``: because the inner cone must be inside the outer one, each may depend on both tracks.
        """
        known = {kind: tracks[kind] for kind in ("hotspot", "falloff") if kind in tracks}
        motions = dict(zip(known, self._of_tracks(*known.values()), strict=True))
        still = {"hotspot": start.hotspot_degrees, "falloff": start.falloff_degrees or 45.0}

        def full_angles(kind: str, times: Floats) -> Floats:
            motion = motions.get(kind)
            return np.full((len(times), 1), still[kind]) if motion is None else motion.truth(times)

        breaks, jumps = breaks_of([motion for motion in motions.values() if motion is not None], self._motions.span)
        made = {}
        for name, tolerance in tolerances.items():

            def value(times: Floats, name: str = name) -> Floats:
                return cone(full_angles("hotspot", times), full_angles("falloff", times))[name]

            made[name] = self._sampled(value, breaks, jumps, tolerance, VECTORS)
        return made

    def report(self, node: int, kind: str, motion: Motion, players: str, factor: float, unit: str) -> None:
        """Report the error of a motion, multiplied by ``factor``, in ``unit``, and what players need to show it."""
        scene_node = self._motions.rig.scene.nodes[node]
        path, extras = f"/nodes/{scene_node.name}/{kind}", scene_node.extras
        if missing_motion := motion.missing_motion(self._motions.span):
            self._report.add(MOTION_INCOMPLETE, path, extras=extras, reason=missing_motion)
        error = motion.error * float(factor)
        self._report.add(MOTION_SAMPLED["property"], path, error=error, unit=unit, extras=extras, players=players)

    def _of_tracks(self, *tracks: int) -> list[Motion | None]:
        return track_motions(self._motions.rig.channels.bank, tracks, self._motions.span, cubic=False)

    def _sampled(self, truth: Function, breaks: Floats, jumps: Flags, tolerance: float, measure: Measure) -> Motion:
        motion = Motion(truth, measure, breaks, jumps, Outcome.APPROXIMATED)
        sample([motion], [tolerance], self._motions.span, self._motions.frames)
        return motion
