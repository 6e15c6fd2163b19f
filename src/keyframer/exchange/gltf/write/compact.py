"""Compact files: integers instead of single precision, as far as the allowed error permits.

Positions become 16-bit numbers of steps on a grid, which the node of the geometry scales and moves back; normals and
tangents become bytes, texture coordinates and colours within 0..1, and rotations in keys, fractions of 16 bits. Meshes
with skins or shapes keep their positions, because skins ignore the node, and so do small ones, which the node would
make larger.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from keyframer.arrays import Array, Floats
from keyframer.exchange.gltf.conventions import Json, json_numbers
from keyframer.exchange.gltf.write.options import Context
from keyframer.exchange.kit.motion import CUBIC, ROTATIONS, Motion, Sampler
from keyframer.exchange.kit.numbers import single
from keyframer.scene.loss_report import Outcome

_MOST_STEPS = 65_535
_LEAST_VERTICES = 100
"""meshes with fewer vertices keep their positions: each would save 4 bytes, a node takes more than 100"""
_FRACTIONS: dict[str, tuple[npt.DTypeLike, int]] = {
    "NORMAL": (np.int8, 127),
    "TANGENT": (np.int8, 127),
    "TEXCOORD_0": (np.uint16, 65_535),
    "TEXCOORD_1": (np.uint16, 65_535),
    "COLOR_0": (np.uint16, 65_535),
}
"""attributes that become fractions: their type, and the integer that means 1"""
EXTENSION = "KHR_mesh_quantization"
NEED_EXTENSION = ("POSITION", "NORMAL", "TANGENT")
"""attributes whose integers need the extension"""
ROTATION_FRACTIONS = "<i2"
"""type of rotations in keys …"""
_ROTATION_ONE = 32_767
"""… and the integer that means 1"""
_ROTATION_ERROR = float(np.degrees(2.0 / _ROTATION_ONE))
"""largest error of a rotation by rounding, in degrees: half a step in each of four components"""


class Grid(NamedTuple):
    """A grid of positions in the axes of glTF."""

    step: float
    origin: Floats

    def rows(self, positions: Array) -> Array:
        """Return positions (V, 3) as numbers of steps."""
        steps = np.round((positions.astype(np.float64) - self.origin) / self.step)
        return np.asarray(np.clip(steps, 0, _MOST_STEPS).astype("<u2"))

    def extras(self) -> Json:
        """Return what reading needs to tell the origin from a pivot."""
        return {"grid": json_numbers(np.append(self.origin, self.step))}


def find_grids(context: Context, world: Floats) -> dict[int, Grid]:
    """Return the grids of the meshes whose positions become integers; ``world`` (nodes, 4, 4) is the start."""
    scene, grids = context.scene, dict[int, Grid]()
    if not context.options.compact:
        return grids
    hideable = {channel.node for clip in scene.clips for channel in clip.channels if channel.track.kind == "visible"}
    scales: dict[int, float] = {}
    for number, node in enumerate(scene.nodes):
        if node.mesh is not None:
            is_plain = node.skin is None and node.morph is None and not node.hidden and number not in hideable
            largest = float(np.sqrt(np.sum(world[number, :3, :3] ** 2, axis=0)).max()) if is_plain else np.inf
            scales[node.mesh] = max(largest, scales.get(node.mesh, 0.0))
    for mesh, scale in scales.items():
        if len(scene.meshes[mesh].positions) < _LEAST_VERTICES or not len(scene.meshes[mesh].corners):
            continue
        with np.errstate(all="ignore"):
            corners = single(context.axes.vectors(np.array(context.boxes[mesh])))
            origin, extent = corners.min(axis=0), float(np.ptp(corners, axis=0).max())
            step = float(np.nextafter(np.float32(extent / _MOST_STEPS), np.float32(np.inf)))
            is_exact_enough = 0.5 * step * scale <= 0.5 * context.options.max_error * context.size
        if is_exact_enough and 1e-30 < step < 1e30:
            grids[mesh] = Grid(step, origin.astype(np.float64))
    return grids


def fractions(name: str, array: Array) -> Array | None:
    """Return an attribute as integer fractions of 1; None if it has no such form, or has values outside."""
    if name not in _FRACTIONS:
        return None
    dtype, one = _FRACTIONS[name]
    if dtype is np.uint16 and (array.min(initial=0.0) < 0 or array.max(initial=0.0) > 1):
        return None
    return np.asarray(np.round(np.clip(array.astype(np.float64), -1, 1) * one).astype(dtype))


def can_round_rotations(context: Context) -> bool:
    """Return whether rotations in keys may be rounded: that must leave some of the allowed error to the keys."""
    return context.options.compact and context.options.max_degrees > 2 * _ROTATION_ERROR


def rotation_fractions(values: Array) -> Array:
    """Return rotations as 16-bit fractions of 1."""
    return np.asarray(np.round(values.astype(np.float64) * _ROTATION_ONE).astype(ROTATION_FRACTIONS))


def is_rounded(path: str, sampler: Sampler) -> bool:
    """Return whether the keys of a property can be `rotation_fractions`: rotations, unless they are cubic."""
    return path == "rotation" and sampler.mode != CUBIC


def rounded(sampler: Sampler) -> Sampler:
    """Return a sampler of rotations with the values that `rotation_fractions` can store."""
    return Sampler.of(sampler.mode, sampler.times, single(rotation_fractions(sampler.values) / _ROTATION_ONE))


def add_rounding(motion: Motion) -> None:
    """Add the error of rounding to that of a motion, if it is a rotation."""
    if motion.measure is ROTATIONS and motion.sampler.mode != CUBIC and not motion.sampler.is_still:
        motion.error += _ROTATION_ERROR
        motion.outcome = Outcome.APPROXIMATED if motion.outcome is Outcome.EXACT else motion.outcome
