"""Detect time unit, angle unit, and relative or absolute rotations from the numbers of a file.

The specification leaves all of these open, and no program or sample is known. The fields are those of the key
structures of 3ds Max, so its conventions are used if the numbers allow them.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from keyframer.arrays import Floats
from keyframer.curves.rotation_forms import FULL_TURN
from keyframer.fields import dataclass
from keyframer.formats.nodeanim.bridge.options import Options
from keyframer.formats.nodeanim.records import Node
from keyframer.maths import quat
from keyframer.scene import Clip

_TICKS_PER_SECOND = 4800
_TICK_GRIDS = (160, 200, 192)
"""ticks per frame at 30, 24 and 25 frames per second"""
MOST_RADIANS = 8 * math.pi
"""if an angle is larger, all angles in the file are degrees"""
_EQUAL = 1e-6
"""radians: rotations closer than this are equal"""
_ALIKE = 0.01
"""fraction of the largest rotation: keys that differ by less are a pause or a steady spin"""
_CLEAR = 1.5
"""ratio of the rotations in two interpretations above which there is no doubt"""


@dataclass(frozen=True)
class TimeBase:
    """The unit of key times."""

    unit: str
    rate: float
    """units per second"""
    units_per_frame: float

    def clip(self) -> Clip:
        return Clip(unit=self.unit, rate=self.rate, units_per_frame=self.units_per_frame)


def time_base(nodes: list[Node], options: Options) -> TimeBase:
    """Return the unit of key times: from the options, or from the numbers if the option is ``auto``.

    The unit is ticks if all times are on a grid of ticks and the largest is above 0; frames if all are whole numbers
    and the largest is above 60; else seconds.
    """
    times = _finite_times(nodes)
    grid = next((grid for grid in _TICK_GRIDS if len(times) and not np.mod(times, grid).any()), None)
    unit = options.time_unit
    if unit == "auto":
        largest = times.max(initial=0.0)
        if largest > 0 and grid is not None:
            unit = "ticks"
        elif largest > 60 and not np.mod(times, 1).any():
            unit = "frames"
        else:
            unit = "seconds"
    if unit == "ticks":
        fps = options.fps or _TICKS_PER_SECOND / (grid or _TICK_GRIDS[0])
        return TimeBase("tick", _TICKS_PER_SECOND, _TICKS_PER_SECOND / fps)
    fps = options.fps or 30.0
    return TimeBase("frame", fps, 1.0) if unit == "frames" else TimeBase("second", 1.0, 1.0 / fps)


def _finite_times(nodes: list[Node]) -> Floats:
    tables = [keys.time for node in nodes for keys in (node.translation_keys, node.rotation_keys, node.scale_keys)]
    times = np.concatenate([np.empty(0), *(np.asarray(table, np.float64) for table in tables)])
    finite: Floats = times[np.isfinite(times)]
    return finite


def radians_per_unit(nodes: list[Node], options: Options) -> float:
    """Return the factor from stored angles to radians; with ``auto``, degrees if one is above `MOST_RADIANS`."""
    if options.angle_unit != "auto":
        return 1.0 if options.angle_unit == "radians" else math.pi / 180
    for node in nodes:
        angles = np.abs(np.asarray(node.rotation_keys.value, np.float64)[:, 0])
        if (angles[np.isfinite(angles)] > MOST_RADIANS).any():
            return math.pi / 180
    return 1.0


class RotationInterpretation(NamedTuple):
    """How the rotation keys of a node are interpreted."""

    relative: bool
    """whether each key is relative to the previous one"""
    sure: bool
    """whether the numbers or the options decide; otherwise it is a guess between two different motions"""


def interpret_rotations(axes: Floats, angles: Floats, tcb: bool, options: Options) -> RotationInterpretation:
    """Return whether rotation keys are increments, and whether this is certain.

    The options take precedence. A first key of a full turn or more means increments: an orientation never needs so
    large an angle. Otherwise the interpretation with smaller steps between keys is used. Equal keys decide nothing:
    they are a pause (absolute) or a steady spin (relative). If all keys after the first are equal, or both
    interpretations rotate equally far, the convention of 3ds Max decides: TCB keys are increments, all others absolute.
    """
    if options.rotation_keys != "auto":
        return RotationInterpretation(options.rotation_keys == "relative", True)
    usable = np.isfinite(axes).all(axis=1) & np.isfinite(angles)
    half_angles = quat.half_angle_vector(axes[usable], angles[usable])
    lengths = 2 * np.sqrt((half_angles * half_angles).sum(axis=1))
    if len(lengths) and lengths[0] >= FULL_TURN:
        return RotationInterpretation(True, True)
    if len(lengths) < 2:
        return RotationInterpretation(tcb, True)
    turns = quat.exp(half_angles)
    if _angles(turns[:-1]).max() < _EQUAL and lengths[-1] < math.pi:
        return RotationInterpretation(tcb, True)  # both interpretations are the same motion
    as_relative, as_absolute = lengths[1:], _angles_between(turns[1:], turns[:-1])
    if _angles_between(turns[1:], turns[1]).max() <= _ALIKE * as_relative.max():
        return RotationInterpretation(tcb, False)
    changes = as_absolute > _EQUAL  # equal keys decide nothing
    smaller, larger = sorted((as_relative[changes].sum(), as_absolute[changes].sum()))
    if math.isclose(smaller, larger, rel_tol=1e-6):
        return RotationInterpretation(tcb, False)
    return RotationInterpretation(bool(as_relative[changes].sum() == smaller), bool(larger >= _CLEAR * smaller))


def _angles_between(a_xyzw: Floats, b_xyzw: Floats) -> Floats:
    """Return the angles between rotations, 0 to pi."""
    return _angles(quat.multiply(a_xyzw, quat.conjugate(b_xyzw)))


def _angles(turns_xyzw: Floats) -> Floats:
    """Return the angles of rotations, 0 to pi."""
    sines = np.sqrt((turns_xyzw[:, :3] * turns_xyzw[:, :3]).sum(axis=1))
    return np.asarray(2 * np.arctan2(sines, np.abs(turns_xyzw[:, 3])))
