"""Local matrices: ``T(position) . R . S`` of each node relative to its parent, at rest and at given times;
and the matrices of cameras and lights that are aimed at a target."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from keyframer.arrays import Floats, Indices
from keyframer.curves.key_columns import LARGEST_USABLE, largest
from keyframer.curves.lazy_fields import stored_values
from keyframer.maths import affine, quat
from keyframer.maths.trigonometry import sine_and_cosine
from keyframer.posing.channels import AnimatedChannels, Channels, Samples, as_slice
from keyframer.scene import Handedness, Node, Scene
from keyframer.scene.node import check_transforms

_ORIGIN = np.zeros(3)
_IDENTITY_TURN = np.array(quat.IDENTITY_XYZW)
_FULL_SIZE = np.ones(3)
_NODES_PER_BLOCK = 8_192
"""nodes whose matrices are composed at once: temporary arrays take twice the memory of the matrices"""


class LocalMatrices:
    """The local matrices of nodes: ``rest`` of all nodes, with constant channels; `at` computes those that move."""

    def __init__(self, nodes: Sequence[Node], channels: Channels) -> None:
        turned_or_scaled = channels.moving_nodes(("rotation", "scale", "scale_axes"))
        has_axes = (
            "scale_axes" in channels.still
            or "scale_axes" in channels.animated
            or any(node.scale_axes_xyzw is not None for node in nodes)
        )
        self.rest: Floats = np.empty((len(nodes), 4, 4))
        """(nodes, 4, 4)"""
        rotation, scale, axes = (np.empty((len(turned_or_scaled), width)) for width in (4, 3, 4))
        for begin in range(0, len(nodes), _NODES_PER_BLOCK):
            block = slice(begin, begin + _NODES_PER_BLOCK)
            parts = _stored_parts(nodes[block], has_axes)
            for kind, rows in parts.items():
                channels.set_still(kind, rows, begin)
            parts["rotation"] = quat.normalise(parts["rotation"])
            self.rest[block] = affine.compose(
                parts["position"], parts["rotation"], parts["scale"], parts.get("scale_axes")
            )
            if not len(turned_or_scaled):
                continue
            chosen = slice(*np.searchsorted(turned_or_scaled, (begin, begin + _NODES_PER_BLOCK)))
            for kind, part in (("rotation", rotation), ("scale", scale), ("scale_axes", axes)):
                if kind in parts:
                    part[chosen] = parts[kind][turned_or_scaled[chosen] - begin]
        self.moving = channels.moving_nodes(("position", "rotation", "scale", "scale_axes"))
        """the nodes with an animated local matrix, in ascending order"""
        self._moving_rest = self.rest[self.moving]
        self._animated_positions = _rows_of(channels.animated.get("position", []), self.moving)
        self._turned_or_scaled = as_slice(np.searchsorted(self.moving, turned_or_scaled))
        self._turns_or_scales = bool(len(turned_or_scaled))
        self._rotation = _Part(rotation, channels.animated.get("rotation", []), turned_or_scaled)
        self._scale = _Part(scale, channels.animated.get("scale", []), turned_or_scaled)
        self._axes = _Part(axes, channels.animated.get("scale_axes", []), turned_or_scaled) if has_axes else None
        self._keeps_size = not has_axes and "scale" not in channels.animated and bool((scale == 1).all())

    def at(self, samples: Samples, count: int) -> Floats:
        """Return (T, moving, 4, 4) for the animated nodes."""
        out = np.empty((count, len(self.moving), 4, 4))
        out[:] = self._moving_rest
        if self._turns_or_scales:
            self._write_linear_parts(samples, out)
        positions = out[:, :, :3, 3]
        for animated, rows in self._animated_positions:
            positions[:, rows] = animated.values(samples)
        return out

    def _write_linear_parts(self, samples: Samples, out: Floats) -> None:
        """Write the 3 x 3 parts of nodes with animated rotation or scale."""
        parts = out[:, self._turned_or_scaled]
        rotation = self._rotation.at(samples)
        if self._axes is not None:
            axes = quat.to_matrix3(self._axes.at(samples))
            sized = axes * self._scale.at(samples)[..., None, :]
            linear = affine.multiply(affine.multiply(quat.to_matrix3(rotation), sized), np.swapaxes(axes, -1, -2))
            out[:, :, :3, :3][:, self._turned_or_scaled] = linear
            return
        quat.write_matrix3(rotation, None if self._keeps_size else self._scale.at(samples), parts)
        if not isinstance(self._turned_or_scaled, slice):
            out[:, self._turned_or_scaled] = parts


class _Part:
    """Rotation, scale or scale axes of nodes that rotate or scale: at rest, and their animated channels."""

    def __init__(self, rest: Floats, animated: Sequence[AnimatedChannels], nodes: Indices) -> None:
        self._rest = rest
        self._animated = _rows_of(animated, nodes)

    def at(self, samples: Samples) -> Floats:
        """Return (T, nodes, k), or (1, nodes, k) if nothing is animated."""
        if not self._animated:
            return self._rest[None]
        first = self._animated[0][0].values(samples)
        if first.shape[1:] == self._rest.shape:
            return first
        out = np.empty((len(first), *self._rest.shape))
        out[:] = self._rest
        for animated, rows in self._animated:
            out[:, rows] = animated.values(samples)
        return out


def _rows_of(animated: Sequence[AnimatedChannels], nodes: Indices) -> list[tuple[AnimatedChannels, Indices | slice]]:
    """Return animated channels with the rows of their nodes among ``nodes`` (sorted)."""
    return [(channels, as_slice(np.searchsorted(nodes, channels.nodes))) for channels in animated]


def usable_rows(rows: Sequence[npt.ArrayLike], default: Sequence[float] | Floats) -> Floats:
    """Return rows (n, k); a row with an unusable number is replaced by the default."""
    if not rows:
        return np.empty((0, len(default)))
    out: Floats = np.concatenate(rows, dtype=np.float64).reshape(len(rows), len(default))
    if not largest(out) <= LARGEST_USABLE:  # true for NaN, too
        out[~(np.abs(out) <= LARGEST_USABLE).all(axis=1)] = default
    return out


def _stored_parts(nodes: Sequence[Node], has_axes: bool) -> dict[str, Floats]:
    """Return (nodes, k) position, rotation, scale and, with ``has_axes``, scale axes, as stored in nodes."""
    try:
        parts = {
            "position": usable_rows(stored_values(nodes, "position", _ORIGIN), _ORIGIN),
            "rotation": usable_rows(stored_values(nodes, "rotation_xyzw", _IDENTITY_TURN), _IDENTITY_TURN),
            "scale": usable_rows(stored_values(nodes, "scale", _FULL_SIZE), _FULL_SIZE),
        }
    except (TypeError, ValueError):
        check_transforms(nodes)
        raise
    if has_axes:
        parts["scale_axes"] = usable_rows([_turn_or_identity(node.scale_axes_xyzw) for node in nodes], _IDENTITY_TURN)
    return parts


def _turn_or_identity(rotation_xyzw: npt.ArrayLike | None) -> npt.ArrayLike:
    return _IDENTITY_TURN if rotation_xyzw is None else rotation_xyzw


_UP = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}
_VERTICAL = 1e-9
"""sine of the angle to the up axis below which a line of sight is treated as vertical"""
_OTHER_UP = {"x": (0.0, 1.0, 0.0), "y": (0.0, 0.0, 1.0), "z": (0.0, 1.0, 0.0)}
"""up directions for vertical lines of sight"""


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
