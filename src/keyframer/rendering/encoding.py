"""Encodes pictures as PNG or JPEG, and animations as GIF, APNG, WebP or, with the program ffmpeg, MP4. The same
pictures give the same bytes with the same versions of the encoders.
"""

from __future__ import annotations

import io
import math
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

from keyframer.textures import pillow

if TYPE_CHECKING:
    from PIL.Image import Image

STILL = ("png", "jpg")
ANIMATED = ("gif", "apng", "webp", "mp4")
OPAQUE = ("jpg", "mp4")
"""kinds without transparency"""
_TICK = 20
"""milliseconds: pictures of an MP4 last a multiple of this, at most 50 per second"""
_MOST_TICKS = 3_000
"""maximum number of pictures passed to ffmpeg; a longer animation has longer ticks"""
SHORTEST_MILLISECONDS = 20
"""shortest duration of a picture: browsers slow down animations with shorter ones"""
_LONGEST_MILLISECONDS = 600_000
"""longest duration of an animation: equal pictures are joined, and GIF stores at most 655 seconds for a picture"""


def kind_of(name: str) -> str | None:
    """Return the kind of picture from the extension of a name (``.jpeg`` is ``jpg``); None without an extension.

    Raises ValueError for an extension that is not a kind of picture.
    """
    extension = os.path.splitext(name)[1].lower() or (name.lower() if name.startswith(".") else "")
    kind = "jpg" if extension == ".jpeg" else extension[1:]
    if kind and kind not in (*STILL, *ANIMATED):
        extensions = ", ".join(f".{known_kind}" for known_kind in (*STILL, *ANIMATED))
        raise ValueError(f"{extension} pictures cannot be written (only {extensions})")
    return kind or None


def check_kind(kind: str, *, transparent: bool = False) -> None:
    """Raise ValueError for a kind that cannot be written, or not with a transparent background."""
    if kind not in (*STILL, *ANIMATED):
        raise ValueError(f"the kind of picture must be one of {', '.join((*STILL, *ANIMATED))}, not {kind!r}")
    if transparent and kind in OPAQUE:
        raise ValueError(f"{kind} pictures have no transparency: choose a background")
    if kind == "mp4" and shutil.which("ffmpeg") is None:
        raise ValueError("mp4 is written by the program ffmpeg, which is not installed here")


def encode_still(picture: Image, kind: str = "png") -> bytes:
    """Encode a picture as one of the kinds `STILL`."""
    stream = io.BytesIO()
    if kind == "jpg":
        picture.save(stream, "JPEG", quality=90)
    else:
        picture.save(stream, "PNG", compress_level=5)
    return stream.getvalue()


def durations(seconds: Sequence[float], step: int) -> list[int]:
    """Return the milliseconds of each picture, in multiples of ``step``, without drift; at most ten minutes in total,
    unless even the shortest durations take longer."""
    least = max(SHORTEST_MILLISECONDS, step)
    most = _LONGEST_MILLISECONDS / max(len(seconds), 1)
    ends = accumulate(min(max(1000.0 * second, least), most) for second in seconds)
    marks = [0, *(round(end / step) * step for end in ends)]
    return [max(after - before, least) for before, after in pairwise(marks)]


def encode_animation(pictures: Sequence[Image], seconds: float | Sequence[float], kind: str) -> bytes:
    """Encode an animation of a kind in `ANIMATED`; MP4 does not loop. ``seconds``: in total, or of each picture."""
    seconds_each = [seconds / len(pictures)] * len(pictures) if isinstance(seconds, (int, float)) else seconds
    stream = io.BytesIO()
    if kind == "gif":
        frames = _with_palette(pictures)
        shared: dict[str, Any] = {"save_all": True, "loop": 0, "optimize": False}
        transparent = {"disposal": 2} if frames[0].info.get("transparency") is not None else {}
        frames[0].save(
            stream,
            "GIF",
            append_images=frames[1:],
            duration=durations(seconds_each, 10),
            **shared,
            **transparent,
        )
        return stream.getvalue()
    shared = {"save_all": True, "append_images": list(pictures[1:]), "loop": 0}
    times = durations(seconds_each, 1)
    if kind == "apng":
        pictures[0].save(stream, "PNG", duration=times, compress_level=6, **shared)
    elif kind == "webp":
        pictures[0].save(stream, "WEBP", duration=times, quality=85, method=4, **shared)
    else:
        check_kind(kind, transparent=pictures[0].mode == "RGBA")
        tick = _TICK * math.ceil(sum(times) / _TICK / _MOST_TICKS)
        return _mp4(pictures, durations(seconds_each, tick))
    return stream.getvalue()


def _mp4(pictures: Sequence[Image], milliseconds: Sequence[int]) -> bytes:
    """Encode H.264 with ffmpeg, which receives only pixels; pictures are repeated for their duration."""
    step = math.gcd(*milliseconds)
    width, height = pictures[0].size
    raw = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}", "-r", f"1000/{step}", "-i", "pipe:0"]
    even = ["-an", "-vf", "pad=ceil(iw/2)*2:ceil(ih/2)*2"]
    coded = ["-c:v", "libx264", "-crf", "18", "-pix_fmt", "yuv420p", "-movflags", "+faststart", "-threads", "1"]
    reproducible = ["-fflags", "+bitexact", "-flags:v", "+bitexact"]
    with tempfile.TemporaryDirectory(prefix="keyframer-") as folder, tempfile.TemporaryFile() as output:
        target = os.path.join(folder, "film.mp4")
        command = ["ffmpeg", "-loglevel", "error", "-y", "-threads", "1", *raw, *even, *coded, *reproducible, target]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=output, stderr=output) as program:
            assert program.stdin is not None
            with suppress(BrokenPipeError):  # ffmpeg ended early: its messages give the reason
                for picture, time in zip(pictures, milliseconds, strict=True):
                    pixels = picture.tobytes()
                    for _ in range(time // step):
                        program.stdin.write(pixels)
                program.stdin.close()
        if program.returncode:
            output.seek(0)
            lines = output.read(10_000).decode("utf-8", "replace").strip().splitlines()
            raise ValueError(f"ffmpeg failed: {lines[-1] if lines else f'exit code {program.returncode}'}")
        with open(target, "rb") as stream:
            return stream.read()


def _with_palette(pictures: Sequence[Image]) -> list[Image]:
    """Return all pictures with one palette of 256 colours made from some of them, without dithering, so that static
    parts do not flicker. Pictures with transparency get a palette each.
    """
    if pictures[0].mode == "RGBA":
        return [_with_binary_alpha(picture) for picture in pictures]
    selection = pictures[:: max(1, len(pictures) // 8)]
    width, height = selection[0].size
    strip = pillow.Image.new("RGB", (width, height * len(selection)))
    for number, picture in enumerate(selection):
        strip.paste(picture, (0, number * height))
    palette = strip.quantize(256, method=pillow.Image.Quantize.MEDIANCUT, dither=pillow.Image.Dither.NONE)
    return [picture.quantize(palette=palette, dither=pillow.Image.Dither.NONE) for picture in pictures]


def _with_binary_alpha(picture: Image) -> Image:
    """Return a picture with binary transparency, as GIF needs: pixels with less than half opacity are transparent."""
    alpha = picture.getchannel("A")
    colors = picture.convert("RGB").quantize(
        255, method=pillow.Image.Quantize.MEDIANCUT, dither=pillow.Image.Dither.NONE
    )
    colors.paste(255, mask=alpha.point([255 if level < 128 else 0 for level in range(256)]))
    colors.info["transparency"] = 255
    return colors
