"""A pose: a scene at given times, as arrays."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from keyframer.arrays import Flags, Floats
from keyframer.posing.channels import Samples
from keyframer.posing.rig import Rig
from keyframer.posing.vertices import posed_vertices
from keyframer.scene import Clip, Scene
from keyframer.text import counted


@dataclass(eq=False, repr=False)
class Pose:
    """A scene at T times, in the scene's own space. N nodes, C cameras, L lights."""

    scene: Scene
    times_seconds: Floats
    """(T,) seconds from time 0 of the clip; NaN if the clip has no valid rate"""
    frames: Floats
    """(T,) the same times in frames"""
    world: Floats
    """(T, N, 4, 4); the mesh of a node without a skin is placed by ``world . translation(-pivot)``"""
    visible: Flags
    """(T, N); a hidden node does not hide its children"""
    camera_fov_degrees: Floats
    """(T, C) horizontal"""
    light_colors: Floats
    """(T, L, 3)"""
    light_multipliers: Floats
    """(T, L)"""
    light_hotspot_degrees: Floats
    """(T, L) full angle of the inner cone, 0 for lights without one"""
    light_falloff_degrees: Floats
    """(T, L) full angle of the outer cone, 0 for lights without one"""
    morph_weights: dict[int, Floats]
    """(T, shapes) by node index, for nodes with a morph channel"""
    rig: Rig = field(repr=False)
    samples: Samples = field(repr=False)

    @cached_property
    def local(self) -> Floats:
        """(T, N, 4, 4) relative to the parent, computed on first use; cameras and lights are not aimed at targets."""
        return self.rig.local(self.samples, len(self.frames))

    def vertices(self, node: int | str) -> Floats:
        """Return the vertices (T, V, 3) of a node, given by its index or name, in scene space: morphed, skinned and
        transformed. Raises LookupError if there is no such node.
        """
        number = self.scene.node_index(node)
        with np.errstate(over="ignore", invalid="ignore"):  # non-finite positions of damaged files
            return posed_vertices(self.scene, number, self.world, self.morph_weights.get(number))

    def __repr__(self) -> str:
        return f"<Pose of {counted(len(self.scene.nodes), 'node')} at {counted(len(self.frames), 'time')}>"


def pose(
    scene: Scene,
    times: npt.ArrayLike | None = None,
    *,
    frames: npt.ArrayLike | None = None,
    clip: int | str = 0,
    rig: Rig | None = None,
) -> Pose:
    """Return the pose at ``times`` (seconds) or ``frames`` (of the clip, which is given by its index or name); exactly
    one of them must be given.

    For many calls, make a `Rig` once and pass it; it replaces ``clip``.
    """
    if (times is None) == (frames is None):
        raise ValueError("give either times (seconds) or frames")
    rig = rig or Rig(scene, clip)
    seconds, clip_frames = _seconds_and_frames(rig.clip, times, frames)
    count = len(clip_frames)
    moments = clip_frames
    if rig.clip.units_per_frame != 1:
        with np.errstate(over="ignore", invalid="ignore"):  # extreme rates
            moments = clip_frames * rig.clip.units_per_frame
    samples = rig.sample(moments)
    properties = rig.properties
    return Pose(
        scene=scene,
        times_seconds=seconds,
        frames=clip_frames,
        world=rig.world(samples, count),
        visible=properties.visible.at(samples, count)[..., 0] > 0.5,
        camera_fov_degrees=properties.fov.at(samples, count)[..., 0],
        light_colors=properties.color.at(samples, count),
        light_multipliers=properties.multiplier.at(samples, count)[..., 0],
        light_hotspot_degrees=properties.hotspot.at(samples, count)[..., 0],
        light_falloff_degrees=properties.falloff.at(samples, count)[..., 0],
        morph_weights=properties.morph_weights(samples, count),
        rig=rig,
        samples=samples,
    )


def _seconds_and_frames(clip: Clip, times: npt.ArrayLike | None, frames: npt.ArrayLike | None) -> tuple[Floats, Floats]:
    """Return seconds and frames of the same moments.

    Seconds within rounding of a whole frame give exactly that frame, because it may have a jump or a visibility key.
    """
    rate = clip.frames_per_second
    has_rate = math.isfinite(rate) and rate > 0
    if frames is None and not has_rate:
        raise ValueError(f"the clip has no valid frame rate ({rate}): give frames instead of times")
    with np.errstate(over="ignore", invalid="ignore"):  # extreme rates
        if frames is not None:
            exact = np.atleast_1d(np.asarray(frames, np.float64))
            return exact / rate if has_rate else np.full(len(exact), np.nan), exact
        seconds = np.atleast_1d(np.asarray(times, np.float64))
        rough = seconds * rate
        near = np.round(rough)
        is_whole = np.abs(rough - near) <= 1e-9 * np.maximum(1.0, np.abs(near))
    return seconds, np.where(is_whole, near, rough)
