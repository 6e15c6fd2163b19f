"""Decode, encode and make documents of Midtown Madness 2: clips, and the texts of skeletons and models.

A clip has no signature, so decoding reads a file in the layouts that it may have and takes the best reading.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any, NamedTuple

from keyframer.catalogue import (
    IO_UNRECOGNISED,
    LIMIT_RECORDS,
    SEM_ZERO_WIDTH_FRAMES,
    STRUCT_COUNT_EXCEEDS_DATA,
)
from keyframer.errors import FormatError
from keyframer.formats.contract import Codec
from keyframer.formats.document import Document, RawRun, drop_damage
from keyframer.formats.midtown import FORMAT
from keyframer.formats.midtown.model import read_model, readable_part
from keyframer.formats.midtown.records import (
    RPH,
    Channel,
    Clip,
    Dialect,
    ModelText,
    OldChannel,
    OldClip,
    SkeletonText,
    bones_in,
)
from keyframer.formats.midtown.skeleton import read_skeleton
from keyframer.formats.midtown.sniff import COMPRESSED, MODEL, SKELETON, is_text
from keyframer.limits import DEFAULT_LIMITS, Limits
from keyframer.text import counted
from keyframer.wire.cursor import Cursor, Place
from keyframer.wire.record import NO_CHILDREN, Record, blank, read_fields, take_record, write_fields
from keyframer.wire.rows import as_rows
from keyframer.wire.sink import Sink
from keyframer.wire.structure import TRAILING, Part, Structure, structure_of


class _Reading(NamedTuple):
    """A file as read in one layout."""

    document: Document
    type: int
    """type of the first channel"""
    complete: bool = True
    """whether all frames are inside the file"""
    has_bones: bool = True
    """whether the first channel has frames of roll, pitch and heading"""

    def rank(self) -> tuple[bool, bool]:
        """Return how good a complete reading is, the largest is the best: an exact end, then type 1."""
        return not self.document.trailing, self.type == RPH


def decode(data: bytes, limits: Limits = DEFAULT_LIMITS) -> Document:
    """Decode a clip, a skeleton or a model. Raises `FormatError` if the data is not one or exceeds a limit.

    An exact end of a clip is preferred to bytes left over, then type byte 1 to others, then the retail and beta layouts
    to the old one. If no complete layout has type byte 1, a file whose head describes roll, pitch and heading is read
    as a truncated clip, because a file may end by chance where another layout does.
    """
    if MODEL.match(data) or SKELETON.match(data):
        return _read_text(data, limits)
    _reject_other_files(data)
    clip, refusal = None, None
    try:
        clip = _read_clip(Cursor(data, limits=limits))
    except FormatError as error:
        refusal = error
    if clip is not None and clip.complete and all(clip.rank()):
        return clip.document
    old = _read_old(Cursor(data, limits=limits))
    complete = [reading for reading in (clip, old) if reading is not None and reading.complete]
    best = max(complete, key=_Reading.rank, default=None)
    if clip is not None and not clip.complete and clip.has_bones and (best is None or best.type != RPH):
        return clip.document
    if best is not None and any(best.rank()):
        return best.document
    if refusal is not None:
        raise refusal
    if best is None:
        reason = f"a size of {counted(len(data), 'byte')} fits no layout of a Midtown Madness 2 clip"
        raise IO_UNRECOGNISED.failure(0, "/", reason=reason)
    return best.document


def _read_text(data: bytes, limits: Limits) -> Document:
    """Read a skeleton or a model; one with an error is a raw run."""
    document = Document(FORMAT, limits=limits)
    read: Any = read_model if MODEL.match(data) else read_skeleton
    try:
        read(data, limits)
    except FormatError as error:
        if error.code.startswith("LIMIT_"):
            raise
        document.add_failure(error)
        document.records.append(RawRun(data, error.code, offset=0))
    else:
        record = ModelText(data) if read is read_model else SkeletonText(data)
        record.offset, record.children = 0, NO_CHILDREN
        document.records.append(record)
    return document


def _reject_other_files(data: bytes) -> None:
    """Raise `FormatError` for compressed animations and for text: ``pedanim_manantrnch.anim`` is 104 bytes of text."""
    if data[:4] == COMPRESSED:
        reason = "a compressed animation of Smuggler's Run 2 (cmp), whose layout is not documented"
        raise IO_UNRECOGNISED.failure(0, "/", reason=reason)
    if is_text(data):
        raise IO_UNRECOGNISED.failure(0, "/", reason="this is text, not an animation")


def _read_old(cursor: Cursor) -> _Reading | None:
    """Read a clip of the old layout; None if it is truncated.

    Without frames the file must end after the header: a longer file that begins with 0 is a retail clip.
    """
    document = Document(FORMAT, dialect=Dialect.OLD, limits=cursor.limits)
    cursor.place = cursor.place.child("oldclip")
    try:
        top = take_record(OldClip, cursor)
        channel = blank(OldChannel, cursor.pos)
        channel.row_shape = (top.frames, 3 * (top.bones + 1))
        read_fields(channel, cursor)
    except FormatError:
        return None
    if top.frames == 0 and cursor.left:
        return None
    top.children = [channel]
    document.records.append(top)
    document.keep_trailing(cursor)
    return _Reading(document, channel.type)


def _read_clip(cursor: Cursor) -> _Reading | None:
    """Read a clip of the retail or the beta layout, up to the first channel that is truncated.

    None if the file is too short for the headers. Raises `FormatError` if the frames of the first channel have no
    floats, or a limit is exceeded.
    """
    header_size, least = Clip.plan.minimum, Channel.plan.minimum
    if cursor.left < header_size + least:
        return None
    clip_place = cursor.place = cursor.place.child("clip")
    top = take_record(Clip, cursor)
    count = top.channels or 1
    if count * least > cursor.left:
        return None
    dialect = Dialect.BETA if top.channels else Dialect.RETAIL
    document = Document(FORMAT, dialect=dialect, limits=cursor.limits)
    if count + 1 > cursor.limits.records:
        cursor.fail(LIMIT_RECORDS, "channels", 0, limit=cursor.limits.records)
    top.children = []
    document.records.append(top)
    floats = int.from_bytes(cursor.data[header_size : header_size + 4], "little")
    first_type = cursor.data[header_size + least - 1]
    has_bones = bool(top.frames) and bones_in(first_type, floats) is not None
    for index in range(count):
        start = cursor.pos
        cursor.place = Place("channel", clip_place, index)
        try:
            channel = _read_channel(cursor, top.frames)
        except FormatError as error:
            document.keep_rest(top.children, cursor, start, error)
            return _Reading(document, first_type, False, has_bones)
        if top.frames and not channel.floats:
            path = f"{cursor.place}/floats"
            if index == 0:
                raise SEM_ZERO_WIDTH_FRAMES.failure(start, path, frames=top.frames)
            document.issues.add(SEM_ZERO_WIDTH_FRAMES, path, start, frames=top.frames)
        top.children.append(channel)
    document.keep_trailing(cursor)
    return _Reading(document, first_type, True, has_bones)


def _read_channel(cursor: Cursor, frames: int) -> Channel:
    """Read a channel. Missing frames are reported at the clip's header, which declares them."""
    at = cursor.pos
    cursor.need(Channel.plan.minimum)
    floats = int.from_bytes(cursor.data[at : at + 4], "little")
    left = cursor.left - Channel.plan.minimum
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
    return channel


