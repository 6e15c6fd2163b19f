"""Imports Pillow, or reports in one line that it is missing.

Hosts such as Blender include only numpy. Everything except decoding and drawing pictures works without Pillow, so it is
imported on use, and always from here.
"""

from __future__ import annotations

from keyframer.catalogue import RUN_PILLOW_MISSING

try:
    from PIL import Image, ImageColor, ImageDraw, ImageFont
except ImportError:
    raise RUN_PILLOW_MISSING.failure(0, "/") from None

__all__ = ["Image", "ImageColor", "ImageDraw", "ImageFont"]
