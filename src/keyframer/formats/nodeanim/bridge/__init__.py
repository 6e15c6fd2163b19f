"""From node animation documents to scenes and back: `guess` finds out what the document leaves open."""

from keyframer.formats.nodeanim.bridge.options import Options
from keyframer.formats.nodeanim.bridge.scene import to_scene

__all__ = ["Options", "to_scene"]
