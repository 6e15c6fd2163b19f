"""What all parts of one export share."""

from __future__ import annotations

from dataclasses import dataclass

from keyframer.exchange.gltf.asset import Asset
from keyframer.exchange.gltf.axes import Axes
from keyframer.exchange.gltf.extent import Box
from keyframer.exchange.gltf.names import Names
from keyframer.exchange.gltf.options import GltfOptions
from keyframer.exchange.report import LossReport
from keyframer.scene import Scene


@dataclass(eq=False)
class Context:
    scene: Scene
    options: GltfOptions
    asset: Asset
    axes: Axes
    report: LossReport
    names: Names
    size: float
    """the diagonal of everything the scene shows while it moves, in its own unit"""
    boxes: list[Box]
    """around each mesh, in its own space"""
    joint_boxes: dict[int, Box]
    """around what each joint moves, in the joint's space, by its node"""

    @property
    def extensions(self) -> bool:
        """Whether extensions may be used."""
        return not self.options.core_only
