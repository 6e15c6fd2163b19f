"""Options that all exporters of today's formats have."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from keyframer.exchange.contract import UNITS
from keyframer.exchange.kit.images import ImageSource, no_images
from keyframer.formats.kit.scene_writing import DEFAULT_MAX_ERROR, DEGREES_AT_DEFAULT, check_max_error


@dataclass(frozen=True, slots=True, kw_only=True)
class SceneOptions:
    """The options `Exporter.options` describes, with the images and the source of a scene."""

    max_error: float = DEFAULT_MAX_ERROR
    unit: str | float | None = None
    fps: float | None = None
    smooth: bool | None = None
    images: ImageSource = no_images
    """source of the images of materials; by default `save` searches next to the model"""
    source: Mapping[str, Any] = field(default_factory=dict)
    """properties of the source file, which are written: ``name``, ``sha256``, ``dialect``, ``version`` …"""

    def __post_init__(self) -> None:
        check_max_error(self.max_error)
        if self.fps is not None and not (math.isfinite(self.fps) and self.fps > 0):
            raise ValueError(f"fps must be positive and finite, not {self.fps}")
        if isinstance(self.unit, str):
            if self.unit not in UNITS and self.unit != "file":
                raise ValueError(
                    f"unit must be a number of metres, file, or one of {', '.join(UNITS)}, not {self.unit!r}"
                )
        elif self.unit is not None and not (math.isfinite(self.unit) and self.unit > 0):
            raise ValueError(f"unit must be positive and finite, not {self.unit}")

    @property
    def max_degrees(self) -> float:
        return self.max_error / DEFAULT_MAX_ERROR * DEGREES_AT_DEFAULT

    def stated_unit(self) -> float | None:
        """Return the metres per unit of the scene that the options state; None if they leave it to the file."""
        if self.unit is None or self.unit == "file":
            return None
        return UNITS[self.unit] if isinstance(self.unit, str) else float(self.unit)
