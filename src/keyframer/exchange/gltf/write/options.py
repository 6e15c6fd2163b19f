"""The options of a glTF export, and what all parts of one export share."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from keyframer.exchange import KEY_STYLES
from keyframer.exchange.gltf.conventions import Axes
from keyframer.exchange.gltf.extras import Names
from keyframer.exchange.gltf.write.asset import Asset
from keyframer.exchange.gltf.write.images import ImageSource, no_images
from keyframer.exchange.gltf.write.scene_extent import Box
from keyframer.formats.kit.scene_writing import DEFAULT_MAX_ERROR, DEGREES_AT_DEFAULT, check_max_error
from keyframer.scene import Scene
from keyframer.scene.loss_report import LossReport

UNITS = {"mm": 0.001, "cm": 0.01, "m": 1.0, "km": 1000.0, "inch": 0.0254, "foot": 0.3048}
"""metres"""


@dataclass(frozen=True, slots=True)
class GltfOptions:
    """How a scene is written as glTF."""

    core_only: bool = False
    """leave out all extensions"""
    max_error: float = DEFAULT_MAX_ERROR
    """how far motion may be off where keys cannot hold it exactly: a fraction of the scene's size"""
    keys: str = KEY_STYLES[0]
    """how curves are written: ``linear`` puts LINEAR keys where ``max_error`` needs them, which every player shows
    alike; ``cubic`` writes CUBICSPLINE with the fewest keys (Blender drops the tangents); ``frames`` writes one LINEAR
    key for each frame"""
    unit: str | float | None = None
    """how long a unit of the scene is: metres, a name of `UNITS`, ``file`` for what the file says; None keeps the
    numbers as they are"""
    fps: float | None = None
    """frames a second; None takes what the clip says"""
    smooth: bool | None = None
    """normals of meshes without smoothing groups: smooth or flat; None: flat for formats that have smoothing groups
    (3D Studio renders such meshes flat), smooth for the others"""
    authored_keys: bool = True
    """keep the keys of the scene in extras, beside the samplers made from them"""
    images: ImageSource = no_images
    """where the images of materials come from; `save` looks for them beside the model unless this says otherwise"""
    source: Mapping[str, Any] = field(default_factory=dict)
    """what is known about the file: ``name``, ``sha256``, ``dialect``, ``version`` …; goes into the asset's extras"""

    def __post_init__(self) -> None:
        check_max_error(self.max_error)
        if self.keys not in KEY_STYLES:
            raise ValueError(f"keys is one of {', '.join(KEY_STYLES)}, not {self.keys!r}")
        if self.fps is not None and not (math.isfinite(self.fps) and self.fps > 0):
            raise ValueError(f"fps must be positive, not {self.fps}")
        if isinstance(self.unit, str):
            if self.unit not in UNITS and self.unit != "file":
                raise ValueError(f"unit is a number of metres, file, or one of {', '.join(UNITS)}, not {self.unit!r}")
        elif self.unit is not None and not (math.isfinite(self.unit) and self.unit > 0):
            raise ValueError(f"unit must be positive, not {self.unit}")

    @property
    def max_degrees(self) -> float:
        return self.max_error / DEFAULT_MAX_ERROR * DEGREES_AT_DEFAULT

    def metres_per_unit(self, scene: Scene) -> float:
        """By what the scene is scaled."""
        if self.unit is None:
            return 1.0
        if self.unit == "file":
            return scene.space.metres_per_unit or 1.0
        return UNITS[self.unit] if isinstance(self.unit, str) else float(self.unit)

    def stated(self) -> dict[str, Any]:
        """The options that change the result, for the provenance."""
        plain: dict[str, Any] = {"core_only": self.core_only, "max_error": self.max_error, "keys": self.keys}
        if not self.authored_keys:
            plain["authored_keys"] = False
        for name in ("unit", "fps", "smooth"):
            if getattr(self, name) is not None:
                plain[name] = getattr(self, name)
        return plain


@dataclass(eq=False, repr=False)
class Context:
    """One export: what is written, how, and what all its parts need."""

    scene: Scene
    options: GltfOptions
    asset: Asset
    axes: Axes
    report: LossReport
    names: Names
    size: float
    """of the scene (`posing.size_and_span`), in its own unit"""
    boxes: list[Box]
    """around each mesh, in its own space"""
    joint_boxes: dict[int, Box]
    """around what each joint moves, in the joint's space, by its node"""

    @property
    def extensions(self) -> bool:
        """Whether extensions may be used."""
        return not self.options.core_only
