"""Find the layouts that match a file size, since the format has no signature.

The functions need only integer arithmetic on a few header words. Detection and reading share them, so the module
imports almost nothing.
"""

from __future__ import annotations

import struct

RETAIL = "retail"
BETA = "beta"
OLD = "old"

CLIP_HEADER_SIZE = 8
"""channels, frames"""
CHANNEL_HEADER_SIZE = 9
"""floats, the distance, the type"""
OLD_HEADER_SIZE = 13
"""frames, bones, the distance, the type"""

_TWO_WORDS = struct.Struct("<II")
_WORD = struct.Struct("<I")


class Fit:
    """A layout that a file may have: ``end`` is the end of its last frame, ``type`` the type of its first channel."""

    __slots__ = ("end", "layout", "type", "zero_width_at")

    def __init__(self, layout: str, end: int, type: int, zero_width_at: int | None = None) -> None:
        self.layout = layout
        self.end = end
        self.type = type
        self.zero_width_at = zero_width_at
        """offset of the first channel if its frames have no floats, else None"""


def fit_retail(data: bytes) -> Fit | None:
    """Match the retail layout: u32 0, u32 frames, u32 floats, f32, u8, frames; ``data`` needs only the header."""
    if len(data) < CLIP_HEADER_SIZE + CHANNEL_HEADER_SIZE:
        return None
    channels, frames = _TWO_WORDS.unpack_from(data)
    if channels != 0:
        return None
    floats = _WORD.unpack_from(data, 8)[0]
    zero_width_at = 8 if frames and not floats else None
    return Fit(RETAIL, 17 + 4 * frames * floats, data[16], zero_width_at)


def fit_beta(data: bytes, size: int) -> Fit | None:
    """Match the beta layout.

    The layout is u32 channels, u32 frames, then one channel after the other; ``data`` must be the whole file.
    """
    if len(data) < CLIP_HEADER_SIZE + CHANNEL_HEADER_SIZE:
        return None
    channels, frames = _TWO_WORDS.unpack_from(data)
    if channels == 0 or channels * CHANNEL_HEADER_SIZE > size - CLIP_HEADER_SIZE:
        return None
    if frames and not _WORD.unpack_from(data, CLIP_HEADER_SIZE)[0]:
        return Fit(BETA, size, data[16], CLIP_HEADER_SIZE)
    pos = CLIP_HEADER_SIZE
    for _ in range(channels):
        if pos + CHANNEL_HEADER_SIZE > size:
            return None
        pos += CHANNEL_HEADER_SIZE + 4 * frames * _WORD.unpack_from(data, pos)[0]
    return Fit(BETA, pos, data[16])


def fit_old(data: bytes) -> Fit | None:
    """Match the old layout: u32 frames, u32 bones, f32, u8, frames; ``data`` needs only the header.

    Without frames the file must end after the header: a longer file that begins with 0 is a retail clip.
    """
    if len(data) < OLD_HEADER_SIZE:
        return None
    frames, bones = _TWO_WORDS.unpack_from(data)
    if frames == 0 and len(data) > OLD_HEADER_SIZE:
        return None
    return Fit(OLD, OLD_HEADER_SIZE + 12 * frames * (bones + 1), data[12])


def is_truncated_clip(data: bytes) -> bool:
    """Return whether a file that is too short may be a clip: its header describes roll, pitch and heading."""
    if len(data) < CLIP_HEADER_SIZE + CHANNEL_HEADER_SIZE or data[16] != 1:
        return False
    channels, frames = _TWO_WORDS.unpack_from(data)
    floats = _WORD.unpack_from(data, CLIP_HEADER_SIZE)[0]
    fits = channels * CHANNEL_HEADER_SIZE <= len(data) - CLIP_HEADER_SIZE
    return bool(fits and frames and floats and floats % 3 == 0)
