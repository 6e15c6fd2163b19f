"""What a picture shows: one frame, a contact sheet or a playback; selects its frames and returns its bytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from keyframer.rendering.encoding import STILL, encode_animation, encode_still
from keyframer.rendering.renderer import Renderer, Settings

_PICTURES_PER_SECOND, _MOST_PICTURES = 15, 90


@dataclass(frozen=True)
class Presentation:
    """The kind of picture, and the frames that it shows."""

    kind: str = "png"
    """one of `STILL`, or one of `ANIMATED` for a playback"""
    sheet: tuple[int, int] | None = None
    """columns and rows of a contact sheet"""
    frames: tuple[float, ...] | None = None
    """None: selected automatically"""
    pictures: int | None = None
    """number of pictures of a playback; None: 15 per second, 2 to 90"""

    def data(self, renderer: Renderer) -> bytes:
        """Return the bytes of the picture; sets the frames of the renderer."""
        renderer.frames = frames = self._frames(renderer)
        if self.sheet is not None:
            return encode_still(renderer.sheet(frames, self.sheet[0]), self.kind)
        if self.kind in STILL:
            return encode_still(renderer.picture(frames[0]), self.kind)
        seconds = renderer.seconds if self.frames is None else _durations(frames, renderer.rate)
        return encode_animation(list(renderer.pictures(frames)), seconds, self.kind)

    def _frames(self, renderer: Renderer) -> list[float]:
        if self.frames is not None:
            return list(self.frames)
        if self.sheet is not None:
            return renderer.spread(self.sheet[0] * self.sheet[1], with_last=True)
        if self.kind in STILL:
            return [renderer.default_frame]
        default_count = round(min(max(renderer.seconds * _PICTURES_PER_SECOND, 2), _MOST_PICTURES))
        return renderer.spread(self.pictures or default_count, with_last=False)


def picture_options(options: Mapping[str, Any]) -> tuple[Settings, Presentation]:
    """Return what ``options["settings"]`` and ``options["presentation"]`` describe, with lists for tuples as in JSON;
    raises ValueError if they are invalid."""

    def fields(part: str) -> dict[str, Any]:
        given = dict(options.get(part) or {})
        return {name: tuple(value) if isinstance(value, list) else value for name, value in given.items()}

    return Settings(**fields("settings")), Presentation(**fields("presentation"))


def _durations(frames: list[float], rate: float) -> list[float]:
    """Return how many seconds each frame is shown: until the next one; the last as long as the one before."""
    steps = [abs(after - before) for before, after in pairwise(frames)]
    steps.append(steps[-1] if steps else 1.0)
    return [step / rate for step in steps]
