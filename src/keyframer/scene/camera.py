"""Cameras at rest; their animation is in the channels of a clip."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from keyframer.curves.lazy_fields import LazyFields, lazy
from keyframer.fields import documented
from keyframer.scene._arrays import Extras, check_numbers, invalid_field


@documented
@dataclass(eq=False, repr=False, slots=True)
class Camera(LazyFields):
    """A camera. It is aimed at its target, or else along -Z of its node (+Z in left-handed scenes; X right, Y up)."""

    name: str
    """name, made safe to show"""
    fov_degrees: float = 48.0
    """horizontal field of view"""
    roll_degrees: float = 0.0
    """positive rotates the camera clockwise, seen from behind"""
    target: tuple[float, float, float] | None = None
    """stored target position in scene space; used if the node of the camera has no target node"""
    ranges: tuple[float, float] | None = None
    """near and far atmosphere range"""
    clip: tuple[float, float] | None = None
    """near and far clip planes, if the file stores them"""
    shows_cone: bool = False
    """whether the original program displayed its cone"""
    extras: Extras = lazy(dict)
    """further data of the file, under the id of its format"""
    raw_name: bytes | None = None
    """the name as stored in the file"""

    if TYPE_CHECKING:

        def __init__(
            self, name: str, fov_degrees: float = 48.0, roll_degrees: float = 0.0, target: ArrayLike | None = None,
            ranges: ArrayLike | None = None, clip: ArrayLike | None = None, shows_cone: bool = False,
            extras: Extras = ..., raw_name: bytes | None = None,
        ) -> None: ...  # fmt: skip

    def __post_init__(self) -> None:
        check_numbers(self, _LENGTHS)
        for name in ("fov_degrees", "roll_degrees"):
            if not isinstance(getattr(self, name), (float, int, np.number)):
                raise invalid_field(self, name, "a number", repr(getattr(self, name)))
        LazyFields.__post_init__(self)

    def __repr__(self) -> str:
        return f"<Camera {self.name!r}: {self.fov_degrees:g} degrees>"


_LENGTHS = {"target": 3, "ranges": 2, "clip": 2}
