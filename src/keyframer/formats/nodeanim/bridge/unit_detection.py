"""What the numbers of a file say about what they are: time unit, angle unit, relative or absolute rotations.

The document says nothing on any of these, and no program or sample is known. The fields mirror the key structures of
3ds Max, so its habits decide where the numbers allow them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from keyframer.curves.rotation_forms import FULL_TURN
from keyframer.formats.nodeanim.bridge.options import Options
from keyframer.formats.nodeanim.records import Node
from keyframer.maths import quat
from keyframer.scene import Clip

Floats = npt.NDArray[np.float64]

_TICKS_PER_SECOND = 4800
_TICK_GRIDS = (160, 200, 192)
"""ticks of a frame at 30, 24 and 25 frames a second"""
MOST_RADIANS = 8 * math.pi
"""where an angle is larger, all are degrees"""
_EQUAL = 1e-6
"""radians between rotations that count as the same"""
_ALIKE = 0.01
"""of the largest turn: keys that differ by no more are a pause or a steady spin"""
_CLEAR = 1.5
"""how many times farther one reading turns than the other where there is no doubt"""


@dataclass(frozen=True)
class TimeBase:
    unit: str
    rate: float
    """units a second"""
    units_per_frame: float

    def clip(self) -> Clip:
        return Clip(unit=self.unit, rate=self.rate, units_per_frame=self.units_per_frame)


def time_base(nodes: list[Node], options: Options) -> TimeBase:
    """Ticks if all times lie on a grid of ticks, frames if all are whole and go beyond 60, else seconds."""
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
    """1, or that of degrees where any angle goes beyond four turns in radians."""
    if options.angle_unit != "auto":
        return 1.0 if options.angle_unit == "radians" else math.pi / 180
    for node in nodes:
        angles = np.abs(np.asarray(node.rotation_keys.value, np.float64)[:, 0])
        if (angles[np.isfinite(angles)] > MOST_RADIANS).any():
            return math.pi / 180
    return 1.0


class RotationReading(NamedTuple):
    """How the rotation keys of a node are read."""

    relative: bool
    """each key turns from the one before"""
    sure: bool
    """the numbers or the user say so; otherwise it is a guess, and the other reading is another motion"""


def rotation_reading(axes: Floats, angles: Floats, tcb: bool, options: Options) -> RotationReading:
    """Whether rotation keys are increments.

    A first key of a full turn or more begins increments: an orientation never needs so large an angle. Otherwise the
    reading in which consecutive keys lie closer together is taken. Equal keys decide nothing: they are a pause
    (absolute) or a steady spin (relative). Where all keys behind the first are alike, and where both readings turn
    equally far, habit decides: 3ds Max hands out TCB keys as increments and all others as they are.
    """
    if options.rotation_keys != "auto":
        return RotationReading(options.rotation_keys == "relative", True)
    usable = np.isfinite(axes).all(axis=1) & np.isfinite(angles)
    half_turns = quat.half_turn(axes[usable], angles[usable])
    lengths = 2 * np.sqrt((half_turns * half_turns).sum(axis=1))
    if len(lengths) and lengths[0] >= FULL_TURN:
        return RotationReading(True, True)
    turns = quat.exp(half_turns)
    if not lengths[1:].size or (
        _apart(turns[:-1], np.array(quat.IDENTITY_XYZW)).max() < _EQUAL and lengths[-1] < math.pi
    ):
        return RotationReading(tcb, True)  # both readings are the same motion
    as_relative, as_absolute = lengths[1:], _apart(turns[1:], turns[:-1])
    if _apart(turns[1:], turns[1]).max() <= _ALIKE * as_relative.max():
        return RotationReading(tcb, False)
    telling = as_absolute > _EQUAL
    near, far = sorted((as_relative[telling].sum(), as_absolute[telling].sum()))
    if math.isclose(near, far, rel_tol=1e-6):
        return RotationReading(tcb, False)
    return RotationReading(bool(as_relative[telling].sum() == near), bool(far >= _CLEAR * near))


def _apart(a_xyzw: Floats, b_xyzw: Floats) -> Floats:
    """Angles between rotations, the shortest way."""
    between = quat.multiply(a_xyzw, quat.conjugate(b_xyzw))
    sines = np.sqrt((between[:, :3] * between[:, :3]).sum(axis=1))
    return np.asarray(2 * np.arctan2(sines, np.abs(between[:, 3])))
