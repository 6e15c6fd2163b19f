"""The options of a glTF export, and the state of one export, which its parts share."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from keyframer.exchange.gltf import KEY_STYLES, LUANTI, PROFILES
from keyframer.exchange.gltf.conventions import Names
from keyframer.exchange.gltf.write.asset import Asset
from keyframer.exchange.kit.axes import Axes
from keyframer.exchange.kit.boxes import Box, joint_boxes, mesh_boxes
from keyframer.exchange.kit.options import SceneOptions
from keyframer.posing import Rig
from keyframer.posing.bounds_and_duration import Poses, scene_size
from keyframer.scene import Scene
from keyframer.scene.loss_report import LossReport


@dataclass(frozen=True, slots=True, kw_only=True)
class GltfOptions(SceneOptions):
    """Options for writing glTF; `keyframer.exchange.gltf` describes them."""

    compact: bool = False
    core_only: bool = False
    keys: str = KEY_STYLES[0]
    profile: str = PROFILES[0]
    embed_source: bool = False

    def __post_init__(self) -> None:
        SceneOptions.__post_init__(self)
        if self.compact and self.core_only:
            raise ValueError("compact files need the extension KHR_mesh_quantization, and core_only allows none")
        if self.keys not in KEY_STYLES:
            raise ValueError(f"keys must be one of {', '.join(KEY_STYLES)}, not {self.keys!r}")
        if self.profile not in PROFILES:
            raise ValueError(f"profile must be one of {', '.join(PROFILES)}, not {self.profile!r}")
        if self.profile == LUANTI and self.keys == "cubic":
            raise ValueError("Luanti plays no cubic keys: leave out keys=cubic")

    def metres_per_unit(self, scene: Scene) -> float:
        """Return the factor from scene units to metres."""
        file = scene.space.metres_per_unit if self.unit == "file" else None
        return self.stated_unit() or file or 1.0

    def provenance_fields(self) -> dict[str, Any]:
        """Return the options that the file records: the main ones always, some others if set."""
        options: dict[str, Any] = {"core_only": self.core_only, "max_error": self.max_error, "keys": self.keys}
        for name in ("unit", "fps", "smooth"):
            if getattr(self, name) is not None:
                options[name] = getattr(self, name)
        if self.compact:
            options["compact"] = True
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
    poses: Poses
    """those from which the size is measured"""

    @cached_property
    def size(self) -> float:
        """Size of the scene (`posing.bounds_and_duration`), in its own unit."""
        return scene_size(self.scene, self.rig, self.poses)

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
