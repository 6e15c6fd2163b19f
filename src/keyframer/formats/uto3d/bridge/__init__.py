"""From U3D documents to scenes and back: `things` stand in the tree, `controllers` move them, `scene` is the whole;
the modules that write have the same names with ``write_``."""

from keyframer.formats.uto3d.bridge.options import Options
from keyframer.formats.uto3d.bridge.scene import to_scene

__all__ = ["Options", "to_scene"]
