"""Larger or smaller."""

from __future__ import annotations

import math
from dataclasses import replace

from keyframer.formats.kit.coordinates import in_space
from keyframer.scene import Scene


def scale(scene: Scene, factor: float) -> Scene:
    """All lengths times ``factor``. A scene that knows how long its unit is keeps its size: its unit shrinks."""
    if not (math.isfinite(factor) and factor > 0):
        raise ValueError(f"a positive factor is wanted, not {factor}")
    metres = scene.space.metres_per_unit
    space = scene.space if metres is None else replace(scene.space, metres_per_unit=metres / factor)
    return replace(in_space(scene, scene.space, factor), space=space)
