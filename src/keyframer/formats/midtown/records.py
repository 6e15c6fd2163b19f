"""The records and layouts of a Midtown Madness 2 clip, in the order and the terms of the public document about it."""

from __future__ import annotations

from enum import Enum

import numpy as np
import numpy.typing as npt

from keyframer.arrays import Array, Singles
from keyframer.wire.field_types import exact_floats, lines, u8, u32
from keyframer.wire.record import Record, record
from keyframer.wire.rows import float_rows

RPH = 0x01
"""the only known channel type: root translation, then roll, pitch and heading of every bone"""

_DISTANCE = "Forward distance covered by one loop, in metres along -Z (called unknown in the public document)"
_TYPE = "Channel type; 1: translation of the root bone, then roll, pitch, heading (radians) of each bone"
_FRAMES = "Frames, one row each"


class Dialect(Enum):
    """The layout of the header; ``str()`` gives its name in reports."""

    RETAIL = "retail"
    """the retail game: the number of channels is 0 and means one"""
    BETA = "beta"
    """a beta of the game, described in a public document: one or more channels"""
    OLD = "old"
    """an older layout: it counts bones instead of floats, and always has one channel"""

    def __str__(self) -> str:
        return self.value


def bones_in(type: int, floats: int) -> int | None:
    """Return the number of bones in a frame of roll, pitch and heading; None for other frames."""
    return floats // 3 - 1 if type == RPH and floats >= 3 and floats % 3 == 0 else None


@record
class Clip(Record):
    """The header of the retail and the beta layout, with the channels as children.

    Both counts are recomputed from the children on writing, unless the last is a `RawRun`.
    """

    channels: int = u32("Number of channels; 0 in the retail game, where it means one")
    frames: int = u32("Number of frames")


@record
class Channel(Record):
    """A channel with its frames."""

    repeats = True

    floats: int = u32("Number of floats per frame")
    distance: float = exact_floats(_DISTANCE)
    type: int = u8(_TYPE, default=RPH)
    rows: Singles = float_rows(_FRAMES)
    frames: int = 0
    """frames of the clip according to its header; used only for reading"""

    @property
    def row_shape(self) -> tuple[int, int]:
        return self.frames, self.floats

    @property
    def bones(self) -> int | None:
        return bones_in(self.type, self.rows.shape[1])


@record
class OldClip(Record):
    """The header of the old layout, with one channel as child."""

    frames: int = u32("Number of frames")
    bones: int = u32("Number of bones; a frame holds 3 x (bones + 1) floats")


@record
class OldChannel(Record):
    """The frames of the old layout with the fields before them."""

    segment = "channel"

    distance: float = exact_floats(_DISTANCE)
    type: int = u8(_TYPE, default=RPH)
    rows: Singles = float_rows(_FRAMES)
    row_shape: tuple[int, int] = (0, 0)
    """frames and floats per frame according to the header; used only for reading"""

    @property
    def bones(self) -> int | None:
        return bones_in(self.type, self.rows.shape[1])


@record
class SkeletonText(Record):
    """A ``.skel`` file: the bones of a figure. `skeleton.read_skeleton` reads the text."""

    segment = "skeleton"

    text: bytes = lines("the text")


@record
class ModelText(Record):
    """A ``.mod`` file: the body of a figure. `model.read_model` reads the text."""

    segment = "model"

    text: bytes = lines("the text")


def make_channel(rows: npt.ArrayLike, distance: float = 0.0, type: int = RPH) -> Channel:
    """Make a channel from a table ``(frames, floats)``."""
    table: Array = np.asarray(rows, "<f4")
    if table.ndim != 2:
        raise ValueError(f"expected a table (frames, floats), not an array of shape {table.shape}")
    return Channel(table.shape[1], distance, type, table)
