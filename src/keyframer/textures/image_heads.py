"""What an image is, from its head: kind and size, without its pixels."""

from __future__ import annotations

import io
import os
import warnings
from pathlib import Path
from typing import IO

from keyframer.textures.autodesk_images import autodesk_kind, cel_size
from keyframer.textures.image_errors import ImageRefused, pillow_or_refuse, why_unreadable
from keyframer.textures.image_files import DEFAULT_IMAGE_LIMITS, FORMATS, ImageLimits

_HEAD = 1024
"""bytes that tell Autodesk's own kinds: header and palette of a CEL"""


def look_at(path: str | os.PathLike[str], limits: ImageLimits = DEFAULT_IMAGE_LIMITS) -> str:
    """Such as ``JPEG, 256 x 256``; `ImageRefused` says why the file cannot be used."""
    try:
        with open(path, "rb") as stream:
            return _look(stream, Path(path).name, os.fstat(stream.fileno()).st_size, limits)
    except OSError as error:
        raise ImageRefused(error.strerror or "cannot be read") from None


def look_inside(data: bytes, name: str, limits: ImageLimits = DEFAULT_IMAGE_LIMITS) -> str:
    return _look(io.BytesIO(data), name, len(data), limits)


def _look(stream: IO[bytes], name: str, size: int, limits: ImageLimits) -> str:
    Image = pillow_or_refuse()
    if size > limits.file_size:
        raise ImageRefused(f"{size} bytes, the limit is {limits.file_size}")
    head = stream.read(_HEAD)
    kind = autodesk_kind(head, name)
    if kind == "CEL":
        kind, (width, height) = "Autodesk Animator CEL", cel_size(head, size, limits.pixels)
    else:
        stream.seek(0)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # Pillow's own limit warns; ours refuses
                with Image.open(stream, formats=FORMATS) as opened:
                    (width, height), kind = opened.size, str(opened.format)
        except Image.DecompressionBombError:
            raise ImageRefused(f"more pixels than the limit of {limits.pixels}") from None
        except Exception:  # a decoder may raise anything on damaged data
            raise ImageRefused(why_unreadable(size, kind, None)) from None
    if width * height > limits.pixels:
        raise ImageRefused(f"{width} x {height} pixels, the limit is {limits.pixels} in all")
    return f"{kind}, {width} x {height}"
