"""Lights: what the file states at rest; animation is in the clip's channels."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from keyframer.curves.lazy_fields import LazyFields, lazy
from keyframer.fields import documented
from keyframer.scene._arrays import Extras, check_choice, check_color


class LightType(Enum):
    OMNI = "omni"
    SPOT = "spot"
    DIRECTIONAL = "directional"
    AMBIENT = "ambient"


@documented
@dataclass(eq=False, repr=False, slots=True)
class Light(LazyFields):
    """A light; spot and directional ones shine along -Z of their frame, or at their node's target."""

    name: str
    """shown name"""
    type: LightType = LightType.OMNI
    """how it shines"""
    color: tuple[float, float, float] = (1.0, 1.0, 1.0)
    """red, green, blue, 0 to 1"""
    multiplier: float = 1.0
    """may be negative: such a light darkens"""
    on: bool = True
    """whether it shines at all"""
    attenuated: bool = False
    """whether its light ends with distance"""
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
    """whether its cone is one of four sides (spot)"""
    aspect: float = 1.0
    """width by height of such a cone"""
    casts_shadows: bool = False
    """whether what stands in its light throws shadows"""
    projector: str | None = None
    """name of the image it projects"""
    excludes: list[str] = lazy(list)
    """names of objects it does not reach"""
    extras: Extras = lazy(dict)
    """what else the file says, under the id of its format"""
    raw_name: bytes | None = None
    """the name as it stands in the file"""

    def __post_init__(self) -> None:
        check_choice(self, "type", LightType)
        check_color(self, "color")
        LazyFields.__post_init__(self)

    def __repr__(self) -> str:
        return f"<Light {self.name!r} ({self.type.value})>"
