"""Turns as files have them and back: x, y and z of a unit quaternion whose w is the negative root, as in MD5."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from keyframer.maths import quat

Floats = npt.NDArray[np.float64]


def with_w(xyz: Floats) -> tuple[Floats, int | None]:
    """Unit quaternions from x, y, z: w is the negative root, as MD5 has it. Also the first row that has no real w."""
    with np.errstate(all="ignore"):
        square = (xyz * xyz).sum(axis=1)
        w = -np.sqrt(np.maximum(0.0, 1.0 - square))
    turns = np.column_stack([xyz, w])
    # float32 rounding leaves squares of up to 1 + 4e-7 in sound files
    odd = np.flatnonzero(~(square <= 1.0 + 1e-5))
    return np.where(np.isfinite(turns).all(axis=1)[:, None], quat.normalise(turns), turns), (
        int(odd[0]) if len(odd) else None
    )


def with_negative_w(turns_xyzw: Floats) -> Floats:
    """The same turns with w <= 0, of which files have the first three numbers; -0.0 becomes 0.0."""
    return np.where(turns_xyzw[..., 3:] > 0, -turns_xyzw, turns_xyzw) + 0.0
