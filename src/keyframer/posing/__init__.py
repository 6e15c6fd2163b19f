"""A scene at given times: local, then world, then vertices.

`pose` is the whole way; `Rig` is a scene compiled once for many calls; `Playback` is for playing in real time.
"""

from keyframer.posing.playback import Direction, Playback
from keyframer.posing.pose import Pose, pose
from keyframer.posing.rig import Rig

__all__ = ["Direction", "Playback", "Pose", "Rig", "pose"]
