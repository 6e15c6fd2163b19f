"""Where a picture is taken from: the file's camera, or one that is fitted around what is to be seen.

A view is given by vectors in the scene's own space, so that left-handed scenes need no mirroring: what is to the right
of the viewer is stated, not derived.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from keyframer.posing import Pose
from keyframer.scene import Handedness, Space

Floats = npt.NDArray[np.float64]

FITTED_FOV_DEGREES = 30.0
"""of the fitted camera: long enough not to distort, short enough to show depth"""
_MARGIN = 0.92
"""part of the picture that the fitted scene takes"""
_AROUND_DEGREES, _ABOVE_DEGREES = 30.0, 22.0
"""the fitted camera stands so far to the right of the front, and so far above"""

_UPS = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}
_FRONTS = {"x": (0.0, 0.0, 1.0), "y": (0.0, 0.0, 1.0), "z": (0.0, -1.0, 0.0)}
"""towards somebody who looks at the front of a right-handed scene, as the programs' front views have it"""


@dataclass(frozen=True, slots=True)
class View:
    """A perspective picture: an eye, three directions of length 1, and the half width and height at distance 1."""

    eye: Floats
    right: Floats
    up: Floats
    forward: Floats
    half_width: float
    half_height: float
    near: float

    def in_front(self, points: Floats) -> Floats:
        """(n, 3) across to the right, up, and forward from the eye."""
        given = points - self.eye
        out = np.empty(given.shape)
        for axis, direction in enumerate((self.right, self.up, self.forward)):
            out[:, axis] = given[:, 0] * direction[0] + given[:, 1] * direction[1] + given[:, 2] * direction[2]
        return out

    def share_within(self, points: Floats) -> float:
        """Which part of the points lies within the edges of the picture."""
        with np.errstate(all="ignore"):
            across, high, deep = self.in_front(points).T
            inside = (deep > 0) & (np.abs(across) <= deep * self.half_width) & (np.abs(high) <= deep * self.half_height)
        return float(inside.mean()) if len(inside) else 0.0


def camera_view(pose: Pose, at: int, node: int, aspect: float, size: float) -> View | None:
    """What the camera of a node sees at the ``at``-th time; None where its numbers make no picture.

    The field of view is horizontal, whatever the shape of the picture; ``size`` is that of the scene.
    """
    scene = pose.scene
    number = scene.nodes[node].camera
    if number is None:
        return None
    world = pose.world[at, node]
    if not np.isfinite(world).all():
        return None
    sign = 1.0 if scene.space.handedness is Handedness.LEFT else -1.0
    right, up, forward = (_unit(column) for column in (world[:3, 0], world[:3, 1], sign * world[:3, 2]))
    if right is None or up is None or forward is None:
        return None
    fov = float(pose.camera_fov_degrees[at, number])
    fov = min(max(fov, 1.0), 170.0) if math.isfinite(fov) else 48.0
    half = math.tan(math.radians(fov) / 2)
    return View(world[:3, 3], right, up, forward, half, half / aspect, max(size * 1e-4, 1e-9))


def fitted_view(points: Floats, space: Space, aspect: float, around: float | None, above: float | None) -> View:
    """A view from the front, a little to the right and above, that shows all points; angles in degrees."""
    right, up, forward = _directions(
        space, _AROUND_DEGREES if around is None else around, _ABOVE_DEGREES if above is None else above
    )
    half = math.tan(math.radians(FITTED_FOV_DEGREES) / 2)
    half_width, half_height = (half, half / aspect) if aspect >= 1 else (half * aspect, half)
    across, high, deep = (points @ direction for direction in (right, up, forward))
    centre_x, back_x = _reach(across, deep, half_width * _MARGIN)
    centre_y, back_y = _reach(high, deep, half_height * _MARGIN)
    depth = float(np.ptp(deep)) if len(deep) else 0.0
    extent = max(float(np.ptp(across)), float(np.ptp(high)), depth) if len(deep) else 0.0
    extent = extent or 1.0
    nearest = float(deep.min()) if len(deep) else 0.0
    back = min(back_x, back_y, nearest - extent * 0.05)
    eye = centre_x * right + centre_y * up + back * forward
    return View(eye, right, up, forward, half_width, half_height, max((nearest - back) * 0.5, extent * 1e-6))


def _reach(across: Floats, deep: Floats, half: float) -> tuple[float, float]:
    """Where the eye must stand so that every point is within ``half`` per unit of depth: across, and how far back.

    Both edges of the picture are planes through the eye; the point that each plane touches first decides.
    """
    if not len(across):
        return 0.0, -1.0
    low = float((across - half * deep).max())
    high = float((-across - half * deep).max())
    return (low - high) / 2, -(low + high) / (2 * half)


def _directions(space: Space, around: float, above: float) -> tuple[Floats, Floats, Floats]:
    up, front = np.array(_UPS[space.up]), np.array(_FRONTS[space.up])
    side = np.cross(up, front)
    if space.handedness is Handedness.LEFT:
        # The same picture with Z (or, where that is up, Y) running the other way: the front faces back along it.
        front, side = -front, side
    turn, rise = math.radians(around), math.radians(above)
    back = (front * math.cos(turn) + side * math.sin(turn)) * math.cos(rise) + up * math.sin(rise)
    right = side * math.cos(turn) - front * math.sin(turn)
    top = up * math.cos(rise) - (front * math.cos(turn) + side * math.sin(turn)) * math.sin(rise)
    return right, top, -back


def _unit(vector: Floats) -> Floats | None:
    length = float(np.sqrt(np.sum(vector * vector)))
    return vector / length if 0 < length < math.inf else None
