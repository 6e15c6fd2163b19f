"""Cameras: what the file states at rest; animation is in the clip's channels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from keyframer.curves.lazy_fields import LazyFields, lazy
from keyframer.fields import documented
from keyframer.scene._arrays import Extras, wrong


@documented
@dataclass(eq=False, repr=False, slots=True)
class Camera(LazyFields):
    """A camera looks along -Z of its frame (X right, Y up), or at its node's target."""

    name: str
    """shown name"""
    fov_degrees: float = 48.0
    """horizontal field of view"""
    roll_degrees: float = 0.0
    """positive: its X axis turns down, away from Y (clockwise as seen from behind the camera)"""
    target: tuple[float, float, float] | None = None
    """the stored point it looks at, in scene space; used where its node has no target node"""
    ranges: tuple[float, float] | None = None
    """near and far of the atmosphere"""
    clip: tuple[float, float] | None = None
    """near and far clip planes, where the file means that"""
    shows_cone: bool = False
    """whether the program showed what it sees"""
    extras: Extras = lazy(dict)
    """what else the file says, under the id of its format"""
    raw_name: bytes | None = None
    """the name as it stands in the file"""

    def __post_init__(self) -> None:
        for name in ("fov_degrees", "roll_degrees"):
            if not isinstance(getattr(self, name), (float, int, np.number)):
                raise wrong(self, name, "a number", repr(getattr(self, name)))
        LazyFields.__post_init__(self)

    def __repr__(self) -> str:
        return f"<Camera {self.name!r}: {self.fov_degrees:g} degrees>"
