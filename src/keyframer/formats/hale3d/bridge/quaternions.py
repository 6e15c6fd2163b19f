"""Convert rotations to stored form and back: x, y and z of a unit quaternion with negative w, as in MD5."""

from __future__ import annotations

import numpy as np

from keyframer.arrays import Floats
from keyframer.maths import quat


def with_w(xyz: Floats) -> tuple[Floats, int | None]:
    """Return unit quaternions from x, y, z, with w <= 0 as in MD5; rows with non-finite numbers are not normalised.

    Also return the index of the first row that is too long for a unit quaternion or not finite, or None.
    """
    with np.errstate(all="ignore"):
        square = (xyz * xyz).sum(axis=1)
        w = -np.sqrt(np.maximum(0.0, 1.0 - square))
    rotations = np.column_stack([xyz, w])
    # float32 rounding gives squares of up to 1 + 4e-7 in valid files
    too_long = np.flatnonzero(~(square <= 1.0 + 1e-5))
    return np.where(np.isfinite(rotations).all(axis=1)[:, None], quat.normalise(rotations), rotations), (
        int(too_long[0]) if len(too_long) else None
    )


def with_negative_w(rotations_xyzw: Floats) -> Floats:
    """Return the same rotations with w <= 0; files store the first three numbers. -0.0 becomes 0.0."""
    return np.where(rotations_xyzw[..., 3:] > 0, -rotations_xyzw, rotations_xyzw) + 0.0
