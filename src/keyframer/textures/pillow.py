"""The modules of Pillow, such as ``pillow.Image``, imported on first use.

Hosts such as Blender include only numpy. Without Pillow, using one of these modules raises `FormatError`; everything
that does not decode or draw pictures works.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from keyframer.catalogue import RUN_PILLOW_MISSING

if TYPE_CHECKING:
    from PIL import Image, ImageColor, ImageDraw, ImageFont

__all__ = ["Image", "ImageColor", "ImageDraw", "ImageFont"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        from PIL import Image, ImageColor, ImageDraw, ImageFont
    except ImportError:
        raise RUN_PILLOW_MISSING.failure(0, "/") from None
    globals().update(Image=Image, ImageColor=ImageColor, ImageDraw=ImageDraw, ImageFont=ImageFont)
    return globals()[name]
