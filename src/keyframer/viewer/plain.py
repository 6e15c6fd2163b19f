"""Numbers and texts on their way into JSON: finite, short, safe."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import numpy.typing as npt

from keyframer.text import safe_text

LONGEST_NAME = 200
"""characters of a name that are shown; a file may hold a name of a megabyte"""


def to_json(value: object) -> bytes:
    """ASCII JSON; a number that JSON does not know is a mistake of ours, not of the file."""
    return json.dumps(value, allow_nan=False, separators=(",", ":")).encode("ascii")


def shown(text: str, longest: int = LONGEST_NAME) -> str:
    """Text of a file's making: safe, and no longer than anybody reads."""
    text = safe_text(text[: 2 * longest])
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def number(value: float) -> float | None:
    """Seven digits, which is what the files hold; None for what is no number."""
    return float(f"{value:.7g}") if math.isfinite(value) else None


def numbers(values: npt.NDArray[Any]) -> list[float | None]:
    """A column of numbers."""
    return [number(value) for value in np.asarray(values, np.float64).reshape(-1).tolist()]


def columns(values: npt.NDArray[Any]) -> list[list[float | None]]:
    """(n,) or (n, k) as k columns."""
    return [numbers(column) for column in table_of(np.asarray(values, np.float64)).T]


def table_of(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """(n,) or (n, …) as (n, k); of rows without numbers, or of no rows at all, k is 0."""
    return values.reshape(len(values), -1) if values.size else np.empty((len(values), 0))
