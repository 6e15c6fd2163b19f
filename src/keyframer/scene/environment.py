"""The environment of a scene: background, fog, ambient light."""

from __future__ import annotations

from dataclasses import dataclass, field

from keyframer.scene._arrays import Extras

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
