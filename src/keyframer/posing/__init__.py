"""Poses: a scene at given times, as local matrices, world matrices and vertices. `pose` computes all of it; `Rig` is a
scene compiled once for many calls; `Playback` is for playing in real time.
"""

from keyframer.posing.playback import Direction, Playback
from keyframer.posing.pose import Pose, pose
from keyframer.posing.rig import Rig

__all__ = ["Direction", "Playback", "Pose", "Rig", "pose"]
