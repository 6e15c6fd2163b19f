"""Clips: authored keys of many nodes on one time base."""

from __future__ import annotations

from dataclasses import dataclass, field

from keyframer.curves.lazy_fields import LazyFields, lazy
from keyframer.curves.track import Track
from keyframer.scene._arrays import Extras, Floats


@dataclass(eq=False, slots=True)
class Channel:
    """A track and the node it moves; ``track.kind`` says what it moves.

    Kinds: ``position``, ``rotation``, ``scale``, ``scale_axes``, ``visible`` (steps of 0 and 1), ``morph`` (weights of
    the node's morph targets), ``fov``, ``roll``, ``hotspot``, ``falloff`` (degrees), ``color``, ``multiplier``.
    """

    node: int
    track: Track

    def __repr__(self) -> str:
        return f"<Channel {self.track.kind} of node {self.node}: {len(self.track.times)} keys>"


@dataclass(eq=False, slots=True)
class RawChannel(LazyFields):
    """Numbers per frame whose meaning nobody knows: kept, shown and plotted, never posed."""

    name: str
    values: Floats
    """(frames, width)"""
    extras: Extras = lazy(dict)

    def __repr__(self) -> str:
        return f"<RawChannel {self.name!r}: {'x'.join(map(str, self.values.shape))} numbers>"


FASTEST, SLOWEST = 10_000.0, 0.001
"""frames a second: beyond these a rate means nothing"""


@dataclass(eq=False)
class Clip:
    """An animation. Key times count in ``unit``, of which ``rate`` make a second."""

    name: str = ""
    channels: list[Channel] = field(default_factory=list)
    start: float = 0.0
    """first time of the active segment, in ``unit``"""
    end: float = 0.0
    """last time of the active segment"""
    rate: float = 30.0
    unit: str = "frame"
    """``frame``, ``tick`` or ``second``"""
    units_per_frame: float = 1.0
    """1 where times are frames; the ticks of a frame where they are ticks"""
    current: float | None = None
    """the time that the program showed when it saved"""
    bounds: Floats | None = None
    """(frames, 2, 3) lower and upper corner of a box for each frame, as the file states them"""
    raw_channels: list[RawChannel] = field(default_factory=list)
    extras: Extras = field(default_factory=dict)

    @property
    def frames_per_second(self) -> float:
        """0 where the clip states no usable time base."""
        return self.rate / self.units_per_frame if self.units_per_frame else 0.0

    def __repr__(self) -> str:
        return f"<Clip {self.name!r}: {len(self.channels)} channels, {self.unit} {self.start:g}..{self.end:g}>"
