"""Bytes of small images, and PNG files that are written by hand."""

from __future__ import annotations

import io
import struct
import zlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from PIL import Image


def encoded(image: Image.Image, kind: str = "PNG", **options: object) -> bytes:
    stream = io.BytesIO()
    image.save(stream, kind, **options)
    return stream.getvalue()


def picture(
    kind: str = "PNG", color: tuple[int, int, int] = (250, 10, 20), size: tuple[int, int] = (6, 4), mode: str = "RGB"
) -> bytes:
    """An image of one colour."""
    from PIL import Image

    return encoded(Image.new(mode, size, color), kind)


def png(width: int, height: int, compressed: bytes, *, bits: int = 8, kind: int = 2) -> bytes:
    """A PNG of this size with these compressed rows, which need not fit: 8-bit colours unless others are given."""

    def chunk(name: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))

    head = struct.pack(">IIBBBBB", width, height, bits, kind, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", compressed) + chunk(b"IEND", b"")
