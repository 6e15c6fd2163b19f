"""What is shown of a scene: one frame, a contact sheet or a playback; which frames that takes, and its bytes."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from keyframer.rendering.encoding import STILL, encode_film, encode_still
from keyframer.rendering.renderer import Studio

_PICTURES_A_SECOND, _MOST_PICTURES = 15, 90


@dataclass(frozen=True)
class Showing:
    kind: str = "png"
    """one of `STILL`, or one of `ANIMATED` for a playback"""
    sheet: tuple[int, int] | None = None
    """columns and rows of a contact sheet"""
    frames: tuple[float, ...] | None = None
    """None: those that suit"""
    pictures: int | None = None
    """of a playback; None: 15 a second, at most 90"""

    def data(self, studio: Studio) -> bytes:
        """The bytes of the picture; the studio is set to its frames."""
        studio.frames = frames = self._frames(studio)
        if self.sheet is not None:
            return encode_still(studio.sheet(frames, self.sheet[0]), self.kind)
        if self.kind in STILL:
            return encode_still(studio.picture(frames[0]), self.kind)
        seconds = studio.seconds if self.frames is None else _lengths(frames, studio.rate)
        return encode_film(list(studio.pictures(frames)), seconds, self.kind)

    def _frames(self, studio: Studio) -> list[float]:
        if self.frames is not None:
            return list(self.frames)
        if self.sheet is not None:
            return studio.spread(self.sheet[0] * self.sheet[1], with_last=True)
        if self.kind in STILL:
            return [studio.default_frame]
        usual = round(min(max(studio.seconds * _PICTURES_A_SECOND, 2), _MOST_PICTURES))
        return studio.spread(self.pictures or usual, with_last=False)


def _lengths(frames: list[float], rate: float) -> list[float]:
    """How long each of some frames is seen: until the next one is due, the last as long as the one before."""
    steps = [abs(after - before) for before, after in pairwise(frames)]
    steps.append(steps[-1] if steps else 1.0)
    return [step / rate for step in steps]
