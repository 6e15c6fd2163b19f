"""Poses: a scene at given times, as local matrices, world matrices and vertices. `pose` computes a pose; a `Rig` is a
clip of a scene, compiled once for many calls; a `Playback` finds the frames to show in real time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

from keyframer.posing.rig import Pose, Rig, pose

__all__ = ["Direction", "Playback", "Pose", "Rig", "pose"]


class Direction(Enum):
    """The direction of playback."""

    FORWARD = "forward"
    BACKWARD = "backward"
    ALTERNATING = "alternating"


@dataclass
class Playback:
    """The playback time of a clip from frame ``start`` to frame ``end`` at ``rate`` frames per second.

    `advance` moves by seconds of real time; then show the frame `current` blended with `following` by `blend` (0 to 1).
    Without ``loop``, playback stops at the end, or at the start if ``speed`` is negative.
    """

    start: float
    end: float
    rate: float
    loop: bool = True
    seam: float = 0.0
    """frames from the last one back to the first in a loop: 0 if both are the same moment, as in keyed loops, 1 if they
    are different frames, as in sampled clips; alternating playback has no seam
    """
    direction: Direction = Direction.FORWARD
    speed: float = 1.0
    travelled: float = 0.0
    """frames from the start of playback, in the direction of playback"""

    @property
    def span(self) -> float:
        return max(self.end - self.start, 0.0)

    def advance(self, seconds: float) -> float:
        """Advance by seconds and return the new time in frames."""
        step = seconds * self.rate * self.speed
        if math.isfinite(step):
            self.travelled += step
        if not self.loop:
            self.travelled = min(max(self.travelled, 0.0), self._length)
        return self.time

    def seek(self, time: float) -> None:
        """Jump to a time in frames; times outside the clip are clamped to it, and NaN is ignored."""
        if math.isnan(time):
            return
        offset = min(max(time, self.start), self.end) - self.start
        self.travelled = self.span - offset if self.direction is Direction.BACKWARD else offset

    @property
    def _length(self) -> float:
        if self.direction is Direction.ALTERNATING:
            return 2 * self.span
        return self.span + self.seam if self.loop else self.span

    @property
    def finished(self) -> bool:
        """Whether playback has reached the end and stopped."""
        return not self.loop and self.travelled >= self._length

    @property
    def time(self) -> float:
        """The time to show, in frames; in the seam of a loop it is after the end."""
        length = self._length
        if length == 0:
            return self.start
        travelled = self.travelled
        if not 0 <= travelled <= length:  # both ends can be shown: a user may have jumped to them
            travelled %= length
        if self.direction is Direction.BACKWARD:
            return self.end - travelled if travelled <= self.span else self.start + length - travelled + self.span
        if self.direction is Direction.ALTERNATING and travelled > self.span:
            return self.start + 2 * self.span - travelled
        return self.start + travelled

    @property
    def current(self) -> int:
        """The whole frame at or before the time."""
        return math.floor(min(self.time, self.end) if self.span else self.time)

    @property
    def following(self) -> int:
        """The next whole frame; at the end the first one in a loop that does not alternate, else the current one."""
        following = self.current + 1
        if following <= self.end:
            return following
        return math.floor(self.start) if self.loop and self.direction is not Direction.ALTERNATING else self.current

    @property
    def blend(self) -> float:
        """The weight of ``following``, 0 to 1."""
        if self.time > self.end and self.seam:
            return (self.time - self.end) / self.seam
        return self.time - self.current
