"""From 3D Studio documents to scenes and back: the only place where the two meet.

`editor` reads the surroundings, `materials` materials and maps, `objects` meshes, lights and cameras as the editor has
them, `tracks` keys, `nodes` the keyframer's tree, and `rest` decides where stored vertices and keyframer disagree.
`writing` is the way back, loaded only when it is gone; the modules that it is made of begin with ``write_``.
"""

from keyframer.formats.threeds.bridge.options import Options
from keyframer.formats.threeds.bridge.scene import to_scene

__all__ = ["Options", "to_scene"]
