"""Numbers as today's formats store them: finite single precision, fractions, bounds."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from keyframer.arrays import Array, Singles

LARGEST_SINGLE = float(np.finfo(np.float32).max)


def single(values: npt.ArrayLike) -> Singles:
    """Convert to single precision; NaN becomes 0, a number that is too large becomes the largest one of its sign."""
    array = np.asarray(values)
    if array.dtype != np.float32:
        with np.errstate(all="ignore"):
            array = array.astype(np.float32)
    if not np.isfinite(array).all():
        array = np.nan_to_num(array, nan=0.0, posinf=LARGEST_SINGLE, neginf=-LARGEST_SINGLE)
    return np.asarray(array, np.float32)


def count_unusable(values: npt.ArrayLike) -> int:
    """Return how many numbers `single` has to replace."""
    array = np.asarray(values)
    if not array.size or (array.min() >= -LARGEST_SINGLE and array.max() <= LARGEST_SINGLE):  # false if there is a NaN
        return 0
    if array.dtype != np.float32:
        with np.errstate(all="ignore"):
            array = array.astype(np.float32)
    return array.size - int(np.count_nonzero(np.isfinite(array)))


def fraction(value: float | None, default: float = 0.0) -> float:
    """Clamp a number to 0..1; None and non-finite numbers become the default."""
    number = default if value is None or not math.isfinite(value) else float(value)
    return min(max(number, 0.0), 1.0)


def bounds(rows: Array) -> tuple[list[float], list[float]]:
    """Return the minimum and the maximum of each column of (n, k) rows, n > 0."""
    columns = rows.T.copy()  # numpy is several times slower along short rows
    low, high = np.minimum.reduce(columns, axis=1), np.maximum.reduce(columns, axis=1)
    return (low + 0.0).tolist(), (high + 0.0).tolist()  # whether 0 or -0 is found depends on the processor
