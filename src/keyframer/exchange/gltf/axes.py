"""From the scene's axes to glTF's: right-handed, Y up, metres.

Left-handed data is mirrored along one axis, number by number, so that no node needs a negative scale; what is up is
then turned, and the unit applied, by one root node. Triangles keep their order: corners that run counter-clockwise
seen from outside do so in either handedness.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

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
        from keyframer.maths import affine

        turn = (0.0, 0.0, 0.0, 1.0) if self.turn_xyzw is None else self.turn_xyzw
        return affine.compose(np.zeros(3), turn, np.full(3, self.unit))
