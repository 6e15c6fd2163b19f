"""Converts arrays to wire types; integers are never wrapped, truncated or rounded silently."""

from __future__ import annotations

from typing import Any

import numpy as np

from keyframer.arrays import Array


def checked_cast(array: Array, dtype: np.dtype[Any]) -> Array:
    """Return the array in ``dtype``; raises ValueError if it cannot store a value. A float may lose precision."""
    if array.dtype == dtype:
        return array
    if array.size == 0:
        return np.empty(array.shape, dtype)
    if array.dtype.kind not in "buif":
        raise ValueError(f"expected numbers, not {array.dtype}")
    if dtype.kind == "f":
        with np.errstate(over="ignore"):
            converted: Array = array.astype(dtype)
        if (np.isinf(converted) & np.isfinite(array)).any():
            raise ValueError(f"numbers too large for a float of {dtype.itemsize} bytes")
        return converted
    info = np.iinfo(dtype)
    if array.dtype.kind == "f" and not (array == np.floor(array)).all():  # NaN is not equal to itself
        raise ValueError("expected whole numbers")
    if array.dtype.kind != "b" and not (info.min <= array.min() and array.max() <= info.max):
        raise ValueError(f"values outside {info.min}..{info.max}")
    return array.astype(dtype)
