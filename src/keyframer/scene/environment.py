"""Axes, handedness and units, stated by the bridge that made the scene; background, fog, ambient light."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from keyframer.fields import documented
from keyframer.scene._arrays import Extras


class Handedness(Enum):
    """The handedness of axes."""

    RIGHT = "right"
    LEFT = "left"


@documented
@dataclass(frozen=True, slots=True)
class Space:
    """The coordinate system of all positions of a scene."""

    up: str = "z"
    """the axis that points up: ``x``, ``y`` or ``z``"""
    handedness: Handedness = Handedness.RIGHT
    """whether the axes are right-handed or left-handed"""
    metres_per_unit: float | None = None
    """length of a unit in metres; None if the format does not define it"""
    v_up: bool = True
    """True if texture V runs up from the lower edge of the image (3D Studio), False if down from the upper one (MD5)"""

    unit_rule: str = field(default="", compare=False)
    """source of the unit: a chunk of the file, a rule of the format, or an option of the user"""

    @property
    def unit(self) -> str:
        """Return the length of a unit in words, with its source."""
        length = "unknown" if self.metres_per_unit is None else f"{self.metres_per_unit:g} m"
        return f"{length} ({self.unit_rule})" if self.unit_rule else length

    def __post_init__(self) -> None:
        if self.up not in ("x", "y", "z"):
            raise ValueError(f"Space: up must be 'x', 'y' or 'z', not {self.up!r}")
        if type(self.handedness) is not Handedness:
            raise ValueError(f"Space: handedness must be a Handedness, not {self.handedness!r}")

    def __str__(self) -> str:
        unit = "unknown unit" if self.metres_per_unit is None else f"1 unit = {self.metres_per_unit:g} m"
        return f"{self.up.upper()} up, {self.handedness.value}-handed, {unit}"


Rgb = tuple[float, float, float]


@dataclass(eq=False)
class Gradient:
    """Three background colours, in the order of the file."""

    midpoint: float
    colors: list[Rgb]


@dataclass(eq=False)
class Fog:
    """Fog, or a distance cue, between two distances."""

    near: float
    near_density: float
    far: float
    far_density: float
    color: Rgb | None = None
    affects_background: bool = False


@dataclass(eq=False)
class LayeredFog:
    """Fog between two heights."""

    z_min: float
    z_max: float
    density: float
    flags: int = 0
    color: Rgb | None = None


@dataclass(eq=False, repr=False)
class Environment:
    """Background, fog and ambient light as stored; ``uses`` names the backgrounds and fogs that are switched on."""

    ambient: Rgb | None = None
    background_color: Rgb | None = None
    background_image: str | None = None
    gradient: Gradient | None = None
    fog: Fog | None = None
    distance_cue: Fog | None = None
    layered_fog: LayeredFog | None = None
    uses: set[str] = field(default_factory=set)
    """any of ``background_color``, ``background_image``, ``gradient``, ``fog``, ``distance_cue``, ``layered_fog``"""
    extras: Extras = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"<Environment: {', '.join(sorted(self.uses)) or 'nothing in use'}>"
