"""Detect Midtown Madness 2 clips, and the texts of skeletons and models, which begin with their keywords.

Clips have no signature, so size, header words and floats must all agree.

The size of the file must be exactly that of a layout; only a retail clip, whose header is the most specific, may be
followed by less than one frame of trailing bytes. The header words must also be plausible. The floats in the first
bytes (``head``) must look like metres and radians, and must not all be 0. A retail clip of exact size may have a few
implausible floats, or any number of large ones; if it has the 60 floats per frame of the game, all may be 0. A clip
without frames has no floats to check: it must consist of its headers only.

In the beta layout, the headers of later channels may lie after the head. Then the first channel must be of type 1, and
the size of the rest must be possible for the number of channels. Rejected files can still be read by naming the format.
"""

from __future__ import annotations

import re
import struct

from keyframer.formats.contract import Match
from keyframer.text import counted

COMPRESSED = b"cmp\0"
MODEL = re.compile(rb"version:[ \t]*(1\.(?:06|08|09|10))[ \t]*\r?\nverts:[ \t]*\d")
BEGINNING = "version: 1.06 to 1.10 and the number of vertices"
"""of a model, in words"""
SKELETON = re.compile(rb"\s*(?:numbones\s+\d+\s+)?bone\s+[^\s{}]+\s*\{\s*offset\s", re.IGNORECASE)

_RETAIL = struct.Struct("<IIIfB")
"""channels (0), frames, floats, distance, type"""
_CLIP = struct.Struct("<II")
"""channels, frames"""
_CHANNEL = struct.Struct("<IfB")
"""floats, distance, type"""
_OLD = struct.Struct("<IIfB")
"""frames, bones, distance, type"""

# The longest retail clip has 53 frames of 60 floats; the limits leave room for everything that can be written.
MOST_FRAMES = 1_000_000
MOST_FLOATS = 3 * 100_000
MOST_CHANNELS = 64

# Metres and radians. Exact zeros are accepted; small integers read as floats are below 1e-30.
_LARGEST = 1e4
FARTHEST = 1e12  # if everything else is plausible
_SMALLEST = 1e-30


def sniff(head: bytes, size: int) -> Match | None:
    """Return a match for a text, or for the first layout that fits; None if none does."""
    model = MODEL.match(head)
    if model is not None:
        return Match(0.95, "model: begins with its version and the number of vertices", model[1].decode("ascii"))
    if SKELETON.match(head):
        return Match(0.9, "skeleton: begins with a bone and its offset")
    if len(head) < _OLD.size or head[:4] == COMPRESSED or is_text(head):
        return None
    return _sniff_retail(head, size) or _sniff_beta(head, size) or _sniff_old(head, size)


def is_text(data: bytes) -> bool:
    """Return whether the first bytes are all printable ASCII or white space, which is never the case in a clip."""
    return bool(data) and all(0x20 <= byte < 0x7F or byte in b"\t\r\n\f" for byte in data[:512])


def _sniff_retail(head: bytes, size: int) -> Match | None:
    if len(head) < _RETAIL.size:
        return None
    channels, frames, floats, distance, kind = _RETAIL.unpack_from(head)
    if channels != 0 or kind != 1:
        return None
    if not (frames <= MOST_FRAMES and _is_rph_width(floats) and _is_plausible(distance)):
        return None
    start, end = _RETAIL.size, _RETAIL.size + 4 * frames * floats
    if frames == 0:
        return _match("retail", 0.5, f"no frames of {floats} floats, size matches") if size == end else None
    if floats != 60 and not any(head[start:end]):
        return None
    implausible, examined = _implausible_floats(head, start, end)
    shape = f"{counted(frames, 'frame')} of {floats} floats"
    if size == end and 8 * implausible <= examined:  # a few are accepted if everything else matches
        return _match("retail", 0.9 if floats == 60 else 0.8, f"{shape}, size matches")
    if size == end and not _implausible_floats(head, start, end, FARTHEST)[0]:
        return _match("retail", 0.5, f"{shape}, some of them large, size matches")
    if end < size < end + 4 * floats and not implausible:
        return _match("retail", 0.5, f"{shape}, {counted(size - end, 'byte')} left over")
    return None


def _sniff_beta(head: bytes, size: int) -> Match | None:
    if len(head) < _CLIP.size + _CHANNEL.size:
        return None
    channels, frames = _CLIP.unpack_from(head)
    if not (1 <= channels <= MOST_CHANNELS and frames <= MOST_FRAMES):
        return None
    pos = _CLIP.size
    has_values = frames == 0 and head[16] == 1
    for index in range(channels):
        if pos + _CHANNEL.size > len(head):
            if index == 0 or head[16] != 1 or not _adds_up(channels - index, frames, size - pos):
                return None
            pos = size
            break
        floats, distance, kind = _CHANNEL.unpack_from(head, pos)
        if not (1 <= floats <= MOST_FLOATS and _is_plausible(distance)):
            return None
        if kind == 1 and not _is_rph_width(floats):
            return None
        start, pos = pos + _CHANNEL.size, pos + _CHANNEL.size + 4 * frames * floats
        if pos > size or _implausible_floats(head, start, pos)[0]:
            return None
        has_values = has_values or any(head[start:pos])
    if pos != size or not has_values:
        return None
    reason = f"{counted(channels, 'channel')} of {counted(frames, 'frame')}, size matches"
    return _match("beta", 0.7 if head[16] == 1 else 0.4, reason)


def _adds_up(channels: int, frames: int, left: int) -> bool:
    """Return whether the channels can have widths that fill the remaining bytes exactly."""
    if frames == 0:
        return False
    floats, remainder = divmod(left - _CHANNEL.size * channels, 4 * frames)
    return remainder == 0 and channels <= floats <= channels * MOST_FLOATS


def _sniff_old(head: bytes, size: int) -> Match | None:
    frames, bones, distance, kind = _OLD.unpack_from(head)
    if kind != 1 or size != _OLD.size + 12 * frames * (bones + 1):
        return None
    if not (frames <= MOST_FRAMES and bones >= 1 and _is_rph_width(3 * (bones + 1)) and _is_plausible(distance)):
        return None
    if _implausible_floats(head, _OLD.size, size)[0] or (frames and not any(head[_OLD.size :])):
        return None
    return _match("old", 0.6, f"{counted(frames, 'frame')} of {counted(bones, 'bone')}, size matches")


def _match(layout: str, score: float, reason: str) -> Match:
    return Match(score, f"{layout} layout: {reason} (there is no signature)", dialect=layout)


def _is_rph_width(floats: int) -> bool:
    """Return whether a frame of roll, pitch and heading can have this number of floats."""
    return 3 <= floats <= MOST_FLOATS and floats % 3 == 0


def _implausible_floats(head: bytes, start: int, end: int, largest: float = _LARGEST) -> tuple[int, int]:
    """Return how many floats of the head between two offsets are implausible, and how many were examined."""
    count = max(0, min(end, len(head)) - start) // 4
    values = struct.unpack_from(f"<{count}f", head, start) if count else ()
    return sum(not _is_plausible(value, largest) for value in values), count


def _is_plausible(value: float, largest: float = _LARGEST) -> bool:
    return value == 0 or _SMALLEST <= abs(value) <= largest
