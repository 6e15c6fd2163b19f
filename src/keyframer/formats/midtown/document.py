"""Decode, encode and make documents of Midtown Madness 2 clips."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import TypeVar

import numpy.typing as npt

from keyframer.catalogue import (
    CATALOGUE,
    LIMIT_RECORDS,
    SEM_ZERO_WIDTH_FRAMES,
    STRUCT_COUNT_EXCEEDS_DATA,
    STRUCT_TRAILING_DATA,
)
from keyframer.errors import FormatError
from keyframer.formats.document import Document, RawRun
from keyframer.formats.midtown import FORMAT
from keyframer.formats.midtown.dialect import Dialect, choose_layout
from keyframer.formats.midtown.layout_sizes import CHANNEL_HEADER_SIZE
from keyframer.formats.midtown.records import Channel, Clip, OldChannel, OldClip, make_channel
from keyframer.issues import Issue, IssueLog
from keyframer.limits import DEFAULT_LIMITS, Limits
from keyframer.wire.cursor import Cursor, Place
from keyframer.wire.exact_floats import as_rows
from keyframer.wire.record import Record, blank, read_fields, take_record, write_fields
from keyframer.wire.sink import Sink

R = TypeVar("R", bound=Record)


def decode(data: bytes, limits: Limits = DEFAULT_LIMITS) -> Document:
    """Decode a Midtown Madness 2 clip. Raises `FormatError` if the data is not one or exceeds a limit."""
    layout = choose_layout(data)
    document = Document(FORMAT, dialect=layout, issues=IssueLog(limits.issues_per_code, limits.issues))
    cursor = Cursor(data, limits=limits)
    if layout is Dialect.OLD:
        _read_old(cursor, document)
    else:
        _read_clip(cursor, document)
    if cursor.left:
        document.issues.add(STRUCT_TRAILING_DATA, "/", cursor.pos, size=cursor.left)
        document.trailing = cursor.take_rest()
    return document


def _read_old(cursor: Cursor, document: Document) -> None:
    """Read a clip of the old layout, which is chosen only for files that are not truncated."""
    cursor.place = cursor.place.child("oldclip")
    top = take_record(OldClip, cursor)
    channel = blank(OldChannel, cursor.pos)
    channel.row_shape = (top.frames, 3 * (top.bones + 1))
    read_fields(channel, cursor)
    top.children = [channel]
    document.records.append(top)


def _read_clip(cursor: Cursor, document: Document) -> None:
    clip_place = cursor.place.child("clip")
    cursor.place = clip_place
    top = take_record(Clip, cursor)
    top.children = []
    document.records.append(top)
    count = top.channels or 1
    cursor.need_entries(count, CHANNEL_HEADER_SIZE, "channels", 0)
    if count + 1 > cursor.limits.records:
        cursor.fail(LIMIT_RECORDS, "channels", 0, limit=cursor.limits.records)
    for index in range(count):
        start = cursor.pos
        cursor.place = Place("channel", clip_place, index)
        try:
            channel = _read_channel(cursor, top.frames, document)
        except FormatError as error:
            document.issues.add_issue(Issue(CATALOGUE[error.code], error.path, error.offset, error.details))
            cursor.pos = start
            top.children.append(RawRun(cursor.take_rest(), error.code, offset=start))
            return
        top.children.append(channel)


def _read_channel(cursor: Cursor, frames: int, document: Document) -> Channel:
    """Read a channel. Missing frames are reported at the clip's header, which declares them."""
    at = cursor.pos
    cursor.need(CHANNEL_HEADER_SIZE)
    floats = int.from_bytes(cursor.data[at : at + 4], "little")
    left = cursor.left - CHANNEL_HEADER_SIZE
    if 4 * frames * floats > left:
        raise STRUCT_COUNT_EXCEEDS_DATA.failure(
            4,
            "/clip/frames",
            count=frames,
            size=4 * floats,
            left=left,
            available=left // (4 * floats),
        )
    channel = blank(Channel, at)
    channel.frames = frames
    read_fields(channel, cursor)
    if frames and not floats:
        document.issues.add(SEM_ZERO_WIDTH_FRAMES, f"{cursor.place}/floats", at, frames=frames)
    return channel


def new_clip(rows: npt.ArrayLike, distance: float = 0.0, *, layout: Dialect = Dialect.RETAIL) -> Document:
    """Make a clip from rows ``(frames, 3 x (bones + 1))`` and the distance that one loop covers."""
    return new_document([make_channel(rows, distance)], layout=layout)


def new_document(channels: Sequence[Channel], *, layout: Dialect = Dialect.BETA) -> Document:
    """Make a clip from channels with the same number of frames; only the beta layout can store several."""
    top: Clip | OldClip
    if layout is Dialect.OLD:
        top = OldClip(children=[OldChannel(channel.distance, channel.type, channel.rows) for channel in channels])
    else:
        top = Clip(children=list(channels))
    return Document(FORMAT, [_with_counts(top, layout)], dialect=layout)


def encode(document: Document) -> bytes:
    """Return the bytes of a document: its records in the layout of its dialect, then its trailing bytes."""
    layout = document.dialect
    if not isinstance(layout, Dialect):
        raise ValueError(f"expected a layout of Midtown, not {layout!r}")
    sink = Sink()
    if len(document.records) != 1:
        raise ValueError(f"a Midtown file holds one clip, not {len(document.records)}")
    top = document.records[0]
    if not isinstance(top, OldClip if layout is Dialect.OLD else Clip):
        raise ValueError(f"{top!r} is not a clip of the {layout} layout")
    assert isinstance(top, (Clip, OldClip))
    write_fields(_with_counts(top, layout), sink)
    for record in top.children:
        if isinstance(record, Channel) and len(record.rows) and record.floats != record.rows.shape[1]:
            record = copy(record)
            record.floats = record.rows.shape[1]
        write_fields(record, sink)
    sink.write(document.trailing)
    return sink.getvalue()


def _with_counts(top: Clip | OldClip, layout: Dialect) -> Clip | OldClip:
    """Return the header with the counts of its children; unchanged if the last child is a raw run.

    Raises ValueError if a clip of the layout cannot contain the children.
    """
    has_raw_run = bool(top.children) and isinstance(top.children[-1], RawRun)
    readable = top.children[:-1] if has_raw_run else top.children
    kind = OldChannel if layout is Dialect.OLD else Channel
    channels = [record for record in readable if isinstance(record, kind) and not (record.children or record.tail)]
    if len(channels) != len(readable):
        raise ValueError(f"a clip of the {layout} layout can contain only {kind.__name__} records")
    if has_raw_run:
        return top
    if not channels or (len(channels) > 1 and layout is not Dialect.BETA):
        raise ValueError(f"a clip of the {layout} layout cannot hold {len(channels)} channels")
    lengths = {len(as_rows(channel.rows)) for channel in channels}
    if len(lengths) > 1:
        raise ValueError(f"channels with different numbers of frames: {sorted(lengths)}")
    header = copy(top)
    header.frames = lengths.pop()
    if isinstance(header, Clip):
        header.channels = 0 if layout is Dialect.RETAIL else len(channels)
    elif header.frames:
        width = channels[0].rows.shape[1]
        if width < 3 or width % 3:
            raise ValueError(f"a frame of the old layout holds 3 x (bones + 1) floats, not {width}")
        header.bones = width // 3 - 1
    return header


def record_types() -> dict[str, type[Record]]:
    """Return every record by the name of its class."""
    return {cls.__name__: cls for cls in (Clip, Channel, OldClip, OldChannel, RawRun)}
