"""What a scene remembers of the archive it was read from."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np

from keyframer.limits import Limits
from keyframer.scene import Scene


@dataclass(eq=False)
class ArchiveSource:
    data: bytes
    limits: Limits
    is_show: bool
    used: set[str]
    """names of members that the scene was made of"""
    placement: bytes
    """a digest of how the nodes were placed when the archive was read"""

    @property
    def ending(self) -> str:
        return ".mvr" if self.is_show else ".gdtf"

    def describes(self, scene: Scene) -> bool:
        """Whether the nodes are still placed as the archive says."""
        return placement_digest(scene) == self.placement


def placement_digest(scene: Scene) -> bytes:
    digest = hashlib.sha256()
    for node in scene.nodes:
        digest.update(f"{node.name}\0{node.parent}\0{node.mesh}\0".encode("utf-8", "surrogatepass"))
        parts = (node.position, node.rotation_xyzw, node.scale)
        digest.update(np.concatenate([np.asarray(part, np.float64) for part in parts]).tobytes())
    return digest.digest()
