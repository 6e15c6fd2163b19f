"""The written time range of a clip, and how many keys may be in it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from keyframer.arrays import Floats
from keyframer.limits import budget_left, budget_total
from keyframer.maths.distinct_values import unique_values
from keyframer.posing.bounds_and_duration import clip_span
from keyframer.scene import Clip

_BUDGET_PARTS = 10
"""one motion may use the budget of keys divided by this number"""
_SAMPLES_PER_KEY = 50
"""numbers sampled for each key, approximately"""
_CLOSEST = 5e-4
"""shortest time between two linear keys, in seconds: Blender, at 24 frames per second, joins keys within 0.01 frames"""


def keys_left() -> int:
    """Return how many keys motions may still get: the rest of the budget, limited by the samples needed to find them.

    Half of the samples are reserved for measuring.
    """
    samples = budget_left("samples") - budget_total("samples") // 2
    return max(0, min(budget_left("keys"), samples // _SAMPLES_PER_KEY))


def most_keys() -> int:
    """Return how many keys one motion may have: a share of the budget, if that much is left."""
    return min(budget_total("keys") // _BUDGET_PARTS, keys_left())


@dataclass(frozen=True)
class Span:
    """The written time range of a clip, in its unit; ``rate`` units make a second, ``frame`` units a frame."""

    begin: float
    end: float
    rate: float
    frame: float = 1.0

    def seconds(self, times: npt.ArrayLike) -> Floats:
        return np.asarray((np.asarray(times, np.float64) - self.begin) / self.rate)

    @property
    def closest(self) -> float:
        """The shortest interval between two linear keys, which is the duration of a jump: it survives rounding of
        seconds to single precision.
        """
        return max(4e-7 * (self.end - self.begin), _CLOSEST * self.rate)

    @property
    def indivisible(self) -> float:
        """The longest interval between two linear keys that cannot have a key in its middle."""
        return 2.0 * self.closest

    def frames(self) -> Floats | None:
        """Return all whole frames and the two ends; None if there are more frames than one motion may have keys."""
        first, last = np.floor(self.begin / self.frame) + 1, np.ceil(self.end / self.frame) - 1
        if last - first >= most_keys():
            return None
        return unique_values(np.concatenate([[self.begin], np.arange(first, last + 1) * self.frame, [self.end]]))


def written_span(clip: Clip, fps: float | None) -> Span:
    """Return the time range of a clip to write: the whole animation, at ``fps`` frames per second (None: its rate, or
    30 if that is invalid).
    """
    rate = clip.rate if fps is None else fps * clip.units_per_frame
    if not (np.isfinite(rate) and rate > 0):
        rate = 30.0 * clip.units_per_frame
    return Span(*clip_span(clip), rate, _frame_length(clip))


def _frame_length(clip: Clip) -> float:
    length = float(clip.units_per_frame)
    return length if np.isfinite(length) and length > 0 else 1.0
