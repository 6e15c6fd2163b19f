"""Which chunk each part of a scene came from: what merging goes by."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from keyframer.formats.threeds import records as r

Floats = npt.NDArray[np.float64]


@dataclass(eq=False, repr=False)
class Links:
    """Lists parallel to those of the scene."""

    nodes: list[r.Node | None] = field(default_factory=list)
    """None for objects that the keyframer does not know"""
    materials: list[r.Material] = field(default_factory=list)
    meshes: list[r.NamedObject] = field(default_factory=list)
    to_mesh: list[Floats] = field(default_factory=list)
    """(4, 4) for each mesh: stored vertices to the mesh's own"""
    cameras: list[r.NamedObject | None] = field(default_factory=list)
    lights: list[r.NamedObject | None] = field(default_factory=list)
    """None for the ambient light"""
    surfaces: dict[bytes, tuple[r.NamedObject, Floats | None]] = field(default_factory=dict)
    """objects with a mesh by their name, the first of each, and (4, 4) from their stored vertices to their own axes"""
    rest_frame: float = 0.0
    """where stored vertices and keyframer agree"""
