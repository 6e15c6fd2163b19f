"""Clips: authored keys of many nodes on one time base."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from keyframer.curves.lazy_fields import LazyFields, lazy
from keyframer.curves.track import Track
from keyframer.fields import documented
from keyframer.limits import is_budget_open
from keyframer.scene._arrays import Extras, Floats, check_arrays, invalid_field
from keyframer.text import counted


@documented
@dataclass(eq=False, repr=False, slots=True)
class Channel:
    """A track and the node it animates; ``track.kind`` is the animated property.

    Kinds: ``position``, ``rotation``, ``scale``, ``scale_axes``, ``visible`` (steps of 0 and 1), ``morph`` (weights of
    the node's morph shapes), ``fov``, ``roll``, ``hotspot``, ``falloff`` (degrees), ``color``, ``multiplier``.
    """

    node: int
    """index of the node in the scene"""
    track: Track
    """the keys"""

    def __post_init__(self) -> None:
        if type(self.node) is not int and not isinstance(self.node, np.integer):
            raise invalid_field(
                self, "node", "the index of a node in the scene (scene.find returns it)", repr(self.node)
            )
        if not isinstance(self.track, Track):
            raise invalid_field(self, "track", "a Track", repr(self.track))

    def __repr__(self) -> str:
        return f"<Channel {self.track.kind} of node {self.node}: {counted(len(self.track.times), 'key')}>"


@documented
@dataclass(eq=False, repr=False, slots=True)
class RawChannel(LazyFields):
    """Numbers per frame with unknown meaning: kept, shown and plotted, but not posed."""

    name: str
    values: Floats
    """(frames, width)"""
    extras: Extras = lazy(dict)

    if TYPE_CHECKING:

        def __init__(self, name: str, values: ArrayLike, extras: Extras = ...) -> None: ...

    def __post_init__(self) -> None:
        check_arrays(self, {"values": (None, None)})
        LazyFields.__post_init__(self)

    def __repr__(self) -> str:
        return f"<RawChannel {self.name!r}: {'x'.join(map(str, self.values.shape))} numbers>"


UNITS = ("frame", "tick", "second")
"""units of key times"""
FASTEST, SLOWEST = 10_000.0, 0.001
"""largest and smallest plausible rate, in frames per second"""


@documented
@dataclass(eq=False, repr=False)
class Clip:
    """An animation. Key times are in ``unit``, with ``rate`` units per second."""

    name: str = ""
    """name, made safe to show"""
    channels: list[Channel] = field(default_factory=list)
    """tracks with the nodes they animate"""
    start: float = 0.0
    """first time of the active segment, in ``unit``"""
    end: float = 0.0
    """last time of the active segment"""
    rate: float = 30.0
    """time units per second"""
    unit: str = "frame"
    """``frame``, ``tick`` or ``second``"""
    units_per_frame: float = 1.0
    """1 if times are frames; ticks or seconds per frame if they are ticks or seconds"""
    current: float | None = None
    """the current time when the file was saved"""
    bounds: Floats | None = None
    """(frames, 2, 3) lower and upper corner of the bounding box of each frame, as stored"""
    raw_channels: list[RawChannel] = field(default_factory=list)
    """numbers per frame with unknown meaning"""
    extras: Extras = field(default_factory=dict)
    """further data of the file, under the id of its format"""

    if TYPE_CHECKING:

        def __init__(
            self, name: str = "", channels: list[Channel] = ..., start: float = 0.0, end: float = 0.0,
            rate: float = 30.0, unit: str = "frame", units_per_frame: float = 1.0, current: float | None = None,
            bounds: ArrayLike | None = None, raw_channels: list[RawChannel] = ..., extras: Extras = ...,
        ) -> None: ...  # fmt: skip

    def __post_init__(self) -> None:
        for name in ("rate", "units_per_frame"):
            value = getattr(self, name)
            if not isinstance(value, (float, int, np.number)) or not (value > 0 or is_budget_open()):
                raise invalid_field(self, name, "a number above 0", repr(value))
        check_arrays(self, {"bounds": (None, 2, 3)})
        if self.unit not in UNITS:
            raise invalid_field(self, "unit", f"one of {', '.join(UNITS)}", repr(self.unit))
        if not isinstance(self.channels, Sequence) or isinstance(self.channels, str):
            raise invalid_field(self, "channels", "a list of Channel", repr(self.channels))
        for channel in self.channels if type(self.channels) is list else ():
            if not isinstance(channel, Channel):
                raise invalid_field(self, "channels", "a list of Channel", f"a list with {channel!r}")

    @property
    def frames_per_second(self) -> float:
        """Frames per second; 0 if ``units_per_frame`` is 0."""
        return self.rate / self.units_per_frame if self.units_per_frame else 0.0

    def __repr__(self) -> str:
        return (
            f"<Clip {self.name!r}: {counted(len(self.channels), 'channel')}, {self.unit} {self.start:g}..{self.end:g}>"
        )
