"""Lights: what the file states at rest; animation is in the clip's channels."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from keyframer.curves.lazy_fields import LazyFields, lazy
from keyframer.scene._arrays import Extras


class LightType(Enum):
    OMNI = "omni"
    SPOT = "spot"
    DIRECTIONAL = "directional"
    AMBIENT = "ambient"


@dataclass(eq=False, slots=True)
class Light(LazyFields):
    """A light; spot and directional ones shine along -Z of their frame, or at their node's target."""

    name: str
    type: LightType = LightType.OMNI
    color: tuple[float, float, float] = (1.0, 1.0, 1.0)
    multiplier: float = 1.0
    """may be negative: such a light darkens"""
    on: bool = True
    attenuated: bool = False
    inner_range: float | None = None
    """full light up to here, where ``attenuated``"""
    outer_range: float | None = None
    """no light from here on, where ``attenuated``"""
    target: tuple[float, float, float] | None = None
    """the stored point it shines at, in scene space; used where its node has no target node"""
    hotspot_degrees: float | None = None
    """full angle of the bright cone (spot)"""
    falloff_degrees: float | None = None
    """full angle of the outer cone (spot)"""
    roll_degrees: float = 0.0
    """of the cone about its axis; positive as for cameras"""
    rectangular: bool = False
    aspect: float = 1.0
    casts_shadows: bool = False
    projector: str | None = None
    """name of the image it projects"""
    excludes: list[str] = lazy(list)
    """names of objects it does not reach"""
    extras: Extras = lazy(dict)
    raw_name: bytes | None = None

    def __repr__(self) -> str:
        return f"<Light {self.name!r} ({self.type.value})>"
