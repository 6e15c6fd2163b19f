"""Cameras: what the file states at rest; animation is in the clip's channels."""

from __future__ import annotations

from dataclasses import dataclass

from keyframer.curves.lazy_fields import LazyFields, lazy
from keyframer.scene._arrays import Extras


@dataclass(eq=False, slots=True)
class Camera(LazyFields):
    """A camera looks along -Z of its frame (X right, Y up), or at its node's target."""

    name: str
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
    extras: Extras = lazy(dict)
    raw_name: bytes | None = None

    def __repr__(self) -> str:
        return f"<Camera {self.name!r}: {self.fov_degrees:g} degrees>"
