"""Bump maps as normal maps: the slope of a height map at every pixel."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

STEEPNESS = 4.0
"""how high white is above black, in pixels, for a map of full amount: a bump of 30 %, which is usual, leans up to about
50 degrees where black meets white. The old programs bent normals by an amount that glTF has no word for."""


def normal_map(heights: npt.NDArray[np.float64], amount: float, *, tiled: bool) -> npt.NDArray[np.uint8]:
    """(height, width, 3) with green upwards, as glTF has it; ``heights`` are 0 to 1, the first row is the top."""
    padded = np.pad(heights, 1, "wrap" if tiled else "edge")
    right = (padded[1:-1, 2:] - padded[1:-1, :-2]) / 2
    down = (padded[2:, 1:-1] - padded[:-2, 1:-1]) / 2
    slope = STEEPNESS * amount
    normals = np.stack([-slope * right, slope * down, np.ones_like(heights)], axis=2)
    normals /= np.sqrt((normals * normals).sum(axis=2, keepdims=True))
    return np.asarray(np.round((normals + 1) * 127.5), np.uint8)
