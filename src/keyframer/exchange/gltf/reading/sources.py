"""Which parts of the JSON text a scene was made of: noted while it is read, for whoever shows where things lie."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from keyframer.curves import Track
from keyframer.scene import RawChannel


@dataclass(frozen=True, slots=True)
class TrackSource:
    """Paths such as ``/animations[0]/channels[3]``."""

    path: str
    """the channel; for keys that are no sampler's the object or the numbers that hold them"""
    sampler: str | None = None
    """the sampler, where one holds the keys"""


@dataclass(eq=False)
class Sources:
    """Of one file and its scene, as they were when it was read."""

    nodes: Sequence[int] = ()
    """the number in the file of each node of the scene"""
    helpers: Mapping[int, Mapping[str, int]] = field(default_factory=dict)
    """nodes of the file that help others, by the number of those"""
    tracks: dict[Track | RawChannel, TrackSource] = field(default_factory=dict)
