"""Options for reading: values that the specification leaves open."""

from __future__ import annotations

import math

from keyframer.fields import dataclass

_CHOICES = {
    "time_unit": ("auto", "seconds", "frames", "ticks"),
    "rotation_keys": ("auto", "relative", "absolute"),
    "angle_unit": ("auto", "radians", "degrees"),
    "up": ("x", "y", "z"),
    "handedness": ("right", "left"),
}


@dataclass(frozen=True, slots=True)
class Options:
    """Options for reading; ``auto`` detects values from the numbers (see `unit_detection`)."""

    time_unit: str = "auto"
    """unit of key times: ``seconds``, ``frames`` or ``ticks`` (4800 per second, as in 3ds Max)"""
    rotation_keys: str = "auto"
    """``relative`` to the previous key, or ``absolute``"""
    angle_unit: str = "auto"
    """``radians`` or ``degrees``"""
    up: str = "z"
    handedness: str = "right"
    fps: float | None = None
    """frames per second; None: 30, or the rate that matches times in ticks"""
    encoding: str | None = None

    def __post_init__(self) -> None:
        for name, allowed in _CHOICES.items():
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name} must be one of {', '.join(allowed)}, not {getattr(self, name)!r}")
        if self.fps is not None and not 0 < self.fps < math.inf:
            raise ValueError(f"fps must be positive and finite, not {self.fps}")
