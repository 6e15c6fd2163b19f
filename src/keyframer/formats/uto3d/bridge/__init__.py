"""From U3D documents to scenes: `things` stand in the tree, `controllers` move them, `scene` is the whole."""

from keyframer.formats.uto3d.bridge.options import Options
from keyframer.formats.uto3d.bridge.scene import to_scene

__all__ = ["Options", "to_scene"]
