"""Conversion of numbers and text to JSON: finite, short, safe."""

from __future__ import annotations

import json
import math

import numpy as np

from keyframer.arrays import Array


def to_json(value: object) -> bytes:
    """Return ASCII JSON; raises ValueError for a non-finite number, which would be a bug."""
    return json.dumps(value, allow_nan=False, separators=(",", ":")).encode("ascii")


def number(value: float) -> float | None:
    """Return a number with seven digits, the precision of the files; None if it is not finite."""
    return float(f"{value:.7g}") if math.isfinite(value) else None


def numbers(values: Array) -> list[float | None]:
    """Return a column of rounded numbers."""
    return columns(np.asarray(values).reshape(-1, 1))[0] if len(values) else []


def columns(values: Array) -> list[list[float | None]]:
    """Return (n,) or (n, k) as k columns, rounded as by `number`."""
    given = table_of(np.asarray(values, np.float64)).T
    size = np.abs(given)
    plain = (size >= 1e-12) & (size <= 1e12)
    digits = 6 - np.floor(np.log10(np.where(plain, size, 1.0)))
    up, down = 10.0 ** np.maximum(digits, 0), 10.0 ** np.maximum(-digits, 0)
    rounded: list[list[float | None]] = (np.rint(np.where(plain, given, 0.0) * up / down) * down / up).tolist()
    for column, row in np.argwhere(~plain & (size != 0)):  # powers of ten are not exact there
        rounded[column][row] = number(given[column, row])
    return rounded


def table_of(values: Array) -> Array:
    """Return (n,) or (n, …) as (n, k); k is 0 without rows or numbers."""
    return values.reshape(len(values), -1) if values.size else np.empty((len(values), 0))