def recover(data: bytes, limits: Limits) -> Document:
    """Return the whole channels of a damaged clip, or the whole frames of the first channel if it is damaged; the
    statements of a damaged model before the first that cannot be read."""
    if MODEL.match(data):
        return _read_text(readable_part(data, limits), limits)
    document = decode(data, limits)
    top = document.records[0]
    if document.dialect is None:
        drop_damage(document)
        return document
    rest = top.children[-1] if top.children else None
    drop_damage(document)
    if not top.children and isinstance(rest, RawRun) and len(rest.data) >= Channel.plan.minimum:
        channel = blank(Channel, rest.offset)
        floats = int.from_bytes(rest.data[:4], "little")
        channel.frames = (len(rest.data) - Channel.plan.minimum) // (4 * floats)
        read_fields(channel, Cursor(rest.data, limits=limits))
        top.children.append(channel)
    return document


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
    sink = Sink()
    if len(document.records) != 1:
        raise ValueError(f"a Midtown file holds one clip or text, not {len(document.records)}")
    top = document.records[0]
    if isinstance(top, (SkeletonText, ModelText, RawRun)):
        write_fields(top, sink)
        sink.write(document.trailing)
        return sink.getvalue()
    if not isinstance(layout, Dialect):
        raise ValueError(f"expected a layout of Midtown, not {layout!r}")
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


def structure(dialect: Dialect) -> Structure:
    """Return the structure of a clip."""
    header: type[Record] = OldClip if dialect is Dialect.OLD else Clip
    if dialect is Dialect.OLD:
        width = "3 * (parent.header.bones + 1)"
        channel = structure_of(OldChannel, elsewhere={"row_shape[0]": "parent.header.frames", "row_shape[1]": width})
    else:
        channel = structure_of(Channel, elsewhere={"row_shape[0]": "parent.header.frames", "row_shape[1]": "floats"})
    channels = Part("channels", channel, count="header.channels" if dialect is Dialect.BETA else "1")
    return Structure("midtown", (Part("header", structure_of(header)), channels, TRAILING), FORMAT.title)


CODEC = Codec(
    decode,
    encode,
    (Clip, Channel, OldClip, OldChannel, SkeletonText, ModelText, RawRun),
    Dialect,
    recover,
    structure=structure,
    described=tuple(Dialect),
)
