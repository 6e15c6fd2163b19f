"""Skins: which bones move which vertices."""

from __future__ import annotations

from dataclasses import field

from keyframer.fields import dataclass, documented
from keyframer.scene._arrays import Extras, Floats, Ints, check_arrays


@documented
@dataclass(eq=False, repr=False)
class Skin:
    """A mesh that follows bones: vertex v becomes the sum of ``weight . joint_world . bind . position``.

    Each influence belongs to one vertex; a rigid skin has one influence of weight 1 for each. Weights are kept as
    authored and normalised only for evaluation.
    """

    name: str
    """name, made safe to show"""
    joints: list[int]
    """node numbers"""
    inverse_bind: Floats
    """(J, 4, 4) from the space of ``influence_positions`` (or of the mesh) to the space of each joint"""
    vertices: Ints
    """(I,) the vertex of each influence, in ascending order"""
    influences: Ints
    """(I,) the joint of each influence: indices into ``joints``"""
    weights: Floats
    """(I,) weight of each influence"""
    positions: Floats | None = None
    """(I, 3) a position for each influence in the space of its joint, as MD5 stores them (``inverse_bind`` is then only
    for formats that need one); None: the mesh's positions are bound"""
    rigid: bool = False
    """whether each vertex follows only one joint"""
    extras: Extras = field(default_factory=dict)
    """further data of the file, under the id of its format"""

    def __post_init__(self) -> None:
        check_arrays(self, {"inverse_bind": (None, 4, 4), "weights": (None,), "positions": (None, 3)})
        check_arrays(self, {"vertices": (None,), "influences": (None,)}, whole=True)

    def __repr__(self) -> str:
        return f"<Skin {self.name!r}: {len(self.joints)} joints, {len(self.vertices)} influences>"
