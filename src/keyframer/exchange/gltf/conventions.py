"""What glTF expects of numbers: axes and units, single precision, linear colours.

A scene's axes become right-handed, Y up, metres. Left-handed data is mirrored along one axis, number by number, so that
no node needs a negative scale; one root node then turns what is up and applies the unit. Triangles keep their order:
corners that run counter-clockwise seen from outside do so in either handedness.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from keyframer.maths import affine
from keyframer.scene import Handedness, Space

Floats = npt.NDArray[np.float64]

_HALF = math.sqrt(0.5)
_TURNS = {"x": (0.0, 0.0, _HALF, _HALF), "y": None, "z": (-_HALF, 0.0, 0.0, _HALF)}


class Axes:
    """The change of axes of one scene."""

    def __init__(self, space: Space, metres_per_unit: float = 1.0) -> None:
        self.turn_xyzw = _TURNS[space.up]
        """rotation of the root node, None for none"""
        self.unit = metres_per_unit
        self.mirrored = space.handedness is Handedness.LEFT
        self.axis = 1 if space.up == "z" else 2
        """the axis that is negated where ``mirrored``"""
        signs = np.ones(3)
        turn_signs = np.ones(4)
        if self.mirrored:
            signs[self.axis] = -1.0
            turn_signs[:3] = -signs
        self._signs = signs
        self._turn_signs = turn_signs

    @property
    def needs_root(self) -> bool:
        return self.turn_xyzw is not None or self.unit != 1.0

    def vectors(self, values: npt.ArrayLike) -> Floats:
        """Positions and directions (..., 3)."""
        given = np.asarray(values, np.float64)
        return given * self._signs if self.mirrored else given

    def turns(self, rotation_xyzw: npt.ArrayLike) -> Floats:
        """Quaternions (..., 4), and their derivatives."""
        given = np.asarray(rotation_xyzw, np.float64)
        return given * self._turn_signs if self.mirrored else given

    def matrices(self, values: npt.ArrayLike) -> Floats:
        """Matrices (..., 4, 4) between two spaces that are both mirrored."""
        given = np.asarray(values, np.float64)
        if not self.mirrored:
            return given
        signs = np.append(self._signs, 1.0)
        return np.asarray(given * signs[:, None] * signs)

    def root_matrix(self) -> Floats:
        """(4, 4) of the root node; identity where there is none."""
        turn = (0.0, 0.0, 0.0, 1.0) if self.turn_xyzw is None else self.turn_xyzw
        return affine.compose(np.zeros(3), turn, np.full(3, self.unit))


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
    if not given.size or (given.min() >= -LARGEST and given.max() <= LARGEST):  # not where there is a NaN
        return 0
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


def shown_color(linear: npt.ArrayLike) -> npt.NDArray[np.float64]:
    given = np.clip(np.nan_to_num(np.asarray(linear, np.float64)), 0.0, 1.0)
    return np.asarray(np.where(given <= 0.0031308, given * 12.92, 1.055 * given ** (1 / 2.4) - 0.055))


def shown_rgb(linear: npt.ArrayLike) -> tuple[float, float, float]:
    red, green, blue = np.round(shown_color(linear), 9).tolist()[:3]
    found: tuple[Any, Any, Any] = red, green, blue
    return found
