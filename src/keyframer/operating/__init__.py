"""Operations on scenes: each returns the changed scene and leaves its argument unchanged.

from keyframer import operating

scene = operating.cut(scene, 10, 50)
scene = operating.change_axes(scene, up="y")
"""

from keyframer.operating.node_selection import change_axes, choose_nodes, merge, scale
from keyframer.operating.timing import change_rate, cut, reverse

__all__ = ["change_axes", "change_rate", "choose_nodes", "cut", "merge", "reverse", "scale"]
