"""Colours as the original programs showed them, and as linear light."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from keyframer.arrays import Floats


def linear_color(rgb: npt.ArrayLike) -> Any:
    """Convert display colours (..., 3), clamped to 0..1, to linear light, as used by glTF.

    The original programs showed their numbers directly: 0.5 was half of the screen signal, not half of the light.
    """
    array = np.asarray(rgb, np.float64)
    levels = np.minimum(np.maximum(np.where(array == array, array, 0.0), 0.0), 1.0)
    return np.where(levels <= 0.04045, levels / 12.92, ((levels + 0.055) / 1.055) ** 2.4)


def linear_level(level: float) -> float:
    """Return `linear_color` of one number, without the cost of an array."""
    clamped = min(max(0.0, level), 1.0) if level == level else 0.0
    return float(clamped / 12.92 if clamped <= 0.04045 else ((clamped + 0.055) / 1.055) ** 2.4)


def shown_color(linear: npt.ArrayLike) -> Floats:
    """Convert linear light to display colours: the inverse of `linear_color`."""
    array = np.clip(np.nan_to_num(np.asarray(linear, np.float64)), 0.0, 1.0)
    return np.asarray(np.where(array <= 0.0031308, array * 12.92, 1.055 * array ** (1 / 2.4) - 0.055))


def shown_rgb(linear: npt.ArrayLike) -> tuple[float, float, float]:
    """Return the display colour of one linear colour, rounded to nine decimals."""
    red, green, blue = np.round(shown_color(linear), 9).tolist()[:3]
    rgb: tuple[Any, Any, Any] = red, green, blue
    return rgb
