"""What writing shares: lines and blocks from plain values, and numbers as short as float32 allows."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from keyframer.formats.ase.records import BLOCK_TYPES, AseRecord, Block, Line
from keyframer.formats.ase.text_numbers import Array
from keyframer.wire.lossless_json import array_to_json

_LARGEST = 3e38


def short(values: npt.ArrayLike) -> Array:
    """The same numbers with as few digits as float32 needs; what is not finite is 0."""
    given = np.nan_to_num(np.asarray(values, np.float64), nan=0.0, posinf=_LARGEST, neginf=-_LARGEST)
    singles = np.clip(given, -_LARGEST, _LARGEST).astype(np.float32) + np.float32(0)  # normalises -0.0
    return np.array(array_to_json(singles.reshape(-1)), np.float64).reshape(singles.shape)


def line(keyword: str, *values: Any) -> Line:
    """A line with whole numbers, names (bytes) and floats."""
    plain = (value if isinstance(value, (int, bytes)) else float(value) for value in values)
    return Line(keyword.encode(), tuple(plain))


def floats(keyword: str, values: npt.ArrayLike) -> Line:
    """A line of floats."""
    return Line(keyword.encode(), tuple(short(np.asarray(values, np.float64).reshape(-1)).tolist()))


def block(keyword: str, *inside: AseRecord | None, values: tuple[Any, ...] = ()) -> Block:
    """A block with what stands inside, without what is None."""
    record = BLOCK_TYPES[keyword.encode()](values)
    record.children = [one for one in inside if one is not None]
    return record
