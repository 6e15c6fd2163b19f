"""What the numbers of a file say about what they are: time unit, angle unit, relative or absolute rotations.

The document says nothing on any of these, and no program or sample is known. The fields mirror the key structures of
3ds Max, so its habits decide where the numbers allow them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from keyframer.formats.nodeanim.bridge.options import Options
from keyframer.formats.nodeanim.records import Node
from keyframer.maths import quat
from keyframer.scene import Clip

Floats = npt.NDArray[np.float64]

_TICKS_PER_SECOND = 4800
_TICK_GRIDS = (160, 200, 192)
"""ticks of a frame at 30, 24 and 25 frames a second"""


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
    times = np.concatenate([np.empty(0), *(np.asarray(each, np.float64) for each in tables)])
    found: Floats = times[np.isfinite(times)]
    return found


def radians_per_unit(nodes: list[Node], options: Options) -> float:
    """1, or that of degrees where any angle goes beyond four turns in radians."""
    if options.angle_unit != "auto":
        return 1.0 if options.angle_unit == "radians" else math.pi / 180
    for node in nodes:
        angles = np.abs(np.asarray(node.rotation_keys.value, np.float64)[:, 0])
        if (angles[np.isfinite(angles)] > 8 * math.pi).any():
            return math.pi / 180
    return 1.0


def is_relative(axes: Floats, angles: Floats, tcb: bool, options: Options) -> bool:
    """Whether rotation keys are increments.

    The reading in which consecutive keys lie closer together is the right one. Equal keys decide nothing: they are
    either a pause (absolute) or a steady spin (relative), so there, as for fewer than three keys, habit decides:
    3ds Max hands out TCB keys as increments and all others as they are.
    """
    if options.rotation_keys != "auto":
        return options.rotation_keys == "relative"
    usable = np.isfinite(axes).all(axis=1) & np.isfinite(angles)
    if usable.sum() < 3:
        return tcb
    turns = quat.from_axis_angle(axes[usable], angles[usable])
    between = quat.multiply(turns[1:], quat.conjugate(turns[:-1]))
    as_absolute = float((2 * np.arccos(np.clip(np.abs(between[:, 3]), 0.0, 1.0))).mean())
    as_relative = float(np.abs(angles[usable][1:]).mean())
    if as_absolute < 1e-6 or math.isclose(as_absolute, as_relative, rel_tol=1e-6):
        return tcb
    return as_relative < as_absolute
