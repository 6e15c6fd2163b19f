"""The bytes of every key of a track, from the record that its bridge has noted.

Where that record has one table of keys, a row is a key. Three formats are different: node animations have three tables
in a record, Hale3D and Midtown Madness 2 have rows of numbers for all tracks, of which a track has some columns.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np

from keyframer.formats._document import Document
from keyframer.formats.hale3d.records import Frames, Joint
from keyframer.formats.threeds.records import HideTrack
from keyframer.scene import Channel
from keyframer.viewer.extents import Extents
from keyframer.viewer.keyrows import row_spans
from keyframer.viewer.rows import Rows, Strided

_FLOAT = 4
_TABLES = {"position": "translation_keys", "rotation": "rotation_keys"}


class KeyFinder:
    """Finds keys in one file."""

    def __init__(self, document: Document, data: bytes, extents: Extents) -> None:
        self._document = document
        self._data = data
        self.extents = extents
        self._tables: dict[int, Strided | None] = {}

    def keys(self, channel: Channel, number: int) -> Rows | None:
        """The places of the keys of a channel whose record has this number; None where they have none."""
        rows = _WAYS.get(self._document.format.name, _one_table)(self, channel, number)
        if rows is None:
            return None
        wanted = len(channel.track.times)
        record = self.extents.records[number]
        if isinstance(record, HideTrack):  # sorted, and a state before the first toggle, which is ours
            order = np.argsort(record.keys.time, kind="stable")
            rows = [None, *(rows[key] for key in order.tolist())]
        return rows if len(rows) == wanted else None

    def rows(self, number: int, field: str) -> Rows | None:
        """The rows of a field of a record."""
        return row_spans(self._document, self._data, self.extents, number, field)

    def table(self, number: int) -> Strided | None:
        """The rows of a plain table of numbers; worked out once, because it holds all tracks."""
        if number not in self._tables:
            found = self.rows(number, "rows") if hasattr(self.extents.records[number], "rows") else None
            self._tables[number] = found if isinstance(found, Strided) else None
        return self._tables[number]

    def joint(self, number: int) -> Joint | None:
        record = self.extents.records[number]
        return record if isinstance(record, Joint) else None

    @cached_property
    def frames(self) -> Strided | None:
        """The frames of a Hale3D animation: one table for all joints."""
        at = next((i for i, record in enumerate(self.extents.records) if isinstance(record, Frames)), None)
        return None if at is None else self.table(at)


def _one_table(finder: KeyFinder, channel: Channel, number: int) -> Rows | None:
    return finder.rows(number, "keys") if hasattr(finder.extents.records[number], "keys") else None


def _node_animation(finder: KeyFinder, channel: Channel, number: int) -> Rows | None:
    return finder.rows(number, _TABLES.get(channel.track.kind, "scale_keys"))


def _hale3d(finder: KeyFinder, channel: Channel, number: int) -> Rows | None:
    """A frame holds a box of six floats, then for each joint those of Tx Ty Tz Qx Qy Qz that its flags announce."""
    joint, frames = finder.joint(number), finder.frames
    if joint is None or frames is None:
        return None
    moved, turned = (joint.flags & 7).bit_count(), (joint.flags >> 3 & 7).bit_count()
    first, count = (0, moved) if channel.track.kind == "position" else (moved, turned)
    return frames.columns(_FLOAT * (6 + joint.start_index + first), _FLOAT * count)


def _midtown(finder: KeyFinder, channel: Channel, number: int) -> Rows | None:
    """A frame holds the place of the root, then three angles for each bone."""
    rows = finder.table(number)
    if rows is None:
        return None
    first = 0 if channel.track.kind == "position" else 3 + 3 * channel.node
    return rows.columns(_FLOAT * first, 3 * _FLOAT)


_WAYS: dict[str, Callable[[KeyFinder, Channel, int], Rows | None]] = {
    "nodeanim": _node_animation,
    "hale3d": _hale3d,
    "midtown": _midtown,
}
