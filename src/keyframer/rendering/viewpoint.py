"""The viewpoint of a picture: the camera of the file, or a view fitted to the visible objects.

A view has vectors in the space of the scene, with an explicit right vector, so that left-handed scenes need no
mirroring.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from keyframer.arrays import Floats
from keyframer.posing import Pose
from keyframer.scene import Handedness, Space

FITTED_FOV_DEGREES = 30.0
"""field of view of the fitted camera: small enough to avoid distortion, large enough to show depth"""
_MARGIN = 0.92
"""fraction of the picture that the fitted scene covers"""
_AROUND_DEGREES, _ABOVE_DEGREES = 30.0, 22.0
"""angles of the fitted camera to the right of the front and above"""

_UPS = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}
_FRONTS = {"x": (0.0, 0.0, 1.0), "y": (0.0, 0.0, 1.0), "z": (0.0, -1.0, 0.0)}
"""directions from a right-handed scene to a viewer in front of it, as in the front views of the original programs"""


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
    """distance of the near plane"""

    def camera_coordinates(self, points: Floats) -> Floats:
        """Return (n, 3) coordinates to the right, up and forward from the eye."""
        offsets = points - self.eye
        out = np.empty(offsets.shape)
        for axis, direction in enumerate((self.right, self.up, self.forward)):
            out[:, axis] = offsets[:, 0] * direction[0] + offsets[:, 1] * direction[1] + offsets[:, 2] * direction[2]
        return out

    def fraction_inside(self, points: Floats) -> float:
        """Return the fraction of the points inside the picture."""
        with np.errstate(all="ignore"):
            across, high, deep = self.camera_coordinates(points).T
            inside = (deep > 0) & (np.abs(across) <= deep * self.half_width) & (np.abs(high) <= deep * self.half_height)
        return float(inside.mean()) if len(inside) else 0.0


def camera_view(pose: Pose, at: int, node: int, aspect: float, size: float) -> View | None:
    """Return the view of a camera node at time index ``at``; None if its matrix is invalid or it has no camera.

    The field of view is horizontal for any shape of the picture; ``size`` is that of the scene.
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
    """Return a view that shows all points, by default from the front, the right and above; angles in degrees."""
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
    """Return the position of the eye, across and in depth, from which all points are visible.

    ``half`` is the half width of the picture at distance 1. Both edges of the picture are planes through the eye; the
    point that each plane touches first decides.
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
        # Z (or, if Z is up, Y) is reversed: the front is on the other side, right stays the same.
        front = -front
    turn, rise = math.radians(around), math.radians(above)
    back = (front * math.cos(turn) + side * math.sin(turn)) * math.cos(rise) + up * math.sin(rise)
    right = side * math.cos(turn) - front * math.sin(turn)
    top = up * math.cos(rise) - (front * math.cos(turn) + side * math.sin(turn)) * math.sin(rise)
    return right, top, -back


def _unit(vector: Floats) -> Floats | None:
    length = float(np.sqrt(np.sum(vector * vector)))
    return vector / length if 0 < length < math.inf else None
