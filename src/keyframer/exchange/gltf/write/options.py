"""The options of a glTF export, and the state of one export, which its parts share."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from keyframer.exchange.contract import UNITS
from keyframer.exchange.gltf import KEY_STYLES
from keyframer.exchange.gltf.conventions import Names
from keyframer.exchange.gltf.write.asset import Asset
from keyframer.exchange.kit.axes import Axes
from keyframer.exchange.kit.boxes import Box, joint_boxes, mesh_boxes
from keyframer.exchange.kit.images import ImageSource, no_images
from keyframer.formats.kit.scene_writing import DEFAULT_MAX_ERROR, DEGREES_AT_DEFAULT, check_max_error
from keyframer.posing import Rig
from keyframer.posing.bounds_and_duration import scene_size
from keyframer.scene import Scene
from keyframer.scene.loss_report import LossReport


@dataclass(frozen=True, slots=True)
class GltfOptions:
    """Options for writing glTF."""

    core_only: bool = False
    """leave out all extensions"""
    max_error: float = DEFAULT_MAX_ERROR
    """allowed error of motion that keys cannot store exactly: a fraction of the size of the scene"""
    keys: str = KEY_STYLES[0]
    """how curves are written: ``linear`` writes LINEAR keys as ``max_error`` requires, which look the same in every
    player; ``cubic`` writes CUBICSPLINE where that is exact (Blender drops the tangents); ``frames`` writes one LINEAR
    key for each frame
    """
    unit: str | float | None = None
    """length of a unit of the scene: a number of metres, a name of `UNITS`, or ``file`` for the unit of the file; None
    keeps the numbers unchanged
    """
    fps: float | None = None
    """frames per second; None uses the rate of the clip"""
    smooth: bool | None = None
    """normals of meshes without smoothing groups: smooth or flat; None: flat for formats that have smoothing groups
    (3D Studio renders such meshes flat), smooth for the others"""
    embed_source: bool = False
    """embed the file that the scene was loaded from, with its companions: reading gives its scene back, as long as the
    content of the glTF file stays the same
    """
    images: ImageSource = no_images
    """source of the images of materials; by default `save` searches next to the model"""
    source: Mapping[str, Any] = field(default_factory=dict)
    """properties of the source file for the extras of the asset: ``name``, ``sha256``, ``dialect``, ``version`` …"""

    def __post_init__(self) -> None:
        check_max_error(self.max_error)
        if self.keys not in KEY_STYLES:
            raise ValueError(f"keys must be one of {', '.join(KEY_STYLES)}, not {self.keys!r}")
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

    def metres_per_unit(self, scene: Scene) -> float:
        """Return the factor from scene units to metres."""
        if self.unit is None:
            return 1.0
        if self.unit == "file":
            return scene.space.metres_per_unit or 1.0
        return UNITS[self.unit] if isinstance(self.unit, str) else float(self.unit)

    def provenance_fields(self) -> dict[str, Any]:
        """Return the options that the file records: the main ones always, some others if set."""
        options: dict[str, Any] = {"core_only": self.core_only, "max_error": self.max_error, "keys": self.keys}
        for name in ("unit", "fps", "smooth"):
            if getattr(self, name) is not None:
                options[name] = getattr(self, name)
        return options


@dataclass(eq=False, repr=False)
class Context:
    """The state of one export: scene, options, and shared data."""

    scene: Scene
    options: GltfOptions
    asset: Asset
    axes: Axes
    report: LossReport
    names: Names
    rig: Rig
    """rig of the first clip"""

    @cached_property
    def size(self) -> float:
        """Size of the scene (`posing.bounds_and_duration`), in its own unit."""
        return scene_size(self.scene, self.rig)

    @cached_property
    def boxes(self) -> list[Box]:
        """Boxes around the meshes, in their own space."""
        return mesh_boxes(self.scene)

    @cached_property
    def joint_boxes(self) -> dict[int, Box]:
        """Boxes around the vertices of each joint, in the space of the joint, by its node."""
        return joint_boxes(self.scene)

    @property
    def may_use_extensions(self) -> bool:
        return not self.options.core_only
