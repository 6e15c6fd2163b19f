"""Linear light as the numbers that a screen is given: the way back from `numbers.linear_color`."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


def shown_color(linear: npt.ArrayLike) -> npt.NDArray[np.float64]:
    given = np.clip(np.nan_to_num(np.asarray(linear, np.float64)), 0.0, 1.0)
    return np.asarray(np.where(given <= 0.0031308, given * 12.92, 1.055 * given ** (1 / 2.4) - 0.055))


def shown_rgb(linear: npt.ArrayLike) -> tuple[float, float, float]:
    red, green, blue = np.round(shown_color(linear), 9).tolist()[:3]
    found: tuple[Any, Any, Any] = red, green, blue
    return found
