"""The three layouts of Midtown clips, and the choice between those that fit a file."""

from __future__ import annotations

from enum import Enum

from keyframer.catalogue import IO_UNRECOGNISED, SEM_ZERO_WIDTH_FRAMES
from keyframer.formats.midtown.layout_sizes import (
    BETA,
    OLD,
    RETAIL,
    Fit,
    fit_beta,
    fit_old,
    fit_retail,
    is_truncated_clip,
)
from keyframer.formats.midtown.sniff import COMPRESSED, is_text
from keyframer.text import counted


class Dialect(Enum):
    """The layout of the header; ``str()`` gives its name in reports."""

    RETAIL = RETAIL
    """the retail game: the number of channels is 0 and means one"""
    BETA = BETA
    """a beta of the game, described in a public document: one or more channels"""
    OLD = OLD
    """an older layout: it counts bones instead of floats, and always has one channel"""

    def __str__(self) -> str:
        return self.value


def choose_layout(data: bytes) -> Dialect:
    """Return the layout of a Midtown clip; raises `FormatError` if none fits.

    An exact end is preferred to bytes left over, then type byte 1 to others, then the beta layout to the old one. If no
    layout has an exact end or type byte 1, a file whose head describes roll, pitch and heading is read as a truncated
    clip; otherwise a layout with another type byte and bytes left over is accepted.
    """
    _reject_other_files(data)
    size = len(data)
    candidates = [fit for fit in (fit_retail(data), fit_beta(data, size), fit_old(data)) if fit is not None]
    fits = [fit for fit in candidates if fit.end <= size and fit.zero_width_at is None]
    best = min(fits, key=lambda fit: (fit.end != size, fit.type != 1), default=None)
    if best is not None and (best.end == size or best.type == 1):
        return Dialect(best.layout)
    for fit in candidates:
        if fit.zero_width_at is not None:
            frames = int.from_bytes(data[4:8], "little")
            raise SEM_ZERO_WIDTH_FRAMES.failure(fit.zero_width_at, "/clip/channel[0]/floats", frames=frames)
    if is_truncated_clip(data):
        return Dialect.BETA if any(data[:4]) else Dialect.RETAIL
    if best is not None:
        return Dialect(best.layout)
    raise IO_UNRECOGNISED.failure(0, "/", reason=_why_not(candidates, size))


def _reject_other_files(data: bytes) -> None:
    """Raise `FormatError` for compressed animations and for text: ``pedanim_manantrnch.anim`` is 104 bytes of text."""
    if data[:4] == COMPRESSED:
        reason = "a compressed animation of Smuggler's Run 2 (cmp), whose layout is not documented"
        raise IO_UNRECOGNISED.failure(0, "/", reason=reason)
    if is_text(data):
        raise IO_UNRECOGNISED.failure(0, "/", reason="this is text, not an animation")


def _why_not(candidates: list[Fit], size: int) -> str:
    expected = ", ".join(f"{fit.end} for {fit.layout}" for fit in candidates)
    detail = f" (expected {expected})" if expected else ""
    return f"a size of {counted(size, 'byte')} fits no layout of a Midtown Madness 2 clip{detail}"
