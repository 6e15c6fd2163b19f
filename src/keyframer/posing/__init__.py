"""Poses: a scene at given times, as local matrices, world matrices and vertices. `pose` computes a pose; a `Rig` is a
clip of a scene, compiled once for many calls; a `Playback` finds the frames to show in real time.
"""

from keyframer.posing.playback import Direction, Playback
from keyframer.posing.pose import Pose, pose
from keyframer.posing.rig import Rig

__all__ = ["Direction", "Playback", "Pose", "Rig", "pose"]
