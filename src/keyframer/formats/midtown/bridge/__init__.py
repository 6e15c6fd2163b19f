"""From Midtown Madness 2 clips to scenes: `rig` has the skeleton, `scene` the motion; `writing` is the way back."""

from keyframer.formats.midtown.bridge.options import Options, companions
from keyframer.formats.midtown.bridge.scene import to_scene

__all__ = ["Options", "companions", "to_scene"]
