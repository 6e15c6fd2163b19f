"""Scales a scene, or changes its axes."""

from __future__ import annotations

import math
from dataclasses import replace

from keyframer.formats.kit.coordinates import in_space
from keyframer.scene import Handedness, Scene


def scale(scene: Scene, factor: float) -> Scene:
    """Return the scene with all lengths multiplied by ``factor``; the length of its unit stays the same."""
    if not (math.isfinite(factor) and factor > 0):
        raise ValueError(f"expected a positive factor, not {factor}")
    return in_space(scene, scene.space, factor)


def change_axes(scene: Scene, *, up: str | None = None, handedness: str | Handedness | None = None) -> Scene:
    """Return the scene in other axes: coordinates are exchanged and negated, the picture stays the same.

    Z up becomes Y up by (x, z, -y), left-handed Y up becomes right-handed by (x, y, -z); arguments that are None leave
    that property unchanged.
    """
    hand = scene.space.handedness if handedness is None else Handedness(handedness)
    return in_space(scene, replace(scene.space, up=up or scene.space.up, handedness=hand))
