"""Pictures as files: PNG, and moving ones as GIF, APNG or WebP. The same pictures give the same bytes."""

from __future__ import annotations

import io
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from PIL.Image import Image

ANIMATED = ("gif", "apng", "webp")
SHORTEST_MILLISECONDS = 20
"""browsers slow down what is shorter"""
_LONGEST_MILLISECONDS = 600_000
"""of a film: pictures that stay the same become one, of which GIF can say no more, and nobody waits longer"""


def encode_still(picture: Image) -> bytes:
    """As PNG."""
    stream = io.BytesIO()
    picture.save(stream, "PNG", compress_level=6)
    return stream.getvalue()


def durations(seconds: Sequence[float], step: int) -> list[int]:
    """Milliseconds of each picture, whole steps of ``step``, that sum up to the time without drifting; to ten minutes
    at most."""
    least = max(SHORTEST_MILLISECONDS, step)
    most = _LONGEST_MILLISECONDS / max(len(seconds), 1)
    ends = accumulate(min(max(1000.0 * each, least), most) for each in seconds)
    marks = [0, *(round(end / step) * step for end in ends)]
    return [max(after - before, least) for before, after in pairwise(marks)]


def encode_film(pictures: Sequence[Image], seconds: float | Sequence[float], kind: str) -> bytes:
    """A moving picture of one of the kinds `ANIMATED`, playing round and round; ``seconds`` in all, or of each."""
    each = [seconds / len(pictures)] * len(pictures) if isinstance(seconds, (int, float)) else seconds
    stream = io.BytesIO()
    if kind == "gif":
        frames = _with_palette(pictures)
        shared: dict[str, Any] = {"save_all": True, "loop": 0, "optimize": False}
        transparent = {"disposal": 2} if frames[0].info.get("transparency") is not None else {}
        frames[0].save(
            stream,
            "GIF",
            append_images=frames[1:],
            duration=durations(each, 10),
            **shared,
            **transparent,
        )
        return stream.getvalue()
    shared = {"save_all": True, "append_images": list(pictures[1:]), "loop": 0}
    times = durations(each, 1)
    if kind == "apng":
        pictures[0].save(stream, "PNG", duration=times, compress_level=6, **shared)
    elif kind == "webp":
        pictures[0].save(stream, "WEBP", duration=times, quality=85, method=4, **shared)
    else:
        raise ValueError(f"{kind!r} is none of {', '.join(ANIMATED)}")
    return stream.getvalue()


def _with_palette(pictures: Sequence[Image]) -> list[Image]:
    """All pictures in one palette of 256 colours made from some of them, without dithering, so that what does not move
    does not flicker."""
    from PIL import Image

    if pictures[0].mode == "RGBA":
        return [_with_hole(picture) for picture in pictures]
    some = pictures[:: max(1, len(pictures) // 8)]
    width, height = some[0].size
    strip = Image.new("RGB", (width, height * len(some)))
    for number, picture in enumerate(some):
        strip.paste(picture, (0, number * height))
    palette = strip.quantize(256, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    return [picture.quantize(palette=palette, dither=Image.Dither.NONE) for picture in pictures]


def _with_hole(picture: Image) -> Image:
    """GIF knows no half transparency: what is less than half there is left out."""
    from PIL import Image

    alpha = picture.getchannel("A")
    colors = picture.convert("RGB").quantize(255, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    colors.paste(255, mask=alpha.point([255 if level < 128 else 0 for level in range(256)]))
    colors.info["transparency"] = 255
    return colors
