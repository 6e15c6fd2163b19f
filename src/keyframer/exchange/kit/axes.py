"""Conversion of the axes of a scene to right-handed ones, which today's formats have.

Left-handed data is mirrored along one axis, so that no node needs a negative scale. Triangles keep their winding: it is
counter-clockwise seen from outside in either handedness.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from keyframer.arrays import Floats
from keyframer.scene import Handedness, Space

_SQRT_HALF = math.sqrt(0.5)
_UP_ROTATIONS = {"x": (0.0, 0.0, _SQRT_HALF, _SQRT_HALF), "y": None, "z": (-_SQRT_HALF, 0.0, 0.0, _SQRT_HALF)}


class Axes:
    """Converts between the axes of one scene and right-handed ones."""

    def __init__(self, space: Space, metres_per_unit: float = 1.0) -> None:
        self.up_rotation_xyzw = _UP_ROTATIONS[space.up]
        """rotation of the root node; None if it needs no rotation"""
        self.unit = metres_per_unit
        """metres per unit of the scene"""
        self.mirrored = space.handedness is Handedness.LEFT
        signs = np.ones(3)
        rotation_signs = np.ones(4)
        if self.mirrored:
            signs[1 if space.up == "z" else 2] = -1.0
            rotation_signs[:3] = -signs
        self._signs = signs
        self._rotation_signs = rotation_signs

    @property
    def needs_root(self) -> bool:
        return self.up_rotation_xyzw is not None or self.unit != 1.0

    def vectors(self, values: npt.ArrayLike) -> Floats:
        """Convert positions and directions (..., 3)."""
        array = np.asarray(values, np.float64)
        return array * self._signs if self.mirrored else array

    def rotations(self, rotation_xyzw: npt.ArrayLike) -> Floats:
        """Convert quaternions (..., 4), and their derivatives."""
        array = np.asarray(rotation_xyzw, np.float64)
        return array * self._rotation_signs if self.mirrored else array

    def matrices(self, values: npt.ArrayLike) -> Floats:
        """Convert matrices (..., 4, 4) that map one space of the scene to another."""
        array = np.asarray(values, np.float64)
        if not self.mirrored:
            return array
        signs = np.append(self._signs, 1.0)
        return np.asarray(array * signs[:, None] * signs)
