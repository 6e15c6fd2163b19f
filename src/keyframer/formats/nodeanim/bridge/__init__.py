"""From node animation documents to scenes: `guess` finds out what the document leaves open, `scene` builds."""

from keyframer.formats.nodeanim.bridge.options import Options
from keyframer.formats.nodeanim.bridge.scene import to_scene

__all__ = ["Options", "to_scene"]
