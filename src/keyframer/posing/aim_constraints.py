"""Aim constraints: cameras and lights that are aimed at a target, and their matrices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from keyframer.arrays import Floats
from keyframer.maths import affine
from keyframer.maths.trigonometry import sine_and_cosine
from keyframer.posing.local_matrices import usable_rows
from keyframer.scene import Handedness, LightType, Node, Scene

_UP = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}
_VERTICAL = 1e-9
"""sine of the angle to the up axis below which a line of sight is treated as vertical"""
_OTHER_UP = {"x": (0.0, 1.0, 0.0), "y": (0.0, 0.0, 1.0), "z": (0.0, 1.0, 0.0)}
"""up directions for vertical lines of sight"""


def is_aimed(scene: Scene, node: Node) -> bool:
    """Return whether a node is a camera, spot or directional light with a target node or a stored target position."""
    if node.camera is not None:
        return node.target is not None or scene.cameras[node.camera].target is not None
    if node.light is not None:
        light = scene.lights[node.light]
        aims = light.type in (LightType.SPOT, LightType.DIRECTIONAL)
        return aims and (node.target is not None or light.target is not None)
    return False


def stored_target(scene: Scene, node: Node) -> Floats | None:
    """Return the stored target position of a camera or light, the origin if it is unusable; None without one."""
    stored = None
    if node.camera is not None:
        stored = scene.cameras[node.camera].target
    elif node.light is not None:
        stored = scene.lights[node.light].target
    return None if stored is None else usable_rows([stored], (0.0, 0.0, 0.0))[0]


def rest_roll(scene: Scene, node: Node) -> float:
    """Return the stored roll in degrees; 0 if it is missing or not finite."""
    degrees = 0.0
    if node.camera is not None:
        degrees = scene.cameras[node.camera].roll_degrees
    elif node.light is not None:
        degrees = scene.lights[node.light].roll_degrees
    return degrees if np.isfinite(degrees) else 0.0


def aim_matrices(scene: Scene, eye: Floats, goal: Floats, roll_degrees: Floats) -> Floats:
    """Return matrices (T, 4, 4) of a node at ``eye`` (T, 3): X right, Y up, -Z towards ``goal`` (+Z in left-handed
    scenes).

    A positive roll turns X down, away from Y: look-at · Rz(-roll), as 3ds Max plays 3DS files (docs/formats/3ds.md).

    This is written out by components, which is ten times faster than `affine.look_at`. That function is used only where
    the line of sight has no length or is vertical.
    """
    if scene.space.handedness is Handedness.LEFT:
        goal = 2 * eye - goal
    up = _UP[scene.space.up]
    out = np.zeros((len(eye), 4, 4))
    angle = -np.radians(roll_degrees)
    sine, cosine = sine_and_cosine(angle)
    if len(eye) == 1:  # plain floats, which is several times faster
        x, y, z = goal.reshape(3).tolist()
        try:
            right_length, rows = _rotation(eye[0].tolist(), (x, y, z), up, cosine.item(), sine.item(), math.sqrt)
        except ZeroDivisionError:
            right_length, rows = 0.0, np.zeros((3, 3))
        out[0, :3, :3] = rows
        degenerate = np.array([not right_length > _VERTICAL])
    else:
        right_length, rows = _rotation(eye.T, np.moveaxis(goal, -1, 0), up, cosine, sine, np.sqrt)
        for i, row in enumerate(rows):
            for j, entry in enumerate(row):
                out[:, i, j] = entry
        degenerate = ~(right_length > _VERTICAL)
    out[:, :3, 3] = eye
    out[:, 3, 3] = 1.0
    if degenerate.any():
        goals, angles = np.broadcast_to(goal, eye.shape)[degenerate], np.broadcast_to(angle, len(eye))[degenerate]
        out[degenerate] = affine.look_at(eye[degenerate], goals, up, angles, _OTHER_UP[scene.space.up])
    return out


def _rotation(
    eye: Any, goal: Any, up: tuple[float, float, float], cosine: Any, sine: Any, root: Any
) -> tuple[Any, Any]:
    """Return the length of the right axis before it is normalised, and the rows of the rotation.

    Works with floats and with arrays; ``root`` is the square root for either.
    """
    bx, by, bz = eye[0] - goal[0], eye[1] - goal[1], eye[2] - goal[2]
    length = root(bx * bx + by * by + bz * bz)
    bx, by, bz = bx / length, by / length, bz / length
    rx, ry, rz = up[1] * bz - up[2] * by, up[2] * bx - up[0] * bz, up[0] * by - up[1] * bx
    right_length = root(rx * rx + ry * ry + rz * rz)
    rx, ry, rz = rx / right_length, ry / right_length, rz / right_length
    tx, ty, tz = by * rz - bz * ry, bz * rx - bx * rz, bx * ry - by * rx
    return right_length, (
        (cosine * rx + sine * tx, cosine * tx - sine * rx, bx),
        (cosine * ry + sine * ty, cosine * ty - sine * ry, by),
        (cosine * rz + sine * tz, cosine * tz - sine * rz, bz),
    )
