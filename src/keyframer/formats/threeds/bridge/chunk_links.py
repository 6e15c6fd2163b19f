"""Links from each part of a scene to its chunk, for merging."""

from __future__ import annotations

from dataclasses import field

from keyframer.arrays import Floats
from keyframer.fields import dataclass
from keyframer.formats.threeds import records as r


@dataclass(eq=False, repr=False)
class Links:
    """The chunks of a scene's parts, in lists parallel to those of the scene."""

    nodes: list[r.Node | None] = field(default_factory=list)
    """None for objects without a keyframer node"""
    materials: list[r.Material] = field(default_factory=list)
    meshes: list[r.NamedObject] = field(default_factory=list)
    to_mesh: list[Floats] = field(default_factory=list)
    """(4, 4) for each mesh: from stored vertices to those of the mesh"""
    cameras: list[r.NamedObject | None] = field(default_factory=list)
    lights: list[r.NamedObject | None] = field(default_factory=list)
    """None for the ambient light"""
    surfaces: dict[bytes, tuple[r.NamedObject, Floats | None]] = field(default_factory=dict)
    """the first object with a mesh for each name, and (4, 4) from its stored vertices to its local axes"""
    rest_frame: float = 0.0
    """the frame at which stored vertices and keyframer agree"""
