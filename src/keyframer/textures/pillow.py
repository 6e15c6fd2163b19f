"""Pillow, or one line that says that it is missing.

Hosts such as Blender bring only numpy. Everything but decoding and drawing pictures works without Pillow, so it is
imported where it is used, and always from here.
"""

from __future__ import annotations

from keyframer.catalogue import RUN_PILLOW_MISSING

try:
    from PIL import Image, ImageColor, ImageDraw, ImageFont
except ImportError:
    raise RUN_PILLOW_MISSING.failure(0, "/") from None

__all__ = ["Image", "ImageColor", "ImageDraw", "ImageFont"]
