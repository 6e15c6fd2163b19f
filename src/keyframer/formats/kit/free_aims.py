"""Targets for cameras and lights without one, for formats that require targets: a point in front of the node at every
moment, and the roll about the line of sight.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from keyframer.arrays import Floats
from keyframer.curves import RotationForm, Track, compile_track, even_times
from keyframer.curves.key_reduction import (
    PROBES,
    Between,
    Sampling,
    fewest_keys,
    sample_together,
    subframes,
    vector_distance,
)
from keyframer.formats.kit.key_tracks import KeyFitter
from keyframer.formats.kit.repeated_tracks import last_moment, moments_to_check
from keyframer.maths import quat
from keyframer.maths.trigonometry import arctan2
from keyframer.posing import Rig
from keyframer.posing.bounds_and_duration import scene_size
from keyframer.posing.local_matrices import aim_matrices
from keyframer.scene import Handedness, Scene
from keyframer.scene.loss_report import Outcome

_SAMPLES_PER_NODE = 64
"""samples for each node and frame: local and world matrices, and what they are made from"""
_MOST_CHECKED = 300
"""moments between frames, and keys, at which the error is measured"""
_NOISY_DEGREES = 1e-5
"""smaller errors are those of rounding"""


class FreeAim(NamedTuple):
    """The target of a node without one, with keys in the time of the format."""

    position: Track
    """of the target, in scene space"""
    roll: Track
    error_degrees: float
    """largest difference of the direction of the node, for a camera also of its upward direction"""

    @property
    def outcome(self) -> Outcome:
        return Outcome.APPROXIMATED if self.error_degrees > _NOISY_DEGREES else Outcome.BAKED


def free_aim(scene: Scene, number: int, fitter: KeyFitter) -> FreeAim:
    """Return keys for a target and a roll that give a camera or light its orientation."""
    first, last = (round(float(value)) for value in fitter.times(fitter.span))
    frames = even_times(first, last, fitter.rules.step, numbers=4 * _SAMPLES_PER_NODE * len(scene.nodes))
    tracks = [channel.track for clip in scene.clips[:1] for channel in clip.channels]
    until = min((last_moment(track, fitter.span[1]) for track in tracks), default=fitter.span[1])
    rig, distance = Rig(scene), 0.1 * scene_size(scene)

    def aims_at(times: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the matrices of the node at times of the format, its targets, and its roll in degrees."""
        moments = np.minimum(times / fitter.factor, until)
        matrices = rig.world(rig.sample(moments), len(moments))[:, number]
        ahead = 1.0 if scene.space.handedness is Handedness.LEFT else -1.0
        targets = matrices[:, :3, 3] + ahead * distance * unit(matrices[:, :3, 2])
        unrolled = aim_matrices(scene, matrices[:, :3, 3], targets, np.zeros(len(moments)))
        side, up = unit(matrices[:, :3, 0]), unit(unrolled[:, :3, 1])
        # roll is positive if X points down
        radians = arctan2(-(side * up).sum(axis=1), (side * unit(unrolled[:, :3, 0])).sum(axis=1))
        return matrices, targets, np.degrees(np.unwrap(radians))

    known = np.unique(np.concatenate([frames, subframes(frames, PROBES)]))
    _, targets, rolls = aims_at(known)
    at_frames, none, tolerance = np.searchsorted(known, frames), RotationForm.NONE, fitter.tolerance

    def exact(values: Floats) -> Between:
        def at(times: Floats) -> Sampling[Floats]:
            yield from ()
            return np.asarray(values[np.searchsorted(known, times)])

        return at

    (position, _), (roll, _) = sample_together(
        fewest_keys(kind, frames, values[at_frames], none, allowed, vector_distance, between=exact(values))
        for kind, values, allowed in (("position", targets, tolerance.length), ("roll", rolls, tolerance.degrees))
    )
    times = moments_to_check(tracks, frames / fitter.factor, _MOST_CHECKED) * fitter.factor
    matrices = aims_at(times)[0]
    degrees = compile_track(roll)(times).reshape(-1)
    written = aim_matrices(scene, matrices[:, :3, 3], compile_track(position)(times), degrees)
    axes = (1, 2) if scene.nodes[number].camera is not None else (2,)
    error = max(largest_angle(written[:, :3, axis], unit(matrices[:, :3, axis])) for axis in axes)
    return FreeAim(position, roll, error)


def largest_angle(a: Floats, b: Floats) -> float:
    """Return the largest angle between two lists of unit vectors in degrees."""
    return float(np.degrees(2 * np.arcsin(np.clip(quat.length_of(a - b) / 2, 0.0, 1.0))).max())


def unit(vectors: Floats) -> Floats:
    lengths = np.sqrt((vectors * vectors).sum(axis=-1, keepdims=True))
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1.0))
