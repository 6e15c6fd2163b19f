"""Checks of Midtown Madness 2 clips beyond those of the reader and the scene reader."""

from __future__ import annotations

from keyframer.catalogue import SEM_EMPTY_TRACK, SEM_MANY_CHANNELS
from keyframer.formats.document import Document
from keyframer.formats.kit.common_rules import check_angles, check_fields, check_numbers
from keyframer.formats.kit.scene_reading import Reporter
from keyframer.formats.midtown.bridge.scene import posed_channel
from keyframer.formats.midtown.records import Channel, Clip, OldChannel
from keyframer.scene import Scene
from keyframer.wire.record import Record

_MOST_CHANNELS = 1_000
_NUMBERS = ("rows", "distance")
"""fields of a channel that contain floats"""


def apply_rules(document: Document, scene: Scene | None, reporter: Reporter) -> None:
    """Check the records of a document and report issues."""
    channels = [record for record in document.find(Record) if isinstance(record, (Channel, OldChannel))]
    for channel in channels:
        if len(channel.rows) == 0:
            reporter.report(SEM_EMPTY_TRACK, channel, what="a channel without frames")
        elif channel.bones is not None:
            check_angles(reporter, channel, "rows", channel.rows[:, 3:])
    clip = document.first(Clip)
    if clip is not None and clip.channels > _MOST_CHANNELS:
        reporter.report(SEM_MANY_CHANNELS, clip, "channels", count=clip.channels, most=_MOST_CHANNELS)
    check_numbers(reporter, document, {(cls, field) for cls in (Channel, OldChannel) for field in _NUMBERS})
    posed = None if scene is None else posed_channel(channels)
    for channel in channels:
        if channel is not posed:  # the bridge checks the channel that it poses
            check_fields(reporter, channel, _NUMBERS)
