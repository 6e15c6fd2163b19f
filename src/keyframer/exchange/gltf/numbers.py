"""Numbers that glTF can hold: finite and of single precision. Nothing else reaches a buffer or a JSON text."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Floats32 = npt.NDArray[np.float32]

LARGEST = float(np.finfo(np.float32).max)


def single(values: npt.ArrayLike) -> Floats32:
    """Single precision; NaN becomes 0, what is too large the largest number of its sign."""
    given = np.asarray(values)
    if given.dtype != np.float32:
        with np.errstate(all="ignore"):
            given = given.astype(np.float32)
    if not np.isfinite(given).all():
        given = np.nan_to_num(given, nan=0.0, posinf=LARGEST, neginf=-LARGEST)
    return np.asarray(given, np.float32)


def unusable(values: npt.ArrayLike) -> int:
    """How many numbers `single` has to replace."""
    given = np.asarray(values)
    if given.dtype != np.float32:
        with np.errstate(all="ignore"):
            given = given.astype(np.float32)
    return given.size - int(np.count_nonzero(np.isfinite(given)))


def listed(values: npt.ArrayLike) -> list[float]:
    """Numbers for JSON, within the range of single precision."""
    given = np.asarray(values, np.float64)
    plain: list[float] = given.tolist()
    if all(-LARGEST <= number <= LARGEST for number in plain):
        return plain
    clean = np.nan_to_num(given, nan=0.0, posinf=LARGEST, neginf=-LARGEST)
    return list(np.clip(clean, -LARGEST, LARGEST).tolist())


def fraction(value: float | None, default: float = 0.0) -> float:
    """A number clamped to 0..1."""
    number = default if value is None or not np.isfinite(value) else float(value)
    return min(max(number, 0.0), 1.0)


_FEW = 128
"""rows: beyond, a column at a time is faster by far"""


def bounds(rows: npt.NDArray[Any]) -> tuple[list[float], list[float]]:
    """The least and the largest number of each column of (n, k) rows, n > 0."""
    if len(rows) <= _FEW:
        return np.minimum.reduce(rows, axis=0).tolist(), np.maximum.reduce(rows, axis=0).tolist()
    columns = [rows[:, axis] for axis in range(rows.shape[1])]
    return [float(column.min()) for column in columns], [float(column.max()) for column in columns]


def linear_color(rgb: npt.ArrayLike) -> Any:
    """Display colours (..., 3) as linear light, which is what glTF's colour factors and vertex colours are.

    The old programs showed their numbers as they are: 0.5 was half the screen's signal, not half of the light.
    """
    given = np.asarray(rgb, np.float64)
    shown = np.minimum(np.maximum(np.where(given == given, given, 0.0), 0.0), 1.0)
    return np.where(shown <= 0.04045, shown / 12.92, ((shown + 0.055) / 1.055) ** 2.4)
