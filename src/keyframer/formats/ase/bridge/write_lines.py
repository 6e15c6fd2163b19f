"""Shared by the writers: lines and blocks from plain values, and numbers with as few digits as float32 needs."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from keyframer.arrays import Array
from keyframer.formats.ase.records import BLOCK_TYPES, AseRecord, Block, Line
from keyframer.text import encode_name
from keyframer.wire.lossless_json import array_to_json

_LARGEST = 3e38
_FEW = 16
"""fewer numbers than this are shortened one by one, which is faster: most lines of a node have three"""


def shortest_decimals(values: npt.ArrayLike) -> Array:
    """Return numbers rounded to as few digits as float32 needs; NaN becomes 0, the limit is ±3e38."""
    numbers = np.asarray(values, np.float64)
    if not (np.abs(numbers) <= _LARGEST).all():
        numbers = np.clip(np.nan_to_num(numbers, nan=0.0), -_LARGEST, _LARGEST)
    singles = numbers.astype(np.float32) + np.float32(0)  # normalises -0.0
    flat = singles.reshape(-1)
    shortest = [float(str(single)) for single in flat] if len(flat) < _FEW else array_to_json(flat)
    return np.array(shortest, np.float64).reshape(singles.shape)


def line(keyword: str, *values: Any) -> Line:
    """Return a line with integers, names (bytes) and floats."""
    plain = (value if isinstance(value, (int, bytes)) else float(value) for value in values)
    return Line(keyword.encode(), tuple(plain))


def float_line(keyword: str, values: npt.ArrayLike) -> Line:
    """Return a line of floats, shortened by `shortest_decimals`."""
    return Line(keyword.encode(), tuple(shortest_decimals(np.asarray(values, np.float64).reshape(-1)).tolist()))


def block(keyword: str, *children: AseRecord | None, values: tuple[Any, ...] = ()) -> Block:
    """Return a block with these lines and blocks inside; None is left out."""
    record = BLOCK_TYPES[keyword.encode()](values)
    record.children = [child for child in children if child is not None]
    return record


def quotable(name: str) -> bytes:
    """Return a name as UTF-8 that can be written in quotes: quotes and line ends are replaced."""
    return encode_name(name.replace('"', "'").replace("\n", " ").replace("\r", " "), "utf-8")
