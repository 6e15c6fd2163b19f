"""The state of one export to USD, and samples at time codes: frames of the clip."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from keyframer.arrays import Array, Flags, Floats
from keyframer.exchange.kit.axes import Axes
from keyframer.exchange.kit.clip_motions import ClipMotions
from keyframer.exchange.kit.images import Image
from keyframer.exchange.kit.motion import STEP, Sampler
from keyframer.exchange.kit.options import SceneOptions
from keyframer.exchange.usd.layer import Prim, Samples
from keyframer.posing.bounds_and_duration import scene_size
from keyframer.scene import Scene
from keyframer.scene.loss_report import LossReport

_ROUNDING = 4e-7
"""relative error of seconds in single precision, and of the conversion to frames"""


@dataclass(eq=False, repr=False)
class Context:
    """Scene, options and data shared by the parts of an export."""

    scene: Scene
    options: SceneOptions
    axes: Axes
    report: LossReport
    motions: ClipMotions
    root: Prim
    image_path: Callable[[Image], str]
    """returns the path of the file of an image, relative to the layer"""
    prims: dict[int, Prim] = field(default_factory=dict)
    """the prims of nodes"""

    @cached_property
    def size(self) -> float:
        """Size of the scene, in its own unit."""
        return scene_size(self.scene, self.motions.rig)

    @property
    def codes_per_second(self) -> float:
        return self.motions.span.rate / self.motions.span.frame

    def code(self, time: float) -> float:
        """Return the time code of a time in the unit of the clip."""
        return time / self.motions.span.frame

    def samples(self, sampler: Sampler, values: Array | None = None) -> Samples:
        """Return keys at time codes; ``values`` replace those of the sampler. Keys of steps get one just before each
        of them, because values between two keys are interpolated."""
        values = sampler.values if values is None else values
        codes = self.codes(sampler.times)
        if sampler.mode == STEP and len(codes) > 1:
            closest = self.motions.span.closest / self.motions.span.frame
            before = np.maximum(codes[1:] - closest, 0.5 * (codes[1:] + codes[:-1]))
            order = np.argsort(np.concatenate([codes, before]), kind="stable")
            codes, values = np.concatenate([codes, before])[order], np.concatenate([values, values[:-1]])[order]
        return Samples(codes, values)

    def codes(self, seconds: Array) -> Floats:
        """Return the time codes of seconds after the begin; those that are almost whole frames are whole."""
        span = self.motions.span
        codes = span.begin / span.frame + np.asarray(seconds, np.float64) * (span.rate / span.frame)
        whole = np.round(codes)
        near: Flags = np.abs(codes - whole) <= _ROUNDING * np.abs(codes - span.begin / span.frame) + 1e-9
        return np.where(near, whole, np.round(codes, 6))
