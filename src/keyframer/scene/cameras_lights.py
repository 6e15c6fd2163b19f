"""Cameras and lights at rest, and which nodes are aimed; their animation is in the channels of a clip."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from keyframer.curves.lazy_fields import LazyFields, lazy
from keyframer.fields import documented
from keyframer.scene._arrays import Extras, check_choice, check_color, check_numbers, invalid_field

if TYPE_CHECKING:
    from keyframer.scene.node import Node
    from keyframer.scene.scene import Scene


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


class LightType(Enum):
    """The type of a light."""

    OMNI = "omni"
    SPOT = "spot"
    DIRECTIONAL = "directional"
    AMBIENT = "ambient"


@documented
@dataclass(eq=False, repr=False, slots=True)
class Light(LazyFields):
    """A light. Spot and directional lights are aimed at their target, or else along -Z of their node (+Z in left-handed
    scenes).
    """

    name: str
    """name, made safe to show"""
    type: LightType = LightType.OMNI
    """omni, spot, directional or ambient"""
    color: tuple[float, float, float] = (1.0, 1.0, 1.0)
    """red, green, blue, 0 to 1"""
    multiplier: float = 1.0
    """factor of the colour; negative values darken"""
    on: bool = True
    """whether it is switched on"""
    attenuated: bool = False
    """whether it dims with distance"""
    inner_range: float | None = None
    """distance up to which the light has its full intensity, if ``attenuated``"""
    outer_range: float | None = None
    """distance at which the light ends, if ``attenuated``"""
    target: tuple[float, float, float] | None = None
    """stored target position in scene space; used if the node of the light has no target node"""
    hotspot_degrees: float | None = None
    """full angle of the bright cone (spot)"""
    falloff_degrees: float | None = None
    """full angle of the outer cone (spot)"""
    roll_degrees: float = 0.0
    """rotation of the cone about its axis, positive as for cameras"""
    rectangular: bool = False
    """whether its cone is rectangular (spot)"""
    aspect: float = 1.0
    """aspect of a rectangular cone as stored: height / width in 3D Studio, width / height in 3ds Max"""
    casts_shadows: bool = False
    """whether objects in its light cast shadows"""
    projector: str | None = None
    """file name of a projected image"""
    excludes: list[str] = lazy(list)
    """names of objects that it does not light"""
    extras: Extras = lazy(dict)
    """further data of the file, under the id of its format"""
    raw_name: bytes | None = None
    """the name as stored in the file"""

    if TYPE_CHECKING:

        def __init__(
            self, name: str, type: LightType = LightType.OMNI, color: ArrayLike = (1.0, 1.0, 1.0),
            multiplier: float = 1.0, on: bool = True, attenuated: bool = False, inner_range: float | None = None,
            outer_range: float | None = None, target: ArrayLike | None = None, hotspot_degrees: float | None = None,
            falloff_degrees: float | None = None, roll_degrees: float = 0.0, rectangular: bool = False,
            aspect: float = 1.0, casts_shadows: bool = False, projector: str | None = None,
            excludes: list[str] = ..., extras: Extras = ..., raw_name: bytes | None = None,
        ) -> None: ...  # fmt: skip

    def __post_init__(self) -> None:
        check_choice(self, "type", LightType)
        check_color(self, "color")
        check_numbers(self, {"target": 3})
        LazyFields.__post_init__(self)

    def __repr__(self) -> str:
        return f"<Light {self.name!r} ({self.type.value})>"


def is_aimed(scene: Scene, node: Node) -> bool:
    """Return whether a node is a camera, spot or directional light with a target node or a stored target position."""
    if node.camera is not None:
        return node.target is not None or scene.cameras[node.camera].target is not None
    if node.light is not None:
        light = scene.lights[node.light]
        aims = light.type in (LightType.SPOT, LightType.DIRECTIONAL)
        return aims and (node.target is not None or light.target is not None)
    return False
